//! The JSON Schemas in `docs/json.md`.

use serde_json::Value;

fn documented_schema(section: &str) -> Value {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"))
        .unwrap();
    let title = if section == "error" { "## `error`".into() } else { format!("## `sp {section}`") };
    let part = docs.split_once(&title).unwrap_or_else(|| panic!("{title} in docs/json.md")).1;
    let block = part.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    serde_json::from_str(block).unwrap()
}

/// Panics unless the output of a command matches its documented schema, which must name every
/// member.
#[track_caller]
pub(crate) fn assert_matches_schema(section: &str, output: &str) {
    let value: Value =
        serde_json::from_str(output).unwrap_or_else(|e| panic!("{section}: {e}: {output}"));
    let schema = documented_schema(section);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{section}: {errors:?}: {value}");
    assert_members_are_documented(&value, &schema, &schema, section);
}

#[track_caller]
fn assert_members_are_documented(value: &Value, schema: &Value, root: &Value, path: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = &root["$defs"][name.trim_start_matches("#/$defs/")];
        return assert_members_are_documented(value, definition, root, path);
    }
    // The schema of an optional member is `anyOf` its type and null.
    let alternatives = schema["anyOf"].as_array();
    if let Some(schema) =
        alternatives.and_then(|schemas| schemas.iter().find(|schema| schema["type"] != "null"))
    {
        return assert_members_are_documented(value, schema, root, path);
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        assert!(!schema["properties"][name].is_null(), "{path} is not documented");
        assert!(!member.is_null(), "{path} is null instead of missing");
        assert_members_are_documented(member, &schema["properties"][name], root, &path);
    }
    for item in value.as_array().into_iter().flatten() {
        assert_members_are_documented(item, &schema["items"], root, &format!("{path}[]"));
    }
}
