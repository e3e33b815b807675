//! The span of a finding covers exactly the text that it is about, in any context.

use std::ops::Range;

use proptest::prelude::*;
use sp_formats::report::Report;
use sp_formats::skill::{check_references, references};
use sp_formats::{config, pack, skill};
use sp_tree::Limits;

/// Returns the rule and the text of each finding.
fn spans(text: &str, report: &Report) -> Vec<(&'static str, String)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.check.id, text[finding.span.clone().unwrap()].to_owned()))
        .collect()
}

fn spans_in_skill(text: &str) -> Vec<(&'static str, String)> {
    spans(text, &skill::read("SKILL.md", "a", text.as_bytes(), &Limits::default()).1)
}

fn spans_in_pack(text: &str) -> Vec<(&'static str, String)> {
    let (pack, mut report) = pack::read_partial("packs/a.yaml", text, &Limits::default());
    if let Some(pack) = pack {
        pack::report_advisories(&pack, &mut report);
    }
    spans(text, &report)
}

fn spans_in_config(text: &str) -> Vec<(&'static str, String)> {
    spans(text, &config::read("config.yaml", text, &Limits::default()).1)
}

/// Texts, each with the rules and the texts of its findings.
type Cases<'a> = &'a [(&'a str, &'a [(&'a str, &'a str)])];

