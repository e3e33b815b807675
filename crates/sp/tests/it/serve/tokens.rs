//! Tokens and roles. This file is compiled once for each database.

use serde_json::{Value, json};
use sp_testkit::{HttpResponse, Registry, eventually};

use super::{create_token, get, package, put, running};

fn post(registry: &Registry, token: &str, path: &str, body: &Value) -> HttpResponse {
    registry.request(&format!("POST /api/v1/{path}"), Some(token), body.to_string().as_bytes())
}

fn issue(registry: &Registry, admin: &str, request: &Value) -> (i64, String) {
    let answer = post(registry, admin, "tokens", request);
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer = answer.json();
    (answer["id"].as_i64().unwrap(), answer["token"].as_str().unwrap().to_owned())
}

fn set_role(registry: &Registry, token: &str, user: &str, role: &str) -> u16 {
    let body = json!({"role": role}).to_string();
    let request = format!("PUT /api/v1/namespaces/acme/members/{user}");
    registry.request(&request, Some(token), body.as_bytes()).status
}

fn publish(registry: &Registry, token: &str, version: &str) -> u16 {
    let bytes = package("@acme/notes", version, "Tenants never share rows.");
    put(registry, token, &format!("acme/notes/{version}"), &bytes).status
}

#[test]
fn rg_103_last_admin_token_cannot_be_revoked() {
    let (_world, registry, admin) = running(module_path!());
    let revoke = |token: &str, id: i64| {
        registry.request(&format!("DELETE /api/v1/tokens/{id}"), Some(token), b"")
    };
    let refused = revoke(&admin, 1);
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("last_admin")));
    let request = json!({"user": "ann", "scope": "admin", "label": "the second"});
    let (second, ann) = issue(&registry, &admin, &request);
    assert_eq!(revoke(&ann, 1).status, 204);
    assert_eq!(get(&registry, Some(&admin), "whoami").status, 401);
    assert_eq!(revoke(&ann, second).status, 409);
}

#[test]
fn rg_103_lost_admin_token_is_replaced_on_the_machine_of_the_registry() {
    let (world, registry, _lost) = running(module_path!());
    let data = world.path("registry").display().to_string();
    let token = |arguments: &[&str]| -> Value {
        let base = ["serve", "token", "--data", &data, "--format", "json"];
        serde_json::from_str(&world.sp(&[&base, arguments].concat()).ok().stdout).unwrap()
    };
    let issued = token(&["--admin", "--label", "recovered"]);
    let admin = issued["secret"].as_str().unwrap();
    let listed = get(&registry, Some(admin), "tokens");
    assert_eq!((listed.status, &listed.json()[1]["label"]), (200, &json!("recovered")));
    let issued = token(&["--user", "ann", "--expires", "30d", "--namespace", "@acme"]);
    let ann = issued["secret"].as_str().unwrap();
    assert!(issued["tokens"][0]["expires_at"].is_string(), "{issued}");
    assert_eq!(get(&registry, Some(ann), "whoami").json()["namespaces"], json!(["acme"]));
    let id = issued["tokens"][0]["id"].to_string();
    let rotated = token(&["--rotate", &id]);
    assert_eq!(get(&registry, Some(ann), "whoami").status, 401);
    assert_eq!(get(&registry, rotated["secret"].as_str(), "whoami").status, 200);
    token(&["--revoke", &id]);
    assert_eq!(get(&registry, rotated["secret"].as_str(), "whoami").status, 401);
    token(&["--revoke", "1"]);
    for (arguments, code) in [
        (&["--revoke", "2"][..], "E-still-required"),
        (&["--revoke", "77"], "E-token-not-found"),
        (&["--user", "a b"], "E-invalid-arguments"),
        (&[], "E-missing-argument"),
    ] {
        let base = ["serve", "token", "--data", &data];
        assert_eq!(world.sp_error(&[&base, arguments].concat()).code, code, "{arguments:?}");
    }
    let listed = token(&["--list"]);
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 3, "{listed}");
    assert!(!listed.to_string().contains("ctxp_"), "{listed}");
    let audit = get(&registry, Some(admin), "audit").json();
    assert_eq!(audit[0]["user"], "operator", "{audit}");
}

#[test]
fn rg_103_expired_token_is_refused_and_uses_are_recorded() {
    let (_world, registry, admin) = running(module_path!());
    let request = json!({"user": "ann", "scope": "read", "expires_in": 1, "label": "short"});
    let (short, token) = issue(&registry, &admin, &request);
    eventually(|| (get(&registry, Some(&token), "whoami").status == 401).then_some(()));
    let (long, token) = issue(&registry, &admin, &json!({"user": "ann", "scope": "read"}));
    assert_eq!(get(&registry, Some(&token), "whoami").json()["id"], json!(long));
    let find = |id: i64| {
        let tokens = get(&registry, Some(&admin), "tokens").json();
        tokens.as_array().unwrap().iter().find(|token| token["id"] == id).unwrap().clone()
    };
    eventually(|| find(long)["last_used_at"].is_string().then_some(()));
    assert!(find(short)["expires_at"].is_string() && find(long)["expires_at"].is_null());
    for invalid in [
        json!({"user": "ann", "scope": "root"}),
        json!({"user": "ann", "scope": "read", "expires_in": 0}),
        json!({"user": "ann", "scope": "read", "label": "x".repeat(101)}),
        json!({"user": "ann", "scope": "read", "namespaces": []}),
        json!({"user": "ann", "scope": "read", "namespaces": ["../x"]}),
        json!({"user": "ann", "scope": "admin", "namespaces": ["acme"]}),
    ] {
        assert_eq!(post(&registry, &admin, "tokens", &invalid).status, 400, "{invalid}");
    }
}

