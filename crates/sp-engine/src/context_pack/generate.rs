//! Generates a context pack from knowledge bases, in memory.
//!
//! Documents are ranked by the brief, quotes are collected from the best ones, a model may select
//! among them, and the quotes are composed to the files of the pack. The result is validated like
//! any other pack before it is returned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::{Span, Timestamp, ToSpan, tz::TimeZone};
use serde_json::json;
use sp_analyze::knowledge::{
    Brief, CandidateList, ClaimPool, ComposedFiles, DocumentRanking, OmittedItem, RankedSource,
    SelectedQuote, collect_claims, compose, rank,
};
use sp_formats::context_pack::{
    ContextPackDraft, ContextPackEntries, ContextPackEntry, ContextPackGenerator,
    ContextPackManifest, ContextPackProject, ContextPackSourceEntry, ContextPackWindow,
    SPEC_VERSION, derive_pack_id, is_pack_id, read,
};
use sp_formats::output::{
    ContextPackOmission, ContextPackSourceItem, KbSkippedItem, ModelChoiceReport, RejectedQuoteItem,
};
use sp_formats::package::time;
use sp_tree::Digest;

use super::archive::invalid_pack_error;
use super::build_request::ContextPackBuildRequest;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::kb::{
    KnowledgeBase, KnowledgeIndex, MergedDocuments, indexed_folders, refresh, skipped_output,
};
use crate::model::{self, ModelEndpoint, ModelSelection, PromptList};
use crate::session::Session;

/// The maximum number of documents that are quoted.
const MAX_SOURCES: usize = 16;
/// The number of documents to which the lenient minimum score applies.
const LENIENT_SOURCES: usize = 4;
/// The minimum score of a document, in percent of the best score.
const MIN_SCORE_PERCENT: u64 = 40;
const LENIENT_MIN_SCORE_PERCENT: u64 = 20;
/// The maximum number of omitted documents that are reported.
const MAX_OMITTED_DOCUMENTS: usize = 50;
/// The progress steps after the documents were read: collect, select, compose.
const STEPS_AFTER_READING: usize = 3;

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

/// How many documents were considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentCounts {
    pub total: usize,
    /// Documents in the time window.
    pub in_window: usize,
    /// Documents in the time window that match the brief.
    pub relevant: usize,
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
    steps: &mut GenerationProgress<'_>,
) -> Result<GeneratedContextPack> {
    let context = session.context;
    let times = GenerationTimes::of(context, request)?;
    let brief = validate_brief(&request.brief)?;
    let bases = open_bases(session, &request.kb)?;
    let found = RelevantDocuments::search(&bases, &brief, &times, steps)?;
    let mut pool = collect_claims(found.sources, found.word_weights);
    steps.advance()?;
    let (model, picks) = match &request.model {
        Some(endpoint) => ask_model(context, endpoint, &brief, &pool)?,
        None => (None, Vec::new()),
    };
    pool.apply_selection(&picks);
    steps.advance()?;
    let composed = compose(&brief, pool, request.budget).map_err(|small| {
        let message = format!("`{}` does not fit into {} tokens", small.file, request.budget);
        Error::new(ErrorCode::BudgetTooSmall, message)
            .hint(format!("it needs at least `--budget {}`", small.required_tokens))
    })?;
    if composed.sources.is_empty() {
        return Err(no_quotes_error(&composed.omitted));
    }
    let inputs = GenerationInputs {
        times: &times,
        bases: &bases,
        time_range: found.time_range,
        picks: &picks,
    };
    let draft = build_draft(request, brief, &composed, &inputs)?;
    let files = draft.files();
    ensure_valid(session, &files)?;
    let left = found.omitted.into_iter().chain(composed.omitted);
    Ok(GeneratedContextPack {
        pack_id: draft.manifest.pack_id,
        generated_at: times.generated_at,
        files,
        sources: composed.sources.iter().map(source_output).collect(),
        documents: found.counts,
        skipped: bases.into_iter().flat_map(|base| base.skipped).map(skipped_output).collect(),
        omitted: left
            .map(|left| ContextPackOmission { url: left.url, text: left.text, why: left.reason })
            .collect(),
        model,
    })
}

