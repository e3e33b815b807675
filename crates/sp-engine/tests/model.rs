//! A model that is asked for a context pack, and every way in which one misbehaves.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use sp_engine::model::{
    ModelEndpoint, ModelSelection, PromptList, PromptSentence, select_sentences,
};
use sp_engine::{Brief, Context, Error, Event, EventListener, Network};
use sp_testkit::{Model, ModelServer};

const KEY: &str = "sk-test-0123456789abcdef";

/// Remembers all that it is told.
#[derive(Default)]
struct Told(Mutex<String>);

impl EventListener for Told {
    fn on_event(&self, event: Event<'_>) {
        *self.0.lock().unwrap() += &format!("{event:?}\n");
    }
}

fn context(listener: &Told, network: Network) -> Context<'_> {
    Context {
        user_home: "/nowhere".into(),
        home: "/nowhere/.skillpack".into(),
        cache: None,
        current_dir: "/nowhere".into(),
        env: BTreeMap::new(),
        now: jiff::Timestamp::UNIX_EPOCH,
        wall_clock: || 0,
        random: |_| Ok(()),
        run_id: "run".into(),
        limits: Vec::new(),
        network,
        listener,
    }
}

fn endpoint(url: &str) -> ModelEndpoint {
    ModelEndpoint {
        url: url.into(),
        name: "tiny".into(),
        key: Some(KEY.into()),
        timeout: Duration::from_secs(5),
    }
}

fn brief() -> Brief {
    Brief {
        name: "team".into(),
        description: "How we \"work\"".into(),
        prompt: Some("prefer\nshort".into()),
        stack: vec!["rust".into()],
    }
}

fn offers() -> Vec<PromptList> {
    let span = |number, text: &str| PromptSentence { number, text: text.into() };
    vec![
        PromptList {
            name: "conventions".into(),
            limit: 2,
            sentences: vec![
                span(1, "Use `cargo fmt` before a commit."),
                span(
                    2,
                    "Name tests for what they prove, so that a failure explains itself — “quoted” or not é.",
                ),
                span(3, "Keep functions short."),
            ],
        },
        PromptList {
            name: "summary of src_1".into(),
            limit: 1,
            sentences: vec![span(10, "The engine never\nprints, exits or parses.")],
        },
    ]
}

/// Asks, and sees to it that the key is told nobody but the endpoint.
fn asked(endpoint: &ModelEndpoint, network: Network) -> Result<ModelSelection, Error> {
    let told = Told::default();
    let result = select_sentences(&context(&told, network), endpoint, &brief(), &offers());
    let causes = result.as_ref().err().map(Error::causes);
    let all = format!("{result:?} {causes:?} {endpoint:?} {}", told.0.lock().unwrap());
    assert!(!all.contains(KEY) && !all.contains("0123456789"), "the key is told: {all}");
    if let Err(error) = &result {
        assert!(
            error.hints.iter().any(|hint| hint.contains("--model"))
                || error.code() == "E-invalid-url",
            "{error:?}"
        );
    }
    result
}

fn answer(model: Model) -> Result<ModelSelection, Error> {
    asked(&endpoint(&ModelServer::start(model).url()), Network::Allowed)
}

/// Code and cause.
fn failure(model: Model) -> (&'static str, String) {
    let error = answer(model).unwrap_err();
    (error.code(), error.causes().join("; "))
}

fn chosen(answer: &ModelSelection) -> Vec<(&str, usize, &str)> {
    answer.chosen.iter().map(|one| (one.list.as_str(), one.number, one.quote.as_str())).collect()
}

const HONEST: &[(&str, usize, &str)] = &[
    ("conventions", 1, "Use `cargo fmt` before a commit."),
    ("conventions", 2, "Name tests for what they prove"),
    ("summary of src_1", 10, "The engine never\nprints, exits or parses."),
];

#[test]
fn an_honest_model_chooses_and_shortens() {
    let server = ModelServer::start(Model::Honest(2));
    let offers = {
        let mut offers = offers();
        // What is cut away here limits nothing.
        offers[0].sentences[1].text =
            "Name tests for what they prove, so that a failure explains itself.".into();
        offers
    };
    let told = Told::default();
    let answer = select_sentences(
        &context(&told, Network::Allowed),
        &endpoint(&server.url()),
        &brief(),
        &offers,
    )
    .unwrap();
    assert_eq!(chosen(&answer), HONEST);
    assert_eq!(answer.rejected, []);

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].line, "POST /v1/chat/completions");
    assert_eq!(requests[0].authorization.as_deref(), Some(format!("Bearer {KEY}").as_str()));
    let body: serde_json::Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(body["model"], "tiny");
    let said: serde_json::Value =
        serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(said["brief"]["prompt"], "prefer\nshort");
    assert_eq!(said["offers"][1]["sentences"][0]["span"], 10);
}

