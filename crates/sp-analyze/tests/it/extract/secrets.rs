//! Secrets are never extracted, from any position. Text that only resembles a secret is kept.

use sp_analyze::extract::RevertCommit;

use super::*;

/// Random text for fake secrets.
const RANDOM: &str = "k7Qz9XbR2mVt4LwPs8YcJ3nHd6Fg";

/// Fake secrets with their names.
fn fake_secrets() -> Vec<(&'static str, String)> {
    let of = |prefix: &str| format!("{prefix}{RANDOM}");
    vec![
        ("GitHub token", of("ghp_")),
        ("fine-grained GitHub token", of("github_pat_")),
        ("GitHub app token", of("ghs_")),
        ("GitLab token", of("glpat-")),
        ("OpenAI key", of("sk-proj-")),
        ("Anthropic key", of("sk-ant-api03-")),
        ("live Stripe key", of("sk_live_")),
        ("Stripe webhook secret", of("whsec_")),
        ("Slack bot token", format!("xoxb-1234567890-{RANDOM}")),
        ("AWS key ID", "AKIAIOSFODNN7Q3RKLMX".into()),
        ("AWS secret key", "wJalrXUtnFEMIxK7MDENGxbPxRfiCYq3Z8TkLmNpQ".into()),
        ("Google key", of("AIzaSy")),
        ("Google token", of("ya29.")),
        ("npm token", of("npm_")),
        ("PyPI token", of("pypi-AgEIcHlwaS5vcmc")),
        ("Hugging Face token", of("hf_")),
        ("SendGrid key", format!("SG.{RANDOM}.{RANDOM}")),
        ("Shopify token", of("shpat_")),
        ("DigitalOcean token", of("dop_v1_")),
        ("Docker token", of("dckr_pat_")),
        ("Vault token", of("hvs.")),
        ("age key", "AGE-SECRET-KEY-1QQPQZRRY9X8GF2TVDW0S3JN54KHCE6MUA7L".into()),
        ("Linear token", of("lin_api_")),
        ("Sentry token", of("sntrys_")),
        (
            "JSON Web Token",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N".into(),
        ),
        ("database URL", "postgres://app:hunter2hunter2@db.internal:5432/app".into()),
        ("queue URL", "amqps://worker:Tr0ub4dor@queue.internal/v".into()),
        ("random text", format!("{RANDOM}{RANDOM}")),
        ("random text in base64", "dGhpcyBpcyBhIHNlY3JldCBrZXkgMTIzNDU2Nzg5MA==".into()),
        ("New Relic key", of("NRAK-")),
        ("Postman key", of("PMAK-")),
    ]
}

