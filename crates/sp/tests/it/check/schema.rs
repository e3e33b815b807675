//! `sp schema`: the schemas accept what the readers accept, and have the same keys.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use sp_formats::yaml::{self, ImplicitType, YamlNode, YamlValue as Yaml};
use sp_formats::{Finding, Report, config, pack};
use sp_tree::{LIMIT_NAMES, Limits};

use super::*;

fn schema(file: &str) -> Value {
    json(&world!().sp(&["schema", file]).ok())
}

fn validator(file: &str) -> Validator {
    jsonschema::validator_for(&schema(file)).unwrap()
}

/// How a number without quotes is interpreted.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// As a number, like editors do.
    AreNumbers,
    /// As text, like `sp` does.
    AreText,
}

/// Converts YAML to the JSON that is validated; booleans and nulls keep their types.
fn as_json(node: &YamlNode, numbers: Numbers) -> Value {
    match &node.value {
        Yaml::Scalar { .. } if node.is_null() => Value::Null,
        Yaml::Scalar { text, plain } => {
            match (node.as_bool(), text.parse::<i64>(), text.parse::<f64>()) {
                (Some(value), ..) => value.into(),
                _ if numbers == Numbers::AreText => text.clone().into(),
                (_, Ok(number), _) if *plain => number.into(),
                (_, _, Ok(number))
                    if *plain && node.implicit_type() == Some(ImplicitType::Number) =>
                {
                    number.into()
                }
                _ => text.clone().into(),
            }
        }
        Yaml::Seq(items) => {
            items.iter().map(|item| as_json(item, numbers)).collect::<Vec<_>>().into()
        }
        Yaml::Map(pairs) => {
            let pair = |(key, value): &(YamlNode, YamlNode)| {
                (key.text().unwrap().into(), as_json(value, numbers))
            };
            Value::Object(pairs.iter().map(pair).collect())
        }
    }
}

fn parse(text: &str) -> Value {
    as_json(&yaml::parse(text, &Limits::default()).unwrap(), Numbers::AreNumbers)
}

fn is_valid_pack(text: &str) -> bool {
    pack::read("x", text, &Limits::default()).0.is_some()
}

/// Valid packs with every key.
const VALID_PACKS: &[&str] = &[
    "name: team\ninclude: ['**']\n",
    "name: team\ninclude:\n  - general/**\n  - coding/*\nexclude:\n  - '**/experimental/**'\n",
    "name: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1.2.3\n    include: ['**']\n",
    "name: team\nimports:\n  - repo: git@github.com:acme/skills.git\n    include: [a]\n    exclude: [b]\n",
    "name: team\nimports:\n  - {repo: ../other, ref: 0123456789abcdef0123456789abcdef01234567, include: [a/b]}\n",
    "name: team\ninclude: [a]\ninstall: {prefix: '', sep: '-', flatten: true}\n",
    "name: team\ninclude: [a]\ninstall: {prefix: my team, sep: '.', flatten: false}\n",
    "name: team\ninclude: [a]\ninstall: {}\n",
    "name: team\ninclude: [a]\ninstall:\n",
    "name: team\ninclude: [a]\ninstall: {prefix: , sep: ~}\n",
    "name: team\ninclude: []\nimports:\n  - repo: https://example.com/r.git\n    ref:\n    include: [x]\n",
    "name: team\ninclude: [a]\nimports: []\nexclude: []\n",
    "name: Über uns\ninclude: ['日本/*', 'a b/c', '.hidden', '-dash']\n",
    "\u{feff}# a comment first\nname: &n team\ninclude: [*n]\n",
];

#[test]
fn sp_11_valid_packs_match_the_schema() {
    let validator = validator("pack");
    let world = world!();
    for text in VALID_PACKS {
        assert!(is_valid_pack(text), "{text}");
        world.pack("x", text);
        let found = findings(&world, &["packs/x.yaml"]);
        assert!(
            !found.iter().any(|line| line.contains("[SP-11]") || line.contains("[SP-13]")),
            "{found:?}"
        );
        let errors: Vec<String> =
            validator.iter_errors(&parse(text)).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
}

#[test]
fn sp_11_numbers_and_nulls_match_the_schema() {
    let validator = validator("pack");
    let refused: Vec<&str> = [
        "name: team\nimports:\n  - repo: github.com/acme/skills\n    ref: 1.0\n    include: ['**']\n",
        "name: team\nimports:\n  - repo: github.com/acme/skills\n    ref: 2024\n    include: ['**']\n",
        "name: 2024\ninclude: ['**']\n",
        "name: team\ninclude: [1, 2]\n",
        "name: team\ninclude: [true]\n",
        "name: team\ninclude: [a]\ninstall: {flatten: null}\n",
        "name: team\ninclude: [a]\nexclude:\n",
        "name: team\ninclude: [a]\nimports:\n",
        "name: team\ninclude:\nimports:\n  - repo: ./x\n    include: [a]\n    exclude:\n",
        "name: team\ninclude: [a]\ninstall: {prefix: 1, sep: 2}\n",
    ]
    .into_iter()
    .inspect(|text| assert!(is_valid_pack(text), "{text}"))
    .filter(|text| !validator.is_valid(&parse(text)))
    .collect();
    assert_eq!(refused, [""; 0]);
}

/// Finds the files with this suffix below a directory, without build output.
fn find(dir: &Path, suffix: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "target" {
                find(&path, suffix, found);
            }
        } else if path.to_string_lossy().ends_with(suffix) {
            found.push(path);
        }
    }
}

