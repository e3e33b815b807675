//! Commands of the documentation that no test runs, because they require something that a test
//! does not have.
//!
//! The test checks that every line here is still on its page. It runs lines that start `sp` with
//! `--help`, so that their subcommands and options exist.

/// What a command requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirement {
    /// Downloads from the internet.
    Internet,
    /// A server that runs until it is stopped, or a connection to one.
    Server,
    /// A program of another project.
    Program,
}

use Requirement::{Internet, Program, Server};

/// Lines without their comments, and the pages that contain them.
pub(super) const NOT_RUN: &[(&str, &str, Requirement)] = &[
    ("README.md", "cargo install --path crates/sp --locked", Internet),
    ("README.md", "sp serve", Server),
    ("docs/agents/claude.md", "claude mcp add --scope user skillpack -- sp mcp", Program),
    ("docs/agents/codex.md", "codex mcp add skillpack -- sp mcp", Program),
    ("docs/context.md", "sp context push context-pack", Server),
    ("docs/context.md", "sp context url pk_01M3250V00K81B0R5BWJ70HF6J --expires 7d", Server),
    (
        "docs/context.md",
        "sp context install 'https://packs.example/s/…/packs/pk_01M3250V00K81B0R5BWJ70HF6J/'",
        Server,
    ),
    (
        "docs/context.md",
        "SP_MODEL_KEY=… sp context build --name Shop --description '…' --model https://api.example/v1 --model-name some-model",
        Internet,
    ),
    (
        "docs/context.md",
        "sp context build --name Shop --description '…' --model http://localhost:11434/v1 --model-name llama3.2",
        Server,
    ),
    ("docs/mcp.md", "sp mcp --listen 127.0.0.1:7879", Server),
    ("docs/mcp.md", "SP_MCP_TOKEN=… sp mcp --listen 0.0.0.0:7879", Server),
    (
        "docs/operating.md",
        "sp serve --data ./registry --listen 0.0.0.0:443 --tls-certificate fullchain.pem --tls-key privkey.pem",
        Server,
    ),
    ("docs/operating.md", "sp serve backup /backups/monday", Server),
    (
        "docs/packages.md",
        "sp pkg receive --listen 127.0.0.1:8765 --as build --secret-file ~/.shared-secret",
        Server,
    ),
    (
        "docs/packages.md",
        "sp pkg send @acme/shop --target build.example --to build --secret-file ~/.shared-secret",
        Server,
    ),
    ("docs/registry.md", "sp serve --data ./registry --listen 127.0.0.1:7878", Server),
    (
        "docs/registry.md",
        "SP_DATABASE_URL='postgres://ann:secret@db.example/registry?sslmode=require' sp serve --data ./registry",
        Server,
    ),
    (
        "docs/registry.md",
        "SP_SERVE_OBJECTS=s3://bucket/registry sp serve --data ./registry",
        Server,
    ),
    ("docs/registry.md", "sp serve backup --data ./registry ./backup-monday", Server),
    ("docs/registry.md", "sp serve restore ./backup-monday --data ./registry2", Server),
    ("docs/registry.md", "sp serve backup --data ./registry ./backup-monday", Server),
    ("docs/registry.md", "sp serve restore ./backup-monday --data ./registry2", Server),
    ("docs/registry.md", "sp serve verify --data ./registry", Server),
    ("docs/registry.md", "sp serve gc --data ./registry --dry-run", Server),
    ("docs/registry.md", "sp serve gc --data ./registry --gc-grace 48h", Server),
    (
        "docs/registry.md",
        "sp serve delete @acme/notes@1.2.0 --data ./registry --reason password",
        Server,
    ),
    (
        "docs/registry.md",
        "curl -X POST http://127.0.0.1:7878/api/v1/tokens -H \"authorization: Bearer $ADMIN\" \\\n  -H 'content-type: application/json' \\\n  -d '{\"user\":\"ann\",\"scope\":\"publish\",\"label\":\"laptop\",\"expires_in\":7776000,\"namespaces\":[\"acme\"]}'",
        Server,
    ),
    ("docs/registry.md", "sp serve token --data ./registry --admin", Server),
    (
        "docs/registry.md",
        "sp serve token --data ./registry --user ann --label laptop --expires 90d --namespace acme",
        Server,
    ),
    ("docs/registry.md", "sp serve token --data ./registry --list", Server),
    ("docs/registry.md", "sp serve token --data ./registry --rotate 2", Server),
    ("docs/registry.md", "sp serve token --data ./registry --revoke 2", Server),
    ("docs/registry.md", "SP_REGISTRY_TOKEN=ctxp_… sp login http://127.0.0.1:7878", Server),
    ("docs/registry.md", "sp publish @acme/notes", Server),
    ("docs/registry.md", "sp yank @acme/notes@1.2.0", Server),
    ("docs/registry.md", "sp search postgres", Server),
    ("docs/registry.md", "sp logout", Server),
    ("docs/registry.md", "sp info @acme/notes", Server),
    ("docs/registry.md", "sp pkg install acme/notes@^1", Server),
    ("docs/registry.md", "sp pkg install", Server),
    ("docs/registry.md", "sp pkg install --offline", Server),
    ("docs/registry.md", "sp context push ./context-pack", Server),
    ("docs/registry.md", "sp context url pk_01M3250V00Z1ZR7MNVAQ98YVHM --expires 2h", Server),
    (
        "docs/registry.md",
        "sp context install 'http://127.0.0.1:7878/s/k5ddd….1794797299.TQAM…/packs/pk_01M3250V00Z1ZR7MNVAQ98YVHM/'",
        Server,
    ),
    ("docs/registry.md", "sp context revoke pk_01M3250V00Z1ZR7MNVAQ98YVHM", Server),
    ("docs/registry.md", "npx skills add http://127.0.0.1:7878", Internet),
    (
        "docs/trusted-publishing.md",
        "sp publisher add @acme/notes --github acme/notes --owner-id 12345 --workflow release.yml",
        Server,
    ),
    (
        "docs/trusted-publishing.md",
        "sp publisher add @acme/notes --gitlab acme/notes --group-id 678 --ci-file .gitlab-ci.yml",
        Server,
    ),
    (
        "docs/trusted-publishing.md",
        "sp publisher add @acme/notes --issuer https://gitlab.acme.example --claim namespace_id=678 --claim project_path=acme/notes --claim ci_config_ref_uri=.gitlab-ci.yml",
        Server,
    ),
];

/// Returns what a line of a page requires, if no test runs it.
pub(super) fn requirement(page: &str, line: &str) -> Option<Requirement> {
    let is_line = |(of, listed, _): &&(&str, &str, Requirement)| *of == page && *listed == line;
    NOT_RUN.iter().find(is_line).map(|(_, _, requirement)| *requirement)
}
