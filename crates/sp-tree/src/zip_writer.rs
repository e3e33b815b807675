//! Writing zip archives. The same files give the same bytes on every machine.
//!
//! Entries are stored without compression, because the output of a compressor depends on its
//! version.

use std::collections::BTreeMap;
use std::io::Write;

use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, Error, ZipArchiveWriter};

use crate::tree::LoadedTree;

/// Unix modes of regular and executable files.
const FILE_MODE: u32 = 0o644;
const EXECUTABLE_MODE: u32 = 0o755;
/// The earliest date that a zip can represent.
const ZIP_EPOCH: (u16, u8, u8) = (1980, 1, 1);

/// Zips files, sorted by path.
pub fn zip_files(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    write_stored_zip(files.iter().map(|(path, bytes)| (path.as_str(), FILE_MODE, bytes.as_slice())))
}

/// Zips the files of a tree without a top-level directory.
pub fn zip_tree(content: &LoadedTree) -> Result<Vec<u8>, Error> {
    let mode = |executable: bool| if executable { EXECUTABLE_MODE } else { FILE_MODE };
    write_stored_zip(
        content.files().map(|(path, executable, bytes)| (path.as_str(), mode(executable), bytes)),
    )
}

fn write_stored_zip<'f>(
    files: impl Iterator<Item = (&'f str, u32, &'f [u8])>,
) -> Result<Vec<u8>, Error> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    let day = UtcDateTime::from_components(ZIP_EPOCH.0, ZIP_EPOCH.1, ZIP_EPOCH.2, 0, 0, 0, 0);
    for (path, mode, bytes) in files {
        let builder = archive
            .new_file(path)
            .compression_method(CompressionMethod::STORE)
            .unix_permissions(mode);
        let builder = match day {
            Some(day) => builder.last_modified(day),
            None => builder,
        };
        let (mut entry, config) = builder.start()?;
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes)?;
        let (_, output) = writer.finish()?;
        entry.finish(output)?;
    }
    archive.finish()
}