#[test]
fn sp_11_valid_packs_of_examples_and_tests_match_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let (validator, mut files) = (validator("pack"), Vec::new());
    for (dir, suffix) in
        [("examples", ".yaml"), ("demo", ".yaml"), ("crates", ".yaml"), ("crates", ".yml")]
    {
        if root.join(dir).is_dir() {
            find(&root.join(dir), suffix, &mut files);
        }
    }
    files.retain(|file| file.parent().unwrap().ends_with("packs"));
    assert!(
        files.iter().any(|file| file.ends_with("examples/team/packs/everyone.yaml")),
        "{files:?}"
    );
    let mut texts: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_default()).collect();
    // Packs that tests write: the second argument of `pack("…", "…")`.
    let mut sources = Vec::new();
    find(&root.join("crates"), ".rs", &mut sources);
    for source in sources {
        let source = std::fs::read_to_string(source).unwrap();
        for call in source.split(".pack(\"").skip(1) {
            let literal = call
                .split_once(", ")
                .map(|(_, rest)| rest.trim_start())
                .filter(|rest| rest.starts_with('"'));
            let mut stream =
                literal.map(|rest| serde_json::Deserializer::from_str(rest).into_iter::<String>());
            texts.extend(stream.as_mut().and_then(Iterator::next).and_then(Result::ok));
        }
    }
    let valid: Vec<String> = texts.into_iter().filter(|text| is_valid_pack(text)).collect();
    assert!(valid.len() > 40, "only {} packs", valid.len());
    for text in valid {
        let value = as_json(&yaml::parse(&text, &Limits::default()).unwrap(), Numbers::AreText);
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
}

#[test]
fn sp_11_invalid_packs_do_not_match_the_schema() {
    let validator = validator("pack");
    for (case, text) in [
        ("an unknown key", "name: x\ninclude: [a]\nversion: 1\n"),
        ("a misspelled key", "name: x\ninclde: [a]\n"),
        ("no name", "include: [a]\n"),
        ("an empty name", "name: ''\ninclude: [a]\n"),
        ("a name that is a list", "name: [x]\ninclude: [a]\n"),
        ("nothing selected", "name: x\n"),
        ("patterns that are text", "name: x\ninclude: a\n"),
        ("a pattern that is a mapping", "name: x\ninclude: [{a: b}]\n"),
        ("an empty pattern", "name: x\ninclude: ['']\n"),
        ("a leading slash", "name: x\ninclude: [/a]\n"),
        ("a leading dot", "name: x\ninclude: [./a]\n"),
        ("a trailing slash", "name: x\ninclude: [a/]\n"),
        ("a long pattern", &format!("name: x\ninclude: [{}]\n", "a".repeat(4097))),
        ("an exclude of the wrong form", "name: x\ninclude: [a]\nexclude: [/a]\n"),
        ("imports that are a mapping", "name: x\nimports: {repo: ./a, include: [a]}\n"),
        ("an import without a repo", "name: x\nimports:\n  - include: [a]\n"),
        ("an import without an include", "name: x\nimports:\n  - repo: ./a\n"),
        ("an import with an empty include", "name: x\nimports:\n  - repo: ./a\n    include: []\n"),
        (
            "an import with an unknown key",
            "name: x\nimports:\n  - repo: ./a\n    include: [a]\n    branch: b\n",
        ),
        (
            "a repo that is an option",
            "name: x\nimports:\n  - repo: --upload-pack=x\n    include: [a]\n",
        ),
        ("an empty repo", "name: x\nimports:\n  - repo: ''\n    include: [a]\n"),
        (
            "a ref that is an option",
            "name: x\nimports:\n  - repo: ./a\n    ref: -x\n    include: [a]\n",
        ),
        ("a slash in the prefix", "name: x\ninclude: [a]\ninstall: {prefix: a/b}\n"),
        ("a slash in the separator", "name: x\ninclude: [a]\ninstall: {sep: /}\n"),
        ("flatten as text", "name: x\ninclude: [a]\ninstall: {flatten: 'true'}\n"),
        ("an unknown key of install", "name: x\ninclude: [a]\ninstall: {separator: x}\n"),
        ("install as text", "name: x\ninclude: [a]\ninstall: flat\n"),
        ("a list", "- a\n"),
        ("nothing", ""),
    ] {
        assert!(!is_valid_pack(text), "{case} is accepted");
        assert!(!validator.is_valid(&parse(text)), "{case} matches the schema");
    }
}

