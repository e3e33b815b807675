//! Files that are there to hurt: each is over soon, on a small stack, and says what can be said of
//! it.

use std::time::{Duration, Instant};

use super::*;

/// Far longer than anything here takes, for busy machines without optimisation.
const PATIENCE: Duration = Duration::from_secs(10);
/// As much as a thread of the pool has.
const STACK: usize = 2 * 1024 * 1024;
/// Just below what is still read.
const LARGE: usize = 1_000_000;
/// Large enough to show what grows with the square of its size, where there are many of a kind.
const HALF: usize = 300_000;

/// Reads files and ties them together, soon and on a small stack.
#[track_caller]
fn survives(what: &str, files: Vec<(String, Vec<u8>)>) {
    let work = move || {
        let started = Instant::now();
        let found =
            files.iter().map(|(path, bytes)| extract_file(ExtractInput { path, bytes })).collect();
        let extracted =
            assemble(found, &CommitHistory::default(), AssembleOptions { level: 3, ..ROOMY });
        assert!(extracted.graph.to_content_json().len() < 64 * LARGE);
        on_processor().unwrap_or_else(|| started.elapsed())
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap();
    let took = thread.join().unwrap_or_else(|_| panic!("{what}"));
    assert!(took < PATIENCE, "{what} took {took:?}");
}

/// How long this thread was on a processor: what else a machine does is no matter.
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[track_caller]
fn endures(path: &str, text: impl Into<Vec<u8>>) {
    let bytes = text.into();
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(30)]).into_owned();
    survives(&format!("{path}: {start:?}"), vec![(path.into(), bytes)]);
}

/// A piece of text again and again, as often as it fits; with an end of line so often that it is no
/// minified file.
fn filled(piece: &str) -> String {
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

/// One piece in files of every language.
#[track_caller]
fn endures_everywhere(piece: &str) {
    CODE.iter().for_each(|path| endures(path, filled(piece)));
}

#[test]
fn a_million_open_parentheses() {
    endures_everywhere("(");
}

#[test]
fn a_million_open_braces() {
    endures_everywhere("{");
}

#[test]
fn a_million_open_brackets() {
    endures_everywhere("[");
}

#[test]
fn a_path_without_end() {
    endures_everywhere("a.");
    endures("a.rs", filled("a::"));
}

#[test]
fn generics_in_generics() {
    endures_everywhere("A<");
    endures("a.rs", format!("type T = {};", filled("A<")));
    endures("a.ts", format!("type T = {};", filled("A<")));
    endures("A.java", format!("class A {{ {} }}", filled("A<")));
}

#[test]
fn lines_that_go_on_behind_a_backslash() {
    endures_everywhere("a\\\n");
    endures("a.py", format!("x = 1{}", filled(" + 1 \\\n")));
}

#[test]
fn comments_in_comments() {
    endures_everywhere("/*");
    endures_everywhere("/**/");
    endures_everywhere("//");
    endures_everywhere("#");
    endures("a.rs", filled("/* "));
}

#[test]
fn strings_without_an_end() {
    endures_everywhere("\"");
    endures_everywhere("`");
    endures_everywhere("'");
    endures("a.py", filled("\"\"\"\n"));
    endures("a.py", format!("x = \"\"\"{}", filled("a ")));
    endures("a.rs", format!("const X: &str = r#\"{}", filled("a ")));
    endures("a.js", filled("`${"));
}

#[test]
fn operators_calls_and_ternaries_in_a_row() {
    endures_everywhere("f(");
    endures_everywhere("a+");
    endures_everywhere("!");
    endures_everywhere("a?");
    endures_everywhere("a=>");
    endures_everywhere("f().");
}

#[test]
fn balanced_nesting() {
    let depth = LARGE / 2 - 200;
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
        let half = |piece: &str| -> String {
            (0..depth)
                .map(|at| if at % 100 == 99 { format!("{piece}\n") } else { piece.to_owned() })
                .collect()
        };
        let text = format!("{}1{}", half(open), half(close));
        for path in CODE {
            endures(path, &text[..text.len().min(LARGE)]);
        }
    }
}

#[test]
fn definitions_in_definitions() {
    endures("a.rs", filled("mod a {\n"));
    endures("a.rs", filled("fn a() {\n"));
    endures("a.rs", filled("impl A { fn a() {\n"));
    endures("a.js", filled("class A { a() {\n"));
    endures("a.js", filled("function a() {\n"));
    endures("a.ts", filled("namespace a {\n"));
    endures("a.go", filled("func a() {\n"));
    endures("A.java", filled("class A {\n"));
    endures("A.java", filled("class A { void a() {\n"));
}

