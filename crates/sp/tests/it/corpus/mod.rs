//! The findings of `sp check` for many small skills, packs, repositories, configurations,
//! workspaces, packages and context packs.
//!
//! A case is a directory of `corpus/`: its input is in `tree/`, the expected findings are in
//! `expected.snap`. A snapshot includes the text that the bytes of a finding select, so it proves
//! the position. [`check`] also asserts what must be true of every case.

mod case_world;
mod group;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use sp_testkit::world;

use case_world::{CaseWorld, count};
use group::Group;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

#[test]
fn as_02_frontmatter_errors_are_reported() {
    check_all(Group::Frontmatter);
}

#[test]
fn as_07_errors_in_skill_bodies_are_reported() {
    check_all(Group::Body);
}

#[test]
fn se_09_hidden_text_is_reported_and_decoded() {
    check_all(Group::Hidden);
}

#[test]
fn sp_04_misplaced_skills_are_reported() {
    check_all(Group::Layout);
}

#[test]
fn sp_11_errors_in_packs_are_reported() {
    check_all(Group::Pack);
}

#[test]
fn sp_28_errors_in_configurations_are_reported() {
    check_all(Group::Config);
}

#[test]
fn sb_25_errors_in_workspaces_are_reported() {
    check_all(Group::Workspace);
}

#[test]
fn cp_01_invalid_files_in_context_packs_are_reported() {
    check_context_pack("CP-01");
}

#[test]
fn cp_02_errors_in_pack_json_are_reported() {
    check_context_pack("CP-02");
}

#[test]
fn cp_03_invalid_paths_in_context_packs_are_reported() {
    check_context_pack("CP-03");
}

#[test]
fn cp_04_frontmatter_errors_in_context_packs_are_reported() {
    check_context_pack("CP-04");
}

#[test]
fn cp_05_errors_in_agent_rules_are_reported() {
    check_context_pack("CP-05");
}

#[test]
fn cp_06_errors_in_skills_md_are_reported() {
    check_context_pack("CP-06");
}

#[test]
fn cp_07_errors_in_sources_md_are_reported() {
    check_context_pack("CP-07");
}

#[test]
fn cp_08_errors_in_prompts_md_are_reported() {
    check_context_pack("CP-08");
}

#[test]
fn cp_09_errors_in_tasks_md_are_reported() {
    check_context_pack("CP-09");
}

#[test]
fn cp_10_invalid_footnotes_and_hashes_are_reported() {
    check_context_pack("CP-10");
}

#[test]
fn cp_10_unusual_but_valid_context_packs_have_no_findings() {
    check_valid(Group::GoodContextPack);
}

fn check_context_pack(rule: &'static str) {
    check_all(Group::ContextPack(rule));
}

#[test]
fn pk_01_json_errors_in_packages_are_reported() {
    check_package("PK-01");
}

#[test]
fn pk_02_missing_metadata_of_packages_is_reported() {
    check_package("PK-02");
}

#[test]
fn pk_03_errors_in_manifests_are_reported() {
    check_package("PK-03");
}

#[test]
fn pk_04_errors_in_schema_2_members_are_reported() {
    check_package("PK-04");
}

#[test]
fn pk_05_errors_in_dependencies_are_reported() {
    check_package("PK-05");
}

#[test]
fn pk_07_errors_in_layers_are_reported() {
    check_package("PK-07");
}

#[test]
fn pk_08_wrong_hashes_are_reported() {
    check_package("PK-08");
}

#[test]
fn pk_11_invalid_signatures_are_reported() {
    check_package("PK-11");
}

#[test]
fn pk_13_unsigned_packages_are_reported() {
    check_package("PK-13");
}

#[test]
fn pk_15_errors_in_graphs_are_reported() {
    check_package("PK-15");
}

#[test]
fn pk_22_packages_are_found_in_every_directory() {
    check_package("PK-22");
}

#[test]
fn pk_16_unreached_conformance_levels_are_reported() {
    check_package("PK-16");
}

#[test]
fn pk_24_errors_in_documents_are_reported() {
    check_package("PK-24");
}

#[test]
fn pk_10_unusual_but_valid_packages_have_no_findings() {
    check_valid(Group::GoodPackage);
}

fn check_package(rule: &'static str) {
    check_all(Group::Package(rule));
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

#[test]
fn as_03_unusual_but_valid_skills_have_no_findings() {
    check_valid(Group::Good);
}

/// Checks every case of a group, which must have no errors or warnings.
fn check_valid(group: Group) {
    check_all(group);
    for case in cases().iter().filter(|case| Group::of(case) == group) {
        let expected = std::fs::read_to_string(dir_of(case).join("expected.snap")).unwrap();
        assert!(expected.ends_with("exit 0, strict 0\n"), "{case}: {expected}");
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

/// Checks every case of a group on several threads, and then names all that failed.
fn check_all(group: Group) {
    let cases: Vec<String> = cases().into_iter().filter(|case| Group::of(case) == group).collect();
    assert!(!cases.is_empty(), "no case of {group:?}");
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
    let case_world = CaseWorld::new(case);
    let report = case_world.json(&[]);
    let strict = case_world.json(&["--strict"]);
    let findings = case_world.describe(&report, &strict);
    case_world.assert_formats_agree(&report);
    case_world.assert_strict_only_raises_severity(&report, &strict);
    let diff = case_world.fix(&report);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(dir_of(case));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("expected", format!("{findings}{diff}")));
}
