//! Leaves out the findings that the project accepts.
//!
//! Three things accept findings: the `skillpack-accept.yaml` of the project in which `sp` runs,
//! comments in that project's own `skills/`, and the baseline that the user names. Nothing in
//! fetched or installed content does.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sp_formats::FileFindings;
use sp_formats::accept::rules::AU_07;
use sp_formats::accept::{
    ANY_RULE, AcceptEntry, AcceptFile, AcceptingComment, accepting_comments, read,
};
use sp_formats::report::{LocatedFinding, Report, Severity};
use sp_formats::rules::audit;
use sp_formats::suggest::nearest;

use super::baseline::{AcceptedFindings, read_baseline};
use super::discover::is_repository;
use super::fix::FileDrafts;
use super::formats::{check_rules, find_check_rule};
use super::target::CheckTarget;
use super::{CheckMode, CheckRequest, CheckResults, CheckStrictness};
use crate::error::Result;
use crate::files::canonicalize_existing;
use crate::project_acceptance::find_accept_file;
use crate::session::Session;

/// What decides whether a finding is accepted.
pub(super) struct Acceptance<'a> {
    pub session: &'a Session<'a>,
    pub request: &'a CheckRequest,
    pub drafts: &'a FileDrafts,
    pub mode: CheckMode,
}

/// The entries of the project's file, and which of them were needed.
struct ProjectEntries {
    dir: PathBuf,
    entries: Vec<AcceptEntry>,
    used: Vec<bool>,
    now: Timestamp,
    /// The names of the current file.
    names: Vec<String>,
}

/// The comments in the current file, if it is one of the project's own skills.
struct OwnComments<'a> {
    acceptance: &'a Acceptance<'a>,
    skills: PathBuf,
    comments: Vec<AcceptingComment>,
}

impl AcceptedFindings for ProjectEntries {
    fn enter_file(&mut self, file: &FileFindings) {
        self.names = self.names_of(&file.path);
    }

    fn accepts(&mut self, placed: &LocatedFinding) -> bool {
        let mut is_accepted = false;
        for (entry, used) in self.entries.iter().zip(&mut self.used) {
            let covers = |id: &str| self.names.iter().any(|name| entry.covers(id, name));
            let finding_id = placed.finding.audit.as_deref().map(|audit| audit.id.as_str());
            if covers(placed.finding.check.id) || finding_id.is_some_and(covers) {
                *used = true;
                is_accepted |= !entry.is_expired(self.now);
            }
        }
        is_accepted
    }
}

impl AcceptedFindings for OwnComments<'_> {
    fn enter_file(&mut self, file: &FileFindings) {
        let is_own = canonicalize_existing(&file.path).starts_with(&self.skills);
        self.comments = if is_own { self.acceptance.comments_in(&file.path) } else { Vec::new() };
    }

    fn accepts(&mut self, placed: &LocatedFinding) -> bool {
        let Some(location) = &placed.location else { return false };
        self.comments.iter().any(|comment| {
            comment.line == location.start.line
                && comment.rules.iter().any(|rule| rule == placed.finding.check.id)
        })
    }
}

