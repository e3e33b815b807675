//! Malicious files are extracted in bounded time, with a small stack and little memory.

use std::time::{Duration, Instant};

use super::*;

/// Far longer than anything here takes, for slow machines and unoptimized builds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The stack size of a worker thread.
const STACK: usize = 2 * 1024 * 1024;
/// Just below the maximum size of a file.
const LARGE: usize = 1_000_000;
/// Large enough to detect quadratic time in tests with many inputs.
const MEDIUM: usize = 300_000;

/// Extracts and assembles files, in bounded time and on a small stack.
#[track_caller]
fn check_files(name: &str, files: Vec<(String, Vec<u8>)>) {
    let work = move || {
        let started = Instant::now();
        let extracts =
            files.iter().map(|(path, bytes)| extract_file(ExtractInput { path, bytes })).collect();
        let extracted =
            assemble(extracts, &CommitHistory::default(), AssembleOptions { level: 3, ..OPTIONS });
        assert!(extracted.graph.to_content_json().len() < 64 * LARGE);
        cpu_time().unwrap_or_else(|| started.elapsed())
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap();
    let elapsed = thread.join().unwrap_or_else(|_| panic!("{name}"));
    assert!(elapsed < TIMEOUT, "{name} took {elapsed:?}");
}

/// Returns the CPU time of this thread, which does not depend on other processes.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[track_caller]
fn check_file(path: &str, text: impl Into<Vec<u8>>) {
    let bytes = text.into();
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(30)]).into_owned();
    check_files(&format!("{path}: {start:?}"), vec![(path.into(), bytes)]);
}

