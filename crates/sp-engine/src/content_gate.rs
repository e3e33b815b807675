//! Decides whether content may be installed, by an audit of exactly the bytes that are written.
//!
//! Every operation that installs content passes it to a [`ContentGate`] before anything is changed,
//! in a dry run too. Certain findings in fetched content block the operation, unless the user
//! accepted them: with `--accept`, in `skillpack.lock`, or in `skillpack-accept.yaml`. The user's
//! own skills are only reported. Everything that does not block is one line.
//!
//! What the policies deny is refused before that, and cannot be accepted.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sp_analyze::audit::{AuditFinding, Confidence, ContentAudit};
use sp_formats::accept::AcceptFile;
use sp_formats::package::Package;
use sp_formats::policy::{PolicyRequirement, PolicySubject};
use sp_formats::printable::printable;
use sp_formats::report::Report;
use sp_formats::skill::{self, SKILL_FILE};
use sp_formats::suggest::list_few;
use sp_formats::text::{plural, pluralize};
use sp_tree::{Digest, LoadedTree, PublicKey};

use crate::content_audit::{
    AuditFiles, audit_content, audit_knowledge, audit_loaded_tree, audit_written_tree,
    finding_reports,
};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::policy::{PolicyDecision, PolicySet, denied_error};
use crate::project_acceptance::{accepts_in_content, read_accept_file};
use crate::session::Session;

/// How many findings an error shows.
const MAX_SHOWN_FINDINGS: usize = 10;
/// How many skills and packages an error names.
const MAX_SHOWN_NAMES: usize = 3;

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
    policies: Arc<PolicySet>,
    /// The directory at which relative paths of sources start.
    base: PathBuf,
    results: Mutex<GateResults>,
}

#[derive(Default)]
struct GateResults {
    counts: AuditCounts,
    /// The IDs of all certain findings, to find those that the user misspelled.
    certain: BTreeSet<String>,
    blocked: Vec<BlockedContent>,
    denied: Vec<DeniedContent>,
}

/// Content that policies deny.
struct DeniedContent {
    name: String,
    source: String,
    decisions: Vec<PolicyDecision>,
}

/// Whether `--accept` names only findings of this gate and of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatePosition {
    /// Another gate of the operation follows.
    Earlier,
    Last,
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
            policies: session.policies(root)?,
            base: match root {
                Some(root) => session.context.expand(&root.to_string_lossy()),
                None => session.context.current_dir.clone(),
            },
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

    /// Refuses content that no lockfile records, if a policy requires one.
    pub(crate) fn refuse_unlocked(&self, content: GatedContent<'_>) {
        let name = content.to_string().replace('`', "");
        let decision = self.policies.decide_required(PolicyRequirement::Lock, &name);
        self.deny(content, decision.into_iter().collect());
    }

    /// Decides about the registry and the signer of a package.
    pub(crate) fn check_origin(
        &self,
        content: GatedContent<'_>,
        registry: Option<&str>,
        signer: Option<PublicKey>,
    ) {
        let mut decisions = self.policies.decide_signer(content.source, signer);
        decisions.extend(registry.and_then(|url| self.policies.decide_registry(url)));
        self.deny(content, decisions);
    }

    /// Remembers what the policies deny.
    fn deny(&self, content: GatedContent<'_>, mut decisions: Vec<PolicyDecision>) {
        decisions.retain(|decision| !decision.is_permitted);
        if decisions.is_empty() {
            return;
        }
        let (name, source) = (content.to_string(), content.source.to_owned());
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        match results.denied.iter_mut().find(|known| known.name == name) {
            Some(known) => known.decisions.append(&mut decisions),
            None => results.denied.push(DeniedContent { name, source, decisions }),
        }
    }

    /// Returns what the policies decide about content.
    pub(crate) fn decisions(
        &self,
        content: GatedContent<'_>,
        audit: &ContentAudit,
        skill_file: Option<&[u8]>,
    ) -> Vec<PolicyDecision> {
        if self.policies.is_empty() || content.owner == ContentOwner::User {
            return Vec::new();
        }
        let mut decisions = content_decisions(self.session, &self.policies, audit, skill_file);
        if !content.source.is_empty() {
            let source = self.policies.decide_source(content.source, &self.base);
            decisions.splice(0..0, source);
        }
        let accepted = audit
            .at_least(Confidence::Certain)
            .filter(|finding| self.is_consented(content.id, finding));
        decisions.extend(accepted.filter_map(|it| self.policies.decide_acceptance(&it.id)));
        decisions
    }

    fn add(
        &self,
        content: GatedContent<'_>,
        audit: &ContentAudit,
        files: impl FnOnce() -> AuditFiles,
    ) {
        let files = LazyCell::new(files);
        let has_licenses = self.policies.restricts(PolicySubject::License);
        let skill_file = has_licenses.then(|| files.bytes(SKILL_FILE)).flatten();
        self.deny(content, self.decisions(content, audit, skill_file));
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
            let reports = finding_reports(&shown, &files).into_iter().map(labelled).collect();
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

    /// Whether the user accepts a finding in a skill, and the policies permit that.
    fn is_accepted(&self, id: &str, finding: &AuditFinding) -> bool {
        let is_permitted =
            || self.policies.decide_acceptance(&finding.id).is_none_or(|it| it.is_permitted);
        self.is_consented(id, finding) && is_permitted()
    }

    fn is_consented(&self, id: &str, finding: &AuditFinding) -> bool {
        let names = [finding.class.rule().id, finding.id.as_str()];
        let now = self.session.context.now;
        self.accepted_ids.contains(&finding.id)
            || accepts_in_content(&self.accepted, now, names, (id, &finding.file))
    }

    /// Stores what was learned, and fails if anything is denied or blocked. Otherwise, emits a
    /// summary if there is something to tell.
    pub(crate) fn finish(
        self,
        home: Option<&LockedHome<'_>>,
        position: GatePosition,
    ) -> Result<()> {
        if home.is_some() {
            self.session.audits.store(home);
        }
        let Self { session, policies, accepted_ids, accepted, results, .. } = self;
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !results.denied.is_empty() {
            return Err(refused_by_policy(&policies, results.denied));
        }
        session.gated.add(results.counts.items, results.certain);
        if position == GatePosition::Last {
            let known = accepted.accept.iter().map(|entry| entry.rule.as_str());
            let consent = &session.context.consent.findings;
            let locked = accepted_ids
                .iter()
                .map(String::as_str)
                .filter(|id| !consent.iter().any(|given| given == id));
            require_known_ids(session, &known.chain(locked).collect())?;
        }
        if !results.blocked.is_empty() {
            return Err(blocked_error(results.blocked));
        }
        if let Some(event) = results.counts.summary() {
            session.context.emit(event);
        }
        Ok(())
    }
}

