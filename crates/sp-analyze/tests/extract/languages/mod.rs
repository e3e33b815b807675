//! Code of each language: which symbols are worth a node, and how they hang together. Nothing is guessed.

mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod typescript;

use insta::assert_snapshot;

use super::*;
