//! The bytes of a finding, cut from the file, are exactly the text that it is about, whatever
//! stands before it.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ops::Range;

use proptest::prelude::*;
use sp_formats::report::Report;
use sp_formats::skill::{check_references, references};
use sp_formats::{config, pack, skill};
use sp_tree::Limits;

/// Rule and cut text of everything that was found.
fn cuts(text: &str, report: &Report) -> Vec<(&'static str, String)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.check.id, text[finding.span.clone().unwrap()].to_owned()))
        .collect()
}

fn in_skill(text: &str) -> Vec<(&'static str, String)> {
    cuts(text, &skill::read("SKILL.md", "a", text.as_bytes(), &Limits::default()).1)
}

fn in_pack(text: &str) -> Vec<(&'static str, String)> {
    let (pack, mut report) = pack::read_partial("packs/a.yaml", text, &Limits::default());
    if let Some(pack) = pack {
        pack::report_advisories(&pack, &mut report);
    }
    cuts(text, &report)
}

fn in_config(text: &str) -> Vec<(&'static str, String)> {
    cuts(text, &config::read("config.yaml", text, &Limits::default()).1)
}

/// Texts, and what each finding in them cuts out.
type Cases<'a> = &'a [(&'a str, &'a [(&'a str, &'a str)])];

fn assert_cuts(read: impl Fn(&str) -> Vec<(&'static str, String)>, cases: Cases<'_>) {
    for (text, expected) in cases {
        let found = read(text);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(rule, cut)| (*rule, cut.as_str())).collect();
        assert_eq!(found, *expected, "in {text:?}");
    }
}

