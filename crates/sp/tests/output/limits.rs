//! Limits, by flag and by config.

use super::*;

#[test]
fn se_04_a_limit_is_raised_and_lowered_by_flag_and_by_config() {
    let world = world!();
    world.skill("a");
    world.write("skills/a/one", "1");
    world.write("skills/a/two", "2");
    world.pack("p", "name: p\ninclude: [a]\n");
    let install =
        |limits: &[&str]| world.sp(&[&["install", "p", "--agent", "claude"], limits].concat());
    insta::assert_snapshot!(install(&["--limit", "skill-entries=2"]), @"
    exit: 3
    --- stderr
    error: `[WORLD]/home/repo/skills/a` cannot be installed: it has more than 2 files and folders

    hint: raise it with `--limit skill-entries=<number>` if you trust the source
    ");
    install(&["--limit", "file-bytes=10"]).fails(3);
    install(&["--limit", "skill-bytes=10"]).fails(3);
    install(&["--limit", "repo-entries=1"]).fails(3);
    assert!(!world.path("home/.claude").exists());
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), "limits: {skill-entries: 2}\n")
        .unwrap();
    install(&[]).fails(3);
    install(&["--limit", "skill-entries=3"]).ok();
}

#[test]
fn se_04_a_flag_beats_the_config_even_with_the_default_value() {
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
fn se_04_a_limit_that_does_not_exist_is_wrong_usage() {
    insta::assert_snapshot!(world!().sp(&["list", "--limit", "dept=3"]), @"
    exit: 2
    --- stderr
    error: invalid value 'dept=3' for '--limit <NAME=NUMBER>': the limits are: skill-entries, depth, skill-bytes, file-bytes, repo-entries, frontmatter-bytes, yaml-bytes, yaml-nodes, yaml-aliases, markdown-bytes, git-pack-bytes, zip-entries, zip-bytes, zip-ratio, download-seconds, stall-seconds, git-memory-bytes, json-depth, json-keys, json-values, package-bytes, package-files, package-file-bytes, package-files-bytes, envelope-bytes, envelope-seconds

    For more information, try '--help'.
    ");
}
