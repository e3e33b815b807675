//! Skills, packages and context packs as resources, visible to the users who may read them.

use serde_json::{Value, json};
use sp_testkit::{McpClient, resource_bytes};
use sp_tree::Digest;

use super::{RegistryFixture, list_all, skill_text, skill_uris, texts, tool_error};
use crate::support::registry_fixtures::{GOLDEN_ID, golden_files, zip_context_pack};

/// Reads the bytes of a resource.
fn read(mcp: &McpClient, uri: &str) -> Vec<u8> {
    let result = mcp.result("resources/read", json!({"uri": uri}));
    resource_bytes(&result["contents"][0])
}

#[test]
fn mc_02_entries_match_the_files() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    let (deploy, other) = (skill_text("deploy"), skill_text("review"));
    let files: [(&str, &[u8]); 7] = [
        ("skills/deploy/SKILL.md", deploy.as_bytes()),
        ("skills/deploy/scripts/run.sh", b"#!/bin/sh\n"),
        ("skills/deploy/references/a b é%.md", "More.\n".as_bytes()),
        ("skills/deploy/assets/x.bin", &[0, 159, 146, 150]),
        ("skills/deploy/assets/hidden.md", "a\u{202e}b".as_bytes()),
        ("skills/team__review/SKILL.md", other.as_bytes()),
        ("README.md", b"It belongs to no skill.\n"),
    ];
    fixture.publish_skills(&me, ("acme/tools", "1.0.0"), &files);
    let client = fixture.reader("somebody");
    let entries = list_all(&client, "skills/list", "skills");
    let expected = [
        "skill://registry/acme/tools/skills/deploy/SKILL.md",
        "skill://registry/acme/tools/skills/team__review/review/SKILL.md",
    ];
    assert_eq!(texts(&entries, "uri"), expected);
    assert_eq!(entries[0]["frontmatter"], json!({"name": "deploy", "description": "Does deploy."}));
    let mut count = 0;
    for entry in &entries {
        assert_eq!(client.result("skills/get", json!({"uri": entry["uri"]}))["skill"], *entry);
        for file in entry["resources"].as_array().unwrap() {
            let bytes = read(&client, file["uri"].as_str().unwrap());
            let digest = format!("sha256:{}", Digest::of(&bytes).hex());
            assert_eq!(
                (&file["digest"], &file["size"]),
                (&json!(digest), &json!(bytes.len())),
                "{file}"
            );
            assert!(files.iter().any(|(_, known)| *known == bytes), "{file}");
            count += 1;
        }
    }
    assert_eq!(count, files.len() - 1);
    let directory = "skill://registry/acme/tools/skills/deploy";
    let listed = client.result("resources/directory/read", json!({"uri": directory}));
    assert_eq!(
        texts(listed["resources"].as_array().unwrap(), "name"),
        ["deploy", "assets", "references", "scripts"]
    );
    for uri in [
        "skill://registry/acme/tools/skills/deploy/nothing.md",
        "skill://registry/acme/tools/README.md",
    ] {
        assert!(
            client.response("resources/read", json!({"uri": uri})).get("error").is_some(),
            "{uri}"
        );
    }
}

#[test]
fn mc_02_private_package_is_visible_to_members_only() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    fixture.publish_skill(&me, "acme/secret", "1.0.0");
    fixture.publish_skill(&me, "acme/open", "1.0.0");
    fixture.request(&me, "PUT /api/v1/packages/acme/secret/private", b"");
    let (stranger, member) = (fixture.reader("stranger"), fixture.reader("member"));
    fixture.request(&me, "PUT /api/v1/namespaces/acme/members/member", b"");
    let open = "skill://registry/acme/open/open/SKILL.md";
    let secret = "skill://registry/acme/secret/secret/SKILL.md";
    let package = "ctxpkg://acme/secret/1.0.0";
    for client in [&member, &fixture.client(&me), &fixture.client(&fixture.admin)] {
        assert_eq!(skill_uris(client), [open, secret]);
        assert_eq!(read(client, secret), skill_text("secret").as_bytes());
        assert!(read(client, package).starts_with(b"{"));
        assert_eq!(client.call("fetch", json!({"id": secret}))["id"], secret);
    }
    assert_eq!(skill_uris(&stranger), [open]);
    assert_eq!(stranger.error("skills/get", json!({"uri": secret})), -32602);
    assert_eq!(
        stranger.error(
            "resources/directory/read",
            json!({"uri": "skill://registry/acme/secret/secret"})
        ),
        -32602
    );
    // A cursor does not reveal private skills.
    assert_eq!(
        stranger.error("skills/list", json!({"cursor": "registry/acme/secret/secret"})),
        -32602
    );
    let missing = stranger
        .response("resources/read", json!({"uri": "skill://registry/acme/never/never/SKILL.md"}));
    for uri in [secret, package] {
        let answer = stranger.response("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], missing["error"]["code"], "{uri}");
        assert_eq!(tool_error(&stranger, "fetch", json!({"id": uri})), "E-file-not-found", "{uri}");
    }
    let found = stranger.call("search", json!({"query": "secret open"}));
    assert!(
        found.to_string().contains("acme/open") && !found.to_string().contains("secret"),
        "{found}"
    );
    let listed = list_all(&stranger, "resources/list", "resources");
    assert_eq!(texts(&listed, "uri"), [open, "ctxpkg://acme/open/1.0.0"]);
    for spec in ["@acme/secret", "acme/secret@1.0.0"] {
        let code = tool_error(&stranger, "load_context", json!({"packages": [spec]}));
        assert_eq!(code, "E-package-not-found", "{spec}");
    }
    // A removed member does not see cached entries.
    fixture.request(&me, "DELETE /api/v1/namespaces/acme/members/member", b"");
    assert_eq!(skill_uris(&member), [open]);
    assert_eq!(member.error("skills/get", json!({"uri": secret})), -32602);
}

