//! Issuers: their configuration and their keys, fetched when they are needed and kept.
//!
//! Requests go only to issuers that a publisher or the operator named. Each is asked rarely: an
//! unknown key ID leads to at most one request per minute, and one request at a time. If an issuer
//! does not respond, the keys that are known are used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use sp_engine::{AddressReach, OutgoingError, OutgoingLimits, fetch_json};
use sp_formats::web_url::{PlainHttp, UrlPolicy, WebUrl, WebUrlError};
use thiserror::Error;

use super::OidcSettings;
use super::jwk::{SignatureAlgorithm, VerificationKey, parse_key_set};
use super::jwt::TokenRefusal;

const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_DOCUMENT_BYTES: u64 = 256 * 1024;
/// Keys are fetched again after this time, so that those that an issuer removed are forgotten.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// Time between requests to an issuer whose keys are known.
const REFETCH_INTERVAL: Duration = Duration::from_secs(60);
/// The same if none are known.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
const MAX_ISSUERS: usize = 1000;
pub(super) const MAX_ISSUER_LEN: usize = 255;

const ISSUER_URL: UrlPolicy =
    UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };
const ENDPOINT_URL: UrlPolicy =
    UrlPolicy { userinfo: false, query: true, http: PlainHttp::Loopback };

/// Why the configuration or the keys of an issuer are not available.
#[derive(Debug, Error)]
pub(crate) enum IssuerError {
    #[error("cannot fetch `{url}`")]
    Fetch { url: String, source: OutgoingError },
    #[error("`{url}` returned status {status}")]
    Status { url: String, status: u16 },
    #[error("`{0}` is not a valid document")]
    Invalid(String),
    #[error("`{url}` belongs to the issuer `{found}`")]
    OtherIssuer { url: String, found: String },
    #[error("the issuer has an invalid URL: {0}")]
    Url(#[from] WebUrlError),
    /// The issuer was asked moments ago.
    #[error("the issuer did not respond with keys")]
    NoKeys,
    #[error("a task failed unexpectedly")]
    Task,
}

/// Why there is no key for a token.
#[derive(Debug, Error)]
pub(crate) enum KeyLookupError {
    #[error(transparent)]
    Refused(#[from] TokenRefusal),
    #[error("the keys of the issuer are not available")]
    Unavailable(#[source] IssuerError),
}

/// The parts of an issuer's configuration that are used.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct IssuerConfiguration {
    issuer: String,
    jwks_uri: String,
    #[serde(default)]
    pub authorization_endpoint: String,
    #[serde(default)]
    pub token_endpoint: String,
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What is known of an issuer.
#[derive(Default)]
pub(super) struct KnownIssuer {
    configuration: Option<Arc<IssuerConfiguration>>,
    keys: Vec<Arc<VerificationKey>>,
    fetched_at: Option<Instant>,
    asked_at: Option<Instant>,
}

impl KnownIssuer {
    #[cfg(test)]
    pub(super) fn with_keys(keys: Vec<VerificationKey>) -> Self {
        Self { keys: keys.into_iter().map(Arc::new).collect(), ..Self::default() }
    }

    /// Whether to ask the issuer for a key that is known or unknown.
    fn needs_fetch(&self, is_known: bool, now: Instant) -> bool {
        let is_older = |time: Option<Instant>, age: Duration| {
            time.is_none_or(|time| now.saturating_duration_since(time) >= age)
        };
        let interval = if self.keys.is_empty() { RETRY_INTERVAL } else { REFETCH_INTERVAL };
        is_older(self.asked_at, interval) && (!is_known || is_older(self.fetched_at, MAX_AGE))
    }

    fn has_key(&self, id: Option<&str>) -> bool {
        self.keys.iter().any(|key| id.is_none_or(|id| key.id == id))
    }

    /// Returns a key. Without an ID, it must be the only one of its algorithm.
    pub(super) fn key(
        &self,
        id: Option<&str>,
        algorithm: SignatureAlgorithm,
    ) -> Result<Arc<VerificationKey>, TokenRefusal> {
        let is_it = |key: &&Arc<VerificationKey>| {
            key.algorithm == algorithm && id.is_none_or(|id| key.id == id)
        };
        let mut keys = self.keys.iter().filter(is_it);
        match (keys.next(), keys.next()) {
            (Some(_), Some(_)) if id.is_none() => Err(TokenRefusal::NoKeyId),
            (Some(key), _) => Ok(Arc::clone(key)),
            (None, _) if self.has_key(id) => Err(TokenRefusal::KeyOfOtherAlgorithm),
            (None, _) => Err(TokenRefusal::UnknownKey),
        }
    }

    /// Takes what the issuer returned. Without keys, the ones before stay.
    fn update(&mut self, fetched: FetchedIssuer, now: Instant) {
        if fetched.keys.is_empty() {
            return;
        }
        self.configuration = Some(Arc::new(fetched.configuration));
        self.keys = fetched.keys.into_iter().map(Arc::new).collect();
        self.fetched_at = Some(now);
    }
}

/// Waits for a fetch that another request began.
type SharedIssuer = Arc<tokio::sync::Mutex<KnownIssuer>>;

/// All issuers that were asked.
pub(crate) struct IssuerDirectory {
    access: IssuerAccess,
    known: Mutex<HashMap<String, SharedIssuer>>,
}

impl IssuerDirectory {
    pub(super) fn new(settings: &OidcSettings) -> Self {
        let sign_in = settings.sign_in.as_ref();
        let access = IssuerAccess {
            allow_http: settings.allow_http,
            private_hosts: settings.private_hosts.clone(),
            provider: sign_in.map(|provider| provider.issuer.clone()),
        };
        Self { access, known: Mutex::default() }
    }

    /// Checks the URL of an issuer without connecting to it.
    pub(super) fn check_url(&self, issuer: &str) -> Result<(), WebUrlError> {
        self.access.check(ISSUER_URL, issuer).map(drop)
    }

    /// Fetches the configuration and the keys of the provider for logins. Blocks.
    pub(super) fn check_provider(&self, issuer: &str) -> Result<(), IssuerError> {
        let fetched = self.access.fetch(issuer)?;
        let configuration = &fetched.configuration;
        for endpoint in [&configuration.authorization_endpoint, &configuration.token_endpoint] {
            self.access.check(ENDPOINT_URL, endpoint)?;
        }
        if fetched.keys.is_empty() { Err(IssuerError::NoKeys) } else { Ok(()) }
    }

    /// Returns the key of an issuer that a token was signed with.
    pub(super) async fn key(
        &self,
        issuer: &str,
        id: Option<&str>,
        algorithm: SignatureAlgorithm,
    ) -> Result<Arc<VerificationKey>, KeyLookupError> {
        let known = self.entry(issuer);
        let mut known = known.lock().await;
        let now = Instant::now();
        let failure = match known.needs_fetch(known.has_key(id), now) {
            true => self.refresh(&mut known, issuer, now).await.err(),
            false => None,
        };
        if known.keys.is_empty() {
            return Err(KeyLookupError::Unavailable(failure.unwrap_or(IssuerError::NoKeys)));
        }
        Ok(known.key(id, algorithm)?)
    }

    /// Returns the configuration of an issuer.
    pub(super) async fn configuration(
        &self,
        issuer: &str,
    ) -> Result<Arc<IssuerConfiguration>, IssuerError> {
        let known = self.entry(issuer);
        let mut known = known.lock().await;
        let now = Instant::now();
        let failure = match known.needs_fetch(known.configuration.is_some(), now) {
            true => self.refresh(&mut known, issuer, now).await.err(),
            false => None,
        };
        let missing = || failure.unwrap_or(IssuerError::NoKeys);
        known.configuration.clone().ok_or_else(missing)
    }

    /// Checks an endpoint of an issuer, and returns how it may be reached.
    pub(super) fn endpoint_limits(
        &self,
        issuer: &str,
        url: &str,
    ) -> Result<OutgoingLimits, IssuerError> {
        self.access.check(ENDPOINT_URL, url)?;
        Ok(self.access.limits(issuer))
    }

    async fn refresh(
        &self,
        known: &mut KnownIssuer,
        issuer: &str,
        now: Instant,
    ) -> Result<(), IssuerError> {
        known.asked_at = Some(now);
        let (access, issuer) = (self.access.clone(), issuer.to_owned());
        let fetched = tokio::task::spawn_blocking(move || access.fetch(&issuer)).await;
        known.update(fetched.unwrap_or(Err(IssuerError::Task))?, now);
        Ok(())
    }

    fn entry(&self, issuer: &str) -> SharedIssuer {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ISSUERS && !known.contains_key(issuer) {
            // Those in use stay.
            known.retain(|_, issuer| Arc::strong_count(issuer) > 1);
        }
        Arc::clone(known.entry(issuer.to_owned()).or_default())
    }
}

struct FetchedIssuer {
    configuration: IssuerConfiguration,
    keys: Vec<VerificationKey>,
}

/// Which issuers may be contacted, and how.
#[derive(Clone)]
struct IssuerAccess {
    allow_http: bool,
    private_hosts: Vec<String>,
    /// The provider for logins, which the operator named.
    provider: Option<String>,
}

impl IssuerAccess {
    fn check<'u>(&self, policy: UrlPolicy, text: &'u str) -> Result<WebUrl<'u>, WebUrlError> {
        let url = policy.check(text)?;
        if url.is_https() || self.allow_http { Ok(url) } else { Err(WebUrlError::PlainHttp) }
    }

