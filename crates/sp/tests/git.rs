//! Imports from real repositories over real transports.

use sp_testkit::{Daemon, HttpServer, World, world};

fn shared(world: &World) -> sp_testkit::Repo {
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").skill("other/big");
    repo.write("tools/review/scripts/run.sh", "echo hi\n");
    repo
}

fn pack(url: &str, rest: &str) -> String {
    format!("name: team\nimports:\n  - repo: {url}\n    include: ['tools/*']\n{rest}")
}

#[test]
fn sp_07_remote_skills_are_found_anywhere_over_every_transport() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    let http = HttpServer::start(&world.path("git"));
    for (number, url) in [repo.url(), repo.path().display().to_string(), daemon.url("shared"), http.url("shared")].iter().enumerate() {
        world.pack("team", &pack(url, ""));
        let sink = format!("sink{number}");
        world.sp(&["install", "team", "--agent", "custom", "--path", &world.path(&sink).display().to_string()]).ok();
        let names: Vec<String> = world.files(&sink).into_keys().filter(|name| !name.contains('/')).collect();
        assert_eq!(names, ["team__tools__deploy", "team__tools__review"], "{url}");
    }
    let state = std::fs::read_to_string(world.path("home/.skillpack/state.json")).unwrap();
    assert!(state.contains(&commit), "the full commit is recorded");
}
