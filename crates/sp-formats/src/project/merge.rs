//! Uniting the two sides of a merge of git, by entry.
//!
//! [`merge_manifests`] and [`merge_locks`] unite two versions of a file entry by entry, with the
//! common ancestor if it is known. They fail only if both sides changed one entry differently.

use std::collections::BTreeMap;

use sp_tree::Limits;
use thiserror::Error;

use super::lock::{LockedProjectSkill, ProjectLock};
use super::manifest::{EntryKey, ProjectManifest, SkillsEntry};
use super::manifest_edit::{
    ItemList, ManifestEdit, ManifestEditError, NewEntry, PatternList, apply_all,
};

/// Both sides changed an entry differently.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeConflict {
    #[error("both branches changed {0} differently")]
    Entry(String),
    #[error(transparent)]
    Edit(#[from] ManifestEditError),
}

/// Unites two lockfiles. Without a common ancestor, an item that only one side has is kept.
pub fn merge_locks(
    base: Option<&ProjectLock>,
    ours: &ProjectLock,
    theirs: &ProjectLock,
) -> Result<ProjectLock, MergeConflict> {
    let mut merged = ours.clone();
    let same = |what: &'static str| {
        move |key: &str| MergeConflict::Entry(format!("the {what} `{key}` in the lockfile"))
    };
    merged.sources =
        merge_maps(base.map(|it| &it.sources), &ours.sources, &theirs.sources, |key, _, _| {
            Err(same("source")(key.as_str()))
        })?;
    merged.skills = merge_maps(
        base.map(|it| &it.skills),
        &ours.skills,
        &theirs.skills,
        |name, ours, theirs| merge_skill(ours, theirs).ok_or_else(|| same("skill")(name)),
    )?;
    merged.packages =
        merge_maps(base.map(|it| &it.packages), &ours.packages, &theirs.packages, |name, _, _| {
            Err(same("package")(name.as_str()))
        })?;
    merged.contexts = merge_maps(
        base.map(|it| &it.contexts),
        &ours.contexts,
        &theirs.contexts,
        |location, _, _| Err(same("context pack")(location)),
    )?;
    merged.workspace = merge_maps(
        base.map(|it| &it.workspace),
        &ours.workspace,
        &theirs.workspace,
        |name, _, _| Err(same("workspace skill")(name)),
    )?;
    // The merged knowledge is computed from the packages.
    if ours.merged != theirs.merged {
        merged.merged = None;
    }
    Ok(merged)
}

/// Unites two records of the same bytes.
fn merge_skill(
    ours: &LockedProjectSkill,
    theirs: &LockedProjectSkill,
) -> Option<LockedProjectSkill> {
    let is_same = (&ours.source, &ours.id, ours.tree) == (&theirs.source, &theirs.id, theirs.tree);
    let unite = |ours: &[String], theirs: &[String]| {
        let mut all: Vec<String> = ours.iter().chain(theirs).cloned().collect();
        all.sort();
        all.dedup();
        all
    };
    is_same.then(|| LockedProjectSkill {
        packs: unite(&ours.packs, &theirs.packs),
        required_by: unite(&ours.required_by, &theirs.required_by),
        capabilities: unite(&ours.capabilities, &theirs.capabilities),
        accepted: unite(&ours.accepted, &theirs.accepted),
        ..ours.clone()
    })
}

/// Unites two maps, key by key.
fn merge_maps<K: Ord + Clone, V: PartialEq + Clone>(
    base: Option<&BTreeMap<K, V>>,
    ours: &BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
    merge_values: impl Fn(&K, &V, &V) -> Result<V, MergeConflict>,
) -> Result<BTreeMap<K, V>, MergeConflict> {
    let mut merged = BTreeMap::new();
    for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(key))) {
        let value = match (ours.get(key), theirs.get(key), base.map(|base| base.get(key))) {
            (ours, theirs, _) if ours == theirs => ours.cloned(),
            // One side did not change it.
            (ours, theirs, Some(base)) if ours == base => theirs.cloned(),
            (ours, theirs, Some(base)) if theirs == base => ours.cloned(),
            (Some(ours), Some(theirs), _) => Some(merge_values(key, ours, theirs)?),
            // Removed on one side and changed on the other: what was changed is still wanted.
            (ours, theirs, _) => ours.or(theirs).cloned(),
        };
        if let Some(value) = value {
            merged.insert(key.clone(), value);
        }
    }
    Ok(merged)
}

