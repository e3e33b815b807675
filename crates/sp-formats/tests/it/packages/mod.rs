//! Written packages are valid and canonical and keep unknown members. Layers of schema 1 convert to
//! a graph.

mod layers;
mod round_trips;
mod signatures;
mod writing;

use proptest::prelude::*;
use serde_json::{Value, json};
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

/// Reads a package that must be valid.
fn read_valid(text: &str) -> Package {
    let read = read("a package", text.as_bytes().to_vec(), &limits());
    let findings = &read.report.findings;
    assert!(
        read.steps.iter().all(|step| step.outcome != VerificationOutcome::Failed),
        "{:?} {findings:?}\n{text}",
        read.steps
    );
    assert!(read.package.is_some(), "{findings:?}\n{text}");
    read.package.unwrap()
}

fn write_and_read(draft: &PackageDraft) -> Package {
    read_valid(&write(draft, None, &limits()).unwrap())
}

fn to_value(value: JsonValue<'_>) -> Value {
    serde_json::from_str(value.raw()).unwrap()
}

/// Returns whether `other` has all members and items of `value`, and maybe more members.
fn is_contained(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(members), Value::Object(others)) => members
            .iter()
            .all(|(key, value)| others.get(key).is_some_and(|other| is_contained(value, other))),
        (Value::Array(items), Value::Array(others)) => {
            items.len() == others.len()
                && items.iter().zip(others).all(|(item, other)| is_contained(item, other))
        }
        (value, other) => value == other,
    }
}
