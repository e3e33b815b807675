//! `sp bag get`: resolve, fetch, judge, and only then change.

use std::path::PathBuf;

use sp_formats::address::KeptQuery;
use sp_formats::bag::{Lock, LockedQuery, LockedSkill, SourceRef};
use sp_formats::output::{BagChange, BagSkillChange, FolderAction};
use sp_formats::skill::SkillName;
use sp_tree::{Content, Digest};

use super::change::Changes;
use super::located::Located;
use super::offers::{BagOffers, wish};
use super::resolve::{Decisions, From, Wish, resolve};
use super::workspace::{Workspace, digest_of};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::install::{Mode, Replace};

/// What is to be installed into a workspace.
#[derive(Debug, Clone)]
pub struct GetRequest {
    /// The skills; what `CONTEXT.md` declares comes before them.
    pub names: Vec<String>,
    /// Where they come from, where the lock does not know.
    pub source: Option<String>,
    /// The parameters in the queries of sources that are no secrets, and are printed and locked.
    pub keep_query: Vec<String>,
    /// The tag, branch or commit.
    pub version: Option<String>,
    /// Whether skills that are here are fetched anew.
    pub upgrade: Upgrade,
    /// Whether skills that were edited may be replaced.
    pub replace: Replace,
    /// Whether the extra steps of the sources were done.
    pub steps: Steps,
    /// The workspace, where it is not the nearest upward.
    pub root: Option<PathBuf>,
    /// Whether it is done.
    pub mode: Mode,
}

/// Whether skills that are here are fetched anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgrade {
    /// They stay as they are.
    No,
    /// They are.
    Yes,
}

/// Whether the extra steps of sources were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// Nobody said so.
    Unknown,
    /// The user says so.
    Done,
}

/// A skill that comes from a source.
struct Incoming {
    name: String,
    content: Content,
    record: LockedSkill,
    by: Vec<String>,
}

/// Installs skills into a workspace.
pub fn get(context: &Context<'_>, request: &GetRequest) -> Result<BagChange> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, request.root.as_deref())?;
    let declared = workspace.contexts.iter().any(|context| !context.dependencies.is_empty());
    if request.names.is_empty() && !declared {
        return Err(Error::new(
            Kind::Usage,
            "there is nothing to install: no skill is named, and no context declares one",
        )
        .hint("`sp bag get <skill> --source <source>`"));
    }
    for name in request.names.iter().filter(|name| request.upgrade == Upgrade::No && workspace.skill(name).is_some()) {
        context.tell(Event::Hint(format!("`{name}` is here already; `--upgrade` fetches it anew")));
    }
    get_into(&session, &workspace, request, Besides::default())
}

/// What comes into a workspace besides what was asked for.
#[derive(Default)]
pub(super) struct Besides {
    /// Files at its root, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Skills that are made here.
    pub skills: Vec<(String, Content, LockedSkill)>,
}

/// Installs skills into a workspace, together with what else is given.
pub(super) fn get_into(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetRequest,
    besides: Besides,
) -> Result<BagChange> {
    let fetched = fetch(session, workspace, request)?;
    // Everything is here and judged; from now on nobody else may change anything.
    let home = Home::open_for(session.context, &session.limits, request.mode)?;
    let workspace = Workspace::read(session, workspace.root.clone())?;
    for (_, report) in &workspace.broken {
        session.context.tell(Event::Findings(report));
    }
    let (mut report, changes) = plan(session, &workspace, request, fetched, besides)?;
    if let Some(home) = &home {
        let changed = changes.apply(session, home, &workspace)?;
        report.kept = changed.kept;
        report.catalog_changed = changed.catalog;
        report.applied = true;
    }
    Ok(report)
}

/// What resolution decided, and what of it comes from sources.
struct Fetched {
    incoming: Vec<Incoming>,
    /// Skills that stay as they are, with those who need them.
    staying: Vec<(String, Vec<String>)>,
}

