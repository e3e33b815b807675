//! What a manifest selects: pure functions of the manifest, the lockfile and what sources offer.
//!
//! ```text
//! manifest × lock ── demands ──▶ sources to open, at the locked or at the newest version
//! manifest × lock × offers ── select ──▶ SelectedSkill: a skill of a source, and its folder
//! selected × digests ── resolve ──▶ ProjectResolution: one folder per name, and the new lock
//! ```
//!
//! A source is only opened if it is on this machine and may have changed, if it is updated, or if
//! the lockfile lacks something that the manifest selects. All other skills come from the lockfile.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::Report;
use sp_formats::project::lock::{LockedProjectSkill, LockedSource, ProjectLock, SourceKey};
use sp_formats::project::manifest::{EditPolicy, ProjectManifest, SkillsEntry};
use sp_formats::project::rules::LC_03;
use sp_formats::suggest::nearest_few;
use sp_tree::{Digest, Name, fold_name};

use super::source_demand::{DemandedVersion, SourceDemand};
use crate::error::{Error, ErrorCode, Result};

/// What stands for a missing `include` in the lockfile.
const ALL_PATTERN: &str = "**";

/// A skill that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfferedId {
    pub id: String,
    pub name: String,
}

/// What an opened source offers.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceOffer {
    pub locked: LockedSource,
    /// All skills.
    pub ids: Vec<String>,
    /// Those that entries of the manifest select, without copies of the same skill.
    pub selected: Vec<OfferedId>,
}

/// A skill that an entry of the manifest selects, or that another skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SelectedSkill {
    pub key: SourceKey,
    pub id: String,
    pub folder: Name,
    /// The positions of the entries in the manifest. Those of a dependency are those of the skills
    /// that need it.
    pub entries: BTreeSet<usize>,
    /// The folders of the skills that need it, if no entry selects it.
    pub required_by: BTreeSet<String>,
    /// The digest in the lockfile, unless the skill was found in an opened source.
    pub locked_digest: Option<Digest>,
}

/// A folder that the project installs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResolvedSkill {
    pub folder: Name,
    pub locked: LockedProjectSkill,
    pub entries: BTreeSet<usize>,
    pub edits: EditPolicy,
}

/// What a manifest resolves to.
#[derive(Debug)]
pub(super) struct ProjectResolution {
    pub skills: Vec<ResolvedSkill>,
    pub lock: ProjectLock,
}

pub(super) fn entry_source_key(entry: &SkillsEntry) -> SourceKey {
    SourceKey::new(&entry.source, entry.version.as_ref())
}

/// Whether a pattern can only match the ID that it spells.
pub(super) fn is_literal(pattern: &str) -> bool {
    !pattern.contains('*')
}

/// Returns the patterns of an entry that the lockfile records: those that are not IDs.
fn recorded_patterns(entry: &SkillsEntry) -> Vec<String> {
    let qualify = |pattern: String| {
        if entry.prefix.is_empty() { pattern } else { format!("{} {pattern}", entry.prefix) }
    };
    let mut patterns: Vec<String> = entry
        .include
        .iter()
        .map(|it| it.pattern.as_str().to_owned())
        .filter(|pattern| !is_literal(pattern))
        .collect();
    if entry.include.is_empty() {
        patterns.push(ALL_PATTERN.into());
    }
    if !patterns.is_empty() {
        patterns.extend(entry.exclude.iter().map(|it| format!("!{}", it.pattern.as_str())));
    }
    patterns.into_iter().map(qualify).collect()
}

