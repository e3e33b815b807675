//! `sp context kb add`, `list`, `stats` and `remove`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use sp_analyze::knowledge::Skipped;
use sp_formats::output::{KbAdded, KbBase, KbDocument, KbKind, KbList, KbRemoved, KbSkipped, KbState, KbStats};
use sp_tree::{Digest, Dir};

use super::files::list as list_files;
use super::refresh::refresh;
use super::store::Store;
use super::{folder, none_known};
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// A document that was captured so many days before the newest one is old.
const OLD: i32 = 365;

/// Reads a folder, or what changed in it, and remembers it.
pub fn add(context: &Context<'_>, dir: &Path) -> Result<KbAdded> {
    let session = Session::begin(context)?;
    let base = refresh(&session, dir)?;
    let size = base.store.size()?;
    Ok(KbAdded {
        dir: base.folder,
        files: size.files,
        documents: size.documents,
        read: base.read,
        removed: base.removed,
        skipped: base.skipped.into_iter().map(told).collect(),
    })
}

pub(crate) fn told(skipped: Skipped) -> KbSkipped {
    KbSkipped { file: skipped.path, line: skipped.line, why: skipped.why }
}

/// The knowledge bases, or the documents of one.
pub fn list(context: &Context<'_>, dir: Option<&Path>) -> Result<KbList> {
    let session = Session::begin(context)?;
    let stores = match (dir, Store::all(context)) {
        (None, stores) if stores.is_empty() => return Err(none_known()),
        (None, stores) => stores,
        (Some(_), _) => stores(&session, dir)?,
    };
    let mut view = KbList { bases: Vec::new(), documents: None };
    for (_, store) in &stores {
        let size = store.size()?;
        let documents = size.documents;
        view.bases.push(KbBase { dir: size.folder, files: size.files, documents, indexed_at: size.indexed_at });
        if dir.is_some() {
            view.documents.get_or_insert_default().extend(store.documents()?.into_iter().map(|(document, file)| {
                KbDocument {
                    title: document.title,
                    url: document.url,
                    kind: document.kind,
                    published_at: document.published_at,
                    captured_at: document.captured_at,
                    tags: document.tags,
                    file,
                }
            }));
        }
    }
    Ok(view)
}

/// What is in the knowledge bases, and what of it is stale.
pub fn stats(context: &Context<'_>, dir: Option<&Path>) -> Result<KbStats> {
    let session = Session::begin(context)?;
    let mut stats = KbStats::default();
    for (folder, store) in &stores(&session, dir)? {
        let size = store.size()?;
        stats.files += size.files;
        stats.documents += size.documents;
        stats.skipped += store.skipped()?.len();
        count_stale(&session, (folder, store), &mut stats)?;
        for (kind, documents, oldest, newest) in store.kinds()? {
            let earlier = |known: &mut String, found: &str| {
                if known.is_empty() || found < known.as_str() {
                    *known = found.to_owned();
                }
            };
            earlier(&mut stats.oldest, &oldest);
            if newest > stats.newest {
                stats.newest = newest;
            }
            match stats.kinds.iter_mut().find(|known| known.kind == kind) {
                Some(known) => known.documents += documents,
                None => stats.kinds.push(KbKind { kind, documents }),
            }
        }
        stats.bases.push(KbBase {
            dir: size.folder,
            files: size.files,
            documents: size.documents,
            indexed_at: size.indexed_at,
        });
    }
    let newest = day(&stats.newest);
    for (_, store) in &stores(&session, dir)? {
        stats.old += store.rows(None)?.iter().filter(|row| newest - day(&row.captured) > OLD).count();
    }
    stats.kinds.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.kind.cmp(&b.kind)));
    Ok(stats)
}

/// Counts files that are not as they were when they were read.
fn count_stale(session: &Session<'_>, (folder, store): (&Path, &Store), stats: &mut KbStats) -> Result<()> {
    let known = store.files()?;
    let Now(now) = Now::look(session, folder)?;
    stats.new += now.keys().filter(|path| !known.contains_key(*path)).count();
    for (path, known) in &known {
        match now.get(path) {
            None => stats.gone += 1,
            Some(now) if is_other(&known.stamp, now.as_bytes()) => stats.changed += 1,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether a file is not as it was. Of one that was read right after it had changed nothing is known.
fn is_other(known: &[u8], now: &[u8]) -> bool {
    !known.is_empty() && known != now
}

/// Forgets a folder. The folder itself stays as it is.
pub fn remove(context: &Context<'_>, dir: &Path) -> Result<KbRemoved> {
    Session::begin(context)?;
    // A folder that is gone can be forgotten, too.
    let path = folder(context, dir).unwrap_or_else(|_| context.expand(&dir.to_string_lossy()));
    match Store::forget(context, &path)? {
        true => Ok(KbRemoved { dir: path }),
        false => Err(Error::new(Kind::Request, format!("`{}` was not added", context.show(&path)))
            .hint("`sp context kb list` names those that were")),
    }
}

/// The index of a folder, or of all that were added.
pub(super) fn stores(session: &Session<'_>, dir: Option<&Path>) -> Result<Vec<(PathBuf, Store)>> {
    let context = session.context;
    let Some(dir) = dir else {
        let all = Store::all(context);
        return if all.is_empty() { Err(none_known()) } else { Ok(all) };
    };
    let path = folder(context, dir)?;
    match Store::known(context, &path) {
        Some(store) => Ok(vec![(path, store)]),
        None => Err(Error::new(Kind::Request, format!("`{}` was not added", context.show(&path)))
            .hint(format!("`sp context kb add {}` adds it", context.show(&path)))),
    }
}

/// The files of a folder as they are now, to be held against what was read.
pub(super) struct Now(HashMap<String, Digest>);

impl Now {
    pub(super) fn look(session: &Session<'_>, folder: &Path) -> Result<Self> {
        let Ok(root) = Dir::open(folder) else { return Ok(Self(HashMap::new())) };
        let (found, _) = list_files(session, &root)?;
        Ok(Self(found.iter().map(|file| (file.path.to_string(), file.fingerprint())).collect()))
    }

    /// Whether a file is as it was when it was read.
    pub(super) fn state(&self, store: &Store, path: &str) -> Result<KbState> {
        let known = store.file(path)?.unwrap_or_default();
        Ok(match self.0.get(path) {
            None => KbState::Gone,
            Some(now) if is_other(&known, now.as_bytes()) => KbState::Changed,
            Some(_) => KbState::Fresh,
        })
    }
}

/// The number of the day of a time.
pub(super) fn day(moment: &str) -> i32 {
    let date: Option<Date> = moment.get(..10).and_then(|day| day.parse().ok());
    date.map_or(0, |date| date.since(Date::ZERO).map_or(0, |span| span.get_days()))
}
