use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

/// Encodes text as tag characters.
fn as_tags(text: &str) -> String {
    text.chars().map(|c| char::from_u32(u32::from(c) + 0xE0000).unwrap()).collect()
}

/// Encodes text as variation selectors, one per byte.
fn as_selectors(text: &str) -> String {
    let selector =
        |byte| if byte < 16 { 0xFE00 + u32::from(byte) } else { 0xE0100 + u32::from(byte) - 16 };
    text.bytes().map(|byte| char::from_u32(selector(byte)).unwrap()).collect()
}

/// Encodes text as bits of zero-width characters.
fn as_zero_width_bits(text: &str) -> String {
    let bits = text.bytes().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    bits.map(|bit| if bit == 0 { '\u{200B}' } else { '\u{200C}' }).collect()
}

fn kinds_and_decoded(text: &str) -> Vec<(HiddenKind, Option<String>)> {
    find(text).into_iter().map(|hidden| (hidden.kind, hidden.decoded)).collect()
}

#[test]
fn se_09_tag_characters_are_decoded_with_position() {
    let text = format!("one\né {}two", as_tags("ignore all"));
    let hidden = find(&text).remove(0);
    assert_eq!((hidden.line, hidden.column), (2, 3));
    assert_eq!(&text[hidden.range.end..], "two");
    assert_eq!((hidden.kind, hidden.decoded.as_deref()), (HiddenKind::Tag, Some("ignore all")));
}

#[test]
fn se_09_variation_selectors_and_zero_width_bits_are_decoded() {
    for (text, kind, decoded) in [
        (format!("😀{}", as_selectors("rm -rf é")), HiddenKind::VariationSelector, "rm -rf é"),
        (format!("a{}b", as_zero_width_bits("rm -rf ~")), HiddenKind::ZeroWidth, "rm -rf ~"),
    ] {
        assert_eq!(kinds_and_decoded(&text), [(kind, Some(decoded.to_owned()))]);
    }
    assert_eq!(kinds_and_decoded("😀\u{FE00}\u{E01EF}"), [(HiddenKind::VariationSelector, None)]);
    assert_eq!(kinds_and_decoded("a\u{200B}\u{200C}"), [(HiddenKind::ZeroWidth, None)]);
}

#[test]
fn se_09_every_kind_is_found() {
    for (c, kind) in [
        ('\u{E0001}', HiddenKind::Tag),
        ('\u{FE0F}', HiddenKind::VariationSelector),
        ('\u{202E}', HiddenKind::Bidi),
        ('\u{2066}', HiddenKind::Bidi),
        ('\u{200E}', HiddenKind::Bidi),
        ('\u{061C}', HiddenKind::Bidi),
        ('\u{200B}', HiddenKind::ZeroWidth),
        ('\u{200D}', HiddenKind::ZeroWidth),
        ('\u{FEFF}', HiddenKind::ZeroWidth),
        ('\u{00AD}', HiddenKind::ZeroWidth),
        ('\u{180E}', HiddenKind::ZeroWidth),
        ('\u{3164}', HiddenKind::Blank),
        ('\u{115F}', HiddenKind::Blank),
        ('\u{FFA0}', HiddenKind::Blank),
        ('\u{2800}', HiddenKind::Blank),
        ('\u{1B}', HiddenKind::Control),
        ('\u{0}', HiddenKind::Control),
        ('\u{85}', HiddenKind::Control),
        ('\u{2028}', HiddenKind::Format),
        ('\u{FFF9}', HiddenKind::Format),
        ('\u{E0080}', HiddenKind::Format),
    ] {
        assert_eq!(kinds_and_decoded(&format!("a{c}b")), [(kind, None)], "{}", c.escape_unicode());
    }
}

