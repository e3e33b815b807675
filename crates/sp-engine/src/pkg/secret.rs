//! Secrets, from where they may come: never from an argument, and never from a file that others can read.

use std::path::{Path, PathBuf};

use sp_tree::{FileError, Zeroizing, read_limited};

use crate::context::Context;
use crate::error::{Error, FailureKind, Result};

const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// Where the secret that both sides share comes from: never from an argument.
#[derive(Debug, Clone)]
pub enum SecretSource {
    /// An environment variable.
    Env(String),
    /// A file that only its owner may read.
    File(PathBuf),
    /// The environment variable `TRANSPORT_SECRET`, if it is set.
    Default,
}

/// The environment variable that holds the secret for `sp pkg send` and `sp pkg receive` unless another is named.
pub(super) const TRANSPORT_SECRET_ENV: &str = "SP_TRANSPORT_SECRET";

/// The shared secret. None if nobody named one and the default variable is not set.
pub(super) fn read_secret_if_set(
    context: &Context<'_>,
    from: &SecretSource,
) -> Result<Option<Zeroizing<Vec<u8>>>> {
    match from {
        SecretSource::Default if !context.env.contains_key(TRANSPORT_SECRET_ENV) => Ok(None),
        from => read_secret(context, from).map(Some),
    }
}

/// The secret that both sides share.
pub(super) fn read_secret(
    context: &Context<'_>,
    from: &SecretSource,
) -> Result<Zeroizing<Vec<u8>>> {
    let bytes = match from {
        SecretSource::Env(name) => Zeroizing::new(require_env(context, name)?.into_bytes()),
        SecretSource::Default => {
            Zeroizing::new(require_env(context, TRANSPORT_SECRET_ENV)?.into_bytes())
        }
        SecretSource::File(path) => {
            let path = context.expand(&path.to_string_lossy());
            check_private_file(context, &path)?;
            let mut bytes = Zeroizing::new(read_limited(&path, MAX_SECRET_BYTES)?);
            while bytes.ends_with(b"\n") || bytes.ends_with(b"\r") {
                bytes.pop();
            }
            bytes
        }
    };
    match bytes.is_empty() {
        false => Ok(bytes),
        true => Err(Error::new(FailureKind::Usage, "the secret is empty")
            .hint("write one into the file or the environment variable")),
    }
}

pub(super) fn require_env(context: &Context<'_>, name: &str) -> Result<String> {
    context.env.get(name).filter(|value| !value.is_empty()).cloned().ok_or_else(|| {
        Error::new(FailureKind::Usage, format!("the environment variable `{name}` is not set"))
            .hint("set it, or name a file with `--secret-file`; a secret is never an argument")
    })
}

/// A secret that others can read is none.
pub(super) fn check_private_file(context: &Context<'_>, path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().map_err(|e| FileError::new("look at", path, e))?;
    match metadata.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(Error::new(
            FailureKind::Trust,
            format!("others can read `{}`", context.display_path(path)),
        )
        .hint(format!("`chmod 600 {}`, and think about a new secret", context.display_path(path)))),
    }
}
