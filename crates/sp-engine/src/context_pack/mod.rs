//! Context packs: read from a folder, a zip or an address, written by hand, shown, packed and unpacked.

mod archive;
mod author;
mod entries;
mod install;
mod view;
mod web;
mod write;

pub use archive::{ZipRequest, unzip, zip};
pub use author::{NewRequest, new, seal};
pub use install::{InstallPack, Reader, install, uninstall};
pub use view::show;

pub(crate) use entries::{PackAt, is_pack, read_entries};
pub(crate) use web::PackAddress;
