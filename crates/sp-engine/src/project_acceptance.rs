//! Where the `skillpack-accept.yaml` of the user's project is.
//!
//! A file of this name in fetched content has no effect.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sp_formats::accept::{self, ACCEPT_FILE, AcceptEntry, AcceptFile};
use sp_formats::skill::SKILL_FILE;
use sp_tree::read_optional;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Finds the file of the project: with `--root` the one there, otherwise the nearest one upward
/// from the current directory in the same git repository.
///
/// A file in a skill has no effect, because the skill may have been fetched.
pub(crate) fn find_accept_file(context: &Context<'_>, root: Option<&Path>) -> Option<PathBuf> {
    if let Some(root) = root {
        let file = context.expand(&root.to_string_lossy()).join(ACCEPT_FILE);
        return file.is_file().then_some(file);
    }
    // A fetched directory cannot contain `.git`.
    let is_checkout = |dir: &Path| dir.join(".git").symlink_metadata().is_ok();
    let is_skill_dir = |dir: &Path| {
        dir.join(SKILL_FILE).symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
    };
    for dir in context.current_dir.ancestors() {
        let file = dir.join(ACCEPT_FILE);
        let is_in_skill = dir.ancestors().any(|above| is_skill_dir(above) && !is_checkout(above));
        if file.is_file() && !is_in_skill {
            return Some(file);
        }
        if is_checkout(dir) || dir == context.user_home {
            return None;
        }
    }
    None
}

/// Whether the project accepts a finding in content that is not a part of it. `names` are the IDs
/// of the finding and of its rule, and `file` is its path in the content with this ID.
pub(crate) fn accepts_in_content(
    accepted: &AcceptFile,
    now: Timestamp,
    names: [&str; 2],
    (id, file): (&str, &str),
) -> bool {
    let path = format!("{id}/{file}");
    let covers = |entry: &AcceptEntry| {
        !entry.is_expired(now)
            && names.iter().any(|name| entry.covers(name, &path) || entry.covers(name, file))
    };
    accepted.accept.iter().any(covers)
}

/// Reads the entries of the project's file. Without a file, there are none.
pub(crate) fn read_accept_file(session: &Session<'_>, root: Option<&Path>) -> Result<AcceptFile> {
    let Some(path) = find_accept_file(session.context, root) else {
        return Ok(AcceptFile::default());
    };
    let bytes = read_optional(&path, session.limits.yaml_bytes)?.unwrap_or_default();
    let label = session.context.display_relative_path(&path);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (file, report) = accept::read(&label, &text, &session.limits);
    if report.is_usable() {
        return Ok(file);
    }
    let message = "the list of accepted findings is invalid";
    Err(Error::in_file(ErrorCode::InvalidProject, message, report))
}
