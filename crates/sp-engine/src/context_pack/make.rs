//! A pack made of what somebody collected, not written anywhere yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::{Span, Timestamp, ToSpan, tz::TimeZone};
use serde_json::json;
use sp_analyze::knowledge::{Brief, Choosable, Composed, Left, Pick, Pool, Ranking, Source, compose, gather, rank};
use sp_formats::context_pack::{
    Draft, Entries, Entry, Generator, Manifest, Project, SPEC_VERSION, Window, is_pack_id, pack_id, read,
};
use sp_formats::output::{ContextLeft, ContextModel, ContextRefused, ContextSource, KbSkipped};
use sp_formats::package::time;
use sp_tree::Digest;

use super::archive::refused;
use super::build::BuildRequest;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::kb::{Base, Records, Store, known_folders, refresh, told};
use crate::model::{self, Answer, Endpoint, Offer};

/// More sources are noise, and so is what is far from what is asked for, in percent of the nearest.
const MOST_SOURCES: usize = 16;
const NEAREST: usize = 4;
const NEAR: u64 = 40;
const FAR: u64 = 20;
/// So many documents that are too far are named.
const NAMED: usize = 50;
/// What is done once the documents are read: gather, choose, compose.
const AFTER_READING: usize = 3;

/// A pack that was made.
pub struct Made {
    /// What tells it from every other.
    pub pack_id: String,
    /// When it was made.
    pub generated_at: String,
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Its sources, the most needed first.
    pub sources: Vec<ContextSource>,
    /// How many documents there are, how many of them are within the window, and how many of those have something of
    /// what is asked for.
    pub documents: (usize, usize, usize),
    /// What holds no document.
    pub skipped: Vec<KbSkipped>,
    /// What is not in it, and why.
    pub left: Vec<ContextLeft>,
    /// What became of what a model chose, if one was asked.
    pub model: Option<ContextModel>,
}

/// Makes a pack and writes nothing: what it is made of is what [`build`](super::build()) would write.
pub fn make(context: &Context<'_>, request: &BuildRequest) -> Result<Made> {
    let session = Session::begin(context)?;
    make_in(&session, request, &mut Steps::new(context))
}

pub(super) fn make_in(session: &Session<'_>, request: &BuildRequest, steps: &mut Steps<'_>) -> Result<Made> {
    let context = session.context;
    let times = Times::of(context, request)?;
    let brief = checked(&request.brief)?;
    let bases = open(session, &request.kb)?;
    let found = Found::search(&bases, &brief, &times, steps)?;
    let mut pool = gather(found.sources, found.worth);
    steps.next()?;
    let (model, picks) = match &request.model {
        Some(endpoint) => ask_model(context, endpoint, &brief, &pool)?,
        None => (None, Vec::new()),
    };
    pool.choose(&picks);
    steps.next()?;
    let composed = compose(&brief, pool, request.budget).map_err(|small| {
        let message = format!("`{}` does not fit into {} tokens", small.file, request.budget);
        Error::new(Kind::Request, message).hint(format!("it needs at least `--budget {}`", small.needs))
    })?;
    if composed.sources.is_empty() {
        return Err(nothing_quotable(&composed.left));
    }
    let made_of = MadeOf { times: &times, bases: &bases, span: found.span, picks: &picks };
    let draft = draft(request, brief, &composed, &made_of)?;
    let files = draft.files();
    must_be_valid(session, &files)?;
    let left = found.left.into_iter().chain(composed.left);
    Ok(Made {
        pack_id: draft.manifest.pack_id,
        generated_at: times.generated_at,
        files,
        sources: composed.sources.iter().map(shown).collect(),
        documents: (found.documents, found.in_window, found.relevant),
        skipped: bases.into_iter().flat_map(|base| base.skipped).map(told).collect(),
        left: left.map(|left| ContextLeft { url: left.url, text: left.text, why: left.why }).collect(),
        model,
    })
}

