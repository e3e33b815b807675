//! Input that costs more to read than to send.

use super::*;

#[test]
fn se_04_yaml_bombs_are_refused_cheaply() {
    let world = guarded();
    let mut aliases = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (last, next) in ('a'..'i').zip('b'..='i') {
        writeln!(aliases, "{next}: &{next} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]")
            .unwrap();
    }
    for (bomb, words) in [
        (aliases, "nodes"),
        (format!("name: {}", "[".repeat(400_000)), "SP-11"),
        (format!("include: {}", "{a: ".repeat(200_000)), "SP-11"),
        ("- ".repeat(400_000), "SP-11"),
        (format!("include: [{}]", "x,".repeat(400_000)), "more than 10000 nodes"),
        (format!("name: &a x\ninclude: [{}]", "*a,".repeat(200)), "more than 100 aliases"),
        (format!("name: {}", "\"\\x41".repeat(200_000)), "SP-11"),
    ] {
        world.pack("bad", &bomb);
        refused_cheaply(&world, words);
    }
}

#[test]
fn se_04_a_pack_file_of_a_gigabyte_is_refused_cheaply() {
    let world = guarded();
    let file = std::fs::File::create(world.repo().join("packs/bad.yaml")).unwrap();
    file.set_len(1 << 30).unwrap();
    let cost = cost(&world, &["install", "bad", "--agent", "custom", "--path", &sink(&world)]);
    assert_eq!(cost.code, Some(3), "{}", cost.stderr);
    assert!(
        cost.stderr.contains("1073741824 bytes") && cost.stderr.contains("--limit yaml-bytes="),
        "{}",
        cost.stderr
    );
    assert!(cost.memory < MEMORY, "{} KiB", cost.memory);
}

#[test]
fn se_04_one_huge_pack_file_does_not_hide_the_others() {
    let world = guarded();
    std::fs::File::create(world.repo().join("packs/huge.yaml")).unwrap().set_len(1 << 30).unwrap();
    world.sp(&["show", "good"]).ok();
    let run = world.sp(&["packs"]).fails(3);
    assert_eq!(run.stdout, "good\nhuge\n", "{run}");
}

#[test]
fn sp_15_a_pattern_made_to_backtrack_is_harmless() {
    let world = guarded();
    let long = format!("{}/{}", "a".repeat(200), "a".repeat(200));
    world.skill(&long);
    let evil = format!("{}b", "*a".repeat(90));
    let worse = format!("{}b", "**a".repeat(90));
    world.pack(
        "bad",
        &format!("name: bad\ninclude: ['{evil}', '{worse}', '{}']\n", "**/*".repeat(60)),
    );
    refused(&world, 3, "SP-17");
}

#[test]
fn se_04_a_remote_file_over_the_limit_is_refused_and_the_limit_named() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/big", vec![b'x'; 1000]);
    repo.commit("one");
    let run = refused_with(
        &world,
        &["--limit", "file-bytes=999"],
        3,
        "`big` has 1000 bytes, more than the limit of 999",
    );
    assert!(run.stderr.contains("`--limit file-bytes=<number>`"), "{run}");
    install_with(&world, "bad", &["--limit", "file-bytes=1000"]).ok();
}

#[test]
fn se_04_a_compressed_remote_file_is_refused_by_its_full_size_cheaply() {
    let world = guarded();
    let repo = remote(&world);
    let zeros = repo.blob(&vec![0; 150 * 1024 * 1024]);
    commit_skill(&repo, &[("100644 blob", &zeros, b"bomb")]);
    refused_cheaply(&world, "`bomb` has 157286400 bytes");
}

#[test]
fn se_04_a_remote_skill_over_the_limit_of_bytes_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/a", [b'a'; 600]).write("tools/x/b", [b'b'; 600]);
    repo.commit("one");
    let run = refused_with(
        &world,
        &["--limit", "skill-bytes=1200"],
        3,
        "its files have more than 1200 bytes together",
    );
    assert!(run.stderr.contains("`--limit skill-bytes=<number>`"), "{run}");
    install_with(&world, "bad", &["--limit", "skill-bytes=1300"]).ok();
}

