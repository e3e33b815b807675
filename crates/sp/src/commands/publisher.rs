//! `sp publisher`.

use std::collections::BTreeMap;

use sp_engine::pkg::{self, PublisherAction, PublisherChangeRequest, TrustedIdentity};
use sp_engine::{Context, Result};
use sp_formats::output::RegistryPublisherReport;
use sp_formats::printable::printable;
use sp_formats::trusted_publisher::TrustedPublisher;

use crate::cli::{OutputFormat, PublisherAddArgs, PublisherCommand, RegistryArg};
use crate::terminal::{DIM, Terminal, table};

const GITHUB: &str = "https://token.actions.githubusercontent.com";
const GITLAB: &str = "https://gitlab.com";

pub(super) fn run(
    context: &Context<'_>,
    command: &PublisherCommand,
    terminal: &Terminal,
) -> Result<()> {
    let report = match command {
        PublisherCommand::List { package, registry } => {
            change(context, package, PublisherAction::List, registry)
        }
        PublisherCommand::Add(args) => {
            let action = PublisherAction::Add(identity(args));
            change(context, &args.package, action, &args.registry)
        }
        PublisherCommand::Remove { package, id, registry } => {
            change(context, package, PublisherAction::Remove(*id), registry)
        }
        PublisherCommand::Require { package, undo, registry } => {
            change(context, package, PublisherAction::Require(!undo), registry)
        }
    };
    print(&report?, terminal)
}

fn change(
    context: &Context<'_>,
    package: &str,
    action: PublisherAction,
    registry: &RegistryArg,
) -> Result<RegistryPublisherReport> {
    let registry = registry.registry.clone();
    let request = PublisherChangeRequest { package: package.into(), action, registry };
    pkg::change_publishers(context, &request)
}

fn identity(args: &PublisherAddArgs) -> TrustedIdentity {
    let mut claims: BTreeMap<String, String> = args.claims.iter().cloned().collect();
    let mut add = |name: &str, value: Option<&String>| {
        claims.extend(value.map(|value| (name.to_owned(), value.clone())));
    };
    add("environment", args.environment.as_ref());
    let issuer = match (&args.github, &args.gitlab, &args.issuer) {
        (Some(repository), ..) => {
            add("repository", Some(repository));
            add("repository_owner_id", args.owner_id.as_ref());
            add("workflow_ref", args.workflow.as_ref());
            GITHUB.to_owned()
        }
        (None, Some(project), _) => {
            add("project_path", Some(project));
            add("namespace_id", args.group_id.as_ref());
            add("ci_config_ref_uri", Some(&args.ci_file));
            GITLAB.to_owned()
        }
        (None, None, issuer) => issuer.clone().unwrap_or_default(),
    };
    TrustedIdentity { issuer, audience: args.audience.clone(), claims }
}

fn print(report: &RegistryPublisherReport, terminal: &Terminal) -> Result<()> {
    terminal.print(report, |out| {
        let rows: Vec<Vec<String>> = report.publishers.iter().map(row).collect();
        if terminal.format == OutputFormat::Plain {
            return rows.iter().try_for_each(|row| writeln!(out, "{}", row.join("\t")));
        }
        if rows.is_empty() {
            writeln!(out, "{} has no trusted publishers", report.package)?;
        } else {
            let heading = ["id", "issuer", "audience", "claims", ""];
            write!(out, "{}", table(&heading, rows, terminal.width()))?;
        }
        if report.trusted_only {
            writeln!(out, "{DIM}only trusted publishers can publish {}{DIM:#}", report.package)?;
        }
        Ok(())
    })
}

fn row(publisher: &TrustedPublisher) -> Vec<String> {
    let claims = publisher.claims.iter().map(|(name, value)| format!("{name}={value}"));
    let pending = publisher.pending_until.as_ref().map(|until| format!("pending until {until}"));
    vec![
        publisher.id.to_string(),
        printable(&publisher.issuer).into_owned(),
        printable(&publisher.audience).into_owned(),
        printable(&claims.collect::<Vec<_>>().join(" ")).into_owned(),
        pending.unwrap_or_default(),
    ]
}