/// A manifest and its text.
#[derive(Debug, Clone, Copy)]
pub struct ManifestVersion<'a> {
    pub text: &'a str,
    pub manifest: &'a ProjectManifest,
}

/// Unites two manifests, and returns the text of ours with the changes of theirs. Without a common
/// ancestor, an entry that only one side has is kept.
pub fn merge_manifests(
    base: Option<&ProjectManifest>,
    ours: ManifestVersion<'_>,
    theirs: &ProjectManifest,
    limits: &Limits,
) -> Result<String, MergeConflict> {
    let mut edits = entry_edits(base, ours.manifest, theirs)?;
    for (list, items) in [
        (ItemList::Agents, agents as fn(&ProjectManifest) -> Vec<String>),
        (ItemList::Packs, packs),
        (ItemList::Context, contexts),
    ] {
        let change = list_change(base.map(items).as_deref(), &items(ours.manifest), &items(theirs));
        edits.extend(change.added.into_iter().map(|text| ManifestEdit::AddItem { list, text }));
        let removed = change.removed.into_iter();
        edits.extend(removed.map(|text| ManifestEdit::RemoveItem { list, text }));
    }
    edits.extend(package_edits(base, ours.manifest, theirs)?);
    if ours.manifest.edits != theirs.edits
        && base.is_none_or(|base| base.edits != theirs.edits && base.edits != ours.manifest.edits)
    {
        return Err(MergeConflict::Entry("`edits` in the manifest".into()));
    }
    Ok(apply_all(ours.text, &edits, limits)?)
}

fn agents(manifest: &ProjectManifest) -> Vec<String> {
    manifest.agents.clone()
}

fn packs(manifest: &ProjectManifest) -> Vec<String> {
    manifest.packs.iter().map(|pack| pack.text.clone()).collect()
}

fn contexts(manifest: &ProjectManifest) -> Vec<String> {
    manifest.context.iter().map(|entry| entry.location.clone()).collect()
}

/// What to add to and remove from our list.
#[derive(Default)]
struct ListChange {
    added: Vec<String>,
    removed: Vec<String>,
}

fn list_change(base: Option<&[String]>, ours: &[String], theirs: &[String]) -> ListChange {
    let in_base = |item: &String| base.is_some_and(|base| base.contains(item));
    let added = theirs.iter().filter(|item| !ours.contains(item) && !in_base(item));
    let removed = ours.iter().filter(|item| !theirs.contains(item) && in_base(item));
    ListChange { added: added.cloned().collect(), removed: removed.cloned().collect() }
}

fn entry_edits(
    base: Option<&ProjectManifest>,
    ours: &ProjectManifest,
    theirs: &ProjectManifest,
) -> Result<Vec<ManifestEdit>, MergeConflict> {
    let by_key = |manifest: &ProjectManifest| -> BTreeMap<EntryKey, NewEntry> {
        manifest.skills.iter().map(|entry| (entry.key(), NewEntry::from(entry))).collect()
    };
    let (base_entries, our_entries) = (base.map(by_key), by_key(ours));
    let their_entries = by_key(theirs);
    let mut edits = Vec::new();
    // In the order of the other side's manifest.
    for key in theirs.skills.iter().map(SkillsEntry::key) {
        let their_entry = &their_entries[&key];
        let base_entry = base_entries.as_ref().and_then(|base| base.get(&key));
        match our_entries.get(&key) {
            Some(our_entry) => {
                edits.extend(changed_entry(&key, base_entry, our_entry, their_entry)?);
            }
            // Ours removed it, and theirs did not change it.
            None if base_entry == Some(their_entry) => {}
            None => edits.push(ManifestEdit::AddEntry(their_entry.clone())),
        }
    }
    for (key, our_entry) in &our_entries {
        let base_entry = base_entries.as_ref().and_then(|base| base.get(key));
        if !their_entries.contains_key(key) && base_entry == Some(our_entry) {
            edits.push(ManifestEdit::RemoveEntry(key.clone()));
        }
    }
    Ok(edits)
}

