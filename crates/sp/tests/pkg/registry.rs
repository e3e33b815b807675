//! Packages from registries: found, chosen, downloaded, verified, locked; and registries that lie.

use super::*;
use sp_testkit::{Passing, Proxy, Registry};

/// A project, a registry, and something between the two.
struct Scene {
    world: World,
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
        let wanted = json!({"user": "me", "scope": "publish"}).to_string();
        let minted = registry
            .ask("POST /api/v1/tokens", registry.admin.as_deref(), wanted.as_bytes())
            .json();
        let token = minted["token"].as_str().unwrap().to_owned();
        let scene = Self { proxy: Proxy::before(&registry.address), world, registry, token };
        scene.config(&format!("registries: ['http://{}']\n", scene.proxy.address));
        scene
    }

    fn with(packages: &[Made]) -> Self {
        let scene = Self::new();
        packages.iter().for_each(|made| scene.publish(made));
        scene
    }

    fn config(&self, text: &str) {
        write(&self.world, "home/.skillpack/config.yaml", text);
    }

    fn address(&self) -> String {
        format!("http://{}", self.proxy.address)
    }

    #[track_caller]
    fn publish(&self, made: &Made) {
        let text =
            |key: &str| made.manifest[key].as_str().unwrap().trim_start_matches('@').to_owned();
        let request = format!("PUT /api/v1/packages/{}/{}", text("name"), text("version"));
        let answer = self.registry.ask(&request, Some(&self.token), made.text().as_bytes());
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    #[track_caller]
    fn yank(&self, path: &str) {
        assert_eq!(
            self.registry
                .ask(&format!("DELETE /api/v1/packages/{path}"), Some(&self.token), b"")
                .status,
            204
        );
    }

    /// Changes what is said to those who ask for something whose address ends so.
    fn lie(&self, ending: &'static str, lie: impl Fn(&mut Passing) + Send + Sync + 'static) {
        self.proxy.change(move |request, passing| {
            if request.trim_end_matches(" HTTP/1.1").ends_with(ending) && passing.status == 200 {
                lie(passing);
            }
        });
    }

    fn asked_for(&self, part: &str) -> usize {
        self.proxy.asked().iter().filter(|head| head.contains(part)).count()
    }

    /// Another machine: the same project with nothing in its store.
    fn forget_home(&self) {
        let config = read(&self.world, "home/.skillpack/config.yaml");
        std::fs::remove_dir_all(self.world.path("home/.skillpack")).unwrap();
        self.config(&config);
    }
}

/// Changes the JSON of an answer.
fn edit(passing: &mut Passing, change: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&passing.body).unwrap();
    change(&mut value);
    passing.body = value.to_string().into_bytes();
}

#[test]
fn pk_25_a_package_comes_from_a_registry_with_all_that_it_needs() {
    let scene = Scene::with(&[
        Made::new("@acme/app", "1.0.0").needs(&[("@tools/base", "^1")]),
        Made::new("@acme/app", "1.1.0").needs(&[("@tools/base", "^1.1")]),
        Made::new("@acme/app", "2.0.0"),
        Made::new("@tools/base", "1.0.0"),
        Made::new("@tools/base", "1.1.0").signed(7, Signs::Whole),
        Made::new("@tools/base", "2.0.0"),
    ]);
    let world = &scene.world;
    let run = pkg(world, &["install", "acme/app@^1"]).ok();
    assert_eq!(locked(world), ["@acme/app 1.1.0", "@tools/base 1.1.0"], "{run}");
    let lock = lock(world);
    for name in ["@acme/app", "@tools/base"] {
        assert_eq!(lock["packages"][name]["from"], json!(scene.address()), "{lock}");
    }
    assert_eq!(lock["packages"]["@tools/base"]["signer"], json!(public(7)));
    assert_eq!(stored(world), ["@acme/app 1.1.0", "@tools/base 1.1.0"]);
    // What is there is not fetched again, and nobody is asked where nothing is to be found out.
    let (downloads, all) = (scene.asked_for("/download"), scene.proxy.asked().len());
    assert_eq!(downloads, 2);
    pkg(world, &["install"]).ok();
    assert_eq!(scene.proxy.asked().len(), all);
    pkg(world, &["install", "@acme/app@^1"]).ok();
    assert_eq!(scene.asked_for("/download"), downloads);
    // Without a version, it is the newest.
    pkg(world, &["install", "acme/app"]).ok();
    assert_eq!(locked(world), ["@acme/app 2.0.0"]);
    let missing = pkg(world, &["install", "acme/nothing"]).fails(1);
    assert!(missing.stderr.contains("neither in the store nor at http://127.0.0.1"), "{missing}");
}

