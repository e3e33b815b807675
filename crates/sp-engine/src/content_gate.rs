//! Decides whether content may be installed, by an audit of exactly the bytes that are written.
//!
//! Every operation that installs content passes it to a [`ContentGate`] before anything is changed,
//! in a dry run too. Certain findings in fetched content block the operation, unless the user
//! accepted them: with `--accept`, in `skillpack.lock`, or in `skillpack-accept.yaml`. The user's
//! own skills are only reported. Everything that does not block is one line.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sp_analyze::audit::{AuditFinding, Confidence, ContentAudit};
use sp_formats::accept::{AcceptEntry, AcceptFile};
use sp_formats::package::Package;
use sp_formats::report::Report;
use sp_formats::text::{plural, pluralize};
use sp_tree::{Digest, LoadedTree};

use crate::content_audit::{
    AuditFiles, audit_content, audit_knowledge, audit_loaded_tree, audit_written_tree,
    finding_reports,
};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::project_acceptance::read_accept_file;
use crate::session::Session;

/// How many findings an error shows.
const MAX_SHOWN_FINDINGS: usize = 10;

/// Who is responsible for content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentOwner {
    /// The `skills/` of the user's repository, or something that `sp` generated.
    User,
    Fetched,
}

/// A skill, package or context pack that is about to be installed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GatedContent<'a> {
    /// Its path in its source.
    pub id: &'a str,
    /// Where it comes from, for messages.
    pub source: &'a str,
    pub owner: ContentOwner,
}

/// Audits content, and collects what speaks against it.
pub(crate) struct ContentGate<'a> {
    session: &'a Session<'a>,
    /// The IDs that the command line or the lockfile accepts.
    accepted_ids: BTreeSet<String>,
    accepted: AcceptFile,
    results: Mutex<GateResults>,
}

#[derive(Default)]
struct GateResults {
    counts: AuditCounts,
    /// The IDs of all certain findings, to find those that the user misspelled.
    certain: BTreeSet<String>,
    blocked: Vec<BlockedContent>,
}

/// What the summary counts.
#[derive(Debug, Clone, Copy, Default)]
struct AuditCounts {
    items: usize,
    /// Certain findings that the user accepted.
    accepted: usize,
    /// Certain findings in the user's own skills.
    own: usize,
    likely: usize,
    hints: usize,
    unread_files: usize,
}

/// Content with certain findings.
struct BlockedContent {
    name: String,
    ids: Vec<String>,
    reports: Vec<Report>,
}

impl<'a> ContentGate<'a> {
    /// Creates a gate. `root` is the project, if it is not the nearest one upward, and `locked` are
    /// the IDs of findings that its lockfile accepts.
    pub(crate) fn new(
        session: &'a Session<'a>,
        root: Option<&Path>,
        locked: &BTreeSet<String>,
    ) -> Result<Self> {
        let consent = &session.context.consent.findings;
        Ok(Self {
            session,
            accepted_ids: consent.iter().chain(locked).cloned().collect(),
            accepted: read_accept_file(session, root)?,
            results: Mutex::default(),
        })
    }

    /// Audits a tree in memory.
    pub(crate) fn check_tree(&self, content: GatedContent<'_>, tree: &LoadedTree) {
        let audit = audit_loaded_tree(&self.session.audits, tree);
        self.add(content, &audit, || AuditFiles::from_tree(tree, ""));
    }

    /// Audits files that were just written. `digest` is that of their tree.
    pub(crate) fn check_written(
        &self,
        content: GatedContent<'_>,
        digest: Digest,
        files: AuditFiles,
    ) {
        let audit = audit_written_tree(&self.session.audits, digest, &files);
        self.add(content, &audit, || files);
    }

    /// Audits the knowledge of a package as a file with this name.
    pub(crate) fn check_knowledge(&self, content: GatedContent<'_>, name: &str, package: &Package) {
        let audit = audit_knowledge(&self.session.audits, name, package);
        self.add(content, &audit, || {
            let mut files = AuditFiles::default();
            files.add(name, package.text().as_bytes());
            files
        });
    }

    /// Audits files that a dry run read.
    pub(crate) fn check_files(&self, content: GatedContent<'_>, files: AuditFiles) {
        let audit = audit_content(&self.session.audits, &files);
        self.add(content, &audit, || files);
    }

