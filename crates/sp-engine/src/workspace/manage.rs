//! `sp bag init`, `sync`, `deps`, `list`, `remove` and `source init`: managing a workspace.

use std::path::{Path, PathBuf};

use sp_formats::output::{
    FolderAction, WorkspaceChangeReport, WorkspaceDependencyItem, WorkspaceDependencyReport,
    WorkspaceSkillChange, WorkspaceSkillItem, WorkspaceSkillList,
};
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{
    AGENTS_FILE, BOOTSTRAP_SKILL, CATALOG_FILE, ENTRYPOINT_FILE, LATEST_VERSION, LockedSkill,
    SKILLS_DIR, USER_CONTEXT_FILE, WorkspaceSkill, read_agents_file, read_entrypoint,
    write_catalog,
};
use sp_tree::{LoadedTree, RelPath};

use super::changes::WorkspaceChanges;
use super::get::{
    ExtraSteps, GetSkillsRequest, UpgradePolicy, WorkspaceExtras, get_into, prune_lock,
};
use super::workspace_dir::{Workspace, find_root, read_optional_text};
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::plan::ReplacePolicy;
use crate::session::Session;

const ENTRYPOINT_TEMPLATE: &str = include_str!("templates/SKILLBAG.md");
const BOOTSTRAP_TEMPLATE: &str = include_str!("templates/bootstrap.md");
const AGENTS_TEMPLATE: &str = include_str!("templates/AGENTS.md");

/// Creates or completes a workspace, and installs the skills that its contexts declare.
pub fn init(
    context: &Context<'_>,
    dir: Option<&Path>,
    entrypoint: Option<&Path>,
    steps: ExtraSteps,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let root = dir
        .map_or_else(|| context.current_dir.clone(), |dir| context.expand(&dir.to_string_lossy()));
    let text = entrypoint_text(&session, entrypoint)?;
    sp_tree::Dir::create_all(&root)?;
    let workspace = Workspace::read(&session, root)?;
    let mut files = Vec::new();
    if !workspace.root.join(ENTRYPOINT_FILE).exists() {
        files.push((ENTRYPOINT_FILE.to_owned(), text.into_bytes()));
    }
    files.extend(gitignore_update(&session, &workspace.root)?);
    let skills = if workspace.skills_dir().join(BOOTSTRAP_SKILL).exists() {
        Vec::new()
    } else {
        vec![bootstrap_skill()?]
    };
    let request = GetSkillsRequest {
        names: Vec::new(),
        source: None,
        keep_query: Vec::new(),
        version: None,
        upgrade: UpgradePolicy::Keep,
        replace: ReplacePolicy::Refuse,
        extra_steps: steps,
        root: None,
        mode: ApplyMode::Apply,
    };
    let written: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let mut report = get_into(&session, &workspace, &request, WorkspaceExtras { files, skills })?;
    report.files = written;
    Ok(report)
}

/// Returns the text of the entrypoint: that of the given file, or the template.
fn entrypoint_text(session: &Session<'_>, given: Option<&Path>) -> Result<String> {
    let Some(path) = given else {
        return Ok(ENTRYPOINT_TEMPLATE.replace("{version}", &LATEST_VERSION.to_string()));
    };
    let path = session.context.expand(&path.to_string_lossy());
    let text = read_optional_text(&path, session.limits.markdown_bytes)?.ok_or_else(|| {
        Error::new(
            ErrorCode::FileNotFound,
            format!("there is no file `{}`", session.context.display_path(&path)),
        )
        .hint("give `--entrypoint` a text that exists")
    })?;
    match read_entrypoint(&session.context.display_relative_path(&path), &text) {
        (Some(_), _) => Ok(text),
        (None, report) => Err(Error::in_file(
            ErrorCode::InvalidWorkspace,
            "the text cannot be an entrypoint",
            report,
        )),
    }
}

/// Returns the reserved skill and its record for the lockfile.
fn bootstrap_skill() -> Result<(String, LoadedTree, LockedSkill)> {
    let mut content = LoadedTree::default();
    let path = RelPath::new(SKILL_FILE)?;
    content.add_file(path, false, BOOTSTRAP_TEMPLATE.as_bytes().to_vec());
    let record = LockedSkill {
        source: "sp".into(),
        query: None,
        archive: None,
        version: None,
        commit: None,
        tree: content.digest(),
        steps: None,
        extra: std::collections::BTreeMap::new(),
    };
    Ok((BOOTSTRAP_SKILL.into(), content, record))
}

/// Returns a `.gitignore` that lists `USER_CONTEXT.md`, if it does not list it yet.
fn gitignore_update(session: &Session<'_>, root: &Path) -> Result<Option<(String, Vec<u8>)>> {
    const IGNORE: &str = ".gitignore";
    let text =
        read_optional_text(&root.join(IGNORE), session.limits.markdown_bytes)?.unwrap_or_default();
    let is_listed =
        text.lines().any(|line| matches!(line.trim().trim_start_matches('/'), USER_CONTEXT_FILE));
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok((!is_listed)
        .then(|| (IGNORE.into(), format!("{text}{gap}{USER_CONTEXT_FILE}\n").into_bytes())))
}

