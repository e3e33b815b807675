//! Sentence selection by a model, and every way in which a model or its endpoint can misbehave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use sp_engine::model::{
    ModelEndpoint, ModelReplyError, ModelSelection, PromptList, PromptSentence, judge,
    select_sentences,
};
use sp_engine::{Brief, Context, Error, Event, EventListener, Network};
use sp_testkit::{ModelBehavior, ModelServer};

const KEY: &str = "sk-test-0123456789abcdef";

/// Records all events as text.
#[derive(Default)]
struct EventLog(Mutex<String>);

impl EventListener for EventLog {
    fn on_event(&self, event: Event<'_>) {
        *self.0.lock().unwrap() += &format!("{event:?}\n");
    }
}

fn context(listener: &EventLog, network: Network) -> Context<'_> {
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
        consent: sp_engine::InstallConsent::default(),
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
    let sentence = |number, text: &str| PromptSentence { number, text: text.into() };
    vec![
        PromptList {
            name: "conventions".into(),
            limit: 2,
            sentences: vec![
                sentence(1, "Use `cargo fmt` before a commit."),
                sentence(
                    2,
                    "Name tests for what they prove, so that a failure explains itself — “quoted” or not é.",
                ),
                sentence(3, "Keep functions short."),
            ],
        },
        PromptList {
            name: "summary of src_1".into(),
            limit: 1,
            sentences: vec![sentence(10, "The engine never\nprints, exits or parses.")],
        },
    ]
}

/// Selects sentences, and checks that the key goes only to the endpoint.
fn select(endpoint: &ModelEndpoint, network: Network) -> Result<ModelSelection, Error> {
    let events = EventLog::default();
    let result = select_sentences(&context(&events, network), endpoint, &brief(), &offers());
    let causes = result.as_ref().err().map(Error::causes);
    let output = format!("{result:?} {causes:?} {endpoint:?} {}", events.0.lock().unwrap());
    assert!(!output.contains(KEY) && !output.contains("0123456789"), "exposed key: {output}");
    if let Err(error) = &result {
        assert!(
            error.hints.iter().any(|hint| hint.contains("--model"))
                || error.code() == "E-invalid-url",
            "{error:?}"
        );
    }
    result
}

fn select_with(model: ModelBehavior) -> Result<ModelSelection, Error> {
    select(&endpoint(&ModelServer::start(model).url()), Network::Allowed)
}

/// Returns the code and the cause of an error.
fn failure(model: ModelBehavior) -> (&'static str, String) {
    let error = select_with(model).unwrap_err();
    (error.code(), error.causes().join("; "))
}

fn chosen(selection: &ModelSelection) -> Vec<(&str, usize, &str)> {
    let choices = selection.chosen.iter();
    choices.map(|choice| (choice.list.as_str(), choice.number, choice.quote.as_str())).collect()
}

/// Why a choice of the model is rejected.
#[derive(Debug, Clone, Copy)]
enum Rejection {
    UnknownList,
    UnknownSentence,
    AlteredQuote,
    /// The rest of the sentence limits the quote.
    LimitedQuote,
}

const REJECTIONS: [Rejection; 4] = [
    Rejection::UnknownList,
    Rejection::UnknownSentence,
    Rejection::AlteredQuote,
    Rejection::LimitedQuote,
];

impl Rejection {
    /// Returns the reason that is given for a choice with this problem and no other.
    fn reason(self) -> &'static str {
        let (place, span, quote) = match self {
            Self::UnknownList => ("sources", 3, "Keep functions short."),
            Self::UnknownSentence => ("conventions", 10, "Keep functions short."),
            Self::AlteredQuote => ("conventions", 3, "Keep functions long."),
            Self::LimitedQuote => ("conventions", 2, "Name tests for what they prove"),
        };
        let choice = serde_json::json!({"place": place, "span": span, "quote": quote});
        let reply = serde_json::json!({"chosen": [choice]}).to_string();
        judge(&reply, &offers()).unwrap().rejected[0].reason
    }
}

#[test]
fn each_rejection_has_its_own_reason() {
    let reasons = BTreeSet::from(REJECTIONS.map(Rejection::reason));
    assert_eq!(reasons.len(), REJECTIONS.len(), "{reasons:?}");
}

/// Returns whether a cause is this error, which has `PARSER_MESSAGE` in place of its variable part.
fn is_cause(cause: &str, error: &ModelReplyError) -> bool {
    let text = error.to_string();
    let (start, end) = text.split_once(PARSER_MESSAGE).unwrap();
    cause.starts_with(start) && cause.ends_with(end)
}

const PARSER_MESSAGE: &str = "<message>";

const HONEST: &[(&str, usize, &str)] = &[
    ("conventions", 1, "Use `cargo fmt` before a commit."),
    ("conventions", 2, "Name tests for what they prove"),
    ("summary of src_1", 10, "The engine never\nprints, exits or parses."),
];