/// Paths and texts with `{}` for a secret, and the line of the secret.
const POSITIONS: &[(&str, &str, usize)] = &[
    ("README.md", "# A\n\n## Usage\n\nCall it with {} and see.\n", 5),
    ("README.md", "# A\n\n## Usage\n\nCall it with `{}` and see.\n", 5),
    ("README.md", "# A\n\n## Usage\n\nIt is **{}**, [{}]({}), <{}>, ({}) or \"{}\".\n", 5),
    ("README.md", "# A\n\n## Usage\n\n```sh\nexport API={}\n```\n", 6),
    ("README.md", "# A\n\n## Usage\n\n| a | b |\n|---|---|\n|key|{}|\n", 7),
    ("README.md", "# About {}\n\nWords of it, and more.\n", 1),
    ("AGENTS.md", "# A\n\n- Use the key {}.\n", 3),
    ("SECURITY.md", "> [!WARNING]\n> Never use the key {} in here.\n", 2),
    ("docs/a.rst", "A\n=\n\n.. warning::\n\n   Never use the key {} in here.\n", 6),
    ("CHANGELOG.md", "# Changelog\n\n## 1.0.0 - 2024-05-06\n\n### Removed\n\n- The key {}.\n", 7),
    ("CHANGELOG.md", "# Changelog\n\n## 1.0.0 - 2024-05-06\n\n- Remove the key {}.\n", 5),
    ("docs/adr/0001-a.md", "# 1. A\n\n## Decision\n\nThe key is {}.\n", 5),
    ("docs/adr/0001-a.md", "# 1. A\n\nStatus: {}\n\n## Decision\n\nWords of it.\n", 3),
    ("src/a.rs", "// FIXME: the key {} is in here\npub fn a() {}\n", 1),
    ("src/a.rs", "//! Speaks to {} only.\n\npub fn a() {}\n", 1),
    ("src/a.rs", "/// Speaks to {} only.\npub fn a() {}\n", 1),
    ("src/a.rs", "pub const KEY: &str = \"{}\";\n", 1),
    ("src/a.rs", "#[doc = \"{}\"]\npub fn a() {}\n", 1),
    ("src/a.py", "def a(x=1, key=\"{}\"):\n    return key\n", 1),
    ("src/a.py", "def a(x=1, key='{}'):\n    \"\"\"Says {}.\"\"\"\n    return key\n", 1),
    ("src/a.py", "KEY = \"{}\"\n\n\ndef a():\n    return KEY\n", 1),
    ("src/a.py", "@given(\"{}\")\ndef a():\n    return 1\n", 1),
    ("src/a.ts", "export type Key = \"{}\";\n", 1),
    ("src/a.ts", "export function a(key = \"{}\") {}\n", 1),
    ("src/a.test.ts", "import { b } from \"./b\";\nit(\"uses {}\", () => {\n  b();\n});\n", 2),
    ("src/a.go", "package a\n\n// A speaks to {} only.\nfunc A() {}\n", 3),
    ("src/A.java", "@Key(\"{}\")\npublic class A {\n}\n", 1),
    ("src/A.java", "/** Speaks to {} only. */\npublic class A {\n}\n", 1),
    ("run.sh", "#!/bin/sh\n# Runs it with {} and more.\n", 2),
    ("run.sh", "# HACK: it needs the key {} to run\n", 1),
    ("package.json", "{\n  \"scripts\": {\n    \"deploy\": \"KEY={} node deploy.js\"\n  }\n}\n", 3),
    ("package.json", "{\n  \"name\": \"a\",\n  \"description\": \"Uses {}.\"\n}\n", 3),
    ("package.json", "{\n  \"dependencies\": {\n    \"a\": \"{}\"\n  }\n}\n", 3),
    ("pyproject.toml", "[project]\nname = \"a\"\ndependencies = [\n  \"a @ {}\",\n]\n", 4),
    ("Cargo.toml", "[package]\nname = \"a\"\ndescription = \"Uses {}\"\n", 3),
    ("requirements.txt", "flask\na {}\n", 2),
    ("Makefile", "deploy:\n\tcurl -H {} https://example.com\n", 2),
    ("justfile", "# Uses {}.\ndeploy:\n  curl https://example.com\n", 1),
    ("Dockerfile", "FROM alpine\nENV KEY={}\nCMD run {}\n", 3),
    (
        "compose.yaml",
        "services:\n  a:\n    image: registry.example.com/a:{}\n    environment:\n      KEY: {}\n",
        3,
    ),
    (
        ".github/workflows/a.yml",
        "name: A\nenv:\n  KEY: {}\njobs:\n  a:\n    steps:\n      - run: deploy {}\n",
        7,
    ),
    (".gitlab-ci.yml", "a:\n  script:\n    - deploy --key={}\n", 3),
    (".editorconfig", "[*]\nkey = {}\n", 2),
    ("CODEOWNERS", "/a @b\n/{} @c\n", 2),
    ("clippy.toml", "disallowed-methods = [\n  { path = \"a\", reason = \"{}\" },\n]\n", 2),
    ("rust-toolchain", "{}\n", 1),
];