/// Creates missing generated parts of a workspace: the reserved skill, the catalog, and the line in
/// `.gitignore`.
pub fn repair(context: &Context<'_>, root: Option<&Path>) -> Result<()> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    let workspace = Workspace::open(&session, root)?;
    let mut changes =
        WorkspaceChanges { lock: workspace.lock.clone(), ..WorkspaceChanges::default() };
    if workspace.root.join(ENTRYPOINT_FILE).is_file() {
        if !workspace.skills_dir().join(BOOTSTRAP_SKILL).exists() {
            let (name, content, record) = bootstrap_skill()?;
            changes.lock.skills.insert(name.clone(), record);
            changes.put.push((name, content));
        }
        changes.files.extend(gitignore_update(&session, &workspace.root)?);
    }
    changes.apply(&session, &home, &workspace)?;
    Ok(())
}

/// Regenerates the catalog.
pub fn sync(
    context: &Context<'_>,
    root: Option<&Path>,
    mode: ApplyMode,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, mode)?;
    let workspace = Workspace::open(&session, root)?;
    refuse_invalid_skills(&workspace)?;
    let lines: Vec<_> = workspace.skills.iter().map(WorkspaceSkill::catalog_line).collect();
    let old = read_optional_text(&workspace.catalog_path(), session.limits.markdown_bytes)?;
    let mut report = WorkspaceChangeReport {
        applied: mode == ApplyMode::Apply,
        root: workspace.root.clone(),
        ..WorkspaceChangeReport::default()
    };
    report.catalog_changed = old.as_deref() != Some(&write_catalog(&lines));
    if let Some(home) = home.filter(|_| report.catalog_changed) {
        WorkspaceChanges { lock: workspace.lock.clone(), ..WorkspaceChanges::default() }
            .apply(&session, &home, &workspace)?;
    }
    Ok(report)
}

/// Refuses a workspace with invalid skills: they cannot be in the catalog, and omitting them
/// silently would hide them.
fn refuse_invalid_skills(workspace: &Workspace) -> Result<()> {
    if workspace.invalid_skills.is_empty() {
        return Ok(());
    }
    let mut error =
        Error::new(ErrorCode::InvalidWorkspace, "not every folder below `.skills/` is a skill")
            .hint("nothing was changed: mend them, or move them away");
    error.reports = workspace.invalid_skills.iter().map(|(_, report)| report.clone()).collect();
    Err(error)
}

/// Returns the skills of the workspace with their sources.
pub fn list(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceSkillList> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let mut skills = Vec::new();
    for skill in &workspace.skills {
        let record = workspace.lock.skills.get(skill.name.as_str());
        skills.push(WorkspaceSkillItem {
            name: skill.name.to_string(),
            description: skill.description.clone(),
            tags: workspace.tags(skill).0.into_iter().collect(),
            source: record.map(|record| record.source.clone()),
            version: record.and_then(|record| record.version.clone()),
            commit: record.and_then(|record| record.commit.clone()),
            edited: workspace.is_edited(&session, skill.name.as_str())?,
        });
    }
    Ok(WorkspaceSkillList { root: workspace.root.clone(), skills })
}

/// Removes skills. Fails if a remaining skill requires one of them.
pub fn remove(
    context: &Context<'_>,
    root: Option<&Path>,
    names: &[String],
    mode: ApplyMode,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let mut names = names.to_vec();
    names.sort();
    names.dedup();
    let home = LockedHome::open_unless_dry_run(context, &session.limits, mode)?;
    let workspace = Workspace::open(&session, root)?;
    for name in &names {
        check_removable(&workspace, name, &names)?;
    }
    let mut report = WorkspaceChangeReport {
        applied: mode == ApplyMode::Apply,
        root: workspace.root.clone(),
        ..WorkspaceChangeReport::default()
    };
    report.skills = names
        .iter()
        .map(|name| WorkspaceSkillChange {
            name: name.clone(),
            action: FolderAction::Remove,
            by: vec!["you".into()],
            source: workspace.lock.skills.get(name).map(|record| record.source.clone()),
        })
        .collect();
    if let Some(home) = home {
        let lock = prune_lock(&workspace.lock, &names);
        let changes = WorkspaceChanges { remove: names, lock, ..WorkspaceChanges::default() };
        let changed = changes.apply(&session, &home, &workspace)?;
        report.kept = changed.kept;
        report.catalog_changed = changed.catalog_changed;
    }
    Ok(report)
}

