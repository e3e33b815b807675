//! Input that costs more to read than to send.

use sp_formats::text::ByteSize;

use super::*;

#[test]
fn se_04_yaml_bombs_are_refused_cheaply() {
    let world = guarded();
    let mut aliases = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (last, next) in ('a'..'i').zip('b'..='i') {
        writeln!(aliases, "{next}: &{next} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]")
            .unwrap();
    }
    // The limit that a message must name, if any.
    for (bomb, limit) in [
        (aliases, "10000"),
        (format!("name: {}", "[".repeat(400_000)), ""),
        (format!("include: {}", "{a: ".repeat(200_000)), ""),
        ("- ".repeat(400_000), ""),
        (format!("include: [{}]", "x,".repeat(400_000)), "10000"),
        (format!("name: &a x\ninclude: [{}]", "*a,".repeat(200)), "100"),
        (format!("name: {}", "\"\\x41".repeat(200_000)), ""),
    ] {
        world.pack("bad", &bomb);
        let error = refused_cheaply(&world, "SP-11");
        assert!(error.findings[0].message.contains(limit), "{error:?}");
    }
}

#[test]
fn se_04_a_pack_file_of_a_gigabyte_is_refused_cheaply() {
    let world = guarded();
    let file = std::fs::File::create(world.repo().join("packs/bad.yaml")).unwrap();
    file.set_len(1 << 30).unwrap();
    let error = refused_cheaply(&world, "SP-11");
    assert!(text_of(&error).contains("1 GiB"), "{error:?}");
    let run = install(&world, "bad");
    assert!(run.stderr.contains("--limit yaml-bytes="), "{run}");
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
fn sp_15_patterns_that_would_backtrack_are_harmless() {
    let world = guarded();
    let long = format!("{}/{}", "a".repeat(200), "a".repeat(200));
    world.skill(&long);
    let evil = format!("{}b", "*a".repeat(90));
    let worse = format!("{}b", "**a".repeat(90));
    world.pack(
        "bad",
        &format!("name: bad\ninclude: ['{evil}', '{worse}', '{}']\n", "**/*".repeat(60)),
    );
    let error = refused(&world, "SP-13");
    let rules: Vec<&str> = error.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["SP-13", "SP-17", "SP-17"], "{error:?}");
}

/// Installs with a limit that the pack `bad` exceeds. The error must name the limit.
#[track_caller]
fn limit_exceeded(world: &World, limit: &str, value: u64, code: &str) -> CliError {
    let error = refused_with(world, &["--limit", &format!("{limit}={value}")], code);
    assert!(error.hints_at(&format!("--limit {limit}=")), "{error:?}");
    let shown =
        if limit.ends_with("-bytes") { ByteSize(value).to_string() } else { value.to_string() };
    assert!(text_of(&error).contains(&shown), "{error:?}");
    error
}

#[test]
fn se_04_a_remote_file_over_the_limit_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/big", vec![b'x'; 1000]);
    repo.commit("one");
    let error = limit_exceeded(&world, "file-bytes", 999, "E-limit-exceeded");
    assert!(["`big`", "1000"].iter().all(|data| text_of(&error).contains(data)), "{error:?}");
    install_with(&world, "bad", &["--limit", "file-bytes=1000"]).ok();
}

#[test]
fn se_04_a_compressed_remote_file_is_refused_by_its_uncompressed_size() {
    let world = guarded();
    let repo = remote(&world);
    let zeros = repo.blob(&vec![0; 150 * 1024 * 1024]);
    commit_skill(&repo, &[("100644 blob", &zeros, b"bomb")]);
    let error = refused_cheaply(&world, "E-limit-exceeded");
    assert!(["`bomb`", "150 MiB"].iter().all(|data| text_of(&error).contains(data)), "{error:?}");
}

#[test]
fn se_04_a_remote_skill_over_the_limit_of_bytes_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/a", [b'a'; 600]).write("tools/x/b", [b'b'; 600]);
    repo.commit("one");
    limit_exceeded(&world, "skill-bytes", 1200, "E-limit-exceeded");
    install_with(&world, "bad", &["--limit", "skill-bytes=1300"]).ok();
}

#[test]
fn se_04_a_remote_skill_with_too_many_entries_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    for number in 0..20 {
        repo.write(&format!("tools/x/{number}"), "x");
    }
    repo.commit("one");
    limit_exceeded(&world, "skill-entries", 20, "E-limit-exceeded");
    install_with(&world, "bad", &["--limit", "skill-entries=21"]).ok();
}

#[test]
fn se_04_a_remote_skill_over_the_limit_of_depth_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.write(&format!("tools/x/{}end", "d/".repeat(70)), "x");
    repo.commit("one");
    let error = refused(&world, "E-limit-exceeded");
    assert!(text_of(&error).contains("64") && error.hints_at("--limit depth="), "{error:?}");
    limit_exceeded(&world, "depth", 10, "E-limit-exceeded");
    install_with(&world, "bad", &["--limit", "depth=80"]).ok();
}

#[test]
fn se_04_a_local_skill_over_any_limit_is_refused() {
    let world = guarded();
    world.skill("evil");
    world.write("skills/evil/a/b/c", [b'x'; 500]);
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    for (limit, value, code) in [
        ("file-bytes", 499, "E-limit-exceeded"),
        ("skill-bytes", 500, "E-limit-exceeded"),
        ("skill-entries", 3, "E-limit-exceeded"),
        ("depth", 2, "E-invalid-repository"),
    ] {
        limit_exceeded(&world, limit, value, code);
    }
    std::fs::File::create(world.repo().join("skills/evil/sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let error = refused_cheaply(&world, "E-limit-exceeded");
    assert!(text_of(&error).contains("1 TiB"), "{error:?}");
}

#[test]
fn se_04_a_repository_with_too_many_entries_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    limit_exceeded(&world, "repo-entries", 2, "E-limit-exceeded");
}

#[test]
fn se_04_a_tree_that_expands_exponentially_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    let mut level =
        tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
    for _ in 0..10 {
        let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let entries: Vec<TreeEntry<'_>> =
            names.iter().map(|name| ("040000 tree", level.as_str(), name.as_bytes())).collect();
        level = tree(&repo, &entries);
    }
    commit_root(&repo, &tree(&repo, &[("040000 tree", &level, b"tools")]));
    refused_cheaply(&world, "E-limit-exceeded");
}

#[test]
fn se_04_more_bytes_from_git_than_the_limit_are_refused() {
    for filter in ["true", "false"] {
        let world = guarded();
        let repo = remote(&world);
        repo.write("tools/x/noise", random_bytes(3_000_000));
        repo.commit("one");
        repo.git(&["config", "uploadpack.allowFilter", filter]);
        for _ in 0..2 {
            limit_exceeded(&world, "git-pack-bytes", 100_000, "E-limit-exceeded");
        }
        let left: Vec<String> = world
            .files("home/.skillpack/cache")
            .into_keys()
            .filter(|path| path.contains("/tmp_") || path.ends_with(".lock"))
            .collect();
        assert_eq!(left, [""; 0], "no temporary files remain");
        install(&world, "bad").ok();
    }
}
