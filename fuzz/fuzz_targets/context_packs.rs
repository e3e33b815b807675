//! Reads any bytes as the manifest and a file of a context pack, and as Markdown with footnotes.
//!
//! `cargo +nightly fuzz run context_packs fuzz/corpus/context_packs fuzz/seeds/context_packs`
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use sp_formats::context_pack::{
    ContextPackEntries, ContextPackEntry, KNOWN_FILES, MANIFEST_FILE, footnotes, read, seal_files,
};
use sp_tree::{Digest, Limits, RelPath};

/// Separates the manifest from the Markdown.
const SEPARATOR: &[u8] = b"\n==\n";

fn check(entries: &ContextPackEntries) -> sp_formats::context_pack::ContextPackReadResult {
    let result = read(entries, &Limits::default());
    for report in &result.reports {
        for location in
            report.located_findings().iter().filter_map(|located| located.location.as_ref())
        {
            assert!(report.text.get(location.span.clone()).is_some(), "{location:?}");
        }
    }
    assert_eq!(result.is_valid(), result.reports.iter().all(|report| report.is_usable()));
    result
}

/// Checks the bytes as every known file, with a manifest that has their hashes.
fn check_as_every_file(bytes: &[u8]) {
    let hash = Digest::of(bytes).hex();
    let listed: Vec<String> = KNOWN_FILES
        .iter()
        .map(|path| format!("{{\"path\":\"{path}\",\"sha256\":\"{hash}\"}}"))
        .collect();
    let manifest = format!(
        "{{\"spec_version\":\"0.1\",\"pack_id\":\"pk_01KPZXWZQR5NRHCGNQ4TR480B2\",\"project\":{{\"name\":\"x\"}},\
         \"files\":[{}],\"sources\":[{{\"id\":\"src_a\",\"url\":\"x:y\",\"title\":\"t\",\"captured_at\":\"2026-04-24\"}}]}}",
        listed.join(",")
    );
    let files =
        KNOWN_FILES.iter().map(|path| ((*path).to_owned(), ContextPackEntry::File(bytes.to_vec())));
    check(
        &files
            .chain([(MANIFEST_FILE.to_owned(), ContextPackEntry::File(manifest.into_bytes()))])
            .collect(),
    );
}

fuzz_target!(|bytes: &[u8]| {
    let separator = bytes.windows(SEPARATOR.len()).position(|part| part == SEPARATOR);
    let (manifest, rest) =
        separator.map_or((bytes, bytes), |at| (&bytes[..at], &bytes[at + SEPARATOR.len()..]));
    let mut entries = ContextPackEntries::from([(
        MANIFEST_FILE.to_owned(),
        ContextPackEntry::File(manifest.to_vec()),
    )]);
    entries.insert("sources.md".into(), ContextPackEntry::File(rest.to_vec()));
    entries.insert("skills.md".into(), ContextPackEntry::NotAFile);
    let result = check(&entries);
    check_as_every_file(rest);
    let Ok(text) = std::str::from_utf8(rest) else { return };
    for footnote in footnotes(text, 0) {
        assert_eq!(text[footnote.span.clone()], format!("[^{}]", footnote.id));
    }
    if let Some(manifest) = result.manifest.filter(|_| result.pack.is_some()) {
        let path = RelPath::new("sources.md").expect("a path");
        let files = seal_files(&manifest, &[(path, text.to_owned())].into(), BTreeMap::new());
        let entries =
            files.into_iter().map(|(path, bytes)| (path, ContextPackEntry::File(bytes))).collect();
        let again =
            read(&entries, &Limits::default()).manifest.expect("what was written can be read");
        assert_eq!(
            (again.pack_id, again.project, again.unknown_members),
            (manifest.pack_id, manifest.project, manifest.unknown_members)
        );
    }
});