/// Returns what policies decide about the content of a skill that is not installed.
pub(crate) fn skill_decisions(
    session: &Session<'_>,
    policies: &PolicySet,
    tree: &LoadedTree,
) -> Vec<PolicyDecision> {
    let audit = audit_loaded_tree(&session.audits, tree);
    content_decisions(session, policies, &audit, tree.get(SKILL_FILE))
}

fn content_decisions(
    session: &Session<'_>,
    policies: &PolicySet,
    audit: &ContentAudit,
    skill_file: Option<&[u8]>,
) -> Vec<PolicyDecision> {
    let mut decisions = policies.decide_audit(audit);
    if let Some(bytes) = skill_file {
        let license = skill::read("", "", bytes, &session.limits).0.and_then(|skill| skill.license);
        decisions.extend(policies.decide_license(license.as_deref()));
    }
    decisions
}

/// Fails if `--accept` names a finding that neither the audit has nor the project knows.
fn require_known_ids(session: &Session<'_>, accepted: &BTreeSet<&str>) -> Result<()> {
    let Some(found) = session.gated.ids() else { return Ok(()) };
    let consent = &session.context.consent.findings;
    let is_known = |id: &&String| found.contains(*id) || accepted.contains(id.as_str());
    let Some(unknown) = consent.iter().find(|id| !is_known(id)) else { return Ok(()) };
    let message = format!("no certain finding has the ID `{}`", printable(unknown));
    let error = Error::new(ErrorCode::UnknownFinding, message);
    let found: Vec<String> = found.into_iter().collect();
    Err(match found.as_slice() {
        [] => error
            .because("the content has no certain findings")
            .hint("nothing was changed: leave out `--accept`"),
        ids => error
            .because(format!("the audit found {}", list_few(ids)))
            .hint("nothing was changed: pass one of these IDs after you have reviewed the finding"),
    })
}

impl std::fmt::Display for GatedContent<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.source {
            source if source.is_empty() || source == self.id => write!(f, "`{}`", self.id),
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

/// Lists the first names.
fn few_names<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let count = names.len();
    let shown: Vec<&str> = names.take(MAX_SHOWN_NAMES).collect();
    let more = match count - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

fn refused_by_policy(policies: &PolicySet, mut denied: Vec<DeniedContent>) -> Error {
    // Content is audited in parallel.
    denied.sort_by(|a, b| a.name.cmp(&b.name));
    let names = few_names(denied.iter().map(|it| it.name.as_str()));
    let source = denied.first().map(|it| it.source.clone());
    let decisions: Vec<PolicyDecision> = denied.into_iter().flat_map(|it| it.decisions).collect();
    denied_error(policies, &names, source.as_deref(), &decisions)
}

fn blocked_error(blocked: Vec<BlockedContent>) -> Error {
    let names = few_names(blocked.iter().map(|it| it.name.as_str()));
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
