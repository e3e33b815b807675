//! A directory as a value, for comparison byte by byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileEntry {
    Dir,
    /// The text (or a digest, if it is binary or long), and whether it is executable.
    File(String, bool),
    /// The target of a link.
    Link(String),
    /// A FIFO, socket or device.
    Special,
}

/// Everything below a directory, by path.
pub type FileMap = BTreeMap<String, FileEntry>;

/// Reads everything below `root`. A directory that does not exist is empty.
pub fn files(root: &Path) -> FileMap {
    let mut found = FileMap::new();
    visit(root, "", &mut found);
    found
}

fn visit(dir: &Path, prefix: &str, found: &mut FileMap) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = path.symlink_metadata().expect("an entry that was just listed");
        if metadata.is_dir() {
            found.insert(name.clone(), FileEntry::Dir);
            visit(&path, &format!("{name}/"), found);
        } else if metadata.is_symlink() {
            let target = std::fs::read_link(&path).expect("a link");
            found.insert(name, FileEntry::Link(target.to_string_lossy().into_owned()));
        } else if metadata.is_file() {
            let executable = metadata.permissions().mode() & 0o100 != 0;
            found.insert(
                name,
                FileEntry::File(content(&std::fs::read(&path).unwrap_or_default()), executable),
            );
        } else {
            found.insert(name, FileEntry::Special);
        }
    }
}

fn content(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= 200 => text.into(),
        _ => sha256(bytes),
    }
}

/// Returns the hash of bytes: `sha256:…`.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".into(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
