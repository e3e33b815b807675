//! URLs with secrets as arguments of every command that takes a URL. The secrets are neither
//! printed nor written to files.

use std::path::{Path, PathBuf};

use sp_testkit::{CliError, Run, WebResponse, WebServer, World, world, zip};

/// Part of every secret in the URLs below.
const CANARY: &str = "canary-51d0";
/// Any parameter can be a secret, whatever its name is.
const QUERY: &str =
    "?X-Amz-Signature=canary-51d0-1&sig=canary-51d0-2&key=canary-51d0-3&plain=canary-51d0-4";
const FRAGMENT: &str = "#frag=canary-51d0-5";

struct Scene {
    world: World,
    server: WebServer,
    /// Files with secrets that the user wrote.
    user_files: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        let (world, server) = (world!(), WebServer::start());
        world.sp_in("home", &["bag", "init", "bag"]).ok();
        std::fs::create_dir(world.path("project")).unwrap();
        Self { world, server, user_files: Vec::new() }
    }

    /// Defines the response for a path with the complete query. Returns the URL with all secrets.
    fn page(&self, path: &str, answer: WebResponse) -> String {
        self.server.respond(&format!("{path}{QUERY}"), answer);
        self.url(path)
    }

    fn url(&self, path: &str) -> String {
        self.server.url_with("me:canary-51d0-6", &format!("{path}{QUERY}{FRAGMENT}"))
    }

    /// Writes a file of the user, which may contain secrets.
    fn write(&mut self, path: &str, text: &str) {
        let path = self.world.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        self.user_files.push(path);
    }

    /// Runs `sp`, and checks that no secret is in its output or in a file.
    #[track_caller]
    fn sp(&self, dir: &str, args: &[&str]) -> Run {
        let mut command = self.world.command(args);
        command
            .current_dir(self.world.path(dir))
            .env("SP_TRANSPORT_SECRET", "shared")
            .env("SP_MODEL_KEY", "x");
        let run = self.world.run(command);
        assert!(!run.to_string().contains(CANARY), "{args:?} prints a secret: {run}");
        let mut leaks = Vec::new();
        self.find_leaks(&self.world.root(), &mut leaks);
        assert_eq!(leaks, Vec::<PathBuf>::new(), "{args:?} writes a secret: {run}");
        run
    }

    /// Like [`Self::sp`], and returns the error that the command must end with.
    #[track_caller]
    fn sp_error(&self, dir: &str, args: &[&str]) -> CliError {
        self.sp(dir, args);
        self.sp(dir, &[args, &["--format", "json"]].concat()).error()
    }

    /// Collects the files that have a secret in their path or content.
    fn find_leaks(&self, dir: &Path, leaks: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.find_leaks(&path, leaks);
            } else if !self.user_files.contains(&path) {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let has_secret =
                    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
                if has_secret || path.to_string_lossy().contains(CANARY) {
                    leaks.push(path);
                }
            }
        }
    }

    /// Runs `sp` with every output format.
    #[track_caller]
    fn sp_in_all_formats(&self, dir: &str, args: &[&str], code: i32) {
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

/// Returns the files of a valid context pack.
fn pack_files() -> Vec<(String, Vec<u8>)> {
    let tree =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/valid/context-packs/golden/tree");
    let files = std::fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        })
        .collect()
}

/// Returns responses that make a command fail. Some contain secrets.
fn failures(scene: &Scene) -> Vec<(&'static str, WebResponse)> {
    vec![
        ("/missing", WebResponse::Status(404)),
        ("/forbidden", WebResponse::Status(403)),
        ("/moved", WebResponse::Redirect(scene.url("/nowhere"))),
        ("/loop", WebResponse::Redirect(format!("/loop.zip{QUERY}"))),
        ("/away", WebResponse::Redirect(format!("ftp://me:{CANARY}@127.0.0.1/x{QUERY}"))),
        ("/page", WebResponse::Bytes(b"<html>Sign in</html>".to_vec())),
        ("/stalled", WebResponse::Stall(b"PK".to_vec())),
    ]
}

/// Returns the entry of `review` in the lock.
fn locked_review(scene: &Scene) -> serde_json::Value {
    let text = std::fs::read(scene.world.path("home/bag/.skills/.skillbag.lock")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&text).unwrap()["skills"]["review"].clone()
}

