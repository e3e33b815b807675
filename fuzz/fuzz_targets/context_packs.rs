//! Any bytes as the manifest and a file of a context pack, and as Markdown with footnotes.
//!
//! `cargo +nightly fuzz run context_packs fuzz/corpus/context_packs fuzz/seeds/context_packs`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::context_pack::{Entries, Entry, FILES, MANIFEST, read, references, sealed};
use sp_tree::{Digest, Limits, RelPath};

/// What divides the manifest from the Markdown.
const BETWEEN: &[u8] = b"\n==\n";

fn judge(entries: &Entries) -> sp_formats::context_pack::Read {
    let found = read(entries, &Limits::default());
    for report in &found.reports {
        for place in report.placed().iter().filter_map(|placed| placed.place.as_ref()) {
            assert!(report.text.get(place.span.clone()).is_some(), "{place:?}");
        }
    }
    assert_eq!(found.is_valid(), found.reports.iter().all(|report| report.is_usable()));
    found
}

/// The bytes as every file, with a manifest that has the hash of each.
fn as_every_file(bytes: &[u8]) {
    let hash = Digest::of(bytes).hex();
    let listed: Vec<String> = FILES.iter().map(|path| format!("{{\"path\":\"{path}\",\"sha256\":\"{hash}\"}}")).collect();
    let manifest = format!(
        "{{\"spec_version\":\"0.1\",\"pack_id\":\"pk_01KPZXWZQR5NRHCGNQ4TR480B2\",\"project\":{{\"name\":\"x\"}},\
         \"files\":[{}],\"sources\":[{{\"id\":\"src_a\",\"url\":\"x:y\",\"title\":\"t\",\"captured_at\":\"2026-04-24\"}}]}}",
        listed.join(",")
    );
    let files = FILES.iter().map(|path| ((*path).to_owned(), Entry::File(bytes.to_vec())));
    judge(&files.chain([(MANIFEST.to_owned(), Entry::File(manifest.into_bytes()))]).collect());
}

fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.windows(BETWEEN.len()).position(|part| part == BETWEEN);
    let (manifest, rest) = cut.map_or((bytes, bytes), |at| (&bytes[..at], &bytes[at + BETWEEN.len()..]));
    let mut entries = Entries::from([(MANIFEST.to_owned(), Entry::File(manifest.to_vec()))]);
    entries.insert("sources.md".into(), Entry::File(rest.to_vec()));
    entries.insert("skills.md".into(), Entry::Other);
    let found = judge(&entries);
    as_every_file(rest);
    let Ok(text) = std::str::from_utf8(rest) else { return };
    for reference in references(text, 0) {
        assert_eq!(text[reference.span.clone()], format!("[^{}]", reference.id));
    }
    if let Some(manifest) = found.manifest.filter(|_| found.pack.is_some()) {
        let path = RelPath::new("sources.md").expect("a path");
        let files = sealed(&manifest, &[(path, text.to_owned())].into());
        let entries = files.into_iter().map(|(path, bytes)| (path, Entry::File(bytes))).collect();
        let again = read(&entries, &Limits::default()).manifest.expect("what was written can be read");
        assert_eq!((again.pack_id, again.project, again.more), (manifest.pack_id, manifest.project, manifest.more));
    }
});
