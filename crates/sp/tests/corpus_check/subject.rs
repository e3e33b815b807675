//! One case: what `sp check` prints about it, and what must be true of every case.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use sp_testkit::{Run, World, world};

use super::{cases, dir_of};

/// A case in a world of its own.
pub(super) struct Subject {
    case: String,
    world: World,
}

impl Subject {
    pub(super) fn new(case: &str) -> Self {
        let world = world!();
        std::fs::remove_dir_all(world.repo()).unwrap();
        copy(&dir_of(case).join("tree"), &world.repo());
        copy(&KNOWN.home().join(".skillpack"), &world.home().join(".skillpack"));
        Self { case: case.into(), world }
    }

    fn run(&self, args: &[&str]) -> Run {
        let mut all = vec!["check"];
        // Nobody but its owner looks at a config, so it is checked only by name.
        all.extend(self.world.repo().join("config.yaml").exists().then_some("config.yaml"));
        all.extend(args);
        self.world.sp(&all)
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[args, &["--format", "json"]].concat());
        let found: Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|e| panic!("{}: {e}\n{run}", self.case));
        assert_eq!(run.code, Some(exit_code(&found)), "{}: {run}", self.case);
        let counts =
            ["errors", "warnings", "notes"].map(|word| found["summary"][word].as_u64().unwrap());
        assert_eq!(
            counts.iter().sum::<u64>() as usize,
            findings(&found).len(),
            "{}: {run}",
            self.case
        );
        found
    }

    /// Lists the findings and the exit codes. Messages and help are not included, so that their
    /// wording can change; the values that a message quotes are.
    pub(super) fn show(&self, found: &Value, strict: &Value) -> String {
        let mut shown = String::new();
        for finding in findings(found) {
            let place = self.place(finding);
            let text = |name: &str| visible(finding[name].as_str().unwrap());
            write!(shown, "{place} {} {}", text("severity"), text("rule")).unwrap();
            for quoted in text("message").split('`').skip(1).step_by(2) {
                write!(shown, " `{quoted}`").unwrap();
            }
            shown += "\n";
            if let Some(cut) = self.cut(finding) {
                writeln!(shown, "  cut: {}", shortened(&cut)).unwrap();
            }
            if finding["fixable"] == true {
                writeln!(shown, "  fixable").unwrap();
            }
            shown += "\n";
        }
        for unreadable in found["unreadable"].as_array().unwrap() {
            writeln!(shown, "unreadable: {}\n", unreadable["code"]).unwrap();
        }
        writeln!(shown, "exit {}, strict {}", exit_code(found), exit_code(strict)).unwrap();
        shown
    }

    fn place(&self, finding: &Value) -> String {
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

    /// The text that a finding is about, from the file's own bytes; its lines and columns must
    /// agree with it.
    fn cut(&self, finding: &Value) -> Option<String> {
        let byte = |name: &str| finding[name].as_u64().map(|byte| usize::try_from(byte).unwrap());
        let (start, end) = (byte("start_byte")?, byte("end_byte")?);
        let path = self.world.repo().join(finding["file"].as_str().unwrap());
        // What a package carries lies in no file of its own.
        let carried = path.ancestors().skip(1).any(Path::is_file);
        let bytes = if carried { return None } else { std::fs::read(path).unwrap() };
        for (at, line, column) in [(start, "line", "column"), (end, "end_line", "end_column")] {
            let before = std::str::from_utf8(&bytes[..at])
                .unwrap_or_else(|e| panic!("{}: {e}: {finding}", self.case));
            let position = (
                before.matches('\n').count() + 1,
                before.rsplit('\n').next().unwrap().chars().count() + 1,
            );
            let told = (byte(line).unwrap(), byte(column).unwrap());
            assert_eq!(told, position, "{}: {finding}", self.case);
        }
        Some(String::from_utf8(bytes[start..end].to_vec()).unwrap())
    }

    pub(super) fn formats_agree(&self, found: &Value) {
        let expected = findings(found).len();
        for format in ["plain", "github"] {
            let run = self.run(&["--format", format]);
            assert_eq!(run.stdout.lines().count(), expected, "{} as {format}: {run}", self.case);
        }
        let human = self.run(&[]);
        assert_eq!(human.code, Some(exit_code(found)), "{} for people: {human}", self.case);
        let run = self.run(&["--format", "sarif"]);
        let sarif: Value = serde_json::from_str(&run.stdout).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), expected, "{} as sarif: {run}", self.case);
    }

    pub(super) fn strictness_only_raises(&self, found: &Value, strict: &Value) {
        assert_eq!(count(strict, |finding| finding["severity"] == "warning"), 0, "{}", self.case);
        let without_severity = |found: &Value| -> Vec<String> {
            let mut lines: Vec<String> =
                findings(found).iter().map(|finding| self.place(finding)).collect();
            lines.sort();
            lines
        };
        assert_eq!(without_severity(strict), without_severity(found), "{}", self.case);
    }

    /// Mends what can be mended, and gives the change.
    pub(super) fn fix(&self, found: &Value) -> String {
        let before = self.world.files("home/repo");
        let planned = self.json(&["--fix", "--dry-run"]);
        assert_eq!(
            self.world.files("home/repo"),
            before,
            "{}: a dry run changes nothing",
            self.case
        );
        let done = self.json(&["--fix"]);
        let after = self.world.files("home/repo");
        assert_eq!(
            done["findings"], planned["findings"],
            "{}: a dry run tells what would be left",
            self.case
        );
        assert_eq!(
            diffs(&done),
            diffs(&planned),
            "{}: a dry run tells what would change",
            self.case
        );
        assert_eq!(
            after != before,
            !diffs(&done).is_empty(),
            "{}: what changed is told",
            self.case
        );
        assert_eq!(
            count(found, is_fixable) > 0,
            !diffs(&done).is_empty(),
            "{}: fixable is what changes",
            self.case
        );
        assert_eq!(count(&done, is_fixable), 0, "{}: nothing is left to fix: {done}", self.case);
        assert!(errors(&done) <= errors(found), "{}: a fix breaks nothing: {done}", self.case);
        if diffs(&done).is_empty() {
            // Nothing was written: once more would be the same again.
            return String::new();
        }
        let again = self.json(&["--fix"]);
        assert_eq!(
            self.world.files("home/repo"),
            after,
            "{}: a second fix changes nothing",
            self.case
        );
        assert_eq!(
            again["findings"], done["findings"],
            "{}: what was left is still there",
            self.case
        );
        diffs(&done).iter().map(|diff| format!("\n{}", visible(diff))).collect()
    }
}

