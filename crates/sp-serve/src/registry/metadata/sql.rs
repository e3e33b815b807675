//! An interface to both databases: connections, parameters and rows.

use sp_tree::Digest;

use super::{MetadataError, Result};

/// A parameter of a query.
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

/// A value in a row. SQLite returns booleans as integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlCell {
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row. Values are taken in the order of the columns.
pub(super) struct SqlRow(std::vec::IntoIter<SqlCell>);

impl SqlRow {
    pub(super) fn new(cells: Vec<SqlCell>) -> Self {
        Self(cells.into_iter())
    }

    pub(super) fn into_cells(self) -> Vec<SqlCell> {
        self.0.collect()
    }

    pub(super) fn take<T: FromCell>(&mut self) -> Result<T> {
        let taken = self.0.next().and_then(T::from_cell);
        taken.ok_or_else(|| MetadataError::Database("a row has unexpected columns".into()))
    }
}

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

/// A connection. Queries are `'static` with placeholders such as `$1`, so no input can become part
/// of the SQL.
pub(super) trait SqlConnection {
    fn query(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<Vec<SqlRow>>;

    /// Returns the number of changed rows.
    fn execute(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<u64>;

    fn first(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<Option<SqlRow>> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// Returns the only value of a query with one row and one column.
pub(super) fn query_value<T: FromCell>(
    sql: &mut dyn SqlConnection,
    query: &'static str,
    values: &[SqlParam<'_>],
) -> Result<T> {
    let row = sql.first(query, values)?;
    row.ok_or_else(|| MetadataError::Database("a query returned no rows".into()))?.take()
}

/// Differences between the databases.
pub(super) struct SqlDialect {
    /// The placeholders of the schema, and the types that replace them.
    pub placeholders: &'static [(&'static str, &'static str)],
    /// Returns whether the table `$1` exists.
    pub table_exists_query: &'static str,
    /// Additional schema for searches.
    pub search_schema: &'static str,
    /// Selects the newest packages that a reader may see (`$1`, `$2`) and that contain all words
    /// (`$3`), at most `$4`.
    pub match_all_query: &'static str,
    /// Selects packages that contain any of some pieces of words.
    pub match_any_query: &'static str,
    /// Build the parameter `$3` from words, which contain only letters, digits and `-`.
    pub match_all_expression: fn(&[String]) -> String,
    pub match_any_expression: fn(&[String]) -> String,
}
