//! `sp check --fix`: applies the edits of findings, first to drafts and then to the files.
//!
//! A fix may reveal another problem, so drafts are checked again until there is nothing left to
//! fix. A second run therefore changes nothing, and a dry run shows all changes. All files are
//! written in one transaction.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sp_formats::FileFindings;
use sp_formats::output::PlanStatus;
use sp_formats::report::{apply_edits, text_digest};
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Dir, FileError, FileStamp, Follow, Name, read_limited};

use super::resolve::resolve_targets;
use super::{CheckRequest, CheckResults, check, check_with};
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, FailureKind, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::plan_id::{ApplyOptions, PlanHasher};
use crate::session::Session;
use crate::token_counter::TokenCounter;
use crate::workspace::workspace_dir::is_workspace;
use crate::workspace::{RepairedFile, repair};

/// The maximum number of times that drafts are checked again.
const MAX_ROUNDS: usize = 8;

/// What was fixed, and what remains.
#[derive(Debug)]
pub struct FixResults {
    /// The files that were changed, or would be in a dry run.
    pub files: Vec<FixedFile>,
    /// The number of fixed problems.
    pub problems: usize,
    /// Whether the files were written.
    pub applied: bool,
    /// The results of a check after the fixes.
    pub remaining: CheckResults,
}

/// A fixed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    /// The path for display.
    pub file: String,
    pub path: PathBuf,
    /// The text before the fix.
    pub before: String,
    /// The text after the fix.
    pub after: String,
}

/// Fixed texts that are not written yet, by real path.
#[derive(Debug, Default)]
pub(super) struct FileDrafts {
    drafts: BTreeMap<PathBuf, FileDraft>,
}

#[derive(Debug)]
struct FileDraft {
    /// The stamp of the file before it was read.
    stamp: FileStamp,
    before: String,
    after: String,
}

impl FileDrafts {
    /// Reads the draft of a file or, if there is none, the file.
    pub(super) fn read(&self, path: &Path, limit: u64) -> std::result::Result<Vec<u8>, FileError> {
        if self.drafts.is_empty() {
            return read_limited(path, limit);
        }
        match self.drafts.get(&real_path(path)) {
            Some(draft) => Ok(draft.after.clone().into_bytes()),
            None => read_limited(path, limit),
        }
    }

    /// Returns the drafts for display.
    fn to_files(&self, context: &Context<'_>) -> Vec<FixedFile> {
        let file = |(path, draft): (&PathBuf, &FileDraft)| FixedFile {
            file: context.display_relative_path(path),
            path: path.clone(),
            before: draft.before.clone(),
            after: draft.after.clone(),
        };
        self.drafts.iter().map(file).collect()
    }

    /// Applies the fixes of findings to drafts, and adds the problems to `fixed`. Returns whether
    /// there were any.
    fn apply_fixes(
        &mut self,
        session: &Session<'_>,
        files: &[FileFindings],
        fixed: &mut BTreeSet<FixedProblem>,
    ) -> Result<bool> {
        // Two paths may lead to one file, which is fixed once.
        let mut fixed_paths = BTreeSet::new();
        for file in files {
            let fixable = || file.findings.iter().filter(|placed| !placed.finding.fix.is_empty());
            let path = real_path(&file.path);
            if fixable().next().is_none() || !fixed_paths.insert(path.clone()) {
                continue;
            }
            let draft = match self.drafts.entry(path) {
                Entry::Occupied(draft) => draft.into_mut(),
                Entry::Vacant(entry) => entry.insert(open_draft(session, &file.path)?),
            };
            if file.digest != Some(text_digest(&draft.after)) {
                return Err(changed_error(session.context, &file.path));
            }
            draft.after = apply_edits(
                &draft.after,
                fixable().flat_map(|placed| placed.finding.fix.clone()).collect(),
            );
            fixed.extend(fixable().map(|placed| FixedProblem {
                path: file.path.clone(),
                rule: placed.finding.check.id,
                message: placed.finding.message.clone(),
            }));
        }
        Ok(!fixed_paths.is_empty())
    }
}

/// A problem that was fixed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FixedProblem {
    path: PathBuf,
    rule: &'static str,
    message: String,
}

/// Resolves the links of a path, so that a file has one draft.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// Decides, given all changes, whether they are written.
type Confirmation<'a> = &'a dyn Fn(&[FixedFile]) -> Result<bool>;

/// Fixes the targets of the request.
pub fn fix(context: &Context<'_>, request: &CheckRequest, mode: ApplyMode) -> Result<FixResults> {
    run_fix(context, request, mode, None)
}

/// Fixes the targets of the request if `confirm` agrees to the changes. It is not called if there
/// are none.
pub fn fix_if_confirmed(
    context: &Context<'_>,
    request: &CheckRequest,
    confirm: &dyn Fn(&[FixedFile]) -> Result<bool>,
) -> Result<FixResults> {
    run_fix(context, request, ApplyMode::Apply, Some(confirm))
}

