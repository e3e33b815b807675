use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use sp_testkit::{JwtKey, SigningKeys};

use super::*;
use crate::registry::oidc::issuers::KnownIssuer;
use crate::registry::oidc::jwk::parse_key_set;
use crate::registry::oidc::jwt::{MAX_LIFETIME_SECS, MAX_TOKEN_BYTES};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "registry.example";
const NOW: u64 = 1_800_000_000;

static KEYS: LazyLock<SigningKeys> = LazyLock::new(SigningKeys::new);

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "job-1", "iat": NOW - 10, "exp": NOW + 300,
        "jti": "id-1",
    })
}

/// Returns the claims with another value of one; without it, if the value is null.
fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

fn header() -> Value {
    json!({"typ": "JWT", "alg": "RS256", "kid": "rsa-1"})
}

fn header_with(name: &str, value: Value) -> Value {
    let mut header = header();
    match value {
        Value::Null => drop(header.as_object_mut().unwrap().remove(name)),
        value => header[name] = value,
    }
    header
}

/// Verifies a token as the exchange does, for a publisher that trusts `sub`.
fn verify(token: &str) -> Result<(), TokenRefusal> {
    let token = UnverifiedToken::parse(token)?;
    let issuer = token.claimed_issuer()?.to_owned();
    if issuer != ISSUER {
        return Err(TokenRefusal::Issuer);
    }
    let keys = parse_key_set(KEYS.public_set().to_string().as_bytes()).unwrap();
    let key_id = Some(token.require_key_id()?);
    let key = KnownIssuer::with_keys(keys).key(key_id, token.algorithm)?;
    let job = VerifiedJob::new(issuer, token.verify(&key)?, NOW)?;
    if job.audience == AUDIENCE { Ok(()) } else { Err(TokenRefusal::Audience) }
}

fn verify_claims(claims: &Value) -> Result<(), TokenRefusal> {
    verify(&KEYS.token(JwtKey::Rsa, claims))
}

fn verify_header(header: &Value) -> Result<(), TokenRefusal> {
    verify(&KEYS.token_with_header(JwtKey::Rsa, header, &claims()))
}

#[test]
fn rg_68_tokens_of_all_accepted_algorithms_are_valid() {
    for key in JwtKey::ALL {
        assert_eq!(verify(&KEYS.token(key, &claims())), Ok(()), "{key:?}");
    }
    // The key decides the algorithm, not the header.
    for (key, name) in [(JwtKey::Rsa, "ES256"), (JwtKey::Ec, "RS256"), (JwtKey::Ed25519, "ES256")] {
        let header = json!({"alg": name, "kid": key.id()});
        let token = KEYS.token_with_header(key, &header, &claims());
        assert_eq!(verify(&token), Err(TokenRefusal::KeyOfOtherAlgorithm), "{key:?}");
    }
}

#[test]
fn rg_68_required_claims_and_their_types() {
    for name in ["iss", "aud", "exp", "iat", "jti"] {
        let refusal = verify_claims(&claims_with(name, Value::Null)).unwrap_err();
        assert_eq!(refusal, TokenRefusal::MissingClaim(name));
    }
    for (name, value) in
        [("exp", json!("soon")), ("iat", json!(-1)), ("jti", json!(7)), ("iss", json!(""))]
    {
        let refusal = verify_claims(&claims_with(name, value)).unwrap_err();
        assert_eq!(refusal, TokenRefusal::MissingClaim(name));
    }
    assert_eq!(verify_claims(&claims_with("exp", json!(NOW as f64 + 0.5))), Ok(()));
}

#[test]
fn rg_68_lifetime_is_at_most_an_hour_and_the_leeway_30_seconds() {
    for (iat, exp, expected) in [
        (NOW - 10, NOW - 10 + MAX_LIFETIME_SECS, Ok(())),
        (NOW - 10, NOW - 9 + MAX_LIFETIME_SECS, Err(TokenRefusal::Lifetime)),
        (NOW - 60, NOW - 29, Ok(())),
        (NOW - 60, NOW - 30, Err(TokenRefusal::Expired)),
        (NOW + 30, NOW + 60, Ok(())),
        (NOW + 31, NOW + 60, Err(TokenRefusal::NotYetValid)),
    ] {
        let mut claims = claims_with("iat", json!(iat));
        claims["exp"] = json!(exp);
        assert_eq!(verify_claims(&claims), expected, "{iat} {exp}");
    }
}

