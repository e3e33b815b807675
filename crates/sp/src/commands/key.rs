//! `sp key`.

use std::io::Write;

use sp_engine::pkg::{self, KeyPart};
use sp_engine::{Context, Result};
use sp_formats::output::{KeyItem, KeyList};
use sp_formats::printable::printable;
use sp_formats::time::relative_text;

use crate::cli::{KeyCommand, OutputFormat};
use crate::terminal::{DIM, STRONG, Terminal, table};

pub(super) fn run(context: &Context<'_>, command: &KeyCommand, terminal: &Terminal) -> Result<()> {
    match command {
        KeyCommand::New { name } => {
            print_keys(context, &pkg::new_key(context, name)?, "created", terminal)
        }
        KeyCommand::Import { file, name } => {
            print_keys(context, &pkg::import_key(context, file, name)?, "imported", terminal)
        }
        KeyCommand::Rotate { name, statement } => print_keys(
            context,
            &pkg::rotate_key(context, name, statement.as_deref())?,
            "rotated",
            terminal,
        ),
        KeyCommand::Export { name, private: None } => {
            let list = pkg::export_key(context, name, &KeyPart::Public)?;
            terminal.print(&list, |out| {
                list.keys.iter().try_for_each(|key| writeln!(out, "{}", key.public_key))
            })
        }
        KeyCommand::Export { name, private: Some(file) } => print_keys(
            context,
            &pkg::export_key(context, name, &KeyPart::Private(file.clone()))?,
            "exported",
            terminal,
        ),
        KeyCommand::List => print_list(context, &pkg::list_keys(context)?, terminal),
        KeyCommand::Trust { rotation: Some(file), .. } => {
            print_list(context, &pkg::trust_rotation(context, file)?, terminal)
        }
        KeyCommand::Trust { namespace, key, .. } => {
            let (namespace, key) =
                (namespace.as_deref().unwrap_or_default(), key.as_deref().unwrap_or_default());
            print_list(context, &pkg::trust_key(context, namespace, key)?, terminal)
        }
    }
}

fn print_keys(
    context: &Context<'_>,
    list: &KeyList,
    verb: &str,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(list, |out| {
        list.keys.iter().try_for_each(|key| match terminal.format {
            OutputFormat::Plain => write_plain(out, key),
            _ => {
                writeln!(
                    out,
                    "{STRONG}{}{STRONG:#} {verb}: {}",
                    printable(&key.name),
                    key.public_key
                )?;
                writeln!(
                    out,
                    "{DIM}the private key is in {}; it is never printed or sent{DIM:#}",
                    context.display_path(&key.file)
                )
            }
        })
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
        Ok(())
    })
}
