//! `sp bag init`: creates or completes a workspace.

use std::path::Path;

use sp_formats::output::WorkspaceChangeReport;
use sp_formats::workspace::{BOOTSTRAP_SKILL, ENTRYPOINT_FILE, LATEST_VERSION, read_entrypoint};

use super::changes::WorkspaceFile;
use super::generated_parts::{bootstrap_skill, gitignore_update};
use super::get::{ExtraSteps, GetSkillsRequest, WorkspaceExtras, get_into};
use super::workspace_dir::{Workspace, read_optional_text};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::plan_id::ApplyOptions;
use crate::session::Session;

const ENTRYPOINT_TEMPLATE: &str = include_str!("templates/SKILLBAG.md");

/// Creates or completes a workspace, and installs the skills that its contexts declare.
pub fn init(
    context: &Context<'_>,
    dir: Option<&Path>,
    entrypoint: Option<&Path>,
    steps: ExtraSteps,
    apply: ApplyOptions,
) -> Result<WorkspaceChangeReport> {
    let session = Session::begin(context)?;
    let root = dir
        .map_or_else(|| context.current_dir.clone(), |dir| context.expand(&dir.to_string_lossy()));
    let text = entrypoint_text(&session, entrypoint)?;
    if !apply.is_dry_run() {
        sp_tree::Dir::create_all(&root)?;
    }
    let workspace = Workspace::read(&session, root)?;
    let extras = missing_parts(&session, &workspace, text)?;
    let written: Vec<String> = extras.files.iter().map(|file| file.name.clone()).collect();
    let mut report =
        get_into(&session, &workspace, &GetSkillsRequest::declared(steps, apply), extras)?;
    report.files = written;
    Ok(report)
}

/// Returns the text of the entrypoint: that of the given file, or the template.
fn entrypoint_text(session: &Session<'_>, file: Option<&Path>) -> Result<String> {
    let Some(path) = file else {
        return Ok(ENTRYPOINT_TEMPLATE.replace("{version}", &LATEST_VERSION.to_string()));
    };
    let path = session.context.expand(&path.to_string_lossy());
    let text = read_optional_text(&path, session.limits.markdown_bytes)?.ok_or_else(|| {
        Error::new(
            ErrorCode::FileNotFound,
            format!("file not found: `{}`", session.context.display_path(&path)),
        )
        .hint("pass an existing file to `--entrypoint`")
    })?;
    match read_entrypoint(&session.context.display_relative_path(&path), &text) {
        (Some(_), _) => Ok(text),
        (None, report) => {
            Err(Error::in_file(ErrorCode::InvalidWorkspace, "invalid entrypoint", report))
        }
    }
}

/// Returns the parts that the workspace lacks.
fn missing_parts(
    session: &Session<'_>,
    workspace: &Workspace,
    entrypoint: String,
) -> Result<WorkspaceExtras> {
    let mut extras = WorkspaceExtras::default();
    if !workspace.root.join(ENTRYPOINT_FILE).exists() {
        let bytes = entrypoint.into_bytes();
        extras.files.push(WorkspaceFile { name: ENTRYPOINT_FILE.into(), bytes });
    }
    extras.files.extend(gitignore_update(session, &workspace.root)?);
    if !workspace.skills_dir().join(BOOTSTRAP_SKILL).exists() {
        extras.skills.push(bootstrap_skill()?);
    }
    Ok(extras)
}