#[test]
fn honest_model_selects_and_shortens_sentences() {
    let server = ModelServer::start(ModelBehavior::Honest(2));
    let offers = {
        let mut offers = offers();
        // The end that the model drops does not limit the rest.
        offers[0].sentences[1].text =
            "Name tests for what they prove, so that a failure explains itself.".into();
        offers
    };
    let events = EventLog::default();
    let selection = select_sentences(
        &context(&events, Network::Allowed),
        &endpoint(&server.url()),
        &brief(),
        &offers,
    )
    .unwrap();
    assert_eq!(chosen(&selection), HONEST);
    assert_eq!(selection.rejected, []);

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].line, "POST /v1/chat/completions");
    assert_eq!(requests[0].authorization.as_deref(), Some(format!("Bearer {KEY}").as_str()));
    let body: serde_json::Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(body["model"], "tiny");
    let prompt: serde_json::Value =
        serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(prompt["brief"]["prompt"], "prefer\nshort");
    assert_eq!(prompt["offers"][1]["sentences"][0]["span"], 10);
}

#[test]
fn quotes_that_drop_a_limitation_are_rejected() {
    let selection = select_with(ModelBehavior::Honest(2)).unwrap();
    assert_eq!(chosen(&selection), [HONEST[0], HONEST[2]]);
    assert_eq!(selection.rejected[0].reason, Rejection::LimitedQuote.reason());
    assert_eq!(selection.rejected[0].quote, "Name tests for what they prove");
}

#[test]
fn no_authorization_is_sent_without_a_key() {
    let server = ModelServer::start(ModelBehavior::Honest(1));
    for key in [None, Some(String::new())] {
        let endpoint = ModelEndpoint { key, ..endpoint(&server.url()) };
        select(&endpoint, Network::Allowed).unwrap();
    }
    assert!(server.requests().iter().all(|request| request.authorization.is_none()));
}

#[test]
fn invented_and_paraphrased_quotes_are_rejected() {
    for model in [ModelBehavior::Invents, ModelBehavior::Paraphrases] {
        let selection = select_with(model).unwrap();
        assert_eq!(selection.chosen, []);
        assert_eq!(selection.rejected.len(), 4);
        let altered = Rejection::AlteredQuote.reason();
        assert!(selection.rejected.iter().all(|choice| choice.reason == altered));
    }
}

#[test]
fn unknown_lists_and_sentences_are_rejected() {
    let selection = select_with(ModelBehavior::Injects).unwrap();
    assert_eq!(
        chosen(&selection),
        [HONEST[0], ("summary of src_1", 10, "The engine never\nprints")]
    );
    let rejected = selection.rejected.iter();
    assert_eq!(
        rejected.map(|choice| (choice.list.as_str(), choice.reason)).collect::<Vec<_>>(),
        [
            ("sources", Rejection::UnknownList.reason()),
            ("conventions", Rejection::UnknownSentence.reason()),
        ]
    );
    assert!(!format!("{selection:?}").contains("evil"));
}

#[test]
fn unreadable_replies_are_errors() {
    let content_not_json = ModelReplyError::ContentNotJson(PARSER_MESSAGE.into());
    for model in [ModelBehavior::WrongJson, ModelBehavior::Says("I choose the first two.".into())] {
        let (code, cause) = failure(model);
        assert_eq!(code, "E-invalid-response");
        assert!(is_cause(&cause, &content_not_json), "{cause}");
    }
    let (code, cause) = failure(ModelBehavior::Html);
    assert_eq!(code, "E-invalid-response");
    let not_json = ModelReplyError::NotJson(PARSER_MESSAGE.into());
    assert!(is_cause(&cause, &not_json) && cause.contains("`<`"), "{cause}");
    let (code, cause) = failure(ModelBehavior::Says("{}".into()));
    assert_eq!((code, cause), ("E-invalid-response", ModelReplyError::NoList.to_string()));
    assert_eq!(select_with(ModelBehavior::WrongTypes).unwrap().rejected.len(), 4);
}

#[test]
fn se_07_error_messages_of_the_provider_are_printed_without_the_key() {
    let message = format!("Incorrect key: {KEY}\u{1b}[31m. See the page.\nMore.");
    let (code, cause) = failure(ModelBehavior::Fails(401, message));
    assert_eq!(code, "E-unavailable");
    assert!(cause.contains("401"), "{cause}");
    assert!(cause.ends_with("Incorrect key: ***\\u{1b}[31m. See the page."), "{cause}");
    let (code, cause) = failure(ModelBehavior::Fails(500, format!("{}{KEY}", "x".repeat(190))));
    assert_eq!(code, "E-unavailable");
    assert!(cause.contains("500"), "{cause}");
    assert!(cause.ends_with(&format!("{}***", "x".repeat(190))), "{cause}");
}

#[test]
fn hints_depend_on_the_http_status() {
    let hint = |status| {
        select_with(ModelBehavior::Fails(status, "no".into())).unwrap_err().hints.remove(0)
    };
    assert_eq!(BTreeSet::from([401, 404, 429, 400, 503].map(hint)).len(), 5);
    assert_eq!(hint(401), hint(403));
}

