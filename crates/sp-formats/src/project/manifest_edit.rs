//! Changing entries of a manifest, and no other byte of it.
//!
//! [`apply`] makes one [`ManifestEdit`] and reads the result: if it is not the old manifest with
//! exactly this change, the edit is refused. This happens for valid YAML that cannot be edited line
//! by line, such as entries behind aliases.

use sp_tree::Limits;
use thiserror::Error;

use super::manifest::{self, EntryKey, ProjectManifest, SkillsEntry};
use super::yaml_edit::{NewItem, NewValue, YamlText};
use crate::package::{PackageName, VersionRange};
use crate::yaml::YamlNode;

/// A change of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestEdit {
    AddEntry(NewEntry),
    RemoveEntry(EntryKey),
    AddPattern { entry: EntryKey, list: PatternList, pattern: String },
    RemovePattern { entry: EntryKey, list: PatternList, pattern: String },
    SetVersion { entry: EntryKey, version: String },
    AddItem { list: ItemList, text: String },
    RemoveItem { list: ItemList, text: String },
    SetPackage { name: PackageName, range: VersionRange },
    RemovePackage(PackageName),
}

/// A new entry of `skills`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewEntry {
    pub source: String,
    pub version: Option<String>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub agents: Vec<String>,
    pub prefix: String,
    pub edits: Option<String>,
}

/// A list of patterns of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternList {
    Include,
    Exclude,
}

/// A list of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemList {
    Agents,
    Packs,
    Context,
}

/// Why a manifest was not edited.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestEditError {
    /// It is not a valid manifest.
    #[error("the manifest is invalid")]
    Invalid,
    #[error("the manifest has no such entry")]
    NotFound,
    #[error("the YAML of this entry cannot be edited automatically")]
    Unsupported,
}

impl PatternList {
    fn key(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::Exclude => "exclude",
        }
    }
}

impl ItemList {
    fn key(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Packs => "packs",
            Self::Context => "context",
        }
    }
}

impl From<&SkillsEntry> for NewEntry {
    fn from(entry: &SkillsEntry) -> Self {
        let patterns = |list: &[crate::pack::SpannedPattern]| {
            list.iter().map(|it| it.pattern.as_str().to_owned()).collect()
        };
        Self {
            source: entry.source.to_string(),
            version: entry.version.as_ref().map(ToString::to_string),
            include: patterns(&entry.include),
            exclude: patterns(&entry.exclude),
            agents: entry.agents.clone(),
            prefix: entry.prefix.clone(),
            edits: entry.edits.map(|policy| policy.to_string()),
        }
    }
}

impl NewEntry {
    fn to_item(&self) -> NewItem {
        let mut members = vec![("source", NewValue::Text(self.source.clone()))];
        let text = |value: &Option<String>| value.clone().map(NewValue::Text);
        let list = |items: &Vec<String>| (!items.is_empty()).then(|| NewValue::List(items.clone()));
        let prefix = (!self.prefix.is_empty()).then(|| NewValue::Text(self.prefix.clone()));
        let optional = [
            ("ref", text(&self.version)),
            ("include", list(&self.include)),
            ("exclude", list(&self.exclude)),
            ("agents", list(&self.agents)),
            ("prefix", prefix),
            ("edits", text(&self.edits)),
        ];
        members.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
        NewItem::Members(members)
    }
}

/// Applies edits one after the other.
pub fn apply_all(
    text: &str,
    edits: &[ManifestEdit],
    limits: &Limits,
) -> Result<String, ManifestEditError> {
    edits.iter().try_fold(text.to_owned(), |text, edit| apply(&text, edit, limits))
}

/// Returns the text of a manifest with one change.
pub fn apply(
    text: &str,
    edit: &ManifestEdit,
    limits: &Limits,
) -> Result<String, ManifestEditError> {
    let before = read(text, limits).ok_or(ManifestEditError::Invalid)?;
    let document = YamlText::parse(text, limits).ok_or(ManifestEditError::Invalid)?;
    let edited = splice(&document, &before, edit)?.ok_or(ManifestEditError::Unsupported)?;
    let after = read(&edited, limits).ok_or(ManifestEditError::Unsupported)?;
    let is_expected = expected(&before, edit).is_some_and(|expected| is_same(&after, &expected));
    if is_expected { Ok(edited) } else { Err(ManifestEditError::Unsupported) }
}

