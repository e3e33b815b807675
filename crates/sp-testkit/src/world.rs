//! A temporary home for each test.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use regex_lite::Regex;
use rustix::fs::StatVfsMountFlags;
use tempfile::TempDir;

use crate::git::GitRepository;
use crate::run::{CliError, Run};

/// The fixed time of every world, in seconds since the epoch.
const EPOCH: &str = "1790000000";

/// The free space that an in-memory file system must have. Containers often have 64 MiB.
const MIN_MEMORY_BYTES: u64 = 2 << 30;

/// Makes `sp` treat files that were just written as settled: it then saves their digests.
pub(crate) const SETTLED: (&str, &str) = ("SP_CLOCK_OFFSET", "3600");

thread_local! {
    static IS_SETTLED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function that creates worlds in which all files count as settled, so that what `sp`
/// writes does not depend on the time that it takes.
pub(crate) fn with_settled_worlds<T>(create: impl FnOnce() -> T) -> T {
    let before = IS_SETTLED.replace(true);
    let created = create();
    IS_SETTLED.set(before);
    created
}

/// A temporary home with a repository of skills, and the `sp` under test.
pub struct World {
    temp: TempDir,
    sp: PathBuf,
    env: Vec<(String, String)>,
}

impl World {
    /// Creates a world that runs this program, in memory if that is possible, because a disk would
    /// dominate the tests that sync. Use the `world!` macro.
    pub fn new(sp: &str) -> Self {
        Self::below(memory_dir().unwrap_or(&std::env::temp_dir()), sp)
    }

    /// Creates a world in the directory for temporary files. Use `world!(on disk)`.
    pub fn on_disk(sp: &str) -> Self {
        Self::below(&std::env::temp_dir(), sp)
    }

    /// Creates a world in a directory below `base`, for tests that need another file system.
    pub fn below(base: &Path, sp: &str) -> Self {
        let temp = tempfile::Builder::new()
            .prefix("sp-world-")
            .tempdir_in(base)
            .expect("a temporary directory");
        let mut world = Self { temp, sp: sp.into(), env: Vec::new() };
        if IS_SETTLED.get() {
            world.set_env(SETTLED.0, SETTLED.1);
        }
        std::fs::create_dir_all(world.repo().join("packs")).expect("a repository");
        std::fs::create_dir_all(world.repo().join("skills")).expect("a repository");
        world
    }

    /// Sets a variable for every later run.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
    }

    /// Returns a variable that was set.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Returns the real path of the directory that contains this world.
    pub fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().expect("the temporary directory")
    }

    /// Returns the repository of skills.
    pub fn repo(&self) -> PathBuf {
        self.root().join("home/repo")
    }

    /// Returns a path in this world.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file in the repository.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    /// Writes a small skill.
    pub fn skill(&self, id: &str) {
        let name = id.rsplit('/').next().unwrap_or(id);
        self.write(
            &format!("skills/{id}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n"),
        );
    }

    /// Writes a pack file.
    pub fn pack(&self, name: &str, yaml: &str) {
        self.write(&format!("packs/{name}.yaml"), yaml);
    }

    /// Creates an empty git repository called `name`, next to the repository of skills.
    pub fn git(&self, name: &str) -> GitRepository {
        GitRepository::new(self.root().join("git").join(name))
    }

    /// Returns a command that runs `sp` in the repository.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.sp);
        command.args(args).current_dir(self.repo()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.home()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("SOURCE_DATE_EPOCH", EPOCH).env("RAYON_NUM_THREADS", "2");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `sp` in the repository.
    pub fn sp(&self, args: &[&str]) -> Run {
        self.run(self.command(args))
    }

    /// Runs `sp` with `--format json`, and returns the error that it must end with.
    #[track_caller]
    pub fn sp_error(&self, args: &[&str]) -> CliError {
        self.sp(&with_json(args)).error()
    }

    /// Like [`Self::sp_error`], in another directory of this world.
    #[track_caller]
    pub fn sp_error_in(&self, dir: &str, args: &[&str]) -> CliError {
        self.sp_in(dir, &with_json(args)).error()
    }

    /// Runs `sp` in another directory of this world.
    pub fn sp_in(&self, dir: &str, args: &[&str]) -> Run {
        let mut command = self.command(args);
        command.current_dir(self.path(dir));
        self.run(command)
    }

    /// Runs a command to its end. A command that hangs is killed, so that only this test fails.
    pub fn run(&self, mut command: Command) -> Run {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.finish(command.spawn().expect("a program that starts"))
    }

    /// Starts several `sp` commands at once in a directory of this world, and waits for all of
    /// them.
    pub fn sp_concurrently<S: AsRef<str>>(&self, dir: &str, commands: &[Vec<S>]) -> Vec<Run> {
        let start = |args: &Vec<S>| {
            let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
            let mut command = self.command(&args);
            command.current_dir(self.path(dir)).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("a program that starts")
        };
        let children: Vec<Child> = commands.iter().map(start).collect();
        children.into_iter().map(|child| self.finish(child)).collect()
    }

    /// Runs `sp` with its standard output on a full disk.
    pub fn sp_on_full_disk(&self, args: &[&str]) -> Run {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        self.run_with_stdout(args, full.into())
    }

    /// Runs `sp` with its standard output on a pipe whose reader is closed.
    pub fn sp_with_closed_stdout(&self, args: &[&str]) -> Run {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        self.run_with_stdout(args, writer.into())
    }

    fn run_with_stdout(&self, args: &[&str], stdout: Stdio) -> Run {
        let mut command = self.command(args);
        let child = command.stdout(stdout).stderr(Stdio::piped()).spawn();
        self.finish(child.expect("a program that starts"))
    }

    fn finish(&self, child: Child) -> Run {
        let output = crate::hang::output_of(child).expect("the output of a program");
        Run::of(&output, |text| self.normalize(text))
    }

    /// Waits until no process started in this world is left.
    pub fn wait_until_idle(&self) {
        let home = format!("HOME={}\0", self.home().display());
        let is_ours = |process: &std::path::Path| {
            std::fs::read(process.join("environ"))
                .is_ok_and(|env| String::from_utf8_lossy(&env).contains(&home))
        };
        crate::eventually(|| {
            let mut processes = std::fs::read_dir("/proc").expect("a list of processes").flatten();
            (!processes.any(|process| is_ours(&process.path()))).then_some(())
        });
    }

    /// Replaces everything that differs from run to run.
    pub fn normalize(&self, text: &str) -> String {
        let text = text.replace(&*self.root().to_string_lossy(), "[WORLD]");
        let run = Regex::new(r"\d{8}T\d{6}-[0-9a-f]+-[0-9a-f]+").expect("a pattern");
        let text = run.replace_all(&text, "[RUN]");
        let commit = Regex::new(r"\b[0-9a-f]{40}\b").expect("a pattern");
        let text = commit.replace_all(&text, "[COMMIT]");
        let plan = Regex::new(r"--plan sha256:[0-9a-f]{64}").expect("a pattern");
        let text = plan.replace_all(&text, "--plan [PLAN]");
        let port = Regex::new(r"127\.0\.0\.1:\d+").expect("a pattern");
        port.replace_all(&text, "127.0.0.1:[PORT]").into_owned()
    }

    /// Returns everything below a path of this world.
    pub fn files(&self, path: &str) -> crate::FileMap {
        crate::files(&self.path(path))
    }
}

fn with_json<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--format", "json"]].concat()
}

/// Returns a directory in memory that has enough space, and whose programs can be executed.
fn memory_dir() -> Option<&'static Path> {
    let dir = Path::new("/dev/shm");
    let about = rustix::fs::statvfs(dir).ok()?;
    let is_usable = about.f_bavail.saturating_mul(about.f_frsize) >= MIN_MEMORY_BYTES
        && !about.f_flag.contains(StatVfsMountFlags::NOEXEC);
    is_usable.then_some(dir)
}
