//! Logins with an identity provider: the authorization code flow with PKCE.
//!
//! A [`SignInAttempt`] is one secret in a cookie of the browser. `state`, `nonce` and the PKCE
//! verifier are hashes of it, so that the registry stores nothing, any replica can complete the
//! login, and only this browser can.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use sp_engine::{OutgoingError, OutgoingForm, post_form};
use sp_formats::percent::{COMPONENT, encode};
use sp_tree::{Digest, to_hex};
use thiserror::Error;

use super::issuers::{IssuerConfiguration, IssuerError, KeyLookupError};
use super::jwt::{TokenClaims, TokenRefusal, UnverifiedToken};
use super::{OidcService, SignInSettings};
use crate::registry::environment::RegistryEnvironment;
use crate::registry::tokens::is_valid_username;

/// Where the provider sends the browser back to.
pub(crate) const CALLBACK_PATH: &str = "/login/oidc/callback";
const SECRET_BYTES: usize = 32;
const MAX_CODE_LEN: usize = 4096;
const MAX_SUBJECT_LEN: usize = 255;

/// Why a login failed. For the log; users see only whether they are not permitted.
#[derive(Debug, Error)]
pub(crate) enum SignInRefusal {
    #[error("the provider is not available")]
    Provider(#[source] IssuerError),
    #[error(transparent)]
    Keys(KeyLookupError),
    #[error("cannot request a token from the provider")]
    Request(#[source] OutgoingError),
    #[error("the provider returned status {0} for the authorization code")]
    Status(u16),
    #[error("the provider returned an invalid response")]
    Response,
    #[error(transparent)]
    Token(#[from] TokenRefusal),
    #[error("the claim `{0}` is not a valid user name")]
    UserName(String),
    #[error("the email address is not verified")]
    UnverifiedEmail,
    #[error("the domain of the user is not allowed")]
    Domain,
    #[error("the groups of the user are not allowed")]
    Group,
    #[error("a task failed unexpectedly")]
    Task,
}

impl SignInRefusal {
    /// Whether the provider works, and the user is not permitted to log in.
    pub(crate) fn is_user_refused(&self) -> bool {
        matches!(self, Self::UserName(_) | Self::UnverifiedEmail | Self::Domain | Self::Group)
    }
}

/// A user whom the provider has identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderIdentity {
    pub issuer: String,
    pub subject: String,
    pub user: String,
}

/// A login that was begun.
pub(crate) struct SignInAttempt {
    secret: String,
}

impl SignInAttempt {
    pub(crate) fn begin(environment: &RegistryEnvironment) -> std::io::Result<Self> {
        let mut bytes = [0; SECRET_BYTES];
        environment.fill_random(&mut bytes)?;
        Ok(Self { secret: to_hex(&bytes) })
    }

    /// Reads the value of the cookie.
    pub(crate) fn from_cookie(value: &str) -> Option<Self> {
        let is_secret =
            value.len() == 2 * SECRET_BYTES && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_secret.then(|| Self { secret: value.to_owned() })
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.secret
    }

    fn derive(&self, purpose: &str) -> String {
        Digest::of(format!("login {purpose} {}", self.secret).as_bytes()).hex()
    }

    fn state(&self) -> String {
        self.derive("state")
    }

    fn verifier(&self) -> String {
        self.derive("verifier")
    }

    /// Whether a response belongs to this attempt.
    pub(crate) fn has_state(&self, state: &str) -> bool {
        // Compares hashes, so that timing reveals nothing.
        Digest::of(state.as_bytes()) == Digest::of(self.state().as_bytes())
    }

    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Digest::of(self.verifier().as_bytes()).as_bytes())
    }
}

/// The response of a token endpoint.
#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
}

impl OidcService {
    fn redirect_uri(&self) -> String {
        format!("{}{CALLBACK_PATH}", self.settings.public_url.as_deref().unwrap_or_default())
    }

