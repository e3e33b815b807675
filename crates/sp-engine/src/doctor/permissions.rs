//! Permissions of keys and tokens.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sp_formats::output::DoctorCode;
use sp_formats::text::pluralize;
use sp_tree::{Dir, EntryKind, Name};

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::repair::Repair;
use crate::pkg::KEYS_DIR;
use crate::registry::CREDENTIALS_FILE;

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let context = machine.session.context;
    let keys_dir = context.home.join(KEYS_DIR);
    let entries = Dir::open(&keys_dir).and_then(|dir| dir.entries()).unwrap_or_default();
    let keys = entries.iter().filter(|entry| entry.kind == EntryKind::File);
    let mut files: Vec<PathBuf> = keys.map(|entry| keys_dir.join(entry.name())).collect();
    files.sort();
    files.extend(Some(context.home.join(CREDENTIALS_FILE)).filter(|path| path.exists()));
    let problems = files.iter().filter_map(|path| exposed(machine, path)).collect();
    AreaResult::new(pluralize(files.len(), "private file"), problems)
}

fn exposed(machine: &ExaminedMachine<'_>, path: &Path) -> Option<FoundProblem> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return None;
    }
    let shown = machine.session.context.display_path(path);
    let name = Name::new(path.file_name()?.to_str()?).ok()?;
    let repair = Repair::Restrict { dir: path.parent()?.to_path_buf(), name };
    let message = format!("other users can access `{shown}`");
    Some(
        FoundProblem::new(DoctorCode::SecretExposed, message)
            .because(format!("its permissions are {mode:o}"))
            .at(path)
            .command(format!("chmod 600 {}", machine.shell_path(path)))
            .help("consider replacing the key or token")
            .repaired_by([repair]),
    )
}
