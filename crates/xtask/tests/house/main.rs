//! The shape of the code base: what may depend on what, how things are named, how long they are.
//!
//! A failure names what to change. The limits are constants at the top of each file.

mod crates;
mod cycles;
mod names;
mod pages;
mod shape;
mod source;
