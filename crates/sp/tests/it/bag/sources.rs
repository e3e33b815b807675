//! Git repositories, zip files, directories and web archives as sources, and their errors.

use super::*;

/// Checks that `review` is installed with this text, listed, and locked with its source.
#[track_caller]
fn assert_has_review(world: &World, source: &str, text: &str) {
    assert_eq!(read(world, "ws/.skills/review/SKILL.md"), text, "{source}");
    assert_eq!(skill_names(world), ["review"], "{source}");
    assert_eq!(
        read(world, "ws/.skills/SKILLS.md"),
        format!("review: Does review.\n{RESERVED_LINE}"),
        "{source}"
    );
    let record = &lock(world)["skills"]["review"];
    assert_eq!(record["source"], source);
    assert!(record["tree"].as_str().unwrap().len() >= 64, "{record}");
    assert_consistent(world, source);
}

/// Returns a repository with three commits, and the second commit.
fn repo(world: &World) -> (GitRepository, String) {
    let repo = world.git("skills");
    SourceFiles::new(&["other", "review"]).write_to(repo.path());
    repo.commit("one");
    repo.git(&["tag", "v1"]);
    repo.git(&["branch", "stable"]);
    SourceFiles::new(&["other"]).with_skill("review", "Twice.\n").write_to(repo.path());
    let second = repo.commit("two");
    SourceFiles::new(&["other"]).with_skill("review", "Thrice.\n").write_to(repo.path());
    repo.commit("three");
    (repo, second)
}

#[test]
fn sb_12_git_source_provides_tags_branches_and_commits() {
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
        for (version, more, revision) in versions {
            let world = workspace();
            let mut args = vec!["get", "review", "--source", &url];
            args.extend(version.iter().flat_map(|version| ["--version", version]));
            bag(&world, &args).ok();
            assert_has_review(&world, &url, &skill("review", more));
            let record = &lock(&world)["skills"]["review"];
            let commit = repo.git(&["rev-parse", &format!("{revision}^{{commit}}")]);
            assert_eq!(record["commit"], commit.trim(), "{url} {version:?}");
            assert_eq!(record.get("version").and_then(Value::as_str), version, "{url}");
        }
    }
    assert!(http.requests() > 0);
}

#[test]
fn sb_12_unknown_git_version_is_an_error() {
    let world = workspace();
    let (repo, _) = repo(&world);
    for (version, code) in [
        ("v9", "E-git-ref-not-found"),
        ("-x", "E-invalid-git-ref"),
        ("a b", "E-invalid-git-ref"),
        (&"0".repeat(40), "E-git"),
    ] {
        let version = format!("--version={version}");
        assert_refused(&world, &["get", "review", "--source", &repo.url(), &version], code);
    }
}

#[test]
fn sb_12_zip_root_is_its_top_or_its_only_folder() {
    for top in ["", "skills-main/"] {
        let world = workspace();
        let bytes = SourceFiles::new(&["other", "review"]).zip(top);
        std::fs::write(world.path("ws/skills.zip"), &bytes).unwrap();
        std::fs::write(world.path("elsewhere.zip"), &bytes).unwrap();
        bag(&world, &["get", "review", "--source", "skills.zip"]).ok();
        assert_has_review(&world, "skills.zip", &skill("review", ""));
        let path = world.path("elsewhere.zip").display().to_string();
        bag(&world, &["get", "other", "--source", &path]).ok();
        assert_eq!(skill_names(&world), ["other", "review"], "{top}");
        let entry = &world.files("ws/.skills/review")["scripts/run.sh"];
        assert_eq!(*entry, FileEntry::File("echo review\n".into(), true), "a script is executable");
    }
}

#[test]
fn sb_12_zip_with_two_top_folders_is_not_a_source() {
    let world = workspace();
    let mut source = SourceFiles::new(&["review"]);
    source.0 = source.0.into_iter().map(|(path, text)| (format!("a/{path}"), text)).collect();
    source.0.insert("b/x".into(), "x".into());
    std::fs::write(world.path("ws/skills.zip"), source.zip("")).unwrap();
    assert_refused(&world, &["get", "review", "--source", "skills.zip"], "E-invalid-workspace");
}

