//! Credentials are used, but never written or printed.

use super::*;

const TOKEN: &str = "CANARY-2b7e151628aed2a6";
/// `user:CANARY-2b7e151628aed2a6` in Base64, and the token alone as a user.
const BASE64: [&str; 2] =
    ["dXNlcjpDQU5BUlktMmI3ZTE1MTYyOGFlZDJhNg==", "Q0FOQVJZLTJiN2UxNTE2MjhhZWQyYTY6"];

/// Whether the text contains the token in any encoding.
fn has_token(text: &str) -> bool {
    text.contains(TOKEN)
        || BASE64.iter().any(|code| text.contains(code.trim_end_matches('=')))
        || text.contains("CANARY%2D")
}

#[track_caller]
fn assert_not_printed(run: &Run) {
    assert!(
        !has_token(&run.stdout) && !has_token(&run.stderr),
        "the token is in the output: {run}"
    );
}

/// Asserts that no file has the token, except the pack that its author wrote.
#[track_caller]
fn assert_not_written(world: &World) {
    let mut files = 0;
    for (path, entry) in world.files("") {
        if matches!(entry, FileEntry::File(..)) && path != "home/repo/packs/bad.yaml" {
            let bytes = std::fs::read(world.path(&path)).unwrap();
            assert!(!has_token(&String::from_utf8_lossy(&bytes)), "the token is in {path}");
            files += 1;
        }
        assert!(!has_token(&path), "the token is in the name {path}");
    }
    assert!(files > 5);
}

/// Wraps `git` so that it logs its arguments and the names of its variables.
fn log_git_calls(world: &mut World) -> PathBuf {
    let (bin, log) = (world.path("bin"), world.path("git-calls"));
    let path = Command::new("sh").args(["-c", "echo \"$PATH\"; command -v git"]).output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let (paths, git) = path.trim().split_once('\n').unwrap();
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(
        bin.join("git"),
        format!(
            "#!/bin/sh\n{{ echo \"$@\"; env | sed 's/^\\(SP_GIT_[A-Z]*\\)=.*/\\1/'; }} >> '{}'\nexec '{git}' \"$@\"\n",
            log.display()
        ),
    )
    .unwrap();
    std::fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    world.set_env("PATH", &format!("{}:{paths}", bin.display()));
    log
}

/// Collects the command lines of all processes of this world until `stop` is set.
fn collect_command_lines(world: &World, stop: &AtomicBool) -> BTreeSet<String> {
    let home = world.home().display().to_string();
    let read = |process: &Path, file: &str| {
        String::from_utf8_lossy(&std::fs::read(process.join(file)).unwrap_or_default()).into_owned()
    };
    let mut seen = BTreeSet::new();
    while !stop.load(Ordering::SeqCst) {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
        for process in processes.filter(|process| read(process, "environ").contains(&home)) {
            seen.insert(read(&process, "cmdline"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    seen
}

#[test]
fn se_07_a_token_in_a_url_is_used_and_never_written_or_printed() {
    for (credentials, base64) in
        [(format!("user:{TOKEN}"), BASE64[0]), (TOKEN.to_owned(), BASE64[1])]
    {
        let mut world = guarded();
        remote(&world).commit("one");
        let log = log_git_calls(&mut world);
        let http = HttpServer::start_with(&world.path("git"), Some(base64));
        import(&world, &http.url_with(&credentials, "remote"), "tools/**");
        let stop = AtomicBool::new(false);
        let lines = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| collect_command_lines(&world, &stop));
            assert_not_printed(&install_with(&world, "bad", &["--dry-run"]).ok());
            assert_not_printed(&install_with(&world, "bad", &["--verbose"]).ok());
            for format in ["human", "plain", "json"] {
                assert_not_printed(
                    &world.sp(&["show", "bad", "--format", format, "--verbose"]).ok(),
                );
                assert_not_printed(&world.sp(&["installed", "--format", format]).ok());
                assert_not_printed(&install_with(&world, "bad", &["--format", format]).ok());
            }
            stop.store(true, Ordering::SeqCst);
            watcher.join().unwrap()
        });
        assert!(lines.iter().any(|line| line.contains("ls-remote")), "the watcher saw git");
        assert!(!lines.iter().any(|line| has_token(line)), "the token is on a command line");
        assert!(world.path("sink/bad__tools__x/SKILL.md").is_file());
        let calls = std::fs::read_to_string(log).unwrap();
        assert!(calls.contains("SP_GIT_PASSWORD") && calls.contains("ls-remote"), "{calls}");
        assert_not_written(&world);
    }
}

#[test]
fn se_07_a_rejected_token_is_never_written_or_printed() {
    let world = guarded();
    remote(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("b3RoZXI6b3RoZXI="));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for url in [
        http.url_with(&format!("user:{TOKEN}"), "remote"),
        http.url_with(TOKEN, "remote"),
        format!("http://user:{TOKEN}@127.0.0.1:{gone}/x"),
    ] {
        import(&world, &url, "tools/**");
        for format in ["human", "plain", "json"] {
            for args in [
                &["install", "bad", "--agent", "codex"][..],
                &["show", "bad"],
                &["install", "bad", "--agent", "codex", "--dry-run"],
                &["install", "bad", "--agent", "codex", "--offline"],
            ] {
                assert_not_printed(
                    &world.sp(&[args, &["--verbose", "--format", format]].concat()).fails(5),
                );
            }
        }
    }
    assert_not_written(&world);
}

#[test]
fn se_07_tokens_in_quoted_source_lines_are_masked() {
    let mut world = guarded();
    remote(&world).commit("one");
    world.set_env("GIT_SSH_COMMAND", "false");
    let http = HttpServer::start_with(&world.path("git"), Some(BASE64[0]));
    let url = http.url_with(&format!("user:{TOKEN}"), "remote");
    for pack in [
        format!("name: bad\nimports:\n- {{repo: '{url}', include: [nothing]}}\n"),
        format!("name: bad\nimports:\n- {{repo: '{url}', include: ['**'], exclude: [nothing]}}\n"),
        format!("name: bad\nimports:\n- {{repo: '{url}', ref: 'a..b', include: ['**']}}\n"),
        format!("name: bad\nimports:\n- {{repo: '{url}'}}\n"),
        format!("name: bad\nimports:\n- {{rep: '{url}', include: ['**']}}\n"),
        format!(
            "name: bad\nimports:\n- repo: http://user:{TOKEN}@example.invalid/x\n  include: ['**']\n"
        ),
        format!(
            "name: bad\nimports:\n- repo: ftp://user:{TOKEN}@example.invalid/x\n  include: ['**']\n"
        ),
        format!(
            "name: bad\nimports:\n- repo: ftp://{TOKEN}@example.invalid/x\n  include: ['**']\n"
        ),
        format!("name: bad\nimports:\n- repo: {url}\n  repo: {url}\n  include: ['**']\n"),
        format!("name: bad\nimports: {url}\n"),
        format!("{url}\n"),
        format!("name: bad\nimports:\n- repo: user:{TOKEN}@127.0.0.1:x\n  include: ['**']\n"),
    ] {
        world.pack("bad", &pack);
        for format in ["human", "plain", "json"] {
            let run =
                world.sp(&["install", "bad", "--agent", "codex", "--format", format, "--dry-run"]);
            assert!(
                !has_token(&run.stdout) && !has_token(&run.stderr),
                "with {pack}the token is in the output: {run}"
            );
            assert_not_printed(&world.sp(&["packs", "--format", format, "--verbose"]));
        }
        assert_not_written(&world);
    }
}
