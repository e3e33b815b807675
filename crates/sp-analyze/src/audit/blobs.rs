//! Encoded text in files of any kind: a long run of base64 or hexadecimal digits that decodes to
//! instructions or commands.

use std::ops::Range;

use super::evidence::Evidence;
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::prose::SentenceScanner;
use super::value::{decode_base64, decode_hex};

/// Shorter runs cannot contain an instruction.
const MIN_RUN: usize = 32;
/// Longer runs are data, such as an embedded picture. Their start is decoded.
const MAX_RUN: usize = 16 * 1024;
/// Maximum number of runs that are decoded per file.
const MAX_RUNS: usize = 2_000;

/// Words of commands in decoded text.
const COMMAND_WORDS: &[&str] = &[
    "curl ",
    "wget ",
    "bash -",
    "/bin/sh",
    "/bin/bash",
    "rm -rf",
    "nc -",
    "eval ",
    "exec(",
    "import os",
    "import socket",
    "subprocess",
    "os.system",
    "child_process",
    "powershell",
    "chmod +x",
    "/dev/tcp",
    "authorized_keys",
    ".ssh/",
    "crontab",
];

/// Reports encoded commands and instructions.
pub(super) fn scan_blobs(text: &str, is_script: bool, evidence: &mut Evidence) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut runs = 0;
    // A run that is long enough contains the last of these bytes, so most bytes are never read.
    while at + MIN_RUN <= bytes.len() && runs < MAX_RUNS {
        let probe = at + MIN_RUN - 1;
        if !is_base64(bytes[probe]) {
            at = probe + 1;
            continue;
        }
        let before = bytes[at..probe].iter().rposition(|byte| !is_base64(*byte));
        let start = before.map_or(at, |before| at + before + 1);
        let rest = &bytes[probe..];
        let end = rest.iter().position(|byte| !is_base64(*byte)).map_or(bytes.len(), |n| probe + n);
        if end - start >= MIN_RUN {
            runs += 1;
            check_run(text, start..end, is_script, evidence);
        }
        at = end;
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

fn check_run(text: &str, span: Range<usize>, is_script: bool, evidence: &mut Evidence) {
    let run = &text[span.start..span.end.min(span.start + MAX_RUN)];
    let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let decoded = if is_hex { decode_hex(run) } else { decode_base64(&run[..run.len() / 4 * 4]) };
    let Some(decoded) = decoded.filter(|decoded| is_text(decoded)) else { return };
    if COMMAND_WORDS.iter().any(|word| decoded.contains(word)) {
        let (risk, confidence) = if is_script {
            (Risk::High, Confidence::Likely)
        } else {
            (Risk::Medium, Confidence::Likely)
        };
        let detection =
            Detection::new(AuditClass::Obfuscation, risk, confidence, "contains encoded commands");
        evidence.report_decoded(Some(span), detection, Some(decoded));
        return;
    }
    let mut sentences = SentenceScanner::of_decoded(&decoded, evidence, span.clone());
    sentences.push(0..decoded.len(), false);
    sentences.end_block();
    if sentences.found > 0 {
        let detection = Detection::new(
            AuditClass::Obfuscation,
            Risk::High,
            Confidence::Likely,
            "contains encoded instructions",
        );
        evidence.report_decoded(Some(span), detection, Some(decoded));
    }
}

/// Whether decoded bytes are ASCII text with spaces, not data by chance.
fn is_text(decoded: &str) -> bool {
    decoded.len() >= 16
        && decoded.contains(' ')
        && decoded.bytes().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}
