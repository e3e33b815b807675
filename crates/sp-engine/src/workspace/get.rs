//! `sp bag get`: resolve, fetch, validate, and only then change the workspace.

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
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::plan::ReplacePolicy;
use crate::session::Session;

/// Which skills to install into a workspace.
#[derive(Debug, Clone)]
pub struct GetSkillsRequest {
    /// Skill names, in addition to the dependencies that contexts declare.
    pub names: Vec<String>,
    /// The source. By default, the one in the lockfile.
    pub source: Option<String>,
    /// The names of query parameters that are not secret, and are printed and recorded.
    pub keep_query: Vec<String>,
    /// The tag, branch or commit.
    pub version: Option<String>,
    pub upgrade: UpgradePolicy,
    /// Whether edited skills may be replaced.
    pub replace: ReplacePolicy,
    pub extra_steps: ExtraSteps,
    /// The workspace given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    pub mode: ApplyMode,
}

/// Whether skills that are already installed are fetched again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradePolicy {
    Keep,
    Upgrade,
}

/// Whether the user confirmed the extra steps that a source asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraSteps {
    Unconfirmed,
    Done,
}

/// A skill loaded from a source.
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
            ErrorCode::MissingArgument,
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

/// What to write to a workspace in addition to the requested skills.
#[derive(Default)]
pub(super) struct WorkspaceExtras {
    /// Files at the root of the workspace, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Skills that do not come from a source.
    pub skills: Vec<(String, LoadedTree, LockedSkill)>,
}

/// Installs skills and extras into a workspace.
pub(super) fn get_into(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    extras: WorkspaceExtras,
) -> Result<WorkspaceChangeReport> {
    let fetched = fetch_skills(session, workspace, request)?;
    // Fetching can take long, so the lock is taken only now, and the workspace is read again.
    let home = LockedHome::open_unless_dry_run(session.context, &session.limits, request.mode)?;
    let workspace = Workspace::read(session, workspace.root.clone())?;
    for (_, report) in &workspace.invalid_skills {
        session.context.emit(Event::Findings(report));
    }
    let (mut report, changes) = plan_changes(session, &workspace, request, fetched, extras)?;
    if let Some(home) = &home {
        let changed = changes.apply(session, home, &workspace)?;
        report.kept = changed.kept;
        report.catalog_changed = changed.catalog_changed;
        report.applied = true;
    }
    Ok(report)
}

/// The resolved skills, with those from sources loaded.
struct FetchedSkills {
    incoming: Vec<IncomingSkill>,
    /// Skills that stay as they are, with their requesters.
    unchanged: Vec<(String, Vec<String>)>,
}

/// Resolves the request, and fetches the skills.
fn fetch_skills(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
) -> Result<FetchedSkills> {
    let requirements = requirements(session.context, workspace, request)?;
    let overrides = overrides(session.context, workspace, request, &requirements);
    let upgraded = match (request.upgrade, request.names.is_empty()) {
        (UpgradePolicy::Keep, _) => Vec::new(),
        (UpgradePolicy::Upgrade, false) => request.names.clone(),
        // Without names, upgrade what the contexts declare.
        (UpgradePolicy::Upgrade, true) => {
            requirements.iter().map(|requirement| requirement.name.clone()).collect()
        }
    };
    let mut provider = WorkspaceProvider::new(session, workspace, upgraded);
    let resolved = resolve_skills(&requirements, &overrides, &mut provider)?;
    for (name, skill) in resolved.iter().filter(|(_, it)| it.source == ResolvedSource::Missing) {
        let by = skill.requested_by.join(" and ");
        session
            .context
            .emit(Event::Warning(format!("`{name}`, which {by} can do without, is not here")));
    }
    let incoming = load_incoming(session, &mut provider, &resolved, request)?;
    let unchanged = resolved
        .into_iter()
        .filter(|(_, skill)| skill.source == ResolvedSource::Local)
        .map(|(name, skill)| (name, skill.requested_by));
    Ok(FetchedSkills { incoming, unchanged: unchanged.collect() })
}

