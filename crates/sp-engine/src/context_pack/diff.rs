//! `sp context diff`: compares two packs by manifest member, source, file and section.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::Severity;
use sp_formats::context_pack::{
    ContextPackEntries, ContextPackEntry, ContextPackManifest, ContextPackReadResult,
    ContextPackSourceEntry, UnknownMembers, read, sections_by_title, without_frontmatter,
};
use sp_formats::json::{JsonDocument, JsonNumberFormat, canonicalize, quoted};
use sp_formats::output::{ContextPackDiff, ContextPackFileDiff, ContextPackSectionDiff};
use sp_tree::{Digest, Limits};

use super::archive::invalid_pack_error;
use super::entries::{ContextPackLocation, read_entries};
use crate::context::{Context, Event};
use crate::diff::{DiffMembers, change_kind, diff_items, diff_members, merged_keys};
use crate::error::Result;
use crate::session::Session;

/// The differences between two packs.
#[derive(Debug)]
pub struct ContextPackComparison {
    /// The structured differences, without line diffs of Markdown.
    pub diff: ContextPackDiff,
    /// The old and new body of each changed Markdown file, by path.
    pub bodies: BTreeMap<String, MarkdownChange>,
}

/// The body of a file in both packs, without frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownChange {
    pub before: String,
    pub after: String,
}

/// Compares two packs, even if they have errors.
pub fn diff(context: &Context<'_>, before: &Path, after: &Path) -> Result<ContextPackComparison> {
    let session = Session::begin(context)?;
    let (before, after) = (DiffSide::read(&session, before)?, DiffSide::read(&session, after)?);
    let (files, bodies) = files(&before, &after);
    let mut diff = ContextPackDiff {
        same: false,
        generation: diff_members(&before.generation(), &after.generation()),
        manifest: diff_members(&before.members(), &after.members()),
        stack: diff_items(&before.stack(), &after.stack()),
        sources: diff_items(&before.sources(), &after.sources()),
        files,
        before: before.display_name,
        after: after.display_name,
    };
    diff.same = diff.manifest.is_empty()
        && diff.stack.is_empty()
        && diff.sources.is_empty()
        && diff.files.is_empty();
    Ok(ContextPackComparison { diff, bodies })
}

struct DiffSide<'a> {
    display_name: String,
    limits: &'a Limits,
    manifest: ContextPackManifest,
    entries: ContextPackEntries,
}

impl<'a> DiffSide<'a> {
    fn read(session: &'a Session<'_>, path: &Path) -> Result<Self> {
        let location = ContextPackLocation::new(session.context, path)?;
        let display_name = location.display_name(session.context);
        let entries = read_entries(session, &location)?;
        let ContextPackReadResult { manifest, reports, .. } = read(&entries, &session.limits);
        let Some(manifest) = manifest else {
            return Err(invalid_pack_error(
                session,
                format!("`{display_name}` is not a context pack"),
                reports,
            ));
        };
        let findings = reports.iter().flat_map(|report| &report.findings);
        if findings.filter(|finding| finding.severity == Severity::Error).count() > 0 {
            let message = format!(
                "`{display_name}` is invalid and is compared as is; run `sp context check` for \
                 details"
            );
            session.context.emit(Event::Warning(message));
        }
        Ok(Self { display_name, limits: &session.limits, manifest, entries })
    }

    fn generation(&self) -> DiffMembers {
        let manifest = &self.manifest;
        present_members(&[
            ("pack_id", Some(&manifest.pack_id)),
            ("generated_at", Some(&manifest.generated_at)),
        ])
    }

    /// Returns the members of the manifest, without lists.
    fn members(&self) -> DiffMembers {
        let ContextPackManifest { generator, project, window, .. } = &self.manifest;
        let window = window.clone().unwrap_or_default();
        let mut all = present_members(&[
            ("spec_version", Some(&self.manifest.spec_version)),
            ("generator.name", Some(&generator.name)),
            ("generator.version", generator.version.as_ref()),
            ("generator.url", generator.url.as_ref()),
            ("project.name", Some(&project.name)),
            ("project.description", Some(&project.description)),
            ("user_prompt", self.manifest.user_prompt.as_ref()),
            ("window.from", window.from.as_ref()),
            ("window.to", window.to.as_ref()),
        ]);
        all.extend(self.unknown_members("", &self.manifest.unknown_members));
        all.extend(self.unknown_members("generator.", &generator.unknown_members));
        all.extend(self.unknown_members("project.", &project.unknown_members));
        all.extend(self.unknown_members("window.", &window.unknown_members));
        all
    }

