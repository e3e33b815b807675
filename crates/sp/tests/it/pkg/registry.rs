//! Packages from registries, and registries that are unavailable or malicious.

use super::*;
use sp_testkit::{ProxiedResponse, Proxy, Registry};

/// A project, a registry, and a proxy between the two.
pub(super) struct Scene {
    pub(super) world: World,
    registry: Registry,
    proxy: Proxy,
    token: String,
}

impl Scene {
    fn new() -> Self {
        let world = project();
        let data = world.path("registry").display().to_string();
        let registry = Registry::start(world.command(&[
            "serve",
            "--data",
            &data,
            "--listen",
            "127.0.0.1:0",
            "--format",
            "json",
        ]));
        let body = json!({"user": "me", "scope": "publish"}).to_string();
        let response = registry
            .request("POST /api/v1/tokens", registry.admin.as_deref(), body.as_bytes())
            .json();
        let token = response["token"].as_str().unwrap().to_owned();
        let scene = Self { proxy: Proxy::start(&registry.address), world, registry, token };
        scene.config(&format!("registries: ['http://{}']\n", scene.proxy.address));
        scene
    }

    pub(super) fn with(packages: &[TestPackage]) -> Self {
        let scene = Self::new();
        packages.iter().for_each(|package| scene.publish(package));
        scene
    }

    fn config(&self, text: &str) {
        write(&self.world, "home/.skillpack/config.yaml", text);
    }

    fn address(&self) -> String {
        format!("http://{}", self.proxy.address)
    }

    #[track_caller]
    fn publish(&self, package: &TestPackage) {
        let text =
            |key: &str| package.manifest[key].as_str().unwrap().trim_start_matches('@').to_owned();
        let request = format!("PUT /api/v1/packages/{}/{}", text("name"), text("version"));
        let response =
            self.registry.request(&request, Some(&self.token), package.to_json().as_bytes());
        assert_eq!(response.status, 201, "{response:?}");
    }

    #[track_caller]
    fn yank(&self, path: &str) {
        assert_eq!(
            self.registry
                .request(&format!("DELETE /api/v1/packages/{path}"), Some(&self.token), b"")
                .status,
            204
        );
    }

    /// Changes successful responses to requests whose path ends with `suffix`.
    fn tamper(
        &self,
        suffix: &'static str,
        change: impl Fn(&mut ProxiedResponse) + Send + Sync + 'static,
    ) {
        self.proxy.change_responses(move |request, response| {
            if request.trim_end_matches(" HTTP/1.1").ends_with(suffix) && response.status == 200 {
                change(response);
            }
        });
    }

    /// The number of requests that contain this text.
    fn request_count(&self, part: &str) -> usize {
        self.proxy.requests().iter().filter(|head| head.contains(part)).count()
    }

    /// Removes everything from the home directory but the configuration.
    fn clear_home(&self) {
        let config = read(&self.world, "home/.skillpack/config.yaml");
        std::fs::remove_dir_all(self.world.path("home/.skillpack")).unwrap();
        self.config(&config);
    }
}

/// Changes the JSON of a response.
fn edit(response: &mut ProxiedResponse, change: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&response.body).unwrap();
    change(&mut value);
    response.body = value.to_string().into_bytes();
}

