//! Generates a context pack from knowledge bases, in memory.
//!
//! Documents are ranked by the brief, quotes are collected from the best ones, a model may select
//! among them, and the quotes are composed to the files of the pack. The result is validated like
//! any other pack before it is returned.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use sp_analyze::knowledge::{
    Brief, ClaimPool, ComposedFiles, OmittedItem, SelectedQuote, collect_claims, compose,
};
use sp_formats::context_pack::{
    ContextPackDraft, ContextPackEntries, ContextPackEntry, ContextPackGenerator,
    ContextPackManifest, ContextPackProject, ContextPackWindow, SPEC_VERSION, derive_pack_id,
    is_pack_id, read,
};
use sp_formats::output::{
    ContextPackOmission, ContextPackSourceItem, KbSkippedItem, ModelChoiceReport,
};
use sp_tree::Digest;

use super::archive::invalid_pack_error;
use super::build_request::ContextPackBuildRequest;
use super::generation_progress::GenerationProgress;
use super::generation_times::GenerationTimes;
use super::model_choice::{QuoteChoice, ask_model};
use super::relevant_documents::{DocumentCounts, RelevantDocuments};
use super::show::source_item;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::kb::{KnowledgeBase, TimeRange, indexed_folders, refresh, skipped_output};
use crate::session::Session;

/// A generated pack that is not written yet.
pub struct GeneratedContextPack {
    pub pack_id: String,
    pub generated_at: String,
    /// The files by path, with `pack.json`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The sources, most relevant first.
    pub sources: Vec<ContextPackSourceItem>,
    pub documents: DocumentCounts,
    /// Files of the knowledge bases that are not documents.
    pub skipped: Vec<KbSkippedItem>,
    /// What is not in the pack, and why.
    pub omitted: Vec<ContextPackOmission>,
    /// The result of the selection by a model, if one was asked.
    pub model: Option<ModelChoiceReport>,
}

/// Generates a pack without writing it: the files are those that [`build`](super::build()) writes.
pub fn generate(
    context: &Context<'_>,
    request: &ContextPackBuildRequest,
) -> Result<GeneratedContextPack> {
    let session = Session::begin(context)?;
    generate_in(&session, request, &mut GenerationProgress::new(context))
}

pub(super) fn generate_in(
    session: &Session<'_>,
    request: &ContextPackBuildRequest,
    progress: &mut GenerationProgress<'_>,
) -> Result<GeneratedContextPack> {
    let times = GenerationTimes::of(session.context, request)?;
    let brief = validate_brief(&request.brief)?;
    let bases = open_bases(session, &request.kb)?;
    let found = RelevantDocuments::search(&bases, &brief, &times, progress)?;
    let mut pool = collect_claims(found.sources, found.word_weights);
    progress.advance()?;
    let choice = match &request.model {
        Some(endpoint) => ask_model(session.context, endpoint, &brief, &pool)?,
        None => QuoteChoice::default(),
    };
    pool.apply_selection(&choice.quotes);
    progress.advance()?;
    let composed = compose_files(&brief, pool, request.budget)?;
    let inputs = GenerationInputs {
        times: &times,
        bases: &bases,
        time_range: found.time_range,
        quotes: &choice.quotes,
    };
    let draft = build_draft(request, brief, &composed, &inputs)?;
    let files = draft.files();
    ensure_valid(session, &files)?;
    let omitted = found.omitted.into_iter().chain(composed.omitted);
    Ok(GeneratedContextPack {
        pack_id: draft.manifest.pack_id,
        generated_at: times.generated_at,
        files,
        sources: composed.sources.iter().map(source_item).collect(),
        documents: found.counts,
        skipped: bases.into_iter().flat_map(|base| base.skipped).map(skipped_output).collect(),
        omitted: omitted.map(omission_output).collect(),
        model: choice.report,
    })
}

fn compose_files(brief: &Brief, pool: ClaimPool, budget: usize) -> Result<ComposedFiles> {
    let composed = compose(brief, pool, budget).map_err(|small| {
        let message = format!("`{}` does not fit into {budget} tokens", small.file);
        Error::new(ErrorCode::BudgetTooSmall, message)
            .hint(format!("set `--budget {}` or higher", small.required_tokens))
    })?;
    if composed.sources.is_empty() {
        return Err(no_quotes_error(&composed.omitted));
    }
    Ok(composed)
}

/// Normalizes white space, and refuses hidden characters and an empty name or description.
fn validate_brief(brief: &Brief) -> Result<Brief> {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let brief =
        Brief { name: line(&brief.name), description: line(&brief.description), ..brief.clone() };
    let all = [&brief.name, &brief.description]
        .into_iter()
        .chain(brief.prompt.as_ref())
        .chain(&brief.stack);
    for text in all {
        if let Some(c) =
            text.chars().find(|c| sp_formats::printable::is_hidden(*c) && !matches!(c, '\n' | '\t'))
        {
            let message = format!("hidden character: {}", c.escape_unicode());
            return Err(
                Error::new(ErrorCode::HiddenCharacter, message).hint("remove the character")
            );
        }
    }
    if brief.name.is_empty() || brief.description.is_empty() {
        return Err(Error::new(
            ErrorCode::MissingArgument,
            "`--name` and `--description` must not be empty",
        )
        .hint(
            "describe in one to three sentences what you want to do; the description selects the \
             documents",
        ));
    }
    Ok(brief)
}

