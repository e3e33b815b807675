//! The tokens for registries, in a file that only its owner may read.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_tree::atomic::{ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::read_optional;

use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::pkg::manage::write_output_file;
use crate::pkg::secret::check_private_file;
use crate::pkg::send::normalize_server_url;
use crate::session::Session;

const CREDENTIALS_FILE: &str = "credentials.json";
const MAX_CREDENTIALS_BYTES: u64 = 1024 * 1024;
/// The variable that holds a token, for machines where nobody logs in.
const TOKEN_ENV: &str = "SP_REGISTRY_TOKEN";

/// The tokens by address, and the address that was logged in to last.
pub(super) struct RegistryCredentials {
    tokens: BTreeMap<String, String>,
    last_address: Option<String>,
    /// A token from the environment; it is never stored.
    env_token: Option<String>,
}

impl RegistryCredentials {
    pub(super) fn read(context: &Context<'_>) -> Result<Self> {
        let path = context.home.join(CREDENTIALS_FILE);
        let given = context.env.get(TOKEN_ENV).filter(|token| !token.is_empty()).cloned();
        let Some(bytes) = read_optional(&path, MAX_CREDENTIALS_BYTES)? else {
            return Ok(Self { tokens: BTreeMap::new(), last_address: None, env_token: given });
        };
        check_private_file(context, &path)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|why| {
            Error::new(
                FailureKind::Data,
                format!("`{}` cannot be read", context.display_path(&path)),
            )
            .because(why)
            .hint("remove it, and log in again")
        })?;
        let tokens = value["registries"].as_object().into_iter().flatten();
        let tokens = tokens
            .filter_map(|(address, token)| Some((address.clone(), token.as_str()?.to_owned())));
        Ok(Self {
            tokens: tokens.collect(),
            last_address: value["last"].as_str().map(str::to_owned),
            env_token: given,
        })
    }

    pub(super) fn save(&self, context: &Context<'_>) -> Result<()> {
        let text = format!("{:#}\n", json!({"last": self.last_address, "registries": self.tokens}));
        let delivery = OutputFile {
            bytes: text.as_bytes(),
            access: FileAccess::Private,
            if_exists: ExistingFilePolicy::Replace,
        };
        context.open_private_dir(&context.home)?;
        write_output_file(
            context,
            &context.home.join(CREDENTIALS_FILE),
            delivery,
            "run the command again",
        )
    }

    pub(super) fn insert(&mut self, address: &str, token: &str) {
        self.tokens.insert(address.into(), token.into());
        self.last_address = Some(address.into());
    }

    /// Whether there was a token.
    pub(super) fn remove(&mut self, address: &str) -> bool {
        if self.last_address.as_deref() == Some(address) {
            self.last_address = None;
        }
        self.tokens.remove(address).is_some()
    }

    /// The token for a registry. The one from the environment is for the registry that is meant, and no other.
    pub(super) fn token(&self, address: &str, is_meant: bool) -> Option<String> {
        let given = self.env_token.clone().filter(|_| is_meant);
        given.or_else(|| self.tokens.get(address).cloned())
    }

    /// The address that was logged in to last.
    pub(super) fn last_address(&self) -> Option<String> {
        self.last_address.clone()
    }

    /// Every address that was logged in to.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.tokens.keys().cloned().collect()
    }
}

/// The address that is meant: the one that was named, the only one of the config, or the one that was logged in
/// to last.
pub(super) fn select_registry(
    session: &Session<'_>,
    named: Option<&str>,
    credentials: &RegistryCredentials,
) -> Result<String> {
    match (named, session.config.registries.as_slice(), &credentials.last_address) {
        (Some(named), ..) => normalize_server_url(named),
        (None, [only], _) => normalize_server_url(&only.url),
        (None, _, Some(last)) => Ok(last.clone()),
        (None, [], None) => Err(Error::new(FailureKind::Usage, "there is no registry to speak to")
            .hint("`sp login <address>` remembers one, or name it with `--registry <address>`")),
        (None, several, None) => {
            let addresses: Vec<&str> = several.iter().map(|one| one.url.as_str()).collect();
            Err(Error::new(FailureKind::Usage, "there are several registries")
                .hint(format!("name one with `--registry`: {}", addresses.join(", "))))
        }
    }
}
