//! The context packs of a manifest: which version of each is locked, and what they change in the
//! instruction files of the project.
//!
//! The markers in the instruction files name the versions that they have, and the cache has the
//! digests that the files have with these versions. So a pack is only opened if its version
//! changes, if a file lacks it, or if this machine has not compared them; of a pack on this
//! machine, the manifest is read each time. All packs share one block in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use sp_analyze::audit::Confidence;
use sp_formats::Report;
use sp_formats::context_pack::{ContextPack, MarkedBlockError};
use sp_formats::output::{ChangeKind, ContextPackChangeItem, ContextPackWrittenFile};
use sp_formats::project::MANIFEST_FILE;
use sp_formats::project::lock::LockedContextPack;
use sp_formats::project::manifest::ProjectManifest;
use sp_formats::project::rules::LC_04;
use sp_formats::web_url::has_web_scheme;
use sp_tree::Digest;

use super::files::ProjectDir;
use super::targets::expand_agents;
use crate::content_audit::audit_content;
use crate::content_gate::{ContentGate, GatePosition};
use crate::context_pack::{
    ContextPackAgent, ContextPackLocation, FileReplacement, InstalledInstructions,
    InstructionFiles, OpenedContextPack, PackMarker, RemoteContextPack, audited_files,
    check_content, conflicting_source, installable_documents, plan_changes, read_manifest_digest,
};
use crate::downloads::{keep_artifact, read_artifact};
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::plan::FilePlan;
use crate::session::Session;
use crate::sinks::SinkScope;

const MAX_RECORD_BYTES: u64 = 100;
/// The agent whose rules are not in `AGENTS.md`.
const CURSOR: &str = "cursor";
/// The agent whose instruction file imports `AGENTS.md`.
const CLAUDE: &str = "claude";

/// The locked context packs of a project, by location.
pub(super) type LockedContextPacks = BTreeMap<String, LockedContextPack>;

/// A context pack that an entry of a manifest names.
pub(super) struct ContextPackSource {
    /// What identifies it in the lockfile: its path, or its URL without secrets.
    pub key: String,
    pub location: ContextPackLocation,
    span: Range<usize>,
}

/// The context packs of a manifest.
pub(super) struct ContextPacks<'a> {
    session: &'a Session<'a>,
    dir: &'a ProjectDir,
    /// In the order of the manifest.
    pub sources: Vec<ContextPackSource>,
    opened: BTreeMap<String, OpenedContextPack>,
    agents: Vec<ContextPackAgent>,
    /// The text of the manifest, for positions.
    manifest: Report,
}

/// What changes in the instruction files.
#[derive(Default)]
pub(super) struct InstructionChange {
    pub plans: Vec<FilePlan>,
    pub written: Vec<ContextPackWrittenFile>,
}

impl ContextPackSource {
    /// Parses a location. Relative paths start at `base`.
    pub(super) fn new(session: &Session<'_>, base: &Path, text: &str) -> Result<Self> {
        let location = ContextPackLocation::in_manifest(session, base, text)?;
        Ok(Self { key: context_pack_key(text), location, span: 0..0 })
    }
}

