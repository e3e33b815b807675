//! `sp bag add`: resolve, fetch, validate, and only then change the workspace.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sp_formats::output::{FolderAction, WorkspaceChangeReport, WorkspaceSkillChange};
use sp_formats::redact::{QueryAllowlist, redact_secrets};
use sp_formats::skill::SkillName;
use sp_formats::text::{ByteSize, plural};
use sp_formats::workspace::{LockedQuery, LockedSkill, SourceRef, WorkspaceContext};
use sp_tree::{Digest, LoadedTree};

use super::changes::{SkillFolder, WorkspaceChanges, WorkspaceFile};
use super::generated_parts::GeneratedSkill;
use super::located_source::LocatedSource;
use super::provider::{WorkspaceProvider, requirement};
use super::resolve::{ResolvedSkills, ResolvedSource, SkillRequirement, resolve_skills};
use super::source::WorkspaceSource;
use super::workspace_dir::{Workspace, folder_digest};
use crate::content_gate::{ContentGate, ContentOwner, GatePosition, GatedContent};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::accepted_findings::plan_accepted_findings;
use crate::install::plan::ReplacePolicy;
use crate::plan_id::ApplyOptions;
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
    pub apply: ApplyOptions,
}

impl GetSkillsRequest {
    /// Requests the skills that contexts declare, and no others.
    pub(super) fn declared(extra_steps: ExtraSteps, apply: ApplyOptions) -> Self {
        Self {
            names: Vec::new(),
            source: None,
            keep_query: Vec::new(),
            version: None,
            upgrade: UpgradePolicy::Keep,
            replace: ReplacePolicy::Refuse,
            extra_steps,
            root: None,
            apply,
        }
    }
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
            "no skills to add: none is given, and no context file declares any",
        )
        .hint("run `sp bag add <skill> --source <source>`"));
    }
    for name in request
        .names
        .iter()
        .filter(|name| request.upgrade == UpgradePolicy::Keep && workspace.skill(name).is_some())
    {
        context.emit(Event::Hint(format!(
            "`{name}` is already in the workspace; add `--upgrade` to update it"
        )));
    }
    get_into(&session, &workspace, request, WorkspaceExtras::default())
}

/// What to write to a workspace in addition to the requested skills.
#[derive(Default)]
pub(super) struct WorkspaceExtras {
    /// Files at the root of the workspace.
    pub files: Vec<WorkspaceFile>,
    pub skills: Vec<GeneratedSkill>,
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
    let home =
        LockedHome::open_unless_dry_run(session.context, &session.limits, request.apply.mode)?;
    let workspace = Workspace::read(session, workspace.root.clone())?;
    for skill in &workspace.invalid_skills {
        session.context.emit(Event::Findings(&skill.report));
    }
    let WorkspaceChangePlan { mut report, mut changes } =
        plan_changes(session, &workspace, request, fetched, extras)?;
    check_content(session, &workspace, home.as_ref(), &changes)?;
    let root = workspace.root.as_path();
    if let Some(file) = plan_accepted_findings(session, Some(root), root)? {
        let bytes = file.bytes.as_deref().unwrap_or_default().to_vec();
        changes.files.push(WorkspaceFile { name: file.name.to_string(), bytes });
    }
    let outcome = changes.run(session, home.as_ref(), &workspace, request.apply)?;
    outcome.add_to(&mut report);
    Ok(report)
}

/// Refuses skills that the audit blocks.
fn check_content(
    session: &Session<'_>,
    workspace: &Workspace,
    home: Option<&LockedHome<'_>>,
    changes: &WorkspaceChanges,
) -> Result<()> {
    let gate = ContentGate::new(session, Some(&workspace.root), &BTreeSet::new())?;
    for SkillFolder { name, content } in &changes.put {
        let record = changes.lock.skills.get(name);
        let source = record.map(|record| record.source.as_str()).unwrap_or_default();
        let owner = ContentOwner::Fetched;
        gate.check_tree(GatedContent { id: name, source, owner }, content);
    }
    gate.finish(home, GatePosition::Last)
}

/// The resolved skills, with those from sources loaded.
struct FetchedSkills {
    incoming: Vec<IncomingSkill>,
    unchanged: Vec<UnchangedSkill>,
}

/// A skill that stays as it is.
struct UnchangedSkill {
    name: String,
    requested_by: Vec<String>,
}

/// The changes, as a report and as a value to apply.
struct WorkspaceChangePlan {
    report: WorkspaceChangeReport,
    changes: WorkspaceChanges,
}

