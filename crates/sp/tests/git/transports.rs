//! Every way to a repository.

use super::*;

#[test]
fn sp_07_remote_skills_are_found_anywhere_over_every_transport() {
    let world = world!();
    let repo = shared(&world);
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
        world
            .sp(&[
                "install",
                "team",
                "--agent",
                "custom",
                "--path",
                &world.path(&sink).display().to_string(),
            ])
            .ok();
        let names: Vec<String> =
            world.files(&sink).into_keys().filter(|name| !name.contains('/')).collect();
        assert_eq!(names, ["team__tools__deploy", "team__tools__review"], "{url}");
    }
    let state = std::fs::read_to_string(world.path("home/.skillpack/state.json")).unwrap();
    assert!(state.contains(&commit), "the full commit is recorded");
}

#[test]
fn sp_07_a_remote_skill_is_a_leaf_with_skill_md_in_just_this_case() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("deep/down/in/here").skill("group").skill("group/one").skill("group/two/three");
    repo.write("lower/skill.md", "---\nname: lower\n---\n").write("docs/README.md", "no skill\n");
    repo.commit("one");
    world.pack(
        "team",
        &format!("name: team\nimports:\n  - {{repo: '{}', include: ['**']}}\n", repo.url()),
    );
    let shown = world.sp(&["show", "team", "--format", "plain"]).ok().stdout;
    let ids: Vec<&str> = shown.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(ids, ["deep/down/in/here", "group/one", "group/two/three"]);
}

#[test]
fn sp_08_a_path_starts_at_the_authoring_repository_or_the_home() {
    let world = world!();
    shared(&world).commit("one");
    for (number, path) in
        ["../../git/shared", "./../../git/shared/.git", "~/../git/shared"].into_iter().enumerate()
    {
        world.pack("team", &pack(path, ""));
        install_into(&world, &format!("sink{number}"), &[]).ok();
        assert_eq!(folders(&world, &format!("sink{number}")).len(), 2, "{path}");
    }
    world.pack("team", &pack("./nowhere", ""));
    let run = install(&world).fails(5);
    assert!(run.stderr.contains("cannot open the repository `./nowhere`"), "{run}");
}

/// A program in the place of ssh that runs the command on this machine.
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
fn sp_08_ssh_urls_and_the_short_form_go_through_ssh() {
    let mut world = world!();
    let repo = shared(&world);
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
fn se_05_the_users_own_ssh_command_is_used() {
    let world = world!();
    let repo = shared(&world);
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
