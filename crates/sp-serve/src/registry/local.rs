//! Administration on the machine of a registry, which may be running: `sp serve token`,
//! `verify`, `gc` and `delete`.
//!
//! Anyone who can write to the database needs no token, so this also helps if all admin tokens were
//! lost.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sp_formats::output::{
    RegistryDamage, RegistryDeleteReport, RegistryGarbageReport, RegistryVerifyReport,
};
use sp_formats::package::PackageName;
use sp_formats::registry::{IssuedRegistryToken, RegistryPackageName, RegistryToken};
use sp_tree::{Digest, Dir, FileError, Follow, StaticName};
use thiserror::Error;

use crate::error::ServeError;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::metadata::{
    DATABASE_FILE, Database, MetadataError, PostgresAddress, TokenOwner, TokenRevocation,
    TokenScope, VersionKey,
};
use crate::registry::object_store::{BucketSettings, ObjectAccess, ObjectStore};
use crate::registry::object_store_identity::{ObjectStoreIdentityError, check_object_store};
use crate::registry::tokens::{TokenRequest, generate_token, hash_token};

/// The user in the audit log.
const OPERATOR: &str = "operator";

/// Where a registry stores its data.
pub struct RegistryLocation {
    pub data_dir: PathBuf,
    pub database: Option<PostgresAddress>,
    pub bucket: Option<BucketSettings>,
    pub environment: RegistryEnvironment,
}