/// Repeats a piece of text up to the maximum size, with enough line breaks that the file does not
/// count as minified.
fn repeated(piece: &str) -> String {
    let pieces = (LARGE / (piece.len() + 1)).max(1);
    let per_line = (150 / piece.len()).max(1);
    let mut text = String::with_capacity(LARGE + 64);
    for number in 0..pieces {
        text += piece;
        if number % per_line == per_line - 1 && !piece.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

const CODE: &[&str] = &["a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.java"];

/// Tests a repeated piece in every language.
#[track_caller]
fn check_all_languages(piece: &str) {
    CODE.iter().for_each(|path| check_file(path, repeated(piece)));
}

#[test]
fn a_million_open_parentheses() {
    check_all_languages("(");
}

#[test]
fn a_million_open_braces() {
    check_all_languages("{");
}

#[test]
fn a_million_open_brackets() {
    check_all_languages("[");
}

#[test]
fn long_paths() {
    check_all_languages("a.");
    check_file("a.rs", repeated("a::"));
}

#[test]
fn nested_generics() {
    check_all_languages("A<");
    check_file("a.rs", format!("type T = {};", repeated("A<")));
    check_file("a.ts", format!("type T = {};", repeated("A<")));
    check_file("A.java", format!("class A {{ {} }}", repeated("A<")));
}

#[test]
fn line_continuations() {
    check_all_languages("a\\\n");
    check_file("a.py", format!("x = 1{}", repeated(" + 1 \\\n")));
}

#[test]
fn nested_comments() {
    check_all_languages("/*");
    check_all_languages("/**/");
    check_all_languages("//");
    check_all_languages("#");
    check_file("a.rs", repeated("/* "));
}

#[test]
fn unterminated_strings() {
    check_all_languages("\"");
    check_all_languages("`");
    check_all_languages("'");
    check_file("a.py", repeated("\"\"\"\n"));
    check_file("a.py", format!("x = \"\"\"{}", repeated("a ")));
    check_file("a.rs", format!("const X: &str = r#\"{}", repeated("a ")));
    check_file("a.js", repeated("`${"));
}

#[test]
fn chained_operators_calls_and_ternaries() {
    check_all_languages("f(");
    check_all_languages("a+");
    check_all_languages("!");
    check_all_languages("a?");
    check_all_languages("a=>");
    check_all_languages("f().");
}

#[test]
fn balanced_nesting() {
    let depth = LARGE / 2 - 200;
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
        let half = |piece: &str| -> String {
            (0..depth)
                .map(|n| if n % 100 == 99 { format!("{piece}\n") } else { piece.to_owned() })
                .collect()
        };
        let text = format!("{}1{}", half(open), half(close));
        for path in CODE {
            check_file(path, &text[..text.len().min(LARGE)]);
        }
    }
}

#[test]
fn unclosed_nested_definitions() {
    check_file("a.rs", repeated("mod a {\n"));
    check_file("a.rs", repeated("fn a() {\n"));
    check_file("a.rs", repeated("impl A { fn a() {\n"));
    check_file("a.js", repeated("class A { a() {\n"));
    check_file("a.js", repeated("function a() {\n"));
    check_file("a.ts", repeated("namespace a {\n"));
    check_file("a.go", repeated("func a() {\n"));
    check_file("A.java", repeated("class A {\n"));
    check_file("A.java", repeated("class A { void a() {\n"));
}

#[test]
fn closed_nested_definitions() {
    let closed = |open: &str| {
        let depth = LARGE / (open.len() + 2);
        format!("{}{}", open.repeat(depth), "}\n".repeat(depth))
    };
    check_file("A.java", closed("class A {\n"));
    check_file("a.rs", closed("mod a {\n"));
    check_file("a.rs", closed("pub fn a() {\n"));
    check_file("a.ts", closed("namespace a {\n"));
    check_file("a.js", closed("function a() {\n"));
    check_file("a.go", closed("func a() {\n"));
    let python: String = (0..1_400).map(|n| format!("{}class A:\n", " ".repeat(n))).collect();
    check_file("a.py", python);
    let python: String = (0..1_400).map(|n| format!("{}if a:\n", " ".repeat(n))).collect();
    check_file("a.py", python);
}

#[test]
fn fifty_thousand_symbols_in_one_file() {
    let lines = |line: &dyn Fn(usize) -> String| (0..50_000).map(line).collect::<String>();
    check_file("a.rs", lines(&|n| format!("pub fn f{n}() {{}}\n")));
    check_file("a.py", lines(&|n| format!("def f{n}(): 1\n")));
    check_file("a.ts", lines(&|n| format!("function f{n}() {{}}\n")));
    check_file(
        "a.js",
        format!("{}module.exports = {{}}\n", lines(&|n| format!("function f{n}(){{}}\n"))),
    );
    check_file("a.go", lines(&|n| format!("func F{n}() {{}}\n")));
    check_file("A.java", format!("class A {{\n{}}}", lines(&|n| format!("void f{n}(){{}}\n"))));
}

#[test]
fn thirty_thousand_calls_between_symbols() {
    let lines = |line: &dyn Fn(usize) -> String| (0..30_000).map(line).collect::<String>();
    check_file("a.rs", lines(&|n| format!("pub fn f{n}() {{f{}()}}\n", n + 1)));
    check_file("a.py", lines(&|n| format!("def f{n}(): f{}()\n", n + 1)));
    check_file("a.js", lines(&|n| format!("function f{n}(){{f{}()}}\n", n + 1)));
    check_file("a.go", lines(&|n| format!("func F{n}(){{F{}()}}\n", n + 1)));
    check_file(
        "A.java",
        format!("class A {{\n{}}}", lines(&|n| format!("void f{n}(){{f{}();}}\n", n + 1))),
    );
}

#[test]
fn many_symbols_with_the_same_name() {
    check_file("a.rs", repeated("pub fn same() {}\n"));
    check_file("a.py", repeated("def same(): 1\n"));
    check_file("a.js", repeated("function same(){ same() }\n"));
    check_file("a.js", repeated("module.exports = function same(){}\n"));
    check_file("a.go", repeated("func Same() { Same() }\n"));
    check_file("A.java", format!("class A {{\n{}}}", repeated("public void same(){ same(); }\n")));
    check_file("a.rs", repeated("impl A { pub fn same() { A::same() } }\n"));
    let files =
        (0..2_000).map(|n| (format!("src/f{n}.py"), repeated_to("def same(): same()\n", 400)));
    check_files("2,000 files with 20 equal names each", files.collect());
}

fn repeated_to(piece: &str, size: usize) -> Vec<u8> {
    piece.repeat(size / piece.len()).into_bytes()
}

#[test]
fn many_symbols_on_one_long_line() {
    let long = "pub fn a(){} ".repeat(30_000);
    check_file("a.rs", format!("{long}\n{}", "//\n".repeat(4_000)));
    let long = "function a(){} ".repeat(30_000);
    check_file("a.js", format!("{long}\n{}", "//\n".repeat(4_000)));
}

#[test]
fn twenty_thousand_notes_in_one_file() {
    let lines = |line: &dyn Fn(usize) -> String| (0..20_000).map(line).collect::<String>();
    check_file("a.rs", lines(&|n| format!("// FIXME: it is broken in {n}\n\n")));
    check_file("a.rs", lines(&|n| format!("fn f{n}() {{ }} // FIXME: broken {n} ways\n")));
    check_file("a.sh", lines(&|n| format!("# FIXME: it is broken in {n}\n\n")));
    check_file("docs/a.md", lines(&|n| format!("# Title {n}\n\nSome words of it.\n\n")));
    check_file("docs/a.md", lines(&|n| format!("> [!WARNING]\n> Four words are {n}.\n\n")));
    check_file("docs/a.rst", lines(&|n| format!(".. warning:: four words are {n}\n\n")));
    check_file("CHANGELOG.md", lines(&|n| format!("## 1.{n}.0\n\n- Remove it\n\n")));
    check_file("CODEOWNERS", lines(&|n| format!("/a{n} @b\n")));
}

#[test]
fn markdown_bombs() {
    for piece in [
        "# a\n",
        "#\n",
        "a\n=\n",
        "> ",
        ">\n",
        "- ",
        "* a\n",
        "1. ",
        "[",
        "![",
        "](",
        "[a](",
        "[]()",
        "[a]: ",
        "*a ",
        "**",
        "_",
        "`",
        "``` ",
        "```\n",
        "~~~\n",
        "<",
        "<a ",
        "<!--",
        "<!-- ",
        "-->",
        "|",
        "|a|\n|-|\n",
        "\\",
        "&",
        "&amp",
        "a | b\n",
        "- a\n\n",
        "\t",
        "    a\n",
        "[^a]: ",
        "[^a]",
        "---\n",
        "> [!WARNING]\n",
        "> [!WARNING]\n> a b c d e\n",
        ".. warning::\n",
        "***a",
        "a**b",
        "<details>\n",
        "www.a.",
        "$$",
        "\u{301}",
        "```yaml\na: 1\n```\n# a\n",
    ] {
        for path in ["README.md", "CHANGELOG.md", "docs/adr/0001-a.md", "docs/a.rst"] {
            check_file(path, piece.repeat(MEDIUM / piece.len()));
        }
    }
}

#[test]
fn markdown_with_increasing_depth() {
    let staircase = |line: &dyn Fn(usize) -> String| (0..1_300).map(line).collect::<String>();
    check_file("README.md", staircase(&|n| format!("{}- a\n", " ".repeat(n))));
    check_file("README.md", staircase(&|n| format!("{}a\n", "> ".repeat(n / 2))));
    check_file("docs/a.rst", staircase(&|n| format!("{}.. warning::\n", " ".repeat(n))));
    check_file(
        "docs/a.rst",
        staircase(&|n| format!("{}.. warning:: a b c d e {n}\n", " ".repeat(n))),
    );
    check_file("README.md", staircase(&|n| format!("{}\n", "`".repeat(n))));
}

#[test]
fn toml_bombs() {
    for path in ["Cargo.toml", "pyproject.toml", "clippy.toml", "deny.toml"] {
        check_file(path, format!("a = {}", "[".repeat(LARGE)));
        check_file(path, format!("a = {}", "{a=".repeat(LARGE / 3)));
        check_file(path, format!("a = {}1{}", "[".repeat(LARGE / 2), "]".repeat(LARGE / 2)));
        check_file(path, format!("{}a = 1", "a.".repeat(LARGE / 2)));
        check_file(path, format!("[{}a]", "a.".repeat(LARGE / 2)));
        check_file(path, format!("[[{}a]]", "a.".repeat(LARGE / 2)));
        check_file(path, "[[a]]\n".repeat(LARGE / 6));
        check_file(path, "[a]\n".repeat(LARGE / 4));
        check_file(path, (0..60_000).map(|n| format!("a{n} = {n}\n")).collect::<String>());
        check_file(path, (0..40_000).map(|n| format!("[dependencies.a{n}]\n")).collect::<String>());
        check_file(path, format!("a = \"\"\"{}", "\"\"".repeat(LARGE / 2)));
        check_file(path, format!("a = {}", "9".repeat(LARGE)));
        let methods = (0..15_000)
            .map(|n| format!("  {{ path = \"a{n}\", reason = \"b\" }},\n"))
            .collect::<String>();
        check_file(path, format!("disallowed-methods = [\n{methods}]\n"));
    }
}

#[test]
fn json_bombs() {
    for path in ["package.json", "tsconfig.json", "biome.json"] {
        check_file(path, "[".repeat(LARGE));
        check_file(path, "{\"a\":".repeat(LARGE / 5));
        check_file(path, format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)));
        check_file(path, format!("{{\"name\":\"{}\"}}", "\\ud800\n".repeat(LARGE / 7)));
        check_file(path, "{\"name\":\"\\ud800\",\n\"description\":\"\\udc00\\ud800\"}");
        check_file(
            path,
            format!("{{\"scripts\":{{{}\"a\":\"b\"}}}}", "\"a\":\"b\",\n".repeat(LARGE / 10)),
        );
        check_file(
            path,
            format!("{{\"dependencies\":{{{}\"a\":\"b\"}}}}", "\"a\":\"b\",\n".repeat(LARGE / 10)),
        );
        check_file(path, format!("{{\"name\":{}}}", "9".repeat(1_500)));
    }
}

