//! Results of audits, by the digest of the files and the version of the rules.
//!
//! The index has up to 256 files, each for the digests with the same first byte. Each is read at
//! most once, and written when the results are stored.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sp_analyze::audit::{ContentAudit, RULES_VERSION};
use sp_tree::{Digest, Hasher};

use super::AuditFiles;
use crate::context::Context;
use crate::home::{LockedHome, read_index_file};

/// The maximum size of a file. When a new result exceeds it, the old ones are dropped.
const MAX_FILE_BYTES: usize = 512 * 1024;
/// Larger results are not stored: computing them again takes as long as reading them.
const MAX_RESULT_BYTES: usize = 128 * 1024;

/// Identifies the files and the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditKey {
    index_file: String,
    digest: String,
}

impl AuditKey {
    /// The key of a whole tree.
    pub(crate) fn of_tree(digest: Digest) -> Self {
        let mut hasher = Self::hasher();
        hasher.update(b"tree");
        hasher.update(digest.as_bytes());
        Self::new(hasher)
    }

    /// The key of the knowledge in a package.
    pub(super) fn of_package(digest: Digest) -> Self {
        let mut hasher = Self::hasher();
        hasher.update(b"package");
        hasher.update(digest.as_bytes());
        Self::new(hasher)
    }

    /// The key of files that are not a whole tree, or of which some are too large.
    pub(super) fn of_files(files: &AuditFiles) -> Self {
        let mut hasher = Self::hasher();
        let mut sorted: Vec<_> = files.files.iter().collect();
        sorted.sort_by(|a, b| a.path.cmp(&b.path));
        for file in sorted {
            let content = file.bytes.as_deref().map(Digest::of);
            hasher.update(&(file.path.len() as u64).to_le_bytes());
            hasher.update(file.path.as_bytes());
            hasher.update(&[u8::from(file.executable), u8::from(content.is_some())]);
            hasher.update(&file.size.to_le_bytes());
            hasher.update(content.as_ref().map_or(&[][..], |digest| digest.as_bytes()));
        }
        Self::new(hasher)
    }

    fn hasher() -> Hasher {
        let mut hasher = Hasher::default();
        hasher.update(&RULES_VERSION.to_le_bytes());
        hasher
    }

    fn new(hasher: Hasher) -> Self {
        let digest = hasher.finish().hex();
        Self { index_file: format!("audit-{}", &digest[..2]), digest: digest.to_string() }
    }
}

/// The stored results, and those of this run.
pub(crate) struct AuditCache<'a> {
    context: &'a Context<'a>,
    files: Mutex<BTreeMap<String, CacheFile>>,
}

/// One file of the index. A line has a digest, a checksum and the result as JSON.
struct CacheFile {
    text: String,
    is_changed: bool,
}

impl<'a> AuditCache<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        Self { context, files: Mutex::default() }
    }

    /// Returns a stored result.
    pub(crate) fn get(&self, key: &AuditKey) -> Option<ContentAudit> {
        let json = self.with_file(key, |file| {
            let mut lines = file.text.lines();
            let line = lines.find_map(|line| line.strip_prefix(key.digest.as_str()))?;
            let (checksum, json) = line.strip_prefix('\t')?.split_once('\t')?;
            // A damaged file must not hide a finding.
            (Digest::of(json.as_bytes()).hex() == checksum).then(|| json.to_owned())
        });
        serde_json::from_str(&json?).ok()
    }

    /// Adds a result.
    pub(crate) fn insert(&self, key: &AuditKey, audit: &ContentAudit) {
        let Ok(json) = serde_json::to_string(audit) else { return };
        if json.len() > MAX_RESULT_BYTES {
            return;
        }
        let line = format!("{}\t{}\t{json}\n", key.digest, Digest::of(json.as_bytes()).hex());
        self.with_file(key, |file| {
            if file.text.len() + line.len() > MAX_FILE_BYTES {
                file.text.clear();
            }
            file.text.push_str(&line);
            file.is_changed = true;
        });
    }

    /// Writes the results of this run. Without a locked home, they are written unless another
    /// process holds the lock.
    pub(crate) fn store(&self, home: Option<&LockedHome<'_>>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.values().any(|file| file.is_changed) {
            return;
        }
        let own = if home.is_none() { LockedHome::try_open(self.context) } else { None };
        let Some(home) = home.or(own.as_ref()) else { return };
        for (name, file) in files.iter_mut().filter(|(_, file)| file.is_changed) {
            home.store_index_file(name, file.text.as_bytes());
            file.is_changed = false;
        }
    }

    fn with_file<T>(&self, key: &AuditKey, run: impl FnOnce(&mut CacheFile) -> T) -> T {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || CacheFile {
            text: String::from_utf8(read_index_file(self.context, &key.index_file))
                .unwrap_or_default(),
            is_changed: false,
        };
        run(files.entry(key.index_file.clone()).or_insert_with(read))
    }
}
