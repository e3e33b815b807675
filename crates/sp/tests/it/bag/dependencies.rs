//! Dependencies of skills and contexts: where they come from, conflicts, and manual steps.

use super::*;

/// Writes a source with one skill that has these dependencies into the directory `src/<name>`.
fn source(world: &World, name: &str, entries: &[&str]) -> String {
    let more = if entries.is_empty() { String::new() } else { dependency_section(entries) };
    source_dir(world, &format!("src/{name}"), &SourceFiles::new(&[]).with_skill(name, &more))
}

/// Returns who requested a skill, from the report of `sp bag add`.
#[track_caller]
fn requesters(world: &World, report: &Value, name: &str) -> Vec<String> {
    assert_consistent(world, name);
    let skill = report["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == name);
    let by = skill.unwrap_or_else(|| panic!("no {name} in {report}"))["by"].clone();
    serde_json::from_value(by).unwrap()
}

#[test]
fn sb_14_transitive_dependencies_are_installed() {
    let world = workspace();
    source(&world, "d", &[]);
    source(&world, "c", &["name: d, source: ../d"]);
    source(&world, "b", &["name: c, source: ../c"]);
    let a = source(&world, "a", &["name: b, source: ../b"]);
    let report = json(&world, &["get", "a", "--source", &a]);
    assert_eq!(skill_names(&world), ["a", "b", "c", "d"]);
    assert_eq!(requesters(&world, &report, "a"), ["you"]);
    assert_eq!(requesters(&world, &report, "d"), ["`c`"]);
}

#[test]
fn sb_14_shared_dependency_is_installed_once() {
    let world = workspace();
    source(&world, "d", &[]);
    source(&world, "b", &["name: d, source: ../d"]);
    source(&world, "c", &["name: d, source: ./../d/"]);
    let a = source(&world, "a", &["name: b, source: ../b", "name: c, source: ../c"]);
    let report = json(&world, &["get", "a", "--source", &a]);
    assert_eq!(skill_names(&world), ["a", "b", "c", "d"]);
    assert_eq!(requesters(&world, &report, "d"), ["`b`", "`c`"]);
}

#[test]
fn sb_14_dependency_cycle_is_an_error_that_shows_the_cycle() {
    let world = workspace();
    source(&world, "c", &["name: a, source: ../a"]);
    source(&world, "b", &["name: c, source: ../c"]);
    let a = source(&world, "a", &["name: b, source: ../b"]);
    let own = source(&world, "own", &["name: own, source: ../own"]);
    // The path to a cycle is not part of it.
    let top = source(&world, "top", &["name: a, source: ../a"]);
    for (name, source, cycle) in
        [("a", a, "a → b → c → a"), ("own", own, "own → own"), ("top", top, "a → b → c → a")]
    {
        let error =
            assert_refused(&world, &["get", name, "--source", &source], "E-dependency-cycle");
        assert!(error.message.contains(cycle), "{error:#?}");
        assert!(!error.message.contains("top →"), "{error:#?}");
    }
}

/// Checks that the skill `both` of `source` cannot be installed because of a conflict about `x`,
/// and that the error names each requester with what it requests.
#[track_caller]
fn conflicts(world: &World, source: &str, requests: &[(&str, &str)]) {
    let error = assert_refused(world, &["get", "both", "--source", source], "E-unresolvable");
    assert!(error.message.contains("`x`"), "{error:#?}");
    for (requester, request) in requests {
        let is_named =
            |cause: &String| cause.contains(requester) && cause.contains(&format!(" {request}"));
        assert!(error.because.iter().any(is_named), "{requester} {request}: {error:#?}");
    }
}

#[test]
fn sb_15_conflicting_sources_name_both_requesters() {
    let world = workspace();
    source(&world, "x", &[]);
    source_dir(&world, "src/x2", &SourceFiles::new(&["x"]));
    let a = source(&world, "a", &["name: x, source: ../x"]);
    let b = source(&world, "b", &["name: x, source: ../x2"]);
    let both = source_dir(
        &world,
        "src/both",
        &SourceFiles::new(&[]).with_skill(
            "both",
            &dependency_section(&[
                &format!("name: a, source: {a}"),
                &format!("name: b, source: {b}"),
            ]),
        ),
    );
    conflicts(&world, &both, &[("`a`", "../x"), ("`b`", "../x2")]);
}

/// Returns a repository with the tags `v1`, `v2` and `v3` of `x`.
fn tagged_versions(world: &World) -> GitRepository {
    let repo = world.git("x");
    for version in ["v1", "v2", "v3"] {
        SourceFiles::new(&[]).with_skill("x", &format!("Of {version}.\n")).write_to(repo.path());
        repo.commit(version);
        repo.git(&["tag", version]);
    }
    repo
}

#[test]
fn sb_15_conflicting_versions_name_both_requesters() {
    let world = workspace();
    let url = tagged_versions(&world).url();
    source(&world, "a", &[&format!("name: x, source: '{url}', version: v1")]);
    source(&world, "b", &[&format!("name: x, source: '{url}', version: v2")]);
    source(&world, "free", &[&format!("name: x, source: '{url}'")]);
    for first in [["a", "b"], ["b", "a"]] {
        let entries = first.map(|name| format!("name: {name}, source: ../{name}"));
        let free = "name: free, source: ../free";
        let both = source(&world, "both", &[free, &entries[0], &entries[1]]);
        conflicts(&world, &both, &[("`a`", "v1"), ("`b`", "v2")]);
    }
}

#[test]
fn sb_15_pinned_version_satisfies_requesters_without_a_version() {
    let outer = world!();
    let url = tagged_versions(&outer).url();
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
fn sb_10_get_installs_the_dependencies_of_the_context() {
    let world = workspace();
    let url = tagged_versions(&world).url();
    let a = source(&world, "a", &[]);
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[
            &format!("name: x, version: v2, source: '{url}'"),
            &format!("name: a, version: '1', source: {a}"),
        ]),
    );
    let report = json(&world, &["get"]);
    assert_eq!(skill_names(&world), ["a", "x"]);
    assert_eq!(requesters(&world, &report, "x"), ["`CONTEXT.md`"]);
    assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v2.\n"));
}

