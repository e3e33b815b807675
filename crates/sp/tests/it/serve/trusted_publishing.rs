//! Trusted publishing with a real issuer. This file is compiled once for each database.

use serde_json::{Value, json};
use sp_testkit::{HttpResponse, Issuer, JwtKey, Registry, World, unix_seconds, world};

use super::{Database, create_token, get, package, put, serve_command};

const AUDIENCE: &str = "registry.example";

/// A registry with a package of `ann`, and an issuer.
struct CiFixture {
    database: Database,
    world: World,
    registry: Registry,
    admin: String,
    ann: String,
    issuer: Issuer,
}

impl CiFixture {
    fn new(module: &str) -> Self {
        Self::with_flags(module, &[])
    }

    fn with_flags(module: &str, flags: &[&str]) -> Self {
        let database = Database::of_module(module);
        let mut world = world!();
        database.use_in(&mut world);
        let oidc = ["--public-url", "https://registry.example/", "--oidc-allow-http"];
        let registry = Registry::start(serve_command(&world, &[&oidc[..], flags].concat()));
        let admin = registry.admin.clone().unwrap();
        let ann = create_token(&registry, &admin, "ann", "publish");
        let fixture = Self { database, world, registry, admin, ann, issuer: Issuer::start() };
        assert_eq!(fixture.publish(&fixture.ann, "notes", "1.0.0"), 201);
        fixture
    }

    fn publish(&self, token: &str, name: &str, version: &str) -> u16 {
        let bytes = package(&format!("@acme/{name}"), version, "Tenants never share rows.");
        put(&self.registry, token, &format!("acme/{name}/{version}"), &bytes).status
    }

    fn post(&self, token: Option<&str>, path: &str, body: &Value) -> HttpResponse {
        self.registry.request(&format!("POST {path}"), token, body.to_string().as_bytes())
    }

    fn add_publisher(&self, token: &str, name: &str, claims: &Value) -> HttpResponse {
        let body = json!({"issuer": self.issuer.url(), "claims": claims});
        self.post(Some(token), &format!("/api/v1/packages/acme/{name}/publishers"), &body)
    }

    /// Trusts the job `job-1` to publish a package.
    fn trust(&self, name: &str) -> i64 {
        let added = self.add_publisher(&self.ann, name, &json!({"sub": "job-1"}));
        assert_eq!(added.status, 201, "{}", added.text());
        added.json()["id"].as_i64().unwrap()
    }

    fn exchange(&self, token: &str) -> HttpResponse {
        self.post(None, "/api/v1/oidc/token", &json!({"token": token}))
    }

    /// Returns a registry token for the job `job-1`.
    fn mint(&self) -> String {
        let response = self.exchange(&self.issuer.token(AUDIENCE, &json!({})));
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()["token"].as_str().unwrap().to_owned()
    }

    fn audit(&self) -> Vec<Value> {
        let log = get(&self.registry, Some(&self.admin), "audit").json();
        log.as_array().unwrap().clone()
    }

    fn set_role(&self, user: &str, role: &str) {
        let body = json!({"role": role}).to_string();
        let request = format!("PUT /api/v1/namespaces/acme/members/{user}");
        let response = self.registry.request(&request, Some(&self.admin), body.as_bytes());
        assert_eq!(response.status, 204, "{}", response.text());
    }
}

fn code(response: &HttpResponse) -> (u16, Value) {
    (response.status, response.json()["code"].clone())
}

