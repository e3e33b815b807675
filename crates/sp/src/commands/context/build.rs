//! `sp context build`

use std::io::Write;
use std::time::Duration;

use sp_engine::context_pack::{self, BuildRequest, Explain, Zipped};
use sp_engine::model::Endpoint;
use sp_engine::pkg::Overwrite;
use sp_engine::{Brief, Context, Result};
use sp_formats::output::{ContextBuilt, ContextLeft, ContextModel, FileChange};
use sp_formats::printable::printable;

use super::kb::skipped;
use crate::cli::{Build, Format};
use crate::commands::{count, size, thousands};
use crate::terminal::{ADDED, CHANGED, DIM, REMOVED, STRONG, Terminal, table};

/// The variable that holds the key for a model.
const KEY: &str = "SP_MODEL_KEY";

pub(super) fn run(context: &Context<'_>, given: &Build, terminal: &Terminal) -> Result<()> {
    let built = context_pack::build(context, &request(context, given))?;
    terminal.print(&built, |out| match terminal.format {
        Format::Plain => plain(&built, out),
        _ => human(context, &built, terminal, out),
    })?;
    skipped(&built.skipped, terminal);
    Ok(())
}

fn request(context: &Context<'_>, given: &Build) -> BuildRequest {
    let model = given.model.as_ref().map(|url| Endpoint {
        url: url.clone(),
        name: given.model_name.clone(),
        key: context.env.get(KEY).filter(|key| !key.is_empty()).cloned(),
        timeout: Duration::from_secs(given.model_timeout),
    });
    BuildRequest {
        kb: given.kb.clone(),
        brief: Brief {
            name: given.name.clone(),
            description: given.description.clone(),
            prompt: given.prompt.clone(),
            stack: given.stack.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect(),
        },
        since: given.since.clone(),
        out: given.out.clone(),
        zip: if given.zip { Zipped::Yes } else { Zipped::No },
        budget: given.budget,
        explain: if given.explain { Explain::Yes } else { Explain::No },
        generated_at: given.generated_at.clone(),
        pack_id: given.pack_id.clone(),
        overwrite: if given.force { Overwrite::Allow } else { Overwrite::Refuse },
        model,
    }
}

fn plain(built: &ContextBuilt, out: &mut dyn Write) -> std::io::Result<()> {
    built
        .files
        .iter()
        .filter(|file| file.change != FileChange::Gone)
        .try_for_each(|file| writeln!(out, "{}\t{}\t{}", file.path, file.bytes, file.tokens))
}

fn human(context: &Context<'_>, built: &ContextBuilt, terminal: &Terminal, out: &mut dyn Write) -> std::io::Result<()> {
    for file in &built.files {
        let (style, sign) = match file.change {
            FileChange::New => (ADDED, '+'),
            FileChange::Changed => (CHANGED, '~'),
            FileChange::Same => (DIM, '='),
            FileChange::Gone => (REMOVED, '-'),
        };
        writeln!(out, "{style}{sign}{style:#} {:<12} {DIM}{:>6} tokens{DIM:#}", file.path, thousands(file.tokens))?;
    }
    let rows = built.sources.iter().map(|source| {
        vec![source.captured_at.get(..10).unwrap_or_default().to_owned(), source.kind.clone(), source.title.clone()]
    });
    writeln!(out, "\n{}", table(&["captured", "kind", "source"], rows.collect(), terminal.width()).trim_end())?;
    writeln!(
        out,
        "\n{STRONG}{}{STRONG:#} from {} of {} · {}",
        printable(&built.pack_id),
        count(built.sources.len(), "source"),
        count(built.documents, "document"),
        context.show(&built.dir)
    )?;
    if let Some(zip) = &built.zip {
        writeln!(out, "packed into {} · {}", context.show(&zip.file), size(zip.bytes as u64))?;
    }
    // Why it failed was told as a warning.
    if let Some(model) = built.model.as_ref().filter(|model| model.failed.is_none()) {
        told_model(model, out)?;
    }
    if let Some(left) = &built.left {
        ledger(left, out)?;
    }
    Ok(())
}

fn told_model(model: &ContextModel, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "the model chose {} of {}", model.chosen, count(model.offered, "sentence"))?;
    for refused in &model.refused {
        writeln!(out, "{REMOVED}-{REMOVED:#} {}  {DIM}{}{DIM:#}", printable(&refused.quote), refused.why)?;
    }
    Ok(())
}

/// What is not in the pack, by reason.
fn ledger(left: &[ContextLeft], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "\n{STRONG}not in the pack{STRONG:#}")?;
    let mut reasons: Vec<&str> = left.iter().map(|left| left.why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        let of_reason: Vec<&ContextLeft> = left.iter().filter(|left| left.why == why).collect();
        writeln!(out, "\n{why} {DIM}({}){DIM:#}", of_reason.len())?;
        for left in of_reason {
            match &left.text {
                Some(text) => writeln!(out, "  {}  {DIM}{}{DIM:#}", printable(text), printable(&left.url))?,
                None => writeln!(out, "  {}", printable(&left.url))?,
            }
        }
    }
    Ok(())
}
