//! Fault injection at every mutating file-system call of a command.
//!
//! A [`FaultScenario`] is a command in a world, and what must hold whenever it is interrupted. A
//! [`FaultSweep`] runs the command once to record its result and its calls. Then, for each call, it
//! starts from the same world again, kills `sp` there or makes the call fail, and checks that the
//! message matches what is on disk, that after the next command everything is as before or as
//! after, with nothing left over, and that the same command leads to the result after all.
//!
//! [`sweep`] covers every call with each of these:
//!
//! - [`Faults::Kills`]: a kill before the call, and in the middle of it if it is a write;
//! - [`Faults::Errors`]: one error of the disk (ENOSPC or EIO), one of permissions (EACCES or
//!   EROFS), and an error of either class that also hits all later calls. The errors alternate from
//!   call to call, because the code treats the two of a class alike. EXDEV hits every rename.
//!
//! Most faults leave the world as it was, byte for byte. The next command and the repeated one run
//! once for each state of the world.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::snapshot::Snapshot;
use crate::world::{SETTLED, with_settled_worlds};
use crate::{FileEntry, Run, World, files};

/// ENOSPC and EIO.
const DISK_ERRORS: [i32; 2] = [28, 5];
/// EACCES and EROFS.
const PERMISSION_ERRORS: [i32; 2] = [13, 30];
const EXDEV: i32 = 18;

/// The entries of a world, with their permission bits.
pub type WorldState = BTreeMap<String, (u32, FileEntry)>;

/// Returns what the user can observe in a world.
pub type Observe = Box<dyn Fn(&World) -> WorldState>;

/// Runs a command that recovers, and changes nothing by itself.
pub type NextCommand = Box<dyn Fn(&World) -> Result<(), String>>;

/// Panics if something in the world is wrong. The text says what happened before.
pub type Invariant = Box<dyn Fn(&World, &str)>;

/// What the messages of a failed command promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Messages {
    /// Whether the change was made, which must be true.
    Outcome,
    /// An error and a hint.
    Hint,
}

/// Which faults a sweep injects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    Kills,
    Errors,
    All,
}

/// A command, and what must hold if it is interrupted.
pub struct FaultScenario {
    /// The world before the command.
    pub world: World,
    /// Where the command runs.
    pub dir: &'static str,
    pub args: Vec<String>,
    pub next: NextCommand,
    pub observe: Observe,
    /// Must hold after the next command.
    pub recovered: Invariant,
    /// Must hold when the command has succeeded, at once or when it is repeated.
    pub done: Invariant,
    pub messages: Messages,
    /// The exit codes of a failure.
    pub failures: &'static [i32],
    /// Files that the command writes besides its transaction. They may be missing after an
    /// interruption, until the command is repeated.
    pub outputs: &'static [&'static str],
}

impl FaultScenario {
    /// Creates a scenario in which all files of the world are observed.
    pub fn new(world: World, dir: &'static str, args: &[&str], next: NextCommand) -> Self {
        Self {
            world,
            dir,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            next,
            observe: Box::new(whole_world),
            recovered: Box::new(|_, _| {}),
            done: Box::new(|_, _| {}),
            messages: Messages::Outcome,
            failures: &[5],
            outputs: &[],
        }
    }

    fn command(&self) -> std::process::Command {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = self.world.command(&args);
        command.current_dir(self.world.path(self.dir));
        command
    }

    fn run(&self, env: &[(&str, &str)]) -> Run {
        let mut command = self.command();
        command.env(SETTLED.0, SETTLED.1);
        command.envs(env.iter().copied());
        self.world.run(command)
    }

    fn without_outputs(&self, state: &WorldState) -> WorldState {
        let mut state = state.clone();
        state.retain(|name, _| !self.outputs.contains(&name.as_str()));
        state
    }
}

