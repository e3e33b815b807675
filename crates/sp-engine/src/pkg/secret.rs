//! Secrets, from where they may come: never from an argument, and never from a file that others can read.

use std::path::{Path, PathBuf};

use sp_tree::{FileError, Zeroizing, read_limited};

use crate::context::Context;
use crate::error::{Error, Kind, Result};

const MAX_SECRET: u64 = 16 * 1024;

/// Where the secret that both sides share comes from: never from an argument.
#[derive(Debug, Clone)]
pub enum SecretFrom {
    /// An environment variable.
    Env(String),
    /// A file that only its owner may read.
    File(PathBuf),
    /// The environment variable `TRANSPORT_SECRET`, if it is set.
    Default,
}

/// The environment variable that holds the secret for `sp pkg send` and `sp pkg receive` unless another is named.
pub(super) const TRANSPORT_SECRET: &str = "SP_TRANSPORT_SECRET";

/// The shared secret. None if nobody named one and the default variable is not set.
pub(super) fn find_secret(context: &Context<'_>, from: &SecretFrom) -> Result<Option<Zeroizing<Vec<u8>>>> {
    match from {
        SecretFrom::Default if !context.env.contains_key(TRANSPORT_SECRET) => Ok(None),
        from => read_secret(context, from).map(Some),
    }
}

/// The secret that both sides share.
pub(super) fn read_secret(context: &Context<'_>, from: &SecretFrom) -> Result<Zeroizing<Vec<u8>>> {
    let bytes = match from {
        SecretFrom::Env(name) => Zeroizing::new(env(context, name)?.into_bytes()),
        SecretFrom::Default => Zeroizing::new(env(context, TRANSPORT_SECRET)?.into_bytes()),
        SecretFrom::File(path) => {
            let path = context.expand(&path.to_string_lossy());
            refuse_open(context, &path)?;
            let mut bytes = Zeroizing::new(read_limited(&path, MAX_SECRET)?);
            while bytes.ends_with(b"\n") || bytes.ends_with(b"\r") {
                bytes.pop();
            }
            bytes
        }
    };
    match bytes.is_empty() {
        false => Ok(bytes),
        true => {
            Err(Error::new(Kind::Usage, "the secret is empty")
                .hint("write one into the file or the environment variable"))
        }
    }
}

pub(super) fn env(context: &Context<'_>, name: &str) -> Result<String> {
    context.env.get(name).filter(|value| !value.is_empty()).cloned().ok_or_else(|| {
        Error::new(Kind::Usage, format!("the environment variable `{name}` is not set"))
            .hint("set it, or name a file with `--secret-file`; a secret is never an argument")
    })
}

/// A secret that others can read is none.
pub(super) fn refuse_open(context: &Context<'_>, path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().map_err(|e| FileError::new("look at", path, e))?;
    match metadata.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(Error::new(Kind::Trust, format!("others can read `{}`", context.show(path)))
            .hint(format!("`chmod 600 {}`, and think about a new secret", context.show(path)))),
    }
}
