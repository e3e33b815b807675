//! Facts and policies in manifests and in the settings of tools.

use std::collections::BTreeSet;

use super::*;

/// Asserts kind, category and lines of each note, and that its text has these values in this order.
#[track_caller]
fn assert_notes(path: &str, text: &str, expected: &[(&str, &[&str])]) {
    let notes = extract(path, text).notes;
    let header = |note: &ExtractedNote| {
        format!("{}/{} {}-{}", note.kind, note.category, note.lines.first, note.lines.last)
    };
    let headers: Vec<String> = notes.iter().map(header).collect();
    let expected_headers: Vec<&str> = expected.iter().map(|(header, _)| *header).collect();
    assert_eq!(headers, expected_headers, "{path}");
    for (note, (header, values)) in notes.iter().zip(expected) {
        let mut rest = note.content.as_str();
        for value in *values {
            let Some((_, after)) = rest.split_once(value) else {
                panic!("{path}: {header} does not have `{value}` in: {}", note.content)
            };
            rest = after;
        }
    }
}

/// Returns the texts before the path, which differ between kinds of dependencies.
fn dependency_labels(path: &str, text: &str) -> BTreeSet<String> {
    let notes = extract(path, text).notes.into_iter().filter(|note| note.category == "stack");
    notes.filter_map(|note| Some(note.content.split_once('`')?.0.to_owned())).collect()
}

/// Asserts that no note of a file mentions one of these values.
#[track_caller]
fn assert_absent(path: &str, text: &str, values: &[&str]) {
    let notes = notes(path, text);
    for value in values {
        assert!(!notes.contains(value), "{path}: `{value}` in: {notes}");
    }
}

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
    assert_notes(
        "Cargo.toml",
        text,
        &[
            ("fact/stack 2-8", &["`crates/*`", "`xtask`", "2024", "1.85", "0.1.0"]),
            ("fact/stack 11-12", &["`Cargo.toml`", "serde 1", "toml 0.9"]),
            ("policy/lint 15-15", &["`unsafe_code` forbid"]),
            ("policy/lint 18-19", &["clippy", "`all` warn", "`unwrap_used` deny"]),
        ],
    );
    assert_absent("Cargo.toml", text, &["default-features", "priority", "resolver"]);
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
    let path = "crates/store/Cargo.toml";
    assert_notes(
        path,
        text,
        &[
            (
                "fact/layout 2-6",
                &["`acme-store`", "`crates/store`", "2024", "1.85", "Keeps values."],
            ),
            ("fact/stack 13-15", &["`crates/store/Cargo.toml`", "serde", "toml 0.9", "local"]),
            ("fact/stack 18-18", &["`crates/store/Cargo.toml`", "insta 1"]),
            ("fact/stack 21-21", &["`crates/store/Cargo.toml`", "cc 1"]),
            (
                "fact/configuration 9-10",
                &["`crates/store/Cargo.toml`", "\n- `default`: [zip]", "\n- `zip`: []"],
            ),
        ],
    );
    assert_absent(path, text, &["../local"]);
    assert_eq!(dependency_labels(path, text).len(), 3);
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
    assert_notes(
        "package.json",
        text,
        &[
            (
                "fact/layout 2-5",
                &["`@acme/cart`", ">=20", "Holds things.", "ES module", "pnpm@9.1.0"],
            ),
            (
                "fact/command 9-12",
                &["\n- `pnpm run build`: `tsc -b`", "\n- `pnpm run test`: `vitest run`"],
            ),
            ("fact/stack 13-15", &["`package.json`", "zod ^3.0.0"]),
            ("fact/stack 16-18", &["`package.json`", "vitest ^2.0.0"]),
            ("fact/layout 8-8", &["`packages/*`"]),
        ],
    );
    assert_eq!(dependency_labels("package.json", text).len(), 2);
}

#[test]
fn pk_21_typescript_settings() {
    let text =
        "{\n  \"compilerOptions\": {\n    \"target\": \"ES2022\",\n    \"strict\": true\n  }\n}\n";
    let expected: &[(&str, &[&str])] =
        &[("fact/configuration 2-5", &["`tsconfig.json`", "target ES2022", "strict true"])];
    assert_notes("tsconfig.json", text, expected);
}

