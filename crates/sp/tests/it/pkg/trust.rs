//! Keys, signatures, and the trust in signers.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// The output of `openssl genpkey -algorithm ed25519`, for machines without OpenSSL.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIC9Tx8MquLzVuxmYnSsGvlGLHtbAqVFrrnJVJ/dXKmKI\n\
                   -----END PRIVATE KEY-----\n";

fn config(world: &World, yaml: &str) {
    write(world, "home/.skillpack/config.yaml", yaml);
}

/// A project that has imported `notes 1.0.0`, signed by the first key.
fn project_with_signed_notes() -> World {
    let world = project();
    import(&world, &[notes("1.0.0").signed(1, SignatureScope::Full)]);
    world
}

/// The JSON of `sp key list`.
#[track_caller]
fn key_list(world: &World) -> Value {
    let run = key(world, &["list", "--format", "json"]).ok();
    serde_json::from_str(&run.stdout).unwrap()
}

/// Panics unless every command refuses the package with this error code.
#[track_caller]
fn assert_untrusted(world: &World, package: &TestPackage, code: &str) {
    let file = package.write_to(world, "bad.ctxpkg");
    for args in [&["import", file.as_str()][..], &["install", &file], &["verify", &file]] {
        refused(world, args, code);
    }
}

// Keys.

#[test]
fn pk_13_private_keys_are_readable_by_the_owner_only_and_not_printed() {
    let world = project();
    key(&world, &["new"]).ok();
    let other = write(&world, "other.pem", PEM);
    key(&world, &["import", &other, "--name", "other"]).ok();
    write(&world, "project/a.json", SMALL_GRAPH);
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
        let FileEntry::File(text, _) = entry else { continue };
        assert!(path.starts_with("keys/") || !text.contains("PRIVATE"), "{path}");
    }
    key_fails(&world, &["export", "--private", "copy.pem"], "E-already-exists");
    key_fails(&world, &["new"], "E-already-exists");
    key_fails(&world, &["new", "../x"], "E-invalid-name");
    key_fails(&world, &["export", "no-such"], "E-key-not-found");
}

#[test]
fn pk_13_key_from_openssl_can_be_imported() {
    let world = project();
    let path = world.path("openssl.pem");
    let package = Command::new("openssl")
        .args(["genpkey", "-algorithm", "ed25519", "-out"])
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !package.is_ok_and(|status| status.success()) {
        std::fs::write(&path, PEM).unwrap();
    }
    key(&world, &["import", &path.display().to_string()]).ok();
    write(&world, "project/a.json", SMALL_GRAPH);
    pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    let public = key(&world, &["export"]).ok().stdout.trim().to_owned();
    assert_eq!(pkg_json(&world, &["info", "a"])["signer"], json!(public));
    for bad in ["", "x", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"] {
        let file = write(&world, "bad.pem", bad);
        key_fails(&world, &["import", &file, "--name", "bad"], "E-invalid-key-file");
    }
}

#[test]
fn pk_13_first_signature_creates_a_key_and_reports_its_path() {
    let world = project();
    write(&world, "project/a.json", SMALL_GRAPH);
    let run = pkg(&world, &["create", "--input", "a.json", "--sign"]).ok();
    assert!(run.stderr.contains("keys/default.pem"), "{run}");
    assert!(exists(&world, "home/.skillpack/keys/default.pem"));
    refused(&world, &["create", "--input", "a.json", "--sign=no-such"], "E-key-not-found");
    let package: Value = serde_json::from_str(&exported(&world, "a")).unwrap();
    let signature = package["manifest"]["signature"].as_object().unwrap();
    assert_eq!(
        signature.keys().collect::<Vec<_>>(),
        ["algorithm", "manifest_value", "public_key", "value"]
    );
}

