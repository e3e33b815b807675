//! The README and the pages in `docs/` are correct: a test writes every file that a page shows,
//! runs every command as it is written, and compares the output with the page. With
//! `INSTA_UPDATE=always`, it updates the page instead.
//!
//! The output of a command in a `console` block is compared. A command in an `sh` block must
//! succeed. Commands on git hosts use local repositories, with `url.*.insteadOf` in the git
//! configuration. [`not_run`] lists the commands that are not run.

mod git_hosts;
mod not_run;
mod page;
mod picture;
mod runner;
mod screenshots;

use not_run::NOT_RUN;
use page::{blocks, page, pages_with_commands};
use runner::{run_page, shell_lines, without_comment};

/// Checks that a page mentions all of these commands, files and options.
#[track_caller]
fn assert_mentions(path: &str, terms: &[&str]) {
    let page = page(path);
    for term in terms {
        assert!(page.contains(term), "{path} does not mention `{term}`");
    }
}

/// The pages that the tests below run.
const RUN_PAGES: &[&str] = &[
    "README.md",
    "docs/agents/README.md",
    "docs/agents/claude.md",
    "docs/agents/codex.md",
    "docs/agents/cursor.md",
    "docs/agents/vscode.md",
    "docs/agents/windsurf.md",
    "docs/bag.md",
    "docs/check.md",
    "docs/context.md",
    "docs/lifecycle.md",
    "docs/mcp.md",
    "docs/migrating.md",
    "docs/operating.md",
    "docs/packages.md",
    "docs/packs.md",
    "docs/policy.md",
    "docs/reference.md",
    "docs/registry.md",
    "docs/trusted-publishing.md",
];

#[test]
fn every_page_with_commands_is_run() {
    assert_eq!(pages_with_commands(), RUN_PAGES);
}

#[test]
fn commands_that_are_not_run_are_on_their_pages_and_have_known_options() {
    let world = sp_testkit::world!();
    for (path, line, _) in NOT_RUN {
        let is_on_page = blocks(&page(path))
            .iter()
            .filter(|block| block.has_commands())
            .flat_map(shell_lines)
            .any(|other| without_comment(&other) == *line);
        assert!(is_on_page, "{path} does not contain `{line}`");
        let command = line.split(' ').skip_while(|word| word.contains('=')).collect::<Vec<_>>();
        if command[0] == "sp" {
            let args: Vec<&str> =
                command[1..].iter().map(|word| word.trim_matches('\'')).chain(["--help"]).collect();
            let run = world.sp(&args);
            assert_eq!(run.code, Some(0), "{path}: {line}: {run}");
        }
    }
}

#[test]
fn walkthrough_of_the_readme_is_correct() {
    let runner = run_page("README.md");
    let home = runner.world.home();
    // The result of the page, so that its main steps cannot be removed.
    assert!(home.join("team-skills/packs/team-skills.yaml").is_file());
    assert!(home.join(".claude/skills").is_dir());
}

#[test]
fn lc_10_walkthrough_of_projects_is_correct() {
    let runner = run_page("docs/lifecycle.md");
    assert!(runner.world.home().join("app/skillpack.lock").is_file());
}

#[test]
fn lc_17_walkthrough_of_migrations_is_correct() {
    let runner = run_page("docs/migrating.md");
    assert!(runner.world.home().join("app/skillpack.lock").is_file());
}

#[test]
fn walkthrough_of_packs_is_correct() {
    let runner = run_page("docs/packs.md");
    assert!(runner.world.home().join("team/packs/on-call.yaml").is_file());
}

#[test]
fn walkthrough_of_operating_a_registry_is_correct() {
    run_page("docs/operating.md");
}

#[test]
fn walkthrough_of_the_registry_is_correct() {
    run_page("docs/registry.md");
}

#[test]
fn walkthrough_of_trusted_publishing_is_correct() {
    run_page("docs/trusted-publishing.md");
}

#[test]
fn au_08_walkthrough_of_policies_is_correct() {
    let runner = run_page("docs/policy.md");
    assert!(runner.world.home().join("app/.claude/skills/coverage").is_dir());
}

#[test]
fn walkthrough_of_the_reference_is_correct() {
    run_page("docs/reference.md");
}

#[test]
fn mc_08_walkthrough_of_the_mcp_server_is_correct() {
    let runner = run_page("docs/mcp.md");
    assert!(runner.world.home().join(".claude.json").is_file());
}

#[test]
fn sb_24_walkthrough_of_workspaces_is_correct() {
    let runner = run_page("docs/bag.md");
    let skills = runner.world.home().join("project/.skills");
    // The result of the page, so that its main steps cannot be removed.
    for name in ["find-dead-code", "skillbag-get-skills", "take-notes", "tidy-up"] {
        assert!(skills.join(name).join("SKILL.md").is_file(), "{name}");
    }
}

#[test]
fn pk_22_walkthrough_of_packages_is_correct() {
    let runner = run_page("docs/packages.md");
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
    let runner = run_page("docs/context.md");
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
    let runner = run_page("docs/check.md");
    assert!(runner.world.home().join("release/scripts/push.sh").is_file());
}

#[test]
fn mc_08_walkthroughs_of_agents_are_correct() {
    run_page("docs/agents/README.md");
    for agent in ["claude", "cursor", "codex", "vscode", "windsurf"] {
        // The page shows the path of the settings of VS Code on Linux.
        if agent == "vscode" && cfg!(target_os = "macos") {
            continue;
        }
        let name = format!("docs/agents/{agent}.md");
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
    assert_mentions("docs/bag.md", &terms);
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
    assert_mentions("docs/packages.md", &terms);
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
    assert_mentions("docs/context.md", &terms);
}
