//! Texts that take a scanner with a quadratic step too long.
//!
//! Each text is a short fragment, repeated to a million bytes. A scan that looks at the rest of the
//! text from each position takes hours, and a linear one a fraction of a second. So nothing
//! measures time: a scan that is not linear does not end, and the test runner reports it.

use proptest::prelude::*;

pub const BYTES: usize = 1_000_000;

/// Fragments that once took quadratic time.
const NAMED: &[&str] = &["a=>", "lambda:", "<http://", "0", "a", "&#", "&a", "a\n", "[[a"];

/// What scanners look for. Generated fragments combine a few of these.
const PARTS: &[&str] = &[
    "a",
    "A",
    "1",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "!",
    "*",
    "_",
    "`",
    "~",
    "|",
    "&",
    "#",
    "\\",
    "\"",
    "'",
    "$",
    "%",
    "=",
    ":",
    ";",
    ",",
    ".",
    "/",
    "-",
    "+",
    "?",
    "@",
    "^",
    "é",
    "日",
    "🙂",
    "\u{301}",
    "\u{200b}",
    "\u{200d}",
    "\u{fe0f}",
    "\u{e0041}",
    "\u{202e}",
    "\u{430}",
    "://",
    "->",
    "=>",
    "```",
    "---",
    "- ",
    "> ",
    "1. ",
    "# ",
    "<!--",
    "-->",
    "](",
    "![",
    "[^",
    "]:",
    "<a ",
    "=\"",
    "='",
    "&#",
    "$(",
    "%%",
    "==",
    "lambda",
    "http",
    "token",
    "password",
    "bearer ",
    "scripts/",
    "assets/a.b",
    "eyJ",
    "sk-",
    "ghp_",
    "your",
    "\\u",
    "<p>",
    "</p>",
    "<script",
    "[[",
    "]]",
    "&amp;",
    "e.g. ",
    "Use a. ",
    "<li>",
    "{\"a\":",
];

fn fragments() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(PARTS), 1..=4).prop_map(|parts| parts.concat())
}

/// Returns a repeated fragment.
pub fn repeated(fragment: &str) -> String {
    fragment.repeat(BYTES.div_ceil(fragment.len()))
}

/// Calls `scan` with each of the named fragments, repeated, and with some generated ones.
pub fn scan_repeated(generated: u32, scan: impl Fn(&str)) {
    NAMED.iter().for_each(|fragment| scan(&repeated(fragment)));
    proptest!(ProptestConfig::with_cases(generated), |(fragment in fragments())| {
        scan(&repeated(&fragment));
    });
}

/// Declares a test for each scanner.
#[macro_export]
macro_rules! linear_scans {
    ($($name:ident: $scan:expr;)+) => {$(
        #[test]
        fn $name() {
            let scan: fn(&str) = $scan;
            $crate::fragments::scan_repeated(4, scan);
        }
    )+};
}
