//! The package store, and the stored versions of skills.

use std::path::Path;

use sp_formats::output::DoctorCode;
use sp_formats::text::pluralize;
use sp_tree::Name;

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use super::repair::Repair;
use crate::pkg::{StoredBlobProblem, invalid_records, stored_blob_problems};
use crate::project::damaged_bases;

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let context = machine.session.context;
    let mut problems = Vec::new();
    for (path, error) in invalid_records(context) {
        let shown = machine.shell_path(&path);
        problems.push(
            FoundProblem::of_error(DoctorCode::StoreInvalid, &error)
                .command(format!("mv {shown} {shown}.broken"))
                .at(path),
        );
    }
    let mut count = 0;
    // An invalid index was reported above.
    if let Ok((blobs, all)) = stored_blob_problems(context) {
        count = all;
        problems.extend(blobs.into_iter().map(|blob| blob_problem(machine, blob)));
    }
    let bases = damaged_bases(machine.session);
    problems.extend(bases.iter().filter_map(|path| damaged_base(machine, path)));
    AreaResult::new(pluralize(count, "package"), problems)
}

fn blob_problem(machine: &ExaminedMachine<'_>, blob: StoredBlobProblem) -> FoundProblem {
    let path = blob.dir.join(blob.name.as_str());
    let spec = &blob.spec;
    let help = match blob.from.registry() {
        Some(url) => format!("or download `{spec}` from `{url}` again with `sp pkg install`"),
        None => format!("or import `{spec}` again with `sp pkg import <file>`"),
    };
    let remove = format!("sp pkg remove {spec}");
    if !blob.has_wrong_bytes {
        let message = format!("`{spec}` is missing from the store");
        return FoundProblem::new(DoctorCode::PackageMissing, message)
            .at(path)
            .command(remove)
            .help(help);
    }
    let dir = blob.dir.canonicalize().unwrap_or(blob.dir);
    let shown = machine.session.context.display_path(&path);
    FoundProblem::new(DoctorCode::PackageDamaged, format!("`{spec}` in the store is damaged"))
        .because(format!("the content of `{shown}` does not match its digest"))
        .at(path)
        .command("sp doctor --fix")
        .help(format!("moves the file to the trash; then run `{remove}`, {help}"))
        .repaired_by([Repair::MoveToTrash { dir, name: blob.name }])
}

fn damaged_base(machine: &ExaminedMachine<'_>, path: &Path) -> Option<FoundProblem> {
    let dir = path.parent()?;
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let name = Name::new(path.file_name()?.to_str()?).ok()?;
    let shown = machine.session.context.display_path(path);
    let message = format!("the stored version `{shown}` of a skill is damaged");
    let problem = FoundProblem::new(DoctorCode::BaseDamaged, message)
        .because("its content does not match its digest, so it cannot be used to merge edits")
        .at(path)
        .help("moves the file to the trash; the version is fetched again when it is needed")
        .repaired_by([Repair::MoveToTrash { dir, name }]);
    Some(problem)
}
