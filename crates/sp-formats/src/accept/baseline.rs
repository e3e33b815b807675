//! A baseline: the findings that existed when it was written, so that only new ones are reported.
//!
//! A finding is recognized by its rule, its file and a digest of the text that it marks, so lines
//! may move. Equal findings are counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sp_tree::Digest;
use thiserror::Error;

use crate::report::LocatedFinding;

/// The version of the format.
const VERSION: u64 = 1;

/// Why a text is not a baseline.
#[derive(Debug, Error)]
pub enum BaselineError {
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("unsupported version {0}")]
    Version(u64),
}

/// The content of a baseline file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    version: u64,
    findings: Vec<BaselineEntry>,
}

/// Equal findings in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineEntry {
    /// Path relative to the baseline file, or absolute.
    pub file: String,
    pub rule: String,
    /// Digest of the marked text.
    pub digest: String,
    pub count: u64,
}

impl Baseline {
    /// Creates a baseline of findings, each with its file.
    pub fn new<'a>(findings: impl Iterator<Item = (String, &'a LocatedFinding)>) -> Self {
        let mut counts: BTreeMap<(String, String, String), u64> = BTreeMap::new();
        for (file, finding) in findings {
            let rule = finding.finding.check.id.to_owned();
            *counts.entry((file, rule, fingerprint(finding))).or_default() += 1;
        }
        let entry = |((file, rule, digest), count)| BaselineEntry { file, rule, digest, count };
        Self { version: VERSION, findings: counts.into_iter().map(entry).collect() }
    }

    pub fn parse(text: &[u8]) -> Result<Self, BaselineError> {
        let baseline: Self = serde_json::from_slice(text)?;
        if baseline.version == VERSION {
            Ok(baseline)
        } else {
            Err(BaselineError::Version(baseline.version))
        }
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the entries to compare findings with.
    pub fn into_unused(self) -> UnusedBaseline {
        let key = |entry: BaselineEntry| ((entry.file, entry.rule, entry.digest), entry.count);
        UnusedBaseline { counts: self.findings.into_iter().map(key).collect() }
    }
}

/// The entries of a baseline that no finding has used yet.
#[derive(Debug, Default)]
pub struct UnusedBaseline {
    counts: BTreeMap<(String, String, String), u64>,
}

impl UnusedBaseline {
    /// Takes a finding out of the baseline. Returns whether it was in it.
    pub fn take(&mut self, file: &str, finding: &LocatedFinding) -> bool {
        let key = (file.into(), finding.finding.check.id.into(), fingerprint(finding));
        match self.counts.get_mut(&key) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

/// A digest of the text that a finding marks, or else of its message.
fn fingerprint(finding: &LocatedFinding) -> String {
    let marked = finding.location.as_ref().map(|location| {
        let excerpt = &location.excerpt;
        if excerpt.marked.is_empty() {
            format!("{}{}", excerpt.before, excerpt.after)
        } else {
            excerpt.marked.clone()
        }
    });
    let text = marked.unwrap_or_else(|| finding.finding.message.clone());
    Digest::of(text.trim().as_bytes()).to_string()
}
