//! Skillpack's own directories: private whatever the umask is, and never a sink.

use super::*;

/// Runs `sp` with a umask that takes nothing away.
fn with_open_umask(world: &World, dir: &str, args: &[&str]) -> Run {
    let plain = world.command(args);
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$@\"", "sh"])
        .arg(plain.get_program())
        .args(plain.get_args());
    command.current_dir(world.path(dir)).env_clear().stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    world.run(command)
}

fn modes_below(dir: &Path, modes: &mut Vec<(PathBuf, u32)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        modes.push((path.clone(), metadata.permissions().mode() & 0o777));
        if metadata.is_dir() {
            modes_below(&path, modes);
        }
    }
}

#[test]
fn se_07_the_home_is_private_under_umask_000_and_what_is_installed_has_ordinary_modes() {
    let world = world!();
    world.skill("good");
    let repo = world.git("remote");
    repo.skill("tools/x");
    repo.commit("one");
    world.pack(
        "good",
        &format!(
            "name: good\ninclude: [good]\nimports:\n  - {{repo: '{}', include: ['**']}}\n",
            repo.url()
        ),
    );
    std::fs::create_dir_all(world.path("home/notes")).unwrap();
    std::fs::write(world.path("home/notes/a.md"), "---\nurl: https://docs.example.com/a\ntitle: Retries of webhooks\nkind: docs\ncaptured_at: 2026-04-02\n---\n\nA sender repeats every delivery that was not answered in time.\n\n- Use a limit of ten attempts for every webhook.\n- Add jitter to the pause between two deliveries.\n").unwrap();
    let about = [
        "--name",
        "Shop",
        "--description",
        "A service that delivers webhooks to shops.",
        "--out",
        "out",
    ];
    let commands: [&[&str]; 7] = [
        &["install", "good", "--agent", "custom", "--path", &sink(&world)],
        &["check"],
        &["key", "new"],
        &[
            "pkg",
            "create",
            "--kind",
            "skills",
            "skills/good",
            "--name",
            "good",
            "--version",
            "1.0.0",
            "--output",
            "good.ctxpkg",
        ],
        &["pkg", "import", "good.ctxpkg"],
        &[&["context", "build", "--kb", "../notes"][..], &about].concat(),
        &["install", "good", "--agent", "custom", "--path", &sink(&world)],
    ];
    for args in commands {
        with_open_umask(&world, "home/repo", args).ok();
    }
    let home = world.path("home/.skillpack");
    let mut modes = vec![(home.clone(), home.metadata().unwrap().permissions().mode() & 0o777)];
    modes_below(&home, &mut modes);
    for part in ["state.json", "index", "cache/git", "store", "keys", "kb"] {
        assert!(home.join(part).exists(), "{part} is not there: {modes:#?}");
    }
    let open: Vec<_> = modes.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:#?}");
    let mode = |path: &str| world.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sink/good__good"), mode("sink/good__good/SKILL.md")), (0o777, 0o666));
    assert_eq!(mode("home/repo/good.ctxpkg"), 0o666);
}

#[test]
fn se_07_a_home_that_is_open_to_others_is_closed() {
    let world = guarded();
    let home = world.path("home/.skillpack");
    std::fs::set_permissions(&home, PermissionsExt::from_mode(0o777)).unwrap();
    install(&world, "good").ok();
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn se_03_a_sink_in_or_around_skillpacks_own_directories_is_refused() {
    let world = guarded();
    std::fs::create_dir_all(world.path("cache")).unwrap();
    symlink(world.path("home/.skillpack"), world.path("link")).unwrap();
    let before = everything(&world);
    for (path, words) in [
        ("home/.skillpack", "Skillpack's own directory"),
        ("home/.skillpack/store", "Skillpack's own directory"),
        ("home/.skillpack/new/deep", "Skillpack's own directory"),
        ("home/.skillpack/cache/git", "Skillpack's own directory"),
        ("link/trash", "Skillpack's own directory"),
        ("home/repo/packs", "the directory of the packs"),
        ("home/repo/packs/sub", "the directory of the packs"),
        ("home/repo/skills/sub", "the authoring tree"),
    ] {
        for extra in [&[][..], &["--dry-run"]] {
            let path = world.path(path).display().to_string();
            let args = [&["install", "good", "--agent", "custom", "--path", &path], extra].concat();
            let run = world.sp(&args).fails(1);
            assert!(
                run.stderr.contains(words) && run.stderr.contains("lie inside one another"),
                "{path}: {run}"
            );
            unchanged(&before, &world, &path);
        }
    }
    let around = world.path("around").display().to_string();
    let mut command = world.command(&["install", "good", "--agent", "custom", "--path", &around]);
    command.env("SKILLPACK_HOME", world.path("around/home"));
    let run = world.run(command).fails(1);
    assert!(run.stderr.contains("Skillpack's own directory"), "{run}");
    // Agents read skills inside of the repository, and beside Skillpack's own directory.
    for path in ["home/repo/.claude/skills", "home/.skillpack-other", "home/repo/packs-of-others"] {
        world
            .sp(&[
                "install",
                "good",
                "--agent",
                "custom",
                "--path",
                &world.path(path).display().to_string(),
            ])
            .ok();
    }
    world.sp(&["install", "good", "--agent", "claude", "--scope", "project"]).ok();
}

#[test]
fn se_03_a_package_of_skills_is_not_installed_into_skillpacks_own_directory() {
    let world = guarded();
    let package = world.path("good.ctxpkg").display().to_string();
    world
        .sp(&[
            "pkg",
            "create",
            "--kind",
            "skills",
            "skills/good",
            "--name",
            "good",
            "--version",
            "1.0.0",
            "--output",
            &package,
        ])
        .ok();
    std::fs::create_dir(world.path("project")).unwrap();
    let before = everything(&world);
    let path = world.path("home/.skillpack/store").display().to_string();
    let run = world
        .sp_in("project", &["pkg", "install", &package, "--agent", "custom", "--path", &path])
        .fails(1);
    assert!(run.stderr.contains("Skillpack's own directory"), "{run}");
    unchanged(&before, &world, "pkg install");
}
