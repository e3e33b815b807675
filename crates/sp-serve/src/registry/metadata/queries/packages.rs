//! Packages and versions: index, search, details.

use std::collections::BTreeMap;

use sp_formats::package::PackageVersion;
use sp_formats::registry::{
    PackageIndex, PackageVersionItem, RegistryIndex, RegistryIndexItem, RegistryPackageName,
};

use super::super::sql::{SqlRow, query_value};
use super::super::{
    Database, HomePageData, IndexItems, IndexPage, LatestVersion, MetadataError, PackageVersions,
    RegistryReader, Result, StoredVersion,
};
use super::{find_package, visibility_params};

/// Maximum number of packages that each candidate query returns.
const MAX_CANDIDATES: usize = 200;
/// Maximum number of words in a query; others are ignored.
const MAX_QUERY_WORDS: usize = 16;
/// A package matches if it contains at least one in this many trigrams of the query.
const TRIGRAM_MATCH_DIVISOR: usize = 3;

/// The latest versions of packages that a reader may see, with further conditions.
macro_rules! latest_versions_sql {
    ($more:literal) => {
        concat!(
            "SELECT namespace, name, kind, version, description, digest, bytes FROM packages
             JOIN versions ON versions.package = packages.id AND versions.version = packages.latest
             WHERE NOT yanked AND ",
            may_see!(),
            $more
        )
    };
}

