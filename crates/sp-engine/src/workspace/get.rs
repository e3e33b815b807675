//! `sp bag get`: resolve, fetch, judge, and only then change.

use std::path::PathBuf;

use sp_formats::output::{FolderAction, WorkspaceChangeReport, WorkspaceSkillChange};
use sp_formats::redact::QueryAllowlist;
use sp_formats::skill::SkillName;
use sp_formats::workspace::{LockedQuery, LockedSkill, SourceRef, WorkspaceLock};
use sp_tree::{Digest, LoadedTree};

use super::changes::WorkspaceChanges;
use super::located_source::LocatedSource;
use super::provider::{WorkspaceProvider, requirement};
use super::resolve::{ResolvedSkills, ResolvedSource, SkillRequirement, resolve_skills};
use super::workspace_dir::{Workspace, folder_digest};
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::install::plan::ReplacePolicy;
use crate::session::Session;

/// What is to be installed into a workspace.
#[derive(Debug, Clone)]
pub struct GetSkillsRequest {
    /// The skills; what `CONTEXT.md` declares comes before them.
    pub names: Vec<String>,
    /// Where they come from, where the lock does not know.
    pub source: Option<String>,
    /// The parameters in the queries of sources that are no secrets, and are printed and locked.
    pub keep_query: Vec<String>,
    /// The tag, branch or commit.
    pub version: Option<String>,
    /// Whether skills that are here are fetched anew.
    pub upgrade: UpgradePolicy,
    /// Whether skills that were edited may be replaced.
    pub replace: ReplacePolicy,
    /// Whether the extra steps of the sources were done.
    pub extra_steps: ExtraSteps,
    /// The workspace, where it is not the nearest upward.
    pub root: Option<PathBuf>,
    /// Whether it is done.
    pub mode: ApplyMode,
}

/// Whether skills that are here are fetched anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradePolicy {
    /// They stay as they are.
    Keep,
    /// They are.
    Upgrade,
}

/// Whether the extra steps of sources were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraSteps {
    /// Nobody said so.
    Unconfirmed,
    /// The user says so.
    Done,
}

/// A skill that comes from a source.
struct IncomingSkill {
    name: String,
    content: LoadedTree,
    record: LockedSkill,
    requested_by: Vec<String>,
}

/// Installs skills into a workspace.
pub fn get(context: &Context<'_>, request: &GetSkillsRequest) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, request.root.as_deref())?;
    let declared = workspace.contexts.iter().any(|context| !context.dependencies.is_empty());
    if request.names.is_empty() && !declared {
        return Err(Error::new(
            FailureKind::Usage,
            "there is nothing to install: no skill is named, and no context declares one",
        )
        .hint("`sp bag get <skill> --source <source>`"));
    }
    for name in request
        .names
        .iter()
        .filter(|name| request.upgrade == UpgradePolicy::Keep && workspace.skill(name).is_some())
    {
        context.emit(Event::Hint(format!("`{name}` is here already; `--upgrade` fetches it anew")));
    }
    get_into(&session, &workspace, request, WorkspaceExtras::default())
}

/// What comes into a workspace besides what was asked for.
#[derive(Default)]
pub(super) struct WorkspaceExtras {
    /// Files at its root, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Skills that are made here.
    pub skills: Vec<(String, LoadedTree, LockedSkill)>,
}

/// Installs skills into a workspace, together with what else is given.
pub(super) fn get_into(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    besides: WorkspaceExtras,
) -> Result<WorkspaceChangeReport> {
    let fetched = fetch_skills(session, workspace, request)?;
    // Everything is here and judged; from now on nobody else may change anything.
    let home = LockedHome::open_unless_dry_run(session.context, &session.limits, request.mode)?;
    let workspace = Workspace::read(session, workspace.root.clone())?;
    for (_, report) in &workspace.invalid_skills {
        session.context.emit(Event::Findings(report));
    }
    let (mut report, changes) = plan_changes(session, &workspace, request, fetched, besides)?;
    if let Some(home) = &home {
        let changed = changes.apply(session, home, &workspace)?;
        report.kept = changed.kept;
        report.catalog_changed = changed.catalog_changed;
        report.applied = true;
    }
    Ok(report)
}

/// What resolution decided, and what of it comes from sources.
struct FetchedSkills {
    incoming: Vec<IncomingSkill>,
    /// Skills that stay as they are, with those who need them.
    unchanged: Vec<(String, Vec<String>)>,
}

