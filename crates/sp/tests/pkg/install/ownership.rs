//! Files that `sp` did not write, and dry runs.

use super::*;

#[test]
fn se_01_a_package_file_that_was_edited_is_kept_aside() {
    let world = stocked(&[Made::new("base", "1.0.0"), Made::new("base", "2.0.0")]);
    for (start, args) in [
        ("base@1.0.0", &["install", "base@2.0.0"][..]),
        ("base@1.0.0", &["uninstall", "base"]),
        ("base@1.0.0", &["install"]),
    ] {
        let world = &world;
        pkg(world, &["install", start]).ok();
        write(world, "project/.ctxpkg/packages/base.ctxpkg", "By hand.\n");
        let run = pkg(world, args);
        let kept = |path: &str| {
            world
                .files(path)
                .values()
                .any(|entry| matches!(entry, Entry::File(text, _) if text == "By hand.\n"))
        };
        assert!(kept("project") || kept("home"), "{args:?} lost an edit: {run}");
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stdout.contains("kept") || run.stderr.contains("kept"), "it is told: {run}");
    }
}

#[test]
fn se_01_a_file_that_we_did_not_write_is_refused() {
    let world = stocked(&[Made::new("base", "1.0.0")]);
    write(&world, "project/.ctxpkg/packages/base.ctxpkg", "Mine.\n");
    refused(&world, &["install", "base"], 4, "was not put there by `sp`");
    std::fs::remove_file(world.path("project/.ctxpkg/packages/base.ctxpkg")).unwrap();
    std::os::unix::fs::symlink(
        world.path("outside"),
        world.path("project/.ctxpkg/packages/base.ctxpkg"),
    )
    .unwrap();
    pkg(&world, &["install", "base"]);
    assert!(!exists(&world, "outside"), "nothing is written through a link");
}

#[test]
fn se_03_a_package_directory_that_is_a_link_leads_nowhere() {
    for at in [".ctxpkg", ".ctxpkg/packages"] {
        let world = stocked(&[Made::new("base", "1.0.0")]);
        std::fs::create_dir_all(world.path("outside")).unwrap();
        std::fs::create_dir_all(world.path("project").join(at).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(world.path("outside"), world.path("project").join(at)).unwrap();
        let run = pkg(&world, &["install", "base"]);
        assert!(world.files("outside").is_empty(), "{at}: written through a link: {run}");
        assert_ne!(run.code, Some(0), "{at}: {run}");
    }
}

#[test]
fn se_03_two_names_that_share_a_file_are_refused() {
    let world = stocked(&[
        Made::new("Foo", "1.0.0"),
        Made::new("foo", "1.0.0"),
        Made::new("con", "1.0.0"),
        Made::new("@a/b", "1.0.0"),
    ]);
    refused(&world, &["install", "Foo", "foo"], 3, "would share a file");
    pkg(&world, &["install", "Foo", "@a/b"]).ok();
    refused(&world, &["install", "foo"], 3, "would share a file");
    assert!(exists(&world, "project/.ctxpkg/packages/@a+b.ctxpkg"));
    let run = pkg(&world, &["install", "con"]);
    assert!(run.code == Some(0) || run.stderr.contains("no file can have its name"), "{run}");
}

#[test]
fn pk_23_a_dry_run_changes_nothing_at_all() {
    let world = stocked(&[Made::new("base", "1.0.0")]);
    let file = Made::new("new", "1.0.0").signed(1, Signs::Whole).put(&world, "new.ctxpkg");
    let tools = Made::skills("tools", "1.0.0", &[("tidy/SKILL.md", &skill("tidy", ""))])
        .put(&world, "tools.ctxpkg");
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
    let file = Made::new("new", "1.0.0").put(&empty, "new.ctxpkg");
    let before = empty.files("");
    pkg(&empty, &["install", &file, "--dry-run"]).ok();
    assert_eq!(empty.files(""), before, "not even a home is made");
}