impl Database {
    /// Returns packages by name.
    pub(crate) fn index(&self, page: &IndexPage, reader: &RegistryReader) -> Result<RegistryIndex> {
        const LIST: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages
             WHERE (namespace > $3 OR namespace = $3 AND name > $4) AND ",
            may_see!(),
            " ORDER BY namespace, name LIMIT $5"
        );
        let (all, user) = visibility_params(reader);
        let (namespace, name) = page.after.as_ref().map_or(("", ""), |p| (p.namespace(), p.name()));
        // One more, to find out whether there are more.
        let most = i64::try_from(page.limit).unwrap_or(i64::MAX - 1) + 1;
        let values = [all.into(), user.into(), namespace.into(), name.into(), most.into()];
        let rows = self.read(|sql| sql.query(LIST, &values))?;
        let mut packages: IndexItems = rows.into_iter().map(index_item).collect::<Result<_>>()?;
        let has_more = packages.len() > page.limit;
        packages.truncate(page.limit);
        let last = packages.last().filter(|_| has_more);
        let next = last.map(|last| format!("{}/{}", last.namespace, last.name));
        Ok(RegistryIndex { packages, next })
    }

    /// Returns the number of packages, the newest and the most downloaded ones.
    pub(crate) fn home_page_data(
        &self,
        most: usize,
        reader: &RegistryReader,
    ) -> Result<HomePageData> {
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
        let (all, user) = visibility_params(reader);
        let values = [all.into(), user.into(), i64::try_from(most).unwrap_or(i64::MAX).into()];
        self.read(|sql| {
            let items = |rows: Vec<SqlRow>| {
                rows.into_iter().map(index_item).collect::<Result<IndexItems>>()
            };
            Ok(HomePageData {
                packages: query_value(sql, COUNT, &values[..2])?,
                newest: items(sql.query(NEWEST, &values)?)?,
                most_downloaded: items(sql.query(MOST_DOWNLOADED, &values)?)?,
            })
        })
    }

    pub(crate) fn namespace_packages(
        &self,
        namespace: &str,
        reader: &RegistryReader,
    ) -> Result<IndexItems> {
        const LIST: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE namespace = $3 AND ",
            may_see!(),
            " ORDER BY name"
        );
        let (all, user) = visibility_params(reader);
        let rows =
            self.read(|sql| sql.query(LIST, &[all.into(), user.into(), namespace.into()]))?;
        rows.into_iter().map(index_item).collect()
    }

    /// Searches packages, tolerating typos. Best matches first.
    ///
    /// Ranks a bounded number of candidates: the newest matches, and the most downloaded ones if
    /// there are more.
    pub(crate) fn search(
        &self,
        text: &str,
        most: usize,
        reader: &RegistryReader,
    ) -> Result<IndexItems> {
        let query = PackageSearchQuery::new(text);
        if query.words.is_empty() {
            return Ok(IndexItems::new());
        }
        let dialect = self.dialect();
        let mut found = self.candidates(
            dialect.match_all_query,
            &(dialect.match_all_expression)(&query.words),
            reader,
        )?;
        if found.len() == MAX_CANDIDATES {
            found.extend(self.popular_candidates(&query, reader)?);
        }
        if found.len() < most {
            found.extend(self.candidates(
                dialect.match_any_query,
                &(dialect.match_any_expression)(&query.pieces),
                reader,
            )?);
        }
        Ok(query.rank(found, most))
    }

    fn candidates(
        &self,
        query: &'static str,
        matching: &String,
        reader: &RegistryReader,
    ) -> Result<IndexItems> {
        let (all, user) = visibility_params(reader);
        let values = [all.into(), user.into(), matching.into(), (MAX_CANDIDATES as i64).into()];
        self.read(|sql| sql.query(query, &values))?.into_iter().map(index_item).collect()
    }

    fn popular_candidates(
        &self,
        query: &PackageSearchQuery,
        reader: &RegistryReader,
    ) -> Result<IndexItems> {
        const POPULAR: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE words LIKE $3 AND ",
            may_see!(),
            " ORDER BY downloads DESC, id LIMIT $4"
        );
        let longest = query
            .words
            .iter()
            .max_by_key(|word| word.len())
            .map(String::as_str)
            .unwrap_or_default();
        self.candidates(POPULAR, &format!("%{longest}%"), reader)
    }

    pub(crate) fn latest_versions(&self, reader: &RegistryReader) -> Result<Vec<LatestVersion>> {
        const LIST: &str = latest_versions_sql!(" ORDER BY namespace, name");
        let (all, user) = visibility_params(reader);
        let rows = self.read(|sql| sql.query(LIST, &[all.into(), user.into()]))?;
        rows.into_iter().map(latest_version_item).collect()
    }

    pub(crate) fn latest_skill_packages(
        &self,
        reader: &RegistryReader,
    ) -> Result<Vec<LatestVersion>> {
        const LIST: &str = latest_versions_sql!(" AND kind = 'skills' ORDER BY namespace, name");
        let (all, user) = visibility_params(reader);
        let rows = self.read(|sql| sql.query(LIST, &[all.into(), user.into()]))?;
        rows.into_iter().map(latest_version_item).collect()
    }

    pub(crate) fn latest_version(
        &self,
        name: &RegistryPackageName,
        reader: &RegistryReader,
    ) -> Result<Option<LatestVersion>> {
        const FIND: &str = latest_versions_sql!(" AND namespace = $3 AND name = $4");
        let (all, user) = visibility_params(reader);
        let values = [all.into(), user.into(), name.namespace().into(), name.name().into()];
        self.read(|sql| sql.first(FIND, &values))?.map(latest_version_item).transpose()
    }

    /// Returns the versions of a package, newest first.
    pub(crate) fn versions(
        &self,
        name: &RegistryPackageName,
        reader: &RegistryReader,
    ) -> Result<Option<PackageVersions>> {
        const LIST: &str =
            "SELECT item, yanked, deleted_at IS NOT NULL FROM versions WHERE package = $1";
        let found = self.read(|sql| {
            let Some(package) = find_package(sql, name, reader)? else { return Ok(None) };
            let rows = sql.query(LIST, &[package.id.into()])?;
            Ok(Some((package, rows)))
        })?;
        let Some((package, rows)) = found else { return Ok(None) };
        let mut versions: Vec<PackageVersionItem> =
            rows.into_iter().map(version_item).collect::<Result<_>>()?;
        let order = |item: &PackageVersionItem| PackageVersion::new(&item.version).ok();
        versions.sort_by_key(|item| std::cmp::Reverse(order(item)));
        Ok(Some(PackageIndex {
            namespace: name.namespace().into(),
            name: name.name().into(),
            latest: package.latest,
            private: package.private,
            downloads: package.downloads,
            versions,
        }))
    }

    /// Returns what is needed to serve a version, unless it was deleted.
    pub(crate) fn find_version(
        &self,
        name: &RegistryPackageName,
        version: &str,
        reader: &RegistryReader,
    ) -> Result<Option<StoredVersion>> {
        let found = self.find_version_or_tombstone(name, version, reader)?;
        Ok(found.filter(|found| !found.deleted))
    }

    /// Returns a version, even if it was deleted.
    pub(crate) fn find_version_or_tombstone(
        &self,
        name: &RegistryPackageName,
        version: &str,
        reader: &RegistryReader,
    ) -> Result<Option<StoredVersion>> {
        const FIND: &str = "SELECT digest, bytes, yanked, deleted_at IS NOT NULL, private
            FROM versions JOIN packages ON packages.id = package
            WHERE package = $1 AND version = $2";
        let found = self.version_row(FIND, name, version, reader)?;
        let download = |mut row: SqlRow| {
            Ok(StoredVersion {
                digest: row.take()?,
                bytes: row.take()?,
                yanked: row.take()?,
                deleted: row.take()?,
                private: row.take()?,
            })
        };
        found.map(download).transpose()
    }

    /// Returns the manifest and the trust report of a version, as JSON.
    pub(crate) fn manifest(
        &self,
        name: &RegistryPackageName,
        version: &str,
        reader: &RegistryReader,
    ) -> Result<Option<(String, String)>> {
        const FIND: &str = "SELECT manifest, report FROM versions
            WHERE package = $1 AND version = $2 AND deleted_at IS NULL";
        let found = self.version_row(FIND, name, version, reader)?;
        found.map(|mut row| Ok((row.take()?, row.take()?))).transpose()
    }

    /// Runs a query for a version of a package that `reader` may see.
    fn version_row(
        &self,
        find: &'static str,
        name: &RegistryPackageName,
        version: &str,
        reader: &RegistryReader,
    ) -> Result<Option<SqlRow>> {
        self.read(|sql| {
            let Some(package) = find_package(sql, name, reader)? else { return Ok(None) };
            sql.first(find, &[package.id.into(), version.into()])
        })
    }

    pub(crate) fn add_downloads(&self, counted: &BTreeMap<RegistryPackageName, u64>) -> Result<()> {
        const COUNT: &str =
            "UPDATE packages SET downloads = downloads + $3 WHERE namespace = $1 AND name = $2";
        self.write(|sql| {
            counted.iter().try_for_each(|(name, downloads)| {
                let downloads = i64::try_from(*downloads).unwrap_or(i64::MAX);
                sql.execute(COUNT, &[name.namespace().into(), name.name().into(), downloads.into()])
                    .map(drop)
            })
        })
    }

    /// Returns the ID of the last change: of the last entry in the audit log.
    pub(crate) fn last_change_id(&self) -> Result<i64> {
        const LAST: &str = "SELECT COALESCE(MAX(id), 0) FROM audit";
        self.read(|sql| query_value(sql, LAST, &[]))
    }
}

