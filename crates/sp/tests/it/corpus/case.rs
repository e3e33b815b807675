//! A case in its own world: what a check finds in it, and what must be true of every case.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use similar::TextDiff;
use sp_engine::{ApplyMode, CheckRequest, CheckResults, CheckStrictness, FixedFile, ImportPolicy};
use sp_formats::output::FixedFileItem;
use sp_formats::printable::mask_secrets;
use sp_formats::report::{github_annotation, sarif_log};
use sp_testkit::{World, world};

use super::Case;
use crate::support::engine::engine_context;

/// A case in its own world, checked in this process.
pub(super) struct CaseWorld {
    case: Case,
    world: World,
}

/// What a check of a case found, as the engine returns it and as `sp` prints it.
pub(super) struct CheckedCase {
    pub(super) results: CheckResults,
    /// The value that `--format json` prints.
    pub(super) json: Value,
}

impl CaseWorld {
    pub(super) fn new(case: &Case) -> Self {
        let world = world!();
        std::fs::remove_dir_all(world.repo()).unwrap();
        copy(&case.dir().join("tree"), &world.repo());
        Self { case: case.clone(), world }
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    /// Replaces the root of the world, so that reports of two worlds can be compared.
    pub(super) fn without_root(&self, report: &Value) -> Value {
        let root = self.world.root().display().to_string();
        serde_json::from_str(&report.to_string().replace(&root, "[WORLD]")).unwrap()
    }

    /// The targets, as arguments. A configuration is only checked if it is named.
    pub(super) fn targets(&self) -> &'static [&'static str] {
        if self.world.repo().join("config.yaml").exists() { &["config.yaml"] } else { &[] }
    }

    fn request(&self, strictness: CheckStrictness) -> CheckRequest {
        CheckRequest {
            paths: self.targets().iter().map(PathBuf::from).collect(),
            root: None,
            strictness,
            imports: ImportPolicy::Skip,
            baseline: None,
        }
    }

    pub(super) fn check(&self, strictness: CheckStrictness) -> CheckedCase {
        let results = sp_engine::check(&engine_context(&self.world), &self.request(strictness));
        self.checked(results.unwrap(), Vec::new())
    }

    fn checked(&self, results: CheckResults, fixed: Vec<FixedFileItem>) -> CheckedCase {
        let json = serde_json::to_value(results.to_report(fixed)).unwrap();
        let counts =
            ["errors", "warnings", "notes"].map(|name| json["summary"][name].as_u64().unwrap());
        let sum: u64 = counts.iter().sum();
        assert_eq!(usize::try_from(sum).unwrap(), findings(&json).len(), "{}: {json}", self.case);
        CheckedCase { results, json }
    }

    /// Fixes what can be fixed, and checks what remains.
    pub(super) fn fixed(&self, mode: ApplyMode) -> Value {
        let request = self.request(CheckStrictness::Lenient);
        let fixed = sp_engine::fix(&engine_context(&self.world), &request, mode).unwrap();
        let applied = fixed.applied;
        let item = |file: &FixedFile| FixedFileItem {
            file: file.file.clone(),
            applied,
            diff: unified_diff(file),
        };
        let files = fixed.files.iter().map(item).collect();
        self.checked(fixed.remaining, files).json
    }

    /// Lists the findings and the exit codes. Messages and help are not included, so that their
    /// wording can change; the values that a message quotes are.
    pub(super) fn describe(&self, report: &Value, strict: &Value) -> String {
        let mut lines = String::new();
        for finding in findings(report) {
            let position = self.position(finding);
            let text = |name: &str| visible(finding[name].as_str().unwrap());
            write!(lines, "{position} {} {}", text("severity"), text("rule")).unwrap();
            for quoted in text("message").split('`').skip(1).step_by(2) {
                write!(lines, " `{quoted}`").unwrap();
            }
            lines += "\n";
            if let Some(selected) = self.selected_text(finding) {
                writeln!(lines, "  cut: {}", shortened(&selected)).unwrap();
            }
            if finding["fixable"] == true {
                writeln!(lines, "  fixable").unwrap();
            }
            lines += "\n";
        }
        for unreadable in report["unreadable"].as_array().unwrap() {
            writeln!(lines, "unreadable: {}\n", unreadable["code"]).unwrap();
        }
        writeln!(lines, "exit {}, strict {}", exit_code(report), exit_code(strict)).unwrap();
        lines
    }

    fn position(&self, finding: &Value) -> String {
        let file = visible(finding["file"].as_str().unwrap());
        let number = |name: &str| finding[name].as_u64();
        match (number("end_line"), number("end_column")) {
            (Some(end_line), Some(end_column)) => {
                format!("{file}:{}:{}-{end_line}:{end_column}", finding["line"], finding["column"])
            }
            _ => {
                assert_eq!(
                    (number("line"), number("column")),
                    (Some(1), Some(1)),
                    "{}: {finding}",
                    self.case
                );
                file
            }
        }
    }

    /// Returns the text of the file that the bytes of a finding select. Its lines and columns must
    /// match.
    fn selected_text(&self, finding: &Value) -> Option<String> {
        let number = |name: &str| finding[name].as_u64().map(|n| usize::try_from(n).unwrap());
        let (start, end) = (number("start_byte")?, number("end_byte")?);
        let path = self.world.repo().join(finding["file"].as_str().unwrap());
        // Files inside of a package do not exist on disk.
        if path.ancestors().skip(1).any(Path::is_file) {
            return None;
        }
        let bytes = std::fs::read(path).unwrap();
        for (offset, line, column) in [(start, "line", "column"), (end, "end_line", "end_column")] {
            let before = std::str::from_utf8(&bytes[..offset])
                .unwrap_or_else(|e| panic!("{}: {e}: {finding}", self.case));
            let expected = (
                before.matches('\n').count() + 1,
                before.rsplit('\n').next().unwrap().chars().count() + 1,
            );
            let actual = (number(line).unwrap(), number(column).unwrap());
            assert_eq!(actual, expected, "{}: {finding}", self.case);
        }
        Some(String::from_utf8(bytes[start..end].to_vec()).unwrap())
    }

