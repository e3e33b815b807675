//! Extracts a knowledge graph from the files of a project.
//!
//! [`extract_file`] turns one file into a [`FileExtract`]. It needs nothing but that file, so files
//! can be processed in parallel, and the result is small. [`assemble()`] then links the extracts:
//! imports and calls, tests and what they test, documents and what they mention. With the commit
//! history, it also sets how active each node is.
//!
//! Every note has a file and a line range. Text that looks like a secret never leaves
//! [`extract_file`]. Nothing is inferred: a reference that could mean two things is dropped.

mod activation;
mod assemble;
mod code;
mod code_selection;
mod comment;
mod decision;
mod document;
mod file_extract;
mod file_role;
mod history;
mod line_range;
mod line_status;
mod manifest;
mod node_content;
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

#[derive(Debug, Clone, Copy)]
pub struct ExtractInput<'a> {
    /// Path relative to the project root, with `/` separators.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// Extracts everything from one file.
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
