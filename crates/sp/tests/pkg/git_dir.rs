//! Packages of skills with a `.git`, however it is spelled.

use super::hostile::{document, documents, manual};
use super::*;

#[test]
fn pk_24_se_03_documents_below_a_git_folder_are_refused_and_named() {
    let world = project();
    let files = || (records(&world), world.files("project"), world.files("home/.claude"));
    for name in [".git", ".GIT", "git~1", ".git.", ".git::$INDEX_ALLOCATION", ".g\u{200c}it"] {
        let shown = format!("git treats the name `{}` as its own directory", name.escape_default());
        let made = documents(&[document(&format!("s/{name}/config"), b"[core]"), manual()]);
        let (file, before) = (made.put(&world, "bomb.ctxpkg"), files());
        for args in
            [&["verify", &file][..], &["import", &file], &["install", &file, "--agent", "claude"]]
        {
            let run = pkg(&world, args).fails(3);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(
                [&shown, &format!("`s/{name}/config`"), "PK-24"]
                    .iter()
                    .all(|part| said.contains(part)),
                "{args:?}: {run}"
            );
        }
        assert_eq!(files(), before, "{name:?}");
    }
}
