//! What is fetched, from which server, with which git.

use super::*;

#[test]
fn sp_35_one_repository_at_two_refs_gives_each_its_own_content() {
    let world = world!();
    let repo = shared(&world);
    repo.write("tools/deploy/notes", "one").write("tools/review/notes", "one");
    let one = repo.commit("one");
    repo.git(&["tag", "v1"]);
    repo.write("tools/deploy/notes", "two").write("tools/review/notes", "two");
    let two = repo.commit("two");
    let url = repo.url();
    world.pack("team", &format!("name: team\nimports:\n- {{repo: '{url}', ref: v1, include: [tools/review]}}\n- {{repo: '{url}', ref: main, include: [tools/deploy]}}\n"));
    install(&world).ok();
    assert_eq!(
        (text(&world, "team__tools__review/notes"), text(&world, "team__tools__deploy/notes")),
        ("one".into(), "two".into())
    );
    assert_eq!(commits(&world), [one, two]);
}

#[test]
fn sp_35_a_tag_and_a_branch_below_its_name_can_be_imported_together() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "v1"]);
    let two = repo.commit("two");
    repo.git(&["branch", "v1/fix"]);
    let url = repo.url();
    world.pack("team", &format!("name: team\nimports:\n- {{repo: '{url}', ref: v1, include: [tools/review]}}\n- {{repo: '{url}', ref: v1/fix, include: [tools/deploy]}}\n"));
    install(&world).ok();
    assert_eq!(commits(&world), [one, two]);
    install_into(&world, "sink2", &["--offline"]).ok();
}

#[test]
fn sp_35_a_branch_advances_on_the_next_install_and_a_commit_does_not() {
    let world = world!();
    let repo = shared(&world);
    repo.write("tools/review/notes", "old");
    let old = repo.commit("one");
    world.pack("team", &at(&repo.url(), "main"));
    install(&world).ok();
    repo.write("tools/review/notes", "new");
    std::fs::remove_dir_all(repo.path().join("tools/deploy")).unwrap();
    let new = repo.commit("two");
    install(&world).ok();
    assert_eq!(
        (text(&world, "team__tools__review/notes"), commits(&world)),
        ("new".into(), vec![new])
    );
    assert_eq!(folders(&world, "sink"), ["team__tools__review"]);
    world.pack("team", &at(&repo.url(), &old));
    install(&world).ok();
    assert_eq!(
        (text(&world, "team__tools__review/notes"), commits(&world)),
        ("old".into(), vec![old])
    );
}

#[test]
fn sp_35_a_rewritten_branch_is_followed() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    world.pack("team", &at(&repo.url(), "main"));
    install(&world).ok();
    repo.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    repo.write("tools/review/notes", "rewritten");
    repo.commit("another history");
    repo.git(&["branch", "--force", "main"]);
    install(&world).ok();
    assert_eq!(text(&world, "team__tools__review/notes"), "rewritten");
}

#[test]
fn sp_35_only_the_blobs_of_selected_skills_are_fetched() {
    let world = world!();
    let repo = shared(&world);
    repo.write("other/big/data", noise(300_000));
    repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    world.sp(&["show", "team"]).ok();
    assert_eq!(cached_blobs(&world, &repo), BTreeSet::new(), "to show needs trees only");
    install(&world).ok();
    let wanted = ids(
        &repo,
        &["tools/review/SKILL.md", "tools/review/scripts/run.sh", "tools/deploy/SKILL.md"],
    );
    assert_eq!(cached_blobs(&world, &repo), wanted);
}

#[test]
fn sp_35_the_blobs_come_in_one_batch() {
    let world = world!();
    let repo = shared(&world);
    for number in 0..40 {
        repo.write(&format!("tools/review/{number}"), number.to_string());
    }
    repo.commit("one");
    let http = HttpServer::start(&world.path("git"));
    world.pack("team", &pack(&http.url("shared"), ""));
    install(&world).ok();
    assert!(http.requests() < 12, "{} connections for 43 files", http.requests());
}

