//! `--watch`: checks again when something changes, and not when nothing does.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use super::*;

/// Long enough for a check on a busy machine.
const PATIENCE: Duration = HANG_TIMEOUT;
/// Long enough that a check would have begun.
const STILL: Duration = Duration::from_millis(600);

/// A running `sp check --watch`, ended with the test.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(&[&["check", "--watch"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = follow(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for a line that has this in it.
    #[track_caller]
    fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return,
                Ok(_) => {}
                Err(error) => panic!("no `{text}`: {error}"),
            }
        }
    }

    /// Waits until nothing has been printed for a while, then tells that it stays so.
    fn settle(&self) {
        while self.lines.recv_timeout(STILL).is_ok() {}
    }

    #[track_caller]
    fn is_still(&self) {
        match self.lines.recv_timeout(STILL) {
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

impl Drop for Watching {
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

const VERSION: &str = "---\nname: a\ndescription: Does a.\nversion: x\n---\n";

#[test]
fn a_change_is_seen_and_what_git_does_for_itself_is_not() {
    let world = world!();
    world.write("skills/a/SKILL.md", VERSION);
    world.write(".git/index", "0");
    let mut watching = Watching::start(&world, &["--format", "plain"]);
    watching.wait_for("warning[AS-05]");
    watching.settle();
    world.write("skills/a/SKILL.md", "no frontmatter\n");
    watching.wait_for("error[AS-01]");
    watching.settle();
    for number in 0..5 {
        world.write(".git/index", number.to_string());
        world.write(&format!(".git/objects/{number}"), "x");
    }
    watching.is_still();
    // Reading changes nothing either.
    check(&world, &[]).fails(1);
    watching.is_still();
    // A file that an editor puts in the place of another, and one that is new.
    std::fs::write(world.repo().join("skills/a/.new"), VERSION).unwrap();
    std::fs::rename(world.repo().join("skills/a/.new"), world.repo().join("skills/a/SKILL.md"))
        .unwrap();
    watching.wait_for("warning[AS-05]");
    watching.settle();
    world.write("skills/b/SKILL.md", "no frontmatter\n");
    watching.wait_for("skills/b/SKILL.md:1:1: error[AS-01]");
    let ended = watching.interrupt();
    assert!(ended.signal() == Some(2) || ended.code() == Some(130), "{ended:?}");
    let left: Vec<String> =
        world.files("home/.skillpack").into_keys().filter(|name| name.contains("tmp")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn one_file_is_watched_by_its_directory() {
    let world = world!();
    world.write("skills/a/SKILL.md", VERSION);
    let watching = Watching::start(&world, &["skills/a/SKILL.md", "--format", "plain"]);
    watching.wait_for("warning[AS-05]");
    watching.settle();
    std::fs::remove_file(world.repo().join("skills/a/SKILL.md")).unwrap();
    world.write("skills/a/SKILL.md", "no frontmatter\n");
    watching.wait_for("error[AS-01]");
}

#[test]
fn what_is_not_there_is_not_watched() {
    let world = world!();
    let run = ends(&world, &["check", "--watch", "gone"]);
    assert!(run.code == Some(3) && run.stderr.contains("cannot read `gone`"), "{run}");
}

#[test]
fn the_human_form_says_that_it_watches_and_clears_no_screen_that_is_none() {
    let world = world!();
    world.skill("a");
    let mut watching = Watching::start(&world, &[]);
    watching.wait_for("1 skill: no problems");
    watching.settle();
    watching.interrupt();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut watching.child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(
        said.contains("watching for changes; Ctrl-C ends it") && !said.contains('\u{1b}'),
        "{said:?}"
    );
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    let world = world!();
    world.write("skills/a/SKILL.md", VERSION);
    let mut command = world.command(&["check", "--watch", "--format", "plain"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let deadline = Instant::now() + HANG_TIMEOUT;
    let mut number = 0;
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        number += 1;
        world.write("skills/a/SKILL.md", format!("{VERSION}{number}\n"));
        std::thread::sleep(Duration::from_millis(300));
    }
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert!(ended.is_some());
}
