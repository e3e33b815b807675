//! What agents can be given from here: skills of a repository, a bag, sinks and packages of the store, context
//! packs, and packages. Looking for skills reads no skill; each is read when it is wanted.

mod kept;
mod skills;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{ContextPack, listed};

use crate::config::Session;
use crate::context::Context;
use crate::error::Result;

pub use kept::{Kept, PackedSkills, Unpacked, Weigh};
pub use skills::{Library, LibrarySkill, Place, Shelves};
pub use words::{Findable, find_words};

/// A context pack with the files that it lists.
pub struct LibraryPack {
    /// What it says of itself and its files.
    pub pack: ContextPack,
    /// Its files, with `pack.json`.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Reads a context pack that is valid.
pub fn context_pack(context: &Context<'_>, path: &Path) -> Result<LibraryPack> {
    let session = Session::begin(context)?;
    let (pack, entries) = crate::context_pack::valid(&session, path)?;
    let files = listed(&pack, &entries);
    Ok(LibraryPack { pack, files })
}

/// Where a context pack is if nobody says so: where `sp context build` puts one.
pub fn usual_pack(context: &Context<'_>) -> Option<PathBuf> {
    let usual = context.absolute(Path::new(crate::context_pack::OUT));
    crate::context_pack::is_pack(&usual).then_some(usual)
}

/// The text of a package of the store, which names it: `@acme/notes@1.2.0`.
pub fn package_text(context: &Context<'_>, subject: &str) -> Result<String> {
    let session = Session::begin(context)?;
    crate::pkg::text_of(&session, subject)
}
