//! `sp outdated`: lists sources with a newer version, and changes nothing.

use sp_formats::output::{OutdatedList, OutdatedSource};
use sp_formats::project::lock::{LockedSource, SourceKey};
use sp_formats::project::manifest::SkillsEntry;
use sp_formats::project::source::{ManifestSource, PackSource, SourceVersion};

use super::catalog::{BranchHistory, NewestQuery, NewestSource, newest_versions};
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::known_newest::{KnownSubject, remember_newest};
use super::local_changes::{LocalChange, LocalComparison, locked_content};
use super::newest_context_packs::{AskedContextPack, ask_context_packs};
use super::newest_packages::ask_packages;
use super::packages::with_pack_entries;
use super::resolution::entry_source_key;
use crate::context::Context;
use crate::error::Result;
use crate::home::{DigestIndexes, LockedHome};
use crate::session::Session;

/// A source of a manifest, and where it is now.
pub(super) struct AskedSource {
    pub key: SourceKey,
    /// As the manifest has it.
    pub name: String,
    pub locked: LockedSource,
    pub newest: Result<NewestSource>,
}

/// Lists the sources of a manifest with a newer version.
pub fn outdated(context: &Context<'_>, location: &ProjectLocation) -> Result<OutdatedList> {
    let session = Session::begin(context)?;
    let dir = ProjectDir::find(context, location, MissingManifest::Refuse)?;
    let files = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let asked = ask_sources(&session, &files, &|_| true, BranchHistory::Skip);
    let sources = asked.into_iter().filter_map(|source| outdated_source(&files, source));
    let mut sources: Vec<OutdatedSource> = sources.collect();
    sources.extend(outdated_local_sources(&session, &files));
    let packages = ask_packages(&session, &files, &|_| true)?;
    sources.extend(packages.into_iter().filter_map(|it| it.into_outdated(&files.lock)));
    let context_packs = ask_context_packs(&session, &files, &|_| true)?;
    sources.extend(context_packs.into_iter().filter_map(AskedContextPack::into_outdated));
    Ok(OutdatedList { manifest: dir.manifest_path(), sources })
}

/// Asks where the locked sources of a manifest are now.
pub(super) fn ask_sources(
    session: &Session<'_>,
    files: &ProjectFiles,
    is_asked: &dyn Fn(&SourceKey) -> bool,
    history: BranchHistory,
) -> Vec<AskedSource> {
    let mut questions: Vec<SourceQuestion> = Vec::new();
    let manifest = with_pack_entries(&files.manifest);
    for entry in &manifest.skills {
        let key = entry_source_key(entry);
        let Some(locked) = files.lock.sources.get(&key) else { continue };
        if is_asked(&key) && !questions.iter().any(|known| known.key == key) {
            questions.extend(questions_about(entry, &key, locked));
        }
    }
    let queries: Vec<NewestQuery<'_>> = questions
        .iter()
        .map(|question| NewestQuery {
            source: &question.source,
            version: question.version.as_ref(),
            locked: &question.locked,
        })
        .collect();
    let answers = newest_versions(session, &files.dir.path, &queries, history);
    let asked = questions.into_iter().zip(answers).map(|(question, newest)| {
        remember(session, &question, &newest);
        AskedSource {
            key: question.key,
            name: question.source.to_string(),
            locked: question.locked,
            newest,
        }
    });
    asked.collect()
}

/// Remembers the newest version of a source for `sp status`. Git repositories remember their own.
fn remember(session: &Session<'_>, question: &SourceQuestion, newest: &Result<NewestSource>) {
    let is_remembered = matches!(
        question.source,
        ManifestSource::WebZip(_) | ManifestSource::Index(_) | ManifestSource::Package(_)
    );
    let locked = version_text(&question.locked);
    let newest = match newest {
        Ok(NewestSource::Newer(newer)) => version_text(newer),
        Ok(NewestSource::Current) => locked.clone(),
        _ => return,
    };
    if is_remembered {
        let subject = KnownSubject::Source(question.key.as_str());
        remember_newest(session.context, subject, &locked, &newest);
    }
}