#[test]
fn rg_63_members_who_may_publish_register_at_most_five_publishers() {
    let ci = CiFixture::new(module_path!());
    let [reader, stranger] =
        ["reader", "stranger"].map(|user| create_token(&ci.registry, &ci.admin, user, "publish"));
    ci.set_role("reader", "reader");
    let path = "packages/acme/notes/publishers";
    for (token, status) in [(&reader, 403), (&stranger, 404), (&ci.admin, 403)] {
        assert_eq!(ci.add_publisher(token, "notes", &json!({"sub": "x"})).status, status);
    }
    for (token, status) in [(&reader, 404), (&stranger, 404), (&ci.admin, 200)] {
        assert_eq!(get(&ci.registry, Some(token), path).status, status);
    }
    assert_eq!(get(&ci.registry, None, path).status, 401);
    let added = ci.add_publisher(&ci.ann, "notes", &json!({"sub": "job-0"})).json();
    assert_eq!((&added["audience"], &added["created_by"]), (&json!(AUDIENCE), &json!("ann")));
    assert_eq!(added["pending_until"], Value::Null);
    let again = ci.add_publisher(&ci.ann, "notes", &json!({"sub": "job-0"}));
    assert_eq!(code(&again), (409, json!("exists")));
    for number in 1..5 {
        let claims = json!({"sub": format!("job-{number}")});
        assert_eq!(ci.add_publisher(&ci.ann, "notes", &claims).status, 201);
    }
    let sixth = ci.add_publisher(&ci.ann, "notes", &json!({"sub": "job-6"}));
    assert_eq!(code(&sixth), (409, json!("too_many")));
    let listed = get(&ci.registry, Some(&ci.ann), path).json();
    assert_eq!(listed["publishers"].as_array().unwrap().len(), 5);
    let all = get(&ci.registry, Some(&ci.ann), "namespaces/acme/publishers").json();
    assert_eq!(all.as_array().unwrap()[0], added);
    let remove = |token: &str, id: &Value| {
        ci.registry.request(&format!("DELETE /api/v1/{path}/{id}"), Some(token), b"").status
    };
    for (token, status) in [(&reader, 404), (&stranger, 404), (&ci.ann, 204), (&ci.ann, 404)] {
        assert_eq!(remove(token, &added["id"]), status);
    }
    for claims in
        [json!({}), json!({"ref": "main"}), json!({"sub": 1}), json!({"aud": "x", "sub": "y"})]
    {
        let status = ci.add_publisher(&ci.ann, "notes", &claims).status;
        assert!([400, 422].contains(&status), "{claims}: {status}");
    }
    let audit = ci.audit();
    assert_eq!(
        (&audit[0]["action"], &audit[0]["user"]),
        (&json!("remove-publisher"), &json!("ann"))
    );
    assert!(audit[1]["subject"].as_str().unwrap().contains("\"sub\":\"job-4\""), "{audit:?}");
}

#[test]
fn rg_65_job_gets_a_token_at_both_addresses_and_revokes_it() {
    let ci = CiFixture::new(module_path!());
    for path in ["/api/v1/oidc/audience", "/_/oidc/audience"] {
        let response = ci.registry.request(&format!("GET {path}"), None, b"");
        assert_eq!(response.json(), json!({"audience": AUDIENCE}));
    }
    ci.trust("notes");
    let token = ci.mint();
    assert_eq!(ci.publish(&token, "notes", "1.1.0"), 201);
    let identity = ci.issuer.token(AUDIENCE, &json!({}));
    let compatible = ci.post(None, "/_/oidc/mint-token", &json!({"token": identity}));
    assert_eq!((compatible.status, &compatible.json()["success"]), (200, &json!(true)));
    assert_eq!(compatible.header("cache-control"), Some("no-store"));
    let other = compatible.json()["token"].as_str().unwrap().to_owned();
    let refused = ci.post(None, "/_/oidc/mint-token", &json!({"token": identity}));
    let body = refused.json();
    assert_eq!((refused.status, &body["success"]), (422, &json!(false)));
    assert_eq!(body["errors"][0]["code"], "invalid_token", "{body}");
    let revoke =
        |token: &str| ci.registry.request("DELETE /api/v1/oidc/token", Some(token), b"").status;
    assert_eq!((revoke(&token), revoke(&token), revoke(&ci.ann)), (204, 401, 401));
    assert_eq!(ci.publish(&token, "notes", "1.2.0"), 401);
    assert_eq!(ci.publish(&other, "notes", "1.2.0"), 201);
    for body in [json!({}), json!({"token": 1}), json!("x")] {
        assert_eq!(ci.post(None, "/api/v1/oidc/token", &body).status, 400, "{body}");
    }
}

