//! Packages and an envelope of another tool are read, verified and kept byte for byte.

use std::path::{Path, PathBuf};

use sp_formats::package::envelope::{Envelope, EnvelopeSignatureScheme};
use sp_formats::package::{
    Graph, PackageKind, SignatureCoverage, VerificationOutcome, layers_to_graph, read,
};
use sp_formats::report::Severity;
use sp_tree::Limits;

fn samples() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ctxpkg"));
    files.sort();
    assert_eq!(files.len(), 9);
    files
}

#[test]
fn pk_10_packages_of_other_tools_are_read_and_verified() {
    for path in samples() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let read = read(&name, bytes.clone(), &Limits::default());
        let findings = read.report.findings;
        let package = read.package.unwrap_or_else(|| panic!("{name}: {findings:?}"));
        assert!(
            read.steps.iter().all(|step| step.outcome != VerificationOutcome::Failed),
            "{name}: {:?}",
            read.steps
        );
        assert_eq!(package.text().as_bytes(), bytes, "{name}");
        let signed =
            name.contains("signed") && !name.contains("unsigned") || name.starts_with("vector");
        assert_eq!(
            package.signer.map(|signer| signer.coverage),
            signed.then_some(SignatureCoverage::Whole),
            "{name}"
        );
        let unexpected: Vec<_> =
            findings.iter().filter(|finding| signed || finding.check.id != "PK-13").collect();
        assert!(unexpected.is_empty(), "{name}: {unexpected:?}");
        let kind = if name.contains("skills") { PackageKind::Skills } else { PackageKind::Context };
        assert_eq!(package.manifest.kind, kind, "{name}");
        assert!(findings.iter().all(|finding| finding.severity < Severity::Error), "{name}");
    }
}

#[test]
fn pk_24_documents_of_other_tools_are_unpacked() {
    let path =
        samples().into_iter().find(|path| path.to_string_lossy().contains("skills")).unwrap();
    let package = read("skills", std::fs::read(path).unwrap(), &Limits::default()).package.unwrap();
    let documents = package.documents.unwrap();
    let text = String::from_utf8(documents.get("pr-review/SKILL.md").unwrap().to_vec()).unwrap();
    assert!(text.starts_with("---\nname: pr-review\n"), "{text}");
}

#[test]
fn pk_20_layers_convert_to_the_same_graph_as_in_other_tools() {
    let path = samples().into_iter().find(|path| path.ends_with("l2-unsigned.ctxpkg")).unwrap();
    let package = read("l2", std::fs::read(path).unwrap(), &Limits::default()).package.unwrap();
    let theirs = Graph::from_content(package.content());
    let ours = layers_to_graph(package.content());
    let node = |kind: &str, content: &str| (kind.to_owned(), content.to_owned());
    let theirs: Vec<_> = theirs.nodes.iter().map(|n| node(&n.kind, &n.content)).collect();
    let ours: Vec<_> = ours.nodes.iter().map(|n| node(&n.kind, &n.content)).collect();
    // Ours also has the session.
    assert_eq!(ours[..theirs.len()], theirs);
    assert_eq!(ours[theirs.len()..], [node("session", "Move tokens to RS256")]);
}

#[test]
fn pk_14_envelopes_of_other_tools_verify_only_with_their_secret() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/l2-signed.ctxpkg.envelope.json");
    let envelope =
        Envelope::parse(&std::fs::read_to_string(path).unwrap(), &Limits::default()).unwrap();
    assert_eq!(envelope.recipient.as_deref(), Some("peer-agent"));
    assert_eq!(envelope.verify(b"s3cret"), Some(EnvelopeSignatureScheme::V3));
    assert_eq!(envelope.verify(b"s3cre"), None);
    assert!(
        read("payload", envelope.payload.clone().into_bytes(), &Limits::default())
            .package
            .is_some()
    );
    let reparsed = Envelope::parse(&envelope.to_json(), &Limits::default()).unwrap();
    assert_eq!(reparsed, envelope);
}
