//! One settings file on disk: read with all its looks, and replaced only if it still looks so.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_tree::atomic::{self, Delivery, Existing, Readers};
use sp_tree::{Dir, EntryKind, FileError, Follow, Name, Stamp, read_limited};

use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::sinks::Scope;

/// A settings file as it was found.
pub(super) struct SettingsFile {
    /// Where the agent looks.
    pub path: PathBuf,
    /// The file behind all links; none if there is no file.
    found: Option<Found>,
}

struct Found {
    real: PathBuf,
    stamp: Stamp,
    text: String,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It is on disk.
    Done,
    /// Somebody else wrote meanwhile, and nothing was done.
    Overtaken,
}

impl SettingsFile {
    /// Reads a file; that there is none is no error.
    pub(super) fn read(session: &Session<'_>, path: &Path) -> Result<Self> {
        let context = session.context;
        let path = path.to_owned();
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                refuse_dangling(context, &path)?;
                return Ok(Self { path, found: None });
            }
            Err(e) => return Err(unusable(context, FileError::new("find", &path, e))),
        };
        let (dir, name) = place(context, &real)?;
        let stamp = dir.look(&name, Follow::Never).map_err(|e| unusable(context, e))?;
        let Some(stamp) = stamp.filter(|stamp| stamp.kind() == EntryKind::File) else {
            return Err(Error::new(Kind::Request, format!("`{}` is not a file", context.show(&path)))
                .hint("nothing was changed: move it away"));
        };
        let bytes = read_limited(&real, session.limits.file_bytes).map_err(|e| unusable(context, e))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            Error::new(Kind::Data, format!("`{}` is not UTF-8", context.show(&path)))
                .because(e)
                .hint("nothing was changed: save it as UTF-8")
        })?;
        Ok(Self { path, found: Some(Found { real, stamp, text }) })
    }

    /// What it says; nothing if there is none.
    pub(super) fn text(&self) -> &str {
        self.found.as_ref().map_or("", |found| &found.text)
    }

    /// Whether there was none.
    pub(super) fn is_new(&self) -> bool {
        self.found.is_none()
    }

    /// The file that would be written, if the path leads to it by a link.
    pub(super) fn real(&self) -> Option<&Path> {
        let real = &self.found.as_ref()?.real;
        let linked = self.path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        linked.then_some(real.as_path())
    }

    /// Fails if its owner does not want it to be written.
    pub(super) fn refuse_read_only(&self, context: &Context<'_>) -> Result<()> {
        match &self.found {
            // Replacing a file needs no leave of the file, so what its bits say is asked here.
            Some(found) if found.stamp.mode & 0o222 == 0 => {
                let shown = context.show(&self.path);
                Err(Error::new(Kind::Request, format!("`{shown}` is read-only")).hint(format!(
                    "nothing was changed: `chmod u+w {}`, or change it where it is made",
                    context.show(&found.real)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Puts a text in the place of the old one, at one instant and with the same permissions.
    pub(super) fn write(&self, context: &Context<'_>, text: &str, scope: Scope) -> Result<Written> {
        let failed = |error| unusable(context, error);
        let Some(found) = &self.found else {
            return self.create(context, text, scope);
        };
        let (dir, name) = place(context, &found.real)?;
        let temp = named(context, &found.real, &format!(".{name}.sp-new"))?;
        let done = atomic::rewrite(&dir, &name, &found.stamp, &temp, text.as_bytes()).map_err(failed)?;
        Ok(if done { Written::Done } else { Written::Overtaken })
    }

    fn create(&self, context: &Context<'_>, text: &str, scope: Scope) -> Result<Written> {
        let failed = |error| unusable(context, error);
        let dir = Dir::create_all(self.path.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let temp = named(context, &self.path, &format!(".{name}.sp-new"))?;
        // The caller holds the lock of the home, so a file that has this name was left by a death.
        dir.remove_tree(&temp).map_err(failed)?;
        // Agents keep tokens in the files of the user.
        let readers = match scope {
            Scope::Global => Readers::Owner,
            Scope::Project => Readers::Anybody,
        };
        let delivery = Delivery { bytes: text.as_bytes(), readers, existing: Existing::Keep };
        match atomic::deliver(&self.path, &temp, delivery) {
            Ok(()) => Ok(Written::Done),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(Written::Overtaken),
            Err(e) => Err(failed(e)),
        }
    }
}

/// A link to nothing: nobody can say where the file should be.
fn refuse_dangling(context: &Context<'_>, path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => {
            Err(Error::new(Kind::Request, format!("`{}` is a link to a file that is not there", context.show(path)))
                .hint("nothing was changed: make the file, or remove the link"))
        }
        Err(_) => Ok(()),
    }
}

fn place(context: &Context<'_>, real: &Path) -> Result<(Dir, Name)> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let dir = Dir::open(real.parent().unwrap_or(Path::new("/"))).map_err(|e| unusable(context, e))?;
    Ok((dir, named(context, real, &name)?))
}

fn named(context: &Context<'_>, path: &Path, name: &str) -> Result<Name> {
    Name::new(name).map_err(|e| Error::new(Kind::Data, format!("`{}` cannot be used", context.show(path))).because(e))
}

fn unusable(context: &Context<'_>, error: FileError) -> Error {
    let message = format!("cannot {} `{}`", error.action, context.show(&error.path));
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::new(Kind::Environment, message)
            .because(error.source)
            .hint("nothing was changed there: make the place writable, or change the file where it is made"),
        _ => Error::from(error),
    }
}