#[test]
fn pk_25_package_and_its_dependencies_are_installed_from_a_registry() {
    let scene = Scene::with(&[
        TestPackage::new("@acme/app", "1.0.0").with_dependencies(&[("@tools/base", "^1")]),
        TestPackage::new("@acme/app", "1.1.0").with_dependencies(&[("@tools/base", "^1.1")]),
        TestPackage::new("@acme/app", "2.0.0"),
        TestPackage::new("@tools/base", "1.0.0"),
        TestPackage::new("@tools/base", "1.1.0").signed(7, SignatureScope::Full),
        TestPackage::new("@tools/base", "2.0.0"),
    ]);
    let world = &scene.world;
    let run = pkg(world, &["install", "acme/app@^1"]).ok();
    assert_eq!(locked(world), ["@acme/app 1.1.0", "@tools/base 1.1.0"], "{run}");
    let lock = lock(world);
    for name in ["@acme/app", "@tools/base"] {
        assert_eq!(lock["packages"][name]["from"], json!(scene.address()), "{lock}");
    }
    assert_eq!(lock["packages"]["@tools/base"]["signer"], json!(public_key(7)));
    assert_eq!(stored(world), ["@acme/app 1.1.0", "@tools/base 1.1.0"]);
    // Packages of the store are not downloaded again, and the lockfile needs no requests.
    let (downloads, requests) = (scene.request_count("/download"), scene.proxy.requests().len());
    assert_eq!(downloads, 2);
    pkg(world, &["install"]).ok();
    assert_eq!(scene.proxy.requests().len(), requests);
    pkg(world, &["install", "@acme/app@^1"]).ok();
    assert_eq!(scene.request_count("/download"), downloads);
    // The default version is the newest.
    pkg(world, &["install", "acme/app"]).ok();
    assert_eq!(locked(world), ["@acme/app 2.0.0"]);
    let error = refused(world, &["install", "acme/nothing"], "E-package-not-found");
    assert_mentions(&error, "http://127.0.0.1");
}

#[test]
fn au_08_registries_and_signers_are_restricted() {
    let scene =
        Scene::with(&[TestPackage::new("@acme/notes", "1.0.0").signed(7, SignatureScope::Full)]);
    let world = &scene.world;
    let policy = |text: &str| write(world, "home/.skillpack/policy.yaml", text);
    let install = ["install", "@acme/notes"];
    policy("registries: {allow: ['https://skills.example']}\n");
    let requests = scene.proxy.requests().len();
    refused(world, &install, "E-policy-denied");
    assert_eq!(scene.proxy.requests().len(), requests, "the registry is not contacted");
    policy(&format!("signers: {{allow: [{}]}}\n", public_key(8)));
    refused(world, &install, "E-policy-denied");
    assert_eq!(scene.request_count("/download"), 0, "nothing is downloaded");
    let (address, key) = (scene.address(), public_key(7));
    policy(&format!(
        "registries: {{allow: ['{address}']}}\nsigners: {{allow: [{key}]}}\nrequire: [signature]\n"
    ));
    pkg(world, &install).ok();
    for denied in ["registries: {deny: ['http://127.0.0.1']}\n", "signers: {deny: ['*']}\n"] {
        policy(denied);
        let error = world.sp_error(&["publish", "@acme/notes"]);
        assert_eq!((error.code.as_str(), error.exit_code), ("E-policy-denied", 4), "{denied}");
    }
}

