//! `sp check --fix`: what is mechanical and safe, first on a draft, then on disk.
//!
//! Fixing one thing may bring another to light, so drafts are checked again until nothing is
//! left to fix. A second run therefore finds nothing to do, and a dry run shows it all. All files
//! are written in one transaction.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sp_formats::FileFindings;
use sp_formats::report::{apply_edits, text_digest};
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Dir, FileError, FileStamp, Follow, Name, read_limited};

use super::{CheckRequest, CheckResults, check_with};
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::session::Session;
use crate::token_counter::TokenCounter;

/// Fixes that bring others to light, and those again, end here.
const MAX_ROUNDS: usize = 8;

/// What was mended, and what is left.
#[derive(Debug)]
pub struct FixResults {
    /// The files that were changed, or would be.
    pub files: Vec<FixedFile>,
    /// How many problems were mended, or would be.
    pub problems: usize,
    /// Whether it was done, or only shown.
    pub applied: bool,
    /// What is found when it is done.
    pub remaining: CheckResults,
}

/// A file that was mended.
#[derive(Debug)]
pub struct FixedFile {
    /// The file, as the user would name it.
    pub file: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its text before.
    pub before: String,
    /// Its text now.
    pub after: String,
}

/// Texts that are to be written, and count as if they were.
#[derive(Debug, Default)]
pub(super) struct FileDrafts {
    drafts: BTreeMap<PathBuf, FileDraft>,
}

#[derive(Debug)]
struct FileDraft {
    /// What the file looked like before it was read.
    stamp: FileStamp,
    before: String,
    after: String,
}

impl FileDrafts {
    /// The bytes of a file, as they are to be.
    pub(super) fn read(&self, path: &Path, limit: u64) -> std::result::Result<Vec<u8>, FileError> {
        if self.drafts.is_empty() {
            return read_limited(path, limit);
        }
        match self.drafts.get(&real_path(path)) {
            Some(draft) => Ok(draft.after.clone().into_bytes()),
            None => read_limited(path, limit),
        }
    }

    /// Does what the findings of files say, and tells whether anything was to be done. What was
    /// mended goes to `mended`.
    fn apply_fixes(
        &mut self,
        session: &Session<'_>,
        files: &[FileFindings],
        mended: &mut FixedProblems,
    ) -> Result<bool> {
        // A file that two paths lead to has its findings twice, and is mended once.
        let mut done = BTreeSet::new();
        for file in files {
            let fixable = || file.findings.iter().filter(|placed| !placed.finding.fix.is_empty());
            let path = real_path(&file.path);
            if fixable().next().is_none() || !done.insert(path.clone()) {
                continue;
            }
            let draft = match self.drafts.entry(path) {
                Entry::Occupied(draft) => draft.into_mut(),
                Entry::Vacant(place) => place.insert(open_draft(session, &file.path)?),
            };
            if file.digest != Some(text_digest(&draft.after)) {
                return Err(changed_error(session.context, &file.path));
            }
            draft.after = apply_edits(
                &draft.after,
                fixable().flat_map(|placed| placed.finding.fix.clone()).collect(),
            );
            let told = fixable().map(|placed| {
                (file.path.clone(), placed.finding.check.id, placed.finding.message.clone())
            });
            mended.extend(told);
        }
        Ok(!done.is_empty())
    }
}

/// Problems that were mended: in which file, against which rule, in which words.
type FixedProblems = BTreeSet<(PathBuf, &'static str, String)>;

/// The path behind all links, by which a file is known.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// Mends what the request names.
pub fn fix(context: &Context<'_>, request: &CheckRequest, mode: ApplyMode) -> Result<FixResults> {
    let session = Session::begin(context)?;
    let tokens = TokenCounter::open(context);
    let mut drafts = FileDrafts::default();
    let mut left = check_with(&session, request, &tokens, &drafts)?;
    let mut mended = FixedProblems::new();
    for _ in 0..MAX_ROUNDS {
        if !drafts.apply_fixes(&session, &left.files, &mut mended)? {
            break;
        }
        left = check_with(&session, request, &tokens, &drafts)?;
    }
    tokens.store();
    drafts.drafts.retain(|_, draft| draft.before != draft.after);
    if let Some(home) = LockedHome::open_unless_dry_run(context, &session.limits, mode)? {
        let plans = drafts
            .drafts
            .iter()
            .map(|(path, draft)| draft_file_plan(path, draft))
            .collect::<Result<_>>()?;
        ChangeExecutor { session: &session, home: Some(&home), options: mode.into() }
            .execute_files(plans)?;
    }
    let mut files = Vec::new();
    for (path, draft) in drafts.drafts {
        let file = context.display_relative_path(&path);
        if mode == ApplyMode::Apply {
            context.emit(Event::Rewritten {
                file: &file,
                before: &draft.before,
                after: &draft.after,
            });
        }
        files.push(FixedFile { file, path, before: draft.before, after: draft.after });
    }
    Ok(FixResults {
        files,
        problems: mended.len(),
        applied: mode == ApplyMode::Apply,
        remaining: left,
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

/// The change that writes a draft to its file, whose path has no links in it.
fn draft_file_plan(path: &Path, draft: &FileDraft) -> Result<FilePlan> {
    let (dir, name) = open_parent(path)?;
    let before = PriorState::UserFile(draft.stamp, Digest::of(draft.before.as_bytes()));
    Ok(FilePlan::new(dir.path().to_owned(), name, before, Some(draft.after.as_bytes().into())))
}

/// The directory and name of the file itself, behind all links.
fn open_parent(path: &Path) -> Result<(Dir, Name)> {
    let real = path.canonicalize().map_err(|e| FileError::new("find", path, e))?;
    let parent = real.parent().unwrap_or(Path::new("/"));
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    Ok((Dir::open(parent)?, fixable_name(&name)?))
}

fn fixable_name(name: &str) -> Result<Name> {
    Name::new(name)
        .map_err(|e| Error::new(FailureKind::Data, format!("`{name}` cannot be mended")).because(e))
}

fn changed_error(context: &Context<'_>, path: &Path) -> Error {
    Error::new(
        FailureKind::Request,
        format!("`{}` changed while it was being mended", context.display_relative_path(path)),
    )
    .hint("it was left as it is: run it again")
}
