//! `sp outdated` and `sp update`, with and without local edits.

use super::*;

const SKILL: &str = ".claude/skills/pdf/SKILL.md";

/// A project with a skill of which there is a newer version.
fn outdated_project() -> Project {
    let project = Project::new();
    project.upstream.write("skills/pdf/SKILL.md", OLD_PDF).commit("old");
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    project.upstream.write("skills/pdf/SKILL.md", NEW_PDF).commit("new");
    project
}

#[test]
fn lc_12_outdated_and_update_show_what_changes() {
    let project = outdated_project();
    insta::assert_snapshot!(project.sp(&["outdated"]), @"
    exit: 0
    --- stdout
    github.com/acme/skills  dc80f61dccc7 → 6a2e0262a080
      pdf

    1 source outdated; run `sp update --dry-run --diff` to see what changes
    ");
    project.sp(&["outdated", "--exit-code"]).fails(1);
    insta::assert_snapshot!(project.sp(&["update", "--dry-run", "--diff"]), @"
    exit: 0
    --- stdout
    ~ pdf  github.com/acme/skills
    pdf/SKILL.md
    @@ -4,5 +4,5 @@
     ---
     
    -First line.
    +New first line.
     
     Middle line.


    would update for claude · .claude/skills · 1 updated
    would write skillpack.lock

    to apply this plan: sp update --plan [PLAN] --diff
    ");
    assert_eq!(project.read(SKILL), OLD_PDF);
    insta::assert_snapshot!(project.sp(&["update"]), @"
    exit: 0
    --- stdout
    ~ pdf  github.com/acme/skills

    updated for claude · .claude/skills · 1 updated
    wrote skillpack.lock
    ");
    assert_eq!(project.read(SKILL), NEW_PDF);
    insta::assert_snapshot!(project.sp(&["outdated"]), @"
    exit: 0
    --- stdout
    everything is up to date
    ");
    let before = project.world.files("home/app");
    project.sp(&["update"]).ok();
    assert_eq!(before, project.world.files("home/app"));
}

#[test]
fn lc_14_disjoint_edits_are_merged() {
    let project = outdated_project();
    let edited = |text: &str| text.replace("Last line.", "My last line.");
    project.write(SKILL, &edited(OLD_PDF));
    insta::assert_snapshot!(project.sp(&["update"]), @"
    exit: 0
    --- stdout
    ~ pdf  github.com/acme/skills
    merged your edits of `.claude/skills/pdf`

    kept the previous `pdf` in ~/.skillpack/trash/[RUN]/0/pdf
    updated for claude · .claude/skills · 1 updated
    wrote skillpack.lock
    ");
    assert_eq!(project.read(SKILL), edited(NEW_PDF));
    // It stays edited: the next sync keeps it, and the next update merges again.
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.read(SKILL), edited(NEW_PDF));
    let newest = NEW_PDF.replace("Middle line.", "Newest middle line.");
    project.upstream.write("skills/pdf/SKILL.md", &newest).commit("newest");
    project.sp(&["update"]).ok();
    assert_eq!(project.read(SKILL), edited(&newest));
}

#[test]
fn lc_14_a_conflict_leaves_the_folder_untouched_until_it_is_resolved() {
    for (choice, expected) in [("--ours", "mine"), ("--theirs", NEW_PDF)] {
        let project = outdated_project();
        let mine = OLD_PDF.replace("First line.", "My first line.");
        project.write(SKILL, &mine);
        let run = project.sp(&["update"]).fails(1);
        assert!(run.stdout.contains("conflict") && run.stdout.contains("--theirs"), "{run}");
        assert_eq!(project.read(SKILL), mine);
        // It is reported until it is resolved.
        project.sp(&["sync"]).fails(1);
        assert_eq!(project.read(SKILL), mine);
        project.sp(&["update", "pdf", choice]).ok();
        let expected = if expected == "mine" { &mine } else { expected };
        assert_eq!(project.read(SKILL), expected, "{choice}");
        project.sp(&["sync"]).ok();
        assert_eq!(project.read(SKILL), expected, "{choice}");
        if choice == "--theirs" {
            let trash = project.world.files("home/.skillpack/trash");
            assert!(trash.keys().any(|name| name.ends_with("SKILL.md")), "{trash:?}");
        }
    }
}

#[test]
fn lc_14_policies_of_the_manifest_decide_about_edits() {
    for (policy, code, expected) in
        [("keep", Some(0), "mine"), ("replace", Some(0), NEW_PDF), ("fail", Some(4), "mine")]
    {
        let project = outdated_project();
        let manifest = project.read("skillpack.yaml") + &format!("edits: {policy}\n");
        project.write("skillpack.yaml", &manifest);
        let mine = OLD_PDF.replace("First line.", "My first line.");
        project.write(SKILL, &mine);
        let lock = project.read("skillpack.lock");
        let run = project.sp(&["update"]);
        assert_eq!(run.code, code, "{policy}: {run}");
        let expected = if expected == "mine" { &mine } else { expected };
        assert_eq!(project.read(SKILL), expected, "{policy}");
        assert_eq!(project.read("skillpack.lock") == lock, policy == "fail", "{policy}");
    }
}

#[test]
fn lc_14_committed_edits_of_others_are_merged_without_their_state() {
    let project = outdated_project();
    let edited = |text: &str| text.replace("Last line.", "My last line.");
    project.write(SKILL, &edited(OLD_PDF));
    std::fs::remove_dir_all(project.world.path("home/.skillpack")).unwrap();
    project.sp(&["sync"]).ok();
    assert_eq!(project.read(SKILL), edited(OLD_PDF));
    std::fs::remove_dir_all(project.world.path("home/.skillpack")).unwrap();
    project.sp(&["update"]).ok();
    assert_eq!(project.read(SKILL), edited(NEW_PDF));
}

#[test]
fn lc_12_a_source_whose_history_changed_is_not_updated_silently() {
    let project = outdated_project();
    let before = project.world.files("home/app");
    project.upstream.git(&["commit", "--quiet", "--amend", "-m", "rewritten"]);
    project.upstream.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    project.upstream.write("skills/pdf/SKILL.md", "Evil.\n").commit("evil");
    let error = project.world.sp_error_in("home/app", &["update", "pdf"]);
    assert_eq!(error.code, "E-rewritten-branch", "{error:?}");
    assert_eq!(before, project.world.files("home/app"));
    project.sp(&["update"]).ok();
    assert_eq!(before, project.world.files("home/app"));
    std::fs::rename(project.upstream.path(), project.world.path("git/gone")).unwrap();
    let error = project.world.sp_error_in("home/app", &["update", "pdf"]);
    assert_eq!(error.code, "E-source-gone", "{error:?}");
    assert_eq!(before, project.world.files("home/app"));
}