/// How far the composing is: a step for each document that is read, and one for each thing done with them.
pub(super) struct Steps<'a> {
    context: &'a Context<'a>,
    done: usize,
    total: usize,
}

impl<'a> Steps<'a> {
    /// With no documents yet.
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, done: 0, total: AFTER_READING }
    }

    /// Tells that another step is done, and whether the next is still wanted.
    pub(super) fn next(&mut self) -> Result<()> {
        self.done += 1;
        self.context.tell(Event::Composing { done: self.done, total: self.total });
        self.context.go_on()
    }
}

/// When it is made, and from when on documents count.
struct Times {
    generated_at: String,
    now: Timestamp,
    since: Option<String>,
}

impl Times {
    fn of(context: &Context<'_>, request: &BuildRequest) -> Result<Self> {
        let now = match &request.generated_at {
            None => context.now,
            Some(text) => time::parse(text).ok_or_else(|| {
                let message = format!("`--generated-at` is no time: `{text}`");
                Error::new(Kind::Usage, message).hint("write it as `2026-04-24T14:22:03Z`")
            })?,
        };
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let since = request.since.as_deref().map(|text| since(text, now)).transpose()?;
        Ok(Self { generated_at: time::with_z(now), now, since })
    }
}

/// The start of the day so long before, or of a day that is named.
fn since(text: &str, now: Timestamp) -> Result<String> {
    let wrong = || {
        Error::new(Kind::Usage, format!("`--since` is neither a span nor a day: `{text}`"))
            .hint("write `90d`, `12w`, `6m`, `1y` or `2026-04-24`")
    };
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = match text.parse::<jiff::civil::Date>() {
        Ok(day) => day,
        Err(_) => today.checked_sub(span(text).ok_or_else(wrong)?).map_err(|_| wrong())?,
    };
    let start = day.to_zoned(TimeZone::UTC).map_err(|_| wrong())?;
    Ok(time::with_z(start.timestamp()))
}

