//! The versions that installed skills are based on: `~/.skillpack/bases/<digest>`.
//!
//! A three-way merge of local edits needs the version that was edited. Each version that is
//! installed for a project is kept under the digest of its tree, and added in the transaction that
//! installs it. What is missing can be fetched again from the locked source.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sp_formats::project::{LOCK_FILE, lock};
use sp_formats::state::InstallSource;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Dir, LoadedTree, Name, RelPath, compress, decompress, read_optional};

use super::disabled::DisabledRecord;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::read_state;
use crate::install::plan::FilePlan;
use crate::session::Session;

const BASES_DIR: &str = "bases";
const MAX_BASE_BYTES: u64 = 1024 * 1024 * 1024;
/// Changes with the encoding.
const HEADER: &[u8] = b"sp tree 1\n";

fn bases_dir(context: &Context<'_>) -> PathBuf {
    context.home.join(BASES_DIR)
}

/// Returns the stored version with this digest. A damaged one counts as missing.
pub(crate) fn read_base(session: &Session<'_>, digest: &Digest) -> Result<Option<LoadedTree>> {
    let limit = MAX_BASE_BYTES;
    let path = bases_dir(session.context).join(digest.hex());
    let bytes = read_optional(&path, limit)?;
    let tree = bytes.and_then(|bytes| decode(&decompress(&bytes, limit).ok()?));
    Ok(tree.filter(|tree| tree.digest() == *digest))
}

/// Plans to store a version; none if it is stored.
pub(crate) fn base_plan(
    session: &Session<'_>,
    digest: &Digest,
    tree: &LoadedTree,
) -> Result<Option<FilePlan>> {
    let dir = bases_dir(session.context);
    let name = Name::new(&digest.hex())?;
    let before = match dir.join(name.as_str()).symlink_metadata() {
        Ok(_) if read_base(session, digest)?.is_some() => return Ok(None),
        Ok(_) => PriorState::Ours(None),
        Err(_) => PriorState::Absent,
    };
    let bytes = compress(&encode(tree));
    Ok(Some(FilePlan::new(dir, name, before, Some(bytes.into())).private()))
}

/// Returns the directory of the stored versions and the names of those that nothing on this machine
/// needs: no lockfile of a known project, no record of an installed skill, and no disabled skill.
pub(crate) fn unneeded_bases(session: &Session<'_>) -> Result<(PathBuf, Vec<String>)> {
    let dir = bases_dir(session.context);
    let Ok(opened) = Dir::open(&dir) else { return Ok((dir, Vec::new())) };
    let needed: BTreeSet<String> =
        needed_bases(session)?.iter().map(|digest| digest.hex().to_string()).collect();
    let mut unneeded: Vec<String> = opened
        .entries()?
        .iter()
        .filter_map(|entry| entry.name().to_str().map(str::to_owned))
        .filter(|name| !needed.contains(name))
        .collect();
    unneeded.sort();
    Ok((dir, unneeded))
}

/// Returns the versions that are needed. A lockfile that cannot be read is an error: what it needs
/// is unknown.
fn needed_bases(session: &Session<'_>) -> Result<BTreeSet<Digest>> {
    let state = read_state(session.context)?;
    let mut needed = BTreeSet::new();
    let mut locks = BTreeSet::from([session.context.home.join(LOCK_FILE)]);
    for install in &state.installs {
        needed.extend(install.skills.iter().map(|skill| skill.digest));
        if let InstallSource::Project(manifest) = &install.source {
            locks.insert(PathBuf::from(manifest).with_file_name(LOCK_FILE));
        }
    }
    for disabled in &DisabledRecord::read(session)?.skills.skills {
        needed.extend(disabled.edits.iter().flat_map(|edits| [edits.edited, edits.base]));
        locks.insert(PathBuf::from(&disabled.manifest).with_file_name(LOCK_FILE));
    }
    for path in locks {
        let Some(bytes) = read_optional(&path, MAX_BASE_BYTES)? else { continue };
        let label = session.context.display_path(&path);
        let (lock, report) = lock::read(&label, &String::from_utf8_lossy(&bytes));
        let lock = lock.ok_or_else(|| {
            let message = "a lockfile is invalid, so that it is unknown which versions it needs";
            Error::in_file(ErrorCode::InvalidProject, message, report)
        })?;
        needed.extend(lock.skills.values().map(|skill| skill.tree));
    }
    Ok(needed)
}

/// Returns the paths of stored versions that cannot be used.
pub(crate) fn damaged_bases(session: &Session<'_>) -> Vec<PathBuf> {
    let dir = bases_dir(session.context);
    let entries = Dir::open(&dir).and_then(|dir| dir.entries()).unwrap_or_default();
    let mut names: Vec<String> =
        entries.iter().filter_map(|entry| Some(entry.name().to_str()?.to_owned())).collect();
    names.sort_unstable();
    let is_damaged = |name: &String| {
        let digest = format!("sha256:{name}").parse::<Digest>();
        // Other names are not those of versions.
        digest.is_ok_and(|digest| !matches!(read_base(session, &digest), Ok(Some(_))))
    };
    names.into_iter().filter(is_damaged).map(|name| dir.join(name)).collect()
}

fn encode(tree: &LoadedTree) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    for dir in tree.dirs() {
        bytes.extend_from_slice(format!("d 0 {dir}\n").as_bytes());
    }
    for (path, executable, content) in tree.files() {
        let kind = if executable { 'x' } else { 'f' };
        bytes.extend_from_slice(format!("{kind} {} {path}\n", content.len()).as_bytes());
        bytes.extend_from_slice(content);
    }
    bytes
}

/// A file of a stored version.
struct BaseFile {
    executable: bool,
    bytes: Vec<u8>,
}

fn decode(bytes: &[u8]) -> Option<LoadedTree> {
    let mut rest = bytes.strip_prefix(HEADER)?;
    let mut entries: Vec<(RelPath, Option<BaseFile>)> = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let mut words = std::str::from_utf8(&rest[..end]).ok()?.splitn(3, ' ');
        let (kind, len, path) = (words.next()?, words.next()?, RelPath::new(words.next()?).ok()?);
        let (content, after) = rest[end + 1..].split_at_checked(len.parse().ok()?)?;
        rest = after;
        let file = BaseFile { executable: kind == "x", bytes: content.to_vec() };
        entries.push((path, (kind != "d").then_some(file)));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut tree = LoadedTree::default();
    for (path, file) in entries {
        match file {
            Some(BaseFile { executable, bytes }) => tree.add_file(path, executable, bytes),
            None => tree.add_dir(path),
        }
    }
    Some(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_14_bases_round_trip() {
        let mut tree = LoadedTree::default();
        let path = |text| RelPath::new(text).unwrap();
        tree.add_file(path("SKILL.md"), false, b"one\ntwo\n".to_vec());
        tree.add_dir(path("empty"));
        tree.add_dir(path("scripts"));
        tree.add_file(path("scripts/a b.sh"), true, vec![0, b'\n', 255]);
        tree.add_file(path("scripts/none"), false, Vec::new());
        let bytes = encode(&tree);
        assert_eq!(decode(&bytes).unwrap().digest(), tree.digest());
        for end in 0..bytes.len() {
            let decoded = decode(&bytes[..end]);
            assert!(decoded.is_none_or(|it| it.digest() != tree.digest()), "{end}");
        }
    }
}
