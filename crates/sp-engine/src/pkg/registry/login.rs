//! `sp login` and `sp logout`: stores and removes the token for a registry.

use sp_formats::output::RegistryLoginReport;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::pkg::package_store::PackageStore;
use crate::registry::{RegistryClient, RegistryCredentials, RegistryRequest, select_registry};
use crate::secret::{SecretSource, read_secret};
use crate::server_url::normalize_server_url;
use crate::session::Session;

/// The arguments of `sp login`.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The URL of the registry.
    pub registry: String,
    pub token: SecretSource,
    pub history: RegistryHistoryPolicy,
}

/// What happens to the versions that the registry is known to have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RegistryHistoryPolicy {
    /// The registry must still have all of them, unchanged.
    #[default]
    Enforce,
    /// They are forgotten, because the registry was reset.
    Reset,
}

/// Stores a token after the registry has accepted it.
pub fn login(context: &Context<'_>, request: &LoginRequest) -> Result<RegistryLoginReport> {
    let session = Session::begin(context)?;
    let address = normalize_server_url(&request.registry)?;
    let secret = read_secret(context, &request.token).map_err(|error| match error.code {
        ErrorCode::InvalidSecret => Error {
            hints: vec![
                "set the environment variable, or specify a file with `--token-file`".into(),
            ],
            ..error
        },
        _ => error,
    })?;
    let token = std::str::from_utf8(&secret)
        .ok()
        .map(str::trim)
        .filter(|token| has_token_format(token))
        .ok_or_else(|| {
            Error::new(ErrorCode::InvalidSecret, "invalid token").hint(
                "use a token that starts with `ctxp_` or `ctxr_`, such as the one that `sp \
                     serve` prints",
            )
        })?;
    let response = RegistryClient::new(context, &address, Some(token))?
        .execute(&RegistryRequest::get("whoami"))?;
    let user: serde_json::Value = response.json()?;
    let text = |key: &str| user[key].as_str().unwrap_or_default().to_owned();
    let mut credentials = RegistryCredentials::read(context)?;
    credentials.insert(&address, token);
    credentials.save(context)?;
    if request.history == RegistryHistoryPolicy::Reset {
        forget_registry_history(&session, &address)?;
    }
    Ok(RegistryLoginReport {
        registry: address,
        user: Some(text("user")),
        scope: Some(text("scope")),
    })
}

/// Forgets which versions a registry had.
fn forget_registry_history(session: &Session<'_>, address: &str) -> Result<()> {
    let home = LockedHome::open(session.context, &session.limits)?;
    let mut store = PackageStore::open(session)?;
    store.seen_versions.registries.remove(address);
    store.save(&home)
}

fn has_token_format(text: &str) -> bool {
    let has_prefix = text.starts_with("ctxp_") || text.starts_with("ctxr_");
    has_prefix
        && text.len() <= 128
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Removes the token for a registry, or for that of the last login.
pub fn logout(context: &Context<'_>, registry: Option<&str>) -> Result<RegistryLoginReport> {
    let session = Session::begin(context)?;
    let mut credentials = RegistryCredentials::read(context)?;
    let address = select_registry(&session, registry, &credentials)?;
    if !credentials.remove(&address) {
        return Err(Error::new(
            ErrorCode::TokenNotFound,
            format!("no token stored for `{address}`"),
        ));
    }
    credentials.save(context)?;
    Ok(RegistryLoginReport { registry: address, user: None, scope: None })
}
