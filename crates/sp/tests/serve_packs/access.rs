//! Who can read a context pack: signed URLs, their expiry and revocation, and owners.

use std::time::{SystemTime, UNIX_EPOCH};

use sp_testkit::{HttpAnswer, eventually};

use super::uploads::{ID, OTHER, golden_files, push, pushed, small, text, url, zipped};
use super::{get, running, start, token};

#[test]
fn cp_16_without_a_signature_that_fits_everything_is_closed_alike() {
    let (_world, registry, _, me) = running(module_path!());
    let folder = pushed(&registry, &me);
    assert_eq!(push(&registry, &me, OTHER, &small(OTHER, "Other")).status, 201);
    let opening = folder.split('/').nth(2).unwrap();
    let parts: Vec<&str> = opening.split('.').collect();
    let (kid, exp, sig) = (parts[0], parts[1], parts[2]);
    let other = text(&url(&registry, &me, OTHER), "folder").to_owned();
    let of_other = other.split('/').nth(2).unwrap();
    let later = exp.parse::<u64>().unwrap() + 1;
    let bent = format!("{}{}", if sig.starts_with('A') { "B" } else { "A" }, &sig[1..]);
    let good = format!("exp={exp}&kid={kid}&sig={sig}");
    let file = |opening: &str, id: &str| format!("/s/{opening}/packs/{id}/pack.json");
    let closed = get(&registry, &format!("/packs/{OTHER}/pack.json"));
    assert_eq!(closed.status, 403, "{closed:?}");
    for path in [
        file(&format!("{kid}.{exp}.{bent}"), ID),
        file(&format!("{kid}.{later}.{sig}"), ID),
        file(&format!("k1.{exp}.{sig}"), ID),
        file(&format!("{kid}.{exp}.{}", &sig[..42]), ID),
        file(&format!("{kid}.{exp}.{sig}="), ID),
        file(&format!("{kid}.{exp}"), ID),
        file(opening, OTHER),
        file(of_other, ID),
        file(opening, "pk_01KPZXWZQR5NRHCGNQ4TR480B4"),
        file(opening, "nothing"),
        file(opening, "..%2f.."),
        format!("/s/{opening}/packs/{ID}/../{OTHER}/x/pack.json/..").replace("/../", "%2f..%2f"),
        format!("/s/{opening}/packs/{ID}"),
        format!("/s/{opening}/{ID}/pack.json"),
        format!("/s/{opening}"),
        format!("/packs/{ID}/pack.json"),
        format!("/packs/{ID}/nothing.md"),
        format!("/packs/{ID}.zip"),
        "/packs/nothing".into(),
        format!("/packs/{ID}/pack.json?{good}&sig={sig}"),
        format!("/packs/{ID}/pack.json?{good}&exp={exp}"),
        format!("/packs/{ID}/pack.json?{good}&kid={kid}"),
        format!("/packs/{ID}/pack.json?{good}&x=1"),
        format!("/packs/{ID}/pack.json?exp={later}&kid={kid}&sig={sig}"),
        format!("/packs/{ID}/pack.json?exp={exp}&kid=k1&sig={sig}"),
        format!("/packs/{ID}/pack.json?exp={exp}&kid={kid}"),
        format!("/packs/{OTHER}/pack.json?{good}"),
        format!("/s/{opening}/packs/{ID}/pack.json?{good}"),
    ] {
        let answer = get(&registry, &path);
        assert_eq!((answer.status, &answer.body), (403, &closed.body), "{path}");
        let names = |answer: &HttpAnswer| -> Vec<String> {
            answer
                .head
                .lines()
                .skip(1)
                .map(|line| line.split(':').next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(&answer), names(&closed), "{path}");
    }
    assert_eq!(get(&registry, &format!("/packs/{ID}/pack.json?{good}")).status, 200);
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        assert_eq!(
            registry.ask(&format!("{method} {folder}pack.json"), Some(&me), b"").status,
            405,
            "{method}"
        );
    }
}

