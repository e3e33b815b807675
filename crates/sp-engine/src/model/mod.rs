//! A language model that helps to build a context pack: it selects sentences and shortens them.
//!
//! [`select_sentences`] is called only if the user names an endpoint. The model cannot add
//! anything: its reply is checked against the sentences that it was given, and every quote in the
//! resulting [`ModelSelection`] is copied from one of those sentences, not from the reply. A choice
//! that is not a faithful part of its sentence is rejected with a reason.

mod client;
mod quote;
mod reply;
mod request;

use std::fmt;
use std::time::Duration;

use sp_analyze::knowledge::Brief;
use sp_formats::text::truncate_printable;

pub use reply::{ModelReplyError, judge};

use self::client::ModelClient;
use self::request::ModelRequest;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};

pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The hint that applies to every failure.
const WITHOUT_MODEL_HINT: &str = "omit `--model` to build the context pack without a model";

/// An OpenAI-compatible endpoint.
#[derive(Clone)]
pub struct ModelEndpoint {
    /// The URL, with or without `/v1` and `/chat/completions` at its end.
    pub url: String,
    /// The name of the model.
    pub name: String,
    /// The API key.
    pub key: Option<String>,
    /// The timeout of a request, including its response.
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

/// The candidates for one section of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptList {
    /// The name of the section, such as `conventions`.
    pub name: String,
    /// The maximum number of sentences to select.
    pub limit: usize,
    pub sentences: Vec<PromptSentence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSentence {
    /// A number that is unique among all lists.
    pub number: usize,
    pub text: String,
}

/// A sentence, or a part of one, that the model selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The name of the list.
    pub list: String,
    /// The number of the sentence.
    pub number: usize,
    /// The sentence or a part of it, byte for byte.
    pub quote: String,
}

/// A choice that was rejected. Its texts are printable and truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedChoice {
    pub list: String,
    pub quote: String,
    pub reason: &'static str,
}

/// The checked reply of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelSelection {
    /// The accepted choices, in the order of the reply.
    pub chosen: Vec<ModelChoice>,
    pub rejected: Vec<RejectedChoice>,
}

/// Asks a model to select sentences, and checks its reply.
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
    let url = client.display_url();
    let http = client.connect(context)?;
    context.emit(Event::Fetching { repo: url, progress: Some("selecting sentences") });
    let body = client.send(&http, &ModelRequest { model: &endpoint.name, brief, lists: offers })?;
    let unread = |e: ModelReplyError| {
        Error::new(ErrorCode::InvalidResponse, format!("invalid response from `{url}`"))
            .because(client.redact(&e.to_string()))
            .hint(e.hint())
            .hint(WITHOUT_MODEL_HINT)
    };
    let written = reply::extract_reply(&body).map_err(unread)?;
    let answer = written.validate(offers, &|text| client.redact(text)).map_err(unread)?;
    context.emit(Event::Fetched { repo: url });
    Ok(answer)
}

/// Replaces secrets in messages.
const REDACTED: &str = "***";
