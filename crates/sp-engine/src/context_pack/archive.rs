//! `sp context zip` and `sp context unzip`: converts between a directory and a zip.

use std::path::{Path, PathBuf};

use sp_formats::context_pack::{
    ContextPack, ContextPackEntries, MANIFEST_FILE, listed_files, read, zip_files,
};
use sp_formats::output::{ContextPackWriteReport, ContextPackZipReport};
use sp_formats::report::{Report, Severity};
use sp_tree::atomic::{FileAccess, OutputFile};
use sp_tree::{Digest, Dir};

use super::entries::{ContextPackLocation, read_entries};
use super::write::write_files;
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::output_file::{OUTPUT_OR_FORCE_HINT, Overwrite, write_output_file};
use crate::session::Session;

/// The arguments of `sp context zip`.
#[derive(Debug, Clone)]
pub struct ContextPackZipRequest {
    /// The pack: a directory, a zip or a URL.
    pub pack: PathBuf,
    /// The output file. The default is `context-pack.zip` in the current directory.
    pub output: Option<PathBuf>,
    pub overwrite: Overwrite,
}

/// Zips a valid pack. The same pack gives the same bytes.
pub fn zip(context: &Context<'_>, request: &ContextPackZipRequest) -> Result<ContextPackZipReport> {
    let session = Session::begin(context)?;
    let (pack, entries) = read_valid_pack(&session, &request.pack)?;
    let (files, bytes) = zip_pack(&pack, &entries)?;
    let output =
        context.absolute(request.output.as_deref().unwrap_or(Path::new("context-pack.zip")));
    let file = OutputFile {
        bytes: &bytes,
        access: FileAccess::Ordinary,
        if_exists: request.overwrite.into(),
    };
    write_output_file(context, &output, file, OUTPUT_OR_FORCE_HINT)?;
    Ok(ContextPackZipReport {
        file: output,
        pack_id: pack.manifest.pack_id,
        bytes: bytes.len(),
        sha256: Digest::of(&bytes).hex(),
        files,
    })
}

/// Returns the number of files and the bytes of the zip.
pub(super) fn zip_pack(
    pack: &ContextPack,
    entries: &ContextPackEntries,
) -> Result<(usize, Vec<u8>)> {
    let files = listed_files(pack, entries);
    let bytes = zip_files(&files)
        .map_err(|why| Error::new(ErrorCode::Internal, "cannot create the zip").because(why))?;
    Ok((files.len(), bytes))
}

/// Unpacks a valid pack into a new or empty directory.
pub fn unzip(context: &Context<'_>, zip: &Path, dir: &Path) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let (pack, entries) = read_valid_pack(&session, zip)?;
    let dir = context.absolute(dir);
    if dir.symlink_metadata().is_ok() && !Dir::open(&dir)?.entries()?.is_empty() {
        return Err(Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` is not empty", context.display_path(&dir)),
        )
        .hint("specify a new or empty directory"));
    }
    Dir::create_all(&dir)?;
    write_files(&session, &dir, &listed_files(&pack, &entries), ApplyMode::Apply)
}

/// Reads a pack and all its entries. A pack with errors is refused.
pub(crate) fn read_valid_pack(
    session: &Session<'_>,
    path: &Path,
) -> Result<(ContextPack, ContextPackEntries)> {
    let location = ContextPackLocation::new(session.context, path)?;
    let entries = read_entries(session, &location)?;
    let result = read(&entries, &session.limits);
    match result.pack {
        Some(pack) => Ok((pack, entries)),
        None => {
            let message =
                format!("`{}` is not a valid context pack", location.display_name(session.context));
            Err(invalid_pack_error(session, message, result.reports))
        }
    }
}

/// Returns the error for an invalid pack. The reports of all files but the last are emitted as
/// events, since an error has room for one.
pub(super) fn invalid_pack_error(
    session: &Session<'_>,
    message: String,
    reports: Vec<Report>,
) -> Error {
    let mut invalid: Vec<Report> =
        reports.into_iter().filter(|report| !report.is_usable()).collect();
    for report in &mut invalid {
        report.findings.retain(|finding| finding.severity == Severity::Error);
    }
    let last = invalid.pop().unwrap_or_else(|| Report::new(MANIFEST_FILE, ""));
    invalid.iter().for_each(|report| session.context.emit(Event::Findings(report)));
    Error::in_file(ErrorCode::InvalidContextPack, message, last)
}
