//! Results of audits, by the digest of the files and the version of the rules.
//!
//! The index has up to 256 files, each for the digests with the same first byte. A lookup reads one
//! of them.

use sp_analyze::audit::{ContentAudit, RULES_VERSION};
use sp_tree::{Digest, Hasher};

use super::AuditFiles;
use crate::context::Context;
use crate::home::{read_index_file, write_index_file};

/// The maximum size of a file. When a new result exceeds it, the old ones are dropped.
const MAX_FILE_BYTES: usize = 512 * 1024;
/// Larger results are not stored: computing them again takes as long as reading them.
const MAX_RESULT_BYTES: usize = 128 * 1024;

/// Identifies the files and the rules.
pub(super) struct AuditKey {
    index_file: String,
    digest: String,
}

pub(super) fn key(files: &AuditFiles) -> AuditKey {
    let mut hasher = Hasher::default();
    hasher.update(&RULES_VERSION.to_le_bytes());
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
    let digest = hasher.finish().to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default().to_owned();
    AuditKey { index_file: format!("audit-{}", &hex[..hex.len().min(2)]), digest: hex }
}

/// Each line has a digest, a tab, and the result as JSON.
pub(super) fn read(context: &Context<'_>, key: &AuditKey) -> Option<ContentAudit> {
    let bytes = read_index_file(context, &key.index_file);
    let text = std::str::from_utf8(&bytes).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(&key.digest))?;
    let (checksum, json) = line.strip_prefix('\t')?.split_once('\t')?;
    // A damaged file must not hide a finding.
    let is_intact = Digest::of(json.as_bytes()).to_string() == checksum;
    is_intact.then(|| serde_json::from_str(json).ok()).flatten()
}

pub(super) fn store(context: &Context<'_>, key: &AuditKey, audit: &ContentAudit) {
    let Ok(json) = serde_json::to_string(audit) else { return };
    if json.len() > MAX_RESULT_BYTES {
        return;
    }
    let line = format!("{}\t{}\t{json}\n", key.digest, Digest::of(json.as_bytes()));
    let mut bytes = read_index_file(context, &key.index_file);
    if bytes.len() + line.len() > MAX_FILE_BYTES {
        bytes.clear();
    }
    bytes.extend_from_slice(line.as_bytes());
    write_index_file(context, &key.index_file, &bytes);
}
