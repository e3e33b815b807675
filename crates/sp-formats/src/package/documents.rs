//! The documents of a package of skills: files embedded in the content, each with its hash.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sp_tree::{
    Digest, Limits, ListingBuilder, ListingError, ListingKind, LoadedTree, PathError, RelPath,
    ZstdError, compress, decompress,
};

use crate::json::{JsonKind, JsonValue, quoted};
use crate::package::rules::PK_24;
use crate::report::Report;
use crate::skill::SKILL_FILE;
use crate::text::ByteSize;

use super::manifest_fields::{start_span, truncate_for_message};

const DOCUMENT_ENCODING: &str = "zstd+base64";

struct UnpackedDocument<'j> {
    path: RelPath,
    executable: bool,
    bytes: Vec<u8>,
    value: JsonValue<'j>,
}

/// Unpacks the documents. Returns `None` if any of them is invalid.
pub(super) fn read(
    content: JsonValue<'_>,
    limits: &Limits,
    report: &mut Report,
) -> Option<LoadedTree> {
    let files = find_files(content, limits, report)?;
    let earlier_findings = report.findings.len();
    let documents = unpack_files(files, limits, report)?;
    check_sorted(&documents, report);
    let has_skill = documents.iter().any(|file| file.path.file_name() == SKILL_FILE);
    let content = build_content(documents, limits, report);
    let broken = report.findings[earlier_findings..]
        .iter()
        .any(|finding| finding.severity == crate::Severity::Error);
    if !has_skill && !broken {
        let message = format!("the package contains no skill: there is no `{SKILL_FILE}`");
        report
            .warning(&PK_24, files.span(), message)
            .help("add a skill; the package cannot be installed without one");
    }
    content.filter(|_| !broken)
}

/// Returns the list of files, unless it is missing or too long.
fn find_files<'j>(
    content: JsonValue<'j>,
    limits: &Limits,
    report: &mut Report,
) -> Option<JsonValue<'j>> {
    let Some(files) = content.get("documents").and_then(|documents| documents.get("files")) else {
        let message = "a package of kind `skills` has no `documents.files`";
        report
            .error(&PK_24, start_span(content), message)
            .help("create the package with `sp pkg create --kind skills <skill>`");
        return None;
    };
    if files.kind() != JsonKind::Array {
        let message = "`documents.files` must be a list";
        report.error(&PK_24, files.span(), message).help("create the package again");
        return None;
    }
    let count = files.items().count() as u64;
    if count > limits.package_files {
        let message =
            format!("the package contains {count} files; the limit is {}", limits.package_files);
        report
            .error(&PK_24, files.span(), message)
            .help("if you trust the file, raise the limit with `--limit package-files=<number>`");
        return None;
    }
    Some(files)
}

/// Unpacks the valid files. Returns `None` if they are too large together.
fn unpack_files<'j>(
    files: JsonValue<'j>,
    limits: &Limits,
    report: &mut Report,
) -> Option<Vec<UnpackedDocument<'j>>> {
    let mut remaining = limits.package_files_bytes;
    let mut documents = Vec::new();
    for value in files.items() {
        let Some(document) = read_file(value, limits, report) else { continue };
        let Some(after) = remaining.checked_sub(document.bytes.len() as u64) else {
            let message = format!(
                "the total size of the files is more than {}",
                ByteSize(limits.package_files_bytes)
            );
            let help =
                "if you trust the file, raise the limit with `--limit package-files-bytes=<bytes>`";
            report.error(&PK_24, value.get("body").unwrap_or(value).span(), message).help(help);
            return None;
        };
        remaining = after;
        documents.push(document);
    }
    Some(documents)
}

fn read_file<'j>(
    value: JsonValue<'j>,
    limits: &Limits,
    report: &mut Report,
) -> Option<UnpackedDocument<'j>> {
    let mut text = |key: &str| {
        let text = value.get(key).and_then(|member| Some((member, member.text()?)));
        if text.is_none() {
            let message = format!("a document has no `{key}`");
            reject(report, value, message, "create the package again");
        }
        text
    };
    // All four are read before the first missing one ends the function, so that each is reported.
    let (path, sha256, encoding, body) =
        (text("path"), text("sha256"), text("encoding"), text("body"));
    let ((path_value, path), (sha256_value, sha256)) = (path?, sha256?);
    let ((encoding_value, encoding), (body_value, body)) = (encoding?, body?);
    let path = parse_path(&path, path_value, report)?;
    check_encoding(&encoding, encoding_value, report)?;
    let bytes = unpack_body(&path, &body, limits)
        .map_err(|UnpackError { message, help }| reject(report, body_value, message, help))
        .ok()?;
    if Digest::of(&bytes).hex() != sha256 {
        let message = format!("the content of `{path}` does not match its `sha256`");
        reject(report, sha256_value, message, "get another copy of the package");
        return None;
    }
    let executable = value.get("executable").and_then(JsonValue::as_bool).unwrap_or(false);
    Some(UnpackedDocument { path, executable, bytes, value })
}

