//! A cache of directory digests.
//!
//! A directory in which every file and subdirectory still has the same stamp (inode, size, times,
//! mode) has the same digest, so it need not be read again. A lost, old or broken index costs time
//! and nothing else.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ops::Range;

use rayon::prelude::*;

use crate::digest::Digest;
use crate::dir::{Dir, Follow};
use crate::file_stamp::{EntryKind, FileStamp, PathStamps};
use crate::walk::{MatchedDir, WalkReport};

const MAGIC: &[u8; 8] = b"sp-idx-1";

/// The resolution of file system timestamps is up to ten milliseconds, and a second change within
/// that time cannot be detected. What changed that recently is not cached.
const CLOCK_TICK_NANOS: i64 = 10_000_000;
/// Some file systems have a resolution of seconds.
const COARSE_CLOCK_TICK_NANOS: i64 = 2_000_000_000;

/// The stamps of a directory and the digest it had. Paths are relative to the root of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirSnapshot {
    /// The digest of the directory's tree.
    pub digest: Digest,
    pub stamps: PathStamps,
}

impl DirSnapshot {
    /// A snapshot of the directory `name`, with stamps relative to the directory itself. `None` if
    /// something in it changed so recently that a later change could go unnoticed.
    pub fn from_settled(name: &str, digest: Digest, stamps: PathStamps, now: i64) -> Option<Self> {
        let settled = stamps.iter().all(|(_, stamp)| is_settled(stamp, now));
        let stamps = stamps.into_iter().map(|(path, stamp)| match &*path {
            "" => (name.into(), stamp),
            path => (format!("{name}/{path}").into(), stamp),
        });
        settled.then(|| Self { digest, stamps: stamps.collect() })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.digest.as_bytes());
        encode_stamps(&self.stamps, out);
    }
}

fn is_settled(stamp: &FileStamp, now: i64) -> bool {
    let coarse = stamp.changed % 1_000_000_000 == 0 && stamp.modified % 1_000_000_000 == 0;
    // Adding or removing an entry changes the modification time of a directory. Moving the
    // directory itself, as installing does, only changes its status change time.
    let last = if stamp.kind() == EntryKind::Dir { stamp.modified } else { stamp.changed };
    last < now - if coarse { COARSE_CLOCK_TICK_NANOS } else { CLOCK_TICK_NANOS }
}

/// Which entries of a directory are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampScope {
    All,
    /// Only files: [`DigestIndex::cached_walk`] has just verified the directories.
    Files,
}

/// The cached snapshots of the directories below a root.
#[derive(Debug, Default)]
pub struct DigestIndex {
    bytes: Vec<u8>,
    walk_range: Option<Range<usize>>,
    snapshots: HashMap<Box<str>, Range<usize>>,
    changed: bool,
}

impl DigestIndex {
    /// Decodes an index. Anything invalid becomes an empty index.
    pub fn decode(bytes: Vec<u8>) -> Self {
        match Self::parse(&bytes) {
            Some((outline, snapshots)) => {
                Self { bytes, walk_range: outline, snapshots, changed: false }
            }
            None => Self::default(),
        }
    }

    #[allow(clippy::type_complexity, reason = "the two parts of an index, for one caller")]
    fn parse(bytes: &[u8]) -> Option<(Option<Range<usize>>, HashMap<Box<str>, Range<usize>>)> {
        let (body, sum) = bytes.split_last_chunk::<8>()?;
        if checksum(body).to_le_bytes() != *sum {
            return None;
        }
        let mut reader = DigestIndexReader { bytes: body, at: 0 };
        if reader.take(8)? != MAGIC {
            return None;
        }
        let outline = reader.block()?;
        let count = reader.u32()?;
        let mut snapshots = HashMap::with_capacity(count as usize);
        for _ in 0..count {
            let name = reader.text()?.to_str().ok()?.into();
            snapshots.insert(name, reader.block()?);
        }
        Some(((!outline.is_empty()).then_some(outline), snapshots))
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_block(self.walk_range.clone().map_or(&[], |range| &self.bytes[range]), &mut out);
        let mut snapshots: Vec<_> = self.snapshots.iter().collect();
        snapshots.sort_unstable_by(|a, b| a.0.cmp(b.0));
        put_u32(snapshots.len(), &mut out);
        for (name, range) in snapshots {
            put_text(name, &mut out);
            put_block(&self.bytes[range.clone()], &mut out);
        }
        out.extend(checksum(&out).to_le_bytes());
        out
    }

    /// Whether anything was added or removed since it was decoded.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Returns the cached walk of `root`, without its directories, if none of them has changed.
    pub fn cached_walk(&self, root: &Dir) -> Option<WalkReport> {
        let mut reader = DigestIndexReader { bytes: &self.bytes[self.walk_range.clone()?], at: 0 };
        let dirs: Option<Vec<(&CStr, FileStamp)>> =
            (0..reader.u32()?).map(|_| Some((reader.text()?, reader.stamp()?))).collect();
        let unchanged =
            |(path, stamp): &(&CStr, FileStamp)| root.is_unchanged(path, Follow::Links, stamp);
        if !dirs?.par_iter().with_min_len(64).all(unchanged) {
            return None;
        }
        let mut found = WalkReport::default();
        for _ in 0..reader.u32()? {
            let path = reader.text()?.to_str().ok()?.into();
            let flags = reader.take(2)?;
            found.matches.push(MatchedDir {
                path,
                dir_is_link: flags[0] != 0,
                file_is_link: flags[1] != 0,
            });
        }
        for _ in 0..reader.u32()? {
            found.cycles.push(reader.text()?.to_str().ok()?.into());
        }
        Some(found)
    }