/// Plans the changes. Returns them as a report and as a value to apply.
fn plan_changes(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    fetched: FetchedSkills,
    extras: WorkspaceExtras,
) -> Result<(WorkspaceChangeReport, WorkspaceChanges)> {
    let mut report =
        WorkspaceChangeReport { root: workspace.root.clone(), ..WorkspaceChangeReport::default() };
    let mut changes = WorkspaceChanges {
        lock: workspace.lock.clone(),
        files: extras.files,
        ..WorkspaceChanges::default()
    };
    let mut add_item = |name: &str, action, by: Vec<String>, source| {
        report.skills.push(WorkspaceSkillChange { name: name.into(), action, by, source });
    };
    for (name, content, record) in extras.skills {
        add_item(&name, FolderAction::Add, Vec::new(), None);
        changes.lock.skills.insert(name.clone(), record);
        changes.put.push((name, content));
    }
    let mut edited = Vec::new();
    for skill in fetched.incoming {
        let action = folder_action(session, workspace, &skill, request.replace, &mut edited)?;
        add_item(&skill.name, action, skill.requested_by, Some(skill.record.source.clone()));
        changes.lock.skills.insert(skill.name.clone(), skill.record);
        if action != FolderAction::Keep {
            changes.put.push((skill.name, skill.content));
        }
    }
    refuse_edited(&edited)?;
    for (name, by) in fetched.unchanged {
        add_item(&name, FolderAction::Keep, by, None);
    }
    report.skills.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((report, changes))
}

/// Returns the requirements of the contexts, then those of the request.
fn requirements(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
) -> Result<Vec<SkillRequirement<LocatedSource>>> {
    let mut requirements = Vec::new();
    for file in workspace.contexts.iter().rev() {
        for dependency in &file.dependencies {
            requirements.push(requirement(
                context,
                dependency,
                Some(&workspace.root),
                format!("`{}`", file.file),
            ));
        }
    }
    let source = request.source.as_deref().map(SourceRef::new).transpose().map_err(|e| {
        Error::new(ErrorCode::InvalidUrl, "the source cannot be used")
            .because(e)
            .hint("write a git URL, the URL of a zip, or a path to a zip or a directory")
    })?;
    for name in &request.names {
        SkillName::new(name).map_err(|why| {
            Error::new(ErrorCode::InvalidName, format!("the name `{name}` {why}"))
                .hint("a skill's name has hyphens, no underscores")
        })?;
        let record = workspace.lock.skills.get(name);
        let locked = || record.and_then(|record| locked_source(name, record, request.upgrade));
        // A path on the command line is relative to the current directory, and one in the lockfile
        // to the workspace.
        let given =
            source.clone().map(|source| LocatedSource::new(context, source, &context.current_dir));
        let source = given.or_else(|| {
            locked().map(|source| LocatedSource::new(context, source, &workspace.root))
        });
        let version = request
            .version
            .clone()
            .or_else(|| record.and_then(|record| locked_version(record).cloned()));
        requirements.push(SkillRequirement {
            name: name.clone(),
            source,
            version: version.filter(|_| request.source.is_none() || request.version.is_some()),
            required: true,
            requested_by: "you".into(),
        });
    }
    keep_query(&mut requirements, request);
    Ok(requirements)
}

/// Returns the source of a skill in the lockfile.
///
/// If it is recorded without its query, the cache has the locked archive. An upgrade cannot use
/// that, so it drops the digest.
fn locked_source(name: &str, record: &LockedSkill, upgrade: UpgradePolicy) -> Option<SourceRef> {
    let mut source = record.source_ref(name)?;
    if let (SourceRef::Web(web), UpgradePolicy::Upgrade) = (&mut source, upgrade)
        && let Some(locked) = &mut web.locked
    {
        locked.digest = None;
    }
    Some(source)
}

/// Returns the version of a skill in the lockfile, or the commit if the URL is recorded without its
/// query, so that the server cannot be asked.
fn locked_version(record: &LockedSkill) -> Option<&String> {
    let commit = record.commit.as_ref().filter(|_| record.query.is_some());
    commit.or(record.version.as_ref())
}

