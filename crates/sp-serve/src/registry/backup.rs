//! Backup and restore. The registry may be running while it is backed up.
//!
//! A backup is a directory with a SQLite database and the objects, wherever the registry stores
//! both. It starts with a snapshot of the database and continues with the objects that the snapshot
//! refers to. Objects are stored before metadata refers to them, so all of them exist. The database
//! is renamed into place last: a directory that contains `registry.db` is complete. A restore
//! copies the objects first, too, and the database appears in one step.

use std::path::{Path, PathBuf};

use sp_formats::output::RegistryDamage;
use sp_tree::{Dir, FileError, Follow, Name};
use thiserror::Error;

use crate::error::ServeError;
use crate::registry::local::{RegistryLocation, database_error, describe_damage, object_error};
use crate::registry::metadata::{DATABASE_FILE, Database, MetadataError, snapshot};
use crate::registry::object_store::{
    INCOMING_DIR, MARKER_FILE, OBJECTS_DIR, ObjectAccess, ObjectStore,
};
use crate::registry::object_store_identity::{ObjectStoreIdentityError, check_object_store};

const PARTIAL_DATABASE_FILE: &str = "registry.db.part";
/// The objects of a backup that does not contain them.
const OBJECT_LIST_FILE: &str = "objects.txt";

#[derive(Debug, Error)]
pub enum RegistryCopyError {
    #[error("no registry in `{}`", .0.display())]
    NoRegistry(PathBuf),
    #[error("no backup in `{}`", .0.display())]
    NoBackup(PathBuf),
    /// The target directory is not empty.
    #[error("`{}` is not empty", .0.display())]
    TargetNotEmpty(PathBuf),
    /// The string is the address of the target database.
    #[error("the database `{0}` is not empty")]
    DatabaseNotEmpty(String),
    #[error(transparent)]
    Unusable(#[from] ServeError),
    /// The database cannot be read or written.
    #[error("cannot copy the database of the registry")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An object cannot be written.
    #[error("cannot copy the objects of the registry")]
    File(#[from] FileError),
}

impl From<MetadataError> for RegistryCopyError {
    fn from(error: MetadataError) -> Self {
        Self::Database(error.into())
    }
}

type Result<T, E = RegistryCopyError> = std::result::Result<T, E>;

#[derive(Default)]
pub struct RegistryCopySummary {
    /// Number of objects.
    pub objects: u64,
    /// Total size of the objects.
    pub bytes: u64,
    /// Objects that could not be copied.
    pub damaged: Vec<RegistryDamage>,
}

/// Whether a backup contains the objects, or only lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupContent {
    Complete,
    DatabaseOnly,
}

/// Copies a registry into a directory that is empty or missing, and verifies every digest. Objects
/// that are missing or damaged are left out and reported. On failure, the directory is left empty.
pub fn back_up_registry(
    from: &RegistryLocation,
    to: &Path,
    content: BackupContent,
) -> Result<RegistryCopySummary> {
    if from.database.is_none() && !contains(&from.data_dir, DATABASE_FILE)? {
        return Err(RegistryCopyError::NoRegistry(from.data_dir.clone()));
    }
    let target = empty_dir(to)?;
    let copied = back_up_into(from, &target, content);
    if copied.is_err() {
        remove_partial_copy(&target);
    }
    copied
}

/// Copies a backup into a registry without data, and verifies every digest. Objects that are
/// missing or damaged are left out and reported. On failure, the registry is left without data,
/// except for objects in a bucket, which a repeated restore uses or `sp serve gc` deletes.
pub fn restore_registry(from: &Path, to: &RegistryLocation) -> Result<RegistryCopySummary> {
    if !contains(from, DATABASE_FILE)? {
        return Err(RegistryCopyError::NoBackup(from.into()));
    }
    let target = empty_dir(&to.data_dir)?;
    let copied = restore_into(from, to, &target);
    if copied.is_err() {
        remove_partial_copy(&target);
    }
    copied
}

fn back_up_into(
    from: &RegistryLocation,
    target: &Dir,
    content: BackupContent,
) -> Result<RegistryCopySummary> {
    let part = target.path().join(PARTIAL_DATABASE_FILE);
    match &from.database {
        None => snapshot(&from.data_dir.join(DATABASE_FILE), &part)?,
        Some(_) => open_database(from)?.copy_into(&Database::open_file(&part)?)?,
    }
    let copy = Database::open_file(&part)?;
    let source = open_objects(from, ObjectAccess::Read)?;
    check_identity(from, &copy, &source)?;
    let copied = match content {
        BackupContent::Complete => {
            let stored = ObjectStore::open(target.path(), None, ObjectAccess::Serve)?;
            copy_objects(&copy, &source, &stored)?
        }
        BackupContent::DatabaseOnly => list_objects(&copy, target)?,
    };
    drop(copy);
    publish_database(target)?;
    Ok(copied)
}

fn restore_into(from: &Path, to: &RegistryLocation, target: &Dir) -> Result<RegistryCopySummary> {
    let part = target.path().join(PARTIAL_DATABASE_FILE);
    snapshot(&from.join(DATABASE_FILE), &part)?;
    let copy = Database::open_file(&part)?;
    let database = to.database.as_ref().map(|address| Ok((address, open_database(to)?)));
    let database = database.transpose().map_err(|error: RegistryCopyError| error)?;
    if let Some((address, database)) = &database
        && !database.is_empty()?
    {
        return Err(RegistryCopyError::DatabaseNotEmpty(address.to_string()));
    }
    let stored = open_objects(to, ObjectAccess::Serve)?;
    if stored.read_marker()?.is_some() {
        check_identity(to, &copy, &stored)?;
    }
    let copied = if contains(from, OBJECT_LIST_FILE)? {
        verify_objects(&copy, &stored)?
    } else {
        let source = ObjectStore::open(from, None, ObjectAccess::Read)?;
        copy_objects(&copy, &source, &stored)?
    };
    if let Some((_, database)) = &database {
        copy.copy_into(database)?;
        drop(copy);
        target.remove_tree(&entry_name(PARTIAL_DATABASE_FILE)?)?;
        target.sync_filesystem()?;
    } else {
        drop(copy);
        publish_database(target)?;
    }
    Ok(copied)
}

/// Copies the objects that a database refers to, and the ID that ties both together.
fn copy_objects(
    database: &Database,
    source: &ObjectStore,
    stored: &ObjectStore,
) -> Result<RegistryCopySummary> {
    let mut copied = RegistryCopySummary::default();
    for (digest, used_by) in database.referenced_objects()? {
        match source.require(&digest) {
            Ok(bytes) => {
                copied.objects += 1;
                copied.bytes += bytes.len() as u64;
                stored.put(&bytes.into())?;
            }
            Err(error) => copied.damaged.push(describe_damage(&digest, used_by, &error)),
        }
    }
    if let Some(id) = database.object_store_id()? {
        stored.write_marker(&id)?;
    }
    Ok(copied)
}

/// Verifies objects that are where they should be already.
fn verify_objects(database: &Database, stored: &ObjectStore) -> Result<RegistryCopySummary> {
    let mut verified = RegistryCopySummary::default();
    for (digest, used_by) in database.referenced_objects()? {
        match stored.check(&digest) {
            Ok(bytes) => {
                verified.objects += 1;
                verified.bytes += bytes;
            }
            Err(error) => verified.damaged.push(describe_damage(&digest, used_by, &error)),
        }
    }
    Ok(verified)
}

/// Writes the digests of the objects that a database refers to.
fn list_objects(database: &Database, target: &Dir) -> Result<RegistryCopySummary> {
    let digests: String =
        database.referenced_objects()?.keys().map(|digest| format!("{}\n", digest.hex())).collect();
    let mut file = target.create_file(&entry_name(OBJECT_LIST_FILE)?, false)?;
    file.write(digests.as_bytes())?;
    file.sync()?;
    Ok(RegistryCopySummary::default())
}

/// Makes a copy complete.
fn publish_database(target: &Dir) -> Result<()> {
    target.remove_tree(&entry_name(INCOMING_DIR)?)?;
    target.sync_filesystem()?;
    target.rename_noreplace(
        &entry_name(PARTIAL_DATABASE_FILE)?,
        target,
        &entry_name(DATABASE_FILE)?,
    )?;
    Ok(target.sync()?)
}

fn remove_partial_copy(target: &Dir) {
    let suffixes = ["", "-wal", "-shm"].map(|suffix| format!("{PARTIAL_DATABASE_FILE}{suffix}"));
    let others = [OBJECTS_DIR, INCOMING_DIR, MARKER_FILE, OBJECT_LIST_FILE];
    for made in suffixes.iter().map(String::as_str).chain(others) {
        let _ = entry_name(made).and_then(|made| target.remove_tree(&made));
    }
}

fn empty_dir(path: &Path) -> Result<Dir> {
    let target = Dir::create_all_private(path)?;
    if target.entries()?.is_empty() {
        Ok(target)
    } else {
        Err(RegistryCopyError::TargetNotEmpty(path.into()))
    }
}

fn contains(dir: &Path, file: &str) -> Result<bool> {
    let Ok(dir) = Dir::open(dir) else { return Ok(false) };
    Ok(dir.stat(&entry_name(file)?, Follow::Never)?.is_some())
}

fn open_database(location: &RegistryLocation) -> Result<Database> {
    let opened = match &location.database {
        Some(address) => Database::connect(address),
        None => Database::open_dir(&location.data_dir),
    };
    let failed = |error| database_error(&location.data_dir, location.database.as_ref(), error);
    Ok(opened.map_err(failed)?)
}

fn open_objects(location: &RegistryLocation, access: ObjectAccess) -> Result<ObjectStore> {
    let RegistryLocation { data_dir, bucket, .. } = location;
    let opened = ObjectStore::open(data_dir, bucket.as_ref(), access);
    Ok(opened.map_err(|error| object_error(data_dir, bucket.as_ref(), error))?)
}

/// Checks that objects belong to a database.
fn check_identity(
    location: &RegistryLocation,
    database: &Database,
    objects: &ObjectStore,
) -> Result<()> {
    check_object_store(database, objects).map_err(|error| match error {
        ObjectStoreIdentityError::Database(error) => error.into(),
        ObjectStoreIdentityError::Objects(error) => {
            object_error(&location.data_dir, location.bucket.as_ref(), error).into()
        }
        ObjectStoreIdentityError::Mismatch(why) => {
            ServeError::WrongObjectStore(objects.describe(), why.into()).into()
        }
    })
}

fn entry_name(text: &str) -> Result<Name, FileError> {
    Name::new(text).map_err(|e| FileError::new("name", text, std::io::Error::other(e)))
}