#[test]
fn yaml_bombs() {
    let laughs: String =
        std::iter::once("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n".to_owned())
            .chain(
                (1..12).map(|n| {
                    format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(","))
                }),
            )
            .collect();
    for path in
        ["compose.yaml", ".github/workflows/a.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"]
    {
        check_file(path, laughs.clone());
        check_file(path, format!("services:\n{}", laughs.replace("a", "  a")));
        check_file(path, "[".repeat(LARGE));
        check_file(path, "{a: ".repeat(LARGE / 4));
        check_file(path, "- ".repeat(LARGE / 2));
        check_file(path, "? ".repeat(LARGE / 2));
        check_file(path, "&a ".repeat(LARGE / 3));
        check_file(path, "a: &a [*a]\n");
        check_file(path, (0..1_300).map(|n| format!("{}a:\n", " ".repeat(n))).collect::<String>());
        check_file(path, format!("a: |\n{}", " b\n".repeat(LARGE / 3)));
        check_file(
            path,
            format!(
                "jobs:\n{}",
                (0..40_000).map(|n| format!("  a{n}: {{run: b}}\n")).collect::<String>()
            ),
        );
    }
}

#[test]
fn xml_bombs() {
    let laughs = "<!DOCTYPE p [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>\n";
    check_file("pom.xml", format!("{laughs}<project><artifactId>&c;</artifactId></project>"));
    assert_eq!(
        extract("pom.xml", format!("{laughs}<project><artifactId>&c;</artifactId></project>"))
            .notes,
        []
    );
    let outside = "<!DOCTYPE p [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><project><artifactId>&a;</artifactId></project>";
    assert_eq!(extract("pom.xml", outside).notes, []);
    check_file("pom.xml", "<a>\n".repeat(LARGE / 4));
    check_file("pom.xml", format!("{}{}", "<a>\n".repeat(LARGE / 9), "</a>\n".repeat(LARGE / 9)));
    check_file("pom.xml", format!("<project>{}</project>", "<a/>\n".repeat(LARGE / 5)));
    check_file(
        "pom.xml",
        format!("<project {}/>", (0..60_000).map(|n| format!("a{n}=\"\"\n")).collect::<String>()),
    );
    check_file(
        "pom.xml",
        format!(
            "<project {}/>",
            (0..40_000).map(|n| format!("xmlns:a{n}=\"b{n}\"\n")).collect::<String>()
        ),
    );
    check_file("pom.xml", "<![CDATA[\n".repeat(LARGE / 10));
    check_file("pom.xml", "<!--\n".repeat(LARGE / 5));
}

