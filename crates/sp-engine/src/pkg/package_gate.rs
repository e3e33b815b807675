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

use super::package_store::LoadedPackage;
use crate::content_gate::{ContentGate, ContentOwner, GatedContent};
use crate::error::Result;
use crate::home::LockedHome;
use crate::session::Session;

/// The name under which the knowledge of a package is audited.
const GRAPH_FILE: &str = "content.json";

/// Refuses packages that the audit blocks.
pub(super) fn check_packages<'p>(
    session: &Session<'_>,
    root: Option<&Path>,
    home: Option<&LockedHome<'_>>,
    packages: impl IntoIterator<Item = &'p LoadedPackage>,
) -> Result<()> {
    let gate = ContentGate::new(session, root, &BTreeSet::new())?;
    for LoadedPackage { package, .. } in packages {
        let source = package.manifest.name.to_string();
        let owner = ContentOwner::Fetched;
        for (id, tree) in package.skills().skills {
            gate.check_tree(GatedContent { id: &id, source: &source, owner }, &tree);
        }
        if package.documents.is_none() {
            let content = GatedContent { id: &source, source: "", owner };
            gate.check_knowledge(content, GRAPH_FILE, package);
        }
    }
    gate.finish(home)
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
