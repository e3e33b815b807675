//! Context packs: read from a folder or a zip, built, written by hand, shown, packed and unpacked.

mod archive;
mod author;
mod build;
mod entries;
mod install;
mod view;
mod write;

pub use archive::{ZipRequest, unzip, zip};
pub use author::{NewRequest, new, seal};
pub use build::{BuildRequest, Explain, Zipped, build};
pub use install::{InstallPack, Reader, install, uninstall};
pub use view::show;

pub(crate) use entries::{is_pack, read_entries};
