//! Where policies are, and reading them.
//!
//! A file that exists and cannot be used fails the operation: without it, everything that it
//! forbids would be permitted.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sp_formats::output::PolicyLevel;
use sp_formats::policy::{self, POLICY_FILE, Policy};
use sp_formats::report::Report;
use sp_tree::{FileError, Limits, read_limited};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// The policy of an administrator.
const SYSTEM_POLICY: &str = "/etc/skillpack/policy.yaml";
/// The policy of the user, in the home directory of `sp`.
const USER_POLICY: &str = "policy.yaml";
/// The bits of a mode that let the group or everybody write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A policy, and where it was read from.
#[derive(Debug)]
pub(crate) struct PolicyFile {
    pub level: PolicyLevel,
    pub path: PathBuf,
    pub policy: Policy,
    /// The text, for positions.
    pub report: Report,
}

/// A path at which a policy is read.
pub(crate) struct PolicyPath {
    pub level: PolicyLevel,
    pub path: PathBuf,
}

/// Returns the paths at which policies are read, whether there are files or not: that of the
/// administrator, that of the user, and those of the project in `root`, the outermost first.
pub(crate) fn policy_paths(context: &Context<'_>, root: Option<&Path>) -> Vec<PolicyPath> {
    let (system, user) = (system_policy(context), context.home.join(USER_POLICY));
    let at = |level| move |path| PolicyPath { level, path };
    let mut paths = vec![at(PolicyLevel::System)(system), at(PolicyLevel::User)(user)];
    paths.extend(project_policies(context, root).into_iter().map(at(PolicyLevel::Project)));
    paths
}

/// In debug builds, tests can set another path.
fn system_policy(context: &Context<'_>) -> PathBuf {
    test_policy(context).unwrap_or_else(|| SYSTEM_POLICY.into())
}

fn test_policy(context: &Context<'_>) -> Option<PathBuf> {
    let path = cfg!(debug_assertions).then(|| context.env.get("SP_SYSTEM_POLICY"));
    path.flatten().map(PathBuf::from)
}

/// Returns the paths from the top of the repository to the project. Every policy on the way
/// applies, so that a project in a folder of a repository cannot leave the repository's policy.
fn project_policies(context: &Context<'_>, root: Option<&Path>) -> Vec<PathBuf> {
    let start = match root {
        Some(root) => context.expand(&root.to_string_lossy()),
        None => context.current_dir.clone(),
    };
    let mut paths = Vec::new();
    for dir in start.ancestors() {
        paths.push(dir.join(POLICY_FILE));
        if dir.join(".git").symlink_metadata().is_ok() || dir == context.user_home {
            break;
        }
    }
    let nearest = paths[0].clone();
    paths.retain(|path| *path == nearest || path.symlink_metadata().is_ok());
    paths.reverse();
    paths
}

/// Reads a policy; none if there is no file.
pub(crate) fn read_policy(
    context: &Context<'_>,
    at: PolicyPath,
    limits: &Limits,
) -> Result<Option<PolicyFile>> {
    let PolicyPath { level, path } = at;
    let shown = context.display_path(&path);
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable_error(&shown, FileError::new("read", &path, error))),
        Ok(_) => {}
    }
    if level == PolicyLevel::System {
        require_protection(context, &path, &shown)?;
    }
    let bytes =
        read_limited(&path, limits.yaml_bytes).map_err(|error| unreadable_error(&shown, error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::new(ErrorCode::InvalidPolicy, format!("the policy `{shown}` is not valid UTF-8"))
            .because(error)
            .hint("nothing was changed: save the file as UTF-8")
    })?;
    let (policy, report) = policy::read(&shown, &text, limits);
    if report.is_usable() {
        return Ok(Some(PolicyFile { level, path, policy, report }));
    }
    let message = format!("the policy `{shown}` is invalid");
    Err(Error::in_file(ErrorCode::InvalidPolicy, message, report)
        .hint("nothing was changed: fix the policy, and run `sp policy check`"))
}

fn unreadable_error(shown: &str, error: FileError) -> Error {
    Error::new(ErrorCode::InvalidPolicy, format!("the policy `{shown}` cannot be read"))
        .because(error)
        .hint("nothing was changed: make the file readable for all users that it applies to")
}

/// Refuses a policy of an administrator that someone else can change.
fn require_protection(context: &Context<'_>, path: &Path, shown: &str) -> Result<()> {
    let dir = path.parent().unwrap_or(path);
    let is_test = test_policy(context).is_some();
    for checked in [path, dir] {
        let metadata = checked
            .metadata()
            .map_err(|error| unreadable_error(shown, FileError::new("read", checked, error)))?;
        let owner = if is_test { 0 } else { metadata.uid() };
        if let Some(problem) = exposure(owner, metadata.mode()) {
            let checked = context.display_path(checked);
            let message = format!("the policy `{shown}` can be changed by other users");
            return Err(Error::new(ErrorCode::InvalidPolicy, message)
                .because(format!("`{checked}` {problem}"))
                .hint(format!(
                    "nothing was changed: ask an administrator to run `chown root {checked}` and \
                     `chmod go-w {checked}`"
                )));
        }
    }
    Ok(())
}

/// Returns why a file or directory of an administrator is not protected.
fn exposure(owner: u32, mode: u32) -> Option<String> {
    if owner != 0 {
        return Some(format!("belongs to the user with the ID {owner}, not to root"));
    }
    let is_exposed = mode & WRITABLE_BY_OTHERS != 0;
    is_exposed.then(|| format!("is writable for others (mode {:03o})", mode & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_08_a_policy_of_an_administrator_belongs_to_root_and_is_not_writable_for_others() {
        for (owner, mode, is_protected) in [
            (0, 0o100_644, true),
            (0, 0o100_600, true),
            (0, 0o100_664, false),
            (0, 0o100_646, false),
            (1000, 0o100_644, false),
        ] {
            assert_eq!(exposure(owner, mode).is_none(), is_protected, "{owner} {mode:o}");
        }
    }
}