fn index_item(mut row: SqlRow) -> Result<RegistryIndexItem> {
    Ok(RegistryIndexItem {
        namespace: row.take()?,
        name: row.take()?,
        kind: row.take()?,
        latest: row.take()?,
        description: row.take()?,
        downloads: row.take()?,
    })
}

fn latest_version_item(mut row: SqlRow) -> Result<LatestVersion> {
    Ok(LatestVersion {
        namespace: row.take()?,
        name: row.take()?,
        kind: row.take()?,
        version: row.take()?,
        description: row.take()?,
        digest: row.take()?,
        bytes: row.take()?,
    })
}

fn version_item(mut row: SqlRow) -> Result<PackageVersionItem> {
    let (item, yanked, deleted): (String, bool, bool) = (row.take()?, row.take()?, row.take()?);
    let item: PackageVersionItem =
        serde_json::from_str(&item).map_err(|e| MetadataError::Database(e.into()))?;
    Ok(PackageVersionItem { yanked, deleted, ..item })
}

/// The text that searches match.
pub(super) fn search_text((namespace, name): (&str, &str), description: Option<&str>) -> String {
    format!("{namespace}/{name} {}", description.unwrap_or_default()).to_lowercase()
}

struct PackageSearchQuery {
    /// Words of at least three characters.
    words: Vec<String>,
    /// Pieces of the words: one typo leaves at least one piece intact.
    pieces: Vec<String>,
    /// All trigrams of the words. Their number in a text decides whether it matches.
    trigrams: Vec<String>,
}

