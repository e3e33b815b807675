//! Facts and policies in manifests and in the settings of tools.

use insta::assert_snapshot;

use super::*;

#[test]
fn pk_21_cargo_workspace_with_lints() {
    let text = r#"[workspace]
members = ["crates/*", "xtask"]
resolver = "3"

[workspace.package]
version = "0.1.0"
edition = "2024"
rust-version = "1.85"

[workspace.dependencies]
serde = "1"
toml = { version = "0.9", default-features = false }

[workspace.lints.rust]
unsafe_code = "forbid"

[workspace.lints.clippy]
all = { level = "warn", priority = -1 }
unwrap_used = "deny"
"#;
    assert_snapshot!(notes("Cargo.toml", text), @"
    fact/stack 2-8: A Cargo workspace; its crates are in `crates/*`, `xtask`. They share edition 2024, rust-version 1.85, version 0.1.0.
    fact/stack 11-12: Dependencies that its crates may use of `Cargo.toml`: serde 1, toml 0.9
    policy/lint 15-15: Lints of rust: `unsafe_code` forbid.
    policy/lint 18-19: Lints of clippy: `all` warn, `unwrap_used` deny.
    ");
}

#[test]
fn pk_21_crate_with_features() {
    let text = r#"[package]
name = "acme-store"
version = "0.1.0"
edition = "2024"
rust-version = "1.85"
description = "Keeps values."

[features]
default = ["zip"]
zip = []

[dependencies]
serde = { workspace = true }
toml = "0.9"
local = { path = "../local" }

[dev-dependencies]
insta = "1"

[build-dependencies]
cc = "1"
"#;
    assert_snapshot!(notes("crates/store/Cargo.toml", text), @"
    fact/layout 2-6: `acme-store` in `crates/store` is a Rust crate (edition 2024, at least Rust 1.85): Keeps values.
    fact/stack 13-15: Dependencies of `crates/store/Cargo.toml`: serde, toml 0.9, local
    fact/stack 18-18: Dependencies of the tests of `crates/store/Cargo.toml`: insta 1
    fact/stack 21-21: Dependencies of the build script of `crates/store/Cargo.toml`: cc 1
    fact/configuration 9-10: Features of `crates/store/Cargo.toml`:⏎- `default`: [zip]⏎- `zip`: []
    ");
}

#[test]
fn pk_21_node_package() {
    let text = r#"{
  "name": "@acme/cart",
  "version": "1.0.0",
  "description": "Holds things.",
  "type": "module",
  "packageManager": "pnpm@9.1.0",
  "engines": { "node": ">=20" },
  "workspaces": ["packages/*"],
  "scripts": {
    "build": "tsc -b",
    "test": "vitest run"
  },
  "dependencies": {
    "zod": "^3.0.0"
  },
  "devDependencies": {
    "vitest": "^2.0.0"
  }
}
"#;
    assert_snapshot!(notes("package.json", text), @"
    fact/layout 2-5: `@acme/cart` is a package for Node (>=20): Holds things. Its files are ES modules. Packages come by pnpm@9.1.0.
    fact/command 9-12: Commands:⏎- `pnpm run build`: `tsc -b`⏎- `pnpm run test`: `vitest run`
    fact/stack 13-15: Dependencies of `package.json`: zod ^3.0.0
    fact/stack 16-18: Dependencies of development of `package.json`: vitest ^2.0.0
    fact/layout 8-8: A workspace of packages; they are in `packages/*`.
    ");
}

#[test]
fn pk_21_typescript_settings() {
    let text =
        "{\n  \"compilerOptions\": {\n    \"target\": \"ES2022\",\n    \"strict\": true\n  }\n}\n";
    assert_snapshot!(notes("tsconfig.json", text), @"fact/configuration 2-5: TypeScript (`tsconfig.json`): target ES2022, strict true.");
}

#[test]
fn pk_21_typescript_settings_with_comments() {
    let text = "{\n  // The language.\n  \"compilerOptions\": {\n    \"strict\": true, /* always */\n  },\n}\n";
    assert!(notes("tsconfig.json", text).contains("strict true"));
}

#[test]
fn pk_21_python_packages() {
    let text = r#"[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "acme-ledger"
description = "Books."
requires-python = ">=3.11"
dependencies = [
  "attrs>=23",
  "rich",
]

[project.optional-dependencies]
dev = ["pytest"]

[project.scripts]
ledger = "ledger.cli:main"

[tool.ruff]
line-length = 100
"#;
    assert_snapshot!(notes("pyproject.toml", text), @"
    fact/layout 6-17: `acme-ledger` is a Python package (Python >=3.11): Books. It is built by `hatchling.build`.
    fact/stack 9-12: Dependencies of `pyproject.toml`: attrs>=23, rich
    fact/stack 15-15: Dependencies for `dev` of `pyproject.toml`: pytest
    fact/command 18-18: Commands that `pyproject.toml` installs:⏎- `ledger` runs `ledger.cli:main`
    policy/lint 21-21: Settings of ruff: line-length = 100.
    ");
    let poetry = r#"[tool.poetry]
name = "ledger"
description = "Books"

[tool.poetry.dependencies]
python = "^3.11"
rich = { version = "^13", optional = true }

[tool.poetry.scripts]
ledger = "ledger.cli:main"
"#;
    assert_snapshot!(notes("pyproject.toml", poetry), @"
    fact/layout 2-9: `ledger` is a Python package: Books.
    fact/stack 6-7: Dependencies of `pyproject.toml`: python ^3.11, rich { optional = true, version = ^13 }
    fact/command 10-10: Commands that `pyproject.toml` installs:⏎- `ledger` runs `ledger.cli:main`
    ");
    assert_snapshot!(notes("requirements.txt", "# pinned\nflask==3.0.0  # web\n-r other.txt\n\nattrs>=23\n"), @"fact/stack 1-5: Dependencies of `requirements.txt`: flask==3.0.0, attrs>=23");
}

#[test]
fn pk_21_go_module() {
    let text = "module example.com/acme\n\ngo 1.23\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.0\n\tgolang.org/x/sys v0.20.0 // indirect\n)\n\nreplace a.b/c => ../c\n";
    assert_snapshot!(notes("go.mod", text), @"
    fact/layout 1-3: `example.com/acme` is a Go module (Go 1.23).
    fact/stack 1-10: Dependencies of `go.mod`: github.com/spf13/cobra v1.8.0
    ");
}

#[test]
fn pk_21_maven_and_gradle_projects() {
    let text = "<?xml version=\"1.0\"?>
<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <groupId>com.acme</groupId>
  <artifactId>bank</artifactId>
  <description>Keeps money.</description>
  <modules>
    <module>core</module>
    <module>web</module>
  </modules>
  <properties>
    <java.version>21</java.version>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-api</artifactId>
      <version>2.0.0</version>
    </dependency>
  </dependencies>
</project>
";
    assert_snapshot!(notes("pom.xml", text), @"
    fact/layout 4-4: `com.acme:bank` is a Maven project (Java 21): Keeps money.
    fact/layout 6-9: Modules: `core`, `web`.
    fact/stack 13-19: Dependencies of `pom.xml`: org.slf4j:slf4j-api 2.0.0
    ");
    let gradle = "plugins {\n    id(\"java\")\n    id 'application'\n}\n\ndependencies {\n    implementation(\"com.google.guava:guava:33.0\")\n    testImplementation 'junit:junit:4.13'\n}\n";
    assert_snapshot!(notes("build.gradle", gradle), @"
    fact/stack 1-9: A Gradle build with the plugins java, application.
    fact/stack 7-8: Dependencies of `build.gradle`: com.google.guava:guava:33.0, junit:junit:4.13
    ");
}

#[test]
fn pk_21_container_images_and_services() {
    let text = "FROM rust:1.85 AS build\nRUN cargo build\nFROM debian:12\nEXPOSE 8080\nENTRYPOINT [\"/app\"]\nCMD [\"serve\"]\n";
    assert_snapshot!(notes("Dockerfile", text), @r#"fact/stack 1-6: The image of `Dockerfile` is built from rust:1.85 AS build, then debian:12. It listens on 8080. It starts ["/app"]. Its command is ["serve"]."#);
    let compose =
        "services:\n  web:\n    build: .\n  db:\n    image: postgres:16\nvolumes:\n  a: {}\n";
    assert_snapshot!(notes("compose.yaml", compose), @"fact/stack 2-5: Services of `compose.yaml`:⏎- `web`: built here⏎- `db`: `postgres:16`");
}

#[test]
fn pk_21_make_and_just_targets() {
    let make = "CC := gcc\n.PHONY: all\nall: build ## Builds everything\n\n# Runs the tests.\ntest:\n\t@cargo test\n\nlint:\n\t-cargo clippy\n%.o: %.c\n\tcc\n";
    assert_snapshot!(notes("Makefile", make), @"fact/command 1-12: Commands of `Makefile`:⏎- `make all`: Builds everything⏎- `make test`: Runs the tests.⏎- `make lint`: `cargo clippy`");
    let just = "set shell := [\"bash\"]\n\n# Runs the tests.\ntest filter='':\n    cargo test {{filter}}\n\n_hidden:\n    true\n\n@lint: test\n    cargo clippy\n";
    assert_snapshot!(notes("justfile", just), @"fact/command 1-11: Commands of `justfile`:⏎- `just test`: Runs the tests.⏎- `just lint`: `cargo clippy`");
}

#[test]
fn pk_21_ci_commands() {
    let github = "name: CI\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: cargo test --locked\n      - name: Lint\n        run: |\n          # A comment.\n          cargo fmt --check\n          cargo clippy\n";
    assert_snapshot!(notes(".github/workflows/ci.yml", github), @"fact/command 1-13: CI (`.github/workflows/ci.yml`) runs:⏎- `cargo test --locked`⏎- `cargo fmt --check; cargo clippy`");
    let gitlab = "stages: [test]\ntest:\n  script:\n    - make test\n    - make lint\nbuild:\n  script: make build\n";
    assert_snapshot!(notes(".gitlab-ci.yml", gitlab), @"fact/command 1-7: `.gitlab-ci.yml` runs:⏎- `make test`⏎- `make lint`⏎- `make build`");
}

#[test]
fn pk_21_tool_versions() {
    assert_snapshot!(notes("rust-toolchain.toml", "[toolchain]\nchannel = \"1.85\"\n"), @r#"fact/stack 1-2: Versions of tools (`rust-toolchain.toml`): [toolchain], channel = "1.85""#);
    assert_snapshot!(notes(".nvmrc", "22\n"), @"fact/stack 1-1: Versions of tools (`.nvmrc`): 22");
    assert_snapshot!(notes(".tool-versions", "# by asdf\nnodejs 22.1.0\npython 3.12\n"), @"fact/stack 1-3: Versions of tools (`.tool-versions`): nodejs 22.1.0, python 3.12");
}

#[test]
fn pk_21_owners_lints_formats_and_licenses_are_policies() {
    assert_snapshot!(notes(".github/CODEOWNERS", "# Owners\n* @acme/all\n\n/src/core/ @ada @bob # core\n/docs\n"), @"
    policy/ownership 2-2: Changes to `*` need the review of @acme/all.
    policy/ownership 4-4: Changes to `/src/core/` need the review of @ada, @bob.
    ");
    let clippy = "msrv = \"1.85\"\ndisallowed-methods = [\n  { path = \"std::fs::write\", reason = \"use `atomic`\" },\n  \"std::env::var\",\n]\n";
    assert_snapshot!(notes("clippy.toml", clippy), @"
    policy/lint 3-3: `std::fs::write` may not be called: use `atomic`.
    policy/lint 1-5: Settings of clippy: msrv = 1.85.
    ");
    assert_snapshot!(notes(".editorconfig", "root = true\n\n# all\n[*]\nindent_size = 2\n"), @"policy/lint 1-5: Settings in `.editorconfig`:⏎root = true⏎[*]⏎indent_size = 2");
    let hooks = "repos:\n  - repo: https://example.com/a\n    hooks:\n      - id: ruff\n      - id: mypy\n  - repo: local\n    hooks:\n      - id: own\n";
    assert_snapshot!(notes(".pre-commit-config.yaml", hooks), @"policy/lint 1-8: Before every commit pre-commit runs: ruff, mypy, own.");
    assert_snapshot!(notes("LICENSE", "MIT License\n\nCopyright (c) 2024 Acme\n"), @"fact/licence 1-3: The licence in `LICENSE` is MIT License.");
    assert_eq!(
        extract("vendored/LICENSE", "MIT License\n").notes,
        [],
        "a license of vendored code"
    );
    assert_snapshot!(notes("rustfmt.toml", "max_width = 120\n"), @"policy/lint 1-1: Settings in `rustfmt.toml`:⏎max_width = 120");
}

#[test]
fn pk_21_invalid_manifests_have_no_notes() {
    for path in [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "pom.xml",
        "compose.yaml",
        ".github/workflows/a.yml",
        "clippy.toml",
    ] {
        for text in ["", "{", "[[[", "a: b: c: [", "<a", "\u{0}", "name = ", "null", "[]", "1"] {
            assert_eq!(extract(path, text).notes, [], "{path}: {text:?}");
        }
    }
}
