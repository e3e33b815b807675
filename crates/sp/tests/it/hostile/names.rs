//! Names that are unsafe for a file system, a terminal or a reader.

use super::*;

#[test]
fn sp_13_prefix_separator_and_name_cannot_leave_the_sink() {
    let world = guarded();
    let absolute = world.path("canary").display().to_string();
    for install in [
        "{prefix: '..'}",
        "{prefix: '../canary'}",
        "{prefix: '.'}",
        "{prefix: '..', sep: '/'}",
        "{sep: '/'}",
        "{sep: '/../../canary/'}",
        "{sep: '\\'}",
        "{prefix: 'a/b'}",
        "{prefix: 'a\\b'}",
        "{prefix: \"a\\0b\"}",
        "{prefix: \"a\\nb\"}",
        "{prefix: ' a'}",
        "{prefix: '', sep: '..'}",
        &format!("{{prefix: '{absolute}'}}"),
        &format!("{{sep: '{absolute}'}}"),
    ] {
        for pick in ["include: [good]", "include: ['**']\nexclude: []"] {
            world.pack("bad", &format!("name: bad\n{pick}\ninstall: {install}\n"));
            if install.contains("sep: '..'") {
                // Without a prefix the separator is dropped, so this one is harmless.
                continue;
            }
            refused(&world, "SP-13");
        }
    }
    for name in ["..", ".", "../canary", "a/b", "/canary", "'a\\b'", "\"a\\0b\"", "\"a\\nb\""] {
        world.pack("bad", &format!("name: {name}\ninclude: [good]\n"));
        refused(&world, "SP-13");
    }
    world.pack("bad", "name: ' '\ninclude: [good]\n");
    refused(&world, "SP-11");
}

