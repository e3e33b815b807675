//! Transactions: `sp` is killed, or gets an error, at each of its mutating file-system calls. The
//! next run must find the old or the new state, or restore one of them, with nothing left over.

mod disks;
mod interruptions;
mod state;

use std::cell::OnceCell;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;

use sp_testkit::{
    FaultScenario, FaultSweep, FileEntry, FileMap, Messages, Run, World, WorldState, files,
    observed_files, world,
};

use crate::support::engine::recover;

const CHANGED_SKILL: &str = "---\nname: b\ndescription: Does b otherwise.\n---\n";
const EDIT: &str = "edited by hand";

/// Returns what a user can observe: the files in the sink, and the records in the state file.
fn installed_state(world: &World) -> WorldState {
    let mut state = observed_files(world, "sink");
    for (index, mut record) in records(world).into_iter().enumerate() {
        // The sink may be created again for each run, so its inode differs.
        record.as_object_mut().unwrap().remove("sink_id");
        let text = FileEntry::File(record.to_string(), false);
        state.insert(format!("record {index}"), (0, text));
    }
    state
}

/// Returns the records in the state file.
fn records(world: &World) -> Vec<serde_json::Value> {
    let text = std::fs::read(world.path("home/.skillpack/state.json"));
    let state = text.map_or(serde_json::Value::Null, |text| serde_json::from_slice(&text).unwrap());
    state["installs"].as_array().cloned().unwrap_or_default()
}

/// Returns a scenario of a command in a world with files of others in the sink.
///
/// After each interruption, recovery gives the old or the new state, running the command again
/// gives the new one, and nothing is left over. An edit must be in the sink or in the trash, and
/// nothing else is in the trash.
fn scenario(prepare: impl Fn(&World, &str), command: &[&str]) -> FaultScenario {
    let world = world!();
    let sink = world.path("sink").display().to_string();
    prepare(&world, &sink);
    let canary = world.path("sink/canary");
    std::fs::create_dir_all(&canary).unwrap();
    std::fs::write(canary.join("SKILL.md"), "foreign").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", canary.join("link")).unwrap();
    let args: Vec<String> = command.iter().map(|arg| arg.replace("SINK", &sink)).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let has_edit = has_edit(&world);
    // What the command moves to the trash because it was edited. The first run is complete.
    let expected_trash = Rc::new(OnceCell::new());
    let first_trash = Rc::clone(&expected_trash);
    let mut scenario = FaultScenario::new(world, "home/repo", &args, recover());
    scenario.observe = Box::new(installed_state);
    scenario.messages = Messages::Hint;
    scenario.recovered = Box::new(move |world, what| {
        assert_no_leftovers(world, what);
        assert!(!has_edit || self::has_edit(world), "{what}: an edit is lost");
        for (path, entry) in trash(world) {
            let expected = expected_trash.get().and_then(|trash: &FileMap| trash.get(&path));
            assert_eq!(expected, Some(&entry), "{what}: `{path}` in the trash was not edited");
        }
    });
    scenario.done = Box::new(move |world, what| {
        first_trash.get_or_init(|| trash(world));
        assert_no_leftovers(world, what);
        let left = temporary_files(world);
        assert_eq!(left, [""; 0], "{what}: left in the cache by a rerun");
    });
    scenario
}

/// Whether the edited file is in the sink or in the trash.
fn has_edit(world: &World) -> bool {
    has_file_with(&world.path("sink"), EDIT)
        || has_file_with(&world.path("home/.skillpack/trash"), EDIT)
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// Checks that no temporary file is left in the sink or the home. Those of a git cache may stay:
/// the next run that uses the cache removes them, like git with its own.
#[track_caller]
fn assert_no_leftovers(world: &World, case: &str) {
    let staged: Vec<String> =
        world.files("sink").into_keys().filter(|name| name.starts_with(".skillpack")).collect();
    assert!(staged.is_empty(), "{case}: left in the sink: {staged:?}");
    let temporary: Vec<String> =
        temporary_files(world).into_iter().filter(|name| !name.starts_with("cache/")).collect();
    assert!(temporary.is_empty(), "{case}: left in the home: {temporary:?}");
}

/// Returns the files in the home of `sp` that exist only during a run.
fn temporary_files(world: &World) -> Vec<String> {
    let is_temporary = |name: &String| {
        ["tmp", "journal", "partial", ".lock"].iter().any(|part| name.contains(part))
    };
    world.files("home/.skillpack").into_keys().filter(is_temporary).collect()
}

/// Returns the files in the trash, without the directories of the runs.
fn trash(world: &World) -> FileMap {
    let without_run = |path: String| path.split_once('/').map(|(_, path)| path.to_owned());
    world
        .files("home/.skillpack/trash")
        .into_iter()
        .filter_map(|(path, entry)| Some((without_run(path)?, entry)))
        .collect()
}

fn has_file_with(root: &Path, text: &str) -> bool {
    files(root)
        .values()
        .any(|entry| matches!(entry, FileEntry::File(content, _) if content == text))
}

/// Runs a shell script in the repository, with mounts that only it can see.
fn run_in_mount_namespace(world: &World, script: &str) -> Run {
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c", script])
        .current_dir(world.repo())
        .env_clear()
        .env("HOME", world.home())
        .env("PATH", std::env::var_os("PATH").unwrap());
    world.run(command)
}

/// A repository with the packs `team` and `other`.
fn create_packs(world: &World, _: &str) {
    world.skill("a");
    world.skill("b");
    world.skill("deep/c");
    world.write("skills/a/references/more.md", "more\n");
    world.write("skills/a/scripts/run.sh", "echo\n");
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.pack("other", "name: other\ninclude: [a, deep/c]\n");
}

/// `team` is installed. Then one of its skills is changed, one removed, one added, and one edited
/// in the sink.
fn install_and_change(world: &World, sink: &str) {
    create_packs(world, sink);
    world.sp(&["install", "team", "--agent", "custom", "--path", sink]).ok();
    world.write("skills/b/SKILL.md", CHANGED_SKILL);
    world.write("skills/a/references/more.md", "even more\n");
    std::fs::remove_dir_all(world.repo().join("skills/deep")).unwrap();
    world.skill("d");
    std::fs::write(world.path("sink/team__b/SKILL.md"), EDIT).unwrap();
}

/// `team` is installed, and one of its skills is edited in the sink.
fn install_and_edit(world: &World, sink: &str) {
    create_packs(world, sink);
    world.sp(&["install", "team", "--agent", "custom", "--path", sink]).ok();
    std::fs::write(world.path("sink/team__b/mine.md"), EDIT).unwrap();
}

/// `team` imports skills from a git repository that is not in the cache.
fn create_import(world: &World, sink: &str) {
    create_packs(world, sink);
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\ninclude: [a]\nimports:\n- repo: {}\n  include: ['tools/*']\n",
            repo.url()
        ),
    );
}

const INSTALL: &[&str] = &["install", "team", "--agent", "custom", "--path", "SINK"];
const UNINSTALL: &[&str] = &["uninstall", "team", "--agent", "custom", "--path", "SINK"];
const SWITCH: &[&str] = &["switch", "other", "--agent", "custom", "--path", "SINK"];
