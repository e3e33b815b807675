//! Searches scripts in languages that are not parsed, line by line.

use std::ops::Range;

use super::capability::CapabilityKind;
use super::evidence::{Evidence, Scope};
use super::finding::AuditClass::{
    self, Destructive, Exfiltration, Obfuscation, Persistence, Privilege, Remote,
};
use super::finding::Confidence::{self, Certain, Hint, Likely};
use super::finding::Detection;
use super::finding::Risk::{self, High, Medium};
use super::sensitive::{credential_in, is_collector};
use crate::hosts::{external_host, host_ranges};

/// Longer lines are searched in pieces.
const MAX_LINE: usize = 4096;

/// Parts of a line that are dangerous together.
type LineRule = (&'static [&'static str], AuditClass, Risk, Confidence, &'static str);

const RULES: &[LineRule] = &[
    (
        &["iex", "downloadstring"],
        Remote,
        High,
        Likely,
        "executes code from the network without showing it",
    ),
    (
        &["invoke-expression", "invoke-webrequest"],
        Remote,
        High,
        Likely,
        "executes code from the network without showing it",
    ),
    (
        &["iwr", "| iex"],
        Remote,
        Medium,
        Likely,
        "executes code from the network without showing it",
    ),
    (&["irm", "| iex"], Remote, Medium, Hint, "executes code from the network without showing it"),
    (
        &["frombase64string", "iex"],
        Obfuscation,
        High,
        Certain,
        "executes code that is encoded in the file",
    ),
    (
        &["frombase64string", "invoke-expression"],
        Obfuscation,
        High,
        Certain,
        "executes code that is encoded in the file",
    ),
    (&["-encodedcommand"], Obfuscation, High, Likely, "executes an encoded PowerShell command"),
    (
        &["eval(base64_decode("],
        Obfuscation,
        High,
        Certain,
        "executes code that is encoded in the file",
    ),
    (&["eval(gzinflate("], Obfuscation, High, Certain, "executes code that is encoded in the file"),
    (
        &["eval", "base64.decode64"],
        Obfuscation,
        High,
        Certain,
        "executes code that is encoded in the file",
    ),
    (
        &["eval", "decode_base64"],
        Obfuscation,
        High,
        Certain,
        "executes code that is encoded in the file",
    ),
    (&["eval", "unpack("], Obfuscation, High, Likely, "executes code that is encoded in the file"),
    (
        &["eval", "net::http"],
        Remote,
        High,
        Likely,
        "executes code from the network without showing it",
    ),
    (
        &["eval", "open-uri"],
        Remote,
        High,
        Likely,
        "executes code from the network without showing it",
    ),
    (
        &["loadstring", "http"],
        Remote,
        High,
        Likely,
        "executes code from the network without showing it",
    ),
    (&["tcpsocket", "/bin/sh"], Privilege, High, Certain, "gives a remote machine a shell"),
    (&["fsockopen(", "/bin/sh"], Privilege, High, Certain, "gives a remote machine a shell"),
    (&["socket(", "/bin/sh", "exec"], Privilege, High, Likely, "gives a remote machine a shell"),
    (&["set-mppreference", "-disable"], Privilege, High, Likely, "disables Windows Defender"),
    (
        &["add-mppreference", "exclusion"],
        Privilege,
        High,
        Likely,
        "hides files from Windows Defender",
    ),
    (&["set-executionpolicy", "bypass"], Privilege, Medium, Hint, "lets PowerShell run any script"),
    (&["currentversion\\run"], Persistence, High, Likely, "runs a program at every login"),
    (&["new-scheduledtask"], Persistence, Medium, Likely, "runs a command on a schedule"),
    (
        &["fileutils.rm_rf", "dir.home"],
        Destructive,
        High,
        Certain,
        "deletes the home directory or the whole system",
    ),
    (
        &["remove-item", "-recurse", "$env:userprofile"],
        Destructive,
        High,
        Likely,
        "deletes the home directory or the whole system",
    ),
    (
        &["remove-item", "-recurse", "$home"],
        Destructive,
        High,
        Likely,
        "deletes the home directory or the whole system",
    ),
    (&["vssadmin", "delete"], Destructive, High, Likely, "deletes backups"),
    (
        &["do shell script", "administrator privileges"],
        Privilege,
        Medium,
        Likely,
        "runs a command as root",
    ),
];

/// Searches a text line by line.
pub(super) fn scan_lines(text: &str, scope: &Scope, evidence: &mut Evidence) {
    let mut start = 0;
    let mut seen = SeenTogether::default();
    for line in text.split_inclusive('\n') {
        let mut at = start;
        let mut rest = line;
        while !rest.is_empty() {
            let cut = rest.floor_char_boundary(rest.len().min(MAX_LINE));
            let (piece, tail) =
                rest.split_at(cut.max(rest.chars().next().map_or(1, char::len_utf8)));
            scan_piece(piece, at, (scope, evidence), &mut seen);
            at += piece.len();
            rest = tail;
        }
        start += line.len();
    }
    if let (Some((span, what)), Some(host)) = (seen.credential, seen.host) {
        let message = format!("reads {what}, and contacts `{host}`");
        evidence.report(scope, &span, Detection::new(Exfiltration, Medium, Likely, message));
    }
}

/// What is dangerous if one script does both.
#[derive(Default)]
struct SeenTogether {
    credential: Option<(Range<usize>, &'static str)>,
    host: Option<String>,
}

fn scan_piece(
    piece: &str,
    at: usize,
    (scope, evidence): (&Scope, &mut Evidence),
    seen: &mut SeenTogether,
) {
    let trimmed = piece.trim();
    let is_comment =
        ["#", "//", "--", ";", "rem ", "'", "*"].iter().any(|mark| trimmed.starts_with(mark))
            && !trimmed.starts_with("#!");
    if trimmed.is_empty() || is_comment {
        return;
    }
    let span = at..at + piece.trim_end().len();
    let lower = piece.to_ascii_lowercase();
    for (parts, class, risk, confidence, message) in RULES {
        if parts.iter().all(|part| lower.contains(part)) {
            evidence.report(scope, &span, Detection::new(*class, *risk, *confidence, *message));
        }
    }
    for range in host_ranges(piece) {
        let Some(host) = external_host(&piece[range.clone()]) else { continue };
        let place = at + range.start..at + range.end;
        evidence.capability(scope, &place, CapabilityKind::Host, &host);
        if is_collector(&host) {
            let message = format!("contacts `{host}`, a host that collects data");
            evidence.report(scope, &place, Detection::new(Exfiltration, Medium, Likely, message));
        }
        seen.host.get_or_insert(host);
    }
    for word in piece.split(|c: char| c.is_whitespace() || "\"'`()[]{},;".contains(c)) {
        if word.contains(['/', '\\', '.'])
            && !word.contains("://")
            && let Some(what) = credential_in(word)
        {
            evidence.capability(scope, &span, CapabilityKind::Secret, word);
            if super::sensitive::is_never_sent(what) {
                seen.credential.get_or_insert((span.clone(), what));
            }
        }
    }
}
