//! `docs/conformance.md`: every rule, and the tests whose names start with its ID.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_engine::rule_sets;
use sp_formats::rules::{Rule, RuleSet};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    /// The path relative to the workspace, with `/` as the separator.
    file: String,
    name: String,
}

/// Tests by the ID of the rule they prove.
type Proofs = BTreeMap<String, Vec<Test>>;

/// Generates the page from the tests below `root`.
pub(crate) fn page(root: &Path) -> Result<String, String> {
    let proofs = proofs(root)?;
    refuse_strangers(&proofs)?;
    let mut text = String::from("# Rules and their tests\n\n");
    text += &crate::notice("the `rules.rs` of each format and the names of the tests");
    text += "\nA test that proves a rule carries its id in its name: `sp_17_…` is about SP-17. \
             A rule without a test is **open**.\n";
    for set in rule_sets() {
        text += &section(&set, &proofs);
    }
    Ok(text)
}

fn section(set: &RuleSet, proofs: &Proofs) -> String {
    let open: Vec<&str> =
        set.rules.iter().map(|rule| rule.id).filter(|id| !proofs.contains_key(*id)).collect();
    let tests: usize = set.rules.iter().filter_map(|rule| proofs.get(rule.id)).map(Vec::len).sum();
    let proved = set.rules.len() - open.len();
    let open = if open.is_empty() { String::new() } else { format!(" Open: {}.", open.join(", ")) };
    let rows: String = set.rules.iter().map(|rule| row(rule, proofs)).collect();
    format!(
        "\n## {}\n\n{proved} of {} rules have a test; {tests} tests in all.{open}\n\n\
         | rule | what it asks | tests |\n|---|---|---|\n{rows}",
        set.name,
        set.rules.len(),
    )
}

fn row(rule: &Rule, proofs: &Proofs) -> String {
    let link = |test: &Test| format!("[`{}`](../{})", test.name, test.file);
    let tests = match proofs.get(rule.id) {
        Some(tests) => tests.iter().map(link).collect::<Vec<_>>().join("<br>"),
        None => "**open**".into(),
    };
    format!("| {} | {} | {tests} |\n", rule.id, rule.title.replace('|', "\\|"))
}

/// Rejects tests that name an unknown rule.
fn refuse_strangers(proofs: &Proofs) -> Result<(), String> {
    let known = |id: &str| rule_sets().flat_map(|set| set.rules).any(|rule| rule.id == id);
    match proofs.iter().find(|(id, _)| !known(id)) {
        Some((id, tests)) => Err(format!(
            "`{}` in `{}` names {id}, which is not a rule",
            tests[0].name, tests[0].file
        )),
        None => Ok(()),
    }
}

fn proofs(root: &Path) -> Result<Proofs, String> {
    let mut files = Vec::new();
    collect(&root.join("crates"), &mut files)?;
    let mut proofs = Proofs::new();
    for path in files {
        let source = std::fs::read_to_string(&path)
            .map_err(|e| format!("cannot read `{}`: {e}", path.display()))?;
        let file = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        for name in test_names(&source) {
            if let Some(id) = rule_of(name) {
                proofs.entry(id).or_default().push(Test { file: file.clone(), name: name.into() });
            }
        }
    }
    proofs.values_mut().for_each(|tests| tests.sort());
    Ok(proofs)
}

/// Collects the Rust files below a directory.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot read `{}`: {e}", dir.display());
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the names of the functions after `#[test]`, including those inside `proptest!`.
fn test_names(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[test]") {
            marked = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            let end = rest.find(['(', '<']).unwrap_or(rest.len());
            if std::mem::take(&mut marked) {
                names.push(rest[..end].trim_end());
            }
        }
    }
    names
}

/// Returns the rule that a test names: `sp_17_include_…` names SP-17, if `SP` is a known prefix.
fn rule_of(name: &str) -> Option<String> {
    let (prefix, rest) = name.split_once('_')?;
    let (number, _) = rest.split_once('_')?;
    let is_number =
        (2..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = format!("{}-", prefix.to_uppercase());
    let is_prefix = rule_sets().flat_map(|set| set.rules).any(|rule| rule.id.starts_with(&prefix));
    (is_number && is_prefix).then(|| format!("{prefix}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_behind_the_attribute_are_tests() {
        let source = "fn sp_01_helper() {}\n  #[test]\n  #[ignore]\n  fn sp_02_a_test() {\n  fn sp_03_inner() {}\n#[test]\nfn se_04_prop(x in 0..9) {";
        assert_eq!(test_names(source), ["sp_02_a_test", "se_04_prop"]);
    }

    #[test]
    fn a_name_names_one_rule_or_none() {
        assert_eq!(rule_of("sp_17_include_that_matches_nothing").as_deref(), Some("SP-17"));
        assert_eq!(rule_of("se_04_every_limit").as_deref(), Some("SE-04"));
        assert_eq!(rule_of("rg_101_stalled_bodies").as_deref(), Some("RG-101"));
        assert_eq!(rule_of("zz_04_other"), None);
        assert_eq!(rule_of("sp_seventeen_x"), None);
        assert_eq!(rule_of("a_slip_of_the_finger"), None);
    }

    #[test]
    fn a_test_for_a_rule_that_does_not_exist_is_refused() {
        let test = Test { file: "crates/x.rs".into(), name: "sp_99_x".into() };
        let error = refuse_strangers(&Proofs::from([("SP-99".into(), vec![test])])).unwrap_err();
        assert_eq!(error, "`sp_99_x` in `crates/x.rs` names SP-99, which is not a rule");
    }
}
