//! `docs/bag.md`, `docs/packages.md`, `docs/context.md`, `docs/check.md` and the pages of
//! `docs/agents/` are correct: a test writes every file that a page shows, runs every command, and
//! compares the output with the page. With `INSTA_UPDATE=always`, it updates the page instead.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sp_testkit::{World, world};

/// Returns the text of a page of the documentation.
fn page(name: &str) -> String {
    std::fs::read_to_string(page_path(name)).unwrap()
}

fn page_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// A fenced code block of a page.
#[derive(Default)]
struct Block {
    /// The line of its opening fence, starting at one.
    line: usize,
    language: String,
    text: String,
    /// The file with this content, from a line with only its path and a colon before the block.
    file: Option<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut file = None;
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let language = line.trim_start_matches('`');
        let fence = &line[..line.len() - language.len()];
        if fence.len() >= 3 {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence);
            let text = inside.fold(String::new(), |text, line| text + line + "\n");
            blocks.push(Block {
                line: index + 1,
                language: language.into(),
                text,
                file: file.take(),
            });
        } else if !line.is_empty() {
            file =
                line.strip_prefix("`~/").and_then(|rest| rest.strip_suffix("`:")).map(Into::into);
        }
    }
    blocks
}

/// Runs the commands of a page in a home directory.
struct PageRunner {
    world: World,
    dir: PathBuf,
}

impl PageRunner {
    fn new() -> Self {
        let world = world!();
        std::fs::remove_dir_all(world.repo()).unwrap();
        std::fs::create_dir(world.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_sp"), world.path("bin/sp")).unwrap();
        Self { dir: world.home(), world }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.world.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs a command and returns its stdout followed by its stderr.
    fn run(&mut self, command: &str) -> String {
        if let Some(dir) = command.strip_prefix("cd ") {
            self.dir = self.dir.join(dir).canonicalize().unwrap();
            return String::new();
        }
        let path = format!("{}:/usr/bin:/bin", self.world.path("bin").display());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).current_dir(&self.dir).env_clear().stdin(Stdio::null());
        shell
            .env("HOME", self.world.home())
            .env("PATH", path)
            .env("SOURCE_DATE_EPOCH", "1790000000");
        let run = self.world.run(shell);
        (run.stdout + &run.stderr).replace("[WORLD]/home", "~").replace("[RUN]", "…")
    }
}

/// Runs the commands of a block, and returns each with its actual output.
fn run_block(runner: &mut PageRunner, block: &Block) -> String {
    let mut transcript = String::new();
    for command in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = runner.run(command);
        write!(transcript, "$ {command}\n{output}").unwrap();
        assert!(output.is_empty() || output.ends_with('\n'), "{command}: {output:?}");
    }
    transcript
}

/// Writes the files and runs the commands of a page, and compares the output with the page.
fn run_page(name: &str) -> PageRunner {
    let mut runner = PageRunner::new();
    let mut differences = String::new();
    let mut updated = page(name);
    for block in blocks(&page(name)) {
        if let Some(path) = &block.file {
            runner.write(path, &block.text);
        } else if block.language == "console" {
            let actual = run_block(&mut runner, &block);
            if actual != block.text {
                let Block { line, text, .. } = &block;
                write!(differences, "docs/{name}:{line}: expected\n{text}actual\n{actual}\n")
                    .unwrap();
                updated = updated.replacen(text, &actual, 1);
            }
        }
    }
    if std::env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always") {
        std::fs::write(page_path(name), updated).unwrap();
        return runner;
    }
    assert!(differences.is_empty(), "{differences}");
    runner
}

/// Checks that a page mentions all of these commands, files and options.
#[track_caller]
fn assert_mentions(name: &str, terms: &[&str]) {
    let page = page(name);
    for term in terms {
        assert!(page.contains(term), "docs/{name} does not mention `{term}`");
    }
}

#[test]
fn sb_24_walkthrough_of_workspaces_is_correct() {
    let runner = run_page("bag.md");
    let skills = runner.world.home().join("project/.skills");
    // The result of the page, so that its main steps cannot be removed.
    for name in ["find-dead-code", "skillbag-get-skills", "take-notes", "tidy-up"] {
        assert!(skills.join(name).join("SKILL.md").is_file(), "{name}");
    }
}

