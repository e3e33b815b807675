//! The findings of `sp check` for many small skills, packs, repositories, configurations,
//! workspaces, packages and context packs.
//!
//! A case is a directory `corpus/<RULE>/<case>/`: its input is in `tree/`, the expected findings
//! are in `expected.snap`. The rule is the one that the case is about; cases without problems are
//! below `corpus/valid/`. A snapshot includes the text that the bytes of a finding select, so it
//! proves the position.
//!
//! Every case is checked and fixed by the engine in this process, and [`check`] also asserts what
//! must be true of every case. Some cases of each folder are then compared with the output of `sp`
//! itself, in all formats; see [`end_to_end`].
//!
//! To add a case, create its `tree/` and run the test of its rule with `INSTA_UPDATE=always`, then
//! read the new `expected.snap`.

mod case;
mod end_to_end;
mod rules;

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sp_engine::CheckStrictness;
use sp_testkit::world;

use case::{CaseWorld, count};
use end_to_end::check_end_to_end;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

/// A directory of the corpus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    /// The rule, or a folder below `valid`.
    folder: String,
    name: String,
}

impl Case {
    fn dir(&self) -> PathBuf {
        Path::new(CORPUS).join(&self.folder).join(&self.name)
    }

    /// Returns the expected findings, or nothing if there are none yet.
    pub(crate) fn expected(&self) -> String {
        std::fs::read_to_string(self.dir().join("expected.snap")).unwrap_or_default()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.folder, self.name)
    }
}

/// Returns the folders of cases.
fn folders() -> Vec<String> {
    let rules = dirs("").into_iter().filter(|folder| folder != "valid");
    rules.chain(dirs("valid").iter().map(|folder| format!("valid/{folder}"))).collect()
}

fn cases_in(folder: &str) -> Vec<Case> {
    let case = |name| Case { folder: folder.into(), name };
    dirs(folder).into_iter().map(case).collect()
}

/// Returns every case of the corpus.
pub(crate) fn cases() -> Vec<Case> {
    folders().iter().flat_map(|folder| cases_in(folder)).collect()
}

/// Returns the names of the directories in a folder of the corpus, sorted.
fn dirs(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(Path::new(CORPUS).join(folder)).unwrap().map(Result::unwrap);
    let dirs = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        dirs.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Checks every case of a folder, and then names all that failed. Compares some of them with the
/// output of the program.
fn check_folder(folder: &str) {
    let cases = cases_in(folder);
    assert!(!cases.is_empty(), "no case in {folder}");
    let mut failed = BTreeSet::new();
    let mut run = |case: &Case, check: fn(&Case)| {
        if catch_unwind(AssertUnwindSafe(|| check(case))).is_err() {
            failed.insert(case.to_string());
        }
    };
    cases.iter().for_each(|case| run(case, check));
    end_to_end_cases(&cases).into_iter().for_each(|case| run(case, check_end_to_end));
    assert!(
        failed.is_empty(),
        "{} of {} cases fail, see above: {failed:?}",
        failed.len(),
        cases.len()
    );
}

/// Checks every case of a folder, which must have no errors or warnings.
fn check_valid_folder(folder: &str) {
    check_folder(folder);
    for case in cases_in(folder) {
        let expected = case.expected();
        assert!(expected.ends_with("exit 0, strict 0\n"), "{case}: {expected}");
    }
}

/// Returns the first case, and the first that can be fixed or else the last.
fn end_to_end_cases(cases: &[Case]) -> BTreeSet<&Case> {
    let is_fixable = |case: &&Case| case.expected().contains("\n  fixable\n");
    let second = cases.iter().find(is_fixable).or(cases.last());
    cases.first().into_iter().chain(second).collect()
}

fn check(case: &Case) {
    let case_world = CaseWorld::new(case);
    let checked = case_world.check(CheckStrictness::Lenient);
    let strict = case_world.check(CheckStrictness::Strict).json;
    let findings = case_world.describe(&checked.json, &strict);
    case_world.assert_formats_agree(&checked);
    case_world.assert_strict_only_raises_severity(&checked.json, &strict);
    let diff = case_world.fix(&checked.json);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(case.dir());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("expected", format!("{findings}{diff}")));
}

#[test]
fn sb_23_tags_must_be_a_mapping() {
    for tags in ["- '#run/always'", "'#run/always'"] {
        let world = world!();
        world.write("SKILLBAG.md", "SkillBag v0.3.0\n");
        world.write("USER_CONTEXT.md", format!("## Tags\n\n```yaml\ntags:\n  {tags}\n```\n"));
        let report: Value =
            serde_json::from_str(&world.sp(&["check", "--format", "json"]).stdout).unwrap();
        let is_about_tags =
            |finding: &Value| finding["file"] == "USER_CONTEXT.md" && finding["rule"] == "SB-23";
        assert_eq!(count(&report, is_about_tags), 1, "{tags}: {report}");
    }
}
