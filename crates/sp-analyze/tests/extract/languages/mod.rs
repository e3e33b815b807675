//! Code in each language: which symbols become nodes, and how edges connect them. No guesses.

mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod typescript;

use insta::assert_snapshot;

use super::*;
