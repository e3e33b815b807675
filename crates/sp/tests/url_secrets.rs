//! A URL with secrets in it, given to every command that takes a URL: nothing that is printed or
//! written has them.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests arrange their world with the plain calls"
)]

use std::path::{Path, PathBuf};

use sp_testkit::{Answer, Run, WebServer, World, world, zip};

/// In every secret of every URL below.
const CANARY: &str = "canary-51d0";
/// The names tell nothing: each of these opens something somewhere, and `plain` may too.
const QUERY: &str =
    "?X-Amz-Signature=canary-51d0-1&sig=canary-51d0-2&key=canary-51d0-3&plain=canary-51d0-4";
const FRAGMENT: &str = "#frag=canary-51d0-5";

struct Scene {
    world: World,
    server: WebServer,
    /// Files that the user wrote, with the secrets in them.
    written: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        let (world, server) = (world!(), WebServer::start());
        world.sp_in("home", &["bag", "init", "bag"]).ok();
        std::fs::create_dir(world.path("project")).unwrap();
        Self { world, server, written: Vec::new() }
    }

    /// Answers those who ask for the path with the whole query. Returns the URL with all its
    /// secrets.
    fn page(&self, path: &str, answer: Answer) -> String {
        self.server.page(&format!("{path}{QUERY}"), answer);
        self.url(path)
    }

    fn url(&self, path: &str) -> String {
        self.server.url_with("me:canary-51d0-6", &format!("{path}{QUERY}{FRAGMENT}"))
    }

    /// Writes a file as the user does.
    fn write(&mut self, path: &str, text: &str) {
        let path = self.world.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        self.written.push(path);
    }

    /// Runs `sp`, and looks for the secrets everywhere.
    #[track_caller]
    fn sp(&self, dir: &str, args: &[&str]) -> Run {
        let mut command = self.world.command(args);
        command
            .current_dir(self.world.path(dir))
            .env("SP_TRANSPORT_SECRET", "shared")
            .env("SP_MODEL_KEY", "x");
        let run = self.world.run(command);
        assert!(!run.to_string().contains(CANARY), "{args:?} prints a secret: {run}");
        let mut told = Vec::new();
        self.search(&self.world.root(), &mut told);
        assert_eq!(told, Vec::<PathBuf>::new(), "{args:?} writes a secret: {run}");
        run
    }

    /// The files that have a secret in their name or in their bytes.
    fn search(&self, dir: &Path, told: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.search(&path, told);
            } else if !self.written.contains(&path) {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let has = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
                if has || path.to_string_lossy().contains(CANARY) {
                    told.push(path);
                }
            }
        }
    }

    /// Every form of output.
    #[track_caller]
    fn in_all_formats(&self, dir: &str, args: &[&str], code: i32) {
        for format in ["human", "plain", "json"] {
            self.sp(dir, &[args, &["--format", format]].concat()).fails(code);
        }
    }
}

fn skills_zip() -> Vec<u8> {
    let agents = "# SKILLBAG\n\nSkills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";
    let skill = "---\nname: review\ndescription: Does review.\n---\n\nDo review.\n";
    zip(&[
        ("AGENTS.md", agents.as_bytes()),
        (".skills/SKILLS.md", b"review: Does review.\n"),
        (".skills/review/SKILL.md", skill.as_bytes()),
    ])
}

/// The files of a good context pack.
fn pack_files() -> Vec<(String, Vec<u8>)> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/good-ctx-golden/tree");
    let files = std::fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        })
        .collect()
}

/// Answers that make a command fail, some of them with the secrets in what they say.
fn failures(scene: &Scene) -> Vec<(&'static str, Answer)> {
    vec![
        ("/missing", Answer::Status(404)),
        ("/forbidden", Answer::Status(403)),
        ("/moved", Answer::Redirect(scene.url("/nowhere"))),
        ("/circle", Answer::Redirect(format!("/circle.zip{QUERY}"))),
        ("/away", Answer::Redirect(format!("ftp://me:{CANARY}@127.0.0.1/x{QUERY}"))),
        ("/page", Answer::Bytes(b"<html>Sign in</html>".to_vec())),
        ("/cut", Answer::Stall(b"PK".to_vec())),
    ]
}

fn lock(scene: &Scene) -> serde_json::Value {
    let text = std::fs::read(scene.world.path("home/bag/.skills/.skillbag.lock")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&text).unwrap()["skills"]["review"].clone()
}

#[test]
fn se_07_a_workspace_keeps_no_secret_of_a_source_and_takes_the_archive_from_the_cache() {
    let scene = Scene::new();
    let url = scene.page("/skills.zip", Answer::Bytes(skills_zip()));
    scene.in_all_formats("home/bag", &["bag", "get", "review", "--source", &url], 0);
    let locked = lock(&scene);
    assert_eq!(locked["source"], scene.server.url("/skills.zip"));
    assert_eq!(locked["query"], "omitted");
    for args in [&["bag", "list"][..], &["bag", "deps"], &["bag", "check"], &["bag", "enter"]] {
        scene.sp("home/bag", args);
    }
    // The skill is gone, and the address with it: what was fetched before is used.
    std::fs::remove_dir_all(scene.world.path("home/bag/.skills/review")).unwrap();
    let asked = scene.server.asked().len();
    scene.sp("home/bag", &["bag", "get", "review"]).ok();
    assert!(scene.world.path("home/bag/.skills/review/SKILL.md").exists());
    assert_eq!((scene.server.asked().len(), lock(&scene)), (asked, locked));
}

