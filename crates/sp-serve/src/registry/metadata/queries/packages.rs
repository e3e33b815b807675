//! What is there: the index, what is looked for in it, a package, a version.

use std::collections::BTreeMap;

use sp_formats::package::PackageVersion;
use sp_formats::registry::{IndexItem, PackageIndex, Place, VersionItem};

use super::super::sql::{Row, value};
use super::super::{Database, Download, Front, Index, MetadataError, Newest, Reader, Result, Versions};
use super::{package, seen};

/// So many packages are looked at more closely, in each way.
const CANDIDATES: usize = 200;
/// More words than this are not looked for.
const MOST_WORDS: usize = 16;
/// One in so many of the parts of what is looked for must be there.
const SHARE: usize = 3;

/// The newest versions of packages that somebody may see, and what else is said of them.
macro_rules! newest {
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
    ///
    /// However many fit, a bounded number is looked at: the newest, and the most downloaded where there are more.
    pub(crate) fn search(&self, text: &str, most: usize, reader: &Reader) -> Result<Index> {
        let sought = Sought::new(text);
        if sought.words.is_empty() {
            return Ok(Index::new());
        }
        let dialect = self.dialect();
        let mut found = self.candidates(dialect.with_all, &(dialect.all)(&sought.words), reader)?;
        if found.len() == CANDIDATES {
            found.extend(self.popular(&sought, reader)?);
        }
        if found.len() < most {
            found.extend(self.candidates(dialect.with_any, &(dialect.any)(&sought.parts), reader)?);
        }
        Ok(sought.best(found, most))
    }

    fn candidates(&self, query: &'static str, matching: &String, reader: &Reader) -> Result<Index> {
        let (all, user) = seen(reader);
        let values = [all.into(), user.into(), matching.into(), (CANDIDATES as i64).into()];
        self.read(|sql| sql.query(query, &values))?.into_iter().map(index_item).collect()
    }

    /// The most downloaded packages that have the longest of the words.
    fn popular(&self, sought: &Sought, reader: &Reader) -> Result<Index> {
        const POPULAR: &str = concat!(
            "SELECT namespace, name, kind, latest, description, downloads FROM packages WHERE words LIKE $3 AND ",
            may_see!(),
            " ORDER BY downloads DESC, id LIMIT $4"
        );
        let longest = sought.words.iter().max_by_key(|word| word.len()).map(String::as_str).unwrap_or_default();
        self.candidates(POPULAR, &format!("%{longest}%"), reader)
    }

    /// The newest version of every package that somebody may see.
    pub(crate) fn newest(&self, reader: &Reader) -> Result<Vec<Newest>> {
        const LIST: &str = newest!(" ORDER BY namespace, name");
        let (all, user) = seen(reader);
        let rows = self.read(|sql| sql.query(LIST, &[all.into(), user.into()]))?;
        rows.into_iter().map(newest_version).collect()
    }

    /// The newest version of every package of skills that somebody may see.
    pub(crate) fn newest_skills(&self, reader: &Reader) -> Result<Vec<Newest>> {
        const LIST: &str = newest!(" AND kind = 'skills' ORDER BY namespace, name");
        let (all, user) = seen(reader);
        let rows = self.read(|sql| sql.query(LIST, &[all.into(), user.into()]))?;
        rows.into_iter().map(newest_version).collect()
    }

    /// The newest version of a package, if somebody may see it.
    pub(crate) fn newest_of(&self, place: &Place, reader: &Reader) -> Result<Option<Newest>> {
        const FIND: &str = newest!(" AND namespace = $3 AND name = $4");
        let (all, user) = seen(reader);
        let values = [all.into(), user.into(), place.namespace().into(), place.name().into()];
        self.read(|sql| sql.first(FIND, &values))?.map(newest_version).transpose()
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

fn newest_version(mut row: Row) -> Result<Newest> {
    Ok(Newest {
        namespace: row.take()?,
        name: row.take()?,
        kind: row.take()?,
        version: row.take()?,
        description: row.take()?,
        digest: row.take()?,
        bytes: row.take()?,
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

/// What is looked for.
struct Sought {
    /// The words that are long enough to be looked for.
    words: Vec<String>,
    /// Pieces of them: a word with one mistake still has one of its pieces.
    parts: Vec<String>,
    /// Every three characters in a row: by how many of them there are, what fits is told from what does not.
    trigrams: Vec<String>,
}

impl Sought {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric() && c != '-');
        let long = words.filter(|word| word.chars().nth(2).is_some()).take(MOST_WORDS);
        let words: Vec<String> = long.map(str::to_owned).collect();
        let parts = words.iter().flat_map(|word| pieces(word)).collect();
        let trigrams = words.iter().flat_map(|word| windows(word)).collect();
        Self { words, parts, trigrams }
    }

    /// The best of what was found, each once.
    fn best(&self, found: Index, most: usize) -> Index {
        let mut scored: Vec<(Score, IndexItem)> =
            found.into_iter().filter_map(|item| Some((self.score(&item)?, item))).collect();
        let place = |item: &IndexItem| (item.namespace.clone(), item.name.clone());
        scored.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| place(one).cmp(&place(other))));
        scored.dedup_by(|(_, one), (_, other)| place(one) == place(other));
        scored.into_iter().take(most).map(|(_, item)| item).collect()
    }

    /// How well a package fits; none if it does not.
    fn score(&self, item: &IndexItem) -> Option<Score> {
        let text = searched((&item.namespace, &item.name), item.description.as_deref());
        let name = searched((&item.namespace, &item.name), None);
        let count = |text: &str| self.trigrams.iter().filter(|part| text.contains(part.as_str())).count();
        let has_all = |text: &str| self.words.iter().all(|word| text.contains(word.as_str()));
        let (in_text, in_name) = (count(&text), count(&name));
        // One part of a word alone says nothing.
        let fits = in_text * SHARE >= self.trigrams.len();
        let is_name = self.words.contains(&item.name);
        fits.then(|| Score {
            exact: [is_name && has_all(&name), has_all(&name), has_all(&text)],
            parts: in_name * 6 + in_text,
            downloads: item.downloads,
        })
    }
}

/// How well a package fits: what counts most stands first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    exact: [bool; 3],
    parts: usize,
    downloads: u64,
}

/// A word in up to three pieces of three characters or more; a short one in all that it has of three.
fn pieces(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    match (chars.len() / 3).min(3) {
        0 | 1 => windows(word),
        count => (0..count)
            .map(|at| chars[chars.len() * at / count..chars.len() * (at + 1) / count].iter().collect())
            .collect(),
    }
}

fn windows(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    chars.windows(3).map(|part| part.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_22_a_word_with_one_mistake_still_has_one_of_its_pieces() {
        for (right, wrong) in [
            ("kubernetes", "kuberntes"),
            ("kubernetes", "kubenretes"),
            ("kubernetes", "xubernetes"),
            ("kubernetes", "kubernetex"),
            ("postgres", "postgrse"),
            ("postgres", "psotgres"),
            ("terraform", "terrafrom"),
        ] {
            assert!(pieces(wrong).iter().any(|piece| right.contains(piece.as_str())), "{wrong}");
            let sought = Sought::new(wrong);
            let count = sought.trigrams.iter().filter(|part| right.contains(part.as_str())).count();
            assert!(count * SHARE >= sought.trigrams.len(), "{wrong}");
        }
        for text in ["", "xy", "a b", "\" OR \"", "*"] {
            assert!(Sought::new(text).words.is_empty(), "{text}");
        }
        assert_eq!(Sought::new("acme/Notes").words, ["acme", "notes"]);
    }
}
