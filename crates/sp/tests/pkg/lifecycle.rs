//! Create, import, export, list, info, log, diff, remove, roll back.

use super::*;

const NODES: &str = r#"{"name": "notes", "description": "Notes.", "nodes": [
    {"id": "a", "type": "fact", "content": "Tokens are RS256."},
    {"id": "b", "type": "decision", "content": "No sessions."}],
  "edges": [{"from": "a", "to": "b", "type": "supports"}]}"#;

const YAML: &str = "name: notes\ndescription: Notes.\nnodes:\n  - {id: a, type: fact, content: Tokens are RS256.}\n  \
                    - {id: b, type: decision, content: No sessions.}\nedges:\n  - {from: a, to: b, type: supports}\n";

/// A world whose project has `notes.json`, and `notes 1.0.0` in the store.
fn noted() -> World {
    let world = project();
    write(&world, "project/notes.json", NODES);
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    world
}

/// The text of a package of the store.
fn exported(world: &World, package: &str) -> String {
    let file = world.path("out.ctxpkg");
    pkg(world, &["export", package, "--output", &file.display().to_string(), "--force"]).ok();
    std::fs::read_to_string(file).unwrap()
}

// Create.

#[test]
fn pk_09_the_same_nodes_in_json_and_yaml_make_the_same_package() {
    let (json, yaml) = (noted(), project());
    write(&yaml, "project/notes.yaml", YAML);
    pkg(&yaml, &["create", "--input", "notes.yaml"]).ok();
    assert_eq!(exported(&json, "notes"), exported(&yaml, "notes"));
    let text = exported(&json, "notes");
    assert_eq!(compact(&text), text, "no white space");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["manifest"]["graph_summary"]["node_types"], json!(["decision", "fact"]));
    assert_eq!(value["manifest"]["kind"], Value::Null, "context is never written");
    assert_eq!(value["content"]["context_graph"]["nodes"][0]["activation"], json!(1.0));
}

#[test]
fn pk_08_what_we_write_hashes_as_anybody_would_count_it() {
    let world = noted();
    let text = exported(&world, "notes");
    let content = text.split_once("\"content\":").unwrap();
    let whole: Value = serde_json::from_str(&text).unwrap();
    let at = text.find(",\"content\":{\"context_graph\"").expect("content stands last");
    let content = if content.0.len() == at + 1 { content.1 } else { &text[at + 11..] };
    let content = content.strip_suffix('}').unwrap();
    let integrity = &whole["manifest"]["integrity"];
    let hash = Digest::of(content.as_bytes()).hex();
    assert_eq!(integrity["content_hash"], json!(hash));
    assert_eq!(integrity["byte_size"], json!(content.len()));
    assert_eq!(
        integrity["sha256"],
        json!(Digest::of(format!("notes:1.0.0:{hash}").as_bytes()).hex())
    );
}

#[test]
fn pk_22_the_version_counts_on_when_the_content_is_another_and_stays_when_it_is_not() {
    let world = noted();
    let again = pkg(&world, &["create", "--input", "notes.json"]).ok();
    assert!(again.stdout.contains("Nothing new"), "{again}");
    assert_eq!(stored(&world), ["notes 1.0.0"]);
    write(&world, "project/notes.json", NODES.replace("RS256", "ES256"));
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    assert_eq!(stored(&world), ["notes 1.0.0", "notes 1.0.1"]);
    pkg(&world, &["create", "--input", "notes.json", "--version", "2.0.0"]).ok();
    write(&world, "project/notes.json", NODES);
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    assert_eq!(stored(&world), ["notes 1.0.0", "notes 1.0.1", "notes 2.0.0", "notes 2.0.1"]);
}

#[test]
fn pk_22_what_is_newly_said_of_the_same_content_is_not_dropped_silently() {
    for (flags, member) in [
        (&["--depends", "base@^1"][..], "dependencies"),
        (&["--description", "Other."], "description"),
        (&["--tag", "new"], "tags"),
        (&["--author", "Ada"], "author"),
    ] {
        let world = noted();
        pkg(&world, &[&["create", "--input", "notes.json"], flags].concat()).ok();
        let said: Value = serde_json::from_str(&exported(&world, "notes")).unwrap();
        let words = flags[1].split('@').next().unwrap();
        assert!(
            said["manifest"][member].to_string().contains(words),
            "{flags:?}: {}",
            said["manifest"]
        );
    }
}

