//! What is written: policies, levels, scopes, dependencies and required members.

use sp_formats::package::{PackageDependency, PackageWriteError, VersionRange, read_input};

use super::*;

const POLICY: &str = r#"{"policies": {"policies": [{"kind": "security", "rule": "No secrets", "severity": "error"}]}"#;

fn declared(package: &Package) -> Vec<&str> {
    package.manifest.layers.iter().map(|(layer, _)| layer.as_str()).collect()
}

#[test]
fn pk_06_policies_are_declared_and_in_schema_2_they_are_nodes_too() {
    let old = written(&draft(format!("{POLICY}}}")));
    assert_eq!((old.manifest.schema, declared(&old)), (1, vec!["policies"]));
    for more in ["}", ",\"context_graph\":{\"nodes\":[]}}"] {
        let mut draft = draft(format!("{POLICY}{more}"));
        draft.level = Some(1);
        let new = written(&draft);
        assert_eq!((new.manifest.schema, declared(&new)), (2, vec!["policies"]), "{more}");
        let graph = new.graph();
        let nodes: Vec<(&str, &str)> =
            graph.nodes.iter().map(|node| (&*node.kind, &*node.content)).collect();
        assert_eq!(nodes, [("policy", "No secrets")], "{more}");
        assert!(new.content().get("policies").is_some(), "the layer stays");
    }
}

#[test]
fn pk_06_what_another_tool_does_not_take_is_left_out_for_it() {
    let content = format!("{POLICY}, \"gotchas\": {{\"gotchas\": []}}}}");
    for signed in [true, false] {
        let text = write(&draft(content.as_str()), signed.then(key).as_ref(), &limits()).unwrap();
        let package = holds(&text);
        assert_eq!(declared(&package), ["gotchas", "policies"]);
        for (again, coverage) in
            [(None, SignatureCoverage::Content), (Some(key()), SignatureCoverage::Whole)]
        {
            let has_key = again.is_some();
            let made =
                holds(&write_lean_ctx_compatible(&package, again.as_ref(), &limits()).unwrap());
            assert_eq!(declared(&made), ["gotchas"]);
            assert_eq!(
                made.content().raw(),
                package.content().raw(),
                "the content stays to the letter"
            );
            assert_eq!(made.manifest.integrity, package.manifest.integrity);
            let expected = (signed || has_key).then_some(coverage);
            assert_eq!(
                made.signer.map(|signer| signer.coverage),
                expected,
                "signed: {signed}, key: {has_key}"
            );
        }
    }
}

