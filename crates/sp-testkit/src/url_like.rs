//! Texts that look like URLs, and that parsers of URLs read differently.

use proptest::prelude::*;

const SCHEMES: &[&str] = &["https://", "http://", "HTTPS://", "ssh://", "git://", "file://", ""];

const PARTS: &[&str] = &[
    "a",
    "h.example",
    "H.Example",
    "localhost",
    "localhost.",
    "127.0.0.1",
    "127.1",
    "0x7f.1",
    "2130706433",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[",
    "]",
    "bücher",
    "xn--bcher-kva",
    "１",
    "\u{ad}",
    "me@",
    "me:s@",
    "me:s?e#c@",
    "@",
    ":",
    ":443",
    ":80",
    ":0080",
    ":8080",
    ":99999",
    "/",
    "//",
    "/a/../b",
    "/%2e%2e/",
    "%2f",
    "%31",
    "%",
    "\\",
    "?",
    "?q=1&sig=x",
    "#",
    "#f",
    ".",
    "..",
    "-",
    "_",
    ",",
    "|",
    "^",
    "{",
    "\"",
    "'",
    "<",
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "://",
    ".git",
    ".zip",
];

/// Generates a scheme and a few parts of URLs in any order.
pub fn url_like() -> impl Strategy<Value = String> {
    let parts = proptest::collection::vec(prop::sample::select(PARTS), 1..6);
    (prop::sample::select(SCHEMES), parts)
        .prop_map(|(scheme, parts)| format!("{scheme}{}", parts.concat()))
}
