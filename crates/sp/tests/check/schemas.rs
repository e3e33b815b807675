//! `sp schema`: what it refuses `sp check` refuses, and it knows exactly the keys that are read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use sp_formats::yaml::{self, YamlNode, YamlValue as Yaml};
use sp_formats::{config, pack};
use sp_tree::{LIMIT_NAMES, Limits};

use super::*;

fn schema(file: &str) -> Value {
    json(&world!().sp(&["schema", file]).ok())
}

fn validator(file: &str) -> Validator {
    jsonschema::validator_for(&schema(file)).unwrap()
}

/// What a number without quotes is taken for.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// A number, as an editor does.
    AreNumbers,
    /// Text, as our reader does.
    AreText,
}

/// YAML as it is handed to a schema: truth values and nulls are what they look like.
fn as_json(node: &YamlNode, numbers: Numbers) -> Value {
    match &node.value {
        Yaml::Scalar { .. } if node.is_null() => Value::Null,
        Yaml::Scalar { text, plain } => {
            match (node.as_bool(), text.parse::<i64>(), text.parse::<f64>()) {
                (Some(truth), ..) => truth.into(),
                _ if numbers == Numbers::AreText => text.clone().into(),
                (_, Ok(number), _) if *plain => number.into(),
                (_, _, Ok(number)) if *plain && node.implicit_type() == Some("a number") => {
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

fn parsed(text: &str) -> Value {
    as_json(&yaml::parse(text, &Limits::default()).unwrap(), Numbers::AreNumbers)
}

fn pack_is_read(text: &str) -> bool {
    pack::read("x", text, &Limits::default()).0.is_some()
}

/// Packs that people write.
const GOOD_PACKS: &[&str] = &[
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
fn sp_11_every_pack_that_is_read_fits_the_schema() {
    let validator = validator("pack");
    let world = world!();
    for text in GOOD_PACKS {
        assert!(pack_is_read(text), "{text}");
        world.pack("x", text);
        let found = lines(&world, &["packs/x.yaml"]);
        assert!(
            !found.iter().any(|line| line.contains("[SP-11]") || line.contains("[SP-13]")),
            "{found:?}"
        );
        let errors: Vec<String> =
            validator.iter_errors(&parsed(text)).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
}

#[test]
fn sp_11_numbers_and_nulls_that_are_read_fit_the_schema_too() {
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
    .inspect(|text| assert!(pack_is_read(text), "{text}"))
    .filter(|text| !validator.is_valid(&parsed(text)))
    .collect();
    assert_eq!(refused, [""; 0]);
}

/// Every file with this ending below a directory, but what is built.
fn find(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "target" {
                find(&path, ending, found);
            }
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

#[test]
fn sp_11_every_pack_of_our_own_that_is_read_fits_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let (validator, mut files) = (validator("pack"), Vec::new());
    for (dir, ending) in
        [("examples", ".yaml"), ("demo", ".yaml"), ("crates", ".yaml"), ("crates", ".yml")]
    {
        if root.join(dir).is_dir() {
            find(&root.join(dir), ending, &mut files);
        }
    }
    files.retain(|file| file.parent().unwrap().ends_with("packs"));
    assert!(
        files.iter().any(|file| file.ends_with("examples/team/packs/everyone.yaml")),
        "{files:?}"
    );
    let mut texts: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_default()).collect();
    // Those that tests write: the second argument of `pack("…", "…")`.
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
    let read: Vec<String> = texts.into_iter().filter(|text| pack_is_read(text)).collect();
    assert!(read.len() > 40, "only {} packs were found", read.len());
    for text in read {
        let value = as_json(&yaml::parse(&text, &Limits::default()).unwrap(), Numbers::AreText);
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
}

#[test]
fn sp_11_packs_of_the_wrong_shape_fit_neither_the_schema_nor_the_reader() {
    let validator = validator("pack");
    for (what, text) in [
        ("an unknown key", "name: x\ninclude: [a]\nversion: 1\n"),
        ("a misspelt key", "name: x\ninclde: [a]\n"),
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
        assert!(!pack_is_read(text), "{what} is read");
        assert!(!validator.is_valid(&parsed(text)), "{what} fits the schema");
    }
}

#[test]
fn sp_27_configs_that_are_read_fit_the_schema_and_those_of_the_wrong_shape_do_not() {
    let validator = validator("config");
    for (text, good) in [
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
        assert_eq!(config::read("x", text, &Limits::default()).0.is_some(), good, "{text}");
        assert_eq!(validator.is_valid(&parsed(text)), good, "{text}");
    }
}

fn properties(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().unwrap().keys().cloned().collect()
}

/// The keys that a reader knows: it lists them where it meets one that it does not know.
fn known(report: &sp_formats::Report) -> BTreeSet<String> {
    let finding =
        report.findings.iter().find(|finding| finding.message == "unknown key `zzzzzzzz`").unwrap();
    let keys = finding.help.as_ref().unwrap().strip_prefix("the keys are: ").unwrap();
    keys.split(", ").map(Into::into).collect()
}

#[test]
fn sp_11_the_schema_has_exactly_the_keys_that_are_read() {
    let schema = schema("pack");
    let definition = |name: &str| schema["definitions"][name].clone();
    for (part, before, properties) in [
        ("a pack", "", properties(&schema)),
        ("an import", "imports:\n  - ", properties(&definition("PackImport"))),
        ("install", "install:\n  ", properties(&definition("FolderNaming"))),
    ] {
        let read = |key: &str| {
            let name = if part == "a pack" { "" } else { "name: x\n" };
            pack::read("x", &format!("{name}{before}{key}: 1\n"), &Limits::default()).1
        };
        assert_eq!(known(&read("zzzzzzzz")), properties, "{part}");
        for key in &properties {
            let unknown =
                read(key).findings.iter().any(|finding| finding.message.starts_with("unknown key"));
            assert!(!unknown, "{part}: `{key}`");
        }
    }
    let schema = self::schema("config");
    let (_, report) = config::read("x", "zzzzzzzz: 1\n", &Limits::default());
    assert_eq!(known(&report), properties(&schema));
    let limits = LIMIT_NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(properties(&schema["definitions"]["Limits"]), limits, "every limit, and no other");
}

#[test]
fn the_schemas_are_schemas_that_say_what_their_keys_are_for() {
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
