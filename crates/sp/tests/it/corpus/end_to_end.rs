//! `sp check` in a process of its own: its exit codes, and the output in every format.
//!
//! The in-process run of the same case says what to expect, so this proves that the program prints
//! what the engine found.

use std::process::Output;

use serde_json::Value;
use sp_engine::{ApplyMode, CheckStrictness};

use super::Case;
use super::case::{CaseWorld, CheckedCase, count, exit_code, findings, is_fixable};

/// Compares the output of the program with the result of the engine.
pub(super) fn check_end_to_end(case: &Case) {
    let case_world = CaseWorld::new(case);
    let lenient = case_world.check(CheckStrictness::Lenient);
    let strict = case_world.check(CheckStrictness::Strict);
    let program = Program { case, world: &case_world };
    assert_eq!(program.json(&[]), lenient.json, "{case}");
    assert_eq!(program.json(&["--strict"]), strict.json, "{case}: --strict");
    program.check_text_formats(&lenient);
    // In a workspace, the program also creates missing files.
    let repo = case_world.world().repo();
    let is_workspace = ["SKILLBAG.md", ".skills"].iter().any(|name| repo.join(name).exists());
    if count(&lenient.json, is_fixable) > 0 && !is_workspace {
        program.check_fix();
    }
}

/// The program in the world of a case.
struct Program<'a> {
    case: &'a Case,
    world: &'a CaseWorld,
}

impl Program<'_> {
    fn run(&self, args: &[&str]) -> Output {
        let arguments = [&["check"], self.world.targets(), args].concat();
        self.world.world().command(&arguments).output().unwrap()
    }

    fn stdout(&self, args: &[&str]) -> String {
        String::from_utf8(self.run(args).stdout).unwrap()
    }

    /// Returns the JSON output. It must match the exit code.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--format", "json"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{} {args:?}: {e}", self.case));
        assert_eq!(output.status.code(), Some(exit_code(&report)), "{} {args:?}", self.case);
        report
    }

    fn check_text_formats(&self, checked: &CheckedCase) {
        let case = self.case;
        let github = self.stdout(&["--format", "github"]);
        assert_eq!(github, self.world.annotations(checked), "{case}");
        let sarif: Value = serde_json::from_str(&self.stdout(&["--format", "sarif"])).unwrap();
        assert_eq!(sarif, self.world.sarif(checked), "{case}");
        let label = |finding: &Value| {
            let text = |name: &str| finding[name].as_str().unwrap();
            format!("{}[{}]", text("severity"), text("rule"))
        };
        let plain = self.stdout(&["--format", "plain"]);
        assert_eq!(plain.lines().count(), findings(&checked.json).len(), "{case}: {plain}");
        for (line, finding) in plain.lines().zip(findings(&checked.json)) {
            let position =
                format!(":{}:{}: {} ", finding["line"], finding["column"], label(finding));
            assert!(line.contains(&position), "{case}: no `{position}` in {line}");
        }
        let human = self.run(&[]);
        assert_eq!(human.status.code(), Some(exit_code(&checked.json)), "{case}");
        let text = String::from_utf8(human.stdout).unwrap();
        for finding in findings(&checked.json) {
            assert!(text.contains(&label(finding)), "{case}: no {finding} in {text}");
        }
    }

    /// Fixes the case with the program, and a copy of it in this process.
    fn check_fix(&self) {
        let case = self.case;
        let in_process = CaseWorld::new(case);
        let expected = |mode| in_process.without_root(&in_process.fixed(mode));
        let mut planned = self.json(&["--fix", "--dry-run"]);
        let plan = take_plan(&mut planned);
        assert_eq!(self.world.without_root(&planned), expected(ApplyMode::DryRun), "{case}: plan");
        let mut fixed = self.json(&["--fix", "--plan", &plan]);
        assert_eq!(take_plan(&mut fixed), plan, "{case}");
        assert_eq!(self.world.without_root(&fixed), expected(ApplyMode::Apply), "{case}: fix");
        let files = |world: &CaseWorld| world.world().files("home/repo");
        assert_eq!(files(self.world), files(&in_process), "{case}: fix");
    }
}

/// The plan's ID, which only the program reports.
fn take_plan(fixed: &mut Value) -> String {
    let plan = fixed.as_object_mut().and_then(|fixed| fixed.remove("plan"));
    plan.and_then(|plan| plan.as_str().map(str::to_owned)).expect("the ID of a plan")
}