#[test]
fn pk_04_pk_16_a_package_states_the_level_that_was_asked_for_or_the_one_that_it_has() {
    let nodes = r#"{"context_graph":{"nodes":[{"id":"a","type":"fact","content":"x"}]}}"#;
    let edges = r#"{"context_graph":{"nodes":[{"id":"a","type":"fact","content":"x"}],"edges":[{"from":"a","to":"a","type":"is"}]}}"#;
    let layers = r#"{"knowledge":{"facts":[{"value":"x"}]}}"#;
    let fades = r#""created_at":"2026-01-01T00:00:00Z","decay_half_life_days":90"#;
    let fading = &edges.replace(r#""content":"x""#, &format!(r#""content":"x",{fades}"#));
    for (content, asked) in [(nodes, 2), (nodes, 3), (edges, 3), (layers, 2), (layers, 3)] {
        let mut draft = draft(content);
        draft.level = Some(asked);
        assert!(write(&draft, None, &limits()).is_err(), "{content} does not reach {asked}");
    }
    for (content, asked, schema, level) in [
        (nodes, None, 2, Some(1)),
        (edges, None, 2, Some(2)),
        (edges, Some(1), 2, Some(1)),
        (edges, Some(2), 2, Some(2)),
        (fading, Some(3), 2, Some(3)),
        (layers, None, 1, None),
        (layers, Some(1), 2, Some(1)),
    ] {
        let mut draft = draft(content);
        draft.level = asked;
        let package = written(&draft);
        assert_eq!(
            (package.manifest.schema, package.manifest.level),
            (schema, level),
            "{content} at {asked:?}"
        );
        let summary = plain(package.raw_manifest())["graph_summary"].clone();
        let (count, types) =
            (json!(package.graph().nodes.len()), json!(package.graph().node_types()));
        let expected = level.map_or(Plain::Null, |_| count);
        assert_eq!(summary["node_count"], expected, "{content} at {asked:?}");
        assert!(summary.is_null() || summary["node_types"] == types);
    }
    let mut wrong = draft(nodes);
    wrong.level = Some(4);
    assert!(write(&wrong, None, &limits()).is_err());
}

#[test]
fn pk_04_a_scope_and_a_kind_make_it_schema_2_and_context_is_never_written() {
    let mut scoped = draft(r#"{"knowledge":{"facts":[]}}"#);
    scoped.name = PackageName::new("@acme/notes").unwrap();
    let manifest = plain(written(&scoped).raw_manifest());
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
fn pk_05_dependencies_are_read_in_both_shapes_and_written_as_a_list() {
    let expected = [dependency("base", "^1.2", false), dependency("@acme/more", ">=1, <3", true)];
    for said in [
        r#""dependencies": [{"name":"base","version_req":"^1.2"},{"name":"@acme/more","version_req":">=1, <3","optional":true}]"#,
        r#""dependencies": {"base":"^1.2"}, "optional_dependencies": {"@acme/more":">=1, <3"}"#,
        r#""dependencies": [{"name":"base","version_req":"^1.2","optional":false}], "optional_dependencies": {"@acme/more":">=1, <3"}"#,
    ] {
        let text = format!("{{{said}, \"conflicts\": [\"old\"], \"nodes\": []}}");
        let (input, report) = read_input("input", text.as_bytes(), &limits());
        let input = input.unwrap_or_else(|| panic!("{said}: {:?}", report.findings));
        assert_eq!(input.dependencies, expected, "{said}");
        let mut draft = draft(input.content);
        (draft.dependencies, draft.conflicts) = (input.dependencies, input.conflicts);
        let package = written(&draft);
        assert_eq!(package.manifest.dependencies, expected, "{said}");
        assert_eq!(package.manifest.conflicts, [PackageName::new("old").unwrap()]);
        let list = json!([
            {"name": "base", "version_req": "^1.2", "optional": false},
            {"name": "@acme/more", "version_req": ">=1, <3", "optional": true}
        ]);
        assert_eq!(plain(package.raw_manifest())["dependencies"], list, "{said}");
    }
}

#[test]
fn pk_05_a_range_that_is_missing_fits_every_release() {
    let (input, _) =
        read_input("input", br#"{"dependencies": [{"name": "base"}], "nodes": []}"#, &limits());
    let range = &input.unwrap().dependencies[0].range;
    let fits = |version: &str| range.matches(&PackageVersion::new(version).unwrap());
    assert!(fits("0.0.1") && fits("7.1.0") && !fits("1.0.0-rc.1"));
}

#[test]
fn pk_15_what_is_a_warning_to_a_reader_is_an_error_to_a_writer() {
    let node = r#"{"id":"a","type":"fact","content":"x"}"#;
    for (content, what) in [
        (format!(r#"{{"context_graph":{{"nodes":[{node},{node}]}}}}"#), "two nodes"),
        (r#"{"context_graph":{"nodes":[{"id":"a"}]}}"#.into(), "has no"),
        (
            format!(
                r#"{{"context_graph":{{"nodes":[{node}],"edges":[{}]}}}}"#,
                r#"{"from":"a","to":"b","type":"is","weight":1.0}"#
            ),
            "not there",
        ),
        (
            r#"{"context_graph":{"nodes":[{"id":"a","type":"t","content":"x","activation":1.5}]}}"#
                .into(),
            "1.5",
        ),
        (r#"{"gotchas":{"gotchas":[{"trigger":"t"}]}}"#.into(), "`resolution`"),
        (r#"{"policies":{"policies":[{}]}}"#.into(), "`rule`"),
    ] {
        match write(&draft(content.as_str()), None, &limits()) {
            Err(PackageWriteError::InvalidContent(report)) => {
                let told: Vec<&String> =
                    report.findings.iter().map(|finding| &finding.message).collect();
                assert!(told.iter().any(|message| message.contains(what)), "{content}: {told:?}");
            }
            other => panic!("{content}: {other:?}"),
        }
    }
}

#[test]
fn pk_06_what_is_no_list_is_refused_and_never_lost() {
    let node = r#"{"id":"a","type":"fact","content":"x"}"#;
    for content in [
        format!(r#"{{"context_graph":{{"nodes":{{"a":{node}}}}}}}"#),
        format!(r#"{{"context_graph":{{"nodes":[{node}],"edges":"a is a"}}}}"#),
        format!(r#"{{"context_graph":[{node}]}}"#),
        r#"{"gotchas":{"gotchas":{"a":{"trigger":"t","resolution":"r"}}}}"#.into(),
        r#"{"knowledge":[{"value":"x"}]}"#.into(),
    ] {
        match write(&draft(content.as_str()), None, &limits()) {
            Err(
                PackageWriteError::InvalidContent(report) | PackageWriteError::Unreadable(report),
            ) => {
                let told: Vec<&String> =
                    report.findings.iter().map(|finding| &finding.message).collect();
                assert!(
                    told.iter().any(|message| message.contains("must be")),
                    "{content}: {told:?}"
                );
            }
            other => panic!("{content}: {other:?}"),
        }
    }
}

#[test]
fn pk_02_a_member_of_the_content_that_is_null_survives() {
    let package = written(&draft(r#"{"knowledge":{},"x-more":null}"#));
    assert!(package.content().get("x-more").is_some(), "{}", package.text());
}

#[test]
fn pk_03_what_we_write_has_a_semver_version_and_something_in_it() {
    let mut odd = draft(r#"{"knowledge":{}}"#);
    odd.version = PackageVersion::new("1.0").unwrap();
    assert!(matches!(write(&odd, None, &limits()), Err(PackageWriteError::InvalidVersion(_))));
    for nothing in ["{}", "[]", "1"] {
        assert!(
            matches!(write(&draft(nothing), None, &limits()), Err(PackageWriteError::Empty)),
            "{nothing}"
        );
    }
    assert!(matches!(write(&draft("{"), None, &limits()), Err(PackageWriteError::Json(_))));
}

#[test]
fn pk_07_what_we_write_has_every_member_that_other_tools_demand() {
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
    let written = plain(read.package.unwrap().content());
    assert!(stands_in(&content, &written), "{written}");
    let fact = &written["knowledge"]["facts"][0];
    for member in
        ["category", "key", "source_session", "confidence", "created_at", "last_confirmed"]
    {
        assert!(fact.get(member).is_some(), "{member}");
    }
}
