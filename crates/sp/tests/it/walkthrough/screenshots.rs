//! The screenshots in the README show the current pages.
//!
//! Making them takes a browser. So the script that makes them records the digests of the templates,
//! styles and scripts of the pages, and the test only compares these.

use std::collections::BTreeSet;

use sp_tree::Digest;

use super::page::{page, root};

/// Written by `docs/images/screenshots`, in the format of `sha256sum`.
const DIGESTS: &str = "docs/images/pages.sha256";
/// All files of this page are recorded, except the source code.
const GRAPH_PAGE: &str = "crates/sp-analyze/src/graph/page";

#[test]
fn screenshots_show_the_current_pages() {
    let digests = page(DIGESTS);
    let recorded: Vec<(&str, &str)> =
        digests.lines().filter_map(|line| line.split_once("  ")).collect();
    let is_changed = |(digest, path): &&(&str, &str)| {
        let bytes = std::fs::read(root().join(path)).unwrap_or_default();
        Digest::of(&bytes).to_string() != format!("sha256:{digest}")
    };
    let changed: Vec<&str> = recorded.iter().filter(is_changed).map(|(_, path)| *path).collect();
    assert_eq!(changed, [""; 0], "run `docs/images/screenshots` and look at the pictures");
    let paths: BTreeSet<String> = recorded.iter().map(|(_, path)| (*path).to_owned()).collect();
    for entry in std::fs::read_dir(root().join(GRAPH_PAGE)).unwrap() {
        let path = format!("{GRAPH_PAGE}/{}", entry.unwrap().file_name().to_string_lossy());
        let is_source = path.ends_with(".rs");
        assert!(is_source || paths.contains(&path), "{DIGESTS} does not contain {path}");
    }
}