    /// Caches a walk, unless a directory in it has just changed, and removes every snapshot with a
    /// directory that differs in the walk: as long as the cached walk is valid, the directories of
    /// all snapshots are.
    pub fn set_cached_walk(&mut self, found: &WalkReport, now: i64) {
        self.changed = true;
        let dirs: HashMap<&[u8], &FileStamp> =
            found.dirs.iter().map(|(path, stamp)| (path.as_bytes(), stamp)).collect();
        let bytes = &self.bytes;
        self.snapshots.retain(|_, range| {
            let mut stamps = decode_stamps(&bytes[range.clone()]);
            stamps.all(|(path, stamp)| {
                stamp.kind() != EntryKind::Dir || dirs.get(path.to_bytes()) == Some(&&stamp)
            })
        });
        // Directories that were not walked must be reported each time.
        let walked = found.invalid_names.is_empty() && found.too_deep.is_empty();
        let settled = walked && found.dirs.iter().all(|(_, stamp)| is_settled(stamp, now));
        let start = self.bytes.len();
        encode_stamps(&found.dirs, &mut self.bytes);
        put_u32(found.matches.len(), &mut self.bytes);
        for holder in &found.matches {
            put_text(&holder.path, &mut self.bytes);
            self.bytes.extend([u8::from(holder.dir_is_link), u8::from(holder.file_is_link)]);
        }
        put_u32(found.cycles.len(), &mut self.bytes);
        for cycle in &found.cycles {
            put_text(cycle, &mut self.bytes);
        }
        self.walk_range = settled.then_some(start..self.bytes.len());
    }

    /// Returns the digest of the directory `name`, if the stamps in `scope` are unchanged.
    pub fn digest(
        &self,
        root: &Dir,
        name: &str,
        follow: Follow,
        check: StampScope,
    ) -> Option<Digest> {
        let snapshot = &self.bytes[self.snapshots.get(name)?.clone()];
        let digest = Digest::from_bytes(*snapshot.first_chunk()?);
        let unchanged = decode_stamps(snapshot).all(|(path, stamp)| {
            let skipped = check == StampScope::Files && stamp.kind() == EntryKind::Dir;
            skipped || root.is_unchanged(path, follow, &stamp)
        });
        unchanged.then_some(digest)
    }

    /// Caches a snapshot; `None` removes it.
    pub fn set_snapshot(&mut self, name: &str, snapshot: Option<&DirSnapshot>) {
        self.changed = true;
        match snapshot {
            None => {
                self.snapshots.remove(name);
            }
            Some(snapshot) => {
                let start = self.bytes.len();
                snapshot.encode(&mut self.bytes);
                self.snapshots.insert(name.into(), start..self.bytes.len());
            }
        }
    }
}

/// Detects an index that a power failure truncated. It does not prevent forgery: anyone who can
/// write here can write to the sinks as well.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let step = |sum: u64, word: &[u8; 8]| {
        (sum.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    words.iter().chain([&last]).fold(bytes.len() as u64, step)
}

/// Decodes the stamps of a snapshot. The checksum was verified, so the bytes are our own.
fn decode_stamps(snapshot: &[u8]) -> impl Iterator<Item = (&CStr, FileStamp)> {
    let mut reader = DigestIndexReader { bytes: snapshot, at: 32 };
    let count = reader.u32().unwrap_or(0);
    (0..count).map_while(move |_| Some((reader.text()?, reader.stamp()?)))
}

fn encode_stamps(stamps: &[(Box<str>, FileStamp)], out: &mut Vec<u8>) {
    put_u32(stamps.len(), out);
    for (path, stamp) in stamps {
        put_text(path, out);
        out.extend(stamp.inode.to_le_bytes());
        out.extend(stamp.size.to_le_bytes());
        out.extend(stamp.modified.to_le_bytes());
        out.extend(stamp.changed.to_le_bytes());
        out.extend(stamp.mode.to_le_bytes());
    }
}

fn put_u32(value: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes());
}

/// Text is stored with a trailing NUL, so that it can be passed to system calls directly.
fn put_text(text: &str, out: &mut Vec<u8>) {
    put_u32(text.len() + 1, out);
    out.extend(text.as_bytes());
    out.push(0);
}

fn put_block(block: &[u8], out: &mut Vec<u8>) {
    put_u32(block.len(), out);
    out.extend(block);
}

