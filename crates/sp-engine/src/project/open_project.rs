//! The project that a command changes.

use sp_formats::output::ProjectChangeReport;

use super::change::LifecycleChange;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::lifecycle_request::LifecycleRequest;
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::session::Session;

/// A project whose files were read while the home is locked.
pub(super) struct OpenProject<'a> {
    pub session: Session<'a>,
    pub home: Option<LockedHome<'a>>,
    pub files: ProjectFiles,
}

impl<'a> OpenProject<'a> {
    /// Opens the project at a location, which must have a manifest.
    pub(super) fn open(
        context: &'a Context<'a>,
        location: &ProjectLocation,
        mode: ApplyMode,
    ) -> Result<Self> {
        let dir = ProjectDir::find(context, location, MissingManifest::Refuse)?;
        Self::at(context, &dir, mode)
    }

    /// Opens the project in a directory.
    pub(super) fn at(context: &'a Context<'a>, dir: &ProjectDir, mode: ApplyMode) -> Result<Self> {
        let session = Session::begin(context)?;
        let home = LockedHome::open_unless_missing(context, &session.limits, mode)?;
        let files = ProjectFiles::read(&session, dir, GitConflicts::Refuse)?;
        Ok(Self { session, home, files })
    }

    /// Returns a change of the project.
    pub(super) fn change(&'a self, request: LifecycleRequest) -> Result<LifecycleChange<'a>> {
        let Self { session, home, files } = self;
        LifecycleChange::new(session, home.as_ref(), files, request, Vec::new())
    }

    /// Changes the project.
    pub(super) fn run(&self, request: LifecycleRequest) -> Result<ProjectChangeReport> {
        self.change(request)?.run()
    }
}
