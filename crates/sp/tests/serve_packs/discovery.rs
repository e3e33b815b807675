//! `/.well-known/agent-skills/`: the skills of public packages, as other installers look for them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sp_testkit::Registry;
use sp_tree::{Archive, Digest, Limits, ListingKind};

use super::made::package_of_skills;
use super::{get, get_with, running, token};

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const NEW: &str = "/.well-known/agent-skills";
const OLD: &str = "/.well-known/skills";

type Files = BTreeMap<String, Vec<u8>>;

/// Publishes a package of skills, and returns its bytes. What ends with `.sh` may be executed.
pub(super) fn publish(
    registry: &Registry,
    token: &str,
    (place, version): (&str, &str),
    files: &[(&str, &str)],
) -> Vec<u8> {
    let bytes = package(&format!("@{place}"), version, files);
    let answer =
        registry.ask(&format!("PUT /api/v1/packages/{place}/{version}"), Some(token), &bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    bytes
}

fn package(name: &str, version: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    package_of_skills(name, version, &files)
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n# {name}\n")
}

fn index(registry: &Registry) -> Vec<Value> {
    let answer = get(registry, &format!("{NEW}/index.json"));
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

/// The files of a skill, fetched as the format says.
fn fetched(registry: &Registry, skill: &Value) -> Files {
    let url = format!("{NEW}/{}", skill["url"].as_str().unwrap());
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
            unpacked(answer.body)
        }
        other => panic!("{other}"),
    }
}

