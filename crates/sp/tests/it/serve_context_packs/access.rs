//! Access to context packs: signed URLs, their expiration and revocation, and owners.

use std::time::{SystemTime, UNIX_EPOCH};

use sp_testkit::{HttpResponse, eventually};

use super::uploads::{OTHER_ID, minimal_zip, push, push_golden, signed_urls, text};
use super::{create_token, get, running, start};
use crate::support::registry_fixtures::{GOLDEN_ID, golden_files, zip_context_pack};

#[test]
fn cp_16_invalid_signatures_all_get_the_same_response() {
    let (_world, registry, _, me) = running(module_path!());
    let folder = push_golden(&registry, &me);
    assert_eq!(push(&registry, &me, OTHER_ID, &minimal_zip(OTHER_ID, "Other")).status, 201);
    let grant = folder.split('/').nth(2).unwrap();
    let parts: Vec<&str> = grant.split('.').collect();
    let (kid, exp, sig) = (parts[0], parts[1], parts[2]);
    let other = text(&signed_urls(&registry, &me, OTHER_ID), "folder").to_owned();
    let other_grant = other.split('/').nth(2).unwrap();
    let later = exp.parse::<u64>().unwrap() + 1;
    let wrong_sig = format!("{}{}", if sig.starts_with('A') { "B" } else { "A" }, &sig[1..]);
    let query = format!("exp={exp}&kid={kid}&sig={sig}");
    let file = |grant: &str, id: &str| format!("/s/{grant}/packs/{id}/pack.json");
    let forbidden = get(&registry, &format!("/packs/{OTHER_ID}/pack.json"));
    assert_eq!(forbidden.status, 403, "{forbidden:?}");
    for path in [
        file(&format!("{kid}.{exp}.{wrong_sig}"), GOLDEN_ID),
        file(&format!("{kid}.{later}.{sig}"), GOLDEN_ID),
        file(&format!("k1.{exp}.{sig}"), GOLDEN_ID),
        file(&format!("{kid}.{exp}.{}", &sig[..42]), GOLDEN_ID),
        file(&format!("{kid}.{exp}.{sig}="), GOLDEN_ID),
        file(&format!("{kid}.{exp}"), GOLDEN_ID),
        file(grant, OTHER_ID),
        file(other_grant, GOLDEN_ID),
        file(grant, "pk_01KPZXWZQR5NRHCGNQ4TR480B4"),
        file(grant, "nothing"),
        file(grant, "..%2f.."),
        format!("/s/{grant}/packs/{GOLDEN_ID}/../{OTHER_ID}/x/pack.json/..")
            .replace("/../", "%2f..%2f"),
        format!("/s/{grant}/packs/{GOLDEN_ID}"),
        format!("/s/{grant}/{GOLDEN_ID}/pack.json"),
        format!("/s/{grant}"),
        format!("/packs/{GOLDEN_ID}/pack.json"),
        format!("/packs/{GOLDEN_ID}/nothing.md"),
        format!("/packs/{GOLDEN_ID}.zip"),
        "/packs/nothing".into(),
        format!("/packs/{GOLDEN_ID}/pack.json?{query}&sig={sig}"),
        format!("/packs/{GOLDEN_ID}/pack.json?{query}&exp={exp}"),
        format!("/packs/{GOLDEN_ID}/pack.json?{query}&kid={kid}"),
        format!("/packs/{GOLDEN_ID}/pack.json?{query}&x=1"),
        format!("/packs/{GOLDEN_ID}/pack.json?exp={later}&kid={kid}&sig={sig}"),
        format!("/packs/{GOLDEN_ID}/pack.json?exp={exp}&kid=k1&sig={sig}"),
        format!("/packs/{GOLDEN_ID}/pack.json?exp={exp}&kid={kid}"),
        format!("/packs/{OTHER_ID}/pack.json?{query}"),
        format!("/s/{grant}/packs/{GOLDEN_ID}/pack.json?{query}"),
    ] {
        let answer = get(&registry, &path);
        assert_eq!((answer.status, &answer.body), (403, &forbidden.body), "{path}");
        let header_names = |answer: &HttpResponse| -> Vec<String> {
            answer
                .head
                .lines()
                .skip(1)
                .map(|line| line.split(':').next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(header_names(&answer), header_names(&forbidden), "{path}");
    }
    assert_eq!(get(&registry, &format!("/packs/{GOLDEN_ID}/pack.json?{query}")).status, 200);
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        assert_eq!(
            registry.request(&format!("{method} {folder}pack.json"), Some(&me), b"").status,
            405,
            "{method}"
        );
    }
}

#[test]
fn cp_16_urls_expire_after_at_most_a_week() {
    let (_world, registry, _, me) = running(module_path!());
    push_golden(&registry, &me);
    let request_urls = |body: &str| {
        registry.request(
            &format!("POST /api/v1/context-packs/{GOLDEN_ID}/url"),
            Some(&me),
            body.as_bytes(),
        )
    };
    for body in [
        r#"{"expires_in":0}"#,
        r#"{"expires_in":604801}"#,
        r#"{"expires_in":-1}"#,
        r#"{"expires_in":18446744073709551615}"#,
        r#"{"expires_in":"1h"}"#,
        r#"{"expires":1}"#,
        "x",
    ] {
        assert_eq!(request_urls(body).status, 400, "{body}");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for (body, seconds) in [("", 3600), ("{}", 3600), (r#"{"expires_in":604800}"#, 604_800)] {
        let answer = request_urls(body).json();
        let exp: u64 = text(&answer, "folder").split('.').nth(1).unwrap().parse().unwrap();
        assert!((now + seconds..now + seconds + 30).contains(&exp), "{body}: {exp}");
        assert_eq!(
            get(&registry, &format!("{}pack.json", text(&answer, "folder"))).status,
            200,
            "{body}"
        );
    }
    let short_lived = request_urls(r#"{"expires_in":1}"#).json();
    let file = format!("{}pack.json", text(&short_lived, "folder"));
    let expired = eventually(|| Some(get(&registry, &file)).filter(|answer| answer.status != 200));
    let unsigned = get(&registry, &format!("/packs/{GOLDEN_ID}/pack.json"));
    assert_eq!((expired.status, expired.body), (403, unsigned.body));
}

#[test]
fn cp_16_urls_are_revoked_by_pack_by_key_and_with_the_pack() {
    let (world, registry, admin, me) = running(module_path!());
    let first = format!("{}pack.json", push_golden(&registry, &me));
    assert_eq!(push(&registry, &me, OTHER_ID, &minimal_zip(OTHER_ID, "Other")).status, 201);
    let other = format!("{}pack.json", text(&signed_urls(&registry, &me, OTHER_ID), "folder"));
    let post = |path: &str, token: &str| {
        registry.request(&format!("POST /api/v1/{path}"), Some(token), b"").status
    };
    let status = |path: &str| get(&registry, path).status;
    let new_url =
        || format!("{}pack.json", text(&signed_urls(&registry, &me, GOLDEN_ID), "folder"));
    assert_eq!(post(&format!("context-packs/{GOLDEN_ID}/revoke"), &me), 204);
    assert_eq!((status(&first), status(&other)), (403, 200));
    let second = new_url();
    assert_eq!(status(&second), 200);
    assert_eq!(post(&format!("context-packs/{GOLDEN_ID}/revoke"), &admin), 204);
    let third = new_url();
    assert_eq!((status(&first), status(&second), status(&third)), (403, 403, 200));
    // After a rotation, URLs of the old key are valid until that key is revoked.
    let kid = |path: &str| path.split('/').nth(2).unwrap().split('.').next().unwrap().to_owned();
    assert_eq!(post("url-keys", &me), 401);
    assert_eq!(post("url-keys", &admin), 201);
    let rotated = format!("{}pack.json", text(&signed_urls(&registry, &me, OTHER_ID), "folder"));
    assert_ne!(kid(&other), kid(&rotated));
    assert_eq!((status(&other), status(&rotated)), (200, 200));
    let revoke = |kid: &str, token: &str| {
        registry.request(&format!("DELETE /api/v1/url-keys/{kid}"), Some(token), b"")
    };
    assert_eq!(revoke(&kid(&other), &me).status, 401);
    assert_eq!(revoke(&kid(&other), &admin).status, 204);
    assert_eq!(revoke("nothing", &admin).status, 404);
    assert_eq!((status(&other), status(&rotated), status(&third)), (403, 200, 200));
    assert_eq!(revoke(&kid(&third), &admin).status, 204);
    let fourth = new_url();
    assert_eq!((status(&third), status(&fourth)), (403, 200));
    let keys = registry.request("GET /api/v1/url-keys", Some(&admin), b"");
    assert!(
        keys.json().as_array().unwrap().len() >= 4 && !keys.head.contains("secret"),
        "{keys:?}"
    );
    // Revocations survive a kill.
    registry.kill();
    let registry = start(&world);
    let status = |path: &str| get(&registry, path).status;
    assert_eq!(
        (status(&first), status(&other), status(&rotated), status(&fourth)),
        (403, 403, 200, 200)
    );
    let remove = |token: &str| {
        registry
            .request(&format!("DELETE /api/v1/context-packs/{GOLDEN_ID}"), Some(token), b"")
            .status
    };
    assert_eq!(remove(&create_token(&registry, &admin, "you")), 404);
    assert_eq!(remove(&me), 204);
    assert_eq!((status(&fourth), remove(&me)), (403, 404));
    assert_eq!(push(&registry, &me, GOLDEN_ID, &minimal_zip(GOLDEN_ID, "Another")).status, 409);
    assert_eq!(push(&registry, &me, GOLDEN_ID, &zip_context_pack(&golden_files())).status, 201);
    assert_eq!(
        (
            status(&fourth),
            status(&format!(
                "{}pack.json",
                text(&signed_urls(&registry, &me, GOLDEN_ID), "folder")
            ))
        ),
        (403, 200)
    );
}

#[test]
fn cp_16_context_pack_belongs_to_its_owner() {
    let (_world, registry, admin, me) = running(module_path!());
    let you = create_token(&registry, &admin, "you");
    push_golden(&registry, &me);
    let owners = |token: &str| {
        let answer = registry.request("GET /api/v1/context-packs", Some(token), b"").json();
        answer["packs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| text(item, "owner").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (owners(&me), owners(&you), owners(&admin)),
        (vec!["me".into()], vec![], vec!["me".into()])
    );
    for token in [&me, &you, &admin] {
        assert_eq!(
            push(&registry, token, GOLDEN_ID, &minimal_zip(GOLDEN_ID, "Another")).status,
            409
        );
    }
    assert_eq!(push(&registry, &you, GOLDEN_ID, &zip_context_pack(&golden_files())).status, 409);
    assert_eq!(push(&registry, &admin, GOLDEN_ID, &zip_context_pack(&golden_files())).status, 200);
    let missing =
        registry.request(&format!("POST /api/v1/context-packs/{OTHER_ID}/url"), Some(&you), b"");
    for (method, path) in [("POST", "/url"), ("POST", "/revoke"), ("DELETE", "")] {
        let answer = registry.request(
            &format!("{method} /api/v1/context-packs/{GOLDEN_ID}{path}"),
            Some(&you),
            b"",
        );
        assert_eq!((answer.status, &answer.body), (404, &missing.body), "{path}");
        let answer = registry.request(
            &format!("{method} /api/v1/context-packs/{GOLDEN_ID}{path}"),
            None,
            b"",
        );
        assert_eq!(answer.status, 401, "{path}");
    }
    assert_eq!(registry.request("GET /api/v1/context-packs", None, b"").status, 401);
    assert_eq!(
        registry.request(&format!("PUT /api/v1/context-packs/{GOLDEN_ID}"), None, b"").status,
        401
    );
    let audit = registry.request("GET /api/v1/audit", Some(&admin), b"").json();
    let actions: Vec<&str> =
        audit.as_array().unwrap().iter().map(|item| text(item, "action")).collect();
    assert_eq!(actions, ["url", "push-pack", "mint", "mint"]);
}
