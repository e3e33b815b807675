//! Written packages: policies, levels, scopes, dependencies and required members.

use sp_formats::package::{PackageDependency, PackageWriteError, VersionRange, read_input};
use sp_formats::report::Severity;

use super::*;

const POLICY: &str = r#"{"policies": {"policies": [{"kind": "security", "rule": "No secrets", "severity": "error"}]}"#;

fn declared_layers(package: &Package) -> Vec<&str> {
    package.manifest.layers.iter().map(|(layer, _)| layer.as_str()).collect()
}

#[test]
fn pk_06_policies_are_declared_and_converted_to_nodes_in_schema_2() {
    let schema_1 = write_and_read(&draft(format!("{POLICY}}}")));
    assert_eq!((schema_1.manifest.schema, declared_layers(&schema_1)), (1, vec!["policies"]));
    for rest in ["}", ",\"context_graph\":{\"nodes\":[]}}"] {
        let mut draft = draft(format!("{POLICY}{rest}"));
        draft.level = Some(1);
        let schema_2 = write_and_read(&draft);
        assert_eq!(
            (schema_2.manifest.schema, declared_layers(&schema_2)),
            (2, vec!["policies"]),
            "{rest}"
        );
        let graph = schema_2.graph();
        let nodes: Vec<(&str, &str)> =
            graph.nodes.iter().map(|node| (&*node.kind, &*node.content)).collect();
        assert_eq!(nodes, [("policy", "No secrets")], "{rest}");
        assert!(schema_2.content().get("policies").is_some(), "the layer is kept");
    }
}

#[test]
fn pk_06_lean_ctx_output_does_not_declare_policies() {
    let content = format!("{POLICY}, \"gotchas\": {{\"gotchas\": []}}}}");
    for signed in [true, false] {
        let text = write(&draft(content.as_str()), signed.then(key).as_ref(), &limits()).unwrap();
        let package = read_valid(&text);
        assert_eq!(declared_layers(&package), ["gotchas", "policies"]);
        for (signing_key, coverage) in
            [(None, SignatureCoverage::Content), (Some(key()), SignatureCoverage::Whole)]
        {
            let has_key = signing_key.is_some();
            let converted = read_valid(
                &write_lean_ctx_compatible(&package, signing_key.as_ref(), &limits()).unwrap(),
            );
            assert_eq!(declared_layers(&converted), ["gotchas"]);
            assert_eq!(
                converted.content().raw(),
                package.content().raw(),
                "the content is unchanged"
            );
            assert_eq!(converted.manifest.integrity, package.manifest.integrity);
            let expected = (signed || has_key).then_some(coverage);
            assert_eq!(
                converted.signer.map(|signer| signer.coverage),
                expected,
                "signed: {signed}, key: {has_key}"
            );
        }
    }
}

