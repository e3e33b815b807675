//! Content that cannot be read, and what is known about it anyway.

use flate2::read::DeflateDecoder;
use serde::{Deserialize, Serialize};
use std::io::Read;

use super::evidence::Evidence;
use super::finding::{AuditClass, Confidence, Detection, Risk};

/// Maximum number of bytes that are unpacked from one document.
const MAX_UNPACKED: u64 = 32 * 1024 * 1024;
/// Maximum number of members that are examined in one archive.
const MAX_MEMBERS: usize = 10_000;

/// Why a file was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OpaqueReason {
    /// A program in machine code.
    Executable,
    /// Compiled code of an interpreter.
    Bytecode,
    /// An archive, or one inside of a document.
    Archive,
    /// A document of which only the text was read.
    Document,
    /// A picture, a font, a sound or a video.
    Media,
    /// Any other file that is not text.
    Binary,
    /// A file that is larger than the limit, or could not be read.
    Oversize,
    /// A text in an unknown encoding.
    Undecodable,
    /// A script in a language that is only searched, not parsed.
    Unparsed,
}

impl OpaqueReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::Bytecode => "bytecode",
            Self::Archive => "archive",
            Self::Document => "document",
            Self::Media => "media",
            Self::Binary => "binary",
            Self::Oversize => "oversize",
            Self::Undecodable => "undecodable",
            Self::Unparsed => "unparsed",
        }
    }
}

/// A file that was not read, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueFile {
    /// The path of the file in the audited tree.
    pub path: String,
    pub reason: OpaqueReason,
    pub bytes: u64,
}

/// What a file is.
pub(super) enum FileContent<'a> {
    Text(&'a str),
    /// A document with text in it, such as a `.docx`.
    Document(String),
    Opaque(OpaqueReason),
}

const MEDIA: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tiff", "tif", "avif", "heic", "svgz",
    "ttf", "otf", "woff", "woff2", "eot", "mp3", "wav", "ogg", "flac", "m4a", "mp4", "mov", "webm",
    "mkv", "avi", "icns", "psd",
];

/// Formats that are zip archives with XML in them.
const DOCUMENTS: &[&str] = &[
    "docx", "docm", "dotx", "xlsx", "xlsm", "xltx", "pptx", "pptm", "potx", "odt", "ods", "odp",
    "epub",
];

/// Decides what a file is, and reports files that hide code.
pub(super) fn classify<'a>(
    path: &str,
    bytes: &'a [u8],
    evidence: &mut Evidence,
) -> FileContent<'a> {
    let extension = path
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .rsplit_once('.')
        .map(|(_, end)| end.to_ascii_lowercase())
        .unwrap_or_default();
    let extension = extension.as_str();
    if DOCUMENTS.contains(&extension) && bytes.starts_with(b"PK") {
        return FileContent::Document(read_document(path, bytes, evidence));
    }
    if let Some(reason) = kind_of_bytes(bytes, extension) {
        report_binary(path, extension, reason, evidence);
        return FileContent::Opaque(reason);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => FileContent::Text(text),
        _ if MEDIA.contains(&extension) => FileContent::Opaque(OpaqueReason::Media),
        _ if is_text_name(extension) => {
            let message = "the file is not UTF-8 text, so it was not read";
            evidence.report_decoded(
                None,
                Detection::new(AuditClass::Opaque, Risk::Medium, Confidence::Likely, message),
                None,
            );
            FileContent::Opaque(OpaqueReason::Undecodable)
        }
        _ => FileContent::Opaque(OpaqueReason::Binary),
    }
}

fn is_text_name(extension: &str) -> bool {
    matches!(
        extension,
        "md" | "txt"
            | "sh"
            | "py"
            | "js"
            | "ts"
            | "json"
            | "yaml"
            | "yml"
            | "toml"
            | "bash"
            | "mjs"
            | "cjs"
            | "rb"
            | "ps1"
    )
}

