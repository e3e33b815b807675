//! JSON Schemas of tools, restricted to what all clients understand: no references, no union types,
//! no number formats. Optional members are not required and never null.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use sp_engine::hidden::mark;

pub(crate) fn schema_of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    let mut object = match schema {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    object.remove("title");
    object.entry("type").or_insert_with(|| "object".into());
    object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Arc::new(object)
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            remove_null(object);
            object.remove("format");
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            for (key, value) in object.iter_mut() {
                match (key.as_str(), value) {
                    // Keys here are member names, not keywords.
                    ("properties", Value::Object(members)) => {
                        members.values_mut().for_each(simplify);
                    }
                    (_, value) => simplify(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Replaces `["integer", "null"]`, and `anyOf` an integer and null, by an integer.
fn remove_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|value| value != "null");
        if let [value] = types.as_slice() {
            let value = value.clone();
            object.insert("type".into(), value);
        }
    }
    let is_null = |value: &Value| value.get("type").is_some_and(|kind| kind == "null");
    let only = match object.get_mut("anyOf") {
        Some(Value::Array(alternatives)) => {
            alternatives.retain(|value| !is_null(value));
            if let [Value::Object(only)] = alternatives.as_slice() {
                Some(only.clone())
            } else {
                None
            }
        }
        _ => None,
    };
    if let Some(only) = only {
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
        remove_null(object);
    }
}

/// Removes members that are null, as the schemas require, and marks hidden characters in strings.
pub(crate) fn clean_value(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (mark(&key).into_owned(), clean_value(value)))
                .collect(),
        ),
        Value::Array(items) => items.into_iter().map(clean_value).collect(),
        Value::String(text) => Value::String(mark(&text).into_owned()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Inner {
        deep: Option<bool>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Outer {
        count: Option<u32>,
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        name: String,
    }

    #[test]
    fn mc_06_schemas_have_no_unions_or_references() {
        let schema = serde_json::to_value(&*schema_of::<Outer>()).unwrap();
        let text = schema.to_string();
        for keyword in ["null", "$ref", "$defs", "anyOf", "format", "$schema"] {
            assert!(!text.contains(keyword), "{keyword}: {text}");
        }
        assert_eq!(schema["properties"]["count"]["type"], "integer");
        assert_eq!(schema["properties"]["inner"]["type"], "object");
        assert_eq!(schema["required"], serde_json::json!(["name"]));
    }

    #[test]
    fn mc_06_null_members_are_removed() {
        let value = serde_json::json!({"a": null, "b": [{"c": null, "d": 1}], "e": "x\u{202e}y"});
        let cleaned = clean_value(value);
        assert_eq!(cleaned["b"], serde_json::json!([{"d": 1}]));
        assert!(cleaned.get("a").is_none());
        assert!(!cleaned["e"].as_str().unwrap().contains('\u{202e}'));
    }
}
