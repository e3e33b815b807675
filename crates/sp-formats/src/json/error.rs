//! Why a text was rejected, and where.

use std::ops::Range;

use thiserror::Error;

/// The text is not valid JSON, or exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct JsonError {
    /// The bytes that caused the error.
    pub span: Range<usize>,
    pub message: String,
    /// How to fix it.
    pub help: &'static str,
}