#[test]
fn se_07_without_the_archive_the_entry_and_the_way_out_are_named() {
    let scene = Scene::new();
    let url = scene.page("/skills.zip", Answer::Bytes(skills_zip()));
    scene.sp("home/bag", &["bag", "get", "review", "--source", &url]).ok();
    let named = |run: Run| {
        assert!(run.stderr.contains("the source of `review` cannot be fetched again"), "{run}");
        assert!(
            run.stderr.contains("sp bag get review --source")
                && run.stderr.contains("--keep-query"),
            "{run}"
        );
    };
    // Nothing newer is in the cache.
    named(scene.sp("home/bag", &["bag", "get", "review", "--upgrade"]).fails(5));
    scene.sp("home/bag", &["clean", "--cache"]).ok();
    std::fs::remove_dir_all(scene.world.path("home/bag/.skills/review")).unwrap();
    named(scene.sp("home/bag", &["bag", "get", "review"]).fails(5));
    // Bytes that are others are not taken either.
    scene.sp("home/bag", &["bag", "get", "review", "--source", &url]).ok();
    let archives = scene.world.path("home/.skillpack/cache/archives");
    let archive = std::fs::read_dir(archives).unwrap().next().unwrap().unwrap().path();
    std::fs::write(archive, b"other").unwrap();
    std::fs::remove_dir_all(scene.world.path("home/bag/.skills/review")).unwrap();
    named(scene.sp("home/bag", &["bag", "get", "review"]).fails(5));
}

#[test]
fn se_07_a_parameter_that_the_user_keeps_is_locked_and_used_again() {
    let scene = Scene::new();
    let url = scene.server.page("/skills.zip?ref=v1&track=2", Answer::Bytes(skills_zip()));
    let keep = ["--keep-query", "ref", "--keep-query", "track"];
    let args = ["bag", "get", "review", "--source", &url];
    scene.sp("home/bag", &[&args[..], &keep].concat()).ok();
    let locked = lock(&scene);
    assert_eq!(
        (&locked["source"], &locked["query"]),
        (&url.as_str().into(), &serde_json::Value::Null)
    );
    let asked = scene.server.asked().len();
    scene.sp("home/bag", &["bag", "get", "review", "--upgrade"]).ok();
    assert_eq!((scene.server.asked().len(), lock(&scene)), (asked + 1, locked));
    // With one of two, the lock is not whole.
    scene.sp("home/bag", &[&args[..], &["--keep-query", "ref", "--upgrade"]].concat()).ok();
    let locked = lock(&scene);
    assert_eq!(
        (&locked["source"], &locked["query"]),
        (&scene.server.url("/skills.zip?ref=v1").into(), &"omitted".into())
    );
}

#[test]
fn se_07_sources_that_fail_tell_no_secret() {
    let mut scene = Scene::new();
    for (path, answer) in failures(&scene) {
        let url = scene.page(&format!("{path}.zip"), answer);
        let limits = ["--limit", "stall-seconds=1"];
        for args in [&["bag", "get", "review", "--source", &url][..], &["context", "check", &url]] {
            let run = scene.sp("home/bag", &[args, &limits].concat());
            assert!(matches!(run.code, Some(3 | 5)), "{path}: {run}");
            assert!(run.stderr.contains(&format!("127.0.0.1:[PORT]{path}.zip")), "{path}: {run}");
        }
    }
    let offline = scene.url("/skills.zip");
    scene.in_all_formats(
        "home/bag",
        &["bag", "get", "review", "--source", &offline, "--offline"],
        5,
    );
    let url = scene.url("/nowhere.zip");
    let dependencies = format!(
        "# Dependencies\n\n```yaml\ndependencies:\n  - {{name: x, version: '1', source: '{url}'}}\n```\n"
    );
    scene.write("home/bag/CONTEXT.md", &dependencies);
    scene.in_all_formats("home/bag", &["bag", "get"], 5);
    scene.sp("home/bag", &["bag", "check"]);
}

