//! Where bytes come from.

pub mod git;
