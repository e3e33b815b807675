//! The index of a knowledge base: one SQLite file per directory, changed in one transaction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use sp_analyze::knowledge::{KnowledgeDocument, SkippedInput, url_identity};
use sp_tree::{Digest, Dir, Name};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// Incremented when files are parsed differently, so that everything is read again.
const SCHEMA_VERSION: i32 = 3;
/// How long to wait for another `sp` that writes the index.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
const BUSY_PAUSE: Duration = Duration::from_millis(10);
const DATABASE_SUFFIX: &str = ".db";

const SCHEMA: &str = "
    CREATE TABLE base (folder TEXT NOT NULL, indexed_at TEXT NOT NULL);
    CREATE TABLE files (
        id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp BLOB NOT NULL, digest BLOB NOT NULL);
    CREATE TABLE skipped (file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, line INTEGER, why TEXT NOT NULL);
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY, file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, identity TEXT NOT NULL,
        kind TEXT NOT NULL, captured TEXT NOT NULL, words BLOB NOT NULL, body BLOB NOT NULL);
    CREATE INDEX documents_of_file ON documents (file);
    CREATE INDEX skipped_of_file ON skipped (file);
";

/// The index of one directory.
pub(crate) struct KnowledgeIndex {
    connection: Connection,
    path: PathBuf,
}

/// The stamp and digest of an indexed file.
pub(super) struct IndexedFile {
    pub stamp: Vec<u8>,
    pub digest: Vec<u8>,
}

/// A file to write to the index.
pub(super) struct IndexedFileUpdate {
    pub path: String,
    pub stamp: Vec<u8>,
    pub digest: Digest,
    /// The parsed contents; none if the index has them already.
    pub contents: Option<IndexedFileContents>,
}

/// The documents of a file with their words, and the parts that are not documents.
#[derive(Default)]
pub(super) struct IndexedFileContents {
    pub documents: Vec<(KnowledgeDocument, Vec<u8>)>,
    pub skipped: Vec<SkippedInput>,
}

/// The part of a document that ranking needs.
pub(crate) struct DocumentRow {
    pub id: i64,
    pub identity: String,
    pub captured: String,
    pub words: Vec<u8>,
}

/// The documents of one kind.
pub(super) struct KindCounts {
    pub kind: String,
    /// The number of documents.
    pub documents: usize,
    /// The times of the oldest and the newest document.
    pub oldest: String,
    pub newest: String,
}

/// The directory and the size of an index.
pub(super) struct KnowledgeIndexStats {
    pub folder: PathBuf,
    pub indexed_at: String,
    pub files: usize,
    pub documents: usize,
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

impl KnowledgeIndex {
    /// Opens the index of a directory, or creates an empty one if it is missing or unusable.
    pub(super) fn open(context: &Context<'_>, folder: &Path) -> Result<Self> {
        let dir = context.open_private_dir(&super::index_dir(context))?;
        let name = index_file_name(folder);
        let path = dir.path().join(&name);
        // Without a lock, a second process could remove the file that the first is writing.
        let _lock = context.lock(&dir)?;
        // SQLite would make the file readable to others. The files next to it get its mode.
        dir.ensure_file(&Name::new(&name)?)?;
        match Self::open_or_create(&path, folder) {
            Ok(Some(store)) => return Ok(store),
            Err(error) if is_busy(&error) => return Err(sqlite_error(&path, error)),
            _ => {}
        }
        // The file is not a database. It is closed by now, so it can be replaced.
        remove_files(&dir, &name)?;
        dir.ensure_file(&Name::new(&name)?)?;
        let store = Self::open_or_create(&path, folder).map_err(|e| sqlite_error(&path, e))?;
        store.ok_or_else(|| unreadable_index(&path))
    }

    /// Opens the index in a file, and recreates its tables if the schema version differs.
    fn open_or_create(path: &Path, folder: &Path) -> rusqlite::Result<Option<Self>> {
        let mut store = Self::connect(path)?;
        store.enable_wal()?;
        if !store.is_usable(folder) {
            store.create_tables(folder)?;
        }
        Ok(store.is_usable(folder).then_some(store))
    }

