//! What is fetched, from different servers and with different versions of git.

use super::*;

/// Returns a pack with `tools/review` from one ref and `tools/deploy` from another.
fn pack_at_two_refs(url: &str, review_ref: &str, deploy_ref: &str) -> String {
    let import = |git_ref, id| format!("- {{repo: '{url}', ref: {git_ref}, include: [{id}]}}\n");
    let imports = import(review_ref, "tools/review") + &import(deploy_ref, "tools/deploy");
    format!("name: team\nimports:\n{imports}")
}

#[test]
fn sp_35_one_repository_can_be_imported_at_two_refs() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.write("tools/deploy/notes", "one").write("tools/review/notes", "one");
    let first = repo.commit("one");
    repo.git(&["tag", "v1"]);
    repo.write("tools/deploy/notes", "two").write("tools/review/notes", "two");
    let second = repo.commit("two");
    world.pack("team", &pack_at_two_refs(&repo.url(), "v1", "main"));
    install(&world).ok();
    assert_eq!(
        (read(&world, "team__tools__review/notes"), read(&world, "team__tools__deploy/notes")),
        ("one".into(), "two".into())
    );
    assert_eq!(commits(&world), [first, second]);
}

#[test]
fn sp_35_tag_and_branch_with_its_name_as_prefix_can_be_imported() {
    let world = world!();
    let repo = shared_repo(&world);
    let first = repo.commit("one");
    repo.git(&["tag", "v1"]);
    let second = repo.commit("two");
    repo.git(&["branch", "v1/fix"]);
    world.pack("team", &pack_at_two_refs(&repo.url(), "v1", "v1/fix"));
    install(&world).ok();
    assert_eq!(commits(&world), [first, second]);
    install_into(&world, "sink2", &["--offline"]).ok();
}

#[test]
fn sp_35_install_follows_a_branch_but_not_a_commit() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.write("tools/review/notes", "old");
    let old = repo.commit("one");
    world.pack("team", &pack_at(&repo.url(), "main"));
    install(&world).ok();
    repo.write("tools/review/notes", "new");
    std::fs::remove_dir_all(repo.path().join("tools/deploy")).unwrap();
    let new = repo.commit("two");
    install(&world).ok();
    assert_eq!(
        (read(&world, "team__tools__review/notes"), commits(&world)),
        ("new".into(), vec![new])
    );
    assert_eq!(folders(&world, "sink"), ["team__tools__review"]);
    world.pack("team", &pack_at(&repo.url(), &old));
    install(&world).ok();
    assert_eq!(
        (read(&world, "team__tools__review/notes"), commits(&world)),
        ("old".into(), vec![old])
    );
}

#[test]
fn sp_35_install_follows_a_rewritten_branch() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    world.pack("team", &pack_at(&repo.url(), "main"));
    install(&world).ok();
    repo.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    repo.write("tools/review/notes", "rewritten");
    repo.commit("another history");
    repo.git(&["branch", "--force", "main"]);
    install(&world).ok();
    assert_eq!(read(&world, "team__tools__review/notes"), "rewritten");
}

#[test]
fn sp_35_only_the_blobs_of_selected_skills_are_fetched() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.write("other/big/data", random_bytes(300_000));
    repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    world.sp(&["show", "team"]).ok();
    assert_eq!(cached_blobs(&world, &repo), BTreeSet::new(), "show needs only trees");
    install(&world).ok();
    let expected = blob_ids(
        &repo,
        &["tools/review/SKILL.md", "tools/review/scripts/run.sh", "tools/deploy/SKILL.md"],
    );
    assert_eq!(cached_blobs(&world, &repo), expected);
}