#[test]
fn pk_25_what_is_locked_comes_back_on_another_machine_even_if_it_was_yanked_since() {
    let scene =
        Scene::with(&[Made::new("@acme/notes", "1.0.0"), Made::new("@acme/notes", "1.1.0")]);
    let world = &scene.world;
    pkg(world, &["install", "@acme/notes"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.1.0"]);
    let before = world.files("project");
    scene.yank("acme/notes/1.1.0");
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    scene.forget_home();
    pkg(world, &["install"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.1.0"]);
    assert_eq!(
        read(world, "project/.ctxpkg/packages/@acme+notes.ctxpkg"),
        Made::new("@acme/notes", "1.1.0").text()
    );
    assert_eq!(
        world.files("project").keys().collect::<Vec<_>>().len(),
        before.len() - 1,
        "all but the history"
    );
    // Another project takes what was not yanked, though the store has the other.
    std::fs::remove_file(world.path("project/ctxpkg.lock")).unwrap();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    pkg(world, &["install", "@acme/notes@^1"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.0.0"]);
    pkg(world, &["install", "@acme/notes@1.1.0"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.1.0"], "by its exact version");
}

#[test]
fn pk_25_what_the_store_has_and_a_registry_too_is_locked_as_the_registrys() {
    let scene = Scene::with(&[Made::new("@acme/notes", "1.0.0")]);
    import(&scene.world, &[Made::new("@acme/notes", "1.0.0"), Made::new("@acme/own", "1.0.0")]);
    pkg(&scene.world, &["install", "acme/notes", "acme/own"]).ok();
    assert_eq!(scene.asked_for("/download"), 0);
    let from = |name: &str| lock(&scene.world)["packages"][name]["from"].clone();
    assert_eq!((from("@acme/notes"), from("@acme/own")), (json!(scene.address()), json!("store")));
}

#[test]
fn pk_25_offline_the_store_is_enough() {
    let scene = Scene::with(&[
        Made::new("@acme/app", "1.0.0").needs(&[("@acme/base", "^1")]),
        Made::new("@acme/base", "1.0.0"),
    ]);
    let world = &scene.world;
    pkg(world, &["install", "acme/app"]).ok();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    scene.registry.kill();
    let asked = scene.proxy.asked().len();
    pkg(world, &["install", "--offline"]).ok();
    std::fs::remove_file(world.path("project/ctxpkg.lock")).unwrap();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    pkg(world, &["install", "acme/app", "--offline"]).ok();
    assert_eq!(locked(world), ["@acme/app 1.0.0", "@acme/base 1.0.0"]);
    assert_eq!(scene.proxy.asked().len(), asked, "nobody was asked");
    scene.forget_home();
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    refused(world, &["install", "--offline"], 1, "is not here");
}

#[test]
fn pk_25_a_registry_that_does_not_answer_changes_nothing_and_says_so() {
    let scene = Scene::with(&[Made::new("@acme/notes", "1.0.0")]);
    scene.proxy.change(|_, passing| passing.status = 503);
    let run = refused(&scene.world, &["install", "acme/notes"], 5, "cannot be reached");
    assert!(run.stderr.contains("--offline"), "{run}");
    assert_eq!(scene.proxy.asked().len(), 4, "it was tried again, with pauses");
}

/// What is said, to those who ask for what, how it is changed, and the words that tell it.
type Lie = (&'static str, &'static str, fn(&mut Passing), &'static str);

/// What a registry can say that is not so.
const LIES: [Lie; 12] = [
    (
        "other bytes",
        "/download",
        |passing| passing.body[60] ^= 1,
        "are not those that the registry names",
    ),
    (
        "more bytes",
        "/download",
        |passing| passing.body.push(b' '),
        "is larger than the registry said",
    ),
    (
        "other bytes, and an index for them",
        "index.json",
        |passing| edit(passing, |index| index["versions"][0]["sha256"] = json!("0".repeat(64))),
        "are not those that the registry names",
    ),
    (
        "another hash beside the bytes",
        "/download",
        |passing| passing.set("x-ctxpkg-sha256", &"0".repeat(64)),
        "beside the bytes stands",
    ),
    (
        "another package's index",
        "index.json",
        |passing| edit(passing, |index| index["name"] = json!("other")),
        "it answers for `@acme/other`",
    ),
    (
        "a yanked version as the newest",
        "index.json",
        |passing| edit(passing, |index| index["versions"][0]["yanked"] = json!(true)),
        "says that 1.1.0 is the newest",
    ),
    (
        "an old version as the newest",
        "index.json",
        |passing| edit(passing, |index| index["latest"] = json!("1.0.0")),
        "by its list it is 1.1.0",
    ),
    (
        "that nothing was yanked",
        "/download",
        |passing| passing.set("x-ctxpkg-yanked", "true"),
        "the index does not say so",
    ),
    (
        "another signer",
        "index.json",
        |passing| edit(passing, |index| index["versions"][0]["signer"] = json!(public(9))),
        "it is signed by nobody, and the index says",
    ),
    (
        "that something else is needed",
        "notes/index.json",
        |passing| {
            let more = json!([{"name": "@acme/base", "range": "*", "optional": false}]);
            edit(passing, move |index| index["versions"][0]["dependencies"] = more.clone());
        },
        "other packages than the index says",
    ),
    (
        "a version twice",
        "index.json",
        |passing| {
            edit(passing, |index| {
                let first = index["versions"][0].clone();
                index["versions"].as_array_mut().unwrap().push(first);
            });
        },
        "has 1.1.0 twice",
    ),
    (
        "something that is no version",
        "index.json",
        |passing| edit(passing, |index| index["versions"][0]["version"] = json!("../../etc")),
        "../../etc",
    ),
];

#[test]
fn pk_25_a_registry_that_lies_is_caught() {
    let scene = Scene::with(&[
        Made::new("@acme/notes", "1.0.0"),
        Made::new("@acme/notes", "1.1.0"),
        Made::new("@acme/base", "1.0.0"),
    ]);
    for (what, ending, lie, words) in LIES {
        scene.lie(ending, lie);
        let run = refused(&scene.world, &["install", "acme/notes"], 4, words);
        assert!(run.stderr.contains("nothing was changed"), "{what}: {run}");
    }
    scene.proxy.change(|_, _| {});
    pkg(&scene.world, &["install", "acme/notes"]).ok();
}

#[test]
fn pk_25_another_package_under_the_name_is_caught_by_its_own_name() {
    let scene = Scene::with(&[Made::new("@acme/notes", "1.0.0")]);
    let other = Made::new("@evil/notes", "1.0.0").text();
    let hash = Digest::of(other.as_bytes()).hex();
    let bytes = other.len();
    scene.proxy.change(move |request, passing| {
        if request.contains("/download") {
            passing.body = other.clone().into_bytes();
            passing.set("x-ctxpkg-sha256", &hash);
        } else {
            edit(passing, |index| {
                index["versions"][0]["sha256"] = json!(hash);
                index["versions"][0]["bytes"] = json!(bytes);
            });
        }
    });
    refused(&scene.world, &["install", "acme/notes"], 4, "the package is `@evil/notes 1.0.0`");
}

#[test]
fn pk_25_an_index_that_has_forgotten_something_is_old_or_another() {
    let scene =
        Scene::with(&[Made::new("@acme/notes", "1.0.0"), Made::new("@acme/notes", "1.1.0")]);
    let world = &scene.world;
    pkg(world, &["install", "acme/notes@^1"]).ok();
    let without = |passing: &mut Passing| {
        edit(passing, |index| {
            index["versions"].as_array_mut().unwrap().remove(0);
            index["latest"] = json!("1.0.0");
        });
    };
    scene.lie("index.json", without);
    let run = refused(world, &["install", "acme/notes@^1"], 4, "it had `@acme/notes 1.1.0` before");
    assert!(run.stderr.contains("--anew"), "{run}");
    scene.lie("index.json", |passing| {
        edit(passing, |index| index["versions"][1]["sha256"] = json!("0".repeat(64)));
    });
    refused(world, &["install", "acme/notes@^1"], 4, "`@acme/notes 1.0.0` was sha256:");
    scene.proxy.change(|_, passing| passing.status = 404);
    refused(world, &["install", "acme/notes@^1"], 4, "does not know it any more");
    // Whoever knows that it was set up anew says so.
    scene.lie("index.json", without);
    let token = write(world, "token", &scene.token);
    let private = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    std::fs::set_permissions(&token, private).unwrap();
    world.sp(&["login", &scene.address(), "--token-file", &token, "--anew"]).ok();
    pkg(world, &["install", "acme/notes@=1.0.0"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.0.0"]);
}

#[test]
fn pk_13_a_signer_that_changes_is_refused_whatever_the_registry_says() {
    let scene = Scene::with(&[Made::new("@acme/notes", "1.0.0").signed(7, Signs::Whole)]);
    pkg(&scene.world, &["install", "acme/notes"]).ok();
    scene.publish(&Made::new("@acme/notes", "1.1.0").signed(8, Signs::Whole));
    refused(&scene.world, &["install", "acme/notes"], 4, "signed by another key than before");
    pkg(&scene.world, &["install", "acme/notes", "--accept-new-key"]).ok();
    scene.publish(&Made::new("@acme/notes", "1.2.0"));
    refused(&scene.world, &["install", "acme/notes"], 4, "is not signed");
}

#[test]
fn pk_25_a_name_is_looked_for_where_it_is_bound_and_nowhere_else() {
    let (inside, outside) = (Scene::with(&[Made::new("@acme/notes", "1.0.0")]), Scene::new());
    outside.publish(&Made::new("@acme/notes", "9.0.0").says("Taken over."));
    outside.publish(&Made::new("@free/tool", "1.0.0").needs(&[("@acme/notes", "*")]));
    let bound = format!(
        "registries:\n- '{}'\n- url: '{}'\n  namespaces: [acme]\n",
        outside.address(),
        inside.address()
    );
    inside.config(&bound);
    let world = &inside.world;
    pkg(world, &["install", "free/tool"]).ok();
    assert_eq!(locked(world), ["@acme/notes 1.0.0", "@free/tool 1.0.0"]);
    assert_eq!(outside.asked_for("/acme/notes"), 0);
    // A lock that says otherwise is not followed, and neither is one that names a host that nobody
    // here knows.
    let text = read(world, "project/ctxpkg.lock");
    for (from, words) in [
        (outside.address(), "the config binds `acme` to"),
        ("http://127.0.0.1:1".into(), "config binds"),
    ] {
        let _ = std::fs::remove_dir_all(world.path("home/.skillpack/store"));
        let _ = std::fs::remove_dir_all(world.path("project/.ctxpkg"));
        write(world, "project/ctxpkg.lock", text.replace(&inside.address(), &from));
        refused(world, &["install"], 4, words);
    }
    inside.config(&format!("registries: ['{}']\n", outside.address()));
    write(world, "project/ctxpkg.lock", text.replace(&inside.address(), "http://127.0.0.1:1"));
    refused(world, &["install"], 4, "came from a registry that is not known here");
}

#[test]
fn pk_25_the_first_registry_that_knows_a_name_is_the_one() {
    let (first, second) = (Scene::with(&[Made::new("@acme/notes", "1.0.0")]), Scene::new());
    second.publish(&Made::new("@acme/notes", "2.0.0"));
    second.publish(&Made::new("@acme/more", "1.0.0"));
    first.config(&format!("registries: ['{}', '{}']\n", first.address(), second.address()));
    pkg(&first.world, &["install", "acme/notes", "acme/more"]).ok();
    assert_eq!(locked(&first.world), ["@acme/more 1.0.0", "@acme/notes 1.0.0"]);
    pkg(&first.world, &["install", "acme/notes", "--registry", &second.address()]).ok();
    assert_eq!(locked(&first.world)[1], "@acme/notes 2.0.0");
}

#[test]
fn se_07_a_token_goes_to_the_registry_that_it_is_for() {
    let (first, second) = (Scene::with(&[Made::new("@acme/notes", "1.0.0")]), Scene::new());
    second.publish(&Made::new("@acme/more", "1.0.0"));
    let Scene { mut world, registry, proxy, token } = first;
    let hide = registry.ask("PUT /api/v1/packages/acme/notes/private", Some(&token), b"");
    assert_eq!(hide.status, 204, "{hide:?}");
    let address = format!("http://{}", proxy.address);
    write(
        &world,
        "home/.skillpack/config.yaml",
        format!("registries: ['{address}', '{}']\n", second.address()),
    );
    pkg(&world, &["install", "acme/notes"]).fails(1);
    world.set_env("SP_REGISTRY_TOKEN", &token);
    world.sp(&["login", &address]).ok();
    world.set_env("SP_REGISTRY_TOKEN", "");
    pkg(&world, &["install", "acme/notes", "acme/more"]).ok();
    let carried = |proxy: &Proxy| proxy.asked().iter().filter(|head| head.contains(&token)).count();
    assert!(carried(&proxy) > 0);
    assert_eq!(carried(&second.proxy), 0);
    // One from the environment is for the registry that is named.
    world.set_env("SP_REGISTRY_TOKEN", "ctxp_0000");
    pkg(&world, &["install", "acme/more"]).ok();
    assert!(!second.proxy.asked().iter().any(|head| head.contains("ctxp_0000")));
}

#[test]
fn se_07_what_is_meant_for_this_machine_goes_through_no_proxy() {
    let Scene { mut world, registry, proxy: elsewhere, token } =
        Scene::with(&[Made::new("@acme/notes", "1.0.0")]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        world.set_env(name, &format!("http://{}", elsewhere.address));
    }
    world.set_env("SP_REGISTRY_TOKEN", &token);
    let run = pkg(
        &world,
        &["install", "acme/notes", "--registry", &format!("http://{}", registry.address)],
    )
    .ok();
    assert!(elsewhere.asked().is_empty(), "{run}: {:?}", elsewhere.asked());
}

#[test]
fn pk_25_a_dry_run_tells_and_leaves_nothing() {
    let scene = Scene::with(&[Made::new("@acme/notes", "1.0.0")]);
    let before = scene.world.files("");
    let run = pkg(&scene.world, &["install", "acme/notes", "--dry-run"]).ok();
    assert!(run.stdout.contains("@acme/notes"), "{run}");
    let mut after = scene.world.files("");
    after.retain(|path, _| !path.starts_with("registry/"));
    let mut wanted = before;
    wanted.retain(|path, _| !path.starts_with("registry/"));
    assert_eq!(after, wanted);
}

#[test]
fn sp_info_shows_a_package_of_a_registry() {
    let scene = Scene::with(&[
        Made::new("@acme/app", "1.0.0"),
        Made::new("@acme/app", "1.1.0").needs(&[("@acme/base", "^1")]).signed(7, Signs::Whole),
    ]);
    let world = &scene.world;
    let run = world.sp(&["info", "acme/app"]).ok();
    for part in [
        "@acme/app 1.1.0",
        "needs @acme/base ^1",
        &public(7)[..16],
        "sp pkg install @acme/app@1.1.0",
    ] {
        assert!(run.stdout.contains(part), "{part}: {run}");
    }
    let run = world.sp(&["info", "@acme/app@1.0.0", "--format", "json"]).ok();
    fits("registry-info", &run.stdout);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&told["version"], &told["latest"]), (&json!("1.0.0"), &json!("1.1.0")));
    scene.yank("acme/app/1.1.0");
    let run = world.sp(&["info", "acme/app", "--format", "plain"]).ok();
    assert!(run.stdout.lines().next().unwrap().ends_with("yanked"), "{run}");
    assert!(world.sp(&["info", "acme/app@^7"]).fails(1).stderr.contains("1.1.0, 1.0.0"));
    assert!(world.sp(&["info", "acme/nothing"]).fails(1).stderr.contains("sp search nothing"));
}

#[test]
fn pk_25_a_download_goes_on_where_it_broke_off() {
    let large = Made::new("@acme/large", "1.0.0")
        .says(&"A sentence that is told again and again. ".repeat(10_000));
    let scene = Scene::with(&[large]);
    let world = &scene.world;
    let ranges = |scene: &Scene| -> Vec<String> {
        let asked = scene.proxy.asked();
        let range = |head: &String| {
            head.lines().find_map(|line| line.strip_prefix("range: ").map(str::to_owned))
        };
        asked.iter().filter(|head| head.contains("/download")).filter_map(range).collect()
    };
    // Within one run, as long as something comes.
    scene.proxy.change(|request, passing| {
        if request.contains("/download") {
            passing.cut = Some(if passing.status == 206 { passing.body.len() } else { 150_000 });
        }
    });
    pkg(world, &["install", "acme/large"]).ok();
    assert_eq!(ranges(&scene), ["bytes=150000-"]);
    assert_eq!(world.files("home/.skillpack/cache/downloads").len(), 0, "nothing is left of it");
    // And in the next run: what came is kept.
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    scene.forget_home();
    scene.proxy.change(|request, passing| {
        if request.contains("/download") {
            passing.cut = Some(if passing.status == 206 { 0 } else { 100_000 });
        }
    });
    pkg(world, &["install"]).fails(5);
    scene.proxy.change(|_, _| {});
    pkg(world, &["install"]).ok();
    assert_eq!(ranges(&scene).last().unwrap(), "bytes=100000-");
    // What somebody spoilt meanwhile is nobody's lie.
    std::fs::remove_dir_all(world.path("project/.ctxpkg")).unwrap();
    let digest =
        lock(world)["packages"]["@acme/large"]["digest"].as_str().unwrap().replace("sha256:", "");
    scene.forget_home();
    write(world, &format!("home/.skillpack/cache/downloads/{digest}"), "spoilt");
    pkg(world, &["install"]).ok();
    assert_eq!(ranges(&scene).last().unwrap(), "bytes=6-");
}