#[test]
fn sb_10_invalid_context_dependency_is_reported_with_its_position() {
    let world = workspace();
    for (entry, data) in [
        ("name: a, source: ./a", "`version`"),
        ("name: a, version: '1'", "`source`"),
        ("version: '1', source: ./a", "`name`"),
        ("name: a_b, version: '1', source: ./a", "`a_b`"),
        ("name: a, version: '1', source: ./a, colour: red", "`colour`"),
        ("name: a, version: '1', source: 'ext::sh -c date'", "ext"),
    ] {
        write(&world, "ws/CONTEXT.md", &dependency_section(&[entry]));
        let error = assert_refused(&world, &["get"], "SB-10");
        let finding = &error.findings[0];
        assert_eq!((finding.file.as_str(), finding.line), ("CONTEXT.md", 6), "{entry}");
        assert!(finding.message.contains(data), "{entry}: {error:#?}");
    }
}

#[test]
fn sb_14_contexts_override_skills_and_user_context_overrides_project() {
    let outer = world!();
    let url = tagged_versions(&outer).url();
    let entry = |version: &str| {
        dependency_section(&[&format!("name: x, version: {version}, source: '{url}'")])
    };
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
        assert_consistent(&world, expected);
    }
}

#[test]
fn sb_15_context_resolves_a_conflict() {
    let world = workspace();
    let url = tagged_versions(&world).url();
    source(&world, "a", &[&format!("name: x, source: '{url}', version: v1")]);
    source(&world, "b", &[&format!("name: x, source: '{url}', version: v2")]);
    let both = source(&world, "both", &["name: a, source: ../a", "name: b, source: ../b"]);
    conflicts(&world, &both, &[("`a`", "v1"), ("`b`", "v2")]);
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[&format!("name: x, version: v3, source: '{url}'")]),
    );
    let report = json(&world, &["get", "both", "--source", &both]);
    assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v3.\n"));
    assert_eq!(requesters(&world, &report, "x"), ["`CONTEXT.md`", "`a`", "`b`"]);
}

#[test]
fn sb_14_version_of_the_command_line_is_never_ignored() {
    let world = workspace();
    let url = tagged_versions(&world).url();
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[&format!("name: x, version: v1, source: '{url}'")]),
    );
    // The command line has the highest precedence; a conflict is acceptable too.
    let run = bag(&world, &["get", "x", "--source", &url, "--version", "v3"]);
    if run.code == Some(0) {
        assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Of v3.\n"), "{run}");
    } else {
        assert_eq!((run.code, skill_names(&world)), (Some(1), vec![]), "{run}");
    }
}