#[test]
fn sp_35_offline_works_after_a_first_install_with_the_server_gone() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    for git_ref in ["main", commit.as_str(), &commit[..8]] {
        let daemon = Daemon::start(&world.path("git"));
        world.pack("team", &at(&daemon.url("shared"), git_ref));
        let (online, offline) = (format!("online-{git_ref}"), format!("offline-{git_ref}"));
        install_into(&world, &online, &[]).ok();
        drop(daemon);
        install_into(&world, &offline, &["--offline"]).ok();
        assert_eq!(world.files(&offline), world.files(&online), "{git_ref}");
        assert_eq!(folders(&world, &offline).len(), 2);
    }
}

#[test]
fn sp_35_offline_without_a_first_install_is_a_clear_error() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    for git_ref in ["main", commit.as_str()] {
        world.pack("team", &at(&daemon.url("shared"), git_ref));
        let run = install_into(&world, "sink", &["--offline"]).fails(5);
        assert!(run.stderr.contains("hint: run it once without `--offline`"), "{run}");
        assert!(!world.path("sink").exists());
    }
    world.pack("team", &pack(&daemon.url("shared"), ""));
    world.sp(&["show", "team"]).ok();
    let run = install_into(&world, "sink", &["--offline"]).fails(5);
    assert!(
        run.stderr.contains("files of") && run.stderr.contains("`--offline`"),
        "only the trees are here: {run}"
    );
}

#[test]
fn sp_35_a_pinned_commit_needs_no_server_once_it_is_cached() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &at(&daemon.url("shared"), &commit));
    install(&world).ok();
    drop(daemon);
    install_into(&world, "other-sink", &[]).ok();
    assert_eq!(world.files("other-sink"), world.files("sink"));
}

#[test]
fn sp_35_a_server_without_filters_works() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    let two = repo.commit("two");
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    for (git_ref, commit) in [("main", &two), (&one[..8], &one)] {
        world.pack("team", &at(&daemon.url("shared"), git_ref));
        install(&world).ok();
        assert_eq!(commits(&world), [commit.as_str()]);
    }
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

/// An old server as it comes: protocol 0, only what refs point to.
fn old_server(world: &World, repo: &Repo, filter: &str) -> (Daemon, Relay) {
    repo.git(&["config", "uploadpack.allowFilter", filter]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    let relay = Relay::start(&daemon, Meddling::OldProtocol);
    (daemon, relay)
}

#[test]
fn sp_35_a_server_that_refuses_unadvertised_objects_gives_branches_and_tags() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "annotated", "-m", "x"]);
    let two = repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    for (git_ref, commit) in [("main", &two), ("light", &one), ("annotated", &one)] {
        world.pack("team", &at(&relay.url("shared"), git_ref));
        world.sp(&["clean", "--cache"]).ok();
        install(&world).ok();
        assert_eq!(commits(&world), [commit.as_str()], "{git_ref}");
    }
}

#[test]
fn sp_35_an_annotated_tag_that_no_other_ref_points_to_comes_from_an_old_server() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "-a", "annotated", "-m", "x"]);
    repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    world.pack("team", &at(&relay.url("shared"), "annotated"));
    install(&world).ok();
    assert_eq!(commits(&world), [one]);
}

#[test]
fn sp_35_a_commit_that_is_no_tip_comes_from_a_server_that_refuses_unadvertised_objects() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    for git_ref in [one.as_str(), &one[..8]] {
        world.pack("team", &at(&relay.url("shared"), git_ref));
        world.sp(&["clean", "--cache"]).ok();
        install(&world).ok();
        assert_eq!(commits(&world), [one.as_str()], "{git_ref}");
    }
}