#[test]
fn plain_manifest_bombs() {
    for path in [
        "Makefile",
        "justfile",
        "Dockerfile",
        "requirements.txt",
        "go.mod",
        "build.gradle",
        ".editorconfig",
    ] {
        for piece in [
            "a:\n",
            "a: ",
            "#\n",
            "FROM a\n",
            "require a.b v1\n",
            "a\n",
            "implementation 'a'\n",
            "module a\n",
        ] {
            check_file(path, piece.repeat(MEDIUM / piece.len()));
        }
    }
}

/// Every supported kind of file.
const SUPPORTED: &[&str] = &[
    "a.rs",
    "a.py",
    "a.ts",
    "a.tsx",
    "a.js",
    "a.go",
    "A.java",
    "a.sh",
    "a.c",
    "a.sql",
    "README.md",
    "docs/a.rst",
    "docs/adr/0001-a.md",
    "CHANGELOG.md",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "requirements.txt",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "Dockerfile",
    "compose.yaml",
    "Makefile",
    "justfile",
    ".github/workflows/a.yml",
    "rust-toolchain",
    "CODEOWNERS",
    "clippy.toml",
    ".editorconfig",
    ".pre-commit-config.yaml",
    "LICENSE",
];

#[test]
fn unusual_bytes_in_every_kind_of_file() {
    for path in SUPPORTED {
        check_file(path, "");
        check_file(path, "\u{feff}");
        check_file(path, "\u{feff}# A\n\nWords of it.\n");
        check_file(path, "a\rb\rc\r".repeat(50_000));
        check_file(path, "\r\n".repeat(100_000));
        check_file(path, "a\n".repeat(100_000));
        check_file(path, vec![0xff; 300_000]);
        check_file(
            path,
            [b"# A\n\nWords \xff\xfe of it \xc3\x28.\n".as_slice(), b"fn a() {}\n"].concat(),
        );
        check_file(path, [b"# A\n".repeat(4_000).as_slice(), &[0; 500_000]].concat());
        check_file(path, "\u{2028}\u{85}\u{b}\u{c}".repeat(30_000));
        check_file(path, "🦀\u{200d}\u{301}\n".repeat(30_000));
        check_file(path, format!("{}\n", "word ".repeat(60_000)));
        check_file(path, "x".repeat(900_000));
    }
}

