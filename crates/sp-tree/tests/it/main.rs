//! Tests of the public interface of `sp-tree`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests set up files with std and stop at the first failure"
)]

mod archives;
mod git_names;
mod private_dirs;
mod real_archives;
mod strict_archives;
mod transaction;
mod zips;