fn read(text: &str, limits: &Limits) -> Option<ProjectManifest> {
    manifest::read("", text, limits).0
}

/// Makes the edit. `None` if the YAML cannot be edited.
fn splice(
    document: &YamlText<'_>,
    before: &ProjectManifest,
    edit: &ManifestEdit,
) -> Result<Option<String>, ManifestEditError> {
    let root = &document.root;
    Ok(match edit {
        ManifestEdit::AddEntry(entry) => document.add_item(root, "skills", &entry.to_item()),
        ManifestEdit::RemoveEntry(key) => {
            let index = entry_index(before, key)?;
            root.get("skills").and_then(|list| document.remove_item(list, index))
        }
        ManifestEdit::AddPattern { entry, list, pattern } => {
            let node = entry_node(root, entry_index(before, entry)?)?;
            document.add_item(node, list.key(), &NewItem::Text(pattern.clone()))
        }
        ManifestEdit::RemovePattern { entry, list, pattern } => {
            let node = entry_node(root, entry_index(before, entry)?)?;
            remove_text(document, node, list.key(), pattern)?
        }
        ManifestEdit::SetVersion { entry, version } => {
            let node = entry_node(root, entry_index(before, entry)?)?;
            document.set_member(node, "ref", version)
        }
        ManifestEdit::AddItem { list, text } => {
            document.add_item(root, list.key(), &NewItem::Text(text.clone()))
        }
        ManifestEdit::RemoveItem { list, text } => remove_text(document, root, list.key(), text)?,
        ManifestEdit::SetPackage { name, range } => {
            document.set_nested(root, "packages", name.as_str(), range.as_str())
        }
        ManifestEdit::RemovePackage(name) => {
            let packages = root.get("packages").ok_or(ManifestEditError::NotFound)?;
            document.remove_member(packages, name.as_str())
        }
    })
}

fn entry_index(manifest: &ProjectManifest, key: &EntryKey) -> Result<usize, ManifestEditError> {
    let position = manifest.skills.iter().position(|entry| entry.key() == *key);
    position.ok_or(ManifestEditError::NotFound)
}

fn entry_node(root: &YamlNode, index: usize) -> Result<&YamlNode, ManifestEditError> {
    let node = root.get("skills").and_then(|list| list.items().nth(index));
    node.ok_or(ManifestEditError::NotFound)
}

/// Removes an item of a list of text.
fn remove_text(
    document: &YamlText<'_>,
    map: &YamlNode,
    key: &str,
    text: &str,
) -> Result<Option<String>, ManifestEditError> {
    let list = map.get(key).ok_or(ManifestEditError::NotFound)?;
    let index = list.items().position(|item| item.text() == Some(text));
    Ok(document.remove_item(list, index.ok_or(ManifestEditError::NotFound)?))
}