    /// Opens the index of a directory, if there is one.
    pub(super) fn open_existing(context: &Context<'_>, folder: &Path) -> Option<Self> {
        let path = super::index_dir(context).join(index_file_name(folder));
        let store = path.is_file().then(|| Self::connect(&path).ok()).flatten()?;
        store.is_usable(folder).then_some(store)?.begin_snapshot().ok()
    }

    /// Opens every usable index, sorted by directory.
    pub(super) fn open_all(context: &Context<'_>) -> Vec<(PathBuf, Self)> {
        let entries =
            Dir::open(&super::index_dir(context)).and_then(|dir| dir.entries()).unwrap_or_default();
        let names = entries.iter().filter_map(|entry| {
            entry.name().to_str().filter(|name| name.ends_with(DATABASE_SUFFIX))
        });
        let mut stores: Vec<(PathBuf, Self)> = names
            .filter_map(|name| {
                let store = Self::connect(&super::index_dir(context).join(name)).ok()?;
                let folder = store.folder()?;
                let is_it = store.is_usable(&folder) && index_file_name(&folder) == name;
                Some((folder, store.begin_snapshot().ok().filter(|_| is_it)?))
            })
            .collect();
        stores.sort_by(|a, b| a.0.cmp(&b.0));
        stores
    }

    /// Starts a read transaction, so that all later reads see the same state.
    pub(super) fn begin_snapshot(self) -> Result<Self> {
        self.connection.execute_batch("BEGIN").map_err(|e| sqlite_error(&self.path, e))?;
        Ok(self)
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // The index is a cache: what a power failure loses is read again.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(Self { connection, path: path.into() })
    }

    /// Lets others read while one process writes, from now on. SQLite fails at once if another
    /// process is reading a file without this mode.
    fn enable_wal(&self) -> rusqlite::Result<()> {
        let deadline = Instant::now() + BUSY_TIMEOUT;
        loop {
            match self.connection.pragma_update(None, "journal_mode", "WAL") {
                Err(error) if is_busy(&error) && Instant::now() < deadline => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                done => return done,
            }
        }
    }

    /// Recreates the tables, unless another process just did.
    fn create_tables(&mut self, folder: &Path) -> rusqlite::Result<()> {
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i32 = change.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == SCHEMA_VERSION {
            return Ok(());
        }
        let tables: Vec<String> = change
            .prepare(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
            )?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for table in tables {
            change.execute_batch(&format!("DROP TABLE \"{}\";", table.replace('"', "\"\"")))?;
        }
        change.execute_batch(SCHEMA)?;
        change.execute("INSERT INTO base VALUES (?1, '')", [folder.to_string_lossy().as_ref()])?;
        change.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        change.commit()
    }

    fn is_usable(&self, folder: &Path) -> bool {
        let version: Option<i32> =
            self.connection.pragma_query_value(None, "user_version", |row| row.get(0)).ok();
        version == Some(SCHEMA_VERSION) && self.folder().as_deref() == Some(folder)
    }

    fn folder(&self) -> Option<PathBuf> {
        let text: Option<String> =
            self.connection.query_row("SELECT folder FROM base", [], |row| row.get(0)).ok();
        text.map(PathBuf::from)
    }

    /// Returns whether there is an index of a directory, usable or not.
    pub(super) fn exists(context: &Context<'_>, folder: &Path) -> bool {
        super::index_dir(context).join(index_file_name(folder)).is_file()
    }

    /// Removes the index of a directory. Returns false if there was none.
    pub(super) fn remove(context: &Context<'_>, folder: &Path) -> Result<bool> {
        if !Self::exists(context, folder) {
            return Ok(false);
        }
        remove_files(&Dir::open(&super::index_dir(context))?, &index_file_name(folder))?;
        Ok(true)
    }

    pub(super) fn files(&self) -> Result<HashMap<String, IndexedFile>> {
        self.query("SELECT path, stamp, digest FROM files", |row| {
            Ok((row.get(0)?, IndexedFile { stamp: row.get(1)?, digest: row.get(2)? }))
        })
        .map(|rows| rows.into_iter().collect())
    }