#[test]
fn rg_103_rotation_replaces_the_secret_only() {
    let (_world, registry, admin) = running(module_path!());
    let request = json!({"user": "ann", "scope": "publish", "label": "ci"});
    let (id, old) = issue(&registry, &admin, &request);
    let other = create_token(&registry, &admin, "bob", "publish");
    let path = format!("tokens/{id}/rotate");
    assert_eq!(post(&registry, &other, &path, &json!({})).status, 404);
    let rotated = post(&registry, &old, &path, &json!({})).json();
    assert_eq!((&rotated["id"], &rotated["label"]), (&json!(id), &json!("ci")));
    let new = rotated["token"].as_str().unwrap();
    assert_eq!(get(&registry, Some(&old), "whoami").status, 401);
    assert_eq!(get(&registry, Some(new), "whoami").json()["user"], "ann");
    assert_eq!(post(&registry, &admin, &path, &json!({})).status, 200);
    assert_eq!(get(&registry, Some(new), "whoami").status, 401);
}

#[test]
fn rg_103_token_is_limited_to_its_namespaces() {
    let (_world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    for name in ["acme/notes", "tools/notes"] {
        let bytes = package(&format!("@{name}"), "1.0.0", "Ours.");
        assert_eq!(put(&registry, &me, &format!("{name}/1.0.0"), &bytes).status, 201);
        let hide = format!("PUT /api/v1/packages/{name}/private");
        assert_eq!(registry.request(&hide, Some(&me), b"").status, 204);
    }
    let request = json!({"user": "me", "scope": "publish", "namespaces": ["acme", "free"]});
    let (_, limited) = issue(&registry, &admin, &request);
    let status = |path: &str| get(&registry, Some(&limited), path).status;
    assert_eq!(status("packages/acme/notes/index.json"), 200);
    assert_eq!(status("packages/tools/notes/index.json"), 404);
    assert_eq!(status("namespaces/tools/members"), 404);
    let names = get(&registry, Some(&limited), "index.json").json();
    assert_eq!(names["packages"].as_array().unwrap().len(), 1, "{names}");
    for (name, version, expected) in [
        ("acme/notes", "1.1.0", 201),
        ("tools/notes", "1.1.0", 403),
        ("free/notes", "1.0.0", 201),
        ("other/notes", "1.0.0", 403),
    ] {
        let bytes = package(&format!("@{name}"), version, "Ours.");
        let answer = put(&registry, &limited, &format!("{name}/{version}"), &bytes);
        assert_eq!(answer.status, expected, "{name}: {answer:?}");
    }
}

#[test]
fn rg_103_roles_permit_what_they_say() {
    let (_world, registry, admin) = running(module_path!());
    let [owner, publisher, reader, other] = ["owner", "publisher", "reader", "other"]
        .map(|user| create_token(&registry, &admin, user, "publish"));
    assert_eq!(publish(&registry, &owner, "1.0.0"), 201);
    assert_eq!(set_role(&registry, &owner, "publisher", "publisher"), 204);
    assert_eq!(set_role(&registry, &owner, "reader", "reader"), 204);
    assert_eq!(set_role(&registry, &owner, "reader", "king"), 400);
    let hide = "PUT /api/v1/packages/acme/notes/private";
    for (token, status) in [(&other, 404), (&reader, 403), (&publisher, 403), (&owner, 204)] {
        assert_eq!(registry.request(hide, Some(token), b"").status, status);
        assert_eq!(set_role(&registry, token, "other2", "reader"), status);
    }
    for (token, status) in [(&other, 403), (&reader, 403), (&publisher, 201)] {
        assert_eq!(publish(&registry, token, "1.1.0"), status);
    }
    for (token, status) in [(&other, 404), (&reader, 200), (&publisher, 200)] {
        assert_eq!(get(&registry, Some(token), "packages/acme/notes/index.json").status, status);
    }
    let yank = "DELETE /api/v1/packages/acme/notes/1.1.0";
    for (token, status) in [(&other, 404), (&reader, 403), (&publisher, 204)] {
        assert_eq!(registry.request(yank, Some(token), b"").status, status);
    }
}

#[test]
fn rg_103_last_owner_stays() {
    let (_world, registry, admin) = running(module_path!());
    let owner = create_token(&registry, &admin, "owner", "publish");
    assert_eq!(publish(&registry, &owner, "1.0.0"), 201);
    assert_eq!(set_role(&registry, &owner, "bob", "publisher"), 204);
    let remove = |user: &str| {
        let request = format!("DELETE /api/v1/namespaces/acme/members/{user}");
        registry.request(&request, Some(&admin), b"").status
    };
    assert_eq!((remove("owner"), set_role(&registry, &admin, "owner", "reader")), (409, 409));
    assert_eq!(set_role(&registry, &owner, "bob", "owner"), 204);
    assert_eq!((remove("owner"), remove("bob")), (204, 409));
    let members = get(&registry, Some(&admin), "namespaces/acme/members").json();
    assert_eq!(members, json!([{"user": "bob", "role": "owner"}]));
}
