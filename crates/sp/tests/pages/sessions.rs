//! Sessions, forms and redirects.

use super::*;

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
