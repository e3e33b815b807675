//! What the registries on one database have in common.

use sp_tree::{Digest, FileError};

use super::super::sql::SqlConnection;
use super::super::{Database, MetadataError, Result};

const OBJECT_STORE_ID: &str = "object-store-id";
/// Exists once the object store contains its ID.
const OBJECT_STORE_MARKED: &str = "object-store-marked";

impl Database {
    /// Returns the ID of the object store; sets it if there is none.
    pub(crate) fn object_store_id_or_insert(&self, new: &str) -> Result<String> {
        self.write(|sql| match setting(sql, OBJECT_STORE_ID)? {
            Some(known) => Ok(known),
            None => insert_setting(sql, OBJECT_STORE_ID, new).map(|()| new.to_owned()),
        })
    }

    /// Returns the ID of the object store, if it has one.
    pub(crate) fn object_store_id(&self) -> Result<Option<String>> {
        self.read(|sql| setting(sql, OBJECT_STORE_ID))
    }

    /// Calls `write_id` to write the ID into the object store, unless that was done already. Of
    /// several registries, one does it and gets `true`.
    pub(crate) fn mark_object_store(
        &self,
        write_id: impl Fn() -> Result<(), FileError>,
    ) -> Result<bool> {
        self.write(|sql| {
            if setting(sql, OBJECT_STORE_MARKED)?.is_some() {
                return Ok(false);
            }
            // Other registries wait here until this one has written the ID.
            insert_setting(sql, OBJECT_STORE_MARKED, "true")?;
            write_id().map_err(|error| MetadataError::Database(error.into()))?;
            Ok(true)
        })
    }

    /// Returns a few of the objects that versions consist of.
    pub(crate) fn sample_objects(&self, most: usize) -> Result<Vec<Digest>> {
        const LIST: &str = "SELECT digest FROM versions WHERE deleted_at IS NULL LIMIT $1";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.read(|sql| sql.query(LIST, &[most.into()]))?;
        rows.into_iter().map(|mut row| row.take()).collect()
    }
}

fn setting(sql: &mut dyn SqlConnection, name: &str) -> Result<Option<String>> {
    const FIND: &str = "SELECT value FROM settings WHERE name = $1";
    sql.first(FIND, &[name.into()])?.map(|mut row| row.take()).transpose()
}

fn insert_setting(sql: &mut dyn SqlConnection, name: &str, value: &str) -> Result<()> {
    const ADD: &str = "INSERT INTO settings (name, value) VALUES ($1, $2)";
    sql.execute(ADD, &[name.into(), value.into()]).map(drop)
}
