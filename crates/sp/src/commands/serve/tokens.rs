//! `sp serve token`.

use sp_engine::{Context, Error, ErrorCode, Result};
use sp_formats::output::RegistryTokenReport;
use sp_formats::printable::printable;
use sp_formats::registry::{IssuedRegistryToken, RegistryToken};
use sp_serve::registry::TokenRequest;

use super::{local_error, open_local};
use crate::cli::{ServeTokenArgs, TokenScopeArg};
use crate::terminal::{STRONG, Terminal, table};

const ADMIN_USER: &str = "admin";

pub(super) fn run(context: &Context<'_>, args: &ServeTokenArgs, terminal: &Terminal) -> Result<()> {
    let request = if args.list || args.rotate.is_some() || args.revoke.is_some() {
        None
    } else {
        Some(token_request(args)?)
    };
    let registry = open_local(context, &args.location)?;
    if let Some(request) = request {
        return print_secret(registry.create_token(&request).map_err(local_error)?, terminal);
    }
    if let Some(id) = args.rotate {
        return print_secret(registry.rotate_token(id).map_err(local_error)?, terminal);
    }
    if let Some(id) = args.revoke {
        registry.revoke_token(id).map_err(local_error)?;
        let report = RegistryTokenReport { tokens: Vec::new(), secret: None };
        return terminal.print(&report, |out| writeln!(out, "revoked token {id}"));
    }
    print_list(registry.tokens().map_err(local_error)?, terminal)
}

fn token_request(args: &ServeTokenArgs) -> Result<TokenRequest> {
    let scope = match args.scope {
        _ if args.admin => "admin",
        TokenScopeArg::Publish => "publish",
        TokenScopeArg::Read => "read",
    };
    let user = args.user.clone().or_else(|| args.admin.then(|| ADMIN_USER.to_owned()));
    let user = user.ok_or_else(|| {
        Error::new(ErrorCode::MissingArgument, "the token has no user")
            .hint("add `--user <name>`, or `--admin` for an admin token")
    })?;
    let names = args.namespaces.iter().map(|name| name.trim_start_matches('@').to_owned());
    Ok(TokenRequest {
        user,
        scope: scope.into(),
        label: args.label.clone(),
        expires_in: args.expires.map(|lifetime| lifetime.as_secs()),
        namespaces: Some(names.collect::<Vec<_>>()).filter(|names| !names.is_empty()),
    })
}

fn print_secret(issued: IssuedRegistryToken, terminal: &Terminal) -> Result<()> {
    let IssuedRegistryToken { item, token } = issued;
    let report = RegistryTokenReport { tokens: vec![item], secret: Some(token) };
    terminal.print(&report, |out| {
        for item in &report.tokens {
            writeln!(
                out,
                "token {} for {} ({}), shown only once:",
                item.id,
                printable(&item.user),
                item.scope
            )?;
        }
        writeln!(out, "{STRONG}{}{STRONG:#}", report.secret.as_deref().unwrap_or_default())
    })
}

fn print_list(tokens: Vec<RegistryToken>, terminal: &Terminal) -> Result<()> {
    const HEADING: [&str; 7] =
        ["id", "user", "scope", "namespaces", "label", "last used", "expires"];
    let report = RegistryTokenReport { tokens, secret: None };
    terminal.print(&report, |out| {
        let rows = report.tokens.iter().map(row).collect();
        write!(out, "{}", table(&HEADING, rows, terminal.width()))
    })
}

fn row(item: &RegistryToken) -> Vec<String> {
    let expires = if item.revoked { Some("revoked".to_owned()) } else { item.expires_at.clone() };
    vec![
        item.id.to_string(),
        item.user.clone(),
        item.scope.clone(),
        item.namespaces.as_deref().unwrap_or_default().join(" "),
        item.label.clone().unwrap_or_default(),
        item.last_used_at.clone().unwrap_or_default(),
        expires.unwrap_or_default(),
    ]
}
