//! Names, versions and kinds.

use super::*;

#[test]
fn pk_03_se_03_names_and_versions_that_are_paths_are_refused() {
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
        bomb(&world, name, good().with("name", json!(name)).text(), 3, "PK-03");
    }
    let long = format!("1.0.0-{}", "9".repeat(59));
    assert_eq!(long.len(), 65);
    for version in ["../1", "..", ".1", "", "1/2", "1 0", "1\u{0}", &long, "1.0.0\u{202e}"] {
        bomb(&world, version, good().with("version", json!(version)).text(), 3, "PK-03");
    }
    for dependency in ["../../x", "", "@a"] {
        bomb(&world, dependency, good().needs(&[(dependency, "*")]).text(), 3, "PK-05");
    }
    for (key, value) in [
        ("name", json!(1)),
        ("version", json!(1.0)),
        ("name", Value::Null),
        ("schema_version", json!(3)),
        ("schema_version", json!("2")),
    ] {
        bomb(&world, key, good().with(key, value).text(), 3, "PK-03");
    }
}

#[test]
fn pk_03_the_longest_names_and_versions_are_taken() {
    let world = project();
    let name = "n".repeat(128);
    let version = format!("1.0.0-a{}", "9".repeat(57));
    assert_eq!(version.len(), 64);
    import(
        &world,
        &[
            Made::new(&name, &version),
            Made::new(&format!("@{}/y", "x".repeat(125)), "99999999999999999999.0.0"),
        ],
    );
    pkg(&world, &["install", &name]).ok();
    pkg(&world, &["export", &name]).ok();
    let run = pkg(&world, &["list"]).ok();
    assert!(run.stdout.contains("nnnn"), "{run}");
}

#[test]
fn pk_04_a_kind_that_nobody_knows_is_refused_by_name() {
    let world = project();
    for kind in [json!("trojan"), json!("Context"), json!(""), json!(1), json!(["skills"])] {
        bomb(&world, &kind.to_string(), good().with("kind", kind.clone()).text(), 3, "PK-04");
    }
    let old = good()
        .with("kind", json!("addon"))
        .with("schema_version", json!(1))
        .with("layers", json!(["knowledge"]));
    bomb(&world, "an addon of schema 1", old.text(), 3, "needs schema 2");
    bomb(&world, "level 4", good().with("conformance_level", json!(4)).text(), 3, "PK-04");
}