/// Whether the lockfile has everything that an entry selects.
fn is_locked(entry: &SkillsEntry, key: &SourceKey, lock: &ProjectLock) -> bool {
    let Some(source) = lock.sources.get(key) else { return false };
    let patterns = recorded_patterns(entry);
    let of_entry = |pattern: &&String| match pattern.split_once(' ') {
        Some((prefix, _)) => prefix == entry.prefix,
        None => entry.prefix.is_empty(),
    };
    let is_recorded = |pattern: &String| source.patterns.contains(pattern);
    // An exclude that was removed selects more, unless only IDs are selected.
    let mut recorded = source.patterns.iter().filter(of_entry).filter(|pattern| {
        pattern.trim_start_matches(&format!("{} ", entry.prefix)).starts_with('!')
    });
    let still_excluded = patterns.is_empty() || recorded.all(|pattern| patterns.contains(pattern));
    let includes_locked = patterns.iter().filter(|it| !it.contains('!')).all(is_recorded);
    let literals =
        entry.include.iter().map(|it| it.pattern.as_str()).filter(|pattern| is_literal(pattern));
    let has_skill = |id: &str| {
        !entry.selects(id)
            || lock.skills.iter().any(|(folder, skill)| {
                skill.source == *key && skill.id == id && folder.starts_with(&entry.prefix)
            })
    };
    includes_locked && still_excluded && literals.into_iter().all(has_skill)
}

/// Returns the sources that have to be opened, each once: those in `refreshed` and those that are
/// not locked at their newest version. `unchanged` are sources on this machine that are as they are
/// locked.
pub(super) fn demands(
    manifest: &ProjectManifest,
    lock: &ProjectLock,
    refreshed: &BTreeSet<SourceKey>,
    unchanged: &BTreeSet<SourceKey>,
) -> Vec<SourceDemand> {
    let mut demands: BTreeMap<SourceKey, SourceDemand> = BTreeMap::new();
    for entry in &manifest.skills {
        let key = entry_source_key(entry);
        let is_new = refreshed.contains(&key) || !lock.sources.contains_key(&key);
        let demanded = if is_new { DemandedVersion::Newest } else { DemandedVersion::Locked };
        let may_differ = entry.source.is_local() && !unchanged.contains(&key);
        if is_new || may_differ || !is_locked(entry, &key, lock) {
            demands.entry(key.clone()).or_insert_with(|| SourceDemand {
                key,
                source: entry.source.clone(),
                version: entry.version.clone(),
                demanded,
                span: Some(entry.source_span.clone()),
            });
        }
    }
    demands.into_values().collect()
}

/// Returns the skills that the entries select: those of opened sources as they are offered, all
/// others as they are locked.
pub(super) fn select(
    manifest: &ProjectManifest,
    lock: &ProjectLock,
    offers: &BTreeMap<SourceKey, SourceOffer>,
    report: &mut Report,
) -> Vec<SelectedSkill> {
    let mut selected = Vec::new();
    let keys: Vec<SourceKey> = manifest.skills.iter().map(entry_source_key).collect();
    let mut locked: BTreeMap<usize, Vec<SelectedSkill>> = BTreeMap::new();
    for (folder, skill) in lock.skills.iter().filter(|(_, skill)| skill.required_by.is_empty()) {
        let Some(number) = entry_of_locked(manifest, &keys, folder, skill) else { continue };
        let skill = locked_selection(folder, skill, BTreeSet::from([number]));
        locked.entry(number).or_default().extend(skill);
    }
    for (number, (entry, key)) in manifest.skills.iter().zip(&keys).enumerate() {
        match offers.get(key) {
            Some(offer) => {
                let offered = select_offered(number, entry, key, offer, report);
                selected.extend(
                    offered.into_iter().map(|skill| with_locked_digest(skill, offer, lock)),
                );
            }
            None => selected.extend(locked.remove(&number).unwrap_or_default()),
        }
    }
    selected
}

/// Returns all skills that the lockfile has for a manifest.
pub(super) fn select_locked(manifest: &ProjectManifest, lock: &ProjectLock) -> Vec<SelectedSkill> {
    let mut report = Report::new("", "");
    let mut selected = select(manifest, lock, &BTreeMap::new(), &mut report);
    add_locked_dependencies(&mut selected, lock);
    selected
}