#[test]
fn rg_66_issuers_are_contacted_only_if_registered_and_must_name_themselves() {
    let ci = CiFixture::new(module_path!());
    let identity = || ci.issuer.token(AUDIENCE, &json!({}));
    assert_eq!(code(&ci.exchange(&identity())), (422, json!("invalid_token")));
    assert_eq!(ci.issuer.requests(), Vec::<String>::new());
    ci.trust("notes");
    ci.issuer.change(|issuer| issuer.configuration = json!({"issuer": "https://evil.example"}));
    let refused = ci.exchange(&identity());
    assert_eq!(code(&refused), (503, json!("issuer_unavailable")));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(ci.issuer.requests(), ["/.well-known/openid-configuration"]);
}

#[test]
fn rg_67_known_keys_are_used_without_asking_the_issuer_again() {
    let ci = CiFixture::new(module_path!());
    ci.trust("notes");
    ci.mint();
    let asked = ci.issuer.requests();
    assert_eq!(asked, ["/.well-known/openid-configuration", "/keys"]);
    for number in 0..3 {
        let header = json!({"alg": "RS256", "kid": format!("unknown-{number}")});
        let claims = ci.issuer.claims(AUDIENCE, &json!({}));
        let token = ci.issuer.keys.token_with_header(JwtKey::Rsa, &header, &claims);
        assert_eq!(ci.exchange(&token).status, 422);
    }
    ci.issuer.change(|issuer| issuer.is_up = false);
    ci.mint();
    assert_eq!(ci.issuer.requests(), asked);
}

#[test]
fn rg_68_all_key_types_are_accepted() {
    let ci = CiFixture::new(module_path!());
    ci.trust("notes");
    for (number, key) in JwtKey::ALL.into_iter().enumerate() {
        let claims = ci.issuer.claims(AUDIENCE, &json!({}));
        let response = ci.exchange(&ci.issuer.keys.token(key, &claims));
        let token = response.json()["token"].as_str().unwrap_or_default().to_owned();
        assert_eq!(ci.publish(&token, "notes", &format!("2.{number}.0")), 201, "{key:?}");
    }
}

#[test]
fn rg_69_all_invalid_tokens_get_the_same_response() {
    let ci = CiFixture::new(module_path!());
    ci.trust("notes");
    let now = unix_seconds();
    let (keys, rsa) = (&ci.issuer.keys, JwtKey::Rsa);
    let valid = || ci.issuer.claims(AUDIENCE, &json!({}));
    let with_claims = |more: Value| keys.token(rsa, &ci.issuer.claims(AUDIENCE, &more));
    let with_header = |more: Value| {
        let mut header = json!({"alg": "RS256", "kid": "rsa-1"});
        more.as_object().unwrap().iter().for_each(|(name, value)| header[name] = value.clone());
        keys.token_with_header(rsa, &header, &valid())
    };
    let used = ci.issuer.token(AUDIENCE, &json!({}));
    assert_eq!(ci.exchange(&used).status, 200);
    let good = with_claims(json!({}));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other = with_claims(json!({"sub": "job-2"}));
    let payload = other.split('.').nth(1).unwrap();
    let changed = format!("{}.{payload}.{signature}", signed.split('.').next().unwrap());
    let expected = ci.exchange("x").body;
    for (name, token) in [
        ("none", with_header(json!({"alg": "none"}))),
        ("HS256", keys.token_with_shared_key(&valid())),
        ("no kid", keys.token_with_header(rsa, &json!({"alg": "RS256"}), &valid())),
        ("unknown kid", with_header(json!({"kid": "x"}))),
        ("iss", with_claims(json!({"iss": "https://other.example"}))),
        ("aud", with_claims(json!({"aud": "other.example"}))),
        ("audiences", with_claims(json!({"aud": [AUDIENCE, "x"]}))),
        ("exp", with_claims(json!({"iat": now - 600, "exp": now - 300}))),
        ("nbf", with_claims(json!({"nbf": now + 200}))),
        ("jti", with_claims(json!({"jti": ""}))),
        ("used jti", used),
        ("payload", changed),
        ("crit", with_header(json!({"crit": ["x"]}))),
        ("jku", with_header(json!({"jku": "https://evil.example"}))),
        ("x5u", with_header(json!({"x5u": "https://evil.example"}))),
        ("jwk", with_header(json!({"jwk": keys.public(rsa)}))),
        ("long", with_claims(json!({"pad": "x".repeat(16 * 1024)}))),
        ("lifetime", with_claims(json!({"exp": now + 3700}))),
    ] {
        let response = ci.exchange(&token);
        assert_eq!((response.status, response.body), (422, expected.clone()), "{name}");
    }
    assert_eq!(ci.exchange(&good).status, 200);
}

