//! Packages on their way between machines.

use sp_engine::pkg::{self, Answer, Approval, EnvelopeSignature, ReceiveRequest, SecretFrom, SendRequest};
use sp_engine::{Context, Result};
use sp_formats::output::{PackageList, PackageReceived};
use sp_formats::package::envelope::Form;
use sp_formats::printable::printable;
use sp_serve::receiver::{self, Incoming, ListenRequest, Until};

use super::accepted;
use super::show::{imported, waiting};
use crate::cli::{self, EnvelopeForm, Format, Pkg};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal};

fn secret(secret: &cli::Secret) -> SecretFrom {
    match &secret.secret_file {
        Some(file) => SecretFrom::File(file.clone()),
        None => secret.secret_env.clone().map_or(SecretFrom::Default, SecretFrom::Env),
    }
}

pub(super) fn send(context: &Context<'_>, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Send { package, target, to, sender, secret: from, envelope } = command else { return Ok(()) };
    let request = SendRequest {
        package: package.clone(),
        target: target.clone(),
        recipient: to.clone(),
        sender: sender.clone(),
        secret: secret(from),
        token_env: from.token_env.clone(),
        form: match envelope {
            EnvelopeForm::V2 => Form::V2,
            EnvelopeForm::V3 => Form::V3,
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
        writeln!(out, "{DIM}it answered: {}{DIM:#}", printable(&sent.answer))
    })
}

pub(super) fn receive(context: &Context<'_>, command: &Pkg, terminal: &Terminal) -> Result<()> {
    let Pkg::Receive { listen, recipient, secret: from, allow_unsigned, queue, once, trust } = command else {
        return Ok(());
    };
    let package = ReceiveRequest {
        secret: secret(from),
        token_env: from.token_env.clone(),
        signature: if *allow_unsigned { EnvelopeSignature::Optional } else { EnvelopeSignature::Required },
        recipient: recipient.clone(),
        approval: if *queue { Approval::Queue } else { Approval::Import },
        accepted: accepted(trust),
    };
    let until = if *once { Until::One } else { Until::Forever };
    let request = ListenRequest { listen: listen.clone(), until, package };
    receiver::receive(context, &request, &|incoming| {
        // A line that cannot be printed is nobody's loss but the reader's.
        let _ = tell(&incoming, terminal);
    })
}

fn tell(incoming: &Incoming, terminal: &Terminal) -> Result<()> {
    let mut line = PackageReceived { event: String::new(), address: None, package: None, sender: None, because: None };
    let text = match incoming {
        Incoming::Listening(address) => {
            line.event = "listening".into();
            line.address = Some(address.clone());
            format!("{STRONG}listening{STRONG:#} on {address}; `sp pkg send <package> --target {address}` sends")
        }
        Incoming::Imported { package, sender } => {
            (line.event, line.package, line.sender) = ("imported".into(), Some(package.clone()), Some(sender.clone()));
            format!("{ADDED}+{ADDED:#} {} from {}", printable(package), printable(sender))
        }
        Incoming::Waiting { package, sender, id } => {
            (line.event, line.package, line.sender) = ("waiting".into(), Some(package.clone()), Some(sender.clone()));
            format!(
                "{CHANGED}?{CHANGED:#} {} from {} waits: `sp pkg inbox --accept {id}`",
                printable(package),
                printable(sender)
            )
        }
        Incoming::Refused(why) => {
            (line.event, line.because) = ("refused".into(), Some(why.clone()));
            format!("{REMOVED}✗{REMOVED:#} refused: {}", printable(why))
        }
    };
    match terminal.format {
        // One line each, so that a program can read them as they come.
        Format::Json => {
            terminal.print_text(|out| writeln!(out, "{}", serde_json::to_string(&line).unwrap_or_default()))
        }
        _ => terminal.print_text(|out| writeln!(out, "{text}")),
    }
}

pub(super) fn inbox(
    context: &Context<'_>,
    (accept, reject, trust): (Option<&str>, Option<&str>, &cli::Trust),
    root: Option<&std::path::Path>,
    terminal: &Terminal,
) -> Result<()> {
    match (accept, reject) {
        (Some(id), _) => imported(&pkg::answer_waiting(context, id, Answer::Accept, accepted(trust))?, terminal),
        (_, Some(id)) => {
            let done = pkg::answer_waiting(context, id, Answer::Reject, accepted(trust))?;
            terminal.print(&done, |out| writeln!(out, "refused and removed"))
        }
        (None, None) => {
            let list = PackageList { packages: Vec::new(), ..pkg::list(context, root)? };
            terminal.print(&list, |out| match (list.waiting.is_empty(), terminal.format) {
                (true, Format::Plain) => Ok(()),
                (true, _) => writeln!(out, "nothing is waiting"),
                (false, Format::Plain) => list.waiting.iter().try_for_each(|one| {
                    writeln!(out, "{}\t{}\t{}", one.id, printable(&one.name), printable(&one.version))
                }),
                (false, _) => waiting(&list, out, terminal),
            })
        }
    }
}
