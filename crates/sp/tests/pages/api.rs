//! Badges and the OpenAPI document.

use sp_testkit::eventually;

use super::*;

#[test]
fn a_badge_says_the_version_and_the_downloads() {
    let place = Place::new();
    place.knowledge("acme/notes", "1.2.0", "Notes.");
    place.registry.ask("GET /api/v1/packages/acme/notes/1.2.0/download", None, b"");
    let badge = place.page("/badges/acme/notes.svg");
    assert_eq!((badge.status, badge.header("content-type")), (200, Some("image/svg+xml")));
    assert_eq!(badge.header("cache-control"), Some("public, max-age=300"));
    assert!(
        badge.text().contains(">v1.2.0</text>") && badge.text().contains(">@acme/notes</text>")
    );
    // Counts are written together, once a second.
    let counted = || place.page("/badges/acme/notes/downloads.svg").text().contains(">1</text>");
    eventually(|| counted().then_some(()));
    let index = place.registry.ask("GET /api/v1/packages/acme/notes/index.json", None, b"").json();
    assert_eq!(index["downloads"], 1);
    for path in
        ["/badges/acme/nothing.svg", "/badges/%3Cscript%3E/x.svg", "/badges/acme/%3Cscript%3E.svg"]
    {
        let badge = place.page(path);
        assert_eq!(
            (badge.status, badge.header("content-type")),
            (404, Some("image/svg+xml")),
            "{path}"
        );
        assert!(badge.text().contains("not found") && !badge.text().contains("<script"), "{path}");
    }
}

#[test]
fn the_document_of_the_api_tells_what_the_registry_answers() {
    let place = Place::new();
    place.skill("acme/notes", "# Notes\n\nWhat we know.\n");
    let document = place.registry.ask("GET /api/openapi.json", None, b"").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut looked_at = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let address =
            path.replace("{ns}", "acme").replace("{name}", "notes").replace("{version}", "1.0.0");
        let file = if path.starts_with("/.well-known/") { "index.json" } else { "notes.svg" };
        let address = address.replace("{file}", file).replace("{user}", "you").replace("{id}", "1");
        for method in ["get", "put", "post", "delete", "patch"] {
            let is_told = methods.get(method).is_some();
            // Nothing is changed here: whoever has no token is refused, but not as one who is at no
            // address.
            let token = (method == "get").then_some(place.admin.as_str());
            let address = if path.ends_with("/search") {
                format!("{address}?q=notes")
            } else {
                address.clone()
            };
            let answer =
                place.registry.ask(&format!("{} {address}", method.to_uppercase()), token, b"");
            assert_eq!(answer.status != 405, is_told, "{method} {path}: {}", answer.status);
            if method == "get" && is_told {
                let is_closed = path.starts_with("/packs/") || path.starts_with("/s/");
                assert_eq!(
                    answer.status,
                    if is_closed { 403 } else { 200 },
                    "{path}: {}",
                    answer.text()
                );
                fits(&document, &methods["get"], &answer, path);
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 12, "{looked_at}");
    let page = place.page("/api").text();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(page.contains(path.as_str()), "{path}");
    }
}

/// Holds an answer against what the document says of it.
fn fits(document: &Value, operation: &Value, answer: &HttpAnswer, path: &str) {
    let responses = &operation["responses"];
    let told = responses.get(answer.status.to_string()).unwrap_or(&responses["default"]);
    let told = told["$ref"]
        .as_str()
        .map_or(told, |at| document.pointer(at.trim_start_matches('#')).unwrap());
    let media = answer.header("content-type").unwrap().split(';').next().unwrap();
    let content = told["content"].get(media).unwrap_or_else(|| panic!("{path}: {media}"));
    let Some(schema) = content.get("schema") else { return };
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let answer = answer.json();
    let wrong: Vec<String> =
        validator.iter_errors(&answer).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{path}: {wrong:?}");
}