#[test]
fn rg_69_used_token_is_refused() {
    let ci = CiFixture::new(module_path!());
    ci.trust("notes");
    let identity = ci.issuer.token(AUDIENCE, &json!({}));
    assert_eq!(ci.exchange(&identity).status, 200);
    assert_eq!(code(&ci.exchange(&identity)), (422, json!("invalid_token")));
    // The ID counts, not the token, and only for its issuer.
    let id = json!({"jti": "the-same"});
    let [first, second] = [&id, &id].map(|id| ci.issuer.token(AUDIENCE, id));
    assert_eq!((ci.exchange(&first).status, ci.exchange(&second).status), (200, 422));
    let other = Issuer::start();
    let body = json!({"issuer": other.url(), "claims": {"sub": "job-1"}});
    let path = "/api/v1/packages/acme/notes/publishers";
    assert_eq!(ci.post(Some(&ci.ann), path, &body).status, 201);
    assert_eq!(ci.exchange(&other.token(AUDIENCE, &id)).status, 200);
}

#[test]
fn rg_70_token_that_is_exchanged_twice_at_once_works_once() {
    let ci = CiFixture::new(module_path!());
    ci.trust("notes");
    ci.mint();
    for _ in 0..5 {
        let identity = ci.issuer.token(AUDIENCE, &json!({}));
        let mut statuses: Vec<u16> = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| ci.exchange(&identity).status));
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422, 422, 422]);
    }
}

#[test]
fn rg_71_valid_token_that_nothing_trusts_is_named() {
    let ci = CiFixture::new(module_path!());
    ci.trust("notes");
    let identity = ci.issuer.token(AUDIENCE, &json!({"sub": "job-2"}));
    assert_eq!(code(&ci.exchange(&identity)), (422, json!("no_publisher")));
    // It was not used up.
    let added = ci.add_publisher(&ci.ann, "notes", &json!({"sub": "job-2"}));
    assert_eq!((added.status, ci.exchange(&identity).status), (201, 200));
}

#[test]
fn rg_72_token_permits_to_publish_the_trusting_packages_for_15_minutes() {
    let ci = CiFixture::new(module_path!());
    for name in ["guide", "other"] {
        assert_eq!(ci.publish(&ci.ann, name, "1.0.0"), 201);
    }
    let (id, _) = (ci.trust("notes"), ci.trust("guide"));
    let before = unix_seconds();
    let response = ci.exchange(&ci.issuer.token(AUDIENCE, &json!({}))).json();
    let expires = response["expires"].as_u64().unwrap();
    assert!((before + 900..=unix_seconds() + 900).contains(&expires), "{expires}");
    let token = response["token"].as_str().unwrap();
    assert!(token.starts_with("ctxt_") && token.len() == 5 + 64, "{}", token.len());
    let stored = ci.database.dump(&ci.world);
    assert!(!stored.windows(token.len()).any(|bytes| bytes == token.as_bytes()));
    assert_eq!(ci.publish(token, "notes", "1.1.0"), 201);
    assert_eq!(ci.publish(token, "guide", "1.1.0"), 201);
    assert_eq!(
        (ci.publish(token, "other", "1.1.0"), ci.publish(token, "new", "1.0.0")),
        (403, 403)
    );
    for request in [
        "DELETE /api/v1/packages/acme/notes/1.0.0",
        "PUT /api/v1/packages/acme/notes/private",
        "PUT /api/v1/packages/acme/notes/trusted-only",
        "GET /api/v1/packages/acme/notes/publishers",
        "GET /api/v1/namespaces/acme/members",
        "PUT /api/v1/namespaces/acme/members/eve",
        "GET /api/v1/whoami",
        "GET /api/v1/index.json",
        "GET /api/v1/context-packs",
        "POST /mcp",
        "GET /api/v1/tokens",
    ] {
        assert_eq!(ci.registry.request(request, Some(token), b"").status, 401, "{request}");
    }
    // A token is worth no more than its publisher.
    let remove = format!("DELETE /api/v1/packages/acme/notes/publishers/{id}");
    assert_eq!(ci.registry.request(&remove, Some(&ci.ann), b"").status, 204);
    assert_eq!(ci.publish(token, "notes", "1.2.0"), 403);
    assert_eq!(ci.publish(token, "guide", "1.2.0"), 201);
}

