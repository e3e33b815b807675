//! The API reference, rendered from the OpenAPI document.

use askama::Template;
use axum::extract::State as Shared;
use serde_json::Value;

use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, render_page};
use crate::registry::state::AppState;

#[derive(Template)]
#[template(path = "reference.html")]
struct ApiReferencePage<'a> {
    frame: &'a PageLayout,
    operations: Vec<ApiOperationView>,
    schemas: Vec<ApiSchemaView>,
}

struct ApiOperationView {
    id: String,
    method: String,
    path: String,
    summary: String,
    who: String,
    parameters: Vec<ApiParameterView>,
    asks: Option<ApiContentView>,
    answers: Vec<(String, ApiContentView)>,
}

struct ApiParameterView {
    name: String,
    place: String,
    about: String,
    needed: bool,
}

/// The media types of a body, and the name of its schema.
#[derive(Default)]
struct ApiContentView {
    media: String,
    list: bool,
    shape: Option<String>,
}

struct ApiSchemaView {
    name: String,
    about: String,
    members: Vec<ApiFieldView>,
}

struct ApiFieldView {
    name: String,
    about: String,
    kind: String,
    shape: Option<String>,
    needed: bool,
}

pub(super) async fn reference(Shared(state): Shared<AppState>, visit: PageVisitor) -> PageResult {
    let document = &*state.openapi;
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths
        .flat_map(|(path, methods)| {
            methods.as_object().into_iter().flatten().map(move |one| (path, one))
        })
        .map(|(path, (method, operation))| operation_view(path, method, operation))
        .collect();
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let schemas = schemas.map(|(name, schema)| schema_view(name, schema)).collect();
    render_page(&ApiReferencePage { frame: &visit.layout, operations, schemas })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn operation_view(path: &str, method: &str, operation: &Value) -> ApiOperationView {
    let parameters = operation["parameters"].as_array().into_iter().flatten().map(|parameter| {
        ApiParameterView {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            about: text(&parameter["description"]),
            needed: parameter["required"] == true,
        }
    });
    let answers = operation["responses"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(status, _)| *status != "default");
    ApiOperationView {
        id: text(&operation["operationId"]),
        method: method.to_uppercase(),
        path: path.into(),
        summary: text(&operation["summary"]),
        who: text(&operation["description"]),
        parameters: parameters.collect(),
        asks: operation.get("requestBody").map(content_view),
        answers: answers.map(|(status, answer)| (status.clone(), content_view(answer))).collect(),
    }
}

fn content_view(body: &Value) -> ApiContentView {
    let all: Vec<(&String, &Value)> = body["content"].as_object().into_iter().flatten().collect();
    let media = all.iter().map(|(media, _)| media.as_str()).collect::<Vec<_>>().join(", ");
    // Bodies with several media types have no common schema.
    let [(_, content)] = all[..] else {
        return ApiContentView { media, ..ApiContentView::default() };
    };
    let schema = &content["schema"];
    let list = schema["type"] == "array";
    ApiContentView { media, list, shape: schema_name(if list { &schema["items"] } else { schema }) }
}

/// The name of the schema that a schema refers to.
fn schema_name(schema: &Value) -> Option<String> {
    let direct = schema["$ref"].as_str();
    let one_of =
        schema["anyOf"].as_array().into_iter().flatten().find_map(|one| one["$ref"].as_str());
    direct.or(one_of)?.rsplit('/').next().map(str::to_owned)
}

fn schema_view(name: &str, schema: &Value) -> ApiSchemaView {
    let needed: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members =
        schema["properties"].as_object().into_iter().flatten().map(|(name, member)| ApiFieldView {
            name: name.clone(),
            about: text(&member["description"]),
            kind: type_name(member),
            shape: schema_name(member).or_else(|| schema_name(&member["items"])),
            needed: needed.contains(&name.as_str()),
        });
    ApiSchemaView {
        name: name.into(),
        about: text(&schema["description"]),
        members: members.collect(),
    }
}

fn type_name(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(kind) if kind == "array" => {
            format!("list of {}", type_name(&schema["items"]))
        }
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => schema_name(schema).unwrap_or_else(|| "any".into()),
    }
}
