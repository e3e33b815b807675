//! `sp context build --model`: a model may choose and shorten, and whatever else it does, the pack
//! says only what its sources say.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::path::Path;

use serde_json::{Value, json};
use sp_testkit::{Files, Model, ModelServer, Run, World, world};

const KEY: &str = "sk-test-0123456789abcdef";

const RETRIES: &str = "---
title: Retries
url: https://example.com/retries
captured_at: 2026-03-01
---

A retry sends the same request again. The first request may have reached the server.

- Use a limit for every retry, such as three attempts in a minute.
- Keep the budget of attempts in one place.
- Send the header that names the attempt.
- Always set a deadline on the outermost call.
- Never retry a payment without an idempotency key.
- Avoid a retry inside of another retry.
";

const QUEUES: &str = "---
title: Queues
url: https://example.com/queues
captured_at: 2026-03-02
---

A queue keeps requests until a worker takes them. The worker acknowledges each request.

- Store the attempt beside the request.
- Write the delay of every retry to the log.
- Do not keep requests in memory only.
";

/// A world with a knowledge base, and a key for whoever asks for it.
fn collected() -> World {
    let mut world = world!();
    std::fs::create_dir_all(world.path("work/kb")).unwrap();
    std::fs::write(world.path("work/kb/retries.md"), RETRIES).unwrap();
    std::fs::write(world.path("work/kb/queues.md"), QUEUES).unwrap();
    world.set_env("SP_MODEL_KEY", KEY);
    world
}

fn build(world: &World, out: &str, more: &[&str]) -> Run {
    let about = "Retry requests to a payment server, with a limit and a queue.";
    let args =
        ["context", "build", "--kb", "kb", "--name", "Shop", "--description", about, "--out", out];
    let run = world.sp_in("work", &[&args, more].concat()).ok();
    world.sp_in("work", &["context", "check", out]).ok();
    only_what_sources_say(&world.path(&format!("work/{out}")));
    run
}

/// Builds with a model, and sees to it that nobody else hears of the key.
fn asked(world: &World, server: &ModelServer, more: &[&str]) -> (Run, Value) {
    let url = server.url();
    let run =
        build(world, "pack", &[&["--model", &url, "--force", "--format", "json"], more].concat());
    let told = format!("{run}{:?}", texts(&world.root()));
    assert!(!told.contains(KEY) && !told.contains("0123456789"), "the key is told: {told}");
    let model = serde_json::from_str::<Value>(&run.stdout).unwrap()["model"].clone();
    (run, model)
}

/// The pack as it is without a model.
fn without(world: &World) -> Files {
    build(world, "plain", &[]);
    world.files("work/plain")
}

/// The text of every file below a directory.
fn texts(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else {
            found.push(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
        }
    }
    found
}

/// Every line of a pack that has a footnote, or is a claim of a source, stands in a source.
fn only_what_sources_say(pack: &Path) {
    for name in ["AGENTS.md", "cursor.md", "skills.md", "tasks.md", "sources.md"] {
        let Ok(text) = std::fs::read_to_string(pack.join(name)) else { continue };
        for line in
            text.lines().filter(|line| !line.starts_with("## ") && !line.starts_with("Sources:"))
        {
            let quoted = match line.split_once(" [^src_") {
                Some((said, _)) => said.trim_start_matches("- ").trim_start_matches("Context: "),
                None => match line.strip_prefix("  - ") {
                    Some(claim) => claim,
                    None => continue,
                },
            };
            let is_said = [RETRIES, QUEUES]
                .iter()
                .any(|source| source.lines().any(|line| line.contains(quoted)));
            assert!(is_said, "{name}: nobody says `{quoted}`");
        }
    }
}

/// The sentences below a heading of `AGENTS.md`.
fn list(world: &World, heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("work/pack/AGENTS.md")).unwrap();
    let section =
        text.split_once(&format!("## {heading}\n\n")).unwrap().1.split_once("\n\n").unwrap().0;
    section.lines().map(|line| line.trim_start_matches("- ").to_owned()).collect()
}

