//! `sp pkg create` and `sp pkg merge`: positions of problems in input files, unchanged content and
//! existing output files.

use super::*;

const EARLIER: u64 = 1_790_000_000;
const LATER: u64 = 1_790_009_999;

/// Runs `sp pkg create` in the project at this time, with JSON output.
fn create_at(world: &World, second: u64, args: &[&str]) -> Run {
    let mut command =
        world.command(&[&["pkg", "create", "--format", "json", "--input"], args].concat());
    command.current_dir(world.path("project")).env("SOURCE_DATE_EPOCH", second.to_string());
    world.run(command)
}

/// The package that a successful `sp pkg create` reports.
#[track_caller]
fn created(run: Run) -> Value {
    let report: Value = serde_json::from_str(&run.ok().stdout).unwrap();
    report["packages"][0].clone()
}

const NOTES: &str = "name: notes\nversion: 1.2.3\ndescription: Notes.\nnodes:\n  - id: a\n    type: fact\n    content: It is so.\n";

#[test]
fn pk_21_problems_in_an_input_file_are_reported_with_positions() {
    // Each input with the rule, and the line and column of the invalid value.
    let cases = [
        // The manifest.
        ("# comment\nname: a b\nnodes: [{id: a, type: fact, content: x}]\n", "PK-03", "2:7"),
        ("name: notes\nversion: \"1\n  2\"\nnodes: []\n", "PK-03", "2:10"),
        ("name: notes\n\nkind:   nonsense\nnodes: []\n", "PK-04", "3:9"),
        ("name: notes\nconformance_level: \"x\"\nnodes: []\n", "PK-04", "2:20"),
        // The content.
        (
            "name: notes\nnodes:\n  - id: a\n    type: fact\n    content: x\n    activation: 7.5\n",
            "PK-15",
            "6:17",
        ),
        (
            "name: notes\nnodes:\n  - {id: a, type: fact, content: x}\nedges:\n  - from: a\n    to: missing\n    type: uses\n",
            "PK-15",
            "6:9",
        ),
        (
            "name: notes\nnodes:\n  - id: a\n    type: fact\n    content: x\n  - id: 'a'\n    type: fact\n    content: y\n",
            "PK-15",
            "6:9",
        ),
        ("name: notes\nnodes:\n  - 7\n", "PK-15", "3:5"),
        (
            "manifest:\n  name: notes\ncontent:\n  nodes:\n    - id: a\n      type: fact\n      content: [1]\n",
            "PK-15",
            "5:7",
        ),
        (
            "manifest: {name: notes}\ncontent:\n  context_graph:\n    nodes: 7\n    edges: []\n",
            "PK-15",
            "4:12",
        ),
        // The same in JSON.
        (
            "{\"name\": \"notes\",\n \"nodes\": [\n  {\"id\": \"a\", \"type\": \"fact\",\n   \"content\": \"x\", \"activation\": 7.5}]}\n",
            "PK-15",
            "4:34",
        ),
        // A missing member is reported at the object.
        ("name: notes\nnodes:\n  - id: a\n    content: x\n", "PK-15", "3:5"),
    ];
    for (text, rule, position) in cases {
        let world = project();
        write(&world, "project/notes.yaml", text);
        let args = ["create", "--input", "notes.yaml", "--version", "1.0.0"];
        let run = pkg(&world, &args).fails(3);
        assert!(
            run.stderr.contains(&format!("--> notes.yaml:{position}\n")),
            "{position} in\n{text}\n{run}"
        );
        let error = pkg_error(&world, &args);
        assert_eq!(error.code, rule, "{text}\n{error:?}");
        assert!(error.findings.iter().all(|finding| finding.file == "notes.yaml"), "{error:?}");
    }
}

#[test]
fn pk_21_same_content_with_the_same_version_is_unchanged() {
    let world = project();
    write(&world, "project/notes.yaml", NOTES);
    let first = created(create_at(&world, EARLIER, &["notes.yaml"]));
    assert_eq!(first["new"], true);
    for args in [&["notes.yaml"][..], &["notes.yaml", "--version", "1.2.3"]] {
        let second = created(create_at(&world, LATER, args));
        assert_eq!((&second["new"], &second["digest"]), (&json!(false), &first["digest"]));
    }
    // The entries of layers have the time at which they were exported.
    write(
        &world,
        "project/layers.yaml",
        "name: layers\nversion: 1.0.0\nknowledge:\n  facts:\n    - {category: a, key: b, value: c}\n",
    );
    assert_eq!(created(create_at(&world, EARLIER, &["layers.yaml"]))["new"], true);
    assert_eq!(created(create_at(&world, LATER, &["layers.yaml"]))["new"], false);
    for (from, to) in [
        ("It is so.", "It is not so."),
        ("Notes.", "Other notes."),
        ("version:", "created_at: 2026-01-01T00:00:00Z\nversion:"),
    ] {
        write(&world, "project/notes.yaml", NOTES.replace(from, to));
        let error = create_at(&world, LATER, &["notes.yaml"]).error();
        assert_eq!(error.code, "E-version-replaced", "{to}: {error:?}");
    }
}

#[test]
fn pk_22_merge_replaces_an_output_file_only_with_force() {
    let world = project();
    import(&world, &[TestPackage::new("a", "1.0.0"), TestPackage::new("b", "1.0.0")]);
    write(&world, "project/all.ctxpkg", "mine");
    let merge = ["merge", "a", "b", "--name", "all", "--output", "all.ctxpkg"];
    let error = pkg_error(&world, &merge);
    assert_eq!(error.code, "E-already-exists");
    assert!(error.hints_at("--force"), "{error:?}");
    assert_eq!(read(&world, "project/all.ctxpkg"), "mine");
    pkg(&world, &[&merge[..], &["--force"]].concat()).ok();
    assert!(read(&world, "project/all.ctxpkg").contains("\"manifest\""));
}

#[test]
fn pk_13_private_key_export_does_not_overwrite_a_file() {
    let world = project();
    key(&world, &["new"]).ok();
    write(&world, "project/key.pem", "mine");
    let error = key_fails(&world, &["export", "--private", "key.pem"], "E-already-exists");
    assert!(!error.hints_at("--force"), "the command has no such flag: {error:?}");
    assert_eq!(read(&world, "project/key.pem"), "mine");
}
