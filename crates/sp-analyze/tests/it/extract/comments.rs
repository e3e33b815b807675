//! Warnings in comments.

use super::*;

/// Extracts the warnings of a file with their lines.
fn warnings(path: &str, text: &str) -> Vec<String> {
    let line = |note: &ExtractedNote| {
        format!(
            "{}-{} {}: {}",
            note.lines.first,
            note.lines.last,
            note.category,
            on_one_line(&note.content)
        )
    };
    extract(path, text).notes.iter().filter(|note| note.kind == "gotcha").map(line).collect()
}

#[test]
fn pk_21_all_warning_markers_are_recognized() {
    for (marker, category) in [
        ("FIXME", "defect"),
        ("BUG", "defect"),
        ("XXX", "defect"),
        ("HACK", "workaround"),
        ("WORKAROUND", "workaround"),
        ("WARNING", "warning"),
        ("WARN", "warning"),
        ("CAUTION", "warning"),
        ("DANGER", "warning"),
        ("GOTCHA", "warning"),
        ("PITFALL", "warning"),
        ("IMPORTANT", "warning"),
        ("INVARIANT", "invariant"),
        ("SAFETY", "invariant"),
    ] {
        let text = format!("// {marker}: the list is never empty\nfn a() {{}}\n");
        assert_eq!(
            warnings("a.rs", &text),
            [format!("1-1 {category}: {marker}: the list is never empty")]
        );
        let text = format!("// {marker}(ada): the list is never empty\nfn a() {{}}\n");
        assert_eq!(
            warnings("a.rs", &text),
            [format!("1-1 {category}: {marker}: the list is never empty")]
        );
        let text = format!("// {marker}(ada, 2024-05-06): the list is never empty\nfn a() {{}}\n");
        assert_eq!(
            warnings("a.rs", &text),
            [format!("1-1 {category}: {marker}: the list is never empty")]
        );
    }
    let note = "// NOTE: this is a longer remark about something that one should know\n";
    assert_eq!(warnings("a.rs", note).len(), 1);
    assert_eq!(warnings("a.rs", "// NOTE: a short remark\n"), [""; 0]);
}

#[test]
fn pk_21_markers_are_found_in_all_comment_styles() {
    for (path, text) in [
        ("a.rs", "@@// FIXME: it is broken here\n"),
        ("a.rs", "@@/* FIXME: it is broken here */\n"),
        ("a.rs", "@@/// FIXME: it is broken here\n@@fn a() {}\n"),
        ("a.py", "@@# FIXME: it is broken here\n"),
        ("a.ts", "@@/** FIXME: it is broken here */\n"),
        ("a.tsx", "@@// FIXME: it is broken here\n"),
        ("a.js", "@@/* FIXME: it is broken here */\n"),
        ("a.go", "@@// FIXME: it is broken here\n"),
        ("A.java", "@@/* FIXME: it is broken here */\n"),
        ("a.sh", "@@# FIXME: it is broken here\n"),
        ("a.yaml", "@@# FIXME: it is broken here\n"),
        ("Dockerfile", "@@# FIXME: it is broken here\n"),
        ("Makefile", "@@# FIXME: it is broken here\n"),
        ("a.c", "@@// FIXME: it is broken here\n"),
        ("a.c", "@@/* FIXME: it is broken here */\n"),
        ("a.c", "@@/*\n@@ * FIXME: it is broken here */\n"),
        ("a.kt", "@@// FIXME: it is broken here\n"),
        ("a.sql", "@@-- FIXME: it is broken here\n"),
        ("a.lua", "@@-- FIXME: it is broken here\n"),
        ("a.ini", "@@; FIXME: it is broken here\n"),
        ("bin/run", "#!/bin/sh\n@@# FIXME: it is broken here\n"),
    ] {
        for indent in ["", "  "] {
            let text = text.replace("@@", indent);
            let line = text.lines().position(|line| line.contains("FIXME")).unwrap() + 1;
            assert_eq!(
                warnings(path, &text),
                [format!("{line}-{line} defect: FIXME: it is broken here")],
                "{path}: {text:?}"
            );
        }
    }
}

#[test]
fn pk_21_markers_in_strings_are_ignored() {
    for (path, text) in [
        ("a.rs", "const A: &str = \"// FIXME: it is broken here\";\n"),
        ("a.rs", "const A: &str = \"\n// FIXME: it is broken here\n\";\n"),
        ("a.py", "A = '# FIXME: it is broken here'\n"),
        ("a.py", "A = '''\n# FIXME: it is broken here\n'''\n"),
        ("a.ts", "const a = `\n// FIXME: it is broken here\n`;\n"),
        ("a.go", "package a\n\nvar a = `\n// FIXME: it is broken here\n`\n"),
        ("A.java", "class A { String a = \"// FIXME: it is broken here\"; }\n"),
    ] {
        assert_eq!(warnings(path, text), [""; 0], "{path}: {text:?}");
    }
}

#[test]
fn pk_21_warnings_extend_to_the_end_of_the_paragraph() {
    let text = "\
// An introduction.
// SAFETY: the pointer is valid
// because nobody else has it.
//
// Something else.
// FIXME: it is broken here
// HACK: and worked around there
fn a() {} // BUG: on this line only
let b = 1;
// not about it
";
    assert_eq!(
        warnings("a.rs", text),
        [
            "2-3 invariant: SAFETY: the pointer is valid because nobody else has it.",
            "6-6 defect: FIXME: it is broken here",
            "7-7 workaround: HACK: and worked around there",
            "8-8 defect: BUG: on this line only",
        ]
    );
    let block =
        "/*\n * WARNING: not for two\n * threads at once.\n *\n * More of it.\n */\nclass A {}\n";
    assert_eq!(warnings("A.java", block), ["2-3 warning: WARNING: not for two threads at once."]);
}

#[test]
fn pk_21_other_comments_are_ignored() {
    for text in [
        "// fixme: it is broken here\n",
        "// FIXME\n",
        "// FIXME: no\n",
        "// FIXMES: it is broken here\n",
        "// A FIXME: in the middle of it\n",
        "// TODO: write more of it\n",
    ] {
        assert_eq!(warnings("a.rs", text), [""; 0], "{text}");
    }
}

#[test]
fn pk_21_warnings_are_linked_to_the_enclosing_symbol() {
    let project = "
== src/a.rs
// FIXME: of the whole file here

pub fn a() {
    // FIXME: of the first function
}

pub struct B;

impl B {
    pub fn c() {
        let x = || {
            // FIXME: of the method deep inside
        };
    }
}
";
    let edges = edges(&graph(&files(project)));
    let warnings: Vec<&str> = edges.lines().filter(|edge| edge.contains("gotcha")).collect();
    assert_eq!(
        warnings,
        [
            "a.rs#B.c -contains-> src/a.rs:12 gotcha",
            "a.rs#a -contains-> src/a.rs:4 gotcha",
            "src/a.rs -contains-> src/a.rs:1 gotcha",
        ]
    );
}
