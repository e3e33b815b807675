//! Whether the configured registries can be reached.

use std::collections::BTreeSet;
use std::time::Duration;

use sp_formats::output::DoctorCode;
use sp_formats::text::plural;

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use crate::context::{Context, Network};
use crate::error::{ErrorCode, Result};
use crate::registry::{
    CREDENTIALS_FILE, RegistryClient, RegistryCredentials, RegistryRequest, TokenSource,
};
use crate::server_url::normalize_server_url;

/// A registry that takes longer counts as unreachable.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let context = machine.session.context;
    let mut problems = Vec::new();
    let credentials = match RegistryCredentials::read(context) {
        Ok(credentials) => Some(credentials),
        // Reported with the permissions.
        Err(error) if error.has_code(ErrorCode::ExposedSecret) => None,
        Err(error) => {
            let path = context.home.join(CREDENTIALS_FILE);
            let shown = machine.shell_path(&path);
            problems.push(
                FoundProblem::of_error(DoctorCode::CredentialsInvalid, &error)
                    .command(format!("mv {shown} {shown}.broken"))
                    .help("then log in again with `sp login <URL>`")
                    .at(path),
            );
            None
        }
    };
    let configured = machine.session.config.registries.iter();
    let mut urls: BTreeSet<String> =
        configured.filter_map(|registry| normalize_server_url(&registry.url).ok()).collect();
    urls.extend(credentials.iter().flat_map(RegistryCredentials::addresses));
    if urls.is_empty() {
        return AreaResult::new("none configured", problems);
    }
    if context.network == Network::Offline {
        return AreaResult { problems, ..AreaResult::skipped("`--offline`") };
    }
    let token = |url: &str| credentials.as_ref()?.token(url, TokenSource::File);
    let probes: Vec<(String, Option<String>)> =
        urls.into_iter().map(|url| (url.clone(), token(&url))).collect();
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = probes
            .iter()
            .map(|(url, token)| scope.spawn(move || probe(context, url, token.as_deref())))
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    for ((url, token), result) in probes.iter().zip(results) {
        if let Err(error) = result {
            let problem = FoundProblem::of_error(DoctorCode::RegistryUnreachable, &error);
            let login = format!("sp login {url}");
            problems.push(match (error.has_code(ErrorCode::RegistryRefused), token) {
                (true, Some(_)) => problem.command(login),
                _ => problem.command(format!("sp search sp --registry {url}")),
            });
        }
    }
    let noun = plural(probes.len(), "registry", "registries");
    AreaResult::new(format!("{} {noun} reachable", probes.len()), problems)
}

/// Sends one request that changes nothing. With a token, the token is checked too.
fn probe(context: &Context<'_>, url: &str, token: Option<&str>) -> Result<()> {
    let path = if token.is_some() { "whoami" } else { "search?q=sp" };
    let client = RegistryClient::with_timeout(context, url, token, PROBE_TIMEOUT)?;
    client.probe(&RegistryRequest::get(path))
}
