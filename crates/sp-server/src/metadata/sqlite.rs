//! The database in one SQLite file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use sp_formats::package::PackageVersion;
use sp_formats::registry::{IndexItem, PackageIndex, Place, VersionItem, latest};
use sp_tree::Digest;

use super::{
    AuditItem, Bearer, Change, Download, Index, MetadataError, NewVersion, Outcome, Reader, Result, Scope, TokenItem,
    Versions,
};

const PATIENCE: Duration = Duration::from_secs(10);
/// So many packages are looked at more closely, for so many parts of words, of which one in so many must be there.
const CANDIDATES: usize = 200;
const MOST_PARTS: usize = 64;
const SHARE: usize = 3;
/// So many connections read at once.
const READERS: usize = 4;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS tokens (
        id INTEGER PRIMARY KEY, user TEXT NOT NULL, scope TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,
        created_at TEXT NOT NULL, revoked INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS members (
        namespace TEXT NOT NULL, user TEXT NOT NULL, PRIMARY KEY (namespace, user)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS packages (
        id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, description TEXT,
        private INTEGER NOT NULL DEFAULT 0, latest TEXT, downloads INTEGER NOT NULL DEFAULT 0,
        UNIQUE (namespace, name));
    CREATE TABLE IF NOT EXISTS versions (
        package INTEGER NOT NULL REFERENCES packages, version TEXT NOT NULL, digest BLOB NOT NULL, bytes INTEGER NOT NULL,
        published_at TEXT NOT NULL, published_by TEXT NOT NULL, yanked INTEGER NOT NULL DEFAULT 0, signer TEXT,
        item TEXT NOT NULL, manifest TEXT NOT NULL, report TEXT NOT NULL, PRIMARY KEY (package, version));
    CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5 (name, description, tokenize = 'trigram');
    CREATE TABLE IF NOT EXISTS audit (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, user TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL);
";

/// The file, with one connection that writes and some that read.
pub(crate) struct Sqlite {
    writer: Mutex<Connection>,
    readers: Vec<Mutex<Connection>>,
}

impl Sqlite {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let writer = connect(path)?;
        writer.execute_batch(SCHEMA)?;
        let readers = (0..READERS).map(|_| connect(path).map(Mutex::new)).collect::<Result<_>>()?;
        Ok(Self { writer: Mutex::new(writer), readers })
    }

    /// Reads with a connection that nobody else uses just now.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        let reader = match free {
            Some(reader) => reader,
            // All are at work: one of them is waited for.
            None => self.readers[0].lock().unwrap_or_else(PoisonError::into_inner),
        };
        Ok(work(&reader)?)
    }

    /// Changes something, all of it or nothing.
    fn change<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Whether it answers.
    pub(crate) fn is_well(&self) -> Result<()> {
        self.read(|reader| reader.query_row("SELECT 1", [], |_| Ok(())))
    }

    /// Whether there is a token at all.
    pub(crate) fn has_tokens(&self) -> Result<bool> {
        self.read(|reader| reader.query_row("SELECT EXISTS (SELECT 1 FROM tokens)", [], |row| row.get(0)))
    }

    pub(crate) fn add_token(&self, bearer: &Bearer, hash: &Digest, at: &str) -> Result<i64> {
        self.change(|change| {
            let mut insert =
                change.prepare_cached("INSERT INTO tokens (user, scope, hash, created_at) VALUES (?1, ?2, ?3, ?4)")?;
            insert.insert(params![bearer.user, bearer.scope.word(), &hash.as_bytes()[..], at])
        })
    }

    /// Whose token has this hash, if it was not revoked.
    pub(crate) fn bearer(&self, hash: &Digest) -> Result<Option<Bearer>> {
        let found: Option<(String, String)> = self.read(|reader| {
            let mut ask = reader.prepare_cached("SELECT user, scope FROM tokens WHERE hash = ?1 AND revoked = 0")?;
            ask.query_row([&hash.as_bytes()[..]], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })?;
        Ok(found.and_then(|(user, scope)| Some(Bearer { user, scope: Scope::of(&scope)? })))
    }

    pub(crate) fn tokens(&self) -> Result<Vec<TokenItem>> {
        self.read(|reader| {
            let mut ask =
                reader.prepare_cached("SELECT id, user, scope, created_at, revoked FROM tokens ORDER BY id")?;
            let item = |row: &rusqlite::Row<'_>| {
                Ok(TokenItem {
                    id: row.get(0)?,
                    user: row.get(1)?,
                    scope: row.get(2)?,
                    created_at: row.get(3)?,
                    revoked: row.get(4)?,
                })
            };
            ask.query_map([], item)?.collect()
        })
    }

    /// Whether there was such a token.
    pub(crate) fn revoke_token(&self, id: i64, who: &Bearer, at: &str) -> Result<bool> {
        self.change(|change| {
            let changed = change.execute("UPDATE tokens SET revoked = 1 WHERE id = ?1", [id])?;
            note(change, (at, &who.user), "revoke", &format!("token {id}"))?;
            Ok(changed > 0)
        })
    }

    /// Every package that somebody may see.
    pub(crate) fn index(&self, reader: &Reader) -> Result<Index> {
        let (all, user) = seen(reader);
        self.read(|reader| {
            let mut ask = reader.prepare_cached(
                "SELECT namespace, name, kind, latest, description, downloads FROM packages
                 WHERE ?1 OR NOT private OR EXISTS (
                     SELECT 1 FROM members WHERE members.namespace = packages.namespace AND user = ?2)
                 ORDER BY namespace, name",
            )?;
            ask.query_map(params![all, user], index_item)?.collect()
        })
    }

    /// The packages that somebody may see and that fit, the best first. Words may be written a little wrong.
    pub(crate) fn search(&self, words: &[String], most: usize, reader: &Reader) -> Result<Index> {
        let asked = trigrams(words);
        if asked.is_empty() {
            return Ok(Index::new());
        }
        let (all, user) = seen(reader);
        let candidates: Vec<IndexItem> = self.read(|connection| {
            let mut ask = connection.prepare_cached(
                "SELECT namespace, packages.name, kind, latest, packages.description, downloads
                 FROM found JOIN packages ON packages.id = found.rowid
                 WHERE found MATCH ?1 AND (?2 OR NOT private OR EXISTS (
                     SELECT 1 FROM members WHERE members.namespace = packages.namespace AND user = ?3))
                 ORDER BY bm25(found, 6.0, 1.0), downloads DESC, namespace, packages.name LIMIT ?4",
            )?;
            let query: Vec<String> = asked.iter().map(|part| format!("\"{part}\"")).collect();
            ask.query_map(params![query.join(" OR "), all, user, CANDIDATES], index_item)?.collect()
        })?;
        // One part of a word alone says nothing.
        let fits = |item: &IndexItem| {
            let text = format!("{}/{} {}", item.namespace, item.name, item.description.as_deref().unwrap_or_default());
            let text = text.to_lowercase();
            asked.iter().filter(|part| text.contains(part.as_str())).count() * SHARE >= asked.len()
        };
        Ok(candidates.into_iter().filter(fits).take(most).collect())
    }

    /// The versions of a package, if somebody may see it.
    pub(crate) fn versions(&self, place: &Place, reader: &Reader) -> Result<Option<Versions>> {
        self.read(|connection| {
            let Some(package) = package(connection, place, reader)? else { return Ok(None) };
            let mut ask = connection.prepare_cached("SELECT item, yanked FROM versions WHERE package = ?1")?;
            let rows = ask.query_map([package.id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
            let mut versions = Vec::new();
            for row in rows {
                let (item, yanked) = row?;
                let item: VersionItem =
                    serde_json::from_str(&item).map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))?;
                versions.push(VersionItem { yanked, ..item });
            }
            let order = |item: &VersionItem| PackageVersion::new(&item.version).ok();
            versions.sort_by_key(|item| std::cmp::Reverse(order(item)));
            Ok(Some(PackageIndex {
                namespace: place.namespace().into(),
                name: place.name().into(),
                latest: package.latest,
                private: package.private,
                versions,
            }))
        })
    }

    /// A version, if it is there and somebody may see it; and it counts as downloaded.
    pub(crate) fn download(&self, place: &Place, version: &str, reader: &Reader) -> Result<Option<Download>> {
        self.read(|connection| {
            let Some(package) = package(connection, place, reader)? else { return Ok(None) };
            let mut ask = connection
                .prepare_cached("SELECT digest, bytes, yanked FROM versions WHERE package = ?1 AND version = ?2")?;
            let row = ask.query_row(params![package.id, version], |row| {
                let digest: [u8; 32] = row.get(0)?;
                Ok(Download { digest: Digest::from_bytes(digest), bytes: row.get(1)?, yanked: row.get(2)? })
            });
            row.optional()
        })
    }

    pub(crate) fn count_download(&self, place: &Place) -> Result<()> {
        self.change(|change| {
            let mut update = change
                .prepare_cached("UPDATE packages SET downloads = downloads + 1 WHERE namespace = ?1 AND name = ?2")?;
            update.execute(params![place.namespace(), place.name()]).map(drop)
        })
    }

    /// The manifest of a version, or what was said of it, as JSON.
    pub(crate) fn manifest(&self, place: &Place, version: &str, reader: &Reader) -> Result<Option<(String, String)>> {
        self.read(|connection| {
            let Some(package) = package(connection, place, reader)? else { return Ok(None) };
            let mut ask = connection
                .prepare_cached("SELECT manifest, report FROM versions WHERE package = ?1 AND version = ?2")?;
            ask.query_row(params![package.id, version], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
    }

    /// The members of a namespace, if somebody is one.
    pub(crate) fn members(&self, namespace: &str, who: &Bearer) -> Result<Option<Vec<String>>> {
        let members: Vec<String> = self.read(|connection| {
            let mut ask = connection.prepare_cached("SELECT user FROM members WHERE namespace = ?1 ORDER BY user")?;
            ask.query_map([namespace], |row| row.get(0))?.collect()
        })?;
        let may = who.scope == Scope::Admin && !members.is_empty() || members.contains(&who.user);
        Ok(may.then_some(members))
    }

    /// Changes a namespace of which somebody is a member; false if there is none, or nothing to change.
    pub(crate) fn change_namespace(&self, namespace: &str, what: &Change, who: &Bearer, at: &str) -> Result<bool> {
        let Some(members) = self.members(namespace, who)? else { return Ok(false) };
        self.change(|change| {
            let (changed, action, subject) = match what {
                Change::AddMember(user) => {
                    let insert = "INSERT OR IGNORE INTO members VALUES (?1, ?2)";
                    (change.execute(insert, [namespace, user]).map(|_| 1)?, "add-member", format!("{namespace} {user}"))
                }
                // The last one stays: a namespace is never free again.
                Change::RemoveMember(_) if members.len() < 2 => (0, "remove-member", String::new()),
                Change::RemoveMember(user) => {
                    let delete = "DELETE FROM members WHERE namespace = ?1 AND user = ?2";
                    (change.execute(delete, [namespace, user])?, "remove-member", format!("{namespace} {user}"))
                }
                Change::Private(place, private) => {
                    let update = "UPDATE packages SET private = ?3 WHERE namespace = ?1 AND name = ?2";
                    let changed = change.execute(update, params![namespace, place.name(), private])?;
                    (changed, if *private { "hide" } else { "show" }, place.to_string())
                }
            };
            if changed > 0 {
                note(change, (at, &who.user), action, &subject)?;
            }
            Ok(changed > 0)
        })
    }

    /// What was done last, the latest first.
    pub(crate) fn audit(&self) -> Result<Vec<AuditItem>> {
        self.read(|connection| {
            let mut ask =
                connection.prepare_cached("SELECT at, user, action, subject FROM audit ORDER BY id DESC LIMIT 1000")?;
            let item = |row: &rusqlite::Row<'_>| {
                Ok(AuditItem { at: row.get(0)?, user: row.get(1)?, action: row.get(2)?, subject: row.get(3)? })
            };
            ask.query_map([], item)?.collect()
        })
    }

    /// Publishes a version whose bytes are stored already.
    pub(crate) fn publish(&self, new: &NewVersion, who: &Bearer, at: &str) -> Result<Outcome> {
        self.change(|change| {
            if !may_publish(change, new.place.namespace(), who)? {
                return Ok(Outcome::Forbidden);
            }
            let id = package_id(change, new)?;
            let mut insert = change.prepare_cached(
                "INSERT OR IGNORE INTO versions
                 (package, version, digest, bytes, published_at, published_by, signer, item, manifest, report)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?;
            let json =
                serde_json::to_string(&new.item).map_err(|e| rusqlite::Error::ToSqlConversionFailure(e.into()))?;
            let values = params![
                id,
                new.item.version,
                &new.digest.as_bytes()[..],
                new.item.bytes,
                at,
                who.user,
                new.item.signer,
                json,
                new.manifest,
                new.report
            ];
            if insert.execute(values)? == 0 {
                return Ok(Outcome::Exists);
            }
            renew_latest(change, id)?;
            change.execute("DELETE FROM found WHERE rowid = ?1", [id])?;
            let name = format!("{}/{}", new.place.namespace(), new.place.name());
            let insert = "INSERT INTO found (rowid, name, description) VALUES (?1, ?2, ?3)";
            change.execute(insert, params![id, name, new.description])?;
            note(change, (at, &who.user), "publish", &format!("{} {}", new.place, new.item.version))?;
            Ok(Outcome::Published)
        })
    }

    /// Yanks a version, or takes that back; false if there is none, none if one may not.
    pub(crate) fn yank(
        &self,
        (place, version): (&Place, &str),
        yanked: bool,
        who: &Bearer,
        at: &str,
    ) -> Result<Option<bool>> {
        self.change(|change| {
            let Some(package) = package(change, place, &Reader::of(Some(who)))? else { return Ok(Some(false)) };
            if !may_publish(change, place.namespace(), who)? {
                return Ok(None);
            }
            let changed = change.execute(
                "UPDATE versions SET yanked = ?3 WHERE package = ?1 AND version = ?2",
                params![package.id, version, yanked],
            )?;
            renew_latest(change, package.id)?;
            let action = if yanked { "yank" } else { "unyank" };
            note(change, (at, &who.user), action, &format!("{place} {version}"))?;
            Ok(Some(changed > 0))
        })
    }
}

fn index_item(row: &rusqlite::Row<'_>) -> rusqlite::Result<IndexItem> {
    Ok(IndexItem {
        namespace: row.get(0)?,
        name: row.get(1)?,
        kind: row.get(2)?,
        latest: row.get(3)?,
        description: row.get(4)?,
        downloads: row.get(5)?,
    })
}

/// Every three characters in a row of some words, in lower case: a word that is written a little wrong still
/// has most of them.
fn trigrams(words: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let chars: Vec<char> = word.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        for part in chars.windows(3).map(|part| part.iter().collect::<String>()) {
            if !found.contains(&part) && found.len() < MOST_PARTS {
                found.push(part);
            }
        }
    }
    found
}

struct Package {
    id: i64,
    latest: Option<String>,
    private: bool,
}

/// Whether somebody may see everything, and who it is.
fn seen(reader: &Reader) -> (bool, &str) {
    match reader {
        Reader::Stranger => (false, ""),
        Reader::User(user) => (false, user),
        Reader::Admin => (true, ""),
    }
}

/// A package, if somebody may see it. To others it is not there.
fn package(connection: &Connection, place: &Place, reader: &Reader) -> rusqlite::Result<Option<Package>> {
    let (all, user) = seen(reader);
    let mut ask = connection.prepare_cached(
        "SELECT id, latest, private FROM packages WHERE namespace = ?1 AND name = ?2 AND (?3 OR NOT private OR EXISTS (
             SELECT 1 FROM members WHERE members.namespace = packages.namespace AND user = ?4))",
    )?;
    let row = |row: &rusqlite::Row<'_>| Ok(Package { id: row.get(0)?, latest: row.get(1)?, private: row.get(2)? });
    ask.query_row(params![place.namespace(), place.name(), all, user], row).optional()
}

