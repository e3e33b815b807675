//! The four kinds of source, for real, and what is refused of them.

use super::*;

/// `review` is here as the source has it, and the lock says from where.
#[track_caller]
fn has_review(world: &World, source: &str, text: &str) {
    assert_eq!(read(world, "ws/.skills/review/SKILL.md"), text, "{source}");
    assert_eq!(skills(world), ["review"], "{source}");
    assert_eq!(
        read(world, "ws/.skills/SKILLS.md"),
        format!("review: Does review.\n{BOOTSTRAP}"),
        "{source}"
    );
    let record = &lock(world)["skills"]["review"];
    assert_eq!(record["source"], source);
    assert!(record["tree"].as_str().unwrap().len() >= 64, "{record}");
    in_step(world, source);
}

fn repo(world: &World) -> (Repo, String) {
    let repo = world.git("skills");
    Bag::new(&["other", "review"]).put(repo.path());
    repo.commit("one");
    repo.git(&["tag", "v1"]);
    repo.git(&["branch", "stable"]);
    Bag::new(&["other"]).skill("review", "Twice.\n").put(repo.path());
    let second = repo.commit("two");
    Bag::new(&["other"]).skill("review", "Thrice.\n").put(repo.path());
    repo.commit("three");
    (repo, second)
}

#[test]
fn sb_12_a_git_source_over_file_and_http_gives_the_tag_branch_or_commit_that_is_asked_for() {
    let outer = world!();
    let (repo, second) = repo(&outer);
    let http = HttpServer::start(&outer.path("git"));
    for url in [repo.url(), http.url("skills")] {
        let versions = [
            (None, "Thrice.\n", "main"),
            (Some("v1"), "", "v1"),
            (Some("stable"), "", "stable"),
            (Some("main"), "Thrice.\n", "main"),
            (Some(second.as_str()), "Twice.\n", &second),
        ];
        for (version, more, means) in versions {
            let world = workspace();
            let mut args = vec!["get", "review", "--source", &url];
            args.extend(version.iter().flat_map(|version| ["--version", version]));
            bag(&world, &args).ok();
            has_review(&world, &url, &skill("review", more));
            let record = &lock(&world)["skills"]["review"];
            let commit = repo.git(&["rev-parse", &format!("{means}^{{commit}}")]);
            assert_eq!(record["commit"], commit.trim(), "{url} {version:?}");
            assert_eq!(record.get("version").and_then(Value::as_str), version, "{url}");
        }
    }
    assert!(http.requests() > 0);
}

#[test]
fn sb_12_a_version_that_git_does_not_have_stops_before_any_change() {
    let world = workspace();
    let (repo, _) = repo(&world);
    for version in ["v9", "-x", "a b", &"0".repeat(40)] {
        let run = bag(
            &world,
            &["get", "review", "--source", &repo.url(), &format!("--version={version}")],
        );
        assert!(matches!(run.code, Some(1 | 3 | 5)), "{version}: {run}");
        assert_eq!(skills(&world), [""; 0], "{version}");
        in_step(&world, version);
    }
}

#[test]
fn sb_12_a_commit_that_git_does_not_have_is_refused_with_a_way_out() {
    let world = workspace();
    let (repo, _) = repo(&world);
    let run =
        bag(&world, &["get", "review", "--source", &repo.url(), "--version", &"0".repeat(40)])
            .fails(5);
    assert!(run.stderr.contains("hint:"), "{run}");
}

#[test]
fn sb_12_a_zip_counts_as_rooted_at_its_top_or_at_its_single_folder() {
    for top in ["", "skills-main/"] {
        let world = workspace();
        let bytes = Bag::new(&["other", "review"]).zip(top);
        std::fs::write(world.path("ws/skills.zip"), &bytes).unwrap();
        std::fs::write(world.path("elsewhere.zip"), &bytes).unwrap();
        bag(&world, &["get", "review", "--source", "skills.zip"]).ok();
        has_review(&world, "skills.zip", &skill("review", ""));
        let path = world.path("elsewhere.zip").display().to_string();
        bag(&world, &["get", "other", "--source", &path]).ok();
        assert_eq!(skills(&world), ["other", "review"], "{top}");
        let entry = &world.files("ws/.skills/review")["scripts/run.sh"];
        assert_eq!(*entry, Entry::File("echo review\n".into(), true), "a script stays one");
    }
}