/// Progress of the generation: a step for each document that is read, and one for each later stage.
pub(super) struct GenerationProgress<'a> {
    context: &'a Context<'a>,
    done: usize,
    total: usize,
}

impl<'a> GenerationProgress<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, done: 0, total: STEPS_AFTER_READING }
    }

    /// Reports a finished step. Fails if the command was cancelled.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.done += 1;
        self.context.emit(Event::Composing { done: self.done, total: self.total });
        self.context.check_cancelled()
    }
}

/// The creation time and the start of the time window.
struct GenerationTimes {
    generated_at: String,
    now: Timestamp,
    since: Option<String>,
}

impl GenerationTimes {
    fn of(context: &Context<'_>, request: &ContextPackBuildRequest) -> Result<Self> {
        let now = match &request.generated_at {
            None => context.now,
            Some(text) => time::parse(text).ok_or_else(|| {
                let message = format!("`--generated-at` is no time: `{text}`");
                Error::new(ErrorCode::InvalidTime, message)
                    .hint("write it as `2026-04-24T14:22:03Z`")
            })?,
        };
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let since = request.since.as_deref().map(|text| parse_since(text, now)).transpose()?;
        Ok(Self { generated_at: time::format_utc(now), now, since })
    }
}

/// Returns the start of the named date, or of the date that is the given span before `now`.
fn parse_since(text: &str, now: Timestamp) -> Result<String> {
    let invalid = || {
        Error::new(
            ErrorCode::InvalidTime,
            format!("`--since` is neither a span nor a day: `{text}`"),
        )
        .hint("write `90d`, `12w`, `6m`, `1y` or `2026-04-24`")
    };
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = match text.parse::<jiff::civil::Date>() {
        Ok(day) => day,
        Err(_) => {
            today.checked_sub(parse_span(text).ok_or_else(invalid)?).map_err(|_| invalid())?
        }
    };
    let start = day.to_zoned(TimeZone::UTC).map_err(|_| invalid())?;
    Ok(time::format_utc(start.timestamp()))
}

