//! Parses any text as a pattern and matches it with another, and as a repository, a ref and a path.
//!
//! `cargo +nightly fuzz run patterns`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::git_repo::{GitRef, GitRepo};
use sp_formats::naming::FolderNaming;
use sp_formats::pattern::Pattern;
use sp_formats::printable::printable;
use sp_formats::redact::mask_secrets;
use sp_tree::RelPath;

fuzz_target!(|input: (&str, &str)| {
    let (text, other) = input;
    if let Ok(pattern) = Pattern::new(text) {
        pattern.matches(other);
        assert!(text.contains('*') || pattern.matches(text));
    }
    if let Ok(repo) = GitRepo::new(text) {
        assert!(!repo.url.starts_with('-') && !repo.url.chars().any(char::is_control));
    }
    if let Ok(git_ref) = GitRef::new(text) {
        assert!(!git_ref.as_str().starts_with('-'));
    }
    if let Ok(path) = RelPath::new(text) {
        assert!(
            path.segments().all(|segment| !segment.is_empty() && segment != "." && segment != "..")
        );
    }
    let naming = FolderNaming { prefix: text.into(), sep: other.into(), flatten: false };
    if let Ok(folder) = naming.folder_name("a/b") {
        assert!(!folder.as_str().contains(['/', '\\', '\0']));
    }
    assert!(!printable(text).chars().any(char::is_control));
    assert_eq!(mask_secrets(text).len(), text.len());
});
