//! The output form of check results.

use sp_analyze::tokens::TOKENIZER;
use sp_formats::FileFindings;
use sp_formats::output::{
    AuditReport, AuditSummary, CheckReport, CheckSummary, FindingItem, FixedFileItem,
    UnreadableItem,
};
use sp_formats::report::Severity;

use super::{CheckResults, UnreadableTarget};

impl CheckResults {
    /// Converts the results of a check, with the files that were fixed.
    pub fn to_report(&self, fixed: Vec<FixedFileItem>) -> CheckReport {
        CheckReport {
            summary: CheckSummary {
                skills: self.skills,
                packs: self.packs,
                packages: self.packages,
                context_packs: self.context_packs,
                errors: self.count(Severity::Error),
                warnings: self.count(Severity::Warning),
                notes: self.count(Severity::Note),
                fixable: self.fixable_count(),
                imports_left: self.imports_left,
            },
            findings: self.finding_items(),
            skills: self.costs.clone(),
            tokenizer: TOKENIZER.into(),
            fixed,
            unreadable: self.unreadable_items(),
        }
    }

    /// Converts the results of an audit.
    pub fn to_audit_report(&self) -> AuditReport {
        AuditReport {
            summary: AuditSummary {
                skills: self.skills,
                packs: self.packs,
                packages: self.packages,
                context_packs: self.context_packs,
                errors: self.count(Severity::Error),
                warnings: self.count(Severity::Warning),
                notes: self.count(Severity::Note),
            },
            findings: self.finding_items(),
            skills: self.facts.skills.clone(),
            packages: self.facts.packages.clone(),
            unreadable: self.unreadable_items(),
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
        };
        self.unreadable.iter().map(item).collect()
    }
}