/// Describes the sources on this machine that differ from the lockfile.
fn outdated_local_sources(session: &Session<'_>, files: &ProjectFiles) -> Vec<OutdatedSource> {
    let manifest = with_pack_entries(&files.manifest);
    let (base, lock) = (files.dir.path.as_path(), &files.lock);
    let comparison = LocalComparison { session, base, manifest: &manifest, lock };
    let mut indexes = DigestIndexes::new(session.context);
    let changes = comparison.changes(&mut indexes);
    for entry in manifest.skills.iter().filter(|entry| entry.source.is_local()) {
        let key = entry_source_key(entry);
        let locked = locked_content(lock, &key).to_string();
        let newest = match changes.get(&key) {
            None => locked.clone(),
            Some(Ok(LocalChange { newest: Some(newest), .. })) => newest.to_string(),
            Some(_) => continue,
        };
        let subject = KnownSubject::Source(key.as_str());
        remember_newest(session.context, subject, &locked, &newest);
    }
    LockedHome::store_indexes(session.context, &indexes);
    let outdated = changes.into_iter().map(|(key, change)| OutdatedSource {
        source: key.to_string(),
        locked: locked_content(lock, &key).to_string(),
        note: change.as_ref().err().map(ToString::to_string),
        newest: change.as_ref().ok().and_then(|it| it.newest).map(|it| it.to_string()),
        skills: change.map(|it| it.folders.into_iter().collect()).unwrap_or_default(),
    });
    outdated.collect()
}

/// What to ask a server about a locked source.
pub(super) struct SourceQuestion {
    pub key: SourceKey,
    pub source: ManifestSource,
    pub version: Option<SourceVersion>,
    pub locked: LockedSource,
}

/// Returns what to ask about a source: for a pack, its own repository and those of its imports.
pub(super) fn questions_about(
    entry: &SkillsEntry,
    key: &SourceKey,
    locked: &LockedSource,
) -> Vec<SourceQuestion> {
    let question = |source: ManifestSource, version, locked| SourceQuestion {
        key: key.clone(),
        source,
        version,
        locked,
    };
    let ManifestSource::Pack(pack) = &entry.source else {
        return vec![question(entry.source.clone(), entry.version.clone(), locked.clone())];
    };
    let at_commit = |commit| LockedSource { commit, ..LockedSource::default() };
    let own = match pack {
        PackSource::Local(_) => None,
        PackSource::Remote(remote) => {
            let locked = at_commit(locked.commit.clone());
            Some(question(remote.source.clone(), remote.version.clone(), locked))
        }
    };
    let imports = locked.imports.iter().filter_map(|import| {
        let source = ManifestSource::new(&import.repo).ok()?;
        let version = import.git_ref.as_ref().map(|text| SourceVersion::new(&source, text));
        Some(question(source, version.transpose().ok()?, at_commit(Some(import.commit.clone()))))
    });
    own.into_iter().chain(imports).collect()
}

/// Describes a source with a newer version, or one with a problem.
fn outdated_source(files: &ProjectFiles, asked: AskedSource) -> Option<OutdatedSource> {
    let AskedSource { key, name, locked, newest } = asked;
    let (newest, note) = match newest {
        Ok(NewestSource::Current) => return None,
        Ok(NewestSource::Newer(newer)) => (Some(version_text(&newer)), None),
        Ok(changed) => {
            let commit = match &changed {
                NewestSource::MovedTag { commit, .. }
                | NewestSource::RewrittenBranch { commit, .. } => Some(commit.clone()),
                _ => None,
            };
            (commit, changed.into_problem(&name).map(|problem| problem.to_string()))
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let skills = files.lock.skills.iter().filter(|(_, skill)| skill.source == key);
    Some(OutdatedSource {
        source: key.to_string(),
        locked: version_text(&locked),
        newest,
        note,
        skills: skills.map(|(folder, _)| folder.clone()).collect(),
    })
}

/// Returns the commit, version or digest of a source.
pub(super) fn version_text(source: &LockedSource) -> String {
    let digest = || source.digest.map(|digest| digest.to_string());
    let version = source.commit.clone().or_else(|| source.version.clone()).or_else(digest);
    version.unwrap_or_default()
}