#[test]
fn sp_35_blobs_are_fetched_in_one_batch() {
    let world = world!();
    let repo = shared_repo(&world);
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
fn sp_35_offline_works_after_a_first_install() {
    let world = world!();
    let repo = shared_repo(&world);
    let commit = repo.commit("one");
    for git_ref in ["main", commit.as_str(), &commit[..8]] {
        let daemon = Daemon::start(&world.path("git"));
        world.pack("team", &pack_at(&daemon.url("shared"), git_ref));
        let (online, offline) = (format!("online-{git_ref}"), format!("offline-{git_ref}"));
        install_into(&world, &online, &[]).ok();
        drop(daemon);
        install_into(&world, &offline, &["--offline"]).ok();
        assert_eq!(world.files(&offline), world.files(&online), "{git_ref}");
        assert_eq!(folders(&world, &offline).len(), 2);
    }
}

#[test]
fn sp_35_offline_without_a_first_install_is_an_error() {
    let world = world!();
    let repo = shared_repo(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    for git_ref in ["main", commit.as_str()] {
        world.pack("team", &pack_at(&daemon.url("shared"), git_ref));
        let error = install_error(&world, &["--offline"]);
        assert_eq!(error.code, "E-offline");
        assert!(error.hints_at("`--offline`"), "{error:#?}");
        assert!(!world.path("sink").exists());
    }
    world.pack("team", &pack(&daemon.url("shared"), ""));
    world.sp(&["show", "team"]).ok();
    // Now the cache has only the trees.
    let error = install_error(&world, &["--offline"]);
    assert_eq!(error.code, "E-offline");
    assert!(error.hints_at("`--offline`"), "{error:#?}");
}

#[test]
fn sp_35_cached_commit_needs_no_server() {
    let world = world!();
    let repo = shared_repo(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack_at(&daemon.url("shared"), &commit));
    install(&world).ok();
    drop(daemon);
    install_into(&world, "other-sink", &[]).ok();
    assert_eq!(world.files("other-sink"), world.files("sink"));
}

#[test]
fn sp_35_server_without_filters_is_supported() {
    let world = world!();
    let repo = shared_repo(&world);
    let first = repo.commit("one");
    let second = repo.commit("two");
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    for (git_ref, commit) in [("main", &second), (&first[..8], &first)] {
        world.pack("team", &pack_at(&daemon.url("shared"), git_ref));
        install(&world).ok();
        assert_eq!(commits(&world), [commit.as_str()]);
    }
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

/// Starts a server like old versions of git: protocol 0, and only objects that refs point to.
fn old_server(world: &World, repo: &GitRepository, filter: &str) -> (Daemon, Relay) {
    repo.git(&["config", "uploadpack.allowFilter", filter]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    let relay = Relay::start(&daemon, RelayMode::OldProtocol);
    (daemon, relay)
}

#[test]
fn sp_35_old_server_provides_branches_and_tags() {
    let world = world!();
    let repo = shared_repo(&world);
    let first = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "annotated", "-m", "x"]);
    let second = repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    for (git_ref, commit) in [("main", &second), ("light", &first), ("annotated", &first)] {
        world.pack("team", &pack_at(&relay.url("shared"), git_ref));
        world.sp(&["clean", "--cache"]).ok();
        install(&world).ok();
        assert_eq!(commits(&world), [commit.as_str()], "{git_ref}");
    }
}

#[test]
fn sp_35_old_server_provides_an_annotated_tag_without_a_branch() {
    let world = world!();
    let repo = shared_repo(&world);
    let first = repo.commit("one");
    repo.git(&["tag", "-a", "annotated", "-m", "x"]);
    repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    world.pack("team", &pack_at(&relay.url("shared"), "annotated"));
    install(&world).ok();
    assert_eq!(commits(&world), [first]);
}

#[test]
fn sp_35_old_server_provides_a_commit_that_is_not_a_tip() {
    let world = world!();
    let repo = shared_repo(&world);
    let first = repo.commit("one");
    repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    for git_ref in [first.as_str(), &first[..8]] {
        world.pack("team", &pack_at(&relay.url("shared"), git_ref));
        world.sp(&["clean", "--cache"]).ok();
        install(&world).ok();
        assert_eq!(commits(&world), [first.as_str()], "{git_ref}");
    }
}

#[test]
fn sp_35_old_server_with_filters_is_supported() {
    let world = world!();
    let repo = shared_repo(&world);
    let commit = repo.commit("one");
    let (_daemon, relay) = old_server(&world, &repo, "true");
    world.pack("team", &pack_at(&relay.url("shared"), "main"));
    install(&world).ok();
    assert_eq!(commits(&world), [commit]);
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn sp_35_other_repositories_and_git_variables_are_ignored() {
    let mut world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    let enclosing = GitRepository::new(world.repo());
    let unrelated = world.git("unrelated");
    unrelated.skill("tools/wrong");
    unrelated.commit("wrong");
    world.pack("team", &pack(&repo.url(), ""));
    enclosing.commit("the repository of the packs");
    let before = (world.files("home/repo"), world.files("git"));
    let git_dir = unrelated.path().join(".git").display().to_string();
    world.set_env("GIT_DIR", &git_dir);
    world.set_env("GIT_WORK_TREE", &unrelated.path().display().to_string());
    world.set_env("GIT_INDEX_FILE", &format!("{git_dir}/index"));
    world.set_env("GIT_OBJECT_DIRECTORY", &format!("{git_dir}/objects"));
    world.set_env("GIT_NAMESPACE", "elsewhere");
    world.set_env("GIT_CEILING_DIRECTORIES", "/");
    world.set_env("GIT_CONFIG_COUNT", "1");
    world.set_env("GIT_CONFIG_KEY_0", &format!("url.{}.insteadOf", unrelated.url()));
    world.set_env("GIT_CONFIG_VALUE_0", &repo.url());
    install(&world).ok();
    let path = world.path("sink").display().to_string();
    world
        .sp_in(
            "git/unrelated",
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
fn sp_35_ten_repositories_can_be_imported() {
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
    let expected: Vec<String> = (0..10).map(|number| format!("team__tools__s{number}")).collect();
    assert_eq!(folders(&world, "sink"), expected);
}

#[test]
fn sp_35_skill_with_three_thousand_files_can_be_imported() {
    let world = world!();
    let repo = shared_repo(&world);
    for number in 0..3000 {
        repo.write(&format!("tools/review/{}/{number}", number % 30), format!("{number}\n"));
    }
    repo.commit("many");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    install(&world).ok();
    let files = world.files("sink/team__tools__review");
    assert_eq!(files.values().filter(|entry| matches!(entry, FileEntry::File(..))).count(), 3002);
    assert_eq!(files["29/2999"], FileEntry::File("2999\n".into(), false));
}

#[test]
fn sp_35_first_git_on_the_path_imports_everything() {
    let world = world!();
    import_everything(&world);
}

#[test]
fn sp_35_system_git_imports_everything() {
    let mut world = world!();
    world.set_env("PATH", SYSTEM_GIT_PATH);
    import_everything(&world);
}

#[test]
fn sp_35_system_git_fetches_only_selected_skills_and_reads_sha_256() {
    let mut world = world!();
    world.set_env("PATH", SYSTEM_GIT_PATH);
    let repo = GitRepository::with(world.path("git/shared"), &["--object-format=sha256"]);
    repo.skill("tools/review").write("other/data", random_bytes(100_000));
    repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    install(&world).ok();
    assert_eq!(cached_blobs(&world, &repo), blob_ids(&repo, &["tools/review/SKILL.md"]));
}
