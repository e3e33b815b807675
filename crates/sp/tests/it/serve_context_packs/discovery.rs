//! `/.well-known/agent-skills/`: the skills of public packages, for other installers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_testkit::Registry;
use sp_tree::{Archive, Digest, Limits, ListingKind};

use super::{create_token, get, get_with, running};
use crate::support::registry_fixtures::skill_text;
use crate::support::skill_package::package_of_skills;

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// The current version of the format.
const CURRENT: &str = "/.well-known/agent-skills";
/// The older version of the format.
const OLDER: &str = "/.well-known/skills";

type Files = BTreeMap<String, Vec<u8>>;

/// Publishes a package of skills, and returns its bytes. Files that end with `.sh` are executable.
pub(super) fn publish(
    registry: &Registry,
    token: &str,
    (name, version): (&str, &str),
    files: &[(&str, &str)],
) -> Vec<u8> {
    let bytes = package(&format!("@{name}"), version, files);
    let answer =
        registry.request(&format!("PUT /api/v1/packages/{name}/{version}"), Some(token), &bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    bytes
}

fn package(name: &str, version: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    package_of_skills(name, version, &files)
}

/// Returns the entries of the index.
fn index(registry: &Registry) -> Vec<Value> {
    let answer = get(registry, &format!("{CURRENT}/index.json"));
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/json")),
        "{answer:?}"
    );
    let index = answer.json();
    assert_eq!(index["$schema"], SCHEMA);
    index["skills"].as_array().unwrap().clone()
}

fn names(skills: &[Value]) -> Vec<&str> {
    skills.iter().map(|skill| skill["name"].as_str().unwrap()).collect()
}

/// Fetches the files of an entry.
fn fetch(registry: &Registry, skill: &Value) -> Files {
    let url = format!("{CURRENT}/{}", skill["url"].as_str().unwrap());
    let answer = get(registry, &url);
    assert_eq!(answer.status, 200, "{url}");
    assert_eq!(
        skill["digest"],
        json!(format!("sha256:{}", Digest::of(&answer.body).hex())),
        "{url}"
    );
    match skill["type"].as_str().unwrap() {
        "skill-md" => {
            assert_eq!(answer.header("content-type"), Some("text/markdown; charset=utf-8"));
            Files::from([("SKILL.md".into(), answer.body)])
        }
        "archive" => {
            assert_eq!(answer.header("content-type"), Some("application/zip"));
            unzip(answer.body)
        }
        other => panic!("{other}"),
    }
}

fn unzip(bytes: Vec<u8>) -> Files {
    let archive = Archive::from_bytes("a skill", bytes, &Limits::default()).unwrap();
    let mut files = Files::new();
    for entry in &archive.listing.entries {
        if let ListingKind::File { handle, executable, .. } = &entry.kind {
            assert_eq!(*executable, entry.path.as_str().ends_with(".sh"), "{}", entry.path);
            files.insert(entry.path.to_string(), archive.read(&entry.path, handle).unwrap());
        }
    }
    files
}

