//! `sp context push`, `url` and `revoke`.

use sp_engine::context_pack::{self, ContextPackPushRequest, CreateUrlRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{ContextPackPushReport, ContextPackUrlReport};
use sp_formats::text::{ByteSize, pluralize};
use sp_formats::time::relative_text;

use crate::cli::{ContextPackCommand, OutputFormat};
use crate::terminal::{DIM, STRONG, Terminal};

pub(super) fn run(
    context: &Context<'_>,
    command: &ContextPackCommand,
    terminal: &Terminal,
) -> Result<()> {
    match command {
        ContextPackCommand::Push { pack, registry } => {
            let request =
                ContextPackPushRequest { pack: pack.clone(), registry: registry.registry.clone() };
            print_pushed(
                &context_pack::push(context, &request)?,
                request.registry.as_deref(),
                terminal,
            )
        }
        ContextPackCommand::Url { id, expires, registry } => {
            let request = CreateUrlRequest {
                id: id.clone(),
                expires: expires.clone(),
                registry: registry.registry.clone(),
            };
            print_url(context, &context_pack::create_url(context, &request)?, terminal)
        }
        ContextPackCommand::Revoke { id, registry } => {
            let revoked = context_pack::revoke(context, id, registry.registry.as_deref())?;
            terminal.print(&revoked, |out| {
                writeln!(out, "revoked all URLs of {} · {}", revoked.pack_id, revoked.registry)
            })
        }
        _ => Ok(()),
    }
}

fn print_pushed(
    report: &ContextPackPushReport,
    registry: Option<&str>,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(report, |out| {
        if terminal.format == OutputFormat::Plain {
            return writeln!(out, "{}", report.pack_id);
        }
        let what = if report.new { "pushed" } else { "already pushed:" };
        writeln!(out, "{what} {STRONG}{}{STRONG:#} · {}", report.pack_id, report.registry)?;
        let warnings = match report.warnings {
            0 => String::new(),
            some => format!(" · {}", pluralize(some, "warning")),
        };
        let about =
            format!("{} · {}", pluralize(report.files, "file"), ByteSize(report.bytes as u64));
        writeln!(out, "{DIM}{about} · sha256 {}{warnings}{DIM:#}", report.sha256)?;
        // The suggested command needs `--registry` if this one had it.
        let registry =
            registry.map(|registry| format!(" --registry {registry}")).unwrap_or_default();
        writeln!(out, "next: sp context url {}{registry}", report.pack_id)
    })
}

fn print_url(
    context: &Context<'_>,
    given: &ContextPackUrlReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(given, |out| {
        if terminal.format == OutputFormat::Plain {
            return writeln!(out, "{}", given.url);
        }
        writeln!(out, "{STRONG}{}{STRONG:#}", given.url)?;
        writeln!(
            out,
            "{DIM}anyone with this URL can read the context pack; it expires {}{DIM:#}",
            relative_text(&given.expires_at, context.now)
        )?;
        writeln!(out, "next: sp context install {}", given.url)
    })
}