fn check_removable(workspace: &Workspace, name: &str, names: &[String]) -> Result<()> {
    if name == BOOTSTRAP_SKILL {
        return Err(Error::new(
            ErrorCode::ReservedName,
            format!("`{BOOTSTRAP_SKILL}` is reserved, and every workspace has it"),
        )
        .hint("nothing was changed"));
    }
    if name.is_empty()
        || !workspace.skills_dir().join(name).is_dir()
        || name.contains(['/', '\\'])
        || name.starts_with('.')
    {
        let known: Vec<&str> = workspace.skills.iter().map(|skill| skill.name.as_str()).collect();
        return Err(Error::new(
            ErrorCode::SkillNotFound,
            format!("there is no skill called `{name}` in `.skills/`"),
        )
        .hint(format!("the skills are: {}", known.join(", "))));
    }
    let declares = |file: &&sp_formats::workspace::WorkspaceContext| {
        file.dependencies.iter().any(|need| need.name.as_str() == name)
    };
    if let Some(file) = workspace.contexts.iter().find(declares) {
        return Err(Error::new(
            ErrorCode::StillRequired,
            format!("`{name}` is declared in `{}`", file.file),
        )
        .hint("nothing was changed: take it out there first"));
    }
    let needs = |skill: &&WorkspaceSkill| {
        skill.dependencies.iter().any(|need| need.required && need.name.as_str() == name)
    };
    let remains =
        |skill: &&WorkspaceSkill| !names.iter().any(|removed| removed == skill.name.as_str());
    let needed: Vec<&str> = workspace
        .skills
        .iter()
        .filter(remains)
        .filter(needs)
        .map(|skill| skill.name.as_str())
        .collect();
    match needed[..] {
        [] => Ok(()),
        _ => Err(Error::new(
            ErrorCode::StillRequired,
            format!("`{name}` is needed by `{}`", needed.join("`, `")),
        )
        .hint("nothing was changed: remove those too, in the same command")),
    }
}

/// Returns the dependencies that contexts and skills declare. Fetches nothing.
pub fn deps(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceDependencyReport> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let item = |by: &str, need: &sp_formats::workspace::SkillDependency| WorkspaceDependencyItem {
        name: need.name.to_string(),
        by: by.into(),
        source: need.source.as_ref().map(ToString::to_string),
        version: need.version.clone(),
        required: need.required,
        present: workspace.skill(need.name.as_str()).is_some(),
    };
    let declared = workspace
        .contexts
        .iter()
        .flat_map(|file| file.dependencies.iter().map(move |need| (&file.file, need)));
    let mut dependencies: Vec<WorkspaceDependencyItem> =
        declared.map(|(file, need)| item(file, need)).collect();
    for skill in &workspace.skills {
        dependencies.extend(skill.dependencies.iter().map(|need| item(skill.name.as_str(), need)));
    }
    let skills = workspace.skills.iter().map(|skill| skill.name.to_string()).collect();
    Ok(WorkspaceDependencyReport {
        conflicts: find_conflicts(&dependencies),
        root: workspace.root.clone(),
        skills,
        dependencies,
    })
}

/// Returns the pairs of declarations with different sources or versions that no context overrides.
fn find_conflicts(dependencies: &[WorkspaceDependencyItem]) -> Vec<String> {
    let mut conflicts = Vec::new();
    for (index, dependency) in dependencies.iter().enumerate() {
        for other in dependencies[..index]
            .iter()
            .filter(|other| other.name == dependency.name && !other.by.ends_with(".md"))
        {
            let differ =
                |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
            if differ(&dependency.source, &other.source)
                || differ(&dependency.version, &other.version)
            {
                let shown = |item: &WorkspaceDependencyItem| {
                    let parts = [item.source.clone(), item.version.clone()];
                    parts.into_iter().flatten().collect::<Vec<_>>().join(" at ")
                };
                conflicts.push(format!(
                    "`{}`: {} wants {}, {} wants {}",
                    dependency.name,
                    other.by,
                    shown(other),
                    dependency.by,
                    shown(dependency)
                ));
            }
        }
    }
    conflicts
}

/// Makes a directory a SkillBag source.
pub fn source_init(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let root: PathBuf = match root {
        Some(_) => find_root(context, root)?,
        None => context.current_dir.clone(),
    };
    let home = LockedHome::open(context, &session.limits)?;
    let workspace = Workspace::read(&session, root)?;
    refuse_invalid_skills(&workspace)?;
    let mut files = Vec::new();
    let old = read_optional_text(&workspace.root.join(AGENTS_FILE), session.limits.markdown_bytes)?;
    let is_source = old
        .as_deref()
        .is_some_and(|text| read_agents_file(AGENTS_FILE, text).1.findings.is_empty());
    if !is_source {
        // Append to an existing file.
        let text = old.map_or_else(
            || AGENTS_TEMPLATE.to_owned(),
            |old| format!("{}\n\n{AGENTS_TEMPLATE}", old.trim_end()),
        );
        files.push((AGENTS_FILE.to_owned(), text.into_bytes()));
    }
    let mut report = WorkspaceChangeReport {
        applied: true,
        root: workspace.root.clone(),
        ..WorkspaceChangeReport::default()
    };
    report.files = files.iter().map(|(name, _)| name.clone()).collect();
    let changes =
        WorkspaceChanges { files, lock: workspace.lock.clone(), ..WorkspaceChanges::default() };
    report.catalog_changed = changes.apply(&session, &home, &workspace)?.catalog_changed;
    if report.catalog_changed {
        report.files.push(format!("{SKILLS_DIR}/{CATALOG_FILE}"));
    }
    Ok(report)
}
