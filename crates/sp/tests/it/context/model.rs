//! `sp context build --model`: a model can only select and shorten sentences of the sources. If it
//! fails, the pack is built without it.

use serde_json::json;
use sp_testkit::{FileMap, ModelBehavior, ModelServer};

use super::*;

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

/// A world with a knowledge base in `work/kb`, and an API key in the environment.
fn world_with_kb() -> World {
    let mut world = world!();
    std::fs::create_dir_all(world.path("work/kb")).unwrap();
    std::fs::write(world.path("work/kb/retries.md"), RETRIES).unwrap();
    std::fs::write(world.path("work/kb/queues.md"), QUEUES).unwrap();
    world.set_env("SP_MODEL_KEY", KEY);
    world
}

/// Builds the context pack `work/<out>`, which must be valid and quote only its sources.
fn build(world: &World, out: &str, options: &[&str]) -> Run {
    let about = "Retry requests to a payment server, with a limit and a queue.";
    let args = ["build", "--kb", "kb", "--name", "Shop", "--description", about, "--output", out];
    let run = sp(world, &[&args, options].concat()).ok();
    sp(world, &["check", out]).ok();
    assert_quotes_only_sources(&world.path(&format!("work/{out}")));
    run
}

/// What a build with a model printed.
struct ModelBuild {
    run: Run,
    /// The member `model` of the report.
    model: Value,
}

impl ModelBuild {
    /// Returns the reasons for which choices of the model were refused.
    fn refusals(&self) -> Vec<&str> {
        let refused = self.model["refused"].as_array().unwrap().iter();
        refused.map(|choice| choice["why"].as_str().unwrap()).collect()
    }
}

/// Builds `work/pack` with a model. The API key must not appear in the output or in any file.
fn build_with_model(world: &World, server: &ModelServer, options: &[&str]) -> ModelBuild {
    let url = server.url();
    let args = [&["--model", &url, "--force", "--format", "json"], options].concat();
    let run = build(world, "pack", &args);
    let output = format!("{run}{:?}", texts(&world.root()));
    assert!(!output.contains(KEY) && !output.contains("0123456789"), "the key leaked: {output}");
    let model = json(&run)["model"].clone();
    ModelBuild { run, model }
}

/// Builds the pack without a model, and returns its files.
fn build_without_model(world: &World) -> FileMap {
    build(world, "plain", &[]);
    world.files("work/plain")
}

/// Returns the text of every file below a directory.
fn texts(dir: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(self::texts(&path));
        } else {
            texts.push(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
        }
    }
    texts
}

/// Returns what a line of a pack quotes: text with a footnote, or a claim of a source.
fn quote_in(line: &str) -> Option<&str> {
    if line.starts_with("## ") || line.starts_with("Sources:") {
        return None;
    }
    match line.split_once(" [^src_") {
        Some((text, _)) => Some(text.trim_start_matches("- ").trim_start_matches("Context: ")),
        None => line.strip_prefix("  - "),
    }
}

#[track_caller]
fn assert_quotes_only_sources(pack: &Path) {
    for name in ["AGENTS.md", "cursor.md", "skills.md", "tasks.md", "sources.md"] {
        let Ok(text) = std::fs::read_to_string(pack.join(name)) else { continue };
        for quote in text.lines().filter_map(quote_in) {
            let mut lines = RETRIES.lines().chain(QUEUES.lines());
            assert!(lines.any(|line| line.contains(quote)), "{name}: no source has `{quote}`");
        }
    }
}

/// Returns the list items below a heading of `AGENTS.md`.
fn items_below(world: &World, heading: &str) -> Vec<String> {
    let text = text(world, "work/pack/AGENTS.md");
    let section = text.split_once(&format!("## {heading}\n\n")).unwrap().1;
    let section = section.split_once("\n\n").unwrap().0;
    section.lines().map(|line| line.trim_start_matches("- ").to_owned()).collect()
}

/// A candidate sentence in a request to a model.
#[derive(Debug)]
struct Candidate {
    number: u64,
    text: String,
}