    /// Returns the URL at the provider that asks the user to log in.
    pub(crate) async fn authorization_url(
        &self,
        provider: &SignInSettings,
        attempt: &SignInAttempt,
    ) -> Result<String, SignInRefusal> {
        let configuration = self.issuers.configuration(&provider.issuer).await;
        let configuration = configuration.map_err(SignInRefusal::Provider)?;
        let endpoint = &configuration.authorization_endpoint;
        self.issuers
            .endpoint_limits(&provider.issuer, endpoint)
            .map_err(SignInRefusal::Provider)?;
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        let query = encode_form(&[
            ("response_type", "code"),
            ("client_id", &provider.client_id),
            ("redirect_uri", &self.redirect_uri()),
            ("scope", &provider.scopes),
            ("state", &attempt.state()),
            ("nonce", &attempt.derive("nonce")),
            ("code_challenge", &attempt.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        Ok(format!("{endpoint}{separator}{query}"))
    }

    /// Exchanges the code of the provider, and returns the user.
    pub(crate) async fn complete_sign_in(
        &self,
        provider: &SignInSettings,
        attempt: &SignInAttempt,
        (code, environment): (&str, &RegistryEnvironment),
    ) -> Result<ProviderIdentity, SignInRefusal> {
        if code.len() > MAX_CODE_LEN {
            return Err(SignInRefusal::Response);
        }
        let token = self.request_token(provider, attempt, code).await?;
        let token = UnverifiedToken::parse(&token)?;
        if token.claimed_issuer()? != provider.issuer {
            return Err(TokenRefusal::Issuer.into());
        }
        let key_id = token.key_id.as_deref();
        let key = self.issuers.key(&provider.issuer, key_id, token.algorithm).await;
        let claims = token.verify(&*key.map_err(SignInRefusal::Keys)?)?;
        claims.check_times(environment.unix_seconds())?;
        check_audience(&claims, &provider.client_id)?;
        if claims.require("nonce")? != attempt.derive("nonce") {
            return Err(TokenRefusal::Nonce.into());
        }
        provider.identify(&claims)
    }

    async fn request_token(
        &self,
        provider: &SignInSettings,
        attempt: &SignInAttempt,
        code: &str,
    ) -> Result<String, SignInRefusal> {
        let configuration = self.issuers.configuration(&provider.issuer).await;
        let configuration = configuration.map_err(SignInRefusal::Provider)?;
        let endpoint = configuration.token_endpoint.clone();
        let limits = self
            .issuers
            .endpoint_limits(&provider.issuer, &endpoint)
            .map_err(SignInRefusal::Provider)?;
        let redirect_uri = self.redirect_uri();
        let verifier = attempt.verifier();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &redirect_uri),
            ("code_verifier", &verifier),
            ("client_id", &provider.client_id),
        ];
        let authorization = provider.authenticate(&configuration, &mut fields);
        let body = encode_form(&fields);
        let sent = tokio::task::spawn_blocking(move || {
            let form = OutgoingForm { body: &body, authorization: authorization.as_deref() };
            post_form(&endpoint, form, limits)
        });
        let response = sent.await.map_err(|_| SignInRefusal::Task)?;
        let response = response.map_err(SignInRefusal::Request)?;
        if response.status != 200 {
            return Err(SignInRefusal::Status(response.status));
        }
        let response: TokenResponse =
            serde_json::from_slice(&response.body).map_err(|_| SignInRefusal::Response)?;
        Ok(response.id_token)
    }
}

impl SignInSettings {
    /// Adds the secret of the client, or returns it as a header if the provider supports that.
    fn authenticate<'s>(
        &'s self,
        configuration: &IssuerConfiguration,
        fields: &mut Vec<(&'s str, &'s str)>,
    ) -> Option<String> {
        let secret = &self.client_secret.as_ref()?.0;
        let methods = configuration.token_endpoint_auth_methods_supported.as_ref();
        if methods.is_none_or(|methods| methods.iter().any(|it| it == "client_secret_basic")) {
            let pair =
                format!("{}:{}", encode(&self.client_id, COMPONENT), encode(secret, COMPONENT));
            return Some(format!("Basic {}", STANDARD.encode(pair)));
        }
        fields.push(("client_secret", secret));
        None
    }

    /// Returns the user, if the settings allow them to log in.
    fn identify(&self, claims: &TokenClaims) -> Result<ProviderIdentity, SignInRefusal> {
        let subject = claims.require("sub")?;
        if subject.len() > MAX_SUBJECT_LEN {
            return Err(TokenRefusal::MissingClaim("sub").into());
        }
        self.check_domain(claims)?;
        self.check_groups(claims)?;
        if self.user_claim == "email" {
            require_verified_email(claims)?;
        }
        let user = claims.text(&self.user_claim).filter(|it| is_valid_username(it));
        let user = user.ok_or_else(|| SignInRefusal::UserName(self.user_claim.clone()))?;
        let (issuer, subject, user) = (self.issuer.clone(), subject.to_owned(), user.to_owned());
        Ok(ProviderIdentity { issuer, subject, user })
    }

    fn check_domain(&self, claims: &TokenClaims) -> Result<(), SignInRefusal> {
        if self.allowed_domains.is_empty() || self.allowed_domains.iter().any(|it| it == "*") {
            return Ok(());
        }
        let email = require_verified_email(claims)?;
        let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
        let is_allowed = self.allowed_domains.iter().any(|it| it.eq_ignore_ascii_case(domain));
        if is_allowed { Ok(()) } else { Err(SignInRefusal::Domain) }
    }

    fn check_groups(&self, claims: &TokenClaims) -> Result<(), SignInRefusal> {
        let is_allowed = |group: &Value| {
            self.allowed_groups.iter().any(|it| Some(it.as_str()) == group.as_str())
        };
        let is_member = match claims.get(&self.groups_claim) {
            Some(Value::Array(groups)) => groups.iter().any(is_allowed),
            Some(group) => is_allowed(group),
            None => false,
        };
        if self.allowed_groups.is_empty() || is_member { Ok(()) } else { Err(SignInRefusal::Group) }
    }
}