fn span(text: &str) -> Option<Span> {
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

/// What the pack is for, if it says something.
fn checked(brief: &Brief) -> Result<Brief> {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let brief = Brief { name: line(&brief.name), description: line(&brief.description), ..brief.clone() };
    let all = [&brief.name, &brief.description].into_iter().chain(brief.prompt.as_ref()).chain(&brief.stack);
    for text in all {
        if let Some(c) = text.chars().find(|c| sp_formats::printable::is_hidden(*c) && !matches!(c, '\n' | '\t')) {
            let message = format!("there is a character that does not show: {}", c.escape_unicode());
            return Err(Error::new(Kind::Usage, message).hint("take it out of what you typed"));
        }
    }
    match brief.name.is_empty() || brief.description.is_empty() {
        true => Err(Error::new(Kind::Usage, "`--name` and `--description` must say something")
            .hint("say what is intended in one to three sentences: documents are chosen by it")),
        false => Ok(brief),
    }
}

/// The knowledge bases, each up to date.
fn open(session: &Session<'_>, dirs: &[PathBuf]) -> Result<Vec<Base>> {
    let dirs = if dirs.is_empty() { known_folders(session.context)? } else { dirs.to_vec() };
    let mut bases: Vec<Base> = Vec::new();
    for dir in &dirs {
        let base = refresh(session, dir)?;
        // A folder that is named twice counts once.
        if !bases.iter().any(|known| known.folder == base.folder) {
            bases.push(base);
        }
    }
    Ok(bases)
}

/// What the knowledge bases have for a brief.
struct Found {
    sources: Vec<Source>,
    worth: std::collections::HashMap<u64, f64>,
    left: Vec<Left>,
    documents: usize,
    in_window: usize,
    relevant: usize,
    /// From when to when the documents are.
    span: (String, String),
}

impl Found {
    fn search(bases: &[Base], brief: &Brief, times: &Times, steps: &mut Steps<'_>) -> Result<Self> {
        let stores: Vec<(&Path, &Store)> = bases.iter().map(|base| (base.folder.as_path(), &base.store)).collect();
        let all = Records::load(stores.iter().map(|(_, store)| *store), None)?;
        if all.candidates.is_empty() {
            return Err(nothing_there(bases));
        }
        let recent = match times.since.as_deref() {
            Some(since) => Some(Records::load(stores.iter().map(|(_, store)| *store), Some(since))?),
            None => None,
        };
        let documents = all.candidates.len();
        let records = recent.unwrap_or(all);
        steps.context.go_on()?;
        let Ranking { places, worth } = rank(&records.candidates, &brief.question());
        let best = places.first().map_or(0, |(_, score)| *score);
        if best == 0 {
            return Err(nothing_relevant(records.candidates.len(), times));
        }
        let percent = |score: u64| score * 100 / best;
        let is_near = |number: usize, score: u64| match number {
            ..NEAREST => percent(score) >= FAR,
            NEAREST..MOST_SOURCES => percent(score) >= NEAR,
            _ => false,
        };
        let mut found = Self {
            sources: Vec::new(),
            worth,
            left: Vec::new(),
            documents,
            in_window: records.candidates.len(),
            relevant: places.len(),
            span: records.span(),
        };
        let near = places.iter().enumerate().filter(|(number, (_, score))| is_near(*number, *score)).count();
        steps.total += places.len().min(near + NAMED);
        for (number, (at, score)) in places.into_iter().enumerate() {
            if is_near(number, score) {
                found.sources.push(Source::new(records.document(at, &stores)?.0, score));
            } else if found.left.len() < NAMED {
                let why = "others are nearer to what is asked for".to_owned();
                found.left.push(Left { url: records.document(at, &stores)?.0.url, text: None, why });
            } else {
                continue;
            }
            steps.next()?;
        }
        Ok(found)
    }
}

fn nothing_there(bases: &[Base]) -> Error {
    let skipped: Vec<_> = bases.iter().flat_map(|base| &base.skipped).collect();
    let error = Error::new(Kind::Request, "the knowledge base has no document");
    match skipped.first() {
        Some(first) => error
            .because(format!("{} were skipped; the first, `{}`: {}", skipped.len(), first.path, first.why))
            .hint("every document needs an address and a date: `url:` and `captured_at:` in its frontmatter, or `base_url:` and `captured_at:` in a `kb.yaml` for its folder"),
        None => error.hint("it holds Markdown, saved pages, `.jsonl` captures, bookmarks, `llms.txt`, packages or skills"),
    }
}

fn nothing_relevant(in_window: usize, times: &Times) -> Error {
    let error = Error::new(Kind::Request, "no document has anything of what is asked for");
    match (&times.since, in_window) {
        (Some(since), 0) => {
            error.because(format!("none was captured since {since}")).hint("take a longer span with `--since`")
        }
        _ => error.hint("say in `--description` or `--prompt` what it is about, in the words of the field"),
    }
}

fn nothing_quotable(left: &[Left]) -> Error {
    let error = Error::new(Kind::Request, "the documents that were found say too little to be quoted");
    match left.first() {
        Some(first) => error.because(format!("`{}`: {}", first.url, first.why)),
        None => error,
    }
    .hint("save the pages behind your bookmarks, or write more into the notes")
}

/// Lets a model choose among the sentences. Whatever becomes of it, a pack is built, unless nobody wants one any more.
fn ask_model(
    context: &Context<'_>,
    endpoint: &Endpoint,
    brief: &Brief,
    pool: &Pool,
) -> Result<(Option<ContextModel>, Vec<Pick>)> {
    let offers = offers(pool);
    let offered = offers.iter().map(|offer| offer.spans.len()).sum();
    let answer = model::choose(context, endpoint, brief, &offers);
    context.go_on()?;
    let failed = answer.as_ref().err().map(|e| std::iter::once(e.to_string()).chain(e.causes()).collect::<Vec<_>>());
    let failed = failed.map(|why| why.join(": "));
    let Answer { chosen, refused } = answer.unwrap_or_default();
    let picks: Vec<Pick> = chosen.into_iter().map(|one| Pick { number: one.number, quote: one.quote }).collect();
    let all_refused =
        refused.first().filter(|_| picks.is_empty()).map(|first| format!("all was refused: {}", first.why));
    if let Some(why) = failed.as_ref().or(all_refused.as_ref()) {
        context.tell(Event::Warning(format!("the model was of no use, and the pack is built without it: {why}")));
    }
    let refused = refused.into_iter().map(|one| ContextRefused { quote: one.quote, why: one.why.into() }).collect();
    Ok((Some(ContextModel { offered, chosen: picks.len(), refused, failed }), picks))
}

/// What a model may choose from.
fn offers(pool: &Pool) -> Vec<Offer> {
    let span = |span: sp_analyze::knowledge::Span| model::Span { number: span.number, text: span.text };
    let offer = |one: Choosable| Offer {
        place: one.list.into(),
        most: one.most,
        spans: one.spans.into_iter().map(span).collect(),
    };
    pool.offers().into_iter().map(offer).collect()
}

/// What a pack is made of, besides what it is for.
struct MadeOf<'a> {
    times: &'a Times,
    bases: &'a [Base],
    /// From when to when the documents are.
    span: (String, String),
    /// What a model chose.
    picks: &'a [Pick],
}

