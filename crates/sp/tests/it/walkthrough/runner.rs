//! Runs the commands of a page.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use sp_testkit::{Run, World, world};

use super::git_hosts::create_git_hosts;
use super::not_run::requirement;
use super::page::{Block, blocks, page, root};

/// What a page requires before its commands run.
struct Preparation {
    page: &'static str,
    /// A script that runs in the home directory.
    script: &'static str,
    /// The directory in which `sh` blocks run, relative to the home directory, if it is not the
    /// current directory of the page.
    sh_dir: Option<&'static str>,
}

const PREPARATIONS: &[Preparation] = &[
    Preparation {
        page: "docs/check.md",
        script: "sp init work && cd work && mv skills/general skills/review && \
                 sed -i 's/general/review/' packs/work.yaml && \
                 sp install work --agent claude && mv packs/work.yaml packs/team.yaml && \
                 sp bag init ~/project && \
                 echo 'nodes: [{id: a, type: fact, content: One.}]' > ~/input.yaml && \
                 sp pkg create --name notes --input ~/input.yaml --sign --output notes.ctxpkg && \
                 rm ~/input.yaml",
        sh_dir: Some("work"),
    },
    Preparation { page: "docs/mcp.md", script: "sp init team", sh_dir: None },
    Preparation { page: "docs/agents/README.md", script: "sp init team", sh_dir: None },
];

/// Runs the commands of a page in a home directory.
pub(super) struct PageRunner {
    pub world: World,
    dir: PathBuf,
    sh_dir: Option<PathBuf>,
}

impl PageRunner {
    pub(super) fn new() -> Self {
        let world = world!();
        std::fs::remove_dir_all(world.repo()).unwrap();
        std::fs::create_dir(world.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
        create_git_hosts(&world);
        Self { dir: world.home(), sh_dir: None, world }
    }

    fn prepare(&mut self, preparation: &Preparation) {
        self.run(preparation.script).ok();
        self.sh_dir = preparation.sh_dir.map(|dir| self.world.home().join(dir));
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.world.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs a command in the current directory of the page, which `cd` changes.
    fn run(&mut self, command: &str) -> Run {
        if let Some(dir) = command.strip_prefix("cd ") {
            self.dir = self.dir.join(dir).canonicalize().unwrap();
            return self.world.run(Command::new("true"));
        }
        self.world.run(self.shell(command, &self.dir.clone()))
    }

    /// Returns a shell that runs a command.
    pub(super) fn shell(&self, command: &str, dir: &std::path::Path) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.world.path("bin").display());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).current_dir(dir).env_clear().stdin(Stdio::null());
        shell
            .env("HOME", self.world.home())
            .env("PATH", path)
            .env("SOURCE_DATE_EPOCH", "1790000000");
        shell
    }

    /// Runs the commands of a `console` block, and returns each with its actual output.
    fn run_console(&mut self, block: &Block) -> String {
        let mut transcript = String::new();
        for command in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let run = self.run(command);
            let output = (run.stdout + &run.stderr).replace("[WORLD]/home", "~");
            let output = output.replace("[RUN]", "…").replace("[PLAN]", "sha256:…");
            write!(transcript, "$ {command}\n{output}").unwrap();
            assert!(output.is_empty() || output.ends_with('\n'), "{command}: {output:?}");
        }
        transcript
    }

    /// Runs the commands of an `sh` block, which must succeed.
    fn run_sh(&mut self, path: &str, block: &Block) {
        let outside = self.dir.clone();
        if let Some(dir) = &self.sh_dir {
            self.dir.clone_from(dir);
        }
        for line in shell_lines(block) {
            if requirement(path, &without_comment(&line)).is_none() {
                let run = self.run(&line);
                assert_eq!(run.code, Some(0), "{path}:{}: {line}\n{run}", block.line);
            }
        }
        if self.sh_dir.is_some() {
            self.dir = outside;
        }
    }
}

/// Returns the commands of an `sh` block. A command that continues on the next line is one.
pub(super) fn shell_lines(block: &Block) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in block.text.lines() {
        match lines.last_mut() {
            Some(last) if last.ends_with('\\') => *last += &format!("\n{line}"),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.retain(|line| !line.is_empty() && !line.starts_with('#'));
    lines
}

/// Removes the comment at the end of a command.
pub(super) fn without_comment(line: &str) -> String {
    line.split(" #").next().unwrap_or(line).trim_end().to_owned()
}

/// Writes the files and runs the commands of a page, and compares the output with the page.
pub(super) fn run_page(path: &str) -> PageRunner {
    let mut runner = PageRunner::new();
    if let Some(preparation) = PREPARATIONS.iter().find(|preparation| preparation.page == path) {
        runner.prepare(preparation);
    }
    let mut differences = String::new();
    let mut updated = page(path);
    for block in blocks(&page(path)) {
        if let Some(file) = &block.file {
            runner.write(file, &block.text);
        } else if block.language == "sh" {
            runner.run_sh(path, &block);
        } else if block.language == "console" {
            let actual = runner.run_console(&block);
            if actual != block.text {
                let Block { line, text, .. } = &block;
                write!(differences, "{path}:{line}: expected\n{text}actual\n{actual}\n").unwrap();
                updated = updated.replacen(text, &actual, 1);
            }
        }
    }
    if is_update() && !differences.is_empty() {
        std::fs::write(root().join(path), updated).unwrap();
        return runner;
    }
    assert!(differences.is_empty(), "{differences}");
    runner
}

/// Whether files are updated instead of compared.
pub(super) fn is_update() -> bool {
    std::env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always")
}