#[test]
fn pk_21_typescript_settings_with_comments() {
    let text = "{\n  // The language.\n  \"compilerOptions\": {\n    \"strict\": true, /* always */\n  },\n}\n";
    assert_notes("tsconfig.json", text, &[("fact/configuration 3-5", &["strict true"])]);
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
    assert_notes(
        "pyproject.toml",
        text,
        &[
            (
                "fact/layout 6-17",
                &["`acme-ledger`", "Python >=3.11", "Books.", "`hatchling.build`"],
            ),
            ("fact/stack 9-12", &["`pyproject.toml`", "attrs>=23, rich"]),
            ("fact/stack 15-15", &["`dev`", "`pyproject.toml`", "pytest"]),
            ("fact/command 18-18", &["`pyproject.toml`", "\n- `ledger`", "`ledger.cli:main`"]),
            ("policy/lint 21-21", &["ruff", "line-length = 100"]),
        ],
    );
    let poetry = r#"[tool.poetry]
name = "ledger"
description = "Books"

[tool.poetry.dependencies]
python = "^3.11"
rich = { version = "^13", optional = true }

[tool.poetry.scripts]
ledger = "ledger.cli:main"
"#;
    assert_notes(
        "pyproject.toml",
        poetry,
        &[
            ("fact/layout 2-9", &["`ledger`", "Books"]),
            (
                "fact/stack 6-7",
                &["`pyproject.toml`", "python ^3.11, rich { optional = true, version = ^13 }"],
            ),
            ("fact/command 10-10", &["`pyproject.toml`", "\n- `ledger`", "`ledger.cli:main`"]),
        ],
    );
    let requirements = "# pinned\nflask==3.0.0  # web\n-r other.txt\n\nattrs>=23\n";
    let expected: &[(&str, &[&str])] =
        &[("fact/stack 1-5", &["`requirements.txt`", "flask==3.0.0, attrs>=23"])];
    assert_notes("requirements.txt", requirements, expected);
    assert_absent("requirements.txt", requirements, &["other.txt", "pinned", "web"]);
}

#[test]
fn pk_21_go_module() {
    let text = "module example.com/acme\n\ngo 1.23\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.0\n\tgolang.org/x/sys v0.20.0 // indirect\n)\n\nreplace a.b/c => ../c\n";
    assert_notes(
        "go.mod",
        text,
        &[
            ("fact/layout 1-3", &["`example.com/acme`", "Go 1.23"]),
            ("fact/stack 1-10", &["`go.mod`", "github.com/spf13/cobra v1.8.0"]),
        ],
    );
    assert_absent("go.mod", text, &["golang.org/x/sys", "a.b/c"]);
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
    assert_notes(
        "pom.xml",
        text,
        &[
            ("fact/layout 4-4", &["`com.acme:bank`", "Java 21", "Keeps money."]),
            ("fact/layout 6-9", &["`core`, `web`"]),
            ("fact/stack 13-19", &["`pom.xml`", "org.slf4j:slf4j-api 2.0.0"]),
        ],
    );
    let gradle = "plugins {\n    id(\"java\")\n    id 'application'\n}\n\ndependencies {\n    implementation(\"com.google.guava:guava:33.0\")\n    testImplementation 'junit:junit:4.13'\n}\n";
    let dependencies = "com.google.guava:guava:33.0, junit:junit:4.13";
    assert_notes(
        "build.gradle",
        gradle,
        &[
            ("fact/stack 1-9", &["java, application"]),
            ("fact/stack 7-8", &["`build.gradle`", dependencies]),
        ],
    );
}

#[test]
fn pk_21_container_images_and_services() {
    let text = "FROM rust:1.85 AS build\nRUN cargo build\nFROM debian:12\nEXPOSE 8080\nENTRYPOINT [\"/app\"]\nCMD [\"serve\"]\n";
    let values =
        ["`Dockerfile`", "rust:1.85 AS build", "debian:12", "8080", "[\"/app\"]", "[\"serve\"]"];
    assert_notes("Dockerfile", text, &[("fact/stack 1-6", &values)]);
    assert_absent("Dockerfile", text, &["cargo build"]);
    let compose =
        "services:\n  web:\n    build: .\n  db:\n    image: postgres:16\nvolumes:\n  a: {}\n";
    let expected: &[(&str, &[&str])] =
        &[("fact/stack 2-5", &["`compose.yaml`", "\n- `web`: ", "\n- `db`: `postgres:16`"])];
    assert_notes("compose.yaml", compose, expected);
    assert_absent("compose.yaml", compose, &["`a`"]);
}