fn select_offered(
    number: usize,
    entry: &SkillsEntry,
    key: &SourceKey,
    offer: &SourceOffer,
    report: &mut Report,
) -> Vec<SelectedSkill> {
    for include in &entry.include {
        let pattern = &include.pattern;
        if !offer.ids.iter().any(|id| pattern.matches(id)) {
            let message = format!("`{}` matches no skill of `{}`", pattern.as_str(), entry.source);
            let ids = offer.ids.iter().map(String::as_str);
            let help = match nearest_few(pattern.as_str(), ids, 3).as_slice() {
                [] => format!("run `sp add {} --list` to see its skills", entry.source),
                near => format!("similar skills: {}", near.join(", ")),
            };
            report.error(&LC_03, include.span.clone(), message).help(help);
        }
    }
    let mut selected = Vec::new();
    for skill in offer.selected.iter().filter(|skill| entry.selects(&skill.id)) {
        match entry.folder_name(&skill.name) {
            Ok(folder) => selected.push(SelectedSkill {
                key: key.clone(),
                id: skill.id.clone(),
                folder,
                entries: BTreeSet::from([number]),
                required_by: BTreeSet::new(),
                locked_digest: None,
            }),
            Err(why) => {
                let message = format!("cannot install `{}`: {why}", skill.id);
                report
                    .error(&LC_03, entry.source_span.clone(), message)
                    .help("exclude the skill, or set a different `prefix`");
            }
        }
    }
    selected
}

/// Sets the digest of an offered skill if it is known, because the source did not change.
fn with_locked_digest(
    skill: SelectedSkill,
    offer: &SourceOffer,
    lock: &ProjectLock,
) -> SelectedSkill {
    let version = |it: &LockedSource| (it.commit.clone(), it.digest, it.version.clone());
    let current = version(&offer.locked);
    let is_same = current != (None, None, None)
        && lock
            .sources
            .get(&skill.key)
            .is_some_and(|old| version(old) == current && old.imports == offer.locked.imports);
    let locked = lock
        .skills
        .get(skill.folder.as_str())
        .filter(|locked| is_same && locked.source == skill.key && locked.id == skill.id);
    SelectedSkill { locked_digest: locked.map(|locked| locked.tree), ..skill }
}

/// Returns the position of the entry that a locked skill belongs to. Of several entries, that with
/// the longest prefix is meant.
fn entry_of_locked(
    manifest: &ProjectManifest,
    keys: &[SourceKey],
    folder: &str,
    skill: &LockedProjectSkill,
) -> Option<usize> {
    let entries = manifest.skills.iter().zip(keys).enumerate();
    let matching = entries.filter(|(_, (entry, key))| {
        **key == skill.source && entry.selects(&skill.id) && folder.starts_with(&entry.prefix)
    });
    matching.max_by_key(|(_, (entry, _))| entry.prefix.len()).map(|(number, _)| number)
}

fn locked_selection(
    folder: &str,
    skill: &LockedProjectSkill,
    entries: BTreeSet<usize>,
) -> Option<SelectedSkill> {
    Some(SelectedSkill {
        key: skill.source.clone(),
        id: skill.id.clone(),
        folder: Name::new(folder).ok()?,
        entries,
        required_by: BTreeSet::new(),
        locked_digest: Some(skill.tree),
    })
}

/// Adds the locked dependencies of skills that come from the lockfile.
pub(super) fn add_locked_dependencies(selected: &mut Vec<SelectedSkill>, lock: &ProjectLock) {
    loop {
        let mut added = false;
        for (folder, skill) in lock.skills.iter().filter(|(_, it)| !it.required_by.is_empty()) {
            let needs = |it: &&SelectedSkill| {
                it.locked_digest.is_some()
                    && skill.required_by.iter().any(|by| by == it.folder.as_str())
            };
            let by: Vec<SelectedSkill> = selected.iter().filter(needs).cloned().collect();
            for requirer in by {
                let Some(dependency) = locked_selection(folder, skill, requirer.entries.clone())
                else {
                    continue;
                };
                added |= add_dependency(selected, dependency, requirer.folder.as_str());
            }
        }
        if !added {
            return;
        }
    }
}