#[test]
fn pk_25_yanked_version_is_installed_from_the_lockfile() {
    let scene = Scene::with(&[
        TestPackage::new("@acme/notes", "1.0.0"),
        TestPackage::new("@acme/notes", "1.1.0"),
    ]);
    let world = &scene.world;
    pkg(world, &["install", "@acme/notes"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.1.0"]);
    let before = world.files("project");
    scene.yank("acme/notes/1.1.0");
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    scene.clear_home();
    pkg(world, &["install"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.1.0"]);
    assert_eq!(
        read(world, "project/.ctxpkg/packages/@acme+notes.ctxpkg"),
        TestPackage::new("@acme/notes", "1.1.0").to_json()
    );
    assert_eq!(
        world.files("project").keys().collect::<Vec<_>>().len(),
        before.len() - 1,
        "all files but the history"
    );
    // A project without a lockfile gets the version that was not yanked.
    std::fs::remove_file(world.path("project/ctxpkg.lock")).unwrap();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    pkg(world, &["install", "@acme/notes@^1"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.0.0"]);
    pkg(world, &["install", "@acme/notes@1.1.0"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.1.0"], "an exact version may be yanked");
}

#[test]
fn pk_25_stored_package_is_locked_with_its_registry() {
    let scene = Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]);
    import(
        &scene.world,
        &[TestPackage::new("@acme/notes", "1.0.0"), TestPackage::new("@acme/own", "1.0.0")],
    );
    pkg(&scene.world, &["install", "acme/notes", "acme/own"]).ok();
    assert_eq!(scene.request_count("/download"), 0);
    let from = |name: &str| lock(&scene.world)["packages"][name]["from"].clone();
    assert_eq!((from("@acme/notes"), from("@acme/own")), (json!(scene.address()), json!("store")));
}

#[test]
fn pk_25_offline_install_uses_the_store() {
    let scene = Scene::with(&[
        TestPackage::new("@acme/app", "1.0.0").with_dependencies(&[("@acme/base", "^1")]),
        TestPackage::new("@acme/base", "1.0.0"),
    ]);
    let world = &scene.world;
    pkg(world, &["install", "acme/app"]).ok();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    scene.registry.kill();
    let requests = scene.proxy.requests().len();
    pkg(world, &["install", "--offline"]).ok();
    std::fs::remove_file(world.path("project/ctxpkg.lock")).unwrap();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    pkg(world, &["install", "acme/app", "--offline"]).ok();
    assert_eq!(locked(world), ["@acme/app 1.0.0", "@acme/base 1.0.0"]);
    assert_eq!(scene.proxy.requests().len(), requests, "no requests");
    scene.clear_home();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    refused(world, &["install", "--offline"], "E-package-not-found");
}

#[test]
fn pk_25_unavailable_registry_is_an_error_after_retries() {
    let scene = Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]);
    scene.proxy.change_responses(|_, response| response.status = 503);
    let error = refused(&scene.world, &["install", "acme/notes"], "E-network");
    assert!(error.hints_at("--offline"), "{error:?}");
    assert_eq!(scene.proxy.requests().len(), 4, "three retries");
}

/// A change of a registry's responses, and the error that it must cause.
struct Tampering {
    case: &'static str,
    /// The end of the path of the changed responses.
    suffix: &'static str,
    change: fn(&mut ProxiedResponse),
    code: &'static str,
    /// Data that the error must contain.
    data: String,
}

fn tamperings() -> Vec<Tampering> {
    let download = |case, data: &str, change| Tampering {
        case,
        suffix: "/download",
        change,
        code: "E-digest-mismatch",
        data: data.into(),
    };
    let index = |case, code, data: &str, change| Tampering {
        case,
        suffix: "notes/index.json",
        change,
        code,
        data: data.into(),
    };
    let package = "@acme/notes 1.1.0";
    vec![
        download("other bytes", package, |response| response.body[60] ^= 1),
        download("more bytes", package, |response| response.body.push(b' ')),
        download("another hash in the header", &"0".repeat(64), |response| {
            response.set_header("x-ctxpkg-sha256", &"0".repeat(64));
        }),
        download("yanked only in the header", package, |response| {
            response.set_header("x-ctxpkg-yanked", "true");
        }),
        index("another hash", "E-digest-mismatch", &"0".repeat(64), |response| {
            edit(response, |index| index["versions"][0]["sha256"] = json!("0".repeat(64)));
        }),
        index("another signer", "E-digest-mismatch", &public_key(9), |response| {
            edit(response, |index| index["versions"][0]["signer"] = json!(public_key(9)));
        }),
        index("another dependency", "E-digest-mismatch", package, |response| {
            let dependencies = json!([{"name": "@acme/base", "range": "*", "optional": false}]);
            edit(response, |index| index["versions"][0]["dependencies"] = dependencies.clone());
        }),
        index("another package", "E-invalid-index", "`@acme/other`", |response| {
            edit(response, |index| index["name"] = json!("other"));
        }),
        index("a yanked version as the newest", "E-invalid-index", "1.0.0", |response| {
            edit(response, |index| index["versions"][0]["yanked"] = json!(true));
        }),
        index("an old version as the newest", "E-invalid-index", "1.1.0", |response| {
            edit(response, |index| index["latest"] = json!("1.0.0"));
        }),
        index("a duplicate version", "E-invalid-index", "1.1.0", |response| {
            edit(response, |index| {
                let first = index["versions"][0].clone();
                index["versions"].as_array_mut().unwrap().push(first);
            });
        }),
        index("an invalid version", "E-invalid-index", "../../etc", |response| {
            edit(response, |index| index["versions"][0]["version"] = json!("../../etc"));
        }),
    ]
}

#[test]
fn pk_25_tampered_registry_responses_are_refused() {
    let scene = Scene::with(&[
        TestPackage::new("@acme/notes", "1.0.0"),
        TestPackage::new("@acme/notes", "1.1.0"),
        TestPackage::new("@acme/base", "1.0.0"),
    ]);
    for Tampering { case, suffix, change, code, data } in tamperings() {
        scene.tamper(suffix, change);
        let error = refused(&scene.world, &["install", "acme/notes"], code);
        assert!(mentions(&error, &data), "{case}: `{data}` is not in {error:?}");
    }
    scene.proxy.change_responses(|_, _| {});
    pkg(&scene.world, &["install", "acme/notes"]).ok();
}

#[test]
fn pk_25_downloaded_package_with_another_name_is_refused() {
    let scene = Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]);
    let other = TestPackage::new("@evil/notes", "1.0.0").to_json();
    let hash = Digest::of(other.as_bytes()).hex();
    let bytes = other.len();
    scene.proxy.change_responses(move |request, response| {
        if request.contains("/download") {
            response.body = other.clone().into_bytes();
            response.set_header("x-ctxpkg-sha256", &hash);
        } else {
            edit(response, |index| {
                index["versions"][0]["sha256"] = json!(hash);
                index["versions"][0]["bytes"] = json!(bytes);
            });
        }
    });
    let error = refused(&scene.world, &["install", "acme/notes"], "E-digest-mismatch");
    assert_mentions(&error, "@evil/notes 1.0.0");
}

#[test]
fn pk_25_index_without_a_known_version_is_refused() {
    let scene = Scene::with(&[
        TestPackage::new("@acme/notes", "1.0.0"),
        TestPackage::new("@acme/notes", "1.1.0"),
    ]);
    let world = &scene.world;
    pkg(world, &["install", "acme/notes@^1"]).ok();
    let without = |response: &mut ProxiedResponse| {
        edit(response, |index| {
            index["versions"].as_array_mut().unwrap().remove(0);
            index["latest"] = json!("1.0.0");
        });
    };
    scene.tamper("index.json", without);
    let error = refused(world, &["install", "acme/notes@^1"], "E-invalid-index");
    assert_mentions(&error, "@acme/notes 1.1.0");
    assert!(error.hints_at("--reset-history"), "{error:?}");
    scene.tamper("index.json", |response| {
        edit(response, |index| index["versions"][1]["sha256"] = json!("0".repeat(64)));
    });
    let error = refused(world, &["install", "acme/notes@^1"], "E-invalid-index");
    assert_mentions(&error, "@acme/notes 1.0.0");
    scene.proxy.change_responses(|_, response| response.status = 404);
    refused(world, &["install", "acme/notes@^1"], "E-invalid-index");
    // The user confirms that the registry was reset.
    scene.tamper("index.json", without);
    let token = write(world, "token", &scene.token);
    let private = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    std::fs::set_permissions(&token, private).unwrap();
    world.sp(&["login", &scene.address(), "--token-file", &token, "--reset-history"]).ok();
    pkg(world, &["install", "acme/notes@=1.0.0"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.0.0"]);
}

#[test]
fn pk_13_changed_signer_is_refused_for_registry_packages() {
    let scene =
        Scene::with(&[TestPackage::new("@acme/notes", "1.0.0").signed(7, SignatureScope::Full)]);
    pkg(&scene.world, &["install", "acme/notes"]).ok();
    scene.publish(&TestPackage::new("@acme/notes", "1.1.0").signed(8, SignatureScope::Full));
    refused(&scene.world, &["install", "acme/notes"], "E-key-changed");
    pkg(&scene.world, &["install", "acme/notes", "--accept-new-key"]).ok();
    scene.publish(&TestPackage::new("@acme/notes", "1.2.0"));
    refused(&scene.world, &["install", "acme/notes"], "E-signer-downgrade");
}

#[test]
fn pk_25_namespace_is_requested_only_from_its_registry() {
    let (inside, outside) =
        (Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]), Scene::new());
    outside.publish(&TestPackage::new("@acme/notes", "9.0.0").with_text("Malicious."));
    outside.publish(
        &TestPackage::new("@free/tool", "1.0.0").with_dependencies(&[("@acme/notes", "*")]),
    );
    let config = format!(
        "registries:\n- '{}'\n- url: '{}'\n  namespaces: [acme]\n",
        outside.address(),
        inside.address()
    );
    inside.config(&config);
    let world = &inside.world;
    pkg(world, &["install", "free/tool"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.0.0", "@free/tool 1.0.0"]);
    assert_eq!(outside.request_count("/acme/notes"), 0);
    // Lockfiles with another or an unknown registry are refused.
    let text = read(world, "project/ctxpkg.lock");
    for from in [outside.address(), "http://127.0.0.1:1".into()] {
        let _ = std::fs::remove_dir_all(world.path("home/.skillpack/store"));
        let _ = std::fs::remove_dir_all(world.path("project/.ctxpkg"));
        write(world, "project/ctxpkg.lock", text.replace(&inside.address(), &from));
        let error = refused(world, &["install"], "E-registry-mismatch");
        assert_mentions(&error, "`acme`");
    }
    inside.config(&format!("registries: ['{}']\n", outside.address()));
    write(world, "project/ctxpkg.lock", text.replace(&inside.address(), "http://127.0.0.1:1"));
    let error = refused(world, &["install"], "E-registry-mismatch");
    assert!(error.hints_at("--registry"), "{error:?}");
}

#[test]
fn pk_25_first_registry_with_the_package_is_used() {
    let (first, second) = (Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]), Scene::new());
    second.publish(&TestPackage::new("@acme/notes", "2.0.0"));
    second.publish(&TestPackage::new("@acme/more", "1.0.0"));
    first.config(&format!("registries: ['{}', '{}']\n", first.address(), second.address()));
    pkg(&first.world, &["install", "acme/notes", "acme/more"]).ok();
    assert_eq!(locked(&first.world), ["@acme/more 1.0.0", "@acme/notes 1.0.0"]);
    pkg(&first.world, &["install", "acme/notes", "--registry", &second.address()]).ok();
    assert_eq!(locked(&first.world)[1], "@acme/notes 2.0.0");
}

#[test]
fn se_07_token_is_sent_only_to_its_registry() {
    let (first, second) = (Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]), Scene::new());
    second.publish(&TestPackage::new("@acme/more", "1.0.0"));
    let Scene { mut world, registry, proxy, token } = first;
    let hide = registry.request("PUT /api/v1/packages/acme/notes/private", Some(&token), b"");
    assert_eq!(hide.status, 204, "{hide:?}");
    let address = format!("http://{}", proxy.address);
    write(
        &world,
        "home/.skillpack/config.yaml",
        format!("registries: ['{address}', '{}']\n", second.address()),
    );
    refused(&world, &["install", "acme/notes"], "E-package-not-found");
    world.set_env("SP_REGISTRY_TOKEN", &token);
    world.sp(&["login", &address]).ok();
    world.set_env("SP_REGISTRY_TOKEN", "");
    pkg(&world, &["install", "acme/notes", "acme/more"]).ok();
    let requests_with_token =
        |proxy: &Proxy| proxy.requests().iter().filter(|head| head.contains(&token)).count();
    assert!(requests_with_token(&proxy) > 0);
    assert_eq!(requests_with_token(&second.proxy), 0);
    // A token in the environment is used only with `--registry`.
    world.set_env("SP_REGISTRY_TOKEN", "ctxp_0000");
    pkg(&world, &["install", "acme/more"]).ok();
    assert!(!second.proxy.requests().iter().any(|head| head.contains("ctxp_0000")));
}