#[test]
fn pk_21_secrets_are_not_extracted_from_any_position() {
    let mut leaks = Vec::new();
    for (path, template, line) in POSITIONS {
        for (name, secret) in fake_secrets() {
            let text = template.replace("{}", &secret);
            let project = [(*path, text.as_str()), ("src/b.ts", "export function b() {}\n")];
            let graph = json(&graph(&project));
            let secret_lines = extract(path, &text).secret_lines;
            let harmless = extract(path, template.replace("{}", "something"));
            let is_extracted = json(&assemble(vec![harmless], &CommitHistory::default(), OPTIONS))
                .contains("something");
            if graph.contains(&secret) || graph.contains(RANDOM) {
                leaks.push(format!("{path}: {template:?}: {name}"));
            } else if is_extracted && secret_lines.is_empty() {
                leaks.push(format!("{path}: {template:?}: {name} was not reported"));
            } else if is_extracted && !secret_lines.iter().any(|reported| *reported <= line + 1) {
                leaks.push(format!(
                    "{path}: {template:?}: {name} is on line {line}, not {secret_lines:?}"
                ));
            }
        }
    }
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn pk_21_values_of_secret_names_are_not_extracted() {
    let mut leaks = Vec::new();
    let value = "Winter-is-coming-42";
    for (path, text) in [
        ("README.md", "# A\n\n## Setup\n\nexport DB_PASSWORD={}\n"),
        ("README.md", "# A\n\n## Setup\n\nSet `DB_PASSWORD={}` first.\n"),
        ("README.md", "# A\n\n## Setup\n\n```yaml\ndb:\n  password: {}\n```\n"),
        (
            "README.md",
            "# A\n\n## Setup\n\n```json\n{ \"user\": \"me\", \"password\": \"{}\" }\n```\n",
        ),
        (
            "README.md",
            "# A\n\n## Setup\n\n`curl -H 'Authorization: Bearer {}' https://example.com`\n",
        ),
        ("src/a.py", "def connect(host: str = \"a\", password: str = \"{}\"):\n    return 1\n"),
        ("src/a.ts", "export function connect(host = \"a\", apiKey = '{}') {}\n"),
        ("src/a.rs", "// FIXME: the build has password = \"{}\" in it\npub fn a() {}\n"),
        (
            "package.json",
            "{\n  \"scripts\": {\n    \"deploy\": \"API_TOKEN={} node deploy.js\"\n  }\n}\n",
        ),
        (
            "package.json",
            "{\n  \"scripts\": {\n    \"deploy\": \"node deploy.js --token={}\"\n  }\n}\n",
        ),
        ("Makefile", "deploy:\n\tDB_PASSWORD={} ./deploy\n"),
        (".github/workflows/a.yml", "jobs:\n  a:\n    steps:\n      - run: deploy --password={}\n"),
        (".editorconfig", "[*]\npassword = {}\n"),
        ("Dockerfile", "FROM alpine\nCMD run --password={}\n"),
    ] {
        let text = text.replace("{}", value);
        if json(&graph(&[(path, text.as_str())])).contains(value) {
            leaks.push(format!("{path}: {text:?}"));
        }
    }
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn pk_21_private_keys_are_not_extracted() {
    for kind in [
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let lines: String =
            (0..60).map(|number| format!("{RANDOM}{number:02}+/Zq8{RANDOM}\n")).collect();
        let key = format!("-----BEGIN {kind}-----\n{lines}-----END {kind}-----\n");
        for (path, text) in [
            ("README.md", format!("# A\n\n## Setup\n\n```\n{key}```\n")),
            ("README.md", format!("# A\n\n## Setup\n\n{key}")),
            ("src/a.py", format!("def a():\n    \"\"\"Signs with\n\n{key}\"\"\"\n")),
            ("src/a.rs", format!("/* FIXME: not this key\n{key}*/\npub fn a() {{}}\n")),
        ] {
            let graph = json(&graph(&[(path, text.as_str())]));
            assert!(
                !graph.contains("-----BEGIN") && !graph.contains(RANDOM),
                "{kind} in {path}: {graph}"
            );
            let file = extract(path, &text);
            assert!(
                !file.secret_lines.is_empty() || file.skip_reason.is_some(),
                "{kind} in {path}"
            );
        }
    }
}

#[test]
fn pk_21_secrets_in_names_are_not_extracted() {
    let secret = format!("ghp_{RANDOM}");
    for (path, text) in [
        ("src/a.rs", "pub fn @@() {}\n"),
        (
            "src/a.rs",
            "pub struct @@ {\n    pub field: u8,\n}\n\nimpl @@ {\n    pub fn method(&self) {}\n}\n",
        ),
        ("src/a.rs", "pub enum A {\n    @@,\n}\n"),
        ("src/a.py", "class @@:\n    def method(self):\n        return 1\n"),
        ("src/a.ts", "export const @@ = () => 1;\n"),
        ("src/@@.rs", "//! A file.\n\npub fn a() {}\n"),
        ("@@/a.rs", "pub fn a() {}\n"),
        ("docs/@@.md", "# A\n\nWords of it.\n"),
        ("docs/adr/@@.md", "# A\n\nWords of it.\n"),
        ("@@/package.json", "{ \"name\": \"a\" }\n"),
    ] {
        let (path, text) = (path.replace("@@", &secret), text.replace("@@", &secret));
        let files = [
            (path.as_str(), text.as_str()),
            ("lib/b.py", "def b():\n    return 1\n"),
            ("src/c.rs", "pub fn c() {}\n"),
        ];
        let graph = json(&graph(&files));
        assert!(!graph.contains(RANDOM), "{path}: {text:?}: {graph}");
    }
}

#[test]
fn pk_21_secrets_in_reverted_commits_are_not_extracted() {
    for (name, secret) in fake_secrets() {
        for (subject, body) in [
            (format!("Use {secret}"), "It broke.".into()),
            ("Use it".into(), format!("Key: `{secret}`")),
        ] {
            let files = vec!["src/a.rs".into()];
            let at = "2024-05-06T00:00:00Z".parse().unwrap();
            let history = CommitHistory::new(
                Default::default(),
                vec![RevertCommit { at, subject, body, files }],
            );
            let graph =
                json(&assemble(vec![extract("src/a.rs", "pub fn a() {}\n")], &history, OPTIONS));
            assert!(!graph.contains(&secret), "{name}: {graph}");
        }
    }
}

#[test]
fn pk_21_truncated_secrets_are_not_extracted() {
    let secret = format!("ghp_{RANDOM}");
    for length in 850..920 {
        let text = format!("// FIXME: {}{secret}\npub fn a() {{}}\n", "a,".repeat(length / 2));
        let graph = json(&graph(&[("src/a.rs", text.as_str())]));
        assert!(!graph.contains("ghp_k7"), "{length}");
    }
}

#[test]
fn pk_21_text_that_resembles_a_secret_is_kept() {
    let mut rejected = Vec::new();
    for (path, text) in [
        ("README.md", "# A\n\n## Setup\n\nSet `GITHUB_TOKEN=<your token>` first.\n"),
        ("README.md", "# A\n\n## Setup\n\nSet `API_KEY=$MY_KEY` and `password: ${DB_PASSWORD}`.\n"),
        (
            "README.md",
            "# A\n\n## Setup\n\nThe commit is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b.\n",
        ),
        (
            "README.md",
            "# A\n\n## Setup\n\nSee https://example.com/docs/getting-started?version=2#tokens.\n",
        ),
        ("README.md", "# A\n\n## Setup\n\nThe id is 123e4567-e89b-12d3-a456-426614174000.\n"),
        ("README.md", "# A\n\n## Tokens\n\nA token: it is given once. The secret: patience.\n"),
        ("README.md", "# A\n\n## Setup\n\nTokens are read from `~/.config/acme/token`.\n"),
        (
            "src/a.rs",
            "pub fn token(secret: &Secret, password: Option<String>) -> Token {\n    1\n}\n",
        ),
        (
            "src/a.py",
            "def login(user: str, password: str = None, token: str = \"\") -> Token:\n    return 1\n",
        ),
        ("src/a.ts", "export interface Login {\n  password: string;\n  token?: string;\n}\n"),
        ("src/a.ts", "export function login(password: string, token = getToken()): void {}\n"),
        (
            "src/a.go",
            "package a\n\n// Token is what a login gives.\nfunc Token(secret []byte) string { return \"\" }\n",
        ),
        ("src/A.java", "public class AbstractSingletonProxyFactoryBeanTokenProvider {\n}\n"),
        ("src/a.rs", "// SAFETY: the token is checked before it is used\npub fn a() {}\n"),
        (
            "package.json",
            "{\n  \"scripts\": {\n    \"deploy\": \"node deploy.js --token $TOKEN\"\n  }\n}\n",
        ),
        (
            "package.json",
            "{\n  \"dependencies\": {\n    \"token-types\": \"^6.0.0\",\n    \"cookie\": \"1.0.2\"\n  }\n}\n",
        ),
        (
            ".github/workflows/a.yml",
            "jobs:\n  a:\n    steps:\n      - run: deploy --token=${{ secrets.TOKEN }}\n",
        ),
        (
            "README.md",
            "# A\n\n## Setup\n\nStart it with `--tokenizer=gpt2-large --max-tokens=128000`.\n",
        ),
        ("SECURITY.md", "# Security\n\nNever commit a password: write to security@example.com.\n"),
    ] {
        let file = extract(path, text);
        if !file.secret_lines.is_empty() {
            rejected.push(format!("{path}: {text:?}"));
        }
    }
    assert!(rejected.is_empty(), "{} false positives:\n{}", rejected.len(), rejected.join("\n"));
}
