//! The record of disabled skills in the home directory.

use std::path::PathBuf;

use sp_formats::JsonRecord;
use sp_formats::project::disabled::DisabledSkills;
use sp_tree::Name;
use sp_tree::transaction::PriorState;

use crate::error::{Error, ErrorCode, Result};
use crate::files::{canonicalize_existing, read_for_update};
use crate::install::plan::FilePlan;
use crate::session::Session;

const DISABLED_FILE: &str = "disabled.json";
const MAX_DISABLED_BYTES: u64 = 16 * 1024 * 1024;

/// The record as it was read.
pub(super) struct DisabledRecord {
    pub skills: DisabledSkills,
    dir: PathBuf,
    before: PriorState,
}

impl DisabledRecord {
    /// Reads the record. A missing file is empty.
    pub(super) fn read(session: &Session<'_>) -> Result<Self> {
        let context = session.context;
        let dir = canonicalize_existing(&context.home);
        let path = dir.join(DISABLED_FILE);
        let (bytes, before) = read_for_update(&path, MAX_DISABLED_BYTES)?;
        let skills = bytes.map(|bytes| DisabledSkills::parse(&bytes)).transpose();
        let skills = skills.map_err(|why| {
            let shown = context.display_path(&path);
            Error::new(ErrorCode::InvalidState, format!("`{shown}` is invalid"))
                .because(why)
                .hint(format!("fix the file, or remove it to enable all skills (`rm {shown}`)"))
        })?;
        Ok(Self { skills: skills.unwrap_or_default(), dir, before })
    }

    /// Plans to write other values; none if they are the same.
    pub(super) fn plan(&self, skills: &DisabledSkills) -> Result<Option<FilePlan>> {
        if *skills == self.skills {
            return Ok(None);
        }
        let name = Name::new(DISABLED_FILE)?;
        let bytes = (!skills.skills.is_empty()).then(|| skills.to_json().into());
        Ok(Some(FilePlan::new(self.dir.clone(), name, self.before, bytes)))
    }
}
