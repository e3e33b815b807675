//! Policies: which content may be installed or published.
//!
//! A [`PolicySet`] has the policy of an administrator, of the user and of the project. Each of them
//! can only restrict, so the strictest one applies. It decides about single values, such as a
//! source or a host, and returns a [`PolicyDecision`] with the rules that lead to it.
//!
//! Which values content has is not decided here: [`crate::content_gate`] asks about content that is
//! about to be installed, and `sp policy check` about everything else.

mod decision;
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sp_analyze::audit::{AuditFinding, ContentAudit};
use sp_formats::policy::{
    PolicyRequirement, PolicySubject, finding_severity, path_values, source_value,
};
use sp_tree::{Limits, PublicKey};

pub(crate) use decision::{PolicyDecision, denied_error};
pub(crate) use files::{PolicyFile, policy_paths, read_policy};

use crate::context::Context;
use crate::error::Result;
use crate::files::canonicalize_existing;

/// The policies that apply to an operation.
#[derive(Debug, Default)]
pub(crate) struct PolicySet {
    /// The administrator's first, the innermost of the project last.
    pub files: Vec<PolicyFile>,
    user_home: PathBuf,
}

/// The policies that a session has read, by the root of the project.
#[derive(Debug, Default)]
pub(crate) struct PolicyCache(Mutex<BTreeMap<Option<PathBuf>, Arc<PolicySet>>>);

impl PolicyCache {
    /// Returns the policies for the project in `root`, or else in the current directory.
    pub(crate) fn get(
        &self,
        context: &Context<'_>,
        limits: &Limits,
        root: Option<&Path>,
    ) -> Result<Arc<PolicySet>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let root = root.map(Path::to_path_buf);
        if let Some(set) = known.get(&root) {
            return Ok(Arc::clone(set));
        }
        let set = Arc::new(PolicySet::read(context, limits, root.as_deref())?);
        known.insert(root, Arc::clone(&set));
        Ok(set)
    }
}

