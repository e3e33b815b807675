//! What the queries stand on: a connection to either database, the values that go in, the rows that come out.

use sp_tree::Digest;

use super::{MetadataError, Result};

/// A value that a query is given.
#[derive(Debug, Clone, Copy)]
pub(super) enum SqlParam<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl From<bool> for SqlParam<'_> {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<i64> for SqlParam<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'a> From<&'a str> for SqlParam<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for SqlParam<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<Option<&'a str>> for SqlParam<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl<'a> From<&'a Digest> for SqlParam<'a> {
    fn from(digest: &'a Digest) -> Self {
        Self::Bytes(digest.as_bytes())
    }
}

/// A value that a query gives. SQLite has no flags: one may come as a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlCell {
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row. Its values are taken in the order in which the query names them.
pub(super) struct SqlRow(std::vec::IntoIter<SqlCell>);

impl SqlRow {
    pub(super) fn new(cells: Vec<SqlCell>) -> Self {
        Self(cells.into_iter())
    }

    /// The next value.
    pub(super) fn take<T: FromCell>(&mut self) -> Result<T> {
        let taken = self.0.next().and_then(T::from_cell);
        taken.ok_or_else(|| MetadataError::Database("a row is not what the query promised".into()))
    }
}

/// What a cell can be taken as.
pub(super) trait FromCell: Sized {
    fn from_cell(cell: SqlCell) -> Option<Self>;
}

impl FromCell for String {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        if let SqlCell::Text(text) = cell { Some(text) } else { None }
    }
}

impl FromCell for i64 {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        if let SqlCell::Integer(number) = cell { Some(number) } else { None }
    }
}

impl FromCell for u64 {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        i64::from_cell(cell)?.try_into().ok()
    }
}

impl FromCell for bool {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        match cell {
            SqlCell::Bool(flag) => Some(flag),
            SqlCell::Integer(number) => Some(number != 0),
            _ => None,
        }
    }
}

impl FromCell for Vec<u8> {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        if let SqlCell::Bytes(bytes) = cell { Some(bytes) } else { None }
    }
}

impl FromCell for Digest {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        let SqlCell::Bytes(bytes) = cell else { return None };
        Some(Self::from_bytes(bytes.try_into().ok()?))
    }
}

impl<T: FromCell> FromCell for Option<T> {
    fn from_cell(cell: SqlCell) -> Option<Self> {
        if cell == SqlCell::Null { Some(None) } else { T::from_cell(cell).map(Some) }
    }
}

/// A connection to either database. A query is a text of the program, with `$1` and so on for values: nothing
/// that came from outside can become part of one.
pub(super) trait SqlConnection {
    /// The rows that a query gives.
    fn query(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<Vec<SqlRow>>;

    /// How many rows were changed.
    fn execute(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<u64>;

    /// The first row, if there is one.
    fn first(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<Option<SqlRow>> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// The only value of the only row.
pub(super) fn query_value<T: FromCell>(
    sql: &mut dyn SqlConnection,
    query: &'static str,
    values: &[SqlParam<'_>],
) -> Result<T> {
    let row = sql.first(query, values)?;
    row.ok_or_else(|| MetadataError::Database("a query gave no row".into()))?.take()
}

/// In what the two databases differ.
pub(super) struct SqlDialect {
    /// The words in [`SCHEMA`](super::schema::SCHEMA) that differ, and how they are said.
    pub placeholders: &'static [(&'static str, &'static str)],
    /// What the schema has besides, for searching.
    pub search_schema: &'static str,
    /// The newest packages that somebody may see (`$1`, `$2`) and that have all of some words (`$3`), `$4` at the
    /// most.
    pub match_all_query: &'static str,
    /// The same for those that have one of some parts of words.
    pub match_any_query: &'static str,
    /// How words and parts are said; they have letters, digits and `-` alone.
    pub match_all_expression: fn(&[String]) -> String,
    pub match_any_expression: fn(&[String]) -> String,
}