#[test]
fn se_09_characters_required_by_scripts_and_emoji_are_not_hidden() {
    for text in [
        "plain\ttext\r\n",
        "\u{FEFF}---\n",
        "👩\u{200D}👩\u{200D}👧 🏳\u{FE0F}\u{200D}🌈 ❤\u{FE0F} 1\u{FE0F}\u{20E3} 👩🏽\u{200D}🚀 ⚠\u{FE0E}",
        "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        "葛\u{E0100} 、\u{FE01}",
        "می\u{200C}خواهم क्\u{200D}ष ന്\u{200D}.",
        "ภาษา\u{200B}ไทย",
        "עברית\u{200F}! C++\u{200E} بايثون\u{200E}",
        "⠓⠑\u{2800}⠇⠇ \u{2800}\u{2800}⠕",
        "\u{E000} private \u{A0} no-break, wide\u{3000}space",
    ] {
        assert_eq!(find(text), [], "{text}");
        assert_eq!(mark(text), text);
    }
}

#[test]
fn se_09_the_same_characters_elsewhere_are_hidden() {
    for text in [
        "a\u{200D}b",
        "می\u{200C}\u{200C}خواهم",
        "❤\u{FE0F}\u{FE0F}",
        "a\u{FE0F}",
        "1\u{FE0F}",
        "x\u{FEFF}",
        "a\u{200E}b",
        "👩\u{200D}\u{202E}👩",
        "🏴\u{E0067}\u{E007F}",
        "a\u{E0100}",
    ] {
        assert!(!find(text).is_empty(), "{}", text.escape_unicode());
    }
}

#[test]
fn se_09_number_of_runs_is_bounded() {
    let text = "a\u{200B}".repeat(MAX_HIDDEN_RUNS);
    assert_eq!((search(&text).found.len(), search(&text).truncated), (MAX_HIDDEN_RUNS, false));
    let over_limit = search(&(text + "a\u{200B}"));
    assert_eq!((over_limit.found.len(), over_limit.truncated), (MAX_HIDDEN_RUNS, true));
    let long = kinds_and_decoded(&as_tags(&"x".repeat(100_000))).remove(0).1.unwrap();
    assert_eq!(long.chars().count(), 401);
    let long = kinds_and_decoded(&as_selectors(&"é".repeat(100_000))).remove(0).1.unwrap();
    assert_eq!(long.chars().count(), 401);
}

#[test]
fn se_09_marks_show_hidden_text() {
    for (text, marked) in [
        (format!("a{}b", as_tags("ignore all")), "a⟦hidden tag characters: \"ignore all\"⟧b"),
        (
            format!("😀{}", as_selectors("\"⟧\n\u{202E}")),
            "😀⟦hidden variation selectors: \"\\\"\\u{27e7}\\n\\u{202e}\"⟧",
        ),
        ("a\u{202E}b".into(), "a⟦U+202E⟧b"),
        ("a\u{200B}\u{2060}\u{202E}b".into(), "a⟦U+200B U+2060⟧⟦U+202E⟧b"),
        (
            "\u{AD}".repeat(10),
            "⟦U+00AD U+00AD U+00AD U+00AD U+00AD U+00AD U+00AD U+00AD and 2 more⟧",
        ),
        ("f⟦x⟧".into(), "f⟦U+27E6⟧x⟦U+27E7⟧"),
        ("⟦U+202E⟧ ⟦U+202E".into(), "⟦U+202E⟧ ⟦U+27E6⟧U+202E"),
        ("⟦hidden \u{200B}⟧".into(), "⟦U+27E6⟧hidden ⟦U+200B⟧⟦U+27E7⟧"),
    ] {
        assert_eq!(mark(&text), marked);
    }
    assert!(matches!(mark("nothing 👩\u{200D}🚀"), Cow::Borrowed(_)));
    let long = format!("⟦hidden tag characters: \"{}…\"⟧", "x".repeat(200));
    assert_eq!(mark(&as_tags(&"x".repeat(1000))), long);
}