#[test]
fn rg_69_algorithm_none_is_refused() {
    let unsigned =
        KEYS.token_with_header(JwtKey::Rsa, &header_with("alg", "none".into()), &claims());
    let (signed, _) = unsigned.rsplit_once('.').unwrap();
    assert_eq!(verify(&unsigned), Err(TokenRefusal::Algorithm));
    assert_eq!(verify(&format!("{signed}.")), Err(TokenRefusal::Algorithm));
    assert_eq!(verify_header(&header_with("alg", "nOnE".into())), Err(TokenRefusal::Algorithm));
    assert_eq!(verify_header(&header_with("alg", Value::Null)), Err(TokenRefusal::Algorithm));
}

#[test]
fn rg_69_hs256_with_the_public_key_is_refused() {
    assert_eq!(verify(&KEYS.token_with_shared_key(&claims())), Err(TokenRefusal::Algorithm));
}

#[test]
fn rg_69_missing_key_id_is_refused() {
    assert_eq!(verify_header(&header_with("kid", Value::Null)), Err(TokenRefusal::NoKeyId));
    assert_eq!(verify_header(&header_with("kid", json!(1))), Err(TokenRefusal::NoKeyId));
}

#[test]
fn rg_69_unknown_key_id_is_refused() {
    assert_eq!(verify_header(&header_with("kid", "rsa-2".into())), Err(TokenRefusal::UnknownKey));
}

#[test]
fn rg_69_wrong_issuer_is_refused() {
    for issuer in ["https://other.example", "https://issuer.example/", "HTTPS://issuer.example"] {
        let refusal = verify_claims(&claims_with("iss", issuer.into()));
        assert_eq!(refusal, Err(TokenRefusal::Issuer), "{issuer}");
    }
}

#[test]
fn rg_69_wrong_audience_is_refused() {
    for audience in [json!("other.example"), json!("Registry.example"), json!(["other.example"])] {
        let refusal = verify_claims(&claims_with("aud", audience.clone()));
        assert_eq!(refusal, Err(TokenRefusal::Audience), "{audience}");
    }
}

#[test]
fn rg_69_list_of_several_audiences_is_refused() {
    assert_eq!(verify_claims(&claims_with("aud", json!([AUDIENCE]))), Ok(()));
    for audience in
        [json!([AUDIENCE, "other"]), json!([AUDIENCE, AUDIENCE]), json!([]), json!([1]), json!(1)]
    {
        let refusal = verify_claims(&claims_with("aud", audience.clone()));
        assert_eq!(refusal, Err(TokenRefusal::Audience), "{audience}");
    }
}

#[test]
fn rg_69_expired_token_is_refused() {
    let mut claims = claims_with("exp", json!(NOW - 100));
    claims["iat"] = json!(NOW - 200);
    assert_eq!(verify_claims(&claims), Err(TokenRefusal::Expired));
}

#[test]
fn rg_69_token_that_is_not_valid_yet_is_refused() {
    let refusal = Err(TokenRefusal::NotYetValid);
    assert_eq!(verify_claims(&claims_with("nbf", json!(NOW + 31))), refusal);
    assert_eq!(verify_claims(&claims_with("nbf", json!(NOW + 30))), Ok(()));
    assert_eq!(verify_claims(&claims_with("iat", json!(NOW + 100))), refusal);
    let wrong = Err(TokenRefusal::MissingClaim("nbf"));
    assert_eq!(verify_claims(&claims_with("nbf", json!("now"))), wrong);
}

#[test]
fn rg_69_token_without_an_id_is_refused() {
    let refusal = Err(TokenRefusal::MissingClaim("jti"));
    for id in [Value::Null, json!(""), json!("x".repeat(MAX_TOKEN_ID_LEN + 1))] {
        assert_eq!(verify_claims(&claims_with("jti", id)), refusal);
    }
}

#[test]
fn rg_69_changed_payload_is_refused() {
    for key in JwtKey::ALL {
        let token = KEYS.token(key, &claims());
        let other = KEYS.token(key, &claims_with("sub", "job-2".into()));
        let [header, _, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!() };
        let payload = other.split('.').nth(1).unwrap();
        let changed = format!("{header}.{payload}.{signature}");
        assert_eq!(verify(&changed), Err(TokenRefusal::Signature), "{key:?}");
        let damaged = format!(
            "{header}.{}.{}AA",
            token.split('.').nth(1).unwrap(),
            &signature[..signature.len() - 2]
        );
        assert_eq!(verify(&damaged), Err(TokenRefusal::Signature), "{key:?}");
    }
}

