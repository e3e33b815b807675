//! `SKILL.md` files as they occur in practice: languages, line endings, YAML styles; and extreme
//! sizes.

use sp_analyze::tokens;
use sp_formats::report::{Report, apply_edits};
use sp_formats::skill::{self, SkillMetadata};
use sp_tree::Limits;

/// Runs all checks of a `SKILL.md`.
fn check(text: &str) -> (SkillMetadata, Report) {
    let (skill, mut report) = skill::read("SKILL.md", "tidy", text.as_bytes(), &Limits::default());
    let skill = skill.unwrap_or_else(|| panic!("{:?}", report.findings));
    assert!(text.is_char_boundary(skill.body_start));
    let body = tokens::count(&text[skill.body_start..]);
    skill::check_body_size(&(skill.body_start..text.len()), body, &mut report);
    let references = skill::references(text, skill.body_start);
    skill::check_references(
        &references,
        skill::ReferencingFile::SkillMd,
        &["references/list.md"],
        &|path| path == "notes.md",
        &mut report,
    );
    let located = report.located_findings();
    // One more finding represents those above the maximum.
    assert!((report.findings.len()..=report.findings.len() + 1).contains(&located.len()));
    let edits = report.findings.iter().flat_map(|finding| finding.fix.iter().cloned()).collect();
    apply_edits(text, edits);
    (skill, report)
}

/// Returns the name, the description, and each violated rule once.
fn read(text: &str) -> (Option<String>, Option<String>, Vec<&'static str>) {
    let (skill, report) = check(text);
    let mut rules: Vec<&str> = report.findings.iter().map(|finding| finding.check.id).collect();
    rules.sort_unstable();
    rules.dedup();
    (skill.name, skill.description, rules)
}

#[track_caller]
fn assert_read(text: &str, description: &str, rules: &[&str]) {
    let (name, actual, violated) = read(text);
    assert_eq!((name.as_deref(), actual.as_deref()), (Some("tidy"), Some(description)), "{text:?}");
    assert_eq!(violated, rules, "{text:?}");
}

/// A short description in each language, some with colons and quotes.
const LANGUAGES: [(&str, &str); 40] = [
    ("Arabic", "ينظّف الكود غير المستخدم. استخدمه بعد إعادة الهيكلة."),
    ("Armenian", "Մաքրում է չօգտագործվող կոդը։ Օգտագործել վերակառուցումից հետո։"),
    ("Basque", "Erabiltzen ez den kodea kentzen du. Erabili: birfaktorizatu ondoren."),
    ("Bengali", "অব্যবহৃত কোড মুছে ফেলে। রিফ্যাক্টরিংয়ের পরে ব্যবহার করুন।"),
    ("Bulgarian", "Премахва неизползван код. Използвайте го: след преработка."),
    ("Catalan", "Elimina el codi mort. Fes-lo servir després d'una refactorització."),
    ("Chinese", "删除无用代码。适用于：重构之后的清理工作。"),
    ("Croatian", "Uklanja mrtvi kôd. Koristite ga \"odmah\" nakon refaktoriranja."),
    ("Czech", "Odstraňuje mrtvý kód. Použijte: po refaktorizaci."),
    ("Danish", "Fjerner død kode. Brug den efter en større omskrivning."),
    ("Dutch", "Verwijdert dode code. Gebruik 'm na een refactoring."),
    ("English", "Removes dead code. Use when: the user says \"clean up\" or it's late."),
    ("Estonian", "Eemaldab surnud koodi. Kasuta pärast ümbertöötamist."),
    ("Finnish", "Poistaa kuolleen koodin. Käytä, kun: refaktorointi on valmis."),
    ("French", "Supprime le code mort. À utiliser quand : l'utilisateur dit « nettoie »."),
    ("Georgian", "შლის გამოუყენებელ კოდს. გამოიყენეთ რეფაქტორინგის შემდეგ."),
    ("German", "Entfernt toten Code. Wann: wenn jemand „aufräumen“ sagt."),
    ("Greek", "Αφαιρεί νεκρό κώδικα. Χρήση: μετά από αναδιάρθρωση."),
    ("Hebrew", "מסיר קוד מת. השתמשו בו: אחרי שכתוב."),
    ("Hindi", "अप्रयुक्त कोड हटाता है। रीफ़ैक्टरिंग के बाद उपयोग करें।"),
    ("Hungarian", "Eltávolítja a halott kódot. Használd: átszervezés után."),
    ("Icelandic", "Fjarlægir dauðan kóða. Notist eftir endurskipulagningu."),
    ("Indonesian", "Menghapus kode mati. Gunakan setelah refaktorisasi."),
    ("Irish", "Baineann sé cód marbh. Úsáid é tar éis athstruchtúraithe."),
    ("Italian", "Rimuove il codice morto. Quando: l'utente dice \"pulisci\"."),
    ("Japanese", "使われていないコードを削除します。使用場面：リファクタリング後。"),
    ("Korean", "사용하지 않는 코드를 제거합니다. 리팩터링 후에 사용하세요: 정리할 때."),
    ("Latvian", "Noņem nelietotu kodu. Lietojiet pēc pārstrukturēšanas."),
    ("Lithuanian", "Pašalina nenaudojamą kodą. Naudokite: po pertvarkymo."),
    ("Norwegian", "Fjerner død kode. Bruk den etter en omskriving."),
    ("Persian", "کدهای بی‌استفاده را حذف می‌کند. پس از بازآرایی استفاده کنید."),
    ("Polish", "Usuwa martwy kod. Użyj, gdy: ktoś mówi „posprzątaj”."),
    ("Portuguese", "Remove código morto. Use quando: alguém disser 'limpe isto'."),
    ("Romanian", "Șterge codul mort. Folosiți după refactorizare."),
    ("Russian", "Удаляет мёртвый код. Когда: пользователь говорит «убери»."),
    ("Spanish", "¿Código muerto? Lo elimina: úsalo después de refactorizar."),
    ("Swedish", "Tar bort död kod. Används: efter en omskrivning."),
    ("Tamil", "பயன்படாத குறியீட்டை நீக்குகிறது. மறுசீரமைப்புக்குப் பின் பயன்படுத்தவும்."),
    ("Thai", "ลบโค้ดที่ไม่ได้ใช้ ใช้หลังจากปรับโครงสร้างโค้ด"),
    ("Vietnamese", "Xóa mã không dùng. Dùng khi: vừa tái cấu trúc xong."),
];