/// Returns what identifies a pack in the lockfile.
pub(super) fn context_pack_key(text: &str) -> String {
    if has_web_scheme(text)
        && let Ok(remote) = RemoteContextPack::new(text)
    {
        return remote.to_string();
    }
    match text.trim_end_matches('/') {
        "" => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

impl<'a> ContextPacks<'a> {
    /// Parses the entries of a manifest with this text.
    pub(super) fn new(
        session: &'a Session<'a>,
        dir: &'a ProjectDir,
        (manifest, text): (&ProjectManifest, &str),
    ) -> Result<Self> {
        let label = session.context.display_relative_path(&dir.manifest_path());
        let mut report = Report::new(label, text);
        let mut sources: Vec<ContextPackSource> = Vec::new();
        for entry in &manifest.context {
            let source = ContextPackSource::new(session, &dir.path, &entry.location)
                .map_err(|error| error.within(&report, &entry.span))?;
            // One URL can have several signatures.
            if !sources.iter().any(|known| known.key == source.key) {
                sources.push(ContextPackSource { span: entry.span.clone(), ..source });
            }
        }
        if let (SinkScope::Global, Some(source)) = (dir.scope, sources.first()) {
            let message = "context packs can only be installed in a project";
            report
                .error(&LC_04, source.span.clone(), message)
                .help(format!("add it to the `{MANIFEST_FILE}` of the project"));
            let message = "the manifest has entries that are not supported";
            return Err(Error::in_file(ErrorCode::Unsupported, message, report));
        }
        let agents =
            if sources.is_empty() { Vec::new() } else { context_agents(session, manifest)? };
        Ok(Self { session, dir, sources, opened: BTreeMap::new(), agents, manifest: report })
    }

    /// Adds packs that were opened before, by location.
    pub(super) fn add_opened(&mut self, opened: Vec<(String, OpenedContextPack)>) {
        self.opened.extend(opened);
    }

    /// Returns the locations that the lockfile lacks.
    pub(super) fn unlocked<'s>(&'s self, locked: &LockedContextPacks) -> Vec<&'s str> {
        let keys = self.sources.iter().map(|source| source.key.as_str());
        keys.filter(|key| !locked.contains_key(*key)).collect()
    }

    /// Returns the version of each pack: the locked one, or the newest one of packs that are
    /// `refreshed`, new, or on this machine.
    pub(super) fn lock(
        &mut self,
        before: &LockedContextPacks,
        refreshed: &BTreeSet<String>,
    ) -> Result<LockedContextPacks> {
        let mut locked = LockedContextPacks::new();
        for source in &self.sources {
            let known = before.get(&source.key).filter(|_| !refreshed.contains(&source.key));
            let opened = match self.opened.remove(&source.key) {
                Some(opened) => Some(opened),
                None => open_changed(self.session, source, known)
                    .map_err(|error| error.within(&self.manifest, &source.span))?,
            };
            let known = before.get(&source.key);
            let version = match (&opened, known) {
                (Some(opened), _) => locked_version(self.session, opened, known),
                (None, Some(known)) => known.clone(),
                // A pack that is not locked was just opened.
                (None, None) => continue,
            };
            locked.insert(source.key.clone(), version);
            if let Some(opened) = opened {
                self.opened.insert(source.key.clone(), opened);
            }
        }
        Ok(locked)
    }

    /// Plans what changes in the instruction files, and audits what is written.
    pub(super) fn plan(
        &mut self,
        home: Option<&LockedHome<'_>>,
        locked: &LockedContextPacks,
    ) -> Result<InstructionChange> {
        let files = InstructionFiles::new(self.session, self.dir.path.clone());
        let wanted = self.wanted_files(&files, locked)?;
        let marker = self.marker(locked);
        let mut lacking = Vec::new();
        for file in &wanted {
            if !self.is_current(&files, file, (&marker, locked))? {
                lacking.push(*file);
            }
        }
        let mut changes: BTreeMap<String, FileReplacement> = BTreeMap::new();
        if !lacking.is_empty() {
            self.load(locked)?;
            let packs = self.loaded();
            self.check(home, locked, &packs)?;
            for file in lacking {
                let change = files.install(file, &packs, &marker).map_err(explain_edited)?;
                let expected = files.expected_content(file, &packs, &marker)?;
                self.remember_content(file, locked, expected);
                changes.insert(file.to_owned(), change);
            }
        }
        for file in files.with_versions()?.into_iter().filter(|file| !wanted.contains(file)) {
            let removal = files.removal(file).map_err(explain_edited)?;
            changes.extend(removal.map(|removal| (file.to_owned(), removal)));
        }
        let (plans, written) = plan_changes(&self.dir.path, changes)?;
        Ok(InstructionChange { plans, written })
    }

    /// Whether a file has the locked packs. What the user edited counts as current, so that it is
    /// kept.
    fn is_current(
        &mut self,
        files: &InstructionFiles<'_>,
        file: &str,
        (marker, locked): (&PackMarker, &LockedContextPacks),
    ) -> Result<bool> {
        let (content, is_edited) = match files.installed(file)? {
            InstalledInstructions::Present { marker: known, content, is_edited }
                if known == *marker =>
            {
                (content, is_edited)
            }
            _ => return Ok(false),
        };
        if is_edited {
            return Ok(true);
        }
        if let Some(expected) = self.known_content(file, locked) {
            return Ok(expected == content);
        }
        // A marker that someone else wrote proves nothing. Without the packs, there is nothing to
        // compare it with.
        if self.load(locked).is_err() {
            return Ok(true);
        }
        let expected = files.expected_content(file, &self.loaded(), marker)?;
        self.remember_content(file, locked, expected);
        Ok(expected == Some(content))
    }

    /// Returns the digest that a file has with the locked packs, if this machine has compared them.
    pub(super) fn known_content(&self, file: &str, locked: &LockedContextPacks) -> Option<Digest> {
        let key = self.content_key(file, locked);
        let known = read_artifact(self.session.context, &key, MAX_RECORD_BYTES)?;
        str::from_utf8(&known).ok()?.parse().ok()
    }

    fn remember_content(&self, file: &str, locked: &LockedContextPacks, content: Option<Digest>) {
        if let Some(content) = content {
            let key = self.content_key(file, locked);
            // Without the record, the packs are compared again.
            let _ = keep_artifact(self.session.context, &key, content.to_string().as_bytes());
        }
    }

    fn content_key(&self, file: &str, locked: &LockedContextPacks) -> Digest {
        let versions = self.sources.iter().filter_map(|source| locked.get(&source.key));
        let versions: Vec<String> =
            versions.map(|version| format!("{} {}", version.id, version.manifest)).collect();
        Digest::of(format!("context packs in {file}: {}", versions.join(", ")).as_bytes())
    }

    /// Returns what identifies the locked versions in the instruction files.
    pub(super) fn marker(&self, locked: &LockedContextPacks) -> PackMarker {
        let versions = self.sources.iter().filter_map(|source| locked.get(&source.key));
        PackMarker::of_versions(versions.map(|version| (version.id.as_str(), version.manifest)))
    }

    /// Returns the instruction files that the locked packs are installed in.
    pub(super) fn wanted_files(
        &self,
        files: &InstructionFiles<'_>,
        locked: &LockedContextPacks,
    ) -> Result<Vec<&'static str>> {
        let mut documents = Vec::new();
        for source in &self.sources {
            let Some(version) = locked.get(&source.key) else { continue };
            if files.wanted(&self.agents, &version.documents)?.is_empty() {
                let message =
                    format!("`{}` has nothing for the agents of the manifest", source.key);
                let error = Error::new(ErrorCode::NothingFound, message)
                    .because("it has neither an `AGENTS.md` nor a `cursor.md` that they read")
                    .hint("nothing was changed: remove it, or change `agents`");
                return Err(error.within(&self.manifest, &source.span));
            }
            documents.extend(version.documents.clone());
        }
        files.wanted(&self.agents, &documents)
    }

    /// Opens the locked versions that are not open.
    fn load(&mut self, locked: &LockedContextPacks) -> Result<()> {
        for source in &self.sources {
            let Some(version) = locked.get(&source.key) else { continue };
            if self.opened.contains_key(&source.key) {
                continue;
            }
            let opened =
                OpenedContextPack::version(self.session, &source.location, version.manifest)
                    .map_err(|error| error.within(&self.manifest, &source.span))?;
            self.opened.insert(source.key.clone(), opened);
        }
        Ok(())
    }

    /// Returns the packs, in the order of the manifest.
    fn loaded(&self) -> Vec<&ContextPack> {
        let opened = self.sources.iter().filter_map(|source| self.opened.get(&source.key));
        opened.map(|opened| &opened.pack).collect()
    }

    /// Audits packs, and refuses those that cannot be in one file.
    fn check(
        &self,
        home: Option<&LockedHome<'_>>,
        locked: &LockedContextPacks,
        packs: &[&ContextPack],
    ) -> Result<()> {
        let accepted = locked.values().flat_map(|version| version.accepted.clone()).collect();
        let gate = ContentGate::new(self.session, Some(&self.dir.path), &accepted)?;
        for (source, pack) in self.sources.iter().zip(packs) {
            check_content(&gate, &source.key, pack);
        }
        gate.finish(home, GatePosition::Earlier)?;
        let Some((id, [first, second])) = conflicting_source(packs) else { return Ok(()) };
        let [first, second] = [&self.sources[first], &self.sources[second]];
        let message =
            format!("`{}` and `{}` cite different sources as `{id}`", first.key, second.key);
        let error = Error::new(ErrorCode::NameCollision, message)
            .because("footnotes in one file would refer to the wrong source")
            .hint("nothing was changed: remove one of the context packs");
        Err(error.within(&self.manifest, &second.span))
    }
}

