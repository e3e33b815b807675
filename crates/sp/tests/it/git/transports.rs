//! Transports: paths and `file`, `git`, `http` and `ssh` URLs.

use super::*;

#[test]
fn sp_07_remote_skills_are_installed_over_every_transport() {
    let world = world!();
    let repo = shared_repo(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    let http = HttpServer::start(&world.path("git"));
    for (number, url) in
        [repo.url(), repo.path().display().to_string(), daemon.url("shared"), http.url("shared")]
            .iter()
            .enumerate()
    {
        world.pack("team", &pack(url, ""));
        let sink = format!("sink{number}");
        install_into(&world, &sink, &[]).ok();
        assert_eq!(folders(&world, &sink), ["team__tools__deploy", "team__tools__review"], "{url}");
    }
    assert!(commits(&world).iter().all(|recorded| *recorded == commit), "the full commit");
}

#[test]
fn sp_07_remote_skill_is_a_leaf_with_skill_md_in_this_case() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("deep/down/in/here").skill("group").skill("group/one").skill("group/two/three");
    repo.write("lower/skill.md", "---\nname: lower\n---\n").write("docs/README.md", "no skill\n");
    repo.commit("one");
    world.pack(
        "team",
        &format!("name: team\nimports:\n  - {{repo: '{}', include: ['**']}}\n", repo.url()),
    );
    let output = world.sp(&["show", "team", "--format", "plain"]).ok().stdout;
    let ids: Vec<&str> = output.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(ids, ["deep/down/in/here", "group/one", "group/two/three"]);
}

#[test]
fn sp_08_relative_path_starts_at_the_repository_or_home() {
    let world = world!();
    shared_repo(&world).commit("one");
    for (number, path) in
        ["../../git/shared", "./../../git/shared/.git", "~/../git/shared"].into_iter().enumerate()
    {
        world.pack("team", &pack(path, ""));
        install_into(&world, &format!("sink{number}"), &[]).ok();
        assert_eq!(folders(&world, &format!("sink{number}")).len(), 2, "{path}");
    }
    world.pack("team", &pack("./nowhere", ""));
    let error = install_error(&world, &[]);
    assert_eq!(error.code, "E-source-not-found");
    assert!(error.message.contains("`./nowhere`"), "{error:#?}");
}

/// Creates a replacement for `ssh` that runs the command on this machine.
fn local_ssh(world: &World) -> String {
    let script = world.path("ssh");
    std::fs::write(
        &script,
        "#!/bin/sh\necho ran >> \"$(dirname \"$0\")/ssh.log\"\nfor last; do :; done\nexec sh -c \"$last\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[test]
fn sp_08_ssh_urls_and_the_short_form_use_ssh() {
    let mut world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    let ssh = local_ssh(&world);
    world.set_env("GIT_SSH_COMMAND", &ssh);
    let path = repo.path().display().to_string();
    for (number, url) in
        [format!("ssh://git@localhost{path}"), format!("git@localhost:{path}")].iter().enumerate()
    {
        world.pack("team", &pack(url, ""));
        install_into(&world, &format!("sink{number}"), &[]).ok();
        assert_eq!(folders(&world, &format!("sink{number}")).len(), 2, "{url}");
    }
    assert!(world.path("ssh.log").exists());
}

#[test]
fn se_05_ssh_command_of_the_user_is_used() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    std::fs::write(
        world.home().join(".gitconfig"),
        format!("[core]\n\tsshCommand = {}\n", local_ssh(&world)),
    )
    .unwrap();
    world.pack("team", &pack(&format!("ssh://git@localhost{}", repo.path().display()), ""));
    install(&world).ok();
    assert!(world.path("ssh.log").exists());
}
