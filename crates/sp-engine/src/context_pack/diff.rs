//! `sp context diff`: what differs between two packs, by member, source, file and section.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::Severity;
use sp_formats::context_pack::{
    Entries, Entry, Manifest, More, Read, SourceEntry, chapters, read, without_frontmatter,
};
use sp_formats::json::{Json, Numbers, canonical, quoted};
use sp_formats::output::{ContextFileDiff, ContextPackDiff, ContextSectionDiff};
use sp_tree::{Digest, Limits};

use super::archive::refused;
use super::entries::{PackAt, read_entries};
use crate::changes::{Members, change, items, keys, members};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::Result;

/// What differs between two packs, and the Markdown that changed.
#[derive(Debug)]
pub struct PackDiff {
    /// What differs; the diffs of Markdown are left to whoever shows them.
    pub diff: ContextPackDiff,
    /// What each file of Markdown that changed said before and says now, by path.
    pub bodies: BTreeMap<String, Bodies>,
}

/// What a file says, without its frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bodies {
    /// In the first pack.
    pub before: String,
    /// In the second.
    pub after: String,
}

/// What differs between two packs, whatever is wrong with them.
pub fn diff(context: &Context<'_>, before: &Path, after: &Path) -> Result<PackDiff> {
    let session = Session::begin(context)?;
    let (before, after) = (Side::read(&session, before)?, Side::read(&session, after)?);
    let (files, bodies) = files(&before, &after);
    let mut diff = ContextPackDiff {
        same: false,
        generation: members(&before.generation(), &after.generation()),
        manifest: members(&before.members(), &after.members()),
        stack: items(&before.stack(), &after.stack()),
        sources: items(&before.sources(), &after.sources()),
        files,
        before: before.shown,
        after: after.shown,
    };
    diff.same = diff.manifest.is_empty() && diff.stack.is_empty() && diff.sources.is_empty() && diff.files.is_empty();
    Ok(PackDiff { diff, bodies })
}

/// One of the two packs.
struct Side<'a> {
    shown: String,
    limits: &'a Limits,
    manifest: Manifest,
    entries: Entries,
}

impl<'a> Side<'a> {
    fn read(session: &'a Session<'_>, path: &Path) -> Result<Self> {
        let place = PackAt::new(session.context, path)?;
        let shown = place.show(session.context);
        let entries = read_entries(session, &place)?;
        let Read { manifest, reports, .. } = read(&entries, &session.limits);
        let Some(manifest) = manifest else {
            return Err(refused(session, format!("`{shown}` is no context pack"), reports));
        };
        let findings = reports.iter().flat_map(|report| &report.findings);
        if findings.filter(|finding| finding.severity == Severity::Error).count() > 0 {
            let message = format!("`{shown}` is not valid, and compared as it is; `sp context check` tells why");
            session.context.tell(Event::Warning(message));
        }
        Ok(Self { shown, limits: &session.limits, manifest, entries })
    }

    fn generation(&self) -> Members {
        let manifest = &self.manifest;
        known(&[("pack_id", Some(&manifest.pack_id)), ("generated_at", Some(&manifest.generated_at))])
    }

    /// What the manifest says, lists left out.
    fn members(&self) -> Members {
        let Manifest { generator, project, window, .. } = &self.manifest;
        let window = window.clone().unwrap_or_default();
        let mut all = known(&[
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
        all.extend(self.more("", &self.manifest.more));
        all.extend(self.more("generator.", &generator.more));
        all.extend(self.more("project.", &project.more));
        all.extend(self.more("window.", &window.more));
        all
    }

    /// Members that nobody knows, with what stands before their names.
    fn more(&self, prefix: &str, more: &More) -> Members {
        let text = |raw: &String| {
            let json = Json::parse(raw.as_str(), self.limits).ok();
            json.and_then(|json| canonical(json.root(), "", Numbers::Lossless)).unwrap_or_else(|| raw.clone())
        };
        more.iter().map(|(key, value)| (format!("{prefix}{key}"), text(value))).collect()
    }

    fn stack(&self) -> BTreeMap<String, Members> {
        self.manifest.project.stack.iter().map(|word| (word.clone(), Members::new())).collect()
    }

    fn sources(&self) -> BTreeMap<String, Members> {
        let members = |source: &SourceEntry| {
            let mut all = known(&[
                ("url", Some(&source.url)),
                ("title", Some(&source.title)),
                ("kind", Some(&source.kind)),
                ("published_at", source.published_at.as_ref()),
                ("captured_at", Some(&source.captured_at)),
            ]);
            all.extend(self.more("", &source.more));
            all
        };
        self.manifest.sources.iter().map(|source| (source.id.clone(), members(source))).collect()
    }

    /// The files that are listed and there.
    fn files(&self) -> BTreeMap<String, PackFile<'_>> {
        let file = |entry: &sp_formats::context_pack::FileEntry| match self.entries.get(entry.path.as_str()) {
            Some(Entry::File(bytes)) => {
                Some((entry.path.to_string(), PackFile::new(entry.path.as_str(), bytes, self.more("", &entry.more))))
            }
            _ => None,
        };
        self.manifest.files.iter().filter_map(file).collect()
    }
}

/// A file of a pack, as far as it counts.
#[derive(PartialEq)]
struct PackFile<'b> {
    /// What it says, if it is Markdown.
    body: Option<&'b str>,
    members: Members,
}

impl<'b> PackFile<'b> {
    fn new(path: &str, bytes: &'b [u8], mut members: Members) -> Self {
        let text = std::str::from_utf8(bytes).ok().filter(|_| path.ends_with(".md"));
        // The hash of Markdown differs with the id of its pack.
        if text.is_none() {
            members.insert("sha256".into(), quoted(&Digest::of(bytes).hex()));
            members.insert("bytes".into(), bytes.len().to_string());
        }
        Self { body: text.map(|text| without_frontmatter(text).trim_start_matches('\n')), members }
    }
}

fn known(members: &[(&str, Option<&String>)]) -> Members {
    members.iter().filter_map(|(key, value)| Some(((*key).to_owned(), quoted(value.as_ref()?)))).collect()
}

/// The files that differ, and the Markdown that changed.
fn files(before: &Side<'_>, after: &Side<'_>) -> (Vec<ContextFileDiff>, BTreeMap<String, Bodies>) {
    let (before, after) = (before.files(), after.files());
    let (mut files, mut bodies) = (Vec::new(), BTreeMap::new());
    for path in keys(&before, &after) {
        let (old, new) = (before.get(path), after.get(path));
        let Some(change) = change(old, new) else { continue };
        let differing = old.zip(new).map_or_else(Vec::new, |(old, new)| members(&old.members, &new.members));
        let mut sections = Vec::new();
        if let (Some(old), Some(new)) = (old.and_then(|file| file.body), new.and_then(|file| file.body))
            && old != new
        {
            sections = changed_sections(old, new);
            bodies.insert(path.clone(), Bodies { before: old.to_owned(), after: new.to_owned() });
        }
        files.push(ContextFileDiff { path: path.clone(), change, members: differing, sections, diff: None });
    }
    (files, bodies)
}

fn changed_sections(before: &str, after: &str) -> Vec<ContextSectionDiff> {
    let (before, after) = (chapters(before), chapters(after));
    let text =
        |chapters: &BTreeMap<String, &str>, title: &String| chapters.get(title).map(|text| text.trim().to_owned());
    let section = |title: &String| {
        let change = change(text(&before, title), text(&after, title))?;
        Some(ContextSectionDiff { title: title.clone(), change })
    };
    keys(&before, &after).into_iter().filter_map(section).collect()
}