/// A manifest without positions, to compare two of them.
fn comparable(manifest: &ProjectManifest) -> ComparableManifest {
    ComparableManifest {
        agents: manifest.agents.clone(),
        entries: manifest.skills.iter().map(NewEntry::from).collect(),
        packs: manifest.packs.iter().map(|pack| pack.text.clone()).collect(),
        packages: manifest
            .packages
            .iter()
            .map(|package| (package.name.clone(), package.range.as_str().to_owned()))
            .collect(),
        context: manifest.context.iter().map(|entry| entry.location.clone()).collect(),
        edits: manifest.edits.map(|policy| policy.to_string()),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ComparableManifest {
    agents: Vec<String>,
    entries: Vec<NewEntry>,
    packs: Vec<String>,
    packages: Vec<(PackageName, String)>,
    context: Vec<String>,
    edits: Option<String>,
}

fn is_same(after: &ProjectManifest, expected: &ComparableManifest) -> bool {
    comparable(after) == *expected
}

/// The manifest that an edit results in.
fn expected(before: &ProjectManifest, edit: &ManifestEdit) -> Option<ComparableManifest> {
    let mut manifest = comparable(before);
    let index = |key: &EntryKey| entry_index(before, key).ok();
    match edit {
        ManifestEdit::AddEntry(entry) => manifest.entries.push(entry.clone()),
        ManifestEdit::RemoveEntry(key) => {
            manifest.entries.remove(index(key)?);
        }
        ManifestEdit::AddPattern { entry, list, pattern } => {
            manifest.entries[index(entry)?].list_mut(*list).push(pattern.clone());
        }
        ManifestEdit::RemovePattern { entry, list, pattern } => {
            remove_first(manifest.entries[index(entry)?].list_mut(*list), pattern)?;
        }
        ManifestEdit::SetVersion { entry, version } => {
            manifest.entries[index(entry)?].version = Some(version.clone());
        }
        ManifestEdit::AddItem { list, text } => manifest.list_mut(*list).push(text.clone()),
        ManifestEdit::RemoveItem { list, text } => remove_first(manifest.list_mut(*list), text)?,
        ManifestEdit::SetPackage { name, range } => {
            let range = range.as_str().to_owned();
            match manifest.packages.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = range,
                None => manifest.packages.push((name.clone(), range)),
            }
        }
        ManifestEdit::RemovePackage(name) => manifest.packages.retain(|(known, _)| known != name),
    }
    Some(manifest)
}

impl ComparableManifest {
    fn list_mut(&mut self, list: ItemList) -> &mut Vec<String> {
        match list {
            ItemList::Agents => &mut self.agents,
            ItemList::Packs => &mut self.packs,
            ItemList::Context => &mut self.context,
        }
    }
}

impl NewEntry {
    fn list_mut(&mut self, list: PatternList) -> &mut Vec<String> {
        match list {
            PatternList::Include => &mut self.include,
            PatternList::Exclude => &mut self.exclude,
        }
    }
}

fn remove_first(list: &mut Vec<String>, text: &str) -> Option<()> {
    let at = list.iter().position(|item| item == text)?;
    list.remove(at);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
# What we use.
agents: [claude, codex]   # both

skills:
  # Documents.
  - source: acme/skills   # ours
    ref: v1
    include:
      - pdf    # forms
      - docx
  - source: ./local
    include: [a, b]
packages:
  '@acme/notes': ^1
edits: keep
";

    fn key(manifest: &str, index: usize) -> EntryKey {
        read(manifest, &Limits::default()).unwrap().skills[index].key()
    }

    fn edited(text: &str, edit: &ManifestEdit) -> String {
        apply(text, edit, &Limits::default()).unwrap_or_else(|error| panic!("{edit:?}: {error}"))
    }

    /// The lines that differ.
    fn changes(before: &str, after: &str) -> Vec<String> {
        let diff = similar_lines(before, after);
        diff.into_iter().filter(|line| !line.starts_with(' ')).collect()
    }

    /// A line diff for texts that differ in one place.
    fn similar_lines(before: &str, after: &str) -> Vec<String> {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - start;
        let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b);
        let end = end.count();
        let removed = old[start..old.len() - end].iter().map(|line| format!("-{line}"));
        removed.chain(new[start..new.len() - end].iter().map(|line| format!("+{line}"))).collect()
    }

    #[test]
    fn lc_05_edits_change_only_their_entry() {
        let entry = NewEntry {
            source: "@acme/review".into(),
            include: vec!["**/x".into(), "plain".into()],
            ..NewEntry::default()
        };
        let first = key(MANIFEST, 0);
        let second = key(MANIFEST, 1);
        let pattern =
            |list, entry: &EntryKey, pattern: &str| (list, entry.clone(), pattern.to_owned());
        let add = |(list, entry, pattern)| ManifestEdit::AddPattern { entry, list, pattern };
        let remove = |(list, entry, pattern)| ManifestEdit::RemovePattern { entry, list, pattern };
        let notes = PackageName::new("@acme/notes").unwrap();
        let other = PackageName::new("other").unwrap();
        for (edit, expected) in [
            (
                ManifestEdit::AddEntry(entry),
                vec!["+  - source: '@acme/review'", "+    include: ['**/x', plain]"],
            ),
            (
                ManifestEdit::RemoveEntry(second.clone()),
                vec!["-  - source: ./local", "-    include: [a, b]"],
            ),
            (add(pattern(PatternList::Include, &first, "xlsx")), vec!["+      - xlsx"]),
            (
                add(pattern(PatternList::Include, &second, "c")),
                vec!["-    include: [a, b]", "+    include: [a, b, c]"],
            ),
            (
                add(pattern(PatternList::Exclude, &first, "old/**")),
                vec!["+    exclude:", "+      - old/**"],
            ),
            (remove(pattern(PatternList::Include, &first, "pdf")), vec!["-      - pdf    # forms"]),
            (
                remove(pattern(PatternList::Include, &second, "a")),
                vec!["-    include: [a, b]", "+    include: [b]"],
            ),
            (
                ManifestEdit::SetVersion { entry: first.clone(), version: "1.10".into() },
                vec!["-    ref: v1", "+    ref: '1.10'"],
            ),
            (ManifestEdit::SetVersion { entry: second, version: "v2".into() }, vec![]),
            (
                ManifestEdit::AddItem { list: ItemList::Agents, text: "cursor".into() },
                vec![
                    "-agents: [claude, codex]   # both",
                    "+agents: [claude, codex, cursor]   # both",
                ],
            ),
            (
                ManifestEdit::AddItem { list: ItemList::Packs, text: "team".into() },
                vec!["+packs:", "+  - team"],
            ),
            (
                ManifestEdit::SetPackage { name: notes.clone(), range: VersionRange::new("^2") },
                vec!["-  '@acme/notes': ^1", "+  '@acme/notes': ^2"],
            ),
            (
                ManifestEdit::SetPackage { name: other, range: VersionRange::new("*") },
                vec!["+  other: '*'"],
            ),
            (ManifestEdit::RemovePackage(notes), vec!["-  '@acme/notes': ^1"]),
        ] {
            if expected.is_empty() {
                // A directory has no ref.
                assert_eq!(
                    apply(MANIFEST, &edit, &Limits::default()),
                    Err(ManifestEditError::Unsupported)
                );
                continue;
            }
            for text in [MANIFEST.to_owned(), MANIFEST.replace('\n', "\r\n")] {
                let after = edited(&text, &edit);
                assert_eq!(changes(&text, &after), expected, "{edit:?}");
                assert_eq!(after.contains('\r'), text.contains('\r'));
            }
        }
    }

    #[test]
    fn lc_05_lists_are_created_and_emptied() {
        let entry = NewEntry { source: "a/b".into(), ..NewEntry::default() };
        let add = ManifestEdit::AddEntry(entry);
        for (before, after) in [
            ("", "skills:\n  - source: a/b\n"),
            ("# Nothing yet.", "# Nothing yet.\nskills:\n  - source: a/b\n"),
            ("skills:\n", "skills:\n  - source: a/b\n"),
            ("skills:   # ours\nedits: keep\n", "skills:   # ours\n  - source: a/b\nedits: keep\n"),
            ("skills: []\n", "skills: [{source: a/b}]\n"),
            ("skills: ~\n", "skills: [{source: a/b}]\n"),
            ("skills:\n- source: c/d", "skills:\n- source: c/d\n- source: a/b\n"),
            ("{edits: keep}\n", "{edits: keep, skills: [{source: a/b}]}\n"),
        ] {
            assert_eq!(edited(before, &add), after, "{before:?}");
        }
        let one = "skills:\n  - source: a/b\n    include: [x]\nedits: keep\n";
        let removed = edited(one, &ManifestEdit::RemoveEntry(key(one, 0)));
        assert_eq!(removed, "skills:\nedits: keep\n");
    }

    #[test]
    fn lc_05_yaml_that_cannot_be_edited_is_refused() {
        let text = "skills: &s\n  - &e\n    source: a/b\n    include: &i [x]\n  - source: c/d\n    include: *i\n";
        let edit = ManifestEdit::AddPattern {
            entry: key(text, 1),
            list: PatternList::Include,
            pattern: "y".into(),
        };
        assert_eq!(apply(text, &edit, &Limits::default()), Err(ManifestEditError::Unsupported));
        let missing = ManifestEdit::RemoveEntry(EntryKey {
            source: "git x".into(),
            version: None,
            prefix: String::new(),
        });
        assert_eq!(apply(text, &missing, &Limits::default()), Err(ManifestEditError::NotFound));
    }
}
