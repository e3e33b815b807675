//! The labelled corpus of the audit, in `benches/audit-corpus/`.
//!
//! `labels.tsv` lists every sample with its label, its class, its part, and its skeleton. The files
//! next to it contain the samples: `=== name` starts one, and `--- path` a file of it. Text before
//! the first file is the body of a `SKILL.md`. `--- path base64` is a binary file, `\u{...}` a
//! character, and `\n*100` a number of line breaks.

use std::path::{Path, PathBuf};

/// A sample with its label.
#[derive(Debug, Clone)]
pub struct AuditSample {
    pub name: String,
    pub is_malicious: bool,
    /// The class of a malicious sample, the topic of a benign one.
    pub class: String,
    pub part: CorpusPart,
    pub skeleton: String,
    /// Paths and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// How a sample may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorpusPart {
    /// Rules may be tuned on it.
    Tune,
    /// Rules must not be tuned on it. It was written together with the rules.
    Held,
    /// Written without knowledge of the rules, and only measured.
    Blind,
}

impl CorpusPart {
    pub const ALL: [Self; 3] = [Self::Tune, Self::Held, Self::Blind];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Held => "held",
            Self::Blind => "blind",
        }
    }
}

/// Reads all samples, in the order of the table.
pub fn audit_samples() -> Vec<AuditSample> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/audit-corpus");
    let table = read(&dir.join("labels.tsv"));
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| sample(&dir, row)).collect()
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sample(dir: &Path, row: &str) -> AuditSample {
    let fields: Vec<&str> = row.split('\t').collect();
    let [name, label, class, part, skeleton] = fields[..] else { panic!("invalid row: {row}") };
    let text = read(&dir.join(label).join(format!("{class}.txt")));
    let start = format!("=== {name}");
    let lines = text.lines().skip_while(|line| *line != start).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("=== ")).collect();
    assert!(!lines.is_empty(), "{label}/{class} has no sample `{name}`");
    AuditSample {
        name: name.into(),
        is_malicious: label == "malicious",
        class: class.into(),
        part: CorpusPart::ALL.into_iter().find(|it| it.as_str() == part).expect(row),
        skeleton: skeleton.into(),
        files: parse_files(name, &lines),
    }
}

fn parse_files(name: &str, lines: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, String)> = vec![(String::new(), String::new())];
    for line in lines {
        match line.strip_prefix("--- ").filter(|rest| !rest.starts_with('-')) {
            Some(path) => files.push((path.into(), String::new())),
            None => {
                if let Some((_, text)) = files.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    let (_, body) = files.remove(0);
    let has_skill = files.iter().any(|(path, _)| path == "SKILL.md");
    if !has_skill {
        let front = format!("---\nname: {name}\ndescription: Helps with a task.\n---\n\n");
        let body = if body.trim().is_empty() { "Follow the steps.\n".into() } else { body };
        files.insert(0, ("SKILL.md".into(), format!("{front}{body}")));
    }
    files.into_iter().map(|(path, text)| file(&path, &text)).collect()
}

fn file(path: &str, text: &str) -> (String, Vec<u8>) {
    match path.strip_suffix(" base64") {
        Some(path) => (path.into(), decode_base64(text)),
        None => (path.into(), unescape(text).into_bytes()),
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| ALPHABET.iter().position(|known| *known == byte));
    let (mut bytes, mut buffer, mut bits) = (Vec::new(), 0_usize, 0);
    for digit in digits {
        buffer = (buffer << 6 | digit) & 0xFFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xFF).unwrap_or_default());
        }
    }
    bytes
}

/// Replaces `\u{...}` and `\n*100`. Other escapes belong to the sample.
fn unescape(text: &str) -> String {
    let mut output = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(count) =
            line.trim_end().strip_prefix("\\n*").and_then(|count| count.parse().ok())
        {
            output.extend(std::iter::repeat_n('\n', count));
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find("\\u{") {
            let end = rest[at..].find('}').map_or(rest.len(), |end| at + end);
            let c = u32::from_str_radix(&rest[at + 3..end], 16).ok().and_then(char::from_u32);
            output.push_str(&rest[..at]);
            output.extend(c);
            rest = &rest[(end + 1).min(rest.len())..];
        }
        output.push_str(rest);
    }
    output
}
