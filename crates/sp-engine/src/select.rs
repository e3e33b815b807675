//! Which skills a pack selects, and their folder names.
//!
//! [`select_skills`] is a pure function: IDs and patterns in, [`SelectedSkill`]s and findings out.
//! Local skills come first, then the skills of each import, in the order of the pack file.

use std::collections::HashMap;
use std::fmt;

use sp_formats::git_repo::GitRepo;
use sp_formats::pack::rules::{SP_13, SP_17, SP_19};
use sp_formats::pack::{Pack, PackImport, SpannedPattern};
use sp_formats::pattern::Pattern;
use sp_formats::report::Report;
use sp_formats::suggest::nearest_few;
use sp_tree::{Name, fold_name};

/// A skill that a pack selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectedSkill {
    /// The number of the import. `None` for a skill of the pack's own repository.
    pub import: Option<usize>,
    pub id: String,
    pub folder: Name,
}

/// The skills that an import can select from.
#[derive(Debug, Clone, Default)]
pub(crate) struct ImportableSkills {
    /// The repository and commit. Equal for imports of the same tree.
    pub tree_key: String,
    /// The skill IDs, sorted.
    pub ids: Vec<String>,
}

/// Where the skills are that a pattern selects from.
#[derive(Clone, Copy)]
enum SkillLocation<'a> {
    /// In `skills/`, where IDs start.
    Local,
    /// In another repository. IDs start at its root.
    Imported(&'a GitRepo),
}

impl fmt::Display for SkillLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local skill"),
            Self::Imported(repo) => write!(f, "skill of `{repo}`"),
        }
    }
}

/// Applies the patterns of a pack. Problems, including errors, are added to the report.
pub(crate) fn select_skills(
    pack: &Pack,
    local: &[String],
    offers: &[ImportableSkills],
    report: &mut Report,
) -> Vec<SelectedSkill> {
    let mut picked: Vec<(Option<usize>, &str)> = Vec::new();
    let local = matching_ids(&pack.include, local, SkillLocation::Local, report);
    picked.extend(local.into_iter().map(|id| (None, id)));
    for (number, (import, offer)) in pack.imports.iter().zip(offers).enumerate() {
        let ids = matching_import_ids(import, offer, report);
        picked.extend(ids.into_iter().map(|id| (Some(number), id)));
    }
    for exclude in &pack.exclude {
        let before = picked.len();
        picked.retain(|(_, id)| !exclude.pattern.matches(id));
        warn_if_unused(exclude, picked.len() < before, report);
    }
    // With an invalid prefix or separator, no folder name is valid.
    if report.findings.iter().any(|finding| finding.check.id == SP_13.id) {
        return Vec::new();
    }
    assign_folders(pack, &dedup_imported(picked, offers), report)
}

fn matching_ids<'a>(
    include: &[SpannedPattern],
    ids: &'a [String],
    location: SkillLocation<'_>,
    report: &mut Report,
) -> Vec<&'a str> {
    let mut is_selected = vec![false; ids.len()];
    for include in include {
        let mut matched = false;
        for (id, is_selected) in ids.iter().zip(&mut is_selected) {
            if include.pattern.matches(id) {
                matched = true;
                *is_selected = true;
            }
        }
        if !matched {
            report_unmatched_include(include, ids, location, report);
        }
    }
    let selected = ids.iter().zip(is_selected).filter(|(_, is_selected)| *is_selected);
    selected.map(|(id, _)| id.as_str()).collect()
}

fn report_unmatched_include(
    include: &SpannedPattern,
    ids: &[String],
    location: SkillLocation<'_>,
    report: &mut Report,
) {
    let text = include.pattern.as_str();
    let is_skill = |stem: &str| ids.iter().any(|id| id == stem);
    let stem = text.strip_suffix("/**").filter(|stem| is_skill(stem));
    let near = nearest_few(text.trim_matches(['*', '/']), ids.iter().map(String::as_str), 3);
    let help = match (stem, relative_id_help(text, ids, location), &near[..]) {
        (Some(stem), ..) => format!("`{stem}` is a skill, not a directory of skills; use `{stem}`"),
        (None, Some(help), _) => help,
        (None, None, []) if ids.is_empty() => "no skills found in this source".into(),
        (None, None, []) => format!("examples of skill IDs: {}", sample_ids(ids)),
        (None, None, near) => format!("similar skills: {}", near.join(", ")),
    };
    let written = report.text.get(include.span.clone()).and_then(|written| written.rfind("/**"));
    let finding = report
        .error(&SP_17, include.span.clone(), format!("`{text}` matches no {location}"))
        .help(help);
    if let (Some(_), Some(offset)) = (stem, written) {
        finding.fix(include.span.start + offset..include.span.start + offset + 3, "");
    }
}

