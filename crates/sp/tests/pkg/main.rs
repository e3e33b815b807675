//! `sp pkg` and `sp key`: the life of a package, whom it is trusted from, and what is left when it
//! is cut short.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod context;
mod create;
mod extract;
mod git_dir;
mod graph;
mod hostile;
mod install;
mod interruptions;
mod lifecycle;
mod page;
mod registry;
mod stale;
mod transport;
mod trust;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sp_testkit::{Entry, Files, HANG_TIMEOUT, Run, World, eventually, world};
use sp_tree::{Digest, PrivateKey};

/// How much of a package its maker signs.
#[derive(Clone, Copy)]
enum Signs {
    Content,
    Whole,
}

/// A package as somebody else might write it; hashes and signatures are counted here, apart from
/// `sp`.
#[derive(Clone)]
struct Made {
    manifest: Map<String, Value>,
    content: String,
    signer: Option<(u8, Signs)>,
}

impl Made {
    /// A package with one node.
    fn new(name: &str, version: &str) -> Self {
        let manifest = json!({
            "schema_version": 2, "name": name, "version": version, "description": "A test.",
            "created_at": "2026-05-22T00:00:00Z", "layers": [], "conformance_level": 1,
            "provenance": {"tool": "hand", "tool_version": "1"},
        });
        let Value::Object(manifest) = manifest else { panic!("an object") };
        Self { manifest, content: String::new(), signer: None }.says("It is so.")
    }

    /// A package of skills with these files.
    fn skills(name: &str, version: &str, files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| {
            (sp_tree::RelPath::new(path).unwrap(), false, text.as_bytes().to_vec())
        };
        let files: Vec<_> = files.iter().map(file).collect();
        let mut made = Self::new(name, version).with("kind", json!("skills"));
        made.manifest.remove("conformance_level");
        made.content =
            format!("{{\"documents\":{}}}", sp_formats::package::write_documents(&files));
        made
    }

    /// With another text in its one node.
    fn says(self, text: &str) -> Self {
        let node = json!({"id": "n1", "type": "fact", "content": text, "activation": 1.0});
        self.holds(&format!(
            r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{node}],"edges":[]}}}}"#
        ))
    }

    /// With this content, as it stands.
    fn holds(mut self, content: &str) -> Self {
        self.content = content.into();
        self
    }

    /// With this member in its manifest.
    fn with(mut self, key: &str, value: Value) -> Self {
        self.manifest.insert(key.into(), value);
        self
    }

    fn needs(self, all: &[(&str, &str)]) -> Self {
        let all = all
            .iter()
            .map(|(name, range)| json!({"name": name, "version_req": range, "optional": false}));
        let all = all.collect();
        self.with("dependencies", Value::Array(all))
    }

    fn signed(mut self, seed: u8, signs: Signs) -> Self {
        self.signer = Some((seed, signs));
        self
    }

    fn manifest(&self) -> Value {
        let content = compact(&self.content);
        let text = |key: &str| self.manifest[key].as_str().unwrap_or_default();
        let hash = Digest::of(content.as_bytes()).hex();
        let (name, version) = (text("name"), text("version"));
        let sha256 = Digest::of(format!("{name}:{version}:{hash}").as_bytes()).hex();
        let mut manifest = self.manifest.clone();
        let integrity = json!({"sha256": sha256, "content_hash": hash, "byte_size": content.len()});
        manifest.entry("integrity").or_insert(integrity);
        if let Some((seed, signs)) = self.signer {
            let key = PrivateKey::from_seed(&[seed; 32]);
            let sign = |text: String| key.sign(Digest::of(text.as_bytes()).hex().as_bytes()).hex();
            let mut sorted = Value::Object(manifest.clone());
            sorted.sort_all_objects();
            let mut signature = json!({
                "algorithm": "ed25519", "public_key": key.public().hex(),
                "value": sign(format!("ctxpkg-sign-v1:{name}:{version}:{sha256}")),
            });
            if matches!(signs, Signs::Whole) {
                signature["manifest_value"] =
                    sign(format!("ctxpkg-sign-manifest-v1:{sorted}")).into();
            }
            manifest.insert("signature".into(), signature);
        }
        Value::Object(manifest)
    }

    fn text(&self) -> String {
        format!("{{\"manifest\":{},\"content\":{}}}", self.manifest(), self.content)
    }

    /// Writes it into a file of a world; its path.
    fn put(&self, world: &World, path: &str) -> String {
        write(world, path, self.text())
    }

    fn sha256(&self) -> String {
        self.manifest()["integrity"]["sha256"].as_str().unwrap().into()
    }
}

/// The public half of the key that is made of this seed.
fn public(seed: u8) -> String {
    PrivateKey::from_seed(&[seed; 32]).public().hex()
}

/// JSON without the white space that stands outside of strings.
fn compact(text: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let mut keep = |c: char| {
        let blank = !quoted && matches!(c, ' ' | '\t' | '\n' | '\r');
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        !blank
    };
    text.chars().filter(|c| keep(*c)).collect()
}

/// A world with an empty project in `project`.
fn project() -> World {
    let world = world!();
    std::fs::create_dir(world.path("project")).unwrap();
    world
}

/// Runs `sp pkg` in the project.
fn pkg(world: &World, args: &[&str]) -> Run {
    world.sp_in("project", &[&["pkg"], args].concat())
}

/// Runs `sp key` in the project.
fn key(world: &World, args: &[&str]) -> Run {
    world.sp_in("project", &[&["key"], args].concat())
}