    /// Returns members that this version does not know, with a prefix before their names.
    fn unknown_members(&self, prefix: &str, more: &UnknownMembers) -> DiffMembers {
        let text = |raw: &String| {
            let json = JsonDocument::parse(raw.as_str(), self.limits).ok();
            json.and_then(|json| canonicalize(json.root(), "", JsonNumberFormat::Lossless))
                .unwrap_or_else(|| raw.clone())
        };
        more.iter().map(|(key, value)| (format!("{prefix}{key}"), text(value))).collect()
    }

    fn stack(&self) -> BTreeMap<String, DiffMembers> {
        self.manifest.project.stack.iter().map(|word| (word.clone(), DiffMembers::new())).collect()
    }

    fn sources(&self) -> BTreeMap<String, DiffMembers> {
        let members = |source: &ContextPackSourceEntry| {
            let mut all = present_members(&[
                ("url", Some(&source.url)),
                ("title", Some(&source.title)),
                ("kind", Some(&source.kind)),
                ("published_at", source.published_at.as_ref()),
                ("captured_at", Some(&source.captured_at)),
            ]);
            all.extend(self.unknown_members("", &source.unknown_members));
            all
        };
        self.manifest.sources.iter().map(|source| (source.id.clone(), members(source))).collect()
    }

    /// Returns the listed files that exist.
    fn diff_files(&self) -> BTreeMap<String, DiffFile<'_>> {
        let file = |entry: &sp_formats::context_pack::ContextPackFileEntry| match self
            .entries
            .get(entry.path.as_str())
        {
            Some(ContextPackEntry::File(bytes)) => Some((
                entry.path.to_string(),
                DiffFile::new(
                    entry.path.as_str(),
                    bytes,
                    self.unknown_members("", &entry.unknown_members),
                ),
            )),
            _ => None,
        };
        self.manifest.files.iter().filter_map(file).collect()
    }
}

/// The part of a file that is compared.
#[derive(PartialEq)]
struct DiffFile<'b> {
    /// The body of a Markdown file.
    body: Option<&'b str>,
    members: DiffMembers,
}

impl<'b> DiffFile<'b> {
    fn new(path: &str, bytes: &'b [u8], mut members: DiffMembers) -> Self {
        let text = std::str::from_utf8(bytes).ok().filter(|_| path.ends_with(".md"));
        // The hash of a Markdown file depends on the pack ID in its frontmatter.
        if text.is_none() {
            members.insert("sha256".into(), quoted(&Digest::of(bytes).hex()));
            members.insert("bytes".into(), bytes.len().to_string());
        }
        Self { body: text.map(|text| without_frontmatter(text).trim_start_matches('\n')), members }
    }
}

fn present_members(members: &[(&str, Option<&String>)]) -> DiffMembers {
    members
        .iter()
        .filter_map(|(key, value)| Some(((*key).to_owned(), quoted(value.as_ref()?))))
        .collect()
}

/// Returns the files that differ, and the bodies of changed Markdown files.
fn files(
    before: &DiffSide<'_>,
    after: &DiffSide<'_>,
) -> (Vec<ContextPackFileDiff>, BTreeMap<String, MarkdownChange>) {
    let (before, after) = (before.diff_files(), after.diff_files());
    let (mut files, mut bodies) = (Vec::new(), BTreeMap::new());
    for path in merged_keys(&before, &after) {
        let (old, new) = (before.get(path), after.get(path));
        let Some(change) = change_kind(old, new) else { continue };
        let differing = old
            .zip(new)
            .map_or_else(Vec::new, |(old, new)| diff_members(&old.members, &new.members));
        let mut sections = Vec::new();
        if let (Some(old), Some(new)) =
            (old.and_then(|file| file.body), new.and_then(|file| file.body))
            && old != new
        {
            sections = diff_sections(old, new);
            bodies.insert(
                path.clone(),
                MarkdownChange { before: old.to_owned(), after: new.to_owned() },
            );
        }
        files.push(ContextPackFileDiff {
            path: path.clone(),
            change,
            members: differing,
            sections,
            diff: None,
        });
    }
    (files, bodies)
}

fn diff_sections(before: &str, after: &str) -> Vec<ContextPackSectionDiff> {
    let (before, after) = (sections_by_title(before), sections_by_title(after));
    let text = |chapters: &BTreeMap<String, &str>, title: &String| {
        chapters.get(title).map(|text| text.trim().to_owned())
    };
    let section = |title: &String| {
        let change = change_kind(text(&before, title), text(&after, title))?;
        Some(ContextPackSectionDiff { title: title.clone(), change })
    };
    merged_keys(&before, &after).into_iter().filter_map(section).collect()
}
