//! Audits of packages: what they contain, and whether they may be installed.

use std::collections::BTreeSet;
use std::path::Path;

use sp_analyze::audit::{
    AuditFinding, AuditInput, Capability, Confidence, ContentAudit, audit_tree,
};
use sp_formats::package::Package;
use sp_formats::printable::printable;
use sp_formats::registry::{TrustCapabilities, TrustFinding};
use sp_tree::LoadedTree;

use super::load_package::load_file;
use super::package_store::LoadedPackage;
use crate::content_audit::audit_knowledge;
use crate::content_gate::{ContentGate, ContentOwner, GatePosition, GatedContent, skill_decisions};
use crate::error::Result;
use crate::home::LockedHome;
use crate::policy::{PolicyDecision, PolicySet, denied_error};
use crate::session::Session;

/// The name under which the knowledge of a package is audited.
const GRAPH_FILE: &str = "content.json";

/// Refuses packages that policies deny or the audit blocks.
pub(super) struct PackageGate<'a> {
    pub session: &'a Session<'a>,
    /// The project, if it is not the nearest one upward.
    pub root: Option<&'a Path>,
    pub home: Option<&'a LockedHome<'a>>,
    /// Skills are audited by the last gate, which sees what is installed.
    pub position: GatePosition,
}

impl PackageGate<'_> {
    pub(super) fn check(&self, packages: &[LoadedPackage]) -> Result<()> {
        let gate = ContentGate::new(self.session, self.root, &BTreeSet::new())?;
        for LoadedPackage { package, source: recorded } in packages {
            let source = package.manifest.name.to_string();
            let owner = ContentOwner::Fetched;
            let content = GatedContent { id: &source, source: &source, owner };
            gate.check_origin(content, recorded.registry(), package.signer.map(|it| it.key));
            if package.documents.is_none() {
                gate.check_knowledge(content, GRAPH_FILE, package);
            } else if self.position == GatePosition::Last {
                for (id, tree) in package.skills().skills {
                    gate.check_tree(GatedContent { id: &id, source: &source, owner }, &tree);
                }
            }
        }
        gate.finish(self.home, self.position)
    }
}

/// Refuses to publish what policies deny.
pub(super) fn require_publishable(
    session: &Session<'_>,
    registry: &str,
    package: &Package,
) -> Result<()> {
    let policies = session.policies(None)?;
    let mut decisions: Vec<PolicyDecision> =
        policies.decide_registry(registry).into_iter().collect();
    decisions.extend(package_decisions(session, &policies, package).into_iter().map(|(_, it)| it));
    decisions.retain(|decision| !decision.is_permitted);
    if decisions.is_empty() {
        return Ok(());
    }
    let name = format!("`{}`", package.manifest.name);
    Err(denied_error(&policies, &name, None, &decisions))
}

/// What policies decide about a package.
pub(crate) struct PackagePolicy {
    pub name: String,
    /// Each with the skill or package that it is about.
    pub decisions: Vec<(String, PolicyDecision)>,
}

/// Reads a package, and returns what policies decide about it.
pub(crate) fn package_policy(
    session: &Session<'_>,
    policies: &PolicySet,
    file: &Path,
) -> Result<PackagePolicy> {
    let package = load_file(session, file)?;
    let name = package.manifest.name.to_string();
    let source = policies.decide_source(&name, file);
    let mut decisions: Vec<(String, PolicyDecision)> =
        source.into_iter().map(|decision| (name.clone(), decision)).collect();
    decisions.extend(package_decisions(session, policies, &package));
    Ok(PackagePolicy { name, decisions })
}

/// Returns what policies decide about the signer of a package and each of its skills.
fn package_decisions(
    session: &Session<'_>,
    policies: &PolicySet,
    package: &Package,
) -> Vec<(String, PolicyDecision)> {
    let name = package.manifest.name.to_string();
    let mut decisions = Vec::new();
    let mut add = |content: &str, of_content: Vec<PolicyDecision>| {
        decisions.extend(of_content.into_iter().map(|decision| (content.to_owned(), decision)));
    };
    add(&name, policies.decide_signer(&name, package.signer.map(|signer| signer.key)));
    for (id, tree) in package.skills().skills {
        add(&id, skill_decisions(session, policies, &tree));
    }
    if package.documents.is_none() {
        add(&name, policies.decide_audit(&audit_knowledge(&session.audits, GRAPH_FILE, package)));
    }
    decisions
}

/// What an audit found in a package.
#[derive(Debug, Default)]
pub struct PackageAudit {
    /// The findings that are at least likely.
    pub findings: Vec<TrustFinding>,
    /// The IDs of the findings that block a publication.
    pub blocking: Vec<String>,
    pub capabilities: Vec<TrustCapabilities>,
}

/// Audits a package, for registries.
pub fn audit_package(package: &Package) -> PackageAudit {
    let mut audited = PackageAudit::default();
    for (id, tree) in package.skills().skills {
        let audit = audit_tree(&inputs(&tree));
        audited.add(&id, &audit);
        let text = |it: &Capability| format!("{} {}", it.kind.as_str(), it.value);
        audited.capabilities.push(TrustCapabilities {
            skill: id,
            capabilities: audit.capabilities.iter().map(text).collect(),
            unread_files: audit.opaque.len(),
        });
    }
    if package.documents.is_none() {
        let text = package.text();
        let audit = audit_tree(&[AuditInput::new(GRAPH_FILE, text.as_bytes())]);
        audited.add("", &audit);
    }
    audited
}

fn inputs(tree: &LoadedTree) -> Vec<AuditInput<'_>> {
    tree.files()
        .map(|(path, executable, bytes)| AuditInput {
            executable,
            ..AuditInput::new(path.as_str(), bytes)
        })
        .collect()
}

impl PackageAudit {
    fn add(&mut self, id: &str, audit: &ContentAudit) {
        let to_finding = |finding: &AuditFinding| {
            let AuditFinding { file, line, column, message, .. } = finding;
            let file = if id.is_empty() { file.clone() } else { format!("{id}/{file}") };
            let decoded = finding.decoded.as_deref();
            let shown = decoded.map(|text| format!(": \"{}\"", printable(text)));
            TrustFinding {
                rule: finding.class.rule().id.into(),
                severity: match finding.confidence {
                    Confidence::Certain => "error",
                    Confidence::Likely => "warning",
                    Confidence::Hint => "note",
                }
                .into(),
                message: format!(
                    "{}:{line}:{column}: {message}{}",
                    printable(&file),
                    shown.unwrap_or_default()
                ),
                id: Some(finding.id.clone()),
            }
        };
        self.findings.extend(audit.at_least(Confidence::Likely).map(to_finding));
        let certain = audit.at_least(Confidence::Certain);
        self.blocking.extend(certain.map(|finding| finding.id.clone()));
    }
}