fn parse_span(text: &str) -> Option<Span> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u16 = number.parse().ok()?;
    let number = i64::from(number);
    match unit {
        "d" => Some(number.days()),
        "w" => Some(number.weeks()),
        "m" => Some(number.months()),
        "y" => Some(number.years()),
        _ => None,
    }
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
            let message =
                format!("there is a character that does not show: {}", c.escape_unicode());
            return Err(Error::new(ErrorCode::HiddenCharacter, message)
                .hint("take it out of what you typed"));
        }
    }
    if brief.name.is_empty() || brief.description.is_empty() {
        return Err(Error::new(
            ErrorCode::MissingArgument,
            "`--name` and `--description` must say something",
        )
        .hint("say what is intended in one to three sentences: documents are chosen by it"));
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

/// The documents of the knowledge bases that match a brief.
struct RelevantDocuments {
    sources: Vec<RankedSource>,
    word_weights: std::collections::HashMap<u64, f64>,
    omitted: Vec<OmittedItem>,
    counts: DocumentCounts,
    /// The times of the oldest and the newest document.
    time_range: (String, String),
}

impl RelevantDocuments {
    fn search(
        bases: &[KnowledgeBase],
        brief: &Brief,
        times: &GenerationTimes,
        steps: &mut GenerationProgress<'_>,
    ) -> Result<Self> {
        let stores: Vec<(&Path, &KnowledgeIndex)> =
            bases.iter().map(|base| (base.folder.as_path(), &base.index)).collect();
        let all = MergedDocuments::load(stores.iter().map(|(_, store)| *store), None)?;
        if all.documents.is_empty() {
            return Err(no_documents_error(bases));
        }
        let recent = match times.since.as_deref() {
            Some(since) => {
                Some(MergedDocuments::load(stores.iter().map(|(_, store)| *store), Some(since))?)
            }
            None => None,
        };
        let total = all.documents.len();
        let records = recent.unwrap_or(all);
        steps.context.check_cancelled()?;
        let DocumentRanking { hits, word_weights } = rank(&records.documents, &brief.to_query());
        let best = hits.first().map_or(0, |(_, score)| *score);
        if best == 0 {
            return Err(no_match_error(records.documents.len(), times));
        }
        let percent = |score: u64| score * 100 / best;
        let is_near = |number: usize, score: u64| match number {
            ..LENIENT_SOURCES => percent(score) >= LENIENT_MIN_SCORE_PERCENT,
            LENIENT_SOURCES..MAX_SOURCES => percent(score) >= MIN_SCORE_PERCENT,
            _ => false,
        };
        let mut found = Self {
            sources: Vec::new(),
            word_weights,
            omitted: Vec::new(),
            counts: DocumentCounts {
                total,
                in_window: records.documents.len(),
                relevant: hits.len(),
            },
            time_range: records.time_range(),
        };
        let near =
            hits.iter().enumerate().filter(|(number, (_, score))| is_near(*number, *score)).count();
        steps.total += hits.len().min(near + MAX_OMITTED_DOCUMENTS);
        for (number, (document, score)) in hits.into_iter().enumerate() {
            if is_near(number, score) {
                found
                    .sources
                    .push(RankedSource::new(records.document(document, &stores)?.0, score));
            } else if found.omitted.len() < MAX_OMITTED_DOCUMENTS {
                let why = "others are nearer to what is asked for".to_owned();
                found.omitted.push(OmittedItem {
                    url: records.document(document, &stores)?.0.url,
                    text: None,
                    reason: why,
                });
            } else {
                continue;
            }
            steps.advance()?;
        }
        Ok(found)
    }
}

fn no_documents_error(bases: &[KnowledgeBase]) -> Error {
    let skipped: Vec<_> = bases.iter().flat_map(|base| &base.skipped).collect();
    let error = Error::new(ErrorCode::NothingFound, "the knowledge base has no document");
    match skipped.first() {
        Some(first) => error
            .because(format!("{} were skipped; the first, `{}`: {}", skipped.len(), first.path, first.reason))
            .hint("every document needs an address and a date: `url:` and `captured_at:` in its frontmatter, or `base_url:` and `captured_at:` in a `kb.yaml` for its folder"),
        None => error.hint("it holds Markdown, saved pages, `.jsonl` captures, bookmarks, `llms.txt`, packages or skills"),
    }
}

fn no_match_error(in_window: usize, times: &GenerationTimes) -> Error {
    let error =
        Error::new(ErrorCode::NothingFound, "no document has anything of what is asked for");
    match (&times.since, in_window) {
        (Some(since), 0) => error
            .because(format!("none was captured since {since}"))
            .hint("take a longer span with `--since`"),
        _ => error.hint(
            "say in `--description` or `--prompt` what it is about, in the words of the field",
        ),
    }
}

fn no_quotes_error(left: &[OmittedItem]) -> Error {
    let error = Error::new(
        ErrorCode::NothingFound,
        "the documents that were found say too little to be quoted",
    );
    match left.first() {
        Some(first) => error.because(format!("`{}`: {}", first.url, first.reason)),
        None => error,
    }
    .hint("save the pages behind your bookmarks, or write more into the notes")
}

/// Asks a model to select among the sentences. If that fails, the pack is built without the model;
/// only a cancelled command is an error.
fn ask_model(
    context: &Context<'_>,
    endpoint: &ModelEndpoint,
    brief: &Brief,
    pool: &ClaimPool,
) -> Result<(Option<ModelChoiceReport>, Vec<SelectedQuote>)> {
    let lists = prompt_lists(pool);
    let offered = lists.iter().map(|list| list.sentences.len()).sum();
    let answer = model::select_sentences(context, endpoint, brief, &lists);
    context.check_cancelled()?;
    let failed = answer
        .as_ref()
        .err()
        .map(|e| std::iter::once(e.to_string()).chain(e.causes()).collect::<Vec<_>>());
    let failed = failed.map(|why| why.join(": "));
    let ModelSelection { chosen, rejected: refused } = answer.unwrap_or_default();
    let picks: Vec<SelectedQuote> = chosen
        .into_iter()
        .map(|one| SelectedQuote { number: one.number, quote: one.quote })
        .collect();
    let all_refused = refused
        .first()
        .filter(|_| picks.is_empty())
        .map(|first| format!("all was refused: {}", first.reason));
    if let Some(why) = failed.as_ref().or(all_refused.as_ref()) {
        context.emit(Event::Warning(format!(
            "the model was of no use, and the pack is built without it: {why}"
        )));
    }
    let refused = refused
        .into_iter()
        .map(|one| RejectedQuoteItem { quote: one.quote, why: one.reason.into() })
        .collect();
    Ok((Some(ModelChoiceReport { offered, chosen: picks.len(), refused, failed }), picks))
}

/// Converts the candidates to what the prompt needs.
fn prompt_lists(pool: &ClaimPool) -> Vec<PromptList> {
    let span = |span: sp_analyze::knowledge::CandidateSentence| model::PromptSentence {
        number: span.number,
        text: span.text,
    };
    let offer = |one: CandidateList| PromptList {
        name: one.name.into(),
        limit: one.limit,
        sentences: one.sentences.into_iter().map(span).collect(),
    };
    pool.candidate_lists().into_iter().map(offer).collect()
}

/// The inputs of a pack besides the request and the brief.
struct GenerationInputs<'a> {
    times: &'a GenerationTimes,
    bases: &'a [KnowledgeBase],
    /// The times of the oldest and the newest document.
    time_range: (String, String),
    /// The selection of a model.
    picks: &'a [SelectedQuote],
}

