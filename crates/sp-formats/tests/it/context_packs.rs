//! Arbitrary context packs are read without a panic, and written ones round-trip.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sp_formats::context_pack::{
    AGENTS_FILE, CURSOR_FILE, ContextPack, ContextPackDraft, ContextPackEntries, ContextPackEntry,
    ContextPackFileEntry, ContextPackGenerator, ContextPackManifest, ContextPackProject,
    ContextPackReadResult, ContextPackSourceEntry, ContextPackWindow, KNOWN_FILES, MANIFEST_FILE,
    PROMPTS_FILE, SOURCES_FILE, UnknownMembers, footnotes, read,
};
use sp_formats::report::{Finding, Severity};
use sp_tree::{Limits, RelPath};

const PACK_ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";

/// Reads a context pack, and checks that all findings have valid spans.
fn read_checked(files: &BTreeMap<String, Vec<u8>>) -> ContextPackReadResult {
    let entries: ContextPackEntries = files
        .iter()
        .map(|(path, bytes)| (path.clone(), ContextPackEntry::File(bytes.clone())))
        .collect();
    let result = read(&entries, &Limits::default());
    for report in &result.reports {
        for finding in report.located_findings() {
            let span = finding.location.map(|location| location.span);
            assert!(span.is_none_or(|span| report.text.get(span).is_some()), "{report:?}");
        }
    }
    assert_eq!(result.is_valid(), errors(&result).is_empty());
    result
}

fn errors(result: &ContextPackReadResult) -> Vec<&Finding> {
    let findings = result.reports.iter().flat_map(|report| &report.findings);
    findings.filter(|finding| finding.severity == Severity::Error).collect()
}

/// Parts of the files of a context pack, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "---",
        "\n",
        "\r\n",
        "\n\n",
        "file: skills.md",
        "pack_id: ",
        PACK_ID,
        "spec_version: \"0.1\"",
        "## ",
        "# ",
        "[^src_a]",
        "[^src_b]",
        "[^src_",
        "]",
        "\\",
        "`",
        "```",
        "```text\n",
        "~~~",
        "    ",
        "  ",
        "- ",
        "> ",
        "| a |",
        "|---|",
        "Context: ",
        "Pattern:",
        "Sources: ",
        "Title: ",
        "Summary: a. b.",
        "Key claims:",
        "1. ",
        "Acceptance:",
        "Project: x",
        "Summary",
        "Don't",
        "Cursor",
        "===",
        "é",
        "日本",
        "\u{feff}",
        "\0",
        "\u{202e}",
        "<!-- ",
        "-->",
        "[^src_a]: x",
        "x",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// Parts of a manifest, in any order.
fn manifest_pieces() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"spec_version\"",
        "\"0.1\"",
        "\"pack_id\"",
        "\"generator\"",
        "\"project\"",
        "\"name\"",
        "\"files\"",
        "\"path\"",
        "\"skills.md\"",
        "\"sources\"",
        "\"id\"",
        "\"src_a\"",
        "\"window\"",
        "null",
        "1",
        "\"\"",
        "\"é\"",
        " ",
        "\n",
        "\"stack\"",
        "\"from\"",
        "\"sha256\"",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// Returns a manifest that lists these files with their digests.
fn manifest_of(files: &BTreeMap<String, Vec<u8>>) -> String {
    let draft = ContextPackDraft { manifest: manifest(Vec::new()), documents: BTreeMap::new() };
    let text = String::from_utf8(draft.files()[MANIFEST_FILE].clone()).unwrap();
    let hash = |bytes: &[u8]| sp_tree::Digest::of(bytes).hex();
    let lines = files
        .iter()
        .map(|(path, bytes)| format!("{{\"path\":\"{path}\",\"sha256\":\"{}\"}}", hash(bytes)));
    text.replace("\"files\": []", &format!("\"files\": [{}]", lines.collect::<Vec<_>>().join(",")))
}