/// Decides where everything comes from, and brings it here.
fn fetch_skills(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
) -> Result<FetchedSkills> {
    let wishes = requirements(session.context, workspace, request)?;
    let overrides = overrides(session.context, workspace, request, &wishes);
    let renewed = match (request.upgrade, request.names.is_empty()) {
        (UpgradePolicy::Keep, _) => Vec::new(),
        (UpgradePolicy::Upgrade, false) => request.names.clone(),
        // Without a name it is what the contexts declare.
        (UpgradePolicy::Upgrade, true) => wishes.iter().map(|wish| wish.name.clone()).collect(),
    };
    let mut offers = WorkspaceProvider::new(session, workspace, renewed);
    let decided = resolve_skills(&wishes, &overrides, &mut offers)?;
    for (name, one) in decided.iter().filter(|(_, one)| one.source == ResolvedSource::Missing) {
        let by = one.requested_by.join(" and ");
        session
            .context
            .emit(Event::Warning(format!("`{name}`, which {by} can do without, is not here")));
    }
    let incoming = load_incoming(session, &mut offers, &decided, request)?;
    let staying = decided
        .into_iter()
        .filter(|(_, one)| one.source == ResolvedSource::Local)
        .map(|(name, one)| (name, one.requested_by));
    Ok(FetchedSkills { incoming, unchanged: staying.collect() })
}

/// What is to change, and the same as it is told.
fn plan_changes(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    fetched: FetchedSkills,
    besides: WorkspaceExtras,
) -> Result<(WorkspaceChangeReport, WorkspaceChanges)> {
    let mut report =
        WorkspaceChangeReport { root: workspace.root.clone(), ..WorkspaceChangeReport::default() };
    let mut changes = WorkspaceChanges {
        lock: workspace.lock.clone(),
        files: besides.files,
        ..WorkspaceChanges::default()
    };
    let mut tell = |name: &str, action, by: Vec<String>, source| {
        report.skills.push(WorkspaceSkillChange { name: name.into(), action, by, source });
    };
    for (name, content, record) in besides.skills {
        tell(&name, FolderAction::Add, Vec::new(), None);
        changes.lock.skills.insert(name.clone(), record);
        changes.put.push((name, content));
    }
    let mut edited = Vec::new();
    for one in fetched.incoming {
        let action = folder_action(session, workspace, &one, request.replace, &mut edited)?;
        tell(&one.name, action, one.requested_by, Some(one.record.source.clone()));
        changes.lock.skills.insert(one.name.clone(), one.record);
        if action != FolderAction::Keep {
            changes.put.push((one.name, one.content));
        }
    }
    refuse_edited(&edited)?;
    for (name, by) in fetched.unchanged {
        tell(&name, FolderAction::Keep, by, None);
    }
    report.skills.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((report, changes))
}

/// What is wished: by `CONTEXT.md` first, then by the command.
fn requirements(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
) -> Result<Vec<SkillRequirement<LocatedSource>>> {
    let mut wishes = Vec::new();
    for file in workspace.contexts.iter().rev() {
        for dependency in &file.dependencies {
            wishes.push(requirement(
                context,
                dependency,
                Some(&workspace.root),
                format!("`{}`", file.file),
            ));
        }
    }
    let source = request.source.as_deref().map(SourceRef::new).transpose().map_err(|e| {
        Error::new(FailureKind::Usage, "the source cannot be used")
            .because(e)
            .hint("write a git URL, the URL of a zip, or a path to a zip or a directory")
    })?;
    for name in &request.names {
        SkillName::new(name).map_err(|why| {
            Error::new(FailureKind::Usage, format!("the name `{name}` {why}"))
                .hint("a skill's name has hyphens, no underscores")
        })?;
        let record = workspace.lock.skills.get(name);
        let known = || record.and_then(|record| locked_source(name, record, request.upgrade));
        // What is typed starts where it is typed; what the lock knows starts at the workspace.
        let typed =
            source.clone().map(|source| LocatedSource::new(context, source, &context.current_dir));
        let source = typed
            .or_else(|| known().map(|source| LocatedSource::new(context, source, &workspace.root)));
        let version = request
            .version
            .clone()
            .or_else(|| record.and_then(|record| locked_version(record).cloned()));
        wishes.push(SkillRequirement {
            name: name.clone(),
            source,
            version: version.filter(|_| request.source.is_none() || request.version.is_some()),
            required: true,
            requested_by: "you".into(),
        });
    }
    keep_query(&mut wishes, request);
    Ok(wishes)
}

/// Where the lock says that a skill comes from. What is not recorded of it is in the cache, but nothing newer is.
fn locked_source(name: &str, record: &LockedSkill, upgrade: UpgradePolicy) -> Option<SourceRef> {
    let mut source = record.source_ref(name)?;
    if let (SourceRef::Web(web), UpgradePolicy::Upgrade) = (&mut source, upgrade)
        && let Some(locked) = &mut web.locked
    {
        locked.digest = None;
    }
    Some(source)
}

/// The version that the lock asks for; the commit itself, where the server cannot be asked.
fn locked_version(record: &LockedSkill) -> Option<&String> {
    let commit = record.commit.as_ref().filter(|_| record.query.is_some());
    commit.or(record.version.as_ref())
}