#[test]
fn sb_12_a_zip_with_two_folders_at_its_top_is_no_source() {
    let world = workspace();
    let mut source = Bag::new(&["review"]);
    source.0 = source.0.into_iter().map(|(path, text)| (format!("a/{path}"), text)).collect();
    source.0.insert("b/x".into(), "x".into());
    std::fs::write(world.path("ws/skills.zip"), source.zip("")).unwrap();
    refused(&world, &["get", "review", "--source", "skills.zip"], 3, "it has no `AGENTS.md`");
}

#[test]
fn sb_12_a_directory_is_a_source_by_any_path() {
    for (source, place) in [
        ("ABSOLUTE", "near"),
        ("../near", "near"),
        ("./in", "ws/in"),
        ("in/deep", "ws/in/deep"),
        ("~/near", "home/near"),
    ] {
        let world = workspace();
        let absolute = dir(&world, place, &Bag::new(&["other", "review"]));
        let source = source.replace("ABSOLUTE", &absolute);
        bag(&world, &["get", "review", "--source", &source]).ok();
        has_review(&world, &source, &skill("review", ""));
    }
}

#[test]
fn sb_12_a_relative_path_on_the_command_line_starts_where_the_user_stands() {
    let world = workspace();
    dir(&world, "ws/sub/near", &Bag::new(&["review"]));
    world.sp_in("ws/sub", &["bag", "get", "review", "--source", "./near"]).ok();
    assert_eq!(skills(&world), ["review"]);
    // What the lock recorded leads to it again, from anywhere.
    Bag::new(&[]).skill("review", "New.\n").put(&world.path("ws/sub/near"));
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
}

#[test]
fn sb_12_a_source_that_is_not_there_is_told_by_its_kind() {
    let world = workspace();
    let server = WebServer::start();
    for source in
        ["./nowhere", "nowhere.zip", &server.url("/nowhere.zip"), "file:///nonexistent/skills"]
    {
        let run = refused(&world, &["get", "review", "--source", source], 5, "error:");
        assert!(run.stderr.contains("hint:"), "{run}");
    }
    for source in ["ext::sh -c date", "-x", "", "a\u{7}b"] {
        refused(
            &world,
            &["get", "review", &format!("--source={source}")],
            2,
            "the source cannot be used",
        );
    }
}

#[test]
fn sb_22_a_zip_from_the_web_is_a_source_directly_and_over_redirects() {
    let server = WebServer::start();
    let bytes = Bag::new(&["other", "review"]).zip("skills-main/");
    let direct = server.page("/skills.zip", Answer::Bytes(bytes.clone()));
    server.page("/skills.zip?x=1", Answer::Bytes(bytes));
    // Five steps, of which the first is relative.
    for step in 1..5 {
        server.page(
            &format!("/r{step}.zip"),
            Answer::Redirect(server.url(&format!("/r{}.zip", step - 1))),
        );
    }
    server.page("/r0.zip", Answer::Redirect("/skills.zip".into()));
    for url in [direct, server.url("/skills.zip?x=1"), server.url("/r0.zip"), server.url("/r4.zip")]
    {
        let world = workspace();
        bag(&world, &["get", "review", "--source", &url]).ok();
        has_review(&world, url.split('?').next().unwrap(), &skill("review", ""));
    }
}