fn manifest(sources: Vec<ContextPackSourceEntry>) -> ContextPackManifest {
    ContextPackManifest {
        spec_version: "0.1".into(),
        pack_id: PACK_ID.into(),
        generated_at: "2026-04-24T14:22:03Z".into(),
        generator: ContextPackGenerator { name: "hand".into(), ..ContextPackGenerator::default() },
        project: ContextPackProject {
            name: "Shop".into(),
            description: "It sells.".into(),
            ..ContextPackProject::default()
        },
        sources,
        ..ContextPackManifest::default()
    }
}

/// Text that is not empty.
fn words() -> impl Strategy<Value = String> {
    "\\PC{0,12}[a-z\"\\\\{}\n\t:#é🦀]{0,12}x"
}

fn timestamp() -> impl Strategy<Value = String> {
    (0..9999_i32, 1..=12_u8, 1..=28_u8, 0..24_u8, 0..60_u8).prop_map(
        |(year, month, day, hour, minute)| {
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:07Z")
        },
    )
}

/// Unknown members, in any order and any JSON formatting.
fn unknown_members() -> impl Strategy<Value = UnknownMembers> {
    let value = prop::sample::select(vec![
        "1e400",
        "-0.0",
        "null",
        "\"\\u00e9\\/ \\n\"",
        "{ \"b\" : [1,2 ,3],\n\"a\":{} }",
        "[\n\t]",
        "\"{}\"",
    ]);
    prop::collection::vec(("x-[a-z\"\\\\é]{0,3}", value), 0..4).prop_map(|members| {
        let mut seen = BTreeSet::new();
        let members = members.into_iter().filter(|(key, _)| seen.insert(key.clone()));
        members.map(|(key, value)| (key, value.to_owned())).collect()
    })
}

fn source() -> impl Strategy<Value = ContextPackSourceEntry> {
    let id = "src_[A-Za-z0-9][A-Za-z0-9_-]{0,6}";
    (id, words(), words(), prop::option::of(timestamp()), timestamp(), unknown_members()).prop_map(
        |(id, title, kind, published_at, captured_at, unknown_members)| {
            let url = format!("https://example.com/{id}");
            ContextPackSourceEntry {
                id,
                url,
                title,
                kind,
                published_at,
                captured_at,
                span: 0..0,
                unknown_members,
            }
        },
    )
}

fn any_manifest() -> impl Strategy<Value = ContextPackManifest> {
    let id = prop::sample::select(vec![
        PACK_ID,
        "01234567890123456789012345",
        "0190a7f2-1c7e-7abc-8def-0123456789ab",
        "1e000000-0000-0000-0000-000000000000",
    ]);
    let version = prop::sample::select(vec!["0.1", "0.1.0", "0.1.27"]);
    let texts = (
        words(),
        prop::option::of(words()),
        words(),
        words(),
        prop::collection::vec(words(), 0..3),
    );
    let window = prop::option::of((
        prop::option::of(timestamp()),
        prop::option::of(timestamp()),
        unknown_members(),
    ));
    let members = (unknown_members(), unknown_members(), unknown_members());
    let sources = prop::collection::vec(source(), 0..4);
    (id, version, timestamp(), texts, prop::option::of(words()), window, members, sources).prop_map(
        |(
            pack_id,
            spec_version,
            generated_at,
            (name, version, project, description, stack),
            user_prompt,
            window,
            (manifest_members, generator_members, project_members),
            sources,
        )| {
            let ids: BTreeMap<String, ContextPackSourceEntry> =
                sources.into_iter().map(|source| (source.id.clone(), source)).collect();
            let window = window.map(|(from, to, unknown_members)| match (from, to) {
                (Some(a), Some(b)) => ContextPackWindow {
                    from: Some(a.clone().min(b.clone())),
                    to: Some(a.max(b)),
                    unknown_members,
                },
                (from, to) => ContextPackWindow { from, to, unknown_members },
            });
            let url = Some("https://example.com".into());
            ContextPackManifest {
                spec_version: spec_version.into(),
                pack_id: pack_id.into(),
                generated_at,
                generator: ContextPackGenerator {
                    name,
                    version,
                    url,
                    unknown_members: generator_members,
                },
                project: ContextPackProject {
                    name: project,
                    description,
                    stack,
                    unknown_members: project_members,
                },
                user_prompt,
                window,
                files: Vec::new(),
                sources: ids.into_values().collect(),
                unknown_members: manifest_members,
            }
        },
    )
}

