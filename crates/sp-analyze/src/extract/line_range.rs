//! A range of lines.

/// A range of lines, one-based and inclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRange {
    pub first: usize,
    pub last: usize,
}