#[test]
fn sb_14_local_skill_satisfies_a_dependency_with_a_source() {
    let world = workspace();
    write(&world, "ws/.skills/x/SKILL.md", &skill("x", "Mine.\n"));
    bag(&world, &["sync"]).ok();
    let server = WebServer::start();
    let a = source(&world, "a", &[&format!("name: x, source: '{}'", server.url("/x.zip"))]);
    bag(&world, &["get", "a", "--source", &a]).ok();
    assert_eq!(read(&world, "ws/.skills/x/SKILL.md"), skill("x", "Mine.\n"));
    assert_eq!(server.requested_paths(), [""; 0]);
}

#[test]
fn sb_14_unavailable_optional_dependency_is_a_warning() {
    let server = WebServer::start();
    let web = format!("name: x, required: false, source: '{}'", server.url("/x.zip"));
    for entry in ["name: x, required: false", "name: x, required: false, source: ../nowhere", &web]
    {
        let world = workspace();
        let a = source(&world, "a", &[entry]);
        let run = bag(&world, &["get", "a", "--source", &a]).ok();
        assert!(run.stderr.contains("warning:") && run.stderr.contains("`x`"), "{entry}: {run}");
        assert_eq!(skill_names(&world), ["a"], "{entry}");
        assert_consistent(&world, entry);
    }
    let world = workspace();
    source(&world, "x", &[]);
    let a = source(&world, "a", &["name: x, required: false, source: ../x"]);
    bag(&world, &["get", "a", "--source", &a]).ok();
    assert_eq!(skill_names(&world), ["a", "x"], "an available optional skill is installed");
}

#[test]
fn sb_19_invalid_source_of_an_optional_dependency_is_an_error() {
    let world = workspace();
    source_dir(&world, "src/x", &SourceFiles::new(&["x"]).with_file("AGENTS.md", Some("No.\n")));
    let a = source(&world, "a", &["name: x, required: false, source: ../x"]);
    let error = assert_refused(&world, &["get", "a", "--source", &a], "SB-12");
    assert!(error.findings[0].file.ends_with("/AGENTS.md"), "{error:#?}");
}

#[test]
fn sb_14_dependency_is_required_if_one_skill_requires_it() {
    for order in [["b", "c"], ["c", "b"]] {
        let world = workspace();
        source(&world, "x", &[]);
        source(&world, "b", &["name: x, required: false"]);
        source(&world, "c", &["name: x, source: ../x"]);
        let entries = order.map(|name| format!("name: {name}, source: ../{name}"));
        let a = source(&world, "a", &[&entries[0], &entries[1]]);
        bag(&world, &["get", "a", "--source", &a]).ok();
        assert_eq!(skill_names(&world), ["a", "b", "c", "x"], "{order:?}");
    }
}

#[test]
fn sb_14_unavailable_dependency_is_an_error_if_one_skill_requires_it() {
    for order in [["b", "c"], ["c", "b"]] {
        let world = workspace();
        source(&world, "b", &["name: x, source: ../nowhere, required: false"]);
        source(&world, "c", &["name: x, source: ../nowhere"]);
        let entries = order.map(|name| format!("name: {name}, source: ../{name}"));
        let a = source(&world, "a", &[&entries[0], &entries[1]]);
        assert_refused(&world, &["get", "a", "--source", &a], "E-source-not-found");
    }
}

#[test]
fn sb_11_dependency_without_a_source_is_not_fetched() {
    let world = workspace();
    let repo = world.git("skills");
    SourceFiles::new(&["x"])
        .with_skill("a", &dependency_section(&["name: x"]))
        .write_to(repo.path());
    repo.commit("one");
    // The source of `a` has a skill `x`, but the dependency does not name that source.
    let error = assert_refused(&world, &["get", "a", "--source", &repo.url()], "E-skill-not-found");
    assert!(error.message.contains("`x`") && error.message.contains("`a`"), "{error:#?}");
    bag(&world, &["get", "x", "a", "--source", &repo.url()]).ok();
    assert_eq!(skill_names(&world), ["a", "x"]);
    let error = assert_refused(&world, &["get", "unknown"], "E-skill-not-found");
    assert!(error.message.contains("`unknown`"), "{error:#?}");
}

#[test]
fn sb_11_downloaded_skill_cannot_depend_on_a_local_path() {
    let world = workspace();
    source_dir(&world, "private", &SourceFiles::new(&["x"]));
    let http = HttpServer::start(&world.path("git"));
    let server = WebServer::start();
    for (index, path) in [
        "../private",
        "./private",
        "~/private",
        "private.zip",
        &world.path("private").display().to_string(),
    ]
    .iter()
    .enumerate()
    {
        let remote = SourceFiles::new(&[])
            .with_skill("a", &dependency_section(&[&format!("name: x, source: '{path}'")]));
        let repo = world.git(&format!("r{index}"));
        remote.write_to(repo.path());
        repo.commit("one");
        let web = server.respond("/a.zip", WebResponse::Bytes(remote.zip("")));
        for url in [http.url(&format!("r{index}")), web] {
            assert_refused(&world, &["get", "a", "--source", &url], "E-foreign-local-source");
        }
    }
}