/// Resolves the request, and fetches the skills.
fn fetch_skills(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
) -> Result<FetchedSkills> {
    let requirements = requirements(session.context, workspace, request)?;
    let overrides = overrides(session.context, workspace, request, &requirements);
    let upgraded = upgraded_skills(request, &requirements);
    let mut provider = WorkspaceProvider::new(session, workspace, upgraded);
    let resolved = resolve_skills(&requirements, &overrides, &mut provider)?;
    for (name, skill) in resolved.iter().filter(|(_, it)| it.source == ResolvedSource::Missing) {
        let by = skill.requested_by.join(" and ");
        session.context.emit(Event::Warning(format!(
            "skipped optional skill `{name}` of {by}: it was not found"
        )));
    }
    let incoming = load_incoming(session, &mut provider, &resolved, request)?;
    let unchanged = resolved
        .into_iter()
        .filter(|(_, skill)| skill.source == ResolvedSource::Local)
        .map(|(name, skill)| UnchangedSkill { name, requested_by: skill.requested_by });
    Ok(FetchedSkills { incoming, unchanged: unchanged.collect() })
}

/// Returns the names of the skills that are fetched even if the workspace has them.
fn upgraded_skills(
    request: &GetSkillsRequest,
    requirements: &[SkillRequirement<LocatedSource>],
) -> Vec<String> {
    match (request.upgrade, request.names.is_empty()) {
        (UpgradePolicy::Keep, _) => Vec::new(),
        (UpgradePolicy::Upgrade, false) => request.names.clone(),
        // Without names, upgrade what the contexts declare.
        (UpgradePolicy::Upgrade, true) => {
            requirements.iter().map(|requirement| requirement.name.clone()).collect()
        }
    }
}

/// Plans the changes.
fn plan_changes(
    session: &Session<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    fetched: FetchedSkills,
    extras: WorkspaceExtras,
) -> Result<WorkspaceChangePlan> {
    let mut plan = WorkspaceChangePlan::new(workspace, extras);
    let mut edited = Vec::new();
    for skill in fetched.incoming {
        let action = folder_action(session, workspace, &skill, request.replace, &mut edited)?;
        plan.add_incoming(skill, action);
    }
    refuse_edited(&edited)?;
    for skill in fetched.unchanged {
        plan.report.skills.push(WorkspaceSkillChange {
            name: skill.name,
            action: FolderAction::Keep,
            by: skill.requested_by,
            source: None,
        });
    }
    plan.report.skills.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(plan)
}

impl WorkspaceChangePlan {
    /// Returns a plan that writes only the extras.
    fn new(workspace: &Workspace, extras: WorkspaceExtras) -> Self {
        let mut report = WorkspaceChangeReport {
            root: workspace.root.clone(),
            ..WorkspaceChangeReport::default()
        };
        let mut changes = WorkspaceChanges {
            lock: workspace.lock.clone(),
            files: extras.files,
            ..WorkspaceChanges::default()
        };
        for skill in extras.skills {
            report.skills.push(WorkspaceSkillChange {
                name: skill.name.clone(),
                action: FolderAction::Add,
                by: Vec::new(),
                source: None,
            });
            changes.put_skill(skill.name, skill.content, skill.record);
        }
        Self { report, changes }
    }

    fn add_incoming(&mut self, skill: IncomingSkill, action: FolderAction) {
        self.report.skills.push(WorkspaceSkillChange {
            name: skill.name.clone(),
            action,
            by: skill.requested_by,
            source: Some(skill.record.source.clone()),
        });
        if action == FolderAction::Keep {
            self.changes.lock.skills.insert(skill.name, skill.record);
        } else {
            self.changes.put_skill(skill.name, skill.content, skill.record);
        }
    }
}

/// Returns the requirements of the contexts, then those of the request.
fn requirements(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
) -> Result<Vec<SkillRequirement<LocatedSource>>> {
    let contexts = workspace.contexts.iter().rev();
    let mut requirements: Vec<_> =
        contexts.flat_map(|file| context_requirements(context, workspace, file)).collect();
    let source = request.source.as_deref().map(SourceRef::new).transpose().map_err(|e| {
        Error::new(ErrorCode::InvalidUrl, "invalid source")
            .because(e)
            .hint("pass a git URL, the URL of a zip, or the path of a zip or directory")
    })?;
    for name in &request.names {
        SkillName::new(name).map_err(|why| invalid_name_error(name, &why.to_string()))?;
        requirements.push(named_requirement(context, workspace, request, name, source.as_ref()));
    }
    keep_query(&mut requirements, request);
    Ok(requirements)
}