#[test]
fn mc_02_pages_contain_every_skill_once_and_in_order() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    let mut expected = Vec::new();
    for (package, count) in [("aa/tools", 99), ("bb/none", 0), ("cc/few", 3), ("dd/tools", 130)] {
        let texts: Vec<(String, String)> = (0..count)
            .map(|number| {
                (format!("s/x{number:03}/SKILL.md"), skill_text(&format!("x{number:03}")))
            })
            .collect();
        let mut files: Vec<(&str, &[u8])> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        // Invalid skills are skipped.
        files.push(("s/odd/SKILL.md", b"no frontmatter\n"));
        fixture.publish_skills(&me, (package, "1.0.0"), &files);
        expected.extend(
            (0..count).map(|number| format!("skill://registry/{package}/s/x{number:03}/SKILL.md")),
        );
    }
    let client = fixture.reader("somebody");
    assert_eq!(skill_uris(&client), expected);
    let first = client.result("skills/list", json!({}));
    assert_eq!(first["skills"].as_array().unwrap().len(), 100);
    assert!(first["nextCursor"].is_string());
    let resources = texts(&list_all(&client, "resources/list", "resources"), "uri");
    let packages =
        ["aa/tools", "bb/none", "cc/few", "dd/tools"].map(|name| format!("ctxpkg://{name}/1.0.0"));
    assert_eq!(resources, [expected, packages.to_vec()].concat());
    for cursor in [
        "registry/aa/tools/s/x999",
        "registry/aa/tools",
        "repo/x",
        "",
        "%",
        "registry/aa/tools/s/odd",
        "\n",
    ] {
        assert_eq!(client.error("skills/list", json!({"cursor": cursor})), -32602, "{cursor}");
    }
}

#[test]
fn mc_02_yanked_version_is_not_listed() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    for (version, name) in [("1.0.0", "old"), ("2.0.0", "new")] {
        let text = skill_text(name);
        fixture.publish_skills(
            &me,
            ("acme/tools", version),
            &[(&format!("{name}/SKILL.md"), text.as_bytes())],
        );
    }
    let client = fixture.reader("somebody");
    let listed =
        |client: &McpClient| texts(&list_all(client, "resources/list", "resources"), "uri");
    assert_eq!(
        listed(&client),
        ["skill://registry/acme/tools/new/SKILL.md", "ctxpkg://acme/tools/2.0.0"]
    );
    fixture.request(&me, "DELETE /api/v1/packages/acme/tools/2.0.0", b"");
    assert_eq!(
        listed(&client),
        ["skill://registry/acme/tools/old/SKILL.md", "ctxpkg://acme/tools/1.0.0"]
    );
    assert_eq!(
        client.error("skills/get", json!({"uri": "skill://registry/acme/tools/new/SKILL.md"})),
        -32602
    );
    fixture.request(&me, "DELETE /api/v1/packages/acme/tools/1.0.0", b"");
    assert_eq!(listed(&client), [""; 0]);
    // A yanked version can still be read by its URI.
    let text = String::from_utf8(read(&client, "ctxpkg://acme/tools/2.0.0")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["manifest"]["version"], "2.0.0");
    fixture.request(&me, "POST /api/v1/packages/acme/tools/2.0.0/unyank", b"");
    assert_eq!(skill_uris(&client), ["skill://registry/acme/tools/new/SKILL.md"]);
}

#[test]
fn mc_04_context_packs_are_visible_to_their_owner_only() {
    let fixture = RegistryFixture::new(module_path!());
    let me = fixture.token("me", "publish");
    let files = golden_files();
    let upload = zip_context_pack(&files);
    fixture.request(&me, &format!("PUT /api/v1/context-packs/{GOLDEN_ID}"), &upload);
    let owner = fixture.reader("me");
    let listed = list_all(&owner, "resources/list", "resources");
    assert_eq!(listed.len(), files.len());
    for (name, bytes) in &files {
        let uri = format!("context-pack://{GOLDEN_ID}/{name}");
        assert!(texts(&listed, "uri").contains(&uri), "{uri}");
        assert_eq!(read(&owner, &uri), *bytes);
    }
    assert_eq!(
        texts(&list_all(&owner, "prompts/list", "prompts"), "name"),
        ["prompt-one", "prompt-two", "prompt-three"]
    );
    let prompt = owner.result("prompts/get", json!({"name": "prompt-two"}));
    assert!(
        prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("Bound the queue"),
        "{prompt}"
    );
    let found = owner.call("search", json!({"query": "queue of orders"}));
    assert!(found.to_string().contains(GOLDEN_ID), "{found}");
    let stranger = fixture.reader("stranger");
    let uri = format!("context-pack://{GOLDEN_ID}/pack.json");
    assert!(stranger.response("resources/read", json!({"uri": uri})).get("error").is_some());
    assert_eq!(stranger.error("prompts/get", json!({"name": "prompt-two"})), -32602);
    assert_eq!(list_all(&stranger, "resources/list", "resources"), [Value::Null; 0]);
    assert_eq!(list_all(&stranger, "prompts/list", "prompts"), [Value::Null; 0]);
    fixture.request(&me, &format!("DELETE /api/v1/context-packs/{GOLDEN_ID}"), b"");
    assert!(owner.response("resources/read", json!({"uri": uri})).get("error").is_some());
}
