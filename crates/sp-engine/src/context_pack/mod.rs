//! Context packs: `sp context`.
//!
//! A context pack is a directory with `pack.json` and a few Markdown files about a project. This
//! module reads packs from directories, zips and URLs (`entries`), generates them from knowledge
//! bases (`generate`, `build`), and has one file for each of the other commands. `instructions`
//! also installs the packs of a project's manifest, which `opened` opens.
//!
//! The format is defined and validated in `sp_formats::context_pack`, and the ranking and selection
//! of documents in `sp_analyze::knowledge`. Directories change in one transaction (`write`).

mod archive;
mod author;
mod build;
mod build_request;
mod diff;
mod entries;
mod generate;
mod generation_progress;
mod generation_times;
mod hosted;
mod install;
mod instructions;
mod local;
mod model_choice;
mod opened;
mod read_budget;
mod relevant_documents;
mod remote;
mod show;
mod write;

pub use archive::{ContextPackZipRequest, unzip, zip};
pub use author::{ContextPackNewRequest, new, seal};
pub use build::build;
pub use build_request::{ContextPackBuildRequest, ExplainOmitted, ZipOutput};
pub use diff::{ContextPackComparison, MarkdownChange, diff};
pub use generate::{GeneratedContextPack, generate};
pub use hosted::{ContextPackPushRequest, CreateUrlRequest, create_url, push, revoke};
pub use install::{ContextPackInstallRequest, install, uninstall};
pub use instructions::ContextPackAgent;
pub use relevant_documents::DocumentCounts;
pub use show::show;

pub(crate) use archive::read_valid_pack;
pub(crate) use build_request::DEFAULT_OUT_DIR;
pub(crate) use entries::{
    ContextPackLocation, is_context_pack, read_entries, read_manifest_digest,
};
pub(crate) use install::{audited_files, check_content};
pub(crate) use instructions::{
    InstalledInstructions, InstructionFiles, PackMarker, conflicting_source, installable_documents,
};
pub(crate) use opened::OpenedContextPack;
pub(crate) use remote::RemoteContextPack;
pub(crate) use write::{FileReplacement, plan_changes};