#[test]
fn se_07_workspace_stores_no_url_secret_and_uses_the_cached_archive() {
    let scene = Scene::new();
    let url = scene.page("/skills.zip", WebResponse::Bytes(skills_zip()));
    scene.sp_in_all_formats("home/bag", &["bag", "get", "review", "--source", &url], 0);
    let locked = locked_review(&scene);
    assert_eq!(locked["source"], scene.server.url("/skills.zip"));
    assert_eq!(locked["query"], "omitted");
    for args in [&["bag", "list"][..], &["bag", "deps"], &["bag", "check"], &["bag", "enter"]] {
        scene.sp("home/bag", args);
    }
    // The lock has no complete URL, so the skill is restored from the cache.
    std::fs::remove_dir_all(scene.world.path("home/bag/.skills/review")).unwrap();
    let requests = scene.server.requested_paths().len();
    scene.sp("home/bag", &["bag", "get", "review"]).ok();
    assert!(scene.world.path("home/bag/.skills/review/SKILL.md").exists());
    assert_eq!((scene.server.requested_paths().len(), locked_review(&scene)), (requests, locked));
}

#[test]
fn se_07_source_without_cached_archive_is_an_error_with_a_hint() {
    let scene = Scene::new();
    let url = scene.page("/skills.zip", WebResponse::Bytes(skills_zip()));
    scene.sp("home/bag", &["bag", "get", "review", "--source", &url]).ok();
    let assert_not_reproducible = |args: &[&str]| {
        let error = scene.sp_error("home/bag", args);
        assert_eq!(error.code, "E-source-not-reproducible");
        assert!(error.message.contains("`review`"), "{error:#?}");
        assert!(error.hints_at("sp bag add review --source"), "{error:#?}");
        assert!(error.hints_at("--keep-query"), "{error:#?}");
    };
    // The cache has no newer version.
    assert_not_reproducible(&["bag", "get", "review", "--upgrade"]);
    scene.sp("home/bag", &["clean", "--cache"]).ok();
    std::fs::remove_dir_all(scene.world.path("home/bag/.skills/review")).unwrap();
    assert_not_reproducible(&["bag", "get", "review"]);
    // A cached archive with different content is not used.
    scene.sp("home/bag", &["bag", "get", "review", "--source", &url]).ok();
    let archives = scene.world.path("home/.skillpack/cache/archives");
    let archive = std::fs::read_dir(archives).unwrap().next().unwrap().unwrap().path();
    std::fs::write(archive, b"other").unwrap();
    std::fs::remove_dir_all(scene.world.path("home/bag/.skills/review")).unwrap();
    assert_not_reproducible(&["bag", "get", "review"]);
}

#[test]
fn se_07_kept_query_parameters_are_locked_and_used_again() {
    let scene = Scene::new();
    let url = scene.server.respond("/skills.zip?ref=v1&track=2", WebResponse::Bytes(skills_zip()));
    let keep_both = ["--keep-query", "ref", "--keep-query", "track"];
    let args = ["bag", "get", "review", "--source", &url];
    scene.sp("home/bag", &[&args[..], &keep_both].concat()).ok();
    let locked = locked_review(&scene);
    assert_eq!(
        (&locked["source"], &locked["query"]),
        (&url.as_str().into(), &serde_json::Value::Null)
    );
    let requests = scene.server.requested_paths().len();
    scene.sp("home/bag", &["bag", "get", "review", "--upgrade"]).ok();
    assert_eq!(
        (scene.server.requested_paths().len(), locked_review(&scene)),
        (requests + 1, locked)
    );
    // With one of two parameters, the URL in the lock is incomplete.
    scene.sp("home/bag", &[&args[..], &["--keep-query", "ref", "--upgrade"]].concat()).ok();
    let locked = locked_review(&scene);
    assert_eq!(
        (&locked["source"], &locked["query"]),
        (&scene.server.url("/skills.zip?ref=v1").into(), &"omitted".into())
    );
}