/// Decides where everything comes from, and brings it here.
fn fetch(session: &Session<'_>, workspace: &Workspace, request: &GetRequest) -> Result<Fetched> {
    let wishes = wishes(session.context, workspace, request)?;
    let overrides = overrides(session.context, workspace, request, &wishes);
    let renewed = match (request.upgrade, request.names.is_empty()) {
        (Upgrade::No, _) => Vec::new(),
        (Upgrade::Yes, false) => request.names.clone(),
        // Without a name it is what the contexts declare.
        (Upgrade::Yes, true) => wishes.iter().map(|wish| wish.name.clone()).collect(),
    };
    let mut offers = BagOffers::new(session, workspace, renewed);
    let decided = resolve(&wishes, &overrides, &mut offers)?;
    for (name, one) in decided.iter().filter(|(_, one)| one.from == From::Missing) {
        let by = one.by.join(" and ");
        session.context.tell(Event::Warning(format!("`{name}`, which {by} can do without, is not here")));
    }
    let incoming = load(session, &mut offers, &decided, request)?;
    let staying = decided.into_iter().filter(|(_, one)| one.from == From::Local).map(|(name, one)| (name, one.by));
    Ok(Fetched { incoming, staying: staying.collect() })
}

/// What is to change, and the same as it is told.
fn plan(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetRequest,
    fetched: Fetched,
    besides: Besides,
) -> Result<(BagChange, Changes)> {
    let mut report = BagChange { root: workspace.root.clone(), ..BagChange::default() };
    let mut changes = Changes { lock: workspace.lock.clone(), files: besides.files, ..Changes::default() };
    let mut tell = |name: &str, action, by: Vec<String>, source| {
        report.skills.push(BagSkillChange { name: name.into(), action, by, source });
    };
    for (name, content, record) in besides.skills {
        tell(&name, FolderAction::Add, Vec::new(), None);
        changes.lock.skills.insert(name.clone(), record);
        changes.put.push((name, content));
    }
    let mut edited = Vec::new();
    for one in fetched.incoming {
        let action = action(session, workspace, &one, request.replace, &mut edited)?;
        tell(&one.name, action, one.by, Some(one.record.source.clone()));
        changes.lock.skills.insert(one.name.clone(), one.record);
        if action != FolderAction::Keep {
            changes.put.push((one.name, one.content));
        }
    }
    refuse_edited(&edited)?;
    for (name, by) in fetched.staying {
        tell(&name, FolderAction::Keep, by, None);
    }
    report.skills.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((report, changes))
}

/// What is wished: by `CONTEXT.md` first, then by the command.
fn wishes(context: &Context<'_>, workspace: &Workspace, request: &GetRequest) -> Result<Vec<Wish<Located>>> {
    let mut wishes = Vec::new();
    for file in workspace.contexts.iter().rev() {
        for dependency in &file.dependencies {
            wishes.push(wish(context, dependency, Some(&workspace.root), format!("`{}`", file.file)));
        }
    }
    let source = request.source.as_deref().map(SourceRef::new).transpose().map_err(|e| {
        Error::new(Kind::Usage, "the source cannot be used")
            .because(e)
            .hint("write a git URL, the URL of a zip, or a path to a zip or a directory")
    })?;
    for name in &request.names {
        SkillName::new(name).map_err(|why| {
            Error::new(Kind::Usage, format!("the name `{name}` {why}"))
                .hint("a skill's name has hyphens, no underscores")
        })?;
        let record = workspace.lock.skills.get(name);
        let known = || record.and_then(|record| known_source(name, record, request.upgrade));
        // What is typed starts where it is typed; what the lock knows starts at the workspace.
        let typed = source.clone().map(|source| Located::new(context, source, &context.current_dir));
        let source = typed.or_else(|| known().map(|source| Located::new(context, source, &workspace.root)));
        let version = request.version.clone().or_else(|| record.and_then(|record| known_version(record).cloned()));
        wishes.push(Wish {
            name: name.clone(),
            source,
            version: version.filter(|_| request.source.is_none() || request.version.is_some()),
            required: true,
            by: "you".into(),
        });
    }
    keep_query(&mut wishes, request);
    Ok(wishes)
}

/// Where the lock says that a skill comes from. What is not recorded of it is in the cache, but nothing newer is.
fn known_source(name: &str, record: &LockedSkill, upgrade: Upgrade) -> Option<SourceRef> {
    let mut source = record.source_ref(name)?;
    if let (SourceRef::Web(web), Upgrade::Yes) = (&mut source, upgrade)
        && let Some(locked) = &mut web.locked
    {
        locked.digest = None;
    }
    Some(source)
}

/// The version that the lock asks for; the commit itself, where the server cannot be asked.
fn known_version(record: &LockedSkill) -> Option<&String> {
    let commit = record.commit.as_ref().filter(|_| record.query.is_some());
    commit.or(record.version.as_ref())
}