#[test]
fn mc_09_index_has_the_skills_of_all_public_packages() {
    let (_world, registry, _, me) = running(module_path!());
    assert_eq!(index(&registry), [Value::Null; 0]);
    let (review, deploy) = (skill_text("review"), skill_text("deploy"));
    let files = [
        ("skills/review/SKILL.md", review.as_str()),
        ("skills/deploy/SKILL.md", &deploy),
        ("skills/deploy/scripts/run.sh", "#!/bin/sh\n"),
        ("skills/deploy/references/a b é.md", "More.\n"),
        ("README.md", "It belongs to no skill.\n"),
    ];
    publish(&registry, &me, ("acme/tools", "1.0.0"), &files);
    // A package whose root is a skill.
    publish(&registry, &me, ("acme/plan", "1.0.0"), &[("SKILL.md", &skill_text("plan"))]);
    let skills = index(&registry);
    assert_eq!(names(&skills), ["deploy", "plan", "review"]);
    let types: Vec<&str> = skills.iter().map(|skill| skill["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["archive", "skill-md", "skill-md"]);
    assert_eq!(skills[0]["description"], "Does deploy.");
    let expected = |dir: &str| -> Files {
        let below = files.iter().filter_map(|(path, text)| Some((path.strip_prefix(dir)?, text)));
        below.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect()
    };
    assert_eq!(fetch(&registry, &skills[0]), expected("skills/deploy/"));
    assert_eq!(fetch(&registry, &skills[2]), expected("skills/review/"));
    // The archive is reproducible: a second one has the same digest.
    assert_eq!(fetch(&registry, &skills[0]), expected("skills/deploy/"));
    // Downloads can be resumed and revalidated.
    let url = format!("{CURRENT}/deploy.zip");
    let complete = get(&registry, &url);
    let tag = complete.header("etag").unwrap().to_owned();
    assert_eq!(get_with(&registry, &url, &[("if-none-match", &tag)]).status, 304);
    let part = get_with(&registry, &url, &[("range", "bytes=4-9")]);
    assert_eq!((part.status, &part.body[..]), (206, &complete.body[4..10]));
    assert_eq!(registry.request(&format!("HEAD {url}"), None, b"").status, 200);
}

#[test]
fn mc_09_older_index_lists_files_that_can_be_fetched() {
    let (_world, registry, _, me) = running(module_path!());
    let deploy = skill_text("deploy");
    let files = [("deploy/SKILL.md", deploy.as_str()), ("deploy/scripts/run.sh", "#!/bin/sh\n")];
    publish(&registry, &me, ("acme/tools", "1.0.0"), &files);
    let unsafe_name =
        [("odd/SKILL.md", &*skill_text("odd")), ("odd/a b.md", "A URL cannot contain its name.\n")];
    publish(&registry, &me, ("acme/odd", "1.0.0"), &unsafe_name);
    let old = get(&registry, &format!("{OLDER}/index.json")).json();
    let entry = json!({"name": "deploy", "description": "Does deploy.", "files": ["SKILL.md", "scripts/run.sh"]});
    assert_eq!(old, json!({"skills": [entry]}));
    for (path, text) in files {
        let answer = get(&registry, &format!("{OLDER}/{path}"));
        assert_eq!((answer.status, answer.body), (200, text.as_bytes().to_vec()), "{path}");
    }
}

#[test]
fn mc_09_private_yanked_and_old_skills_are_not_listed() {
    let (_world, registry, _, me) = running(module_path!());
    for (package, version, name) in
        [("acme/a", "1.0.0", "old"), ("acme/a", "1.1.0", "new"), ("acme/b", "1.0.0", "secret")]
    {
        publish(
            &registry,
            &me,
            (package, version),
            &[(&format!("{name}/SKILL.md"), &skill_text(name))],
        );
    }
    let request = |request: &str| {
        assert_eq!(registry.request(request, Some(&me), b"").status, 204, "{request}");
    };
    assert_eq!(names(&index(&registry)), ["new", "secret"]);
    request("PUT /api/v1/packages/acme/b/private");
    assert_eq!(names(&index(&registry)), ["new"]);
    for path in [
        format!("{CURRENT}/secret/SKILL.md"),
        format!("{CURRENT}/secret.zip"),
        format!("{OLDER}/secret/SKILL.md"),
    ] {
        let answer = registry.request(&format!("GET {path}"), Some(&me), b"");
        assert_eq!(answer.status, 404, "{path}");
    }
    request("DELETE /api/v1/packages/acme/a/1.1.0");
    assert_eq!(names(&index(&registry)), ["old"]);
    request("DELETE /api/v1/packages/acme/a/1.0.0");
    assert_eq!(index(&registry), [Value::Null; 0]);
    request("DELETE /api/v1/packages/acme/b/private");
    assert_eq!(names(&index(&registry)), ["secret"]);
}

#[test]
fn mc_09_hostile_names_become_safe_and_unique() {
    let (_world, registry, admin, me) = running(module_path!());
    let evil = create_token(&registry, &admin, "evil");
    publish(&registry, &me, ("acme/tools", "1.0.0"), &[("review/SKILL.md", &skill_text("review"))]);
    let skill = |name: &str, description: &str| {
        format!("---\nname: {name}\ndescription: {description}\n---\n\nx\n")
    };
    let long = "x".repeat(2000);
    let files = [
        ("a/SKILL.md", skill("review", "Copies the name of another skill.")),
        ("b/SKILL.md", skill("\"../../etc\"", "Has a path as its name.")),
        ("c/SKILL.md", skill("index.json", "Hides the index.")),
        ("d/SKILL.md", skill("\"a\\u202eb\\n\"", "Has hidden characters.")),
        ("e/SKILL.md", skill("silent", "\"\"")),
        ("f/SKILL.md", "No frontmatter at all.\n".to_owned()),
        ("g/SKILL.md", skill(&long, &long)),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    publish(&registry, &evil, ("aaa/evil", "1.0.0"), &files);
    let skills = index(&registry);
    let names = names(&skills);
    assert!(
        names.contains(&"acme-review")
            && names.contains(&"aaa-review")
            && !names.contains(&"review"),
        "{names:?}"
    );
    for skill in &skills {
        let name = skill["name"].as_str().unwrap();
        assert!(sp_formats::skill::SkillName::new(name).is_ok(), "{name}");
        assert!(!skill["url"].as_str().unwrap().contains(".."), "{skill}");
        assert!(
            (1..=1024).contains(&skill["description"].as_str().unwrap().encode_utf16().count()),
            "{skill}"
        );
        fetch(&registry, skill);
    }
    assert!(!names.contains(&"silent") && skills.len() == 6, "{names:?}");
    for path in [
        "",
        "nothing",
        "nothing.zip",
        "review.zip",
        "acme-review/",
        "acme-review/../index.json",
        "..%2findex.json",
        "acme-review/%2e%2e/SKILL.md",
        "acme-review/skill.md",
        "index.json/",
        "%00",
        "acme-review/SKILL.md%00",
    ] {
        assert_eq!(get(&registry, &format!("{CURRENT}/{path}")).status, 404, "{path}");
    }
}

/// A client may ask for every file of the index at once.
#[test]
fn rg_106_large_index_is_fetched_completely_with_default_settings() {
    const SKILLS: usize = 450;
    let (_world, registry, _admin, me) = running(module_path!());
    let text = |number: usize| skill_text(&format!("skill-{number}"));
    let skills: Vec<(String, String)> =
        (0..SKILLS).map(|number| (format!("skill-{number}/SKILL.md"), text(number))).collect();
    let files: Vec<(&str, &str)> =
        skills.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    for (number, some) in files.chunks(200).enumerate() {
        publish(&registry, &me, (&format!("acme/many{number}"), "1.0.0"), some);
    }
    for format in [CURRENT, OLDER] {
        let found = get(&registry, &format!("{format}/index.json")).json();
        assert_eq!(found["skills"].as_array().unwrap().len(), SKILLS);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let fetch = |number: usize| {
                let registry = &registry;
                scope.spawn(move || {
                    get(registry, &format!("{format}/skill-{number}/SKILL.md")).status
                })
            };
            let threads: Vec<_> = (0..SKILLS).map(fetch).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    }
}