#[test]
fn se_04_a_remote_skill_with_too_many_entries_is_refused_and_the_limit_named() {
    let world = guarded();
    let repo = remote(&world);
    for number in 0..20 {
        repo.write(&format!("tools/x/{number}"), "x");
    }
    repo.commit("one");
    let run =
        refused_with(&world, &["--limit", "skill-entries=20"], 3, "more than 20 files and folders");
    assert!(run.stderr.contains("--limit skill-entries="), "{run}");
    install_with(&world, "bad", &["--limit", "skill-entries=21"]).ok();
}

#[test]
fn se_04_a_remote_skill_that_is_too_deep_is_refused_and_the_limit_can_be_raised() {
    let world = guarded();
    let repo = remote(&world);
    repo.write(&format!("tools/x/{}end", "d/".repeat(70)), "x");
    repo.commit("one");
    let run = refused(&world, 3, "64 folders deep");
    assert!(run.stderr.contains("--limit depth="), "{run}");
    refused_with(&world, &["--limit", "depth=10"], 3, "10 folders deep");
    install_with(&world, "bad", &["--limit", "depth=80"]).ok();
}

#[test]
fn se_04_a_local_skill_over_each_limit_is_refused_and_the_limit_named() {
    let world = guarded();
    world.skill("evil");
    world.write("skills/evil/a/b/c", [b'x'; 500]);
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    for (limit, words) in [
        ("file-bytes=499", "more than the limit of 499"),
        ("skill-bytes=500", "more than 500 bytes together"),
        ("skill-entries=3", "more than 3 files"),
        ("depth=2", "2 folders deep"),
    ] {
        let run = refused_with(&world, &["--limit", limit], 3, words);
        assert!(
            run.stderr.contains(&format!("--limit {}=", limit.split('=').next().unwrap())),
            "{run}"
        );
    }
    std::fs::File::create(world.repo().join("skills/evil/sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    refused_cheaply(&world, "1099511627776 bytes");
}

#[test]
fn se_04_a_repository_with_too_many_entries_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let run = refused_with(
        &world,
        &["--limit", "repo-entries=2"],
        3,
        "has more than 2 files and folders",
    );
    assert!(run.stderr.contains("--limit repo-entries="), "{run}");
}

#[test]
fn se_04_a_tree_that_unfolds_without_end_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    let mut level =
        tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
    for _ in 0..10 {
        let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let entries: Vec<(&str, &str, &[u8])> =
            names.iter().map(|name| ("040000 tree", level.as_str(), name.as_bytes())).collect();
        level = tree(&repo, &entries);
    }
    commit_root(&repo, &tree(&repo, &[("040000 tree", &level, b"tools")]));
    refused_cheaply(&world, "files and folders");
}

#[test]
fn se_04_more_bytes_from_git_than_the_limit_are_refused_and_the_limit_named() {
    for filter in ["true", "false"] {
        let world = guarded();
        let repo = remote(&world);
        repo.write("tools/x/noise", noise(3_000_000));
        repo.commit("one");
        repo.git(&["config", "uploadpack.allowFilter", filter]);
        for _ in 0..2 {
            let run = refused_with(
                &world,
                &["--limit", "git-pack-bytes=100000"],
                3,
                "sends more than 100000 bytes",
            );
            assert!(run.stderr.contains("`--limit git-pack-bytes=<bytes>`"), "{run}");
        }
        let left: Vec<String> = world
            .files("home/.skillpack/cache")
            .into_keys()
            .filter(|path| path.contains("/tmp_") || path.ends_with(".lock"))
            .collect();
        assert_eq!(left, [""; 0], "what was refused is not left behind");
        install(&world, "bad").ok();
    }
}

// Credentials.