#[test]
fn se_07_failing_source_leaks_no_secret() {
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
    let url = scene.url("/skills.zip");
    let args = ["bag", "get", "review", "--source", &url, "--offline"];
    scene.sp_in_all_formats("home/bag", &args, 5);
    assert_eq!(scene.sp_error("home/bag", &args).code, "E-offline");
    let url = scene.url("/nowhere.zip");
    let dependencies = format!(
        "# Dependencies\n\n```yaml\ndependencies:\n  - {{name: x, version: '1', source: '{url}'}}\n```\n"
    );
    scene.write("home/bag/CONTEXT.md", &dependencies);
    scene.sp_in_all_formats("home/bag", &["bag", "get"], 5);
    scene.sp("home/bag", &["bag", "check"]);
}

#[test]
fn se_07_context_pack_url_leaks_no_secret() {
    let scene = Scene::new();
    let files = pack_files();
    let members: Vec<(String, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (format!("context-pack/{path}"), bytes.as_slice()))
        .collect();
    let zipped =
        zip(&members.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect::<Vec<_>>());
    let archive = scene.page("/x.zip", WebResponse::Bytes(zipped));
    for (path, bytes) in &files {
        scene.page(&format!("/p/{path}"), WebResponse::Bytes(bytes.clone()));
    }
    // A registry has the signature in the path, other servers in the query.
    let signed = format!("/s/k1.1777044123.{CANARY}/packs/pk_1/");
    for (path, bytes) in &files {
        scene.server.respond(&format!("{signed}{path}"), WebResponse::Bytes(bytes.clone()));
    }
    for (number, url) in [archive, scene.url("/p/"), scene.server.url(&signed)].iter().enumerate() {
        for args in [&["check", url][..], &["show", url], &["diff", url, url]] {
            scene.sp_in_all_formats("project", &[&["context"], args].concat(), 0);
        }
        scene.sp("project", &["context", "check", url, "--format", "sarif"]).ok();
        scene.sp("project", &["context", "install", url]).ok();
        scene.sp("project", &["context", "uninstall"]).ok();
        let unzipped = format!("unzipped-{number}");
        scene.sp("project", &["context", "unzip", url, &unzipped]);
    }
    for path in ["/gone/", "/gone/pack.json", "/x.txt"] {
        scene.page(&format!("{path}pack.json"), WebResponse::Status(403));
        for verb in ["check", "show", "install", "unzip"] {
            let run = scene.sp("project", &["context", verb, &scene.url(path)]);
            assert_ne!(run.code, Some(0), "{verb} {path}: {run}");
        }
    }
}

#[test]
fn se_07_import_url_leaks_no_secret() {
    let mut scene = Scene::new();
    scene.page("/x", WebResponse::Status(403));
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
        // Another error shows the source line with the URL.
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
fn se_07_git_source_leaks_no_secret() {
    let scene = Scene::new();
    scene.page("/x", WebResponse::Status(403));
    for url in [scene.server.url_with("me:canary-51d0-6", &format!("/x{QUERY}")), scene.url("/x")] {
        for more in [&[][..], &["--offline"], &["--version", "v1"]] {
            let args = [&["bag", "get", "review", "--source", &url][..], more].concat();
            let run = scene.sp("home/bag", &args);
            assert!(matches!(run.code, Some(2 | 3 | 5)), "{run}");
        }
    }
    let requests = scene.server.requested_paths();
    assert!(
        requests.iter().any(|path| path.contains("sig=canary-51d0-2")),
        "git sends the query: {requests:?}"
    );
}

#[test]
fn se_07_server_url_leaks_no_secret() {
    let mut scene = Scene::new();
    scene.world.skill("notes");
    scene
        .sp("home/repo", &["pkg", "create", "--name", "notes", "--kind", "skills", "skills/notes"])
        .ok();
    let url = scene.url("/api");
    let without_scheme = url.replace("http://", "");
    for server in [
        &url,
        &without_scheme,
        &scene.server.url(&format!("/x{QUERY}")),
        &format!("x.example{QUERY}"),
    ] {
        for args in [
            &["search", "notes", "--registry", server][..],
            &["info", "@team/notes", "--registry", server],
            &["login", server],
            &["pkg", "send", "notes", "--target", server],
            &["context", "url", "pk_01KPZXWZQR5NRHCGNQ4TR480B2", "--registry", server],
            &["mcp", "install", "--agent", "claude", "--url", server],
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
