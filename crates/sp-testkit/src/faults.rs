//! Fault injection at every mutating file-system call of a command.
//!
//! A [`FaultSweep`] runs the command once to record its result and the number of its calls. Then,
//! for each call, it starts from the same world again, kills `sp` there or makes the call fail, and
//! checks three things: no file is torn, the message matches what is on disk, and after the next
//! command everything is as before or as after, bytes and modes, with nothing left over.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::{FileEntry, Run, World, files};

/// ENOSPC, EIO, EACCES and EROFS.
const ERRNOS: [i32; 4] = [28, 5, 13, 30];

/// The entries of a world, with their permission bits.
pub type WorldState = BTreeMap<String, (u32, FileEntry)>;

/// Replaces what differs from run to run in the state of a world.
pub type Normalize = Box<dyn Fn(&World, &mut WorldState)>;

/// A command, the directory it runs in, and the command that follows it.
pub struct FaultScenario {
    /// The world before the command.
    pub world: World,
    /// Where both commands run.
    pub dir: &'static str,
    /// The command with the fault.
    pub args: Vec<String>,
    /// A command that follows and changes nothing by itself.
    pub next: Vec<String>,
    /// Replaces what differs from run to run.
    pub normalize: Normalize,
}

/// A scenario whose states before and after are known.
pub struct FaultSweep {
    scenario: FaultScenario,
    saved: TempDir,
    before: WorldState,
    after: WorldState,
    calls: Vec<String>,
}

impl FaultScenario {
    /// Creates a scenario in which nothing differs from run to run.
    pub fn new(world: World, dir: &'static str, args: &[&str], next: &[&str]) -> Self {
        let owned = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { world, dir, args: owned(args), next: owned(next), normalize: Box::new(|_, _| {}) }
    }

    /// Runs the command once, without a fault.
    #[track_caller]
    pub fn sweep(self) -> FaultSweep {
        let beside = self.world.root().parent().map(Into::into).unwrap_or_else(std::env::temp_dir);
        let saved = tempfile::tempdir_in(beside).expect("a temporary directory");
        copy(&self.world.root(), &saved.path().join("world"));
        let trace = saved.path().join("trace");
        let before = self.state();
        self.run(&self.args, &[("SP_FAULT_TRACE", &trace.to_string_lossy())]).ok();
        let calls =
            std::fs::read_to_string(&trace).expect("a trace").lines().map(Into::into).collect();
        let after = self.state();
        assert_ne!(before, after, "the command changes something");
        assert_eq!(in_flight(&after), [""; 0], "the command leaves nothing over");
        FaultSweep { scenario: self, saved, before, after, calls }
    }

    fn run(&self, args: &[String], env: &[(&str, &str)]) -> Run {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&args);
        command.current_dir(self.world.path(self.dir)).envs(env.iter().copied());
        self.world.run(command)
    }

    /// Returns everything in the world except the internal files of `sp`.
    fn state(&self) -> WorldState {
        let root = self.world.root();
        let mut state: WorldState = files(&root)
            .into_iter()
            .map(|(name, entry)| {
                let about =
                    root.join(&name).symlink_metadata().expect("an entry that was just listed");
                (name, (about.permissions().mode() & 0o7777, entry))
            })
            .collect();
        let own = [
            "home/.skillpack",
            "home/.skillpack/lock",
            "home/.skillpack/state.json",
            "home/.skillpack/index",
        ];
        state.retain(|name, _| {
            !own.contains(&name.as_str()) && !name.starts_with("home/.skillpack/index/")
        });
        (self.normalize)(&self.world, &mut state);
        state
    }
}

/// What a run with a fault reports, and therefore what must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// Everything is as before.
    Unchanged,
    /// Everything is as after, except for what is left to clean up.
    Made,
    /// The next command reverts it.
    Unfinished,
    /// Nothing: it was killed.
    None,
}

impl FaultSweep {
    /// The world as the command left it, before the first fault.
    pub fn world(&self) -> &World {
        &self.scenario.world
    }

    /// Kills the command before each of its calls, then makes each call fail with each error
    /// number, alone and with all later calls.
    #[track_caller]
    pub fn inject_everywhere(&self) {
        let (mut old, mut new) = (0, 0);
        for call in 1..=self.calls.len() {
            if self.strike(&format!("kill@{call}"), call) { old += 1 } else { new += 1 }
        }
        assert!(old > 0 && new > 0, "both ends are seen: {old} old, {new} new");
        for errno in ERRNOS {
            for (ending, call) in ["", "+"]
                .into_iter()
                .flat_map(|end| (1..=self.calls.len()).map(move |at| (end, at)))
            {
                self.strike(&format!("{errno}@{call}{ending}"), call);
            }
        }
        println!(
            "struck {} times at {} calls",
            self.calls.len() * (1 + 2 * ERRNOS.len()),
            self.calls.len()
        );
    }

