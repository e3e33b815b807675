//! Settings of `sp serve` for identity providers.

use sp_engine::pkg::SecretSource;
use sp_engine::{Context, Error, ErrorCode, Result, read_secret};
use sp_formats::web_url::{PlainHttp, UrlPolicy};
use sp_serve::registry::{AccountPolicy, ClientSecret, OidcSettings, SignInSettings};

use crate::cli::OidcArgs;

const CLIENT_SECRET_ENV: &str = "SP_SERVE_OIDC_CLIENT_SECRET";

pub(super) fn settings(context: &Context<'_>, args: &OidcArgs) -> Result<OidcSettings> {
    Ok(OidcSettings {
        public_url: args.public_url.as_deref().map(public_url).transpose()?,
        allow_http: args.oidc_allow_http,
        private_hosts: args.oidc_private_host.clone(),
        sign_in: args.oidc_issuer.as_deref().map(|url| sign_in(context, args, url)).transpose()?,
    })
}

/// Checks the public URL, and removes a trailing slash.
fn public_url(text: &str) -> Result<String> {
    let policy = UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };
    let invalid = |why: String| {
        Error::new(ErrorCode::InvalidArguments, format!("invalid `--public-url`: {why}"))
            .hint("use a URL such as `https://registry.example`")
    };
    let url = policy.check(text).map_err(|why| invalid(why.to_string()))?;
    if url.path().trim_end_matches('/').is_empty() {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err(invalid("it contains a path".into()))
    }
}

fn sign_in(context: &Context<'_>, args: &OidcArgs, issuer: &str) -> Result<SignInSettings> {
    let policy = UrlPolicy { userinfo: false, query: false, http: PlainHttp::Loopback };
    let checked = policy.check(issuer).map_err(|why| why.to_string()).and_then(|url| {
        let is_allowed = url.is_https() || args.oidc_allow_http;
        is_allowed.then_some(()).ok_or_else(|| "plain http requires `--oidc-allow-http`".into())
    });
    checked.map_err(|why| {
        Error::new(ErrorCode::InvalidArguments, format!("invalid `--oidc-issuer`: {why}"))
            .hint("use the URL that the provider publishes as its issuer")
    })?;
    if args.public_url.is_none() {
        return Err(Error::new(ErrorCode::MissingArgument, "logins require `--public-url`")
            .hint("set it to the URL of the registry, and register `<URL>/login/oidc/callback` at the provider"));
    }
    let client_id = args.oidc_client_id.clone().ok_or_else(|| {
        Error::new(ErrorCode::MissingArgument, "logins require `--oidc-client-id`")
            .hint("register the registry at the provider to get an ID")
    })?;
    let is_limited = !args.oidc_allowed_domain.is_empty() || !args.oidc_allowed_group.is_empty();
    if args.oidc_create_accounts && !is_limited {
        let message = "`--oidc-create-accounts` requires a limit on who can log in";
        return Err(Error::new(ErrorCode::MissingArgument, message).hint(
            "set `--oidc-allowed-domain` or `--oidc-allowed-group`; the domain `*` allows everyone",
        ));
    }
    Ok(SignInSettings {
        issuer: issuer.to_owned(),
        client_id,
        client_secret: client_secret(context, args)?,
        scopes: args.oidc_scopes.clone(),
        user_claim: args.oidc_user_claim.clone(),
        groups_claim: args.oidc_groups_claim.clone(),
        allowed_domains: args.oidc_allowed_domain.clone(),
        allowed_groups: args.oidc_allowed_group.clone(),
        accounts: match args.oidc_create_accounts {
            true => AccountPolicy::Create,
            false => AccountPolicy::Existing,
        },
    })
}

/// Reads the client secret. Without one, the registry is a public client.
fn client_secret(context: &Context<'_>, args: &OidcArgs) -> Result<Option<ClientSecret>> {
    let is_set = context.env.get(CLIENT_SECRET_ENV).is_some_and(|secret| !secret.is_empty());
    let source = match &args.oidc_client_secret_file {
        Some(file) => SecretSource::File(context.current_dir.join(file)),
        None if is_set => SecretSource::Env(CLIENT_SECRET_ENV.into()),
        None => return Ok(None),
    };
    let secret = read_secret(context, &source)?;
    let text = std::str::from_utf8(&secret).map_err(|_| {
        Error::new(ErrorCode::InvalidSecret, "the client secret is not text")
            .hint("write it to the file or the variable as the provider shows it")
    })?;
    Ok(Some(ClientSecret(text.to_owned())))
}