/// Returns the email address, which some providers let users choose freely until it is verified.
fn require_verified_email(claims: &TokenClaims) -> Result<&str, SignInRefusal> {
    let is_verified = matches!(claims.get("email_verified"), Some(Value::Bool(true)));
    let email = claims.text("email").filter(|_| is_verified);
    email.ok_or(SignInRefusal::UnverifiedEmail)
}

/// Checks that a token is for this client, even if it has several audiences.
fn check_audience(claims: &TokenClaims, client_id: &str) -> Result<(), TokenRefusal> {
    let is_ours = match claims.get("aud") {
        Some(Value::Array(several)) if several.len() > 1 => {
            several.iter().any(|it| it.as_str() == Some(client_id))
                && claims.text("azp") == Some(client_id)
        }
        _ => claims.only_audience()? == client_id,
    };
    if is_ours { Ok(()) } else { Err(TokenRefusal::Audience) }
}

fn encode_form(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", encode(value, COMPONENT));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::oidc::AccountPolicy;

    fn settings() -> SignInSettings {
        SignInSettings {
            issuer: "https://login.example".into(),
            client_id: "registry".into(),
            client_secret: None,
            scopes: "openid".into(),
            user_claim: "email".into(),
            groups_claim: "groups".into(),
            allowed_domains: Vec::new(),
            allowed_groups: Vec::new(),
            accounts: AccountPolicy::Existing,
        }
    }

    fn identify(settings: &SignInSettings, claims: &Value) -> Result<String, String> {
        let claims = TokenClaims::from_json(claims);
        settings.identify(&claims).map(|it| it.user).map_err(|it| it.to_string())
    }

    #[test]
    fn user_is_named_by_a_claim_and_must_be_allowed() {
        let ann = json!({"sub": "1", "email": "ann@acme.example", "email_verified": true,
            "name": "ann", "groups": ["dev", "ops"]});
        let with = |name: &str, value: Value| {
            let mut claims = ann.clone();
            claims[name] = value;
            claims
        };
        let default = settings();
        assert_eq!(identify(&default, &ann), Ok("ann@acme.example".into()));
        for claims in [
            with("email_verified", json!(false)),
            with("email_verified", json!("true")),
            with("email", json!("a b@acme.example")),
            with("sub", json!("")),
        ] {
            assert!(identify(&default, &claims).is_err(), "{claims}");
        }
        let by_name = SignInSettings { user_claim: "name".into(), ..settings() };
        assert_eq!(identify(&by_name, &with("email_verified", json!(false))), Ok("ann".into()));
        assert!(identify(&by_name, &with("name", json!(["ann"]))).is_err());
        for (domains, is_allowed) in [
            (&["acme.example"][..], true),
            (&["ACME.example"], true),
            (&["x", "*"], true),
            (&["example"], false),
        ] {
            let allowed_domains = domains.iter().map(|&it| it.into()).collect();
            let settings = SignInSettings { allowed_domains, ..settings() };
            assert_eq!(identify(&settings, &ann).is_ok(), is_allowed, "{domains:?}");
        }
        for (groups, claim, is_allowed) in [
            (&["ops"][..], "groups", true),
            (&["admins"], "groups", false),
            (&["ann"], "name", true),
            (&["ops"], "roles", false),
        ] {
            let allowed_groups = groups.iter().map(|&it| it.into()).collect();
            let settings =
                SignInSettings { allowed_groups, groups_claim: claim.into(), ..settings() };
            assert_eq!(identify(&settings, &ann).is_ok(), is_allowed, "{groups:?}");
        }
    }

    #[test]
    fn audience_is_this_client() {
        for (claims, is_ours) in [
            (json!({"aud": "registry"}), true),
            (json!({"aud": ["registry"]}), true),
            (json!({"aud": ["registry", "other"], "azp": "registry"}), true),
            (json!({"aud": ["registry", "other"], "azp": "other"}), false),
            (json!({"aud": ["registry", "other"]}), false),
            (json!({"aud": "other"}), false),
            (json!({"aud": []}), false),
            (json!({}), false),
        ] {
            let claims = TokenClaims::from_json(&claims);
            assert_eq!(check_audience(&claims, "registry").is_ok(), is_ours, "{claims:?}");
        }
    }

    #[test]
    fn attempt_is_one_secret_from_which_nothing_else_is_derived_twice() {
        let attempt = SignInAttempt::from_cookie(&"ab".repeat(32)).unwrap();
        let derived = [attempt.state(), attempt.verifier(), attempt.derive("nonce")];
        assert!(derived.iter().all(|it| it.len() == 64 && !it.contains(attempt.cookie())));
        assert!(derived[0] != derived[1] && derived[1] != derived[2]);
        assert!(attempt.has_state(&derived[0]) && !attempt.has_state(&derived[1]));
        for invalid in ["", "xy", &"g".repeat(64), &"a".repeat(63)] {
            assert!(SignInAttempt::from_cookie(invalid).is_none(), "{invalid}");
        }
    }
}