/// What `sp pkg` prints as JSON.
#[track_caller]
fn answer(world: &World, args: &[&str]) -> Value {
    let run = pkg(world, &[args, &["--format", "json"]].concat()).ok();
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// Puts packages into the store.
#[track_caller]
fn import(world: &World, packages: &[Made]) {
    for (at, made) in packages.iter().enumerate() {
        let file = made.put(world, &format!("in/{at}.ctxpkg"));
        pkg(world, &["import", &file]).ok();
    }
    let _ = std::fs::remove_dir_all(world.path("in"));
}

fn write(world: &World, path: &str, text: impl AsRef<[u8]>) -> String {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[track_caller]
fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn exists(world: &World, path: &str) -> bool {
    world.path(path).symlink_metadata().is_ok()
}

/// A `SKILL.md`.
fn skill(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n{more}")
}

fn lock(world: &World) -> Value {
    serde_json::from_str(&read(world, "project/ctxpkg.lock")).unwrap()
}

/// The packages that the lock of the project names, with their versions.
fn locked(world: &World) -> Vec<String> {
    let lock = lock(world);
    let packages = lock["packages"].as_object().unwrap();
    packages
        .iter()
        .map(|(name, one)| format!("{name} {}", one["version"].as_str().unwrap()))
        .collect()
}

/// The packages of the store, with their versions.
fn stored(world: &World) -> Vec<String> {
    let run = pkg(world, &["list", "--format", "plain"]).ok();
    let line = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join(" ");
    run.stdout.lines().map(line).collect()
}

/// What the home knows of packages: the store, whom it trusts, what it received.
fn records(world: &World) -> Files {
    let mut files = world.files("home/.skillpack");
    files.retain(|path, entry| {
        let part = path.split('/').next().unwrap_or_default();
        matches!(part, "store" | "trust.json" | "received.json" | "keys") && *entry != Entry::Dir
    });
    files
}

/// Runs `sp pkg`, which must fail with this code and these words, and change neither home nor
/// project.
#[track_caller]
fn refused(world: &World, args: &[&str], code: i32, words: &str) -> Run {
    let before = (records(world), world.files("project"));
    let run = pkg(world, args).fails(code);
    assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    assert_eq!(
        (records(world), world.files("project")),
        before,
        "{args:?} changed something: {run}"
    );
    no_leftovers(world, &format!("{args:?}"));
    run
}

/// Nothing that `sp` makes on the way is left, and the store holds only what its shelf names.
#[track_caller]
fn no_leftovers(world: &World, what: &str) {
    let left = |name: &String| {
        let leaf = name.rsplit('/').next().unwrap_or(name);
        leaf.ends_with(".tmp")
            || leaf.ends_with(".sp-new")
            || leaf.contains(".skillpack-")
            || leaf == "incoming"
            || leaf.contains("journal")
    };
    let mut all = world.files("");
    // What a registry has is its own affair.
    all.retain(|path, _| !path.starts_with("before/") && !path.starts_with("registry/"));
    let all: Vec<String> = all.into_keys().filter(left).collect();
    assert_eq!(all, [""; 0], "{what}: left over");
}

/// The store holds no bytes but those that its shelf names.
#[track_caller]
fn swept(world: &World, what: &str) {
    let shelf: Value = match std::fs::read(world.path("home/.skillpack/store/packages.json")) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap(),
        Err(_) => json!({"packages": [], "waiting": []}),
    };
    let of = |list: &str| shelf[list].as_array().unwrap().clone();
    let named =
        |one: &Value| one["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
    let mut named: Vec<String> = of("packages").iter().chain(&of("waiting")).map(named).collect();
    named.sort();
    named.dedup();
    let files = world.files("home/.skillpack/store").into_iter();
    let blobs = files.filter(|(path, entry)| path.contains('/') && *entry != Entry::Dir);
    let blobs: Vec<String> = blobs.map(|(path, _)| path.replace('/', "")).collect();
    assert_eq!(blobs, named, "{what}: the store and its shelf");
}

/// The documented schema of a command's JSON.
fn schema(section: &str) -> Value {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"))
        .unwrap();
    let title = if section == "error" { "## `error`".into() } else { format!("## `sp {section}`") };
    let part = docs.split_once(&title).unwrap_or_else(|| panic!("{title} in docs/json.md")).1;
    let block = part.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    serde_json::from_str(block).unwrap()
}

/// Holds what a command printed against the documented schema.
#[track_caller]
fn fits(section: &str, text: &str) {
    let value: Value =
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{section}: {e}: {text}"));
    let validator = jsonschema::validator_for(&schema(section)).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{section}: {wrong:?}: {value}");
    let schema = schema(section);
    documented(&value, &schema, &schema, section);
}

/// Every member that is there is one that the schema names.
#[track_caller]
fn documented(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return documented(value, &root["$defs"][name.trim_start_matches("#/$defs/")], root, at);
    }
    // What may be missing is described as that or nothing.
    if let Some(one) =
        schema["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["type"] != "null"))
    {
        return documented(value, one, root, at);
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        assert!(!schema["properties"][name].is_null(), "{at}.{name} is not documented");
        assert!(!member.is_null(), "{at}.{name} is null: what is not there is left out");
        documented(member, &schema["properties"][name], root, &format!("{at}.{name}"));
    }
    value
        .as_array()
        .into_iter()
        .flatten()
        .for_each(|item| documented(item, &schema["items"], root, &format!("{at}[]")));
}
