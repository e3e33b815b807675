//! Trusted publishers: which CI jobs may publish a package.
//!
//! A publisher names claims that the identity token of a job must have. They must identify
//! something that cannot be registered again by someone else, so IDs are required besides names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sp_formats::printable::printable;

use super::issuers::{IssuerDirectory, MAX_ISSUER_LEN};
use super::jwt::TokenClaims;

pub(crate) const GITHUB: &str = "https://token.actions.githubusercontent.com";
pub(crate) const GITLAB: &str = "https://gitlab.com";
const MAX_AUDIENCE_LEN: usize = 255;
const MAX_CLAIMS: usize = 16;
const MAX_NAME_LEN: usize = 64;
const MAX_VALUE_LEN: usize = 512;

/// Claims that every token of an issuer has, which the registry checks itself.
const RESERVED_CLAIMS: [&str; 6] = ["iss", "aud", "exp", "iat", "nbf", "jti"];
/// Events in which GitHub runs a workflow with a token for code that anyone can propose.
const REFUSED_EVENTS: [&str; 2] = ["pull_request_target", "workflow_run"];

/// A publisher to register.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublisherRequest {
    /// URL of the issuer of identity tokens, without a trailing slash.
    #[schemars(length(min = 1, max = 255))]
    pub issuer: String,
    /// Audience of identity tokens; by default the host of the registry.
    #[serde(default)]
    #[schemars(length(min = 1, max = 255))]
    pub audience: Option<String>,
    /// Claims that identity tokens must have, with their values.
    pub claims: BTreeMap<String, String>,
}

impl PublisherRequest {
    /// Checks the request. The error is a message.
    pub(crate) fn check(&self, issuers: &IssuerDirectory) -> Result<(), String> {
        let Self { issuer, audience, claims } = self;
        issuers.check_url(issuer).map_err(|why| format!("invalid `issuer`: {why}"))?;
        if issuer.ends_with('/') || issuer.len() > MAX_ISSUER_LEN {
            let message = "`issuer` must not end with `/`, and must have at most 255 characters";
            return Err(message.into());
        }
        let is_plain = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        if audience.as_ref().is_some_and(|text| !is_plain(text, MAX_AUDIENCE_LEN)) {
            return Err("`audience` must have 1 to 255 characters".into());
        }
        if claims.len() > MAX_CLAIMS {
            return Err(format!("`claims` has more than {MAX_CLAIMS} members"));
        }
        for (name, value) in claims {
            if !is_plain(name, MAX_NAME_LEN) || !is_plain(value, MAX_VALUE_LEN) {
                return Err(format!("invalid claim `{}`", printable(name)));
            }
            if RESERVED_CLAIMS.contains(&name.as_str()) {
                return Err(format!("the registry checks `{name}` itself; remove it"));
            }
        }
        IssuerKind::of(issuer).check_claims(claims)
    }
}

/// How the claims of an issuer are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IssuerKind {
    GitHub,
    GitLab,
    Other,
}

impl IssuerKind {
    pub(super) fn of(issuer: &str) -> Self {
        match issuer {
            GITHUB => Self::GitHub,
            GITLAB => Self::GitLab,
            _ => Self::Other,
        }
    }

    /// Checks that the claims identify something that no one else can register again.
    fn check_claims(self, claims: &BTreeMap<String, String>) -> Result<(), String> {
        let require = |name: &str| match claims.get(name) {
            Some(value) => Ok(value.as_str()),
            None => Err(format!("the claim `{name}` is required for this issuer")),
        };
        let require_number = |name: &str| match require(name)? {
            value if value.bytes().all(|byte| byte.is_ascii_digit()) => Ok(()),
            _ => Err(format!("the claim `{name}` must be a number, not a name")),
        };
        match self {
            Self::GitHub => {
                if require("repository")?.split('/').filter(|part| !part.is_empty()).count() != 2 {
                    return Err("the claim `repository` must have the form `owner/name`".into());
                }
                require_number("repository_owner_id")?;
                let workflow = claims.get("workflow_ref").or(claims.get("job_workflow_ref"));
                match workflow {
                    Some(file) if file.ends_with(".yml") || file.ends_with(".yaml") => Ok(()),
                    Some(_) => Err("the workflow must be a file name such as `release.yml`".into()),
                    None => Err("one of the claims `workflow_ref` and `job_workflow_ref` is \
                                 required for this issuer"
                        .into()),
                }
            }
            Self::GitLab => {
                require("project_path")?;
                require_number("namespace_id")?;
                require("ci_config_ref_uri").map(drop)
            }
            Self::Other if claims.keys().any(|name| name == "sub" || name.ends_with("_id")) => {
                Ok(())
            }
            Self::Other => {
                Err("`claims` must contain `sub`, or a claim whose name ends in `_id`".into())
            }
        }
    }

    /// Whether a token has the claims of a publisher.
    pub(super) fn matches(self, expected: &BTreeMap<String, String>, claims: &TokenClaims) -> bool {
        !expected.is_empty()
            && expected.iter().all(|(name, expected)| {
                claims
                    .text(name)
                    .is_some_and(|found| self.claim_matches(name, expected, (found, claims)))
            })
    }

    fn claim_matches(
        self,
        name: &str,
        expected: &str,
        (found, claims): (&str, &TokenClaims),
    ) -> bool {
        match (self, name) {
            (Self::GitHub, "repository" | "environment") => expected.eq_ignore_ascii_case(found),
            (Self::GitHub, "workflow_ref" | "job_workflow_ref") => {
                let repository = claims.text("repository").unwrap_or_default();
                let own = format!("{repository}/.github/workflows/");
                is_file(expected, found, &own)
            }
            (_, "ci_config_ref_uri") => {
                let project = claims.text("project_path").unwrap_or_default();
                let own = found.split_once("//").map_or("", |(before, _)| before);
                let is_own = own.split_once('/').is_some_and(|(_, path)| path == project);
                let own = if is_own { format!("{own}//") } else { String::new() };
                is_file(expected, found, &own)
            }
            _ => expected == found,
        }
    }
}

/// Whether a reference such as `owner/name/.github/workflows/file.yml@refs/heads/main` is to a
/// file, whatever its revision is. Without a folder, the file is in `own`.
fn is_file(expected: &str, found: &str, own: &str) -> bool {
    // A branch can contain `@`, and so can the name of a file.
    let without_ref = found.rsplit_once("@refs/").or_else(|| found.rsplit_once('@'));
    let Some((path, _)) = without_ref else { return false };
    let is_in_own = path.get(..own.len()).is_some_and(|start| start.eq_ignore_ascii_case(own));
    let in_own = path.get(own.len()..).filter(|_| !own.is_empty() && is_in_own);
    path == expected || in_own == Some(expected)
}

/// Returns the event of a job that must not publish.
pub(super) fn refused_event(issuer: &str, claims: &TokenClaims) -> Option<&'static str> {
    let event = claims.get("event_name").and_then(Value::as_str)?;
    let is_github = IssuerKind::of(issuer) == IssuerKind::GitHub;
    REFUSED_EVENTS.into_iter().find(|refused| is_github && *refused == event)
}
