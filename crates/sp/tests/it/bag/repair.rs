//! Reports of `sp bag check --fix` and of dry runs.

use super::*;

#[test]
fn sb_01_fixed_files_include_those_that_were_created() {
    let world = workspace();
    for file in ["ws/.skills/SKILLS.md", "ws/.gitignore"] {
        std::fs::remove_file(world.path(file)).unwrap();
    }
    let files = |report: &serde_json::Value| -> Vec<String> {
        let fixed = report["fixed"].as_array().unwrap().iter();
        fixed.map(|item| item["file"].as_str().unwrap().to_owned()).collect()
    };
    let plan = json_of(&bag(&world, &["check", "--fix", "--dry-run", "--json"]).fails(1));
    assert!(!world.path("ws/.gitignore").exists());
    assert_eq!(plan["summary"]["errors"], 0, "the repair would create the catalog: {plan}");
    let report = json_of(&bag(&world, &["check", "--fix", "--json"]).ok());
    assert_eq!(files(&report), [".gitignore", ".skills/SKILLS.md"], "{report}");
    assert_eq!(files(&plan), files(&report), "a dry run lists the same files");
    assert!(report["fixed"][0]["diff"].as_str().unwrap().contains("+USER_CONTEXT.md"), "{report}");
    assert_eq!(files(&json_of(&bag(&world, &["check", "--fix", "--json"]).ok())), [""; 0]);
}

#[test]
fn sb_05_a_dry_run_predicts_whether_the_catalog_changes() {
    let world = workspace();
    let source = source_dir(&world, "source", &SourceFiles::new(&["review"]));
    for args in [
        &["add", "review", "--source", &source][..],
        &["add", "review"],
        &["add", "review", "--upgrade"],
        &["sync"],
        &["remove", "review"],
    ] {
        let plan = json(&world, &[args, &["--dry-run"]].concat());
        let report = json(&world, args);
        assert_eq!(plan["catalog_changed"], report["catalog_changed"], "{args:?}");
        assert_eq!(plan["skills"], report["skills"], "{args:?}");
    }
}

fn json_of(run: &sp_testkit::Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}