/// Explains a pattern that would match if IDs of local and of imported skills started in the same
/// directory.
fn relative_id_help(text: &str, ids: &[String], location: SkillLocation<'_>) -> Option<String> {
    let matches_any = |text: &str| {
        Pattern::new(text).is_ok_and(|pattern| ids.iter().any(|id| pattern.matches(id)))
    };
    match location {
        SkillLocation::Local => {
            let text = text.strip_prefix("skills/").filter(|text| matches_any(text))?;
            Some(format!("IDs of local skills are relative to `skills/`; use `{text}`"))
        }
        SkillLocation::Imported(_) => {
            let text = ["skills/", "**/"]
                .into_iter()
                .map(|prefix| format!("{prefix}{text}"))
                .find(|text| matches_any(text))?;
            Some(format!(
                "IDs of imported skills are relative to the root of the repository; use `{text}`"
            ))
        }
    }
}

fn sample_ids(ids: &[String]) -> String {
    let first: Vec<&str> = ids.iter().take(3).map(String::as_str).collect();
    first.join(", ")
}

fn matching_import_ids<'a>(
    import: &PackImport,
    offer: &'a ImportableSkills,
    report: &mut Report,
) -> Vec<&'a str> {
    let location = SkillLocation::Imported(&import.repo);
    let mut ids = matching_ids(&import.include, &offer.ids, location, report);
    for exclude in &import.exclude {
        let before = ids.len();
        ids.retain(|id| !exclude.pattern.matches(id));
        warn_if_unused(exclude, ids.len() < before, report);
    }
    ids
}

fn warn_if_unused(exclude: &SpannedPattern, is_used: bool, report: &mut Report) {
    if !is_used {
        report
            .warning(
                &SP_17,
                exclude.span.clone(),
                format!("the exclude pattern `{}` matches no skill", exclude.pattern),
            )
            .help("fix or remove the pattern");
    }
}

/// Removes a skill that another import of the same tree already selected.
fn dedup_imported<'a>(
    picked: Vec<(Option<usize>, &'a str)>,
    offers: &[ImportableSkills],
) -> Vec<(Option<usize>, &'a str)> {
    let mut seen = std::collections::HashSet::new();
    picked
        .into_iter()
        .filter(|(import, id)| {
            import.is_none_or(|number| seen.insert((offers[number].tree_key.clone(), *id)))
        })
        .collect()
}

fn assign_folders(
    pack: &Pack,
    picked: &[(Option<usize>, &str)],
    report: &mut Report,
) -> Vec<SelectedSkill> {
    let mut selected: Vec<SelectedSkill> = Vec::new();
    let mut by_folder: HashMap<String, usize> = HashMap::new();
    for &(import, id) in picked {
        let folder = match pack.naming.folder_name(id) {
            Ok(folder) => folder,
            Err(error) => {
                let message = format!("cannot install `{id}`: {error}");
                report.error(&SP_13, pack.name_span.clone(), message).help(
                    "change `install.prefix`, `install.sep`, or the name of the skill's directory",
                );
                continue;
            }
        };
        let folded = fold_name(folder.as_str());
        let skill = SelectedSkill { import, id: id.into(), folder };
        if let Some(&other) = by_folder.get(&folded) {
            report_shared_folder(pack, &selected[other], &skill, report);
            continue;
        }
        by_folder.insert(folded, selected.len());
        selected.push(skill);
    }
    selected
}

fn report_shared_folder(
    pack: &Pack,
    first: &SelectedSkill,
    second: &SelectedSkill,
    report: &mut Report,
) {
    let message = format!(
        "{} and {} would both be installed as `{}`",
        describe_skill(pack, first),
        describe_skill(pack, second),
        second.folder
    );
    let help = if pack.naming.flatten {
        "exclude one of the two, or set `install.flatten: false`"
    } else {
        "exclude or rename one of the two"
    };
    report.error(&SP_19, pack.name_span.clone(), message).help(help);
}

