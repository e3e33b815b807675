//! `policy.yaml` and `skillpack-policy.yaml`: what may be installed.
//!
//! A policy has a section for each [`PolicySubject`], with patterns that `allow` or `deny`. Several
//! files apply at the same time. Each of them can only restrict: a value is permitted if no file
//! denies it, and if every file that has a list `allow` allows it. Which files apply is decided by
//! `sp-engine`.
//!
//! Unlike other files, a policy with an error has no effect at all, so that its reader must refuse
//! to continue: a rule that is left out would permit what it was written to forbid.
//!
//! Doc comments on fields are descriptions in the published JSON Schema.
//!
//! ```
//! use sp_formats::policy::{self, PolicySubject};
//! use sp_tree::Limits;
//!
//! let text = "sources:\n  allow: [github.com/acme]\n";
//! let (policy, report) = policy::read(policy::POLICY_FILE, text, &Limits::default());
//! assert!(report.is_usable());
//! let verdict = policy.judge(PolicySubject::Source, "github.com/acme/skills");
//! assert!(verdict.is_permitted());
//! assert!(!policy.judge(PolicySubject::Source, "github.com/other/skills").is_permitted());
//! ```

mod explanation;
mod read;
pub mod rules;
mod values;

use std::ops::Range;

use schemars::JsonSchema;

use crate::output::PolicyEffect;
pub use explanation::explain_decision;
pub use read::read;
use values::ValuePattern;
pub use values::{CAPABILITY_KINDS, NO_LICENSE, finding_severity, path_values, source_value};

/// The name of the file of a project.
pub const POLICY_FILE: &str = "skillpack-policy.yaml";

/// What a rule of a policy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicySubject {
    Source,
    Registry,
    Signer,
    Host,
    Capability,
    Severity,
    License,
    Accept,
}

impl PolicySubject {
    pub const ALL: [Self; 8] = [
        Self::Source,
        Self::Registry,
        Self::Signer,
        Self::Host,
        Self::Capability,
        Self::Severity,
        Self::License,
        Self::Accept,
    ];

    /// The key of the section.
    pub fn key(self) -> &'static str {
        match self {
            Self::Source => "sources",
            Self::Registry => "registries",
            Self::Signer => "signers",
            Self::Host => "hosts",
            Self::Capability => "capabilities",
            Self::Severity => "severities",
            Self::License => "licenses",
            Self::Accept => "accept",
        }
    }

    /// How messages name a value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Registry => "registry",
            Self::Signer => "signer",
            Self::Host => "host",
            Self::Capability => "capability",
            Self::Severity => "severity",
            Self::License => "license",
            Self::Accept => "acceptance",
        }
    }
}

/// What a policy can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum PolicyRequirement {
    /// Content is installed only by commands that record it in a lockfile.
    Lock,
    /// Packages are signed.
    Signature,
}

impl PolicyRequirement {
    pub const ALL: [Self; 2] = [Self::Lock, Self::Signature];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Signature => "signature",
        }
    }
}

/// A policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Policy {
    /// Whom to ask about the policy. It is part of messages.
    #[schemars(with = "Option<crate::schema::TextSchema>")]
    pub contact: Option<String>,
    /// Where content comes from: `github.com/acme`, `@acme/notes`, `/srv/skills` or a pattern. What
    /// is below a path matches too.
    #[schemars(with = "Option<PolicySection>")]
    pub sources: PolicySection,
    /// URLs of registries that packages are installed from and published to.
    #[schemars(with = "Option<PolicySection>")]
    pub registries: PolicySection,
    /// Public keys that sign packages.
    #[schemars(with = "Option<PolicySection>")]
    pub signers: PolicySection,
    /// Hosts that skills contact, such as `api.example.com` or `*.example.com`.
    #[schemars(with = "Option<PolicySection>")]
    pub hosts: PolicySection,
    /// Capabilities of skills: a kind, such as `persistence`, or a kind and a pattern, such as
    /// `program sudo`.
    #[schemars(with = "Option<PolicySection>")]
    pub capabilities: PolicySection,
    /// Findings of the audit, by the least confidence and risk, such as `certain` or `likely high`.
    #[schemars(with = "Option<PolicyDenialSchema>")]
    pub severities: PolicySection,
    /// Licenses of skills, such as `MIT`; `none` for a skill that declares none.
    #[schemars(with = "Option<PolicySection>")]
    pub licenses: PolicySection,
    /// IDs of findings, or of rules, that may be accepted with `--accept`, in a lockfile or in
    /// `skillpack-accept.yaml`.
    #[schemars(with = "Option<PolicySection>")]
    pub accept: PolicySection,
    /// What is required.
    #[schemars(with = "Option<Vec<PolicyRequirement>>")]
    pub require: Vec<RequiredItem>,
}