/// Returns a command of `sp` that recovers, and changes nothing by itself.
pub fn next_command(dir: &'static str, args: &'static [&'static str]) -> NextCommand {
    Box::new(move |world| {
        let run = world.sp_in(dir, args);
        if run.code == Some(0) { Ok(()) } else { Err(run.to_string()) }
    })
}

/// Returns everything in a world except the internal files of `sp`.
pub fn whole_world(world: &World) -> WorldState {
    let own = [
        "home/.skillpack",
        "home/.skillpack/lock",
        "home/.skillpack/state.json",
        "home/.skillpack/index",
    ];
    let mut state = observed_files(world, "");
    state.retain(|name, _| {
        !own.contains(&name.as_str()) && !name.starts_with("home/.skillpack/index/")
    });
    state
}

/// Returns everything below a directory of a world, with its permission bits.
pub fn observed_files(world: &World, dir: &str) -> WorldState {
    let root = world.path(dir);
    let mode = |name: &str| {
        let about = root.join(name).symlink_metadata().expect("an entry that was just listed");
        about.permissions().mode() & 0o7777
    };
    let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
    files(&root)
        .into_iter()
        .map(|(name, entry)| (format!("{prefix}{name}"), (mode(&name), entry)))
        .collect()
}

/// Injects faults at every call of a scenario, in as many worlds at once as there are cores.
///
/// # Panics
///
/// If an invariant does not hold after a fault.
pub fn sweep(build: impl Fn() -> FaultScenario + Sync, faults: Faults) {
    sweep_every(1, build, faults);
}

/// Like [`sweep`], but only at every `interval`th call. For commands that take long and whose
/// transaction is swept elsewhere.
pub fn sweep_every(interval: usize, build: impl Fn() -> FaultScenario + Sync, faults: Faults) {
    // Each run makes the same calls: which digests are saved must not depend on the time.
    let start = || FaultSweep::new(with_settled_worlds(&build));
    let first = start();
    let selected = |fault: &Fault| fault.call % interval == 1 % interval;
    let injected: Vec<Fault> =
        all_faults(&first.calls, faults).into_iter().filter(selected).collect();
    let next = AtomicUsize::new(0);
    let old_kills = Mutex::new(Vec::new());
    let strike_all = |sweep: &FaultSweep| {
        while let Some(fault) = injected.get(next.fetch_add(1, Ordering::Relaxed)) {
            let is_old = sweep.strike(fault);
            if fault.kind == FaultKind::Kill {
                old_kills.lock().expect("no other failure").push(is_old);
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| strike_all(&start()));
        }
        strike_all(&first);
    });
    let old_kills = old_kills.into_inner().expect("no failure");
    let old = old_kills.iter().filter(|is_old| **is_old).count();
    let new = old_kills.len() - old;
    assert!(old_kills.is_empty() || old > 0 && new > 0, "both occur: {old} old, {new} new");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultKind {
    Kill,
    Errno(i32),
    /// The call and all later ones fail.
    ErrnoFromHere(i32),
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    /// The number of the call, from 1.
    call: usize,
    kind: FaultKind,
}

impl std::fmt::Display for Fault {
    /// Writes the value of `SP_FAULT`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            FaultKind::Kill => write!(f, "kill@{}", self.call),
            FaultKind::Errno(errno) => write!(f, "{errno}@{}", self.call),
            FaultKind::ErrnoFromHere(errno) => write!(f, "{errno}@{}+", self.call),
        }
    }
}

fn all_faults(calls: &[String], faults: Faults) -> Vec<Fault> {
    let mut all = Vec::new();
    for (index, line) in calls.iter().enumerate() {
        let mut add = |kind| all.push(Fault { call: index + 1, kind });
        if faults != Faults::Errors {
            add(FaultKind::Kill);
        }
        if faults == Faults::Kills {
            continue;
        }
        let (disk, permission) = (DISK_ERRORS[index % 2], PERMISSION_ERRORS[index % 2]);
        add(FaultKind::Errno(disk));
        add(FaultKind::Errno(permission));
        // The errors that do not hit this call alone, so that each occurs in each way.
        let others = [DISK_ERRORS[(index + 1) % 2], PERMISSION_ERRORS[(index + 1) % 2]];
        add(FaultKind::ErrnoFromHere(others[index / 2 % 2]));
        if line.contains(" Rename ") {
            add(FaultKind::Errno(EXDEV));
        }
    }
    all
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
    /// Nothing: it was killed, or it gives a hint only.
    None,
}