#[test]
fn se_07_loopback_requests_do_not_use_a_proxy() {
    let Scene { mut world, registry, proxy: web_proxy, token } =
        Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        world.set_env(name, &format!("http://{}", web_proxy.address));
    }
    world.set_env("SP_REGISTRY_TOKEN", &token);
    let run = pkg(
        &world,
        &["install", "acme/notes", "--registry", &format!("http://{}", registry.address)],
    )
    .ok();
    assert!(web_proxy.requests().is_empty(), "{run}: {:?}", web_proxy.requests());
}

#[test]
fn pk_25_dry_run_of_a_registry_package_changes_nothing() {
    let scene = Scene::with(&[TestPackage::new("@acme/notes", "1.0.0")]);
    let files = || {
        let mut files = scene.world.files("");
        files.retain(|path, _| !path.starts_with("registry/"));
        files
    };
    let before = files();
    let run = pkg(&scene.world, &["install", "acme/notes", "--dry-run"]).ok();
    assert!(run.stdout.contains("@acme/notes"), "{run}");
    assert_eq!(files(), before);
}

#[test]
fn info_shows_a_package_of_a_registry() {
    let scene = Scene::with(&[
        TestPackage::new("@acme/app", "1.0.0"),
        TestPackage::new("@acme/app", "1.1.0")
            .with_dependencies(&[("@acme/base", "^1")])
            .signed(7, SignatureScope::Full),
    ]);
    let world = &scene.world;
    let run = world.sp(&["info", "acme/app"]).ok();
    for data in
        ["@acme/app 1.1.0", "@acme/base ^1", &public_key(7)[..16], "sp pkg install @acme/app@1.1.0"]
    {
        assert!(run.stdout.contains(data), "`{data}` is not in {run}");
    }
    let run = world.sp(&["info", "@acme/app@1.0.0", "--format", "json"]).ok();
    assert_matches_schema("registry-info", &run.stdout);
    let info: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&info["version"], &info["latest"]), (&json!("1.0.0"), &json!("1.1.0")));
    scene.yank("acme/app/1.1.0");
    let run = world.sp(&["info", "acme/app", "--format", "plain"]).ok();
    assert!(run.stdout.lines().next().unwrap().ends_with("yanked"), "{run}");
    let error = world.sp_error(&["info", "acme/app@^7"]);
    assert_eq!(error.code, "E-version-not-found");
    assert_mentions(&error, "1.1.0, 1.0.0");
    let error = world.sp_error(&["info", "acme/nothing"]);
    assert_eq!(error.code, "E-package-not-found");
    assert!(error.hints_at("sp search nothing"), "{error:?}");
}

