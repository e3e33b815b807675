//! The tokens for registries, in a file that only its owner may read.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_tree::atomic::{Delivery, Existing, Readers};
use sp_tree::read_optional;

use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::pkg::manage::deliver;
use crate::pkg::secret::refuse_open;
use crate::pkg::send::base;

const FILE: &str = "credentials.json";
const MOST_BYTES: u64 = 1024 * 1024;
/// The variable that holds a token, for machines where nobody logs in.
const TOKEN: &str = "SP_REGISTRY_TOKEN";

/// The tokens by address, and the address that was logged in to last.
pub(super) struct Credentials {
    tokens: BTreeMap<String, String>,
    last: Option<String>,
    /// A token from the environment; it is never stored.
    given: Option<String>,
}

impl Credentials {
    pub(super) fn read(context: &Context<'_>) -> Result<Self> {
        let path = context.home.join(FILE);
        let given = context.env.get(TOKEN).filter(|token| !token.is_empty()).cloned();
        let Some(bytes) = read_optional(&path, MOST_BYTES)? else {
            return Ok(Self { tokens: BTreeMap::new(), last: None, given });
        };
        refuse_open(context, &path)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|why| {
            Error::new(Kind::Data, format!("`{}` cannot be read", context.show(&path)))
                .because(why)
                .hint("remove it, and log in again")
        })?;
        let tokens = value["registries"].as_object().into_iter().flatten();
        let tokens = tokens.filter_map(|(address, token)| Some((address.clone(), token.as_str()?.to_owned())));
        Ok(Self { tokens: tokens.collect(), last: value["last"].as_str().map(str::to_owned), given })
    }

    pub(super) fn store(&self, context: &Context<'_>) -> Result<()> {
        let text = format!("{:#}\n", json!({"last": self.last, "registries": self.tokens}));
        let delivery = Delivery { bytes: text.as_bytes(), readers: Readers::Owner, existing: Existing::Replace };
        context.private_dir(&context.home)?;
        deliver(context, &context.home.join(FILE), delivery, "run the command again")
    }

    pub(super) fn remember(&mut self, address: &str, token: &str) {
        self.tokens.insert(address.into(), token.into());
        self.last = Some(address.into());
    }

    /// Whether there was a token.
    pub(super) fn forget(&mut self, address: &str) -> bool {
        if self.last.as_deref() == Some(address) {
            self.last = None;
        }
        self.tokens.remove(address).is_some()
    }

    /// The token for a registry. The one from the environment is for the registry that is meant, and no other.
    pub(super) fn token(&self, address: &str, is_meant: bool) -> Option<String> {
        let given = self.given.clone().filter(|_| is_meant);
        given.or_else(|| self.tokens.get(address).cloned())
    }

    /// The address that was logged in to last.
    pub(super) fn last(&self) -> Option<String> {
        self.last.clone()
    }

    /// Every address that was logged in to.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.tokens.keys().cloned().collect()
    }
}

/// The address that is meant: the one that was named, the only one of the config, or the one that was logged in
/// to last.
pub(super) fn registry_of(session: &Session<'_>, named: Option<&str>, credentials: &Credentials) -> Result<String> {
    match (named, session.config.registries.as_slice(), &credentials.last) {
        (Some(named), ..) => base(named),
        (None, [only], _) => base(&only.url),
        (None, _, Some(last)) => Ok(last.clone()),
        (None, [], None) => Err(Error::new(Kind::Usage, "there is no registry to speak to")
            .hint("`sp login <address>` remembers one, or name it with `--registry <address>`")),
        (None, several, None) => {
            let addresses: Vec<&str> = several.iter().map(|one| one.url.as_str()).collect();
            Err(Error::new(Kind::Usage, "there are several registries")
                .hint(format!("name one with `--registry`: {}", addresses.join(", "))))
        }
    }
}