fn build_draft(
    request: &ContextPackBuildRequest,
    brief: Brief,
    composed: &ComposedFiles,
    inputs: &GenerationInputs<'_>,
) -> Result<ContextPackDraft> {
    let times = inputs.times;
    let window = match &times.since {
        Some(since) => ContextPackWindow {
            from: Some(since.clone()),
            to: Some(times.generated_at.clone()),
            ..ContextPackWindow::default()
        },
        None => ContextPackWindow {
            from: Some(inputs.time_range.0.clone()),
            to: Some(inputs.time_range.1.clone()),
            ..ContextPackWindow::default()
        },
    };
    let id = match &request.pack_id {
        Some(id) if is_pack_id(id) => id.clone(),
        Some(id) => {
            return Err(Error::new(
                ErrorCode::InvalidId,
                format!("`--pack-id` is neither a ULID nor a UUID: `{id}`"),
            )
            .hint("leave it out: then it follows from what the pack is made of"));
        }
        None => derive_pack_id(times.now, &input_digest(request, &brief, inputs)?),
    };
    let manifest = ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: id,
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
        window: Some(window),
        sources: composed.sources.clone(),
        ..ContextPackManifest::default()
    };
    Ok(ContextPackDraft { manifest, documents: composed.documents.clone() })
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
        inputs.picks.iter().map(|pick| json!([pick.number, pick.quote])).collect::<Vec<_>>(),
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
        let message = "the pack would not be valid: nothing was written".into();
        return Err(invalid_pack_error(session, message, result.reports));
    }
    Ok(())
}

fn source_output(source: &ContextPackSourceEntry) -> ContextPackSourceItem {
    ContextPackSourceItem {
        id: source.id.clone(),
        title: source.title.clone(),
        url: source.url.clone(),
        kind: source.kind.clone(),
        captured_at: source.captured_at.clone(),
    }
}
