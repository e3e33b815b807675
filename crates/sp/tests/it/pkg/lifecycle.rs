//! `sp pkg create`, `import`, `export`, `list`, `info`, `log`, `diff`, `remove` and `rollback`.

use super::*;

const NODES: &str = r#"{"name": "notes", "description": "Notes.", "nodes": [
    {"id": "a", "type": "fact", "content": "Tokens are RS256."},
    {"id": "b", "type": "decision", "content": "No sessions."}],
  "edges": [{"from": "a", "to": "b", "type": "supports"}]}"#;

const YAML: &str = "name: notes\ndescription: Notes.\nnodes:\n  - {id: a, type: fact, content: Tokens are RS256.}\n  \
                    - {id: b, type: decision, content: No sessions.}\nedges:\n  - {from: a, to: b, type: supports}\n";

/// A project with `notes.json`, and the package `notes 1.0.0` of it in the store.
fn project_with_notes() -> World {
    let world = project();
    write(&world, "project/notes.json", NODES);
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    world
}

/// A package of the store, as JSON.
fn exported_json(world: &World, package: &str) -> Value {
    serde_json::from_str(&exported(world, package)).unwrap()
}

// Create.

#[test]
fn pk_09_json_and_yaml_input_create_the_same_package() {
    let (json, yaml) = (project_with_notes(), project());
    write(&yaml, "project/notes.yaml", YAML);
    pkg(&yaml, &["create", "--input", "notes.yaml"]).ok();
    assert_eq!(exported(&json, "notes"), exported(&yaml, "notes"));
    let text = exported(&json, "notes");
    assert_eq!(compact(&text), text, "no white space");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["manifest"]["graph_summary"]["node_types"], json!(["decision", "fact"]));
    assert_eq!(value["manifest"]["kind"], Value::Null, "the default kind is not written");
    assert_eq!(value["content"]["context_graph"]["nodes"][0]["activation"], json!(1.0));
}

#[test]
fn pk_08_hashes_of_created_packages_follow_the_specification() {
    let world = project_with_notes();
    let text = exported(&world, "notes");
    let (_, rest) = text.split_once(",\"content\":{\"context_graph\"").expect("content is last");
    let content = format!("{{\"context_graph\"{}", rest.strip_suffix('}').unwrap());
    let integrity = &exported_json(&world, "notes")["manifest"]["integrity"];
    let hash = Digest::of(content.as_bytes()).hex();
    assert_eq!(integrity["content_hash"], json!(hash));
    assert_eq!(integrity["byte_size"], json!(content.len()));
    assert_eq!(
        integrity["sha256"],
        json!(Digest::of(format!("notes:1.0.0:{hash}").as_bytes()).hex())
    );
}

