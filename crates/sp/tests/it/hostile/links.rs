//! Symbolic links in a repository and in a sink.

use super::*;

#[test]
fn sp_09_link_to_an_absolute_path_is_refused() {
    for target in ["/etc/passwd", "/", "/proc/self/environ", "//etc/passwd"] {
        let world = guarded();
        let repo = remote(&world);
        repo.link("tools/x/secret", target);
        repo.commit("one");
        let text = text_of(&refused(&world, "E-unsafe-link"));
        assert!(text.contains("secret") && text.contains(target), "{text}");
        assert!(!text.contains("root:"), "{text}");
    }
}

#[test]
fn sp_09_link_out_of_the_repo_is_refused() {
    for target in [
        "../../..",
        "../../../canary/SKILL.md",
        "../../../../../../../../etc/passwd",
        "../x/../../../canary",
        "./././../../../canary",
    ] {
        let world = guarded();
        let repo = remote(&world);
        repo.link("tools/x/out", target);
        repo.commit("one");
        let error = refused(&world, "E-unsafe-link");
        assert!(text_of(&error).contains("`tools/x/out`"), "{error:?}");
    }
}

#[test]
fn sp_09_link_out_through_another_link_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.link("tools/x/innocent", "../../lib/step/canary")
        .link("lib/step", "up")
        .link("lib/up", "../..");
    repo.commit("one");
    let error = refused(&world, "E-unsafe-link");
    assert!(text_of(&error).contains("`tools/x/innocent`"), "{error:?}");
}

#[test]
fn sp_09_skill_md_that_is_a_link_out_of_the_repo_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.link("tools/y/SKILL.md", "/etc/passwd");
    repo.commit("one");
    let error = refused(&world, "E-unsafe-link");
    assert!(text_of(&error).contains("`tools/y/SKILL.md`"), "{error:?}");
}

#[test]
fn sp_09_link_cycles_in_a_remote_are_refused() {
    // The path that the error names, and the links.
    for (path, links) in [
        ("`tools/x/self`", &[("tools/x/self", "self")][..]),
        ("`tools/x/a`", &[("tools/x/a", "b"), ("tools/x/b", "a")]),
        ("`tools/x`", &[("tools/x/loop", ".")]),
        ("`tools/x`", &[("tools/x/up", "..")]),
        ("`tools/x`", &[("tools/x/root", "../..")]),
        ("`tools/x`", &[("tools/x/there", "../../lib"), ("lib/back", "../tools/x")]),
        ("`tools/x/sub`", &[("tools/x/sub/deep", "../../x/sub")]),
    ] {
        let world = guarded();
        let repo = remote(&world);
        repo.write("README", "at the root");
        for (link, target) in links {
            repo.link(link, target);
        }
        repo.commit("one");
        let error = refused(&world, "E-unsafe-link");
        assert!(error.because[0].contains(path), "{links:?}: {error:?}");
    }
}

#[test]
fn sp_09_link_to_nothing_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.link("tools/x/gone", "../nowhere");
    repo.commit("one");
    let error = refused(&world, "E-unsafe-link");
    assert!(text_of(&error).contains("`gone`"), "{error:?}");
}

#[test]
fn sp_09_links_that_stay_inside_the_repo_become_regular_files() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("shared/lib/run.sh", "echo hi\n").write("shared/text", "words");
    std::fs::set_permissions(
        repo.path().join("shared/lib/run.sh"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    repo.link("tools/x/one", "two")
        .link("tools/x/two", "../../hop/three")
        .link("hop/three", "../shared/text");
    repo.link("tools/x/lib", "../../hop/lib").link("hop/lib", "../shared/lib").link("tools/y", "x");
    repo.commit("one");
    import(&world, &repo.url(), "tools/x");
    install(&world, "bad").ok();
    let files = world.files("sink/bad__tools__x");
    assert_eq!(files["one"], FileEntry::File("words".into(), false));
    assert_eq!(files["two"], FileEntry::File("words".into(), false));
    assert_eq!(files["lib"], FileEntry::Dir);
    assert_eq!(files["lib/run.sh"], FileEntry::File("echo hi\n".into(), true));
    assert!(!files.values().any(|entry| matches!(entry, FileEntry::Link(_))), "{files:?}");
}

#[test]
fn se_04_links_that_expand_exponentially_are_refused_cheaply() {
    let world = guarded();
    let repo = remote(&world);
    for level in 0..12 {
        for number in 0..10 {
            repo.link(&format!("tools/x/d{level:02}/{number}"), &format!("../d{:02}", level + 1));
        }
    }
    repo.write("tools/x/d12/end", "x");
    repo.commit("one");
    refused_cheaply(&world, "E-limit-exceeded");
}

#[test]
fn se_04_a_link_with_a_huge_target_is_refused_cheaply() {
    let world = guarded();
    let repo = remote(&world);
    let long = repo.blob(&vec![b'a'; 150 * 1024 * 1024]);
    commit_skill(&repo, &[("120000 blob", &long, b"link")]);
    refused_cheaply(&world, "E-unsafe-link");
}

#[test]
fn sp_38_a_destination_replaced_by_a_link_is_never_followed() {
    let world = guarded();
    let canary = world.files("canary");
    for target in ["canary", "canary/SKILL.md", "nowhere"] {
        let installed = world.path("sink/good__good");
        for change in ["same", "other"] {
            std::fs::remove_dir_all(&installed).unwrap();
            symlink(world.path(target), &installed).unwrap();
            world.write("skills/good/note", change);
            install(&world, "good").ok();
            assert_eq!(world.files("canary"), canary, "{target}");
            assert!(installed.symlink_metadata().unwrap().is_dir(), "{target}");
            assert_eq!(
                world.files("sink/good__good")["note"],
                FileEntry::File(change.into(), false)
            );
        }
        std::fs::remove_dir_all(&installed).unwrap();
        symlink(world.path(target), &installed).unwrap();
        uninstall(&world, "good").ok();
        assert_eq!(world.files("canary"), canary, "{target}");
        assert!(installed.symlink_metadata().is_err(), "the link itself is removed");
        install(&world, "good").ok();
    }
    assert!(!world.path("nowhere").exists());
}

#[test]
fn sp_38_a_link_inside_an_installed_skill_is_never_followed() {
    let world = guarded();
    let canary = world.files("canary");
    for replaced in ["sub", "SKILL.md"] {
        world.write("skills/good/sub/file", replaced);
        install(&world, "good").ok();
        let inside = world.path("sink/good__good").join(replaced);
        let _ = std::fs::remove_dir_all(&inside);
        let _ = std::fs::remove_file(&inside);
        symlink(world.path("canary"), &inside).unwrap();
        install(&world, "good").ok();
        assert_eq!(world.files("canary"), canary);
        assert!(
            !world
                .files("sink/good__good")
                .values()
                .any(|entry| matches!(entry, FileEntry::Link(_)))
        );
        let _ = std::fs::remove_dir_all(&inside);
        let _ = std::fs::remove_file(&inside);
        symlink(world.path("canary"), &inside).unwrap();
        uninstall(&world, "good").ok();
        assert_eq!(world.files("canary"), canary);
        world.sp(&["clean"]).ok();
        assert_eq!(world.files("canary"), canary, "links in the trash are not followed either");
        install(&world, "good").ok();
    }
}

#[test]
fn sp_22_a_link_that_sp_did_not_create_is_kept_and_the_install_refused() {
    let world = guarded();
    world.pack("bad", "name: bad\ninclude: [good]\n");
    symlink(world.path("canary"), world.path("sink/bad__good")).unwrap();
    refused(&world, "E-not-owned");
}
