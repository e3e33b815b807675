//! `sp pkg create` and `sp pkg merge`: where problems of an input file are reported, and what
//! happens the second time.

use super::*;

/// Runs `sp pkg` in the project at another time than the tests usually do.
fn pkg_at(world: &World, second: u64, args: &[&str]) -> Run {
    let mut command = world.command(&[&["pkg"], args].concat());
    command.current_dir(world.path("project")).env("SOURCE_DATE_EPOCH", second.to_string());
    world.run(command)
}

const NOTES: &str = "name: notes\nversion: 1.2.3\ndescription: Notes.\nnodes:\n  - id: a\n    type: fact\n    content: It is so.\n";

#[test]
fn pk_21_problems_of_an_input_are_reported_at_their_places_in_the_file() {
    // What is wrong, and the line and column of the value in the file that it is about.
    let cases = [
        // What is said of the package.
        ("# comment\nname: a b\nnodes: [{id: a, type: fact, content: x}]\n", "2:7"),
        ("name: notes\nversion: \"1\n  2\"\nnodes: []\n", "2:10"),
        ("name: notes\n\nkind:   nonsense\nnodes: []\n", "3:9"),
        ("name: notes\nconformance_level: \"x\"\nnodes: []\n", "2:20"),
        // What is in it, found when the package is made.
        (
            "name: notes\nnodes:\n  - id: a\n    type: fact\n    content: x\n    activation: 7.5\n",
            "6:17",
        ),
        (
            "name: notes\nnodes:\n  - {id: a, type: fact, content: x}\nedges:\n  - from: a\n    to: missing\n    type: uses\n",
            "6:9",
        ),
        (
            "name: notes\nnodes:\n  - id: a\n    type: fact\n    content: x\n  - id: 'a'\n    type: fact\n    content: y\n",
            "6:9",
        ),
        ("name: notes\nnodes:\n  - 7\n", "3:5"),
        (
            "manifest:\n  name: notes\ncontent:\n  nodes:\n    - id: a\n      type: fact\n      content: [1]\n",
            "5:7",
        ),
        (
            "manifest: {name: notes}\ncontent:\n  context_graph:\n    nodes: 7\n    edges: []\n",
            "4:12",
        ),
        // The same in JSON.
        (
            "{\"name\": \"notes\",\n \"nodes\": [\n  {\"id\": \"a\", \"type\": \"fact\",\n   \"content\": \"x\", \"activation\": 7.5}]}\n",
            "4:34",
        ),
        // What is missing stands for what it is missing in.
        ("name: notes\nnodes:\n  - id: a\n    content: x\n", "3:5"),
    ];
    for (text, position) in cases {
        let world = project();
        write(&world, "project/notes.yaml", text);
        let run = pkg(&world, &["create", "--input", "notes.yaml", "--version", "1.0.0"]);
        assert!(run.code.is_some_and(|code| code > 0), "{text}\n{run}");
        assert!(
            run.stderr.contains(&format!("--> notes.yaml:{position}\n")),
            "{position} in\n{text}\n{run}"
        );
        let mut json = world.command(&[
            "pkg",
            "create",
            "--input",
            "notes.yaml",
            "--version",
            "1.0.0",
            "--format",
            "json",
        ]);
        json.current_dir(world.path("project"));
        let run = world.run(json);
        let report: Value = serde_json::from_str(&run.stderr).unwrap();
        let places = report["error"]["findings"].as_array().unwrap();
        assert!(places.iter().all(|place| place["file"] == "notes.yaml"), "{report:#}");
    }
}

#[test]
fn pk_21_the_same_content_under_the_same_version_is_unchanged() {
    let world = project();
    write(&world, "project/notes.yaml", NOTES);
    let create = ["create", "--input", "notes.yaml", "--format", "json"];
    let first: Value =
        serde_json::from_str(&pkg_at(&world, 1_790_000_000, &create).ok().stdout).unwrap();
    assert_eq!(first["packages"][0]["new"], true);
    // Later, and with the version on the command line.
    for args in [&create[..], &[&create[..], &["--version", "1.2.3"]].concat()] {
        let again: Value =
            serde_json::from_str(&pkg_at(&world, 1_790_009_999, args).ok().stdout).unwrap();
        assert_eq!(again["packages"][0]["new"], false);
        assert_eq!(again["packages"][0]["digest"], first["packages"][0]["digest"]);
    }
    let shown = pkg_at(&world, 1_790_009_999, &["create", "--input", "notes.yaml"]).ok();
    assert!(shown.stdout.contains("Nothing new"), "{shown}");
    // With layers, too, whose entries bear the time at which they were exported.
    write(
        &world,
        "project/layers.yaml",
        "name: layers\nversion: 1.0.0\nknowledge:\n  facts:\n    - {category: a, key: b, value: c}\n",
    );
    pkg_at(&world, 1_790_000_000, &["create", "--input", "layers.yaml"]).ok();
    let again = pkg_at(&world, 1_790_009_999, &["create", "--input", "layers.yaml"]).ok();
    assert!(again.stdout.contains("Nothing new"), "{again}");
    // Other content is another package, and so is another description or time that the file gives.
    for (from, to) in [
        ("It is so.", "It is not so."),
        ("Notes.", "Other notes."),
        ("version:", "created_at: 2026-01-01T00:00:00Z\nversion:"),
    ] {
        write(&world, "project/notes.yaml", NOTES.replace(from, to));
        pkg_at(&world, 1_790_009_999, &["create", "--input", "notes.yaml"]).fails(4);
    }
}

#[test]
fn pk_22_merge_replaces_an_output_file_only_with_force() {
    let world = project();
    import(&world, &[Made::new("a", "1.0.0"), Made::new("b", "1.0.0")]);
    write(&world, "project/all.ctxpkg", "mine");
    let merge = ["merge", "a", "b", "--name", "all", "--out", "all.ctxpkg"];
    let refused = pkg(&world, &merge).fails(1);
    assert!(refused.stderr.contains("--force"), "{refused}");
    assert_eq!(read(&world, "project/all.ctxpkg"), "mine");
    pkg(&world, &[&merge[..], &["--force"]].concat()).ok();
    assert!(read(&world, "project/all.ctxpkg").contains("\"manifest\""));
}

#[test]
fn pk_13_a_private_key_is_not_written_over_a_file_and_no_missing_flag_is_suggested() {
    let world = project();
    key(&world, &["new"]).ok();
    write(&world, "project/key.pem", "mine");
    let refused = key(&world, &["export", "--private", "key.pem"]).fails(1);
    assert!(
        refused.stderr.contains("another file") && !refused.stderr.contains("--force"),
        "{refused}"
    );
    assert_eq!(read(&world, "project/key.pem"), "mine");
}
