//! Failures and interruptions, which must leave no files behind.

use super::*;

#[test]
fn se_12_missing_git_is_an_error_with_a_hint() {
    let mut world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    world.set_env("PATH", "/nonexistent");
    let error = install_error(&world, &[]);
    assert_eq!(error.code, "E-git-not-found");
    assert!(error.hints_at("git"), "{error:#?}");
}

#[test]
fn se_05_server_with_a_password_fails_without_a_prompt() {
    let world = world!();
    shared_repo(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("dXNlcjpwYXNz"));
    world.pack("team", &pack(&http.url("shared"), ""));
    let error = install_error(&world, &[]);
    assert_eq!(error.code, "E-git");
    assert!(error.message.contains("/shared") && !error.hints.is_empty(), "{error:#?}");
    assert!(!world.path("sink").exists());
}

#[test]
fn se_05_credential_helper_of_the_user_is_used() {
    let world = world!();
    shared_repo(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("dXNlcjpwYXNz"));
    std::fs::write(
        world.home().join(".gitconfig"),
        "[credential]\n\thelper = \"!f() { echo username=user; echo password=pass; }; f\"\n",
    )
    .unwrap();
    world.pack("team", &pack(&http.url("shared"), ""));
    install(&world).ok();
    assert_eq!(folders(&world, "sink").len(), 2);
}

#[test]
fn se_12_unreachable_server_is_an_environment_error() {
    let world = world!();
    let port = unused_port();
    for scheme in ["git", "http"] {
        world.pack("team", &pack(&format!("{scheme}://127.0.0.1:{port}/shared"), ""));
        let error = install_error(&world, &[]);
        assert_eq!(error.code, "E-git");
        assert!(error.hints_at("--offline"), "{error:#?}");
    }
}

#[test]
fn se_12_one_failing_import_prevents_the_installation() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    let import = format!("  - {{repo: 'git://127.0.0.1:{}/x', include: ['**']}}\n", unused_port());
    world.pack("team", &pack(&repo.url(), &import));
    assert_eq!(install_error(&world, &[]).code, "E-git");
    assert!(!world.path("sink").exists());
}

/// Starts an installation, and returns when its fetch has stalled in the middle.
fn stalled_install(world: &World, repo: &GitRepository) -> (Daemon, Relay, std::process::Child) {
    repo.write("tools/review/data", random_bytes(2_000_000));
    repo.commit("one");
    // Without filters, all blobs are part of the first fetch, during which git has its locks.
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    let relay = Relay::start(&daemon, RelayMode::StallAfter(500_000));
    world.pack("team", &pack(&relay.url("shared"), ""));
    let path = world.path("sink").display().to_string();
    let mut command = world.command(&["install", "team", "--agent", "custom", "--path", &path]);
    let child = command
        .process_group(0)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    relay.wait_until_stalled();
    (daemon, relay, child)
}

/// Installs through a relay on the same port, so that the URL and its cache stay the same.
fn install_through(world: &World, daemon: &Daemon, port: u16) -> Run {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let server = daemon.url("").trim_start_matches("git://").trim_end_matches('/').to_owned();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if stopped.load(Ordering::SeqCst) {
                return;
            }
            relay_connection(
                client,
                &server,
                RelayMode::StallAfter(usize::MAX),
                &AtomicUsize::new(0),
            );
        }
    });
    let run = install(world);
    stop.store(true, Ordering::SeqCst);
    let _ = TcpStream::connect(("127.0.0.1", port));
    thread.join().unwrap();
    run
}

/// Stops a relay, and returns its port when it can be used again.
fn close(relay: Relay) -> u16 {
    let port = relay.port;
    drop(relay);
    eventually(|| TcpListener::bind(("127.0.0.1", port)).ok());
    port
}

#[test]
fn se_01_next_run_works_after_sp_is_killed_during_a_fetch() {
    let world = world!();
    let repo = shared_repo(&world);
    let (daemon, relay, mut child) = stalled_install(&world, &repo);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!world.path("sink").exists());
    // Closing the connection ends the git process that `sp` started.
    let port = close(relay);
    world.wait_until_idle();
    install_through(&world, &daemon, port).ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn se_01_next_run_works_after_sp_and_git_are_killed() {
    let world = world!();
    let repo = shared_repo(&world);
    let (daemon, relay, mut child) = stalled_install(&world, &repo);
    let group = format!("-{}", child.id());
    assert!(
        std::process::Command::new("kill")
            .args(["-KILL", "--", &group])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap();
    let port = close(relay);
    install_through(&world, &daemon, port).ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
    let leftovers: Vec<String> =
        caches(&world).iter().flat_map(|dir| temporary_files(dir)).collect();
    assert_eq!(leftovers, [""; 0]);
}

/// Returns incomplete packs and lock files of git.
fn temporary_files(cache: &Path) -> Vec<String> {
    let is_temporary = |path: &String| path.contains("/tmp_") || path.ends_with(".lock");
    sp_testkit::files(cache).into_keys().filter(is_temporary).collect()
}

/// Truncates the git packs in the cache.
fn truncate_packs(world: &World, len: u64) {
    for (path, entry) in world.files("home/.skillpack/cache/git") {
        if path.ends_with(".pack") && matches!(entry, FileEntry::File(..)) {
            let path = world.path("home/.skillpack/cache/git").join(path);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
        }
    }
}

#[test]
fn se_12_damaged_cache_is_an_error_and_clean_repairs_it() {
    for remaining_bytes in [0, 60] {
        let world = world!();
        let repo = shared_repo(&world);
        let commit = repo.commit("one");
        for git_ref in ["main", commit.as_str()] {
            world.pack("team", &pack_at(&repo.url(), git_ref));
            install(&world).ok();
            truncate_packs(&world, remaining_bytes);
            let error = install_into(&world, "sink2", &["--format", "json"]).error();
            assert_eq!(error.code, "E-git", "{git_ref}, {remaining_bytes} bytes left");
            assert!(error.hints_at("sp clean --cache"), "{error:#?}");
            assert!(!world.path("sink2").exists());
            world.sp(&["clean", "--cache"]).ok();
            install_into(&world, "sink2", &[]).ok();
            assert_eq!(world.files("sink2"), world.files("sink"));
            std::fs::remove_dir_all(world.path("sink2")).unwrap();
            std::fs::remove_dir_all(world.path("home/.skillpack")).unwrap();
            std::fs::remove_dir_all(world.path("sink")).unwrap();
        }
    }
}

#[test]
fn sp_35_cache_directory_can_be_set() {
    let world = world!();
    let repo = shared_repo(&world);
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    let cache = world.path("cache").display().to_string();
    install_into(&world, "sink", &["--cache-dir", &cache]).ok();
    assert!(world.path("cache/git").is_dir() && !world.path("home/.skillpack/cache").exists());
}