#[test]
fn a_part_whose_rest_limits_it_is_refused_and_told() {
    let answer = answer(Model::Honest(2)).unwrap();
    assert_eq!(chosen(&answer), [HONEST[0], HONEST[2]]);
    assert_eq!(answer.rejected[0].reason, "what was left out limits or reverses the sense");
    assert_eq!(answer.rejected[0].quote, "Name tests for what they prove");
}

#[test]
fn without_a_key_none_is_sent() {
    let server = ModelServer::start(Model::Honest(1));
    for key in [None, Some(String::new())] {
        let endpoint = ModelEndpoint { key, ..endpoint(&server.url()) };
        asked(&endpoint, Network::Allowed).unwrap();
    }
    assert!(server.requests().iter().all(|request| request.authorization.is_none()));
}

#[test]
fn what_a_model_invents_or_rewrites_is_refused() {
    for model in [Model::Invents, Model::Paraphrases] {
        let answer = answer(model).unwrap();
        assert_eq!(answer.chosen, []);
        assert_eq!(answer.rejected.len(), 4);
        assert!(
            answer
                .rejected
                .iter()
                .all(|one| one.reason == "the quote does not stand in the sentence")
        );
    }
}

#[test]
fn places_and_sentences_of_its_own_are_refused() {
    let answer = answer(Model::Injects).unwrap();
    assert_eq!(chosen(&answer), [HONEST[0], ("summary of src_1", 10, "The engine never\nprints")]);
    let whys: Vec<_> = answer.rejected.iter().map(|one| (one.list.as_str(), one.reason)).collect();
    assert_eq!(
        whys,
        [
            ("sources", "there is no such place"),
            ("conventions", "no such sentence was offered for this place"),
        ]
    );
    assert!(!format!("{answer:?}").contains("evil"));
}

#[test]
fn an_answer_that_cannot_be_read_is_an_error() {
    let (code, why) = failure(Model::WrongJson);
    assert_eq!(
        (code, why.starts_with("the model did not write JSON: expected a value")),
        ("E-invalid-response", true),
        "{why}"
    );
    let (code, why) = failure(Model::Html);
    assert_eq!(
        (code, why.as_str()),
        ("E-invalid-response", "it is not JSON: expected a value, found `<` (byte 0)")
    );
    let (code, why) = failure(Model::Says("I choose the first two.".into()));
    assert_eq!(
        (code, why.starts_with("the model did not write JSON")),
        ("E-invalid-response", true),
        "{why}"
    );
    assert_eq!(
        failure(Model::Says("{}".into())),
        ("E-invalid-response", "the model wrote no list at `chosen`".into())
    );
    assert_eq!(answer(Model::WrongTypes).unwrap().rejected.len(), 4);
}

#[test]
fn se_07_what_a_provider_says_of_a_failure_is_shown_without_the_key() {
    let said = format!("Incorrect key: {KEY}\u{1b}[31m. See the page.\nMore.");
    let (code, why) = failure(Model::Fails(401, said));
    assert_eq!(
        (code, why.as_str()),
        ("E-unavailable", "it answered 401: Incorrect key: ***\\u{1b}[31m. See the page.")
    );
    let (code, why) = failure(Model::Fails(500, format!("{}{KEY}", "x".repeat(190))));
    assert_eq!((code, why), ("E-unavailable", format!("it answered 500: {}***", "x".repeat(190))));
    let hints = |status| answer(Model::Fails(status, "no".into())).unwrap_err().hints.remove(0);
    assert_eq!(hints(401), "check the key, and that it may use this model");
    assert_eq!(hints(404), "check the address and the model's name");
    assert_eq!(hints(503), "the provider has a problem: run it again later");
}

#[test]
fn se_07_an_answer_that_repeats_the_key_does_not_make_us_tell_it() {
    let item = format!("{{\"place\":\"{KEY}\",\"span\":1,\"quote\":\"{}{KEY}\"}}", "x".repeat(150));
    let answer = answer(Model::Says(format!("{{\"chosen\":[{item}]}}"))).unwrap();
    assert_eq!(answer.rejected[0].list, "***");
    assert!(answer.rejected[0].quote.ends_with("x***"));
    failure(Model::Says(format!("{{\"{KEY}\":1,\"{KEY}\":2}}")));
}

