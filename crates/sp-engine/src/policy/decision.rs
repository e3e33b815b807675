//! A decision, with the rules that lead to it, and the error for content that is denied.

use std::ops::Range;
use std::path::Path;

use sp_formats::output::{PolicyDecisionItem, PolicyEffect, PolicyLevel, PolicyRuleItem};
use sp_formats::policy::{
    POLICY_FILE, PolicyRequirement, PolicySubject, PolicyVerdict, explain_decision,
};
use sp_formats::printable::printable;
use sp_formats::text::{pluralize, shell_quote};

use super::PolicySet;
use super::files::PolicyFile;
use crate::error::{Error, ErrorCode};

/// How many decisions an error lists.
const MAX_LISTED: usize = 5;

/// What the policies decide about a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyDecision {
    /// How messages name the kind of value.
    pub subject: &'static str,
    pub value: String,
    pub is_permitted: bool,
    /// The rules that deny the value, or else those that allow it.
    pub rules: Vec<DecidingRule>,
}

/// A rule of a file of a [`PolicySet`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecidingRule {
    pub item: PolicyRuleItem,
    /// The index of the file.
    file: usize,
    span: Range<usize>,
}

impl DecidingRule {
    fn new(
        files: &[PolicyFile],
        file: usize,
        section: &str,
        effect: PolicyEffect,
        (span, rule): (&Range<usize>, Option<&str>),
    ) -> Self {
        let PolicyFile { level, path, report, .. } = &files[file];
        let start = report.locate(span).start;
        let item = PolicyRuleItem {
            level: *level,
            file: path.clone(),
            line: start.line,
            column: start.column,
            section: section.to_owned(),
            effect,
            rule: rule.map(str::to_owned),
        };
        Self { item, file, span: span.clone() }
    }
}

impl PolicyDecision {
    /// Decides about a value with several names. None if no policy has rules about such values.
    pub(super) fn of_value(
        files: &[PolicyFile],
        subject: PolicySubject,
        shown: &str,
        names: &[&str],
    ) -> Option<Self> {
        let (mut allowing, mut denying) = (Vec::new(), Vec::new());
        for (index, file) in files.iter().enumerate() {
            let verdict = file.policy.judge_any(subject, names);
            let is_permitted = verdict.is_permitted();
            let (effect, place) = match &verdict {
                PolicyVerdict::Unrestricted => continue,
                PolicyVerdict::Allowed(it) => (PolicyEffect::Allow, (&it.span, Some(&*it.text))),
                PolicyVerdict::Denied(it) => (PolicyEffect::Deny, (&it.span, Some(&*it.text))),
                PolicyVerdict::NotAllowed(list) => (PolicyEffect::NotAllowed, (&list.span, None)),
            };
            let rule = DecidingRule::new(files, index, subject.key(), effect, place);
            if is_permitted { allowing.push(rule) } else { denying.push(rule) }
        }
        let is_permitted = denying.is_empty();
        let rules = if is_permitted { allowing } else { denying };
        let decision =
            Self { subject: subject.as_str(), value: shown.to_owned(), is_permitted, rules };
        (!decision.rules.is_empty()).then_some(decision)
    }

    /// Denies content that lacks something that a policy requires.
    pub(super) fn of_requirement(
        files: &[PolicyFile],
        requirement: PolicyRequirement,
        content: &str,
    ) -> Option<Self> {
        let rules: Vec<DecidingRule> = files
            .iter()
            .enumerate()
            .filter_map(|(index, file)| {
                let required = file.policy.required(requirement)?;
                let place = (&required.span, Some(requirement.as_str()));
                Some(DecidingRule::new(files, index, "require", PolicyEffect::Require, place))
            })
            .collect();
        let subject = requirement.as_str();
        let value = content.to_owned();
        (!rules.is_empty()).then_some(Self { subject, value, is_permitted: false, rules })
    }

    /// Returns the decision for JSON output.
    pub(crate) fn to_item(&self, content: Option<&str>) -> PolicyDecisionItem {
        PolicyDecisionItem {
            content: content.map(str::to_owned),
            subject: self.subject.to_owned(),
            value: self.value.clone(),
            permitted: self.is_permitted,
            rules: self.rules.iter().map(|rule| rule.item.clone()).collect(),
        }
    }

    /// Explains the decision in one line.
    pub(crate) fn explain(&self, policies: &PolicySet) -> String {
        let label = |path: &Path| {
            let file = policies.files.iter().find(|file| file.path == path);
            file.map_or_else(|| path.display().to_string(), |file| file.report.file.clone())
        };
        explain_decision(&self.to_item(None), &label)
    }
}

/// The error for content that policies deny. `content` is how messages name it, and `source` what
/// `sp policy check` takes.
pub(crate) fn denied_error(
    policies: &PolicySet,
    content: &str,
    source: Option<&str>,
    denied: &[PolicyDecision],
) -> Error {
    let mut lines: Vec<String> =
        denied.iter().take(MAX_LISTED).map(|decision| decision.explain(policies)).collect();
    if denied.len() > MAX_LISTED {
        lines.push(format!("and {}", pluralize(denied.len() - MAX_LISTED, "more decision")));
    }
    let mut error = Error::new(ErrorCode::PolicyDenied, format!("a policy denies {content}"))
        .because(lines.join("\n"));
    let first = denied.iter().find_map(|decision| decision.rules.first());
    if let Some(rule) = first {
        error = error.at(&policies.files[rule.file].report, &rule.span);
    }
    error = error.hint(match source.filter(|source| !source.is_empty()) {
        Some(source) => format!(
            "nothing was changed: run `sp policy check {}` to see all decisions",
            shell_quote(source)
        ),
        None => "nothing was changed: run `sp policy show` to list the rules".into(),
    });
    match first {
        Some(rule) => error.hint(whom_to_ask(&policies.files[rule.file])),
        None => error,
    }
}

fn whom_to_ask(file: &PolicyFile) -> String {
    let path = &file.report.file;
    match (&file.policy.contact, file.level) {
        (Some(contact), _) => format!("the contact for this policy is {}", printable(contact)),
        (None, PolicyLevel::System) => {
            format!("ask the administrator of this machine about `{path}`")
        }
        (None, PolicyLevel::User) => format!("to permit it, change your policy `{path}`"),
        (None, PolicyLevel::Project) => {
            format!("ask the maintainers of the project about `{POLICY_FILE}`")
        }
    }
}