/// Notes which parameters are no secrets.
fn keep_query(wishes: &mut [SkillRequirement<LocatedSource>], request: &GetSkillsRequest) {
    let kept = QueryAllowlist::new(&request.keep_query);
    for wish in wishes {
        wish.source = wish.source.take().map(|source| source.with_kept_query(&kept));
    }
}

/// What counts before what skills declare: the command, then the user's context, then the project's.
fn overrides(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    wishes: &[SkillRequirement<LocatedSource>],
) -> Vec<SkillRequirement<LocatedSource>> {
    let said = request.source.is_some() || request.version.is_some();
    let mut overrides: Vec<SkillRequirement<LocatedSource>> = wishes
        .iter()
        .filter(|wish| said && wish.requested_by == "you" && wish.source.is_some())
        .cloned()
        .collect();
    for file in &workspace.contexts {
        for dependency in &file.dependencies {
            overrides.push(requirement(
                context,
                dependency,
                Some(&workspace.root),
                format!("`{}`", file.file),
            ));
        }
    }
    keep_query(&mut overrides, request);
    overrides
}

/// Reads everything that comes from a source, and stops where extra steps were not done.
fn load_incoming(
    session: &Session<'_>,
    offers: &mut WorkspaceProvider<'_>,
    decided: &ResolvedSkills<LocatedSource>,
    request: &GetSkillsRequest,
) -> Result<Vec<IncomingSkill>> {
    let mut incoming = Vec::new();
    let root = offers.workspace.root.clone();
    let mut total = 0;
    for (name, one) in decided {
        let ResolvedSource::Source(located, version) = &one.source else { continue };
        let known = offers.workspace.lock.skills.get(name).cloned();
        let source = offers.fetch_source(located, version.as_deref())?;
        let steps = source.extra_steps.as_ref().map(|steps| Digest::of(steps.as_bytes()));
        let confirmed = known.as_ref().is_some_and(|record| record.steps == steps);
        if let (Some(text), ExtraSteps::Unconfirmed, false) =
            (&source.extra_steps, request.extra_steps, confirmed)
        {
            return Err(Error::new(
                FailureKind::Request,
                format!("`{}` asks for extra steps before its skills can be used", source.display_name),
            )
            .because(text.clone())
            .hint("nothing was changed and nothing was run: do what you agree with, then add `--steps-done`"));
        }
        let content = source.load_skill(session, name)?;
        total += content.total_bytes();
        if total > session.limits.zip_bytes {
            let limit = session.limits.zip_bytes;
            return Err(Error::new(
                FailureKind::Data,
                format!("the skills have more than {limit} bytes together"),
            )
            .hint("install fewer at once, or raise it with `--limit zip-bytes=<bytes>`"));
        }
        let record = LockedSkill {
            source: located.to_lock_source(&root),
            query: located.source.omits_query().then_some(LockedQuery::Omitted),
            archive: source.archive_digest(),
            version: version.clone(),
            commit: source.commit().map(Into::into),
            tree: content.digest(),
            steps,
            extra: known.map(|record| record.extra).unwrap_or_default(),
        };
        incoming.push(IncomingSkill {
            name: name.clone(),
            content,
            record,
            requested_by: one.requested_by.clone(),
        });
    }
    Ok(incoming)
}

/// What becomes of a skill's folder; one that was edited is noted.
fn folder_action(
    session: &Session<'_>,
    workspace: &Workspace,
    one: &IncomingSkill,
    replace: ReplacePolicy,
    edited: &mut Vec<String>,
) -> Result<FolderAction> {
    let place = workspace.skills_dir().join(&one.name);
    if place.symlink_metadata().is_err() {
        return Ok(FolderAction::Add);
    }
    if place.is_dir() && folder_digest(session, &place)? == Some(one.record.tree) {
        return Ok(FolderAction::Keep);
    }
    if replace == ReplacePolicy::Refuse
        && (!place.is_dir() || workspace.is_edited(session, &one.name)?)
    {
        edited.push(one.name.clone());
    }
    Ok(FolderAction::Update)
}

fn refuse_edited(edited: &[String]) -> Result<()> {
    if edited.is_empty() {
        return Ok(());
    }
    let (names, verb) = (edited.join("`, `"), if edited.len() == 1 { "was" } else { "were" });
    Err(Error::new(FailureKind::Trust, format!("`{names}` {verb} edited here, or not installed by `sp`"))
        .hint("nothing was changed: add `--replace` to replace it; what was there is kept until `sp clean`"))
}

/// A lock without the records of skills that are gone.
pub(super) fn prune_lock(lock: &WorkspaceLock, gone: &[String]) -> WorkspaceLock {
    let mut lock = lock.clone();
    lock.skills.retain(|name, _| !gone.contains(name));
    lock
}