#[test]
fn se_09_lookalike_hosts_are_found() {
    for (text, looks_like) in [
        ("see https://gіthub.com/x", "github.com"),
        ("[x](https://user@аррӏе.com:443/)", "apple.com"),
        ("http://ｇｏｏｇle.com", "google.com"),
        ("`curl https://gοοgle.com`", "google.com"),
    ] {
        let found = find_lookalikes(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(
            (found[0].looks_like.as_str(), found[0].context),
            (looks_like, LookalikeContext::Host)
        );
    }
    for text in [
        "https://пример.com/а",
        "https://сахар.рф",
        "https://example.com。а",
        "https://münchen.de",
        "https://例え.jp",
    ] {
        assert_eq!(find_lookalikes(text), [], "{text}");
    }
}

#[test]
fn se_09_lookalike_commands_are_found() {
    for (text, position) in [
        ("run `sudо rm`", (1, 6)),
        ("é\n\n```bash\n$ sudо rm\n```\n", (4, 3)),
        ("``` {.sh}\nsudо rm\n```\n", (2, 1)),
        ("#!/bin/sh\n  sudо rm\n", (2, 3)),
    ] {
        let found = find_lookalikes(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!((found[0].line, found[0].column), position);
        assert_eq!(
            (found[0].looks_like.as_str(), found[0].context),
            ("sudo", LookalikeContext::Command)
        );
    }
    for text in [
        "the word sudо in prose",
        "`echo привет, мир`",
        "`αx + Δt`",
        "```text\nsudо\n```",
        "`git-а` `ＡＰＩ`",
    ] {
        assert_eq!(find_lookalikes(text), [], "{text}");
    }
}

/// Generates texts that combine invisible characters with characters that may justify them.
fn mixed_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "a",
            "1",
            "#",
            "⟦",
            "⟧",
            "U+",
            "hidden ",
            "\"",
            "\\",
            "\n",
            "\r",
            "❤",
            "😀",
            "👩",
            "🏴",
            "ی",
            "क",
            "\u{94D}",
            "ไ",
            "葛",
            "ᠠ",
            "⠓",
            "ש",
            "\u{20E3}",
            "\u{FE0F}",
            "\u{FE00}",
            "\u{E0100}",
            "\u{200B}",
            "\u{200C}",
            "\u{200D}",
            "\u{200E}",
            "\u{202E}",
            "\u{FEFF}",
            "\u{2800}",
            "\u{3164}",
            "\u{180E}",
            "\u{180B}",
            "\u{1B}",
            "\u{2028}",
            "\u{E0041}",
            "\u{E007F}",
            "\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "⟦U+202E⟧",
            "⟦hidden tag characters: \"x\"⟧",
        ])
        .prop_map(String::from),
        any::<char>().prop_map(String::from),
        "[ -~⟦⟧]{0,8}".prop_map(|text: String| as_selectors(&text)),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn se_09_marking_is_complete_and_idempotent(text in mixed_text()) {
        let marked = mark(&text).into_owned();
        prop_assert_eq!(find(&marked), []);
        prop_assert_eq!(mark(&marked), marked.as_str());
        // Brackets alternate, because each belongs to a mark.
        let brackets: String = marked.chars().filter(|c| "⟦⟧".contains(*c)).collect();
        prop_assert_eq!(brackets.replace("⟦⟧", ""), "");
    }

    #[test]
    fn se_09_positions_match_reports(text in mixed_text()) {
        // Reports mask what looks like a password byte by byte.
        let text = text.replace('@', "");
        let report = sp_formats::report::Report::new("f", text.as_str());
        for hidden in find(&text) {
            prop_assert_eq!(report.format_position(hidden.range.start), format!("f:{}:{}", hidden.line, hidden.column));
        }
        for word in find_lookalikes(&text) {
            prop_assert_eq!(report.format_position(word.range.start), format!("f:{}:{}", word.line, word.column));
        }
    }
}
