//! OpenID Connect: trusted publishing from CI, and logins to the web pages.
//!
//! ```text
//! exchange ──▶ publisher ─┐
//! sign_in  ──▶ issuers ───┴▶ jwt ──▶ jwk
//! ```
//!
//! A CI job exchanges the identity token of its issuer for a registry token, which lives for
//! minutes and may only publish the packages that trust the job ([`exchange`]). People log in with
//! the provider of the registry's operator ([`sign_in`]). In both cases a token is accepted only if
//! its signature is one of a key that the issuer published ([`issuers`]).

mod exchange;
mod issuers;
mod jwk;
mod jwt;
mod publisher;
mod registration;
mod sign_in;

use sp_formats::web_url::WebUrl;

pub(crate) use exchange::exchange_token;
use issuers::IssuerDirectory;
pub(crate) use publisher::{GITHUB, GITLAB, PublisherRequest};
pub(crate) use registration::{add_publisher, remove_publisher};
pub(crate) use sign_in::{CALLBACK_PATH, ProviderIdentity, SignInAttempt, SignInRefusal};

/// Settings of an operator.
#[derive(Debug, Clone, Default)]
pub struct OidcSettings {
    /// The URL at which clients see the registry, without a trailing slash.
    pub public_url: Option<String>,
    /// Whether an issuer on this machine may use plain HTTP.
    pub allow_http: bool,
    /// Hosts of issuers that may have private addresses.
    pub private_hosts: Vec<String>,
    pub sign_in: Option<SignInSettings>,
}

/// A provider whose users may log in to the web pages.
#[derive(Debug, Clone)]
pub struct SignInSettings {
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<ClientSecret>,
    pub scopes: String,
    /// The claim that contains the name of a user.
    pub user_claim: String,
    pub groups_claim: String,
    /// Domains of email addresses; `*` for all. If empty, the domain does not matter.
    pub allowed_domains: Vec<String>,
    /// If empty, groups do not matter.
    pub allowed_groups: Vec<String>,
    pub accounts: AccountPolicy,
}

/// The secret of a client. `Debug` does not show it.
#[derive(Clone)]
pub struct ClientSecret(pub String);

impl std::fmt::Debug for ClientSecret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ClientSecret")
    }
}

/// Who may log in for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountPolicy {
    /// Users who have a token or are a member of a namespace.
    Existing,
    /// Everyone whom the provider and the other settings allow.
    Create,
}

/// What the handlers need.
pub(crate) struct OidcService {
    pub settings: OidcSettings,
    pub issuers: IssuerDirectory,
}

impl OidcService {
    pub(crate) fn new(settings: OidcSettings) -> Self {
        Self { issuers: IssuerDirectory::new(&settings), settings }
    }

    /// Returns the audience of identity tokens for this registry: the host of its public URL.
    pub(crate) fn audience(&self) -> Option<&str> {
        let url = WebUrl::parse(self.settings.public_url.as_deref()?).ok()?;
        Some(url.authority())
    }

    /// Returns the host of the provider for logins.
    pub(crate) fn provider_host(&self) -> Option<&str> {
        let provider = self.settings.sign_in.as_ref()?;
        WebUrl::parse(&provider.issuer).ok().map(|url| url.authority())
    }
}

/// Checks that the provider for logins can be used.
pub(crate) fn check_provider(settings: &OidcSettings) -> Result<(), issuers::IssuerError> {
    let Some(provider) = &settings.sign_in else { return Ok(()) };
    IssuerDirectory::new(settings).check_provider(&provider.issuer)
}