#[test]
fn pk_21_minified_huge_binary_and_generated_files_are_skipped() {
    let skip_reason = |path: &str, bytes: &[u8]| {
        extract_file(ExtractInput { path, bytes })
            .skip_reason
            .map(sp_analyze::extract::FileSkipReason::as_str)
    };
    assert_eq!(skip_reason("a.js", "var a=1;".repeat(60_000).as_bytes()), Some("minified"));
    assert_eq!(skip_reason("a.js", &vec![b'a'; 1024 * 1024 + 1]), Some("huge"));
    assert_eq!(skip_reason("a.js", b"a\0b"), Some("binary"));
    assert_eq!(skip_reason("a.js", &[0xff; 4_000]), Some("binary"));
    assert_eq!(
        skip_reason("a.go", b"// Code generated by protoc. DO NOT EDIT.\npackage a\n"),
        Some("generated")
    );
    assert_eq!(
        skip_reason("docs/a.md", b"<!-- This file is generated. -->\n# A\n\nWords.\n"),
        Some("generated")
    );
    assert_eq!(skip_reason("a.js", b"let a = 1;\n"), None);
    assert_eq!(
        skip_reason("README.md", format!("# A\n\n{}\n", "word ".repeat(2_000)).as_bytes()),
        None,
        "one paragraph per line"
    );
}

#[test]
fn pk_21_files_with_syntax_errors_are_extracted_partially() {
    for (path, text, name) in [
        ("a.rs", "pub fn before() {}\n\nfn ((( {\n\npub fn after() {}\n", "before"),
        ("a.py", "def before():\n    pass\n\nclass (((:\n", "before"),
        ("a.ts", "export function before() {}\n\nexport class {{{\n", "before"),
        ("a.go", "package a\n\nfunc Before() {}\n\nfunc ((( {\n", "Before"),
        (
            "A.java",
            "public class A {\n    public void before() {}\n    public void ((( {\n}\n",
            "A.before",
        ),
    ] {
        let extracted = graph(&[(path, text)]);
        let keys: Vec<Value> =
            nodes_as_json(&extracted).iter().map(|node| node["key"].clone()).collect();
        assert!(keys.contains(&Value::from(name)), "{path}: {keys:?}");
    }
}

/// Without a limit on the parser's steps, each of these takes gigabytes.
#[test]
fn pk_21_ambiguous_code_does_not_exhaust_memory() {
    let bombs = [
        ("a.py", "/ * / * \n"),
        ("a.py", "/*/*/ *\n"),
        ("A.java", "A <A <A \n"),
        ("a.ts", "a <b <c \n"),
        ("a.js", "( a , [ \n"),
        ("a.go", "a { b [ \n"),
    ];
    for (path, unit) in bombs {
        for size in [4_000, 40_000, 400_000] {
            check_file(path, unit.repeat(size / unit.len()));
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    assert!(peak.is_none_or(|peak| peak < 3_000_000), "peak memory of all tests: {peak:?} kB");
}
