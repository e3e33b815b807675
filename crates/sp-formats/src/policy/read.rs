//! Reading a policy, with the position of every mistake.

use sp_tree::Limits;

use super::rules::AU_08;
use super::values::ValuePattern;
use super::{
    AllowList, Policy, PolicyPattern, PolicyRequirement, PolicySection, PolicySubject, RequiredItem,
};
use crate::printable::printable;
use crate::report::Report;
use crate::suggest::nearest;
use crate::yaml::{self, YamlNode, YamlValue};
use crate::yaml_mapping::{YamlMapping, YamlMappingSpec};

const FILE_KEYS: &[&str] = &[
    "sources",
    "registries",
    "signers",
    "hosts",
    "capabilities",
    "severities",
    "licenses",
    "accept",
    "require",
    "contact",
];
const SECTION_KEYS: &[&str] = &["allow", "deny"];
const DENIAL_KEYS: &[&str] = &["deny"];

/// Reads a policy. It must not be used if the report has errors.
pub fn read(file: &str, text: &str, limits: &Limits) -> (Policy, Report) {
    let mut report = Report::new(file, text);
    let root = match yaml::parse(text, limits) {
        Ok(root) => root,
        Err(error) => {
            let help = error.help();
            report.error(&AU_08, error.span, error.message).help(help);
            return (Policy::default(), report);
        }
    };
    let spec = YamlMappingSpec { name: "the policy", check: &AU_08 };
    let mut policy = Policy::default();
    if let Some(fields) = YamlMapping::of(&root, spec, FILE_KEYS, &mut report) {
        policy.contact = fields.text("contact", &mut report).map(|(text, _)| text);
        policy.require = read_requirements(&fields, &mut report);
        for subject in PolicySubject::ALL {
            *section_of(&mut policy, subject) = read_section(&fields, subject, &mut report);
        }
    }
    report.sort();
    (policy, report)
}

fn section_of(policy: &mut Policy, subject: PolicySubject) -> &mut PolicySection {
    match subject {
        PolicySubject::Source => &mut policy.sources,
        PolicySubject::Registry => &mut policy.registries,
        PolicySubject::Signer => &mut policy.signers,
        PolicySubject::Host => &mut policy.hosts,
        PolicySubject::Capability => &mut policy.capabilities,
        PolicySubject::Severity => &mut policy.severities,
        PolicySubject::License => &mut policy.licenses,
        PolicySubject::Accept => &mut policy.accept,
    }
}

fn read_section(
    fields: &YamlMapping<'_>,
    subject: PolicySubject,
    report: &mut Report,
) -> PolicySection {
    let mut section = PolicySection::default();
    let Some(node) = fields.get(subject.key()) else { return section };
    let keys = if subject == PolicySubject::Severity { DENIAL_KEYS } else { SECTION_KEYS };
    // An empty section would look like a restriction, and be none.
    let spec = YamlMappingSpec { name: "a section of the policy", check: &AU_08 };
    let Some(lists) = YamlMapping::of(node, spec, keys, report) else { return section };
    section.deny = read_patterns(&lists, "deny", subject, report);
    if let YamlValue::Map(pairs) = &node.value
        && let Some((key, _)) = pairs.iter().find(|(key, _)| key.text() == Some("allow"))
    {
        let patterns = read_patterns(&lists, "allow", subject, report);
        section.allow = Some(AllowList { span: key.span.clone(), patterns });
    }
    section
}

fn read_patterns(
    lists: &YamlMapping<'_>,
    key: &str,
    subject: PolicySubject,
    report: &mut Report,
) -> Vec<PolicyPattern> {
    let nodes = lists.list(key, report).iter();
    nodes.filter_map(|node| read_pattern(node, subject, report)).collect()
}