    fn limits(&self, issuer: &str) -> OutgoingLimits {
        let is_named = |url: WebUrl<'_>| {
            let is_test = self.allow_http && !url.is_https() && url.is_loopback();
            is_test || self.private_hosts.iter().any(|host| host.eq_ignore_ascii_case(url.host()))
        };
        let is_provider = self.provider.as_deref() == Some(issuer);
        let reach = match is_provider || WebUrl::parse(issuer).is_ok_and(is_named) {
            true => AddressReach::Any,
            false => AddressReach::Public,
        };
        OutgoingLimits { reach, timeout: FETCH_TIMEOUT, max_bytes: MAX_DOCUMENT_BYTES }
    }

    /// Fetches the configuration of an issuer, then its keys. Blocks.
    fn fetch(&self, issuer: &str) -> Result<FetchedIssuer, IssuerError> {
        self.check(ISSUER_URL, issuer)?;
        let limits = self.limits(issuer);
        let url = format!("{}{CONFIGURATION_PATH}", issuer.trim_end_matches('/'));
        let document = fetch_document(&url, limits)?;
        let configuration: IssuerConfiguration =
            serde_json::from_slice(&document).map_err(|_| IssuerError::Invalid(url.clone()))?;
        if configuration.issuer != issuer {
            return Err(IssuerError::OtherIssuer { url, found: configuration.issuer });
        }
        let url = &configuration.jwks_uri;
        self.check(ENDPOINT_URL, url)?;
        let keys = parse_key_set(&fetch_document(url, limits)?);
        let keys = keys.ok_or_else(|| IssuerError::Invalid(url.clone()))?;
        Ok(FetchedIssuer { configuration, keys })
    }
}