/// Adds a skill that another one needs. Returns whether anything changed.
pub(super) fn add_dependency(
    selected: &mut Vec<SelectedSkill>,
    mut dependency: SelectedSkill,
    required_by: &str,
) -> bool {
    let is_same = |it: &&mut SelectedSkill| {
        it.key == dependency.key && it.id == dependency.id && it.folder == dependency.folder
    };
    match selected.iter_mut().find(is_same) {
        // An entry selects it anyway; it is needed wherever the other skill is.
        Some(known) => {
            let before = (known.entries.len(), known.required_by.len());
            known.entries.extend(&dependency.entries);
            if !known.required_by.is_empty() {
                known.required_by.insert(required_by.to_owned());
            }
            before != (known.entries.len(), known.required_by.len())
        }
        None => {
            dependency.required_by.insert(required_by.to_owned());
            selected.push(dependency);
            true
        }
    }
}

/// Decides which skill each folder contains, and returns the new lockfile.
///
/// `digest_of` returns the digest of a selected skill. Two entries may select the same content
/// under one name.
pub(super) fn resolve(
    manifest: &ProjectManifest,
    lock: &ProjectLock,
    opened: &BTreeMap<SourceKey, LockedSource>,
    selected: Vec<SelectedSkill>,
    digest_of: &dyn Fn(&SelectedSkill) -> Digest,
) -> Result<ProjectResolution> {
    let mut by_folder: BTreeMap<String, ResolvedSkill> = BTreeMap::new();
    for skill in selected {
        let digest = digest_of(&skill);
        let folded = fold_name(skill.folder.as_str());
        match by_folder.get_mut(&folded) {
            None => {
                let resolved = resolved_skill(manifest, lock, skill, digest);
                by_folder.insert(folded, resolved);
            }
            Some(known) if known.locked.tree == digest && known.folder == skill.folder => {
                unite(known, skill);
            }
            Some(known) => return Err(different_content_error(manifest, known, &skill)),
        }
    }
    let skills: Vec<ResolvedSkill> = by_folder.into_values().collect();
    Ok(ProjectResolution { lock: new_lock(manifest, lock, opened, &skills), skills })
}

fn resolved_skill(
    manifest: &ProjectManifest,
    lock: &ProjectLock,
    skill: SelectedSkill,
    digest: Digest,
) -> ResolvedSkill {
    let policies = skill.entries.iter().filter_map(|number| manifest.skills.get(*number));
    let edits = policies.map(|entry| manifest.edits_of(entry)).next().unwrap_or_default();
    let old = lock.skills.get(skill.folder.as_str());
    let same = old.filter(|old| old.tree == digest);
    let locked = LockedProjectSkill {
        source: skill.key,
        id: skill.id,
        tree: digest,
        capabilities: same.map(|old| old.capabilities.clone()).unwrap_or_default(),
        accepted: same.map(|old| old.accepted.clone()).unwrap_or_default(),
        packs: Vec::new(),
        required_by: skill.required_by.into_iter().collect(),
        extra: old.map(|old| old.extra.clone()).unwrap_or_default(),
    };
    ResolvedSkill { folder: skill.folder, locked, entries: skill.entries, edits }
}

/// Adds another owner of the same content.
fn unite(known: &mut ResolvedSkill, other: SelectedSkill) {
    known.entries.extend(other.entries);
    if known.locked.required_by.is_empty() || other.required_by.is_empty() {
        known.locked.required_by.clear();
    } else {
        known.locked.required_by.extend(other.required_by);
        known.locked.required_by.sort();
        known.locked.required_by.dedup();
    }
}

