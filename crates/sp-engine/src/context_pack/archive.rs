//! `sp context zip` and `sp context unzip`.

use std::path::{Path, PathBuf};

use sp_formats::context_pack::{ContextPack, Entries, MANIFEST, listed, read, zipped};
use sp_formats::output::{ContextPackWritten, ContextPackZipped};
use sp_formats::report::{Report, Severity};
use sp_tree::atomic::{Delivery, Existing, Readers};
use sp_tree::{Digest, Dir};

use super::entries::{PackAt, read_entries};
use super::write::write_files;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::pkg::{OUTPUT_OR_FORCE, Overwrite, deliver};

/// What is to be packed.
#[derive(Debug, Clone)]
pub struct ZipRequest {
    /// The pack: a folder, a zip or an address.
    pub pack: PathBuf,
    /// The zip; none means `context-pack.zip` in the current directory.
    pub output: Option<PathBuf>,
    /// What becomes of a file that is there.
    pub overwrite: Overwrite,
}

/// Packs a pack that is valid: the same pack gives the same bytes.
pub fn zip(context: &Context<'_>, request: &ZipRequest) -> Result<ContextPackZipped> {
    let session = Session::begin(context)?;
    let (pack, entries) = valid(&session, &request.pack)?;
    let (files, bytes) = packed(&pack, &entries)?;
    let existing = if request.overwrite == Overwrite::Allow { Existing::Replace } else { Existing::Keep };
    let output = context.absolute(request.output.as_deref().unwrap_or(Path::new("context-pack.zip")));
    deliver(context, &output, Delivery { bytes: &bytes, readers: Readers::Anybody, existing }, OUTPUT_OR_FORCE)?;
    Ok(ContextPackZipped {
        file: output,
        pack_id: pack.manifest.pack_id,
        bytes: bytes.len(),
        sha256: Digest::of(&bytes).hex(),
        files,
    })
}

/// The zip of a pack, and how many files are in it.
pub(super) fn packed(pack: &ContextPack, entries: &Entries) -> Result<(usize, Vec<u8>)> {
    let files = listed(pack, entries);
    let bytes = zipped(&files).map_err(|why| Error::new(Kind::Data, "the zip cannot be made").because(why))?;
    Ok((files.len(), bytes))
}

/// Unpacks a pack that is valid into a new folder.
pub fn unzip(context: &Context<'_>, zip: &Path, dir: &Path) -> Result<ContextPackWritten> {
    let session = Session::begin(context)?;
    let (pack, entries) = valid(&session, zip)?;
    let dir = context.absolute(dir);
    if dir.symlink_metadata().is_ok() && !Dir::open(&dir)?.entries()?.is_empty() {
        return Err(Error::new(Kind::Request, format!("`{}` is not empty", context.show(&dir)))
            .hint("nothing was changed: name a folder that is new or empty"));
    }
    Dir::create_all(&dir)?;
    write_files(&session, &dir, &listed(&pack, &entries))
}

/// A pack without errors, with all that lies there.
pub(crate) fn valid(session: &Session<'_>, given: &Path) -> Result<(ContextPack, Entries)> {
    let place = PackAt::new(session.context, given)?;
    let entries = read_entries(session, &place)?;
    let judged = read(&entries, &session.limits);
    match judged.pack {
        Some(pack) => Ok((pack, entries)),
        None => {
            let message = format!("`{}` is no valid context pack", place.show(session.context));
            Err(refused(session, message, judged.reports))
        }
    }
}

/// Why a pack is refused: every error of every file.
pub(super) fn refused(session: &Session<'_>, message: String, reports: Vec<Report>) -> Error {
    let mut wrong: Vec<Report> = reports.into_iter().filter(|report| !report.is_usable()).collect();
    for report in &mut wrong {
        report.findings.retain(|finding| finding.severity == Severity::Error);
    }
    let last = wrong.pop().unwrap_or_else(|| Report::new(MANIFEST, ""));
    wrong.iter().for_each(|report| session.context.tell(Event::Findings(report)));
    Error::in_file(message, last)
}