#[derive(Debug, Error)]
pub enum LocalRegistryError {
    #[error("no registry in `{}`", .0.display())]
    NoRegistry(PathBuf),
    #[error(transparent)]
    Unusable(#[from] ServeError),
    /// The message names the invalid part of a request.
    #[error("{0}")]
    InvalidRequest(String),
    #[error("no version `{0}`, or it was deleted")]
    VersionNotFound(String),
    #[error("cannot use the objects of the registry")]
    File(#[from] FileError),
    #[error("no token with the ID {0}, or it was revoked")]
    TokenNotFound(i64),
    #[error("token {0} is the last admin token")]
    LastAdmin(i64),
}

/// The database of a registry on this machine.
pub struct LocalRegistry {
    location: RegistryLocation,
    database: Database,
}

type Result<T, E = LocalRegistryError> = std::result::Result<T, E>;

impl LocalRegistry {
    /// Opens a registry that exists.
    pub fn open(location: RegistryLocation) -> Result<Self> {
        let opened = match &location.database {
            Some(address) => Database::connect(address),
            None => {
                let missing = || LocalRegistryError::NoRegistry(location.data_dir.clone());
                let data = Dir::open(&location.data_dir).map_err(|_| missing())?;
                let file = data.stat(&StaticName(DATABASE_FILE), Follow::Never);
                file.ok().flatten().ok_or_else(missing)?;
                Database::open_dir(&location.data_dir)
            }
        };
        let database = opened
            .map_err(|e| database_error(&location.data_dir, location.database.as_ref(), e))?;
        Ok(Self { location, database })
    }

    /// Opens the objects, which must belong to the database.
    fn objects(&self, access: ObjectAccess) -> Result<ObjectStore> {
        let RegistryLocation { data_dir, bucket, .. } = &self.location;
        let failed = |error| object_error(data_dir, bucket.as_ref(), error);
        let objects = ObjectStore::open(data_dir, bucket.as_ref(), access).map_err(failed)?;
        match check_object_store(&self.database, &objects) {
            Ok(()) => Ok(objects),
            Err(ObjectStoreIdentityError::Database(error)) => Err(self.failed(error)),
            Err(ObjectStoreIdentityError::Objects(error)) => Err(failed(error).into()),
            Err(ObjectStoreIdentityError::Mismatch(why)) => {
                Err(ServeError::WrongObjectStore(objects.describe(), why.into()).into())
            }
        }
    }

    fn failed(&self, error: MetadataError) -> LocalRegistryError {
        let RegistryLocation { data_dir, database, .. } = &self.location;
        database_error(data_dir, database.as_ref(), error).into()
    }

    pub fn create_token(&self, request: &TokenRequest) -> Result<IssuedRegistryToken> {
        let environment = &self.location.environment;
        let (new, token) =
            request.generate(environment).map_err(LocalRegistryError::InvalidRequest)?;
        let operator = TokenOwner::operator(OPERATOR);
        let added = self.database.add_token(&new, &operator, &environment.timestamp());
        Ok(IssuedRegistryToken { item: added.map_err(|e| self.failed(e))?, token })
    }

    pub fn tokens(&self) -> Result<Vec<RegistryToken>> {
        self.database.tokens().map_err(|e| self.failed(e))
    }

    /// Replaces the secret of a token.
    pub fn rotate_token(&self, id: i64) -> Result<IssuedRegistryToken> {
        let environment = &self.location.environment;
        let known = self.tokens()?.into_iter().find(|token| token.id == id);
        let scope = known.and_then(|token| TokenScope::parse(&token.scope));
        let scope = scope.ok_or(LocalRegistryError::TokenNotFound(id))?;
        let token = generate_token(environment, scope)
            .map_err(|e| LocalRegistryError::Unusable(ServeError::Io(e)))?;
        let operator = TokenOwner::operator(OPERATOR);
        let (hash, at) = (hash_token(&token), environment.timestamp());
        let rotated = self.database.rotate_token(id, &hash, &operator, &at);
        let item = rotated.map_err(|e| self.failed(e))?;
        Ok(IssuedRegistryToken { item: item.ok_or(LocalRegistryError::TokenNotFound(id))?, token })
    }

    pub fn revoke_token(&self, id: i64) -> Result<()> {
        let at = self.location.environment.timestamp();
        let revoked = self.database.revoke_token(id, &TokenOwner::operator(OPERATOR), &at);
        match revoked.map_err(|e| self.failed(e))? {
            TokenRevocation::Done => Ok(()),
            TokenRevocation::NotFound => Err(LocalRegistryError::TokenNotFound(id)),
            TokenRevocation::LastAdmin => Err(LocalRegistryError::LastAdmin(id)),
        }
    }
}

/// Whether garbage is deleted, or only listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GarbageAction {
    List,
    Delete,
}

impl LocalRegistry {
    /// Verifies the digests of all objects that the database refers to.
    pub fn verify(&self) -> Result<RegistryVerifyReport> {
        let referenced = self.database.referenced_objects().map_err(|e| self.failed(e))?;
        let objects = self.objects(ObjectAccess::Read)?;
        let mut report = RegistryVerifyReport { objects: 0, bytes: 0, damaged: Vec::new() };
        for (digest, used_by) in referenced {
            match objects.check(&digest) {
                Ok(bytes) => {
                    report.objects += 1;
                    report.bytes += bytes;
                }
                Err(error) => report.damaged.push(describe_damage(&digest, used_by, &error)),
            }
        }
        Ok(report)
    }

    /// Deletes objects that nothing refers to and that are older than `grace`.
    pub fn collect_garbage(
        &self,
        grace: Duration,
        action: GarbageAction,
    ) -> Result<RegistryGarbageReport> {
        let objects = self.objects(ObjectAccess::Share)?;
        let grace = i64::try_from(grace.as_nanos()).unwrap_or(i64::MAX);
        let cutoff = self.location.environment.now_nanos().saturating_sub(grace);
        // The list comes first: what is published after it was taken is not in it.
        let old = objects.written_before(cutoff)?;
        let referenced = self.database.referenced_objects().map_err(|e| self.failed(e))?;
        let deleted = action == GarbageAction::Delete;
        let mut report = RegistryGarbageReport { objects: Vec::new(), bytes: 0, deleted };
        for object in old.iter().filter(|object| !referenced.contains_key(&object.digest)) {
            // Its content may have been published again meanwhile.
            if self.database.is_referenced(&object.digest).map_err(|e| self.failed(e))? {
                continue;
            }
            if deleted {
                objects.remove(&object.digest, cutoff)?;
            }
            report.objects.push(object.digest.hex());
            report.bytes += object.size;
        }
        Ok(report)
    }

