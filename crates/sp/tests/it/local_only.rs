//! Local commands run without network access and without other programs.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use sp_testkit::world;

#[test]
fn se_13_local_commands_use_no_network_and_start_no_program() {
    let world = world!();
    world.skill("a");
    world.write("skills/a/scripts/run.sh", "touch ~/ran\n");
    world.pack("team", "name: team\ninclude: ['**']\n");
    // Every program that `sp` could start leaves a trace.
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["git", "sh", "bash", "ssh", "curl"] {
        std::fs::write(
            bin.join(name),
            format!("#!/bin/sh\necho {name} >> {}\n", world.path("started").display()),
        )
        .unwrap();
        std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let before = world.files("home/repo");
    for args in [
        &["list"][..],
        &["packs"],
        &["show", "team"],
        &["install", "team", "--agent", "claude", "--dry-run"],
        &["install", "team", "--agent", "claude"],
        &["install", "team", "--agent", "claude"],
        &["switch", "team", "--agent", "claude"],
        &["installed"],
        &["config"],
        &["uninstall", "team", "--agent", "claude"],
        &["clean", "--cache"],
        &["completions", "bash"],
        &["--version"],
    ] {
        // A network namespace without any interface, not even loopback.
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--net", env!("CARGO_BIN_EXE_sp")])
            .args(args)
            .current_dir(world.repo());
        command
            .env_clear()
            .env("HOME", world.home())
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        world.run(command).ok();
    }
    let started = std::fs::read_to_string(world.path("started")).unwrap_or_default();
    assert_eq!(started, "", "programs that were started");
    assert!(!world.path("home/ran").exists());
    assert_eq!(world.files("home/repo"), before, "the repository is only read");
}
