//! What is there: the index, what is looked for in it, a package, a version.

use std::collections::BTreeMap;

use sp_formats::package::PackageVersion;
use sp_formats::registry::{IndexItem, PackageIndex, Place, VersionItem};

use super::super::sql::{Row, value};
use super::super::{Database, Download, Front, Index, MetadataError, Reader, Result, Versions};
use super::{package, seen};

/// So many packages are looked at more closely, for so many parts of words, of which one in so many must be there.
const CANDIDATES: i64 = 200;
const MOST_PARTS: usize = 64;
const SHARE: usize = 3;

impl Database {
    /// Every package that somebody may see.
    pub(crate) fn index(&self, reader: &Reader) -> Result<Index> {
        const LIST: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE ",
            may_see!(),
            " ORDER BY namespace, name"
        );
        let (all, user) = seen(reader);
        let rows = self.read(|sql| sql.query(LIST, &[all.into(), user.into()]))?;
        rows.into_iter().map(index_item).collect()
    }

    /// What stands on the first page: how much somebody may see, and the first few of it.
    pub(crate) fn front(&self, most: usize, reader: &Reader) -> Result<Front> {
        const COUNT: &str = concat!("SELECT COUNT(*) FROM packages WHERE ", may_see!());
        const NEWEST: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE ",
            may_see!(),
            " ORDER BY id DESC LIMIT $3"
        );
        const MOST_DOWNLOADED: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE ",
            may_see!(),
            " ORDER BY downloads DESC, id LIMIT $3"
        );
        let (all, user) = seen(reader);
        let values = [all.into(), user.into(), i64::try_from(most).unwrap_or(i64::MAX).into()];
        self.read(|sql| {
            let items = |rows: Vec<Row>| rows.into_iter().map(index_item).collect::<Result<Index>>();
            Ok(Front {
                packages: value(sql, COUNT, &values[..2])?,
                newest: items(sql.query(NEWEST, &values)?)?,
                most_downloaded: items(sql.query(MOST_DOWNLOADED, &values)?)?,
            })
        })
    }

    /// The packages of a namespace that somebody may see.
    pub(crate) fn namespace(&self, namespace: &str, reader: &Reader) -> Result<Index> {
        const LIST: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE namespace = $3 AND ",
            may_see!(),
            " ORDER BY name"
        );
        let (all, user) = seen(reader);
        let rows = self.read(|sql| sql.query(LIST, &[all.into(), user.into(), namespace.into()]))?;
        rows.into_iter().map(index_item).collect()
    }

    /// The packages that somebody may see and that fit, the best first. Words may be written a little wrong.
    pub(crate) fn search(&self, words: &[String], most: usize, reader: &Reader) -> Result<Index> {
        let asked = trigrams(words);
        if asked.is_empty() {
            return Ok(Index::new());
        }
        let (all, user) = seen(reader);
        let dialect = self.dialect();
        let parts = (dialect.matching)(&asked);
        let values = [all.into(), user.into(), (&parts).into(), CANDIDATES.into()];
        let rows = self.read(|sql| sql.query(dialect.search, &values))?;
        let candidates: Vec<IndexItem> = rows.into_iter().map(index_item).collect::<Result<_>>()?;
        // One part of a word alone says nothing.
        let fits = |item: &IndexItem| {
            let text = searched((&item.namespace, &item.name), item.description.as_deref());
            asked.iter().filter(|part| text.contains(part.as_str())).count() * SHARE >= asked.len()
        };
        Ok(candidates.into_iter().filter(fits).take(most).collect())
    }

    /// The versions of a package, if somebody may see it.
    pub(crate) fn versions(&self, place: &Place, reader: &Reader) -> Result<Option<Versions>> {
        const LIST: &str = "SELECT item, yanked FROM versions WHERE package = $1";
        let found = self.read(|sql| {
            let Some(package) = package(sql, place, reader)? else { return Ok(None) };
            let rows = sql.query(LIST, &[package.id.into()])?;
            Ok(Some((package, rows)))
        })?;
        let Some((package, rows)) = found else { return Ok(None) };
        let mut versions: Vec<VersionItem> = rows.into_iter().map(version_item).collect::<Result<_>>()?;
        let order = |item: &VersionItem| PackageVersion::new(&item.version).ok();
        versions.sort_by_key(|item| std::cmp::Reverse(order(item)));
        Ok(Some(PackageIndex {
            namespace: place.namespace().into(),
            name: place.name().into(),
            latest: package.latest,
            private: package.private,
            downloads: package.downloads,
            versions,
        }))
    }

    /// A version, if it is there and somebody may see it.
    pub(crate) fn download(&self, place: &Place, version: &str, reader: &Reader) -> Result<Option<Download>> {
        const FIND: &str = "SELECT digest, bytes, yanked FROM versions WHERE package = $1 AND version = $2";
        let found = self.version(FIND, place, version, reader)?;
        let download = |mut row: Row| Ok(Download { digest: row.take()?, bytes: row.take()?, yanked: row.take()? });
        found.map(download).transpose()
    }

    /// The manifest of a version, and what was said of it, as JSON.
    pub(crate) fn manifest(&self, place: &Place, version: &str, reader: &Reader) -> Result<Option<(String, String)>> {
        const FIND: &str = "SELECT manifest, report FROM versions WHERE package = $1 AND version = $2";
        let found = self.version(FIND, place, version, reader)?;
        found.map(|mut row| Ok((row.take()?, row.take()?))).transpose()
    }

    /// What a query says of a version that somebody may see.
    fn version(&self, find: &'static str, place: &Place, version: &str, reader: &Reader) -> Result<Option<Row>> {
        self.read(|sql| {
            let Some(package) = package(sql, place, reader)? else { return Ok(None) };
            sql.first(find, &[package.id.into(), version.into()])
        })
    }

    /// Adds to how often packages were downloaded.
    pub(crate) fn count_downloads(&self, counted: &BTreeMap<Place, u64>) -> Result<()> {
        const COUNT: &str = "UPDATE packages SET downloads = downloads + $3 WHERE namespace = $1 AND name = $2";
        self.change(|sql| {
            counted.iter().try_for_each(|(place, downloads)| {
                let downloads = i64::try_from(*downloads).unwrap_or(i64::MAX);
                sql.execute(COUNT, &[place.namespace().into(), place.name().into(), downloads.into()]).map(drop)
            })
        })
    }

    /// The number of the last thing that was done.
    pub(crate) fn last_change(&self) -> Result<i64> {
        const LAST: &str = "SELECT COALESCE(MAX(id), 0) FROM audit";
        self.read(|sql| value(sql, LAST, &[]))
    }
}

fn index_item(mut row: Row) -> Result<IndexItem> {
    Ok(IndexItem {
        namespace: row.take()?,
        name: row.take()?,
        kind: row.take()?,
        latest: row.take()?,
        description: row.take()?,
        downloads: row.take()?,
    })
}

fn version_item(mut row: Row) -> Result<VersionItem> {
    let (item, yanked): (String, bool) = (row.take()?, row.take()?);
    let item: VersionItem = serde_json::from_str(&item).map_err(|e| MetadataError::Database(e.into()))?;
    Ok(VersionItem { yanked, ..item })
}

/// What is searched of a package.
pub(super) fn searched((namespace, name): (&str, &str), description: Option<&str>) -> String {
    format!("{namespace}/{name} {}", description.unwrap_or_default()).to_lowercase()
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
