//! One settings file on disk. It is replaced only if it has not changed since it was read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Dir, EntryKind, FileError, FileStamp, Follow, Name, read_limited};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::canonicalize_existing;
use crate::install::plan::FilePlan;
use crate::session::Session;
use crate::sinks::SinkScope;

/// A settings file as it was read.
pub(super) struct SettingsFile {
    /// The path that the agent reads.
    pub path: PathBuf,
    /// The file behind all symlinks; none if it does not exist.
    found: Option<ExistingSettings>,
    /// The new text that is already planned for another agent that reads the same file.
    draft: Option<String>,
}

struct ExistingSettings {
    real_path: PathBuf,
    stamp: FileStamp,
    text: String,
}

/// New texts of settings files by canonical path, to be written in one transaction.
#[derive(Default)]
pub(super) struct SettingsDrafts(BTreeMap<PathBuf, SettingsDraft>);

struct SettingsDraft {
    before: PriorState,
    text: String,
}

impl SettingsDrafts {
    /// Plans a new text for a file.
    pub(super) fn put(&mut self, file: &SettingsFile, text: &str) {
        let before = file
            .found
            .as_ref()
            .map(|found| PriorState::UserFile(found.stamp, Digest::of(found.text.as_bytes())));
        let draft =
            SettingsDraft { before: before.unwrap_or(PriorState::Absent), text: text.into() };
        self.0.insert(file.real_path(), draft);
    }

    /// Returns the file plans that write the drafts.
    pub(super) fn into_plans(
        self,
        context: &Context<'_>,
        scope: SinkScope,
    ) -> Result<Vec<FilePlan>> {
        let plan = |(path, draft): (PathBuf, SettingsDraft)| {
            let name = parse_name(
                context,
                &path,
                &path.file_name().unwrap_or_default().to_string_lossy(),
            )?;
            let dir = path.parent().unwrap_or(Path::new("/")).to_owned();
            let plan = FilePlan::new(dir, name, draft.before, Some(draft.text.into_bytes().into()));
            Ok(match scope {
                // Agents keep tokens in the settings files of the user.
                SinkScope::Global => plan.private(),
                SinkScope::Project => plan,
            })
        };
        self.0.into_iter().map(plan).collect()
    }
}

impl SettingsFile {
    /// Reads a file, or takes the draft for it. A missing file is not an error.
    pub(super) fn read(
        session: &Session<'_>,
        path: &Path,
        drafts: &SettingsDrafts,
    ) -> Result<Self> {
        let mut file = Self::find(session, path)?;
        file.draft = drafts.0.get(&file.real_path()).map(|draft| draft.text.clone());
        Ok(file)
    }

    fn find(session: &Session<'_>, path: &Path) -> Result<Self> {
        let context = session.context;
        let path = path.to_owned();
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                refuse_dangling(context, &path)?;
                return Ok(Self { path, found: None, draft: None });
            }
            Err(e) => return Err(file_error(context, FileError::new("find", &path, e))),
        };
        let (dir, name) = open_parent(context, &real)?;
        let stamp = dir.stat(&name, Follow::Never).map_err(|e| file_error(context, e))?;
        let Some(stamp) = stamp.filter(|stamp| stamp.kind() == EntryKind::File) else {
            return Err(Error::new(
                ErrorCode::NotWritable,
                format!("`{}` is not a file", context.display_path(&path)),
            )
            .hint("move it to another directory"));
        };
        let bytes =
            read_limited(&real, session.limits.file_bytes).map_err(|e| file_error(context, e))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            Error::new(
                ErrorCode::NotUtf8,
                format!("`{}` is not valid UTF-8", context.display_path(&path)),
            )
            .because(e)
            .hint("save the file as UTF-8")
        })?;
        Ok(Self {
            path,
            found: Some(ExistingSettings { real_path: real, stamp, text }),
            draft: None,
        })
    }

    /// Returns the text; empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        let found = self.found.as_ref().map(|found| found.text.as_str());
        self.draft.as_deref().or(found).unwrap_or_default()
    }

    /// Returns whether the file does not exist yet.
    pub(super) fn is_new(&self) -> bool {
        self.found.is_none() && self.draft.is_none()
    }

    /// Returns the canonical path, even if the file does not exist yet.
    fn real_path(&self) -> PathBuf {
        match (&self.found, self.path.parent(), self.path.file_name()) {
            (Some(found), ..) => found.real_path.clone(),
            (None, Some(dir), Some(name)) => canonicalize_existing(dir).join(name),
            (None, ..) => self.path.clone(),
        }
    }

    /// Returns the file that would be written, if the path is a symlink.
    pub(super) fn link_target(&self) -> Option<&Path> {
        let real = &self.found.as_ref()?.real_path;
        let linked = self.path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        linked.then_some(real.as_path())
    }

    /// Returns an error if the file is read-only.
    pub(super) fn refuse_read_only(&self, context: &Context<'_>) -> Result<()> {
        match &self.found {
            // Replacing a file does not need write permission for it, so the mode is checked here.
            Some(found) if found.stamp.mode & 0o222 == 0 => {
                let path = context.display_path(&self.path);
                Err(Error::new(ErrorCode::NotWritable, format!("`{path}` is read-only")).hint(
                    format!(
                        "run `chmod u+w {}`, or edit the file from which it is generated",
                        context.display_path(&found.real_path)
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a dangling symlink, because the location of the file is unknown.
fn refuse_dangling(context: &Context<'_>, path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::new(
            ErrorCode::NotWritable,
            format!("`{}` is a link to a file that does not exist", context.display_path(path)),
        )
        .hint("create the file, or remove the link")),
        Err(_) => Ok(()),
    }
}

fn open_parent(context: &Context<'_>, real: &Path) -> Result<(Dir, Name)> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let dir =
        Dir::open(real.parent().unwrap_or(Path::new("/"))).map_err(|e| file_error(context, e))?;
    Ok((dir, parse_name(context, real, &name)?))
}

fn parse_name(context: &Context<'_>, path: &Path, name: &str) -> Result<Name> {
    Name::new(name).map_err(|e| {
        Error::new(
            ErrorCode::InvalidSettings,
            format!("invalid settings path `{}`", context.display_path(path)),
        )
        .because(e)
    })
}

fn file_error(context: &Context<'_>, error: FileError) -> Error {
    let message = format!("cannot {} `{}`", error.action, context.display_path(&error.path));
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Error::new(ErrorCode::PermissionDenied, message).because(error.source).hint(
                "make the directory writable, or edit the file from which it is generated; \
                     nothing was changed there",
            )
        }
        _ => Error::from(error),
    }
}
