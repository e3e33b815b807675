//! A model that helps with a context pack: it chooses among sentences and shortens them.
//!
//! It is asked only where the user names an endpoint, and it can add nothing. What it says is held
//! against the sentences that it was given, and what comes out of here are bytes of those sentences,
//! never bytes of the answer. Whatever does not fit is refused with a reason.

mod client;
mod prompt;
mod quote;
mod reply;

use std::fmt;
use std::time::Duration;

use sp_analyze::knowledge::Brief;
use sp_formats::printable::printable;

pub use reply::{ReplyError, judge};

use self::client::Client;
use self::prompt::Question;
use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};

/// How long an endpoint may take if the user says nothing else.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The way out that is always there.
const WITHOUT: &str = "leave out `--model`: a pack is composed without one too";

/// Where a model is asked.
#[derive(Clone)]
pub struct Endpoint {
    /// The address, with or without `/v1` and `/chat/completions` at its end.
    pub url: String,
    /// The model's name.
    pub name: String,
    /// A secret that the endpoint asks for.
    pub key: Option<String>,
    /// How long a request may take as a whole.
    pub timeout: Duration,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &client::shown(&self.url))
            .field("name", &self.name)
            .field("key", &self.key.as_ref().map(|_| HIDDEN))
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// The sentences that may stand in one place of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The place, such as `conventions`.
    pub place: String,
    /// How many may be chosen for it.
    pub most: usize,
    /// The sentences.
    pub spans: Vec<Span>,
}

/// A sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its number, which no other sentence of any place has.
    pub number: usize,
    /// Its text.
    pub text: String,
}

/// A sentence, or a part of one, that the model chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// For which place.
    pub place: String,
    /// The sentence's number.
    pub number: usize,
    /// The sentence or the part of it, byte for byte as it stands there.
    pub quote: String,
}

/// Something that the model said and that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// For which place, as it can be shown.
    pub place: String,
    /// What it said, as it can be shown.
    pub quote: String,
    /// Why it does not count.
    pub why: &'static str,
}

/// What became of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// What counts, in the model's order.
    pub chosen: Vec<Choice>,
    /// What does not.
    pub refused: Vec<Refusal>,
}

/// Asks a model which sentences are to stand where, and judges what it says.
pub fn choose(context: &Context<'_>, endpoint: &Endpoint, brief: &Brief, offers: &[Offer]) -> Result<Answer> {
    if offers.iter().all(|offer| offer.most == 0 || offer.spans.is_empty()) {
        return Ok(Answer::default());
    }
    let client = Client::new(endpoint)?;
    let shown = client.shown();
    if context.network == Network::Offline {
        return Err(Error::new(Kind::Environment, format!("`{shown}` cannot be asked with `--offline`")).hint(WITHOUT));
    }
    context.tell(Event::Fetching { repo: shown, progress: Some("the model chooses") });
    let body = client.ask(context, &Question { model: &endpoint.name, brief, offers })?;
    let unread = |e: ReplyError| {
        Error::new(Kind::Data, format!("what `{shown}` answered cannot be used"))
            .because(client.hide(&e.to_string()))
            .hint(e.hint())
            .hint(WITHOUT)
    };
    let written = reply::written(&body).map_err(unread)?;
    let answer = written.judge(offers, &|text| client.hide(text)).map_err(unread)?;
    context.tell(Event::Fetched { repo: shown });
    Ok(answer)
}

/// What stands where a secret would.
const HIDDEN: &str = "***";

/// Somebody's text as it is shown inside a line: nothing hidden in it, and no longer than `most` characters.
fn short(text: &str, most: usize) -> String {
    let shown = printable(text);
    match shown.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown.into_owned(),
    }
}
