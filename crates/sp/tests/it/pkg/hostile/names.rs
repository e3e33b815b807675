//! Names, versions and kinds.

use super::*;

#[test]
fn pk_03_se_03_invalid_names_and_versions_are_refused() {
    let world = project();
    let long = "x".repeat(129);
    let scoped = format!("@{}/y", "x".repeat(126));
    for name in [
        "../../x",
        "@a/../b",
        "@a/..",
        "@../b",
        "..",
        ".",
        "",
        "a/b",
        "/etc/passwd",
        "a\\b",
        "@a",
        "@/b",
        "@a/",
        "@a/b/c",
        "a b",
        "a\u{0}b",
        "\u{e9}",
        "a\u{202e}b",
        "C:x",
        "a+b",
        &long,
        &scoped,
        "x\n",
    ] {
        assert_invalid(&world, name, valid().with("name", json!(name)).to_json(), "PK-03");
    }
    let long = format!("1.0.0-{}", "9".repeat(59));
    assert_eq!(long.len(), 65);
    for version in ["../1", "..", ".1", "", "1/2", "1 0", "1\u{0}", &long, "1.0.0\u{202e}"] {
        assert_invalid(&world, version, valid().with("version", json!(version)).to_json(), "PK-03");
    }
    for dependency in ["../../x", "", "@a"] {
        assert_invalid(
            &world,
            dependency,
            valid().with_dependencies(&[(dependency, "*")]).to_json(),
            "PK-05",
        );
    }
    for (key, value) in [
        ("name", json!(1)),
        ("version", json!(1.0)),
        ("name", Value::Null),
        ("schema_version", json!(3)),
        ("schema_version", json!("2")),
    ] {
        assert_invalid(&world, key, valid().with(key, value).to_json(), "PK-03");
    }
}

#[test]
fn pk_03_longest_names_and_versions_are_accepted() {
    let world = project();
    let name = "n".repeat(128);
    let version = format!("1.0.0-a{}", "9".repeat(57));
    assert_eq!(version.len(), 64);
    import(
        &world,
        &[
            TestPackage::new(&name, &version),
            TestPackage::new(&format!("@{}/y", "x".repeat(125)), "99999999999999999999.0.0"),
        ],
    );
    pkg(&world, &["install", &name]).ok();
    pkg(&world, &["export", &name]).ok();
    let run = pkg(&world, &["list"]).ok();
    assert!(run.stdout.contains("nnnn"), "{run}");
}

#[test]
fn pk_04_unknown_kinds_and_levels_are_refused() {
    let world = project();
    for kind in [json!("trojan"), json!("Context"), json!(""), json!(1), json!(["skills"])] {
        assert_invalid(
            &world,
            &kind.to_string(),
            valid().with("kind", kind.clone()).to_json(),
            "PK-04",
        );
    }
    let old = valid()
        .with("kind", json!("addon"))
        .with("schema_version", json!(1))
        .with("layers", json!(["knowledge"]));
    assert_invalid(&world, "an addon of schema 1", old.to_json(), "PK-04");
    assert_invalid(
        &world,
        "level 4",
        valid().with("conformance_level", json!(4)).to_json(),
        "PK-04",
    );
}
