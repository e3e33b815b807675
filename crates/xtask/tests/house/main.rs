//! Checks of the code base: allowed dependencies, module cycles, type names, line lengths and
//! wording.
//!
//! A failure names what to change. The limits are constants at the top of each file.

mod crates;
mod cycles;
mod names;
mod pages;
mod shape;
mod source;
mod wording;