#[test]
fn sb_12_directory_source_accepts_any_kind_of_path() {
    for (source, path) in [
        ("ABSOLUTE", "local"),
        ("../local", "local"),
        ("./in", "ws/in"),
        ("in/deep", "ws/in/deep"),
        ("~/local", "home/local"),
    ] {
        let world = workspace();
        let absolute = source_dir(&world, path, &SourceFiles::new(&["other", "review"]));
        let source = source.replace("ABSOLUTE", &absolute);
        bag(&world, &["get", "review", "--source", &source]).ok();
        assert_has_review(&world, &source, &skill("review", ""));
    }
}

#[test]
fn sb_12_relative_source_starts_at_the_current_directory() {
    let world = workspace();
    source_dir(&world, "ws/sub/local", &SourceFiles::new(&["review"]));
    world.sp_in("ws/sub", &["bag", "get", "review", "--source", "./local"]).ok();
    assert_eq!(skill_names(&world), ["review"]);
    // The recorded path works from any directory.
    SourceFiles::new(&[]).with_skill("review", "New.\n").write_to(&world.path("ws/sub/local"));
    bag(&world, &["get", "review", "--upgrade"]).ok();
    assert_eq!(read(&world, "ws/.skills/review/SKILL.md"), skill("review", "New.\n"));
}

#[test]
fn sb_12_missing_or_invalid_source_has_a_specific_error() {
    let world = workspace();
    let server = WebServer::start();
    for (source, code) in [
        ("./nowhere", "E-source-not-found"),
        ("nowhere.zip", "E-io"),
        (&server.url("/nowhere.zip"), "E-network"),
        ("file:///nonexistent/skills", "E-git"),
    ] {
        assert_refused(&world, &["get", "review", "--source", source], code);
    }
    for source in ["ext::sh -c date", "-x", "", "a\u{7}b"] {
        let source = format!("--source={source}");
        assert_refused(&world, &["get", "review", &source], "E-invalid-url");
    }
}

#[test]
fn sb_22_web_zip_is_fetched_directly_and_over_redirects() {
    let server = WebServer::start();
    let bytes = SourceFiles::new(&["other", "review"]).zip("skills-main/");
    let direct = server.respond("/skills.zip", WebResponse::Bytes(bytes.clone()));
    server.respond("/skills.zip?x=1", WebResponse::Bytes(bytes));
    // Five redirects, the last of which is relative.
    for number in 1..5 {
        let target = server.url(&format!("/r{}.zip", number - 1));
        server.respond(&format!("/r{number}.zip"), WebResponse::Redirect(target));
    }
    server.respond("/r0.zip", WebResponse::Redirect("/skills.zip".into()));
    for url in [direct, server.url("/skills.zip?x=1"), server.url("/r0.zip"), server.url("/r4.zip")]
    {
        let world = workspace();
        bag(&world, &["get", "review", "--source", &url]).ok();
        assert_has_review(&world, url.split('?').next().unwrap(), &skill("review", ""));
    }
}