#[test]
fn definitions_in_definitions_that_all_end() {
    let closed = |open: &str| {
        let depth = LARGE / (open.len() + 2);
        format!("{}{}", open.repeat(depth), "}\n".repeat(depth))
    };
    endures("A.java", closed("class A {\n"));
    endures("a.rs", closed("mod a {\n"));
    endures("a.rs", closed("pub fn a() {\n"));
    endures("a.ts", closed("namespace a {\n"));
    endures("a.js", closed("function a() {\n"));
    endures("a.go", closed("func a() {\n"));
    let python: String = (0..1_400).map(|at| format!("{}class A:\n", " ".repeat(at))).collect();
    endures("a.py", python);
    let python: String = (0..1_400).map(|at| format!("{}if a:\n", " ".repeat(at))).collect();
    endures("a.py", python);
}

#[test]
fn fifty_thousand_symbols_in_one_file() {
    let lines = |line: &dyn Fn(usize) -> String| (0..50_000).map(line).collect::<String>();
    endures("a.rs", lines(&|at| format!("pub fn f{at}() {{}}\n")));
    endures("a.py", lines(&|at| format!("def f{at}(): 1\n")));
    endures("a.ts", lines(&|at| format!("function f{at}() {{}}\n")));
    endures(
        "a.js",
        format!("{}module.exports = {{}}\n", lines(&|at| format!("function f{at}(){{}}\n"))),
    );
    endures("a.go", lines(&|at| format!("func F{at}() {{}}\n")));
    endures("A.java", format!("class A {{\n{}}}", lines(&|at| format!("void f{at}(){{}}\n"))));
}

#[test]
fn every_symbol_calls_another() {
    let lines = |line: &dyn Fn(usize) -> String| (0..30_000).map(line).collect::<String>();
    endures("a.rs", lines(&|at| format!("pub fn f{at}() {{f{}()}}\n", at + 1)));
    endures("a.py", lines(&|at| format!("def f{at}(): f{}()\n", at + 1)));
    endures("a.js", lines(&|at| format!("function f{at}(){{f{}()}}\n", at + 1)));
    endures("a.go", lines(&|at| format!("func F{at}(){{F{}()}}\n", at + 1)));
    endures(
        "A.java",
        format!("class A {{\n{}}}", lines(&|at| format!("void f{at}(){{f{}();}}\n", at + 1))),
    );
}

#[test]
fn a_name_that_everything_has() {
    endures("a.rs", filled("pub fn same() {}\n"));
    endures("a.py", filled("def same(): 1\n"));
    endures("a.js", filled("function same(){ same() }\n"));
    endures("a.js", filled("module.exports = function same(){}\n"));
    endures("a.go", filled("func Same() { Same() }\n"));
    endures("A.java", format!("class A {{\n{}}}", filled("public void same(){ same(); }\n")));
    endures("a.rs", filled("impl A { pub fn same() { A::same() } }\n"));
    let files =
        (0..2_000).map(|at| (format!("src/f{at}.py"), filled_to("def same(): same()\n", 400)));
    survives("2,000 files with 20 twins each", files.collect());
}

fn filled_to(piece: &str, size: usize) -> Vec<u8> {
    piece.repeat(size / piece.len()).into_bytes()
}

#[test]
fn symbols_on_one_long_line_among_many_short_ones() {
    let long = "pub fn a(){} ".repeat(30_000);
    endures("a.rs", format!("{long}\n{}", "//\n".repeat(4_000)));
    let long = "function a(){} ".repeat(30_000);
    endures("a.js", format!("{long}\n{}", "//\n".repeat(4_000)));
}

#[test]
fn twenty_thousand_notes_in_one_file() {
    let lines = |line: &dyn Fn(usize) -> String| (0..20_000).map(line).collect::<String>();
    endures("a.rs", lines(&|at| format!("// FIXME: it is broken in {at}\n\n")));
    endures("a.rs", lines(&|at| format!("fn f{at}() {{ }} // FIXME: broken {at} ways\n")));
    endures("a.sh", lines(&|at| format!("# FIXME: it is broken in {at}\n\n")));
    endures("docs/a.md", lines(&|at| format!("# Title {at}\n\nSome words of it.\n\n")));
    endures("docs/a.md", lines(&|at| format!("> [!WARNING]\n> Four words are {at}.\n\n")));
    endures("docs/a.rst", lines(&|at| format!(".. warning:: four words are {at}\n\n")));
    endures("CHANGELOG.md", lines(&|at| format!("## 1.{at}.0\n\n- Remove it\n\n")));
    endures("CODEOWNERS", lines(&|at| format!("/a{at} @b\n")));
}

