//! Arguments of `sp serve` for identity providers.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Trusted publishing, and logins with an identity provider.
#[derive(Debug, Args)]
pub(crate) struct OidcArgs {
    /// URL at which clients see the registry, such as `https://registry.example`
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub public_url: Option<String>,
    /// Allow plain HTTP to issuers on this machine
    #[arg(long, hide_short_help = true)]
    pub oidc_allow_http: bool,
    /// Host of an issuer that may have a private address; can be repeated
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    pub oidc_private_host: Vec<String>,
    /// Issuer whose users can log in to the web pages
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub oidc_issuer: Option<String>,
    /// ID of the registry at the issuer
    #[arg(long, value_name = "ID", hide_short_help = true)]
    pub oidc_client_id: Option<String>,
    /// File with the client secret, readable only by its owner
    ///
    /// The secret is also read from the environment variable `SP_SERVE_OIDC_CLIENT_SECRET`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub oidc_client_secret_file: Option<PathBuf>,
    /// Scopes to request from the issuer
    #[arg(
        long,
        value_name = "SCOPES",
        default_value = "openid email profile",
        hide_short_help = true
    )]
    pub oidc_scopes: String,
    /// Claim that contains the user name
    #[arg(long, value_name = "CLAIM", default_value = "email", hide_short_help = true)]
    pub oidc_user_claim: String,
    /// Claim that contains the groups of the user
    #[arg(long, value_name = "CLAIM", default_value = "groups", hide_short_help = true)]
    pub oidc_groups_claim: String,
    /// Domain of email addresses that can log in, or `*`; can be repeated
    #[arg(long, value_name = "DOMAIN", hide_short_help = true)]
    pub oidc_allowed_domain: Vec<String>,
    /// Group whose members can log in; can be repeated
    #[arg(long, value_name = "GROUP", hide_short_help = true)]
    pub oidc_allowed_group: Vec<String>,
    /// Let users log in who have neither a token nor a namespace
    #[arg(long, hide_short_help = true)]
    pub oidc_create_accounts: bool,
}
