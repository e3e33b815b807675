//! Small broken skills, packs, repositories, configs, bags, packages and context packs, each with
//! exactly what `sp check` says of it.
//!
//! A case is a folder of `corpus/`: its input below `tree/`, the expected findings in
//! `expected.snap`. Each finding is shown with the text that its bytes cut from the file, so a
//! snapshot proves the place. What must hold for every case, whatever its findings, is asserted
//! here.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

#[path = "corpus_check/group.rs"]
mod group;
#[path = "corpus_check/subject.rs"]
mod subject;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use sp_testkit::world;

use group::Group;
use subject::{Subject, count};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

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
