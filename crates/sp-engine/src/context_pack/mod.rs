//! Context packs: read from a folder, a zip or an address, built, written by hand, shown, compared, packed, unpacked,
//! and kept by a registry.

mod archive;
mod author;
mod build;
mod diff;
mod entries;
mod generate;
mod hosted;
mod install;
mod remote;
mod show;
mod write;

pub use archive::{ContextPackZipRequest, unzip, zip};
pub use author::{ContextPackNewRequest, new, seal};
pub use build::{ContextPackBuildRequest, ExplainOmitted, ZipOutput, build};
pub use diff::{ContextPackComparison, MarkdownChange, diff};
pub use generate::{GeneratedContextPack, generate};
pub use hosted::{ContextPackPushRequest, CreateUrlRequest, create_url, push, revoke};
pub use install::{ContextPackAgent, ContextPackInstallRequest, install, uninstall};
pub use show::show;

pub(crate) use archive::read_valid_pack;
pub(crate) use build::DEFAULT_OUT_DIR;
pub(crate) use entries::{ContextPackLocation, is_context_pack, read_entries};
pub(crate) use remote::RemoteContextPack;