struct DigestIndexReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> DigestIndexReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn block(&mut self) -> Option<Range<usize>> {
        let length = self.u32()? as usize;
        let start = self.at;
        self.take(length)?;
        Some(start..self.at)
    }

    fn text(&mut self) -> Option<&'a CStr> {
        let length = self.u32()? as usize;
        CStr::from_bytes_with_nul(self.take(length)?).ok()
    }

    fn stamp(&mut self) -> Option<FileStamp> {
        Some(FileStamp {
            inode: self.array().map(u64::from_le_bytes)?,
            size: self.array().map(u64::from_le_bytes)?,
            modified: self.array().map(i64::from_le_bytes)?,
            changed: self.array().map(i64::from_le_bytes)?,
            mode: self.array().map(u32::from_le_bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = i64::MAX / 2;

    fn index_of(root: &std::path::Path) -> DigestIndex {
        let dir = Dir::open(root).unwrap();
        let indexed_dir = dir.open_dir(&crate::Name::new("a").unwrap(), Follow::Never).unwrap();
        let crate::HashedDir { tree, stamps } =
            crate::hash_installed(&indexed_dir, &crate::Limits::default()).unwrap().unwrap();
        let mut index = DigestIndex::default();
        index
            .set_snapshot("a", DirSnapshot::from_settled("a", tree.digest(), stamps, NOW).as_ref());
        DigestIndex::decode(index.encode())
    }

    /// Waits until the clock of the file system has advanced, so that a change has another time.
    #[allow(clippy::disallowed_methods, reason = "the test edits files as a user would")]
    fn wait_for_tick() {
        let probe = tempfile::NamedTempFile::new().unwrap();
        let write = || {
            std::fs::write(probe.path(), "").unwrap();
            probe.path().metadata().unwrap().modified().unwrap()
        };
        let start = write();
        while write() == start {
            std::thread::yield_now();
        }
    }

    #[allow(clippy::disallowed_methods, reason = "the test edits files as a user would")]
    fn sample_dir() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("a/b")).unwrap();
        std::fs::write(temp.path().join("a/b/f"), "1").unwrap();
        temp
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test edits files as a user would")]
    fn every_kind_of_change_to_a_directory_is_detected() {
        type Change = fn(&std::path::Path);
        let changes: [(&str, Change); 5] = [
            ("content", |a| std::fs::write(a.join("b/f"), "2").unwrap()),
            ("mode", |a| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
                std::fs::set_permissions(a.join("b/f"), mode).unwrap();
            }),
            ("added", |a| std::fs::write(a.join("b/g"), "").unwrap()),
            ("removed", |a| std::fs::remove_file(a.join("b/f")).unwrap()),
            ("renamed", |a| std::fs::rename(a.join("b/f"), a.join("b/g")).unwrap()),
        ];
        for (name, change) in changes {
            let temp = sample_dir();
            let index = index_of(temp.path());
            let root = Dir::open(temp.path()).unwrap();
            assert!(
                index.digest(&root, "a", Follow::Never, StampScope::All).is_some(),
                "{name}: before"
            );
            wait_for_tick();
            change(&temp.path().join("a"));
            assert_eq!(
                index.digest(&root, "a", Follow::Never, StampScope::All),
                None,
                "{name}: after"
            );
        }
    }

    #[test]
    fn recent_changes_are_not_cached() {
        let temp = sample_dir();
        let dir = Dir::open(&temp.path().join("a")).unwrap();
        let crate::HashedDir { tree, stamps } =
            crate::hash_installed(&dir, &crate::Limits::default()).unwrap().unwrap();
        let newest = stamps.iter().map(|(_, stamp)| stamp.changed).max().unwrap();
        assert_eq!(DirSnapshot::from_settled("a", tree.digest(), stamps, newest + 1), None);
    }

    #[test]
    fn se_14_broken_index_is_an_empty_index() {
        let temp = sample_dir();
        let good = index_of(temp.path()).encode();
        let root = Dir::open(temp.path()).unwrap();
        for position in 0..good.len() {
            let index = DigestIndex::decode(good[..position].to_vec());
            assert_eq!(index.digest(&root, "a", Follow::Never, StampScope::All), None);
            let mut flipped = good.clone();
            flipped[position] ^= 0x41;
            assert_eq!(
                DigestIndex::decode(flipped).digest(&root, "a", Follow::Never, StampScope::All),
                None
            );
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test edits files as a user would")]
    fn walk_with_a_changed_directory_removes_its_snapshot() {
        let temp = sample_dir();
        let mut index = index_of(temp.path());
        wait_for_tick();
        std::fs::write(temp.path().join("a/b/added"), "").unwrap();
        let root = Dir::open(temp.path()).unwrap();
        // Comparing only files does not detect it; the walk does.
        assert!(index.digest(&root, "a", Follow::Links, StampScope::Files).is_some());
        let name = crate::Name::new("f").unwrap();
        let found = crate::find_dirs_with_file(
            Dir::open(temp.path()).unwrap(),
            &name,
            &crate::Limits::default(),
        )
        .unwrap();
        index.set_cached_walk(&found, NOW);
        assert_eq!(index.digest(&root, "a", Follow::Links, StampScope::Files), None);
        assert_eq!(index.cached_walk(&root).unwrap().matches, found.matches);
    }
}
