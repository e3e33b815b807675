//! The web pages of `sp serve`, in a real browser and with hostile requests over HTTP.

mod api;
mod browser;
mod hostile;
mod sessions;

use serde_json::{Value, json};
use sp_testkit::{HttpResponse, Registry, World, world};
use sp_tree::Digest;

use crate::support::registry::{create_token, start};

/// A registry with two tokens.
struct RegistryFixture {
    world: World,
    registry: Registry,
    /// The token of the admin.
    admin: String,
    /// The token of a user who can publish.
    publisher: String,
}

impl RegistryFixture {
    fn new() -> Self {
        let world = world!();
        let registry = start(&world);
        let admin = registry.admin.clone().unwrap();
        let publisher = create_token(&registry, &admin, "me", "publish");
        Self { world, registry, admin, publisher }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.registry.address)
    }

    fn publish(&self, name: &str, version: &str, bytes: &[u8]) {
        let request = format!("PUT /api/v1/packages/{name}/{version}");
        let answer = self.registry.request(&request, Some(&self.publisher), bytes);
        assert_eq!(answer.status, 201, "{name}: {}", answer.text());
    }

    /// Publishes a package with a graph of twelve nodes.
    fn publish_knowledge(&self, name: &str, version: &str, description: &str) {
        self.publish(name, version, &package(name, version, description, 12));
    }

    /// Publishes a package with one skill.
    fn publish_skill(&self, name: &str, text: &str) {
        let (namespace, skill) = name.split_once('/').unwrap();
        let dir = format!("skills/{skill}");
        let description = "Does something. Use it when something is to be done.";
        self.world.write(
            &format!("{dir}/SKILL.md"),
            format!("---\nname: {skill}\ndescription: {description}\n---\n{text}"),
        );
        let path = self.world.repo().join(&dir).display().to_string();
        let output = self.world.path("created.ctxpkg").display().to_string();
        let create = [
            "pkg",
            "create",
            "--kind",
            "skills",
            "--scope",
            namespace,
            "--name",
            skill,
            "--description",
            "A skill.",
            "-o",
            &output,
            &path,
        ];
        self.world.sp(&create).ok();
        self.publish(name, "1.0.0", &std::fs::read(&output).unwrap());
        std::fs::remove_file(&output).unwrap();
    }

    /// Requests a page like a browser.
    fn page(&self, path: &str) -> HttpResponse {
        self.registry.send(&format!("GET {path}"), &[("accept", "text/html,*/*")], b"")
    }

    fn page_as(&self, path: &str, cookie: &str) -> HttpResponse {
        self.registry.send(
            &format!("GET {path}"),
            &[("accept", "text/html"), ("cookie", cookie)],
            b"",
        )
    }

    /// Submits a form of a page of the registry.
    fn form(&self, path: &str, cookie: &str, body: &str) -> HttpResponse {
        self.form_from(&self.url(""), path, cookie, body)
    }

    fn form_from(&self, origin: &str, path: &str, cookie: &str, body: &str) -> HttpResponse {
        let headers = [
            ("accept", "text/html"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", origin),
            ("cookie", cookie),
        ];
        self.registry.send(&format!("POST {path}"), &headers, body.as_bytes())
    }

    /// Logs in. Returns the cookie and the form token of the session.
    fn login(&self, token: &str) -> (String, String) {
        let answer = self.form("/login", "", &format!("token={token}&next=%2Ftokens"));
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some("/tokens")),
            "{}",
            answer.text()
        );
        let set_cookie = answer.header("set-cookie").unwrap();
        assert!(
            set_cookie.contains("httponly; samesite=strict; max-age=43200")
                && set_cookie.contains("path=/"),
            "{set_cookie}"
        );
        assert!(!set_cookie.contains("secure") && !set_cookie.contains(token), "{set_cookie}");
        let cookie = set_cookie.split(';').next().unwrap().to_owned();
        let page = self.page_as("/tokens", &cookie).text();
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
        (cookie, rest[..64].to_owned())
    }
}

/// Returns a package with this many nodes, and with the description wherever text is possible.
fn package(name: &str, version: &str, description: &str, count: usize) -> Vec<u8> {
    let node = |index: usize| {
        let content = format!("{description} {index}");
        json!({"id": format!("n{index}"), "type": "fact", "content": content})
    };
    let nodes: Vec<Value> = (0..count).map(node).collect();
    let edge = |index: usize| json!({"from": format!("n{index}"), "to": "n0", "type": "supports", "weight": 1.0});
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
