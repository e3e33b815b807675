//! Tests of the public interface of `sp-engine`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests set up files with std and stop at the first failure"
)]

mod cancel;
mod model;
