//! The labelled corpus: what must be found, and what must not be reported.

use std::collections::{BTreeMap, BTreeSet};

use sp_analyze::audit::{AuditClass, AuditInput, Confidence, ContentAudit, Risk, audit_tree};
use sp_testkit::{AuditSample, CorpusPart, audit_samples};

fn audit_sample(sample: &AuditSample) -> ContentAudit {
    let inputs: Vec<AuditInput<'_>> =
        sample.files.iter().map(|(path, bytes)| AuditInput::new(path, bytes)).collect();
    audit_tree(&inputs)
}

/// Whether a danger of the class of the sample is at least likely.
fn is_found(sample: &AuditSample) -> bool {
    let audit = audit_sample(sample);
    audit.at_least(Confidence::Likely).any(|finding| finding.class.as_str() == sample.class)
}

#[test]
fn au_09_the_corpus_covers_all_classes_with_different_samples() {
    let samples = audit_samples();
    let (malicious, benign): (Vec<_>, Vec<_>) =
        samples.iter().partition(|sample| sample.is_malicious);
    assert!(malicious.len() >= 150 && benign.len() >= 200, "{}", samples.len());
    let classes: BTreeSet<&str> = malicious.iter().map(|sample| sample.class.as_str()).collect();
    let all: BTreeSet<&str> = AuditClass::ALL.iter().map(|class| class.as_str()).collect();
    assert_eq!(classes, all);
    let mut skeletons: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for sample in &samples {
        *skeletons.entry((sample.is_malicious, &sample.skeleton)).or_default() += 1;
    }
    assert!(skeletons.values().all(|count| *count <= 3), "{skeletons:?}");
}

#[test]
fn au_09_most_attacks_that_are_held_back_are_found() {
    let samples = audit_samples();
    let held: Vec<_> =
        samples.iter().filter(|it| it.is_malicious && it.part == CorpusPart::Held).collect();
    let missed: Vec<_> = held
        .iter()
        .filter(|sample| !is_found(sample))
        .map(|sample| format!("{}/{}", sample.class, sample.name))
        .collect();
    assert!(missed.len() * 5 <= held.len(), "{} of {}: {missed:#?}", missed.len(), held.len());
}

#[test]
fn au_09_harmless_samples_have_no_certain_and_few_severe_findings() {
    let samples = audit_samples();
    let is_measured_only = |sample: &&AuditSample| sample.part == CorpusPart::Blind;
    let benign = samples.iter().filter(|sample| !sample.is_malicious && !is_measured_only(sample));
    let benign: Vec<_> = benign.collect();
    let mut severe = Vec::new();
    for sample in &benign {
        for finding in audit_sample(sample).at_least(Confidence::Likely) {
            let name = format!("{}/{}: {}", sample.class, sample.name, finding.message);
            assert!(finding.confidence < Confidence::Certain, "{name}");
            if finding.risk == Risk::High {
                severe.push(name);
            }
        }
    }
    assert!(severe.len() * 50 <= benign.len(), "{severe:#?}");
}

#[test]
fn au_03_the_published_bypasses_are_found() {
    let samples = audit_samples();
    for name in ["payload-after-newlines", "pyc-beside-py", "docx-archive", "judge-note"] {
        let sample = samples.iter().find(|sample| sample.name == name).expect(name);
        assert!(is_found(sample), "{name}");
    }
}

/// The rule of a class finds every sample that rules may be tuned on.
fn assert_class_is_found(class: AuditClass) {
    let samples = audit_samples();
    let tuned = samples.iter().filter(|sample| {
        sample.is_malicious && sample.part == CorpusPart::Tune && sample.class == class.as_str()
    });
    let missed: Vec<&str> =
        tuned.filter(|sample| !is_found(sample)).map(|sample| sample.name.as_str()).collect();
    assert_eq!(missed, [""; 0]);
}

#[test]
fn se_09_hidden_text_of_the_corpus_is_found() {
    assert_class_is_found(AuditClass::Hidden);
}

#[test]
fn au_21_overriding_instructions_are_found() {
    assert_class_is_found(AuditClass::Override);
}

#[test]
fn au_22_secrets_are_found() {
    assert_class_is_found(AuditClass::Secret);
}

#[test]
fn au_23_exfiltration_is_found() {
    assert_class_is_found(AuditClass::Exfiltration);
}

#[test]
fn au_24_persistence_is_found() {
    assert_class_is_found(AuditClass::Persistence);
}

#[test]
fn au_25_obfuscation_is_found() {
    assert_class_is_found(AuditClass::Obfuscation);
}

#[test]
fn au_26_destructive_commands_are_found() {
    assert_class_is_found(AuditClass::Destructive);
}

#[test]
fn au_27_privileges_are_found() {
    assert_class_is_found(AuditClass::Privilege);
}

#[test]
fn au_28_remote_content_is_found() {
    assert_class_is_found(AuditClass::Remote);
}

#[test]
fn au_29_tool_grants_are_found() {
    assert_class_is_found(AuditClass::ToolGrant);
}

#[test]
fn au_30_imitated_names_are_found() {
    assert_class_is_found(AuditClass::Typosquat);
}

#[test]
fn au_31_trackers_are_found() {
    assert_class_is_found(AuditClass::Tracker);
}

#[test]
fn au_32_opaque_content_is_found() {
    assert_class_is_found(AuditClass::Opaque);
}

#[test]
fn au_33_mismatches_are_found() {
    assert_class_is_found(AuditClass::Mismatch);
}