#[test]
fn sb_22_misbehaving_web_server_is_an_error_that_leaves_no_files() {
    let world = workspace();
    let server = WebServer::start();
    let good = SourceFiles::new(&["review"]).zip("");
    server.respond("/loop.zip", WebResponse::Redirect("/loop.zip".into()));
    server.respond("/good.zip", WebResponse::Bytes(good.clone()));
    server.respond("/r0.zip", WebResponse::Redirect("/good.zip".into()));
    for number in 1..6 {
        let target = format!("/r{}.zip", number - 1);
        server.respond(&format!("/r{number}.zip"), WebResponse::Redirect(target));
    }
    server.respond("/huge.zip", WebResponse::Length(257 * 1024 * 1024));
    server.respond("/endless.zip", WebResponse::Endless);
    server.respond("/stalled.zip", WebResponse::Stall(good.clone()));
    server.respond("/html.zip", WebResponse::Bytes(b"<html>Sign in</html>".to_vec()));
    server.respond("/cut.zip", WebResponse::Bytes(good[..good.len() - 30].to_vec()));
    server.respond("/away.zip", WebResponse::Redirect("file:///etc/passwd".into()));
    let small = "zip-bytes=100000";
    for (path, limit, code, data) in [
        ("/nowhere.zip", small, "E-network", "404"),
        ("/loop.zip", small, "E-redirected", "/loop.zip"),
        ("/r5.zip", small, "E-redirected", "/r5.zip"),
        ("/huge.zip", "zip-ratio=100", "E-limit-exceeded", "268435456"),
        ("/endless.zip", small, "E-limit-exceeded", "100000"),
        ("/stalled.zip", "download-seconds=1", "E-network", "/stalled.zip"),
        ("/html.zip", small, "E-invalid-archive", "/html.zip"),
        ("/cut.zip", small, "E-invalid-archive", "/cut.zip"),
        ("/away.zip", small, "E-network", "/away.zip"),
    ] {
        let url = server.url(path);
        let args = ["get", "review", "--source", &url, "--limit", limit];
        let error = assert_refused(&world, &args, code);
        let text = format!("{} {}", error.message, error.because.join(" "));
        assert!(text.contains(data), "{path}: {error:#?}");
    }
}

#[test]
fn sb_22_no_request_is_sent_offline_or_for_an_installed_skill() {
    let world = workspace();
    let server = WebServer::start();
    let url =
        server.respond("/skills.zip", WebResponse::Bytes(SourceFiles::new(&["review"]).zip("")));
    assert_refused(&world, &["get", "review", "--source", &url, "--offline"], "E-offline");
    assert_eq!(server.requested_paths(), [""; 0]);
    bag(&world, &["get", "review", "--source", &url]).ok();
    bag(&world, &["get", "review", "--source", &url]).ok();
    assert_eq!(server.requested_paths(), ["/skills.zip"]);
}

#[test]
fn se_07_source_credentials_are_neither_written_nor_printed() {
    const CANARY: &str = "canary-4f1c";
    let world = workspace();
    let server = WebServer::start();
    server.respond("/skills.zip", WebResponse::Bytes(SourceFiles::new(&["review"]).zip("")));
    let good = server.url_with(&format!("me:{CANARY}"), "/skills.zip");
    let bad = server.url_with(&format!("me:{CANARY}"), "/nowhere.zip");
    let mut output = String::new();
    let commands: [&[&str]; 5] = [
        &["get", "review", "--source", &bad],
        &["get", "review", "--source", &good, "--offline"],
        &["get", "review", "--source", &good, "--format", "json"],
        &["list"],
        &["deps"],
    ];
    for args in commands {
        output += &bag(&world, args).to_string();
    }
    assert_eq!(skill_names(&world), ["review"], "{output}");
    assert!(!output.contains(CANARY), "{output}");
    let grep = std::process::Command::new("grep")
        .args(["-rl", CANARY])
        .arg(world.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&grep.stdout), "", "files with a secret");
}

