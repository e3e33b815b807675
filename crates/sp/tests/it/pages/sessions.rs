//! Sessions, forms and redirects.

use super::*;

#[test]
fn se_07_session_is_not_a_token_and_ends_with_it() {
    let fixture = RegistryFixture::new();
    let reader = create_token(&fixture.registry, &fixture.admin, "you", "read");
    let (cookie, form) = fixture.login(&reader);
    let page = fixture.page_as("/tokens", &cookie);
    assert_eq!(page.status, 200);
    assert!(!page.text().contains("action=\"/tokens"), "only the admin has these forms");
    // The API does not accept a session, and the pages do not accept a token.
    let api = fixture.registry.send("GET /api/v1/whoami", &[("cookie", &cookie)], b"");
    assert_eq!(api.status, 401);
    assert_eq!(fixture.page_as("/tokens", &format!("sp-session={reader}")).status, 303);
    // Only the admin creates tokens, even with a valid form token.
    let body = format!("form_token={form}&user=eve&scope=publish");
    assert_eq!(fixture.form("/tokens", &cookie, &body).status, 404);
    for token in ["", "ctxp_no", "%3Cscript%3E", &"x".repeat(4000)] {
        assert_eq!(fixture.form("/login", "", &format!("token={token}")).status, 401, "{token}");
    }
    assert_eq!(fixture.form("/login", "", &format!("token={}", "x".repeat(40_000))).status, 413);
    // Revoking a token ends its sessions.
    let (admin_cookie, admin_form) = fixture.login(&fixture.admin);
    let page = fixture.page_as("/tokens", &admin_cookie);
    assert!(page.text().contains("action=\"/tokens"), "{}", page.text());
    let reader_token = || {
        let tokens =
            fixture.registry.request("GET /api/v1/tokens", Some(&fixture.admin), b"").json();
        tokens.as_array().unwrap().iter().find(|item| item["user"] == "you").unwrap().clone()
    };
    let id = reader_token()["id"].clone();
    let body = format!("form_token={admin_form}&id={id}");
    assert_eq!(fixture.form("/tokens/revoke", &admin_cookie, &body).status, 200);
    assert_eq!(reader_token()["revoked"], true);
    assert_eq!(fixture.page_as("/tokens", &cookie).status, 303);
    // After a logout the cookie is invalid.
    let logout = fixture.form("/logout", &admin_cookie, &format!("form_token={admin_form}"));
    assert_eq!((logout.status, logout.header("location")), (303, Some("/")));
    assert_eq!(fixture.page_as("/tokens", &admin_cookie).status, 303);
    // Sessions are not stored on disk.
    let session = cookie.split_once('=').unwrap().1;
    for name in ["registry.db", "registry.db-wal"] {
        let stored = std::fs::read(fixture.world.path("registry").join(name)).unwrap_or_default();
        assert!(!stored.windows(session.len()).any(|bytes| bytes == session.as_bytes()));
    }
    // Behind HTTPS the cookie is only sent over HTTPS.
    let origin = format!("https://{}", fixture.registry.address);
    let secure = fixture.form_from(&origin, "/login", "", &format!("token={}", fixture.admin));
    assert!(secure.header("set-cookie").unwrap().ends_with("; secure"), "{}", secure.head);
}

#[test]
fn forms_need_the_form_token_and_origin_of_their_session() {
    let fixture = RegistryFixture::new();
    let (cookie, form) = fixture.login(&fixture.admin);
    let (other_cookie, other_form) = fixture.login(&fixture.admin);
    assert_ne!(form, other_form);
    let body = |form: &str| format!("form_token={form}&user=eve&scope=publish");
    let evil = "http://evil.example";
    for (origin, cookie, body) in [
        (fixture.url(""), cookie.as_str(), body("")),
        (fixture.url(""), &cookie, body(&other_form)),
        (fixture.url(""), &cookie, "user=eve&scope=publish".into()),
        (fixture.url(""), "", body(&form)),
        (fixture.url(""), &other_cookie, body(&form)),
        (evil.into(), &cookie, body(&form)),
        ("null".into(), &cookie, body(&form)),
        (format!("{}.evil.example", fixture.url("")), &cookie, body(&form)),
    ] {
        for path in ["/tokens", "/tokens/revoke", "/logout"] {
            let body = body.replace("user=eve&scope=publish", "user=eve&scope=publish&id=1");
            assert_eq!(
                fixture.form_from(&origin, path, cookie, &body).status,
                403,
                "{origin} {path} {body}"
            );
        }
    }
    assert_eq!(
        fixture.form_from(evil, "/login", "", &format!("token={}", fixture.admin)).status,
        403
    );
    let headers =
        [("content-type", "application/x-www-form-urlencoded"), ("cookie", cookie.as_str())];
    let without_origin = fixture.registry.send("POST /tokens", &headers, body(&form).as_bytes());
    assert_eq!(without_origin.status, 403);
    let tokens = fixture.registry.request("GET /api/v1/tokens", Some(&fixture.admin), b"").json();
    assert_eq!(tokens.as_array().unwrap().len(), 2, "no token was created");
    assert!(tokens.as_array().unwrap().iter().all(|item| item["revoked"] == false));
    assert_eq!(fixture.page_as("/tokens", &cookie).status, 200, "the session is still valid");
}