impl PolicySet {
    fn read(context: &Context<'_>, limits: &Limits, root: Option<&Path>) -> Result<Self> {
        let mut files = Vec::new();
        for path in policy_paths(context, root) {
            files.extend(read_policy(context, path, limits)?);
        }
        Ok(Self { files, user_home: canonicalize_existing(&context.user_home) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a policy has rules about such values.
    pub(crate) fn restricts(&self, subject: PolicySubject) -> bool {
        self.files.iter().any(|file| {
            let section = file.policy.section(subject);
            section.allow.is_some() || !section.deny.is_empty()
        })
    }

    /// Decides about a source, as it is written in a manifest, a lockfile or a command. A relative
    /// path starts at `base`.
    pub(crate) fn decide_source(&self, source: &str, base: &Path) -> Option<PolicyDecision> {
        if !self.restricts(PolicySubject::Source) {
            return None;
        }
        // A pack comes from its repository. The imports of a local one are judged on their own.
        let source = match source.strip_prefix("pack ") {
            Some(pack) => pack.rsplit_once("//")?.0,
            None => source,
        };
        let names = match source_value(source) {
            Some(value) => vec![value],
            None => {
                let path = source.strip_prefix("file://").unwrap_or(source);
                let path = match path.strip_prefix("~/") {
                    Some(rest) => self.user_home.join(rest),
                    None => base.join(path),
                };
                let real = canonicalize_existing(&path).to_string_lossy().into_owned();
                path_values(&real, &self.user_home.to_string_lossy())
            }
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.decide(PolicySubject::Source, source, &names)
    }

    /// Decides about a registry that a package comes from, or that it is published to.
    pub(crate) fn decide_registry(&self, url: &str) -> Option<PolicyDecision> {
        let name = source_value(url).unwrap_or_else(|| url.to_owned());
        self.decide(PolicySubject::Registry, url, &[&name])
    }

    /// Decides about the signer of a package, and about a package without one.
    pub(crate) fn decide_signer(
        &self,
        package: &str,
        signer: Option<PublicKey>,
    ) -> Vec<PolicyDecision> {
        let Some(signer) = signer else {
            let required = self.decide_required(PolicyRequirement::Signature, package);
            let unsigned = self.decide(PolicySubject::Signer, "no signature", &[""]);
            return required.into_iter().chain(unsigned).collect();
        };
        let key = signer.to_string();
        self.decide(PolicySubject::Signer, &key, &[&key]).into_iter().collect()
    }

    /// Refuses a registry that is denied.
    pub(crate) fn require_registry(&self, url: &str) -> Result<()> {
        self.require("the registry", None, self.decide_registry(url))
    }

    /// Refuses a package whose signer is denied, or that lacks a signature that is required.
    pub(crate) fn require_signer(&self, package: &str, signer: Option<PublicKey>) -> Result<()> {
        self.require(&format!("`{package}`"), None, self.decide_signer(package, signer))
    }

    /// Refuses a source that is denied, before it is contacted.
    pub(crate) fn require_source(&self, source: &str, base: &Path) -> Result<()> {
        self.require("the source", Some(source), self.decide_source(source, base))
    }

    fn require(
        &self,
        content: &str,
        source: Option<&str>,
        decisions: impl IntoIterator<Item = PolicyDecision>,
    ) -> Result<()> {
        let denied: Vec<PolicyDecision> =
            decisions.into_iter().filter(|decision| !decision.is_permitted).collect();
        if denied.is_empty() { Ok(()) } else { Err(denied_error(self, content, source, &denied)) }
    }

    /// Decides about the license that a skill declares.
    pub(crate) fn decide_license(&self, license: Option<&str>) -> Option<PolicyDecision> {
        let license = license.map(str::trim).filter(|text| !text.is_empty());
        let license = license.unwrap_or(sp_formats::policy::NO_LICENSE);
        self.decide(PolicySubject::License, license, &[license])
    }

    /// Decides whether a finding may be accepted.
    pub(crate) fn decide_acceptance(&self, id: &str) -> Option<PolicyDecision> {
        self.decide(PolicySubject::Accept, id, &[id])
    }

    /// Decides about content that lacks something, if that is required.
    pub(crate) fn decide_required(
        &self,
        requirement: PolicyRequirement,
        content: &str,
    ) -> Option<PolicyDecision> {
        PolicyDecision::of_requirement(&self.files, requirement, content)
    }

    /// Decides about everything that an audit found.
    pub(crate) fn decide_audit(&self, audit: &ContentAudit) -> Vec<PolicyDecision> {
        let capabilities = audit.capabilities.iter();
        let texts: Vec<String> =
            capabilities.map(|it| format!("{} {}", it.kind.as_str(), it.value)).collect();
        let mut decisions = self.decide_capabilities(texts.iter().map(String::as_str));
        if self.restricts(PolicySubject::Severity) {
            decisions.extend(audit.findings.iter().filter_map(|it| self.decide_finding(it)));
        }
        decisions
    }

    /// Decides about capabilities in the form of the lockfile: `kind value`.
    pub(crate) fn decide_capabilities<'c>(
        &self,
        capabilities: impl Iterator<Item = &'c str>,
    ) -> Vec<PolicyDecision> {
        let mut decisions = Vec::new();
        for text in capabilities {
            let (kind, value) = text.split_once(' ').unwrap_or((text, ""));
            if matches!(kind, "host" | "remote-instructions") {
                decisions.extend(self.decide(PolicySubject::Host, value, &[value]));
            }
            decisions.extend(self.decide(PolicySubject::Capability, text, &[text]));
        }
        let mut seen = BTreeSet::new();
        decisions.retain(|it: &PolicyDecision| seen.insert((it.subject, it.value.clone())));
        decisions
    }

    fn decide_finding(&self, finding: &AuditFinding) -> Option<PolicyDecision> {
        let severity = finding_severity(finding.confidence.as_str(), finding.risk.as_str());
        let AuditFinding { file, line, column, id, .. } = finding;
        let shown = format!("{severity} ({id} in {file}:{line}:{column})");
        self.decide(PolicySubject::Severity, &shown, &[&severity])
    }

    fn decide(
        &self,
        subject: PolicySubject,
        shown: &str,
        names: &[&str],
    ) -> Option<PolicyDecision> {
        PolicyDecision::of_value(&self.files, subject, shown, names)
    }
}