#[test]
fn pk_22_a_version_never_becomes_another_even_after_it_was_removed() {
    let world = noted();
    let other = Made::new("notes", "1.0.0").put(&world, "other.ctxpkg");
    write(&world, "project/notes.json", NODES.replace("RS256", "ES256"));
    for removed in [false, true] {
        if removed {
            pkg(&world, &["remove", "notes"]).ok();
            assert_eq!(stored(&world), [""; 0]);
        }
        let run = refused(&world, &["import", &other], 4, "was another package before");
        assert!(
            run.stderr.contains(&Made::new("notes", "1.0.0").sha256()),
            "both hashes are shown: {run}"
        );
        refused(
            &world,
            &["create", "--input", "notes.json", "--version", "1.0.0"],
            4,
            "was another package before",
        );
        refused(&world, &["install", &other], 4, "was another package before");
    }
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    assert_eq!(stored(&world), ["notes 1.0.1"], "a number that was used is not used again");
}

#[test]
fn pk_22_a_version_never_gets_another_manifest() {
    let world = project();
    let first = Made::new("notes", "1.0.0");
    import(&world, std::slice::from_ref(&first));
    let other = first.needs(&[("evil", "*")]).put(&world, "other.ctxpkg");
    pkg(&world, &["import", &other]);
    let now: Value = serde_json::from_str(&exported(&world, "notes")).unwrap();
    assert_eq!(
        now["manifest"]["dependencies"],
        Value::Null,
        "1.0.0 needs nothing, whoever says so later"
    );
}

#[test]
fn pk_24_skills_and_packs_become_packages() {
    let world = project();
    world.skill("general/tidy");
    world.skill("general/review");
    world.write("skills/general/tidy/scripts/run.sh", "echo tidy\n");
    world.pack("team", "name: team\ninclude: ['**']\n");
    let one = world.repo().join("skills/general/tidy").display().to_string();
    pkg(&world, &["create", "--kind", "skills", "--name", "one", &one]).ok();
    world.sp(&["pkg", "create", "--kind", "skills", "--name", "all", "team"]).ok();
    let files = |name: &str| -> Vec<String> {
        let info = answer(&world, &["info", name]);
        info["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(files("one"), ["tidy/SKILL.md", "tidy/scripts/run.sh"]);
    assert_eq!(files("all"), ["review/SKILL.md", "tidy/SKILL.md", "tidy/scripts/run.sh"]);
    let text: Value = serde_json::from_str(&exported(&world, "one")).unwrap();
    assert_eq!(
        (&text["manifest"]["kind"], &text["manifest"]["schema_version"]),
        (&json!("skills"), &json!(2))
    );
    let file = &text["content"]["documents"]["files"][0];
    assert_eq!(
        (&file["encoding"], &file["path"]),
        (&json!("zstd+base64"), &json!("tidy/SKILL.md"))
    );
    let plain = std::fs::read(world.repo().join("skills/general/tidy/SKILL.md")).unwrap();
    assert_eq!(file["sha256"], json!(Digest::of(&plain).hex()));
    refused(
        &world,
        &["create", "--kind", "skills", "--name", "x", "no-such-skill"],
        1,
        "neither a skill nor a pack",
    );
}

#[test]
fn pk_22_a_project_becomes_a_package() {
    let world = project();
    write(&world, "project/README.md", "# Shop\n\nSells things.\n\n## Run\n\nUse `make`.\n");
    write(&world, "project/docs/adr/1.md", "# Use Rust\n\nIt is fast.\n");
    write(&world, "elsewhere/x", "");
    world.sp_in("elsewhere", &["pkg", "create", "--name", "shop", "--from", "../project"]).ok();
    let first = exported(&world, "shop");
    let value: Value = serde_json::from_str(&first).unwrap();
    let nodes = value["content"]["context_graph"]["nodes"].as_array().unwrap();
    let of = |kind: &str| nodes.iter().filter(|node| node["type"] == kind).count();
    assert_eq!((of("fact"), of("decision")), (2, 1), "{nodes:#?}");
    world.sp_in("elsewhere", &["pkg", "create", "--name", "shop", "--from", "../project"]).ok();
    assert_eq!(exported(&world, "shop"), first, "the same project makes the same package");
    refused(&world, &["create", "--name", "x", "--from", "../elsewhere"], 1, "nothing to pack");
}

#[test]
fn pk_06_policies_are_a_layer_and_nodes_and_are_left_out_for_lean_ctx() {
    let world = project();
    let text = r#"{"name": "rules", "policies": {"policies":
        [{"id": "p1", "kind": "security", "rule": "No secrets.", "severity": "critical"}]}}"#;
    write(&world, "project/rules.json", text);
    pkg(&world, &["create", "--input", "rules.json", "--level", "1"]).ok();
    let value: Value = serde_json::from_str(&exported(&world, "rules")).unwrap();
    assert_eq!(value["manifest"]["layers"], json!(["policies"]));
    assert_eq!(value["content"]["context_graph"]["nodes"][0]["type"], "policy");
    pkg(&world, &["export", "rules", "--output", "lean.ctxpkg", "--compat", "lean-ctx"]).ok();
    let lean: Value = serde_json::from_str(&read(&world, "project/lean.ctxpkg")).unwrap();
    assert_eq!(lean["manifest"]["layers"], json!([]));
    assert_eq!(lean["content"]["context_graph"], value["content"]["context_graph"]);
    pkg(&world, &["verify", "lean.ctxpkg"]).ok();
}