/// Opens a pack if it is not as it is locked.
fn open_changed(
    session: &Session<'_>,
    source: &ContextPackSource,
    known: Option<&LockedContextPack>,
) -> Result<Option<OpenedContextPack>> {
    if let Some(known) = known {
        let is_unchanged = || {
            let digest: Result<Digest> = read_manifest_digest(session, &source.location);
            Ok::<bool, Error>(digest? == known.manifest)
        };
        if !source.location.is_local() || is_unchanged()? {
            return Ok(None);
        }
    }
    OpenedContextPack::newest(session, &source.location).map(Some)
}

fn locked_version(
    session: &Session<'_>,
    opened: &OpenedContextPack,
    known: Option<&LockedContextPack>,
) -> LockedContextPack {
    let audit = audit_content(&session.audits, &audited_files(&opened.pack));
    let consent = &session.context.consent.findings;
    let earlier = known.map(|known| known.accepted.clone()).unwrap_or_default();
    let certain: BTreeSet<&String> =
        audit.at_least(Confidence::Certain).map(|finding| &finding.id).collect();
    let is_accepted = |id: &&String| consent.contains(*id) || earlier.contains(id);
    LockedContextPack {
        id: opened.pack.manifest.pack_id.clone(),
        manifest: opened.manifest,
        documents: installable_documents(&opened.pack),
        accepted: certain.into_iter().filter(is_accepted).cloned().collect(),
        extra: known.map(|known| known.extra.clone()).unwrap_or_default(),
    }
}