#[test]
fn as_04_descriptions_in_forty_languages_are_read_exactly() {
    for (language, sentence) in LANGUAGES {
        let rules: &[&str] = if sentence.contains(": ") { &["AS-04"] } else { &[] };
        assert_read(
            &format!("---\nname: tidy\ndescription: {sentence}\n---\nBody.\n"),
            sentence,
            rules,
        );
        assert_read(
            &format!("---\r\nname: tidy\r\ndescription: {sentence}\r\n---\r\n"),
            sentence,
            rules,
        );
        let single = sentence.replace('\'', "''");
        assert_read(&format!("---\nname: tidy\ndescription: '{single}'\n---\n"), sentence, &[]);
        let double = sentence.replace('\\', "\\\\").replace('"', "\\\"");
        assert_read(&format!("---\ndescription: \"{double}\"\nname: tidy\n---\n"), sentence, &[]);
        assert_read(
            &format!("---\nname: tidy\ndescription: >-\n  {sentence}\n---\n"),
            sentence,
            &[],
        );
        assert_read(
            &format!("---\nname: tidy\ndescription: |-\n  {sentence}\n---\n{sentence}\n"),
            sentence,
            &[],
        );
        assert!(sentence.chars().count() > 20, "{language}");
    }
}

#[test]
fn as_04_fixes_do_not_change_the_description() {
    for (language, sentence) in LANGUAGES {
        let text = format!("---\nname: tidy\ndescription: {sentence}\n---\nBody.\n");
        let (_, report) = check(&text);
        let edits =
            report.findings.iter().flat_map(|finding| finding.fix.iter().cloned()).collect();
        let (_, description, rules) = read(&apply_edits(&text, edits));
        assert_eq!(
            (description.as_deref(), rules.as_slice()),
            (Some(sentence), &[][..]),
            "{language}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn as_01_as_04_frontmatter_styles() {
    let value = "A: b";
    for (case, text, description, rules) in [
        (
            "a byte-order mark",
            "\u{feff}---\nname: tidy\ndescription: d\n---\nBody",
            "d",
            &["AS-01"][..],
        ),
        ("carriage returns", "---\r\nname: tidy\r\ndescription: d\r\n---\r\nBody\r\n", "d", &[]),
        (
            "mixed line endings",
            "---\r\nname: tidy\ndescription: d\r\n---\nBody\r\nmore\n",
            "d",
            &[],
        ),
        ("blanks after the dashes", "--- \nname: tidy\ndescription: d\n---\t \nBody\n", "d", &[]),
        ("blanks after values", "---\nname: tidy   \ndescription: d \t\n---\n", "d", &[]),
        ("blank lines inside", "---\n\nname: tidy\n\n\ndescription: d\n\n---\n", "d", &[]),
        ("leading blank lines", "\n\n---\nname: tidy\ndescription: d\n---\n", "d", &["AS-01"]),
        (
            "a leading comment",
            "---\n# what this is\nname: tidy\n# and this\ndescription: d # why\n---\n",
            "d",
            &[],
        ),
        ("no body", "---\nname: tidy\ndescription: d\n---", "d", &[]),
        (
            "dashes in the body",
            "---\nname: tidy\ndescription: d\n---\na\n\n---\n\nb: c\n---\n",
            "d",
            &[],
        ),
        (
            "dashes in quotes",
            "---\nname: tidy\ndescription: \"one\n---\n  two\"\n---\nBody",
            "one --- two",
            &[],
        ),
        ("a document end", "---\nname: tidy\ndescription: d\n...\n---\nBody", "d", &[]),
        ("a tag", "---\nname: !!str tidy\ndescription: !!str d\n---\n", "d", &[]),
        ("an anchor", "---\nname: &n tidy\ndescription: *n\n---\n", "tidy", &[]),
        ("a flow mapping", "---\n{name: tidy, description: d}\n---\n", "d", &["AS-03"]),
        (
            "a flow mapping in metadata",
            "---\nname: tidy\ndescription: d\nmetadata: {a: b}\n---\n",
            "d",
            &["AS-03"],
        ),
        ("JSON", "---\n{\"name\": \"tidy\", \"description\": \"A: b\"}\n---\n", value, &["AS-03"]),
        ("quoted keys", "---\n\"name\": tidy\n'description': 'A: b'\n---\n", value, &[]),
        ("an unquoted colon", "---\nname: tidy\ndescription: A: b\n---\n", value, &["AS-04"]),
        ("a colon at the end", "---\nname: tidy\ndescription: A b:\n---\n", "A b:", &["AS-04"]),
        ("a value of two lines", "---\nname: tidy\ndescription: A:\n  b\n---\n", value, &["AS-04"]),
        (
            "a leading quote",
            "---\nname: tidy\ndescription: \"A\" or b\n---\n",
            "\"A\" or b",
            &["AS-04"],
        ),
        (
            "a leading apostrophe",
            "---\nname: tidy\ndescription: 'A' or b\n---\n",
            "'A' or b",
            &["AS-04"],
        ),
        ("a leading bracket", "---\nname: tidy\ndescription: [A] b\n---\n", "[A] b", &["AS-04"]),
        ("a leading brace", "---\nname: tidy\ndescription: {A} b\n---\n", "{A} b", &["AS-04"]),
        ("a leading asterisk", "---\nname: tidy\ndescription: *A* b\n---\n", "*A* b", &["AS-04"]),
        ("a leading at sign", "---\nname: tidy\ndescription: @a b\n---\n", "@a b", &["AS-04"]),
        ("a leading backtick", "---\nname: tidy\ndescription: `a` b\n---\n", "`a` b", &["AS-04"]),
        ("a leading percent sign", "---\nname: tidy\ndescription: %a b\n---\n", "%a b", &["AS-04"]),
        (
            "emoji",
            "---\nname: tidy\ndescription: 🧹 Tidies 👩\u{200d}🚀 up ✨\n---\n",
            "🧹 Tidies 👩\u{200d}🚀 up ✨",
            &[],
        ),
        (
            "a URL",
            "---\nname: tidy\ndescription: See https://example.com/a:b\n---\n",
            "See https://example.com/a:b",
            &[],
        ),
        ("a number", "---\nname: tidy\ndescription: 42\n---\n", "42", &["AS-02"]),
        ("a literal scalar", "---\nname: tidy\ndescription: |\n  A: b\n---\n", "A: b\n", &[]),
        ("a folded scalar", "---\nname: tidy\ndescription: >\n  A:\n  b\n---\n", "A: b\n", &[]),
        ("another order", "---\ndescription: d\nlicense: MIT\nname: tidy\n---\n", "d", &[]),
        ("a tab after the colon", "---\nname:\ttidy\ndescription:\td\n---\n", "d", &[]),
    ] {
        let (name, actual, violated) = read(text);
        assert_eq!(
            (name.as_deref(), actual.as_deref()),
            (Some("tidy"), Some(description)),
            "{case}: {text:?}"
        );
        assert_eq!(violated, rules, "{case}: {text:?}");
    }
}

#[test]
fn as_04_empty_fields_with_trailing_blanks_are_read() {
    for blank in [" ", "  ", "\t", " \r"] {
        let text = format!("---\nname: tidy\ndescription: A: b\nlicense:{blank}\n---\n");
        assert_read(&text, "A: b", &["AS-02", "AS-04"]);
    }
}

#[test]
fn as_01_invalid_frontmatter_is_reported_at_most_twice() {
    for text in [
        "",
        "\n",
        "\u{feff}",
        "# Tidy\n",
        "---",
        "---\n",
        "---\n---",
        "----\nname: tidy\n----\n",
        " ---\nname: tidy\n---\n",
        "+++\nname = \"tidy\"\n+++\n",
        "---\nname: tidy\ndescription: d\n...\nBody",
        "---\nname: tidy\n\tdescription: d\n---\n",
        "---\n\tname: tidy\n---\n",
        "---\n- name\n---\n",
        "---\ntidy\n---\n",
        "---\nname: tidy\nname: tidy\n---\n",
        "---\n? a\n: b\n---\n",
        "---\n%YAML 1.2\n---\nname: tidy\n---\n",
        "---\nname: tidy\ndescription: \"d\n---\nBody\n",
        "---\n\u{0}\n---\n",
        "\u{2028}---\nname: tidy\n---\n",
        "```yaml\n---\nname: tidy\n---\n```\n",
    ] {
        let (_, report) = check(text);
        let count = report.findings.iter().filter(|finding| finding.check.id == "AS-01").count();
        assert!(!report.findings.is_empty() && count <= 2, "{text:?}: {:?}", report.findings);
    }
}

#[test]
fn as_02_right_to_left_and_invisible_characters_are_kept() {
    for mark in [
        '\u{202b}', '\u{202e}', '\u{2067}', '\u{200f}', '\u{200d}', '\u{feff}', '\u{ad}', '\u{301}',
    ] {
        let description = format!("מסיר {mark}קוד{mark} מת");
        assert_read(
            &format!("---\nname: tidy\ndescription: \"{description}\"\n---\n{description}\n"),
            &description,
            &[],
        );
    }
}

#[test]
fn as_02_description_limit_counts_characters() {
    for (letter, length) in [("x", 1024), ("é", 1024), ("日", 1024), ("🧹", 1024)] {
        let text = |length: usize| {
            format!("---\nname: tidy\ndescription: {}\n---\n", letter.repeat(length))
        };
        assert_eq!(read(&text(length)).2, [""; 0], "{letter}");
        assert_eq!(read(&text(length + 1)).2, ["AS-02"], "{letter}");
    }
    let words = "word ".repeat(10_000);
    let (_, description, rules) = read(&format!("---\nname: tidy\ndescription: {words}\n---\n"));
    assert_eq!(
        (description.as_deref(), rules.as_slice()),
        (Some(words.trim_end()), &["AS-02"][..])
    );
    let (_, description, _) = read(&format!("---\nname: tidy\ndescription: so: {words}\n---\n"));
    assert_eq!(description, Some(format!("so: {}", words.trim_end())));
}

fn with_body(body: &str) -> String {
    format!("---\nname: tidy\ndescription: Tidies up.\n---\n{body}")
}

#[test]
fn se_04_large_bodies_are_checked_in_linear_time() {
    for (_, body) in [
        ("a megabyte of lines", "All work and no play.\n".repeat(48_000)),
        ("a megabyte on one line", "All work and no play. ".repeat(48_000)),
        ("a megabyte without a space", "x".repeat(1_000_000)),
        ("a megabyte of blanks", " ".repeat(1_000_000)),
        ("a megabyte of line ends", "\r\n".repeat(500_000)),
        ("a megabyte of emoji", "🧹".repeat(250_000)),
        ("a megabyte of list", "- [ ] one: two\n".repeat(66_000)),
        (
            "a megabyte of table",
            format!("| a | b |\n|---|---|\n{}", "| one | two |\n".repeat(70_000)),
        ),
    ] {
        check(&with_body(&body));
    }
}

#[test]
fn se_04_hostile_markdown_is_checked_in_linear_time() {
    for piece in [
        "[",
        "]",
        "![",
        "[]",
        "[](",
        "[a](",
        "[a][",
        "[a]: ",
        ">",
        "> ",
        "*",
        "**",
        "* ",
        "*a ",
        "_",
        "_a",
        "`",
        "`` ` ",
        "<",
        "<a ",
        "<!--",
        "<![CDATA[",
        "&",
        "\\",
        "- ",
        "1. ",
        "#",
        "# ",
        "~",
        "~~",
        "|",
        "|-",
        "[^a]: ",
        "[^a]",
        "\t",
        "a\n=",
        "    ",
        "```\n",
        "~~~\n",
        "(",
        "[a](b ",
        "[a](<b",
        "![a](b \"",
        "$",
        "http://",
        "scripts/",
        "references/a.",
        "../",
        "[a](scripts/",
    ] {
        let times = 100_000 / piece.len();
        check(&with_body(&piece.repeat(times)));
        check(&with_body(&format!("{}\n", piece.repeat(40)).repeat(times / 40)));
    }
    for (open, inside, close) in [
        ("[", "a", "](b)"),
        ("![", "a", "](b&amp;c)"),
        ("*", "a", "*"),
        ("> ", "a", "\n"),
        ("(", "a", ")"),
    ] {
        let depth = 100_000 / (open.len() + close.len());
        check(&with_body(&format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))));
    }
}