/// Checks the code of the error, and that it is printed with this name and without control
/// characters.
#[track_caller]
fn refused_with_escaped_name(world: &World, code: &str, escaped: &str) {
    refused(world, code);
    for format in ["human", "plain"] {
        let run = install_with(world, "bad", &["--format", format]);
        assert!(run.stderr.contains(escaped) && !run.stderr.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn sp_13_remote_skills_with_unsafe_names_are_refused() {
    for (name, escaped) in [
        (&b"a\\b"[..], "a\\b"),
        (b"con", "con"),
        (b"x:y", "x:y"),
        (b"name.", "name."),
        (b"name ", "name "),
        (b"esc\x1b[31m", "esc\\u{1b}[31m"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let skill =
            tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
        commit_root(&repo, &tree(&repo, &[("040000 tree", &skill, name)]));
        world.pack(
            "bad",
            &format!(
                "name: bad\nimports:\n  - {{repo: '{}', include: ['**']}}\ninstall: {{prefix: ''}}\n",
                repo.url()
            ),
        );
        refused_with_escaped_name(&world, "SP-13", escaped);
    }
}

#[test]
fn sp_09_remote_skills_with_unsafe_file_names_are_refused() {
    for (name, escaped) in [
        (&b"a\\b"[..], "a\\b"),
        (b"..\\..\\canary", "..\\..\\canary"),
        (b"con", "con"),
        (b"AUX.txt", "AUX.txt"),
        (b"x:y", "x:y"),
        (b"name.", "name."),
        (b"line\nfeed", "\\u{a}"),
        (b"esc\x1b[2J", "esc\\u{1b}[2J"),
        (b"not-utf8-\xff\xfe", "not-utf8-\\xff\\xfe"),
        (b".GIT", ".GIT"),
        (b"git~1", "git~1"),
        (b"GIT~1", "GIT~1"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let blob = repo.blob(b"x");
        commit_skill(&repo, &[("100644 blob", &blob, name)]);
        refused_with_escaped_name(&world, "E-unsafe-path", escaped);
        let error = refused(&world, "E-unsafe-path");
        assert!(text_of(&error).contains("tools/x") && !error.hints.is_empty(), "{error:?}");
    }
}

#[test]
fn sp_09_raw_trees_with_names_that_git_refuses_are_refused() {
    for name in
        [&b".git"[..], b"..", b".", b"../../../canary/SKILL.md", b"/canary/SKILL.md", b"a//b", b""]
    {
        let world = guarded();
        let repo = remote(&world);
        let (skill, evil) = (repo.blob(b"---\nname: x\n---\n"), repo.blob(b"evil"));
        let x = raw_tree(&repo, &[("100644", &skill, b"SKILL.md"), ("100644", &evil, name)]);
        commit_raw_tools(&repo, &[("40000", &x, b"x")]);
        let name = String::from_utf8_lossy(name);
        let error = unchanged_by(&world, &name, || {
            install_with(&world, "bad", &["--format", "json"]).error()
        });
        let code = match &*name {
            // Git itself does not send an empty name.
            "" => "E-git",
            ".git" => "E-unsafe-path",
            _ => "E-invalid-git-tree",
        };
        assert_eq!(error.code, code, "{name:?}: {error:?}");
    }
}

#[test]
fn sp_34_git_directories_in_a_remote_are_not_searched() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let skill = raw_tree(&repo, &[("100644", &blob, b"SKILL.md")]);
    let hidden = raw_tree(&repo, &[("40000", &skill, b"evil")]);
    let tools = raw_tree(&repo, &[("40000", &hidden, b".git"), ("40000", &skill, b"x")]);
    commit_root(
        &repo,
        &raw_tree(&repo, &[("40000", &hidden, b".git"), ("40000", &tools, b"tools")]),
    );
    import(&world, &repo.url(), "**");
    install(&world, "bad").ok();
    let installed = |path: &String| path.starts_with("bad") && !path.contains('/');
    assert_eq!(
        world.files("sink").into_keys().filter(installed).collect::<Vec<_>>(),
        ["bad__tools__x"]
    );
}

#[test]
fn sp_34_a_branch_named_skill_md_is_not_a_skill() {
    let world = guarded();
    let repo = GitRepository::new(world.repo());
    repo.commit("one");
    repo.git(&["branch", "zz/SKILL.md"]);
    // A repository below `skills/` that has a file `SKILL.md` among its refs.
    let inner = GitRepository::new(world.repo().join("skills/inner"));
    inner.write("README", "x");
    inner.commit("one");
    inner.git(&["branch", "zz/SKILL.md"]);
    assert!(world.repo().join("skills/inner/.git/refs/heads/zz/SKILL.md").is_file());
    assert_eq!(world.sp(&["list", "--format", "plain"]).ok().stdout, "good\n");
    import(&world, &inner.url(), "**");
    refused(&world, "SP-17");
}

#[test]
fn sp_02_skill_md_at_the_root_of_a_remote_is_skipped_with_a_warning() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("SKILL.md", "---\nname: root\ndescription: The root.\n---\n");
    repo.commit("one");
    import(&world, &repo.url(), "**");
    let run = install(&world, "bad").ok();
    assert!(run.stderr.contains("warning: ") && run.stderr.contains("SKILL.md"), "{run}");
    assert!(world.path("sink/bad__tools__x/SKILL.md").is_file());
    assert_eq!(
        world
            .files("sink")
            .keys()
            .filter(|path| path.starts_with("bad") && !path.contains('/'))
            .count(),
        1
    );
}

#[test]
fn sp_05_names_that_are_not_utf_8_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let world = guarded();
    world.skill("evil");
    std::fs::write(world.repo().join("skills/evil").join(name), "x").unwrap();
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    let error = refused(&world, "E-unsafe-path");
    assert!(text_of(&error).contains("caf\\xe9"), "{error:?}");
    let world = guarded();
    std::fs::create_dir_all(world.repo().join("skills").join(name)).unwrap();
    std::fs::write(world.repo().join("skills").join(name).join("SKILL.md"), "x").unwrap();
    world.pack("bad", "name: bad\ninclude: [good]\n");
    let error = refused(&world, "E-invalid-repository");
    assert!(text_of(&error).contains("caf\\xe9"), "{error:?}");
}

#[test]
fn sp_05_remote_names_that_are_not_utf_8_are_refused_if_selected() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let skill =
        tree(&repo, &[("100644 blob", &blob, b"SKILL.md"), ("100644 blob", &blob, b"caf\xe9")]);
    let good = tree(&repo, &[("100644 blob", &blob, b"SKILL.md")]);
    commit_tools(
        &repo,
        &[
            ("040000 tree", &good, b"good"),
            ("040000 tree", &good, b"n\xe9"),
            ("040000 tree", &skill, b"x"),
        ],
    );
    let error = refused(&world, "E-unsafe-path");
    assert!(text_of(&error).contains("caf\\xe9"), "{error:?}");
    import(&world, &repo.url(), "tools/good");
    install(&world, "bad").ok();
}

#[test]
fn se_03_names_that_differ_only_in_case_or_unicode_form_are_refused() {
    for (first, second) in [
        ("README.md", "readme.md"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("\u{212a}", "k"),
        ("Stra\u{df}e", "STRASSE"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let blob = repo.blob(b"x");
        commit_skill(
            &repo,
            &[("100644 blob", &blob, first.as_bytes()), ("100644 blob", &blob, second.as_bytes())],
        );
        let error = refused(&world, "E-name-collision");
        assert!([first, second].iter().all(|name| text_of(&error).contains(name)), "{error:?}");
    }
}

#[test]
fn se_03_a_directory_and_a_link_that_differ_only_in_case_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"x");
    let dir = tree(&repo, &[("100644 blob", &blob, b"inner")]);
    commit_skill(
        &repo,
        &[("120000 blob", &repo.blob(b"Data"), b"data"), ("040000 tree", &dir, b"Data")],
    );
    let error = refused(&world, "E-name-collision");
    assert!(["`data`", "`Data`"].iter().all(|name| text_of(&error).contains(name)), "{error:?}");
}

#[test]
fn sp_19_two_remote_skills_for_one_directory_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let skill = tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
    for names in [["review", "Review"], ["caf\u{e9}", "cafe\u{301}"]] {
        commit_tools(&repo, &names.map(|name| ("040000 tree", skill.as_str(), name.as_bytes())));
        let error = refused(&world, "SP-19");
        assert!(names.iter().all(|name| text_of(&error).contains(name)), "{error:?}");
    }
}

#[test]
fn se_08_control_and_bidi_characters_of_a_remote_are_escaped() {
    let world = guarded();
    let repo = remote(&world);
    let skill =
        tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: \"x\\e[31m\"\n---\n"), b"SKILL.md")]);
    commit_tools(
        &repo,
        &[("040000 tree", &skill, "a\u{202e}b".as_bytes()), ("040000 tree", &skill, b"c\x1b[31md")],
    );
    let commands: [&[&str]; 3] = [
        &["show", "bad"],
        &["show", "bad", "--format", "plain"],
        &["install", "bad", "--agent", "codex", "--dry-run"],
    ];
    for args in commands {
        let run = world.sp(args);
        let output = format!("{}{}", run.stdout, run.stderr);
        assert!(!output.contains(['\u{1b}', '\u{202e}']), "{args:?}: {output:?}");
    }
}