/// Returns the edits that bring an entry that both sides have up to date.
fn changed_entry(
    key: &EntryKey,
    base: Option<&NewEntry>,
    ours: &NewEntry,
    theirs: &NewEntry,
) -> Result<Vec<ManifestEdit>, MergeConflict> {
    if ours == theirs || base == Some(theirs) {
        return Ok(Vec::new());
    }
    if (&ours.agents, &ours.edits) != (&theirs.agents, &theirs.edits)
        // An entry without `include` selects everything, so the lists cannot be united.
        || ours.include.is_empty() != theirs.include.is_empty()
    {
        if base == Some(ours) {
            let replacement =
                [ManifestEdit::RemoveEntry(key.clone()), ManifestEdit::AddEntry(theirs.clone())];
            return Ok(replacement.into());
        }
        return Err(MergeConflict::Entry(format!("the entry for `{}`", ours.source)));
    }
    let mut edits = Vec::new();
    for list in [PatternList::Include, PatternList::Exclude] {
        let items = |entry: &NewEntry| match list {
            PatternList::Include => entry.include.clone(),
            PatternList::Exclude => entry.exclude.clone(),
        };
        let change = list_change(base.map(items).as_deref(), &items(ours), &items(theirs));
        let entry = || key.clone();
        edits.extend(change.added.into_iter().map(|pattern| ManifestEdit::AddPattern {
            entry: entry(),
            list,
            pattern,
        }));
        edits.extend(change.removed.into_iter().map(|pattern| ManifestEdit::RemovePattern {
            entry: entry(),
            list,
            pattern,
        }));
    }
    Ok(edits)
}

fn package_edits(
    base: Option<&ProjectManifest>,
    ours: &ProjectManifest,
    theirs: &ProjectManifest,
) -> Result<Vec<ManifestEdit>, MergeConflict> {
    let by_name = |manifest: &ProjectManifest| -> BTreeMap<_, _> {
        manifest.packages.iter().map(|it| (it.name.clone(), it.range.clone())).collect()
    };
    let (ours, theirs) = (by_name(ours), by_name(theirs));
    let merged = merge_maps(base.map(by_name).as_ref(), &ours, &theirs, |name, _, _| {
        Err(MergeConflict::Entry(format!("the package `{name}`")))
    })?;
    let changed = merged.iter().filter(|(name, range)| ours.get(name) != Some(range));
    let mut edits: Vec<ManifestEdit> = changed
        .map(|(name, range)| ManifestEdit::SetPackage { name: name.clone(), range: range.clone() })
        .collect();
    let removed = ours.keys().filter(|name| !merged.contains_key(name));
    edits.extend(removed.cloned().map(ManifestEdit::RemovePackage));
    Ok(edits)
}

#[cfg(test)]
mod tests {
    use super::super::conflict::split_sides;
    use super::super::lock::LockedSource;
    use super::super::{lock, manifest};
    use super::*;

    fn parse(text: &str) -> ProjectManifest {
        manifest::read("skillpack.yaml", text, &Limits::default()).0.unwrap()
    }

    fn merged(base: Option<&str>, ours: &str, theirs: &str) -> Result<String, MergeConflict> {
        let base = base.map(parse);
        let our_manifest = parse(ours);
        let ours = ManifestVersion { text: ours, manifest: &our_manifest };
        merge_manifests(base.as_ref(), ours, &parse(theirs), &Limits::default())
    }

    const BASE_TEXT: &str = "\
# What we use.
agents: [claude]
skills:
  - source: acme/skills
    include: [pdf]
";

    #[test]
    fn lc_07_sides_of_conflicts_are_separated() {
        let text = "a\n<<<<<<< HEAD\nb\n||||||| 1234\nc\n=======\nd\n>>>>>>> topic\ne\n";
        let sides = split_sides(text).unwrap().unwrap();
        assert_eq!((sides.ours.as_str(), sides.theirs.as_str()), ("a\nb\ne\n", "a\nd\ne\n"));
        assert_eq!(sides.base.as_deref(), Some("a\nc\ne\n"));
        let without_base = text.replace("||||||| 1234\nc\n", "");
        assert_eq!(split_sides(&without_base).unwrap().unwrap().base, None);
        assert_eq!(split_sides("a\n=======\nb\n"), Ok(None));
        for (damaged, at) in [
            (text.replace(">>>>>>> topic\n", ""), 44),
            (text.replace("=======\n", ""), 34),
            (text.replace("<<<<<<< HEAD\n", ""), 4),
        ] {
            assert_eq!(split_sides(&damaged).unwrap_err().span.start, at, "{damaged}");
        }
    }