/// A scenario whose states before and after are known.
pub struct FaultSweep {
    scenario: FaultScenario,
    start: Snapshot,
    before: WorldState,
    after: WorldState,
    /// The lines of the trace.
    calls: Vec<String>,
    recoveries: RefCell<HashMap<WorldState, Recovery>>,
    /// The states of the world from which the command led to the result when it was repeated.
    repeated: RefCell<HashSet<WorldState>>,
}

/// What the next command found in a state of the world.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    is_old: bool,
    /// The command was repeated afterward.
    is_repeated: bool,
}

/// Returns the complete state of a world, the files of `sp` included. Only digest caches are left
/// out, because they contain inode numbers and times.
fn complete_state(world: &World) -> WorldState {
    let mut state = observed_files(world, "");
    state.retain(|name, (_, entry)| {
        !name.starts_with("home/.skillpack/index/") || !matches!(entry, FileEntry::File(..))
    });
    state
}

impl FaultSweep {
    /// Runs the command once, without a fault.
    #[track_caller]
    pub fn new(scenario: FaultScenario) -> Self {
        let start = Snapshot::of(&scenario.world.root());
        let traces = tempfile::tempdir().expect("a temporary directory");
        let trace = traces.path().join("trace");
        let before = (scenario.observe)(&scenario.world);
        scenario.run(&[("SP_FAULT_TRACE", &trace.to_string_lossy())]).ok();
        let calls =
            std::fs::read_to_string(&trace).expect("a trace").lines().map(Into::into).collect();
        let after = (scenario.observe)(&scenario.world);
        assert_ne!(before, after, "the command changes something");
        assert_eq!(in_flight(&after), [""; 0], "the command leaves nothing over");
        (scenario.done)(&scenario.world, "without a fault");
        let (recoveries, repeated) = Default::default();
        Self { scenario, start, before, after, calls, recoveries, repeated }
    }

    pub fn world(&self) -> &World {
        &self.scenario.world
    }

    /// Returns the trace, a line for each mutating call.
    pub fn calls(&self) -> &[String] {
        &self.calls
    }

    /// Returns the command of the scenario.
    pub fn command(&self) -> std::process::Command {
        self.scenario.command()
    }

    /// Makes the world as it was before the command.
    pub fn restart(&self) {
        self.start.restore();
    }

    /// Starts again, and kills the command before this call.
    pub fn kill_at(&self, call: usize) {
        self.restart();
        let fault = Fault { call, kind: FaultKind::Kill };
        let run = self.scenario.run(&[("SP_FAULT", &fault.to_string())]);
        assert_eq!(run.code, None, "call {call} of {}: {run}", self.calls.len());
    }

    /// Checks the world after an interruption. Returns whether the next command found it as before.
    #[track_caller]
    pub fn check_recovery(&self, what: &str) -> bool {
        self.recover(what, Claim::None, true)
    }

