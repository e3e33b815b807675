//! The pages of `sp serve`: in a real browser, and over plain HTTP by those who mean harm.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod api;
mod browser;
mod hostile;
mod sessions;

use serde_json::{Value, json};
use sp_testkit::{HttpAnswer, Registry, World, world};
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
