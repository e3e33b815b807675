//! `sp context build`.

use std::io::Write;

use sp_engine::context_pack::{self, ContextPackBuildRequest, ExplainOmitted, ZipOutput};
use sp_engine::model::ModelEndpoint;
use sp_engine::pkg::Overwrite;
use sp_engine::{Brief, Context, Result};
use sp_formats::output::{
    ContextPackBuildReport, ContextPackOmission, FileChangeKind, ModelChoiceReport,
};
use sp_formats::printable::printable;
use sp_formats::text::{ByteSize, group_digits, pluralize};

use super::kb::print_skipped;
use crate::cli::{ContextBuildArgs, OutputFormat};
use crate::commands::plan::{apply_options, write_apply_command};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, table};

/// The API key for the model. It is not a flag, because other users can see a command line.
const MODEL_KEY_ENV: &str = "SP_MODEL_KEY";

pub(super) fn run(
    context: &Context<'_>,
    given: &ContextBuildArgs,
    terminal: &Terminal,
) -> Result<()> {
    let built =
        context_pack::build(context, &build_request(context, given), apply_options(&given.plan))?;
    terminal.print(&built, |out| match terminal.format {
        OutputFormat::Plain => write_plain(&built, out),
        _ => write_human(context, &built, terminal, out),
    })?;
    print_skipped(&built.skipped, terminal);
    Ok(())
}

fn build_request(context: &Context<'_>, given: &ContextBuildArgs) -> ContextPackBuildRequest {
    let model = given.model.as_ref().map(|url| ModelEndpoint {
        url: url.clone(),
        name: given.model_name.clone(),
        key: context.env.get(MODEL_KEY_ENV).filter(|key| !key.is_empty()).cloned(),
        timeout: given.model_timeout,
    });
    ContextPackBuildRequest {
        kb: given.kb.clone(),
        brief: Brief {
            name: given.name.clone(),
            description: given.description.clone(),
            prompt: given.prompt.clone(),
            stack: given
                .stack
                .iter()
                .map(|word| word.trim().to_owned())
                .filter(|word| !word.is_empty())
                .collect(),
        },
        since: given.since.clone(),
        out: given.output.clone(),
        zip: if given.zip { ZipOutput::Yes } else { ZipOutput::No },
        budget: given.budget,
        explain: if given.explain { ExplainOmitted::Yes } else { ExplainOmitted::No },
        generated_at: given.generated_at.clone(),
        pack_id: given.pack_id.clone(),
        overwrite: if given.force { Overwrite::Allow } else { Overwrite::Refuse },
        model,
    }
}

fn write_plain(built: &ContextPackBuildReport, out: &mut dyn Write) -> std::io::Result<()> {
    built
        .files
        .iter()
        .filter(|file| file.change != FileChangeKind::Gone)
        .try_for_each(|file| writeln!(out, "{}\t{}\t{}", file.path, file.bytes, file.tokens))
}

fn write_human(
    context: &Context<'_>,
    built: &ContextPackBuildReport,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for file in &built.files {
        let (style, sign) = match file.change {
            FileChangeKind::New => (ADDED, '+'),
            FileChangeKind::Changed => (CHANGED, '~'),
            FileChangeKind::Same => (DIM, '='),
            FileChangeKind::Gone => (REMOVED, '-'),
        };
        writeln!(
            out,
            "{style}{sign}{style:#} {:<12} {DIM}{:>6} tokens{DIM:#}",
            file.path,
            group_digits(file.tokens)
        )?;
    }
    let rows = built.sources.iter().map(|source| {
        vec![
            source.captured_at.get(..10).unwrap_or_default().to_owned(),
            source.kind.clone(),
            source.title.clone(),
        ]
    });
    writeln!(
        out,
        "\n{}",
        table(&["captured", "kind", "source"], rows.collect(), terminal.width()).trim_end()
    )?;
    writeln!(
        out,
        "\n{STRONG}{}{STRONG:#} from {} of {} · {}",
        printable(&built.pack_id),
        pluralize(built.sources.len(), "source"),
        pluralize(built.documents, "document"),
        context.display_path(&built.dir)
    )?;
    if !built.status.applied {
        writeln!(out, "nothing was written")?;
        write_apply_command(&built.status, out)?;
    }
    if let Some(zip) = &built.zip {
        writeln!(
            out,
            "wrote {} · {}",
            context.display_path(&zip.file),
            ByteSize(zip.bytes as u64)
        )?;
    }
    // A failure was already printed as a warning.
    if let Some(model) = built.model.as_ref().filter(|model| model.failed.is_none()) {
        write_model(model, out)?;
    }
    if let Some(left) = &built.left {
        write_omissions(left, out)?;
    }
    Ok(())
}

fn write_model(model: &ModelChoiceReport, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "model selected {} of {}", model.chosen, pluralize(model.offered, "sentence"))?;
    for refused in &model.refused {
        writeln!(
            out,
            "{REMOVED}-{REMOVED:#} {}  {DIM}{}{DIM:#}",
            printable(&refused.quote),
            refused.why
        )?;
    }
    Ok(())
}

/// Writes what was left out of the pack, grouped by reason.
fn write_omissions(left: &[ContextPackOmission], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "\n{STRONG}omitted{STRONG:#}")?;
    let mut reasons: Vec<&str> = left.iter().map(|left| left.why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        let of_reason: Vec<&ContextPackOmission> =
            left.iter().filter(|left| left.why == why).collect();
        writeln!(out, "\n{why} {DIM}({}){DIM:#}", of_reason.len())?;
        for left in of_reason {
            match &left.text {
                Some(text) => {
                    writeln!(out, "  {}  {DIM}{}{DIM:#}", printable(text), printable(&left.url))?;
                }
                None => writeln!(out, "  {}", printable(&left.url))?,
            }
        }
    }
    Ok(())
}
