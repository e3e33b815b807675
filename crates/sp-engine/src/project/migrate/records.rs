//! The files of other tools on disk.

use std::path::{Path, PathBuf};

use sp_formats::Report;
use sp_formats::foreign::{
    FILES, ForeignFile, ForeignLocation, ForeignRecord, OPENSKILLS_METADATA_FILE,
};
use sp_tree::read_optional;

use super::super::files::ProjectDir;
use super::places::AgentPlaces;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::sinks::SinkScope;

/// A file of another tool.
pub(super) struct RecordFile {
    /// The path as users know it.
    pub label: String,
    pub record: ForeignRecord,
    /// Knows the positions in the file.
    pub report: Report,
    /// The folder that contains the file, if it is the folder of a skill.
    pub skill_folder: Option<PathBuf>,
}

/// Reads all files that other tools left.
pub(super) fn read_records(
    session: &Session<'_>,
    dir: &ProjectDir,
    places: &AgentPlaces,
) -> Result<Vec<RecordFile>> {
    let (location, base) = match dir.scope {
        SinkScope::Project => (ForeignLocation::Project, dir.path.clone()),
        SinkScope::Global => (ForeignLocation::Home, session.context.user_home.clone()),
    };
    let mut records = Vec::new();
    for file in FILES {
        if file.location == location {
            records.extend(read_record(session, file, &base.join(file.path), None)?);
        } else if file.location == ForeignLocation::SkillFolder {
            for folder in places.folders() {
                let path = folder.join(OPENSKILLS_METADATA_FILE);
                records.extend(read_record(session, file, &path, Some(&folder))?);
            }
        }
    }
    Ok(records)
}

fn read_record(
    session: &Session<'_>,
    file: &ForeignFile,
    path: &Path,
    skill_folder: Option<&Path>,
) -> Result<Option<RecordFile>> {
    let limits = &session.limits;
    let Some(bytes) = read_optional(path, limits.yaml_bytes)? else { return Ok(None) };
    let label = session.context.display_relative_path(path);
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::new(ErrorCode::InvalidProject, format!("`{label}` is not UTF-8")).because(error)
    })?;
    let (record, report) = file.read_as(&label, &text, limits);
    let Some(record) = record else {
        let message = format!("cannot migrate `{label}`");
        return Err(Error::in_file(ErrorCode::InvalidProject, &message, report)
            .hint("nothing was changed: fix the file, or move it away to leave it out"));
    };
    if record.entries.is_empty() && record.skipped.is_empty() {
        return Ok(None);
    }
    let skill_folder = skill_folder.map(Path::to_path_buf);
    Ok(Some(RecordFile { label, record, report, skill_folder }))
}