#[test]
fn sb_11_downloaded_skill_cannot_depend_on_a_local_repository() {
    let world = workspace();
    let private = world.git("private");
    SourceFiles::new(&["x"]).write_to(private.path());
    private.commit("one");
    let server = WebServer::start();
    let remote = SourceFiles::new(&[])
        .with_skill("a", &dependency_section(&[&format!("name: x, source: '{}'", private.url())]));
    let url = server.respond("/a.zip", WebResponse::Bytes(remote.zip("")));
    assert_refused(&world, &["get", "a", "--source", &url], "E-foreign-local-source");
}

#[test]
fn sb_11_context_can_provide_a_local_source_for_a_downloaded_skill() {
    let world = workspace();
    let server = WebServer::start();
    let remote = SourceFiles::new(&[])
        .with_skill("a", &dependency_section(&["name: x, source: ../private"]));
    let url = server.respond("/a.zip", WebResponse::Bytes(remote.zip("")));
    let error = assert_refused(&world, &["get", "a", "--source", &url], "E-foreign-local-source");
    assert!(error.hints_at("`x`") && error.hints_at("`CONTEXT.md`"), "{error:#?}");
    // Following the hint works.
    let own = source_dir(&world, "own", &SourceFiles::new(&["x"]));
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[&format!("name: x, version: '1', source: {own}")]),
    );
    bag(&world, &["get", "a", "--source", &url]).ok();
    assert_eq!(skill_names(&world), ["a", "x"]);
}

#[test]
fn sb_12_source_in_the_home_directory_can_name_relative_sources() {
    let world = workspace();
    source_dir(&world, "home/src/x", &SourceFiles::new(&["x"]));
    source_dir(
        &world,
        "home/src/a",
        &SourceFiles::new(&[]).with_skill("a", &dependency_section(&["name: x, source: ../x"])),
    );
    bag(&world, &["get", "a", "--source", "~/src/a"]).ok();
    assert_eq!(skill_names(&world), ["a", "x"]);
}

#[test]
fn sb_15_two_spellings_of_one_directory_do_not_conflict() {
    let world = workspace();
    let x = source_dir(&world, "home/src/x", &SourceFiles::new(&["x"]));
    let b = source_dir(
        &world,
        "home/src/b",
        &SourceFiles::new(&[]).with_skill("b", &dependency_section(&["name: x, source: ~/src/x"])),
    );
    let a = source_dir(
        &world,
        "home/src/a",
        &SourceFiles::new(&[]).with_skill(
            "a",
            &dependency_section(&[
                &format!("name: x, source: {x}"),
                &format!("name: b, source: {b}"),
            ]),
        ),
    );
    bag(&world, &["get", "a", "--source", &a]).ok();
    assert_eq!(skill_names(&world), ["a", "b", "x"]);
}

/// Returns a source that asks for manual installation steps.
fn with_manual_steps(steps: &str) -> SourceFiles {
    SourceFiles::new(&["a", "b"]).with_file(
        "AGENTS.md",
        Some(&format!("{AGENTS}\n## Extra installation steps\n\n{steps}\n")),
    )
}

#[test]
fn sb_13_manual_steps_are_shown_confirmed_and_never_run() {
    let world = workspace();
    let marker = world.path("ran").display().to_string();
    let steps = format!("1. Run `touch {marker}`.\n\n```sh\ntouch {marker}\n```\n\u{1b}[2J");
    let source = source_dir(&world, "src", &with_manual_steps(&steps));
    let error = assert_refused(&world, &["get", "a", "--source", &source], "E-manual-steps");
    assert!(error.hints_at("--steps-done"), "{error:#?}");
    let run = bag(&world, &["get", "a", "--source", &source]).fails(1);
    assert!(run.stderr.contains("1. Run `touch"), "{run}");
    assert!(!run.stderr.contains('\u{1b}'), "terminal escapes are not printed: {run}");
    bag(&world, &["get", "a", "--source", &source, "--steps-done"]).ok();
    assert!(!world.path("ran").exists(), "the steps are not run");
    assert!(lock(&world)["skills"]["a"]["steps"].as_str().unwrap().len() >= 64);
    assert_consistent(&world, "confirmed");
}

