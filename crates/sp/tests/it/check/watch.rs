//! `--watch`: checks again when a file changes, and only then.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use std::time::{Duration, Instant};

use sp_testkit::{HANG_TIMEOUT, wait_for_exit};

use super::*;

/// Without output for this long, no check is running.
const QUIET_PERIOD: Duration = Duration::from_millis(600);

/// A running `sp check --watch`, killed when the test ends.
struct WatchProcess {
    child: Child,
    lines: Receiver<String>,
}

impl WatchProcess {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(&[&["check", "--watch"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = follow(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for a line that contains this text.
    #[track_caller]
    fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + HANG_TIMEOUT;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return,
                Ok(_) => {}
                Err(error) => panic!("no `{text}`: {error}"),
            }
        }
    }

    /// Waits until nothing has been printed for a while.
    fn wait_until_quiet(&self) {
        while self.lines.recv_timeout(QUIET_PERIOD).is_ok() {}
    }

    #[track_caller]
    fn assert_quiet(&self) {
        match self.lines.recv_timeout(QUIET_PERIOD) {
            Err(RecvTimeoutError::Timeout) => {}
            other => panic!("{other:?}"),
        }
    }

    fn interrupt(&mut self) -> std::process::ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn follow(out: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A skill with one warning, AS-05.
const WARNING: &str = "---\nname: a\ndescription: Does a.\nversion: x\n---\n";

#[test]
fn changes_of_files_start_a_check_and_changes_of_git_do_not() {
    let world = world!();
    world.write("skills/a/SKILL.md", WARNING);
    world.write(".git/index", "0");
    let mut process = WatchProcess::start(&world, &["--format", "plain"]);
    process.wait_for("warning[AS-05]");
    process.wait_until_quiet();
    world.write("skills/a/SKILL.md", "no frontmatter\n");
    process.wait_for("error[AS-01]");
    process.wait_until_quiet();
    for number in 0..5 {
        world.write(".git/index", number.to_string());
        world.write(&format!(".git/objects/{number}"), "x");
    }
    process.assert_quiet();
    // Reading does not start a check either.
    check(&world, &[]).fails(1);
    process.assert_quiet();
    // A file that is replaced, as editors do, and a new file.
    std::fs::write(world.repo().join("skills/a/.new"), WARNING).unwrap();
    std::fs::rename(world.repo().join("skills/a/.new"), world.repo().join("skills/a/SKILL.md"))
        .unwrap();
    process.wait_for("warning[AS-05]");
    process.wait_until_quiet();
    world.write("skills/b/SKILL.md", "no frontmatter\n");
    process.wait_for("skills/b/SKILL.md:1:1: error[AS-01]");
    let ended = process.interrupt();
    assert!(ended.signal() == Some(2) || ended.code() == Some(130), "{ended:?}");
    let left: Vec<String> =
        world.files("home/.skillpack").into_keys().filter(|name| name.contains("tmp")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_file_that_is_replaced_is_still_watched() {
    let world = world!();
    world.write("skills/a/SKILL.md", WARNING);
    let process = WatchProcess::start(&world, &["skills/a/SKILL.md", "--format", "plain"]);
    process.wait_for("warning[AS-05]");
    process.wait_until_quiet();
    std::fs::remove_file(world.repo().join("skills/a/SKILL.md")).unwrap();
    world.write("skills/a/SKILL.md", "no frontmatter\n");
    process.wait_for("error[AS-01]");
}

#[test]
fn a_missing_path_is_not_watched() {
    let world = world!();
    assert_eq!(world.sp_error(&["check", "--watch", "gone"]).code, "E-unreadable-file");
}

#[test]
fn the_screen_is_only_cleared_on_a_terminal() {
    let world = world!();
    world.skill("a");
    let mut process = WatchProcess::start(&world, &[]);
    process.wait_for("1 skill");
    process.wait_until_quiet();
    process.interrupt();
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut process.child.stderr.take().unwrap(), &mut stderr).unwrap();
    assert!(stderr.contains("Ctrl-C") && !stderr.contains('\u{1b}'), "{stderr:?}");
}

#[test]
fn it_exits_when_stdout_is_closed() {
    let world = world!();
    world.write("skills/a/SKILL.md", WARNING);
    let mut command = world.command(&["check", "--watch", "--format", "plain"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    // It watches before it prints, and the reader closes the pipe when it is dropped.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    world.write("skills/a/SKILL.md", format!("{WARNING}More.\n"));
    wait_for_exit(&mut child);
}