#[test]
fn sb_19_invalid_source_of_any_kind_changes_nothing() {
    let good = SourceFiles::new(&["other", "review"]);
    let agents = |text| good.clone().with_file("AGENTS.md", Some(text));
    let catalog = |text| good.clone().with_file(".skills/SKILLS.md", Some(text));
    let other = |text| good.clone().with_file(".skills/other/SKILL.md", Some(text));
    let cases = [
        ("no AGENTS.md", good.clone().with_file("AGENTS.md", None), "E-invalid-workspace", ""),
        ("no keyword", agents("Skills live under `.skills/`.\n"), "SB-12", "AGENTS.md"),
        ("no directory", agents("# SKILLBAG\n"), "SB-12", "AGENTS.md"),
        (
            "no catalog",
            good.clone().with_file(".skills/SKILLS.md", None),
            "E-invalid-workspace",
            "",
        ),
        ("invalid catalog", catalog("# Skills\n"), "SB-02", ".skills/SKILLS.md"),
        ("unlisted skill", catalog("review: Does review.\n"), "SB-02", ".skills/SKILLS.md"),
        (
            "missing skill",
            good.clone()
                .with_file(".skills/other/SKILL.md", None)
                .with_file(".skills/other/scripts/run.sh", None),
            "SB-02",
            ".skills/SKILLS.md",
        ),
        (
            "different description",
            catalog("other: Else.\nreview: Does review.\n"),
            "SB-02",
            ".skills/SKILLS.md",
        ),
        ("invalid skill", other("---\nname: other\n---\n"), "AS-02", ".skills/other/SKILL.md"),
        ("different name", other(&skill("others", "")), "SB-04", ".skills/other/SKILL.md"),
    ];
    let server = WebServer::start();
    for (name, source, code, file) in cases {
        let world = workspace();
        let repo = world.git("skills");
        source.write_to(repo.path());
        repo.commit("one");
        std::fs::write(world.path("bad.zip"), source.zip("top/")).unwrap();
        let web = server.respond("/bad.zip", WebResponse::Bytes(source.zip("")));
        let local = world.path("bad.zip").display().to_string();
        for url in [source_dir(&world, "bad", &source), local, repo.url(), web] {
            let error = assert_refused(&world, &["get", "review", "--source", &url], code);
            let first = error.findings.first().map_or("", |finding| &finding.file);
            assert!(first.ends_with(file), "{name}: {error:#?}");
        }
    }
}

#[test]
fn sb_19_skill_missing_in_the_source_changes_nothing() {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["other", "review"]));
    let args = ["get", "other", "reviews", "--source", &source];
    let error = assert_refused(&world, &args, "E-skill-not-found");
    assert!(error.message.contains("`reviews`") && error.hints_at("`review`"), "{error:#?}");
    for name in ["Review", "../review", "re_view", "", "."] {
        assert_refused(&world, &["get", name, "--source", &source], "E-invalid-name");
    }
}

#[test]
fn sb_19_failure_in_the_third_of_five_sources_changes_nothing() {
    let world = workspace();
    let old = source_dir(&world, "old", &SourceFiles::new(&["mine"]));
    bag(&world, &["get", "mine", "--source", &old]).ok();
    let mut entries = Vec::new();
    for name in ["a1", "b2", "c3", "d4", "e5"] {
        let mut source = SourceFiles::new(&[name]);
        if name == "c3" {
            source = source.with_file(".skills/c3/SKILL.md", Some("---\nname: c3\n---\n"));
        }
        entries.push(format!(
            "name: {name}, version: '1', source: {}",
            source_dir(&world, name, &source)
        ));
    }
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    write(&world, "ws/CONTEXT.md", &dependency_section(&entries));
    for args in
        [&["get"][..], &["get", "a1"], &["get", "--upgrade"], &["get", "--dry-run"], &["init"]]
    {
        let error = assert_refused(&world, args, "AS-02");
        assert!(error.findings[0].file.ends_with("/.skills/c3/SKILL.md"), "{error:#?}");
    }
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), format!("mine: Does mine.\n{RESERVED_LINE}"));
    SourceFiles::new(&["c3"]).write_to(&world.path("c3"));
    bag(&world, &["get"]).ok();
    assert_eq!(skill_names(&world), ["a1", "b2", "c3", "d4", "e5", "mine"]);
    assert_consistent(&world, "fixed");
}

#[test]
fn sb_22_unsafe_or_oversized_archives_are_rejected() {
    let world = workspace();
    let good = SourceFiles::new(&["review"]);
    let with = |path: &str, text: &str| good.clone().with_file(path, Some(text));
    let many = (0..50).fold(good.clone(), |source, number| {
        source.with_file(&format!(".skills/review/f{number}"), Some("x"))
    });
    let large = with(".skills/review/big", &"x".repeat(5000));
    for (source, limit, code) in [
        (with(".skills/review/../../../out.txt", "x"), "depth=64", "E-invalid-archive"),
        (with("/tmp/out.txt", "x"), "depth=64", "E-invalid-archive"),
        (with(".skills/review/skill.md", "x"), "depth=64", "E-invalid-archive"),
        (many, "zip-entries=20", "E-limit-exceeded"),
        (large.clone(), "zip-bytes=4000", "E-limit-exceeded"),
        (large, "file-bytes=4000", "E-limit-exceeded"),
    ] {
        std::fs::write(world.path("ws/bad.zip"), source.zip("")).unwrap();
        let args = ["get", "review", "--source", "bad.zip", "--limit", limit];
        assert_refused(&world, &args, code);
        assert!(!world.path("out.txt").exists() && !world.path("ws/out.txt").exists(), "{limit}");
    }
}