#[test]
fn sp_27_only_valid_configurations_match_the_schema() {
    let validator = validator("config");
    for (text, is_valid) in [
        ("{}\n", true),
        ("sinks:\nlimits:\n", true),
        ("sinks: {}\nlimits: {}\n", true),
        ("sinks: {mine: /srv/skills, other: ~/x, home: '~'}\n", true),
        ("limits: {depth: 1, skill-entries: 20000, file-bytes: 0}\n", true),
        ("sink: {}\n", false),
        ("sinks: []\n", false),
        ("sinks: {mine: work}\n", false),
        ("sinks: {mine: ~user/x}\n", false),
        ("sinks: {mine: [/x]}\n", false),
        ("limits: {dept: 1}\n", false),
        ("limits: {depth: many}\n", false),
        ("limits: {depth: -1}\n", false),
        ("limits: {depth: 1.5}\n", false),
        ("limits: [depth]\n", false),
        ("- a\n", false),
    ] {
        assert_eq!(config::read("x", text, &Limits::default()).0.is_some(), is_valid, "{text}");
        assert_eq!(validator.is_valid(&parse(text)), is_valid, "{text}");
    }
}

fn properties(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

/// A key that no reader knows.
const UNKNOWN_KEY: &str = "zzzzzzzz";

/// Whether the reader reported this key itself, not its value.
fn is_unknown(text: &str, key: &str, report: &Report) -> bool {
    let start = text.rfind(key).unwrap();
    report.findings.iter().any(|finding| finding.span == Some(start..start + key.len()))
}

/// Returns the keys that a reader knows, from its help for an unknown key: `…: a, b, c`.
fn known_keys(report: &Report) -> BTreeSet<String> {
    let is_about = |finding: &&Finding| finding.message.contains(UNKNOWN_KEY);
    let finding = report.findings.iter().find(is_about).unwrap();
    let keys = finding.help.as_ref().unwrap().rsplit_once(": ").unwrap().1;
    keys.split(", ").map(|key| key.trim_matches('`').into()).collect()
}

#[test]
fn sp_11_schema_and_reader_have_the_same_keys() {
    let schema = schema("pack");
    let definition = |name: &str| schema["definitions"][name].clone();
    for (part, before, properties) in [
        ("pack", "", properties(&schema)),
        ("import", "name: x\nimports:\n  - ", properties(&definition("PackImport"))),
        ("install", "name: x\ninstall:\n  ", properties(&definition("FolderNaming"))),
    ] {
        let read = |key: &str| {
            let text = format!("{before}{key}: 1\n");
            let report = pack::read("x", &text, &Limits::default()).1;
            (is_unknown(&text, key, &report), report)
        };
        let (unknown, report) = read(UNKNOWN_KEY);
        assert!(unknown, "{part}");
        assert_eq!(known_keys(&report), properties, "{part}");
        for key in &properties {
            assert!(!read(key).0, "{part}: `{key}`");
        }
    }
    let schema = self::schema("config");
    let (_, report) = config::read("x", &format!("{UNKNOWN_KEY}: 1\n"), &Limits::default());
    assert_eq!(known_keys(&report), properties(&schema));
    let limits = LIMIT_NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(properties(&schema["definitions"]["Limits"]), limits);
}

#[test]
fn schemas_are_valid_and_describe_every_key() {
    for file in sp_formats::schema::SCHEMA_FILES {
        let schema = schema(file);
        assert!(schema["$schema"].as_str().unwrap().contains("draft-07"), "{file}");
        jsonschema::meta::validate(&schema).unwrap_or_else(|e| panic!("{file}: {e}"));
        for (key, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{file}: {key}");
        }
        assert_eq!(
            world!().sp(&["schema", file]),
            world!().sp(&["schema", file, "--format", "json"]),
            "{file}"
        );
    }
}

#[test]
fn au_08_valid_policies_match_the_schema_and_unknown_keys_do_not() {
    let validator = validator("policy");
    let is_valid = |text: &str| {
        let (_, report) = sp_formats::policy::read("x", text, &Limits::default());
        report.is_usable()
    };
    for (text, expected) in [
        ("sources: {allow: [github.com/acme], deny: ['@evil/*']}\n", true),
        ("severities: {deny: [likely high]}\nrequire: [lock, signature]\n", true),
        ("accept: {deny: ['*']}\nlicenses: {allow: [MIT, none]}\ncontact: it@acme.example\n", true),
        ("hosts: {allow: []}\n", true),
        ("source: {allow: [a]}\n", false),
        ("sources: {alow: [a]}\n", false),
        ("severities: {allow: [hint]}\n", false),
        ("require: [locks]\n", false),
    ] {
        assert_eq!(is_valid(text), expected, "{text}");
        assert_eq!(validator.is_valid(&parse(text)), expected, "{text}");
    }
}
