//! Pages with hostile text, security headers, and pages of private packages.

use super::*;

/// Text that would be markup if it were not escaped.
const HOSTILE: &str = "</title></main></svg><script>alert(1)</script><img src=x onerror=alert(1)>\" onmouseover=\"alert(1)'";

/// Checks that no hostile text became markup.
fn assert_escaped(page: &str, label: &str) {
    for markup in ["<script>", "<img src=x", "href=\"javascript:", "href=\"data:"] {
        assert!(!page.contains(markup), "{label} has `{markup}`");
    }
    // Event handlers must be in text or in the quoted value of an attribute.
    for (offset, _) in page.match_indices("onmouseover=").chain(page.match_indices("onerror=")) {
        let tag = page[..offset].rfind('<').map_or("", |start| &page[start..offset]);
        assert!(tag.contains('>') || tag.matches('"').count() % 2 == 1, "{label}: {tag}");
    }
    // The image of a graph has titles too.
    for (open, close) in [("<title>", "</title>"), ("<main", "</main>"), ("<svg", "</svg>")] {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{label}: {close}");
    }
}

#[test]
fn published_and_requested_text_is_escaped_on_pages() {
    let fixture = RegistryFixture::new();
    fixture.publish_knowledge("acme/hostile", "1.0.0", HOSTILE);
    let readme = format!(
        "# {HOSTILE}\n\n{HOSTILE}\n\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) [b](data:text/html,x) \
         ![c](https://evil.example/c.png) [d](https://example.com/ok)\n\n| a |\n|--:|\n| {HOSTILE} |\n"
    );
    fixture.publish_skill("acme/reader", &readme);
    for path in [
        "/",
        "/search?q=hostile",
        "/namespaces/acme",
        "/packages/acme/hostile",
        "/packages/acme/reader",
    ] {
        let answer = fixture.page(path);
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.text();
        assert_escaped(&text, path);
        assert!(
            text.contains("&#60;script&#62;")
                || text.contains("&lt;script&gt;")
                || path == "/search?q=hostile",
            "{path}"
        );
    }
    let page = fixture.page("/packages/acme/reader").text();
    assert!(
        !page.contains("<img src=\"http") && page.contains("href=\"https://evil.example/c.png\"")
    );
    assert!(page.contains("href=\"https://example.com/ok\" rel=\"nofollow noopener noreferrer\""));
    assert!(!page.contains("style="), "the content security policy forbids it");
    for query in
        ["%3Cscript%3Ealert(1)%3C/script%3E", "%22%20onmouseover=%22x", "%3C/title%3E%3C/main%3E"]
    {
        assert_escaped(&fixture.page(&format!("/search?q={query}")).text(), query);
    }
    let readme =
        fixture.registry.request("GET /api/v1/packages/acme/reader/1.0.0/readme", None, b"");
    assert_eq!(readme.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(readme.text().starts_with("# </title>"));
}

#[test]
fn pages_have_restrictive_headers_and_api_errors_are_json() {
    let fixture = RegistryFixture::new();
    fixture.publish_knowledge("acme/notes", "1.0.0", "Notes.");
    for path in [
        "/",
        "/search?q=notes",
        "/packages/acme/notes",
        "/namespaces/acme",
        "/login",
        "/api",
        "/nothing",
    ] {
        let answer = fixture.page(path);
        let policy = answer.header("content-security-policy").unwrap();
        for part in
            ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-frame-options"), Some("deny"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("private, no-store"), "{path}");
        assert_eq!(answer.text().matches("<h1").count(), 1, "{path}");
    }
    let page = fixture.page("/").text();
    for part in page.split("/-/static/").skip(1) {
        let file = &part[..part.find('"').unwrap()];
        let answer = fixture.page(&format!("/-/static/{file}"));
        assert_eq!(answer.status, 200, "{file}");
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
    assert_eq!(fixture.page("/-/static/site.css").status, 404);
    // Clients that do not accept HTML get JSON errors, and the API never returns HTML.
    assert_eq!(fixture.registry.request("GET /nothing", None, b"").json()["code"], "not_found");
    assert_eq!(fixture.page("/api/v1/nothing").json()["code"], "not_found");
    assert_eq!(
        fixture.registry.request("POST /api/v1/index.json", None, b"").json()["code"],
        "method_not_allowed"
    );
    assert_eq!(
        fixture.registry.request("POST /api/v1/tokens", Some(&fixture.admin), b"{").json()["code"],
        "invalid"
    );
}

#[test]
fn private_package_is_on_no_page_for_non_members() {
    let fixture = RegistryFixture::new();
    fixture.publish_knowledge("acme/secret", "1.0.0", "Hidden plans.");
    fixture.registry.request(
        "PUT /api/v1/packages/acme/secret/private",
        Some(&fixture.publisher),
        b"",
    );
    let (other_cookie, _) =
        fixture.login(&create_token(&fixture.registry, &fixture.admin, "you", "read"));
    let (member_cookie, _) = fixture.login(&fixture.publisher);
    let pairs = [
        ("/packages/acme/secret", "/packages/acme/nothing"),
        ("/packages/acme/secret/1.0.0", "/packages/acme/nothing/1.0.0"),
        ("/namespaces/acme", "/namespaces/nobody"),
        ("/badges/acme/secret.svg", "/badges/acme/nothing.svg"),
        ("/badges/acme/secret/downloads.svg", "/badges/acme/nothing/downloads.svg"),
        ("/api/v1/packages/acme/secret/1.0.0/readme", "/api/v1/packages/acme/nothing/1.0.0/readme"),
    ];
    // The date and the request ID differ between responses.
    let is_volatile = |line: &str| line.starts_with("date:") || line.starts_with("x-request-id:");
    let head = |answer: &HttpResponse| -> Vec<String> {
        answer.head.lines().filter(|line| !is_volatile(line)).map(str::to_owned).collect()
    };
    for (private, missing) in pairs {
        for cookie in ["", &other_cookie] {
            let private = fixture.page_as(private, cookie);
            let missing = fixture.page_as(missing, cookie);
            assert_eq!(
                (private.status, head(&private), private.text()),
                (404, head(&missing), missing.text())
            );
        }
    }
    for path in ["/", "/search?q=secret", "/search?q=hidden"] {
        for cookie in ["", &other_cookie] {
            let page = fixture.page_as(path, cookie).text();
            assert!(!page.contains("@acme/secret") && !page.contains("Hidden plans"), "{path}");
        }
        assert!(fixture.page_as(path, &member_cookie).text().contains("@acme/secret"), "{path}");
    }
    for path in ["/packages/acme/secret", "/packages/acme/secret/1.0.0", "/namespaces/acme"] {
        assert_eq!(fixture.page_as(path, &member_cookie).status, 200, "{path}");
    }
    assert_eq!(
        fixture.page_as("/badges/acme/secret.svg", &member_cookie).status,
        404,
        "a badge does not depend on the session"
    );
}
