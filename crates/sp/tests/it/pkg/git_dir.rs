//! Packages of skills with files in a `.git` directory, in all its spellings.

use super::hostile::{document, documents, manual};
use super::*;

#[test]
fn pk_24_se_03_documents_in_a_git_directory_are_refused() {
    let world = project();
    let files = || (records(&world), world.files("project"), world.files("home/.claude"));
    for name in [".git", ".GIT", "git~1", ".git.", ".git::$INDEX_ALLOCATION", ".g\u{200c}it"] {
        let package = documents(&[document(&format!("s/{name}/config"), b"[core]"), manual()]);
        let (file, before) = (package.write_to(&world, "bomb.ctxpkg"), files());
        for args in
            [&["verify", &file][..], &["import", &file], &["install", &file, "--agent", "claude"]]
        {
            let error = pkg_error(&world, args);
            assert_eq!(error.code, "PK-24", "{args:?}: {error:?}");
            assert_mentions(&error, &format!("`s/{name}/config`"));
            assert_mentions(&error, &format!("`{}`", name.escape_default()));
        }
        assert_eq!(files(), before, "{name:?}");
    }
}
