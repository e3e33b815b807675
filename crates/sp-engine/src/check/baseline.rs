//! Reading and writing the baseline of a check, which is one of the things that accept findings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::FileFindings;
use sp_formats::accept::rules::AU_07;
use sp_formats::accept::{Baseline, UnusedBaseline};
use sp_formats::report::LocatedFinding;

use super::fix::FileDrafts;
use super::{CheckRequest, CheckResults, check_with};
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{canonicalize_existing, parent_and_name, read_for_update};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::session::Session;
use crate::token_counter::TokenCounter;

/// Decides which findings are accepted, file by file.
pub(super) trait AcceptedFindings {
    fn enter_file(&mut self, file: &FileFindings);

    fn accepts(&mut self, placed: &LocatedFinding) -> bool;
}

/// A baseline that was read, and the directory to which its paths are relative.
pub(super) struct ReadBaseline {
    dir: PathBuf,
    unused: UnusedBaseline,
    /// The name of the current file.
    name: String,
}

impl AcceptedFindings for ReadBaseline {
    fn enter_file(&mut self, file: &FileFindings) {
        self.name = name_in(&self.dir, &file.path);
    }

    fn accepts(&mut self, placed: &LocatedFinding) -> bool {
        self.unused.take(&self.name, placed)
    }
}

/// Returns the path of a file relative to a directory without links, or else its real path.
fn name_in(dir: &Path, file: &Path) -> String {
    let real = canonicalize_existing(file);
    real.strip_prefix(dir).unwrap_or(&real).to_string_lossy().into_owned()
}

fn baseline_path(context: &Context<'_>, file: &Path) -> PathBuf {
    canonicalize_existing(&context.expand(&file.to_string_lossy()))
}

pub(super) fn read_baseline(session: &Session<'_>, file: &Path) -> Result<ReadBaseline> {
    let path = baseline_path(session.context, file);
    let shown = session.context.display_relative_path(&path);
    let bytes = sp_tree::read_limited(&path, session.limits.package_bytes).map_err(|error| {
        Error::new(ErrorCode::UnreadableFile, format!("cannot read the baseline `{shown}`"))
            .because(error.source)
            .hint(format!("run `sp check --baseline {shown} --write-baseline` to write it"))
    })?;
    let baseline = Baseline::parse(&bytes).map_err(|error| {
        Error::new(ErrorCode::InvalidBaseline, format!("invalid baseline `{shown}`"))
            .because(error)
            .hint(format!("run `sp check --baseline {shown} --write-baseline` to replace it"))
    })?;
    let dir = path.parent().unwrap_or(&path).into();
    Ok(ReadBaseline { dir, unused: baseline.into_unused(), name: String::new() })
}

/// Checks the targets, and writes all findings to a baseline. Returns the results of a check with
/// this baseline.
pub fn write_baseline(
    context: &Context<'_>,
    request: &CheckRequest,
    file: &Path,
) -> Result<CheckResults> {
    let session = Session::begin(context)?;
    let tokens = TokenCounter::open(context);
    let without = CheckRequest { baseline: None, ..request.clone() };
    let results = check_with(&session, &without, &tokens, &FileDrafts::default())?;
    let path = baseline_path(context, file);
    let dir = path.parent().unwrap_or(&path);
    let placed = results.files.iter().flat_map(|file| {
        let name = name_in(dir, &file.path);
        let findings = file.findings.iter().filter(|it| it.finding.check.id != AU_07.id);
        findings.map(move |placed| (name.clone(), placed))
    });
    let text = Baseline::new(placed).to_text().map_err(|error| {
        Error::new(ErrorCode::Internal, "cannot write the baseline as JSON").because(error)
    })?;
    let (old, before) = read_for_update(&path, session.limits.package_bytes)?;
    if old.as_deref() != Some(text.as_bytes()) {
        let (dir, name) = parent_and_name(&path)?;
        let plan = FilePlan::new(dir.into(), name, before, Some(Arc::from(text.into_bytes())));
        let home = LockedHome::open_unless_dry_run(context, &session.limits, ApplyMode::Apply)?;
        ChangeExecutor { session: &session, home: home.as_ref(), options: ApplyMode::Apply.into() }
            .execute_files(vec![plan])?;
    }
    let with = CheckRequest { baseline: Some(path), ..request.clone() };
    let checked = check_with(&session, &with, &tokens, &FileDrafts::default());
    tokens.store();
    checked
}
