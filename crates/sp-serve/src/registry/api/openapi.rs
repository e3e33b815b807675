//! Builds the OpenAPI 3.1 document from the route table.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use sp_formats::registry::RegistryErrorResponse;

use super::route::{ApiRoute, QueryParam, RouteAccess, RouteBody};

/// Descriptions of path parameters.
const PATH_PARAMETERS: &[(&str, &str)] = &[
    ("ns", "Namespace, without `@`"),
    ("name", "Package name, without its namespace"),
    ("version", "Version, such as `1.2.0`"),
    ("file", "File name or path"),
    ("user", "User name"),
    ("id", "Token ID, publisher ID or pack ID"),
    ("kid", "Key ID"),
];

pub(super) fn build_document(routes: &[ApiRoute]) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut schemas = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let entry = paths.entry(document_path(route)).or_insert_with(|| json!({}));
        entry[route.method] = operation(route, &mut schemas);
    }
    let error = schemas.subschema_for::<RegistryErrorResponse>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Skillpack registry",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Publish, search and download packages of skills and knowledge, and \
                 host context packs.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "responses": {
                "Refused": {
                    "description": "Error, with its cause",
                    "content": {"application/json": {"schema": error}},
                },
                "RefusedOrShown": {
                    "description": "Error, with its cause; a web page for clients that accept \
                         `text/html`",
                    "content": {"application/json": {"schema": error}, "text/html": {}},
                },
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn operation(route: &ApiRoute, schemas: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for (status, body) in &route.responses {
        let response = responses
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": status_description(*status)}));
        // A status may have several media types.
        if let Some((media, content)) = content(*body, schemas) {
            response["content"][media] = content;
        }
    }
    responses.insert("default".into(), json!({"$ref": error_response_ref(route)}));
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "description": format!("Requires {}.", route.access.describe()),
        "parameters": parameters(route),
        "responses": responses,
        "security": match route.access {
            // A token is optional: with one, more may be visible.
            RouteAccess::Public => json!([{}, {"token": []}]),
            _ => json!([{"token": []}]),
        },
    });
    if let Some((media, content)) = content(route.request_body, schemas) {
        operation["requestBody"] =
            json!({"required": route.body_required, "content": {media: content}});
    }
    operation
}

/// The error response: outside the API, browsers get a page.
fn error_response_ref(route: &ApiRoute) -> &'static str {
    if route.path.starts_with("/api/") {
        "#/components/responses/Refused"
    } else {
        "#/components/responses/RefusedOrShown"
    }
}

fn status_description(status: u16) -> &'static str {
    match status {
        201 => "Created",
        202 => "Accepted",
        204 => "Done, without content",
        206 => "Requested range",
        304 => "Not modified",
        400 | 406 | 413 | 415 => "Invalid request",
        403 => "Forbidden origin",
        404 => "Not found",
        _ => "Success",
    }
}

fn content(body: RouteBody, schemas: &mut SchemaGenerator) -> Option<(&'static str, Value)> {
    match body {
        RouteBody::Json(schema) => Some(("application/json", json!({"schema": schema(schemas)}))),
        RouteBody::Media(media) => Some((media, json!({}))),
        RouteBody::Empty => None,
    }
}

fn parameters(route: &ApiRoute) -> Vec<Value> {
    let description = |name: &str| {
        PATH_PARAMETERS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    };
    let schema = |name: &str| {
        if route.integer_params.contains(&name) {
            json!({"type": "integer", "minimum": 0})
        } else {
            json!({"type": "string"})
        }
    };
    let in_path = path_parameters(route.path).map(
        |name| json!({"name": name, "in": "path", "required": true, "description": description(name), "schema": schema(name)}),
    );
    let in_query = route.query_params.iter().map(|QueryParam { name, description, required }| {
        json!({"name": name, "in": "query", "required": required, "description": description, "schema": schema(name)})
    });
    in_path.chain(in_query).collect()
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*')))
}

/// The path of a route in OpenAPI, which has no wildcard syntax.
fn document_path(route: &ApiRoute) -> String {
    route.path.replace("{*", "{")
}

/// An identifier for generated clients: `get_packages_ns_name_version_download`.
fn operation_id(route: &ApiRoute) -> String {
    let words = route
        .path
        .trim_start_matches(sp_formats::registry::API_PREFIX)
        .split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{}_{}", route.method, words.join("_"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn document_contains_exactly_the_routes() {
        let routes = super::super::routes();
        let routed: BTreeSet<(String, String)> =
            routes.iter().map(|route| (document_path(route), route.method.to_owned())).collect();
        assert_eq!(routed.len(), routes.len(), "duplicate route");
        let document = build_document(&routes);
        let documented: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone()))
            })
            .collect();
        assert_eq!(routed, documented);
    }

    /// Routes outside the table would be missing from the document.
    #[test]
    fn all_routes_come_from_the_table() {
        let source = concat!(include_str!("mod.rs"), include_str!("../router.rs"));
        assert_eq!(source.matches(".route(").count(), 1, "add routes to the table");
    }

    #[test]
    fn routes_are_fully_documented_and_references_resolve() {
        let routes = super::super::routes();
        for route in &routes {
            assert!(
                !route.summary.is_empty() && !route.responses.is_empty(),
                "{} {}",
                route.method,
                route.path
            );
            for name in path_parameters(route.path) {
                assert!(
                    PATH_PARAMETERS.iter().any(|(known, _)| *known == name),
                    "`{name}` in `{}`",
                    route.path
                );
            }
        }
        let document = build_document(&routes);
        let text = document.to_string();
        for start in
            text.match_indices("\"$ref\":\"#/").map(|(index, _)| index + "\"$ref\":\"#".len())
        {
            let pointer = &text[start..start + text[start..].find('"').unwrap()];
            assert!(document.pointer(pointer).is_some(), "unresolved reference {pointer}");
        }
    }
}
