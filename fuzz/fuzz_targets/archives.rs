//! Opens any bytes as a zip archive and reads every member.
//!
//! `cargo +nightly fuzz run archives`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_tree::{Archive, Limits, ListingKind};

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("sp-fuzz-{}.zip", std::process::id()));
    std::fs::write(&path, bytes).expect("a file");
    let limits = Limits { zip_bytes: 1 << 20, file_bytes: 1 << 20, ..Limits::default() };
    if let Ok(archive) = Archive::open(&path, &limits) {
        for entry in &archive.listing.entries {
            if let ListingKind::File { handle, size, .. } = &entry.kind {
                let read = archive.read(&entry.path, handle);
                assert!(read.is_err() || read.is_ok_and(|read| read.len() as u64 == *size));
            }
        }
    }
});