fn assert_spans(read: impl Fn(&str) -> Vec<(&'static str, String)>, cases: Cases<'_>) {
    for (text, expected) in cases {
        let spans = read(text);
        let spans: Vec<(&str, &str)> =
            spans.iter().map(|(rule, token)| (*rule, token.as_str())).collect();
        assert_eq!(spans, *expected, "in {text:?}");
    }
}

#[test]
fn as_02_value_spans_exclude_comments_and_whitespace() {
    assert_spans(
        spans_in_skill,
        &[
            // Comments, blanks and tabs.
            ("---\n# one\nname: B # two\n# three\ndescription: x\n---\n", &[("AS-02", "B")]),
            ("---\nname:    B   \t \ndescription: x\n---\n", &[("AS-02", "B")]),
            ("---\nname:\tB\t# two\ndescription: x\n---\n", &[("AS-02", "B")]),
            ("---  \n\n\nname: B\ndescription: x\n---\n", &[("AS-02", "B")]),
            // Quotes are part of the value.
            ("---\nname: \"B\"\ndescription: x\n---\n", &[("AS-02", "\"B\"")]),
            (
                "---\n'name': 'B''s'\n\"description\": \"x: \\\"y\\\"\"\n---\n",
                &[("AS-02", "'B''s'")],
            ),
            ("---\nname: b\n  c\ndescription: x\n---\n", &[("AS-02", "b\n  c")]),
            // Windows line endings, a byte-order mark, leading blank lines.
            ("---\r\nname: B\r\ndescription: x\r\n---\r\n", &[("AS-02", "B")]),
            (
                "\u{feff}---\nname: B\ndescription: x\n---\n",
                &[("AS-01", "\u{feff}"), ("AS-02", "B")],
            ),
            (
                "\r\n \n---\r\nname: B\r\ndescription: x\r\n---\r\n",
                &[("AS-01", "\r\n \n"), ("AS-02", "B")],
            ),
            (
                "\u{feff}\n---\nname: B\ndescription: x\n---\n",
                &[("AS-01", "\u{feff}"), ("AS-01", "\n"), ("AS-02", "B")],
            ),
            // Multi-byte characters before and in the value.
            (
                "---\n# 整理 🙂\nlicense: Größe\nname: é日🙂\ndescription: x\n---\n",
                &[("AS-02", "é日🙂")],
            ),
            (
                "---\nname: a\ndescription: x\nmetadata:\n  größe: 1.5 # é\n---\n",
                &[("AS-02", "1.5")],
            ),
        ],
    );
}

#[test]
fn as_02_spans_after_multiline_scalars_are_exact() {
    let scalars = [
        "description: >\n  folded: é\n\n  more\n",
        "description: >-\n  folded\n    indented # no comment\n",
        "description: |\n  literal: \"x\n  ---\n",
        "description: |+\n  kept\n\n\n",
        "description: |2-\n    é\n",
        "description: plain\n  over\n\n  lines\n",
        "description: 'single\n\n  quoted: ''é'''\n",
        "description: \"double \\\n  quoted: \\u00e9 \\\"\"\n",
        "description: \"a line of\n---\n  dashes\"\n",
        "description: 'two lines of\n---\n  dashes\n---\n  in it'\n",
        "? description\n: x\n",
        "description: x\nlicense: {a: [b, {c: d}]}\n",
    ];
    let invalid_lines = [
        ("name: B # c\n", "B"),
        ("name: a\nmetadata:\n  - 1\n\n", "- 1"),
        ("name: a\nversoin: 1\n", "versoin"),
    ];
    for scalar in scalars {
        for (line, token) in invalid_lines {
            for line_ending in ["\n", "\r\n"] {
                let text = format!("---\n{scalar}{line}---\nbody\n").replace('\n', line_ending);
                let spans = spans_in_skill(&text);
                let is_token = |span: &&(&str, String)| span.1 == token;
                assert_eq!(
                    spans.iter().filter(is_token).count(),
                    1,
                    "{token} in {text:?}: {spans:?}"
                );
                // A mapping is also invalid as a license.
                let others = usize::from(scalar.contains('{'));
                assert_eq!(spans.len(), 1 + others, "{text:?}: {spans:?}");
            }
        }
    }
}

#[test]
fn as_02_alias_spans_cover_the_alias() {
    assert_spans(
        spans_in_skill,
        &[
            (
                "---\nname: a\ndescription: x\nmetadata:\n  v: &v 1.0\n  w: *v # again\n---\n",
                &[("AS-02", "1.0"), ("AS-02", "*v")],
            ),
            ("---\nname: &n B\ndescription: *n\n---\n", &[("AS-02", "B")]),
            ("---\ndescription: &d B\nname: *d\n---\n", &[("AS-02", "*d")]),
            (
                "---\nname: a\ndescription: x\nmetadata: {v: &v 1, w: *v}\n---\n",
                &[("AS-03", "{v: &v 1, w: *v}"), ("AS-02", "1"), ("AS-02", "*v")],
            ),
        ],
    );
}

#[test]
fn as_03_spans_cover_complete_flow_collections() {
    assert_spans(
        spans_in_skill,
        &[
            ("---\nname: a\ndescription: x\nmetadata: {a: b} # é\n---\n", &[("AS-03", "{a: b}")]),
            (
                "---\nname: a\ndescription: x\nmetadata: {\"é}\": 'b]'}\r\n---\n",
                &[("AS-03", "{\"é}\": 'b]'}")],
            ),
            (
                "---\nname: a\ndescription: x\ntags: [b,\"c\" , [d]]\n---\n",
                &[("AS-05", "tags"), ("AS-03", "[b,\"c\" , [d]]")],
            ),
        ],
    );
}

#[test]
fn as_04_spans_of_unquoted_values_are_exact() {
    assert_spans(
        spans_in_skill,
        &[
            ("---\nname: a\ndescription: b: c # d\n---\n", &[("AS-04", "b: c")]),
            ("---\nname: a\ndescription:   b: it's 'c' \n---\n", &[("AS-04", "b: it's 'c'")]),
            ("---\r\nname: a\r\ndescription: b: é\r\n---\r\n", &[("AS-04", "b: é")]),
            ("---\nname: a\ndescription: b: c\n  d: e\n---\n", &[("AS-04", "b: c\n  d: e")]),
            ("---\nname: a\ndescription: @b\n---\n", &[("AS-04", "@b")]),
            ("---\nname: a\ndescription: \"b\" c\n---\n", &[("AS-04", "\"b\" c")]),
        ],
    );
}

#[test]
fn as_04_spans_after_unquoted_values_are_exact() {
    assert_spans(
        spans_in_skill,
        &[
            (
                "---\ndescription: b: it's 'c'\nname: B\n---\n",
                &[("AS-04", "b: it's 'c'"), ("AS-02", "B")],
            ),
            (
                "---\ndescription: [é] ü: 'ö'\r\n# '\r\nname: B\r\n---\n",
                &[("AS-04", "[é] ü: 'ö'"), ("AS-02", "B")],
            ),
            (
                "---\ndescription: b: c\nname: B\ncompatibility: d: e\nmodel: f\nmetadata:\n  n: 1\n---\n",
                &[
                    ("AS-04", "b: c"),
                    ("AS-02", "B"),
                    ("AS-04", "d: e"),
                    ("AS-05", "model"),
                    ("AS-02", "1"),
                ],
            ),
            (
                "\u{feff}---\ndescription: b: c\nname: B\n---\n",
                &[("AS-01", "\u{feff}"), ("AS-04", "b: c"), ("AS-02", "B")],
            ),
        ],
    );
}

#[test]
fn as_05_key_spans_include_quotes() {
    assert_spans(
        spans_in_skill,
        &[
            ("---\nname: a\ndescription: x\nversion: 1\n---\n", &[("AS-05", "version")]),
            ("---\nname: a\n\"ver sion\" : 1\ndescription: x\n---\n", &[("AS-05", "\"ver sion\"")]),
            ("---\nname: a\n'größe': 1\r\ndescription: x\n---\n", &[("AS-05", "'größe'")]),
            (
                "---\n{name: a, description: x, größe: 1}\n---\n",
                &[("AS-03", "{name: a, description: x, größe: 1}"), ("AS-05", "größe")],
            ),
            ("---\n? größe\n: 1\nname: a\ndescription: x\n---\n", &[("AS-05", "größe")]),
        ],
    );
}

#[test]
fn as_01_yaml_errors_point_to_the_invalid_token() {
    for (text, token) in [
        ("---\nname: a\nname: b\ndescription: x\n---\n", "name: b"),
        ("---\n# é\nname: a\ndescription: x\nmetadata:\n\tb: c\n---\n", "b: c"),
        ("---\r\nname: a\r\ndescription: x\r\nmetadata:\r\n  é: *b\r\n---\r\n", "*b"),
    ] {
        let (_, report) = skill::read("SKILL.md", "a", text.as_bytes(), &Limits::default());
        let [finding] = &report.findings[..] else {
            unreachable!("one finding in {text:?}: {:?}", report.findings)
        };
        assert!(
            text[finding.span.clone().unwrap().start..].starts_with(token),
            "{finding:?} in {text:?}"
        );
    }
}

#[test]
fn sp_11_spans_in_packs_are_exact() {
    assert_spans(
        spans_in_pack,
        &[
            ("# é\nname: a\ninclde: [b]\n", &[("SP-11", "inclde")]),
            ("\u{feff}name: a\r\n'inclde': [b]\r\n", &[("SP-11", "'inclde'")]),
            (
                "name: a\ninclude: [b]\nexclude:\n  - \"/é\" # c\n  - /d\n",
                &[("SP-33", "\"/é\""), ("SP-33", "/d")],
            ),
            ("{name: a, include: [./b, c/]}", &[("SP-33", "./b"), ("SP-33", "c/")]),
            ("name: a\ninclude: [&x b/, *x]\n", &[("SP-33", "b/"), ("SP-33", "*x")]),
            (
                "name: a\ninclude: [b]\ninstall:\n  sep: '/'\t# c\n  flatten: \"yes\"\n",
                &[("SP-13", "'/'"), ("SP-13", "\"yes\"")],
            ),
            (
                "name: >-\n  ä\n\nimports:\n- repo: ext::é\n  include: ['**']\n",
                &[("SP-08", "ext::é")],
            ),
            ("name: a\nimports:\n- include: [b]\n  repo: \"./é\" # c\n", &[("SP-10", "\"./é\"")]),
            ("name: a\nname: b\n", &[("SP-11", "name")]),
            ("name: a\ninclude: [b]\n--- # é\nname: b\n", &[("SP-11", "---")]),
        ],
    );
}

#[test]
fn sp_28_spans_in_configs_are_exact() {
    assert_spans(
        spans_in_config,
        &[
            ("# é\nsink: {}\n", &[("SP-28", "sink")]),
            ("sinks: {é: \"b\", c: ~/d, e: f}\r\n", &[("SP-27", "\"b\""), ("SP-27", "f")]),
            ("limits:\r\n  # é\r\n  depth: many # c\r\n", &[("SE-04", "many")]),
        ],
    );
}

/// Some lines of frontmatter.
#[derive(Debug, Clone)]
struct Piece {
    lines: String,
    /// The invalid token in them, with the rule that it violates.
    invalid: Option<(&'static str, String)>,
}

fn piece(lines: impl Into<String>) -> Piece {
    Piece { lines: lines.into(), invalid: None }
}

fn invalid_piece(before: &str, rule: &'static str, token: &str, after: &str) -> Piece {
    Piece { lines: format!("{before}{token}{after}\n"), invalid: Some((rule, token.into())) }
}

/// Words that YAML reads as text in any position.
fn words() -> impl Strategy<Value = String> {
    "[a-zé日🙂][a-zäöü整理]{0,6}( [a-zé🙂]{1,6}){0,3}".prop_map(|words| words.trim_end().to_owned())
}

/// A valid value, in one of the forms of YAML. The last three forms do not occur together with an
/// unquoted description.
fn value(forms: Range<usize>) -> impl Strategy<Value = String> {
    (words(), words(), forms).prop_map(|(first, second, form)| match form {
        0 => format!("x{first}"),
        1 => format!("'{first}: ''{second}'''"),
        2 => format!("\"{first}: \\\"{second}\\\"\""),
        3 => format!(">\n  {first}: {second}\n\n  {second}"),
        4 => format!("|-\n  {first}: \"{second}\n    # {second}"),
        5 => format!("{first}\n  {second}"),
        6 => format!("&anchor x{first} # {second}"),
        7 => format!("'{first} # ''{second}'''"),
        8 => format!("\"{first} # \\\"{second}\\\"\""),
        _ => format!("\"{first}\n---\n  {second}\""),
    })
}

fn comment() -> impl Strategy<Value = Piece> {
    prop_oneof![words().prop_map(|words| piece(format!("# {words}: \"'[\n"))), Just(piece("\n"))]
}

/// A description that should be quoted.
fn unquoted() -> impl Strategy<Value = Piece> {
    (words(), words(), prop::bool::ANY).prop_map(|(first, second, comment)| {
        invalid_piece(
            "description: ",
            "AS-04",
            &format!("{first}: it's {second}"),
            if comment { " # it's" } else { "" },
        )
    })
}

/// Valid fields, and a description that is valid or should be quoted.
fn fields() -> impl Strategy<Value = Vec<Piece>> {
    let field = |name: &'static str, forms| {
        value(forms).prop_map(move |value| piece(format!("{name}: {value}\n")))
    };
    prop_oneof![
        (field("description", 0..10), field("license", 0..10), field("compatibility", 0..10)),
        (unquoted(), field("license", 0..7), field("compatibility", 0..7)),
    ]
    .prop_map(|(description, license, compatibility)| vec![description, license, compatibility])
}

/// Lines with one invalid token.
fn invalid_lines() -> impl Strategy<Value = Piece> {
    let name = ("[A-Z][xzé日]{1,5}", 0..3).prop_map(|(name, form)| match form {
        0 => invalid_piece("name: ", "AS-02", &name, " # 'B'"),
        1 => invalid_piece("\"name\": ", "AS-02", &format!("'{name}''s'"), ""),
        _ => invalid_piece("'name' : ", "AS-02", &format!("\"{name}\""), "\t# B"),
    });
    let field = ("x[a-zé]{6,9}", words(), prop::bool::ANY).prop_map(|(key, value, quoted)| {
        let token = if quoted { format!("\"{key} {value}\"") } else { key };
        invalid_piece("name: a\n", "AS-05", &token, &format!(": '{value}'"))
    });
    let number = (words(), "[0-9]{1,3}(\\.[0-9]{1,2})?|true|No|0x[0-9a-f]{1,3}").prop_map(
        |(text, token)| {
            invalid_piece(
                &format!("name: a\nmetadata:\n  größe: '{text}'\n  # {text}\n  n: "),
                "AS-02",
                &token,
                " # 1",
            )
        },
    );
    let braces = words().prop_map(|text| {
        invalid_piece("name: a\nmetadata: ", "AS-03", &format!("{{é: '{text}'}}"), " # {}")
    });
    prop_oneof![name, field, number, braces]
}

/// A complete `SKILL.md`, and its invalid tokens in order.
fn skill_file() -> impl Strategy<Value = (String, Vec<(&'static str, String)>)> {
    let layout = (prop::bool::ANY, prop::bool::ANY);
    (invalid_lines(), fields(), prop::collection::vec(comment(), 0..4), layout)
        .prop_flat_map(|(invalid, fields, comments, layout)| {
            let pieces: Vec<Piece> = fields.into_iter().chain(comments).chain([invalid]).collect();
            (Just(pieces).prop_shuffle(), Just(layout))
        })
        .prop_map(|(pieces, (windows, bom))| {
            let lines: String = pieces.iter().map(|piece| piece.lines.as_str()).collect();
            let text = format!("---\n{lines}---\n# Body\n");
            let text = if windows { text.replace('\n', "\r\n") } else { text };
            let mark = bom.then(|| ("AS-01", "\u{feff}".to_owned()));
            let tokens = mark
                .into_iter()
                .chain(pieces.into_iter().filter_map(|piece| piece.invalid))
                .collect();
            (format!("{}{text}", if bom { "\u{feff}" } else { "" }), tokens)
        })
}

/// A body with words, code and links, and the targets of the broken links.
fn body() -> impl Strategy<Value = (String, Vec<String>)> {
    prop::collection::vec((words(), "[a-zé]{1,6}", 0..6_usize), 1..6).prop_map(|parts| {
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(number, (words, leaf, form))| {
            body_part(&words, format!("{leaf}-{number}.md"), form)
        });
        let (texts, missing): (Vec<String>, Vec<Option<String>>) = parts.unzip();
        (texts.concat(), missing.into_iter().flatten().collect())
    })
}

/// A part of a body, and the target of its link, if it has one.
fn body_part(words: &str, missing: String, form: usize) -> (String, Option<String>) {
    match form {
        0 => (format!("{words} [{words}]({missing})\n\n"), Some(missing)),
        1 => (format!("- ![{words}](<{missing}>) {words}\n\n"), Some(missing)),
        2 => (
            format!("[{missing}][] {words}\n\n[{missing}]: {missing} \"{words}\"\n\n"),
            Some(missing),
        ),
        3 => (format!("`[{words}]({missing})` {words}\n\n"), None),
        4 => (format!("```\n[{words}]({missing})\n```\n\n"), None),
        _ => (format!("> {words}\n> [{words}](https://example.com/{missing})\n\n"), None),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn as_02_spans_cover_exactly_the_invalid_tokens((text, tokens) in skill_file()) {
        prop_assert_eq!(spans_in_skill(&text), tokens, "in {}", text);
    }

    #[test]
    fn as_07_spans_cover_exactly_the_broken_links((body, missing) in body(), windows in prop::bool::ANY) {
        let text = format!("---\nname: a\ndescription: x\n---\n{body}");
        let text = if windows { text.replace('\n', "\r\n") } else { text };
        let start = text.len() - if windows { body.replace('\n', "\r\n").len() } else { body.len() };
        let mut report = Report::new("SKILL.md", text.as_str());
        check_references(&references(&text, start), sp_formats::skill::ReferencingFile::SkillMd, &[], &|_| false, &mut report);
        let mut spans: Vec<String> = spans(&text, &report).into_iter().map(|(_, target)| target).collect();
        let mut missing = missing;
        spans.sort();
        missing.sort();
        prop_assert_eq!(spans, missing, "in {}", text);
    }
}