/// Refreshes and opens the knowledge bases.
fn open_bases(session: &Session<'_>, dirs: &[PathBuf]) -> Result<Vec<KnowledgeBase>> {
    let dirs = if dirs.is_empty() { indexed_folders(session.context)? } else { dirs.to_vec() };
    let mut bases: Vec<KnowledgeBase> = Vec::new();
    for dir in &dirs {
        let base = refresh(session, dir)?;
        // A directory that is named twice counts once.
        if !bases.iter().any(|known| known.folder == base.folder) {
            bases.push(base);
        }
    }
    Ok(bases)
}

fn no_quotes_error(omitted: &[OmittedItem]) -> Error {
    let error =
        Error::new(ErrorCode::NothingFound, "the matching documents contain nothing to quote");
    match omitted.first() {
        Some(first) => error.because(format!("`{}`: {}", first.url, first.reason)),
        None => error,
    }
    .hint("save the pages behind your bookmarks, or extend your notes")
}

/// The inputs of a pack besides the request and the brief.
struct GenerationInputs<'a> {
    times: &'a GenerationTimes,
    bases: &'a [KnowledgeBase],
    time_range: TimeRange,
    /// The selection of a model.
    quotes: &'a [SelectedQuote],
}

fn build_draft(
    request: &ContextPackBuildRequest,
    brief: Brief,
    composed: &ComposedFiles,
    inputs: &GenerationInputs<'_>,
) -> Result<ContextPackDraft> {
    let times = inputs.times;
    let manifest = ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: pack_id(request, &brief, inputs)?,
        generated_at: times.generated_at.clone(),
        generator: ContextPackGenerator {
            name: "skillpack".into(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            ..ContextPackGenerator::default()
        },
        project: ContextPackProject {
            name: brief.name,
            description: brief.description,
            stack: brief.stack,
            ..ContextPackProject::default()
        },
        user_prompt: brief.prompt,
        window: Some(pack_window(inputs)),
        sources: composed.sources.clone(),
        ..ContextPackManifest::default()
    };
    Ok(ContextPackDraft { manifest, documents: composed.documents.clone() })
}

/// Returns the requested time window, or that of the documents.
fn pack_window(inputs: &GenerationInputs<'_>) -> ContextPackWindow {
    let times = inputs.times;
    let (from, to) = match &times.since {
        Some(since) => (since, &times.generated_at),
        None => (&inputs.time_range.oldest, &inputs.time_range.newest),
    };
    ContextPackWindow {
        from: Some(from.clone()),
        to: Some(to.clone()),
        ..ContextPackWindow::default()
    }
}

/// Returns the requested ID, or one that is derived from the inputs.
fn pack_id(
    request: &ContextPackBuildRequest,
    brief: &Brief,
    inputs: &GenerationInputs<'_>,
) -> Result<String> {
    match &request.pack_id {
        Some(id) if is_pack_id(id) => Ok(id.clone()),
        Some(id) => Err(Error::new(
            ErrorCode::InvalidId,
            format!("invalid `--pack-id`: `{id}` is neither a ULID nor a UUID"),
        )
        .hint("omit `--pack-id` to derive it from the content of the pack")),
        None => Ok(derive_pack_id(inputs.times.now, &input_digest(request, brief, inputs)?)),
    }
}

/// Returns the digest of everything that the content of a pack depends on.
fn input_digest(
    request: &ContextPackBuildRequest,
    brief: &Brief,
    inputs: &GenerationInputs<'_>,
) -> Result<Digest> {
    let mut all = json!([
        [brief.name, brief.description, brief.prompt, brief.stack],
        [request.since, request.budget],
        inputs.quotes.iter().map(|quote| json!([quote.number, quote.quote])).collect::<Vec<_>>(),
    ])
    .to_string();
    for base in inputs.bases {
        for (path, digest) in base.index.file_digests()? {
            all.push_str(&json!([path, digest]).to_string());
        }
    }
    Ok(Digest::of(all.as_bytes()))
}

/// Validates the generated pack, so that a bug here cannot produce an invalid one.
fn ensure_valid(session: &Session<'_>, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let entries: ContextPackEntries = files
        .iter()
        .map(|(path, bytes)| (path.clone(), ContextPackEntry::File(bytes.clone())))
        .collect();
    let result = read(&entries, &session.limits);
    if !result.is_valid() {
        let message = "the generated context pack is invalid; nothing was written".into();
        return Err(invalid_pack_error(session, message, result.reports));
    }
    Ok(())
}

fn omission_output(item: OmittedItem) -> ContextPackOmission {
    ContextPackOmission { url: item.url, text: item.text, why: item.reason }
}
