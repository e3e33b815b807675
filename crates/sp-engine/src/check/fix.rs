//! `sp check --fix`: what is mechanical and safe, first on a draft, then on disk.
//!
//! Fixing one thing may bring another to light, so drafts are checked again until nothing is
//! left to fix. A second run therefore finds nothing to do, and a dry run shows it all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::FileFindings;
use sp_formats::report::{Edit, edited, text_digest};
use sp_tree::atomic::rewrite;
use sp_tree::{Dir, FileError, Follow, Name, Stamp, read_limited};

use super::{CheckRequest, Checked, check_with};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::install::Mode;
use crate::tokens::Tokens;

/// Fixes that bring others to light, and those again, end here.
const MAX_ROUNDS: usize = 8;

/// What was mended, and what is left.
#[derive(Debug)]
pub struct Fixed {
    /// The files that were changed, or would be.
    pub files: Vec<FixedFile>,
    /// How many problems were mended, or would be.
    pub problems: usize,
    /// Whether it was done, or only shown.
    pub applied: bool,
    /// What is found when it is done.
    pub left: Checked,
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
pub(super) struct Drafts {
    drafts: BTreeMap<PathBuf, Draft>,
}

#[derive(Debug)]
struct Draft {
    /// What the file looked like before it was read.
    stamp: Stamp,
    before: String,
    after: String,
}

impl Drafts {
    /// The bytes of a file, as they are to be.
    pub(super) fn read(&self, path: &Path, limit: u64) -> std::result::Result<Vec<u8>, FileError> {
        match self.drafts.get(path) {
            Some(draft) => Ok(draft.after.clone().into_bytes()),
            None => read_limited(path, limit),
        }
    }

    /// Does what the findings of a file say, and tells how many were mended.
    fn apply(&mut self, session: &Session<'_>, file: &FileFindings) -> Result<usize> {
        let mending: Vec<&Vec<Edit>> =
            file.findings.iter().map(|placed| &placed.finding.fix).filter(|fix| !fix.is_empty()).collect();
        if mending.is_empty() {
            return Ok(0);
        }
        let draft = match self.drafts.get_mut(&file.path) {
            Some(draft) => draft,
            None => self.drafts.entry(file.path.clone()).or_insert(open(session, &file.path)?),
        };
        if file.digest != Some(text_digest(&draft.after)) {
            return Err(changed(session.context, &file.path));
        }
        draft.after = edited(&draft.after, mending.iter().flat_map(|fix| fix.iter().cloned()).collect());
        Ok(mending.len())
    }
}

/// Mends what the request names.
pub fn fix(context: &Context<'_>, request: &CheckRequest, mode: Mode) -> Result<Fixed> {
    let session = Session::begin(context)?;
    let tokens = Tokens::open(context);
    let mut drafts = Drafts::default();
    let mut left = check_with(&session, request, &tokens, &drafts)?;
    let mut problems = 0;
    for _ in 0..MAX_ROUNDS {
        let mended: usize = left.files.iter().map(|file| drafts.apply(&session, file)).sum::<Result<_>>()?;
        if mended == 0 {
            break;
        }
        problems += mended;
        left = check_with(&session, request, &tokens, &drafts)?;
    }
    tokens.store();
    let drafts = drafts.drafts.into_iter().filter(|(_, draft)| draft.before != draft.after);
    let mut files = Vec::new();
    for (path, draft) in drafts {
        let file = context.show_near(&path);
        if mode == Mode::Apply {
            context.tell(Event::Rewriting { file: &file, before: &draft.before, after: &draft.after });
            write(context, &path, &draft)?;
        }
        files.push(FixedFile { file, path, before: draft.before, after: draft.after });
    }
    Ok(Fixed { files, problems, applied: mode == Mode::Apply, left })
}

/// Reads the file that a draft starts from.
fn open(session: &Session<'_>, path: &Path) -> Result<Draft> {
    let (dir, name) = real(path)?;
    let stamp = dir.look(&name, Follow::Never)?;
    let bytes = read_limited(path, session.limits.markdown_bytes)?;
    match (stamp, String::from_utf8(bytes)) {
        (Some(stamp), Ok(text)) => Ok(Draft { stamp, before: text.clone(), after: text }),
        _ => Err(changed(session.context, path)),
    }
}

fn write(context: &Context<'_>, path: &Path, draft: &Draft) -> Result<()> {
    let (dir, name) = real(path)?;
    let temp = named(&format!(".{name}.{}", context.run_id))?;
    match rewrite(&dir, &name, &draft.stamp, &temp, draft.after.as_bytes())? {
        true => Ok(()),
        false => Err(changed(context, path)),
    }
}

/// The directory and name of the file itself, behind all links.
fn real(path: &Path) -> Result<(Dir, Name)> {
    let real = path.canonicalize().map_err(|e| FileError::new("find", path, e))?;
    let parent = real.parent().unwrap_or(Path::new("/"));
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    Ok((Dir::open(parent)?, named(&name)?))
}

fn named(name: &str) -> Result<Name> {
    Name::new(name).map_err(|e| Error::new(Kind::Data, format!("`{name}` cannot be mended")).because(e))
}

fn changed(context: &Context<'_>, path: &Path) -> Error {
    Error::new(Kind::Request, format!("`{}` changed while it was being mended", context.show_near(path)))
        .hint("it was left as it is: run it again")
}
