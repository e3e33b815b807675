//! Keys, signatures, and whom a package may come from.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Made by `openssl genpkey -algorithm ed25519`, for machines without it.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIC9Tx8MquLzVuxmYnSsGvlGLHtbAqVFrrnJVJ/dXKmKI\n\
                   -----END PRIVATE KEY-----\n";

fn config(world: &World, yaml: &str) {
    write(world, "home/.skillpack/config.yaml", yaml);
}

/// A world that has seen `notes 1.0.0`, signed whole by the first key.
fn pinned() -> World {
    let world = project();
    import(&world, &[notes("1.0.0").signed(1, Signs::Whole)]);
    world
}

fn notes(version: &str) -> Made {
    Made::new("notes", version).says(version)
}

/// Holds every way in against a package that must be refused; nothing of it may be stored.
#[track_caller]
fn turned_away(world: &World, made: &Made, words: &str) {
    let file = made.put(world, "bad.ctxpkg");
    for args in [&["import", file.as_str()][..], &["install", &file], &["verify", &file]] {
        refused(world, args, 4, words);
    }
}

// Keys.

#[test]
fn pk_13_private_keys_are_for_their_owner_only_and_are_never_printed() {
    let world = project();
    key(&world, &["new"]).ok();
    let other = write(&world, "other.pem", PEM);
    key(&world, &["import", &other, "--name", "other"]).ok();
    write(
        &world,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    key(&world, &["rotate", "other", "--statement", "rotation.json"]).ok();
    key(&world, &["export", "--private", "copy.pem"]).ok();
    let mut secrets: Vec<String> = Vec::new();
    for path in std::fs::read_dir(world.path("home/.skillpack/keys"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{}",
            path.display()
        );
        secrets.push(std::fs::read_to_string(&path).unwrap().lines().nth(1).unwrap().into());
    }
    assert_eq!(secrets.len(), 3);
    assert_eq!(
        world.path("project/copy.pem").metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    for format in ["human", "plain", "json"] {
        for args in [
            &["key", "list"][..],
            &["key", "list", "--verbose"],
            &["key", "export"],
            &["key", "export", "other"],
            &["key", "new"],
            &["key", "rotate", "other"],
            &["key", "export", "--private", &format!("copy-{format}.pem")],
            &["pkg", "create", "--input", "a.json", "--sign"],
            &["pkg", "create", "--input", "a.json", "--sign=other", "--version", "2.0.0"],
            &["pkg", "info", "a"],
            &["pkg", "list", "--verbose"],
        ] {
            let run = world.sp_in("project", &[args, &["--format", format]].concat());
            for secret in &secrets {
                assert!(
                    !format!("{run}").contains(&secret[20..50]),
                    "{args:?} shows a private key: {run}"
                );
            }
            assert!(!format!("{run}").contains("PRIVATE"), "{args:?}: {run}");
        }
    }
    for (path, entry) in world.files("home/.skillpack") {
        let Entry::File(text, _) = entry else { continue };
        assert!(path.starts_with("keys/") || !text.contains("PRIVATE"), "{path}");
    }
    key(&world, &["export", "--private", "copy.pem"]).fails(1);
    key(&world, &["new"]).fails(1);
    key(&world, &["new", "../x"]).fails(2);
    key(&world, &["export", "no-such"]).fails(1);
}

#[test]
fn pk_13_a_key_of_openssl_is_imported_and_signs() {
    let world = project();
    let path = world.path("openssl.pem");
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "ed25519", "-out"])
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        std::fs::write(&path, PEM).unwrap();
    }
    key(&world, &["import", &path.display().to_string()]).ok();
    write(
        &world,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    let public = key(&world, &["export"]).ok().stdout.trim().to_owned();
    assert_eq!(answer(&world, &["info", "a"])["signer"], json!(public));
    for bad in ["", "x", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"] {
        let file = write(&world, "bad.pem", bad);
        key(&world, &["import", &file, "--name", "bad"]).fails(3);
    }
}