fn describe_skill(pack: &Pack, skill: &SelectedSkill) -> String {
    match skill.import {
        None => format!("local skill `{}`", skill.id),
        Some(number) => format!("`{}` from `{}`", skill.id, pack.imports[number].repo),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sp_tree::Limits;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(ToString::to_string).collect()
    }

    /// Returns the install folders, and each finding as its location, severity, rule ID and the
    /// texts that its message quotes.
    fn run(text: &str, local: &[&str], imports: &[(&str, &[&str])]) -> (Vec<String>, Vec<String>) {
        let (pack, mut report) = sp_formats::pack::read("p.yaml", text, &Limits::default());
        let imports: Vec<ImportableSkills> = imports
            .iter()
            .map(|(tree, list)| ImportableSkills { tree_key: (*tree).into(), ids: ids(list) })
            .collect();
        let selected = select_skills(&pack.unwrap(), &ids(local), &imports, &mut report);
        let folders = selected.into_iter().map(|skill| skill.folder.to_string()).collect();
        let findings = report.findings.iter().map(|finding| {
            let quoted: Vec<&str> = finding.message.split('`').skip(1).step_by(2).collect();
            let (location, id) = (report.format_location(finding), finding.check.id);
            format!("{location} {:?} {id}: {}", finding.severity, quoted.join(", "))
        });
        (folders, findings.collect())
    }

    const IMPORT: &str = "imports:\n- {repo: ./x, include: ['**'], exclude: ['**/old']}\n";

    #[test]
    fn sp_16_pack_excludes_apply_to_local_and_imported_skills() {
        let text = format!("name: p\ninclude: ['a/*']\nexclude: ['**/beta']\n{IMPORT}");
        let (folders, findings) =
            run(&text, &["a/beta", "a/one", "b/two"], &[("x@1", &["r/beta", "r/new", "r/old"])]);
        assert_eq!(folders, ["p__a__one", "p__r__new"]);
        assert_eq!(findings, [""; 0]);
    }

    #[test]
    fn sp_17_include_without_match_is_an_error_with_suggestions() {
        let (_, findings) = run("name: p\ninclude:\n  - genral/x\n  - '**'\n", &["general/x"], &[]);
        assert_eq!(findings, ["p.yaml:3:5 Error SP-17: genral/x"]);
        let (pack, mut report) =
            sp_formats::pack::read("p.yaml", "name: p\ninclude: [genral/x]\n", &Limits::default());
        select_skills(&pack.unwrap(), &ids(&["general/x"]), &[], &mut report);
        let help = report.findings[0].help.as_deref().unwrap();
        assert!(help.ends_with(": general/x"), "{help}");
    }

    #[test]
    fn sp_17_include_of_the_other_kind_of_id_is_explained() {
        let help = |text: &str, local: &[&str], imported: &[&str]| {
            let (pack, mut report) = sp_formats::pack::read("p.yaml", text, &Limits::default());
            let offer = ImportableSkills { tree_key: "x@1".into(), ids: ids(imported) };
            select_skills(&pack.unwrap(), &ids(local), &[offer], &mut report);
            report.findings[0].help.clone().unwrap()
        };
        let import = |pattern: &str| {
            format!("name: p\nimports:\n- {{repo: ./x, ref: v1, include: ['{pattern}']}}\n")
        };
        for (text, local, imported, expected) in [
            ("name: p\ninclude: ['skills/web/*']\n", &["web/a"][..], &[][..], "use `web/*`"),
            (&import("web/*"), &[], &["skills/web/a"], "use `skills/web/*`"),
            (&import("web/*"), &[], &["tools/web/a"], "use `**/web/*`"),
        ] {
            let help = help(text, local, imported);
            assert!(help.ends_with(expected), "{text}: {help}");
        }
    }

    #[test]
    fn sp_17_exclude_without_match_is_a_warning() {
        let (folders, findings) = run("name: p\ninclude: ['**']\nexclude: [zzz]\n", &["a"], &[]);
        assert_eq!(folders, ["p__a"]);
        assert_eq!(findings, ["p.yaml:3:11 Warning SP-17: zzz"]);
    }

    #[test]
    fn sp_18_local_skills_come_before_imports_in_file_order() {
        let text = "name: p\ninclude: ['**']\nimports:\n- {repo: ./z, include: ['**']}\n- {repo: ./a, include: ['**']}\n";
        let (folders, _) = run(text, &["b", "c"], &[("z@1", &["z1", "z2"]), ("a@1", &["a1"])]);
        assert_eq!(folders, ["p__b", "p__c", "p__z1", "p__z2", "p__a1"]);
    }

    #[test]
    fn sp_19_folder_collision_is_an_error_unless_it_is_the_same_skill() {
        let text = "name: p\ninclude: ['**']\ninstall: {flatten: true}\n";
        let (_, findings) = run(text, &["a/x", "b/X"], &[]);
        assert_eq!(findings, ["p.yaml:1:7 Error SP-19: a/x, b/X, p__X"]);
        let text =
            "name: p\nimports:\n- {repo: ./x, include: [a]}\n- {repo: ./x, include: ['*']}\n";
        let (folders, findings) = run(text, &[], &[("x@1", &["a", "b"]), ("x@1", &["a", "b"])]);
        assert_eq!((folders, findings), (ids(&["p__a", "p__b"]), vec![]));
        let (_, findings) = run(text, &[], &[("x@1", &["a", "b"]), ("x@2", &["a", "b"])]);
        assert_eq!(findings.len(), 1);
    }
}