#[test]
fn pk_25_interrupted_download_is_resumed() {
    let large = TestPackage::new("@acme/large", "1.0.0")
        .with_text(&"A sentence that is repeated many times. ".repeat(10_000));
    let scene = Scene::with(&[large]);
    let world = &scene.world;
    let ranges = |scene: &Scene| -> Vec<String> {
        let requests = scene.proxy.requests();
        let range = |head: &String| {
            head.lines().find_map(|line| line.strip_prefix("range: ").map(str::to_owned))
        };
        requests.iter().filter(|head| head.contains("/download")).filter_map(range).collect()
    };
    // Within one run, as long as there is progress.
    scene.proxy.change_responses(|request, response| {
        if request.contains("/download") {
            response.close_after =
                Some(if response.status == 206 { response.body.len() } else { 150_000 });
        }
    });
    pkg(world, &["install", "acme/large"]).ok();
    assert_eq!(ranges(&scene), ["bytes=150000-"]);
    assert_eq!(
        world.files("home/.skillpack/cache/downloads").len(),
        0,
        "the partial download is removed"
    );
    // In the next run.
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    scene.clear_home();
    scene.proxy.change_responses(|request, response| {
        if request.contains("/download") {
            response.close_after = Some(if response.status == 206 { 0 } else { 100_000 });
        }
    });
    assert_eq!(pkg_error(world, &["install"]).code, "E-network");
    scene.proxy.change_responses(|_, _| {});
    pkg(world, &["install"]).ok();
    assert_eq!(ranges(&scene).last().unwrap(), "bytes=100000-");
    // A corrupt partial download is discarded.
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    let digest =
        lock(world)["packages"]["@acme/large"]["digest"].as_str().unwrap().replace("sha256:", "");
    scene.clear_home();
    write(world, &format!("home/.skillpack/cache/downloads/{digest}"), "broken");
    pkg(world, &["install"]).ok();
    assert_eq!(ranges(&scene).last().unwrap(), "bytes=6-");
}