#[test]
fn pk_13_the_first_signature_makes_a_key_and_says_where() {
    let world = project();
    write(
        &world,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    let run = pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    assert!(
        run.stderr.contains("a key was made") && run.stderr.contains("keys/default.pem"),
        "{run}"
    );
    pkg(&world, &["create", "--input", "a.json", "--sign=no-such"]).fails(1);
    let text: Value = {
        pkg(&world, &["export", "a", "--output", "a.ctxpkg"]).ok();
        serde_json::from_str(&read(&world, "project/a.ctxpkg")).unwrap()
    };
    let signature = text["manifest"]["signature"].as_object().unwrap();
    assert_eq!(
        signature.keys().collect::<Vec<_>>(),
        ["algorithm", "manifest_value", "public_key", "value"]
    );
}

#[test]
fn pk_11_pk_12_a_package_that_was_signed_by_hand_holds() {
    let world = project();
    import(&world, &[notes("1.0.0").signed(1, Signs::Whole)]);
    let run = pkg(&world, &["verify", "notes"]).ok();
    assert!(
        run.stdout.contains("covers content and manifest") && run.stdout.contains(&public(1)),
        "{run}"
    );
    let file = Made::new("half", "1.0.0").signed(1, Signs::Content).put(&world, "half.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(
        run.stderr.contains("dependencies") && run.stderr.contains("PK-12"),
        "it says what is open: {run}"
    );
}

// Attacks on what is trusted.

#[test]
fn se_11_a_stripped_signature_is_refused() {
    let world = pinned();
    turned_away(&world, &notes("1.0.1"), "is not signed");
    turned_away(&world, &notes("1.0.0"), "is not signed");
    let null = notes("1.0.1").with("signature", Value::Null);
    turned_away(&world, &null, "is not signed");
    let file = notes("1.0.1").put(&world, "bad.ctxpkg");
    let run = pkg(&world, &["import", &file, "--allow-downgrade"]).ok();
    assert!(run.stderr.contains("warning"), "said loudly: {run}");
    turned_away(&world, &notes("1.0.2"), "is not signed");
}

#[test]
fn se_11_a_signature_of_the_content_only_is_a_downgrade() {
    let world = pinned();
    let half = notes("1.0.1").signed(1, Signs::Content);
    turned_away(&world, &half, "the manifest of `notes` is not signed");
    let file = half.put(&world, "half.ctxpkg");
    assert!(pkg(&world, &["import", &file, "--allow-downgrade"]).ok().stderr.contains("warning"));
    turned_away(
        &world,
        &notes("1.0.2").signed(1, Signs::Content),
        "the manifest of `notes` is not signed",
    );
}

#[test]
fn se_11_another_key_under_the_same_name_is_refused() {
    let world = pinned();
    let other = notes("1.0.1").signed(2, Signs::Whole);
    turned_away(&world, &other, "another key");
    turned_away(&world, &notes("1.0.0").signed(2, Signs::Whole), "another key");
    let file = other.put(&world, "other.ctxpkg");
    refused(&world, &["import", &file, "--allow-downgrade"], 4, &public(1));
    let run = pkg(&world, &["import", &file, "--accept-new-key"]).ok();
    assert!(run.stderr.contains("warning"), "said loudly: {run}");
    turned_away(&world, &notes("1.0.2").signed(1, Signs::Whole), "another key");
}

#[test]
fn se_11_a_scope_has_one_key_and_names_without_have_their_own() {
    let world = project();
    import(
        &world,
        &[
            Made::new("@acme/a", "1.0.0").signed(1, Signs::Whole),
            Made::new("b", "1.0.0").signed(2, Signs::Whole),
        ],
    );
    turned_away(&world, &Made::new("@acme/b", "1.0.0").signed(2, Signs::Whole), "another key");
    turned_away(&world, &Made::new("@acme/b", "1.0.0"), "is not signed");
    import(
        &world,
        &[
            Made::new("acme", "1.0.0").signed(2, Signs::Whole),
            Made::new("@acme/b", "1.0.0").signed(1, Signs::Whole),
        ],
    );
}

#[test]
fn se_11_the_same_version_with_other_content_is_refused_though_it_is_signed() {
    let world = pinned();
    let other = Made::new("notes", "1.0.0").says("Another.").signed(1, Signs::Whole);
    let file = other.put(&world, "other.ctxpkg");
    for args in [&["import", file.as_str()][..], &["install", &file]] {
        let run = refused(&world, args, 4, "was another package before");
        assert!(
            run.stderr.contains(&other.sha256()) && run.stderr.contains(&notes("1.0.0").sha256()),
            "{run}"
        );
    }
    pkg(&world, &["remove", "notes"]).ok();
    refused(&world, &["import", &file], 4, "was another package before");
    turned_away(&world, &notes("1.0.0").signed(2, Signs::Whole), "another key");
}

#[test]
fn se_11_an_old_version_after_a_newer_is_said_loudly_and_not_chosen() {
    let world = project();
    import(&world, &[notes("2.0.0").signed(1, Signs::Whole)]);
    let file = notes("1.0.0").signed(1, Signs::Whole).put(&world, "old.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(run.stderr.contains("warning") && run.stderr.contains("older than 2.0.0"), "{run}");
    assert_eq!(answer(&world, &["info", "notes"])["version"], "2.0.0");
    pkg(&world, &["install", "notes"]).ok();
    assert_eq!(locked(&world), ["notes 2.0.0"]);
    let run = pkg(&world, &["install", &file]).ok();
    assert!(
        run.stdout.contains("2.0.0") && run.stdout.contains("1.0.0"),
        "a step back is shown: {run}"
    );
}

#[test]
fn se_11_a_package_that_was_signed_by_content_keeps_its_manifest() {
    let world = project();
    let first = notes("1.0.0").signed(1, Signs::Content);
    import(&world, std::slice::from_ref(&first));
    let evil = first.needs(&[("evil", "*")]).with("description", json!("Changed."));
    let file = evil.put(&world, "evil.ctxpkg");
    pkg(&world, &["import", &file]);
    let info = answer(&world, &["info", "notes@1.0.0"]);
    assert_eq!(
        info["description"], "A test.",
        "what was open did not change under the same version"
    );
}

#[test]
fn se_11_of_several_files_nothing_is_stored_if_one_is_refused() {
    let world = pinned();
    let good = Made::new("good", "1.0.0").signed(3, Signs::Whole).put(&world, "good.ctxpkg");
    let bad = notes("1.0.1").put(&world, "bad.ctxpkg");
    refused(&world, &["import", &good, &bad], 4, "is not signed");
}

// Policies.

#[test]
fn pk_13_unsigned_packages_warn_or_are_refused_as_the_user_wants() {
    let world = project();
    let file = notes("1.0.0").put(&world, "notes.ctxpkg");
    refused(&world, &["import", &file, "--require-signed"], 4, "is not signed");
    refused(&world, &["install", &file, "--require-signed"], 4, "is not signed");
    refused(&world, &["verify", &file, "--require-signed"], 4, "is not signed");
    config(&world, "packages: {require-signed: true}\n");
    turned_away(&world, &notes("1.0.0"), "is not signed");
    refused(&world, &["import", &file, "--allow-downgrade"], 4, "is not signed");
    config(&world, "");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(run.stderr.contains("warning[PK-13]"), "{run}");
    config(&world, "packages: {require-signed: true}\n");
    refused(&world, &["install", "notes"], 4, "is not signed");
}

#[test]
fn pk_13_trusted_keys_narrow_whom_packages_come_from() {
    let world = project();
    config(&world, &format!("packages:\n  trusted-keys:\n    - {}\n", public(1)));
    turned_away(&world, &notes("1.0.0"), "is not signed");
    turned_away(&world, &notes("1.0.0").signed(2, Signs::Whole), "not trusted here");
    let file = notes("1.0.0").signed(2, Signs::Whole).put(&world, "second.ctxpkg");
    refused(&world, &["import", &file, "--accept-new-key"], 4, "not trusted here");
    import(&world, &[notes("1.0.0").signed(1, Signs::Whole)]);
    config(&world, "packages: {trusted-keys: [nonsense]}\n");
    refused(&world, &["list"], 3, "PK-13");
}

#[test]
fn pk_13_sp_key_trust_says_whose_key_counts() {
    let world = project();
    key(&world, &["trust", "@acme", &public(1)]).ok();
    turned_away(&world, &Made::new("@acme/a", "1.0.0").signed(2, Signs::Whole), "another key");
    import(&world, &[Made::new("@acme/a", "1.0.0").signed(1, Signs::Whole)]);
    let list = key(&world, &["list"]).ok().stdout;
    assert!(
        list.contains("@acme") && list.contains(&public(1)) && list.contains("you said so"),
        "{list}"
    );
    key(&world, &["trust", "@acme", &public(2)]).ok();
    import(&world, &[Made::new("@acme/b", "1.0.0").signed(2, Signs::Whole)]);
    let before = records(&world);
    for args in [
        &["trust", "@acme", "00"][..],
        &["trust", "../x", &public(1)],
        &["trust", "@acme", &"0".repeat(64)],
    ] {
        key(&world, args).fails(2);
    }
    assert_eq!(records(&world), before);
}

#[test]
fn pk_13_a_pinned_key_that_signs_only_contents_is_taken_when_the_user_trusts_it() {
    let world = project();
    key(&world, &["trust", "notes", &public(1)]).ok();
    let file = notes("1.0.0").signed(1, Signs::Content).put(&world, "notes.ctxpkg");
    let run = pkg(&world, &["import", &file]);
    assert!(
        run.code == Some(0) || !run.stderr.contains("those before it was"),
        "nothing came before: {run}"
    );
}

#[test]
fn se_11_pk_23_what_the_old_key_signed_can_be_gone_back_to() {
    let world = project();
    write(
        &world,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    let release = |version: &str| {
        pkg(&world, &["create", "--input", "a.json", "--sign", "--version", version]).ok()
    };
    release("1.0.0");
    pkg(&world, &["install", "a"]).ok();
    key(&world, &["rotate"]).ok();
    release("1.0.1");
    pkg(&world, &["install", "a"]).ok();
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["a 1.0.0"]);
}

#[test]
fn se_11_pk_23_what_was_unsigned_before_can_be_gone_back_to() {
    let world = project();
    import(&world, &[notes("1.0.0")]);
    pkg(&world, &["install", "notes"]).ok();
    import(&world, &[notes("1.0.1").signed(1, Signs::Whole)]);
    pkg(&world, &["install", "notes"]).ok();
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["notes 1.0.0"]);
}

#[test]
fn se_11_a_rotation_is_followed_and_a_forged_one_is_not() {
    let (author, reader) = (project(), project());
    write(
        &author,
        "project/a.json",
        r#"{"name": "a", "nodes": [{"id": "x", "type": "fact", "content": "y"}]}"#,
    );
    let release = |version: &str| {
        let file = author.path(&format!("{version}.ctxpkg")).display().to_string();
        pkg(
            &author,
            &["create", "--input", "a.json", "--sign", "--version", version, "--output", &file],
        )
        .ok();
        file
    };
    let first = release("1.0.0");
    pkg(&reader, &["import", &first]).ok();
    let old = key(&author, &["export"]).ok().stdout;
    key(&author, &["rotate", "--statement", "rotation.json"]).ok();
    assert_ne!(key(&author, &["export"]).ok().stdout, old);
    assert!(key(&author, &["list"]).ok().stdout.contains("retired"));
    let second = release("1.0.1");
    refused(&reader, &["import", &second], 4, "another key");
    let statement = read(&author, "project/rotation.json");
    let value: Value = serde_json::from_str(&statement).unwrap();
    let (old, new) = (value["old"].as_str().unwrap(), value["new"].as_str().unwrap());
    let swapped = statement.replace(old, "OLD").replace(new, old).replace("OLD", new);
    let mut forged = vec![
        statement.replace(new, &public(2)),
        statement.replace(old, &public(2)),
        swapped,
        statement.replace("2026", "2027"),
        statement.replace("skillpack-key-rotation-v1", "skillpack-key-rotation-v2"),
        statement.replace(value["by_old"].as_str().unwrap(), value["by_new"].as_str().unwrap()),
        String::new(),
        "{}".into(),
    ];
    let mut alone: Value = value.clone();
    alone.as_object_mut().unwrap().remove("by_new");
    forged.push(alone.to_string());
    for text in forged {
        let file = write(&reader, "forged.json", &text);
        let before = records(&reader);
        let run = key(&reader, &["trust", "--rotation", &file]).fails(4);
        assert_eq!(records(&reader), before, "{text}: {run}");
    }
    let file = author.path("project/rotation.json").display().to_string();
    key(&reader, &["trust", "--rotation", &file]).ok();
    pkg(&reader, &["import", &second]).ok();
    let old_one = Made::new("a", "1.0.2").put(&reader, "x.ctxpkg");
    refused(&reader, &["import", &old_one], 4, "is not signed");
    key(&project(), &["trust", "--rotation", &file]).fails(1);
}