/// Marks the query parameters that are not secret.
fn keep_query(requirements: &mut [SkillRequirement<LocatedSource>], request: &GetSkillsRequest) {
    let allowlist = QueryAllowlist::new(&request.keep_query);
    for requirement in requirements {
        let source = requirement.source.take();
        requirement.source = source.map(|source| source.with_kept_query(&allowlist));
    }
}

/// Returns the requirements that override what skills declare, by priority: the request, then
/// `USER_CONTEXT.md`, then `CONTEXT.md`.
fn overrides(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    requirements: &[SkillRequirement<LocatedSource>],
) -> Vec<SkillRequirement<LocatedSource>> {
    let is_explicit = request.source.is_some() || request.version.is_some();
    let mut overrides: Vec<SkillRequirement<LocatedSource>> = requirements
        .iter()
        .filter(|it| is_explicit && it.requested_by == "you" && it.source.is_some())
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

/// Loads the skills that come from sources. Fails if a source asks for extra steps that the user
/// has not confirmed.
fn load_incoming(
    session: &Session<'_>,
    provider: &mut WorkspaceProvider<'_>,
    resolved: &ResolvedSkills<LocatedSource>,
    request: &GetSkillsRequest,
) -> Result<Vec<IncomingSkill>> {
    let mut incoming = Vec::new();
    let root = provider.workspace.root.clone();
    let mut total = 0;
    for (name, skill) in resolved {
        let ResolvedSource::Source(located, version) = &skill.source else { continue };
        let old_record = provider.workspace.lock.skills.get(name).cloned();
        let source = provider.fetch_source(located, version.as_deref())?;
        let steps = source.extra_steps.as_ref().map(|steps| Digest::of(steps.as_bytes()));
        let confirmed = old_record.as_ref().is_some_and(|record| record.steps == steps);
        if let (Some(text), ExtraSteps::Unconfirmed, false) =
            (&source.extra_steps, request.extra_steps, confirmed)
        {
            return Err(Error::new(
                ErrorCode::ManualSteps,
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
                ErrorCode::LimitExceeded,
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
            extra: old_record.map(|record| record.extra).unwrap_or_default(),
        };
        incoming.push(IncomingSkill {
            name: name.clone(),
            content,
            record,
            requested_by: skill.requested_by.clone(),
        });
    }
    Ok(incoming)
}

/// Decides what happens to the folder of a skill. Adds the skill to `edited` if that must be
/// refused.
fn folder_action(
    session: &Session<'_>,
    workspace: &Workspace,
    skill: &IncomingSkill,
    replace: ReplacePolicy,
    edited: &mut Vec<String>,
) -> Result<FolderAction> {
    let folder = workspace.skills_dir().join(&skill.name);
    if folder.symlink_metadata().is_err() {
        return Ok(FolderAction::Add);
    }
    if folder.is_dir() && folder_digest(session, &folder)? == Some(skill.record.tree) {
        return Ok(FolderAction::Keep);
    }
    if replace == ReplacePolicy::Refuse
        && (!folder.is_dir() || workspace.is_edited(session, &skill.name)?)
    {
        edited.push(skill.name.clone());
    }
    Ok(FolderAction::Update)
}

fn refuse_edited(edited: &[String]) -> Result<()> {
    if edited.is_empty() {
        return Ok(());
    }
    let (names, verb) = (edited.join("`, `"), if edited.len() == 1 { "was" } else { "were" });
    Err(Error::new(ErrorCode::EditedSkill, format!("`{names}` {verb} edited here, or not installed by `sp`"))
        .hint("nothing was changed: add `--replace` to replace it; what was there is kept until `sp clean`"))
}

/// Returns a lockfile without the records of removed skills.
pub(super) fn prune_lock(lock: &WorkspaceLock, removed: &[String]) -> WorkspaceLock {
    let mut lock = lock.clone();
    lock.skills.retain(|name, _| !removed.contains(name));
    lock
}
