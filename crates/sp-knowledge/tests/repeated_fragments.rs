//! Every form of knowledge is read in linear time: a short fragment, repeated, costs no more than other text of its
//! length.
//!
//! Nothing here measures time: a scan that looks at the rest of the text from each position takes hours for a
//! text of this length, and the test never ends.

use std::hint::black_box;

use proptest::prelude::*;
use sp_knowledge::{File, Folder, plain, read};

const BYTES: usize = 1_000_000;

/// What every form is tried with.
const NAMED: &[&str] = &["a=>", "<http://", "&#", "&a", "a\n", "[[a"];

/// What the scanners look for: fragments are made of a few of these.
const PARTS: &[&str] = &[
    "a", "A", "1", " ", "\n", "\r", "[", "]", "(", ")", "<", ">", "!", "*", "_", "`", "~", "|", "&", "#", "\\", "\"",
    "'", "=", ":", ".", "/", "-", "?", "^", "%%", "==", "é", "日", "🙂", "\u{200b}", "- ", "> ", "# ", "<!--", "-->",
    "<a ", "<p>", "</p>", "<script", "[[", "]]", "![", "](", "[^", "&amp;", "e.g. ", "http://", "Use a. ", "<li>",
    "{\"a\":",
];

fn scan(path: &str, fragment: &str) {
    let text = fragment.repeat(BYTES.div_ceil(fragment.len()));
    black_box(read(File { path, bytes: text.as_bytes(), sidecar: None, folder: &Folder::default() }));
    black_box(plain(&text));
}

/// A test for each form, with the named fragments and some others.
macro_rules! linear {
    ($($name:ident: $path:literal;)+) => {$(
        #[test]
        fn $name() {
            NAMED.iter().for_each(|fragment| scan($path, fragment));
            let fragments = proptest::collection::vec(prop::sample::select(PARTS), 1..=4);
            proptest!(ProptestConfig::with_cases(6), |(parts in fragments)| {
                scan($path, &parts.concat());
            });
        }
    )+};
}

linear! {
    se_04_notes_are_read_in_linear_time: "notes/a.md";
    se_04_pages_are_read_in_linear_time: "pages/a.html";
    se_04_bookmarks_are_read_in_linear_time: "bookmarks.html";
    se_04_captures_are_read_in_linear_time: "captures.jsonl";
    se_04_lists_of_pages_are_read_in_linear_time: "llms.txt";
    se_04_skills_are_read_in_linear_time: "tidy/SKILL.md";
}
