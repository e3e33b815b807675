//! Credentials: used, and never written or printed.

use super::*;

const TOKEN: &str = "CANARY-2b7e151628aed2a6";
/// `user:CANARY-2b7e151628aed2a6` in Base64, and the token alone as a user.
const BASE64: [&str; 2] =
    ["dXNlcjpDQU5BUlktMmI3ZTE1MTYyOGFlZDJhNg==", "Q0FOQVJZLTJiN2UxNTE2MjhhZWQyYTY6"];

/// Every needle that gives the token away.
fn gives_away(text: &str) -> bool {
    text.contains(TOKEN)
        || BASE64.iter().any(|code| text.contains(code.trim_end_matches('=')))
        || text.contains("CANARY%2D")
}

#[track_caller]
fn silent(run: &Run) {
    assert!(
        !gives_away(&run.stdout) && !gives_away(&run.stderr),
        "the token is in the output: {run}"
    );
}

/// Nothing in the world but the pack file, in which its author wrote it, has the token.
#[track_caller]
fn nothing_written(world: &World) {
    let mut seen = 0;
    for (path, entry) in world.files("") {
        if matches!(entry, Entry::File(..)) && path != "home/repo/packs/bad.yaml" {
            let bytes = std::fs::read(world.path(&path)).unwrap();
            assert!(!gives_away(&String::from_utf8_lossy(&bytes)), "the token is in {path}");
            seen += 1;
        }
        assert!(!gives_away(&path), "the token is in the name {path}");
    }
    assert!(seen > 5);
}

/// A `git` that notes its arguments and the names of its variables, then does its work.
fn noting_git(world: &mut World) -> PathBuf {
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

/// The command lines of all processes of this world, gathered until `stop`.
fn watch_command_lines(world: &World, stop: &AtomicBool) -> BTreeSet<String> {
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
        let log = noting_git(&mut world);
        let http = HttpServer::start_with(&world.path("git"), Some(base64));
        import(&world, &http.url_with(&credentials, "remote"), "tools/**");
        let stop = AtomicBool::new(false);
        let lines = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch_command_lines(&world, &stop));
            silent(&install_with(&world, "bad", &["--dry-run"]).ok());
            silent(&install_with(&world, "bad", &["--verbose"]).ok());
            for format in ["human", "plain", "json"] {
                silent(&world.sp(&["show", "bad", "--format", format, "--verbose"]).ok());
                silent(&world.sp(&["installed", "--format", format]).ok());
                silent(&install_with(&world, "bad", &["--format", format]).ok());
            }
            stop.store(true, Ordering::SeqCst);
            watcher.join().unwrap()
        });
        assert!(lines.iter().any(|line| line.contains("ls-remote")), "the watcher saw git");
        assert!(!lines.iter().any(|line| gives_away(line)), "the token is on a command line");
        assert!(world.path("sink/bad__tools__x/SKILL.md").is_file());
        let calls = std::fs::read_to_string(log).unwrap();
        assert!(calls.contains("SP_GIT_PASSWORD") && calls.contains("ls-remote"), "{calls}");
        nothing_written(&world);
    }
}

#[test]
fn se_07_a_token_that_fails_is_never_written_or_printed() {
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
                silent(&world.sp(&[args, &["--verbose", "--format", format]].concat()).fails(5));
            }
        }
    }
    nothing_written(&world);
}

#[test]
fn se_07_a_token_in_a_line_that_is_shown_because_it_is_wrong_is_masked() {
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
                !gives_away(&run.stdout) && !gives_away(&run.stderr),
                "with {pack}the token is in the output: {run}"
            );
            silent(&world.sp(&["packs", "--format", format, "--verbose"]));
        }
        nothing_written(&world);
    }
}