/// A draft whose footnotes all have a source, in files of any name.
fn draft() -> impl Strategy<Value = ContextPackDraft> {
    let name = prop_oneof![
        prop::sample::select(vec![CURSOR_FILE, AGENTS_FILE, PROMPTS_FILE]).prop_map(str::to_owned),
        "[a-z#&!%@`\\[{' é-]{1,6}(/[a-z]{1,3})?x\\.md",
    ];
    let body = pieces().prop_map(|text| text.replace("src_", "no_"));
    let file_members = prop::collection::vec(unknown_members(), 5);
    (any_manifest(), prop::collection::btree_map(name, body, 0..4), file_members).prop_map(
        |(mut manifest, bodies, file_members)| {
            let citations: String =
                manifest.sources.iter().map(|source| format!("[^{}]\n", source.id)).collect();
            let headings = manifest
                .sources
                .iter()
                .map(|source| format!("## [^{}]\n\n- Kind: {}\n\n", source.id, "x"));
            let mut seen = BTreeSet::new();
            let mut documents: BTreeMap<RelPath, String> = bodies
                .into_iter()
                .filter_map(|(path, body)| {
                    Some((RelPath::new(&path).ok()?, format!("{citations}\n{body}")))
                })
                .filter(|(path, _)| {
                    path.as_str() != SOURCES_FILE && seen.insert(sp_tree::fold_name(path.as_str()))
                })
                .collect();
            documents.insert(RelPath::new(SOURCES_FILE).unwrap(), headings.collect());
            manifest.files = documents
                .keys()
                .zip(file_members)
                .map(|(path, file_members)| file_entry(path, file_members))
                .collect();
            ContextPackDraft { manifest, documents }
        },
    )
}

fn file_entry(path: &RelPath, unknown_members: UnknownMembers) -> ContextPackFileEntry {
    ContextPackFileEntry {
        path: path.clone(),
        sha256: String::new(),
        span: 0..0,
        sha256_span: 0..0,
        unknown_members,
    }
}

/// Removes spans, digests and the order of files from a manifest.
fn normalized(manifest: &ContextPackManifest) -> ContextPackManifest {
    let sources = manifest
        .sources
        .iter()
        .map(|source| ContextPackSourceEntry { span: 0..0, ..source.clone() })
        .collect();
    let mut files: Vec<ContextPackFileEntry> = manifest
        .files
        .iter()
        .map(|entry| file_entry(&entry.path, entry.unknown_members.clone()))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    ContextPackManifest { files, sources, ..manifest.clone() }
}

fn bodies(pack: &ContextPack) -> BTreeMap<RelPath, String> {
    let body = |text: &str, start: usize| text[start..].trim_start_matches('\n').to_owned();
    pack.documents
        .iter()
        .map(|(path, document)| (path.clone(), body(&document.text, document.body_start)))
        .collect()
}

/// Finds the labels of footnotes in text without code, byte by byte.
fn footnote_oracle(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut ids = Vec::new();
    for start in 0..bytes.len() {
        let escaped = (0..start).rev().take_while(|index| bytes[*index] == b'\\').count() % 2 == 1;
        let Some(rest) = bytes[start..].strip_prefix(b"[^src_") else { continue };
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
            .count();
        let is_id =
            rest.first().is_some_and(u8::is_ascii_alphanumeric) && rest.get(length) == Some(&b']');
        if is_id && !escaped {
            ids.push(text[start + 2..start + 6 + length].to_owned());
        }
    }
    ids
}