    /// Deletes the content of a version: `@namespace/name@version`.
    pub fn delete_version(&self, package: &str, reason: &str) -> Result<RegistryDeleteReport> {
        let missing = || LocalRegistryError::VersionNotFound(package.to_owned());
        let (name, version) = package.rsplit_once('@').ok_or_else(missing)?;
        let name = PackageName::new(name)
            .ok()
            .and_then(|name| RegistryPackageName::from_package_name(&name).ok())
            .ok_or_else(missing)?;
        let key = VersionKey { package: name.clone(), version: version.to_owned() };
        let objects = self.objects(ObjectAccess::Share)?;
        let (operator, at) =
            (TokenOwner::operator(OPERATOR), self.location.environment.timestamp());
        let deleted = self.database.delete_version(&key, reason, &operator, &at);
        let deleted = deleted.map_err(|e| self.failed(e))?.ok_or_else(missing)?;
        if !deleted.is_shared {
            objects.remove(&deleted.digest, i64::MAX)?;
        }
        Ok(RegistryDeleteReport {
            name: name.to_string(),
            version: version.into(),
            bytes_deleted: !deleted.is_shared,
        })
    }
}

/// Returns why the database of a registry cannot be used.
pub(super) fn database_error(
    data_dir: &Path,
    database: Option<&PostgresAddress>,
    error: MetadataError,
) -> ServeError {
    match (database, error) {
        (_, error @ MetadataError::NewerSchema { .. }) => ServeError::NewerDatabase(error.into()),
        (None, error) => ServeError::DataDir(data_dir.into(), error.into()),
        (Some(address), error) => ServeError::Database(address.to_string(), error.into()),
    }
}

/// Checks that the objects at a location belong to its database.
pub(super) fn check_location(location: RegistryLocation) -> Result<(), ServeError> {
    let checked = LocalRegistry::open(location).and_then(|local| local.objects(ObjectAccess::Read));
    match checked {
        Ok(_) => Ok(()),
        Err(LocalRegistryError::Unusable(error)) => Err(error),
        Err(error) => Err(ServeError::Io(std::io::Error::other(error))),
    }
}

/// Describes an object that cannot be read.
pub(super) fn describe_damage(
    digest: &Digest,
    used_by: Vec<String>,
    error: &FileError,
) -> RegistryDamage {
    let problem = match error.kind() {
        ErrorKind::NotFound => "missing",
        ErrorKind::InvalidData => "damaged",
        _ => "unreadable",
    };
    RegistryDamage { sha256: digest.hex(), problem: problem.into(), used_by }
}

/// Returns why the objects of a registry cannot be used.
pub(super) fn object_error(
    data_dir: &Path,
    bucket: Option<&BucketSettings>,
    error: FileError,
) -> ServeError {
    match bucket {
        None => ServeError::DataDir(data_dir.into(), error.into()),
        Some(bucket) => ServeError::ObjectStore(bucket.url.to_string(), error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(data: &Path) -> Result<LocalRegistry> {
        let environment = RegistryEnvironment { wall_clock: || 0, random: |_| Ok(()) };
        LocalRegistry::open(RegistryLocation {
            data_dir: data.into(),
            database: None,
            bucket: None,
            environment,
        })
    }

    #[test]
    fn rg_107_newer_database_is_refused() {
        let data = tempfile::tempdir().unwrap();
        assert!(matches!(open(data.path()), Err(LocalRegistryError::NoRegistry(_))));
        drop(Database::open_dir(data.path()).unwrap());
        assert!(open(data.path()).is_ok());
        let file = rusqlite::Connection::open(data.path().join(DATABASE_FILE)).unwrap();
        file.execute("UPDATE schema_version SET version = version + 1", []).unwrap();
        assert!(matches!(
            open(data.path()),
            Err(LocalRegistryError::Unusable(ServeError::NewerDatabase(_)))
        ));
    }
}
