//! The files of a knowledge base, each with the file beside it that tells of it.

use std::collections::{BTreeMap, HashMap};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder};
use serde_json::json;
use sp_analyze::knowledge::{FOLDER_FILE, Folder, Skipped, most_bytes, sidecars};
use sp_tree::{Digest, Dir, Follow, RelPath, Stamp};

use crate::config::Session;
use crate::error::{Error, Kind, Result};

/// A file beside another, or for a folder, has so many bytes at the most.
const MOST_TOLD: u64 = 64 * 1024;
/// Folders that others fill.
const FOREIGN: &[&str] = &["node_modules", "__pycache__", "venv"];

/// A file that may hold documents.
pub(super) struct Found {
    pub path: RelPath,
    pub stamp: Stamp,
    /// The file beside it that tells of it.
    pub sidecar: Option<(RelPath, Stamp)>,
    pub folder: Arc<Folder>,
}

impl Found {
    /// What changes when the file, the one beside it or what holds for its folder does.
    pub(super) fn fingerprint(&self) -> Digest {
        let beside = self.sidecar.as_ref().map(|(_, stamp)| times(stamp));
        Digest::of(json!([times(&self.stamp), beside, self.folder.values()]).to_string().as_bytes())
    }

    /// When the file, or the one beside it, last changed.
    pub(super) fn changed(&self) -> i64 {
        let latest = |stamp: &Stamp| stamp.modified.max(stamp.changed);
        self.sidecar.as_ref().map_or(i64::MIN, |(_, stamp)| latest(stamp)).max(latest(&self.stamp))
    }
}

fn times(stamp: &Stamp) -> (u64, u64, i64, i64) {
    (stamp.inode, stamp.size, stamp.modified, stamp.changed)
}

/// Every file that may hold documents, by path, and what cannot.
pub(super) fn list(session: &Session<'_>, root: &Dir) -> Result<(Vec<Found>, Vec<Skipped>)> {
    let (stamps, mut skipped) = stamps(session, root)?;
    let folders = folders(root, &stamps, &mut skipped);
    let mut found = Vec::new();
    for (path, stamp) in &stamps {
        let Some(most) = most_bytes(path.as_str()) else { continue };
        if stamp.size > most {
            let why = format!("it has {} MB, and {} MB are read at the most", stamp.size >> 20, most >> 20);
            skipped.push(Skipped { path: path.to_string(), line: None, why });
            continue;
        }
        let beside = sidecars(path.as_str()).into_iter().filter_map(|name| RelPath::new(&name).ok());
        let sidecar = beside.into_iter().find_map(|name| stamps.get(&name).map(|stamp| (name, *stamp)));
        found.push(Found { path: path.clone(), stamp: *stamp, sidecar, folder: folder_of(path, &folders) });
    }
    Ok((found, skipped))
}

/// Every file below the folder. Links are not followed, and what is hidden is not looked at.
fn stamps(session: &Session<'_>, root: &Dir) -> Result<(BTreeMap<RelPath, Stamp>, Vec<Skipped>)> {
    let mut walk = WalkBuilder::new(root.path());
    walk.standard_filters(false).hidden(true).follow_links(false).filter_entry(is_own);
    let (mut stamps, mut skipped) = (BTreeMap::new(), Vec::new());
    let most = session.limits.repo_entries;
    for (seen, entry) in (0..).zip(walk.build().flatten()) {
        session.context.go_on()?;
        if seen > most {
            let message = format!("`{}` has more than {most} files", session.context.show(root.path()));
            let hint = "name a part of it, or raise `--limit repo-entries=<number>`";
            return Err(Error::new(Kind::Data, message).hint(hint));
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(below) = entry.path().strip_prefix(root.path()) else { continue };
        match below.to_str().map(RelPath::new) {
            Some(Ok(path)) => {
                if let Ok(Some(stamp)) = root.look_beneath(&path, Follow::Never) {
                    stamps.insert(path, stamp);
                }
            }
            _ => skipped.push(Skipped {
                path: below.to_string_lossy().into_owned(),
                line: None,
                why: "its name cannot be used".into(),
            }),
        }
    }
    Ok((stamps, skipped))
}

fn is_own(entry: &DirEntry) -> bool {
    let is_folder = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
    !(is_folder && entry.file_name().to_str().is_some_and(|name| FOREIGN.contains(&name)))
}

/// What holds for each folder that says so.
fn folders(root: &Dir, stamps: &BTreeMap<RelPath, Stamp>, skipped: &mut Vec<Skipped>) -> HashMap<String, Arc<Folder>> {
    let mut folders: HashMap<String, Arc<Folder>> = HashMap::from([(String::new(), Arc::default())]);
    let mut told: Vec<&RelPath> = stamps.keys().filter(|path| is_folder_file(path)).collect();
    // What holds for a folder builds on what holds for those above it.
    told.sort_by_key(|path| path.segments().count());
    for path in told {
        let place = path.as_str().trim_end_matches(FOLDER_FILE).trim_end_matches('/');
        let above = folder_of(path, &folders);
        let bytes = read_file(root, path, MOST_TOLD).map_err(|error| format!("it cannot be read: {error}"));
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned()));
        match text.and_then(|text| above.below(place, &text)) {
            Ok(folder) => drop(folders.insert(place.to_owned(), Arc::new(folder))),
            Err(why) => skipped.push(Skipped { path: path.to_string(), line: None, why }),
        }
    }
    folders
}

fn is_folder_file(path: &RelPath) -> bool {
    Path::new(path.as_str()).file_name().is_some_and(|name| name == FOLDER_FILE)
}

/// What holds for the nearest folder above a file.
fn folder_of(path: &RelPath, folders: &HashMap<String, Arc<Folder>>) -> Arc<Folder> {
    let mut place = path.as_str();
    loop {
        place = place.rsplit_once('/').map_or("", |(above, _)| above);
        if let Some(folder) = folders.get(place) {
            return Arc::clone(folder);
        }
        if place.is_empty() {
            return Arc::default();
        }
    }
}

/// What is in a file, unless it went away, may not be read, or has more bytes.
pub(super) fn read_file(root: &Dir, path: &RelPath, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = root.open_beneath(path, Follow::Never).map_err(|error| error.source)?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let too_large = || std::io::Error::new(ErrorKind::FileTooLarge, "it has grown too large");
    if bytes.len() as u64 <= most { Ok(bytes) } else { Err(too_large()) }
}