#[test]
fn sb_22_a_web_source_that_misbehaves_is_refused_in_time_and_leaves_nothing() {
    let world = workspace();
    let server = WebServer::start();
    let good = Bag::new(&["review"]).zip("");
    server.page("/loop.zip", Answer::Redirect("/loop.zip".into()));
    server.page("/good.zip", Answer::Bytes(good.clone()));
    server.page("/c0.zip", Answer::Redirect("/good.zip".into()));
    (1..6).for_each(|step| {
        server.page(&format!("/c{step}.zip"), Answer::Redirect(format!("/c{}.zip", step - 1)));
    });
    server.page("/huge.zip", Answer::Length(257 * 1024 * 1024));
    server.page("/endless.zip", Answer::Endless);
    server.page("/stalled.zip", Answer::Stall(good.clone()));
    server.page("/html.zip", Answer::Bytes(b"<html>Sign in</html>".to_vec()));
    server.page("/cut.zip", Answer::Bytes(good[..good.len() - 30].to_vec()));
    server.page("/away.zip", Answer::Redirect("file:///etc/passwd".into()));
    let small = "zip-bytes=100000";
    for (path, limit, code, words) in [
        ("/nowhere.zip", small, 5, "404"),
        ("/loop.zip", small, 5, "redirect"),
        ("/c5.zip", small, 5, "redirect"),
        ("/huge.zip", "zip-ratio=100", 3, "the limit is 268435456"),
        ("/endless.zip", small, 3, "the limit is 100000"),
        ("/stalled.zip", "download-seconds=1", 5, "cannot fetch"),
        ("/html.zip", small, 3, "error:"),
        ("/cut.zip", small, 3, "error:"),
        ("/away.zip", small, 5, "cannot fetch"),
    ] {
        let run = refused(
            &world,
            &["get", "review", "--source", &server.url(path), "--limit", limit],
            code,
            words,
        );
        assert!(run.stderr.contains("hint:"), "{path}: {run}");
    }
}

#[test]
fn sb_22_no_web_server_is_asked_offline_or_when_the_skill_is_here() {
    let world = workspace();
    let server = WebServer::start();
    let url = server.page("/skills.zip", Answer::Bytes(Bag::new(&["review"]).zip("")));
    refused(
        &world,
        &["get", "review", "--source", &url, "--offline"],
        5,
        "would have to be fetched",
    );
    assert_eq!(server.asked(), [""; 0]);
    bag(&world, &["get", "review", "--source", &url]).ok();
    bag(&world, &["get", "review", "--source", &url]).ok();
    assert_eq!(server.asked(), ["/skills.zip"]);
}