#[test]
fn se_06_links_out_of_a_directory_source_are_rejected() {
    let world = workspace();
    write(&world, "outside.txt", "private");
    for target in ["../../../outside.txt", "/etc/passwd", "nowhere"] {
        let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
        std::os::unix::fs::symlink(target, world.path("local/.skills/review/link")).unwrap();
        assert_refused(&world, &["get", "review", "--source", &source], "E-unsafe-link");
    }
}

#[test]
fn se_06_special_files_of_a_source_are_rejected_without_opening_them() {
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
    for (file, code, name) in [
        (".skills/review/fifo", "E-special-file", "fifo"),
        ("AGENTS.md", "E-invalid-workspace", "AGENTS.md"),
        (".skills/SKILLS.md", "E-invalid-workspace", "SKILLS.md"),
        (".skills/review/SKILL.md", "SB-02", "review"),
    ] {
        source_dir(&world, "local", &SourceFiles::new(&["review"]).with_file(file, None));
        let path = world.path("local").join(file);
        make_fifo(&path);
        let error = assert_refused(&world, &["get", "review", "--source", &source], code);
        assert!(format!("{error:?}").contains(name), "{error:#?}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn se_06_setuid_and_group_write_bits_are_removed() {
    use std::os::unix::fs::PermissionsExt;
    let world = workspace();
    let source = source_dir(&world, "local", &SourceFiles::new(&["review"]));
    let script = "review/scripts/run.sh";
    std::fs::set_permissions(
        world.path("local/.skills").join(script),
        PermissionsExt::from_mode(0o6777),
    )
    .unwrap();
    bag(&world, &["get", "review", "--source", &source]).ok();
    let mode =
        std::fs::metadata(world.path("ws/.skills").join(script)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0, "{mode:o}");
    assert_eq!(mode & 0o700, 0o700, "{mode:o}");
}

/// The header for `me:canary`.
const AUTHORIZATION: &str = "Basic bWU6Y2FuYXJ5";

#[test]
fn se_07_credentials_are_not_sent_to_another_server() {
    let world = workspace();
    let (first, second) = (WebServer::start(), WebServer::start());
    let target =
        second.respond("/skills.zip", WebResponse::Bytes(SourceFiles::new(&["review"]).zip("")));
    first.respond("/skills.zip", WebResponse::Redirect(target));
    bag(&world, &["get", "review", "--source", &first.url_with("me:canary", "/skills.zip")]).ok();
    assert_eq!(first.authorizations(), [AUTHORIZATION]);
    assert_eq!(second.authorizations(), [""]);
}

#[test]
fn se_07_redacted_credentials_of_the_lock_are_never_sent() {
    let world = workspace();
    let server = WebServer::start();
    server.respond("/skills.zip", WebResponse::Bytes(SourceFiles::new(&["review"]).zip("")));
    bag(&world, &["get", "review", "--source", &server.url_with("me:canary", "/skills.zip")]).ok();
    // The lock does not contain them: the upgrade may fail, or try without credentials.
    let run = bag(&world, &["get", "review", "--upgrade"]);
    let headers = server.authorizations();
    assert!(headers[1..].iter().all(String::is_empty), "{headers:?}: {run}");
}

#[test]
fn sb_22_no_git_server_is_contacted_offline() {
    let world = workspace();
    let (_repo, _) = repo(&world);
    let http = HttpServer::start(&world.path("git"));
    let url = http.url("skills");
    assert_refused(&world, &["get", "review", "--source", &url, "--offline"], "E-offline");
    assert_eq!(http.requests(), 0);
}

#[test]
fn sb_12_dry_run_fetches_and_changes_nothing() {
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
    assert_no_leftovers(&world, "dry run");
}