fn parse_path(text: &str, value: JsonValue<'_>, report: &mut Report) -> Option<RelPath> {
    let reject_path = |why: PathError| {
        let message = format!("unsafe path `{}`: {why}", truncate_for_message(text));
        let help = "do not use this package: the path could write outside of the install directory";
        reject(report, value, message, help);
    };
    RelPath::new(text).map_err(reject_path).ok()
}

/// Returns `None` if the encoding is unknown.
fn check_encoding(encoding: &str, value: JsonValue<'_>, report: &mut Report) -> Option<()> {
    if encoding == DOCUMENT_ENCODING {
        return Some(());
    }
    let message = format!("unknown encoding `{}`", truncate_for_message(encoding));
    reject(report, value, message, "use the encoding `zstd+base64`");
    None
}

fn reject(report: &mut Report, value: JsonValue<'_>, message: String, help: &str) {
    report.error(&PK_24, value.span(), message).help(help);
}

struct UnpackError {
    message: String,
    help: &'static str,
}

fn unpack_body(path: &RelPath, body: &str, limits: &Limits) -> Result<Vec<u8>, UnpackError> {
    let frame = STANDARD.decode(body.as_bytes()).map_err(|_| UnpackError {
        message: format!("the body of `{path}` is not valid base64"),
        help: "get another copy of the package",
    })?;
    decompress(&frame, limits.package_file_bytes).map_err(|error| match error {
        ZstdError::TooLarge(limit) => UnpackError {
            message: format!("`{path}` is larger than {} when decompressed", ByteSize(limit)),
            help: "if you trust the file, raise the limit with `--limit \
                   package-file-bytes=<bytes>`",
        },
        why => UnpackError {
            message: format!("cannot decompress the body of `{path}`: {why}"),
            help: "get another copy of the package",
        },
    })
}

fn check_sorted(files: &[UnpackedDocument<'_>], report: &mut Report) {
    if let Some(pair) = files.windows(2).find(|pair| pair[0].path > pair[1].path) {
        let message =
            format!("documents are not sorted: `{}` comes before `{}`", pair[0].path, pair[1].path);
        report.warning(&PK_24, pair[1].value.span(), message).help("sort the documents by path");
    }
}

/// Builds a tree from the files, including their directories.
fn build_content(
    files: Vec<UnpackedDocument<'_>>,
    limits: &Limits,
    report: &mut Report,
) -> Option<LoadedTree> {
    let mut builder = ListingBuilder::new(limits);
    for (index, file) in files.iter().enumerate() {
        let size = file.bytes.len() as u64;
        let added = builder
            .add_parents(&file.path)
            .and_then(|_| builder.add_file(file.path.clone(), file.executable, size, index));
        if let Err(error) = added {
            let span = file.value.get("path").unwrap_or(file.value).span();
            report.error(&PK_24, span, listing_message(&error)).help(listing_help(&error));
            return None;
        }
    }
    let mut files: Vec<Option<UnpackedDocument<'_>>> = files.into_iter().map(Some).collect();
    let mut content = LoadedTree::default();
    for entry in builder.finish().entries {
        match entry.kind {
            ListingKind::Dir => content.add_dir(entry.path),
            ListingKind::File { executable, handle, .. } => {
                let bytes = files[handle].take().map(|file| file.bytes).unwrap_or_default();
                content.add_file(entry.path, executable, bytes);
            }
        }
    }
    Some(content)
}

fn listing_message(error: &ListingError) -> String {
    match error {
        ListingError::Collision(a, b) if a == b => {
            format!("`{a}` is listed twice, or as both a file and a directory")
        }
        other => other.to_string(),
    }
}

fn listing_help(error: &ListingError) -> String {
    match error {
        ListingError::Collision(a, b) if a == b => "remove one of them".into(),
        ListingError::Collision(..) => "rename one of them".into(),
        other => {
            let name = other.limit_name().unwrap_or_default();
            format!("if you trust the file, raise the limit with `--limit {name}=<number>`")
        }
    }
}

/// Renders the member `documents` for these files.
pub fn write(files: &[(RelPath, bool, Vec<u8>)]) -> String {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let file = |(path, executable, bytes): &(RelPath, bool, Vec<u8>)| {
        format!(
            "{{\"body\":{},\"encoding\":\"{DOCUMENT_ENCODING}\",{}\"path\":{},\"sha256\":{}}}",
            quoted(&STANDARD.encode(compress(bytes))),
            if *executable { "\"executable\":true," } else { "" },
            quoted(path.as_str()),
            quoted(&Digest::of(bytes).hex()),
        )
    };
    let files: Vec<String> = sorted.into_iter().map(file).collect();
    format!("{{\"files\":[{}]}}", files.join(","))
}
