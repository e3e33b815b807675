//! Finds the files of a knowledge base, each with its sidecar and the defaults of its directory.

use sp_formats::text::OverLimit;
use std::collections::{BTreeMap, HashMap};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder};
use serde_json::json;
use sp_analyze::knowledge::{
    FOLDER_DEFAULTS_FILE, FolderDefaults, SkippedInput, max_file_bytes, sidecar_paths,
};
use sp_tree::{Digest, Dir, FileStamp, Follow, RelPath};

use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// The maximum size of a sidecar or a defaults file.
const MAX_METADATA_BYTES: u64 = 64 * 1024;
/// Directories of dependencies, which are not searched.
const IGNORED_DIRS: &[&str] = &["node_modules", "__pycache__", "venv"];

/// A file that may contain documents.
pub(super) struct KnowledgeFileEntry {
    pub path: RelPath,
    pub stamp: FileStamp,
    /// A file next to it with metadata about it.
    pub sidecar: Option<(RelPath, FileStamp)>,
    pub defaults: Arc<FolderDefaults>,
}

impl KnowledgeFileEntry {
    /// Returns a digest that changes with the file, its sidecar or the defaults of its directory.
    pub(super) fn fingerprint(&self) -> Digest {
        let sidecar = self.sidecar.as_ref().map(|(_, stamp)| stamp_key(stamp));
        Digest::of(
            json!([stamp_key(&self.stamp), sidecar, self.defaults.values()]).to_string().as_bytes(),
        )
    }

    /// Returns when the file or its sidecar last changed.
    pub(super) fn changed_at(&self) -> i64 {
        let latest = |stamp: &FileStamp| stamp.modified.max(stamp.changed);
        self.sidecar.as_ref().map_or(i64::MIN, |(_, stamp)| latest(stamp)).max(latest(&self.stamp))
    }
}

fn stamp_key(stamp: &FileStamp) -> (u64, u64, i64, i64) {
    (stamp.inode, stamp.size, stamp.modified, stamp.changed)
}

/// Returns the files that may contain documents, sorted by path, and those that were skipped.
pub(super) fn scan_files(
    session: &Session<'_>,
    root: &Dir,
) -> Result<(Vec<KnowledgeFileEntry>, Vec<SkippedInput>)> {
    let (stamps, mut skipped) = collect_stamps(session, root)?;
    let folders = read_folder_defaults(root, &stamps, &mut skipped);
    let mut found = Vec::new();
    for (path, stamp) in &stamps {
        let Some(limit) = max_file_bytes(path.as_str()) else { continue };
        if stamp.size > limit {
            let why = format!("the file is {}", OverLimit { bytes: stamp.size, limit });
            skipped.push(SkippedInput { path: path.to_string(), line: None, reason: why });
            continue;
        }
        let candidates =
            sidecar_paths(path.as_str()).into_iter().filter_map(|name| RelPath::new(&name).ok());
        let sidecar =
            candidates.into_iter().find_map(|name| stamps.get(&name).map(|stamp| (name, *stamp)));
        found.push(KnowledgeFileEntry {
            path: path.clone(),
            stamp: *stamp,
            sidecar,
            defaults: defaults_for(path, &folders),
        });
    }
    Ok((found, skipped))
}

/// Returns every file below the directory. Symlinks are not followed, and hidden files are ignored.
fn collect_stamps(
    session: &Session<'_>,
    root: &Dir,
) -> Result<(BTreeMap<RelPath, FileStamp>, Vec<SkippedInput>)> {
    let mut walk = WalkBuilder::new(root.path());
    walk.standard_filters(false).hidden(true).follow_links(false).filter_entry(is_included);
    let (mut stamps, mut skipped) = (BTreeMap::new(), Vec::new());
    let limit = session.limits.repo_entries;
    for (seen, entry) in (0..).zip(walk.build().flatten()) {
        session.context.check_cancelled()?;
        if seen > limit {
            let message = format!(
                "`{}` has more than {limit} files",
                session.context.display_path(root.path())
            );
            let hint =
                "specify a subdirectory, or raise the limit with `--limit repo-entries=<number>`";
            return Err(Error::new(ErrorCode::LimitExceeded, message).hint(hint));
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(below) = entry.path().strip_prefix(root.path()) else { continue };
        match below.to_str().map(RelPath::new) {
            Some(Ok(path)) => {
                if let Ok(Some(stamp)) = root.stat_beneath(&path, Follow::Never) {
                    stamps.insert(path, stamp);
                }
            }
            _ => skipped.push(SkippedInput {
                path: below.to_string_lossy().into_owned(),
                line: None,
                reason: "invalid file name".into(),
            }),
        }
    }
    Ok((stamps, skipped))
}

fn is_included(entry: &DirEntry) -> bool {
    let is_folder = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
    !(is_folder && entry.file_name().to_str().is_some_and(|name| IGNORED_DIRS.contains(&name)))
}

/// Reads the defaults files. Each builds on those of the directories above.
fn read_folder_defaults(
    root: &Dir,
    stamps: &BTreeMap<RelPath, FileStamp>,
    skipped: &mut Vec<SkippedInput>,
) -> HashMap<String, Arc<FolderDefaults>> {
    let mut folders: HashMap<String, Arc<FolderDefaults>> =
        HashMap::from([(String::new(), Arc::default())]);
    let mut defaults_files: Vec<&RelPath> =
        stamps.keys().filter(|path| is_defaults_file(path)).collect();
    // Parents come first.
    defaults_files.sort_by_key(|path| path.segments().count());
    for path in defaults_files {
        let folder = path.as_str().trim_end_matches(FOLDER_DEFAULTS_FILE).trim_end_matches('/');
        let parent = defaults_for(path, &folders);
        let bytes = read_file(root, path, MAX_METADATA_BYTES)
            .map_err(|error| format!("cannot read the file: {error}"));
        let text = bytes.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| "the file is not valid UTF-8".to_owned())
        });
        match text.and_then(|text| parent.for_subfolder(folder, &text)) {
            Ok(defaults) => drop(folders.insert(folder.to_owned(), Arc::new(defaults))),
            Err(why) => {
                skipped.push(SkippedInput { path: path.to_string(), line: None, reason: why });
            }
        }
    }
    folders
}

fn is_defaults_file(path: &RelPath) -> bool {
    Path::new(path.as_str()).file_name().is_some_and(|name| name == FOLDER_DEFAULTS_FILE)
}

/// Returns the defaults of the nearest directory above a file.
fn defaults_for(
    path: &RelPath,
    folders: &HashMap<String, Arc<FolderDefaults>>,
) -> Arc<FolderDefaults> {
    let mut folder = path.as_str();
    loop {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        if let Some(defaults) = folders.get(folder) {
            return Arc::clone(defaults);
        }
        if folder.is_empty() {
            return Arc::default();
        }
    }
}

/// Reads a file. It is an error if it has more than `limit` bytes.
pub(super) fn read_file(root: &Dir, path: &RelPath, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = root.open_beneath(path, Follow::Never).map_err(|error| error.source)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let too_large =
        || std::io::Error::new(ErrorKind::FileTooLarge, "the file has grown beyond the limit");
    if bytes.len() as u64 <= limit { Ok(bytes) } else { Err(too_large()) }
}