    fn query<T>(
        &self,
        question: &str,
        row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let rows = || {
            self.connection
                .prepare(question)?
                .query_map([], row)?
                .collect::<rusqlite::Result<Vec<T>>>()
        };
        rows().map_err(|e| sqlite_error(&self.path, e))
    }

    /// Changes the index in one transaction.
    pub(super) fn update(
        &mut self,
        write: impl FnOnce(&KnowledgeIndexWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        let path = self.path.clone();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|e| sqlite_error(&path, e))?;
        write(&KnowledgeIndexWriter { transaction: &transaction, path: &path })?;
        transaction.commit().map_err(|e| sqlite_error(&path, e))
    }

    /// Returns the documents that were captured at this time or later, for ranking.
    pub(crate) fn document_rows(&self, since: Option<&str>) -> Result<Vec<DocumentRow>> {
        let rows = || {
            let mut question = self.connection.prepare(
                "SELECT documents.id, identity, captured, words FROM documents JOIN files ON files.id = file
                 WHERE captured >= ?1 ORDER BY identity, files.path, documents.id",
            )?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok(DocumentRow {
                    id: row.get(0)?,
                    identity: row.get(1)?,
                    captured: row.get(2)?,
                    words: row.get(3)?,
                })
            };
            question
                .query_map([since.unwrap_or_default()], row)?
                .collect::<rusqlite::Result<Vec<DocumentRow>>>()
        };
        rows().map_err(|e| sqlite_error(&self.path, e))
    }

    /// Returns a document and the path of its file.
    pub(crate) fn document(&self, id: i64) -> Result<(KnowledgeDocument, String)> {
        let row = self.connection.query_row(
            "SELECT body, path FROM documents JOIN files ON files.id = file WHERE documents.id = ?1",
            [id],
            |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)),
        );
        let (body, path) = row.map_err(|e| sqlite_error(&self.path, e))?;
        let document =
            serde_json::from_slice(&body).map_err(|e| unreadable_index(&self.path).because(e))?;
        Ok((document, path))
    }

    /// Returns the number of documents of every indexed file that has some.
    pub(super) fn document_counts(&self) -> Result<Vec<(String, usize)>> {
        let question =
            "SELECT path, COUNT(*) FROM documents JOIN files ON files.id = file GROUP BY files.id";
        self.query(question, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Returns the digest of every indexed file, sorted by path.
    pub(crate) fn file_digests(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.query("SELECT path, digest FROM files ORDER BY path", |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    /// Returns the files and lines that are not documents, sorted by path.
    pub(crate) fn skipped(&self) -> Result<Vec<SkippedInput>> {
        let question =
            "SELECT path, line, why FROM skipped JOIN files ON files.id = file ORDER BY path, line";
        self.query(question, |row| {
            Ok(SkippedInput { path: row.get(0)?, line: row.get(1)?, reason: row.get(2)? })
        })
    }

    /// Returns every document with the path of its file, newest first.
    pub(super) fn documents(&self) -> Result<Vec<(KnowledgeDocument, String)>> {
        let question = "SELECT body, path FROM documents JOIN files ON files.id = file ORDER BY captured DESC, identity";
        let rows =
            self.query(question, |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?)))?;
        let read = |(body, path): (Vec<u8>, String)| {
            let document = serde_json::from_slice(&body)
                .map_err(|e| unreadable_index(&self.path).because(e))?;
            Ok((document, path))
        };
        rows.into_iter().map(read).collect()
    }

    pub(super) fn kind_counts(&self) -> Result<Vec<KindCounts>> {
        let question = "SELECT kind, COUNT(*), MIN(captured), MAX(captured) FROM documents GROUP BY kind ORDER BY kind";
        self.query(question, |row| {
            Ok(KindCounts {
                kind: row.get(0)?,
                documents: row.get(1)?,
                oldest: row.get(2)?,
                newest: row.get(3)?,
            })
        })
    }

    pub(super) fn stats(&self) -> Result<KnowledgeIndexStats> {
        let row = self.connection.query_row(
            "SELECT folder, indexed_at, (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM documents) FROM base",
            [],
            |row| {
                let folder: String = row.get(0)?;
                Ok(KnowledgeIndexStats { folder: folder.into(), indexed_at: row.get(1)?, files: row.get(2)?, documents: row.get(3)? })
            },
        );
        row.map_err(|e| sqlite_error(&self.path, e))
    }

    /// Returns the stamp of an indexed file.
    pub(super) fn file_stamp(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let row =
            self.connection
                .query_row("SELECT stamp FROM files WHERE path = ?1", [path], |row| row.get(0));
        row.optional().map_err(|e| sqlite_error(&self.path, e))
    }
}

/// Writes to an index, inside a transaction.
pub(super) struct KnowledgeIndexWriter<'a> {
    transaction: &'a Transaction<'a>,
    path: &'a Path,
}

