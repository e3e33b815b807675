//! The skills extension.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_testkit::{World, world};

use super::{list_all, read_bytes, serve, texts, two_skills};

/// Returns the entries of all skills, after comparing their digests and sizes with the files.
fn verified_skills(world: &World, args: &[&str]) -> Vec<Value> {
    let mut server = serve(world, args);
    let skills = list_all(&mut server, "skills/list", "skills");
    for skill in &skills {
        let uri = skill["uri"].as_str().unwrap();
        let single = server.result("skills/get", json!({"uri": uri}))["skill"].clone();
        assert_eq!(&single, skill);
        let name = skill["frontmatter"]["name"].as_str().unwrap();
        assert!(uri.ends_with(&format!("/{name}/SKILL.md")), "{uri}");
        let files = skill["resources"].as_array().unwrap();
        assert!(texts(files, "uri").contains(&uri));
        for file in files {
            let read = read_bytes(&mut server, file["uri"].as_str().unwrap());
            assert_eq!(file["size"], read.len());
            assert_eq!(file["digest"], sp_testkit::sha256(&read), "{file}");
        }
    }
    skills
}

#[test]
fn mc_02_entries_match_the_skills_of_a_repository() {
    let world = two_skills();
    let skills = verified_skills(&world, &[]);
    assert_eq!(
        texts(&skills, "uri"),
        ["skill://repo/review/SKILL.md", "skill://repo/team/deploy/SKILL.md"]
    );
    let deploy = &skills[1];
    assert_eq!(deploy["frontmatter"]["metadata"], json!({"version": 1.2}));
    assert_eq!(deploy["frontmatter"]["license"], "MIT");
    let files = deploy["resources"].as_array().unwrap();
    assert_eq!(files.len(), 4, "{files:?}");
}

#[test]
fn mc_02_skills_of_a_workspace_a_sink_and_a_package_are_served() {
    let world = two_skills();
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.sp(&["install", "team", "--agent", "claude", "--agent", "codex"]).ok();
    world.sp(&["bag", "init"]).ok();
    world
        .write(".skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies.\n---\n\nTidy up.\n");
    world
        .sp(&[
            "pkg",
            "create",
            "skills/team/deploy",
            "--kind",
            "skills",
            "--name",
            "@acme/kit",
            "--version",
            "1.0.0",
        ])
        .ok();
    let uris = |args: &[&str]| -> Vec<String> {
        texts(&verified_skills(&world, args), "uri").into_iter().map(str::to_owned).collect()
    };
    assert_eq!(
        uris(&["--from", "bag"]),
        ["skill://bag/skillbag-get-skills/SKILL.md", "skill://bag/tidy/SKILL.md"]
    );
    let sinks = uris(&["--from", "sink"]);
    assert_eq!(
        sinks,
        [
            "skill://sink/claude/team__review/review/SKILL.md",
            "skill://sink/claude/team__team__deploy/deploy/SKILL.md"
        ],
        "identical skills of two sinks are listed once"
    );
    assert_eq!(uris(&["--from", "package"]), ["skill://package/acme/kit/deploy/SKILL.md"]);
    assert_eq!(uris(&[]).len(), 5, "skills installed from this repository are listed once");
}

#[test]
fn mc_02_pages_contain_every_skill_once() {
    let world = world!();
    for number in 0..230 {
        world.skill(&format!("group-{}/skill-{number}", number % 7));
    }
    let mut server = serve(&world, &[]);
    let first = server.result("skills/list", json!({}));
    assert_eq!(first["skills"].as_array().unwrap().len(), 100);
    let skills = list_all(&mut server, "skills/list", "skills");
    let mut uris = texts(&skills, "uri");
    uris.sort_unstable();
    uris.dedup();
    assert_eq!(uris.len(), 230);
    assert_eq!(list_all(&mut server, "resources/list", "resources").len(), 230);
}

#[test]
fn mc_02_invalid_cursors_are_refused() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    for cursor in ["", "x", "repo/nothing", "%", "%ff", "../..", "0"] {
        for method in [
            "skills/list",
            "resources/list",
            "prompts/list",
            "tools/list",
            "resources/templates/list",
        ] {
            assert_eq!(
                server.error(method, json!({"cursor": cursor})),
                -32602,
                "{method} {cursor:?}"
            );
        }
    }
    let uri = "skill://repo/team/deploy";
    assert_eq!(
        server.error("resources/directory/read", json!({"uri": uri, "cursor": "x"})),
        -32602
    );
    assert_eq!(server.error("skills/list", json!({"cursor": 5})), -32602);
}

#[test]
fn mc_02_directories_are_read_level_by_level() {
    let world = two_skills();
    let mut server = serve(&world, &[]);
    let read = |server: &mut sp_testkit::McpChild, uri: &str| {
        server.result("resources/directory/read", json!({"uri": uri}))["resources"]
            .as_array()
            .unwrap()
            .clone()
    };
    let top = read(&mut server, "skill://repo/team/deploy");
    assert_eq!(texts(&top, "name"), ["deploy", "assets", "references", "scripts"]);
    assert_eq!(
        texts(&top, "mimeType"),
        ["text/markdown", "inode/directory", "inode/directory", "inode/directory"]
    );
    let inner = read(&mut server, "skill://repo/team/deploy/references");
    assert_eq!(texts(&inner, "uri"), ["skill://repo/team/deploy/references/steps.md"]);
    for uri in [
        "skill://repo/team/deploy/SKILL.md",
        "skill://repo/team/deploy/no",
        "skill://repo/team",
        "skill://x",
    ] {
        assert_eq!(server.error("resources/directory/read", json!({"uri": uri})), -32602, "{uri}");
    }
}