#[test]
fn pk_04_pk_16_packages_state_the_requested_or_actual_level() {
    let nodes = r#"{"context_graph":{"nodes":[{"id":"a","type":"fact","content":"x"}]}}"#;
    let edges = r#"{"context_graph":{"nodes":[{"id":"a","type":"fact","content":"x"}],"edges":[{"from":"a","to":"a","type":"is"}]}}"#;
    let layers = r#"{"knowledge":{"facts":[{"value":"x"}]}}"#;
    let decay = r#""created_at":"2026-01-01T00:00:00Z","decay_half_life_days":90"#;
    let decaying = &edges.replace(r#""content":"x""#, &format!(r#""content":"x",{decay}"#));
    for (content, requested) in [(nodes, 2), (nodes, 3), (edges, 3), (layers, 2), (layers, 3)] {
        let mut draft = draft(content);
        draft.level = Some(requested);
        assert!(write(&draft, None, &limits()).is_err(), "{content} at {requested}");
    }
    for (content, requested, schema, level) in [
        (nodes, None, 2, Some(1)),
        (edges, None, 2, Some(2)),
        (edges, Some(1), 2, Some(1)),
        (edges, Some(2), 2, Some(2)),
        (decaying, Some(3), 2, Some(3)),
        (layers, None, 1, None),
        (layers, Some(1), 2, Some(1)),
    ] {
        let mut draft = draft(content);
        draft.level = requested;
        let package = write_and_read(&draft);
        assert_eq!(
            (package.manifest.schema, package.manifest.level),
            (schema, level),
            "{content} at {requested:?}"
        );
        let summary = to_value(package.raw_manifest())["graph_summary"].clone();
        let (count, types) =
            (json!(package.graph().nodes.len()), json!(package.graph().node_types()));
        let expected = level.map_or(Value::Null, |_| count);
        assert_eq!(summary["node_count"], expected, "{content} at {requested:?}");
        assert!(summary.is_null() || summary["node_types"] == types);
    }
    let mut wrong = draft(nodes);
    wrong.level = Some(4);
    assert!(write(&wrong, None, &limits()).is_err());
}

#[test]
fn pk_04_scoped_names_require_schema_2_and_kind_context_is_omitted() {
    let mut scoped = draft(r#"{"knowledge":{"facts":[]}}"#);
    scoped.name = PackageName::new("@acme/notes").unwrap();
    let manifest = to_value(write_and_read(&scoped).raw_manifest());
    assert_eq!((&manifest["schema_version"], &manifest["scope"]), (&json!(2), &json!("@acme")));
    assert!(manifest.get("kind").is_none());
}

fn dependency(name: &str, range: &str, optional: bool) -> PackageDependency {
    PackageDependency {
        name: PackageName::new(name).unwrap(),
        range: VersionRange::new(range),
        optional,
    }
}

#[test]
fn pk_05_dependencies_are_read_in_both_forms_and_written_as_a_list() {
    let expected = [dependency("base", "^1.2", false), dependency("@acme/more", ">=1, <3", true)];
    for members in [
        r#""dependencies": [{"name":"base","version_req":"^1.2"},{"name":"@acme/more","version_req":">=1, <3","optional":true}]"#,
        r#""dependencies": {"base":"^1.2"}, "optional_dependencies": {"@acme/more":">=1, <3"}"#,
        r#""dependencies": [{"name":"base","version_req":"^1.2","optional":false}], "optional_dependencies": {"@acme/more":">=1, <3"}"#,
    ] {
        let text = format!("{{{members}, \"conflicts\": [\"old\"], \"nodes\": []}}");
        let (input, report) = read_input("input", text.as_bytes(), &limits());
        let input = input.unwrap_or_else(|| panic!("{members}: {:?}", report.findings));
        assert_eq!(input.dependencies, expected, "{members}");
        let mut draft = draft(input.content);
        (draft.dependencies, draft.conflicts) = (input.dependencies, input.conflicts);
        let package = write_and_read(&draft);
        assert_eq!(package.manifest.dependencies, expected, "{members}");
        assert_eq!(package.manifest.conflicts, [PackageName::new("old").unwrap()]);
        let list = json!([
            {"name": "base", "version_req": "^1.2", "optional": false},
            {"name": "@acme/more", "version_req": ">=1, <3", "optional": true}
        ]);
        assert_eq!(to_value(package.raw_manifest())["dependencies"], list, "{members}");
    }
}

#[test]
fn pk_05_missing_range_matches_every_release() {
    let (input, _) =
        read_input("input", br#"{"dependencies": [{"name": "base"}], "nodes": []}"#, &limits());
    let range = &input.unwrap().dependencies[0].range;
    let matches_range = |version: &str| range.matches(&PackageVersion::new(version).unwrap());
    assert!(matches_range("0.0.1") && matches_range("7.1.0") && !matches_range("1.0.0-rc.1"));
}

/// Writes invalid content, and returns the rule and the text of each error.
#[track_caller]
fn write_errors(content: &str) -> Vec<(&'static str, String)> {
    let report = match write(&draft(content), None, &limits()) {
        Err(PackageWriteError::InvalidContent(report) | PackageWriteError::Unreadable(report)) => {
            report
        }
        other => panic!("{content}: {other:?}"),
    };
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors
        .map(|finding| (finding.check.id, report.text[finding.span.clone().unwrap()].to_owned()))
        .collect()
}

#[test]
fn pk_15_writing_rejects_invalid_nodes_edges_and_entries() {
    let node = r#"{"id":"a","type":"fact","content":"x"}"#;
    let edge = r#"{"from":"a","to":"b","type":"is","weight":1.0}"#;
    for (content, rule, token) in [
        (format!(r#"{{"context_graph":{{"nodes":[{node},{node}]}}}}"#), "PK-15", r#""a""#),
        (
            r#"{"context_graph":{"nodes":[{"id":"a"}]}}"#.into(),
            "PK-15",
            r#"{"activation":1.0,"id":"a"}"#,
        ),
        (
            format!(r#"{{"context_graph":{{"nodes":[{node}],"edges":[{edge}]}}}}"#),
            "PK-15",
            r#""b""#,
        ),
        (
            r#"{"context_graph":{"nodes":[{"id":"a","type":"t","content":"x","activation":1.5}]}}"#
                .into(),
            "PK-15",
            "1.5",
        ),
        // Of the required members, only `resolution` and `rule` have no default.
        (
            r#"{"gotchas":{"gotchas":[{"trigger":"t"}]}}"#.into(),
            "PK-07",
            r#"{"category":"general","confidence":1.0,"file_patterns":[],"id":"gotcha-1","severity":"warning","trigger":"t"}"#,
        ),
        (
            r#"{"policies":{"policies":[{}]}}"#.into(),
            "PK-07",
            r#"{"id":"policy-1","kind":"quality","severity":"warning"}"#,
        ),
    ] {
        assert_eq!(write_errors(&content), [(rule, token.to_owned())], "{content}");
    }
}

#[test]
fn pk_06_layers_of_the_wrong_type_are_rejected() {
    let node = r#"{"id":"a","type":"fact","content":"x"}"#;
    for (content, rule, token) in [
        (
            format!(r#"{{"context_graph":{{"nodes":{{"a":{node}}}}}}}"#),
            "PK-15",
            format!(r#"{{"a":{node}}}"#),
        ),
        (
            format!(r#"{{"context_graph":{{"nodes":[{node}],"edges":"a is a"}}}}"#),
            "PK-15",
            r#""a is a""#.into(),
        ),
        (format!(r#"{{"context_graph":[{node}]}}"#), "PK-15", format!("[{node}]")),
        (
            r#"{"gotchas":{"gotchas":{"a":{"trigger":"t","resolution":"r"}}}}"#.into(),
            "PK-06",
            r#"{"a":{"trigger":"t","resolution":"r"}}"#.into(),
        ),
        (r#"{"knowledge":[{"value":"x"}]}"#.into(), "PK-06", r#"[{"value":"x"}]"#.into()),
    ] {
        assert_eq!(write_errors(&content), [(rule, token)], "{content}");
    }
}

#[test]
fn pk_02_null_members_of_the_content_are_kept() {
    let package = write_and_read(&draft(r#"{"knowledge":{},"x-more":null}"#));
    assert!(package.content().get("x-more").is_some(), "{}", package.text());
}

#[test]
fn pk_03_writing_requires_a_semver_version_and_content() {
    let mut invalid = draft(r#"{"knowledge":{}}"#);
    invalid.version = PackageVersion::new("1.0").unwrap();
    assert!(matches!(write(&invalid, None, &limits()), Err(PackageWriteError::InvalidVersion(_))));
    for content in ["{}", "[]", "1"] {
        assert!(
            matches!(write(&draft(content), None, &limits()), Err(PackageWriteError::Empty)),
            "{content}"
        );
    }
    assert!(matches!(write(&draft("{"), None, &limits()), Err(PackageWriteError::Json(_))));
}

#[test]
fn pk_07_written_layers_have_all_required_members() {
    let content = json!({
        "knowledge": {"facts": [{"value": "x"}], "patterns": [{"description": "d"}], "insights": [{"summary": "s"}]},
        "gotchas": {"gotchas": [{"trigger": "t", "resolution": "r"}]},
        "session": {"task_description": "t"},
        "patterns": {"patterns": [{"description": "d"}]},
        "policies": {"policies": [{"rule": "r"}]},
        "graph": {"nodes": [], "edges": []}
    });
    let text = write(&draft(content.to_string()), Some(&key()), &limits()).unwrap();
    let read = read("written", text.into_bytes(), &limits());
    assert!(read.report.findings.is_empty(), "{:?}", read.report.findings);
    let written = to_value(read.package.unwrap().content());
    assert!(is_contained(&content, &written), "{written}");
    let fact = &written["knowledge"]["facts"][0];
    for member in
        ["category", "key", "source_session", "confidence", "created_at", "last_confirmed"]
    {
        assert!(fact.get(member).is_some(), "{member}");
    }
}
