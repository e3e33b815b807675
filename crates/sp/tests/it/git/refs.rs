//! Tags, branches and commits.

use super::*;

#[test]
fn sp_09_only_executable_bits_are_kept() {
    let world = world!();
    let repo = shared_repo(&world);
    std::fs::set_permissions(
        repo.path().join("tools/review/scripts/run.sh"),
        PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    install(&world).ok();
    let mode = |path: &str| {
        world.path("sink/team__tools__review").join(path).metadata().unwrap().permissions().mode()
            & 0o7777
    };
    assert_eq!(mode("scripts/run.sh") & 0o7133, 0o111, "{:o}", mode("scripts/run.sh"));
    assert_eq!(mode("SKILL.md") & 0o7133, 0, "{:o}", mode("SKILL.md"));
}

#[test]
fn sp_10_ref_is_a_tag_branch_or_commit_and_defaults_to_head() {
    let world = world!();
    let repo = shared_repo(&world);
    let first = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "annotated", "-m", "a tag with a body"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: Two.\n---\n");
    let second = repo.commit("two");
    repo.git(&["branch", "topic/x"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: Three.\n---\n");
    let third = repo.commit("three");
    let http = HttpServer::start(&world.path("git"));
    for url in [repo.url(), http.url("shared")] {
        for (git_ref, commit) in [
            ("light", &first),
            ("annotated", &first),
            ("topic/x", &second),
            ("main", &third),
            ("refs/heads/topic/x", &second),
            ("refs/tags/annotated", &first),
            (&third, &third),
            (&first, &first),
            (&third[..7], &third),
            (&first[..7], &first),
        ] {
            world.pack("team", &pack_at(&url, git_ref));
            install(&world).ok();
            assert_eq!(commits(&world), [commit.as_str()], "{url} {git_ref}");
            let expected = repo.git(&["show", &format!("{commit}:tools/review/SKILL.md")]);
            assert_eq!(read(&world, "team__tools__review/SKILL.md"), expected, "{url} {git_ref}");
        }
    }
    world.pack("team", &pack(&repo.url(), ""));
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/topic/x"]);
    install(&world).ok();
    assert_eq!(commits(&world), [second], "HEAD without a ref");
}

#[test]
fn sp_10_tag_is_preferred_to_a_branch_with_a_warning() {
    let world = world!();
    let repo = shared_repo(&world);
    let tagged = repo.commit("one");
    repo.git(&["tag", "-a", "stable", "-m", "x"]);
    repo.commit("two");
    repo.git(&["branch", "stable"]);
    world.pack("team", &pack_at(&repo.url(), "stable"));
    let run = install(&world).ok();
    assert_eq!(commits(&world), [tagged]);
    assert!(run.stderr.contains("warning:") && run.stderr.contains("`stable`"), "{run}");
}

#[test]
fn sp_10_unknown_ref_is_an_error_with_a_suggestion() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    repo.git(&["tag", "v1.3.0"]);
    for (git_ref, hint) in
        [("v1.3.1", "`v1.3.0`"), ("mian", "`main`"), ("deadbee", "git ls-remote")]
    {
        world.pack("team", &pack_at(&repo.url(), git_ref));
        let error = install_error(&world, &[]);
        assert_eq!(error.code, "E-git-ref-not-found");
        assert!(error.message.contains(git_ref) && error.hints_at(hint), "{error:#?}");
        assert!(!world.path("sink").exists());
    }
    world.pack("team", &pack_at(&repo.url(), &"5".repeat(40)));
    assert_eq!(install_error(&world, &[]).code, "E-git");
}

#[test]
fn sp_10_dangling_head_is_an_error_that_suggests_a_ref() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/gone"]);
    world.pack("team", &pack(&repo.url(), ""));
    let error = install_error(&world, &[]);
    assert_eq!(error.code, "E-git-ref-not-found");
    assert!(error.hints_at("`ref"), "{error:#?}");
}

#[test]
fn sp_10_empty_repository_is_an_error() {
    let world = world!();
    let repo = world.git("shared");
    world.pack("team", &pack(&repo.url(), ""));
    let error = install_error(&world, &[]);
    assert_eq!(error.code, "E-git-ref-not-found");
    assert!(!error.hints_at("`ref"), "{error:#?}");
}

#[test]
fn sp_10_sha_256_repository_is_supported() {
    let world = world!();
    let repo = GitRepository::with(world.path("git/shared"), &["--object-format=sha256"]);
    repo.skill("tools/review");
    let first = repo.commit("one");
    let second = repo.commit("two");
    assert_eq!(first.len(), 64);
    let http = HttpServer::start(&world.path("git"));
    for url in [repo.url(), http.url("shared")] {
        for (git_ref, commit) in [("main", &second), (&first[..10], &first), (&first, &first)] {
            world.pack("team", &pack_at(&url, git_ref));
            install(&world).ok();
            assert_eq!(commits(&world), [commit.as_str()], "{url} {git_ref}");
        }
    }
    assert_eq!(folders(&world, "sink"), ["team__tools__review"]);
}