impl Acceptance<'_> {
    /// Removes accepted findings, and adds those about the project's file.
    pub(super) fn apply(&self, targets: &[CheckTarget], results: &mut CheckResults) -> Result<()> {
        let context = self.session.context;
        if let Some(file) = find_accept_file(context, self.request.root.as_deref()) {
            self.apply_file(&file, targets, results)?;
        }
        results.accepted.by_comments = self.apply_comments(results);
        if let Some(baseline) = &self.request.baseline {
            let mut baseline = read_baseline(self.session, baseline)?;
            results.accepted.by_baseline = remove_findings(results, &mut baseline);
        }
        results.files.retain(|file| !file.findings.is_empty());
        Ok(())
    }

    fn apply_file(
        &self,
        path: &Path,
        targets: &[CheckTarget],
        results: &mut CheckResults,
    ) -> Result<()> {
        let (file, mut report) = read_accept_file(self.session, self.drafts, path)?;
        let now = self.session.context.now;
        let used = vec![false; file.accept.len()];
        let dir = path.parent().unwrap_or(path).into();
        let mut project =
            ProjectEntries { dir, entries: file.accept, used, now, names: Vec::new() };
        results.accepted.by_file = remove_findings(results, &mut project);
        let is_complete = contains(targets, &project.dir);
        for (entry, used) in project.entries.iter().zip(&project.used) {
            if entry.is_expired(now) {
                let expiry = entry.expiry.as_deref().unwrap_or_default();
                report
                    .warning(&AU_07, entry.span.clone(), format!("the entry expired on {expiry}"))
                    .help("fix the findings and remove the entry, or set another `expiry`");
            } else if !used && is_complete && self.can_match(entry, results) {
                report
                    .warning(&AU_07, entry.span.clone(), "no finding matches this entry")
                    .help("remove the entry");
            }
        }
        report.sort();
        self.add_report(path, &report, results);
        Ok(())
    }

    /// Whether this run reports findings of the rule of an entry.
    fn can_match(&self, entry: &AcceptEntry, results: &CheckResults) -> bool {
        // `sp check` and `sp audit` report findings of different rules, so neither of them knows
        // everything that an entry for all rules matches.
        let rule = find_check_rule(entry.rule_id()).filter(|rule| rule.id == entry.rule_id());
        rule.is_some_and(|rule| {
            let is_reported = match self.mode {
                CheckMode::FindingsOnly => !audit::RULES.rules.iter().any(|it| it.id == rule.id),
                CheckMode::WithFacts => rule.is_security,
            };
            // The findings of imports are only known if they were fetched.
            is_reported && !(results.imports_left > 0 && rule.id.starts_with("SP-"))
        })
    }

    /// Adds the findings about the project's file. If the file is a target, some are there.
    fn add_report(&self, path: &Path, report: &Report, results: &mut CheckResults) {
        let mut findings = report.located_findings();
        if self.request.strictness == CheckStrictness::Strict {
            let warnings = findings.iter_mut().map(|placed| &mut placed.finding);
            warnings
                .filter(|finding| finding.severity == Severity::Warning)
                .for_each(|finding| finding.severity = Severity::Error);
        }
        results.files.retain(|file| file.path != path);
        if findings.is_empty() {
            return;
        }
        let at = results.files.partition_point(|file| file.path.as_path() < path);
        let file = self.session.context.display_relative_path(path);
        results.files.insert(at, FileFindings { file, path: path.into(), findings, digest: None });
    }

    /// Removes findings that comments in the project's own skills accept.
    fn apply_comments(&self, results: &mut CheckResults) -> usize {
        let Some(skills) = self.own_skills() else { return 0 };
        let mut comments = OwnComments { acceptance: self, skills, comments: Vec::new() };
        remove_findings(results, &mut comments)
    }

    fn comments_in(&self, file: &Path) -> Vec<AcceptingComment> {
        let bytes = self.drafts.read(file, self.session.limits.file_bytes).unwrap_or_default();
        accepting_comments(&String::from_utf8_lossy(&bytes))
    }

    /// Returns the real path of the `skills/` of the project in which `sp` runs.
    fn own_skills(&self) -> Option<PathBuf> {
        let context = self.session.context;
        let root = match &self.request.root {
            Some(root) => context.expand(&root.to_string_lossy()),
            None => context.current_dir.ancestors().find(|dir| is_repository(dir))?.into(),
        };
        let skills = root.join("skills").canonicalize().ok()?;
        // Agents read installed skills from directories such as `~/.claude/skills`.
        let home = context.user_home.canonicalize().ok();
        let below_home = home.and_then(|home| skills.strip_prefix(home).ok().map(Path::to_owned));
        let is_hidden = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.');
        let is_installed = below_home.is_some_and(|path| path.iter().any(is_hidden))
            || skills.parent().and_then(Path::file_name).is_some_and(is_hidden);
        (!is_installed).then_some(skills)
    }
}

impl ProjectEntries {
    /// Returns the names of a file relative to the project: as given, and without links.
    fn names_of(&self, file: &Path) -> Vec<String> {
        let real = canonicalize_existing(file);
        let real_dir = canonicalize_existing(&self.dir);
        let given = file.strip_prefix(&self.dir).ok();
        let real = real.strip_prefix(&real_dir).ok();
        let names = given.into_iter().chain(real.filter(|real| Some(*real) != given));
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }
}

/// Removes accepted findings, except those about acceptance itself. Returns how many were removed.
fn remove_findings(results: &mut CheckResults, accepted: &mut dyn AcceptedFindings) -> usize {
    let mut removed = 0;
    for file in &mut results.files {
        accepted.enter_file(file);
        let count = file.findings.len();
        file.findings
            .retain(|placed| placed.finding.check.id == AU_07.id || !accepted.accepts(placed));
        removed += count - file.findings.len();
    }
    removed
}

/// Whether a directory is in one of the targets, so that all its files were checked.
fn contains(targets: &[CheckTarget], dir: &Path) -> bool {
    let dir = canonicalize_existing(dir);
    let targets = targets.iter().filter(|target| target.address.is_none() && target.is_dir());
    targets.into_iter().any(|target| dir.starts_with(canonicalize_existing(&target.path)))
}

/// Reads the entries of a file, and reports those of unknown rules.
fn read_accept_file(
    session: &Session<'_>,
    drafts: &FileDrafts,
    path: &Path,
) -> Result<(AcceptFile, Report)> {
    let bytes = drafts.read(path, session.limits.yaml_bytes)?;
    let (file, mut report) = read("", &String::from_utf8_lossy(&bytes), &session.limits);
    for entry in &file.accept {
        if entry.rule == ANY_RULE
            || find_check_rule(entry.rule_id()).is_some_and(|it| it.id == entry.rule_id())
        {
            continue;
        }
        let ids = check_rules().iter().map(|rule| rule.id);
        let help = match nearest(&entry.rule.to_uppercase(), ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`sp explain` lists all rules".into(),
        };
        let message = format!("unknown rule `{}`", entry.rule);
        report.error(&AU_07, entry.rule_span.clone(), message).help(help);
    }
    report.sort();
    Ok((file, report))
}