fn different_content_error(
    manifest: &ProjectManifest,
    known: &ResolvedSkill,
    other: &SelectedSkill,
) -> Error {
    let sources = |entries: &BTreeSet<usize>| {
        let entries = entries.iter().filter_map(|number| manifest.skills.get(*number));
        let names = entries.map(|entry| match &entry.version {
            Some(version) => format!("`{}` ({version})", entry.source),
            None => format!("`{}`", entry.source),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    let message = format!("two entries of `skillpack.yaml` would both install `{}`", other.folder);
    Error::new(ErrorCode::NameCollision, message)
        .because(format!(
            "`{}` from {} and `{}` from {} differ",
            known.locked.id,
            sources(&known.entries),
            other.id,
            sources(&other.entries)
        ))
        .hint("exclude one of the two, or add a `prefix` to its entry")
        .hint("on the command line: `sp add <source> --prefix <text>`")
}

fn new_lock(
    manifest: &ProjectManifest,
    lock: &ProjectLock,
    opened: &BTreeMap<SourceKey, LockedSource>,
    skills: &[ResolvedSkill],
) -> ProjectLock {
    let mut patterns: BTreeMap<SourceKey, BTreeSet<String>> = BTreeMap::new();
    for entry in &manifest.skills {
        patterns.entry(entry_source_key(entry)).or_default().extend(recorded_patterns(entry));
    }
    // A dependency may come from a source that is not in the manifest.
    for skill in skills {
        patterns.entry(skill.locked.source.clone()).or_default();
    }
    let mut sources = BTreeMap::new();
    for (key, patterns) in patterns {
        let old = lock.sources.get(&key);
        let Some(current) = opened.get(&key).or(old) else { continue };
        let mut source = current.clone();
        source.patterns = patterns.into_iter().collect();
        if let Some(old) = old {
            let unknown = old.extra.iter().map(|(name, value)| (name.clone(), value.clone()));
            source.extra.extend(unknown);
        }
        sources.insert(key, source);
    }
    let mut new = lock.clone();
    new.sources = sources;
    new.skills = skills.iter().map(|it| (it.folder.to_string(), it.locked.clone())).collect();
    new
}

#[cfg(test)]
mod tests {
    use sp_formats::project::manifest;
    use sp_tree::Limits;

    use super::*;

    fn manifest(text: &str) -> ProjectManifest {
        let (manifest, report) = manifest::read("skillpack.yaml", text, &Limits::default());
        manifest.unwrap_or_else(|| panic!("{:?}", report.findings))
    }

    fn offer(commit: &str, ids: &[&str]) -> SourceOffer {
        let offered =
            |id: &&str| OfferedId { id: (*id).into(), name: id.rsplit('/').next().unwrap().into() };
        SourceOffer {
            locked: LockedSource { commit: Some(commit.into()), ..LockedSource::default() },
            ids: ids.iter().map(ToString::to_string).collect(),
            selected: ids.iter().map(offered).collect(),
        }
    }

    /// Resolves a manifest with one source, whose skills have the digests of their IDs.
    fn resolved(text: &str, offer: &SourceOffer, lock: &ProjectLock) -> Result<ProjectLock> {
        let manifest = manifest(text);
        let keys = manifest.skills.iter().map(entry_source_key);
        let offers: BTreeMap<_, _> = keys.map(|key| (key, offer.clone())).collect();
        let mut report = Report::new("skillpack.yaml", text);
        let selected = select(&manifest, lock, &offers, &mut report);
        assert!(report.is_usable(), "{:?}", report.findings);
        let opened = offers.into_iter().map(|(key, offer)| (key, offer.locked)).collect();
        let digest = |skill: &SelectedSkill| Digest::of(skill.id.as_bytes());
        Ok(resolve(&manifest, lock, &opened, selected, &digest)?.lock)
    }

    fn demanded(text: &str, lock: &ProjectLock) -> Vec<DemandedVersion> {
        let none = BTreeSet::new();
        let demands = demands(&manifest(text), lock, &none, &none);
        demands.into_iter().map(|demand| demand.demanded).collect()
    }

    #[test]
    fn lc_11_only_what_the_lockfile_lacks_is_resolved() {
        let offer = offer("1", &["skills/a", "skills/b", "other/c"]);
        let entry = |include: &str| format!("skills:\n  - source: acme/skills\n{include}");
        let locked =
            |include: &str| resolved(&entry(include), &offer, &ProjectLock::default()).unwrap();
        let ids = locked("    include: [skills/a]\n");
        let patterns = locked("    include: ['skills/*']\n    exclude: [skills/b]\n");
        let all = locked("");
        assert_eq!(all.skills.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        for (lock, include, opened) in [
            (&ids, "    include: [skills/a]\n", false),
            (&ids, "    include: [skills/a, skills/b]\n", true),
            (&ids, "    include: ['skills/*']\n", true),
            (&ids, "", true),
            (&patterns, "    include: ['skills/*']\n    exclude: [skills/b]\n", false),
            // More is excluded: the lockfile has everything else.
            (&patterns, "    include: ['skills/*']\n    exclude: [skills/b, skills/a]\n", false),
            (&patterns, "    include: ['skills/*']\n", true),
            (&patterns, "    include: [skills/a]\n", false),
            (&all, "", false),
            (&all, "    exclude: [skills/a]\n", false),
            (&all, "    prefix: x-\n", true),
        ] {
            let expected = if opened { vec![DemandedVersion::Locked] } else { Vec::new() };
            assert_eq!(demanded(&entry(include), lock), expected, "{include}\n{}", lock.to_text());
        }
        assert_eq!(demanded(&entry(""), &ProjectLock::default()), [DemandedVersion::Newest]);
        assert_eq!(demanded("skills:\n  - source: ./team\n", &all), [DemandedVersion::Newest]);
    }

    #[test]
    fn lc_11_what_the_manifest_lost_leaves_the_lockfile() {
        let text = "skills:\n  - source: acme/skills\n";
        let lock = resolved(text, &offer("1", &["a", "b"]), &ProjectLock::default()).unwrap();
        let excluded = manifest(&format!("{text}    exclude: [a]\n"));
        let mut report = Report::new("", "");
        let selected = select(&excluded, &lock, &BTreeMap::new(), &mut report);
        let folders: Vec<&str> = selected.iter().map(|it| it.folder.as_str()).collect();
        assert_eq!(folders, ["b"]);
        let digest = |skill: &SelectedSkill| skill.locked_digest.unwrap();
        let new = resolve(&excluded, &lock, &BTreeMap::new(), selected, &digest).unwrap().lock;
        assert_eq!(new.skills.len(), 1);
        let nothing = manifest("agents: [claude]\n");
        let new = resolve(&nothing, &new, &BTreeMap::new(), Vec::new(), &digest).unwrap().lock;
        assert!(new.is_empty());
    }

    #[test]
    fn lc_16_one_name_is_one_content() {
        let same = "skills:\n  - source: acme/skills\n    include: [a]\n  - source: acme/skills\n    ref: v1\n";
        let lock = resolved(same, &offer("1", &["a"]), &ProjectLock::default()).unwrap();
        assert_eq!(lock.skills.len(), 1);
        let different = "skills:\n  - source: acme/skills\n    include: [x/a, y/a]\n";
        let offer = offer("1", &["x/a", "y/a"]);
        let error = resolved(different, &offer, &ProjectLock::default()).unwrap_err();
        assert!(error.has_code(ErrorCode::NameCollision));
        assert!(error.hints.iter().any(|hint| hint.contains("prefix")), "{error:?}");
        let prefixed = "skills:\n  - source: acme/skills\n    include: [x/a]\n  - source: acme/skills\n    include: [y/a]\n    prefix: y-\n";
        let lock = resolved(prefixed, &offer, &ProjectLock::default()).unwrap();
        assert_eq!(lock.skills.keys().collect::<Vec<_>>(), ["a", "y-a"]);
        // Each locked skill belongs to the entry with its prefix.
        let manifest = manifest(prefixed);
        let mut report = Report::new("", "");
        let selected = select(&manifest, &lock, &BTreeMap::new(), &mut report);
        let entries: Vec<_> =
            selected.iter().map(|it| (it.folder.as_str(), it.entries.first().copied())).collect();
        assert_eq!(entries, [("a", Some(0)), ("y-a", Some(1))]);
    }

    #[test]
    fn lc_03_include_without_match_is_an_error_with_a_position() {
        let text = "skills:\n  - source: acme/skills\n    include: [pfd]\n";
        let manifest = manifest(text);
        let offers =
            BTreeMap::from([(entry_source_key(&manifest.skills[0]), offer("1", &["pdf"]))]);
        let mut report = Report::new("skillpack.yaml", text);
        select(&manifest, &ProjectLock::default(), &offers, &mut report);
        let finding = &report.findings[0];
        assert_eq!(report.format_location(finding), "skillpack.yaml:3:15");
        assert!(finding.help.as_ref().unwrap().contains("pdf"), "{finding:?}");
    }
}