/// What was offered for a place, by a request.
fn offered(server: &ModelServer, place: &str) -> Vec<(u64, String)> {
    let body: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
    let said: Value =
        serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    let offer = said["offers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|offer| offer["place"] == place)
        .unwrap()
        .clone();
    let sentence =
        |one: &Value| (one["span"].as_u64().unwrap(), one["text"].as_str().unwrap().to_owned());
    offer["sentences"].as_array().unwrap().iter().map(sentence).collect()
}

#[test]
fn cp_12_what_an_honest_model_chose_stands_first_and_shortened_with_its_footnote() {
    let world = collected();
    let server = ModelServer::start(Model::Honest(1));
    asked(&world, &server, &[]);
    let (rules, warnings) = (offered(&server, "conventions"), offered(&server, "dont"));
    assert_eq!((rules.len(), warnings.len()), (6, 3));
    let limit = rules.iter().find(|(_, text)| text.starts_with("Use a limit")).unwrap().0;
    let last: Vec<_> = rules.iter().rev().filter(|(number, _)| *number != limit).take(2).collect();
    let item = |place: &str, number: u64, quote: &str| json!({ "place": place, "span": number, "quote": quote });
    let chosen = json!({ "chosen": [
        item("conventions", last[0].0, &last[0].1),
        item("dont", warnings[2].0, &warnings[2].1),
        item("conventions", limit, "Use a limit for every retry"),
        item("conventions", last[1].0, &last[1].1),
    ]});
    server.behave(Model::Says(chosen.to_string()));
    let (run, model) = asked(&world, &server, &[]);
    assert_eq!(model, json!({ "offered": 9, "chosen": 4, "refused": [] }));
    assert!(!run.stderr.contains("warning"), "{run}");
    let stand = list(&world, "Conventions");
    let texts: Vec<&str> = stand.iter().map(|line| line.split_once(" [^src_").unwrap().0).collect();
    assert_eq!(texts[..3], [last[0].1.as_str(), "Use a limit for every retry", last[1].1.as_str()]);
    assert_eq!(texts.len(), 6, "the others follow: {texts:?}");
    assert!(list(&world, "Don't")[0].starts_with(&warnings[2].1));
    let plain: Value =
        serde_json::from_slice(&std::fs::read(world.path("work/pack/pack.json")).unwrap()).unwrap();
    without(&world);
    let other: Value =
        serde_json::from_slice(&std::fs::read(world.path("work/plain/pack.json")).unwrap())
            .unwrap();
    assert_ne!(plain["pack_id"], other["pack_id"], "another choice is another pack");
    assert_eq!(plain["sources"], other["sources"]);
}

#[test]
fn cp_12_what_a_model_makes_up_is_refused_and_told() {
    let world = collected();
    let plain = without(&world);
    for (model, why) in [
        (Model::Invents, "the quote does not stand in the sentence"),
        (Model::Paraphrases, "the quote does not stand in the sentence"),
        (Model::WrongTypes, "it has no place, no number of a sentence or no quote"),
    ] {
        let (run, told) = asked(&world, &ModelServer::start(model), &[]);
        assert_eq!(
            (&told["chosen"], &told["offered"], &told["failed"]),
            (&json!(0), &json!(9), &Value::Null)
        );
        let refused = told["refused"].as_array().unwrap();
        assert!(!refused.is_empty() && refused.iter().all(|one| one["why"] == why), "{told}");
        assert!(run.stderr.contains("warning") && run.stderr.contains(why), "{run}");
        assert_eq!(world.files("work/pack"), plain);
    }
}

#[test]
fn cp_12_places_ids_and_addresses_of_a_model_do_not_get_in() {
    let world = collected();
    let (_, told) = asked(&world, &ModelServer::start(Model::Injects), &[]);
    assert_eq!((&told["chosen"], told["refused"].as_array().unwrap().len()), (&json!(2), 2));
    let whole = texts(&world.path("work/pack")).concat();
    assert!(
        !whole.contains("evil") && !whole.contains("nobody saved") && !whole.contains("1999"),
        "{whole}"
    );
}

#[test]
fn cp_12_without_the_help_of_a_model_the_pack_is_built_all_the_same() {
    let world = collected();
    let plain = without(&world);
    let other = ModelServer::start(Model::Honest(1));
    for (model, why) in [
        (Model::WrongJson, "the model did not write JSON"),
        (Model::Says("{}".into()), "the model wrote no list at `chosen`"),
        (Model::CutOff, "the answer was cut off"),
        (Model::Html, "it is not JSON"),
        (Model::Fails(500, format!("boom {KEY}")), "it answered 500: boom ***"),
        (Model::Fails(401, format!("wrong key {KEY}")), "it answered 401: wrong key ***"),
        (Model::Slow, "it did not answer within 1 s"),
        (Model::Endless, "it has more than 4194304 bytes"),
        (Model::Packed(64 << 20), "it has more than 4194304 bytes"),
        (Model::Redirect(format!("{}/chat/completions?key={KEY}", other.url())), "it answered 307"),
        (Model::HangsUp, "cannot be asked"),
    ] {
        let server = ModelServer::start(model.clone());
        let more: &[&str] =
            if matches!(model, Model::Slow) { &["--model-timeout", "1"] } else { &[] };
        let (run, told) = asked(&world, &server, more);
        let failed = told["failed"].as_str().unwrap_or_else(|| panic!("{model:?}: {told}"));
        assert!(failed.contains(why), "{model:?}: {failed}");
        assert_eq!(
            (&told["offered"], &told["chosen"], &told["refused"]),
            (&json!(9), &json!(0), &json!([]))
        );
        assert!(
            run.stderr.contains("warning: the model was of no use") && run.stderr.contains(why),
            "{run}"
        );
        assert_eq!(world.files("work/pack"), plain, "{model:?}");
    }
    assert_eq!(other.requests(), [], "nobody is sent elsewhere");
}

#[test]
fn se_07_the_key_goes_to_the_endpoint_and_nowhere_else() {
    let mut world = collected();
    let server = ModelServer::start(Model::Honest(2));
    asked(&world, &server, &["--model-name", "tiny", "--zip"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].authorization.as_deref(), Some(format!("Bearer {KEY}").as_str()));
    assert!(!requests[0].body.contains(KEY) && requests[0].body.contains("\"model\":\"tiny\""));
    world.set_env("SP_MODEL_KEY", "");
    asked(&world, &server, &[]);
    assert_eq!(server.requests()[1].authorization, None);
}

#[test]
fn se_13_nobody_is_asked_without_the_flag_or_offline() {
    let mut world = collected();
    let server = ModelServer::start(Model::Honest(2));
    world.set_env("OPENAI_BASE_URL", &server.url());
    world.set_env("SP_MODEL", &server.url());
    let plain = without(&world);
    assert_eq!(server.requests(), []);
    let (run, told) = asked(&world, &server, &["--offline"]);
    assert!(
        told["failed"].as_str().unwrap().contains("cannot be asked with `--offline`"),
        "{told}"
    );
    assert!(run.stderr.contains("`--offline`"), "{run}");
    assert_eq!((server.requests().len(), world.files("work/pack")), (0, plain));
}

#[test]
fn a_model_is_told_to_people_too() {
    let world = collected();
    let server = ModelServer::start(Model::Injects);
    let run = build(&world, "pack", &["--model", &server.url()]);
    assert!(run.stdout.contains("the model chose 2 of 9 sentences"), "{run}");
    assert!(run.stdout.contains("there is no such place"), "{run}");
    server.behave(Model::Fails(500, "boom".into()));
    let run = build(&world, "pack", &["--model", &server.url()]);
    assert!(!run.stdout.contains("the model") && run.stderr.contains("boom"), "{run}");
}
