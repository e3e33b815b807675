//! Why a file is skipped.

/// Why nothing is read from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileSkipReason {
    /// It is larger than what people write.
    TooLarge,
    /// It is no text.
    Binary,
    /// It was made smaller for machines.
    Minified,
    /// A program wrote it.
    Generated,
}

impl FileSkipReason {
    /// The reason in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "huge",
            Self::Binary => "binary",
            Self::Minified => "minified",
            Self::Generated => "generated",
        }
    }
}