fn unpacked(bytes: Vec<u8>) -> Files {
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
fn mc_09_every_skill_of_every_public_package_is_in_the_index_to_the_byte() {
    let (_world, registry, _, me) = running(module_path!());
    assert_eq!(index(&registry), [Value::Null; 0]);
    let (review, deploy) = (skill("review"), skill("deploy"));
    let files = [
        ("skills/review/SKILL.md", review.as_str()),
        ("skills/deploy/SKILL.md", &deploy),
        ("skills/deploy/scripts/run.sh", "#!/bin/sh\n"),
        ("skills/deploy/references/a b é.md", "More.\n"),
        ("README.md", "It belongs to no skill.\n"),
    ];
    publish(&registry, &me, ("acme/tools", "1.0.0"), &files);
    // A package that is a skill itself, and one of another kind.
    publish(&registry, &me, ("acme/plan", "1.0.0"), &[("SKILL.md", &skill("plan"))]);
    let skills = index(&registry);
    assert_eq!(names(&skills), ["deploy", "plan", "review"]);
    let sorts: Vec<&str> = skills.iter().map(|skill| skill["type"].as_str().unwrap()).collect();
    assert_eq!(sorts, ["archive", "skill-md", "skill-md"]);
    assert_eq!(skills[0]["description"], "Does deploy.");
    let expected = |folder: &str| -> Files {
        let below =
            files.iter().filter_map(|(path, text)| Some((path.strip_prefix(folder)?, text)));
        below.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect()
    };
    assert_eq!(fetched(&registry, &skills[0]), expected("skills/deploy/"));
    assert_eq!(fetched(&registry, &skills[2]), expected("skills/review/"));
    let again = fetched(&registry, &skills[0]);
    assert_eq!(again, expected("skills/deploy/"), "the same skill gives the same bytes");
    // It can be resumed, and asked for again.
    let url = format!("{NEW}/deploy.zip");
    let whole = get(&registry, &url);
    let tag = whole.header("etag").unwrap().to_owned();
    assert_eq!(get_with(&registry, &url, &[("if-none-match", &tag)]).status, 304);
    let part = get_with(&registry, &url, &[("range", "bytes=4-9")]);
    assert_eq!((part.status, &part.body[..]), (206, &whole.body[4..10]));
    assert_eq!(registry.ask(&format!("HEAD {url}"), None, b"").status, 200);
}

#[test]
fn mc_09_the_older_index_lists_files_that_are_there() {
    let (_world, registry, _, me) = running(module_path!());
    let deploy = skill("deploy");
    let files = [("deploy/SKILL.md", deploy.as_str()), ("deploy/scripts/run.sh", "#!/bin/sh\n")];
    publish(&registry, &me, ("acme/tools", "1.0.0"), &files);
    let odd =
        [("odd/SKILL.md", &*skill("odd")), ("odd/a b.md", "It cannot be asked for as it is.\n")];
    publish(&registry, &me, ("acme/odd", "1.0.0"), &odd);
    let old = get(&registry, &format!("{OLD}/index.json")).json();
    let entry = json!({"name": "deploy", "description": "Does deploy.", "files": ["SKILL.md", "scripts/run.sh"]});
    assert_eq!(old, json!({"skills": [entry]}));
    for (path, text) in files {
        let answer = get(&registry, &format!("{OLD}/{path}"));
        assert_eq!((answer.status, answer.body), (200, text.as_bytes().to_vec()), "{path}");
    }
}

#[test]
fn mc_09_what_is_private_yanked_or_old_is_not_offered() {
    let (_world, registry, _, me) = running(module_path!());
    for (place, version, name) in
        [("acme/a", "1.0.0", "old"), ("acme/a", "1.1.0", "new"), ("acme/b", "1.0.0", "secret")]
    {
        publish(&registry, &me, (place, version), &[(&format!("{name}/SKILL.md"), &skill(name))]);
    }
    let put =
        |request: &str| assert_eq!(registry.ask(request, Some(&me), b"").status, 204, "{request}");
    assert_eq!(names(&index(&registry)), ["new", "secret"]);
    put("PUT /api/v1/packages/acme/b/private");
    assert_eq!(names(&index(&registry)), ["new"]);
    for path in [
        format!("{NEW}/secret/SKILL.md"),
        format!("{NEW}/secret.zip"),
        format!("{OLD}/secret/SKILL.md"),
    ] {
        let answer = registry.ask(&format!("GET {path}"), Some(&me), b"");
        assert_eq!(answer.status, 404, "{path}");
    }
    put("DELETE /api/v1/packages/acme/a/1.1.0");
    assert_eq!(names(&index(&registry)), ["old"]);
    put("DELETE /api/v1/packages/acme/a/1.0.0");
    assert_eq!(index(&registry), [Value::Null; 0]);
    put("DELETE /api/v1/packages/acme/b/private");
    assert_eq!(names(&index(&registry)), ["secret"]);
}

#[test]
fn mc_09_a_hostile_name_becomes_no_path_and_takes_nobodys_name() {
    let (_world, registry, admin, me) = running(module_path!());
    let evil = token(&registry, &admin, "evil");
    publish(&registry, &me, ("acme/tools", "1.0.0"), &[("review/SKILL.md", &skill("review"))]);
    let named = |name: &str, description: &str| {
        format!("---\nname: {name}\ndescription: {description}\n---\n\nx\n")
    };
    let long = "x".repeat(2000);
    let files = [
        ("a/SKILL.md", named("review", "It would like to be another.")),
        ("b/SKILL.md", named("\"../../etc\"", "Leads out.")),
        ("c/SKILL.md", named("index.json", "Hides the index.")),
        ("d/SKILL.md", named("\"a\\u202eb\\n\"", "Has hidden characters.")),
        ("e/SKILL.md", named("silent", "\"\"")),
        ("f/SKILL.md", "No frontmatter at all.\n".to_owned()),
        ("g/SKILL.md", named(&long, &long)),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    publish(&registry, &evil, ("aaa/evil", "1.0.0"), &files);
    let skills = index(&registry);
    let found = names(&skills);
    assert!(
        found.contains(&"acme-review")
            && found.contains(&"aaa-review")
            && !found.contains(&"review"),
        "{found:?}"
    );
    for skill in &skills {
        let name = skill["name"].as_str().unwrap();
        assert!(sp_formats::skill::SkillName::new(name).is_ok(), "{name}");
        assert!(!skill["url"].as_str().unwrap().contains(".."), "{skill}");
        assert!(
            (1..=1024).contains(&skill["description"].as_str().unwrap().encode_utf16().count()),
            "{skill}"
        );
        fetched(&registry, skill);
    }
    assert!(!found.contains(&"silent") && skills.len() == 6, "{found:?}");
    for nothing in [
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
        assert_eq!(get(&registry, &format!("{NEW}/{nothing}")).status, 404, "{nothing}");
    }
}