#[test]
fn bombs_of_markdown() {
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
            endures(path, piece.repeat(HALF / piece.len()));
        }
    }
}

#[test]
fn markdown_that_is_ever_deeper() {
    let staircase = |line: &dyn Fn(usize) -> String| (0..1_300).map(line).collect::<String>();
    endures("README.md", staircase(&|at| format!("{}- a\n", " ".repeat(at))));
    endures("README.md", staircase(&|at| format!("{}a\n", "> ".repeat(at / 2))));
    endures("docs/a.rst", staircase(&|at| format!("{}.. warning::\n", " ".repeat(at))));
    endures(
        "docs/a.rst",
        staircase(&|at| format!("{}.. warning:: a b c d e {at}\n", " ".repeat(at))),
    );
    endures("README.md", staircase(&|at| format!("{}\n", "`".repeat(at))));
}

#[test]
fn bombs_of_toml() {
    for path in ["Cargo.toml", "pyproject.toml", "clippy.toml", "deny.toml"] {
        endures(path, format!("a = {}", "[".repeat(LARGE)));
        endures(path, format!("a = {}", "{a=".repeat(LARGE / 3)));
        endures(path, format!("a = {}1{}", "[".repeat(LARGE / 2), "]".repeat(LARGE / 2)));
        endures(path, format!("{}a = 1", "a.".repeat(LARGE / 2)));
        endures(path, format!("[{}a]", "a.".repeat(LARGE / 2)));
        endures(path, format!("[[{}a]]", "a.".repeat(LARGE / 2)));
        endures(path, "[[a]]\n".repeat(LARGE / 6));
        endures(path, "[a]\n".repeat(LARGE / 4));
        endures(path, (0..60_000).map(|at| format!("a{at} = {at}\n")).collect::<String>());
        endures(path, (0..40_000).map(|at| format!("[dependencies.a{at}]\n")).collect::<String>());
        endures(path, format!("a = \"\"\"{}", "\"\"".repeat(LARGE / 2)));
        endures(path, format!("a = {}", "9".repeat(LARGE)));
        let methods = (0..15_000)
            .map(|at| format!("  {{ path = \"a{at}\", reason = \"b\" }},\n"))
            .collect::<String>();
        endures(path, format!("disallowed-methods = [\n{methods}]\n"));
    }
}

#[test]
fn bombs_of_json() {
    for path in ["package.json", "tsconfig.json", "biome.json"] {
        endures(path, "[".repeat(LARGE));
        endures(path, "{\"a\":".repeat(LARGE / 5));
        endures(path, format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)));
        endures(path, format!("{{\"name\":\"{}\"}}", "\\ud800\n".repeat(LARGE / 7)));
        endures(path, "{\"name\":\"\\ud800\",\n\"description\":\"\\udc00\\ud800\"}");
        endures(
            path,
            format!("{{\"scripts\":{{{}\"a\":\"b\"}}}}", "\"a\":\"b\",\n".repeat(LARGE / 10)),
        );
        endures(
            path,
            format!("{{\"dependencies\":{{{}\"a\":\"b\"}}}}", "\"a\":\"b\",\n".repeat(LARGE / 10)),
        );
        endures(path, format!("{{\"name\":{}}}", "9".repeat(1_500)));
    }
}

#[test]
fn bombs_of_yaml() {
    let laughs: String =
        std::iter::once("a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n".to_owned())
            .chain((1..12).map(|at| {
                format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 9].join(","))
            }))
            .collect();
    for path in
        ["compose.yaml", ".github/workflows/a.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"]
    {
        endures(path, laughs.clone());
        endures(path, format!("services:\n{}", laughs.replace("a", "  a")));
        endures(path, "[".repeat(LARGE));
        endures(path, "{a: ".repeat(LARGE / 4));
        endures(path, "- ".repeat(LARGE / 2));
        endures(path, "? ".repeat(LARGE / 2));
        endures(path, "&a ".repeat(LARGE / 3));
        endures(path, "a: &a [*a]\n");
        endures(path, (0..1_300).map(|at| format!("{}a:\n", " ".repeat(at))).collect::<String>());
        endures(path, format!("a: |\n{}", " b\n".repeat(LARGE / 3)));
        endures(
            path,
            format!(
                "jobs:\n{}",
                (0..40_000).map(|at| format!("  a{at}: {{run: b}}\n")).collect::<String>()
            ),
        );
    }
}

