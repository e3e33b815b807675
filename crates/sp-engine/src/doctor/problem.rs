//! A problem, and what an area of an examination returns.

use std::path::PathBuf;

use sp_formats::output::{DoctorArea, DoctorCode, DoctorProblem, DoctorStatus};

use super::repair::Repair;
use crate::error::Error;

/// What an area found.
pub(super) struct AreaResult {
    /// What was found if there is no problem.
    pub detail: String,
    pub is_skipped: bool,
    pub problems: Vec<FoundProblem>,
}

impl AreaResult {
    pub(super) fn new(detail: impl Into<String>, problems: Vec<FoundProblem>) -> Self {
        Self { detail: detail.into(), is_skipped: false, problems }
    }

    pub(super) fn skipped(why: &str) -> Self {
        Self { detail: why.to_owned(), is_skipped: true, problems: Vec::new() }
    }
}

/// A problem, and what repairs it.
pub(super) struct FoundProblem {
    pub item: DoctorProblem,
    /// Empty if it cannot be repaired safely.
    pub repairs: Vec<Repair>,
}

impl FoundProblem {
    pub(super) fn new(code: DoctorCode, message: impl Into<String>) -> Self {
        let item = DoctorProblem {
            code,
            area: DoctorArea::Configuration,
            status: DoctorStatus::Problem,
            message: message.into(),
            because: None,
            path: None,
            command: None,
            help: None,
            fixable: false,
        };
        Self { item, repairs: Vec::new() }
    }

    /// Describes an error: its message, its causes and findings, and its hints.
    pub(super) fn of_error(code: DoctorCode, error: &Error) -> Self {
        let mut causes = error.causes();
        for report in &error.reports {
            let located = report.findings.iter().take(1).map(|finding| {
                let start = finding.span.as_ref().map(|span| report.locate(span).start);
                let at = start.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
                format!("{}{at}: {}", report.file, finding.message)
            });
            causes.extend(located);
        }
        let help = error.hints.first().cloned().or_else(|| {
            let mut findings = error.reports.iter().flat_map(|report| &report.findings);
            findings.find_map(|finding| finding.help.clone())
        });
        let mut problem = Self::new(code, error.to_string());
        problem.item.because = (!causes.is_empty()).then(|| causes.join(": "));
        problem.item.help = help;
        problem
    }

    pub(super) fn because(mut self, why: impl Into<String>) -> Self {
        self.item.because = Some(why.into());
        self
    }

    pub(super) fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.item.path = Some(path.into());
        self
    }

    pub(super) fn command(mut self, command: impl Into<String>) -> Self {
        self.item.command = Some(command.into());
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.item.help = Some(help.into());
        self
    }

    /// Makes it a notice, which does not make the machine unhealthy.
    pub(super) fn notice(mut self) -> Self {
        self.item.status = DoctorStatus::Notice;
        self
    }

    pub(super) fn repaired_by(mut self, repairs: impl IntoIterator<Item = Repair>) -> Self {
        self.repairs.extend(repairs);
        self.item.fixable = !self.repairs.is_empty();
        self
    }

    /// Drops repairs that need the state or a transaction.
    pub(super) fn retain_simple_repairs(&mut self) {
        if !self.repairs.iter().all(Repair::is_simple) {
            self.repairs.clear();
            self.item.fixable = false;
        }
    }

    /// Completes the item: without another command, `--fix` is the command.
    pub(super) fn into_item(self) -> DoctorProblem {
        let mut item = self.item;
        if item.command.is_none() && item.fixable {
            item.command = Some("sp doctor --fix".into());
        }
        item
    }
}
