//! `sp add` without `--skill` and `--all`: on a terminal, the user picks; elsewhere, it fails.

use super::*;

const ADD: &[&str] = &["--root", "../app", "add", "acme/skills", "-a", "claude"];

#[test]
fn lc_10_skills_are_picked_from_the_keyboard() {
    let project = Project::new();
    let run = project.world.sp_on_terminal(100, ADD, "9\nfirst\n1,3\n", &[]).ok();
    for shown in ["   1  docx", "   3  xlsx", "`9` is not a number from 1 to 3", "`first` is not"] {
        assert!(run.stdout.contains(shown), "{shown}: {run}");
    }
    assert_eq!(project.skills(CLAUDE), ["docx", "xlsx"]);
    assert!(project.read("skillpack.yaml").contains("[skills/docx, skills/xlsx]"));
    project.world.sp_on_terminal(100, ADD, "all\n", &[]).ok();
    assert_eq!(project.skills(CLAUDE), ["docx", "pdf", "xlsx"]);
}

#[test]
fn lc_10_picking_nothing_changes_nothing() {
    for typed in ["\u{4}", "\n"] {
        let project = Project::new();
        let run = project.world.sp_on_terminal(100, ADD, typed, &[]);
        assert_ne!(run.code, Some(0), "{typed:?}: {run}");
        assert!(!project.path("skillpack.yaml").exists(), "{typed:?}: {run}");
        assert!(!project.path(CLAUDE).exists(), "{typed:?}: {run}");
    }
}

#[test]
fn lc_10_an_interrupt_while_picking_changes_nothing() {
    let project = Project::new();
    let interrupt = ("or `all`: ", "\u{3}");
    let run = project.world.sp_after_prompt(100, ADD, interrupt, &[]);
    assert_eq!(run.code, Some(130), "{run}");
    assert!(!run.stdout.contains("not restored"), "{run}");
    assert!(!project.path("skillpack.yaml").exists() && !project.path(CLAUDE).exists(), "{run}");
    // Nothing is left to recover, and no lock is held.
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    assert_eq!(project.skills(CLAUDE), ["pdf"]);
}

#[test]
fn lc_10_without_a_terminal_skills_are_listed_without_waiting_for_an_answer() {
    let project = Project::new();
    // Nothing is ever written to this pipe, and it is not closed either.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = project.world.command(ADD);
    command.stdin(reader);
    let run = project.world.run(command);
    drop(writer);
    assert_eq!(run.code, Some(2), "{run}");
    for shown in ["3 skills", "docx, pdf, xlsx", "--skill <name>", "--all"] {
        assert!(run.stderr.contains(shown), "{shown}: {run}");
    }
    assert!(!project.path("skillpack.yaml").exists());
}
