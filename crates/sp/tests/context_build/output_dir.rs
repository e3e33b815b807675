//! What lies where a pack is to be written.

use super::*;

#[test]
fn cp_12_a_pack_that_was_edited_is_not_replaced_unless_that_is_asked_for() {
    let world = rich();
    build(&world, PROMPT);
    let good = bytes(&world, "pack");
    let edited = read(&world, "pack/AGENTS.md") + "\nMy own words.\n";
    put(&world, "pack/AGENTS.md", &edited);
    let before = bytes(&world, "pack");
    let run = sp(&world, &building(PROMPT)).fails(1);
    assert!(
        run.stderr.contains("was edited since it was made")
            && run.stderr.contains("`--force` replaces it"),
        "{run}"
    );
    assert_eq!(bytes(&world, "pack"), before);
    sp(&world, &[&building(PROMPT)[..], &["--force"]].concat()).ok();
    assert_eq!(bytes(&world, "pack"), good);
    put(&world, "pack/pack.json", "{");
    sp(&world, &building(PROMPT)).fails(1);
    sp(&world, &[&building(PROMPT)[..], &["--force"]].concat()).ok();
    assert_eq!(bytes(&world, "pack"), good);
}

#[test]
fn cp_12_what_is_no_pack_is_never_written_into() {
    let world = rich();
    put(&world, "mine/notes.txt", "mine");
    put(&world, "file", "mine");
    std::os::unix::fs::symlink("nowhere", world.path("work/link")).unwrap();
    let before = world.files("work");
    for out in ["mine", "file", "link", "kb"] {
        for force in [&[][..], &["--force"]] {
            let args = [&["build", "--kb", "kb", "--out", out], BRIEF, force].concat();
            let run = sp(&world, &args).fails(1);
            assert!(
                run.stderr.contains(&format!("`{out}` is there and is no context pack")),
                "{run}"
            );
            assert_eq!(world.files("work"), before, "{out}");
        }
    }
    std::fs::create_dir(world.path("work/pack")).unwrap();
    build(&world, &[]);
    is_valid(&world);
}

#[test]
fn cp_12_files_that_the_new_pack_has_not_go_and_those_of_others_stay() {
    let world = rich();
    build(&world, PROMPT);
    put(&world, "pack/mine.txt", "mine");
    assert!(world.path("work/pack/tasks.md").exists());
    std::fs::remove_file(world.path("work/kb/retries.md")).unwrap();
    let answer = build(&world, PROMPT);
    assert!(!world.path("work/pack/tasks.md").exists());
    assert_eq!(read(&world, "pack/mine.txt"), "mine");
    let gone =
        answer["files"].as_array().unwrap().iter().find(|file| file["path"] == "tasks.md").unwrap();
    assert_eq!((&gone["change"], &gone["tokens"]), (&"gone".into(), &0.into()));
    is_valid(&world);
    let again = build(&world, PROMPT);
    assert!(
        again["files"].as_array().unwrap().iter().all(|file| file["change"] == "same"),
        "{again}"
    );
}

#[test]
fn cp_12_a_zip_that_is_there_stops_the_build_before_anything_is_written() {
    let world = rich();
    put(&world, "pack.zip", "mine");
    let run = sp(&world, &building(&["--zip"])).fails(1);
    assert!(
        run.stderr.contains("pack.zip` is there already") && run.stderr.contains("`--force`"),
        "{run}"
    );
    assert!(!world.path("work/pack").exists(), "nothing was written");
    assert_eq!(read(&world, "pack.zip"), "mine");
    build(&world, &["--zip", "--force"]);
    sp(&world, &["check", "pack.zip"]).ok();
}

/// Killed at every so many of its calls: what lies between is tried elsewhere.
const STEP: usize = 5;

#[test]
fn se_01_a_build_that_is_killed_leaves_the_old_pack_or_the_new_one() {
    let world = rich();
    build(&world, PROMPT);
    let old = bytes(&world, "pack");
    std::fs::remove_file(world.path("work/kb/retries.md")).unwrap();
    let run = |world: &World, name: &str, value: &str| {
        let args = [&["context"], &building(PROMPT)[..]].concat();
        let mut command = world.command(&args);
        command.current_dir(world.path("work")).env(name, value);
        world.run(command)
    };
    let trace = world.path("trace");
    run(&world, "SP_FAULT_TRACE", &trace.display().to_string()).ok();
    let new = bytes(&world, "pack");
    assert!(new.len() < old.len(), "a file is gone, and others are changed");
    let calls = std::fs::read_to_string(&trace).unwrap().lines().count();
    let back = || {
        std::fs::remove_dir_all(world.path("work/pack")).unwrap();
        old.iter().for_each(|(path, bytes)| put(&world, &format!("pack/{path}"), bytes));
    };
    let (mut olds, mut news) = (0, 0);
    for call in (1..=calls).step_by(STEP) {
        back();
        let killed = run(&world, "SP_FAULT", &format!("kill@{call}"));
        assert_eq!(killed.code, None, "killed at call {call}: {killed}");
        // The next command ends what was begun; this one changes nothing else.
        sp(&world, &["new", "other"]).ok();
        std::fs::remove_dir_all(world.path("work/other")).unwrap();
        let now = bytes(&world, "pack");
        assert!(now == old || now == new, "killed at call {call}: {:?}", now.keys());
        olds += usize::from(now == old);
        news += usize::from(now == new);
        build(&world, PROMPT);
        assert_eq!(bytes(&world, "pack"), new, "killed at call {call}, and run again");
    }
    assert!(olds > 0 && news > 0, "both ends are seen: {olds} old, {news} new of {calls}");
}