/// Notes which parameters are no secrets.
fn keep_query(wishes: &mut [Wish<Located>], request: &GetRequest) {
    let kept = KeptQuery::new(&request.keep_query);
    for wish in wishes {
        wish.source = wish.source.take().map(|source| source.keeping(&kept));
    }
}

/// What counts before what skills declare: the command, then the user's context, then the project's.
fn overrides(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetRequest,
    wishes: &[Wish<Located>],
) -> Vec<Wish<Located>> {
    let said = request.source.is_some() || request.version.is_some();
    let mut overrides: Vec<Wish<Located>> =
        wishes.iter().filter(|wish| said && wish.by == "you" && wish.source.is_some()).cloned().collect();
    for file in &workspace.contexts {
        for dependency in &file.dependencies {
            overrides.push(wish(context, dependency, Some(&workspace.root), format!("`{}`", file.file)));
        }
    }
    keep_query(&mut overrides, request);
    overrides
}

/// Reads everything that comes from a source, and stops where extra steps were not done.
fn load(
    session: &Session<'_>,
    offers: &mut BagOffers<'_>,
    decided: &Decisions<Located>,
    request: &GetRequest,
) -> Result<Vec<Incoming>> {
    let mut incoming = Vec::new();
    let root = offers.workspace.root.clone();
    let mut total = 0;
    for (name, one) in decided {
        let From::Source(located, version) = &one.from else { continue };
        let known = offers.workspace.lock.skills.get(name).cloned();
        let source = offers.source(located, version.as_deref())?;
        let steps = source.steps.as_ref().map(|steps| Digest::of(steps.as_bytes()));
        let confirmed = known.as_ref().is_some_and(|record| record.steps == steps);
        if let (Some(text), Steps::Unknown, false) = (&source.steps, request.steps, confirmed) {
            return Err(Error::new(
                Kind::Request,
                format!("`{}` asks for extra steps before its skills can be used", source.shown),
            )
            .because(text.clone())
            .hint("nothing was changed and nothing was run: do what you agree with, then add `--steps-done`"));
        }
        let content = source.load(session, name)?;
        total += content.size();
        if total > session.limits.zip_bytes {
            let limit = session.limits.zip_bytes;
            return Err(Error::new(Kind::Data, format!("the skills have more than {limit} bytes together"))
                .hint("install fewer at once, or raise it with `--limit zip-bytes=<bytes>`"));
        }
        let record = LockedSkill {
            source: located.for_lock(&root),
            query: located.source.omits_query().then_some(LockedQuery::Omitted),
            archive: source.archive(),
            version: version.clone(),
            commit: source.commit().map(Into::into),
            tree: content.digest(),
            steps,
            extra: known.map(|record| record.extra).unwrap_or_default(),
        };
        incoming.push(Incoming { name: name.clone(), content, record, by: one.by.clone() });
    }
    Ok(incoming)
}

/// What becomes of a skill's folder; one that was edited is noted.
fn action(
    session: &Session<'_>,
    workspace: &Workspace,
    one: &Incoming,
    replace: Replace,
    edited: &mut Vec<String>,
) -> Result<FolderAction> {
    let place = workspace.skills_dir().join(&one.name);
    if place.symlink_metadata().is_err() {
        return Ok(FolderAction::Add);
    }
    if place.is_dir() && digest_of(session, &place)? == Some(one.record.tree) {
        return Ok(FolderAction::Keep);
    }
    if replace == Replace::Refuse && (!place.is_dir() || workspace.is_edited(session, &one.name)?) {
        edited.push(one.name.clone());
    }
    Ok(FolderAction::Update)
}

fn refuse_edited(edited: &[String]) -> Result<()> {
    if edited.is_empty() {
        return Ok(());
    }
    let (names, verb) = (edited.join("`, `"), if edited.len() == 1 { "was" } else { "were" });
    Err(Error::new(Kind::Trust, format!("`{names}` {verb} edited here, or not installed by `sp`"))
        .hint("nothing was changed: add `--replace` to replace it; what was there is kept until `sp clean`"))
}

/// A lock without the records of skills that are gone.
pub(super) fn pruned(lock: &Lock, gone: &[String]) -> Lock {
    let mut lock = lock.clone();
    lock.skills.retain(|name, _| !gone.contains(name));
    lock
}