#[test]
fn cp_16_an_address_ends_and_is_good_for_a_week_at_the_most() {
    let (_world, registry, _, me) = running(module_path!());
    pushed(&registry, &me);
    let ask = |body: &str| {
        registry.ask(&format!("POST /api/v1/context-packs/{ID}/url"), Some(&me), body.as_bytes())
    };
    for wrong in [
        r#"{"expires_in":0}"#,
        r#"{"expires_in":604801}"#,
        r#"{"expires_in":-1}"#,
        r#"{"expires_in":18446744073709551615}"#,
        r#"{"expires_in":"1h"}"#,
        r#"{"expires":1}"#,
        "x",
    ] {
        assert_eq!(ask(wrong).status, 400, "{wrong}");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for (body, seconds) in [("", 3600), ("{}", 3600), (r#"{"expires_in":604800}"#, 604_800)] {
        let answer = ask(body).json();
        let exp: u64 = text(&answer, "folder").split('.').nth(1).unwrap().parse().unwrap();
        assert!((now + seconds..now + seconds + 30).contains(&exp), "{body}: {exp}");
        assert_eq!(
            get(&registry, &format!("{}pack.json", text(&answer, "folder"))).status,
            200,
            "{body}"
        );
    }
    let short = ask(r#"{"expires_in":1}"#).json();
    let file = format!("{}pack.json", text(&short, "folder"));
    let ended = eventually(|| Some(get(&registry, &file)).filter(|answer| answer.status != 200));
    let never = get(&registry, &format!("/packs/{ID}/pack.json"));
    assert_eq!((ended.status, ended.body), (403, never.body));
}

#[test]
fn cp_16_addresses_are_taken_back_by_pack_by_key_and_with_the_pack() {
    let (world, registry, admin, me) = running(module_path!());
    let first = format!("{}pack.json", pushed(&registry, &me));
    assert_eq!(push(&registry, &me, OTHER, &small(OTHER, "Other")).status, 201);
    let other = format!("{}pack.json", text(&url(&registry, &me, OTHER), "folder"));
    let post = |path: &str, token: &str| {
        registry.ask(&format!("POST /api/v1/{path}"), Some(token), b"").status
    };
    let status = |path: &str| get(&registry, path).status;
    let fresh = || format!("{}pack.json", text(&url(&registry, &me, ID), "folder"));
    assert_eq!(post(&format!("context-packs/{ID}/revoke"), &me), 204);
    assert_eq!((status(&first), status(&other)), (403, 200));
    let second = fresh();
    assert_eq!(status(&second), 200);
    assert_eq!(post(&format!("context-packs/{ID}/revoke"), &admin), 204);
    let third = fresh();
    assert_eq!((status(&first), status(&second), status(&third)), (403, 403, 200));
    // A new key signs; what the old one signed is good until that is revoked.
    let kid = |path: &str| path.split('/').nth(2).unwrap().split('.').next().unwrap().to_owned();
    assert_eq!(post("url-keys", &me), 401);
    assert_eq!(post("url-keys", &admin), 201);
    let rotated = format!("{}pack.json", text(&url(&registry, &me, OTHER), "folder"));
    assert_ne!(kid(&other), kid(&rotated));
    assert_eq!((status(&other), status(&rotated)), (200, 200));
    let revoke = |kid: &str, token: &str| {
        registry.ask(&format!("DELETE /api/v1/url-keys/{kid}"), Some(token), b"")
    };
    assert_eq!(revoke(&kid(&other), &me).status, 401);
    assert_eq!(revoke(&kid(&other), &admin).status, 204);
    assert_eq!(revoke("nothing", &admin).status, 404);
    assert_eq!((status(&other), status(&rotated), status(&third)), (403, 200, 200));
    assert_eq!(revoke(&kid(&third), &admin).status, 204);
    let fourth = fresh();
    assert_eq!((status(&third), status(&fourth)), (403, 200));
    let keys = registry.ask("GET /api/v1/url-keys", Some(&admin), b"");
    assert!(
        keys.json().as_array().unwrap().len() >= 4 && !keys.head.contains("secret"),
        "{keys:?}"
    );
    // All of that is still so after a power cut.
    registry.kill();
    let registry = start(&world);
    let status = |path: &str| get(&registry, path).status;
    assert_eq!(
        (status(&first), status(&other), status(&rotated), status(&fourth)),
        (403, 403, 200, 200)
    );
    let remove = |token: &str| {
        registry.ask(&format!("DELETE /api/v1/context-packs/{ID}"), Some(token), b"").status
    };
    assert_eq!(remove(&token(&registry, &admin, "you")), 404);
    assert_eq!(remove(&me), 204);
    assert_eq!((status(&fourth), remove(&me)), (403, 404));
    assert_eq!(push(&registry, &me, ID, &small(ID, "Another")).status, 409);
    assert_eq!(push(&registry, &me, ID, &zipped(&golden_files())).status, 201);
    assert_eq!(
        (
            status(&fourth),
            status(&format!("{}pack.json", text(&url(&registry, &me, ID), "folder")))
        ),
        (403, 200)
    );
}

#[test]
fn cp_16_a_pack_is_its_owners() {
    let (_world, registry, admin, me) = running(module_path!());
    let you = token(&registry, &admin, "you");
    pushed(&registry, &me);
    let listed = |token: &str| {
        let answer = registry.ask("GET /api/v1/context-packs", Some(token), b"").json();
        answer["packs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| text(item, "owner").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (listed(&me), listed(&you), listed(&admin)),
        (vec!["me".into()], vec![], vec!["me".into()])
    );
    for who in [&me, &you, &admin] {
        assert_eq!(push(&registry, who, ID, &small(ID, "Another")).status, 409);
    }
    assert_eq!(push(&registry, &you, ID, &zipped(&golden_files())).status, 409);
    assert_eq!(push(&registry, &admin, ID, &zipped(&golden_files())).status, 200);
    let nothing = registry.ask(&format!("POST /api/v1/context-packs/{OTHER}/url"), Some(&you), b"");
    for (method, path) in [("POST", "/url"), ("POST", "/revoke"), ("DELETE", "")] {
        let answer =
            registry.ask(&format!("{method} /api/v1/context-packs/{ID}{path}"), Some(&you), b"");
        assert_eq!((answer.status, &answer.body), (404, &nothing.body), "{path}");
        let answer = registry.ask(&format!("{method} /api/v1/context-packs/{ID}{path}"), None, b"");
        assert_eq!(answer.status, 401, "{path}");
    }
    assert_eq!(registry.ask("GET /api/v1/context-packs", None, b"").status, 401);
    assert_eq!(registry.ask(&format!("PUT /api/v1/context-packs/{ID}"), None, b"").status, 401);
    let audit = registry.ask("GET /api/v1/audit", Some(&admin), b"").json();
    let actions: Vec<&str> =
        audit.as_array().unwrap().iter().map(|item| text(item, "action")).collect();
    assert_eq!(actions, ["url", "push-pack", "mint", "mint"]);
}
