//! Worlds, skills and context packs for tests of the registry.

use std::path::{Path, PathBuf};

use sp_testkit::{Postgres, S3Server, World, world, zip};

use super::registry::use_bucket;

/// The ID of the context pack in the corpus.
pub(crate) const GOLDEN_ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";

/// Creates a world for a registry on the stores of a module: PostgreSQL and S3 if the name of the
/// module ends with `postgres`, otherwise SQLite and a directory.
pub(crate) fn world_of_module(module: &str) -> World {
    let mut world = world!();
    if module.ends_with("postgres") {
        world.set_env("SP_DATABASE_URL", &Postgres::shared().database().address());
        use_bucket(&mut world, S3Server::shared());
    }
    world
}

/// Returns the text of a `SKILL.md`.
pub(crate) fn skill_text(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n# {name}\n")
}

/// Returns the directory of the context pack in the corpus.
pub(crate) fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/valid/context-packs/golden/tree")
}

/// Returns the names and contents of its files.
pub(crate) fn golden_files() -> Vec<(String, Vec<u8>)> {
    let paths = std::fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        })
        .collect()
}

/// Returns a zip of files in one directory.
pub(crate) fn zip_context_pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<(String, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (format!("context-pack/{path}"), bytes.as_slice()))
        .collect();
    zip(&members.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect::<Vec<_>>())
}