impl KnowledgeIndexWriter<'_> {
    /// Removes a file by its path, since another process may have reused its row ID.
    pub(super) fn remove_file(&self, path: &str) -> Result<()> {
        self.execute(|transaction| {
            transaction
                .prepare_cached("DELETE FROM files WHERE path = ?1")?
                .execute([path])
                .map(drop)
        })
    }

    pub(super) fn write_file(&self, file: &IndexedFileUpdate) -> Result<()> {
        let Some(contents) = &file.contents else {
            return self.execute(|transaction| {
                let mut update =
                    transaction.prepare_cached("UPDATE files SET stamp = ?2 WHERE path = ?1")?;
                update.execute(params![file.path, file.stamp]).map(drop)
            });
        };
        self.execute(|transaction| {
            transaction
                .prepare_cached("DELETE FROM files WHERE path = ?1")?
                .execute([&file.path])?;
            let mut insert = transaction
                .prepare_cached("INSERT INTO files (path, stamp, digest) VALUES (?1, ?2, ?3)")?;
            let id = insert.insert(params![file.path, file.stamp, &file.digest.as_bytes()[..]])?;
            let mut insert =
                transaction.prepare_cached("INSERT INTO skipped VALUES (?1, ?2, ?3)")?;
            for SkippedInput { line, reason: why, .. } in &contents.skipped {
                insert.execute(params![id, line, why])?;
            }
            contents
                .documents
                .iter()
                .try_for_each(|(document, words)| insert_document(transaction, id, document, words))
        })
    }

    /// Records when the directory was indexed.
    pub(super) fn set_indexed_at(&self, time: &str) -> Result<()> {
        self.execute(|transaction| {
            transaction.execute("UPDATE base SET indexed_at = ?1", [time]).map(drop)
        })
    }

    fn execute(&self, write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<()> {
        write(self.transaction).map_err(|e| sqlite_error(self.path, e))
    }
}

fn insert_document(
    to: &Transaction<'_>,
    file: i64,
    document: &KnowledgeDocument,
    words: &[u8],
) -> rusqlite::Result<()> {
    let body = serde_json::to_vec(document)
        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))?;
    let mut insert = to.prepare_cached(
        "INSERT INTO documents (file, identity, kind, captured, words, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let values = params![
        file,
        url_identity(&document.url),
        document.kind,
        document.captured_at,
        words,
        body
    ];
    insert.execute(values).map(drop)
}

fn index_file_name(folder: &Path) -> String {
    format!("{}{DATABASE_SUFFIX}", &Digest::of(folder.as_os_str().as_encoded_bytes()).hex()[..32])
}

/// Removes an index, and the files that SQLite keeps next to it.
fn remove_files(dir: &Dir, name: &str) -> Result<()> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let name = format!("{name}{ending}");
        let name = Name::new(&name)?;
        dir.remove_tree(&name)?;
    }
    Ok(())
}

fn unreadable_index(path: &Path) -> Error {
    Error::new(ErrorCode::SearchIndex, format!("cannot read the index `{}`", path.display()))
        .hint("remove it; it is a cache and will be rebuilt")
}

fn sqlite_error(path: &Path, error: rusqlite::Error) -> Error {
    let is_full = error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    let hint = if is_full {
        "free some disk space, then run the command again; nothing was changed"
    } else {
        "run the command again; if the problem persists, remove the index, which is a cache and \
         will be rebuilt; nothing was changed"
    };
    Error::new(ErrorCode::SearchIndex, format!("cannot use the index `{}`", path.display()))
        .because(error)
        .hint(hint)
}
