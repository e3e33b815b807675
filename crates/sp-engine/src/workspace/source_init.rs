//! `sp bag source init`: makes a directory a SkillBag source.

use std::path::Path;

use sp_formats::output::WorkspaceChangeReport;
use sp_formats::workspace::{AGENTS_FILE, CATALOG_FILE, SKILLS_DIR, read_agents_file};

use super::changes::{WorkspaceChanges, WorkspaceFile};
use super::workspace_dir::{Workspace, find_root, read_optional_text};
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

const AGENTS_TEMPLATE: &str = include_str!("templates/AGENTS.md");

/// Makes a directory a SkillBag source.
pub fn source_init(
    context: &Context<'_>,
    root: Option<&Path>,
    apply: ApplyOptions,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let root = match root {
        Some(_) => find_root(context, root)?,
        None => context.current_dir.clone(),
    };
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let workspace = Workspace::read(&session, root)?;
    workspace.refuse_invalid_skills()?;
    let files: Vec<WorkspaceFile> =
        agents_file_update(&session, &workspace.root)?.into_iter().collect();
    let mut written: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
    let changes =
        WorkspaceChanges { files, lock: workspace.lock.clone(), ..WorkspaceChanges::default() };
    let outcome = changes.run(&session, home.as_ref(), &workspace, apply)?;
    if outcome.catalog_changed {
        written.push(format!("{SKILLS_DIR}/{CATALOG_FILE}"));
    }
    let mut report = WorkspaceChangeReport {
        root: workspace.root,
        files: written,
        ..WorkspaceChangeReport::default()
    };
    outcome.add_to(&mut report);
    Ok(report)
}

/// Returns an `AGENTS.md` that describes a source, unless there is one. The text of an existing
/// file is kept.
fn agents_file_update(session: &Session<'_>, root: &Path) -> Result<Option<WorkspaceFile>> {
    let old = read_optional_text(&root.join(AGENTS_FILE), session.limits.markdown_bytes)?;
    let is_source = old
        .as_deref()
        .is_some_and(|text| read_agents_file(AGENTS_FILE, text).1.findings.is_empty());
    if is_source {
        return Ok(None);
    }
    let text = old.map_or_else(
        || AGENTS_TEMPLATE.to_owned(),
        |old| format!("{}\n\n{AGENTS_TEMPLATE}", old.trim_end()),
    );
    Ok(Some(WorkspaceFile { name: AGENTS_FILE.into(), bytes: text.into_bytes() }))
}
