//! Where bytes come from.

pub(crate) mod git;
