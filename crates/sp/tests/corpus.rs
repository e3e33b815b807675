//! Small broken skills, packs, repositories, configs, bags, packages and context packs, each with exactly what
//! `sp check` says of it.
//!
//! A case is a folder of `corpus/`: its input below `tree/`, the expected findings in `expected.snap`.
//! Each finding is shown with the text that its bytes cut from the file, so a snapshot proves the
//! place. What must hold for every case, whatever its findings, is asserted here.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use serde_json::Value;
use sp_testkit::{Run, World, world};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

/// What a case is about, by how its name starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Frontmatter,
    Body,
    Place,
    Pack,
    Config,
    Bag,
    /// A context pack, by the rule that it is about.
    ContextPack(&'static str),
    GoodContextPack,
    /// A package, by the rule that it is about.
    Package(&'static str),
    GoodPackage,
    Hidden,
    Good,
}

impl Group {
    fn of(case: &str) -> Self {
        const STARTS: [(&str, Group); 39] = [
            ("good-pkg-", Group::GoodPackage),
            ("good-ctx-", Group::GoodContextPack),
            ("good-", Group::Good),
            ("pkg-json-", Group::Package("PK-01")),
            ("pkg-unstated-", Group::Package("PK-02")),
            ("pkg-manifest-", Group::Package("PK-03")),
            ("pkg-schema2-", Group::Package("PK-04")),
            ("pkg-dependency-", Group::Package("PK-05")),
            ("pkg-layer-", Group::Package("PK-07")),
            ("pkg-hash-", Group::Package("PK-08")),
            ("pkg-signature-", Group::Package("PK-11")),
            ("pkg-unsigned", Group::Package("PK-13")),
            ("pkg-graph-", Group::Package("PK-15")),
            ("pkg-level-", Group::Package("PK-16")),
            ("pkg-place-", Group::Package("PK-22")),
            ("pkg-document-", Group::Package("PK-24")),
            ("ctx-file-", Group::ContextPack("CP-01")),
            ("ctx-manifest-", Group::ContextPack("CP-02")),
            ("ctx-path-", Group::ContextPack("CP-03")),
            ("ctx-frontmatter-", Group::ContextPack("CP-04")),
            ("ctx-rules-", Group::ContextPack("CP-05")),
            ("ctx-skill-", Group::ContextPack("CP-06")),
            ("ctx-source-", Group::ContextPack("CP-07")),
            ("ctx-prompt-", Group::ContextPack("CP-08")),
            ("ctx-task-", Group::ContextPack("CP-09")),
            ("ctx-footnote-", Group::ContextPack("CP-10")),
            ("ctx-hash-", Group::ContextPack("CP-10")),
            ("bag-", Group::Bag),
            ("pack", Group::Pack),
            ("config-", Group::Config),
            ("hidden-", Group::Hidden),
            ("link-to-", Group::Place),
            ("skill", Group::Place),
            ("folder", Group::Place),
            ("file", Group::Place),
            ("linked-", Group::Place),
            ("link-", Group::Body),
            ("mention-", Group::Body),
            ("body-", Group::Body),
        ];
        STARTS
            .iter()
            .find(|(start, _)| case.starts_with(start))
            .map_or(Self::Frontmatter, |(_, group)| *group)
    }
}

#[test]
fn as_02_every_mistake_in_frontmatter_is_found_where_it_stands() {
    check_all(Group::Frontmatter);
}

#[test]
fn as_07_every_mistake_in_a_body_is_found_where_it_stands() {
    check_all(Group::Body);
}

#[test]
fn se_09_whatever_is_hidden_is_found_where_it_stands_and_decoded() {
    check_all(Group::Hidden);
}

#[test]
fn sp_04_everything_that_stands_where_no_skill_can_is_found() {
    check_all(Group::Place);
}

#[test]
fn sp_11_every_mistake_in_a_pack_is_found_where_it_stands() {
    check_all(Group::Pack);
}

#[test]
fn sp_28_every_mistake_in_a_config_is_found_where_it_stands() {
    check_all(Group::Config);
}

#[test]
fn sb_25_every_mistake_in_a_bag_is_found_where_it_stands() {
    check_all(Group::Bag);
}

#[test]
fn cp_01_every_file_that_a_context_pack_cannot_have_is_found() {
    check_context_pack("CP-01");
}

#[test]
fn cp_02_every_mistake_in_a_pack_json_is_found_where_it_stands() {
    check_context_pack("CP-02");
}

#[test]
fn cp_03_every_path_that_leads_out_of_a_context_pack_or_astray_is_found() {
    check_context_pack("CP-03");
}

#[test]
fn cp_04_every_mistake_in_the_frontmatter_of_a_context_pack_is_found_where_it_stands() {
    check_context_pack("CP-04");
}

#[test]
fn cp_05_every_mistake_in_rules_for_agents_is_found_where_it_stands() {
    check_context_pack("CP-05");
}

#[test]
fn cp_06_every_mistake_in_skills_md_is_found_where_it_stands() {
    check_context_pack("CP-06");
}

#[test]
fn cp_07_every_mistake_in_sources_md_is_found_where_it_stands() {
    check_context_pack("CP-07");
}

#[test]
fn cp_08_every_mistake_in_prompts_md_is_found_where_it_stands() {
    check_context_pack("CP-08");
}

#[test]
fn cp_09_every_mistake_in_tasks_md_is_found_where_it_stands() {
    check_context_pack("CP-09");
}

#[test]
fn cp_10_every_footnote_and_hash_that_does_not_hold_is_found() {
    check_context_pack("CP-10");
}

#[test]
fn cp_10_a_context_pack_that_looks_odd_and_is_right_is_left_alone() {
    check_good(Group::GoodContextPack);
}

fn check_context_pack(rule: &'static str) {
    check_all(Group::ContextPack(rule));
}

#[test]
fn pk_01_every_mistake_in_the_text_of_a_package_is_found_where_it_stands() {
    check_package("PK-01");
}

#[test]
fn pk_02_what_a_package_leaves_unsaid_is_told() {
    check_package("PK-02");
}

#[test]
fn pk_03_every_mistake_in_a_manifest_is_found_where_it_stands() {
    check_package("PK-03");
}

#[test]
fn pk_04_every_mistake_in_what_schema_2_adds_is_found_where_it_stands() {
    check_package("PK-04");
}

#[test]
fn pk_05_every_mistake_in_dependencies_is_found_where_it_stands() {
    check_package("PK-05");
}

#[test]
fn pk_07_every_mistake_in_layers_is_found_where_it_stands() {
    check_package("PK-07");
}

#[test]
fn pk_08_every_hash_that_does_not_hold_is_found() {
    check_package("PK-08");
}

#[test]
fn pk_11_every_signature_that_does_not_hold_is_found() {
    check_package("PK-11");
}

#[test]
fn pk_13_a_package_without_a_signature_is_told() {
    check_package("PK-13");
}

#[test]
fn pk_15_every_mistake_in_a_graph_is_found_where_it_stands() {
    check_package("PK-15");
}

#[test]
fn pk_22_packages_are_found_wherever_they_lie() {
    check_package("PK-22");
}

#[test]
fn pk_16_a_level_that_is_claimed_and_not_reached_is_told() {
    check_package("PK-16");
}

#[test]
fn pk_24_every_mistake_in_documents_is_found_where_it_stands() {
    check_package("PK-24");
}

#[test]
fn pk_10_a_package_that_looks_odd_and_is_right_is_left_alone() {
    check_good(Group::GoodPackage);
}

fn check_package(rule: &'static str) {
    check_all(Group::Package(rule));
}

#[test]
fn sb_23_tags_that_are_no_mapping_break_the_rule_about_tags() {
    for tags in ["- '#run/always'", "'#run/always'"] {
        let world = world!();
        world.write("SKILLBAG.md", "SkillBag v0.3.0\n");
        world.write("USER_CONTEXT.md", format!("## Tags\n\n```yaml\ntags:\n  {tags}\n```\n"));
        let found: Value =
            serde_json::from_str(&world.sp(&["check", "--format", "json"]).stdout).unwrap();
        let of_tags =
            |finding: &Value| finding["file"] == "USER_CONTEXT.md" && finding["rule"] == "SB-23";
        assert_eq!(count(&found, of_tags), 1, "{tags}: {found}");
    }
}

#[test]
fn as_03_what_looks_odd_and_is_right_is_left_alone() {
    check_good(Group::Good);
}

/// Checks every case of a group, which must have no findings that count.
fn check_good(group: Group) {
    check_all(group);
    for case in cases().iter().filter(|case| Group::of(case) == group) {
        let expected = std::fs::read_to_string(dir_of(case).join("expected.snap")).unwrap();
        assert!(expected.ends_with("exit 0, strict 0\n"), "{case} is called good: {expected}");
    }
}

fn cases() -> Vec<String> {
    let folders = std::fs::read_dir(CORPUS)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir());
    let mut cases: Vec<String> =
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    cases.sort();
    cases
}

