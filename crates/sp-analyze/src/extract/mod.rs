//! What a project says of itself, as nodes. Text in, a graph out: no disk, no network, no clock, no guess.
//!
//! Every file is [read](read()) for itself, so that files can be read side by side; what was found in
//! each is small. [`assemble`] then ties it together: who imports and calls whom, what a test tests,
//! which document speaks of what, and, from the history, how alive each of it is.
//!
//! What is found has its file and its lines. What looks like a secret never leaves [`read()`].

mod assemble;
mod code;
mod comment;
mod decision;
mod document;
mod history;
mod manifest;
mod noise;
mod note;
mod policy;
mod resolve;
mod role;
mod secrets;
mod standing;
mod toml_file;

pub use assemble::{Extracted, Options, assemble};
pub use history::{Commit, FileHistory, History};
pub use noise::Noise;
pub use note::{Found, Lines, Note};
pub use role::{is_foreign, is_wanted};
pub use standing::{Standing, hash_of_lines, standing};

use code::grammar_of;
use role::Role;

/// A file of a project.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its path below the project, with `/`.
    pub path: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// Everything that one file says.
pub fn read(file: File<'_>) -> Found {
    let mut found = Found::new(file.path);
    let text = match noise::text_of(file) {
        Ok(text) => text,
        Err(noise) => {
            found.noise = Some(noise);
            return found;
        }
    };
    found.lines = text.lines().count();
    let ends = note::ends_of(&text);
    let source = note::Source { path: file.path, text: &text, ends: &ends };
    match role::of(file.path) {
        Some(Role::Document(kind)) => document::read(source, kind, &mut found),
        Some(Role::Decision) => decision::record(source, &mut found),
        Some(Role::Changelog) => decision::changelog(source, &mut found),
        Some(Role::Manifest(read)) => read(source, &mut found),
        None => {}
    }
    match grammar_of(file.path) {
        Some(grammar) => code::read(grammar, source, &mut found),
        None => comment::in_lines(source, &mut found),
    }
    secrets::withhold(&mut found);
    found.stamp(&text);
    found
}