/// Values of one kind that are allowed or denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicySection {
    /// If present, only these values are permitted.
    #[schemars(with = "Option<Vec<crate::schema::TextSchema>>")]
    pub allow: Option<AllowList>,
    /// These values are denied, even if they are allowed.
    #[schemars(with = "Option<Vec<crate::schema::TextSchema>>")]
    pub deny: Vec<PolicyPattern>,
}

/// The section `severities`, which has no `allow`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "it only describes a part of the file")]
struct PolicyDenialSchema {
    /// Findings that are at least as severe are denied.
    #[schemars(with = "Option<Vec<crate::schema::TextSchema>>")]
    deny: (),
}

/// A list of allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowList {
    /// The key of the list.
    pub span: Range<usize>,
    pub patterns: Vec<PolicyPattern>,
}

/// A pattern for values, as written in a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPattern {
    pub text: String,
    pub span: Range<usize>,
    pattern: ValuePattern,
}

/// A requirement, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredItem {
    pub requirement: PolicyRequirement,
    pub span: Range<usize>,
}

/// What a policy decides about a value, and which part of the policy does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyVerdict<'p> {
    /// No rule is about such values.
    Unrestricted,
    Allowed(&'p PolicyPattern),
    Denied(&'p PolicyPattern),
    /// There is a list of allowed values, and the value is not in it.
    NotAllowed(&'p AllowList),
}

/// A rule of a policy, for a list of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRule {
    /// The key of its section.
    pub section: &'static str,
    /// An empty list `allow` is [`PolicyEffect::NotAllowed`].
    pub effect: PolicyEffect,
    pub span: Range<usize>,
    /// As written.
    pub text: Option<String>,
}

impl PolicyVerdict<'_> {
    pub fn is_permitted(&self) -> bool {
        matches!(self, Self::Unrestricted | Self::Allowed(_))
    }
}

impl Policy {
    pub fn section(&self, subject: PolicySubject) -> &PolicySection {
        match subject {
            PolicySubject::Source => &self.sources,
            PolicySubject::Registry => &self.registries,
            PolicySubject::Signer => &self.signers,
            PolicySubject::Host => &self.hosts,
            PolicySubject::Capability => &self.capabilities,
            PolicySubject::Severity => &self.severities,
            PolicySubject::License => &self.licenses,
            PolicySubject::Accept => &self.accept,
        }
    }

    /// Decides about a value, in the form that [`source_value`] and [`finding_severity`] return.
    pub fn judge(&self, subject: PolicySubject, value: &str) -> PolicyVerdict<'_> {
        self.judge_any(subject, &[value])
    }

    /// Decides about something that has several names.
    pub fn judge_any(&self, subject: PolicySubject, names: &[&str]) -> PolicyVerdict<'_> {
        let PolicySection { allow, deny } = self.section(subject);
        let matching = |list: &'_ [PolicyPattern]| {
            list.iter().position(|it| names.iter().any(|name| it.pattern.matches(name)))
        };
        if let Some(at) = matching(deny) {
            return PolicyVerdict::Denied(&deny[at]);
        }
        match allow {
            None => PolicyVerdict::Unrestricted,
            Some(allow) => match matching(&allow.patterns) {
                Some(at) => PolicyVerdict::Allowed(&allow.patterns[at]),
                None => PolicyVerdict::NotAllowed(allow),
            },
        }
    }

    /// Returns where something is required.
    pub fn required(&self, requirement: PolicyRequirement) -> Option<&RequiredItem> {
        self.require.iter().find(|item| item.requirement == requirement)
    }

    /// Returns all rules, by section.
    pub fn rules(&self) -> Vec<ListedRule> {
        let mut rules = Vec::new();
        for subject in PolicySubject::ALL {
            let section = subject.key();
            let rule = |effect| {
                move |it: &PolicyPattern| ListedRule {
                    section,
                    effect,
                    span: it.span.clone(),
                    text: Some(it.text.clone()),
                }
            };
            let PolicySection { allow, deny } = self.section(subject);
            rules.extend(deny.iter().map(rule(PolicyEffect::Deny)));
            if let Some(AllowList { span, patterns }) = allow {
                rules.extend(patterns.iter().map(rule(PolicyEffect::Allow)));
                if patterns.is_empty() {
                    let effect = PolicyEffect::NotAllowed;
                    rules.push(ListedRule { section, effect, span: span.clone(), text: None });
                }
            }
        }
        rules.extend(self.require.iter().map(|item| ListedRule {
            section: "require",
            effect: PolicyEffect::Require,
            span: item.span.clone(),
            text: Some(item.requirement.as_str().into()),
        }));
        rules
    }
}
