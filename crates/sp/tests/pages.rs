//! The pages of `sp serve`: in a real browser, and over plain HTTP by those who mean harm.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use serde_json::{Value, json};
use sp_testkit::{HttpAnswer, Registry, Tab, World, eventually, world};
use sp_tree::Digest;

/// A world with a registry that has packages, and whoever is there.
struct Place {
    world: World,
    registry: Registry,
    admin: String,
    me: String,
}

impl Place {
    fn new() -> Self {
        let world = world!();
        let data = world.path("registry").display().to_string();
        let serve = ["serve", "--data", &data, "--listen", "127.0.0.1:0", "--format", "json"];
        let registry = Registry::start(world.command(&serve));
        let admin = registry.admin.clone().unwrap();
        let me = token(&registry, &admin, "me", "publish");
        Self { world, registry, admin, me }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.registry.address)
    }

    fn publish(&self, name: &str, version: &str, bytes: &[u8]) {
        let request = format!("PUT /api/v1/packages/{name}/{version}");
        let answer = self.registry.ask(&request, Some(&self.me), bytes);
        assert_eq!(answer.status, 201, "{name}: {}", answer.text());
    }

    /// Publishes knowledge: some nodes that hang together.
    fn knowledge(&self, name: &str, version: &str, description: &str) {
        self.publish(name, version, &package(name, version, description, 12));
    }

    /// Publishes a skill with a text.
    fn skill(&self, name: &str, text: &str) {
        let (scope, own) = name.split_once('/').unwrap();
        let folder = format!("skills/{own}");
        let skill = format!(
            "---\nname: {own}\ndescription: Does something. Use it when something is to be done.\n---\n{text}"
        );
        self.world.write(&format!("{folder}/SKILL.md"), skill);
        let path = self.world.repo().join(&folder).display().to_string();
        let out = self.world.path("made.ctxpkg").display().to_string();
        let create = [
            "pkg",
            "create",
            "--kind",
            "skills",
            "--scope",
            scope,
            "--name",
            own,
            "--description",
            "A skill.",
            "-o",
            &out,
            &path,
        ];
        self.world.sp(&create).ok();
        self.publish(name, "1.0.0", &std::fs::read(&out).unwrap());
        std::fs::remove_file(&out).unwrap();
    }

    /// A page, as a browser asks for it.
    fn page(&self, path: &str) -> HttpAnswer {
        self.registry.send(&format!("GET {path}"), &[("accept", "text/html,*/*")], b"")
    }

    fn page_as(&self, path: &str, cookie: &str) -> HttpAnswer {
        self.registry.send(
            &format!("GET {path}"),
            &[("accept", "text/html"), ("cookie", cookie)],
            b"",
        )
    }

    /// Sends a form from a page of ours.
    fn form(&self, path: &str, cookie: &str, body: &str) -> HttpAnswer {
        self.form_from(&self.url(""), path, cookie, body)
    }

    fn form_from(&self, origin: &str, path: &str, cookie: &str, body: &str) -> HttpAnswer {
        let headers = [
            ("accept", "text/html"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", origin),
            ("cookie", cookie),
        ];
        self.registry.send(&format!("POST {path}"), &headers, body.as_bytes())
    }

    /// Logs in, and gives the cookie and what forms must bring along.
    fn login(&self, token: &str) -> (String, String) {
        let answer = self.form("/login", "", &format!("token={token}&next=%2Ftokens"));
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some("/tokens")),
            "{}",
            answer.text()
        );
        let set = answer.header("set-cookie").unwrap();
        assert!(
            set.contains("httponly; samesite=strict; max-age=43200") && set.contains("path=/"),
            "{set}"
        );
        assert!(!set.contains("secure") && !set.contains(token), "{set}");
        let cookie = set.split(';').next().unwrap().to_owned();
        let page = self.page_as("/tokens", &cookie).text();
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
        (cookie, rest[..64].to_owned())
    }
}