#[test]
fn rg_72_publisher_works_as_long_as_its_maker_may_publish() {
    let ci = CiFixture::new(module_path!());
    ci.set_role("bob", "owner");
    ci.trust("notes");
    let token = ci.mint();
    ci.set_role("ann", "reader");
    assert_eq!(ci.publish(&token, "notes", "1.1.0"), 403);
    let identity = ci.issuer.token(AUDIENCE, &json!({}));
    assert_eq!(ci.exchange(&identity).status, 422);
    ci.set_role("ann", "publisher");
    assert_eq!(ci.publish(&token, "notes", "1.1.0"), 201);
}

#[test]
fn rg_73_pending_publisher_creates_the_package_once() {
    let ci = CiFixture::new(module_path!());
    let bob = create_token(&ci.registry, &ci.admin, "bob", "publish");
    ci.set_role("bob", "publisher");
    let pending = |token: &str, name: &str, job: &str| {
        let added = ci.add_publisher(token, name, &json!({"sub": job}));
        assert_eq!(added.status, 201, "{}", added.text());
        assert!(added.json()["pending_until"].is_string(), "{}", added.text());
    };
    let list = |name: &str| {
        let path = format!("packages/acme/{name}/publishers");
        get(&ci.registry, Some(&ci.ann), &path).json()["publishers"].clone()
    };
    pending(&ci.ann, "new", "job-1");
    pending(&ci.ann, "new", "job-2");
    pending(&bob, "new", "job-3");
    let token = ci.mint();
    assert_eq!(ci.publish(&token, "new", "1.0.0"), 201);
    // The publishers of the same user stay, those of others are removed.
    let left = list("new");
    assert_eq!(left.as_array().unwrap().len(), 2, "{left}");
    assert!(left.as_array().unwrap().iter().all(|it| it["pending_until"].is_null()), "{left}");
    assert_eq!(ci.publish(&token, "new", "1.1.0"), 201);
    // The name is not reserved.
    pending(&ci.ann, "open", "job-1");
    let token = ci.mint();
    assert_eq!(ci.publish(&bob, "open", "1.0.0"), 201);
    assert_eq!((list("open"), ci.publish(&token, "open", "1.1.0")), (json!([]), 403));
    // Its maker must still be a member.
    ci.set_role("carl", "owner");
    pending(&ci.ann, "late", "job-1");
    let token = ci.mint();
    let remove = "DELETE /api/v1/namespaces/acme/members/ann";
    assert_eq!(ci.registry.request(remove, Some(&ci.admin), b"").status, 204);
    assert_eq!(ci.publish(&token, "late", "1.0.0"), 403);
}