    /// Asserts that the formats for other programs have every finding.
    pub(super) fn assert_formats_agree(&self, checked: &CheckedCase) {
        let expected = findings(&checked.json).len();
        assert_eq!(self.annotations(checked).lines().count(), expected, "{}: github", self.case);
        let sarif = self.sarif(checked);
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), expected, "{}: {sarif}", self.case);
    }

    /// Returns what `--format github` prints.
    pub(super) fn annotations(&self, checked: &CheckedCase) -> String {
        let files = checked.results.files.iter();
        let placed = files.flat_map(|file| file.findings.iter().map(move |found| (file, found)));
        placed
            .map(|(file, found)| github_annotation(file, found, &self.world.repo()) + "\n")
            .collect()
    }

    /// Returns what `--format sarif` prints.
    pub(super) fn sarif(&self, checked: &CheckedCase) -> Value {
        serde_json::to_value(sarif_log(
            &checked.results.files,
            sp_engine::check_rules(),
            &self.world.repo(),
        ))
        .unwrap()
    }

    pub(super) fn assert_strict_only_raises_severity(&self, report: &Value, strict: &Value) {
        assert_eq!(count(strict, |finding| finding["severity"] == "warning"), 0, "{}", self.case);
        let positions = |report: &Value| -> Vec<String> {
            let mut lines: Vec<String> =
                findings(report).iter().map(|finding| self.position(finding)).collect();
            lines.sort();
            lines
        };
        assert_eq!(positions(strict), positions(report), "{}", self.case);
    }

    /// Fixes what can be fixed, and returns the diffs.
    pub(super) fn fix(&self, report: &Value) -> String {
        let case = &self.case;
        let files = || self.world.files("home/repo");
        let before = files();
        let planned = self.fixed(ApplyMode::DryRun);
        assert_eq!(files(), before, "{case}: a dry run changes nothing");
        let fixed = self.fixed(ApplyMode::Apply);
        let after = files();
        assert_eq!(
            fixed["findings"], planned["findings"],
            "{case}: the dry run had the same findings"
        );
        assert_eq!(diffs(&fixed), diffs(&planned), "{case}: the dry run had the same diffs");
        let has_diffs = !diffs(&fixed).is_empty();
        assert_eq!(after != before, has_diffs, "{case}: every change is reported");
        assert_eq!(count(report, is_fixable) > 0, has_diffs, "{case}: fixable findings are fixed");
        assert_eq!(count(&fixed, is_fixable), 0, "{case}: all fixable findings are fixed: {fixed}");
        assert!(errors(&fixed) <= errors(report), "{case}: a fix causes no errors: {fixed}");
        if !has_diffs {
            return String::new();
        }
        let again = self.fixed(ApplyMode::Apply);
        assert_eq!(files(), after, "{case}: a second fix changes nothing");
        assert_eq!(again["findings"], fixed["findings"], "{case}: the other findings remain");
        diffs(&fixed).iter().map(|diff| format!("\n{}", visible(diff))).collect()
    }
}

/// Returns the unified diff of a fix, as `sp` prints it.
fn unified_diff(file: &FixedFile) -> String {
    let (before, after) = (mask_secrets(&file.before), mask_secrets(&file.after));
    let diff = TextDiff::from_lines(&*before, &*after);
    let names = (format!("a/{}", file.file), format!("b/{}", file.file));
    diff.unified_diff().context_radius(2).header(&names.0, &names.1).to_string()
}

pub(super) fn findings(report: &Value) -> &[Value] {
    report["findings"].as_array().unwrap()
}

pub(super) fn count(report: &Value, matches: impl Fn(&Value) -> bool) -> usize {
    findings(report).iter().filter(|finding| matches(finding)).count()
}

fn errors(report: &Value) -> usize {
    count(report, |finding| finding["severity"] == "error")
}

/// Returns the expected exit code.
pub(super) fn exit_code(report: &Value) -> i32 {
    // After a dry run, the fixable problems still exist.
    let pending = report["fixed"].as_array().unwrap().iter().any(|file| file["applied"] == false);
    let is_unreadable = report["unreadable"] != Value::Array(Vec::new());
    if is_unreadable { 3 } else { i32::from(pending || errors(report) > 0) }
}

pub(super) fn is_fixable(finding: &Value) -> bool {
    finding["fixable"] == true
}

fn diffs(report: &Value) -> Vec<&str> {
    report["fixed"].as_array().unwrap().iter().map(|file| file["diff"].as_str().unwrap()).collect()
}

/// Returns the text in quotes; a long one is shortened to its start and end.
fn shortened(text: &str) -> String {
    const ENDS: usize = 60;
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= 4 * ENDS {
        return format!("{text:?}");
    }
    let [first, last] =
        [&chars[..ENDS], &chars[chars.len() - ENDS..]].map(|part| part.iter().collect::<String>());
    format!("{first:?} … {last:?}, {} characters", chars.len())
}

/// Escapes characters that an editor or git might change, except line feeds.
fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        let is_format = matches!(c, '\u{feff}' | '\u{200b}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}');
        c.is_control() && c != '\n' || is_format
    };
    text.chars()
        .map(|c| if is_hidden(c) { c.escape_default().to_string() } else { c.into() })
        .collect()
}

/// Copies a directory without following links.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).expect("a directory of a case").map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(std::fs::read_link(from).unwrap(), to).unwrap();
        } else if kind.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}