#[test]
fn se_07_a_context_pack_at_an_address_tells_no_secret() {
    let scene = Scene::new();
    let files = pack_files();
    let named: Vec<(String, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (format!("context-pack/{path}"), bytes.as_slice()))
        .collect();
    let zipped =
        zip(&named.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect::<Vec<_>>());
    let archive = scene.page("/x.zip", Answer::Bytes(zipped));
    files.iter().for_each(|(path, bytes)| {
        drop(scene.page(&format!("/p/{path}"), Answer::Bytes(bytes.clone())));
    });
    // As our own registry signs it, and as others do.
    let signed = format!("/s/k1.1777044123.{CANARY}/packs/pk_1/");
    for (path, bytes) in &files {
        scene.server.page(&format!("{signed}{path}"), Answer::Bytes(bytes.clone()));
    }
    for (number, address) in
        [archive, scene.url("/p/"), scene.server.url(&signed)].iter().enumerate()
    {
        for args in [&["check", address][..], &["show", address], &["diff", address, address]] {
            scene.in_all_formats("project", &[&["context"], args].concat(), 0);
        }
        scene.sp("project", &["context", "check", address, "--format", "sarif"]).ok();
        scene.sp("project", &["context", "install", address]).ok();
        scene.sp("project", &["context", "uninstall"]).ok();
        let unzipped = format!("unzipped-{number}");
        scene.sp("project", &["context", "unzip", address, &unzipped]);
    }
    for path in ["/gone/", "/gone/pack.json", "/x.txt"] {
        scene.page(&format!("{path}pack.json"), Answer::Status(403));
        for verb in ["check", "show", "install", "unzip"] {
            let run = scene.sp("project", &["context", verb, &scene.url(path)]);
            assert_ne!(run.code, Some(0), "{verb} {path}: {run}");
        }
    }
}

#[test]
fn se_07_an_import_of_a_pack_tells_no_secret() {
    let mut scene = Scene::new();
    scene.page("/x", Answer::Status(403));
    let port = scene.server.url("");
    for (number, repo) in [
        scene.server.url_with("me:canary-51d0-6", &format!("/x{QUERY}")),
        scene.url("/x"),
        format!("{}/y{QUERY}", port.replace("http://", "git://")),
        format!("http://example.com/x{QUERY}"),
        format!("github.com/acme/x{QUERY}"),
        format!("github.com/acme/x{FRAGMENT}"),
        format!("ftp://me:{CANARY}@example.com/x{QUERY}{FRAGMENT}"),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("team{number}");
        let text = format!(
            "name: {name}\nimports:\n  - repo: '{repo}'\n    include: ['**']\n    wrong: 1\n"
        );
        scene.write(&format!("home/repo/packs/{name}.yaml"), &text.replace("    wrong: 1\n", ""));
        let sink = scene.world.path("sink").display().to_string();
        let limits = ["--limit", "stall-seconds=2"];
        let install = ["install", &name, "--agent", "custom", "--path", &sink];
        let run = scene.sp("home/repo", &[&install[..], &limits].concat());
        assert!(matches!(run.code, Some(3 | 5)), "{repo}: {run}");
        scene.sp("home/repo", &["show", &name, "--offline"]);
        // The line is shown, since something else in it is wrong.
        scene.write(&format!("home/repo/packs/{name}.yaml"), &text);
        for format in ["human", "plain", "json", "sarif", "github"] {
            scene.sp(
                "home/repo",
                &["check", &format!("packs/{name}.yaml"), "--offline", "--format", format],
            );
        }
    }
}

#[test]
fn se_07_a_git_source_tells_no_secret() {
    let scene = Scene::new();
    scene.page("/x", Answer::Status(403));
    for url in [scene.server.url_with("me:canary-51d0-6", &format!("/x{QUERY}")), scene.url("/x")] {
        for more in [&[][..], &["--offline"], &["--version", "v1"]] {
            let args = [&["bag", "get", "review", "--source", &url][..], more].concat();
            let run = scene.sp("home/bag", &args);
            assert!(matches!(run.code, Some(2 | 3 | 5)), "{run}");
        }
    }
    let asked = scene.server.asked();
    assert!(
        asked.iter().any(|path| path.contains("sig=canary-51d0-2")),
        "git is given the query: {asked:?}"
    );
}

#[test]
fn se_07_the_address_of_a_server_tells_no_secret() {
    let mut scene = Scene::new();
    scene.world.skill("notes");
    scene
        .sp("home/repo", &["pkg", "create", "--name", "notes", "--kind", "skills", "skills/notes"])
        .ok();
    let url = scene.url("/api");
    let without_scheme = url.replace("http://", "");
    for address in [
        &url,
        &without_scheme,
        &scene.server.url(&format!("/x{QUERY}")),
        &format!("x.example{QUERY}"),
    ] {
        for args in [
            &["search", "notes", "--registry", address][..],
            &["info", "@team/notes", "--registry", address],
            &["login", address],
            &["pkg", "send", "notes", "--target", address],
            &["context", "url", "pk_01KPZXWZQR5NRHCGNQ4TR480B2", "--registry", address],
            &["mcp", "install", "--agent", "claude", "--http", address],
        ] {
            let run = scene.sp("home/repo", args);
            assert_ne!(run.code, Some(0), "{args:?}: {run}");
        }
    }
    scene.write("home/.skillpack/config.yaml", &format!("registries: ['{url}']\n"));
    for args in [&["config"][..], &["pkg", "install", "@team/notes"], &["list"]] {
        scene.sp("home/repo", args);
    }
}
