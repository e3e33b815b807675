//! Zip archives that are written: the same files give the same bytes, on every machine and for ever.
//!
//! Members are stored and not deflated: what a compressor makes of bytes changes with its version.

use std::collections::BTreeMap;
use std::io::Write;

use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, Error, ZipArchiveWriter};

/// The mode of every file.
const MODE: u32 = 0o644;
/// The earliest day that a zip can bear.
const DAY: (u16, u8, u8) = (1980, 1, 1);

/// A zip of files, sorted by path.
pub fn stored_zip(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    let day = UtcDateTime::from_components(DAY.0, DAY.1, DAY.2, 0, 0, 0, 0);
    for (path, bytes) in files {
        let builder =
            archive.new_file(path.as_str()).compression_method(CompressionMethod::STORE).unix_permissions(MODE);
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
