//! `sp config`.

use std::io::{self, Write};

use sp_engine::{Context, Result};
use sp_formats::output::{ConfigView, SinkItem, SinkOrigin};

use crate::cli::OutputFormat;
use crate::terminal::{DIM, Terminal, Verbosity, table};

pub(super) fn run(context: &Context<'_>, terminal: &Terminal) -> Result<()> {
    let view = sp_engine::config(context)?;
    terminal.print(&view, |out| match terminal.format {
        OutputFormat::Plain => view
            .sinks
            .iter()
            .filter_map(|sink| Some((sink, sink.path.as_ref()?)))
            .try_for_each(|(sink, path)| writeln!(out, "{}\t{}", sink.sink, path.display())),
        _ => write_human(out, context, &view, terminal),
    })
}

/// Whether a built-in or configured sink has the same agent and path.
fn is_duplicate_sink(view: &ConfigView, sink: &SinkItem) -> bool {
    view.sinks.iter().any(|other| {
        other.origin != SinkOrigin::Table && other.agent == sink.agent && other.path == sink.path
    })
}

fn write_human(
    out: &mut dyn Write,
    context: &Context<'_>,
    view: &ConfigView,
    terminal: &Terminal,
) -> io::Result<()> {
    let all = terminal.verbosity == Verbosity::Verbose;
    let (shown, rest): (Vec<&SinkItem>, Vec<&SinkItem>) = view.sinks.iter().partition(|sink| {
        all || sink.origin != SinkOrigin::Table || sink.found && !is_duplicate_sink(view, sink)
    });
    let rows = shown.iter().map(|sink| {
        let path =
            sink.path.as_ref().map_or("(project only)".into(), |path| context.display_path(path));
        let project =
            sink.project_path.as_ref().map_or(String::new(), |path| path.display().to_string());
        let origin = match sink.origin {
            SinkOrigin::BuiltIn => "built-in",
            SinkOrigin::Config => "config",
            SinkOrigin::Table => "table",
        };
        let found = if sink.found { "yes" } else { "" };
        vec![sink.sink.clone(), path, project, origin.into(), found.into()]
    });
    write!(
        out,
        "{}",
        table(
            &["agent", "path", "project path", "source", "detected"],
            rows.collect(),
            terminal.width()
        )
    )?;
    if !rest.is_empty() {
        writeln!(
            out,
            "{DIM}… and {} (use `--verbose` to list all){DIM:#}",
            sp_formats::text::pluralize(rest.len(), "more agent")
        )?;
    }
    writeln!(
        out,
        "\nhome    {}\nconfig  {}\ncache   {}",
        context.display_path(&view.home),
        context.display_path(&view.config_file),
        context.display_path(&view.cache)
    )?;
    if all {
        writeln!(
            out,
            "\nlimits (set with `--limit NAME=NUMBER`, or `limits:` in the config file)"
        )?;
        view.limits
            .iter()
            .try_for_each(|limit| writeln!(out, "  {:<18} {}", limit.name, limit.value))?;
    }
    Ok(())
}
