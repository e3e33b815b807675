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
mod file_extract;
mod file_role;
mod history;
mod line_range;
mod line_status;
mod manifest;
mod parsed_code;
mod policy;
mod readable_text;
mod redact;
mod resolve;
mod skip_reason;
mod source_text;
mod text;
mod toml_file;
mod warning;

pub use assemble::{AssembleOptions, ExtractedGraph, assemble};
pub use file_extract::{ExtractedNote, FileExtract};
pub use file_role::{is_extractable, is_ignored_dir};
pub use history::{CommitHistory, FileHistory, RevertCommit};
pub use line_range::LineRange;
pub use line_status::{LineStatus, hash_line_range, line_status};
pub use skip_reason::FileSkipReason;

use code::grammar_of;
use file_role::FileRole;

/// A file of a project.
#[derive(Debug, Clone, Copy)]
pub struct ExtractInput<'a> {
    /// Its path below the project, with `/`.
    pub path: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// Everything that one file says.
pub fn extract_file(file: ExtractInput<'_>) -> FileExtract {
    let mut found = FileExtract::new(file.path);
    let text = match readable_text::readable_text(file) {
        Ok(text) => text,
        Err(noise) => {
            found.skip_reason = Some(noise);
            return found;
        }
    };
    found.line_count = text.lines().count();
    let ends = source_text::find_line_ends(&text);
    let source = source_text::SourceText { path: file.path, text: &text, line_ends: &ends };
    match file_role::role_of(file.path) {
        Some(FileRole::Document(kind)) => document::read(source, kind, &mut found),
        Some(FileRole::Decision) => decision::read_record(source, &mut found),
        Some(FileRole::Changelog) => decision::read_changelog(source, &mut found),
        Some(FileRole::Manifest(read)) => read(source, &mut found),
        None => {}
    }
    match grammar_of(file.path) {
        Some(grammar) => code::read(grammar, source, &mut found),
        None => warning::add_line_warnings(source, &mut found),
    }
    redact::redact_secrets(&mut found);
    found.record_line_hashes(&text);
    found
}