    #[test]
    fn lc_07_manifests_with_different_entries_are_united() {
        let ours = BASE_TEXT.replace("[pdf]", "[pdf, docx]");
        let theirs =
            BASE_TEXT.replace("[pdf]", "[pdf, xlsx]").replace("[claude]", "[claude, codex]")
                + "  - source: acme/tools\npackages: {'@acme/notes': ^1}\n";
        let expected = "\
# What we use.
agents: [claude, codex]
skills:
  - source: acme/skills
    include: [pdf, docx, xlsx]
  - source: acme/tools
packages:
  '@acme/notes': ^1
";
        for base in [None, Some(BASE_TEXT)] {
            assert_eq!(merged(base, &ours, &theirs).unwrap(), expected);
        }
    }

    #[test]
    fn lc_07_removed_entries_stay_removed_if_the_ancestor_is_known() {
        let two = format!("{BASE_TEXT}  - source: acme/tools\n    include: [a, b]\n");
        let ours = two.replace("[a, b]", "[b]");
        let added = two.replace("[a, b]", "[a, b, c]");
        assert_eq!(merged(Some(&two), &ours, &added).unwrap(), two.replace("[a, b]", "[b, c]"));
        assert_eq!(merged(None, &ours, &added).unwrap(), two.replace("[a, b]", "[b, a, c]"));
        assert_eq!(merged(Some(&two), BASE_TEXT, &two).unwrap(), BASE_TEXT);
        assert_eq!(merged(Some(&two), &two, BASE_TEXT).unwrap(), BASE_TEXT);
        assert_eq!(merged(None, BASE_TEXT, &two).unwrap(), two);
    }

    #[test]
    fn lc_07_different_changes_of_one_entry_are_a_conflict() {
        let with = |line: &str| format!("{BASE_TEXT}    {line}\n");
        let (keep, fail) = (with("edits: keep"), with("edits: fail"));
        assert!(matches!(merged(Some(BASE_TEXT), &keep, &fail), Err(MergeConflict::Entry(_))));
        assert_eq!(merged(Some(BASE_TEXT), BASE_TEXT, &keep).unwrap(), keep);
        let packages = |range: &str| format!("packages: {{x: {range}}}\n");
        let conflict = merged(None, &packages("^1"), &packages("^2"));
        assert!(matches!(conflict, Err(MergeConflict::Entry(_))));
    }

    #[test]
    fn lc_07_locks_are_united_by_item() {
        let block = |name: &str, tree: &str| {
            format!(
                "\n[[skill]]\nname = \"{name}\"\nsource = \"x\"\nid = \"{name}\"\ntree = \
                 \"sha256:{}\"\n",
                tree.repeat(64)
            )
        };
        let text = |blocks: &[String]| format!("version = 1\n{}", blocks.concat());
        let read = |text: &str| lock::read("skillpack.lock", text).0.unwrap();
        let base = read(&text(&[block("a", "0"), block("b", "0")]));
        let ours = read(&text(&[block("a", "1"), block("b", "0")]));
        let theirs = read(&text(&[block("a", "0"), block("c", "2")]));
        let expected = read(&text(&[block("a", "1"), block("c", "2")]));
        assert_eq!(merge_locks(Some(&base), &ours, &theirs).unwrap(), expected);
        let conflict = merge_locks(None, &ours, &theirs).unwrap_err();
        assert!(conflict.to_string().contains("`a`"), "{conflict}");
        let mut moved = ours.clone();
        moved.sources.insert(
            super::super::lock::SourceKey::new(
                &super::super::source::ManifestSource::new("a/b").unwrap(),
                None,
            ),
            LockedSource::default(),
        );
        assert_eq!(merge_locks(None, &ours, &moved).unwrap(), moved);
    }
}
