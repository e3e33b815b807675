//! The state of the context packages of a project.
//!
//! The files are in one directory. As long as its digest in the index is the one that follows from
//! the lockfile, no file is read.

use std::collections::BTreeMap;

use sp_formats::output::{PackageStatusItem, SkillStatus};
use sp_formats::package::PackageKind;
use sp_tree::{
    Digest, Dir, DirSnapshot, Follow, Name, RelPath, StampScope, Tree, TreeEntry, TreeKind,
    hash_installed,
};

use super::known_newest::{KnownSubject, known_newest};
use super::view::ProjectView;
use crate::error::Result;
use crate::home::DigestIndexes;
use crate::pkg::{installed_packages_dir, package_file_name};

/// Returns the state of each context package, sorted by name.
pub(super) fn package_statuses(
    view: &ProjectView<'_>,
    indexes: &mut DigestIndexes<'_>,
) -> Result<Vec<PackageStatusItem>> {
    let packages = &view.files.lock.packages;
    let context = packages.iter().filter(|(_, locked)| locked.kind == PackageKind::Context);
    let mut expected: BTreeMap<String, Digest> = BTreeMap::new();
    let mut items = Vec::new();
    for (name, locked) in context {
        let file = package_file_name(name)?.to_string();
        expected.insert(file.clone(), locked.digest);
        let version = locked.version.to_string();
        let status = SkillStatus::UpToDate;
        let item = PackageStatusItem { name: name.to_string(), version, status, note: None };
        items.push((file, item));
    }
    if items.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(found) = different_files(view, &expected, indexes)? {
        for (file, item) in &mut items {
            item.status = match found.get(file) {
                None => SkillStatus::Missing,
                Some(digest) if Some(digest) == expected.get(file) => SkillStatus::UpToDate,
                Some(_) => SkillStatus::Unsynced,
            };
        }
    }
    for (_, item) in items.iter_mut().filter(|(_, it)| it.status == SkillStatus::UpToDate) {
        let subject = KnownSubject::Package(&item.name);
        let locked = || item.version.clone();
        if let Some(newest) = known_newest(view.session.context, subject, &locked) {
            item.status = SkillStatus::Outdated;
            item.note = Some(format!("{newest} is known; run `sp update`"));
        }
    }
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// Returns the digests of the package files; none if they are exactly the expected ones.
fn different_files(
    view: &ProjectView<'_>,
    expected: &BTreeMap<String, Digest>,
    indexes: &mut DigestIndexes<'_>,
) -> Result<Option<BTreeMap<String, Digest>>> {
    let packages_dir = installed_packages_dir(&view.files.dir.path);
    let (Some(parent), Some(name)) = (packages_dir.parent(), packages_dir.file_name()) else {
        return Ok(None);
    };
    let name = Name::new(&name.to_string_lossy())?;
    let is_dir = packages_dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !is_dir {
        return Ok(Some(BTreeMap::new()));
    }
    let dir = Dir::open(parent)?;
    let index = indexes.for_dir(parent);
    let known = index.digest(&dir, name.as_str(), Follow::Never, StampScope::All);
    if known == Some(expected_tree(expected)?.digest()) {
        return Ok(None);
    }
    let hashed = hash_installed(&dir.open_dir(&name, Follow::Never)?, &view.session.limits)?;
    let Some(hashed) = hashed else { return Ok(Some(BTreeMap::new())) };
    let now = (view.session.context.wall_clock)();
    let snapshot =
        DirSnapshot::from_settled(name.as_str(), hashed.tree.digest(), hashed.stamps, now);
    index.set_snapshot(name.as_str(), snapshot.as_ref());
    let files = hashed.tree.entries.into_iter().filter_map(|entry| match entry.kind {
        TreeKind::File { digest, .. } => Some((entry.path.to_string(), digest)),
        TreeKind::Dir => None,
    });
    Ok(Some(files.collect()))
}

/// Returns the tree of a directory with exactly these files.
fn expected_tree(files: &BTreeMap<String, Digest>) -> Result<Tree> {
    let entry = |(name, digest): (&String, &Digest)| {
        let kind = TreeKind::File { executable: false, size: 0, digest: *digest };
        Ok(TreeEntry { path: RelPath::new(name)?, kind })
    };
    Ok(Tree { entries: files.iter().map(entry).collect::<Result<_>>()? })
}