fn read_pattern(
    node: &YamlNode,
    subject: PolicySubject,
    report: &mut Report,
) -> Option<PolicyPattern> {
    let span = node.span.clone();
    let Some(text) = node.text() else {
        let message = format!("an item of `{}` must be text, not {}", subject.key(), node.kind());
        report.error(&AU_08, span, message).help("write one value per line, after `- `");
        return None;
    };
    match ValuePattern::parse(subject, text) {
        Ok(pattern) => Some(PolicyPattern { text: text.into(), span, pattern }),
        Err(help) => {
            let message = format!("invalid {} `{}`", subject.as_str(), printable(text));
            report.error(&AU_08, span, message).help(help);
            None
        }
    }
}

fn read_requirements(fields: &YamlMapping<'_>, report: &mut Report) -> Vec<RequiredItem> {
    let mut required = Vec::new();
    for node in fields.list("require", report) {
        let text = node.text().unwrap_or_default();
        let known = PolicyRequirement::ALL.into_iter().find(|known| known.as_str() == text);
        if let Some(requirement) = known {
            required.push(RequiredItem { requirement, span: node.span.clone() });
            continue;
        }
        let names = PolicyRequirement::ALL.map(PolicyRequirement::as_str);
        let help = match nearest(text, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("valid requirements: {}", names.join(", ")),
        };
        let message = format!("unknown requirement `{}`", printable(text));
        report.error(&AU_08, node.span.clone(), message).help(help);
    }
    required
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicyVerdict;

    fn found(text: &str) -> Vec<String> {
        let (_, report) = read("x", text, &Limits::default());
        report.findings.iter().map(|finding| report.format_location(finding)).collect()
    }

    #[test]
    fn au_08_every_mistake_in_a_policy_has_a_position() {
        for (text, position) in [
            ("", "x:1:1"),
            ("source: {}\n", "x:1:1"),
            ("sources: github.com\n", "x:1:10"),
            ("sources:\n", "x:1:8"),
            ("sources: {alow: []}\n", "x:1:11"),
            ("sources: {allow: github.com}\n", "x:1:18"),
            ("sources: {deny: [[a]]}\n", "x:1:18"),
            ("sources: {deny: [./a]}\n", "x:1:18"),
            ("registries: {allow: [skills.example]}\n", "x:1:22"),
            ("signers: {allow: [abc]}\n", "x:1:19"),
            ("hosts: {deny: ['https://a.example/x']}\n", "x:1:16"),
            ("capabilities: {deny: [hosts]}\n", "x:1:23"),
            ("severities: {deny: [high]}\n", "x:1:21"),
            ("severities: {allow: [hint]}\n", "x:1:14"),
            ("accept: {deny: [all]}\n", "x:1:17"),
            ("require: [locks]\n", "x:1:11"),
            ("require: lock\n", "x:1:10"),
            ("sources: [\n", "x:1:10"),
        ] {
            assert_eq!(found(text), [position], "{text}");
        }
    }

    #[test]
    fn au_08_denied_values_are_denied_even_if_they_are_allowed() {
        let text = "sources:\n  allow: [github.com/acme]\n  deny: [github.com/acme/lab]\n\
                    licenses: {allow: []}\nrequire: [lock]\n";
        let (policy, report) = read("x", text, &Limits::default());
        assert!(report.is_usable());
        for (value, expected) in [
            ("github.com/acme/skills", true),
            ("github.com/acme/lab", false),
            ("github.com/other/skills", false),
        ] {
            let verdict = policy.judge(PolicySubject::Source, value);
            assert_eq!(verdict.is_permitted(), expected, "{value}");
        }
        let verdict = policy.judge(PolicySubject::License, "MIT");
        assert!(matches!(verdict, PolicyVerdict::NotAllowed(_)), "an empty list allows nothing");
        assert_eq!(policy.judge(PolicySubject::Host, "a"), PolicyVerdict::Unrestricted);
        assert!(policy.required(PolicyRequirement::Lock).is_some());
        assert_eq!(
            (policy.required(PolicyRequirement::Signature), policy.rules().len()),
            (None, 4)
        );
    }
}
