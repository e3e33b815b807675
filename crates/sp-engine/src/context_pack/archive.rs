//! `sp context zip` and `sp context unzip`.

use std::path::{Path, PathBuf};

use sp_formats::context_pack::{
    ContextPack, ContextPackEntries, MANIFEST_FILE, listed_files, read, zip_files,
};
use sp_formats::output::{ContextPackWriteReport, ContextPackZipReport};
use sp_formats::report::{Report, Severity};
use sp_tree::atomic::{ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::{Digest, Dir};

use super::entries::{ContextPackLocation, read_entries};
use super::write::write_files;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::pkg::{OUTPUT_OR_FORCE_HINT, Overwrite, write_output_file};
use crate::session::Session;

/// What is to be packed.
#[derive(Debug, Clone)]
pub struct ContextPackZipRequest {
    /// The pack: a folder, a zip or an address.
    pub pack: PathBuf,
    /// The zip; none means `context-pack.zip` in the current directory.
    pub output: Option<PathBuf>,
    /// What becomes of a file that is there.
    pub overwrite: Overwrite,
}

/// Packs a pack that is valid: the same pack gives the same bytes.
pub fn zip(context: &Context<'_>, request: &ContextPackZipRequest) -> Result<ContextPackZipReport> {
    let session = Session::begin(context)?;
    let (pack, entries) = read_valid_pack(&session, &request.pack)?;
    let (files, bytes) = zip_pack(&pack, &entries)?;
    let existing = if request.overwrite == Overwrite::Allow {
        ExistingFilePolicy::Replace
    } else {
        ExistingFilePolicy::Refuse
    };
    let output =
        context.absolute(request.output.as_deref().unwrap_or(Path::new("context-pack.zip")));
    write_output_file(
        context,
        &output,
        OutputFile { bytes: &bytes, access: FileAccess::Ordinary, if_exists: existing },
        OUTPUT_OR_FORCE_HINT,
    )?;
    Ok(ContextPackZipReport {
        file: output,
        pack_id: pack.manifest.pack_id,
        bytes: bytes.len(),
        sha256: Digest::of(&bytes).hex(),
        files,
    })
}

/// The zip of a pack, and how many files are in it.
pub(super) fn zip_pack(
    pack: &ContextPack,
    entries: &ContextPackEntries,
) -> Result<(usize, Vec<u8>)> {
    let files = listed_files(pack, entries);
    let bytes = zip_files(&files)
        .map_err(|why| Error::new(FailureKind::Data, "the zip cannot be made").because(why))?;
    Ok((files.len(), bytes))
}

/// Unpacks a pack that is valid into a new folder.
pub fn unzip(context: &Context<'_>, zip: &Path, dir: &Path) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let (pack, entries) = read_valid_pack(&session, zip)?;
    let dir = context.absolute(dir);
    if dir.symlink_metadata().is_ok() && !Dir::open(&dir)?.entries()?.is_empty() {
        return Err(Error::new(
            FailureKind::Request,
            format!("`{}` is not empty", context.display_path(&dir)),
        )
        .hint("nothing was changed: name a folder that is new or empty"));
    }
    Dir::create_all(&dir)?;
    write_files(&session, &dir, &listed_files(&pack, &entries))
}

/// A pack without errors, with all that lies there.
pub(crate) fn read_valid_pack(
    session: &Session<'_>,
    given: &Path,
) -> Result<(ContextPack, ContextPackEntries)> {
    let place = ContextPackLocation::new(session.context, given)?;
    let entries = read_entries(session, &place)?;
    let judged = read(&entries, &session.limits);
    match judged.pack {
        Some(pack) => Ok((pack, entries)),
        None => {
            let message =
                format!("`{}` is no valid context pack", place.display_name(session.context));
            Err(invalid_pack_error(session, message, judged.reports))
        }
    }
}

/// Why a pack is refused: every error of every file.
pub(super) fn invalid_pack_error(
    session: &Session<'_>,
    message: String,
    reports: Vec<Report>,
) -> Error {
    let mut wrong: Vec<Report> = reports.into_iter().filter(|report| !report.is_usable()).collect();
    for report in &mut wrong {
        report.findings.retain(|finding| finding.severity == Severity::Error);
    }
    let last = wrong.pop().unwrap_or_else(|| Report::new(MANIFEST_FILE, ""));
    wrong.iter().for_each(|report| session.context.emit(Event::Findings(report)));
    Error::in_file(message, last)
}