#[test]
fn sp_35_a_server_that_filters_but_refuses_single_objects_works() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let (_daemon, relay) = old_server(&world, &repo, "true");
    world.pack("team", &at(&relay.url("shared"), "main"));
    install(&world).ok();
    assert_eq!(commits(&world), [commit]);
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn sp_35_another_repository_around_or_in_the_environment_makes_no_difference() {
    let mut world = world!();
    let repo = shared(&world);
    repo.commit("one");
    let around = Repo::new(world.repo());
    let bystander = world.git("bystander");
    bystander.skill("tools/wrong");
    bystander.commit("wrong");
    world.pack("team", &pack(&repo.url(), ""));
    around.commit("the authoring repository");
    let before = (world.files("home/repo"), world.files("git"));
    let git_dir = bystander.path().join(".git").display().to_string();
    world.set_env("GIT_DIR", &git_dir);
    world.set_env("GIT_WORK_TREE", &bystander.path().display().to_string());
    world.set_env("GIT_INDEX_FILE", &format!("{git_dir}/index"));
    world.set_env("GIT_OBJECT_DIRECTORY", &format!("{git_dir}/objects"));
    world.set_env("GIT_NAMESPACE", "elsewhere");
    world.set_env("GIT_CEILING_DIRECTORIES", "/");
    world.set_env("GIT_CONFIG_COUNT", "1");
    world.set_env("GIT_CONFIG_KEY_0", &format!("url.{}.insteadOf", bystander.url()));
    world.set_env("GIT_CONFIG_VALUE_0", &repo.url());
    install(&world).ok();
    let path = world.path("sink").display().to_string();
    world
        .sp_in(
            "git/bystander",
            &["install", "team", "--agent", "custom", "--path", &path, "--root", "../../home/repo"],
        )
        .ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
    assert!(
        (world.files("home/repo"), world.files("git")) == before,
        "no repository was written to"
    );
}

#[test]
fn sp_35_several_repositories_are_imported_at_once() {
    let world = world!();
    let mut yaml = String::from("name: team\nimports:\n");
    for number in 0..10 {
        let repo = world.git(&format!("repo{number}"));
        repo.skill(&format!("tools/s{number}"));
        repo.commit("one");
    }
    let daemon = Daemon::start(&world.path("git"));
    for number in 0..10 {
        yaml +=
            &format!("- {{repo: '{}', include: ['**']}}\n", daemon.url(&format!("repo{number}")));
    }
    world.pack("team", &yaml);
    install(&world).ok();
    let wanted: Vec<String> = (0..10).map(|number| format!("team__tools__s{number}")).collect();
    assert_eq!(folders(&world, "sink"), wanted);
}

#[test]
fn sp_35_a_repository_with_three_thousand_files() {
    let world = world!();
    let repo = shared(&world);
    for number in 0..3000 {
        repo.write(&format!("tools/review/{}/{number}", number % 30), format!("{number}\n"));
    }
    repo.commit("many");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    install(&world).ok();
    let files = world.files("sink/team__tools__review");
    assert_eq!(files.values().filter(|entry| matches!(entry, Entry::File(..))).count(), 3002);
    assert_eq!(files["29/2999"], Entry::File("2999\n".into(), false));
}

#[test]
fn sp_35_every_git_brings_about_the_same() {
    let world = world!();
    main_scenarios(&world);
}

#[test]
fn sp_35_an_older_git_brings_about_the_same() {
    let mut world = world!();
    world.set_env("PATH", OLDER_GIT);
    main_scenarios(&world);
}

#[test]
fn sp_35_an_older_git_fetches_only_what_is_selected_and_reads_sha_256() {
    let mut world = world!();
    world.set_env("PATH", OLDER_GIT);
    let repo = Repo::with(world.path("git/shared"), &["--object-format=sha256"]);
    repo.skill("tools/review").write("other/data", noise(100_000));
    repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    install(&world).ok();
    assert_eq!(cached_blobs(&world, &repo), ids(&repo, &["tools/review/SKILL.md"]));
}
