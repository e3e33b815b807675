//! `sp key`

use std::io::Write;

use sp_engine::pkg::{self, KeyPart};
use sp_engine::{Context, Result};
use sp_formats::output::{KeyItem, KeyList};
use sp_formats::printable::printable;

use crate::cli::{Format, Key};
use crate::terminal::{DIM, STRONG, Terminal, table};

pub(super) fn run(context: &Context<'_>, command: &Key, terminal: &Terminal) -> Result<()> {
    match command {
        Key::New { name } => made(context, &pkg::new_key(context, name)?, "made", terminal),
        Key::Import { file, name } => made(context, &pkg::import_key(context, file, name)?, "taken", terminal),
        Key::Rotate { name, statement } => made(
            context,
            &pkg::rotate_key(context, name, statement.as_deref())?,
            "made in the place of the old one",
            terminal,
        ),
        Key::Export { name, private: None } => {
            let list = pkg::export_key(context, name, &KeyPart::Public)?;
            terminal.print(&list, |out| list.keys.iter().try_for_each(|key| writeln!(out, "{}", key.public_key)))
        }
        Key::Export { name, private: Some(file) } => {
            made(context, &pkg::export_key(context, name, &KeyPart::Private(file.clone()))?, "written", terminal)
        }
        Key::List => list(context, &pkg::list_keys(context)?, terminal),
        Key::Trust { rotation: Some(file), .. } => list(context, &pkg::trust_rotation(context, file)?, terminal),
        Key::Trust { namespace, key, .. } => {
            let (namespace, key) = (namespace.as_deref().unwrap_or_default(), key.as_deref().unwrap_or_default());
            list(context, &pkg::trust_key(context, namespace, key)?, terminal)
        }
    }
}

fn made(context: &Context<'_>, list: &KeyList, verb: &str, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| {
        list.keys.iter().try_for_each(|key| match terminal.format {
            Format::Plain => plain(out, key),
            _ => {
                writeln!(out, "{STRONG}{}{STRONG:#} {verb}: {}", printable(&key.name), key.public_key)?;
                writeln!(
                    out,
                    "{DIM}the private half is in {}; nothing prints or sends it{DIM:#}",
                    context.show(&key.file)
                )
            }
        })
    })
}

fn plain(out: &mut dyn Write, key: &KeyItem) -> std::io::Result<()> {
    writeln!(out, "{}\t{}", printable(&key.name), key.public_key)
}

fn list(context: &Context<'_>, list: &KeyList, terminal: &Terminal) -> Result<()> {
    terminal.print(list, |out| {
        if terminal.format == Format::Plain {
            list.keys.iter().try_for_each(|key| plain(out, key))?;
            return list
                .trusted
                .iter()
                .try_for_each(|pin| writeln!(out, "{}\t{}", printable(&pin.namespace), pin.public_key));
        }
        if list.keys.is_empty() && list.trusted.is_empty() {
            return writeln!(out, "no keys, and nobody is trusted yet; `sp key new` makes a key");
        }
        if !list.keys.is_empty() {
            let row = |key: &KeyItem| {
                let retired = if key.retired { "retired" } else { "" };
                vec![key.name.clone(), key.public_key.clone(), context.show(&key.file), retired.into()]
            };
            let rows = list.keys.iter().map(row).collect();
            write!(out, "{}", table(&["key", "public", "file", ""], rows, terminal.width()))?;
        }
        if !list.trusted.is_empty() {
            let blank = if list.keys.is_empty() { "" } else { "\n" };
            let rows = list
                .trusted
                .iter()
                .map(|pin| vec![pin.namespace.clone(), pin.public_key.clone(), pin.since.clone(), pin.because.clone()]);
            write!(
                out,
                "{blank}{}",
                table(&["trusted for", "public key", "since", "because"], rows.collect(), terminal.width())
            )?;
        }
        Ok(())
    })
}
