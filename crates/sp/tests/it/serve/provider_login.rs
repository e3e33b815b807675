//! Logins with an identity provider. This file is compiled once for each database.

use serde_json::{Value, json};
use sp_testkit::{
    HttpResponse, ISSUER_CLIENT_ID, ISSUER_CLIENT_SECRET, Issuer, JwtKey, Registry, World,
    eventually, world,
};

use super::{Database, create_token, get, package, put, serve_command};

const PUBLIC_URL: &str = "https://registry.example";

struct LoginFixture {
    world: World,
    registry: Registry,
    admin: String,
    issuer: Issuer,
}

/// A browser at the provider.
struct BegunLogin {
    cookie: String,
    /// Where the provider sends the browser back to.
    callback: String,
}

impl LoginFixture {
    fn new(module: &str, flags: &[&str]) -> Self {
        let mut world = world!();
        Database::of_module(module).use_in(&mut world);
        let issuer = Issuer::start();
        world.set_env("SP_SERVE_OIDC_CLIENT_SECRET", ISSUER_CLIENT_SECRET);
        let arguments = arguments(&issuer.url());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = serve_command(&world, &[&arguments, flags].concat());
        command.stderr(std::fs::File::create(world.path("log")).unwrap());
        let registry = Registry::start_with_stderr(command);
        let admin = registry.admin.clone().unwrap();
        Self { world, registry, admin, issuer }
    }

    fn page(&self, path: &str, cookie: &str) -> HttpResponse {
        let headers = [("accept", "text/html"), ("cookie", cookie)];
        self.registry.send(&format!("GET {path}"), &headers, b"")
    }

    fn begin(&self, next: &str) -> BegunLogin {
        let response = self.page(&format!("/login/oidc?next={next}"), "");
        assert_eq!(response.status, 303, "{}", response.text());
        let cookie = cookie(&response, "sp-login").unwrap();
        let url = response.raw_headers("location").next().unwrap();
        let callback = self.issuer.visit(url);
        let callback = callback.strip_prefix(PUBLIC_URL).unwrap().to_owned();
        BegunLogin { cookie, callback }
    }

    fn login(&self) -> HttpResponse {
        let begun = self.begin("/tokens");
        self.page(&begun.callback, &begun.cookie)
    }

    /// Logs in, and returns the session cookie.
    fn session(&self) -> String {
        let response = self.login();
        assert_eq!(response.status, 200, "{}", response.text());
        cookie(&response, "sp-session").unwrap()
    }

    fn set_user(&self, user: Value) {
        self.issuer.change(|issuer| issuer.user = user);
    }
}

