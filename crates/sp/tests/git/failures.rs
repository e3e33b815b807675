//! What goes wrong, and what it leaves behind: nothing.

use super::*;

#[test]
fn se_12_a_machine_without_git_is_told_so() {
    let mut world = world!();
    let repo = shared(&world);
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    world.set_env("PATH", "/nonexistent");
    let run = install(&world).fails(5);
    assert!(
        run.stderr.contains("cannot run `git`") && run.stderr.contains("hint: install git"),
        "{run}"
    );
}

#[test]
fn se_05_a_server_that_demands_a_password_fails_at_once_and_asks_nobody() {
    let world = world!();
    shared(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("dXNlcjpwYXNz"));
    world.pack("team", &pack(&http.url("shared"), ""));
    let run = install(&world).fails(5);
    assert!(
        run.stderr.contains("cannot reach the repository")
            && run.stderr.contains("check the address and your access"),
        "{run}"
    );
    assert!(!world.path("sink").exists());
}

#[test]
fn se_05_the_users_own_credential_helper_is_asked() {
    let world = world!();
    shared(&world).commit("one");
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
fn se_12_an_unreachable_port_is_an_error_of_the_environment() {
    let world = world!();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for scheme in ["git", "http"] {
        world.pack("team", &pack(&format!("{scheme}://127.0.0.1:{port}/shared"), ""));
        let run = install(&world).fails(5);
        assert!(
            run.stderr.contains("cannot reach the repository") && run.stderr.contains("--offline"),
            "{run}"
        );
    }
}

#[test]
fn se_12_one_failing_import_of_several_installs_nothing() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    world.pack(
        "team",
        &pack(&repo.url(), &format!("  - {{repo: 'git://127.0.0.1:{port}/x', include: ['**']}}\n")),
    );
    install(&world).fails(5);
    assert!(!world.path("sink").exists());
}

/// Where a fetch is cut short: a skill of some size behind a relay that stalls in the middle.
fn stalled_install(world: &World, repo: &Repo) -> (Daemon, Relay, std::process::Child) {
    repo.write("tools/review/data", noise(2_000_000));
    repo.commit("one");
    // Without filters all bytes come with the first, shallow fetch, while git holds its locks.
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    let relay = Relay::start(&daemon, Meddling::StallAfter(500_000));
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

/// The same repository through the same port: the URL, and so the cache, stays.
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
            relay_one(
                client,
                &server,
                Meddling::StallAfter(usize::MAX),
                &stopped,
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

fn close(relay: Relay) -> u16 {
    let port = relay.port;
    drop(relay);
    eventually(|| TcpListener::bind(("127.0.0.1", port)).ok());
    port
}

#[test]
fn se_01_a_kill_in_the_middle_of_a_fetch_leaves_nothing_that_hinders_the_next_run() {
    let world = world!();
    let repo = shared(&world);
    let (daemon, relay, mut child) = stalled_install(&world, &repo);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!world.path("sink").exists());
    // The connection breaks, and with it the git that `sp` had started.
    let port = close(relay);
    world.wait_until_idle();
    install_through(&world, &daemon, port).ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn se_01_a_kill_of_sp_and_git_together_leaves_nothing_that_hinders_the_next_run() {
    let world = world!();
    let repo = shared(&world);
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
    let leftovers: Vec<String> = caches(&world).iter().flat_map(|dir| unfinished(dir)).collect();
    assert_eq!(leftovers, [""; 0]);
}

/// Half-received packs and lock files of git's.
fn unfinished(cache: &Path) -> Vec<String> {
    let is_left = |path: &String| path.contains("/tmp_") || path.ends_with(".lock");
    sp_testkit::files(cache).into_keys().filter(is_left).collect()
}

#[test]
fn se_12_a_damaged_cache_is_a_clear_error_and_clean_mends_it() {
    for keep in [0, 60] {
        let world = world!();
        let repo = shared(&world);
        let commit = repo.commit("one");
        for git_ref in ["main", commit.as_str()] {
            world.pack("team", &at(&repo.url(), git_ref));
            install(&world).ok();
            for (path, entry) in world.files("home/.skillpack/cache/git") {
                if path.ends_with(".pack") && matches!(entry, Entry::File(..)) {
                    let path = world.path("home/.skillpack/cache/git").join(path);
                    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
                    std::fs::File::options()
                        .write(true)
                        .open(&path)
                        .unwrap()
                        .set_len(keep)
                        .unwrap();
                }
            }
            let run = install_into(&world, "sink2", &[]).fails(5);
            assert!(run.stderr.contains("sp clean --cache"), "{git_ref}, {keep} bytes left: {run}");
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
fn sp_35_the_cache_may_stand_elsewhere() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    let cache = world.path("cache").display().to_string();
    install_into(&world, "sink", &["--cache-dir", &cache]).ok();
    assert!(world.path("cache/git").is_dir() && !world.path("home/.skillpack/cache").exists());
}
