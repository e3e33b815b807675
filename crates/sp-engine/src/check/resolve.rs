//! Finding the targets of a check.

use std::collections::HashSet;

use super::CheckRequest;
use super::formats::{check_targets_help, files_in, is_checkable_dir};
use super::target::CheckTarget;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// Returns the targets of a request, without duplicates.
pub(super) fn resolve_targets(
    context: &Context<'_>,
    request: &CheckRequest,
) -> Result<Vec<CheckTarget>> {
    if !request.paths.is_empty() {
        let targets: Vec<CheckTarget> = request
            .paths
            .iter()
            .map(|path| CheckTarget::from_argument(context, path))
            .collect::<Result<_>>()?;
        let mut seen = HashSet::new();
        let is_new = |target: &CheckTarget| {
            seen.insert(target.path.canonicalize().unwrap_or_else(|_| target.path.clone()))
        };
        return Ok(targets.into_iter().filter(is_new).collect());
    }
    if let Some(root) = &request.root {
        return Ok(vec![CheckTarget::new(context.expand(&root.to_string_lossy()))]);
    }
    let nearest = context.current_dir.ancestors().find(|dir| is_checkable_dir(dir));
    if let Some(dir) = nearest {
        return Ok(vec![CheckTarget::new(dir.into())]);
    }
    let files = files_in(&context.current_dir);
    if files.is_empty() {
        // Walking the whole current directory, perhaps a home directory, requires an explicit path.
        return Err(Error::new(
            ErrorCode::NothingToCheck,
            "no skill or repository found in the current directory or its parents",
        )
        .hint(format!(
            "specify what to check: {}, or a directory with skills, such as `.`",
            check_targets_help()
        )));
    }
    Ok(files.into_iter().map(CheckTarget::new).collect())
}