#[test]
fn se_04_hostile_frontmatter_is_checked_in_linear_time() {
    for (_, block) in [
        ("colons", "a: ".repeat(15_000)),
        ("keys", (0..9_000).map(|n| format!("k{n}: x: y\n")).collect()),
        ("dashes in quotes", format!("description: \"{}\"", "\n---\n".repeat(9_000))),
        ("dashes", "x: [\n---\n".repeat(5_000)),
        ("brackets", format!("description: {}", "[".repeat(40_000))),
        ("braces", format!("description: {}", "{a: ".repeat(10_000))),
        ("quotes", format!("description: {}", "'".repeat(40_001))),
        ("comments", "# x: y\n".repeat(6_000)),
        ("continuations", format!("description: a: b\n{}", "  c: d\n".repeat(6_000))),
        ("anchors", (0..3_000).map(|n| format!("a{n}: &a{n} x: y\n")).collect()),
        ("blanks", format!("description: a:{}b", " ".repeat(40_000))),
    ] {
        check(&format!("---\nname: tidy\n{block}\n---\nBody\n"));
        check(&format!("---\nname: tidy\n{block}\n"));
    }
}

/// Large enough that a quadratic scan would take hours.
const MANY: usize = 100_000;

#[test]
fn as_07_many_links_and_findings_are_checked_in_linear_time() {
    check(&with_body(&"See [x](notes.md).\n".repeat(MANY)));
    check(&with_body(&(0..MANY).map(|n| format!("See [x](gone{n}.md).\n")).collect::<String>()));
    check(&with_body(&(0..MANY).map(|n| format!("`scripts/x{n}.sh`\n")).collect::<String>()));
    check(&with_body(&(0..MANY).map(|n| format!("[d{n}]: gone{n}.md\n")).collect::<String>()));
    let fields: String = (0..MANY / 4).map(|n| format!("f{n}: x\n")).collect();
    check(&format!("---\nname: tidy\ndescription: d\n{fields}---\n"));
    let fields: String = (0..MANY / 4).map(|n| format!("  f{n}: {n}\n")).collect();
    check(&format!("---\nname: tidy\ndescription: d\nmetadata:\n{fields}---\n"));
}

#[test]
fn as_07_many_findings_on_one_line_are_checked_in_linear_time() {
    check(&with_body(&"[x](gone.md) ".repeat(MANY)));
}

#[test]
fn se_04_truncated_skills_are_read() {
    let text = "\u{feff}---\r\nname: Tïdy\r\ndescription: Use when: it's \"so\"\r\nallowed-tools: [a, b]\r\nmetadata: {v: 1}\r\n---\r\n\
                # T\r\n\r\n[x](référence.md) ![y](<a b>) `scripts/r.sh`\r\n\r\n[d]: ../x\r\n";
    for (offset, _) in text.char_indices() {
        check(&text[..offset]);
        check(&text[offset..]);
    }
    // Text that ends inside a character is not UTF-8.
    for offset in 0..text.len() {
        let (skill, report) =
            skill::read("SKILL.md", "tidy", &text.as_bytes()[..offset], &Limits::default());
        assert_eq!(skill.is_some(), text.is_char_boundary(offset));
        report.located_findings();
    }
}