#[test]
fn mc_02_unknown_uris_are_invalid_params() {
    let world = two_skills();
    world.write("secret.txt", "mine");
    let mut server = serve(&world, &[]);
    for uri in [
        "skill://repo/none/SKILL.md",
        "skill://repo/review",
        "skill://repo/team/deploy/references/steps.md",
        "skill://repo/../secret.txt",
        "skill://repo/review/../../secret.txt",
        "skill://repo/review/%2e%2e/%2e%2e/secret.txt",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(server.error("skills/get", json!({"uri": uri})), -32602, "{uri}");
    }
    for uri in [
        "skill://repo/review/no.md",
        "skill://repo/review/../../../secret.txt",
        "file:///etc/passwd",
        "x",
    ] {
        assert_eq!(server.error("resources/read", json!({"uri": uri})), -32602, "{uri}");
    }
    assert_eq!(server.error("skills/get", json!({})), -32602);
    let mut older = serve(&world, &[]);
    older.initialize("2025-11-25");
    assert_eq!(older.error("resources/read", json!({"uri": "skill://repo/no/SKILL.md"})), -32002);
}

#[test]
fn mc_02_skills_that_hosts_would_reject_are_left_out_with_a_reason() {
    let world = two_skills();
    world.write("skills/bad-name/SKILL.md", "---\nname: Bad Name\ndescription: x\n---\n");
    world.write("skills/no-front/SKILL.md", "# Nothing\n");
    world.write("skills/above/SKILL.md", "---\nname: above\ndescription: x\n---\n");
    world.skill("above/below");
    world.write("skills/linked/SKILL.md", "---\nname: linked\ndescription: x\n---\n");
    world.write("secret.txt", "mine");
    std::os::unix::fs::symlink("../../secret.txt", world.repo().join("skills/linked/notes.txt"))
        .unwrap();
    world.write("skills/many/SKILL.md", "---\nname: many\ndescription: x\n---\n");
    for number in 0..512 {
        world.write(&format!("skills/many/file-{number}.txt"), "x");
    }
    let skills = verified_skills(&world, &[]);
    assert_eq!(skills.len(), 3, "{:?}", texts(&skills, "uri"));
    let mut server = serve(&world, &[]);
    assert_eq!(
        server.error("resources/read", json!({"uri": "skill://repo/linked/notes.txt"})),
        -32602
    );
    assert_eq!(server.error("skills/get", json!({"uri": "skill://repo/many/SKILL.md"})), -32602);
    let listed = server.call("list_skills", json!({}));
    let reasons: BTreeMap<&str, &str> = listed["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap().split_once(": ").unwrap())
        .collect();
    let skills: Vec<&str> = reasons.keys().copied().collect();
    assert_eq!(
        skills,
        ["repo/above", "repo/bad-name", "repo/linked", "repo/many", "repo/no-front"]
    );
    for (skill, detail) in
        [("repo/bad-name", "`B`"), ("repo/many", "513"), ("repo/linked", "notes.txt")]
    {
        assert!(reasons[skill].contains(detail), "{reasons:?}");
    }
    let found = server.call("search", json!({"query": "many linked"}));
    assert_eq!(found["results"], json!([]), "search finds only skills that are served");
    assert_eq!(
        server.error("resources/read", json!({"uri": "skill://repo/many/SKILL.md"})),
        -32602
    );
}

#[test]
fn mc_02_links_out_of_the_repository_are_not_followed() {
    let world = two_skills();
    let outside = world.path("outside/escape");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("SKILL.md"), "---\nname: escape\ndescription: x\n---\nOutside.\n")
        .unwrap();
    std::os::unix::fs::symlink(&outside, world.repo().join("skills/escape")).unwrap();
    let skills = verified_skills(&world, &[]);
    assert_eq!(
        texts(&skills, "uri"),
        ["skill://repo/review/SKILL.md", "skill://repo/team/deploy/SKILL.md"]
    );
    let mut server = serve(&world, &[]);
    assert_eq!(
        server.error("resources/read", json!({"uri": "skill://repo/escape/SKILL.md"})),
        -32602
    );
}

#[test]
fn mc_02_skills_installed_in_other_projects_are_not_served() {
    let world = two_skills();
    world.pack("team", "name: team\ninclude: [review]\n");
    let root = world.repo();
    let root = root.to_str().unwrap();
    let install = ["install", "team", "--agent", "claude", "--scope", "project", "--root", root];
    for project in ["one", "two"] {
        std::fs::create_dir_all(world.path(project)).unwrap();
        world.sp_in(project, &install).ok();
    }
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    world.write("skills/review/SKILL.md", "---\nname: review\ndescription: Other.\n---\n");
    world.sp_in("one", &install).ok();
    let mut command = world.command(&["mcp"]);
    command.current_dir(world.path("one"));
    let mut server = sp_testkit::McpChild::start(command);
    let skills = list_all(&mut server, "skills/list", "skills");
    let expected = [
        "skill://sink/claude/here/team__review/review/SKILL.md",
        "skill://sink/claude/team__review/review/SKILL.md",
    ];
    let mut uris = texts(&skills, "uri");
    uris.sort_unstable();
    assert_eq!(uris, expected, "one of the user and one of this project");
    for skill in &skills {
        let read = read_bytes(&mut server, skill["uri"].as_str().unwrap());
        assert_eq!(skill["resources"][0]["digest"], sp_testkit::sha256(&read));
    }
}