#[test]
fn pk_22_version_is_incremented_only_if_the_content_changes() {
    let world = project_with_notes();
    let second = pkg_json(&world, &["create", "--input", "notes.json"]);
    assert_eq!(second["packages"][0]["new"], false, "{second}");
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
fn pk_22_changed_manifest_of_the_same_content_is_stored() {
    for (flags, member) in [
        (&["--depends", "base@^1"][..], "dependencies"),
        (&["--description", "Other."], "description"),
        (&["--tag", "new"], "tags"),
        (&["--author", "Ada"], "author"),
    ] {
        let world = project_with_notes();
        pkg(&world, &[&["create", "--input", "notes.json"], flags].concat()).ok();
        let manifest = exported_json(&world, "notes")["manifest"].clone();
        let value = flags[1].split('@').next().unwrap();
        assert!(manifest[member].to_string().contains(value), "{flags:?}: {manifest}");
    }
}

#[test]
fn pk_22_version_is_never_reused_even_after_removal() {
    let world = project_with_notes();
    let other = TestPackage::new("notes", "1.0.0").write_to(&world, "other.ctxpkg");
    write(&world, "project/notes.json", NODES.replace("RS256", "ES256"));
    for removed in [false, true] {
        if removed {
            pkg(&world, &["remove", "notes"]).ok();
            assert_eq!(stored(&world), [""; 0]);
        }
        let error = refused(&world, &["import", &other], "E-version-replaced");
        assert_mentions(&error, &TestPackage::new("notes", "1.0.0").sha256());
        refused(
            &world,
            &["create", "--input", "notes.json", "--version", "1.0.0"],
            "E-version-replaced",
        );
        refused(&world, &["install", &other], "E-version-replaced");
    }
    pkg(&world, &["create", "--input", "notes.json"]).ok();
    assert_eq!(stored(&world), ["notes 1.0.1"], "the version is not reused");
}

#[test]
fn pk_22_version_never_gets_another_manifest() {
    let world = project();
    let first = TestPackage::new("notes", "1.0.0");
    import(&world, std::slice::from_ref(&first));
    let other = first.with_dependencies(&[("evil", "*")]).write_to(&world, "other.ctxpkg");
    refused(&world, &["import", &other], "E-version-replaced");
    let manifest = &exported_json(&world, "notes")["manifest"];
    assert_eq!(manifest["dependencies"], Value::Null, "the manifest is unchanged");
}

#[test]
fn pk_24_packages_are_created_from_skills_and_packs() {
    let world = project();
    world.skill("general/tidy");
    world.skill("general/review");
    world.write("skills/general/tidy/scripts/run.sh", "echo tidy\n");
    world.pack("team", "name: team\ninclude: ['**']\n");
    let path = world.repo().join("skills/general/tidy").display().to_string();
    pkg(&world, &["create", "--kind", "skills", "--name", "one", &path]).ok();
    world.sp(&["pkg", "create", "--kind", "skills", "--name", "all", "team"]).ok();
    let files = |name: &str| -> Vec<String> {
        let info = pkg_json(&world, &["info", name]);
        info["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(files("one"), ["tidy/SKILL.md", "tidy/scripts/run.sh"]);
    assert_eq!(files("all"), ["review/SKILL.md", "tidy/SKILL.md", "tidy/scripts/run.sh"]);
    let package = exported_json(&world, "one");
    assert_eq!(
        (&package["manifest"]["kind"], &package["manifest"]["schema_version"]),
        (&json!("skills"), &json!(2))
    );
    let file = &package["content"]["documents"]["files"][0];
    assert_eq!(
        (&file["encoding"], &file["path"]),
        (&json!("zstd+base64"), &json!("tidy/SKILL.md"))
    );
    let plain = std::fs::read(world.repo().join("skills/general/tidy/SKILL.md")).unwrap();
    assert_eq!(file["sha256"], json!(Digest::of(&plain).hex()));
    refused(
        &world,
        &["create", "--kind", "skills", "--name", "x", "no-such-skill"],
        "E-pack-not-found",
    );
}

#[test]
fn pk_22_package_is_created_from_a_project() {
    let world = project();
    write(&world, "project/README.md", "# Shop\n\nSells things.\n\n## Run\n\nUse `make`.\n");
    write(&world, "project/docs/adr/1.md", "# Use Rust\n\nIt is fast.\n");
    write(&world, "elsewhere/x", "");
    world.sp_in("elsewhere", &["pkg", "create", "--name", "shop", "--from", "../project"]).ok();
    let first = exported(&world, "shop");
    let value: Value = serde_json::from_str(&first).unwrap();
    let nodes = value["content"]["context_graph"]["nodes"].as_array().unwrap();
    let count = |kind: &str| nodes.iter().filter(|node| node["type"] == kind).count();
    assert_eq!((count("fact"), count("decision")), (2, 1), "{nodes:#?}");
    world.sp_in("elsewhere", &["pkg", "create", "--name", "shop", "--from", "../project"]).ok();
    assert_eq!(exported(&world, "shop"), first, "the package is unchanged");
    refused(&world, &["create", "--name", "x", "--from", "../elsewhere"], "E-nothing-found");
}

#[test]
fn pk_06_policies_are_nodes_and_a_layer_except_for_lean_ctx() {
    let world = project();
    let text = r#"{"name": "rules", "policies": {"policies":
        [{"id": "p1", "kind": "security", "rule": "No secrets.", "severity": "critical"}]}}"#;
    write(&world, "project/rules.json", text);
    pkg(&world, &["create", "--input", "rules.json", "--level", "1"]).ok();
    let value = exported_json(&world, "rules");
    assert_eq!(value["manifest"]["layers"], json!(["policies"]));
    assert_eq!(value["content"]["context_graph"]["nodes"][0]["type"], "policy");
    pkg(&world, &["export", "rules", "--output", "lean.ctxpkg", "--compat", "lean-ctx"]).ok();
    let lean: Value = serde_json::from_str(&read(&world, "project/lean.ctxpkg")).unwrap();
    assert_eq!(lean["manifest"]["layers"], json!([]));
    assert_eq!(lean["content"]["context_graph"], value["content"]["context_graph"]);
    pkg(&world, &["verify", "lean.ctxpkg"]).ok();
}

#[test]
fn pk_07_pk_03_invalid_input_is_refused() {
    let world = project();
    for (input, code, position) in [
        (r#"{"name": "x", "nodes": [{"id": "a", "type": "fact"}]}"#, "PK-15", "1:25"),
        (
            r#"{"name": "x", "nodes": [{"id":"a","type":"f","content":"x"},{"id":"a","type":"f","content":"y"}]}"#,
            "PK-15",
            "1:67",
        ),
        (
            r#"{"name": "x", "nodes": [{"id":"a","type":"f","content":"x","activation":1.5}]}"#,
            "PK-15",
            "1:73",
        ),
        (
            r#"{"name": "x", "nodes": [{"id":"a","type":"f","content":"x"}], "edges": [{"from":"a","to":"z","type":"t"}]}"#,
            "PK-15",
            "1:90",
        ),
        (r#"{"name": "../x", "nodes": []}"#, "PK-03", "1:10"),
        (r#"{"name": "x", "version": ".1", "nodes": []}"#, "PK-03", "1:26"),
        (r#"{"name": "x"}"#, "E-invalid-package", ""),
        (r#"{"name": "x", "name": "y", "nodes": []}"#, "PK-01", "1:15"),
    ] {
        write(&world, "project/bad.json", input);
        let error = refused(&world, &["create", "--input", "bad.json"], code);
        let finding = error.findings.first();
        let actual = finding.map(|finding| format!("{}:{}", finding.line, finding.column));
        assert_eq!(actual.unwrap_or_default(), position, "{input}: {error:?}");
    }
    refused(&world, &["create", "--input", "bad.json", "--name", "a/b"], "PK-01");
    write(&world, "project/good.json", NODES);
    refused(&world, &["create", "--input", "good.json", "--name", "a/b"], "E-invalid-name");
    refused(&world, &["create", "--input", "good.json", "--version", "one"], "E-invalid-version");
    refused(
        &world,
        &["create", "--input", "good.json", "--depends", "x@!"],
        "E-invalid-package-spec",
    );
    let error = refused(&world, &["create", "--input", "no-such.json"], "E-file-not-found");
    assert_mentions(&error, "no-such.json");
}

// Round trips.

/// A valid package with unusual white space, escapes, numbers and members.
fn unusual_package() -> String {
    let content = "{ \"z\" : 1 ,\n\t\"context_graph\":{\"format\":\"ctxpkg-graph-v2\", \"nodes\":[{\"id\":\"n\\u0031\",\
        \"type\":\"fact\",\"content\":\"\\u00e9\\/ \\ud83d\\ude00 {not blank}\",\"activation\":1.0,\"mine\":[1e0,1E400,\
        12345678901234567890, -0.0,1.00000000000000000000001]},{\"id\":\"e\u{301}\",\"type\":\"fact\",\"content\":\"a\",\
        \"activation\":1e0},{\"id\":\"\u{e9}\",\"type\":\"fact\",\"content\":\"b\"}],\"edges\":[{\"from\":\"n1\",\"to\":\
        \"\u{e9}\",\"type\":\"t\",\"weight\":1.50,\"why\":null}]},\"A\":{\"\":[ ]},\"a\":true\r\n}";
    let mut package = TestPackage::new("odd", "1.0.0")
        .with("x-unknown", json!({"b": [1, {"c": "d"}], "a": null}));
    package.manifest.insert("tags".into(), json!(["\u{e9}", "e\u{301}"]));
    let text = package.with_content(content).to_json();
    let text = text.replacen("{\"manifest\":{", "\n{ \"extra\" : 1e0 , \"manifest\" :\r\n{\t", 1);
    text + "\n\n"
}

#[test]
fn pk_02_pk_08_import_and_export_preserve_every_byte() {
    let (here, there) = (project(), project());
    let file = write(&here, "odd.ctxpkg", unusual_package());
    let run = pkg(&here, &["import", &file]).ok();
    assert!(run.stderr.contains("`extra`"), "members outside of the hash are reported: {run}");
    assert_eq!(exported(&here, "odd"), unusual_package());
    let file = here.path("out.ctxpkg").display().to_string();
    pkg(&there, &["import", &file]).ok();
    assert_eq!(exported(&there, "odd"), unusual_package());
    pkg(&there, &["install", "odd"]).ok();
    assert_eq!(read(&there, "project/.ctxpkg/packages/odd.ctxpkg"), unusual_package());
    assert_eq!(pkg_json(&there, &["info", "odd"])["nodes"], 3);
}

#[test]
fn pk_02_packages_of_other_tools_are_preserved() {
    let world = project();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sp-formats/tests/interop");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ctxpkg"));
    for file in files {
        let world = project();
        let path = file.display().to_string();
        let list = pkg_json(&world, &["import", &path]);
        let name = list["packages"][0]["name"].as_str().unwrap_or_default().to_owned();
        assert!(!name.is_empty(), "{list}");
        assert_eq!(exported(&world, &name), std::fs::read_to_string(&file).unwrap(), "{path}");
    }
    let old = TestPackage::new("old", "1.0.0").write_to(&world, "old.lctxpkg");
    pkg(&world, &["import", &old]).ok();
}

/// The warning about `schema_version`.
fn schema_warning(run: &Run) -> &str {
    let is_warning = |line: &&str| line.starts_with("warning") && line.contains("schema_version");
    run.stderr.lines().find(is_warning).unwrap_or_default()
}

#[test]
fn pk_02_missing_schema_version_is_inferred_with_a_warning() {
    let world = project();
    let mut package = TestPackage::new("bare", "1.0.0");
    package.manifest.remove("schema_version");
    let file = package.write_to(&world, "bare.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(schema_warning(&run).contains('2'), "{run}");
    let mut flat = TestPackage::new("flat", "1.0.0")
        .with_content(r#"{"knowledge":{"facts":[]}}"#)
        .with("layers", json!(["knowledge"]));
    flat.manifest.remove("schema_version");
    flat.manifest.remove("conformance_level");
    let file = flat.write_to(&world, "flat.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(schema_warning(&run).contains('1'), "{run}");
}

#[test]
fn pk_22_export_replaces_a_different_file_only_with_force() {
    let world = project_with_notes();
    pkg(&world, &["export", "notes"]).ok();
    let text = read(&world, "project/notes-1.0.0.ctxpkg");
    pkg(&world, &["export", "notes"]).ok();
    write(&world, "project/notes-1.0.0.ctxpkg", "mine");
    refused(&world, &["export", "notes"], "E-already-exists");
    pkg(&world, &["export", "notes", "--force"]).ok();
    assert_eq!(read(&world, "project/notes-1.0.0.ctxpkg"), text);
    assert!(refused(&world, &["export", "note"], "E-package-not-found").hints_at("`notes`"));
}

// Output.

#[test]
fn pk_22_packages_are_shown_in_human_and_plain_format() {
    let world = project_with_notes();
    write(&world, "project/notes.json", NODES.replace("No sessions.", "Sessions."));
    pkg(&world, &["create", "--input", "notes.json", "--sign"]).ok();
    let plain = |args: &[&str]| pkg(&world, &[args, &["--format", "plain"]].concat()).ok().stdout;
    let packages = pkg_json(&world, &["list"])["packages"].clone();
    assert!(packages[0]["signer"].is_null() && packages[1]["signer"].is_string(), "{packages}");
    let digests = [0, 1].map(|index| packages[index]["digest"].as_str().unwrap());
    assert_eq!(
        plain(&["list"]),
        format!("notes\t1.0.0\t{}\nnotes\t1.0.1\t{}\n", digests[0], digests[1])
    );
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
    for data in ["notes 1.0.1", "Notes.", "1 decision", "1 fact", "1 supports", digests[1]] {
        assert!(info.contains(data), "`{data}` is not in {info}");
    }
    let list = pkg(&world, &["list"]).ok().stdout;
    for data in ["1.0.0", "1.0.1", "Notes."] {
        assert!(list.contains(data), "`{data}` is not in {list}");
    }
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
    for step in VERIFY_STEPS {
        assert!(verify.contains(step), "`{step}` is not in {verify}");
    }
    assert_eq!(plain(&["diff", "notes", "notes"]), "");
}

/// The steps of `sp pkg verify`, as documented in `docs/json.md`.
const VERIFY_STEPS: [&str; 6] =
    ["content hash", "composite hash", "size", "signature", "provenance", "freshness"];

#[test]
fn pk_10_verify_reports_each_step_in_order() {
    let world = project();
    let package = TestPackage::new("notes", "1.0.0").signed(1, SignatureScope::Full);
    let file = package.write_to(&world, "notes.ctxpkg");
    let report = pkg_json(&world, &["verify", &file]);
    let steps: Vec<&str> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect();
    assert_eq!(
        steps.iter().filter(|step| VERIFY_STEPS.contains(step)).copied().collect::<Vec<_>>(),
        VERIFY_STEPS
    );
    assert_eq!(report["steps"][2]["detail"], package.sha256());
    let evil = write(&world, "evil.ctxpkg", package.to_json().replace("It is so.", "It is not"));
    let run = pkg(&world, &["verify", &evil, "--format", "json"]).fails(4);
    assert_matches_schema("pkg verify", &run.stdout);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["verified"], &report["steps"][1]["outcome"]),
        (&json!(false), &json!("failed")),
        "{run}"
    );
}

#[test]
fn pk_22_json_output_matches_the_documented_schemas() {
    let world = project_with_notes();
    pkg(&world, &["create", "--input", "notes.json", "--version", "2.0.0", "--sign"]).ok();
    world.skill("tidy");
    let tidy = world.repo().join("skills/tidy").display().to_string();
    pkg(&world, &["create", "--kind", "skills", "--name", "tools", &tidy, "--depends", "notes@^2"])
        .ok();
    let file = TestPackage::new("other", "1.0.0")
        .with_dependencies(&[("notes", "^2")])
        .write_to(&world, "other.ctxpkg");
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
        assert_matches_schema(section, &run.stdout);
    }
    for args in [
        &["list"][..],
        &["new", "second"],
        &["export"],
        &["rotate", "second"],
        &["trust", "@acme", &public_key(3)],
    ] {
        let run = key(&world, &[args, &["--format", "json"]].concat()).ok();
        assert_matches_schema("key list", &run.stdout);
    }
    let empty = write(&world, "empty.ctxpkg", "");
    for args in [&["info", "nothing"][..], &["info", "a/b/c"], &["import", &empty]] {
        let run = pkg(&world, &[args, &["--format", "json"]].concat());
        run.error();
        assert_matches_schema("error", run.stderr.lines().last().unwrap_or_default());
    }
}

// Remove and roll back.

#[test]
fn pk_22_remove_deletes_one_version_or_all() {
    let world = project();
    import(&world, &["1.0.0", "1.1.0", "2.0.0"].map(|version| TestPackage::new("notes", version)));
    let before = records(&world);
    let run = pkg(&world, &["remove", "notes@1.0.0", "--dry-run"]).ok();
    assert!(run.stdout.contains("notes 1.0.0") && records(&world) == before, "{run}");
    pkg(&world, &["remove", "notes@1.0.0"]).ok();
    assert_eq!(stored(&world), ["notes 1.1.0", "notes 2.0.0"]);
    assert_store_is_consistent(&world, "after a removal");
    let error = refused(&world, &["remove", "notes@1.0.0"], "E-version-not-found");
    assert!(error.hints_at("2.0.0, 1.1.0"), "{error:?}");
    assert!(refused(&world, &["remove", "nots"], "E-package-not-found").hints_at("`notes`"));
    let error = refused(&world, &["remove", "notes", "nothing"], "E-package-not-found");
    assert_mentions(&error, "`nothing`");
    let log = pkg(&world, &["log", "notes"]).ok().to_string();
    assert!(log.contains("1.0.0"), "the log lacks the removed version: {log}");
    pkg(&world, &["remove", "notes"]).ok();
    assert_eq!(stored(&world), [""; 0]);
    assert_store_is_consistent(&world, "after all are removed");
}

#[test]
fn pk_22_packages_with_unusual_names_are_accepted_as_arguments() {
    for name in [".hidden", "notes.ctxpkg", "a.lctxpkg", "x@y".split('@').next().unwrap(), "-dash"]
    {
        let world = project();
        import(&world, &[TestPackage::new(name, "1.0.0")]);
        pkg(&world, &["info", "--", name]).ok();
        pkg(&world, &["export", "--output", "x.ctxpkg", "--", name]).ok();
        pkg(&world, &["remove", "--", name]).ok();
        assert_eq!(stored(&world), [""; 0], "{name}");
    }
}

#[test]
fn pk_22_rollback_in_the_store_makes_an_earlier_version_current() {
    let world = project();
    import(&world, &["1.0.0", "1.1.0", "2.0.0"].map(|version| TestPackage::new("notes", version)));
    let current =
        || pkg_json(&world, &["info", "notes"])["version"].as_str().unwrap_or_default().to_owned();
    let before = records(&world);
    pkg(&world, &["rollback", "notes", "--dry-run"]).ok();
    assert_eq!(records(&world), before);
    pkg(&world, &["rollback", "notes"]).ok();
    assert_eq!(current(), "1.1.0");
    pkg(&world, &["rollback", "notes"]).ok();
    assert_eq!(current(), "1.0.0");
    refused(&world, &["rollback", "notes"], "E-no-earlier-state");
    assert_eq!(stored(&world).len(), 3, "the store keeps all versions");
    pkg(&world, &["info", "notes@2.0.0"]).ok();
    pkg(&world, &["rollback", "notes", "--to", "2.0.0"]).ok();
    assert_eq!(current(), "2.0.0");
    let error = refused(&world, &["rollback", "notes", "--to", "9.9.9"], "E-version-not-found");
    assert_mentions(&error, "9.9.9");
}

// Command lines from the specification.

#[test]
fn pk_22_command_lines_of_the_specification_work() {
    let world = project();
    write(&world, "project/README.md", "# Mine\n\nA project.\n");
    let sp = |args: &[&str]| world.sp_in("project", &[&["pack"], args].concat());
    let run = sp(&["create", "--name", "my-project", "--level", "2"]).ok();
    assert!(run.stdout.contains("my-project 1.0.0"), "{run}");
    sp(&["export", "my-project", "--output", "my-project.ctxpkg"]).ok();
    sp(&["list"]).ok();
    sp(&["info", "my-project"]).ok();
    sp(&["install", "my-project"]).ok();
    assert_eq!(locked(&world), ["my-project 1.0.0"]);
    sp(&["remove", "my-project"]).ok();
    sp(&["import", "my-project.ctxpkg"]).ok();
    // No server listens on this port. Without a secret, the envelope is not signed.
    let run = sp(&["send", "--target", "127.0.0.1:1", "--format", "json"]);
    assert_eq!(run.error().code, "E-network");
    assert!(run.stderr.contains("SP_TRANSPORT_SECRET"), "{run}");
}
