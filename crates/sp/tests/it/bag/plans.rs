//! Dry runs of the commands that change a workspace, and the IDs of their plans.

use super::*;

/// Runs a dry run, which must change nothing, and returns the ID of its plan.
#[track_caller]
fn dry_run(world: &World, args: &[&str]) -> String {
    let before = world.files("ws");
    let report = json(world, &[args, &["--dry-run"]].concat());
    assert_eq!(world.files("ws"), before, "{args:?}");
    assert!(report["applied"] != true && report["saved"] != true, "{report}");
    report["plan"].as_str().unwrap_or_else(|| panic!("{report}")).into()
}

#[test]
fn mc_03_every_change_of_a_workspace_has_a_plan_id() {
    let world = world!();
    std::fs::create_dir(world.path("ws")).unwrap();
    let source = source_dir(&world, "source", &SourceFiles::new(&["other", "review"]));
    let parameters = "\n## Parameters\n\n```yaml\noptional:\n  - name: style\n```\n";
    let commands: [&[&str]; 6] = [
        &["init"],
        &["add", "review", "--source", &source],
        &["run", "review", "--set", "style=short", "--save"],
        &["sync"],
        &["remove", "review"],
        &["source", "init"],
    ];
    for command in commands {
        if command[0] == "run" {
            write(&world, "ws/.skills/review/SKILL.md", &skill("review", parameters));
        }
        let plan = dry_run(&world, command);
        let other = format!("sha256:{}", "0".repeat(64));
        let error = bag_error(&world, &[command, &["--plan", &other]].concat());
        assert_eq!(error.code, "E-plan-mismatch", "{command:?}");
        let report = json(&world, &[command, &["--plan", &plan]].concat());
        assert_eq!(report["plan"], *plan, "{command:?}");
        assert!(report["applied"] == true || report["saved"] == true, "{report}");
    }
    assert_no_leftovers(&world, "plans");
}

#[test]
fn mc_03_plan_of_a_workspace_covers_edits_made_after_the_dry_run() {
    let world = workspace();
    let source = source_dir(&world, "source", &SourceFiles::new(&["review"]));
    bag(&world, &["add", "review", "--source", &source]).ok();
    SourceFiles::new(&[]).with_skill("review", "Twice.\n").write_to(&world.path("source"));
    let upgrade = ["add", "review", "--upgrade", "--force"];
    let plan = dry_run(&world, &upgrade);
    write(&world, "ws/.skills/review/NOTES.md", "mine\n");
    let error = bag_error(&world, &[&upgrade[..], &["--plan", &plan]].concat());
    assert_eq!(error.code, "E-plan-mismatch");
    assert_eq!(read(&world, "ws/.skills/review/NOTES.md"), "mine\n");
}

#[test]
fn mc_03_dry_run_of_a_workspace_prints_the_command_that_applies_it() {
    let world = world!();
    let run = world.sp(&["bag", "init", "ws", "-n"]).ok();
    assert!(!world.repo().join("ws").exists(), "{run}");
    let report = serde_json::from_str::<serde_json::Value>(
        &world.sp(&["bag", "init", "ws", "-n", "--json"]).ok().stdout,
    )
    .unwrap();
    let plan = report["plan"].as_str().unwrap();
    let line = run.stdout.lines().find(|line| line.starts_with("to apply this plan: ")).unwrap();
    // The harness masks plan IDs in output.
    let words = line.split(' ').skip_while(|word| *word != "bag");
    let command: Vec<&str> = words.map(|word| if word == "[PLAN]" { plan } else { word }).collect();
    world.sp(&command).ok();
    assert!(world.repo().join("ws/SKILLBAG.md").exists());
}