/// A world in which every text of the corpus was counted once: loading the tokenizer takes
/// longer than all else that a case does.
static KNOWN: LazyLock<World> = LazyLock::new(|| {
    let world = world!();
    let trees: Vec<String> =
        cases().iter().map(|case| dir_of(case).join("tree").display().to_string()).collect();
    let args: Vec<&str> = ["check"].into_iter().chain(trees.iter().map(String::as_str)).collect();
    world.sp(&args);
    world
});

fn findings(found: &Value) -> &[Value] {
    found["findings"].as_array().unwrap()
}

pub(super) fn count(found: &Value, is: impl Fn(&Value) -> bool) -> usize {
    findings(found).iter().filter(|finding| is(finding)).count()
}

fn errors(found: &Value) -> usize {
    count(found, |finding| finding["severity"] == "error")
}

/// The exit code that belongs to what was found.
fn exit_code(found: &Value) -> i32 {
    // What would be mended is still wrong.
    let pending = found["fixed"].as_array().unwrap().iter().any(|file| file["applied"] == false);
    let is_unreadable = found["unreadable"] != Value::Array(Vec::new());
    if is_unreadable { 3 } else { i32::from(pending || errors(found) > 0) }
}

fn is_fixable(finding: &Value) -> bool {
    finding["fixable"] == true
}

fn diffs(found: &Value) -> Vec<&str> {
    found["fixed"].as_array().unwrap().iter().map(|file| file["diff"].as_str().unwrap()).collect()
}

/// A text in quotes; of a long one both ends.
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

/// The text with everything escaped that an editor or git might change; line feeds stay.
fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        let is_format = matches!(c, '\u{feff}' | '\u{200b}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}');
        c.is_control() && c != '\n' || is_format
    };
    text.chars()
        .map(|c| if is_hidden(c) { c.escape_default().to_string() } else { c.into() })
        .collect()
}

/// Copies a directory, links as links.
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
