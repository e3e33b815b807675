//! `sp login`, `logout`, `publish`, `search`, `info` and `yank`.

use sp_engine::pkg::{
    self, LoginRequest, PackageDetails, PublishCredentials, PublishRequest, PublishVisibility,
    RegistryHistoryPolicy, SecretSource, YankAction, YankRequest,
};
use sp_engine::{Context, Result};
use sp_formats::output::{RegistryPackageInfo, RegistrySearchReport};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageVersionItem, RegistryIndexItem};
use sp_formats::text::{ByteSize, pluralize};
use sp_formats::time::relative_text;

use super::pkg::print_package_info;
use crate::cli::{CliCommand, OutputFormat};
use crate::terminal::{DIM, STRONG, Terminal, table};

pub(super) fn run(context: &Context<'_>, command: &CliCommand, terminal: &Terminal) -> Result<()> {
    match command {
        CliCommand::Login { registry, token_env, token_file, reset_history } => {
            let request = LoginRequest {
                registry: registry.clone(),
                token: token_file
                    .clone()
                    .map_or_else(|| SecretSource::Env(token_env.clone()), SecretSource::File),
                history: if *reset_history {
                    RegistryHistoryPolicy::Reset
                } else {
                    RegistryHistoryPolicy::Enforce
                },
            };
            login(context, &request, terminal)
        }
        CliCommand::Logout { registry } => {
            let report = pkg::logout(context, registry.as_deref())?;
            terminal
                .print(&report, |out| writeln!(out, "removed the token for {}", report.registry))
        }
        CliCommand::Publish { package, private, oidc, registry } => {
            let request = PublishRequest {
                package: package.clone(),
                registry: registry.registry.clone(),
                visibility: if *private {
                    PublishVisibility::Private
                } else {
                    PublishVisibility::Default
                },
                credentials: if *oidc {
                    PublishCredentials::IdentityToken
                } else {
                    PublishCredentials::StoredToken
                },
            };
            publish(context, &request, terminal)
        }
        CliCommand::Search { words, registry } => print_search(
            &pkg::search(context, &words.join(" "), registry.registry.as_deref())?,
            terminal,
        ),
        CliCommand::Info { package, registry } => {
            match pkg::package_details(context, package, registry.as_deref())? {
                PackageDetails::Registry(info) => print_info(context, &info, terminal),
                PackageDetails::Local(info) => print_package_info(context, &info, terminal),
            }
        }
        CliCommand::Yank { package, undo, registry } => {
            let request = YankRequest {
                package: package.clone(),
                action: if *undo { YankAction::Undo } else { YankAction::Yank },
                registry: registry.registry.clone(),
            };
            let report = pkg::yank(context, &request)?;
            terminal.print(&report, |out| {
                let verb = if report.yanked { "yanked" } else { "unyanked" };
                writeln!(out, "{verb} {} {} · {}", report.name, report.version, report.registry)
            })
        }
        _ => Ok(()),
    }
}

fn login(context: &Context<'_>, request: &LoginRequest, terminal: &Terminal) -> Result<()> {
    let report = pkg::login(context, request)?;
    terminal.print(&report, |out| {
        writeln!(
            out,
            "logged in to {} as {} {DIM}({}){DIM:#}",
            report.registry,
            printable(report.user.as_deref().unwrap_or_default()),
            printable(report.scope.as_deref().unwrap_or_default())
        )
    })
}

fn publish(context: &Context<'_>, request: &PublishRequest, terminal: &Terminal) -> Result<()> {
    let report = pkg::publish(context, request)?;
    terminal.print(&report, |out| {
        let verb = if report.published { "published" } else { "already published:" };
        writeln!(
            out,
            "{verb} {STRONG}{} {}{STRONG:#} · {}",
            report.name, report.version, report.registry
        )?;
        let signer = report
            .signer
            .as_deref()
            .map_or_else(|| "unsigned".into(), |key| format!("signed by {key}"));
        let warnings = if report.warnings > 0 {
            format!(" · {}", pluralize(report.warnings, "warning"))
        } else {
            String::new()
        };
        writeln!(out, "{DIM}sha256 {} · {signer}{warnings}{DIM:#}", report.sha256)
    })
}