proptest! {
    #[test]
    fn cp_10_arbitrary_bytes_are_read_without_panics(
        manifest in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), manifest_pieces().prop_map(String::into_bytes)],
        files in prop::collection::btree_map("[a-zA-Z./]{1,8}", prop::collection::vec(any::<u8>(), 0..200), 0..4),
    ) {
        let mut files = files;
        files.insert(MANIFEST_FILE.into(), manifest);
        read_checked(&files);
    }

    #[test]
    fn cp_10_arbitrary_markdown_is_read_without_panics(bodies in prop::collection::vec(pieces(), KNOWN_FILES.len()), has_frontmatter in any::<bool>()) {
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (path, body) in KNOWN_FILES.iter().zip(bodies) {
            let front = format!("---\nfile: {path}\npack_id: {PACK_ID}\nspec_version: \"0.1\"\n---\n");
            files.insert((*path).into(), if has_frontmatter { format!("{front}{body}") } else { body }.into_bytes());
        }
        files.insert(MANIFEST_FILE.into(), manifest_of(&files).into_bytes());
        read_checked(&files);
    }

    #[test]
    fn cp_03_cp_10_written_context_packs_are_valid_and_round_trip(draft in draft()) {
        // Frontmatter of a body is replaced; any other body is kept.
        prop_assume!(draft.documents.values().all(|body| !body.trim_start_matches(['\u{feff}', '\r', '\n']).starts_with("---")));
        let files = draft.files();
        let result = read_checked(&files);
        let errors = errors(&result);
        prop_assert!(errors.is_empty(), "{errors:?}");
        let pack = result.pack.unwrap();
        prop_assert_eq!(normalized(&pack.manifest), normalized(&draft.manifest));
        let expected: BTreeMap<RelPath, String> = draft
            .documents
            .iter()
            .map(|(path, body)| (path.clone(), body.replace("\r\n", "\n").trim_start_matches(['\u{feff}', '\n']).to_owned()))
            .collect();
        prop_assert_eq!(bodies(&pack), expected);
        let rewritten = ContextPackDraft { manifest: pack.manifest.clone(), documents: bodies(&pack) };
        prop_assert_eq!(rewritten.files(), files);
    }

    #[test]
    fn cp_10_footnotes_match_an_oracle(text in "([^`~ \t]|\\[\\^src_|\\[\\^src_[a-z0-9_-]{0,3}\\]| x|\\\\){0,40}") {
        // Without backticks, tildes and indentation there is no code.
        let ids: Vec<String> = footnotes(&text, 0).into_iter().map(|footnote| footnote.id).collect();
        prop_assert_eq!(ids, footnote_oracle(&text));
    }
}

#[test]
fn se_04_repeated_markdown_is_read_in_linear_time() {
    for piece in [
        "#\n",
        "# a\n## b\n",
        "## [^src_a]\n",
        "[^src_a] ",
        "- Title: x\n",
        "```text\n```\n",
        "> ",
        "`[^src_a]` ",
    ] {
        let text =
            format!("---\nfile: {SOURCES_FILE}\n---\n\n{}", piece.repeat(1_000_000 / piece.len()));
        let mut files = BTreeMap::from([(SOURCES_FILE.to_owned(), text.into_bytes())]);
        files.insert(MANIFEST_FILE.into(), manifest_of(&files).into_bytes());
        read_checked(&files);
    }
}

#[test]
fn se_04_many_missing_files_and_sources_are_read_in_linear_time() {
    let missing: BTreeMap<String, Vec<u8>> =
        (0..50_000).map(|number| (format!("{number}.md"), Vec::new())).collect();
    let source = |number: usize| ContextPackSourceEntry {
        id: format!("src_{number}"),
        ..ContextPackSourceEntry::default()
    };
    let draft = ContextPackDraft {
        manifest: manifest((0..50_000).map(source).collect()),
        documents: BTreeMap::new(),
    };
    let sources = String::from_utf8(draft.files()[MANIFEST_FILE].clone()).unwrap();
    let text: String = (0..50_000).map(|number| format!("[^src_{number}x]\n")).collect();
    read_checked(&BTreeMap::from([(MANIFEST_FILE.to_owned(), manifest_of(&missing).into_bytes())]));
    let mut files = BTreeMap::from([(SOURCES_FILE.to_owned(), text.into_bytes())]);
    let hash = sp_tree::Digest::of(&files[SOURCES_FILE]).hex();
    let manifest = sources.replace(
        "\"files\": []",
        &format!("\"files\": [{{\"path\":\"{SOURCES_FILE}\",\"sha256\":\"{hash}\"}}]"),
    );
    files.insert(MANIFEST_FILE.into(), manifest.into_bytes());
    read_checked(&files);
}
