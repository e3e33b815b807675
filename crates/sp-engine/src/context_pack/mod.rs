//! Context packs: read from a folder, a zip or an address, built, written by hand, shown, compared, packed, unpacked,
//! and kept by a registry.

mod archive;
mod author;
mod build;
mod diff;
mod entries;
mod hosted;
mod install;
mod make;
mod view;
mod web;
mod write;

pub use archive::{ZipRequest, unzip, zip};
pub use author::{NewRequest, new, seal};
pub use build::{BuildRequest, Explain, Zipped, build};
pub use diff::{Bodies, PackDiff, diff};
pub use hosted::{PushRequest, UrlRequest, push, revoke, url};
pub use install::{InstallPack, Reader, install, uninstall};
pub use make::{Made, make};
pub use view::show;

pub(crate) use archive::valid;
pub(crate) use build::OUT;
pub(crate) use entries::{PackAt, is_pack, read_entries};
pub(crate) use web::PackAddress;