#[test]
fn sb_13_manual_steps_are_detected_in_various_forms() {
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
        let source = source_dir(
            &world,
            "src",
            &SourceFiles::new(&["a"]).with_file("AGENTS.md", Some(&format!("{AGENTS}\n{steps}\n"))),
        );
        assert_refused(&world, &["get", "a", "--source", &source], "E-manual-steps");
    }
}

#[test]
fn sb_13_changed_steps_need_confirmation_again() {
    let world = workspace();
    let source = source_dir(&world, "src", &with_manual_steps("Install pandoc."));
    bag(&world, &["get", "a", "--source", &source, "--steps-done"]).ok();
    let first = lock(&world)["skills"]["a"]["steps"].clone();
    with_manual_steps("Install pandoc.").with_skill("a", "New.\n").write_to(&world.path("src"));
    bag(&world, &["get", "a", "--upgrade"]).ok();
    assert_eq!(lock(&world)["skills"]["a"]["steps"], first);
    with_manual_steps("Install pandoc 3.").write_to(&world.path("src"));
    bag(&world, &["get", "a"]).ok();
    let error = assert_refused(&world, &["get", "a", "--upgrade"], "E-manual-steps");
    assert!(error.because.concat().contains("Install pandoc 3."), "{error:#?}");
    bag(&world, &["get", "a", "--upgrade", "--steps-done"]).ok();
    assert_ne!(lock(&world)["skills"]["a"]["steps"], first);
    SourceFiles::new(&["a"]).write_to(&world.path("src"));
    bag(&world, &["get", "a", "--upgrade"]).ok();
    assert_eq!(lock(&world)["skills"]["a"].get("steps"), None);
}

#[test]
fn sb_13_manual_steps_of_a_dependency_need_confirmation() {
    let world = workspace();
    source_dir(
        &world,
        "src/x",
        &SourceFiles::new(&["x"])
            .with_file("AGENTS.md", Some(&format!("{AGENTS}\n## Setup\n\nRun make.\n"))),
    );
    let a = source(&world, "a", &["name: x, source: ../x"]);
    assert_refused(&world, &["get", "a", "--source", &a], "E-manual-steps");
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[&format!("name: a, version: '1', source: {a}")]),
    );
    assert_refused(&world, &["init"], "E-manual-steps");
    bag(&world, &["init", "--steps-done"]).ok();
    assert_eq!(skill_names(&world), ["a", "x"]);
}

#[test]
fn sb_15_deps_lists_dependencies_missing_skills_and_conflicts() {
    let world = workspace();
    write(
        &world,
        "ws/.skills/a/SKILL.md",
        &skill("a", &dependency_section(&["name: b", "name: x, source: ./one"])),
    );
    write(
        &world,
        "ws/.skills/b/SKILL.md",
        &skill("b", &dependency_section(&["name: x, source: ./two, required: false"])),
    );
    bag(&world, &["sync"]).ok();
    let deps = json(&world, &["deps"]);
    let dependencies: Vec<[&Value; 4]> = deps["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dependency| ["by", "name", "required", "present"].map(|key| &dependency[key]))
        .collect();
    let expected = [
        ["a".into(), "b".into(), true.into(), true.into()],
        ["a".into(), "x".into(), true.into(), false.into()],
        ["b".into(), "x".into(), false.into(), false.into()],
    ];
    assert_eq!(dependencies, expected.each_ref().map(|values: &[Value; 4]| values.each_ref()));
    let conflicts = deps["conflicts"].to_string();
    assert!(conflicts.contains("./one") && conflicts.contains("./two"), "{conflicts}");
}

#[test]
fn sb_11_installed_downloaded_skill_cannot_depend_on_a_local_path() {
    let world = workspace();
    let server = WebServer::start();
    let remote = SourceFiles::new(&[])
        .with_skill("a", &dependency_section(&["name: x, source: ../private"]));
    let url = server.respond("/a.zip", WebResponse::Bytes(remote.zip("")));
    let own = source_dir(&world, "own", &SourceFiles::new(&["x"]));
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&[&format!("name: x, version: '1', source: {own}")]),
    );
    bag(&world, &["get", "a", "--source", &url]).ok();
    assert_eq!(skill_names(&world), ["a", "x"]);
    // The source of an installed skill is still not trusted.
    std::fs::remove_file(world.path("ws/CONTEXT.md")).unwrap();
    std::fs::remove_dir_all(world.path("ws/.skills/x")).unwrap();
    source_dir(&world, "private", &SourceFiles::new(&["x"]));
    assert_refused(&world, &["get", "a"], "E-foreign-local-source");
}
