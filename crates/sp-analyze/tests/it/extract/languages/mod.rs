//! Symbols and edges in each language.

mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod typescript;

use insta::assert_snapshot;

use super::*;
