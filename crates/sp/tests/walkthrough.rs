//! `docs/bag.md`, `docs/packages.md`, `docs/context.md`, `docs/check.md` and the pages of
//! `docs/agents/`, each done from its first line to its last: every file it shows is written, every
//! command is run, and what is printed must be what the page says.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sp_testkit::{World, world};

/// The text of a page of the documentation.
fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name))
        .unwrap()
}

/// A fenced block of the page.
#[derive(Default)]
struct Block {
    /// The line of its fence, from one.
    line: usize,
    language: String,
    text: String,
    /// The path that stands alone before it, with a colon: the block is that file.
    file: Option<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut file = None;
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let language = line.trim_start_matches('`');
        let fence = &line[..line.len() - language.len()];
        if fence.len() >= 3 {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence);
            let text = inside.fold(String::new(), |text, line| text + line + "\n");
            blocks.push(Block { line: at + 1, language: language.into(), text, file: file.take() });
        } else if !line.is_empty() {
            file =
                line.strip_prefix("`~/").and_then(|rest| rest.strip_suffix("`:")).map(Into::into);
        }
    }
    blocks
}

/// Someone who does what the page says.
struct Reader {
    world: World,
    dir: PathBuf,
}

impl Reader {
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

    /// What a command prints, first to stdout and then to stderr.
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

/// The commands of a block as they are, each followed by what it prints now.
fn replayed(reader: &mut Reader, block: &Block) -> String {
    let mut replayed = String::new();
    for command in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let printed = reader.run(command);
        write!(replayed, "$ {command}\n{printed}").unwrap();
        assert!(
            printed.is_empty() || printed.ends_with('\n'),
            "{command} prints whole lines: {printed:?}"
        );
    }
    replayed
}

/// Does all that a page says, and gives the home in which it was done.
fn walked(name: &str) -> Reader {
    let mut reader = Reader::new();
    let mut wrong = String::new();
    for block in blocks(&page(name)) {
        if let Some(path) = &block.file {
            reader.write(path, &block.text);
        } else if block.language == "console" {
            let now = replayed(&mut reader, &block);
            if now != block.text {
                let (line, said) = (block.line, &block.text);
                write!(wrong, "docs/{name}:{line}: it prints\n{now}and the page says\n{said}\n")
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    reader
}

#[test]
fn sb_24_the_walkthrough_prints_what_it_says() {
    the_page_ended_with_skills(&walked("bag.md").world.home().join("project/.skills"));
}

#[test]
fn pk_22_the_walkthrough_of_packages_prints_what_it_says() {
    let reader = walked("packages.md");
    let home = reader.world.home();
    // The page must not lose what it is there to show.
    for path in
        ["site/.ctxpkg/packages/@acme+shop.ctxpkg", "site/ctxpkg.lock", ".skillpack/trust.json"]
    {
        assert!(home.join(path).is_file(), "{path}");
    }
    assert!(!home.join(".claude/skills/pr-review").exists(), "the skills are uninstalled");
}

#[test]
fn cp_12_the_walkthrough_of_context_packs_prints_what_it_says() {
    let reader = walked("context.md");
    let home = reader.world.home();
    // The page must not lose what it is there to show.
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
                "{dir} has what must not get in"
            );
        }
    }
}

#[test]
fn se_09_the_page_about_checking_prints_what_it_says() {
    let reader = walked("check.md");
    assert!(reader.world.home().join("release/scripts/push.sh").is_file());
}

#[test]
fn mc_08_the_pages_of_agents_print_what_they_say() {
    for agent in ["claude", "cursor", "codex", "vscode", "windsurf"] {
        // The page shows where VS Code keeps its settings on Linux.
        if agent == "vscode" && cfg!(target_os = "macos") {
            continue;
        }
        let name = format!("agents/{agent}.md");
        walked(&name);
        let page = page(&name);
        for words in
            ["sp mcp install", "cat ~/", "--scope project", "--http", "By hand", "sp mcp uninstall"]
        {
            assert!(page.contains(words), "{name}: {words}");
        }
    }
}

/// The page must not lose what it is there to show.
fn the_page_ended_with_skills(root: &Path) {
    for name in ["find-dead-code", "skillbag-get-skills", "take-notes", "tidy-up"] {
        assert!(root.join(name).join("SKILL.md").is_file(), "{name}");
    }
}

#[test]
fn sb_25_the_walkthrough_speaks_of_every_part() {
    let page = page("bag.md");
    for words in [
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
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn pk_22_the_walkthrough_of_packages_speaks_of_every_part() {
    let page = page("packages.md");
    for words in [
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
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn cp_12_the_walkthrough_of_context_packs_speaks_of_every_part() {
    let page = page("context.md");
    for words in [
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
        "Secrets",
        "speaks to the agent",
        "BM25",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
