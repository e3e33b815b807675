//! Transactions: `sp` is killed, or gets an error, at each of its mutating file-system calls. The
//! next run must find the old or the new state, or restore one of them, with nothing left over.

mod disks;
mod io_errors;
mod kills;
mod state;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sp_testkit::{FileEntry, FileMap, Run, World, files, world};

const CHANGED_SKILL: &str = "---\nname: b\ndescription: Does b otherwise.\n---\n";

/// A command, and the world in which it starts.
struct Scenario {
    world: World,
    args: Vec<String>,
    /// A copy of the world before the command.
    before: PathBuf,
    trace: PathBuf,
    old: InstalledState,
    new: InstalledState,
    /// The files that the command moves to the trash because they were edited.
    trash: FileMap,
    /// The number of mutating calls.
    calls: u64,
}

/// The files in the sink, and the records in the state file.
#[derive(Debug, Clone, PartialEq)]
struct InstalledState {
    sink: FileMap,
    records: Vec<serde_json::Value>,
}

impl InstalledState {
    fn of(world: &World) -> Self {
        let text = std::fs::read(world.path("home/.skillpack/state.json"));
        let state =
            text.map_or(serde_json::Value::Null, |text| serde_json::from_slice(&text).unwrap());
        let mut records = state["installs"].as_array().cloned().unwrap_or_default();
        // The sink is restored from a copy for each run, so its inode differs.
        records
            .iter_mut()
            .filter_map(|record| record.as_object_mut())
            .for_each(|record| drop(record.remove("sink_id")));
        Self { sink: world.files("sink"), records }
    }
}

impl Scenario {
    /// Runs the command once to record the state after it and the number of its calls.
    fn new(prepare: impl Fn(&World, &str), command: &[&str]) -> Self {
        let world = world!();
        let sink = world.path("sink").display().to_string();
        prepare(&world, &sink);
        let canary = world.path("sink/canary");
        std::fs::create_dir_all(&canary).unwrap();
        std::fs::write(canary.join("SKILL.md"), "foreign").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", canary.join("link")).unwrap();
        let (before, trace) = (world.path("before"), world.path("trace"));
        CHANGED_DIRS.iter().for_each(|dir| copy(&world.path(dir), &before.join(dir)));
        let args: Vec<String> = command.iter().map(|arg| arg.replace("SINK", &sink)).collect();
        let old = InstalledState::of(&world);
        let mut scenario = Self {
            new: old.clone(),
            old,
            world,
            args,
            before,
            trace,
            trash: FileMap::new(),
            calls: 0,
        };
        scenario.run(&[("SP_FAULT_TRACE", &scenario.trace.display().to_string())]).ok();
        scenario.calls = std::fs::read_to_string(&scenario.trace).unwrap().lines().count() as u64;
        scenario.new = InstalledState::of(&scenario.world);
        scenario.trash = trash(&scenario.world);
        assert_ne!(scenario.new, scenario.old);
        scenario
    }

    fn run(&self, env: &[(&str, &str)]) -> Run {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&args);
        command.envs(env.iter().copied());
        self.world.run(command)
    }

    /// Restores the world before the command.
    fn restore(&self) {
        for dir in CHANGED_DIRS {
            let (from, to) = (self.before.join(dir), self.world.path(dir));
            let _ = std::fs::remove_file(&to).or_else(|_| std::fs::remove_dir_all(&to));
            copy(&from, &to);
        }
    }

    /// Checks the world after an interrupted run: recovery gives the old or the new state, running
    /// the command again gives the new one, and nothing is left over. Returns the recovered state.
    /// The text `edited` must still be in the sink or in the trash.
    fn check(&self, case: &str, edited: Option<&str>) -> InstalledState {
        let recovery = self.world.sp(&["installed"]);
        assert_eq!(recovery.code, Some(0), "{case}: {recovery}");
        let recovered = InstalledState::of(&self.world);
        assert!(recovered == self.old || recovered == self.new, "{case}: torn\n{recovered:#?}");
        assert_no_leftovers(&self.world, case);
        if let Some(edited) = edited {
            assert!(
                has_file_with(&self.world.path("sink"), edited)
                    || has_file_with(&self.world.path("home/.skillpack/trash"), edited),
                "{case}: an edit is lost"
            );
        }
        for (path, entry) in trash(&self.world) {
            let expected = self.trash.get(&path);
            assert_eq!(expected, Some(&entry), "{case}: `{path}` in the trash was not edited");
        }
        if recovered == self.old {
            let rerun = self.run(&[]);
            assert_eq!(rerun.code, Some(0), "{case}: {rerun}");
        }
        assert_eq!(InstalledState::of(&self.world), self.new, "{case}: a rerun does not converge");
        assert_no_leftovers(&self.world, case);
        assert_eq!(temporary_files(&self.world), [""; 0], "{case}: left in the cache by a rerun");
        recovered
    }
}

/// What a run can change. `real` is the target if the sink is a link.
const CHANGED_DIRS: [&str; 3] = ["home", "sink", "real"];

fn copy(from: &Path, to: &Path) {
    if from.symlink_metadata().is_err() {
        return;
    }
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
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
    std::fs::write(world.path("sink/team__b/SKILL.md"), "edited by hand").unwrap();
}

/// `team` is installed, and one of its skills is edited in the sink.
fn install_and_edit(world: &World, sink: &str) {
    create_packs(world, sink);
    world.sp(&["install", "team", "--agent", "custom", "--path", sink]).ok();
    std::fs::write(world.path("sink/team__b/mine.md"), "edited by hand").unwrap();
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
