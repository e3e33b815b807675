//! `sp serve`: agents that ask the registry over MCP, on both databases.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

#[path = "serve_mcp/http.rs"]
mod http;
#[path = "made/knowledge.rs"]
mod made_knowledge;
#[path = "made/skills.rs"]
mod made_skills;
#[path = "serve_mcp/shelf.rs"]
mod shelf;
#[path = "serve_mcp/shelf.rs"]
#[expect(clippy::duplicate_mod, reason = "what holds must hold on each database")]
mod shelf_on_postgres;
#[path = "serve_mcp/tools.rs"]
mod tools;
#[path = "serve_mcp/tools.rs"]
#[expect(clippy::duplicate_mod, reason = "what holds must hold on each database")]
mod tools_on_postgres;

use serde_json::{Value, json};
use sp_testkit::{Mcp, Postgres, Registry, World, world};

use made_knowledge::package_of_knowledge;
use made_skills::package_of_skills;

/// A registry with its admin, and people who have tokens.
struct Place {
    world: World,
    registry: Registry,
    admin: String,
}

impl Place {
    /// A registry on the database that a module is named for.
    fn new(module: &str) -> Self {
        let mut world = world!();
        if module.ends_with("postgres") {
            world.set_env("SP_DATABASE_URL", &Postgres::shared().database().address());
        }
        let data = world.path("registry").display().to_string();
        let serve = ["serve", "--data", &data, "--listen", "127.0.0.1:0", "--format", "json"];
        let registry = Registry::start(world.command(&serve));
        let admin = registry.admin.clone().unwrap();
        Self { world, registry, admin }
    }

    fn token(&self, user: &str, scope: &str) -> String {
        let wanted = json!({"user": user, "scope": scope}).to_string();
        let answer = self.registry.ask("POST /api/v1/tokens", Some(&self.admin), wanted.as_bytes());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    /// A client with a token.
    fn client(&self, token: &str) -> Mcp {
        Mcp::at(&self.registry.address, Some(token))
    }

    /// A client of somebody who may only read.
    fn reader(&self, user: &str) -> Mcp {
        self.client(&self.token(user, "read"))
    }

    /// Asks for something that is to be done.
    fn done(&self, token: &str, request: &str, body: &[u8]) {
        let answer = self.registry.ask(request, Some(token), body);
        assert!(matches!(answer.status, 200..=204), "{request}: {answer:?}");
    }

    fn publish_skills(
        &self,
        token: &str,
        (place, version): (&str, &str),
        files: &[(&str, &[u8])],
    ) -> Vec<u8> {
        let bytes = package_of_skills(&format!("@{place}"), version, files);
        self.done(token, &format!("PUT /api/v1/packages/{place}/{version}"), &bytes);
        bytes
    }

    fn publish_notes(&self, token: &str, (place, version): (&str, &str), nodes: &[(&str, &str)]) {
        let bytes = package_of_knowledge(&format!("@{place}"), version, nodes);
        self.done(token, &format!("PUT /api/v1/packages/{place}/{version}"), &bytes);
    }

    /// Publishes a package with one skill, which is called as the package is.
    fn publish_skill(&self, token: &str, place: &str, version: &str) {
        let text = skill(place.split_once('/').unwrap().1);
        self.publish_skills(token, (place, version), &[("SKILL.md", text.as_bytes())]);
    }
}

/// A `SKILL.md`.
fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n# {name}\n")
}

/// Every item of a list, page by page.
fn all(mcp: &Mcp, method: &str, member: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = mcp.result(method, params);
        let page_items = page[member].as_array().unwrap();
        assert!(page_items.len() <= 100, "{method}");
        items.extend(page_items.iter().cloned());
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            return items;
        }
    }
}

/// The addresses of all skills.
fn skills(mcp: &Mcp) -> Vec<String> {
    texts(&all(mcp, "skills/list", "skills"), "uri")
}

fn texts(items: &[Value], member: &str) -> Vec<String> {
    items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}