#[test]
fn rg_74_package_can_accept_trusted_publishers_only_and_the_audit_log_names_the_job() {
    let ci = CiFixture::new(module_path!());
    let bob = create_token(&ci.registry, &ci.admin, "bob", "publish");
    ci.set_role("bob", "publisher");
    ci.trust("notes");
    let set = |method: &str, token: &str| {
        let request = format!("{method} /api/v1/packages/acme/notes/trusted-only");
        ci.registry.request(&request, Some(token), b"").status
    };
    assert_eq!((set("PUT", &bob), set("PUT", &ci.ann)), (403, 204));
    let bytes = package("@acme/notes", "1.1.0", "Tenants never share rows.");
    for token in [&ci.ann, &bob, &ci.admin] {
        let refused = put(&ci.registry, token, "acme/notes/1.1.0", &bytes);
        assert_eq!(code(&refused), (403, json!("trusted_only")));
    }
    let identity = ci.issuer.token(AUDIENCE, &json!({"run_id": "77", "sha": "abc"}));
    let minted = ci.exchange(&identity).json();
    assert_eq!(ci.publish(minted["token"].as_str().unwrap(), "notes", "1.1.0"), 201);
    let audit = ci.audit();
    let entry = audit.iter().find(|entry| entry["action"] == "publish").unwrap();
    let subject = entry["subject"].as_str().unwrap();
    for part in ["@acme/notes 1.1.0", &ci.issuer.url(), "job-1", "run_id=77", "sha=abc"] {
        assert!(subject.contains(part), "{part}: {subject}");
    }
    // A version can still be yanked.
    let yank = "DELETE /api/v1/packages/acme/notes/1.1.0";
    assert_eq!(ci.registry.request(yank, Some(&bob), b"").status, 204);
    assert_eq!((set("DELETE", &ci.ann), ci.publish(&ci.ann, "notes", "1.2.0")), (204, 201));
    assert!(ci.audit().iter().any(|entry| entry["action"] == "trusted-only"));
}

#[test]
fn rg_75_publish_with_the_identity_of_a_ci_job() {
    let mut ci = CiFixture::new(module_path!());
    ci.trust("notes");
    let address = ci.registry.address.clone();
    let file = |ci: &CiFixture, version: &str| {
        let bytes = package("@acme/notes", version, "Tenants never share rows.");
        std::fs::write(ci.world.path("notes.ctxpkg"), bytes).unwrap();
        ci.world.path("notes.ctxpkg").display().to_string()
    };
    let publish = |file: &str| -> Vec<String> {
        ["publish", file, "--oidc", "--registry", &address].map(str::to_owned).to_vec()
    };
    fn args(args: &[String]) -> Vec<&str> {
        args.iter().map(String::as_str).collect()
    }
    let error = ci.world.sp_error(&args(&publish(&file(&ci, "1.1.0"))));
    assert_eq!(error.code, "E-missing-argument");
    assert!(error.hints_at("id-token: write") && error.hints_at("SP_ID_TOKEN"), "{error:?}");
    let identity = ci.issuer.token(AUDIENCE, &json!({}));
    ci.world.set_env("SP_ID_TOKEN", &identity);
    let run =
        ci.world.sp(&[&args(&publish(&file(&ci, "1.1.0")))[..], &["--verbose"]].concat()).ok();
    assert!(!run.to_string().contains(&identity) && !run.to_string().contains("ctxt_"), "{run}");
    // The registry token was revoked, and the identity token is used up.
    let error = ci.world.sp_error(&args(&publish(&file(&ci, "1.2.0"))));
    assert_eq!(error.code, "E-rejected-request");
    ci.world.set_env("SP_ID_TOKEN", "");
    let github = sp_testkit::WebServer::start();
    let identity = ci.issuer.token(AUDIENCE, &json!({}));
    let response = json!({"value": identity}).to_string().into_bytes();
    github.respond(
        &format!("/token?v=2&audience={AUDIENCE}"),
        sp_testkit::WebResponse::Bytes(response),
    );
    ci.world.set_env("ACTIONS_ID_TOKEN_REQUEST_URL", &github.url("/token?v=2"));
    ci.world.set_env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-job");
    ci.world.sp(&args(&publish(&file(&ci, "1.2.0")))).ok();
    assert_eq!(github.authorizations(), ["Bearer of-the-job"]);
    let leftover = ci.registry.metric("sp_publishes_total");
    assert!(leftover.is_none_or(|count| count == 3), "{leftover:?}");
    // A refused publish revokes the token, too.
    let identity = ci.issuer.token(AUDIENCE, &json!({}));
    ci.world.set_env("SP_ID_TOKEN", &identity);
    let changed = package("@acme/notes", "1.2.0", "Something else.");
    std::fs::write(ci.world.path("notes.ctxpkg"), changed).unwrap();
    let path = ci.world.path("notes.ctxpkg").display().to_string();
    assert_eq!(ci.world.sp_error(&args(&publish(&path))).code, "E-registry-refused");
    if let Database::Postgres(database) = &ci.database {
        assert_eq!(database.query("SELECT COUNT(*) FROM trusted_tokens"), "0");
    }
}