fn print_search(answer: &RegistrySearchReport, terminal: &Terminal) -> Result<()> {
    terminal.print(answer, |out| {
        let name = |item: &RegistryIndexItem| format!("@{}/{}", item.namespace, item.name);
        let latest =
            |item: &RegistryIndexItem| item.latest.clone().unwrap_or_else(|| "yanked".into());
        if terminal.format == OutputFormat::Plain {
            return answer
                .packages
                .iter()
                .try_for_each(|item| writeln!(out, "{}\t{}", name(item), latest(item)));
        }
        let about = |item: &RegistryIndexItem| item.description.clone().unwrap_or_default();
        let row = |item: &RegistryIndexItem| {
            vec![name(item), latest(item), item.kind.clone(), about(item)]
        };
        let rows: Vec<Vec<String>> = answer.packages.iter().map(row).collect();
        if !rows.is_empty() {
            write!(
                out,
                "{}",
                table(&["package", "latest", "kind", "description"], rows, terminal.width())
            )?;
        }
        writeln!(
            out,
            "{DIM}{} · {}{DIM:#}",
            pluralize(answer.packages.len(), "package"),
            answer.registry
        )
    })
}

fn print_info(
    context: &Context<'_>,
    info: &RegistryPackageInfo,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(info, |out| {
        if terminal.format == OutputFormat::Plain {
            let yanked = |item: &PackageVersionItem| if item.yanked { "yanked" } else { "" };
            let line = |item: &PackageVersionItem| {
                format!("{}\t{}\t{}", item.version, item.sha256, yanked(item))
            };
            return info.versions.iter().try_for_each(|item| writeln!(out, "{}", line(item)));
        }
        let private = if info.private { " · private" } else { "" };
        writeln!(
            out,
            "{STRONG}{} {}{STRONG:#} {DIM}{}{private} · {}{DIM:#}",
            info.name,
            printable(&info.version),
            printable(&info.kind),
            info.registry
        )?;
        if let Some(about) = &info.description {
            writeln!(out, "{}", printable(about))?;
        }
        let shown = info.versions.iter().find(|item| item.version == info.version);
        for needed in shown.into_iter().flat_map(|item| &item.dependencies) {
            let optional = if needed.optional { " (optional)" } else { "" };
            writeln!(
                out,
                "{DIM}depends on{DIM:#} {} {}{optional}",
                printable(&needed.name),
                printable(&needed.range)
            )?;
        }
        writeln!(out)?;
        let rows: Vec<Vec<String>> =
            info.versions.iter().map(|item| version_row(context, item)).collect();
        write!(
            out,
            "{}",
            table(&["version", "published", "size", "signed by", ""], rows, terminal.width())
        )?;
        writeln!(out)?;
        for step in info.steps.iter().filter(|step| step.outcome != "skipped") {
            writeln!(
                out,
                "{DIM}{}{DIM:#} {}: {}",
                printable(&step.outcome),
                printable(&step.name),
                printable(&step.detail)
            )?;
        }
        for finding in &info.findings {
            writeln!(
                out,
                "{} {}: {}",
                finding.severity,
                finding.rule,
                printable(&finding.message)
            )?;
        }
        writeln!(out, "\nsp pkg install {}@{}", info.name, printable(&info.version))
    })
}

fn version_row(context: &Context<'_>, item: &PackageVersionItem) -> Vec<String> {
    let signer = item.signer.as_deref().map_or("unsigned", |key| key.get(..16).unwrap_or(key));
    let published = relative_text(&item.published_at, context.now);
    let yanked = if item.yanked { "yanked" } else { "" };
    let size = ByteSize(item.bytes).to_string();
    vec![item.version.clone(), published, size, signer.into(), yanked.into()]
}