#[test]
fn as_02_a_value_is_cut_out_whatever_stands_round_it() {
    assert_cuts(
        in_skill,
        &[
            // Comments, blanks and tabs.
            ("---\n# one\nname: B # two\n# three\ndescription: x\n---\n", &[("AS-02", "B")]),
            ("---\nname:    B   \t \ndescription: x\n---\n", &[("AS-02", "B")]),
            ("---\nname:\tB\t# two\ndescription: x\n---\n", &[("AS-02", "B")]),
            ("---  \n\n\nname: B\ndescription: x\n---\n", &[("AS-02", "B")]),
            // Quotes belong to the value.
            ("---\nname: \"B\"\ndescription: x\n---\n", &[("AS-02", "\"B\"")]),
            (
                "---\n'name': 'B''s'\n\"description\": \"x: \\\"y\\\"\"\n---\n",
                &[("AS-02", "'B''s'")],
            ),
            ("---\nname: b\n  c\ndescription: x\n---\n", &[("AS-02", "b\n  c")]),
            // Windows line ends, a byte-order mark, blank lines before it all.
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
            // Characters of more than a byte, before it and in it.
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
fn as_02_a_value_is_cut_out_behind_scalars_of_several_lines() {
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
    let planted = [
        ("name: B # c\n", "B"),
        ("name: a\nmetadata:\n  - 1\n\n", "- 1"),
        ("name: a\nversoin: 1\n", "versoin"),
    ];
    for scalar in scalars {
        for (line, token) in planted {
            for ends in ["\n", "\r\n"] {
                let text = format!("---\n{scalar}{line}---\nbody\n").replace('\n', ends);
                let found = in_skill(&text);
                let planted = |cut: &&(&str, String)| cut.1 == token;
                assert_eq!(
                    found.iter().filter(planted).count(),
                    1,
                    "{token} in {text:?}: {found:?}"
                );
                // The mapping as a license is wrong as well.
                let others = usize::from(scalar.contains('{'));
                assert_eq!(found.len(), 1 + others, "{text:?}: {found:?}");
            }
        }
    }
}

#[test]
fn as_02_an_alias_is_cut_out_where_it_is_used() {
    assert_cuts(
        in_skill,
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
fn as_03_braces_and_brackets_are_cut_out_whole() {
    assert_cuts(
        in_skill,
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
fn as_04_what_is_read_as_if_quoted_is_cut_out_as_it_stands() {
    assert_cuts(
        in_skill,
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
fn as_04_what_stands_behind_a_requoted_value_is_cut_out_still() {
    assert_cuts(
        in_skill,
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
fn as_05_a_key_is_cut_out_with_its_quotes() {
    assert_cuts(
        in_skill,
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
fn as_01_what_is_no_yaml_is_shown_where_it_stops_being_yaml() {
    for (text, at) in [
        ("---\nname: a\nname: b\ndescription: x\n---\n", "name: b"),
        ("---\n# é\nname: a\ndescription: x\nmetadata:\n\tb: c\n---\n", "b: c"),
        ("---\r\nname: a\r\ndescription: x\r\nmetadata:\r\n  é: *b\r\n---\r\n", "*b"),
    ] {
        let (_, report) = skill::read("SKILL.md", "a", text.as_bytes(), &Limits::default());
        let [finding] = &report.findings[..] else {
            unreachable!("one finding in {text:?}: {:?}", report.findings)
        };
        assert!(
            text[finding.span.clone().unwrap().start..].starts_with(at),
            "{finding:?} in {text:?}"
        );
    }
}

#[test]
fn sp_11_the_parts_of_a_pack_are_cut_out_whatever_stands_round_them() {
    assert_cuts(
        in_pack,
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
fn sp_28_the_parts_of_a_config_are_cut_out_whatever_stands_round_them() {
    assert_cuts(
        in_config,
        &[
            ("# é\nsink: {}\n", &[("SP-28", "sink")]),
            ("sinks: {é: \"b\", c: ~/d, e: f}\r\n", &[("SP-27", "\"b\""), ("SP-27", "f")]),
            ("limits:\r\n  # é\r\n  depth: many # c\r\n", &[("SE-04", "many")]),
        ],
    );
}

/// What a frontmatter is made of, and the token in it that is wrong, if one is.
#[derive(Debug, Clone)]
struct Piece {
    lines: String,
    token: Option<(&'static str, String)>,
}

fn piece(lines: impl Into<String>) -> Piece {
    Piece { lines: lines.into(), token: None }
}

fn wrong(before: &str, rule: &'static str, token: &str, behind: &str) -> Piece {
    Piece { lines: format!("{before}{token}{behind}\n"), token: Some((rule, token.into())) }
}

/// Words that are text to YAML wherever they stand.
fn words() -> impl Strategy<Value = String> {
    "[a-zé日🙂][a-zäöü整理]{0,6}( [a-zé🙂]{1,6}){0,3}".prop_map(|words| words.trim_end().to_owned())
}

/// A value that is right, in one of the forms of YAML. The last three are not among those that
/// stand beside a value without its quotes.
fn value(forms: Range<usize>) -> impl Strategy<Value = String> {
    (words(), words(), forms).prop_map(|(one, two, form)| match form {
        0 => format!("x{one}"),
        1 => format!("'{one}: ''{two}'''"),
        2 => format!("\"{one}: \\\"{two}\\\"\""),
        3 => format!(">\n  {one}: {two}\n\n  {two}"),
        4 => format!("|-\n  {one}: \"{two}\n    # {two}"),
        5 => format!("{one}\n  {two}"),
        6 => format!("&anchor x{one} # {two}"),
        7 => format!("'{one} # ''{two}'''"),
        8 => format!("\"{one} # \\\"{two}\\\"\""),
        _ => format!("\"{one}\n---\n  {two}\""),
    })
}

fn comment() -> impl Strategy<Value = Piece> {
    prop_oneof![words().prop_map(|words| piece(format!("# {words}: \"'[\n"))), Just(piece("\n"))]
}

/// A description that is read as if it were quoted.
fn unquoted() -> impl Strategy<Value = Piece> {
    (words(), words(), prop::bool::ANY).prop_map(|(one, two, comment)| {
        wrong(
            "description: ",
            "AS-04",
            &format!("{one}: it's {two}"),
            if comment { " # it's" } else { "" },
        )
    })
}

/// The fields that are right, and a description that is right or is not.
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

/// Lines with one token that is wrong.
fn planted() -> impl Strategy<Value = Piece> {
    let name = ("[A-Z][xzé日]{1,5}", 0..3).prop_map(|(name, form)| match form {
        0 => wrong("name: ", "AS-02", &name, " # 'B'"),
        1 => wrong("\"name\": ", "AS-02", &format!("'{name}''s'"), ""),
        _ => wrong("'name' : ", "AS-02", &format!("\"{name}\""), "\t# B"),
    });
    let field = ("x[a-zé]{6,9}", words(), prop::bool::ANY).prop_map(|(key, value, quoted)| {
        let token = if quoted { format!("\"{key} {value}\"") } else { key };
        wrong("name: a\n", "AS-05", &token, &format!(": '{value}'"))
    });
    let number = (words(), "[0-9]{1,3}(\\.[0-9]{1,2})?|true|No|0x[0-9a-f]{1,3}").prop_map(
        |(text, token)| {
            wrong(
                &format!("name: a\nmetadata:\n  größe: '{text}'\n  # {text}\n  n: "),
                "AS-02",
                &token,
                " # 1",
            )
        },
    );
    let braces = words().prop_map(|text| {
        wrong("name: a\nmetadata: ", "AS-03", &format!("{{é: '{text}'}}"), " # {}")
    });
    prop_oneof![name, field, number, braces]
}

/// A whole `SKILL.md`, and the tokens in it that are wrong, in their order.
fn skill_file() -> impl Strategy<Value = (String, Vec<(&'static str, String)>)> {
    let layout = (prop::bool::ANY, prop::bool::ANY);
    (planted(), fields(), prop::collection::vec(comment(), 0..4), layout)
        .prop_flat_map(|(planted, fields, comments, layout)| {
            let pieces: Vec<Piece> = fields.into_iter().chain(comments).chain([planted]).collect();
            (Just(pieces).prop_shuffle(), Just(layout))
        })
        .prop_map(|(pieces, (windows, bom))| {
            let lines: String = pieces.iter().map(|piece| piece.lines.as_str()).collect();
            let text = format!("---\n{lines}---\n# Body\n");
            let text = if windows { text.replace('\n', "\r\n") } else { text };
            let mark = bom.then(|| ("AS-01", "\u{feff}".to_owned()));
            let tokens = mark
                .into_iter()
                .chain(pieces.into_iter().filter_map(|piece| piece.token))
                .collect();
            (format!("{}{text}", if bom { "\u{feff}" } else { "" }), tokens)
        })
}

/// A body with words, code and links in it, and where the links lead that are wrong.
fn body() -> impl Strategy<Value = (String, Vec<String>)> {
    prop::collection::vec((words(), "[a-zé]{1,6}", 0..6_usize), 1..6).prop_map(|bits| {
        let bits = bits.into_iter().enumerate();
        let bits = bits
            .map(|(number, (words, leaf, form))| bit(&words, format!("{leaf}-{number}.md"), form));
        let (texts, gone): (Vec<String>, Vec<Option<String>>) = bits.unzip();
        (texts.concat(), gone.into_iter().flatten().collect())
    })
}

/// A piece of a body, and where it leads, if it does.
fn bit(words: &str, gone: String, form: usize) -> (String, Option<String>) {
    match form {
        0 => (format!("{words} [{words}]({gone})\n\n"), Some(gone)),
        1 => (format!("- ![{words}](<{gone}>) {words}\n\n"), Some(gone)),
        2 => (format!("[{gone}][] {words}\n\n[{gone}]: {gone} \"{words}\"\n\n"), Some(gone)),
        3 => (format!("`[{words}]({gone})` {words}\n\n"), None),
        4 => (format!("```\n[{words}]({gone})\n```\n\n"), None),
        _ => (format!("> {words}\n> [{words}](https://example.com/{gone})\n\n"), None),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn as_02_exactly_what_was_planted_is_cut_out((text, tokens) in skill_file()) {
        prop_assert_eq!(in_skill(&text), tokens, "in {}", text);
    }

    #[test]
    fn as_07_exactly_the_broken_links_are_cut_out((body, gone) in body(), windows in prop::bool::ANY) {
        let text = format!("---\nname: a\ndescription: x\n---\n{body}");
        let text = if windows { text.replace('\n', "\r\n") } else { text };
        let start = text.len() - if windows { body.replace('\n', "\r\n").len() } else { body.len() };
        let mut report = Report::new("SKILL.md", text.as_str());
        check_references(&references(&text, start), sp_formats::skill::ReferencingFile::SkillMd, &[], &|_| false, &mut report);
        let mut found: Vec<String> = cuts(&text, &report).into_iter().map(|(_, cut)| cut).collect();
        let mut gone = gone;
        found.sort();
        gone.sort();
        prop_assert_eq!(found, gone, "in {}", text);
    }
}
