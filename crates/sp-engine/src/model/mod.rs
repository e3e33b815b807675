//! A model that helps with a context pack: it chooses among sentences and shortens them.
//!
//! It is asked only where the user names an endpoint, and it can add nothing. What it says is held
//! against the sentences that it was given, and what comes out of here are bytes of those sentences,
//! never bytes of the answer. Whatever does not fit is refused with a reason.

mod client;
mod quote;
mod reply;
mod request;

use std::fmt;
use std::time::Duration;

use sp_analyze::knowledge::Brief;
use sp_formats::printable::printable;

pub use reply::{ModelReplyError, judge};

use self::client::ModelClient;
use self::request::ModelRequest;
use crate::context::{Context, Event, Network};
use crate::error::{Error, FailureKind, Result};

/// How long an endpoint may take if the user says nothing else.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The way out that is always there.
const WITHOUT_MODEL_HINT: &str = "leave out `--model`: a pack is composed without one too";

/// Where a model is asked.
#[derive(Clone)]
pub struct ModelEndpoint {
    /// The address, with or without `/v1` and `/chat/completions` at its end.
    pub url: String,
    /// The model's name.
    pub name: String,
    /// A secret that the endpoint asks for.
    pub key: Option<String>,
    /// How long a request may take as a whole.
    pub timeout: Duration,
}

impl fmt::Debug for ModelEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &client::shown(&self.url))
            .field("name", &self.name)
            .field("key", &self.key.as_ref().map(|_| REDACTED))
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// The sentences that may stand in one place of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptList {
    /// The place, such as `conventions`.
    pub name: String,
    /// How many may be chosen for it.
    pub limit: usize,
    /// The sentences.
    pub sentences: Vec<PromptSentence>,
}

/// A sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSentence {
    /// Its number, which no other sentence of any place has.
    pub number: usize,
    /// Its text.
    pub text: String,
}

/// A sentence, or a part of one, that the model chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// For which place.
    pub list: String,
    /// The sentence's number.
    pub number: usize,
    /// The sentence or the part of it, byte for byte as it stands there.
    pub quote: String,
}

/// Something that the model said and that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedChoice {
    /// For which place, as it can be shown.
    pub list: String,
    /// What it said, as it can be shown.
    pub quote: String,
    /// Why it does not count.
    pub reason: &'static str,
}

/// What became of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelSelection {
    /// What counts, in the model's order.
    pub chosen: Vec<ModelChoice>,
    /// What does not.
    pub rejected: Vec<RejectedChoice>,
}

/// Asks a model which sentences are to stand where, and judges what it says.
pub fn select_sentences(
    context: &Context<'_>,
    endpoint: &ModelEndpoint,
    brief: &Brief,
    offers: &[PromptList],
) -> Result<ModelSelection> {
    if offers.iter().all(|offer| offer.limit == 0 || offer.sentences.is_empty()) {
        return Ok(ModelSelection::default());
    }
    let client = ModelClient::new(endpoint)?;
    let shown = client.display_url();
    if context.network == Network::Offline {
        return Err(Error::new(
            FailureKind::Environment,
            format!("`{shown}` cannot be asked with `--offline`"),
        )
        .hint(WITHOUT_MODEL_HINT));
    }
    context.emit(Event::Fetching { repo: shown, progress: Some("the model chooses") });
    let body =
        client.send(context, &ModelRequest { model: &endpoint.name, brief, lists: offers })?;
    let unread = |e: ModelReplyError| {
        Error::new(FailureKind::Data, format!("what `{shown}` answered cannot be used"))
            .because(client.redact(&e.to_string()))
            .hint(e.hint())
            .hint(WITHOUT_MODEL_HINT)
    };
    let written = reply::extract_reply(&body).map_err(unread)?;
    let answer = written.validate(offers, &|text| client.redact(text)).map_err(unread)?;
    context.emit(Event::Fetched { repo: shown });
    Ok(answer)
}

/// What stands where a secret would.
const REDACTED: &str = "***";

/// Somebody's text as it is shown inside a line: nothing hidden in it, and no longer than `most` characters.
fn truncate_printable(text: &str, most: usize) -> String {
    let shown = printable(text);
    match shown.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown.into_owned(),
    }
}