/// The pack as it is to be written.
fn draft(request: &BuildRequest, brief: Brief, composed: &Composed, made_of: &MadeOf<'_>) -> Result<Draft> {
    let times = made_of.times;
    let window = match &times.since {
        Some(since) => Window { from: Some(since.clone()), to: Some(times.generated_at.clone()), ..Window::default() },
        None => Window { from: Some(made_of.span.0.clone()), to: Some(made_of.span.1.clone()), ..Window::default() },
    };
    let id = match &request.pack_id {
        Some(id) if is_pack_id(id) => id.clone(),
        Some(id) => {
            return Err(Error::new(Kind::Usage, format!("`--pack-id` is neither a ULID nor a UUID: `{id}`"))
                .hint("leave it out: then it follows from what the pack is made of"));
        }
        None => pack_id(times.now, &inputs(request, &brief, made_of)?),
    };
    let manifest = Manifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: id,
        generated_at: times.generated_at.clone(),
        generator: Generator {
            name: "skillpack".into(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            ..Generator::default()
        },
        project: Project { name: brief.name, description: brief.description, stack: brief.stack, ..Project::default() },
        user_prompt: brief.prompt,
        window: Some(window),
        sources: composed.sources.clone(),
        ..Manifest::default()
    };
    Ok(Draft { manifest, documents: composed.documents.clone() })
}

/// The hash of all that a pack is made of.
fn inputs(request: &BuildRequest, brief: &Brief, made_of: &MadeOf<'_>) -> Result<Digest> {
    let mut all = json!([
        [brief.name, brief.description, brief.prompt, brief.stack],
        [request.since.map(|since| since.to_string()), request.budget],
        made_of.picks.iter().map(|pick| json!([pick.number, pick.quote])).collect::<Vec<_>>(),
    ])
    .to_string();
    for base in made_of.bases {
        for (path, digest) in base.store.inputs()? {
            all.push_str(&json!([path, digest]).to_string());
        }
    }
    Ok(Digest::of(all.as_bytes()))
}

/// What is built is judged as everything else is: a fault of ours must not become the user's.
fn must_be_valid(session: &Session<'_>, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let entries: Entries = files.iter().map(|(path, bytes)| (path.clone(), Entry::File(bytes.clone()))).collect();
    let judged = read(&entries, &session.limits);
    match judged.is_valid() {
        true => Ok(()),
        false => Err(refused(session, "the pack would not be valid: nothing was written".into(), judged.reports)),
    }
}

fn shown(source: &sp_formats::context_pack::SourceEntry) -> ContextSource {
    ContextSource {
        id: source.id.clone(),
        title: source.title.clone(),
        url: source.url.clone(),
        kind: source.kind.clone(),
        captured_at: source.captured_at.clone(),
    }
}