impl PackageSearchQuery {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric() && c != '-');
        let long = words.filter(|word| word.chars().nth(2).is_some()).take(MAX_QUERY_WORDS);
        let words: Vec<String> = long.map(str::to_owned).collect();
        let pieces = words.iter().flat_map(|word| word_pieces(word)).collect();
        let trigrams = words.iter().flat_map(|word| trigrams(word)).collect();
        Self { words, pieces, trigrams }
    }

    /// Sorts candidates by score and removes duplicates.
    fn rank(&self, found: IndexItems, most: usize) -> IndexItems {
        let mut scored: Vec<(PackageSearchScore, RegistryIndexItem)> =
            found.into_iter().filter_map(|item| Some((self.score(&item)?, item))).collect();
        let name = |item: &RegistryIndexItem| (item.namespace.clone(), item.name.clone());
        scored.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| name(one).cmp(&name(other))));
        scored.dedup_by(|(_, one), (_, other)| name(one) == name(other));
        scored.into_iter().take(most).map(|(_, item)| item).collect()
    }

    /// Scores a package; `None` if it does not match.
    fn score(&self, item: &RegistryIndexItem) -> Option<PackageSearchScore> {
        let text = search_text((&item.namespace, &item.name), item.description.as_deref());
        let name = search_text((&item.namespace, &item.name), None);
        let count =
            |text: &str| self.trigrams.iter().filter(|part| text.contains(part.as_str())).count();
        let has_all = |text: &str| self.words.iter().all(|word| text.contains(word.as_str()));
        let (in_text, in_name) = (count(&text), count(&name));
        // A single shared trigram is not a match.
        let fits = in_text * TRIGRAM_MATCH_DIVISOR >= self.trigrams.len();
        let is_name = self.words.contains(&item.name);
        fits.then(|| PackageSearchScore {
            full_matches: [is_name && has_all(&name), has_all(&name), has_all(&text)],
            trigram_matches: in_name * 6 + in_text,
            downloads: item.downloads,
        })
    }
}

/// The most important criterion first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PackageSearchScore {
    full_matches: [bool; 3],
    trigram_matches: usize,
    downloads: u64,
}

/// Splits a word into two or three pieces, or into trigrams if it is short.
fn word_pieces(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    match (chars.len() / 3).min(3) {
        0 | 1 => trigrams(word),
        count => (0..count)
            .map(|at| {
                chars[chars.len() * at / count..chars.len() * (at + 1) / count].iter().collect()
            })
            .collect(),
    }
}

fn trigrams(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    chars.windows(3).map(|part| part.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_22_typo_keeps_enough_pieces_of_the_word_to_match() {
        for (word, typo) in [
            ("kubernetes", "kuberntes"),
            ("kubernetes", "kubenretes"),
            ("kubernetes", "xubernetes"),
            ("kubernetes", "kubernetex"),
            ("postgres", "postgrse"),
            ("postgres", "psotgres"),
            ("terraform", "terrafrom"),
        ] {
            assert!(word_pieces(typo).iter().any(|piece| word.contains(piece.as_str())), "{typo}");
            let query = PackageSearchQuery::new(typo);
            let count = query.trigrams.iter().filter(|part| word.contains(part.as_str())).count();
            assert!(count * TRIGRAM_MATCH_DIVISOR >= query.trigrams.len(), "{typo}");
        }
        for text in ["", "xy", "a b", "\" OR \"", "*"] {
            assert!(PackageSearchQuery::new(text).words.is_empty(), "{text}");
        }
        assert_eq!(PackageSearchQuery::new("acme/Notes").words, ["acme", "notes"]);
    }
}