fn token(registry: &Registry, admin: &str, user: &str, scope: &str) -> String {
    let wanted = json!({"user": user, "scope": scope}).to_string();
    registry.ask("POST /api/v1/tokens", Some(admin), wanted.as_bytes()).json()["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn package(name: &str, version: &str, description: &str, count: usize) -> Vec<u8> {
    let node = |at: usize| json!({"id": format!("n{at}"), "type": "fact", "content": format!("{description} {at}")});
    let nodes: Vec<Value> = (0..count).map(node).collect();
    let edge = |at: usize| json!({"from": format!("n{at}"), "to": "n0", "type": "supports", "weight": 1.0});
    let edges: Vec<Value> = (1..count).map(edge).collect();
    let content =
        json!({"context_graph": {"format": "ctxpkg-graph-v2", "nodes": nodes, "edges": edges}})
            .to_string();
    let hash = Digest::of(content.as_bytes()).hex();
    let sha256 = Digest::of(format!("@{name}:{version}:{hash}").as_bytes()).hex();
    let manifest = json!({
        "schema_version": 2, "name": format!("@{name}"), "version": version, "description": description,
        "author": description, "tags": [description], "created_at": "2026-04-01T00:00:00Z", "layers": [],
        "conformance_level": 1, "provenance": {"tool": description, "tool_version": "1"},
        "integrity": {"sha256": sha256, "content_hash": hash, "byte_size": content.len()},
    });
    format!("{{\"manifest\":{manifest},\"content\":{content}}}").into_bytes()
}

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

#[test]
fn se_07_a_session_is_no_token_and_ends_with_it() {
    let place = Place::new();
    let you = token(&place.registry, &place.admin, "you", "read");
    let (cookie, form) = place.login(&you);
    assert!(place.page_as("/tokens", &cookie).text().contains("Only the admin"));
    // A session is worth nothing for the API, and a token is worth nothing as a session.
    let stranger = place.registry.send("GET /api/v1/whoami", &[("cookie", &cookie)], b"");
    assert_eq!(stranger.status, 401);
    assert_eq!(place.page_as("/tokens", &format!("sp-session={you}")).status, 303);
    // Who is no admin makes no tokens, even with a good form.
    let body = format!("form_token={form}&user=eve&scope=publish");
    assert_eq!(place.form("/tokens", &cookie, &body).status, 404);
    for wrong in ["", "ctxp_no", "%3Cscript%3E", &"x".repeat(4000)] {
        assert_eq!(place.form("/login", "", &format!("token={wrong}")).status, 401, "{wrong}");
    }
    assert_eq!(place.form("/login", "", &format!("token={}", "x".repeat(40_000))).status, 413);
    // A token that is revoked takes its sessions along.
    let (admin, admin_form) = place.login(&place.admin);
    let listed = place.registry.ask("GET /api/v1/tokens", Some(&place.admin), b"").json();
    let id =
        listed.as_array().unwrap().iter().find(|item| item["user"] == "you").unwrap()["id"].clone();
    let revoked = place.form("/tokens/revoke", &admin, &format!("form_token={admin_form}&id={id}"));
    assert!(revoked.status == 200 && revoked.text().contains("is revoked"), "{}", revoked.text());
    assert_eq!(place.page_as("/tokens", &cookie).status, 303);
    // After a logout the cookie is worth nothing, even to who kept it.
    let out = place.form("/logout", &admin, &format!("form_token={admin_form}"));
    assert_eq!((out.status, out.header("location")), (303, Some("/")));
    assert_eq!(place.page_as("/tokens", &admin).status, 303);
    // Of a session nothing is kept on the disk.
    let bare = cookie.split_once('=').unwrap().1;
    for name in ["registry.db", "registry.db-wal"] {
        let kept = std::fs::read(place.world.path("registry").join(name)).unwrap_or_default();
        assert!(!kept.windows(bare.len()).any(|bytes| bytes == bare.as_bytes()));
    }
    // Behind https the cookie goes nowhere else.
    let origin = format!("https://{}", place.registry.address);
    let secure = place.form_from(&origin, "/login", "", &format!("token={}", place.admin));
    assert!(secure.header("set-cookie").unwrap().ends_with("; secure"), "{}", secure.head);
}

#[test]
fn a_form_is_taken_only_from_a_page_of_its_session() {
    let place = Place::new();
    let (cookie, form) = place.login(&place.admin);
    let (other, other_form) = place.login(&place.admin);
    assert_ne!(form, other_form);
    let body = |form: &str| format!("form_token={form}&user=eve&scope=publish");
    let evil = "http://evil.example";
    for (origin, cookie, body) in [
        (place.url(""), cookie.as_str(), body("")),
        (place.url(""), &cookie, body(&other_form)),
        (place.url(""), &cookie, "user=eve&scope=publish".into()),
        (place.url(""), "", body(&form)),
        (place.url(""), &other, body(&form)),
        (evil.into(), &cookie, body(&form)),
        ("null".into(), &cookie, body(&form)),
        (format!("{}.evil.example", place.url("")), &cookie, body(&form)),
    ] {
        for path in ["/tokens", "/tokens/revoke", "/logout"] {
            let body = body.replace("user=eve&scope=publish", "user=eve&scope=publish&id=1");
            assert_eq!(
                place.form_from(&origin, path, cookie, &body).status,
                403,
                "{origin} {path} {body}"
            );
        }
    }
    assert_eq!(place.form_from(evil, "/login", "", &format!("token={}", place.admin)).status, 403);
    let headers =
        [("content-type", "application/x-www-form-urlencoded"), ("cookie", cookie.as_str())];
    let silent = place.registry.send("POST /tokens", &headers, body(&form).as_bytes());
    assert_eq!(silent.status, 403, "who does not say where a form comes from");
    let listed = place.registry.ask("GET /api/v1/tokens", Some(&place.admin), b"").json();
    assert_eq!(listed.as_array().unwrap().len(), 2, "nothing was made, and nothing was revoked");
    assert!(listed.as_array().unwrap().iter().all(|item| item["revoked"] == false));
    assert_eq!(place.page_as("/tokens", &cookie).status, 200, "and nobody was logged out");
}

#[test]
fn after_a_login_nobody_is_sent_elsewhere_and_no_header_is_forged() {
    let place = Place::new();
    for next in [
        "//evil.example",
        "%2F%2Fevil.example",
        "/%5Cevil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/a%0D%0ASet-Cookie:%20x=1",
        "/%09/evil.example",
        "evil.example",
        "%5C%5Cevil.example",
        "",
    ] {
        let answer = place.form("/login", "", &format!("token={}&next={next}", place.me));
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{next}");
        assert_eq!(answer.head.matches("set-cookie").count(), 1, "{next}");
        let page = place.page(&format!("/login?next={next}")).text();
        assert!(page.contains("name=\"next\" value=\"/\""), "{next}");
    }
    for path in [
        "/packages/acme/x%0D%0ASet-Cookie:%20x=1",
        "/search?q=%0D%0ASet-Cookie:%20x=1",
        "/%0D%0ASet-Cookie:x=1",
        "/namespaces/%0D%0ASet-Cookie:x",
        "/badges/acme/%0D%0Ax.svg",
        "/-/static/..%2F..%2Fetc%2Fpasswd",
        "/packages/%FF/x",
    ] {
        let answer = place.page(path);
        assert!(!answer.head.contains("set-cookie"), "{path}");
        assert!([200, 400, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

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
            // Nothing is changed here: whoever has no token is refused, but not as one who is at no address.
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

#[test]
fn a_reader_finds_a_package_from_the_keyboard() {
    let place = Place::new();
    place.knowledge("acme/postgres-notes", "1.2.0", "What we learned from PostgreSQL.");
    place.skill(
        "acme/reader",
        "# How to read\n\nRead **twice**.\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n",
    );
    let mut tab = Tab::open();
    tab.go(&place.url("/"));
    tab.press("/");
    assert_eq!(tab.eval("document.activeElement.id"), "search");
    tab.write("postgers");
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("location.pathname + location.search"), "/search?q=postgers");
    assert_eq!(tab.eval("document.querySelectorAll('.list > li').length"), 1);
    // From the beginning of the page the keyboard reaches everything that can be followed, first of all the content.
    tab.eval("document.activeElement.blur()");
    tab.press("Tab");
    assert_eq!(tab.eval("document.activeElement.className"), "skip");
    let mut reached = false;
    for _ in 0..12 {
        tab.press("Tab");
        reached |= tab.eval("document.activeElement.getAttribute('href')")
            == "/packages/acme/postgres-notes";
        if reached {
            break;
        }
    }
    assert!(reached);
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("document.querySelector('h1').textContent"), "@acme/postgres-notes");
    assert_eq!(tab.eval("document.querySelectorAll('svg.graph circle').length"), 12);
    assert_eq!(
        tab.eval("document.getElementById('c1').textContent"),
        "sp pkg install @acme/postgres-notes@^1.2"
    );
    let copied = tab.eval(
        "(async () => { const button = document.querySelector('[data-copy=c1]'); button.click();
           await new Promise((done) => setTimeout(done, 300)); return [button.hidden, button.textContent]; })()",
    );
    assert_eq!(copied[0], false);
    assert!(["Copied", "Selected"].contains(&copied[1].as_str().unwrap()), "{copied}");
    tab.go(&place.url("/packages/acme/reader"));
    assert_eq!(tab.eval("document.querySelector('.prose h3').textContent"), "How to read");
    assert_eq!(tab.eval("document.querySelector('.prose strong').textContent"), "twice");
    assert_eq!(tab.complaints, Vec::<String>::new());
    assert!(
        tab.asked.iter().all(|address| address.starts_with(&place.url("/"))),
        "{:?}",
        tab.asked
    );
}

#[test]
fn an_admin_makes_a_token_and_revokes_it_in_the_browser() {
    let place = Place::new();
    let mut tab = Tab::open();
    tab.go(&place.url("/tokens"));
    assert_eq!(tab.eval("location.pathname"), "/login");
    tab.eval("document.getElementById('token').focus()");
    tab.write(&place.admin);
    tab.follow(|tab| tab.press("Enter"));
    assert_eq!(tab.eval("location.pathname"), "/tokens");
    assert_eq!(tab.eval("document.cookie"), "", "a script sees no session");
    tab.eval("document.getElementById('user').focus()");
    tab.write("dave");
    tab.follow(|tab| tab.press("Enter"));
    let made = tab.eval("document.getElementById('minted').textContent");
    let made = made.as_str().unwrap();
    let whoami = || place.registry.ask("GET /api/v1/whoami", Some(made), b"");
    assert_eq!(whoami().json(), json!({"user": "dave", "scope": "publish"}));
    tab.go(&place.url("/tokens"));
    assert_eq!(
        tab.eval(&format!("document.body.textContent.includes('{made}')")),
        false,
        "it is shown once"
    );
    tab.follow(|tab| {
        tab.eval("[...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes('dave')).querySelector('button').click()");
    });
    assert_eq!(whoami().status, 401);
    tab.follow(|tab| {
        tab.eval("document.querySelector('nav form button').click()");
    });
    assert_eq!(tab.eval("document.querySelector('nav').textContent.includes('Log in')"), true);
    assert_eq!(tab.complaints, Vec::<String>::new());
}

#[test]
fn every_page_fits_a_telephone_in_the_light_and_in_the_dark() {
    let place = Place::new();
    let long = "word".repeat(60);
    place.knowledge(&format!("acme/{}", "n".repeat(64)), "1.0.0-alpha.beta.gamma.delta", &long);
    let wide = format!(
        "# {long}\n\n| {long} | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n\n```\n{long} {long}\n```\n\n`{long}`\n"
    );
    place.skill("acme/wide", &wide);
    let mut tab = Tab::open();
    tab.look(1280, "light");
    tab.go(&place.url("/login?next=/tokens"));
    tab.eval("document.getElementById('token').focus()");
    tab.write(&place.admin);
    tab.follow(|tab| tab.press("Enter"));
    let name = format!("/packages/acme/{}", "n".repeat(64));
    let search = format!("/search?q={}", "n".repeat(64));
    for path in [
        "/",
        &search,
        "/search?q=zzz",
        &name,
        "/packages/acme/wide",
        "/namespaces/acme",
        "/tokens",
        "/login",
        "/api",
        "/healthz/no",
    ] {
        tab.go(&place.url(path));
        for (width, scheme) in [(360, "light"), (360, "dark"), (820, "light"), (1280, "dark")] {
            tab.look(width, scheme);
            let widest = tab.eval("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(widest <= u64::from(width), "{path} is {widest} wide in {width}");
            let faint = tab.eval(CONTRAST);
            assert_eq!(faint, json!([]), "{path} in the {scheme}");
        }
    }
    let unexpected: Vec<&String> =
        tab.complaints.iter().filter(|one| !one.contains("404")).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
}

/// Every text that has less contrast than 4.5 : 1 with what is behind it.
const CONTRAST: &str = r#"(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgb = (colour) => {
        if (!known.has(colour)) {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(colour);
    };
    const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = rgb(getComputedStyle(at).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return [255, 255, 255];
    };
    const faint = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || element.closest("script, svg, [hidden]")) continue;
        const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(`${element.className}: ${texts.currentNode.textContent.trim().slice(0, 30)}`);
    }
    return [...faint];
})()"#;

#[test]
fn an_empty_registry_says_what_to_do_first() {
    let place = Place::new();
    let page = place.page("/").text();
    assert!(page.contains("Nothing has been published yet"), "{page}");
    assert!(page.contains(&format!("sp login {}", place.url(""))), "{page}");
    assert!(place.page("/search?q=anything").text().contains("No package fits."));
}
