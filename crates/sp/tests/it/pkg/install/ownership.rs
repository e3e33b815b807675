//! Files that `sp` did not write or that were edited, and dry runs.

use super::*;

#[test]
fn se_01_edited_package_file_is_backed_up() {
    let world =
        project_with(&[TestPackage::new("base", "1.0.0"), TestPackage::new("base", "2.0.0")]);
    for (start, args) in [
        ("base@1.0.0", &["install", "base@2.0.0"][..]),
        ("base@1.0.0", &["uninstall", "base"]),
        ("base@1.0.0", &["install"]),
    ] {
        let world = &world;
        pkg(world, &["install", start]).ok();
        write(world, "project/.ctxpkg/packages/base.ctxpkg", "By hand.\n");
        let report = pkg_json(world, args);
        assert!(file_with_text(world, "By hand.\n").is_some(), "{args:?} lost an edit");
        assert_eq!(report["kept"].as_array().map(Vec::len), Some(1), "{args:?}: {report}");
    }
}

#[test]
fn se_01_foreign_file_is_not_overwritten() {
    let world = project_with(&[TestPackage::new("base", "1.0.0")]);
    write(&world, "project/.ctxpkg/packages/base.ctxpkg", "Mine.\n");
    refused(&world, &["install", "base"], "E-not-owned");
    std::fs::remove_file(world.path("project/.ctxpkg/packages/base.ctxpkg")).unwrap();
    std::os::unix::fs::symlink(
        world.path("outside"),
        world.path("project/.ctxpkg/packages/base.ctxpkg"),
    )
    .unwrap();
    refused(&world, &["install", "base"], "E-not-owned");
    assert!(!exists(&world, "outside"), "nothing is written through a link");
}

#[test]
fn se_03_package_directory_that_is_a_link_is_refused() {
    for dir in [".ctxpkg", ".ctxpkg/packages"] {
        let world = project_with(&[TestPackage::new("base", "1.0.0")]);
        std::fs::create_dir_all(world.path("outside")).unwrap();
        std::fs::create_dir_all(world.path("project").join(dir).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(world.path("outside"), world.path("project").join(dir)).unwrap();
        refused(&world, &["install", "base"], "E-path-is-link");
        assert!(world.files("outside").is_empty(), "{dir}: written through a link");
    }
}

#[test]
fn se_03_names_that_would_share_a_file_are_refused() {
    let world = project_with(&[
        TestPackage::new("Foo", "1.0.0"),
        TestPackage::new("foo", "1.0.0"),
        TestPackage::new("con", "1.0.0"),
        TestPackage::new("@a/b", "1.0.0"),
    ]);
    refused(&world, &["install", "Foo", "foo"], "E-name-collision");
    pkg(&world, &["install", "Foo", "@a/b"]).ok();
    refused(&world, &["install", "foo"], "E-name-collision");
    assert!(exists(&world, "project/.ctxpkg/packages/@a+b.ctxpkg"));
    let error = refused(&world, &["install", "con"], "E-invalid-project");
    assert_mentions(&error, "con.ctxpkg");
}

#[test]
fn pk_23_dry_run_changes_nothing() {
    let world = project_with(&[TestPackage::new("base", "1.0.0")]);
    let file = TestPackage::new("new", "1.0.0")
        .signed(1, SignatureScope::Full)
        .write_to(&world, "new.ctxpkg");
    let tools = TestPackage::skills("tools", "1.0.0", &[("tidy/SKILL.md", &skill("tidy", ""))])
        .write_to(&world, "tools.ctxpkg");
    let before = world.files("");
    for args in [
        &["install", "base"][..],
        &["install", &file],
        &["install", &tools, "--agent", "claude"],
        &["remove", "base"],
    ] {
        let run = pkg(&world, &[args, &["--dry-run"]].concat()).ok();
        assert!(!run.stdout.is_empty(), "{run}");
        assert_eq!(world.files(""), before, "{args:?}: {run}");
    }
    let empty = project();
    let file = TestPackage::new("new", "1.0.0").write_to(&empty, "new.ctxpkg");
    let before = empty.files("");
    pkg(&empty, &["install", &file, "--dry-run"]).ok();
    assert_eq!(empty.files(""), before, "not even the home directory is created");
}
