//! Names that trick a file system, a terminal or a person.

use super::*;

#[test]
fn sp_13_prefix_sep_and_name_that_lead_out_of_the_sink_are_refused() {
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
            refused(&world, 3, "SP-13");
        }
    }
    for name in
        ["..", ".", "../canary", "a/b", "/canary", "'a\\b'", "\"a\\0b\"", "\"a\\nb\"", "' '"]
    {
        world.pack("bad", &format!("name: {name}\ninclude: [good]\n"));
        refused(&world, 3, "SP-1");
    }
}

#[test]
fn sp_13_a_remote_folder_whose_name_no_file_system_should_hold_is_refused() {
    for (name, words) in [
        (&b"a\\b"[..], "it has a `\\`"),
        (b"con", "device name on Windows"),
        (b"x:y", "it has a `:`"),
        (b"name.", "a dot or a space"),
        (b"name ", "a dot or a space"),
        (b"esc\x1b[31m", "control character"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let skill =
            tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
        commit_root(&repo, &tree(&repo, &[("040000 tree", &skill, name)]));
        world.pack(
            "bad",
            &format!("name: bad\nimports:\n  - {{repo: '{}', include: ['**']}}\ninstall: {{prefix: ''}}\n", repo.url()),
        );
        let run = refused(&world, 3, words);
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn sp_09_file_names_in_a_remote_skill_that_trick_a_file_system_are_refused() {
    for (name, words) in [
        (&b"a\\b"[..], "it has a `\\`"),
        (b"..\\..\\canary", "it has a `\\`"),
        (b"con", "device name on Windows"),
        (b"AUX.txt", "device name on Windows"),
        (b"x:y", "it has a `:`"),
        (b"name.", "a dot or a space"),
        (b"line\nfeed", "control character"),
        (b"esc\x1b[2J", "control character"),
        (b"not-utf8-\xff\xfe", "it is not UTF-8"),
        (b".GIT", "as its own directory"),
        (b"git~1", "as its own directory"),
        (b"GIT~1", "as its own directory"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let blob = repo.blob(b"x");
        commit_skill(&repo, &[("100644 blob", &blob, name)]);
        let run = refused(&world, 3, words);
        assert!(run.stderr.contains("tools/x") && run.stderr.contains("hint: "), "{run}");
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn sp_09_names_that_git_itself_refuses_are_refused_in_trees_made_by_hand() {
    for name in
        [&b".git"[..], b"..", b".", b"../../../canary/SKILL.md", b"/canary/SKILL.md", b"a//b", b""]
    {
        let world = guarded();
        let repo = remote(&world);
        let (skill, evil) = (repo.blob(b"---\nname: x\n---\n"), repo.blob(b"evil"));
        let x = raw_tree(&repo, &[("100644", &skill, b"SKILL.md"), ("100644", &evil, name)]);
        let tools = raw_tree(&repo, &[("40000", &x, b"x")]);
        commit_root(&repo, &raw_tree(&repo, &[("40000", &tools, b"tools")]));
        let before = everything(&world);
        let run = install(&world, "bad");
        assert!(matches!(run.code, Some(3 | 5)), "{:?}: {run}", String::from_utf8_lossy(name));
        unchanged(&before, &world, &String::from_utf8_lossy(name));
    }
}

#[test]
fn sp_34_a_git_folder_in_a_remote_is_no_place_for_skills() {
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
fn sp_34_a_branch_called_like_a_skill_is_none() {
    let world = guarded();
    let repo = Repo::new(world.repo());
    repo.commit("one");
    repo.git(&["branch", "zz/SKILL.md"]);
    // A repository below `skills/`, whose refs are files called `SKILL.md`.
    let inner = Repo::new(world.repo().join("skills/inner"));
    inner.write("README", "x");
    inner.commit("one");
    inner.git(&["branch", "zz/SKILL.md"]);
    assert!(world.repo().join("skills/inner/.git/refs/heads/zz/SKILL.md").is_file());
    assert_eq!(world.sp(&["list"]).ok().stdout, "good\n");
    import(&world, &inner.url(), "**");
    refused(&world, 3, "SP-17");
}

#[test]
fn sp_02_a_skill_md_at_the_root_of_a_remote_is_passed_over_with_a_warning() {
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

// Links.

#[test]
fn sp_05_names_that_are_not_utf_8_are_refused_and_shown_escaped() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let world = guarded();
    world.skill("evil");
    std::fs::write(world.repo().join("skills/evil").join(name), "x").unwrap();
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    refused(&world, 3, "caf\\xe9");
    let world = guarded();
    std::fs::create_dir_all(world.repo().join("skills").join(name)).unwrap();
    std::fs::write(world.repo().join("skills").join(name).join("SKILL.md"), "x").unwrap();
    world.pack("bad", "name: bad\ninclude: [good]\n");
    refused(&world, 3, "caf\\xe9");
}

#[test]
fn sp_05_a_remote_name_that_is_not_utf_8_is_refused_where_it_is_selected_and_ignored_elsewhere() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let skill =
        tree(&repo, &[("100644 blob", &blob, b"SKILL.md"), ("100644 blob", &blob, b"caf\xe9")]);
    let good = tree(&repo, &[("100644 blob", &blob, b"SKILL.md")]);
    let tools = tree(
        &repo,
        &[
            ("040000 tree", &good, b"good"),
            ("040000 tree", &good, b"n\xe9"),
            ("040000 tree", &skill, b"x"),
        ],
    );
    commit_root(&repo, &tree(&repo, &[("040000 tree", &tools, b"tools")]));
    refused(&world, 3, "caf\\xe9");
    import(&world, &repo.url(), "tools/good");
    install(&world, "bad").ok();
}

#[test]
fn se_03_twins_by_case_or_unicode_form_in_a_remote_skill_are_refused() {
    for (one, other) in [
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
            &[("100644 blob", &blob, one.as_bytes()), ("100644 blob", &blob, other.as_bytes())],
        );
        refused(&world, 3, "are one name where case or Unicode form does not count");
    }
}

#[test]
fn se_03_a_folder_and_a_file_that_are_twins_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"x");
    let dir = tree(&repo, &[("100644 blob", &blob, b"inner")]);
    commit_skill(
        &repo,
        &[("120000 blob", &repo.blob(b"Data"), b"data"), ("040000 tree", &dir, b"Data")],
    );
    refused(&world, 3, "are one name where case or Unicode form does not count");
}

#[test]
fn sp_19_two_remote_skills_that_are_one_folder_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let skill = tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
    for (one, other) in [("review", "Review"), ("caf\u{e9}", "cafe\u{301}")] {
        let tools = tree(
            &repo,
            &[("040000 tree", &skill, one.as_bytes()), ("040000 tree", &skill, other.as_bytes())],
        );
        commit_root(&repo, &tree(&repo, &[("040000 tree", &tools, b"tools")]));
        refused(&world, 3, "would both be installed as");
    }
}

#[test]
fn se_08_escapes_and_bidi_characters_of_a_remote_are_shown_escaped() {
    let world = guarded();
    let repo = remote(&world);
    let skill =
        tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: \"x\\e[31m\"\n---\n"), b"SKILL.md")]);
    let tools = tree(
        &repo,
        &[("040000 tree", &skill, "a\u{202e}b".as_bytes()), ("040000 tree", &skill, b"c\x1b[31md")],
    );
    commit_root(&repo, &tree(&repo, &[("040000 tree", &tools, b"tools")]));
    let commands: [&[&str]; 3] = [
        &["show", "bad"],
        &["show", "bad", "--format", "plain"],
        &["install", "bad", "--agent", "codex", "--dry-run"],
    ];
    for args in commands {
        let run = world.sp(args);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{args:?}: {said:?}");
    }
}

// Repositories and refs that would make git do something else.
