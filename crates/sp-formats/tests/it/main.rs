//! Tests of the public interface of `sp-formats`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests set up files with std and stop at the first failure"
)]

mod bit_flips;
mod context_packs;
mod envelopes;
mod hostile_text;
mod interop;
mod numbers;
mod packages;
mod positions;
mod repeated_fragments;