/// Returns the candidates for a list, from the first request to the server.
fn candidates(server: &ModelServer, list: &str) -> Vec<Candidate> {
    let body: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
    let prompt: Value =
        serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    let offers = prompt["offers"].as_array().unwrap();
    let offer = offers.iter().find(|offer| offer["place"] == list).unwrap();
    let candidate = |sentence: &Value| Candidate {
        number: sentence["span"].as_u64().unwrap(),
        text: sentence["text"].as_str().unwrap().to_owned(),
    };
    offer["sentences"].as_array().unwrap().iter().map(candidate).collect()
}

fn choice(list: &str, number: u64, quote: &str) -> Value {
    json!({ "place": list, "span": number, "quote": quote })
}

fn read_manifest(world: &World, pack: &str) -> Value {
    serde_json::from_str(&text(world, &format!("work/{pack}/pack.json"))).unwrap()
}

#[test]
fn cp_12_chosen_sentences_come_first_shortened_and_with_footnotes() {
    let world = world_with_kb();
    let server = ModelServer::start(ModelBehavior::Honest(1));
    build_with_model(&world, &server, &[]);
    let (rules, warnings) = (candidates(&server, "conventions"), candidates(&server, "dont"));
    assert_eq!((rules.len(), warnings.len()), (6, 3));
    let limit = rules.iter().find(|rule| rule.text.starts_with("Use a limit")).unwrap().number;
    let last: Vec<&Candidate> =
        rules.iter().rev().filter(|rule| rule.number != limit).take(2).collect();
    let reply = json!({ "chosen": [
        choice("conventions", last[0].number, &last[0].text),
        choice("dont", warnings[2].number, &warnings[2].text),
        choice("conventions", limit, "Use a limit for every retry"),
        choice("conventions", last[1].number, &last[1].text),
    ]});
    server.set_behavior(ModelBehavior::Says(reply.to_string()));
    let ModelBuild { run, model } = build_with_model(&world, &server, &[]);
    assert_eq!(model, json!({ "offered": 9, "chosen": 4, "refused": [] }));
    assert!(!run.stderr.contains("warning"), "{run}");
    let items = items_below(&world, "Conventions");
    let rules: Vec<&str> = items.iter().map(|item| item.split_once(" [^src_").unwrap().0).collect();
    assert_eq!(rules[..3], [&*last[0].text, "Use a limit for every retry", &*last[1].text]);
    assert_eq!(rules.len(), 6, "the others follow: {rules:?}");
    assert!(items_below(&world, "Don't")[0].starts_with(&warnings[2].text));
    build_without_model(&world);
    let (with, without) = (read_manifest(&world, "pack"), read_manifest(&world, "plain"));
    assert_ne!(with["pack_id"], without["pack_id"], "another choice gives another pack");
    assert_eq!(with["sources"], without["sources"]);
}

#[test]
fn cp_12_text_that_a_model_invents_is_refused_and_reported() {
    let world = world_with_kb();
    let plain = build_without_model(&world);
    let reason_for = |model: ModelBehavior| {
        let build = build_with_model(&world, &ModelServer::start(model), &[]);
        assert_eq!(build.model["chosen"], 0);
        assert_eq!(build.model["offered"], 9);
        assert_eq!(build.model["failed"], Value::Null);
        let reasons = build.refusals();
        let reason = reasons[0].to_owned();
        assert!(reasons.iter().all(|other| *other == reason), "{reasons:?}");
        let stderr = &build.run.stderr;
        assert!(stderr.contains("warning") && stderr.contains(&reason), "{stderr}");
        assert_eq!(world.files("work/pack"), plain);
        reason
    };
    let invented = reason_for(ModelBehavior::Invents);
    assert_eq!(reason_for(ModelBehavior::Paraphrases), invented);
    assert_ne!(reason_for(ModelBehavior::WrongTypes), invented);
}

#[test]
fn cp_12_lists_ids_and_urls_of_a_model_are_ignored() {
    let world = world_with_kb();
    let build = build_with_model(&world, &ModelServer::start(ModelBehavior::Injects), &[]);
    assert_eq!(build.model["chosen"], 2);
    assert_eq!(build.refusals().len(), 2);
    let pack = texts(&world.path("work/pack")).concat();
    for injected in ["evil", "nobody saved", "1999"] {
        assert!(!pack.contains(injected), "{pack}");
    }
}