#[test]
fn rg_63_publishers_are_managed_with_commands() {
    let mut ci = CiFixture::new(module_path!());
    let (ann, address) = (ci.ann.clone(), ci.registry.address.clone());
    ci.world.set_env("SP_REGISTRY_TOKEN", &ann);
    let run = |arguments: &[&str]| -> Value {
        let common = ["--registry", &address, "--format", "json"];
        let run = ci.world.sp(&[&["publisher"], arguments, &common].concat()).ok();
        serde_json::from_str(&run.stdout).unwrap()
    };
    let github =
        ["add", "@acme/notes", "--github", "acme/notes", "--owner-id", "12", "--workflow", "r.yml"];
    let added = run(&[&github[..], &["--environment", "prod"]].concat());
    let expected = json!({"repository": "acme/notes", "repository_owner_id": "12",
        "workflow_ref": "r.yml", "environment": "prod"});
    assert_eq!(added["publishers"][0]["claims"], expected);
    let gitlab = ["add", "@acme/notes", "--gitlab", "acme/notes", "--group-id", "7"];
    assert_eq!(run(&gitlab)["publishers"].as_array().unwrap().len(), 2);
    let url = ci.issuer.url();
    let other = ["add", "@acme/new", "--issuer", &url, "--claim", "sub=job-1", "--audience", "x"];
    assert!(run(&other)["publishers"][0]["pending_until"].is_string());
    assert_eq!(run(&["require", "@acme/notes"])["trusted_only"], true);
    assert_eq!(run(&["require", "@acme/notes", "--undo"])["trusted_only"], false);
    let id = added["added"].to_string();
    assert_eq!(run(&["remove", "@acme/notes", &id])["publishers"].as_array().unwrap().len(), 1);
    let listed = ci.world.sp(&["publisher", "list", "@acme/notes", "--registry", &address]).ok();
    assert!(listed.stdout.contains("https://gitlab.com"), "{listed}");
    for (arguments, code) in [
        (&["list", "notes"][..], "E-unsupported"),
        (&["remove", "@acme/notes", "999"], "E-registry-refused"),
        (&["add", "@acme/notes", "--issuer", &url, "--claim", "ref=main"], "E-rejected-request"),
    ] {
        let arguments = [&["publisher"], arguments, &["--registry", &address]].concat();
        assert_eq!(ci.world.sp_error(&arguments).code, code, "{arguments:?}");
    }
}

#[test]
fn rg_65_trusted_publishing_works_if_a_login_is_required() {
    let ci = CiFixture::with_flags(module_path!(), &["--login-required"]);
    ci.trust("notes");
    let token = ci.mint();
    assert_eq!(ci.publish(&token, "notes", "1.1.0"), 201);
    for request in ["GET /", "GET /api/openapi.json", "GET /api/v1/index.json", "PUT /api/v1/x"] {
        let status = ci.registry.request(request, Some(&token), b"").status;
        assert!([401, 404].contains(&status), "{request}: {status}");
    }
    let forged = format!("ctxt_{}", "0".repeat(64));
    assert_eq!(ci.publish(&forged, "notes", "1.2.0"), 401);
}