    /// Injects one fault. Returns whether the world is as before.
    #[track_caller]
    fn strike(&self, fault: &str, call: usize) -> bool {
        let scenario = &self.scenario;
        self.restart();
        let run = scenario.run(&scenario.args, &[("SP_FAULT", fault)]);
        let what = format!("{fault}, `{}` of {}\n{run}", self.calls[call - 1], self.calls.len());
        let claim = self.claim(fault, &run, &what);
        let next = scenario.run(&scenario.next, &[]);
        let what = format!("{what}then: {next}");
        assert_eq!(next.code, Some(0), "{what}");
        let now = scenario.state();
        let is_old = now == self.before;
        assert!(is_old || now == self.after, "{what}\n{}", self.differences(&now));
        match claim {
            Claim::Unchanged | Claim::Unfinished => assert!(is_old, "{what}"),
            Claim::Made => assert!(!is_old, "{what}"),
            Claim::None => {}
        }
        if is_old && claim == Claim::None {
            let rerun = scenario.run(&scenario.args, &[]);
            assert_eq!(rerun.code, Some(0), "{what}the same again: {rerun}");
            let now = scenario.state();
            assert!(
                now == self.after,
                "{what}a rerun does not converge\n{}",
                self.differences(&now)
            );
        }
        is_old
    }

    /// Returns what the run reports, which must match what is on disk.
    #[track_caller]
    fn claim(&self, fault: &str, run: &Run, what: &str) -> Claim {
        let mut now = self.scenario.state();
        let started = in_flight(&now);
        // A cache that could not be written is not a change.
        let is_at_rest = started
            .iter()
            .all(|name| name.starts_with("home/.skillpack/") && name.ends_with(".tmp"));
        now.retain(|name, _| !started.contains(name));
        // A directory may exist before the file it is created for, and after the file it contained.
        let expected = |name: &String| [&self.before, &self.after].map(|end| end.get(name));
        let is_torn =
            |(name, entry): &(&String, &(u32, FileEntry))| !expected(name).contains(&Some(entry));
        let torn: Vec<_> = now.iter().filter(is_torn).collect();
        assert!(torn.is_empty(), "{what}\ntorn: {torn:#?}");
        let says = |words: &str| run.stderr.contains(words);
        match run.code {
            None => {
                assert!(fault.starts_with("kill"), "{what}");
                return Claim::None;
            }
            Some(0) => {
                // Only caches may fail silently.
                assert!(
                    is_at_rest && now == self.after,
                    "{what}\n{started:?}\n{}",
                    self.differences(&now)
                );
                return Claim::Made;
            }
            Some(5) => assert!(says("error:") && says("hint:"), "{what}"),
            _ => panic!("{what}"),
        }
        match (
            says("nothing was changed"),
            says("the change was made"),
            says("could not be taken back"),
        ) {
            (true, false, false) => {
                assert!(
                    is_at_rest && now == self.before,
                    "{what}\n{started:?}\n{}",
                    self.differences(&now)
                );
                Claim::Unchanged
            }
            (false, true, false) => {
                // Directories that are removed when they are empty are removed last.
                now.retain(|name, (_, entry)| {
                    *entry != FileEntry::Dir || self.after.contains_key(name)
                });
                assert!(now == self.after, "{what}\n{}", self.differences(&now));
                Claim::Made
            }
            (false, false, true) => Claim::Unfinished,
            _ => panic!("{what}\nthe message says nothing, or contradicts itself"),
        }
    }

    fn restart(&self) {
        let (root, saved) = (self.scenario.world.root(), self.saved.path().join("world"));
        for entry in std::fs::read_dir(&root).expect("the world").flatten() {
            let path = entry.path();
            let removed = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            removed.expect("a world that can be removed");
        }
        copy(&saved, &root);
    }

    fn differences(&self, now: &WorldState) -> String {
        let mut text = String::new();
        for (what, other) in [("before", &self.before), ("after", &self.after)] {
            let mut names: Vec<&String> = now.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            for name in names.into_iter().filter(|name| now.get(*name) != other.get(*name)) {
                text += &format!(
                    "not as {what}: {name}: {:?}, expected {:?}\n",
                    now.get(name),
                    other.get(name)
                );
            }
        }
        text
    }
}

/// Returns the paths that belong to an unfinished transaction.
fn in_flight(state: &WorldState) -> Vec<String> {
    let is_part =
        |segment: &str| segment.starts_with(".skillpack-") || segment.ends_with(".sp-new");
    let is_own = |name: &str| {
        name.ends_with(".tmp") || name.ends_with("journal.json") || name.contains("/trash")
    };
    let is_in_flight = |name: &String| {
        name.split('/').any(is_part) || name.starts_with("home/.skillpack/") && is_own(name)
    };
    state.keys().filter(|name| is_in_flight(name)).cloned().collect()
}

/// Copies a tree with its modes and links.
fn copy(from: &Path, to: &Path) {
    let about = from.symlink_metadata().expect("something to copy");
    if about.is_symlink() {
        let target = std::fs::read_link(from).expect("a link");
        std::os::unix::fs::symlink(target, to).expect("a copy of a link");
    } else if about.is_dir() {
        if !to.is_dir() {
            std::fs::create_dir(to).expect("a directory");
        }
        for entry in std::fs::read_dir(from).expect("a directory").flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
        std::fs::set_permissions(to, about.permissions()).expect("the permissions of a directory");
    } else {
        std::fs::copy(from, to).expect("a copy of a file");
    }
}