/// Recognizes code and archives by their first bytes.
fn kind_of_bytes(bytes: &[u8], extension: &str) -> Option<OpaqueReason> {
    let is_python_bytecode = bytes.len() > 16
        && bytes[2..4] == [0x0D, 0x0A]
        && matches!(extension, "pyc" | "pyo" | "py" | "");
    Some(match bytes {
        [0x7F, b'E', b'L', b'F', ..] => OpaqueReason::Executable,
        [b'M', b'Z', ..] if std::str::from_utf8(bytes).is_err() => OpaqueReason::Executable,
        [0xCF | 0xCE, 0xFA, 0xED, 0xFE, ..] | [0xFE, 0xED, 0xFA, 0xCE | 0xCF, ..] => {
            OpaqueReason::Executable
        }
        [0xCA, 0xFE, 0xBA, 0xBE, ..] | [0, b'a', b's', b'm', ..] => OpaqueReason::Bytecode,
        _ if is_python_bytecode || matches!(extension, "pyc" | "pyo") => OpaqueReason::Bytecode,
        [b'P', b'K', 3 | 5, 4 | 6, ..]
        | [0x1F, 0x8B, ..]
        | [b'7', b'z', 0xBC, 0xAF, ..]
        | [b'R', b'a', b'r', b'!', ..]
        | [b'B', b'Z', b'h', ..]
        | [0xFD, b'7', b'z', b'X', ..]
        | [0x28, 0xB5, 0x2F, 0xFD, ..] => OpaqueReason::Archive,
        _ if bytes.get(257..262) == Some(b"ustar") => OpaqueReason::Archive,
        [0xD0, 0xCF, 0x11, 0xE0, ..] | [b'%', b'P', b'D', b'F', ..] => OpaqueReason::Document,
        _ => return None,
    })
}

fn report_binary(path: &str, extension: &str, reason: OpaqueReason, evidence: &mut Evidence) {
    let is_disguised = MEDIA.contains(&extension)
        || is_text_name(extension)
        || matches!(extension, "csv" | "html" | "css" | "xml" | "log");
    let name = path.rsplit('/').next().unwrap_or(path);
    let (risk, confidence, message) = match reason {
        OpaqueReason::Executable | OpaqueReason::Bytecode | OpaqueReason::Archive
            if is_disguised =>
        {
            (
                Risk::High,
                Confidence::Likely,
                format!("`{name}` is not what its name says: {}", describe(reason)),
            )
        }
        OpaqueReason::Bytecode => (
            Risk::Medium,
            Confidence::Likely,
            format!("`{name}` is compiled code, which was not read"),
        ),
        OpaqueReason::Executable => (
            Risk::Medium,
            Confidence::Likely,
            format!("`{name}` is a program in machine code, which was not read"),
        ),
        OpaqueReason::Archive => {
            (Risk::Low, Confidence::Hint, format!("`{name}` is an archive, which was not read"))
        }
        _ => return,
    };
    evidence.report_decoded(
        None,
        Detection::new(AuditClass::Opaque, risk, confidence, message),
        None,
    );
}

fn describe(reason: OpaqueReason) -> &'static str {
    match reason {
        OpaqueReason::Executable => "it is a program",
        OpaqueReason::Bytecode => "it is compiled code",
        OpaqueReason::Archive => "it is an archive",
        _ => "it is a binary file",
    }
}