#[test]
fn rg_69_crit_in_the_header_is_refused() {
    let refusal = verify_header(&header_with("crit", json!(["exp"])));
    assert_eq!(refusal, Err(TokenRefusal::RefusedMember("crit")));
}

#[test]
fn rg_69_key_or_its_url_in_the_header_is_refused() {
    let own = KEYS.public(JwtKey::Rsa);
    for (name, value) in [
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/cert")),
        ("jwk", own),
        ("x5c", json!(["MIIB"])),
        ("jku", json!(null)),
    ] {
        let mut header = header();
        header[name] = value;
        assert_eq!(verify_header(&header), Err(TokenRefusal::RefusedMember(name)));
    }
}

#[test]
fn rg_69_long_token_is_refused() {
    let long = KEYS.token(JwtKey::Rsa, &claims_with("pad", json!("x".repeat(MAX_TOKEN_BYTES))));
    assert_eq!(verify(&long), Err(TokenRefusal::TooLong));
}

#[test]
fn rg_69_malformed_token_is_refused() {
    let token = KEYS.token(JwtKey::Rsa, &claims());
    let [header, payload, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let twice = sp_testkit::to_base64url(br#"{"iss":"https://issuer.example","iss":"x"}"#);
    for malformed in [
        String::new(),
        "..".into(),
        format!("{header}.{payload}"),
        format!("{header}.{payload}.{signature}.x"),
        format!("{header}=.{payload}.{signature}"),
        format!("{header}.{payload}.{signature}="),
        format!("{header}. {payload}.{signature}"),
        format!("{header}.{twice}.{signature}"),
        KEYS.sign(JwtKey::Rsa, &format!("{header}.{}", sp_testkit::to_base64url(b"[]"))),
    ] {
        assert_eq!(verify(&malformed), Err(TokenRefusal::Malformed), "{malformed}");
    }
    let refusal = verify_header(&header_with("typ", "at+jwt".into()));
    assert_eq!(refusal, Err(TokenRefusal::Malformed));
}

fn matches(issuer: &str, expected: &[(&str, &str)], claims: &Value) -> bool {
    let expected: BTreeMap<String, String> =
        expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    IssuerKind::of(issuer).matches(&expected, &TokenClaims::from_json(claims))
}

#[test]
fn rg_64_github_workflows_are_matched_by_repository_owner_and_file() {
    const GITHUB: &str = "https://token.actions.githubusercontent.com";
    let job = json!({
        "repository": "Acme/Notes", "repository_owner_id": "12", "environment": "Prod",
        "workflow_ref": "Acme/Notes/.github/workflows/release.yml@refs/heads/main",
        "job_workflow_ref": "acme/shared/.github/workflows/build.yml@0123abc",
        "ref": "refs/heads/main",
    });
    let base = [("repository", "acme/notes"), ("repository_owner_id", "12")];
    for (more, expected) in [
        (("workflow_ref", "release.yml"), true),
        (("workflow_ref", "RELEASE.yml"), false),
        (("workflow_ref", "build.yml"), false),
        (("workflow_ref", "Acme/Notes/.github/workflows/release.yml"), true),
        // A workflow of another repository must be named with its path.
        (("job_workflow_ref", "build.yml"), false),
        (("job_workflow_ref", "acme/shared/.github/workflows/build.yml"), true),
        (("environment", "prod"), true),
        (("environment", "test"), false),
        (("ref", "refs/heads/main"), true),
        (("ref", "refs/heads/Main"), false),
        (("missing", "x"), false),
        (("repository_owner_id", "13"), false),
        (("repository", "acme/note"), false),
    ] {
        assert_eq!(matches(GITHUB, &[base[0], base[1], more], &job), expected, "{more:?}");
    }
    // The name of a file or a branch may contain `@`.
    for (reference, expected) in [
        ("acme/notes/.github/workflows/release.yml@refs/heads/a@b", true),
        ("acme/notes/.github/workflows/release.yml@x.yml@refs/heads/main", false),
        ("acme/notes/.github/workflows/sub/release.yml@refs/heads/main", false),
        ("acme/notes/.github/workflows/release.yml", false),
        ("evil/notes/.github/workflows/release.yml@refs/heads/main", false),
    ] {
        let job = json!({"repository": "acme/notes", "workflow_ref": reference});
        let found = matches(GITHUB, &[("workflow_ref", "release.yml")], &job);
        assert_eq!(found, expected, "{reference}");
    }
    assert!(!matches(GITHUB, &[], &job));
}

#[test]
fn rg_64_gitlab_pipelines_are_matched_by_project_group_and_file() {
    const GITLAB: &str = "https://gitlab.com";
    let job = |uri: &str| json!({"project_path": "acme/notes", "namespace_id": "7", "ci_config_ref_uri": uri});
    let own = job("gitlab.com/acme/notes//.gitlab-ci.yml@refs/heads/main");
    for (more, expected) in [
        (("ci_config_ref_uri", ".gitlab-ci.yml"), true),
        (("ci_config_ref_uri", "gitlab.com/acme/notes//.gitlab-ci.yml"), true),
        (("ci_config_ref_uri", "ci/release.yml"), false),
        (("namespace_id", "8"), false),
    ] {
        let base = [("project_path", "acme/notes"), ("namespace_id", "7"), more];
        assert_eq!(matches(GITLAB, &base, &own), expected, "{more:?}");
    }
    for uri in [
        "gitlab.com/evil/notes//.gitlab-ci.yml@refs/heads/main",
        "gitlab.com/acme/notes//sub/.gitlab-ci.yml@refs/heads/main",
        "gitlab.com/acme/notes//.gitlab-ci.yml",
    ] {
        assert!(!matches(GITLAB, &[("ci_config_ref_uri", ".gitlab-ci.yml")], &job(uri)), "{uri}");
    }
}

#[test]
fn rg_64_publishers_must_name_what_cannot_be_registered_again() {
    use crate::registry::oidc::{OidcSettings, PublisherRequest};
    let service = OidcService::new(OidcSettings::default());
    let check = |issuer: &str, claims: Value| {
        let request = json!({"issuer": issuer, "claims": claims});
        let request: PublisherRequest = serde_json::from_value(request).unwrap();
        request.check(&service.issuers).is_ok()
    };
    let github = "https://token.actions.githubusercontent.com";
    let workflow =
        json!({"repository": "a/b", "repository_owner_id": "1", "workflow_ref": "r.yml"});
    let pipeline =
        json!({"project_path": "a/b", "namespace_id": "1", "ci_config_ref_uri": ".gitlab-ci.yml"});
    let without = |claims: &Value, name: &str| {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove(name);
        claims
    };
    assert!(check(github, workflow.clone()) && check("https://gitlab.com", pipeline.clone()));
    for name in ["repository", "repository_owner_id", "workflow_ref"] {
        assert!(!check(github, without(&workflow, name)), "{name}");
    }
    for name in ["project_path", "namespace_id", "ci_config_ref_uri"] {
        assert!(!check("https://gitlab.com", without(&pipeline, name)), "{name}");
    }
    for (name, value) in [
        ("repository", "b"),
        ("repository_owner_id", "acme"),
        ("workflow_ref", "release"),
        ("aud", "x"),
        ("ref", ""),
        ("ref", "a\nb"),
    ] {
        let mut claims = workflow.clone();
        claims[name] = value.into();
        assert!(!check(github, claims), "{name}={value:?}");
    }
    let other = "https://ci.example";
    assert!(check(other, json!({"sub": "x"})) && check(other, json!({"project_id": "1"})));
    assert!(!check(other, json!({"project": "x"})) && !check(other, json!({})));
    for issuer in ["https://ci.example/", "http://ci.example", "http://127.0.0.1:1", "ci.example"] {
        assert!(!check(issuer, json!({"sub": "x"})), "{issuer}");
    }
}

#[test]
fn rg_71_github_events_with_code_of_others_are_refused() {
    let event = |issuer: &str, event: &str| {
        let claims = TokenClaims::from_json(&json!({"event_name": event}));
        refused_event(issuer, &claims).is_some()
    };
    let github = "https://token.actions.githubusercontent.com";
    for (name, expected) in
        [("pull_request_target", true), ("workflow_run", true), ("push", false), ("release", false)]
    {
        assert_eq!(event(github, name), expected, "{name}");
    }
    assert!(!event("https://ci.example", "workflow_run"));
}
