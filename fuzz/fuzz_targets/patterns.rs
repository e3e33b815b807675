//! Any text as a pattern on any other, as a repository, a ref and a path.
//!
//! `cargo +nightly fuzz run patterns`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::folder::Naming;
use sp_formats::pattern::Pattern;
use sp_formats::printable::{masked, printable};
use sp_formats::repo::{GitRef, Repo};
use sp_tree::RelPath;

fuzz_target!(|input: (&str, &str)| {
    let (one, other) = input;
    if let Ok(pattern) = Pattern::new(one) {
        pattern.matches(other);
        assert!(one.contains('*') || pattern.matches(one));
    }
    if let Ok(repo) = Repo::new(one) {
        assert!(!repo.url.starts_with('-') && !repo.url.chars().any(char::is_control));
    }
    if let Ok(git_ref) = GitRef::new(one) {
        assert!(!git_ref.as_str().starts_with('-'));
    }
    if let Ok(path) = RelPath::new(one) {
        assert!(path.segments().all(|segment| !segment.is_empty() && segment != "." && segment != ".."));
    }
    let naming = Naming { prefix: one.into(), sep: other.into(), flatten: false };
    if let Ok(folder) = naming.folder("a/b") {
        assert!(!folder.as_str().contains(['/', '\\', '\0']));
    }
    assert!(!printable(one).chars().any(char::is_control));
    assert_eq!(masked(one).len(), one.len());
});
