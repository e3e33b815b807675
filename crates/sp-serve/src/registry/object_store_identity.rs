//! The ID that ties a database to its object store.
//!
//! The database and the object store contain the same random ID. A registry that finds another one
//! would serve versions without bytes, or delete what belongs to another registry, so it does not
//! start. The ID is stored in the database first, and which registry writes it to the object store
//! is decided there as well.

use sp_tree::{FileError, to_hex};
use thiserror::Error;

use crate::registry::environment::RegistryEnvironment;
use crate::registry::metadata::{Database, MetadataError};
use crate::registry::object_store::ObjectStore;

/// How many objects are looked for in an object store without an ID.
const MAX_SAMPLES: usize = 3;

#[derive(Debug, Error)]
pub(crate) enum ObjectStoreMismatch {
    #[error("it contains the objects of another registry")]
    OtherRegistry,
    #[error("it does not contain the objects of this registry")]
    NotOurs,
}

#[derive(Debug, Error)]
pub(crate) enum ObjectStoreIdentityError {
    #[error(transparent)]
    Database(#[from] MetadataError),
    #[error(transparent)]
    Objects(#[from] FileError),
    #[error(transparent)]
    Mismatch(#[from] ObjectStoreMismatch),
}

type Result<T, E = ObjectStoreIdentityError> = std::result::Result<T, E>;

/// Checks that an object store belongs to a database, and ties them together at the first start.
pub(crate) fn claim_object_store(
    database: &Database,
    objects: &ObjectStore,
    environment: &RegistryEnvironment,
) -> Result<()> {
    let found = objects.read_marker()?;
    if found.is_some() && database.object_store_id()?.is_none() {
        return Err(ObjectStoreMismatch::OtherRegistry.into());
    }
    let id = database.object_store_id_or_insert(&new_id(environment)?)?;
    match found {
        Some(found) => check_id(&id, &found),
        None => write_missing_id(database, objects, &id),
    }
}

/// Checks that an object store belongs to a database, if they are tied together.
pub(crate) fn check_object_store(database: &Database, objects: &ObjectStore) -> Result<()> {
    let Some(id) = database.object_store_id()? else { return Ok(()) };
    match objects.read_marker()? {
        Some(found) => check_id(&id, &found),
        None => Err(ObjectStoreMismatch::NotOurs.into()),
    }
}

/// Writes the ID into an object store without one: at the first start, or if the objects were
/// copied without it.
fn write_missing_id(database: &Database, objects: &ObjectStore, id: &str) -> Result<()> {
    let samples = database.sample_objects(MAX_SAMPLES)?;
    for digest in &samples {
        if !objects.contains(digest)? {
            return Err(ObjectStoreMismatch::NotOurs.into());
        }
    }
    let write = || objects.write_marker(id);
    if database.mark_object_store(write)? {
        return Ok(());
    }
    if samples.is_empty() {
        // Another registry was faster, or this is another object store.
        return check_object_store(database, objects);
    }
    Ok(write()?)
}

fn check_id(own: &str, found: &str) -> Result<()> {
    if own == found { Ok(()) } else { Err(ObjectStoreMismatch::OtherRegistry.into()) }
}

/// Returns random text.
pub(crate) fn new_id(environment: &RegistryEnvironment) -> Result<String, FileError> {
    let mut bytes = [0; 16];
    let filled = environment.fill_random(&mut bytes);
    filled.map_err(|e| FileError::new("read", "random bytes", e))?;
    Ok(to_hex(&bytes))
}
