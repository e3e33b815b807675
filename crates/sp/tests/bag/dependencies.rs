//! What skills and contexts need: who says from where, what is a conflict, and what stops.

use super::*;

/// Writes a source with one skill into the directory `name`; the skill needs `entries`.
fn source(world: &World, name: &str, entries: &[&str]) -> String {
    let more = if entries.is_empty() { String::new() } else { needs(entries) };
    dir(world, &format!("src/{name}"), &Bag::new(&[]).skill(name, &more))
}

#[track_caller]
fn by(world: &World, report: &Value, name: &str) -> Vec<String> {
    in_step(world, name);
    let skill = report["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == name);
    let by = skill.unwrap_or_else(|| panic!("no {name} in {report}"))["by"].clone();
    serde_json::from_value(by).unwrap()
}

#[test]
fn sb_14_what_a_skill_needs_comes_too_all_the_way_down() {
    let world = workspace();
    source(&world, "d", &[]);
    source(&world, "c", &["name: d, source: ../d"]);
    source(&world, "b", &["name: c, source: ../c"]);
    let a = source(&world, "a", &["name: b, source: ../b"]);
    let report = json(&world, &["get", "a", "--source", &a]);
    assert_eq!(skills(&world), ["a", "b", "c", "d"]);
    assert_eq!(by(&world, &report, "a"), ["you"]);
    assert_eq!(by(&world, &report, "d"), ["`c`"]);
}

#[test]
fn sb_14_a_skill_that_two_need_comes_once() {
    let world = workspace();
    source(&world, "d", &[]);
    source(&world, "b", &["name: d, source: ../d"]);
    source(&world, "c", &["name: d, source: ./../d/"]);
    let a = source(&world, "a", &["name: b, source: ../b", "name: c, source: ../c"]);
    let report = json(&world, &["get", "a", "--source", &a]);
    assert_eq!(skills(&world), ["a", "b", "c", "d"]);
    assert_eq!(by(&world, &report, "d"), ["`b`", "`c`"]);
}

#[test]
fn sb_14_a_cycle_is_an_error_that_prints_it() {
    let world = workspace();
    source(&world, "c", &["name: a, source: ../a"]);
    source(&world, "b", &["name: c, source: ../c"]);
    let a = source(&world, "a", &["name: b, source: ../b"]);
    let run = refused(&world, &["get", "a", "--source", &a], 3, "a → b → c → a");
    assert!(run.stderr.contains("nothing was changed"), "{run}");
    let own = source(&world, "own", &["name: own, source: ../own"]);
    refused(&world, &["get", "own", "--source", &own], 3, "own → own");
    // One that lies further down is printed without the way to it.
    let top = source(&world, "top", &["name: a, source: ../a"]);
    refused(&world, &["get", "top", "--source", &top], 3, "circle: a → b → c → a");
}

#[test]
fn sb_15_two_sources_for_one_name_are_a_conflict_that_names_both_requesters() {
    let world = workspace();
    source(&world, "x", &[]);
    dir(&world, "src/x2", &Bag::new(&["x"]));
    let a = source(&world, "a", &["name: x, source: ../x"]);
    let b = source(&world, "b", &["name: x, source: ../x2"]);
    let both = dir(
        &world,
        "src/both",
        &Bag::new(&[]).skill(
            "both",
            &needs(&[&format!("name: a, source: {a}"), &format!("name: b, source: {b}")]),
        ),
    );
    let run = refused(&world, &["get", "both", "--source", &both], 1, "`x` is wanted twice");
    for words in ["`a` wants ../x", "`b` wants ../x2", "nothing was changed"] {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
}

/// A repository with `x` at `v1` and, otherwise, at `v2`.
fn versions(world: &World) -> Repo {
    let repo = world.git("x");
    for version in ["v1", "v2", "v3"] {
        Bag::new(&[]).skill("x", &format!("Of {version}.\n")).put(repo.path());
        repo.commit(version);
        repo.git(&["tag", version]);
    }
    repo
}

#[test]
fn sb_15_two_pinned_versions_are_a_conflict_that_names_both_requesters() {
    let world = workspace();
    let url = versions(&world).url();
    source(&world, "a", &[&format!("name: x, source: '{url}', version: v1")]);
    source(&world, "b", &[&format!("name: x, source: '{url}', version: v2")]);
    source(&world, "free", &[&format!("name: x, source: '{url}'")]);
    for first in [["a", "b"], ["b", "a"]] {
        let entries = first.map(|name| format!("name: {name}, source: ../{name}"));
        let free = "name: free, source: ../free";
        let both = source(&world, "both", &[free, &entries[0], &entries[1]]);
        let run = refused(&world, &["get", "both", "--source", &both], 1, "`x` is wanted twice");
        for words in ["`a` wants v1", "`b` wants v2"] {
            assert!(run.stderr.contains(words), "`{words}` is not in {run}");
        }
    }
}

#[test]
fn sb_15_one_pinned_version_holds_for_those_that_pin_none() {
    let outer = world!();
    let url = versions(&outer).url();
    for order in [["a", "free"], ["free", "a"]] {
        let world = workspace();
        source(&world, "a", &[&format!("name: x, source: '{url}', version: v1")]);
        source(&world, "free", &[&format!("name: x, source: '{url}'")]);
        let entries = order.map(|name| format!("name: {name}, source: ../{name}"));
        let both = source(&world, "both", &[&entries[0], &entries[1]]);
        bag(&world, &["get", "both", "--source", &both]).ok();
        assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v1.\n"), "{order:?}");
        assert_eq!(lock(&world)["skills"]["x"]["version"], "v1", "{order:?}");
    }
}

#[test]
fn sb_10_what_the_context_declares_is_installed() {
    let world = workspace();
    let url = versions(&world).url();
    let a = source(&world, "a", &[]);
    write(
        &world,
        "ws/CONTEXT.md",
        &needs(&[
            &format!("name: x, version: v2, source: '{url}'"),
            &format!("name: a, version: '1', source: {a}"),
        ]),
    );
    let report = json(&world, &["get"]);
    assert_eq!(skills(&world), ["a", "x"]);
    assert_eq!(by(&world, &report, "x"), ["`CONTEXT.md`"]);
    assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v2.\n"));
}

#[test]
fn sb_10_a_context_that_leaves_something_out_is_refused_where_it_stands() {
    let world = workspace();
    for (entry, words) in [
        ("name: a, source: ./a", "`version` is missing"),
        ("name: a, version: '1'", "`source` is missing"),
        ("version: '1', source: ./a", "`name` is missing"),
        ("name: a_b, version: '1', source: ./a", "the name `a_b`"),
        ("name: a, version: '1', source: ./a, colour: red", "unknown key `colour`"),
        ("name: a, version: '1', source: 'ext::sh -c date'", "the source cannot be used"),
    ] {
        write(&world, "ws/CONTEXT.md", &needs(&[entry]));
        let run = refused(&world, &["get"], 3, words);
        assert!(run.stderr.contains("CONTEXT.md:6:"), "{entry}: {run}");
    }
}

#[test]
fn sb_14_a_context_overrides_what_skills_declare_and_the_user_the_project() {
    let outer = world!();
    let url = versions(&outer).url();
    let entry = |version: &str| needs(&[&format!("name: x, version: {version}, source: '{url}'")]);
    for (project, user, expected) in [
        (None, None, "v1"),
        (Some("v2"), None, "v2"),
        (None, Some("v3"), "v3"),
        (Some("v2"), Some("v3"), "v3"),
    ] {
        let world = workspace();
        let a = source(&world, "a", &[&format!("name: x, source: '{url}', version: v1")]);
        if let Some(version) = project {
            write(&world, "ws/CONTEXT.md", &entry(version));
        }
        if let Some(version) = user {
            write(&world, "ws/USER_CONTEXT.md", &entry(version));
        }
        bag(&world, &["get", "a", "--source", &a]).ok();
        assert_eq!(
            read(&world, "ws/.skills/x/SKILL.md"),
            skill("x", &format!("Of {expected}.\n")),
            "{project:?} {user:?}"
        );
        in_step(&world, expected);
    }
}

#[test]
fn sb_15_a_context_settles_a_conflict() {
    let world = workspace();
    let url = versions(&world).url();
    source(&world, "a", &[&format!("name: x, source: '{url}', version: v1")]);
    source(&world, "b", &[&format!("name: x, source: '{url}', version: v2")]);
    let both = source(&world, "both", &["name: a, source: ../a", "name: b, source: ../b"]);
    refused(&world, &["get", "both", "--source", &both], 1, "`x` is wanted twice");
    write(&world, "ws/CONTEXT.md", &needs(&[&format!("name: x, version: v3, source: '{url}'")]));
    let report = json(&world, &["get", "both", "--source", &both]);
    assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v3.\n"));
    assert_eq!(by(&world, &report, "x"), ["`CONTEXT.md`", "`a`", "`b`"]);
}

#[test]
fn sb_14_what_the_command_says_is_never_silently_something_else() {
    let world = workspace();
    let url = versions(&world).url();
    write(&world, "ws/CONTEXT.md", &needs(&[&format!("name: x, version: v1, source: '{url}'")]));
    // The conversation counts most; a conflict would be honest too.
    let run = bag(&world, &["get", "x", "--source", &url, "--version", "v3"]);
    match run.code {
        Some(0) => {
            assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v3.\n"), "{run}");
        }
        code => assert_eq!((code, skills(&world)), (Some(1), vec![]), "{run}"),
    }
}

#[test]
fn sb_14_a_local_skill_counts_before_the_requesters_declaration() {
    let world = workspace();
    write(&world, "ws/.skills/x/SKILL.md", &skill("x", "Mine.\n"));
    bag(&world, &["sync"]).ok();
    let server = WebServer::start();
    let a = source(&world, "a", &[&format!("name: x, source: '{}'", server.url("/x.zip"))]);
    bag(&world, &["get", "a", "--source", &a]).ok();
    assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Mine.\n"));
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
fn sb_14_what_can_be_done_without_is_a_warning_when_it_is_not_there() {
    let server = WebServer::start();
    let web = format!("name: x, required: false, source: '{}'", server.url("/x.zip"));
    for entry in ["name: x, required: false", "name: x, required: false, source: ../nowhere", &web]
    {
        let world = workspace();
        let a = source(&world, "a", &[entry]);
        let run = bag(&world, &["get", "a", "--source", &a]).ok();
        assert!(run.stderr.contains("warning") && run.stderr.contains("`x`"), "{entry}: {run}");
        assert_eq!(skills(&world), ["a"], "{entry}");
        in_step(&world, entry);
    }
    let world = workspace();
    source(&world, "x", &[]);
    let a = source(&world, "a", &["name: x, required: false, source: ../x"]);
    bag(&world, &["get", "a", "--source", &a]).ok();
    assert_eq!(skills(&world), ["a", "x"], "what is there comes");
}

#[test]
fn sb_19_what_can_be_done_without_must_be_valid_where_it_is_there() {
    let world = workspace();
    dir(&world, "src/x", &Bag::new(&["x"]).with("AGENTS.md", Some("No.\n")));
    let a = source(&world, "a", &["name: x, required: false, source: ../x"]);
    refused(&world, &["get", "a", "--source", &a], 3, "does not satisfy the SkillBag standard");
}

#[test]
fn sb_14_what_one_can_do_without_and_another_cannot_is_needed() {
    for order in [["b", "c"], ["c", "b"]] {
        let world = workspace();
        source(&world, "x", &[]);
        source(&world, "b", &["name: x, required: false"]);
        source(&world, "c", &["name: x, source: ../x"]);
        let entries = order.map(|name| format!("name: {name}, source: ../{name}"));
        let a = source(&world, "a", &[&entries[0], &entries[1]]);
        bag(&world, &["get", "a", "--source", &a]).ok();
        assert_eq!(skills(&world), ["a", "b", "c", "x"], "{order:?}");
    }
}

#[test]
fn sb_14_what_one_cannot_reach_and_another_needs_stops_everything() {
    for order in [["b", "c"], ["c", "b"]] {
        let world = workspace();
        source(&world, "b", &["name: x, source: ../nowhere, required: false"]);
        source(&world, "c", &["name: x, source: ../nowhere"]);
        let entries = order.map(|name| format!("name: {name}, source: ../{name}"));
        let a = source(&world, "a", &[&entries[0], &entries[1]]);
        let run = bag(&world, &["get", "a", "--source", &a]);
        assert!(matches!(run.code, Some(1 | 5)), "{order:?}: {run}");
        assert_eq!(skills(&world), [""; 0], "{order:?}");
    }
}

#[test]
fn sb_11_without_a_source_nothing_is_guessed_and_nothing_fetched() {
    let world = workspace();
    let repo = world.git("skills");
    Bag::new(&["x"]).skill("a", &needs(&["name: x"])).put(repo.path());
    repo.commit("one");
    // The source of `a` has an `x` too, but nobody said that it is the one.
    let run = refused(
        &world,
        &["get", "a", "--source", &repo.url()],
        1,
        "`x`, which `a` needs, is not here",
    );
    assert!(run.stderr.contains("hint:"), "{run}");
    bag(&world, &["get", "x", "a", "--source", &repo.url()]).ok();
    assert_eq!(skills(&world), ["a", "x"]);
    refused(&world, &["get", "unknown"], 1, "`unknown`");
}

#[test]
fn sb_11_a_skill_from_elsewhere_may_not_name_a_place_of_this_machine() {
    let world = workspace();
    dir(&world, "private", &Bag::new(&["x"]));
    let http = HttpServer::start(&world.path("git"));
    let server = WebServer::start();
    for (at, place) in [
        "../private",
        "./private",
        "~/private",
        "private.zip",
        &world.path("private").display().to_string(),
    ]
    .iter()
    .enumerate()
    {
        let remote = Bag::new(&[]).skill("a", &needs(&[&format!("name: x, source: '{place}'")]));
        let repo = world.git(&format!("r{at}"));
        remote.put(repo.path());
        repo.commit("one");
        let web = server.page("/a.zip", Answer::Bytes(remote.zip("")));
        for url in [http.url(&format!("r{at}")), web] {
            let run = refused(&world, &["get", "a", "--source", &url], 4, "on this machine");
            assert!(run.stderr.contains("hint:"), "{run}");
        }
    }
}

#[test]
fn sb_11_a_skill_from_elsewhere_may_not_name_a_repository_of_this_machine() {
    let world = workspace();
    let private = world.git("private");
    Bag::new(&["x"]).put(private.path());
    private.commit("one");
    let server = WebServer::start();
    let remote =
        Bag::new(&[]).skill("a", &needs(&[&format!("name: x, source: '{}'", private.url())]));
    let url = server.page("/a.zip", Answer::Bytes(remote.zip("")));
    refused(&world, &["get", "a", "--source", &url], 4, "on this machine");
}

#[test]
fn sb_11_a_context_gives_what_a_skill_from_elsewhere_may_not_name() {
    let world = workspace();
    let server = WebServer::start();
    let remote = Bag::new(&[]).skill("a", &needs(&["name: x, source: ../private"]));
    let url = server.page("/a.zip", Answer::Bytes(remote.zip("")));
    let run = refused(&world, &["get", "a", "--source", &url], 4, "on this machine");
    assert!(run.stderr.contains("declare `x` in `CONTEXT.md` with a source of your own"), "{run}");
    // What the hint says must help.
    let own = dir(&world, "own", &Bag::new(&["x"]));
    write(&world, "ws/CONTEXT.md", &needs(&[&format!("name: x, version: '1', source: {own}")]));
    bag(&world, &["get", "a", "--source", &url]).ok();
    assert_eq!(skills(&world), ["a", "x"]);
}

#[test]
fn sb_12_a_source_below_the_home_may_name_its_neighbours() {
    let world = workspace();
    dir(&world, "home/src/x", &Bag::new(&["x"]));
    dir(&world, "home/src/a", &Bag::new(&[]).skill("a", &needs(&["name: x, source: ../x"])));
    bag(&world, &["get", "a", "--source", "~/src/a"]).ok();
    assert_eq!(skills(&world), ["a", "x"]);
}

#[test]
fn sb_15_one_place_written_in_two_ways_is_no_conflict() {
    let world = workspace();
    let x = dir(&world, "home/src/x", &Bag::new(&["x"]));
    let b =
        dir(&world, "home/src/b", &Bag::new(&[]).skill("b", &needs(&["name: x, source: ~/src/x"])));
    let a = dir(
        &world,
        "home/src/a",
        &Bag::new(&[]).skill(
            "a",
            &needs(&[&format!("name: x, source: {x}"), &format!("name: b, source: {b}")]),
        ),
    );
    bag(&world, &["get", "a", "--source", &a]).ok();
    assert_eq!(skills(&world), ["a", "b", "x"]);
}

fn asking(steps: &str) -> Bag {
    Bag::new(&["a", "b"])
        .with("AGENTS.md", Some(&format!("{AGENTS}\n## Extra installation steps\n\n{steps}\n")))
}

#[test]
fn sb_13_extra_steps_are_shown_confirmed_and_never_run() {
    let world = workspace();
    let ran = world.path("ran").display().to_string();
    let steps = format!("1. Run `touch {ran}`.\n\n```sh\ntouch {ran}\n```\n\u{1b}[2J");
    let source = dir(&world, "src", &asking(&steps));
    let run = refused(&world, &["get", "a", "--source", &source], 1, "asks for extra steps");
    for words in ["1. Run `touch", "--steps-done", "nothing was changed and nothing was run"] {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
    assert!(!run.stderr.contains('\u{1b}'), "escapes of a stranger are not passed on: {run}");
    bag(&world, &["get", "a", "--source", &source, "--steps-done"]).ok();
    assert!(!world.path("ran").exists(), "nothing is run");
    assert!(lock(&world)["skills"]["a"]["steps"].as_str().unwrap().len() >= 64);
    in_step(&world, "confirmed");
}

#[test]
fn sb_13_extra_steps_are_found_however_they_are_written() {
    for steps in [
        "## Installation\n\nRun make.",
        "## Extra steps\n\nRun make.",
        "## Prerequisites\n\n- pandoc",
        "## Requirements\n\nInstall pandoc.",
        "Extra installation steps: run make.",
        "## Install\n\nNo network? Run make first.",
        "<h2>Installation</h2>\n\nRun make.",
    ] {
        let world = workspace();
        let source = dir(
            &world,
            "src",
            &Bag::new(&["a"]).with("AGENTS.md", Some(&format!("{AGENTS}\n{steps}\n"))),
        );
        let run = bag(&world, &["get", "a", "--source", &source]);
        assert_eq!((run.code, skills(&world)), (Some(1), vec![]), "{steps}: {run}");
    }
}

#[test]
fn sb_13_confirmed_steps_are_asked_for_again_only_when_they_change() {
    let world = workspace();
    let source = dir(&world, "src", &asking("Install pandoc."));
    bag(&world, &["get", "a", "--source", &source, "--steps-done"]).ok();
    let first = lock(&world)["skills"]["a"]["steps"].clone();
    asking("Install pandoc.").skill("a", "New.\n").put(&world.path("src"));
    bag(&world, &["get", "a", "--upgrade"]).ok();
    assert_eq!(lock(&world)["skills"]["a"]["steps"], first);
    asking("Install pandoc 3.").put(&world.path("src"));
    bag(&world, &["get", "a"]).ok();
    refused(&world, &["get", "a", "--upgrade"], 1, "Install pandoc 3.");
    bag(&world, &["get", "a", "--upgrade", "--steps-done"]).ok();
    assert_ne!(lock(&world)["skills"]["a"]["steps"], first);
    Bag::new(&["a"]).put(&world.path("src"));
    bag(&world, &["get", "a", "--upgrade"]).ok();
    assert_eq!(lock(&world)["skills"]["a"].get("steps"), None);
}

#[test]
fn sb_13_the_steps_of_a_dependency_stop_everything_too() {
    let world = workspace();
    dir(
        &world,
        "src/x",
        &Bag::new(&["x"]).with("AGENTS.md", Some(&format!("{AGENTS}\n## Setup\n\nSing.\n"))),
    );
    let a = source(&world, "a", &["name: x, source: ../x"]);
    refused(&world, &["get", "a", "--source", &a], 1, "Sing.");
    write(&world, "ws/CONTEXT.md", &needs(&[&format!("name: a, version: '1', source: {a}")]));
    refused(&world, &["init"], 1, "Sing.");
    bag(&world, &["init", "--steps-done"]).ok();
    assert_eq!(skills(&world), ["a", "x"]);
}

#[test]
fn sb_15_deps_shows_who_needs_whom_and_what_is_missing() {
    let world = workspace();
    write(
        &world,
        "ws/.skills/a/SKILL.md",
        &skill("a", &needs(&["name: b", "name: x, source: ./one"])),
    );
    write(
        &world,
        "ws/.skills/b/SKILL.md",
        &skill("b", &needs(&["name: x, source: ./two, required: false"])),
    );
    bag(&world, &["sync"]).ok();
    let deps = json(&world, &["deps"]);
    let shown: Vec<(&str, &str, bool, bool)> = deps["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap();
            (
                text("by"),
                text("name"),
                one["required"].as_bool().unwrap(),
                one["present"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(shown, [("a", "b", true, true), ("a", "x", true, false), ("b", "x", false, false)]);
    let conflicts = deps["conflicts"].to_string();
    assert!(
        conflicts.contains("a wants ./one") && conflicts.contains("b wants ./two"),
        "{conflicts}"
    );
}

#[test]
fn sb_11_an_installed_skill_from_elsewhere_names_no_place_of_this_machine_either() {
    let world = workspace();
    let server = WebServer::start();
    let remote = Bag::new(&[]).skill("a", &needs(&["name: x, source: ../private"]));
    let url = server.page("/a.zip", Answer::Bytes(remote.zip("")));
    let own = dir(&world, "own", &Bag::new(&["x"]));
    write(&world, "ws/CONTEXT.md", &needs(&[&format!("name: x, version: '1', source: {own}")]));
    bag(&world, &["get", "a", "--source", &url]).ok();
    assert_eq!(skills(&world), ["a", "x"]);
    // Once it is here, its words are still a stranger's.
    std::fs::remove_file(world.path("ws/CONTEXT.md")).unwrap();
    std::fs::remove_dir_all(world.path("ws/.skills/x")).unwrap();
    dir(&world, "private", &Bag::new(&["x"]));
    let run = bag(&world, &["get", "a"]);
    assert_eq!(skills(&world), ["a"], "{run}");
    assert_ne!(run.code, Some(0), "{run}");
}