#[test]
fn pk_11_pk_12_signatures_of_content_and_manifest_are_verified() {
    let world = project();
    import(&world, &[notes("1.0.0").signed(1, SignatureScope::Full)]);
    let run = pkg(&world, &["verify", "notes"]).ok();
    assert!(run.stdout.contains(&public_key(1)) && !run.to_string().contains("PK-12"), "{run}");
    let file = TestPackage::new("half", "1.0.0")
        .signed(1, SignatureScope::Content)
        .write_to(&world, "half.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(run.stderr.contains("warning[PK-12]"), "the manifest is not signed: {run}");
    assert!(run.stderr.contains("dependencies"), "{run}");
}

// Attacks.

#[test]
fn se_11_removed_signature_is_refused() {
    let world = project_with_signed_notes();
    assert_untrusted(&world, &notes("1.0.1"), "E-signer-downgrade");
    assert_untrusted(&world, &notes("1.0.0"), "E-signer-downgrade");
    let null = notes("1.0.1").with("signature", Value::Null);
    assert_untrusted(&world, &null, "E-signer-downgrade");
    let file = notes("1.0.1").write_to(&world, "bad.ctxpkg");
    let run = pkg(&world, &["import", &file, "--allow-downgrade"]).ok();
    assert!(run.stderr.contains("warning"), "{run}");
    assert_untrusted(&world, &notes("1.0.2"), "E-signer-downgrade");
}

#[test]
fn se_11_signature_of_the_content_only_is_a_downgrade() {
    let world = project_with_signed_notes();
    let content_only = notes("1.0.1").signed(1, SignatureScope::Content);
    assert_untrusted(&world, &content_only, "E-signer-downgrade");
    let file = content_only.write_to(&world, "half.ctxpkg");
    assert!(pkg(&world, &["import", &file, "--allow-downgrade"]).ok().stderr.contains("warning"));
    assert_untrusted(
        &world,
        &notes("1.0.2").signed(1, SignatureScope::Content),
        "E-signer-downgrade",
    );
}

#[test]
fn se_11_package_signed_by_another_key_is_refused() {
    let world = project_with_signed_notes();
    let other = notes("1.0.1").signed(2, SignatureScope::Full);
    assert_untrusted(&world, &other, "E-key-changed");
    assert_untrusted(&world, &notes("1.0.0").signed(2, SignatureScope::Full), "E-key-changed");
    let file = other.write_to(&world, "other.ctxpkg");
    let error = refused(&world, &["import", &file, "--allow-downgrade"], "E-key-changed");
    assert_mentions(&error, &public_key(1));
    let run = pkg(&world, &["import", &file, "--accept-new-key"]).ok();
    assert!(run.stderr.contains("warning"), "{run}");
    assert_untrusted(&world, &notes("1.0.2").signed(1, SignatureScope::Full), "E-key-changed");
}

#[test]
fn se_11_scope_has_one_key_and_unscoped_names_have_their_own() {
    let world = project();
    import(
        &world,
        &[
            TestPackage::new("@acme/a", "1.0.0").signed(1, SignatureScope::Full),
            TestPackage::new("b", "1.0.0").signed(2, SignatureScope::Full),
        ],
    );
    assert_untrusted(
        &world,
        &TestPackage::new("@acme/b", "1.0.0").signed(2, SignatureScope::Full),
        "E-key-changed",
    );
    assert_untrusted(&world, &TestPackage::new("@acme/b", "1.0.0"), "E-signer-downgrade");
    import(
        &world,
        &[
            TestPackage::new("acme", "1.0.0").signed(2, SignatureScope::Full),
            TestPackage::new("@acme/b", "1.0.0").signed(1, SignatureScope::Full),
        ],
    );
}

#[test]
fn se_11_signed_version_with_different_content_is_refused() {
    let world = project_with_signed_notes();
    let other =
        TestPackage::new("notes", "1.0.0").with_text("Other.").signed(1, SignatureScope::Full);
    let file = other.write_to(&world, "other.ctxpkg");
    for args in [&["import", file.as_str()][..], &["install", &file]] {
        let error = refused(&world, args, "E-version-replaced");
        assert_mentions(&error, &other.sha256());
        assert_mentions(&error, &notes("1.0.0").sha256());
    }
    pkg(&world, &["remove", "notes"]).ok();
    refused(&world, &["import", &file], "E-version-replaced");
    assert_untrusted(&world, &notes("1.0.0").signed(2, SignatureScope::Full), "E-key-changed");
}

#[test]
fn se_11_older_version_is_imported_with_a_warning_and_not_chosen() {
    let world = project();
    import(&world, &[notes("2.0.0").signed(1, SignatureScope::Full)]);
    let file = notes("1.0.0").signed(1, SignatureScope::Full).write_to(&world, "old.ctxpkg");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(run.stderr.contains("warning") && run.stderr.contains("2.0.0"), "{run}");
    assert_eq!(pkg_json(&world, &["info", "notes"])["version"], "2.0.0");
    pkg(&world, &["install", "notes"]).ok();
    assert_eq!(locked(&world), ["notes 2.0.0"]);
    let run = pkg(&world, &["install", &file]).ok();
    assert!(
        run.stdout.contains("2.0.0") && run.stdout.contains("1.0.0"),
        "the downgrade is not reported: {run}"
    );
}

#[test]
fn se_11_unsigned_manifest_cannot_change_within_a_version() {
    let world = project();
    let first = notes("1.0.0").signed(1, SignatureScope::Content);
    import(&world, std::slice::from_ref(&first));
    let evil = first.with_dependencies(&[("evil", "*")]).with("description", json!("Changed."));
    let file = evil.write_to(&world, "evil.ctxpkg");
    refused(&world, &["import", &file], "E-version-replaced");
    assert_eq!(pkg_json(&world, &["info", "notes@1.0.0"])["description"], "A test.");
}

#[test]
fn se_11_import_of_several_files_is_atomic() {
    let world = project_with_signed_notes();
    let good = TestPackage::new("good", "1.0.0")
        .signed(3, SignatureScope::Full)
        .write_to(&world, "good.ctxpkg");
    let bad = notes("1.0.1").write_to(&world, "bad.ctxpkg");
    refused(&world, &["import", &good, &bad], "E-signer-downgrade");
}

// Policies.

#[test]
fn pk_13_unsigned_packages_cause_a_warning_or_an_error() {
    let world = project();
    let file = notes("1.0.0").write_to(&world, "notes.ctxpkg");
    refused(&world, &["import", &file, "--require-signed"], "E-unsigned");
    refused(&world, &["install", &file, "--require-signed"], "E-unsigned");
    refused(&world, &["verify", &file, "--require-signed"], "E-unsigned");
    config(&world, "packages: {require-signed: true}\n");
    assert_untrusted(&world, &notes("1.0.0"), "E-unsigned");
    refused(&world, &["import", &file, "--allow-downgrade"], "E-unsigned");
    config(&world, "");
    let run = pkg(&world, &["import", &file]).ok();
    assert!(run.stderr.contains("warning[PK-13]"), "{run}");
    config(&world, "packages: {require-signed: true}\n");
    refused(&world, &["install", "notes"], "E-unsigned");
}

#[test]
fn pk_13_only_packages_signed_by_trusted_keys_are_accepted() {
    let world = project();
    config(&world, &format!("packages:\n  trusted-keys:\n    - {}\n", public_key(1)));
    assert_untrusted(&world, &notes("1.0.0"), "E-unsigned");
    assert_untrusted(&world, &notes("1.0.0").signed(2, SignatureScope::Full), "E-untrusted-key");
    let file = notes("1.0.0").signed(2, SignatureScope::Full).write_to(&world, "second.ctxpkg");
    refused(&world, &["import", &file, "--accept-new-key"], "E-untrusted-key");
    import(&world, &[notes("1.0.0").signed(1, SignatureScope::Full)]);
    config(&world, "packages: {trusted-keys: [nonsense]}\n");
    refused(&world, &["list"], "PK-13");
}

#[test]
fn pk_13_key_trust_pins_a_key() {
    let world = project();
    key(&world, &["trust", "@acme", &public_key(1)]).ok();
    assert_untrusted(
        &world,
        &TestPackage::new("@acme/a", "1.0.0").signed(2, SignatureScope::Full),
        "E-key-changed",
    );
    import(&world, &[TestPackage::new("@acme/a", "1.0.0").signed(1, SignatureScope::Full)]);
    let list = key(&world, &["list"]).ok().stdout;
    assert!(list.contains("@acme") && list.contains(&public_key(1)), "{list}");
    import(&world, &[notes("1.0.0").signed(1, SignatureScope::Full)]);
    let trusted = key_list(&world)["trusted"].clone();
    assert_eq!(
        (&trusted[0]["namespace"], &trusted[1]["namespace"]),
        (&json!("@acme"), &json!("notes"))
    );
    assert_ne!(trusted[0]["because"], trusted[1]["because"], "explicit trust and first use differ");
    key(&world, &["trust", "@acme", &public_key(2)]).ok();
    import(&world, &[TestPackage::new("@acme/b", "1.0.0").signed(2, SignatureScope::Full)]);
    let before = records(&world);
    for (namespace, public_key, code) in [
        ("@acme", "00", "E-invalid-public-key"),
        ("../x", &public_key(1), "E-invalid-name"),
        ("@acme", &"0".repeat(64), "E-invalid-public-key"),
    ] {
        key_fails(&world, &["trust", namespace, public_key], code);
    }
    assert_eq!(records(&world), before);
}

#[test]
fn pk_13_content_signature_of_a_trusted_key_is_accepted() {
    let world = project();
    key(&world, &["trust", "notes", &public_key(1)]).ok();
    let file = notes("1.0.0").signed(1, SignatureScope::Content).write_to(&world, "notes.ctxpkg");
    pkg(&world, &["import", &file]).ok();
}

#[test]
fn se_11_pk_23_rollback_to_a_version_signed_by_the_old_key() {
    let world = project();
    write(&world, "project/a.json", SMALL_GRAPH);
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
fn se_11_pk_23_rollback_to_an_unsigned_version() {
    let world = project();
    import(&world, &[notes("1.0.0")]);
    pkg(&world, &["install", "notes"]).ok();
    import(&world, &[notes("1.0.1").signed(1, SignatureScope::Full)]);
    pkg(&world, &["install", "notes"]).ok();
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["notes 1.0.0"]);
}

#[test]
fn se_11_key_rotation_is_followed_unless_it_is_forged() {
    let (author, reader) = (project(), project());
    write(&author, "project/a.json", SMALL_GRAPH);
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
    let keys = key_list(&author)["keys"].clone();
    let retired = keys.as_array().unwrap().iter().filter(|key| key["retired"] == true).count();
    assert_eq!(retired, 1, "{keys}");
    let second = release("1.0.1");
    refused(&reader, &["import", &second], "E-key-changed");
    let statement = read(&author, "project/rotation.json");
    let value: Value = serde_json::from_str(&statement).unwrap();
    let (old, new) = (value["old"].as_str().unwrap(), value["new"].as_str().unwrap());
    let swapped = statement.replace(old, "OLD").replace(new, old).replace("OLD", new);
    let mut forged = vec![
        statement.replace(new, &public_key(2)),
        statement.replace(old, &public_key(2)),
        swapped,
        statement.replace("2026", "2027"),
        statement.replace("skillpack-key-rotation-v1", "skillpack-key-rotation-v2"),
        statement.replace(value["by_old"].as_str().unwrap(), value["by_new"].as_str().unwrap()),
        String::new(),
        "{}".into(),
    ];
    let mut one_signature = value.clone();
    one_signature.as_object_mut().unwrap().remove("by_new");
    forged.push(one_signature.to_string());
    for text in forged {
        let file = write(&reader, "forged.json", &text);
        let before = records(&reader);
        key_fails(&reader, &["trust", "--rotation", &file], "E-invalid-rotation");
        assert_eq!(records(&reader), before, "{text}");
    }
    let file = author.path("project/rotation.json").display().to_string();
    key(&reader, &["trust", "--rotation", &file]).ok();
    pkg(&reader, &["import", &second]).ok();
    let unsigned = TestPackage::new("a", "1.0.2").write_to(&reader, "x.ctxpkg");
    refused(&reader, &["import", &unsigned], "E-signer-downgrade");
    key_fails(&project(), &["trust", "--rotation", &file], "E-key-not-found");
}