fn arguments(issuer: &str) -> Vec<String> {
    [
        "--public-url",
        PUBLIC_URL,
        "--oidc-allow-http",
        "--oidc-issuer",
        issuer,
        "--oidc-client-id",
        ISSUER_CLIENT_ID,
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Returns a cookie that a response sets, as a browser sends it back.
fn cookie(response: &HttpResponse, name: &str) -> Option<String> {
    let cookies = response.raw_headers("set-cookie");
    let mut named = cookies.filter(|cookie| cookie.starts_with(&format!("{name}=")));
    Some(named.next()?.split(';').next()?.to_owned())
}

fn ann() -> Value {
    json!({"sub": "u1", "email": "ann@acme.example", "email_verified": true})
}

#[test]
fn rg_114_user_logs_in_with_a_provider() {
    let fixture =
        LoginFixture::new(module_path!(), &["--oidc-create-accounts", "--oidc-allowed-domain=*"]);
    let login = fixture.page("/login?next=%2Ftokens", "").text();
    assert!(login.contains("href=\"/login/oidc?next=/tokens\""), "{login}");
    for key in JwtKey::ALL {
        // Tokens need no key ID if there is one key of the algorithm.
        fixture.issuer.change(|issuer| (issuer.key, issuer.has_key_ids) = (key, key != JwtKey::Ec));
        let response = fixture.login();
        assert_eq!(response.status, 200, "{key:?}: {}", response.text());
        let set: Vec<&str> = response.raw_headers("set-cookie").collect();
        assert!(
            set[0].contains("HttpOnly; SameSite=Strict") && set[0].ends_with("; Secure"),
            "{set:?}"
        );
        assert!(set[1].starts_with("sp-login=;") && set[1].contains("Max-Age=0"), "{set:?}");
        assert_eq!(response.header("refresh"), Some("0; url=/tokens"));
        assert!(response.text().contains("href=\"/tokens\""), "{}", response.text());
    }
    let session = fixture.session();
    assert!(fixture.page("/tokens", &session).text().contains("ann@acme.example"));
    // A new member sees private packages, and an admin ends the session.
    let bob = create_token(&fixture.registry, &fixture.admin, "bob", "publish");
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    assert_eq!(
        put(&fixture.registry, &bob, "acme/notes/1.0.0?visibility=private", &bytes).status,
        201
    );
    assert_eq!(fixture.page("/packages/acme/notes", &session).status, 404);
    let add = "PUT /api/v1/namespaces/acme/members/ann@acme.example";
    assert_eq!(fixture.registry.request(add, Some(&bob), b"{\"role\":\"reader\"}").status, 204);
    assert_eq!(fixture.page("/packages/acme/notes", &session).status, 200);
    let tokens = get(&fixture.registry, Some(&fixture.admin), "tokens").json();
    let own =
        tokens.as_array().unwrap().iter().rev().find(|it| it["label"] == "web login").unwrap();
    assert_eq!((&own["user"], &own["scope"]), (&json!("ann@acme.example"), &json!("publish")));
    let revoke = format!("DELETE /api/v1/tokens/{}", own["id"]);
    assert_eq!(fixture.registry.request(&revoke, Some(&fixture.admin), b"").status, 204);
    assert_eq!(fixture.page("/packages/acme/notes", &session).status, 404);
    let audit = get(&fixture.registry, Some(&fixture.admin), "audit").json();
    assert!(audit.to_string().contains(&format!("{} u1", fixture.issuer.url())), "{audit}");
}

#[test]
fn rg_114_registry_authenticates_as_the_provider_expects() {
    let flags = ["--oidc-create-accounts", "--oidc-allowed-domain=*"];
    for needs_basic in [true, false] {
        let fixture = LoginFixture::new(module_path!(), &flags);
        fixture.issuer.change(|issuer| issuer.needs_basic = needs_basic);
        fixture.session();
    }
}

#[test]
fn rg_114_login_belongs_to_the_browser_that_began_it() {
    let fixture =
        LoginFixture::new(module_path!(), &["--oidc-create-accounts", "--oidc-allowed-domain=*"]);
    let (one, other) = (fixture.begin("/"), fixture.begin("/"));
    for (callback, cookie) in [
        (&one.callback, ""),
        (&one.callback, &*other.cookie),
        (&one.callback, "sp-login=x"),
        (&one.callback, "sp-login=00.%2F"),
        (&"/login/oidc/callback".to_owned(), &one.cookie),
        (&"/login/oidc/callback?code=x&state=y".to_owned(), &one.cookie),
    ] {
        let response = fixture.page(callback, cookie);
        assert_eq!(response.status, 400, "{callback} {cookie}");
        assert!(!response.head.contains("sp-session"), "{}", response.head);
    }
    let elsewhere = format!("{}&iss=https://evil.example", one.callback);
    assert_eq!(fixture.page(&elsewhere, &one.cookie).status, 400);
    assert_eq!(fixture.page(&one.callback, &one.cookie).status, 200);
    // The code works once.
    assert_eq!(fixture.page(&one.callback, &one.cookie).status, 502);
    let state = other.callback.split("state=").nth(1).unwrap();
    let denied = format!("/login/oidc/callback?error=access_denied&state={state}");
    assert_eq!(fixture.page(&denied, &other.cookie).status, 403);
    for next in ["//evil.example", "https://evil.example", "/%0d%0aset-cookie:x=1"] {
        let begun = fixture.begin(next);
        let page = fixture.page(&begun.callback, &begun.cookie);
        assert_eq!(page.header("refresh"), Some("0; url=/"), "{next}");
    }
}

#[test]
fn rg_114_invalid_tokens_of_the_provider_are_refused() {
    let fixture =
        LoginFixture::new(module_path!(), &["--oidc-create-accounts", "--oidc-allowed-domain=*"]);
    for (name, value) in [
        ("nonce", json!("x")),
        ("aud", json!("another-client")),
        ("aud", json!([ISSUER_CLIENT_ID, "another-client"])),
        ("iss", json!("https://evil.example")),
        ("exp", json!(1_000_000_000)),
        ("iat", json!(4_000_000_000_u64)),
        ("sub", json!("")),
    ] {
        let mut user = ann();
        user[name] = value.clone();
        fixture.set_user(user);
        let response = fixture.login();
        assert_eq!(response.status, 502, "{name} {value}: {}", response.text());
        assert_eq!(cookie(&response, "sp-session"), None);
    }
    fixture.set_user(ann());
    fixture.session();
}

#[test]
fn rg_114_settings_decide_who_may_log_in() {
    let flags = ["--oidc-allowed-domain=acme.example", "--oidc-allowed-group=dev"];
    let fixture = LoginFixture::new(module_path!(), &flags);
    let with = |name: &str, value: Value| {
        let mut user = ann();
        user["groups"] = json!(["ops", "dev"]);
        user[name] = value;
        user
    };
    let status = |user: Value| {
        fixture.set_user(user);
        fixture.login().status
    };
    // Without new accounts, the user must be known.
    assert_eq!(status(with("sub", json!("u1"))), 403);
    create_token(&fixture.registry, &fixture.admin, "ann@acme.example", "read");
    assert_eq!(status(with("sub", json!("u1"))), 200);
    for (name, value) in [
        ("groups", json!(["ops"])),
        ("groups", json!(null)),
        ("email", json!("ann@evil.example")),
        ("email_verified", json!(false)),
        // Another user of the provider with the same name.
        ("sub", json!("u2")),
    ] {
        assert_eq!(status(with(name, value.clone())), 403, "{name} {value}");
    }
    // The user keeps the name of the first login.
    assert_eq!(status(with("email", json!("renamed@acme.example"))), 200);
    let session = fixture.session();
    assert!(fixture.page("/tokens", &session).text().contains("<strong>ann@acme.example"));
}

#[test]
fn rg_114_provider_is_checked_before_a_start_and_not_needed_for_one() {
    let fixture = LoginFixture::new(module_path!(), &[]);
    let data = fixture.world.path("other").display().to_string();
    let issuer = arguments(&fixture.issuer.url());
    let issuer: Vec<&str> = issuer.iter().map(String::as_str).collect();
    let check = [&["serve", "--check", "--data", &data][..], &issuer].concat();
    fixture.world.sp(&check).ok();
    fixture.issuer.change(|issuer| issuer.configuration = json!({"token_endpoint": "http://evil"}));
    assert_eq!(fixture.world.sp_error(&check).code, "E-network");
    fixture.issuer.change(|issuer| issuer.is_up = false);
    let error = fixture.world.sp_error(&check);
    assert_eq!(error.code, "E-network");
    assert!(!format!("{error:?}").contains(ISSUER_CLIENT_SECRET), "{error:?}");
    let response = fixture.page("/login/oidc", "");
    assert_eq!(response.status, 502);
    // The page does not show the cause, but the log and the metrics do.
    assert!(!response.text().contains("cannot fetch"), "{}", response.text());
    let log = || std::fs::read_to_string(fixture.world.path("log")).unwrap();
    eventually(|| log().contains("cannot fetch").then_some(()));
    let metrics = fixture.registry.request("GET /metrics", None, b"").text();
    assert!(metrics.contains("code=\"issuer_unavailable\""), "{metrics}");
    assert_eq!(get(&fixture.registry, None, "index.json").status, 200);
    for (removed, code) in [
        ("--public-url", "E-missing-argument"),
        ("--oidc-client-id", "E-missing-argument"),
        ("--oidc-allow-http", "E-invalid-arguments"),
    ] {
        let at = check.iter().position(|it| *it == removed).unwrap();
        let values = if removed == "--oidc-allow-http" { 1 } else { 2 };
        let mut check = check.clone();
        check.drain(at..at + values);
        assert_eq!(fixture.world.sp_error(&check).code, code, "{removed}");
    }
    let unlimited = [&check[..], &["--oidc-create-accounts"]].concat();
    assert_eq!(fixture.world.sp_error(&unlimited).code, "E-missing-argument");
    let file = fixture.world.path("secret");
    std::fs::write(&file, ISSUER_CLIENT_SECRET).unwrap();
    let file = file.display().to_string();
    let exposed = [&check[..], &["--oidc-client-secret-file", &file]].concat();
    assert_eq!(fixture.world.sp_error(&exposed).code, "E-exposed-secret");
}
