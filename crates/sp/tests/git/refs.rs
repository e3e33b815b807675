//! Tags, branches and commits.

use super::*;

#[test]
fn sp_09_executable_bits_are_kept_and_no_others() {
    let world = world!();
    let repo = shared(&world);
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
fn sp_10_a_ref_is_a_tag_a_branch_or_a_commit_and_head_without_one() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "annotated", "-m", "a tag with a body"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: Two.\n---\n");
    let two = repo.commit("two");
    repo.git(&["branch", "topic/x"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: Three.\n---\n");
    let three = repo.commit("three");
    let http = HttpServer::start(&world.path("git"));
    for url in [repo.url(), http.url("shared")] {
        for (git_ref, commit) in [
            ("light", &one),
            ("annotated", &one),
            ("topic/x", &two),
            ("main", &three),
            ("refs/heads/topic/x", &two),
            ("refs/tags/annotated", &one),
            (&three, &three),
            (&one, &one),
            (&three[..7], &three),
            (&one[..7], &one),
        ] {
            world.pack("team", &at(&url, git_ref));
            install(&world).ok();
            assert_eq!(commits(&world), [commit.as_str()], "{url} {git_ref}");
            let want = repo.git(&["show", &format!("{commit}:tools/review/SKILL.md")]);
            assert_eq!(text(&world, "team__tools__review/SKILL.md"), want, "{url} {git_ref}");
        }
    }
    world.pack("team", &pack(&repo.url(), ""));
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/topic/x"]);
    install(&world).ok();
    assert_eq!(commits(&world), [two], "without a ref, HEAD counts");
}

#[test]
fn sp_10_a_tag_wins_over_a_branch_of_its_name_with_a_warning() {
    let world = world!();
    let repo = shared(&world);
    let tagged = repo.commit("one");
    repo.git(&["tag", "-a", "stable", "-m", "x"]);
    repo.commit("two");
    repo.git(&["branch", "stable"]);
    world.pack("team", &at(&repo.url(), "stable"));
    let run = install(&world).ok();
    assert_eq!(commits(&world), [tagged]);
    assert!(
        run.stderr.contains("has a tag and a branch called `stable`: the tag is used"),
        "{run}"
    );
}

#[test]
fn sp_10_an_unknown_ref_is_an_error_that_suggests() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    repo.git(&["tag", "v1.3.0"]);
    for (git_ref, words) in [
        ("v1.3.1", "did you mean `v1.3.0`?"),
        ("mian", "did you mean `main`?"),
        ("deadbee", "git ls-remote"),
        (&"5".repeat(40), "cannot fetch"),
    ] {
        world.pack("team", &at(&repo.url(), git_ref));
        let run = install(&world);
        assert!(matches!(run.code, Some(1 | 5)), "{run}");
        assert!(
            run.stderr.contains(words) && run.stderr.contains(git_ref.get(..7).unwrap_or(git_ref))
                || git_ref.len() == 40,
            "{run}"
        );
        assert!(!world.path("sink").exists());
    }
}

#[test]
fn sp_10_a_head_that_points_nowhere_is_not_an_empty_repository() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/gone"]);
    world.pack("team", &pack(&repo.url(), ""));
    let run = install(&world).fails(1);
    assert!(!run.stderr.contains("has no commits"), "it has one, on `main`: {run}");
    assert!(run.stderr.contains("ref"), "the way out is to name a ref: {run}");
}

#[test]
fn sp_10_an_empty_repository_is_a_clear_error() {
    let world = world!();
    let repo = world.git("shared");
    world.pack("team", &pack(&repo.url(), ""));
    let run = install(&world).fails(1);
    assert!(run.stderr.contains("has no commits"), "{run}");
}

#[test]
fn sp_10_a_sha_256_repository_works() {
    let world = world!();
    let repo = Repo::with(world.path("git/shared"), &["--object-format=sha256"]);
    repo.skill("tools/review");
    let one = repo.commit("one");
    let two = repo.commit("two");
    assert_eq!(one.len(), 64);
    let http = HttpServer::start(&world.path("git"));
    for url in [repo.url(), http.url("shared")] {
        for (git_ref, commit) in [("main", &two), (&one[..10], &one), (&one, &one)] {
            world.pack("team", &at(&url, git_ref));
            install(&world).ok();
            assert_eq!(commits(&world), [commit.as_str()], "{url} {git_ref}");
        }
    }
    assert_eq!(folders(&world, "sink"), ["team__tools__review"]);
}
