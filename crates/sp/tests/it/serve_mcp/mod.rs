//! `sp serve`: MCP clients of a registry, on SQLite and PostgreSQL.

mod http;
mod resources;
#[path = "resources.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod resources_on_postgres;
mod tools;
#[path = "tools.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests run on both kinds of stores")]
mod tools_on_postgres;

use serde_json::{Value, json};
use sp_testkit::{McpClient, Registry, World};

use crate::support::knowledge_package::package_of_knowledge;
use crate::support::registry;
use crate::support::registry_fixtures::{skill_text, world_of_module};
use crate::support::skill_package::package_of_skills;

/// A registry with the token of its admin.
struct RegistryFixture {
    world: World,
    registry: Registry,
    admin: String,
}

impl RegistryFixture {
    /// Starts a registry on the database of a module.
    fn new(module: &str) -> Self {
        let world = world_of_module(module);
        let registry = registry::start(&world);
        let admin = registry.admin.clone().unwrap();
        Self { world, registry, admin }
    }

    fn token(&self, user: &str, scope: &str) -> String {
        registry::create_token(&self.registry, &self.admin, user, scope)
    }

    /// Returns a client with this token.
    fn client(&self, token: &str) -> McpClient {
        McpClient::new(&self.registry.address, Some(token))
    }

    /// Returns a client of a user who can only read.
    fn reader(&self, user: &str) -> McpClient {
        self.client(&self.token(user, "read"))
    }

    /// Sends a request to the HTTP API that must succeed.
    fn request(&self, token: &str, request: &str, body: &[u8]) {
        let answer = self.registry.request(request, Some(token), body);
        assert!(matches!(answer.status, 200..=204), "{request}: {answer:?}");
    }

    fn publish_skills(
        &self,
        token: &str,
        (name, version): (&str, &str),
        files: &[(&str, &[u8])],
    ) -> Vec<u8> {
        let bytes = package_of_skills(&format!("@{name}"), version, files);
        self.request(token, &format!("PUT /api/v1/packages/{name}/{version}"), &bytes);
        bytes
    }

    fn publish_notes(&self, token: &str, (name, version): (&str, &str), nodes: &[(&str, &str)]) {
        let bytes = package_of_knowledge(&format!("@{name}"), version, nodes);
        self.request(token, &format!("PUT /api/v1/packages/{name}/{version}"), &bytes);
    }

    /// Publishes a package with one skill of the same name.
    fn publish_skill(&self, token: &str, name: &str, version: &str) {
        let text = skill_text(name.split_once('/').unwrap().1);
        self.publish_skills(token, (name, version), &[("SKILL.md", text.as_bytes())]);
    }
}

/// Returns the items of all pages of a list.
fn list_all(mcp: &McpClient, method: &str, member: &str) -> Vec<Value> {
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

/// Returns the URIs of all skills.
fn skill_uris(mcp: &McpClient) -> Vec<String> {
    texts(&list_all(mcp, "skills/list", "skills"), "uri")
}

/// Calls a tool that must fail, and returns the code of its error.
#[track_caller]
fn tool_error(mcp: &McpClient, tool: &str, arguments: Value) -> String {
    let result = mcp.try_call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool}: {result}");
    result["_meta"]["skillpack/code"].as_str().unwrap().to_owned()
}

fn texts(items: &[Value], member: &str) -> Vec<String> {
    items.iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}