#[test]
fn bombs_of_xml() {
    let laughs = "<!DOCTYPE p [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>\n";
    endures("pom.xml", format!("{laughs}<project><artifactId>&c;</artifactId></project>"));
    assert_eq!(
        one("pom.xml", format!("{laughs}<project><artifactId>&c;</artifactId></project>")).notes,
        []
    );
    let outside = "<!DOCTYPE p [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><project><artifactId>&a;</artifactId></project>";
    assert_eq!(one("pom.xml", outside).notes, []);
    endures("pom.xml", "<a>\n".repeat(LARGE / 4));
    endures("pom.xml", format!("{}{}", "<a>\n".repeat(LARGE / 9), "</a>\n".repeat(LARGE / 9)));
    endures("pom.xml", format!("<project>{}</project>", "<a/>\n".repeat(LARGE / 5)));
    endures(
        "pom.xml",
        format!("<project {}/>", (0..60_000).map(|at| format!("a{at}=\"\"\n")).collect::<String>()),
    );
    endures(
        "pom.xml",
        format!(
            "<project {}/>",
            (0..40_000).map(|at| format!("xmlns:a{at}=\"b{at}\"\n")).collect::<String>()
        ),
    );
    endures("pom.xml", "<![CDATA[\n".repeat(LARGE / 10));
    endures("pom.xml", "<!--\n".repeat(LARGE / 5));
}

#[test]
fn bombs_of_plain_manifests() {
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
            endures(path, piece.repeat(HALF / piece.len()));
        }
    }
}

/// Every kind of file that is read.
const EVERY: &[&str] = &[
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
fn strange_bytes_in_every_kind_of_file() {
    for path in EVERY {
        endures(path, "");
        endures(path, "\u{feff}");
        endures(path, "\u{feff}# A\n\nWords of it.\n");
        endures(path, "a\rb\rc\r".repeat(50_000));
        endures(path, "\r\n".repeat(100_000));
        endures(path, "a\n".repeat(100_000));
        endures(path, vec![0xff; 300_000]);
        endures(
            path,
            [b"# A\n\nWords \xff\xfe of it \xc3\x28.\n".as_slice(), b"fn a() {}\n"].concat(),
        );
        endures(path, [b"# A\n".repeat(4_000).as_slice(), &[0; 500_000]].concat());
        endures(path, "\u{2028}\u{85}\u{b}\u{c}".repeat(30_000));
        endures(path, "🦀\u{200d}\u{301}\n".repeat(30_000));
        endures(path, format!("{}\n", "word ".repeat(60_000)));
        endures(path, "x".repeat(900_000));
    }
}

#[test]
fn pk_21_what_nobody_wrote_is_known_and_named() {
    let noise = |path: &str, bytes: &[u8]| {
        extract_file(ExtractInput { path, bytes })
            .skip_reason
            .map(sp_analyze::extract::FileSkipReason::as_str)
    };
    assert_eq!(noise("a.js", "var a=1;".repeat(60_000).as_bytes()), Some("minified"));
    assert_eq!(noise("a.js", &vec![b'a'; 1024 * 1024 + 1]), Some("huge"));
    assert_eq!(noise("a.js", b"a\0b"), Some("binary"));
    assert_eq!(noise("a.js", &[0xff; 4_000]), Some("binary"));
    assert_eq!(
        noise("a.go", b"// Code generated by protoc. DO NOT EDIT.\npackage a\n"),
        Some("generated")
    );
    assert_eq!(
        noise("docs/a.md", b"<!-- This file is generated. -->\n# A\n\nWords.\n"),
        Some("generated")
    );
    assert_eq!(noise("a.js", b"let a = 1;\n"), None);
    assert_eq!(
        noise("README.md", format!("# A\n\n{}\n", "word ".repeat(2_000)).as_bytes()),
        None,
        "a paragraph a line"
    );
}

#[test]
fn pk_21_a_file_with_syntax_errors_still_gives_what_can_be_read() {
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
        let keys: Vec<Value> = values(&extracted).iter().map(|node| node["key"].clone()).collect();
        assert!(keys.contains(&Value::from(name)), "{path}: {keys:?}");
    }
}

/// Blanks among them make them look like code; without a bound on the parser's steps each takes
/// gigabytes.
#[test]
fn pk_21_what_is_made_to_confuse_a_parser_takes_little_memory() {
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
            endures(path, unit.repeat(size / unit.len()));
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    assert!(
        peak.is_none_or(|peak| peak < 3_000_000),
        "{peak:?} kB at the most, all tests together"
    );
}
