//! What agents are shown: skills, packages and context packs that the holder of a token may see.

use std::path::Path;

use serde_json::{Value, json};
use sp_testkit::{Mcp, bytes_of, zip};
use sp_tree::Digest;

use super::{Place, all, skill, skills, texts};

/// The bytes that a resource has, whichever way they come.
fn read(mcp: &Mcp, uri: &str) -> Vec<u8> {
    let read = mcp.result("resources/read", json!({"uri": uri}));
    bytes_of(&read["contents"][0])
}

#[test]
fn mc_02_every_entry_holds_against_the_bytes_that_are_read() {
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    let (deploy, other) = (skill("deploy"), skill("review"));
    let files: [(&str, &[u8]); 7] = [
        ("skills/deploy/SKILL.md", deploy.as_bytes()),
        ("skills/deploy/scripts/run.sh", b"#!/bin/sh\n"),
        ("skills/deploy/references/a b é%.md", "More.\n".as_bytes()),
        ("skills/deploy/assets/x.bin", &[0, 159, 146, 150]),
        ("skills/deploy/assets/hidden.md", "a\u{202e}b".as_bytes()),
        ("skills/team__review/SKILL.md", other.as_bytes()),
        ("README.md", b"It belongs to no skill.\n"),
    ];
    place.publish_skills(&me, ("acme/tools", "1.0.0"), &files);
    let client = place.reader("somebody");
    let entries = all(&client, "skills/list", "skills");
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
    let folder = "skill://registry/acme/tools/skills/deploy";
    let listed = client.result("resources/directory/read", json!({"uri": folder}));
    assert_eq!(
        texts(listed["resources"].as_array().unwrap(), "name"),
        ["deploy", "assets", "references", "scripts"]
    );
    for wrong in [
        "skill://registry/acme/tools/skills/deploy/nothing.md",
        "skill://registry/acme/tools/README.md",
    ] {
        assert!(
            client.answer("resources/read", json!({"uri": wrong})).get("error").is_some(),
            "{wrong}"
        );
    }
}