/// Returns the agents that context packs are installed for: those of the manifest, or else those of
/// `sp context install`, so that the files are the same on every machine.
fn context_agents(
    session: &Session<'_>,
    manifest: &ProjectManifest,
) -> Result<Vec<ContextPackAgent>> {
    if manifest.agents.is_empty() {
        return Ok(vec![ContextPackAgent::Cursor, ContextPackAgent::Agents]);
    }
    let names = expand_agents(session, &manifest.agents)?;
    Ok(names
        .iter()
        .map(|name| match name.as_str() {
            CURSOR => ContextPackAgent::Cursor,
            CLAUDE => ContextPackAgent::Claude,
            _ => ContextPackAgent::Agents,
        })
        .collect())
}

/// Says how to resolve an edited block.
fn explain_edited(error: Error) -> Error {
    let why = error.source.as_deref().and_then(|source| source.downcast_ref());
    if why != Some(&MarkedBlockError::Edited) {
        return error;
    }
    let hint = "nothing was changed: move your text out of the block, remove the block with its \
                markers, then run `sp sync`";
    Error { hints: vec![hint.into()], ..error }
}

/// Returns the location of the locked pack that a name stands for: a location, or the ID of a pack.
pub(super) fn named_context_pack<'l>(
    locked: &'l LockedContextPacks,
    name: &str,
) -> Option<&'l str> {
    let key = name.trim_end_matches('/');
    let mut packs = locked.iter();
    let found = packs.find(|(location, pack)| *location == key || pack.id == name);
    found.map(|(location, _)| location.as_str())
}

/// Returns the packs whose locked version changes, sorted by location.
pub(super) fn context_pack_changes(
    before: &LockedContextPacks,
    after: &LockedContextPacks,
) -> Vec<ContextPackChangeItem> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |key: &String| {
        let (change, version) = match (before.get(key), after.get(key)) {
            (None, Some(new)) => (ChangeKind::Added, new),
            (Some(old), None) => (ChangeKind::Removed, old),
            (Some(old), Some(new)) if old.manifest != new.manifest => (ChangeKind::Changed, new),
            _ => return None,
        };
        Some(ContextPackChangeItem { location: key.clone(), pack_id: version.id.clone(), change })
    };
    keys.into_iter().filter_map(change).collect()
}