/// Whether somebody may publish into a namespace. The first who does owns it.
fn may_publish(change: &Transaction<'_>, namespace: &str, who: &Bearer) -> rusqlite::Result<bool> {
    if who.scope == Scope::Admin {
        return Ok(true);
    }
    let members: i64 =
        change.query_row("SELECT COUNT(*) FROM members WHERE namespace = ?1", [namespace], |row| row.get(0))?;
    if members == 0 {
        change.execute("INSERT INTO members VALUES (?1, ?2)", [namespace, &who.user])?;
        return Ok(true);
    }
    let mut ask = change.prepare_cached("SELECT EXISTS (SELECT 1 FROM members WHERE namespace = ?1 AND user = ?2)")?;
    ask.query_row([namespace, &who.user], |row| row.get(0))
}

fn package_id(change: &Transaction<'_>, new: &NewVersion) -> rusqlite::Result<i64> {
    change.execute(
        "INSERT INTO packages (namespace, name, kind, description) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (namespace, name) DO UPDATE SET description = excluded.description",
        params![new.place.namespace(), new.place.name(), new.kind, new.description],
    )?;
    change.query_row(
        "SELECT id FROM packages WHERE namespace = ?1 AND name = ?2",
        params![new.place.namespace(), new.place.name()],
        |row| row.get(0),
    )
}

/// The newest version that was not yanked.
fn renew_latest(change: &Transaction<'_>, package: i64) -> rusqlite::Result<()> {
    let mut ask = change.prepare_cached("SELECT version FROM versions WHERE package = ?1 AND NOT yanked")?;
    let rows = ask.query_map([package], |row| row.get::<_, String>(0))?;
    let versions: Vec<PackageVersion> = rows.filter_map(|row| PackageVersion::new(&row.ok()?).ok()).collect();
    let newest = latest(versions.iter()).map(PackageVersion::as_str);
    change.execute("UPDATE packages SET latest = ?2 WHERE id = ?1", params![package, newest]).map(drop)
}

fn note(change: &Transaction<'_>, (at, user): (&str, &str), action: &str, subject: &str) -> rusqlite::Result<()> {
    let mut insert = change.prepare_cached("INSERT INTO audit (at, user, action, subject) VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute([at, user, action, subject]).map(drop)
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // What was answered with 201 survives a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

impl From<rusqlite::Error> for MetadataError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Database(error.into()),
        }
    }
}
