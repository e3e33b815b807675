//! `sp outdated`: lists sources with a newer version, and changes nothing.

use sp_formats::output::{OutdatedList, OutdatedSource};
use sp_formats::project::lock::{LockedSource, SourceKey};

use super::catalog::{BranchHistory, NewestQuery, NewestSource, newest_versions};
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::newest_packages::ask_packages;
use super::resolution::entry_source_key;
use crate::context::Context;
use crate::error::Result;
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
    let packages = ask_packages(&session, &files, &|_| true)?;
    sources.extend(packages.into_iter().filter_map(|it| it.into_outdated(&files.lock)));
    Ok(OutdatedList { manifest: dir.manifest_path(), sources })
}

/// Asks where the locked sources of a manifest are now.
pub(super) fn ask_sources(
    session: &Session<'_>,
    files: &ProjectFiles,
    is_asked: &dyn Fn(&SourceKey) -> bool,
    history: BranchHistory,
) -> Vec<AskedSource> {
    let mut asked: Vec<(SourceKey, String)> = Vec::new();
    let mut queries: Vec<NewestQuery<'_>> = Vec::new();
    for entry in &files.manifest.skills {
        let key = entry_source_key(entry);
        let Some(locked) = files.lock.sources.get(&key) else { continue };
        if is_asked(&key) && !asked.iter().any(|(known, _)| *known == key) {
            queries.push(NewestQuery {
                source: &entry.source,
                version: entry.version.as_ref(),
                locked,
            });
            asked.push((key, entry.source.to_string()));
        }
    }
    let answers = newest_versions(session, &files.dir.path, &queries, history);
    let locked = queries.iter().map(|query| query.locked.clone());
    asked
        .into_iter()
        .zip(locked)
        .zip(answers)
        .map(|(((key, name), locked), newest)| AskedSource { key, name, locked, newest })
        .collect()
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
fn version_text(source: &LockedSource) -> String {
    let digest = || source.digest.map(|digest| digest.to_string());
    let version = source.commit.clone().or_else(|| source.version.clone()).or_else(digest);
    version.unwrap_or_default()
}
