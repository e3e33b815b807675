//! The output form of check results.

use sp_analyze::tokens::TOKENIZER;
use sp_formats::FileFindings;
use sp_formats::output::{
    AuditReport, AuditSummary, CheckReport, CheckSummary, CheckedCounts, CountedKind,
    FindingCounts, FindingItem, FixedFileItem, UnreadableItem,
};
use sp_formats::report::Severity;

use super::formats::counted_kinds;
use super::{CheckResults, UnreadableTarget};

impl CheckResults {
    /// Converts the results of a check, with the files that were fixed.
    pub fn to_report(&self, fixed: Vec<FixedFileItem>) -> CheckReport {
        CheckReport {
            summary: CheckSummary {
                checked: self.checked_counts(),
                found: self.finding_counts(),
                fixable: self.fixable_count(),
                imports_left: self.imports_left,
                skills_left: self.skills_left.values().sum(),
                accepted: self.accepted.total(),
            },
            findings: self.finding_items(),
            skills: self.costs.clone(),
            tokenizer: TOKENIZER.into(),
            plan: None,
            fixed,
            unreadable: self.unreadable_items(),
        }
    }

    /// Converts the results of an audit.
    pub fn to_audit_report(&self) -> AuditReport {
        AuditReport {
            summary: self.audit_summary(),
            findings: self.finding_items(),
            skills: self.facts.skills.clone(),
            packages: self.facts.packages.clone(),
            unreadable: self.unreadable_items(),
        }
    }

    /// Sums up what an audit read, and what it found.
    pub fn audit_summary(&self) -> AuditSummary {
        let skills = &self.facts.skills;
        AuditSummary {
            checked: self.checked_counts(),
            found: self.finding_counts(),
            accepted: self.accepted.total(),
            read_files: skills.iter().map(|skill| skill.read_files).sum(),
            read_bytes: skills.iter().map(|skill| skill.read_bytes).sum(),
            opaque_files: skills.iter().map(|skill| skill.opaque.len()).sum(),
            imports_left: self.imports_left,
        }
    }

    /// Returns the number of checked items of every kind, in the order of the formats.
    pub fn checked_counts(&self) -> CheckedCounts {
        let count = |kind: CountedKind| self.items.get(kind.key).copied().unwrap_or_default();
        CheckedCounts(counted_kinds().map(|kind| (kind, count(kind))).collect())
    }

    fn finding_counts(&self) -> FindingCounts {
        FindingCounts {
            errors: self.count(Severity::Error),
            warnings: self.count(Severity::Warning),
            notes: self.count(Severity::Note),
        }
    }

    fn finding_items(&self) -> Vec<FindingItem> {
        let items = |file: &FileFindings| -> Vec<FindingItem> {
            file.findings.iter().map(|placed| FindingItem::new(&file.file, placed)).collect()
        };
        self.files.iter().flat_map(items).collect()
    }

    fn unreadable_items(&self) -> Vec<UnreadableItem> {
        let item = |UnreadableTarget { error, .. }: &UnreadableTarget| UnreadableItem {
            code: error.code().into(),
            message: error.to_string(),
            because: error.causes(),
            hints: error.hints.clone(),
            position: error.position.as_ref().map(|position| position.to_item()),
        };
        self.unreadable.iter().map(item).collect()
    }
}
