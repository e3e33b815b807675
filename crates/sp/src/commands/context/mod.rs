//! `sp context`

mod build;
mod diff;
mod hosted;
mod kb;

use std::io::Write;
use std::process::ExitCode;

use sp_engine::context_pack::{self, InstallPack, NewRequest, Reader, ZipRequest};
use sp_engine::pkg::Overwrite;
use sp_engine::{Context, Result};
use sp_formats::output::{ContextPackView, ContextPackWritten, FileChange};
use sp_formats::printable::printable;

use super::{check, count, mode, size, thousands};
use crate::cli::{self, ContextPack, Format, Options, PackReader};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, WARNING, table};

pub(super) fn run(
    context: &Context<'_>,
    options: &Options,
    command: &ContextPack,
    terminal: &Terminal,
) -> Result<ExitCode> {
    match command {
        ContextPack::Check(given) => {
            let paths = if given.paths.is_empty() { vec![context.current_dir.clone()] } else { given.paths.clone() };
            return check::run(context, options, &cli::Check { paths, ..given.clone() }, terminal);
        }
        ContextPack::Show { pack } => show(&context_pack::show(context, pack)?, terminal)?,
        ContextPack::Build(given) => build::run(context, given, terminal)?,
        ContextPack::Kb(command) => kb::run(context, command, terminal)?,
        ContextPack::Diff { before, after } => diff::diff(context_pack::diff(context, before, after)?, terminal)?,
        ContextPack::New { dir, name, description, stack } => {
            let request = NewRequest {
                dir: dir.clone(),
                name: name.clone(),
                description: description.clone(),
                stack: stack.clone(),
            };
            let hint = "fill it, then `sp context seal`";
            written(context, &context_pack::new(context, &request)?, hint, terminal)?;
        }
        ContextPack::Seal { pack } => {
            written(context, &context_pack::seal(context, pack)?, "", terminal)?;
        }
        ContextPack::Zip { pack, output, force } => {
            let overwrite = if *force { Overwrite::Allow } else { Overwrite::Refuse };
            let request = ZipRequest { pack: pack.clone(), output: output.clone(), overwrite };
            let zipped = context_pack::zip(context, &request)?;
            terminal.print(&zipped, |out| {
                let file = context.show(&zipped.file);
                writeln!(out, "packed {} into {file} · {}", count(zipped.files, "file"), size(zipped.bytes as u64))
            })?;
        }
        ContextPack::Push { .. } | ContextPack::Url { .. } | ContextPack::Revoke { .. } => {
            hosted::run(context, command, terminal)?;
        }
        ContextPack::Install { pack, agents, dry_run } => {
            let readers = if agents.is_empty() { &[PackReader::Cursor, PackReader::Agents][..] } else { agents };
            let request = InstallPack {
                pack: pack.clone(),
                root: options.root.clone(),
                readers: readers.iter().map(|reader| reader_of(*reader)).collect(),
                mode: mode(*dry_run),
            };
            written(context, &context_pack::install(context, &request)?, tried(*dry_run), terminal)?;
        }
        ContextPack::Uninstall { dry_run } => {
            let report = context_pack::uninstall(context, options.root.as_deref(), mode(*dry_run))?;
            written(context, &report, tried(*dry_run), terminal)?;
        }
        ContextPack::Unzip { zip, dir } => {
            written(context, &context_pack::unzip(context, zip, dir)?, "", terminal)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn reader_of(reader: PackReader) -> Reader {
    match reader {
        PackReader::Cursor => Reader::Cursor,
        PackReader::Agents => Reader::Agents,
        PackReader::Claude => Reader::Claude,
    }
}

fn tried(dry_run: bool) -> &'static str {
    if dry_run { "dry run: nothing was changed" } else { "" }
}

fn written(context: &Context<'_>, report: &ContextPackWritten, hint: &str, terminal: &Terminal) -> Result<()> {
    terminal.print(report, |out| {
        let changed = report.files.iter().filter(|file| file.change != FileChange::Same);
        for file in changed.clone() {
            let (style, sign) = match file.change {
                FileChange::New => (ADDED, '+'),
                FileChange::Gone => (REMOVED, '-'),
                FileChange::Changed | FileChange::Same => (CHANGED, '~'),
            };
            writeln!(out, "{style}{sign}{style:#} {}", printable(&file.path))?;
        }
        let more = if hint.is_empty() { String::new() } else { format!(" · {hint}") };
        let what = match changed.count() {
            0 => "nothing to change".to_owned(),
            some => format!("{} changed", count(some, "file")),
        };
        writeln!(out, "{what} · {}{more}", context.show(&report.dir))
    })
}

fn show(view: &ContextPackView, terminal: &Terminal) -> Result<()> {
    terminal.print(view, |out| match terminal.format {
        Format::Plain => view
            .files
            .iter()
            .try_for_each(|file| writeln!(out, "{}\t{}\t{}", printable(&file.path), file.bytes, file.tokens)),
        _ => human(view, terminal, out),
    })
}

fn human(view: &ContextPackView, terminal: &Terminal, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}", printable(&view.name), printable(&view.pack_id))?;
    writeln!(out, "{}", printable(&view.description))?;
    writeln!(out, "{DIM}made {} by {}{DIM:#}", printable(&view.generated_at), printable(&view.generator))?;
    if !view.stack.is_empty() {
        writeln!(out, "{DIM}built with {}{DIM:#}", printable(&view.stack.join(", ")))?;
    }
    let rows = view.files.iter().map(|file| vec![file.path.clone(), thousands(file.tokens), size(file.bytes as u64)]);
    writeln!(out)?;
    if !view.files.is_empty() {
        write!(out, "{}", table(&["file", "tokens", "size"], rows.collect(), terminal.width()))?;
        let all: usize = view.files.iter().map(|file| file.tokens).sum();
        writeln!(out, "{DIM}{} tokens in all ({}){DIM:#}\n", thousands(all), view.tokenizer)?;
    }
    let rows = view
        .sources
        .iter()
        .map(|source| vec![source.id.clone(), source.kind.clone(), source.title.clone(), source.url.clone()]);
    if !view.sources.is_empty() {
        writeln!(out, "{}", table(&["source", "kind", "title", "url"], rows.collect(), terminal.width()).trim_end())?;
    }
    match (view.errors, view.warnings) {
        (0, 0) => writeln!(out, "valid"),
        (errors, warnings) => {
            let told = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
            writeln!(out, "{WARNING}{told}{WARNING:#}; `sp context check` tells which")
        }
    }
}