fn invalid_name_error(name: &str, why: &str) -> Error {
    let shown = redact_secrets(name);
    let error = Error::new(ErrorCode::InvalidName, format!("invalid skill name `{shown}`"))
        .because(format!("it {why}"));
    if name.contains('/') {
        error.hint(format!("name a skill and its source: `sp bag add <skill> --source {shown}`"))
    } else {
        error.hint("use 1 to 64 characters of a-z, 0-9 and single hyphens")
    }
}

/// Returns the requirements that a context declares.
fn context_requirements(
    context: &Context<'_>,
    workspace: &Workspace,
    file: &WorkspaceContext,
) -> Vec<SkillRequirement<LocatedSource>> {
    let root = Some(workspace.root.as_path());
    let declared = file.dependencies.iter();
    declared
        .map(|dependency| requirement(context, dependency, root, format!("`{}`", file.file)))
        .collect()
}

/// Returns the requirement of a skill that the user named. What the request leaves out comes from
/// the lockfile.
fn named_requirement(
    context: &Context<'_>,
    workspace: &Workspace,
    request: &GetSkillsRequest,
    name: &str,
    source: Option<&SourceRef>,
) -> SkillRequirement<LocatedSource> {
    let record = workspace.lock.skills.get(name);
    // A path on the command line is relative to the current directory, and one in the lockfile to
    // the workspace.
    let requested =
        source.cloned().map(|source| LocatedSource::new(context, source, &context.current_dir));
    let locked = || {
        let source = record.and_then(|record| locked_source(name, record, request.upgrade))?;
        Some(LocatedSource::new(context, source, &workspace.root))
    };
    let version = request
        .version
        .clone()
        .or_else(|| record.and_then(|record| locked_version(record).cloned()));
    SkillRequirement {
        name: name.into(),
        source: requested.or_else(locked),
        version: version.filter(|_| request.source.is_none() || request.version.is_some()),
        required: true,
        requested_by: "you".into(),
    }
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
        overrides.extend(context_requirements(context, workspace, file));
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
    let workspace = provider.workspace;
    let mut total = 0;
    for (name, skill) in resolved {
        let ResolvedSource::Source(located, version) = &skill.source else { continue };
        let old_record = workspace.lock.skills.get(name);
        let source = provider.fetch_source(located, version.as_deref())?;
        check_extra_steps(source, old_record, request.extra_steps)?;
        let content = source.load_skill(session, name)?;
        total += content.total_bytes();
        check_total_size(session, total)?;
        let record = LockedSkill {
            source: located.to_lock_source(&workspace.root),
            query: located.source.omits_query().then_some(LockedQuery::Omitted),
            archive: source.archive_digest(),
            version: version.clone(),
            commit: source.commit().map(Into::into),
            tree: content.digest(),
            steps: extra_steps_digest(source),
            extra: old_record.map(|record| record.extra.clone()).unwrap_or_default(),
        };
        let requested_by = skill.requested_by.clone();
        incoming.push(IncomingSkill { name: name.clone(), content, record, requested_by });
    }
    Ok(incoming)
}

fn extra_steps_digest(source: &WorkspaceSource) -> Option<Digest> {
    source.extra_steps.as_ref().map(|steps| Digest::of(steps.as_bytes()))
}

/// Checks that the user confirmed the extra steps of a source, now or when the skill was installed.
fn check_extra_steps(
    source: &WorkspaceSource,
    old_record: Option<&LockedSkill>,
    confirmation: ExtraSteps,
) -> Result<()> {
    let Some(text) = &source.extra_steps else { return Ok(()) };
    let steps = extra_steps_digest(source);
    let confirmed_before = old_record.is_some_and(|record| record.steps == steps);
    if confirmation == ExtraSteps::Done || confirmed_before {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::ManualSteps,
        format!("`{}` requires extra installation steps", source.display_name),
    )
    .because(text.clone())
    .hint(
        "nothing was changed, and `sp` runs none of these steps: review and complete them, then add `--steps-done`",
    ))
}

fn check_total_size(session: &Session<'_>, total: u64) -> Result<()> {
    let limit = session.limits.zip_bytes;
    if total <= limit {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::LimitExceeded,
        format!("the skills are larger than {} in total", ByteSize(limit)),
    )
    .hint("add fewer skills at once, or raise the limit with `--limit zip-bytes=<bytes>`"))
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
    let (names, verb) = (edited.join("`, `"), plural(edited.len(), "was", "were"));
    Err(Error::new(ErrorCode::EditedSkill, format!("`{names}` {verb} edited, or not installed by `sp`"))
        .hint("nothing was changed: add `--replace` to replace the folder; the old one is kept until `sp clean`"))
}