/// Reads the text of an office document, and reports archives and programs inside of it.
fn read_document(path: &str, bytes: &[u8], evidence: &mut Evidence) -> String {
    let mut text = String::new();
    let mut left = MAX_UNPACKED;
    for member in zip_members(bytes) {
        let lower = member.name.to_ascii_lowercase();
        let extension = lower.rsplit('.').next().unwrap_or_default();
        let content = member.unpack(&mut left);
        let kind = kind_of_bytes(&content, extension);
        let is_embedding = lower.contains("embeddings/") && DOCUMENTS.contains(&extension);
        let message = if lower.ends_with("vbaproject.bin") {
            Some(format!("`{path}` contains macros, which were not read"))
        } else if is_embedding {
            None
        } else if let Some(
            OpaqueReason::Archive | OpaqueReason::Executable | OpaqueReason::Bytecode,
        ) = kind
        {
            Some(format!(
                "`{path}` contains `{}`: {}",
                member.name,
                describe(kind.unwrap_or(OpaqueReason::Binary))
            ))
        } else if matches!(
            extension,
            "sh" | "py"
                | "js"
                | "exe"
                | "dll"
                | "bat"
                | "ps1"
                | "vbs"
                | "so"
                | "jar"
                | "zip"
                | "gz"
                | "7z"
        ) {
            Some(format!(
                "`{path}` contains `{}`, which does not belong into a document",
                member.name
            ))
        } else {
            None
        };
        if let Some(message) = message {
            evidence.report_decoded(
                None,
                Detection::new(AuditClass::Opaque, Risk::High, Confidence::Likely, message),
                None,
            );
        }
        if matches!(extension, "xml" | "xhtml" | "html")
            && let Ok(xml) = std::str::from_utf8(&content)
        {
            push_text(xml, &mut text);
        }
    }
    text
}

/// Appends the text between the tags of an XML document.
fn push_text(xml: &str, text: &mut String) {
    for piece in xml.split('<') {
        let (tag, content) = piece.split_once('>').unwrap_or(("", ""));
        text.push_str(content);
        if tag.starts_with("/w:p")
            || tag.starts_with("/a:p")
            || tag.starts_with("/p")
            || tag.starts_with("/si")
            || tag.starts_with("/text:p")
        {
            text.push('\n');
        }
    }
    text.push('\n');
}

/// A member of a zip archive, found by its local header.
struct ZipMember<'a> {
    name: String,
    method: u16,
    /// Everything from the start of its content on.
    content: &'a [u8],
    size: usize,
}

impl ZipMember<'_> {
    fn unpack(&self, left: &mut u64) -> Vec<u8> {
        let mut unpacked = Vec::new();
        let stored = self.content.get(..self.size).unwrap_or(self.content);
        match self.method {
            0 => unpacked.extend_from_slice(
                &stored[..stored.len().min(usize::try_from(*left).unwrap_or(usize::MAX))],
            ),
            8 => {
                // The size is missing if the archive was written as a stream.
                let source = if self.size == 0 { self.content } else { stored };
                let _ = DeflateDecoder::new(source).take(*left).read_to_end(&mut unpacked);
            }
            _ => {}
        }
        *left = left.saturating_sub(unpacked.len() as u64);
        unpacked
    }
}

/// Finds members by their local headers, so that a damaged directory hides nothing.
fn zip_members(bytes: &[u8]) -> Vec<ZipMember<'_>> {
    let mut members = Vec::new();
    let mut at = 0;
    while members.len() < MAX_MEMBERS
        && let Some(found) =
            bytes.get(at..).and_then(|rest| rest.windows(4).position(|four| four == b"PK\x03\x04"))
    {
        let start = at + found;
        let number = |offset: usize| {
            bytes
                .get(start + offset..start + offset + 2)
                .map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
        };
        let name_length = usize::from(number(26));
        let content_start = start + 30 + name_length + usize::from(number(28));
        let size = usize::from(number(18)) | usize::from(number(20)) << 16;
        let (Some(name), Some(content)) =
            (bytes.get(start + 30..start + 30 + name_length), bytes.get(content_start..))
        else {
            break;
        };
        members.push(ZipMember {
            name: String::from_utf8_lossy(name).into_owned(),
            method: number(8),
            content,
            size,
        });
        // The content of a member may contain headers of its own: a nested archive.
        at = content_start + size.min(content.len());
    }
    members
}
