//! What agents can be given from here: skills of a repository, a bag, sinks and packages of the store, context
//! packs, and packages. Looking for skills reads no skill; each is read when it is wanted.

mod digest_cache;
mod search;
mod skills;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{ContextPack, listed_files};

use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

pub use digest_cache::{CacheWeight, DigestCache, UnpackedSkills, UnpackedSkillsCache};
pub use search::{SearchDocument, search_documents};
pub use skills::{LibraryFilter, LibrarySkill, SkillHandle, SkillLibrary};

/// A context pack with the files that it lists.
pub struct LibraryPack {
    /// What it says of itself and its files.
    pub pack: ContextPack,
    /// Its files, with `pack.json`.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Reads a context pack that is valid.
pub fn read_context_pack(context: &Context<'_>, path: &Path) -> Result<LibraryPack> {
    let session = Session::begin(context)?;
    let (pack, entries) = crate::context_pack::read_valid_pack(&session, path)?;
    let files = listed_files(&pack, &entries);
    Ok(LibraryPack { pack, files })
}

/// Where a context pack is if nobody says so: where `sp context build` puts one.
pub fn default_context_pack(context: &Context<'_>) -> Option<PathBuf> {
    let usual = context.absolute(Path::new(crate::context_pack::DEFAULT_OUT_DIR));
    crate::context_pack::is_context_pack(&usual).then_some(usual)
}

/// The text of a package of the store, which names it: `@acme/notes@1.2.0`.
pub fn package_text(context: &Context<'_>, subject: &str) -> Result<String> {
    let session = Session::begin(context)?;
    crate::pkg::load_package_text(&session, subject)
}
