//! `sp migrate`: takes over what other tools installed.
//!
//! ```text
//! records   files of other tools on disk → what they record
//! items     records → items: a source, what was selected, and what was installed
//! places    agents' directories, and which of them contain a folder
//! matching  items × opened sources × folders on disk → entries for the manifest
//! ```
//!
//! A folder is taken over if its files are those of its source. Everything else is listed with its
//! position in the file, and stays as it is, as do the files of the other tools.

mod items;
mod matching;
mod places;
mod records;

use sp_formats::output::ProjectMigrationReport;
use sp_formats::project::manifest_edit::{ItemList, ManifestEdit};

use self::matching::{Matcher, Migration};
use self::places::AgentPlaces;
use self::records::read_records;
use super::change::LifecycleChange;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::lifecycle_request::LifecycleRequest;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Which project to migrate.
#[derive(Debug, Clone)]
pub struct MigrateRequest {
    pub location: ProjectLocation,
    pub apply: ApplyOptions,
}

/// Writes a manifest and a lockfile for what other tools installed.
pub fn migrate(context: &Context<'_>, request: &MigrateRequest) -> Result<ProjectMigrationReport> {
    let session = Session::begin(context)?;
    let dir = ProjectDir::find(context, &request.location, MissingManifest::Create)?;
    let places = AgentPlaces::new(&session, &dir);
    let records = read_records(&session, &dir, &places)?;
    if records.is_empty() {
        let place = context.display_path(&dir.path);
        return Err(Error::new(
            ErrorCode::NothingFound,
            format!("nothing to migrate in `{place}`"),
        )
        .because("there are no manifests or lockfiles of other tools that install skills")
        .hint("nothing was changed: run `sp add <source>` to add skills"));
    }
    // Sources are opened before other commands have to wait.
    let before = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let items = items::unite(&records);
    let matcher = Matcher { session: &session, files: &before, places: &places };
    let matched = matcher.run(&records, items.clone())?;

    let mode = request.apply.mode;
    let home = LockedHome::open_unless_missing(context, &session.limits, mode)?;
    let files = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let is_same = files.manifest_text == before.manifest_text && files.lock == before.lock;
    let matched = if is_same {
        matched
    } else {
        Matcher { session: &session, files: &files, places: &places }.run(&records, items)?
    };
    let Migration { entries, catalogs, adopted, skipped } = matched;
    let mut edits = Vec::new();
    let is_new = files.manifest.agents.is_empty() && files.manifest.skills.is_empty();
    let agents = matching::all_agents(&entries);
    if is_new {
        let list = ItemList::Agents;
        edits.extend(agents.iter().map(|text| ManifestEdit::AddItem { list, text: text.clone() }));
    }
    let manifest_agents = if is_new { &agents } else { &files.manifest.agents };
    let entries = entries.into_iter().map(|entry| matching::without_agents(entry, manifest_agents));
    edits.extend(entries.map(ManifestEdit::AddEntry));
    let report_files = records.iter().map(|record| record.label.clone()).collect();
    let lifecycle = LifecycleRequest {
        adopted: adopted.iter().cloned().collect(),
        ..LifecycleRequest::edit(edits, request.apply)
    };
    let change = LifecycleChange::new(&session, home.as_ref(), &files, lifecycle, catalogs)?;
    Ok(ProjectMigrationReport { change: change.run()?, files: report_files, adopted, skipped })
}