#[test]
fn pk_07_pk_03_what_is_wrong_is_refused_on_writing() {
    let world = project();
    for (input, words) in [
        (r#"{"name": "x", "nodes": [{"id": "a", "type": "fact"}]}"#, "content"),
        (
            r#"{"name": "x", "nodes": [{"id":"a","type":"f","content":"x"},{"id":"a","type":"f","content":"y"}]}"#,
            "`a`",
        ),
        (
            r#"{"name": "x", "nodes": [{"id":"a","type":"f","content":"x","activation":1.5}]}"#,
            "activation",
        ),
        (
            r#"{"name": "x", "nodes": [{"id":"a","type":"f","content":"x"}], "edges": [{"from":"a","to":"z","type":"t"}]}"#,
            "`z`",
        ),
        (r#"{"name": "../x", "nodes": []}"#, "PK-03"),
        (r#"{"name": "x", "version": ".1", "nodes": []}"#, "PK-03"),
        (r#"{"name": "x"}"#, "nothing in it"),
        (r#"{"name": "x", "name": "y", "nodes": []}"#, "PK-01"),
    ] {
        write(&world, "project/bad.json", input);
        refused(&world, &["create", "--input", "bad.json"], 3, words);
    }
    refused(&world, &["create", "--input", "bad.json", "--name", "a/b"], 3, "PK-01");
    write(&world, "project/good.json", NODES);
    refused(&world, &["create", "--input", "good.json", "--name", "a/b"], 2, "no name");
    refused(&world, &["create", "--input", "good.json", "--version", "one"], 2, "SemVer");
    refused(&world, &["create", "--input", "good.json", "--depends", "x@!"], 2, "no dependency");
    refused(&world, &["create", "--input", "no-such.json"], 5, "no-such.json");
}

// Round trips.

/// A package that nobody would write, and that everybody must keep.
fn odd() -> String {
    let content = "{ \"z\" : 1 ,\n\t\"context_graph\":{\"format\":\"ctxpkg-graph-v2\", \"nodes\":[{\"id\":\"n\\u0031\",\
        \"type\":\"fact\",\"content\":\"\\u00e9\\/ \\ud83d\\ude00 {not white}\",\"activation\":1.0,\"mine\":[1e0,1E400,\
        12345678901234567890, -0.0,1.00000000000000000000001]},{\"id\":\"e\u{301}\",\"type\":\"fact\",\"content\":\"a\",\
        \"activation\":1e0},{\"id\":\"\u{e9}\",\"type\":\"fact\",\"content\":\"b\"}],\"edges\":[{\"from\":\"n1\",\"to\":\
        \"\u{e9}\",\"type\":\"t\",\"weight\":1.50,\"why\":null}]},\"A\":{\"\":[ ]},\"a\":true\r\n}";
    let mut made =
        Made::new("odd", "1.0.0").with("x-unknown", json!({"b": [1, {"c": "d"}], "a": null}));
    made.manifest.insert("tags".into(), json!(["\u{e9}", "e\u{301}"]));
    let text = made.holds(content).text();
    let text = text.replacen("{\"manifest\":{", "\n{ \"extra\" : 1e0 , \"manifest\" :\r\n{\t", 1);
    text + "\n\n"
}

#[test]
fn pk_02_pk_08_export_in_another_home_gives_the_very_same_bytes() {
    let (here, there) = (project(), project());
    let file = write(&here, "odd.ctxpkg", odd());
    let run = pkg(&here, &["import", &file]).ok();
    assert!(run.stderr.contains("covered by no hash"), "{run}");
    let first = exported(&here, "odd");
    assert_eq!(first, odd());
    let file = here.path("out.ctxpkg").display().to_string();
    pkg(&there, &["import", &file]).ok();
    assert_eq!(exported(&there, "odd"), odd());
    pkg(&there, &["install", "odd"]).ok();
    assert_eq!(read(&there, "project/.ctxpkg/packages/odd.ctxpkg"), odd());
    assert_eq!(answer(&there, &["info", "odd"])["nodes"], 3);
}

#[test]
fn pk_02_packages_of_another_tool_pass_through_to_the_letter() {
    let world = project();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sp-formats/tests/interop");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ctxpkg"));
    for file in files {
        let world = project();
        let shown = file.display().to_string();
        let list = answer(&world, &["import", &shown]);
        let name = list["packages"][0]["name"].as_str().unwrap_or_default().to_owned();
        assert!(!name.is_empty(), "{list}");
        assert_eq!(exported(&world, &name), std::fs::read_to_string(&file).unwrap(), "{shown}");
    }
    let old = Made::new("old", "1.0.0").put(&world, "old.lctxpkg");
    pkg(&world, &["import", &old]).ok();
}

#[test]
fn pk_02_a_missing_schema_version_is_guessed_with_a_warning() {
    let world = project();
    let mut made = Made::new("bare", "1.0.0");
    made.manifest.remove("schema_version");
    let file = made.put(&world, "bare.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(run.stderr.contains("was read as 2"), "{run}");
    let mut flat = Made::new("flat", "1.0.0")
        .holds(r#"{"knowledge":{"facts":[]}}"#)
        .with("layers", json!(["knowledge"]));
    flat.manifest.remove("schema_version");
    flat.manifest.remove("conformance_level");
    let file = flat.put(&world, "flat.ctxpkg");
    assert!(pkg(&world, &["import", &file]).ok().stderr.contains("was read as 1"));
}

#[test]
fn pk_22_export_keeps_a_file_that_is_there_unless_it_is_told() {
    let world = noted();
    pkg(&world, &["export", "notes"]).ok();
    let text = read(&world, "project/notes-1.0.0.ctxpkg");
    pkg(&world, &["export", "notes"]).ok();
    write(&world, "project/notes-1.0.0.ctxpkg", "mine");
    refused(&world, &["export", "notes"], 1, "is there already");
    pkg(&world, &["export", "notes", "--force"]).ok();
    assert_eq!(read(&world, "project/notes-1.0.0.ctxpkg"), text);
    refused(&world, &["export", "note"], 1, "did you mean `notes`?");
}

// Looking.

#[test]
fn pk_22_packages_can_be_looked_at_in_three_forms() {
    let world = noted();
    write(&world, "project/notes.json", NODES.replace("No sessions.", "Sessions."));
    pkg(&world, &["create", "--input", "notes.json", "--sign"]).ok();
    let plain = |args: &[&str]| pkg(&world, &[args, &["--format", "plain"]].concat()).ok().stdout;
    let digests: Vec<String> = answer(&world, &["list"])["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["digest"].as_str().unwrap().to_owned())
        .collect();
    let lines =
        [format!("notes\t1.0.0\t{}\n", digests[0]), format!("notes\t1.0.1\t{}\n", digests[1])];
    assert_eq!(plain(&["list"]), lines.concat());
    assert_eq!(
        plain(&["log", "notes"])
            .lines()
            .map(|line| line.split('\t').nth(1).unwrap())
            .collect::<Vec<_>>(),
        ["1.0.1", "1.0.0"]
    );
    assert_eq!(
        plain(&["diff", "notes@1.0.0", "notes@1.0.1"]),
        "changed\tnode\tb\nchanged\tmanifest\tversion\n"
    );
    let info = pkg(&world, &["info", "notes"]).ok().stdout;
    for words in [
        "notes 1.0.1",
        "Notes.",
        "context, schema 2",
        "2: 1 decision, 1 fact",
        "1: 1 supports",
        &digests[1],
    ] {
        assert!(info.contains(words), "`{words}` is not in {info}");
    }
    let list = pkg(&world, &["list"]).ok().stdout;
    assert!(
        list.contains("unsigned") && list.contains("1.0.1") && list.contains("Notes."),
        "{list}"
    );
    insta::assert_snapshot!(pkg(&world, &["diff", "notes@1.0.0", "notes"]), @r#"
    exit: 0
    --- stdout
    notes 1.0.0 → notes 1.0.1

    manifest
      version: "1.0.0" → "1.0.1"

    nodes: 0 added, 0 removed, 1 changed
      ~ b
          content: "No sessions." → "Sessions."
    "#);
    let verify = pkg(&world, &["verify", "notes"]).ok().stdout;
    for step in ["content hash", "composite hash", "size", "signature", "provenance", "freshness"] {
        assert!(verify.contains(step), "`{step}` is not in {verify}");
    }
    assert!(pkg(&world, &["diff", "notes", "notes"]).ok().stdout.contains("no difference"));
}

#[test]
fn pk_10_verify_names_each_step_in_order_with_its_figure() {
    let world = project();
    let made = Made::new("notes", "1.0.0").signed(1, Signs::Whole);
    let file = made.put(&world, "notes.ctxpkg");
    let report = answer(&world, &["verify", &file]);
    let steps: Vec<&str> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["step"].as_str().unwrap())
        .collect();
    let wanted = ["content hash", "composite hash", "size", "signature", "provenance", "freshness"];
    assert_eq!(
        steps.iter().filter(|step| wanted.contains(step)).copied().collect::<Vec<_>>(),
        wanted
    );
    assert_eq!(report["steps"][2]["detail"], made.sha256());
    let evil = write(&world, "evil.ctxpkg", made.text().replace("It is so.", "It is not"));
    let run = pkg(&world, &["verify", &evil, "--format", "json"]).fails(4);
    fits("pkg verify", &run.stdout);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["verified"], &report["steps"][1]["outcome"]),
        (&json!(false), &json!("failed")),
        "{run}"
    );
}

#[test]
fn pk_22_every_json_output_is_as_documented() {
    let world = noted();
    pkg(&world, &["create", "--input", "notes.json", "--version", "2.0.0", "--sign"]).ok();
    world.skill("tidy");
    let tidy = world.repo().join("skills/tidy").display().to_string();
    pkg(&world, &["create", "--kind", "skills", "--name", "tools", &tidy, "--depends", "notes@^2"])
        .ok();
    let file = Made::new("other", "1.0.0").needs(&[("notes", "^2")]).put(&world, "other.ctxpkg");
    for (args, section) in [
        (
            &["create", "--name", "again", "--input", "notes.json", "--output", "again.ctxpkg"][..],
            "pkg create",
        ),
        (&["import", &file], "pkg create"),
        (&["list"], "pkg list"),
        (&["info", "notes"], "pkg info"),
        (&["info", "tools"], "pkg info"),
        (&["info", &file], "pkg info"),
        (&["export", "notes"], "pkg export"),
        (&["log", "notes"], "pkg log"),
        (&["verify", "notes"], "pkg verify"),
        (&["verify", &file], "pkg verify"),
        (&["diff", "notes@1.0.0", "notes"], "pkg diff"),
        (&["diff", "notes", "tools"], "pkg diff"),
        (&["install", "tools", "other", "--agent", "claude", "--dry-run"], "pkg install"),
        (&["install", "tools", "other", "--agent", "claude"], "pkg install"),
        (&["list"], "pkg list"),
        (&["install"], "pkg install"),
        (&["uninstall", "other"], "pkg install"),
        (&["rollback"], "pkg install"),
        (&["rollback", "again", "--dry-run", "--to", "1.0.0"], "pkg install"),
        (&["inbox"], "pkg list"),
        (&["remove", "again", "--dry-run"], "pkg remove"),
        (&["remove", "again"], "pkg remove"),
    ] {
        let run = pkg(&world, &[args, &["--format", "json"]].concat()).ok();
        fits(section, &run.stdout);
    }
    for args in [
        &["list"][..],
        &["new", "second"],
        &["export"],
        &["rotate", "second"],
        &["trust", "@acme", &public(3)],
    ] {
        let run = key(&world, &[args, &["--format", "json"]].concat()).ok();
        fits("key list", &run.stdout);
    }
    let empty = write(&world, "empty.ctxpkg", "");
    for (args, code) in
        [(&["info", "nothing"][..], 1), (&["info", "a/b/c"], 1), (&["import", &empty], 3)]
    {
        let run = pkg(&world, &[args, &["--format", "json"]].concat()).fails(code);
        assert!(run.stdout.is_empty(), "{run}");
        fits("error", run.stderr.lines().last().unwrap_or_default());
    }
}

// Taking out and going back.

#[test]
fn pk_22_remove_takes_one_version_or_all_and_says_what_there_is_otherwise() {
    let world = project();
    import(&world, &["1.0.0", "1.1.0", "2.0.0"].map(|version| Made::new("notes", version)));
    let before = records(&world);
    let run = pkg(&world, &["remove", "notes@1.0.0", "--dry-run"]).ok();
    assert!(run.stdout.contains("notes 1.0.0") && records(&world) == before, "{run}");
    pkg(&world, &["remove", "notes@1.0.0"]).ok();
    assert_eq!(stored(&world), ["notes 1.1.0", "notes 2.0.0"]);
    swept(&world, "after a removal");
    refused(&world, &["remove", "notes@1.0.0"], 1, "1.1.0, 2.0.0");
    refused(&world, &["remove", "nots"], 1, "did you mean `notes`?");
    refused(&world, &["remove", "notes", "nothing"], 1, "nothing");
    let log = pkg(&world, &["log", "notes"]).ok().to_string();
    assert!(log.contains("1.0.0"), "the log knows what was removed: {log}");
    pkg(&world, &["remove", "notes"]).ok();
    assert_eq!(stored(&world), [""; 0]);
    swept(&world, "after all are removed");
}

#[test]
fn pk_22_every_package_of_the_store_can_be_named() {
    for name in [".hidden", "notes.ctxpkg", "a.lctxpkg", "x@y".split('@').next().unwrap(), "-dash"]
    {
        let world = project();
        import(&world, &[Made::new(name, "1.0.0")]);
        pkg(&world, &["info", "--", name]).ok();
        pkg(&world, &["export", "--output", "x.ctxpkg", "--", name]).ok();
        pkg(&world, &["remove", "--", name]).ok();
        assert_eq!(stored(&world), [""; 0], "{name}");
    }
}

#[test]
fn pk_22_rollback_in_the_store_makes_an_earlier_version_the_one_that_is_given() {
    let world = project();
    import(&world, &["1.0.0", "1.1.0", "2.0.0"].map(|version| Made::new("notes", version)));
    let current =
        || answer(&world, &["info", "notes"])["version"].as_str().unwrap_or_default().to_owned();
    let before = records(&world);
    pkg(&world, &["rollback", "notes", "--dry-run"]).ok();
    assert_eq!(records(&world), before);
    pkg(&world, &["rollback", "notes"]).ok();
    assert_eq!(current(), "1.1.0");
    pkg(&world, &["rollback", "notes"]).ok();
    assert_eq!(current(), "1.0.0");
    refused(&world, &["rollback", "notes"], 1, "no earlier version");
    assert_eq!(stored(&world).len(), 3, "versions stay in the store");
    pkg(&world, &["info", "notes@2.0.0"]).ok();
    pkg(&world, &["rollback", "notes", "--to", "2.0.0"]).ok();
    assert_eq!(current(), "2.0.0");
    refused(&world, &["rollback", "notes", "--to", "9.9.9"], 1, "9.9.9");
}

// The command lines of the sources.

#[test]
fn pk_22_the_sources_command_lines_work_with_sp_pack() {
    let world = project();
    write(&world, "project/README.md", "# Mine\n\nA project.\n");
    let sp = |args: &[&str]| world.sp_in("project", &[&["pack"], args].concat());
    let run = sp(&["create", "--name", "my-project", "--level", "2"]).ok();
    assert!(run.stdout.contains("Package created") && run.stdout.contains("my-project"), "{run}");
    sp(&["export", "my-project", "--output", "my-project.ctxpkg"]).ok();
    sp(&["list"]).ok();
    sp(&["info", "my-project"]).ok();
    sp(&["install", "my-project"]).ok();
    assert_eq!(locked(&world), ["my-project 1.0.0"]);
    sp(&["remove", "my-project"]).ok();
    sp(&["import", "my-project.ctxpkg"]).ok();
    // Nobody listens there; without a secret the envelope is not signed.
    let run = sp(&["send", "--target", "127.0.0.1:1"]).fails(5);
    assert!(run.stderr.contains("SP_TRANSPORT_SECRET"), "{run}");
}
