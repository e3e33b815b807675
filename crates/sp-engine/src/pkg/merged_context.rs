//! Reads the merged graph of a project, `.ctxpkg/context.json`.
//!
//! The file contains the graphs of all context packages that the project has. It is written
//! together with the packages and the lock, in one transaction, and the lock records its digest and
//! the packages that it was merged from. A file that does not match the lock is not used.

use sp_formats::json::JsonDocument;
use sp_tree::{Digest, Limits};

use super::project::PackageProject;
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Returns the merged graph of a project, if the file and the lock agree. The packages are not
/// read.
pub(super) fn read_merged_context(
    session: &Session<'_>,
    project: &PackageProject,
) -> Result<Option<JsonDocument>> {
    let Some(locked) = project
        .lock
        .context
        .as_ref()
        .filter(|locked| locked.packages == project.lock.knowledge_digests())
    else {
        return Ok(None);
    };
    let Some(bytes) = project.read_context()? else { return Ok(None) };
    if Digest::of(&bytes) != locked.digest {
        session.context.emit(Event::Warning(format!(
            "ignoring `{}`, which does not match the lockfile; run `sp pkg install` to \
             regenerate it",
            session.context.display_path(&project.context_path())
        )));
        return Ok(None);
    }
    parse_merged_context(session, bytes).map(Some)
}

/// Parses the file of a merged graph.
pub(super) fn parse_merged_context(session: &Session<'_>, bytes: Vec<u8>) -> Result<JsonDocument> {
    let text =
        String::from_utf8(bytes).map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))?;
    parse_graph(session, text)
}

/// Parses a merged graph.
pub(super) fn parse_graph(session: &Session<'_>, text: String) -> Result<JsonDocument> {
    // Each package was within the limits, so the number of values in the merged graph is not
    // limited.
    let limits = Limits { json_values: u64::MAX, ..session.limits.clone() };
    JsonDocument::parse(text, &limits).map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))
}
