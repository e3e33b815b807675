//! `sp status` and `sp sync` without changes, compared with a bare parallel walk of the same trees:
//! the entries of every directory, and one `statx` for each. The start of the process is not
//! counted.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sp_testkit::GitRepository;

use super::{Bench, SKILLS, median, row, time, write_repository};

const MAX_RATIO: f64 = 1.5;

impl Bench {
    pub(crate) fn lifecycle(&self) {
        write_repository(&self.path("repo"));
        let git = GitRepository::new(self.path("git/skills.git"));
        write_repository(git.path());
        git.commit("skills");
        std::fs::create_dir_all(self.path("home")).expect("create home directory");
        let start = median(|| time(&mut self.sp(&["--version"])));
        let local = self.project("local", "../repo/skills");
        let locals = [self.path("repo/skills"), local.join(".claude/skills")];
        let remote = self.project("remote", &git.url());
        let remotes = [remote.join(".claude/skills")];
        for (command, project, trees, label) in [
            ("status", "local", &locals[1..], "sp status of 2000 skills : walk"),
            ("sync", "local", &locals[..], "sp sync of a directory : walk"),
            ("sync", "remote", &remotes[..], "sp sync of a git repository : walk"),
        ] {
            let run = median(|| time(&mut self.sp(&["--root", project, command])));
            let walk = median(|| walk_time(trees));
            row(label, run.saturating_sub(start), walk, Some(MAX_RATIO));
        }
    }

    /// Creates a project with all skills of a source, until its state is known without reading it.
    fn project(&self, name: &str, source: &str) -> PathBuf {
        let project = self.path(name);
        std::fs::create_dir_all(project.join(".git")).expect("create directory");
        let mut add = self.sp(&["add", source, "--all", "--agent", "claude"]);
        time(add.current_dir(&project));
        // What has just been written is read again once.
        std::thread::sleep(Duration::from_millis(50));
        time(&mut self.sp(&["--root", name, "sync"]));
        time(&mut self.sp(&["--root", name, "sync"]));
        let skills =
            std::fs::read_dir(project.join(".claude/skills")).expect("list skills").count();
        assert_eq!(skills, SKILLS);
        project
    }
}

/// Walks trees with as many threads as there are cores.
fn walk_time(trees: &[PathBuf]) -> Duration {
    let start = Instant::now();
    let pending = Mutex::new(trees.to_vec());
    // Directories that are pending or being read.
    let unfinished = AtomicUsize::new(trees.len());
    let work = || {
        while unfinished.load(Ordering::SeqCst) > 0 {
            let next = pending.lock().expect("no panic").pop();
            let Some(dir) = next else {
                std::thread::yield_now();
                continue;
            };
            let below = walk_dir(&dir);
            unfinished.fetch_add(below.len(), Ordering::SeqCst);
            pending.lock().expect("no panic").extend(below);
            unfinished.fetch_sub(1, Ordering::SeqCst);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    start.elapsed()
}

/// Reads the metadata of all entries of a directory, and returns its directories.
fn walk_dir(dir: &Path) -> Vec<PathBuf> {
    let mut below = Vec::new();
    for entry in std::fs::read_dir(dir).expect("read directory") {
        let entry = entry.expect("read entry");
        if entry.metadata().expect("read metadata").is_dir() {
            below.push(entry.path());
        }
    }
    below
}