fn dir_of(case: &str) -> PathBuf {
    Path::new(CORPUS).join(case)
}

/// Checks every case of a group, some at a time, and then names all that failed.
fn check_all(group: Group) {
    let cases: Vec<String> = cases().into_iter().filter(|case| Group::of(case) == group).collect();
    assert!(!cases.is_empty(), "there is no case of {group:?}");
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if catch_unwind(AssertUnwindSafe(|| check(case))).is_err() {
                failed.lock().unwrap().insert(case);
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {} cases fail, see above: {failed:?}",
        failed.len(),
        cases.len()
    );
}

fn check(case: &str) {
    let subject = Subject::new(case);
    let found = subject.json(&[]);
    let strict = subject.json(&["--strict"]);
    let shown = subject.show(&found, &strict);
    subject.formats_agree(&found);
    subject.strictness_only_raises(&found, &strict);
    let diff = subject.fix(&found);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(dir_of(case));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("expected", format!("{shown}{diff}")));
}

/// A case in a world of its own.
struct Subject {
    case: String,
    world: World,
}

impl Subject {
    fn new(case: &str) -> Self {
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

    fn json(&self, args: &[&str]) -> Value {
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

    /// Everything that was found, a block a finding, and the exit codes.
    fn show(&self, found: &Value, strict: &Value) -> String {
        let mut shown = String::new();
        for finding in findings(found) {
            let place = self.place(finding);
            let text = |name: &str| visible(finding[name].as_str().unwrap());
            writeln!(shown, "{place} {} {} {}", text("severity"), text("rule"), text("message"))
                .unwrap();
            if finding["help"].is_string() {
                writeln!(shown, "  help: {}", text("help")).unwrap();
            }
            if let Some(cut) = self.cut(finding) {
                writeln!(shown, "  cut: {}", shortened(&cut)).unwrap();
            }
            if finding["fixable"] == true {
                writeln!(shown, "  fixable").unwrap();
            }
            shown += "\n";
        }
        for unreadable in found["unreadable"].as_array().unwrap() {
            writeln!(shown, "unreadable: {unreadable}\n").unwrap();
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

    /// The text that a finding is about, from the file's own bytes; its lines and columns must agree with it.
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

    fn formats_agree(&self, found: &Value) {
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

    fn strictness_only_raises(&self, found: &Value, strict: &Value) {
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
    fn fix(&self, found: &Value) -> String {
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

fn count(found: &Value, is: impl Fn(&Value) -> bool) -> usize {
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
