//! The shape of the code base: what may depend on what.
//!
//! A failure names what to change. The limits are constants at the top of each file.

mod crates;
#[expect(dead_code)]
mod source;
