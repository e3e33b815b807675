//! Limits, from flags and from the configuration.

use super::*;

#[test]
fn se_04_limits_are_set_by_flags_and_by_the_configuration() {
    let world = world!();
    world.skill("a");
    world.write("skills/a/one", "1");
    world.write("skills/a/two", "2");
    world.pack("p", "name: p\ninclude: [a]\n");
    let install =
        |limits: &[&str]| world.sp(&[&["install", "p", "--agent", "claude"], limits].concat());
    for limit in ["skill-entries=2", "file-bytes=10", "skill-bytes=10", "repo-entries=1"] {
        let error = install(&["--limit", limit, "--format", "json"]).error();
        assert_eq!(error.code, "E-limit-exceeded", "{limit}");
        let name = limit.split('=').next().unwrap();
        assert!(error.hints_at(&format!("--limit {name}=")), "{limit}: {error:?}");
    }
    assert!(!world.path("home/.claude").exists());
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), "limits: {skill-entries: 2}\n")
        .unwrap();
    assert_eq!(install(&["--format", "json"]).error().code, "E-limit-exceeded");
    install(&["--limit", "skill-entries=3"]).ok();
}

#[test]
fn se_04_a_flag_overrides_the_configuration() {
    let world = world!();
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), "limits: {depth: 2}\n").unwrap();
    let depth = |args: &[&str]| {
        let run = world.sp(&[&["config", "--format", "json"], args].concat()).ok();
        let limits = serde_json::from_str::<Value>(&run.stdout).unwrap()["limits"]
            .as_array()
            .unwrap()
            .clone();
        limits.into_iter().find(|limit| limit["name"] == "depth").unwrap()["value"].as_u64()
    };
    assert_eq!(
        [depth(&[]), depth(&["--limit", "depth=9"]), depth(&["--limit", "depth=64"])],
        [Some(2), Some(9), Some(64)]
    );
}

#[test]
fn se_04_an_unknown_limit_is_a_usage_error() {
    let error = world!().sp_error(&["list", "--limit", "dept=3"]);
    assert_eq!(error.code, "E-invalid-arguments");
    assert!(error.message.contains("dept=3") && error.message.contains("depth"), "{error:?}");
}
