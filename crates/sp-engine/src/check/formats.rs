//! All formats, and what follows from the list: detection, counts, rules and help.
//!
//! A format is a module with a [`Format`] and a line in [`FORMATS`]. Nothing else in `sp check`,
//! `sp audit` or their output names a format.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sp_formats::output::CountedKind;
use sp_formats::rules::{CheckRule, RuleSet, audit, mcp, registry, safety};

use super::format::{Form, Format, Specificity};
use super::target::CheckTarget;
use super::{
    accept_file, context_pack, package, policy_file, project_files, skill, skillpacks, workspace,
};

/// The formats, in the order of their counts. Of forms that are equally specific, the first one
/// that matches a target checks it.
const FORMATS: &[&Format] = &[
    &skill::AGENT_SKILLS,
    // Their files could also be taken for packs.
    &accept_file::ACCEPT_FILES,
    &policy_file::POLICY_FILES,
    &project_files::PROJECT_FILES,
    &skillpacks::SKILLPACKS,
    &package::PACKAGES,
    &context_pack::CONTEXT_PACKS,
    &workspace::WORKSPACES,
];

/// Returns the form that checks a target.
pub(super) fn detect(target: &CheckTarget) -> Option<&'static Form> {
    let forms = FORMATS.iter().flat_map(|format| format.forms);
    forms.filter(|form| (form.matches)(target)).min_by_key(|form| form.specificity)
}

/// Whether a directory is meant to be checked as a whole, unlike one that has skills somewhere
/// below it.
pub(super) fn is_checkable_dir(dir: &Path) -> bool {
    let form = detect(&CheckTarget::new(dir.into()));
    form.is_some_and(|form| form.specificity != Specificity::AnyDirectory)
}

/// Returns the files in a directory that are checked whatever the format of the directory is.
pub(super) fn files_in(dir: &Path) -> Vec<PathBuf> {
    FORMATS.iter().filter_map(|format| format.files_in).flat_map(|files_in| files_in(dir)).collect()
}

/// Returns what the summary counts.
pub(super) fn counted_kinds() -> impl Iterator<Item = CountedKind> {
    FORMATS.iter().filter_map(|format| format.counted)
}

/// Lists what can be checked, such as `a skill's folder, a pack file, or a package`.
pub fn check_targets_help() -> String {
    let targets: Vec<&str> = FORMATS.iter().flat_map(|format| format.targets).copied().collect();
    match targets.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{}, or {last}", others.join(", ")),
        _ => targets.concat(),
    }
}

/// Returns the rules of all formats, then those that concern all of them.
pub fn rule_sets() -> impl Iterator<Item = RuleSet> {
    let others = [audit::RULES, mcp::RULES, registry::RULES, safety::RULES];
    FORMATS.iter().map(|format| format.rules).chain(others)
}

/// Returns all rules that a finding can report, sorted by ID.
pub fn check_rules() -> &'static [&'static CheckRule] {
    static CHECK_RULES: LazyLock<Vec<&CheckRule>> = LazyLock::new(|| {
        let rules = rule_sets().flat_map(|set| set.rules);
        let mut rules: Vec<&CheckRule> = rules.filter_map(|rule| rule.check).collect();
        rules.sort_by_key(|rule| rule.id);
        rules
    });
    &CHECK_RULES
}

/// Finds a rule by ID, ignoring case.
pub fn find_check_rule(id: &str) -> Option<&'static CheckRule> {
    check_rules().iter().find(|rule| rule.id.eq_ignore_ascii_case(id)).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sp_formats::rules::example_files;

    use super::*;

    #[test]
    fn rules_have_unique_sorted_ids_with_one_prefix_per_set() {
        let mut ids = BTreeSet::new();
        for set in rule_sets() {
            // By number: some have two digits, and some three.
            assert!(set.rules.is_sorted_by_key(|rule| (rule.id.len(), rule.id)), "{}", set.name);
            let prefix = &set.rules[0].id[..3];
            for rule in set.rules {
                assert!(rule.id.starts_with(prefix), "{} in {}", rule.id, set.name);
                assert!(ids.insert(rule.id), "{} is defined twice", rule.id);
            }
        }
    }

    #[test]
    fn every_rule_that_can_be_reported_has_a_reason_and_examples() {
        for rule in check_rules() {
            let id = rule.id;
            assert!(rule.what.ends_with('.') && rule.why.ends_with('.'), "{id}: no period");
            assert!(!example_files(rule.bad).is_empty(), "{id} has no bad example");
            assert!(!example_files(rule.good).is_empty(), "{id} has no good example");
            assert_ne!(rule.bad, rule.good);
            assert_eq!(find_check_rule(&id.to_lowercase()), Some(*rule));
        }
    }

    #[test]
    fn counted_kinds_have_unique_keys() {
        let keys: Vec<&str> = counted_kinds().map(|kind| kind.key).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
    }
}