    fn add(
        &self,
        content: GatedContent<'_>,
        audit: &ContentAudit,
        files: impl FnOnce() -> AuditFiles,
    ) {
        let certain: Vec<&AuditFinding> = audit.at_least(Confidence::Certain).collect();
        let blocking = self.blocking(content, audit);
        let blocked = (!blocking.is_empty()).then(|| {
            let ids = blocking.iter().map(|finding| finding.id.clone()).collect();
            let shown = blocking.into_iter().take(MAX_SHOWN_FINDINGS).cloned().collect();
            let shown = ContentAudit { findings: shown, ..ContentAudit::default() };
            let labelled = |(file, mut report): (String, Report)| {
                report.file = format!("{}/{file}", content.id);
                report
            };
            let reports = finding_reports(&shown, &files()).into_iter().map(labelled).collect();
            BlockedContent { name: content.to_string(), ids, reports }
        });
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let blocked_count = blocked.as_ref().map_or(0, |blocked| blocked.ids.len());
        let counts = &mut results.counts;
        counts.items += 1;
        match content.owner {
            ContentOwner::User => counts.own += certain.len(),
            ContentOwner::Fetched => counts.accepted += certain.len() - blocked_count,
        }
        let of = |confidence| {
            audit.findings.iter().filter(|finding| finding.confidence == confidence).count()
        };
        counts.likely += of(Confidence::Likely);
        counts.hints += of(Confidence::Hint);
        counts.unread_files += audit.opaque.len();
        results.certain.extend(certain.into_iter().map(|finding| finding.id.clone()));
        results.blocked.extend(blocked);
    }

    /// Returns the findings that block content.
    pub(crate) fn blocking<'f>(
        &self,
        content: GatedContent<'_>,
        audit: &'f ContentAudit,
    ) -> Vec<&'f AuditFinding> {
        let is_blocking = |finding: &&AuditFinding| {
            content.owner == ContentOwner::Fetched && !self.is_accepted(content.id, finding)
        };
        audit.at_least(Confidence::Certain).filter(is_blocking).collect()
    }

    /// Whether the user accepts a finding in a skill.
    fn is_accepted(&self, id: &str, finding: &AuditFinding) -> bool {
        let now = self.session.context.now;
        let path = format!("{id}/{}", finding.file);
        let covers = |entry: &AcceptEntry| {
            !entry.is_expired(now)
                && [finding.class.rule().id, finding.id.as_str()]
                    .into_iter()
                    .any(|rule| entry.covers(rule, &path) || entry.covers(rule, &finding.file))
        };
        self.accepted_ids.contains(&finding.id) || self.accepted.accept.iter().any(covers)
    }

    /// Stores what was learned, and fails if anything is blocked. Otherwise, emits a summary if
    /// there is something to tell.
    pub(crate) fn finish(self, home: Option<&LockedHome<'_>>) -> Result<()> {
        if home.is_some() {
            self.session.audits.store(home);
        }
        let results = self.results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !results.blocked.is_empty() {
            return Err(blocked_error(results.blocked));
        }
        let unknown = self
            .session
            .context
            .consent
            .findings
            .iter()
            .find(|id| results.counts.items > 0 && !results.certain.contains(*id));
        if let Some(id) = unknown {
            self.session
                .context
                .emit(Event::Warning(format!("no certain finding has the ID `{id}`")));
        }
        if let Some(event) = results.counts.summary() {
            self.session.context.emit(event);
        }
        Ok(())
    }
}

impl std::fmt::Display for GatedContent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.source {
            "" => write!(f, "`{}`", self.id),
            source => write!(f, "`{}` of `{source}`", self.id),
        }
    }
}

impl AuditCounts {
    /// Returns a line about what did not block; none without findings and unread files.
    fn summary(self) -> Option<Event<'static>> {
        let parts: Vec<String> = [
            (self.own, "certain finding"),
            (self.accepted, "accepted finding"),
            (self.likely, "likely finding"),
            (self.hints, "hint"),
            (self.unread_files, "unread file"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| pluralize(count, noun))
        .collect();
        let found = parts.join(", ");
        match parts.len() {
            0 => None,
            _ if self.own + self.likely > 0 => {
                Some(Event::Warning(format!("audit: {found}; run `sp audit` for details")))
            }
            _ => Some(Event::Hint(format!("audit: {found}; run `sp audit` for details"))),
        }
    }
}

fn blocked_error(blocked: Vec<BlockedContent>) -> Error {
    let names: Vec<&str> = blocked.iter().map(|it| it.name.as_str()).take(3).collect();
    let others = blocked.len() - names.len();
    let mut names = names.join(", ");
    if others > 0 {
        names += &format!(" and {others} more");
    }
    let ids: Vec<String> = blocked.iter().flat_map(|it| it.ids.clone()).collect();
    let message = format!("the audit blocks {names}");
    let verb = plural(ids.len(), "has", "have");
    let because = format!(
        "{} {verb} no harmless explanation: {}",
        pluralize(ids.len(), "finding"),
        ids.join(", ")
    );
    let accept = ids.iter().map(|id| format!(" --accept {id}")).collect::<String>();
    let mut error = Error::new(ErrorCode::BlockedContent, message)
        .because(because)
        .hint("nothing was changed: review the findings, and do not install content that you do not trust");
    if ids.len() <= MAX_SHOWN_FINDINGS {
        error = error.hint(format!("to install it anyway, add{accept}"));
    } else {
        error = error.hint("to install it anyway, add `--accept <ID>` for each finding");
    }
    error.reports =
        blocked.into_iter().flat_map(|it| it.reports).take(MAX_SHOWN_FINDINGS).collect();
    error
}
