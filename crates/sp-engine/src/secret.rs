//! Secrets that a command needs: the shared secret of `sp pkg send`, a bearer token, a private key.
//!
//! A secret comes from an environment variable or from a file that only its owner can read. It is
//! never an argument, which other processes can see, and its bytes are zeroed when dropped.

use std::path::{Path, PathBuf};

use sp_tree::{FileError, Zeroizing, read_limited};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{InputKind, require_input};

const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// Where a secret comes from.
#[derive(Debug, Clone)]
pub enum SecretSource {
    /// An environment variable.
    Env(String),
    /// A file that only its owner can read.
    File(PathBuf),
    /// The environment variable `SP_TRANSPORT_SECRET`, if it is set.
    Default,
}

/// The default environment variable for the secret of `sp pkg send` and `sp pkg receive`.
pub(crate) const TRANSPORT_SECRET_ENV: &str = "SP_TRANSPORT_SECRET";

/// Reads a secret. Returns `None` for the default source if its variable is not set.
pub(crate) fn read_secret_if_set(
    context: &Context<'_>,
    source: &SecretSource,
) -> Result<Option<Zeroizing<Vec<u8>>>> {
    match source {
        SecretSource::Default if !context.env.contains_key(TRANSPORT_SECRET_ENV) => Ok(None),
        source => read_secret(context, source).map(Some),
    }
}

/// Reads a secret.
pub fn read_secret(context: &Context<'_>, source: &SecretSource) -> Result<Zeroizing<Vec<u8>>> {
    let bytes = match source {
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
    if bytes.is_empty() {
        return Err(Error::new(ErrorCode::InvalidSecret, "the secret is empty")
            .hint("write the secret to the file or the environment variable"));
    }
    Ok(bytes)
}

pub(crate) fn require_env(context: &Context<'_>, name: &str) -> Result<String> {
    context.env.get(name).filter(|value| !value.is_empty()).cloned().ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidSecret,
            format!("the environment variable `{name}` is not set"),
        )
        .hint(
            "set it, or specify a file with `--secret-file`; secrets cannot be passed as arguments",
        )
    })
}

/// Returns an error if the group or others can access the file.
pub(crate) fn check_private_file(context: &Context<'_>, path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    require_input(context, path, InputKind::File)?;
    let metadata = path.metadata().map_err(|e| FileError::new("read the metadata of", path, e))?;
    match metadata.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(Error::new(
            ErrorCode::ExposedSecret,
            format!("other users can access `{}`", context.display_path(path)),
        )
        .hint(format!(
            "run `chmod 600 {}`, and consider replacing the secret",
            context.display_path(path)
        ))),
    }
}
