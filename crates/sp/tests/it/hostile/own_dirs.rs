//! Skillpack's own directories: private for any umask, and never a sink.

use super::*;

/// Arguments that create a package of the skill `good`, without the output path.
const CREATE_PACKAGE: [&str; 10] = [
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
];

/// Runs `sp` with a umask that removes no permission.
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
fn se_07_home_is_private_and_installed_files_have_the_modes_of_the_umask() {
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
    let description = "A service that delivers webhooks to shops.";
    let build = ["--name", "Shop", "--description", description, "--output", "out"];
    let commands: [&[&str]; 7] = [
        &["install", "good", "--agent", "custom", "--path", &sink(&world)],
        &["check"],
        &["key", "new"],
        &[&CREATE_PACKAGE[..], &["good.ctxpkg"]].concat(),
        &["pkg", "import", "good.ctxpkg"],
        &[&["context", "build", "--kb", "../notes"][..], &build].concat(),
        &["install", "good", "--agent", "custom", "--path", &sink(&world)],
    ];
    for args in commands {
        with_open_umask(&world, "home/repo", args).ok();
    }
    let home = world.path("home/.skillpack");
    let mut modes = vec![(home.clone(), home.metadata().unwrap().permissions().mode() & 0o777)];
    modes_below(&home, &mut modes);
    for part in ["state.json", "index", "cache/git", "store", "keys", "kb"] {
        assert!(home.join(part).exists(), "{part} is missing: {modes:#?}");
    }
    let open: Vec<_> = modes.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:#?}");
    let mode = |path: &str| world.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sink/good__good"), mode("sink/good__good/SKILL.md")), (0o777, 0o666));
    assert_eq!(mode("home/repo/good.ctxpkg"), 0o666);
}

#[test]
fn se_07_permissions_of_an_open_home_are_restricted() {
    let world = guarded();
    let home = world.path("home/.skillpack");
    std::fs::set_permissions(&home, PermissionsExt::from_mode(0o777)).unwrap();
    install(&world, "good").ok();
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn se_03_sinks_that_overlap_with_directories_of_skillpack_are_refused() {
    let world = guarded();
    std::fs::create_dir_all(world.path("cache")).unwrap();
    symlink(world.path("home/.skillpack"), world.path("link")).unwrap();
    for path in [
        "home/.skillpack",
        "home/.skillpack/store",
        "home/.skillpack/new/deep",
        "home/.skillpack/cache/git",
        "link/trash",
        "home/repo/packs",
        "home/repo/packs/sub",
        "home/repo/skills/sub",
    ] {
        for extra in [&["--format", "json"][..], &["--format", "json", "--dry-run"]] {
            let sink = world.path(path).display().to_string();
            let run = unchanged_by(&world, path, || install_into(&world, &sink, "good", extra));
            assert_eq!(run.error().code, "E-sink-overlap", "{path}: {run}");
        }
    }
    let around = world.path("around").display().to_string();
    let args = ["install", "good", "--agent", "custom", "--path", &around, "--format", "json"];
    let mut command = world.command(&args);
    command.env("SKILLPACK_HOME", world.path("around/home"));
    assert_eq!(world.run(command).error().code, "E-sink-overlap");
    // Sinks inside of the repository and beside `~/.skillpack` are fine.
    for path in ["home/repo/.claude/skills", "home/.skillpack-other", "home/repo/packs-of-others"] {
        install_into(&world, &world.path(path).display().to_string(), "good", &[]).ok();
    }
    world.sp(&["install", "good", "--agent", "claude", "--scope", "project"]).ok();
}

#[test]
fn se_03_packages_are_not_installed_into_skillpacks_own_directory() {
    let world = guarded();
    let package = world.path("good.ctxpkg").display().to_string();
    world.sp(&[&CREATE_PACKAGE[..], &[&package]].concat()).ok();
    std::fs::create_dir(world.path("project")).unwrap();
    let sink = world.path("home/.skillpack/store").display().to_string();
    let args = ["pkg", "install", &package, "--agent", "custom", "--path", &sink];
    let error = unchanged_by(&world, "pkg install", || world.sp_error_in("project", &args));
    assert_eq!(error.code, "E-sink-overlap", "{error:?}");
}
