//! What we write as a package: it is read again, it holds, it is canonical, and nothing that we do
//! not know is lost. And what the layers of schema 1 become.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod layers;
mod round_trips;
mod signatures;
mod writing;

use proptest::prelude::*;
use serde_json::{Value as Plain, json};
use sp_formats::json::JsonValue;
use sp_formats::package::{
    Package, PackageDraft, PackageKind, PackageName, PackageVersion, SignatureCoverage,
    VerificationOutcome, read, write, write_lean_ctx_compatible,
};
use sp_tree::{Limits, PrivateKey};

const TIME: &str = "2026-05-22T00:00:00Z";

fn limits() -> Limits {
    Limits::default()
}

/// The key of the known-answer vector.
fn key() -> PrivateKey {
    PrivateKey::from_seed(&[7; 32])
}

fn draft(content: impl Into<String>) -> PackageDraft {
    PackageDraft {
        name: PackageName::new("notes").unwrap(),
        version: PackageVersion::new("1.2.3").unwrap(),
        description: "Notes.".into(),
        author: None,
        created_at: TIME.into(),
        kind: PackageKind::Context,
        level: None,
        tags: Vec::new(),
        dependencies: Vec::new(),
        conflicts: Vec::new(),
        tool_version: "0".into(),
        extra_members: Vec::new(),
        content: content.into(),
        merged_graph: None,
    }
}

/// Reads a text that must hold.
fn holds(text: &str) -> Package {
    let read = read("a package", text.as_bytes().to_vec(), &limits());
    let told: Vec<&String> = read.report.findings.iter().map(|finding| &finding.message).collect();
    assert!(
        read.steps.iter().all(|step| step.outcome != VerificationOutcome::Failed),
        "{:?} {told:?}\n{text}",
        read.steps
    );
    assert!(read.package.is_some(), "{told:?}\n{text}");
    read.package.unwrap()
}

fn written(draft: &PackageDraft) -> Package {
    holds(&write(draft, None, &limits()).unwrap())
}

fn plain(value: JsonValue<'_>) -> Plain {
    serde_json::from_str(value.raw()).unwrap()
}

/// Whether all of one value stands in the other: members may have come, and nothing may have gone.
fn stands_in(one: &Plain, other: &Plain) -> bool {
    match (one, other) {
        (Plain::Object(one), Plain::Object(other)) => one
            .iter()
            .all(|(key, value)| other.get(key).is_some_and(|found| stands_in(value, found))),
        (Plain::Array(one), Plain::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| stands_in(one, other))
        }
        (one, other) => one == other,
    }
}
