//! The page about the API, made of its own document.

use askama::Template;
use serde_json::Value;

use super::visit::{Frame, Visit};
use super::{Answer, page};
use crate::registry::api::openapi::DOCUMENT;

#[derive(Template)]
#[template(path = "reference.html")]
struct Reference<'a> {
    frame: &'a Frame,
    operations: Vec<Operation>,
    schemas: Vec<Shape>,
}

struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    who: String,
    parameters: Vec<Parameter>,
    asks: Option<Content>,
    answers: Vec<(String, Content)>,
}

struct Parameter {
    name: String,
    place: String,
    about: String,
    needed: bool,
}

/// What is sent: its media types, and the name of its shape.
#[derive(Default)]
struct Content {
    media: String,
    list: bool,
    shape: Option<String>,
}

struct Shape {
    name: String,
    about: String,
    members: Vec<Member>,
}

struct Member {
    name: String,
    about: String,
    kind: String,
    shape: Option<String>,
    needed: bool,
}

pub(super) async fn reference(visit: Visit) -> Answer {
    let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
    let operations = paths
        .flat_map(|(path, methods)| methods.as_object().into_iter().flatten().map(move |one| (path, one)))
        .map(|(path, (method, operation))| operation_of(path, method, operation))
        .collect();
    let schemas = DOCUMENT["components"]["schemas"].as_object().into_iter().flatten();
    let schemas = schemas.map(|(name, schema)| shape_of(name, schema)).collect();
    page(&Reference { frame: &visit.frame, operations, schemas })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn operation_of(path: &str, method: &str, operation: &Value) -> Operation {
    let parameters = operation["parameters"].as_array().into_iter().flatten().map(|parameter| Parameter {
        name: text(&parameter["name"]),
        place: text(&parameter["in"]),
        about: text(&parameter["description"]),
        needed: parameter["required"] == true,
    });
    let answers = operation["responses"].as_object().into_iter().flatten().filter(|(status, _)| *status != "default");
    Operation {
        id: text(&operation["operationId"]),
        method: method.to_uppercase(),
        path: path.into(),
        summary: text(&operation["summary"]),
        who: text(&operation["description"]),
        parameters: parameters.collect(),
        asks: operation.get("requestBody").map(content_of),
        answers: answers.map(|(status, answer)| (status.clone(), content_of(answer))).collect(),
    }
}

fn content_of(body: &Value) -> Content {
    let all: Vec<(&String, &Value)> = body["content"].as_object().into_iter().flatten().collect();
    let media = all.iter().map(|(media, _)| media.as_str()).collect::<Vec<_>>().join(", ");
    // What has several media types has no shape that all of them share.
    let [(_, content)] = all[..] else { return Content { media, ..Content::default() } };
    let schema = &content["schema"];
    let list = schema["type"] == "array";
    Content { media, list, shape: shape_name(if list { &schema["items"] } else { schema }) }
}

/// The name of the shape to which a schema refers.
fn shape_name(schema: &Value) -> Option<String> {
    let direct = schema["$ref"].as_str();
    let one_of = schema["anyOf"].as_array().into_iter().flatten().find_map(|one| one["$ref"].as_str());
    direct.or(one_of)?.rsplit('/').next().map(str::to_owned)
}

fn shape_of(name: &str, schema: &Value) -> Shape {
    let needed: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members = schema["properties"].as_object().into_iter().flatten().map(|(name, member)| Member {
        name: name.clone(),
        about: text(&member["description"]),
        kind: kind_of(member),
        shape: shape_name(member).or_else(|| shape_name(&member["items"])),
        needed: needed.contains(&name.as_str()),
    });
    Shape { name: name.into(), about: text(&schema["description"]), members: members.collect() }
}

fn kind_of(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", kind_of(&schema["items"])),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        _ => shape_name(schema).unwrap_or_else(|| "anything".into()),
    }
}
