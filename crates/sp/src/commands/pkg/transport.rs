//! `sp pkg send`, `receive` and `inbox`.

use std::path::Path;

use sp_engine::pkg::{
    self, EnvelopeSignature, ReceiveAction, ReceiveRequest, ReviewDecision, SecretSource,
    SendRequest,
};
use sp_engine::{Context, Result};
use sp_formats::output::{PackageList, PackageReceiveEvent};
use sp_formats::package::envelope::EnvelopeSignatureScheme;
use sp_formats::printable::printable;
use sp_serve::receiver::{self, ListenMode, ListenRequest, ReceiverEvent};

use super::show::{print_imported, write_waiting};
use super::trust_overrides;
use crate::cli::{self, EnvelopeVersionArg, OutputFormat, PackageCommand};
use crate::commands::plan::{apply_options, write_apply_command};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal};

fn secret_source(secret: &cli::SecretArgs) -> SecretSource {
    match &secret.secret_file {
        Some(file) => SecretSource::File(file.clone()),
        None => secret.secret_env.clone().map_or(SecretSource::Default, SecretSource::Env),
    }
}

pub(super) fn send(
    context: &Context<'_>,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Send { package, target, to, sender, secret: from, envelope } = command
    else {
        return Ok(());
    };
    let request = SendRequest {
        package: package.clone(),
        target: target.clone(),
        recipient: to.clone(),
        sender: sender.clone(),
        secret: secret_source(from),
        token_env: from.token_env.clone(),
        form: match envelope {
            EnvelopeVersionArg::V2 => EnvelopeSignatureScheme::V2,
            EnvelopeVersionArg::V3 => EnvelopeSignatureScheme::V3,
        },
    };
    let sent = pkg::send(context, &request)?;
    terminal.print(&sent, |out| {
        writeln!(
            out,
            "{STRONG}sent{STRONG:#} {} {} to {}",
            printable(&sent.name),
            printable(&sent.version),
            printable(&sent.target)
        )?;
        writeln!(out, "{DIM}response: {}{DIM:#}", printable(&sent.answer))
    })
}

pub(super) fn receive(
    context: &Context<'_>,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Receive {
        listen,
        recipient,
        secret: from,
        allow_unsigned,
        queue,
        once,
        trust,
    } = command
    else {
        return Ok(());
    };
    let package = ReceiveRequest {
        secret: secret_source(from),
        token_env: from.token_env.clone(),
        signature: if *allow_unsigned {
            EnvelopeSignature::Optional
        } else {
            EnvelopeSignature::Required
        },
        recipient: recipient.clone(),
        action: if *queue { ReceiveAction::Queue } else { ReceiveAction::Import },
        trust: trust_overrides(trust),
    };
    let until = if *once { ListenMode::Once } else { ListenMode::Forever };
    let request = ListenRequest { listen: listen.clone(), mode: until, package };
    receiver::receive(context, &request, &|incoming| {
        // A closed stdout does not stop the receiver.
        let _ = print_event(&incoming, terminal);
    })
}

fn print_event(incoming: &ReceiverEvent, terminal: &Terminal) -> Result<()> {
    let mut line = PackageReceiveEvent {
        event: String::new(),
        address: None,
        package: None,
        sender: None,
        because: None,
    };
    let text = match incoming {
        ReceiverEvent::Listening(address) => {
            line.event = "listening".into();
            line.address = Some(address.clone());
            format!(
                "{STRONG}listening{STRONG:#} on {address}; send with `sp pkg send <package> \
                 --target {address}`"
            )
        }
        ReceiverEvent::Imported { package, sender } => {
            (line.event, line.package, line.sender) =
                ("imported".into(), Some(package.clone()), Some(sender.clone()));
            format!("{ADDED}+{ADDED:#} {} from {}", printable(package), printable(sender))
        }
        ReceiverEvent::Waiting { package, sender, id } => {
            (line.event, line.package, line.sender) =
                ("waiting".into(), Some(package.clone()), Some(sender.clone()));
            format!(
                "{CHANGED}?{CHANGED:#} {} from {} is waiting; run `sp pkg inbox --accept {id}`",
                printable(package),
                printable(sender)
            )
        }
        ReceiverEvent::Refused(why) => {
            (line.event, line.because) = ("refused".into(), Some(why.clone()));
            format!("{REMOVED}✗{REMOVED:#} refused: {}", printable(why))
        }
    };
    match terminal.format {
        // One JSON object per line, so that a program can read them as they arrive.
        OutputFormat::Json => terminal.print_text(|out| {
            writeln!(out, "{}", serde_json::to_string(&line).unwrap_or_default())
        }),
        _ => terminal.print_text(|out| writeln!(out, "{text}")),
    }
}

pub(super) fn inbox(
    context: &Context<'_>,
    root: Option<&Path>,
    command: &PackageCommand,
    terminal: &Terminal,
) -> Result<()> {
    let PackageCommand::Inbox { accept, reject, trust, plan } = command else { return Ok(()) };
    let review = |id: &str, decision| {
        let (trust, apply) = (trust_overrides(trust), apply_options(plan));
        pkg::review_waiting_package(context, id, decision, trust, apply)
    };
    match (accept, reject) {
        (Some(id), _) => print_imported(&review(id, ReviewDecision::Accept)?, terminal),
        (_, Some(id)) => {
            let report = review(id, ReviewDecision::Reject)?;
            terminal.print(&report, |out| {
                if report.status.applied {
                    return writeln!(out, "rejected and deleted");
                }
                writeln!(out, "would reject and delete {}", printable(id))?;
                write_apply_command(&report.status, out)
            })
        }
        (None, None) => print_waiting(context, pkg::list(context, root)?, terminal),
    }
}

fn print_waiting(context: &Context<'_>, list: PackageList, terminal: &Terminal) -> Result<()> {
    let list = PackageList { packages: Vec::new(), ..list };
    terminal.print(&list, |out| match (list.waiting.is_empty(), terminal.format) {
        (true, OutputFormat::Plain) => Ok(()),
        (true, _) => writeln!(out, "the inbox is empty"),
        (false, OutputFormat::Plain) => list.waiting.iter().try_for_each(|package| {
            let (name, version) = (printable(&package.name), printable(&package.version));
            writeln!(out, "{}\t{name}\t{version}", package.id)
        }),
        (false, _) => write_waiting(context, &list, out, terminal),
    })
}
