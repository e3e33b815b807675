//! Badges and the OpenAPI document.

use sp_testkit::eventually;

use super::*;

#[test]
fn badges_show_the_version_and_the_downloads() {
    let fixture = RegistryFixture::new();
    fixture.publish_knowledge("acme/notes", "1.2.0", "Notes.");
    fixture.registry.request("GET /api/v1/packages/acme/notes/1.2.0/download", None, b"");
    let badge = fixture.page("/badges/acme/notes.svg");
    assert_eq!((badge.status, badge.header("content-type")), (200, Some("image/svg+xml")));
    assert_eq!(badge.header("cache-control"), Some("public, max-age=300"));
    assert!(
        badge.text().contains(">v1.2.0</text>") && badge.text().contains(">@acme/notes</text>")
    );
    // Downloads are counted in batches, once a second.
    let counted = || fixture.page("/badges/acme/notes/downloads.svg").text().contains(">1</text>");
    eventually(|| counted().then_some(()));
    let index =
        fixture.registry.request("GET /api/v1/packages/acme/notes/index.json", None, b"").json();
    assert_eq!(index["downloads"], 1);
    for path in
        ["/badges/acme/nothing.svg", "/badges/%3Cscript%3E/x.svg", "/badges/acme/%3Cscript%3E.svg"]
    {
        let badge = fixture.page(path);
        assert_eq!(
            (badge.status, badge.header("content-type")),
            (404, Some("image/svg+xml")),
            "{path}"
        );
        assert!(!badge.text().contains("<script"), "{path}");
    }
}

#[test]
fn openapi_document_matches_the_responses() {
    let fixture = RegistryFixture::new();
    fixture.publish_skill("acme/notes", "# Notes\n\nWhat we know.\n");
    let document = fixture.registry.request("GET /api/openapi.json", None, b"").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let url =
            path.replace("{ns}", "acme").replace("{name}", "notes").replace("{version}", "1.0.0");
        let file = if path.starts_with("/.well-known/") { "index.json" } else { "notes.svg" };
        let url = url.replace("{file}", file).replace("{user}", "you").replace("{id}", "1");
        for method in ["get", "put", "post", "delete", "patch"] {
            let is_documented = methods.get(method).is_some();
            // Without a token, other methods are refused before they change anything.
            let token = (method == "get").then_some(fixture.admin.as_str());
            let url =
                if path.ends_with("/search") { format!("{url}?q=notes") } else { url.clone() };
            let answer =
                fixture.registry.request(&format!("{} {url}", method.to_uppercase()), token, b"");
            assert_eq!(answer.status != 405, is_documented, "{method} {path}: {}", answer.status);
            if method == "get" && is_documented {
                let expected = match path.as_str() {
                    // Signed URLs.
                    path if path.starts_with("/packs/") || path.starts_with("/s/") => 403,
                    // The registry has no public URL.
                    path if path.ends_with("/oidc/audience") => 404,
                    _ => 200,
                };
                assert_eq!(answer.status, expected, "{path}: {}", answer.text());
                assert_matches(&document, &methods["get"], &answer, path);
                checked += 1;
            }
        }
    }
    assert!(checked > 12, "{checked}");
    let page = fixture.page("/api").text();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(page.contains(path.as_str()), "{path}");
    }
}

/// Checks a response against the document.
fn assert_matches(document: &Value, operation: &Value, answer: &HttpResponse, path: &str) {
    let responses = &operation["responses"];
    let response = responses.get(answer.status.to_string()).unwrap_or(&responses["default"]);
    let response = response["$ref"]
        .as_str()
        .map_or(response, |pointer| document.pointer(pointer.trim_start_matches('#')).unwrap());
    let media_type = answer.header("content-type").unwrap().split(';').next().unwrap();
    let content =
        response["content"].get(media_type).unwrap_or_else(|| panic!("{path}: {media_type}"));
    let Some(schema) = content.get("schema") else { return };
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let body = answer.json();
    let errors: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{path}: {errors:?}");
}