#[test]
fn pk_22_walkthrough_of_packages_is_correct() {
    let runner = run_page("packages.md");
    let home = runner.world.home();
    // The result of the page, so that its main steps cannot be removed.
    for path in
        ["site/.ctxpkg/packages/@acme+shop.ctxpkg", "site/ctxpkg.lock", ".skillpack/trust.json"]
    {
        assert!(home.join(path).is_file(), "{path}");
    }
    assert!(!home.join(".claude/skills/pr-review").exists(), "the skills are uninstalled");
}

#[test]
fn cp_12_walkthrough_of_context_packs_is_correct() {
    let runner = run_page("context.md");
    let home = runner.world.home();
    // The result of the page, so that its main steps cannot be removed.
    for path in [
        "context-pack/pack.json",
        "context-pack/tasks.md",
        "shop.zip",
        "copy/pack.json",
        "handmade/pack.json",
    ] {
        assert!(home.join(path).is_file(), "{path}");
    }
    assert!(!home.join("shop/CLAUDE.md").exists(), "the pack is uninstalled");
    for dir in ["context-pack", ".skillpack/kb"] {
        for entry in std::fs::read_dir(home.join(dir)).unwrap() {
            let text = String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap())
                .into_owned();
            assert!(
                !text.contains("tok_9f8e")
                    && !text.contains("ask Ada")
                    && !text.contains("author of this"),
                "{dir} has content that must be removed"
            );
        }
    }
}

#[test]
fn se_09_walkthrough_of_checks_is_correct() {
    let runner = run_page("check.md");
    assert!(runner.world.home().join("release/scripts/push.sh").is_file());
}

#[test]
fn mc_08_walkthroughs_of_agents_are_correct() {
    for agent in ["claude", "cursor", "codex", "vscode", "windsurf"] {
        // The page shows the path of the settings of VS Code on Linux.
        if agent == "vscode" && cfg!(target_os = "macos") {
            continue;
        }
        let name = format!("agents/{agent}.md");
        run_page(&name);
        let terms = ["sp mcp install", "cat ~/", "--scope project", "--url", "sp mcp uninstall"];
        assert_mentions(&name, &terms);
    }
}

#[test]
fn sb_25_walkthrough_of_workspaces_covers_every_feature() {
    let terms = [
        "SKILLBAG.md",
        "CONTEXT.md",
        "USER_CONTEXT.md",
        ".skills/SKILLS.md",
        ".skillbag.lock",
        "skills.git",
        ".zip",
        "--version",
        "--upgrade",
        "--replace",
        "--explain",
        "--save",
        "--steps-done",
        "check --fix",
        "#run/always",
        "prohibit:",
        "tags:",
        "conflict-resolution:",
        "dependencies:",
        "parameters:",
    ];
    assert_mentions("bag.md", &terms);
}

#[test]
fn pk_22_walkthrough_of_packages_covers_every_feature() {
    let terms = [
        "sp pkg create",
        "sp pkg list",
        "sp pkg info",
        "sp pkg verify",
        "sp pkg export",
        "sp pkg import",
        "sp pkg install",
        "sp pkg uninstall",
        "sp pkg diff",
        "sp pkg log",
        "sp pkg rollback",
        "sp pkg send",
        "sp pkg receive",
        "sp pkg inbox",
        "sp key new",
        "sp key trust",
        "sp key rotate",
        "--accept-new-key",
        "--allow-downgrade",
        "--require-signed",
        "require-signed:",
        "trusted-keys:",
        "manifest_value",
        "ctxpkg.lock",
        "trust.json",
        "--compat lean-ctx",
        "--envelope v2",
    ];
    assert_mentions("packages.md", &terms);
}

#[test]
fn cp_12_walkthrough_of_context_packs_covers_every_feature() {
    let terms = [
        "sp context kb add",
        "sp context kb list",
        "sp context kb search",
        "sp context kb stats",
        "sp context kb remove",
        "sp context build",
        "sp context check",
        "sp context show",
        "sp context zip",
        "sp context unzip",
        "sp context install",
        "sp context uninstall",
        "sp context new",
        "sp context seal",
        "--explain",
        "--since",
        "--budget",
        "--zip",
        "--model",
        "--model-timeout",
        "SP_MODEL_KEY",
        "captured_at",
        "kb.yaml",
        "base_url:",
        "skipped",
        "BM25",
    ];
    assert_mentions("context.md", &terms);
}
