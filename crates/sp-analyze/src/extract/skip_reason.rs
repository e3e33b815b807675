//! Why a file is skipped.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileSkipReason {
    TooLarge,
    Binary,
    Minified,
    Generated,
}

impl FileSkipReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "huge",
            Self::Binary => "binary",
            Self::Minified => "minified",
            Self::Generated => "generated",
        }
    }
}