/// Returns the status of a plan of fixes, unless another plan is expected.
pub fn confirm_fixes(
    repairs: &WorkspaceRepairs,
    files: &[FixedFile],
    apply: ApplyOptions,
) -> Result<PlanStatus> {
    let mut hasher = PlanHasher::of_operation("check --fix");
    hasher.list(repairs.files.iter(), |hasher, file| {
        hasher.path(&file.path);
        hasher.text(&file.before);
        hasher.text(&file.after);
    });
    hasher.list(files.iter(), |hasher, file| {
        hasher.path(&file.path);
        hasher.text(&file.before);
        hasher.text(&file.after);
    });
    apply.confirm(hasher.finish())
}

/// What was created in workspaces.
#[derive(Debug, Default)]
pub struct WorkspaceRepairs {
    pub files: Vec<RepairedFile>,
    /// The number of problems that this fixed.
    pub problems: usize,
}

/// Creates the missing generated parts of the workspaces among the targets.
pub fn repair_workspaces(
    context: &Context<'_>,
    request: &CheckRequest,
    mode: ApplyMode,
) -> Result<WorkspaceRepairs> {
    let targets = resolve_targets(context, request)?.into_iter().map(|target| target.path);
    let workspaces: Vec<PathBuf> = targets.filter(|path| is_workspace(path)).collect();
    if workspaces.is_empty() {
        return Ok(WorkspaceRepairs::default());
    }
    let before = check(context, request)?.finding_count();
    let mut files = Vec::new();
    for workspace in &workspaces {
        match repair(context, Some(workspace), mode) {
            // The check reports what prevented the repair.
            Err(error) if error.kind() == FailureKind::Data => {}
            repaired => files.extend(repaired?),
        }
    }
    let after = check(context, request)?.finding_count();
    // A missing line of `.gitignore` is repaired, but not reported as a finding.
    let problems = before.saturating_sub(after).max(files.len());
    Ok(WorkspaceRepairs { files, problems })
}

fn run_fix(
    context: &Context<'_>,
    request: &CheckRequest,
    mode: ApplyMode,
    confirm: Option<Confirmation<'_>>,
) -> Result<FixResults> {
    let session = Session::begin(context)?;
    let tokens = TokenCounter::open(context);
    let mut drafts = FileDrafts::default();
    let mut results = check_with(&session, request, &tokens, &drafts)?;
    let mut fixed = BTreeSet::new();
    for _ in 0..MAX_ROUNDS {
        if !drafts.apply_fixes(&session, &results.files, &mut fixed)? {
            break;
        }
        results = check_with(&session, request, &tokens, &drafts)?;
    }
    tokens.store();
    drafts.drafts.retain(|_, draft| draft.before != draft.after);
    let files = drafts.to_files(context);
    let mode = match confirm {
        // The home is not locked while the user thinks.
        Some(confirm) if !files.is_empty() && !confirm(&files)? => ApplyMode::DryRun,
        _ => mode,
    };
    if let Some(home) = LockedHome::open_unless_dry_run(context, &session.limits, mode)? {
        let drafts = drafts.drafts.iter();
        let plans = drafts.map(|(path, draft)| draft_file_plan(path, draft));
        ChangeExecutor { session: &session, home: Some(&home), options: mode.into() }
            .execute_files(plans.collect::<Result<_>>()?)?;
    }
    if mode == ApplyMode::Apply && confirm.is_none() {
        for FixedFile { file, before, after, .. } in &files {
            context.emit(Event::Rewritten { file, before, after });
        }
    }
    Ok(FixResults {
        files,
        problems: fixed.len(),
        applied: mode == ApplyMode::Apply,
        remaining: results,
    })
}

/// Reads the file that a draft starts from.
fn open_draft(session: &Session<'_>, path: &Path) -> Result<FileDraft> {
    let (dir, name) = open_parent(path)?;
    let stamp = dir.stat(&name, Follow::Never)?;
    let bytes = read_limited(path, session.limits.markdown_bytes)?;
    match (stamp, String::from_utf8(bytes)) {
        (Some(stamp), Ok(text)) => Ok(FileDraft { stamp, before: text.clone(), after: text }),
        _ => Err(changed_error(session.context, path)),
    }
}

/// Returns the plan that writes a draft. The path must have no links.
fn draft_file_plan(path: &Path, draft: &FileDraft) -> Result<FilePlan> {
    let (dir, name) = open_parent(path)?;
    let before = PriorState::UserFile(draft.stamp, Digest::of(draft.before.as_bytes()));
    Ok(FilePlan::new(dir.path().to_owned(), name, before, Some(draft.after.as_bytes().into())))
}

/// Opens the directory of a file, with links resolved, and returns the name of the file.
fn open_parent(path: &Path) -> Result<(Dir, Name)> {
    let real = path.canonicalize().map_err(|e| FileError::new("find", path, e))?;
    let parent = real.parent().unwrap_or(Path::new("/"));
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    Ok((Dir::open(parent)?, fixable_name(&name)?))
}

fn fixable_name(name: &str) -> Result<Name> {
    Name::new(name)
        .map_err(|e| Error::new(ErrorCode::NotFixable, format!("cannot fix `{name}`")).because(e))
}

fn changed_error(context: &Context<'_>, path: &Path) -> Error {
    Error::new(
        ErrorCode::ChangedMeanwhile,
        format!("`{}` changed while it was being fixed", context.display_relative_path(path)),
    )
    .hint("the file was not changed: run the command again")
}
