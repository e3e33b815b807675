//! A text file of a project as it was read.

use std::path::{Path, PathBuf};

use sp_formats::Report;
use sp_formats::rules::CheckRule;
use sp_tree::Name;
use sp_tree::transaction::PriorState;

use crate::error::{Error, ErrorCode, Result};
use crate::files::read_for_update;
use crate::install::plan::FilePlan;
use crate::session::Session;

/// A text file as it was read.
pub(super) struct FileOnDisk {
    pub path: PathBuf,
    pub text: Option<String>,
    before: PriorState,
}

impl FileOnDisk {
    /// Reads a file. Text that is not UTF-8 breaks the rule.
    pub(super) fn read(
        session: &Session<'_>,
        path: PathBuf,
        limit: u64,
        rule: &'static CheckRule,
    ) -> Result<Self> {
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            let message = format!("`{}` is a link", session.context.display_path(&path));
            return Err(Error::new(ErrorCode::PathIsLink, message)
                .because("a project could make `sp` write outside of it")
                .hint("replace the link with the file"));
        }
        let (bytes, before) = read_for_update(&path, limit)?;
        let label = session.context.display_relative_path(&path);
        let text = bytes.map(|bytes| {
            String::from_utf8(bytes).map_err(|error| {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(&error.as_bytes()[..valid]);
                let mut report = Report::new(label, text);
                report.error(rule, valid..valid, "invalid UTF-8").help("save the file as UTF-8");
                Error::in_file(ErrorCode::InvalidProject, "a file is not UTF-8", report)
            })
        });
        Ok(Self { path, text: text.transpose()?, before })
    }

    pub(super) fn label(&self, session: &Session<'_>) -> String {
        session.context.display_relative_path(&self.path)
    }

    /// Returns the name of the file.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Plans a new text; none removes the file.
    pub(super) fn plan(&self, text: Option<String>) -> Result<FilePlan> {
        let dir = self.path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let bytes = text.map(|text| text.into_bytes().into());
        Ok(FilePlan::new(dir, Name::new(&self.name())?, self.before, bytes))
    }
}
