//! The audit of sources that are not installed: git repositories, zips, packages of registries, and
//! hosts with an index of skills.

use std::path::{Path, PathBuf};

use super::pack::{ContentAuditor, LoadedFiles};
use crate::check::{CheckResults, UnreadableTarget};
use crate::error::{ErrorCode, Result};
use crate::project::{LoadedSource, load_source, names_remote_source};
use crate::session::Session;

/// Audits those of the paths that are sources, and returns the others.
pub(super) fn audit_sources(
    auditor: &ContentAuditor<'_>,
    paths: &[PathBuf],
    checked: &mut CheckResults,
) -> Vec<PathBuf> {
    let mut others = Vec::new();
    for path in paths {
        match load(auditor.session, path) {
            None => others.push(path.clone()),
            Some(Ok(source)) => add_source(auditor, &source, checked),
            // A zip that contains no skills may be a context pack.
            Some(Err(error)) if is_zip(path) && error.has_code(ErrorCode::NothingFound) => {
                others.push(path.clone());
            }
            Some(Err(error)) => {
                let kind = error.kind();
                checked.unreadable.push(UnreadableTarget { error, kind });
            }
        }
    }
    others
}

/// Loads a source; none if the path is something else.
fn load(session: &Session<'_>, path: &Path) -> Option<Result<LoadedSource>> {
    let text = path.to_string_lossy();
    let local = session.context.expand(&text);
    if local.is_file() && is_zip(path) {
        return Some(load_source(session, &local.to_string_lossy()));
    }
    let is_remote = local.symlink_metadata().is_err() && names_remote_source(&text);
    is_remote.then(|| load_source(session, &text))
}

fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}

fn add_source(auditor: &ContentAuditor<'_>, source: &LoadedSource, checked: &mut CheckResults) {
    for (id, tree) in &source.skills {
        let path = format!("{}/{id}", source.source);
        auditor.add_skill(path.into(), id, &LoadedFiles::of(tree), checked);
    }
}
