//! A command that is struck at every one of its mutating file-system calls.
//!
//! A [`FaultSweep`] runs the command once to learn what it makes of the world and how many calls that
//! takes. Then, for each call, it starts from the same world again, kills `sp` there or makes the call
//! fail, and looks at three things: no file is torn, the message fits what is on disk, and after the
//! next command everything is as before or as after, bytes and modes, with nothing left over anywhere.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::{Entry, Run, World, files};

/// No space, an input/output error, no permission, and a read-only file system.
const ERRNOS: [i32; 4] = [28, 5, 13, 30];

/// What stands at each path of a world, with its permission bits.
pub type WorldState = BTreeMap<String, (u32, Entry)>;

/// Replaces what differs from run to run in the state of a world.
pub type Normalize = Box<dyn Fn(&World, &mut WorldState)>;

/// A command, the directory of the world in which it runs, and the command that comes after it.
pub struct FaultScenario {
    /// The world before the command.
    pub world: World,
    /// Where both commands run.
    pub dir: &'static str,
    /// The command that is struck.
    pub args: Vec<String>,
    /// A command that follows and changes nothing by itself.
    pub next: Vec<String>,
    /// Replaces what differs from run to run.
    pub normalize: Normalize,
}

/// A scenario whose two ends are known.
pub struct FaultSweep {
    scenario: FaultScenario,
    saved: TempDir,
    before: WorldState,
    after: WorldState,
    calls: Vec<String>,
}

impl FaultScenario {
    /// A scenario in which nothing differs from run to run.
    pub fn new(world: World, dir: &'static str, args: &[&str], next: &[&str]) -> Self {
        let owned = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { world, dir, args: owned(args), next: owned(next), normalize: Box::new(|_, _| {}) }
    }

    /// Runs the command once, unharmed.
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

    /// Everything in the world but what `sp` remembers for itself.
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

/// What a run that was struck claims, and what must therefore be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// Everything is as before.
    Unchanged,
    /// Everything is as after, but for what is left to clean up.
    Made,
    /// The next command reverts it.
    Unfinished,
    /// Nothing: it was killed.
    None,
}

impl FaultSweep {
    /// The world as the command left it, until the first strike.
    pub fn world(&self) -> &World {
        &self.scenario.world
    }

    /// Kills the command before each of its calls, then makes each call fail with each error number, alone and
    /// with all calls after it.
    #[track_caller]
    pub fn strike_everywhere(&self) {
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

    /// Strikes one call. True if the world is as before then.
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

    /// What the run says, which must fit what is on disk.
    #[track_caller]
    fn claim(&self, fault: &str, run: &Run, what: &str) -> Claim {
        let mut now = self.scenario.state();
        let started = in_flight(&now);
        // A cache that could not be written is no change.
        let is_at_rest = started
            .iter()
            .all(|name| name.starts_with("home/.skillpack/") && name.ends_with(".tmp"));
        now.retain(|name, _| !started.contains(name));
        // A directory may be there before the file for which it is made, and after the one that it held.
        let expected = |name: &String| [&self.before, &self.after].map(|end| end.get(name));
        let is_torn =
            |(name, entry): &(&String, &(u32, Entry))| !expected(name).contains(&Some(entry));
        let torn: Vec<_> = now.iter().filter(is_torn).collect();
        assert!(torn.is_empty(), "{what}\ntorn: {torn:#?}");
        let says = |words: &str| run.stderr.contains(words);
        match run.code {
            None => {
                assert!(fault.starts_with("kill"), "{what}");
                return Claim::None;
            }
            Some(0) => {
                // Only what is remembered to save time may fail without a word.
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
                // Directories that are to go if they are empty go last.
                now.retain(|name, (_, entry)| {
                    *entry != Entry::Dir || self.after.contains_key(name)
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

/// What belongs to a transaction that has not ended.
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