#[test]
fn se_14_slow_and_endless_answers_end() {
    let server = ModelServer::start(Model::Slow);
    let slow = ModelEndpoint { timeout: Duration::from_millis(300), ..endpoint(&server.url()) };
    let error = asked(&slow, Network::Allowed).unwrap_err();
    assert_eq!(
        (error.code(), error.causes()),
        ("E-network", vec!["it did not answer within 0.3 s".into()])
    );
    let (code, why) = failure(Model::Endless);
    assert_eq!((code, why.as_str()), ("E-invalid-response", "it has more than 4194304 bytes"));
}

#[test]
fn se_14_an_answer_that_is_packed_is_no_longer_than_any_other() {
    let (code, why) = failure(Model::Packed(64 << 20));
    assert_eq!((code, why.as_str()), ("E-invalid-response", "it has more than 4194304 bytes"));
}

#[test]
fn a_model_that_cannot_be_asked_so_is_asked_once_more_without() {
    for status in [400, 422] {
        let server = ModelServer::start(Model::Picky(status));
        let answer = asked(&endpoint(&server.url()), Network::Allowed).unwrap();
        assert_eq!(chosen(&answer), [HONEST[0], HONEST[2]]);
        let bodies: Vec<serde_json::Value> = server
            .requests()
            .iter()
            .map(|request| serde_json::from_str(&request.body).unwrap())
            .collect();
        let has = |body: &serde_json::Value| {
            body.get("temperature").is_some() || body.get("response_format").is_some()
        };
        assert_eq!(bodies.iter().map(has).collect::<Vec<_>>(), [true, false]);
        assert_eq!(bodies[0]["messages"], bodies[1]["messages"]);
    }
    for model in [Model::Picky(500), Model::Fails(400, "no such model".into())] {
        let server = ModelServer::start(model);
        asked(&endpoint(&server.url()), Network::Allowed).unwrap_err();
        assert_eq!(server.requests().len(), 1);
    }
    let server = ModelServer::start(Model::Fails(400, "response_format".into()));
    asked(&endpoint(&server.url()), Network::Allowed).unwrap_err();
    assert_eq!(server.requests().len(), 2, "once more, and not for ever");
}

#[test]
fn an_answer_that_was_cut_off_says_so() {
    let error = answer(Model::CutOff).unwrap_err();
    assert!(error.causes()[0].starts_with("the answer was cut off"), "{error:?}");
    assert_eq!(error.hints[0], "let the model write more tokens, or name another");
}

#[test]
fn se_07_nobody_is_sent_elsewhere_with_a_key() {
    let other = ModelServer::start(Model::Honest(1));
    let (code, why) =
        failure(Model::Redirect(format!("{}/chat/completions?key={KEY}", other.url())));
    assert_eq!(code, "E-redirected");
    assert!(
        why.starts_with("it answered 307: http://127.0.0.1:") && why.ends_with("/chat/completions"),
        "{why}"
    );
    assert_eq!(other.requests(), []);
}

#[test]
fn an_endpoint_that_hangs_up_or_is_not_there_is_an_error() {
    assert_eq!(failure(Model::HangsUp).0, "E-network");
    let gone = ModelServer::start(Model::Slow).url();
    assert_eq!(asked(&endpoint(&gone), Network::Allowed).unwrap_err().code(), "E-network");
}

#[test]
fn se_07_se_13_nobody_is_asked_offline_or_over_open_http() {
    let server = ModelServer::start(Model::Honest(1));
    let error = asked(&endpoint(&server.url()), Network::Offline).unwrap_err();
    assert_eq!(
        (error.code(), error.message.ends_with("cannot be asked with `--offline`")),
        ("E-offline", true)
    );
    assert_eq!(server.requests(), []);
    let error = asked(&endpoint("http://models.example/v1"), Network::Allowed).unwrap_err();
    assert_eq!(error.code(), "E-invalid-url");
    assert_eq!(
        error.causes(),
        ["http would show your sources and the key to everybody on the way"]
    );
}

#[test]
fn se_13_where_nothing_is_offered_nobody_is_asked() {
    let server = ModelServer::start(Model::Honest(1));
    let told = Told::default();
    let empty = [PromptList { name: "dont".into(), limit: 3, sentences: Vec::new() }];
    let answer = select_sentences(
        &context(&told, Network::Allowed),
        &endpoint(&server.url()),
        &brief(),
        &empty,
    )
    .unwrap();
    assert_eq!((answer, server.requests().len()), (ModelSelection::default(), 0));
}