    /// Injects one fault. Returns whether the world is as before.
    fn strike(&self, fault: &Fault) -> bool {
        self.restart();
        let scenario = &self.scenario;
        let run = scenario.run(&[("SP_FAULT", &fault.to_string())]);
        let call = self.calls.get(fault.call - 1).map_or("?", String::as_str);
        let what = format!("{fault}, `{call}` of {}\n{run}", self.calls.len());
        let is_kill = fault.kind == FaultKind::Kill;
        assert_eq!(run.code.is_none(), is_kill, "{what}");
        let claim = match (run.code, scenario.messages) {
            (None, Messages::Hint) => Claim::None,
            (_, Messages::Outcome) => self.claim(&run, &what),
            (Some(0), Messages::Hint) => {
                // Only caches may fail silently.
                let now = (scenario.observe)(&scenario.world);
                assert!(now == self.after, "{what}\n{}", self.differences(&now));
                Claim::Made
            }
            (Some(_), Messages::Hint) => {
                self.assert_failure_has_hint(&run, &what);
                Claim::None
            }
        };
        self.recover(&what, claim, is_kill || scenario.messages == Messages::Hint)
    }

    /// Checks what the next command finds, and that the command can be repeated if it is to be.
    /// Returns whether everything was as before.
    #[track_caller]
    fn recover(&self, what: &str, claim: Claim, is_repeated: bool) -> bool {
        let found = complete_state(&self.scenario.world);
        let seen = self.recoveries.borrow().get(&found).copied();
        let is_old = match seen {
            Some(seen) if seen.is_repeated || !is_repeated => seen.is_old,
            _ => {
                let is_old = self.run_next(what, is_repeated);
                self.recoveries.borrow_mut().insert(found, Recovery { is_old, is_repeated });
                is_old
            }
        };
        match claim {
            Claim::Unchanged | Claim::Unfinished => assert!(is_old, "{what}"),
            Claim::Made => assert!(!is_old, "{what}"),
            Claim::None => {}
        }
        is_old
    }

    /// Runs the next command, and checks that everything is as before or as after. Then repeats the
    /// command, if it is to be repeated. Returns whether everything was as before.
    #[track_caller]
    fn run_next(&self, what: &str, is_repeated: bool) -> bool {
        let scenario = &self.scenario;
        (scenario.next)(&scenario.world).unwrap_or_else(|next| panic!("{what}\nthen: {next}"));
        let now = (scenario.observe)(&scenario.world);
        let transaction = scenario.without_outputs(&now);
        let is_old = transaction == scenario.without_outputs(&self.before);
        let is_new = transaction == scenario.without_outputs(&self.after);
        assert!(is_old || is_new, "{what}\n{}", self.differences(&now));
        (scenario.recovered)(&scenario.world, what);
        if is_repeated {
            self.repeat(what, &now);
        }
        is_old
    }

    /// Repeats the command if it did not lead to the result, and checks that it does.
    #[track_caller]
    fn repeat(&self, what: &str, now: &WorldState) {
        let scenario = &self.scenario;
        if *now != self.after {
            if !self.repeated.borrow_mut().insert(complete_state(&scenario.world)) {
                return;
            }
            let rerun = scenario.run(&[]);
            assert_eq!(rerun.code, Some(0), "{what}the same again: {rerun}");
            let now = (scenario.observe)(&scenario.world);
            assert!(
                now == self.after,
                "{what}a rerun does not converge\n{}",
                self.differences(&now)
            );
        }
        (scenario.done)(&scenario.world, what);
    }

    #[track_caller]
    fn assert_failure_has_hint(&self, run: &Run, what: &str) {
        assert!(run.code.is_some_and(|code| self.scenario.failures.contains(&code)), "{what}");
        assert!(run.stderr.contains("error:") && run.stderr.contains("hint:"), "{what}");
    }

    /// Returns what the run reports, which must match what is on disk.
    #[track_caller]
    fn claim(&self, run: &Run, what: &str) -> Claim {
        let mut now = (self.scenario.observe)(&self.scenario.world);
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
            None => return Claim::None,
            Some(0) => {
                // Only caches may fail silently.
                assert!(
                    is_at_rest && now == self.after,
                    "{what}\n{started:?}\n{}",
                    self.differences(&now)
                );
                return Claim::Made;
            }
            Some(_) => self.assert_failure_has_hint(run, what),
        }
        match (
            says("nothing was changed"),
            says("the change was applied"),
            says("could not be rolled back"),
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