#[test]
fn se_07_keys_in_replies_are_redacted() {
    let item = format!("{{\"place\":\"{KEY}\",\"span\":1,\"quote\":\"{}{KEY}\"}}", "x".repeat(150));
    let selection = select_with(ModelBehavior::Says(format!("{{\"chosen\":[{item}]}}"))).unwrap();
    assert_eq!(selection.rejected[0].list, "***");
    assert!(selection.rejected[0].quote.ends_with("x***"));
    failure(ModelBehavior::Says(format!("{{\"{KEY}\":1,\"{KEY}\":2}}")));
}

#[test]
fn se_14_slow_and_endless_responses_are_cut_off() {
    let server = ModelServer::start(ModelBehavior::Slow);
    let slow = ModelEndpoint { timeout: Duration::from_millis(300), ..endpoint(&server.url()) };
    let error = select(&slow, Network::Allowed).unwrap_err();
    assert_eq!(error.code(), "E-network");
    assert!(error.causes()[0].contains("0.3 s"), "{error:?}");
    assert_too_large(ModelBehavior::Endless);
}

#[test]
fn se_14_response_limit_applies_to_the_decompressed_size() {
    assert_too_large(ModelBehavior::Gzip(64 << 20));
}

#[track_caller]
fn assert_too_large(model: ModelBehavior) {
    let (code, cause) = failure(model);
    assert_eq!(code, "E-invalid-response");
    assert!(["4194304", "4 MiB"].iter().any(|size| cause.contains(size)), "{cause}");
}

#[test]
fn rejected_optional_parameters_are_omitted_in_one_retry() {
    for status in [400, 422] {
        let server = ModelServer::start(ModelBehavior::Picky(status));
        let selection = select(&endpoint(&server.url()), Network::Allowed).unwrap();
        assert_eq!(chosen(&selection), [HONEST[0], HONEST[2]]);
        let bodies: Vec<serde_json::Value> = server
            .requests()
            .iter()
            .map(|request| serde_json::from_str(&request.body).unwrap())
            .collect();
        let has_optional = |body: &serde_json::Value| {
            body.get("temperature").is_some() || body.get("response_format").is_some()
        };
        assert_eq!(bodies.iter().map(has_optional).collect::<Vec<_>>(), [true, false]);
        assert_eq!(bodies[0]["messages"], bodies[1]["messages"]);
    }
    for model in [ModelBehavior::Picky(500), ModelBehavior::Fails(400, "no such model".into())] {
        let server = ModelServer::start(model);
        select(&endpoint(&server.url()), Network::Allowed).unwrap_err();
        assert_eq!(server.requests().len(), 1);
    }
    let server = ModelServer::start(ModelBehavior::Fails(400, "response_format".into()));
    select(&endpoint(&server.url()), Network::Allowed).unwrap_err();
    assert_eq!(server.requests().len(), 2, "one retry");
}

#[test]
fn truncated_replies_are_reported() {
    let error = select_with(ModelBehavior::CutOff).unwrap_err();
    assert_eq!(error.code(), "E-invalid-response");
    assert_eq!(error.causes(), [ModelReplyError::Truncated.to_string()]);
    assert_eq!(error.hints[0], ModelReplyError::Truncated.hint());
}

#[test]
fn se_07_redirects_are_not_followed() {
    let other = ModelServer::start(ModelBehavior::Honest(1));
    let target = format!("{}/chat/completions", other.url());
    let (code, cause) = failure(ModelBehavior::Redirect(format!("{target}?key={KEY}")));
    assert_eq!(code, "E-redirected");
    assert!(cause.contains("307") && cause.contains(&target), "{cause}");
    assert!(!cause.contains("key="), "{cause}");
    assert_eq!(other.requests(), []);
}

#[test]
fn closed_and_refused_connections_are_errors() {
    assert_eq!(failure(ModelBehavior::Disconnects).0, "E-network");
    let stopped = ModelServer::start(ModelBehavior::Slow).url();
    assert_eq!(select(&endpoint(&stopped), Network::Allowed).unwrap_err().code(), "E-network");
}

#[test]
fn se_07_se_13_no_request_is_sent_offline_or_over_plain_http() {
    let server = ModelServer::start(ModelBehavior::Honest(1));
    let error = select(&endpoint(&server.url()), Network::Offline).unwrap_err();
    assert_eq!(error.code(), "E-offline");
    assert!(error.message.contains("`--offline`"), "{error}");
    assert_eq!(server.requests(), []);
    let error = select(&endpoint("http://models.example/v1"), Network::Allowed).unwrap_err();
    assert_eq!(error.code(), "E-invalid-url");
    // The same URL with https is valid.
    let error = select(&endpoint("https://models.example/v1"), Network::Offline).unwrap_err();
    assert_eq!(error.code(), "E-offline");
}

#[test]
fn se_13_no_request_is_sent_without_candidates() {
    let server = ModelServer::start(ModelBehavior::Honest(1));
    let events = EventLog::default();
    let empty = [PromptList { name: "dont".into(), limit: 3, sentences: Vec::new() }];
    let selection = select_sentences(
        &context(&events, Network::Allowed),
        &endpoint(&server.url()),
        &brief(),
        &empty,
    )
    .unwrap();
    assert_eq!((selection, server.requests().len()), (ModelSelection::default(), 0));
}