fn fetch_document(url: &str, limits: OutgoingLimits) -> Result<Vec<u8>, IssuerError> {
    let response = fetch_json(url, limits)
        .map_err(|source| IssuerError::Fetch { url: url.to_owned(), source })?;
    match response.status {
        200 => Ok(response.body),
        status => Err(IssuerError::Status { url: url.to_owned(), status }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_67_issuer_is_asked_at_most_once_per_minute_for_unknown_keys() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut issuer = KnownIssuer::default();
        assert!(issuer.needs_fetch(false, start));
        issuer.asked_at = Some(start);
        assert!(!issuer.needs_fetch(false, at(4)) && issuer.needs_fetch(false, at(5)));
        let set = br#"{"keys": [{"kty": "RSA", "kid": "a", "n": "AQAB", "e": "AQAB"}]}"#;
        let configuration = IssuerConfiguration {
            issuer: String::new(),
            jwks_uri: String::new(),
            authorization_endpoint: String::new(),
            token_endpoint: String::new(),
            token_endpoint_auth_methods_supported: None,
        };
        let fetched = |set: &[u8]| FetchedIssuer {
            configuration: configuration.clone(),
            keys: parse_key_set(set).unwrap(),
        };
        issuer.update(fetched(set), start);
        assert!(!issuer.needs_fetch(false, at(59)) && issuer.needs_fetch(false, at(60)));
        assert!(!issuer.needs_fetch(true, at(3599)) && issuer.needs_fetch(true, at(3600)));
        // An empty set does not replace keys.
        issuer.asked_at = Some(at(3600));
        issuer.update(fetched(br#"{"keys": []}"#), at(3600));
        assert!(issuer.key(Some("a"), SignatureAlgorithm::Rs256).is_ok());
        assert!(!issuer.needs_fetch(true, at(3659)) && issuer.needs_fetch(true, at(3660)));
        let other = issuer.key(Some("a"), SignatureAlgorithm::EdDsa).unwrap_err();
        assert_eq!(other, TokenRefusal::KeyOfOtherAlgorithm);
        // Without an ID, the key must be clear.
        assert!(issuer.key(None, SignatureAlgorithm::Rs256).is_ok());
        let set = br#"{"keys": [{"kty": "RSA", "kid": "a", "n": "AQAB", "e": "AQAB"},
            {"kty": "RSA", "kid": "b", "n": "AQAB", "e": "AQAB"}]}"#;
        issuer.update(fetched(set), at(3600));
        let unclear = issuer.key(None, SignatureAlgorithm::Rs256).unwrap_err();
        assert_eq!(unclear, TokenRefusal::NoKeyId);
    }

    #[test]
    fn rg_66_issuers_use_https_except_on_this_machine_if_allowed() {
        let access = |allow_http| IssuerAccess {
            allow_http,
            private_hosts: vec!["gitlab.internal".into()],
            provider: Some("https://login.internal".into()),
        };
        for (issuer, allow_http, expected) in [
            ("https://issuer.example", false, true),
            ("https://issuer.example/realm", false, true),
            ("http://127.0.0.1:8080", false, false),
            ("http://127.0.0.1:8080", true, true),
            ("http://issuer.example", true, false),
            ("https://me@issuer.example", true, false),
            ("https://issuer.example?x", true, false),
            ("issuer.example", true, false),
        ] {
            assert_eq!(access(allow_http).check(ISSUER_URL, issuer).is_ok(), expected, "{issuer}");
        }
        for (issuer, allow_http, reach) in [
            ("https://issuer.example", true, AddressReach::Public),
            ("https://localhost", true, AddressReach::Public),
            ("http://localhost:1", true, AddressReach::Any),
            ("http://localhost:1", false, AddressReach::Public),
            ("https://gitlab.internal", false, AddressReach::Any),
            ("https://login.internal", false, AddressReach::Any),
            ("https://login.internal.evil", false, AddressReach::Public),
        ] {
            assert_eq!(access(allow_http).limits(issuer).reach, reach, "{issuer}");
        }
    }
}
