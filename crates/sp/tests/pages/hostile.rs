//! What a page shows of hostile text and of private packages.

use super::*;

/// Text that would be markup if anything let it.
const HOSTILE: &str = "</title></main></svg><script>alert(1)</script><img src=x onerror=alert(1)>\" onmouseover=\"alert(1)'";

/// What a page may not have, whatever anybody wrote.
fn assert_tame(page: &str, what: &str) {
    for markup in ["<script>", "<img src=x", "href=\"javascript:", "href=\"data:"] {
        assert!(!page.contains(markup), "{what} has `{markup}`");
    }
    // What would be an attribute stands in a text, or within the quotes of one of ours.
    for (at, _) in page.match_indices("onmouseover=").chain(page.match_indices("onerror=")) {
        let tag = page[..at].rfind('<').map_or("", |start| &page[start..at]);
        assert!(tag.contains('>') || tag.matches('"').count() % 2 == 1, "{what}: {tag}");
    }
    // A picture of a graph has titles too, and each of them is closed once.
    for (open, close) in [("<title>", "</title>"), ("<main", "</main>"), ("<svg", "</svg>")] {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{what}: {close}");
    }
}

#[test]
fn whatever_is_published_or_asked_is_only_text_on_the_pages() {
    let place = Place::new();
    place.knowledge("acme/hostile", "1.0.0", HOSTILE);
    let readme = format!(
        "# {HOSTILE}\n\n{HOSTILE}\n\n<script>alert(1)</script>\n\n[a](javascript:alert(1)) [b](data:text/html,x) \
         ![c](https://evil.example/c.png) [d](https://example.com/ok)\n\n| a |\n|--:|\n| {HOSTILE} |\n"
    );
    place.skill("acme/reader", &readme);
    for path in [
        "/",
        "/search?q=hostile",
        "/namespaces/acme",
        "/packages/acme/hostile",
        "/packages/acme/reader",
    ] {
        let answer = place.page(path);
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.text();
        assert_tame(&text, path);
        assert!(
            text.contains("&#60;script&#62;")
                || text.contains("&lt;script&gt;")
                || path == "/search?q=hostile",
            "{path}"
        );
    }
    let page = place.page("/packages/acme/reader").text();
    assert!(
        !page.contains("<img src=\"http") && page.contains("href=\"https://evil.example/c.png\"")
    );
    assert!(page.contains("href=\"https://example.com/ok\" rel=\"nofollow noopener noreferrer\""));
    assert!(!page.contains("style="), "the policy forbids it");
    for query in
        ["%3Cscript%3Ealert(1)%3C/script%3E", "%22%20onmouseover=%22x", "%3C/title%3E%3C/main%3E"]
    {
        assert_tame(&place.page(&format!("/search?q={query}")).text(), query);
    }
    let readme = place.registry.ask("GET /api/v1/packages/acme/reader/1.0.0/readme", None, b"");
    assert_eq!(readme.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(readme.text().starts_with("# </title>"));
}

#[test]
fn every_page_forbids_what_it_does_not_need() {
    let place = Place::new();
    place.knowledge("acme/notes", "1.0.0", "Notes.");
    for path in [
        "/",
        "/search?q=notes",
        "/packages/acme/notes",
        "/namespaces/acme",
        "/login",
        "/api",
        "/nothing",
    ] {
        let answer = place.page(path);
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
    let page = place.page("/").text();
    for part in page.split("/-/static/").skip(1) {
        let file = &part[..part.find('"').unwrap()];
        let answer = place.page(&format!("/-/static/{file}"));
        assert_eq!(answer.status, 200, "{file}");
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
    assert_eq!(place.page("/-/static/site.css").status, 404);
    // Programs are told in JSON, and the API tells nobody in HTML.
    assert_eq!(place.registry.ask("GET /nothing", None, b"").json()["code"], "not_found");
    assert_eq!(place.page("/api/v1/nothing").json()["code"], "not_found");
    assert_eq!(
        place.registry.ask("POST /api/v1/index.json", None, b"").json()["code"],
        "method_not_allowed"
    );
    assert_eq!(
        place.registry.ask("POST /api/v1/tokens", Some(&place.admin), b"{").json()["code"],
        "invalid"
    );
}

#[test]
fn a_private_package_is_on_no_page_for_strangers() {
    let place = Place::new();
    place.knowledge("acme/secret", "1.0.0", "Hidden plans.");
    place.registry.ask("PUT /api/v1/packages/acme/secret/private", Some(&place.me), b"");
    let (you, _) = place.login(&token(&place.registry, &place.admin, "you", "read"));
    let (me, _) = place.login(&place.me);
    let pairs = [
        ("/packages/acme/secret", "/packages/acme/nothing"),
        ("/packages/acme/secret/1.0.0", "/packages/acme/nothing/1.0.0"),
        ("/namespaces/acme", "/namespaces/nobody"),
        ("/badges/acme/secret.svg", "/badges/acme/nothing.svg"),
        ("/badges/acme/secret/downloads.svg", "/badges/acme/nothing/downloads.svg"),
        ("/api/v1/packages/acme/secret/1.0.0/readme", "/api/v1/packages/acme/nothing/1.0.0/readme"),
    ];
    // Every answer has a time and an id of its own.
    let is_own = |line: &str| line.starts_with("date:") || line.starts_with("x-request-id:");
    let head = |answer: &HttpAnswer| -> Vec<String> {
        answer.head.lines().filter(|line| !is_own(line)).map(str::to_owned).collect()
    };
    for (hidden, nothing) in pairs {
        for cookie in ["", &you] {
            let (hidden, nothing) = (place.page_as(hidden, cookie), place.page_as(nothing, cookie));
            assert_eq!(
                (hidden.status, head(&hidden), hidden.text()),
                (404, head(&nothing), nothing.text())
            );
        }
    }
    for path in ["/", "/search?q=secret", "/search?q=hidden"] {
        for cookie in ["", &you] {
            let page = place.page_as(path, cookie).text();
            assert!(!page.contains("@acme/secret") && !page.contains("Hidden plans"), "{path}");
        }
        assert!(place.page_as(path, &me).text().contains("@acme/secret"), "{path}");
    }
    for path in ["/packages/acme/secret", "/packages/acme/secret/1.0.0", "/namespaces/acme"] {
        assert_eq!(place.page_as(path, &me).status, 200, "{path}");
    }
    assert_eq!(
        place.page_as("/badges/acme/secret.svg", &me).status,
        404,
        "a badge is the same for all"
    );
}