#[test]
fn cp_12_pack_is_built_without_the_model_if_it_fails() {
    let world = world_with_kb();
    let plain = build_without_model(&world);
    let other = ModelServer::start(ModelBehavior::Honest(1));
    let redirect = format!("{}/chat/completions?key={KEY}", other.url());
    // Each model, and what its failure must name.
    for (model, detail) in [
        (ModelBehavior::WrongJson, "JSON"),
        (ModelBehavior::Says("{}".into()), "`chosen`"),
        (ModelBehavior::CutOff, "`finish_reason`"),
        (ModelBehavior::Html, "JSON"),
        (ModelBehavior::Fails(500, format!("boom {KEY}")), "500: boom ***"),
        (ModelBehavior::Fails(401, format!("wrong key {KEY}")), "401: wrong key ***"),
        (ModelBehavior::Slow, "/chat/completions"),
        (ModelBehavior::Endless, "/chat/completions"),
        (ModelBehavior::Gzip(64 << 20), "/chat/completions"),
        (ModelBehavior::Redirect(redirect), "307"),
        (ModelBehavior::Disconnects, "/chat/completions"),
    ] {
        let server = ModelServer::start(model.clone());
        let options: &[&str] =
            if matches!(model, ModelBehavior::Slow) { &["--model-timeout", "1"] } else { &[] };
        let build = build_with_model(&world, &server, options);
        let failure = build.model["failed"].as_str().unwrap_or_else(|| panic!("{model:?}"));
        assert!(failure.contains(detail), "{model:?}: {failure}");
        assert_eq!(build.model["offered"], 9);
        assert_eq!(build.model["chosen"], 0);
        assert_eq!(build.model["refused"], json!([]));
        let stderr = &build.run.stderr;
        assert!(stderr.contains("warning:") && stderr.contains(detail), "{stderr}");
        assert_eq!(world.files("work/pack"), plain, "{model:?}");
    }
    assert_eq!(other.requests(), [], "redirects are not followed");
}

#[test]
fn se_07_api_key_is_sent_only_to_the_endpoint() {
    let mut world = world_with_kb();
    let server = ModelServer::start(ModelBehavior::Honest(2));
    build_with_model(&world, &server, &["--model-name", "tiny", "--zip"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].authorization.as_deref(), Some(format!("Bearer {KEY}").as_str()));
    assert!(!requests[0].body.contains(KEY) && requests[0].body.contains("\"model\":\"tiny\""));
    world.set_env("SP_MODEL_KEY", "");
    build_with_model(&world, &server, &[]);
    assert_eq!(server.requests()[1].authorization, None);
}

#[test]
fn se_13_no_model_is_called_without_the_flag_or_offline() {
    let mut world = world_with_kb();
    let server = ModelServer::start(ModelBehavior::Honest(2));
    world.set_env("OPENAI_BASE_URL", &server.url());
    world.set_env("SP_MODEL", &server.url());
    let plain = build_without_model(&world);
    assert_eq!(server.requests(), []);
    let ModelBuild { run, model } = build_with_model(&world, &server, &["--offline"]);
    assert!(model["failed"].as_str().unwrap().contains("`--offline`"), "{model}");
    assert!(run.stderr.contains("`--offline`"), "{run}");
    assert_eq!(server.requests(), []);
    assert_eq!(world.files("work/pack"), plain);
}

#[test]
fn human_output_reports_what_the_model_chose() {
    let world = world_with_kb();
    let server = ModelServer::start(ModelBehavior::Injects);
    let with_json = build_with_model(&world, &server, &[]);
    let run = build(&world, "pack", &["--model", &server.url()]);
    let is_summary = |line: &str| ["model", "2", "9"].iter().all(|part| line.contains(part));
    assert!(run.stdout.lines().any(is_summary), "{run}");
    for reason in with_json.refusals() {
        assert!(run.stdout.contains(reason), "{reason}: {run}");
    }
    server.set_behavior(ModelBehavior::Fails(500, "boom".into()));
    let run = build(&world, "pack", &["--model", &server.url()]);
    assert!(!run.stdout.contains("model") && run.stderr.contains("boom"), "{run}");
}