#[test]
fn pk_21_make_and_just_targets() {
    let make = "CC := gcc\n.PHONY: all\nall: build ## Builds everything\n\n# Runs the tests.\ntest:\n\t@cargo test\n\nlint:\n\t-cargo clippy\n%.o: %.c\n\tcc\n";
    let values = [
        "`Makefile`",
        "\n- `make all`: Builds everything",
        "\n- `make test`: Runs the tests.",
        "\n- `make lint`: `cargo clippy`",
    ];
    assert_notes("Makefile", make, &[("fact/command 1-12", &values)]);
    assert_absent("Makefile", make, &["PHONY", "gcc", ".o"]);
    let just = "set shell := [\"bash\"]\n\n# Runs the tests.\ntest filter='':\n    cargo test {{filter}}\n\n_hidden:\n    true\n\n@lint: test\n    cargo clippy\n";
    let values =
        ["`justfile`", "\n- `just test`: Runs the tests.", "\n- `just lint`: `cargo clippy`"];
    assert_notes("justfile", just, &[("fact/command 1-11", &values)]);
    assert_absent("justfile", just, &["_hidden", "shell"]);
}

#[test]
fn pk_21_ci_commands() {
    let github = "name: CI\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: cargo test --locked\n      - name: Lint\n        run: |\n          # A comment.\n          cargo fmt --check\n          cargo clippy\n";
    let path = ".github/workflows/ci.yml";
    let values = [
        "CI",
        "`.github/workflows/ci.yml`",
        "\n- `cargo test --locked`",
        "\n- `cargo fmt --check; cargo clippy`",
    ];
    assert_notes(path, github, &[("fact/command 1-13", &values)]);
    assert_absent(path, github, &["A comment", "checkout"]);
    let gitlab = "stages: [test]\ntest:\n  script:\n    - make test\n    - make lint\nbuild:\n  script: make build\n";
    let values = ["`.gitlab-ci.yml`", "\n- `make test`", "\n- `make lint`", "\n- `make build`"];
    assert_notes(".gitlab-ci.yml", gitlab, &[("fact/command 1-7", &values)]);
}

#[test]
fn pk_21_tool_versions() {
    for (path, text, lines, versions) in [
        (
            "rust-toolchain.toml",
            "[toolchain]\nchannel = \"1.85\"\n",
            "fact/stack 1-2",
            "[toolchain], channel = \"1.85\"",
        ),
        (".nvmrc", "22\n", "fact/stack 1-1", "22"),
        (
            ".tool-versions",
            "# by asdf\nnodejs 22.1.0\npython 3.12\n",
            "fact/stack 1-3",
            "nodejs 22.1.0, python 3.12",
        ),
    ] {
        assert_notes(path, text, &[(lines, &[&format!("`{path}`"), versions])]);
    }
}

#[test]
fn pk_21_owners_lints_formats_and_licenses_are_policies() {
    let owners = "# Owners\n* @acme/all\n\n/src/core/ @ada @bob # core\n/docs\n";
    assert_notes(
        ".github/CODEOWNERS",
        owners,
        &[
            ("policy/ownership 2-2", &["`*`", "@acme/all"]),
            ("policy/ownership 4-4", &["`/src/core/`", "@ada, @bob"]),
        ],
    );
    let clippy = "msrv = \"1.85\"\ndisallowed-methods = [\n  { path = \"std::fs::write\", reason = \"use `atomic`\" },\n  \"std::env::var\",\n]\n";
    assert_notes(
        "clippy.toml",
        clippy,
        &[
            ("policy/lint 3-3", &["`std::fs::write`", "use `atomic`"]),
            ("policy/lint 1-5", &["clippy", "msrv = 1.85"]),
        ],
    );
    let editorconfig = "root = true\n\n# all\n[*]\nindent_size = 2\n";
    let settings = "\nroot = true\n[*]\nindent_size = 2";
    assert_notes(
        ".editorconfig",
        editorconfig,
        &[("policy/lint 1-5", &["`.editorconfig`", settings])],
    );
    let hooks = "repos:\n  - repo: https://example.com/a\n    hooks:\n      - id: ruff\n      - id: mypy\n  - repo: local\n    hooks:\n      - id: own\n";
    let expected: &[(&str, &[&str])] = &[("policy/lint 1-8", &["pre-commit", "ruff, mypy, own"])];
    assert_notes(".pre-commit-config.yaml", hooks, expected);
    let license = "MIT License\n\nCopyright (c) 2024 Acme\n";
    let notes = extract("LICENSE", license).notes;
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!((note.kind, note.lines.first, note.lines.last), ("fact", 1, 3));
    assert!(note.content.contains("`LICENSE`") && note.content.contains("MIT License"));
    assert_eq!(
        extract("vendored/LICENSE", "MIT License\n").notes,
        [],
        "a license of vendored code"
    );
    assert_notes(
        "rustfmt.toml",
        "max_width = 120\n",
        &[("policy/lint 1-1", &["`rustfmt.toml`", "max_width = 120"])],
    );
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
