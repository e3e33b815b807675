//! Tests of the public interface of `sp-analyze`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests set up files with std and stop at the first failure"
)]

mod audit;
mod compose;
mod extract;
mod loading;
mod merging;
mod repeated_fragments;
mod skill_files;
