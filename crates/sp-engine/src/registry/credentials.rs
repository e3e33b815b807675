//! Tokens for registries: `credentials.json` in the home, readable by its owner only.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_tree::atomic::{ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::read_optional;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::output_file::write_output_file;
use crate::secret::check_private_file;
use crate::server_url::normalize_server_url;
use crate::session::Session;

pub(crate) const CREDENTIALS_FILE: &str = "credentials.json";
const MAX_CREDENTIALS_BYTES: u64 = 1024 * 1024;
/// The environment variable with a token, for CI.
const TOKEN_ENV: &str = "SP_REGISTRY_TOKEN";

/// Tokens by registry URL, and the registry of the last login.
pub(crate) struct RegistryCredentials {
    tokens: BTreeMap<String, String>,
    last_address: Option<String>,
    /// The token from the environment, which is never stored.
    env_token: Option<String>,
}

/// Where the token for a registry may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// The environment, then `credentials.json`. The token from the environment has no URL, so
    /// this is only for a registry that the user named or that is the only one.
    EnvironmentOrFile,
    /// `credentials.json` alone.
    File,
}

impl RegistryCredentials {
    pub(crate) fn read(context: &Context<'_>) -> Result<Self> {
        let path = context.home.join(CREDENTIALS_FILE);
        let env_token = context.env.get(TOKEN_ENV).filter(|token| !token.is_empty()).cloned();
        let Some(bytes) = read_optional(&path, MAX_CREDENTIALS_BYTES)? else {
            return Ok(Self { tokens: BTreeMap::new(), last_address: None, env_token });
        };
        check_private_file(context, &path)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|why| {
            Error::new(
                ErrorCode::InvalidCredentials,
                format!("`{}` is invalid", context.display_path(&path)),
            )
            .because(why)
            .hint("remove the file, then log in again")
        })?;
        let tokens = value["registries"].as_object().into_iter().flatten();
        let tokens = tokens
            .filter_map(|(address, token)| Some((address.clone(), token.as_str()?.to_owned())));
        Ok(Self {
            tokens: tokens.collect(),
            last_address: value["last"].as_str().map(str::to_owned),
            env_token,
        })
    }

    pub(crate) fn save(&self, context: &Context<'_>) -> Result<()> {
        let text = format!("{:#}\n", json!({"last": self.last_address, "registries": self.tokens}));
        let file = OutputFile {
            bytes: text.as_bytes(),
            access: FileAccess::Private,
            if_exists: ExistingFilePolicy::Replace,
        };
        context.open_private_dir(&context.home)?;
        write_output_file(
            context,
            &context.home.join(CREDENTIALS_FILE),
            file,
            "run the command again",
        )
    }

    pub(crate) fn insert(&mut self, address: &str, token: &str) {
        self.tokens.insert(address.into(), token.into());
        self.last_address = Some(address.into());
    }

    /// Removes a token. Returns false if there was none.
    pub(crate) fn remove(&mut self, address: &str) -> bool {
        if self.last_address.as_deref() == Some(address) {
            self.last_address = None;
        }
        self.tokens.remove(address).is_some()
    }

    /// Returns the token for a registry.
    pub(crate) fn token(&self, address: &str, source: TokenSource) -> Option<String> {
        let env_token = match source {
            TokenSource::EnvironmentOrFile => self.env_token.clone(),
            TokenSource::File => None,
        };
        env_token.or_else(|| self.tokens.get(address).cloned())
    }

    /// Returns the registry of the last login.
    pub(crate) fn last_address(&self) -> Option<String> {
        self.last_address.clone()
    }

    /// Returns every registry that has a stored token.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.tokens.keys().cloned().collect()
    }
}

/// Returns the URL of the registry to use: the named one, the only one in the config, or that of
/// the last login.
pub(crate) fn select_registry(
    session: &Session<'_>,
    registry: Option<&str>,
    credentials: &RegistryCredentials,
) -> Result<String> {
    match (registry, session.config.registries.as_slice(), &credentials.last_address) {
        (Some(address), ..) => normalize_server_url(address),
        (None, [only], _) => normalize_server_url(&only.url),
        (None, _, Some(last)) => Ok(last.clone()),
        (None, [], None) => Err(Error::new(ErrorCode::NoRegistry, "no registry configured")
            .hint("run `sp login <URL>` to save one, or specify it with `--registry <URL>`")),
        (None, several, None) => {
            let addresses: Vec<&str> =
                several.iter().map(|registry| registry.url.as_str()).collect();
            Err(Error::new(ErrorCode::AmbiguousRegistry, "multiple registries are configured")
                .hint(format!("specify one with `--registry`: {}", addresses.join(", "))))
        }
    }
}