#[test]
fn login_does_not_redirect_elsewhere_or_forge_headers() {
    let fixture = RegistryFixture::new();
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
        let answer =
            fixture.form("/login", "", &format!("token={}&next={next}", fixture.publisher));
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{next}");
        assert_eq!(answer.head.matches("set-cookie").count(), 1, "{next}");
        let page = fixture.page(&format!("/login?next={next}")).text();
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
        let answer = fixture.page(path);
        assert!(!answer.head.contains("set-cookie"), "{path}");
        assert!([200, 400, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

#[test]
fn rg_63_members_change_trusted_publishers_on_a_page() {
    let fixture = RegistryFixture::new();
    let [owner, reader] = ["owner1", "reader1"]
        .map(|user| create_token(&fixture.registry, &fixture.admin, user, "publish"));
    let bytes = package("team1/notes", "1.0.0", "Notes.", 2);
    let put = "PUT /api/v1/packages/team1/notes/1.0.0";
    assert_eq!(fixture.registry.request(put, Some(&owner), &bytes).status, 201);
    let role = "PUT /api/v1/namespaces/team1/members/reader1";
    let body = b"{\"role\":\"reader\"}";
    assert_eq!(fixture.registry.request(role, Some(&owner), body).status, 204);
    let (cookie, form) = fixture.login(&owner);
    let (reader_cookie, reader_form) = fixture.login(&reader);
    let page = "/namespaces/team1/publishers";
    assert!(fixture.page_as("/namespaces/team1", &cookie).text().contains(page));
    assert!(!fixture.page_as("/namespaces/team1", &reader_cookie).text().contains(page));
    for (cookie, status) in [(&*cookie, 200), (&*reader_cookie, 404), ("", 404)] {
        assert_eq!(fixture.page_as(page, cookie).status, status);
    }
    let github = "kind=github&package=notes&repository=acme%2Fnotes&repository_owner_id=12\
                  &workflow_ref=release.yml&environment=";
    let post = |path: &str, cookie: &str, form: &str, body: &str| {
        fixture.form(path, cookie, &format!("form_token={form}&{body}"))
    };
    // Without `--public-url`, there is no default audience.
    let refused = post(page, &cookie, &form, github);
    assert!(refused.text().contains("not added: `audience` is missing"), "{}", refused.text());
    assert_eq!(post(page, &cookie, "", github).status, 403);
    let add = "POST /api/v1/packages/team1/notes/publishers";
    let body = br#"{"issuer": "https://ci.example", "audience": "x<b>", "claims": {"sub": "<i>"}}"#;
    assert_eq!(fixture.registry.request(add, Some(&owner), body).status, 201);
    let text = fixture.page_as(page, &cookie).text();
    assert!(text.contains("https://ci.example") && text.contains("sub=&#60;i&#62;"), "{text}");
    let remove = format!("{page}/remove");
    let body = "package=notes&id=1";
    assert_eq!(post(&remove, &reader_cookie, &reader_form, body).status, 404);
    assert_eq!(post(&remove, &cookie, &form, body).status, 303);
    assert!(!fixture.page_as(page, &cookie).text().contains("https://ci.example"));
}

#[test]
fn rg_103_owners_change_members_on_the_page_of_the_namespace() {
    let fixture = RegistryFixture::new();
    let [owner, reader] = ["owner1", "reader1"]
        .map(|user| create_token(&fixture.registry, &fixture.admin, user, "publish"));
    let bytes = package("team1/notes", "1.0.0", "Notes.", 2);
    let put = "PUT /api/v1/packages/team1/notes/1.0.0";
    assert_eq!(fixture.registry.request(put, Some(&owner), &bytes).status, 201);
    let (cookie, form) = fixture.login(&owner);
    let (path, page) = ("/namespaces/team1/members", "/namespaces/team1");
    let set = |form: &str, cookie: &str, change: &str| {
        fixture.form(path, cookie, &format!("form_token={form}&{change}")).status
    };
    assert_eq!(set(&form, &cookie, "user=reader1&role=reader"), 303);
    assert_eq!(set(&form, &cookie, "user=owner1&role=reader"), 409);
    assert_eq!(set(&form, &cookie, "user=owner1"), 409);
    assert_eq!(set(&form, &cookie, "user=reader1&role=king"), 400);
    assert_eq!(set("", &cookie, "user=eve&role=owner"), 403);
    let (reader_cookie, reader_form) = fixture.login(&reader);
    assert_eq!(set(&reader_form, &reader_cookie, "user=eve&role=owner"), 403);
    for (cookie, has_members, has_form) in
        [(&*cookie, true, true), (&*reader_cookie, true, false), ("", false, false)]
    {
        let text = fixture.page_as(page, cookie).text();
        assert_eq!(text.contains("reader1</td>"), has_members, "{text}");
        assert_eq!(text.contains(&format!("action=\"{path}\"")), has_form, "{text}");
    }
    assert_eq!(set(&form, &cookie, "user=reader1"), 303);
    assert!(!fixture.page_as(page, &cookie).text().contains("reader1</td>"));
}
