//! Which sources have to be opened, and at which version.

use std::ops::Range;

use sp_formats::project::lock::SourceKey;
use sp_formats::project::source::{ManifestSource, SourceVersion};

/// The version of a source to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemandedVersion {
    Newest,
    Locked,
}

/// A source that has to be opened.
#[derive(Debug, Clone)]
pub(super) struct SourceDemand {
    pub key: SourceKey,
    pub source: ManifestSource,
    pub version: Option<SourceVersion>,
    pub demanded: DemandedVersion,
    /// The entry of the manifest, if it has one for the source.
    pub span: Option<Range<usize>>,
}