#[test]
fn mc_02_a_private_package_is_there_for_members_alone() {
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    place.publish_skill(&me, "acme/secret", "1.0.0");
    place.publish_skill(&me, "acme/open", "1.0.0");
    place.done(&me, "PUT /api/v1/packages/acme/secret/private", b"");
    let (stranger, member) = (place.reader("stranger"), place.reader("member"));
    place.done(&me, "PUT /api/v1/namespaces/acme/members/member", b"");
    let open = "skill://registry/acme/open/open/SKILL.md";
    let secret = "skill://registry/acme/secret/secret/SKILL.md";
    let package = "ctxpkg://acme/secret/1.0.0";
    for seeing in [&member, &place.client(&me), &place.client(&place.admin)] {
        assert_eq!(skills(seeing), [open, secret]);
        assert_eq!(read(seeing, secret), skill("secret").as_bytes());
        assert!(read(seeing, package).starts_with(b"{"));
        assert_eq!(seeing.call("fetch", json!({"id": secret}))["id"], secret);
    }
    assert_eq!(skills(&stranger), [open]);
    assert_eq!(stranger.error("skills/get", json!({"uri": secret})), -32602);
    assert_eq!(
        stranger.error(
            "resources/directory/read",
            json!({"uri": "skill://registry/acme/secret/secret"})
        ),
        -32602
    );
    // A cursor tells nobody what is hidden.
    assert_eq!(
        stranger.error("skills/list", json!({"cursor": "registry/acme/secret/secret"})),
        -32602
    );
    let never = stranger
        .answer("resources/read", json!({"uri": "skill://registry/acme/never/never/SKILL.md"}));
    for uri in [secret, package] {
        let answer = stranger.answer("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], never["error"]["code"], "{uri}");
        assert_eq!(stranger.try_call("fetch", json!({"id": uri}))["isError"], true, "{uri}");
    }
    let found = stranger.call("search", json!({"query": "secret open"}));
    assert!(
        found.to_string().contains("acme/open") && !found.to_string().contains("secret"),
        "{found}"
    );
    let listed = all(&stranger, "resources/list", "resources");
    assert_eq!(texts(&listed, "uri"), [open, "ctxpkg://acme/open/1.0.0"]);
    for call in [json!({"packages": ["@acme/secret"]}), json!({"packages": ["acme/secret@1.0.0"]})]
    {
        assert_eq!(stranger.try_call("load_context", call)["isError"], true);
    }
    // Who is no member any more sees it no more, though everything is remembered.
    place.done(&me, "DELETE /api/v1/namespaces/acme/members/member", b"");
    assert_eq!(skills(&member), [open]);
    assert_eq!(member.error("skills/get", json!({"uri": secret})), -32602);
}

#[test]
fn mc_02_more_skills_than_a_page_come_each_once_and_in_order() {
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    let mut expected = Vec::new();
    for (package, count) in [("aa/tools", 99), ("bb/none", 0), ("cc/few", 3), ("dd/tools", 130)] {
        let texts: Vec<(String, String)> = (0..count)
            .map(|number| (format!("s/x{number:03}/SKILL.md"), skill(&format!("x{number:03}"))))
            .collect();
        let mut files: Vec<(&str, &[u8])> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        // One that no host would take is passed over.
        files.push(("s/odd/SKILL.md", b"no frontmatter\n"));
        place.publish_skills(&me, (package, "1.0.0"), &files);
        expected.extend(
            (0..count).map(|number| format!("skill://registry/{package}/s/x{number:03}/SKILL.md")),
        );
    }
    let client = place.reader("somebody");
    assert_eq!(skills(&client), expected);
    let first = client.result("skills/list", json!({}));
    assert_eq!(first["skills"].as_array().unwrap().len(), 100);
    assert!(first["nextCursor"].is_string());
    let resources = texts(&all(&client, "resources/list", "resources"), "uri");
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
fn mc_02_a_version_that_was_yanked_is_listed_no_more() {
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    for (version, name) in [("1.0.0", "old"), ("2.0.0", "new")] {
        let text = skill(name);
        place.publish_skills(
            &me,
            ("acme/tools", version),
            &[(&format!("{name}/SKILL.md"), text.as_bytes())],
        );
    }
    let client = place.reader("somebody");
    let listed = |client: &Mcp| texts(&all(client, "resources/list", "resources"), "uri");
    assert_eq!(
        listed(&client),
        ["skill://registry/acme/tools/new/SKILL.md", "ctxpkg://acme/tools/2.0.0"]
    );
    place.done(&me, "DELETE /api/v1/packages/acme/tools/2.0.0", b"");
    assert_eq!(
        listed(&client),
        ["skill://registry/acme/tools/old/SKILL.md", "ctxpkg://acme/tools/1.0.0"]
    );
    assert_eq!(
        client.error("skills/get", json!({"uri": "skill://registry/acme/tools/new/SKILL.md"})),
        -32602
    );
    place.done(&me, "DELETE /api/v1/packages/acme/tools/1.0.0", b"");
    assert_eq!(listed(&client), [""; 0]);
    // Whoever knows a version still reads it, as by a download.
    let text = String::from_utf8(read(&client, "ctxpkg://acme/tools/2.0.0")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["manifest"]["version"], "2.0.0");
    place.done(&me, "POST /api/v1/packages/acme/tools/2.0.0/unyank", b"");
    assert_eq!(skills(&client), ["skill://registry/acme/tools/new/SKILL.md"]);
}

#[test]
fn mc_04_context_packs_are_there_for_who_pushed_them() {
    const ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";
    let place = Place::new(module_path!());
    let me = place.token("me", "publish");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/good-ctx-golden/tree");
    let files: Vec<(String, Vec<u8>)> = std::fs::read_dir(golden)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                format!("pack/{}", path.file_name().unwrap().to_str().unwrap()),
                std::fs::read(path).unwrap(),
            )
        })
        .collect();
    let named: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    place.done(&me, &format!("PUT /api/v1/context-packs/{ID}"), &zip(&named));
    let mine = place.reader("me");
    let listed = all(&mine, "resources/list", "resources");
    assert_eq!(listed.len(), files.len());
    for (path, bytes) in &files {
        let uri = format!("context-pack://{ID}/{}", path.trim_start_matches("pack/"));
        assert!(texts(&listed, "uri").contains(&uri), "{uri}");
        assert_eq!(read(&mine, &uri), *bytes);
    }
    assert_eq!(
        texts(&all(&mine, "prompts/list", "prompts"), "name"),
        ["prompt-one", "prompt-two", "prompt-three"]
    );
    let prompt = mine.result("prompts/get", json!({"name": "prompt-two"}));
    assert!(
        prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("Bound the queue"),
        "{prompt}"
    );
    let found = mine.call("search", json!({"query": "queue of orders"}));
    assert!(found.to_string().contains(ID), "{found}");
    let stranger = place.reader("stranger");
    let uri = format!("context-pack://{ID}/pack.json");
    assert!(stranger.answer("resources/read", json!({"uri": uri})).get("error").is_some());
    assert_eq!(stranger.error("prompts/get", json!({"name": "prompt-two"})), -32602);
    let all_of = |method: &str, member: &str| all(&stranger, method, member).len();
    assert_eq!((all_of("resources/list", "resources"), all_of("prompts/list", "prompts")), (0, 0));
    place.done(&me, &format!("DELETE /api/v1/context-packs/{ID}"), b"");
    assert!(mine.answer("resources/read", json!({"uri": uri})).get("error").is_some());
}