#[test]
fn se_07_credentials_of_a_source_are_neither_written_nor_printed() {
    const CANARY: &str = "canary-4f1c";
    let world = workspace();
    let server = WebServer::start();
    server.page("/skills.zip", Answer::Bytes(Bag::new(&["review"]).zip("")));
    let good = server.url_with(&format!("me:{CANARY}"), "/skills.zip");
    let bad = server.url_with(&format!("me:{CANARY}"), "/nowhere.zip");
    let mut said = String::new();
    let runs: [&[&str]; 5] = [
        &["get", "review", "--source", &bad],
        &["get", "review", "--source", &good, "--offline"],
        &["get", "review", "--source", &good, "--format", "json"],
        &["list"],
        &["deps"],
    ];
    for args in runs {
        said += &bag(&world, args).to_string();
    }
    assert_eq!(skills(&world), ["review"], "{said}");
    assert!(!said.contains(CANARY), "{said}");
    let found = std::process::Command::new("grep")
        .args(["-rl", CANARY])
        .arg(world.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn sb_19_an_invalid_source_of_any_kind_stops_before_any_change() {
    let good = Bag::new(&["other", "review"]);
    let broken = "---\nname: other\n---\n";
    let cases = [
        ("no AGENTS.md", good.clone().with("AGENTS.md", None), "it has no `AGENTS.md`"),
        (
            "not named",
            good.clone().with("AGENTS.md", Some("Skills live under `.skills/`.\n")),
            "`SKILLBAG`",
        ),
        ("no place", good.clone().with("AGENTS.md", Some("# SKILLBAG\n")), "live under `.skills/`"),
        (
            "no catalog",
            good.clone().with(".skills/SKILLS.md", None),
            "it has no `.skills/SKILLS.md`",
        ),
        (
            "not a catalog",
            good.clone().with(".skills/SKILLS.md", Some("# Skills\n")),
            "<name>: <description>",
        ),
        (
            "a skill that is not listed",
            good.clone().with(".skills/SKILLS.md", Some("review: Does review.\n")),
            "`other` is not listed",
        ),
        (
            "listed and not there",
            good.clone()
                .with(".skills/other/SKILL.md", None)
                .with(".skills/other/scripts/run.sh", None),
            "there is no valid skill `.skills/other/`",
        ),
        (
            "another description",
            good.clone().with(".skills/SKILLS.md", Some("other: Else.\nreview: Does review.\n")),
            "the description is not that of",
        ),
        (
            "an invalid skill",
            good.clone().with(".skills/other/SKILL.md", Some(broken)),
            "description",
        ),
        (
            "another name",
            good.clone().with(".skills/other/SKILL.md", Some(&skill("others", ""))),
            "called `others`",
        ),
    ];
    let server = WebServer::start();
    for (what, source, words) in cases {
        let world = workspace();
        let repo = world.git("skills");
        source.put(repo.path());
        repo.commit("one");
        std::fs::write(world.path("bad.zip"), source.zip("top/")).unwrap();
        let web = server.page("/bad.zip", Answer::Bytes(source.zip("")));
        let local = world.path("bad.zip").display().to_string();
        for url in [dir(&world, "bad", &source), local, repo.url(), web] {
            let run = refused(&world, &["get", "review", "--source", &url], 3, words);
            assert!(run.stderr.contains("nothing was changed"), "{what}: {run}");
        }
    }
}

#[test]
fn sb_19_a_skill_that_the_source_does_not_list_stops_before_any_change() {
    let world = workspace();
    let source = dir(&world, "near", &Bag::new(&["other", "review"]));
    let run = refused(
        &world,
        &["get", "other", "reviews", "--source", &source],
        1,
        "no skill called `reviews`",
    );
    assert!(run.stderr.contains("did you mean `review`?"), "{run}");
    for name in ["Review", "../review", "re_view", "", "."] {
        refused(&world, &["get", name, "--source", &source], 2, "the name `");
    }
}

/// A failure in the third of five sources.
#[test]
fn sb_19_a_failure_in_the_third_of_five_sources_leaves_the_workspace_untouched() {
    let world = workspace();
    let old = dir(&world, "old", &Bag::new(&["mine"]));
    bag(&world, &["get", "mine", "--source", &old]).ok();
    let mut entries = Vec::new();
    for (at, name) in ["a1", "b2", "c3", "d4", "e5"].iter().enumerate() {
        let mut source = Bag::new(&[name]);
        if at == 2 {
            source = source.with(".skills/c3/SKILL.md", Some("---\nname: c3\n---\n"));
        }
        entries.push(format!("name: {name}, version: '1', source: {}", dir(&world, name, &source)));
    }
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    write(&world, "ws/CONTEXT.md", &needs(&entries));
    for args in
        [&["get"][..], &["get", "a1"], &["get", "--upgrade"], &["get", "--dry-run"], &["init"]]
    {
        refused(&world, args, 3, "c3");
    }
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("mine: Does mine.\n{BOOTSTRAP}"));
    Bag::new(&["c3"]).put(&world.path("c3"));
    bag(&world, &["get"]).ok();
    assert_eq!(skills(&world), ["a1", "b2", "c3", "d4", "e5", "mine"]);
    in_step(&world, "mended");
}

#[test]
fn sb_22_archives_that_lead_out_or_weigh_too_much_are_refused() {
    let world = workspace();
    let good = Bag::new(&["review"]);
    let many: Vec<String> = (0..50).map(|number| format!(".skills/review/f{number}")).collect();
    let mut full = good.clone();
    many.iter().for_each(|path| {
        full.0.insert(path.clone(), "x".into());
    });
    for (what, source, limit) in [
        ("out", good.clone().with(".skills/review/../../../out.txt", Some("x")), "depth=64"),
        ("absolute", good.clone().with("/tmp/out.txt", Some("x")), "depth=64"),
        ("twins", good.clone().with(".skills/review/skill.md", Some("x")), "depth=64"),
        ("entries", full.clone(), "zip-entries=20"),
        (
            "bytes",
            good.clone().with(".skills/review/big", Some(&"x".repeat(5000))),
            "zip-bytes=4000",
        ),
        (
            "one file",
            good.clone().with(".skills/review/big", Some(&"x".repeat(5000))),
            "file-bytes=4000",
        ),
    ] {
        std::fs::write(world.path("ws/bad.zip"), source.zip("")).unwrap();
        let run = refused(
            &world,
            &["get", "review", "--source", "bad.zip", "--limit", limit],
            3,
            "error:",
        );
        assert!(run.stderr.contains("hint:"), "{what}: {run}");
        assert!(!world.path("out.txt").exists() && !world.path("ws/out.txt").exists(), "{what}");
    }
}

#[test]
fn se_06_links_out_of_a_directory_source_are_refused() {
    let world = workspace();
    write(&world, "outside.txt", "private");
    for target in ["../../../outside.txt", "/etc/passwd", "nowhere"] {
        let source = dir(&world, "near", &Bag::new(&["review"]));
        std::os::unix::fs::symlink(target, world.path("near/.skills/review/link")).unwrap();
        let run = bag(&world, &["get", "review", "--source", &source]);
        assert!(matches!(run.code, Some(3 | 4)), "{target}: {run}");
        assert_eq!(skills(&world), [""; 0], "{target}");
        in_step(&world, target);
    }
}

#[test]
fn se_06_special_files_of_a_directory_source_are_refused_without_opening_them() {
    let world = workspace();
    let source = dir(&world, "near", &Bag::new(&["review"]));
    let fifo = world.path("near/.skills/review/fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    refused(&world, &["get", "review", "--source", &source], 3, "fifo");
    std::fs::remove_file(&fifo).unwrap();
    for file in ["AGENTS.md", ".skills/SKILLS.md", ".skills/review/SKILL.md"] {
        dir(&world, "near", &Bag::new(&["review"]).with(file, None));
        let path = world.path("near").join(file);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused(&world, &["get", "review", "--source", &source], 3, "error:");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn se_06_dangerous_bits_are_dropped() {
    use std::os::unix::fs::PermissionsExt;
    let world = workspace();
    let source = dir(&world, "near", &Bag::new(&["review"]));
    let script = "review/scripts/run.sh";
    std::fs::set_permissions(
        world.path("near/.skills").join(script),
        PermissionsExt::from_mode(0o6777),
    )
    .unwrap();
    bag(&world, &["get", "review", "--source", &source]).ok();
    let mode =
        std::fs::metadata(world.path("ws/.skills").join(script)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
    assert_eq!(mode & 0o700, 0o700, "{mode:o}");
}

/// `me:canary` as it is sent.
const SENT: &str = "Basic bWU6Y2FuYXJ5";

#[test]
fn se_07_credentials_are_used_and_not_passed_on_to_another_server() {
    let world = workspace();
    let (first, second) = (WebServer::start(), WebServer::start());
    let there = second.page("/skills.zip", Answer::Bytes(Bag::new(&["review"]).zip("")));
    first.page("/skills.zip", Answer::Redirect(there));
    bag(&world, &["get", "review", "--source", &first.url_with("me:canary", "/skills.zip")]).ok();
    assert_eq!(first.authorizations(), [SENT]);
    assert_eq!(second.authorizations(), [""]);
}

#[test]
fn se_07_what_covers_credentials_in_the_lock_is_never_sent_as_credentials() {
    let world = workspace();
    let server = WebServer::start();
    server.page("/skills.zip", Answer::Bytes(Bag::new(&["review"]).zip("")));
    bag(&world, &["get", "review", "--source", &server.url_with("me:canary", "/skills.zip")]).ok();
    // The lock cannot know them: it may ask for them, or try without.
    let run = bag(&world, &["get", "review", "--upgrade"]);
    let sent = server.authorizations();
    assert!(sent[1..].iter().all(String::is_empty), "{sent:?}: {run}");
}

#[test]
fn sb_22_no_git_server_is_asked_offline() {
    let world = workspace();
    let (repo, _) = repo(&world);
    let http = HttpServer::start(&world.path("git"));
    refused(&world, &["get", "review", "--source", &http.url("skills"), "--offline"], 5, "error:");
    assert_eq!(http.requests(), 0);
    drop(repo);
}

#[test]
fn sb_12_a_plan_fetches_and_changes_nothing() {
    let world = workspace();
    let (repo, _) = repo(&world);
    let before = world.files("ws");
    let plan = json(&world, &["get", "review", "--source", &repo.url(), "--dry-run"]);
    assert_eq!(
        (&plan["applied"], &plan["skills"][0]["action"]),
        (&false.into(), &"add".into()),
        "{plan}"
    );
    assert_eq!(world.files("ws"), before);
    no_leftovers(&world, "planned");
}
