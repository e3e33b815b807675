//! `sp key`.

use std::io::Write;

use sp_engine::pkg::{self, KeyPart};
use sp_engine::{Context, Result};
use sp_formats::output::{KeyItem, KeyList};
use sp_formats::printable::printable;
use sp_formats::time::relative_text;

use super::plan::{apply_options, write_apply_command};
use crate::cli::{KeyCommand, OutputFormat};
use crate::terminal::{DIM, STRONG, Terminal, table};

pub(super) fn run(context: &Context<'_>, command: &KeyCommand, terminal: &Terminal) -> Result<()> {
    match command {
        KeyCommand::New { name, plan } => {
            let list = pkg::new_key(context, name, apply_options(plan))?;
            print_keys(context, &list, ["create", "created"], terminal)
        }
        KeyCommand::Import { file, name, plan } => {
            let list = pkg::import_key(context, file, name, apply_options(plan))?;
            print_keys(context, &list, ["import", "imported"], terminal)
        }
        KeyCommand::Rotate { name, statement, plan } => {
            let statement = statement.as_deref();
            let list = pkg::rotate_key(context, name, statement, apply_options(plan))?;
            print_keys(context, &list, ["rotate", "rotated"], terminal)
        }
        KeyCommand::Export { name, private: None, plan } => {
            let list = pkg::export_key(context, name, &KeyPart::Public, apply_options(plan))?;
            terminal.print(&list, |out| {
                list.keys.iter().try_for_each(|key| writeln!(out, "{}", key.public_key))
            })
        }
        KeyCommand::Export { name, private: Some(file), plan } => {
            let part = KeyPart::Private(file.clone());
            let list = pkg::export_key(context, name, &part, apply_options(plan))?;
            print_keys(context, &list, ["export", "exported"], terminal)
        }
        KeyCommand::List => print_list(context, &pkg::list_keys(context)?, terminal),
        KeyCommand::Trust { rotation: Some(file), plan, .. } => {
            print_list(context, &pkg::trust_rotation(context, file, apply_options(plan))?, terminal)
        }
        KeyCommand::Trust { namespace, key, plan, .. } => {
            let (namespace, key) =
                (namespace.as_deref().unwrap_or_default(), key.as_deref().unwrap_or_default());
            let list = pkg::trust_key(context, namespace, key, apply_options(plan))?;
            print_list(context, &list, terminal)
        }
    }
}

/// Prints changed keys. `verbs` are the infinitive, for a dry run, and the participle.
fn print_keys(
    context: &Context<'_>,
    list: &KeyList,
    [infinitive, participle]: [&str; 2],
    terminal: &Terminal,
) -> Result<()> {
    let planned = list.status.as_ref().filter(|status| !status.applied);
    terminal.print(list, |out| {
        for key in &list.keys {
            let (name, file) = (printable(&key.name), context.display_path(&key.file));
            if terminal.format == OutputFormat::Plain {
                write_plain(out, key)?;
            } else if planned.is_some() {
                writeln!(out, "would {infinitive} {STRONG}{name}{STRONG:#} · {file}")?;
            } else {
                writeln!(out, "{STRONG}{name}{STRONG:#} {participle}: {}", key.public_key)?;
                writeln!(
                    out,
                    "{DIM}the private key is in {file}; it is never printed or sent{DIM:#}"
                )?;
            }
        }
        match planned {
            Some(status) if terminal.format != OutputFormat::Plain => {
                write_apply_command(status, out)
            }
            _ => Ok(()),
        }
    })
}

fn write_plain(out: &mut dyn Write, key: &KeyItem) -> std::io::Result<()> {
    writeln!(out, "{}\t{}", printable(&key.name), key.public_key)
}

fn print_list(context: &Context<'_>, list: &KeyList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format == OutputFormat::Plain {
            list.keys.iter().try_for_each(|key| write_plain(out, key))?;
            return list.trusted.iter().try_for_each(|pin| {
                writeln!(out, "{}\t{}", printable(&pin.namespace), pin.public_key)
            });
        }
        if list.keys.is_empty() && list.trusted.is_empty() {
            return writeln!(
                out,
                "no keys and no trusted signers; run `sp key new` to create a key"
            );
        }
        if !list.keys.is_empty() {
            let row = |key: &KeyItem| {
                let retired = if key.retired { "retired" } else { "" };
                vec![
                    key.name.clone(),
                    key.public_key.clone(),
                    context.display_path(&key.file),
                    retired.into(),
                ]
            };
            let rows = list.keys.iter().map(row).collect();
            write!(out, "{}", table(&["key", "public key", "file", ""], rows, terminal.width()))?;
        }
        if !list.trusted.is_empty() {
            let blank = if list.keys.is_empty() { "" } else { "\n" };
            let rows = list.trusted.iter().map(|pin| {
                vec![
                    pin.namespace.clone(),
                    pin.public_key.clone(),
                    relative_text(&pin.since, context.now),
                    pin.because.clone(),
                ]
            });
            write!(
                out,
                "{blank}{}",
                table(
                    &["trusted for", "public key", "since", "reason"],
                    rows.collect(),
                    terminal.width()
                )
            )?;
        }
        list.status.as_ref().map_or(Ok(()), |status| write_apply_command(status, out))
    })
}
