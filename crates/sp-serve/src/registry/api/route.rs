//! A route: its address, who does the work, and what is said of it. The router and the document are made of the same.

use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::registry::state::State;

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Everybody; who shows a token may see more.
    Everybody,
    /// Whoever has a token.
    Token,
    /// Whoever has a token that may publish.
    Publisher,
    /// Who runs the registry.
    Admin,
}

impl Who {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Everybody => "everybody",
            Self::Token => "whoever has a token",
            Self::Publisher => "a token that may publish",
            Self::Admin => "the admin",
        }
    }
}

/// What the schema of a type is.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What is sent, or comes back.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// JSON.
    Json(SchemaOf),
    /// Something else, by its media type.
    Media(&'static str),
    /// Nothing.
    Nothing,
}

/// A parameter behind the `?`: its name, what it is, and whether it is needed.
pub(crate) type QueryItem = (&'static str, &'static str, bool);

/// A route.
pub(crate) struct Route {
    /// `get`, `put` and so on, as the document writes it.
    pub method: &'static str,
    pub path: &'static str,
    /// What it is for, in a line.
    pub summary: &'static str,
    pub who: Who,
    pub query: &'static [QueryItem],
    /// Which parameters are whole numbers; all others are text.
    pub numbers: &'static [&'static str],
    pub asks: Body,
    /// Whether what is asked for must be there.
    pub needs_body: bool,
    /// What is answered, with what comes along: whatever is no refusal, and a refusal that is told otherwise.
    pub answers: Vec<(u16, Body)>,
    pub handler: MethodRouter<State>,
}

impl Route {
    fn new(method: &'static str, path: &'static str, handler: MethodRouter<State>) -> Self {
        let (summary, who, asks) = ("", Who::Everybody, Body::Nothing);
        let (query, numbers, answers) = (&[][..], &[][..], Vec::new());
        Self { method, path, summary, who, query, numbers, asks, needs_body: true, answers, handler }
    }

    pub(super) fn get<H: Handler<T, State>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new("get", path, routing::get(handler))
    }

    pub(super) fn put<H: Handler<T, State>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new("put", path, routing::put(handler))
    }

    pub(super) fn post<H: Handler<T, State>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new("post", path, routing::post(handler))
    }

    pub(super) fn delete<H: Handler<T, State>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new("delete", path, routing::delete(handler))
    }

    pub(super) fn does(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    pub(super) fn by(mut self, who: Who) -> Self {
        self.who = who;
        self
    }

    pub(super) fn query(mut self, query: &'static [QueryItem]) -> Self {
        self.query = query;
        self
    }

    pub(super) fn numbers(mut self, numbers: &'static [&'static str]) -> Self {
        self.numbers = numbers;
        self
    }

    pub(super) fn asks<T: JsonSchema>(mut self) -> Self {
        self.asks = Body::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// The same, where nothing at all is fine, too.
    pub(super) fn may_ask<T: JsonSchema>(self) -> Self {
        Self { needs_body: false, ..self.asks::<T>() }
    }

    pub(super) fn asks_bytes(mut self, media: &'static str) -> Self {
        self.asks = Body::Media(media);
        self
    }

    pub(super) fn answers<T: JsonSchema>(mut self, status: u16) -> Self {
        self.answers.push((status, Body::Json(SchemaGenerator::subschema_for::<T>)));
        self
    }

    /// Bytes of one of some media types: all of them, a part, or only that they are still the same.
    pub(super) fn serves(mut self, media: &[&'static str]) -> Self {
        for status in [200, 206] {
            self.answers.extend(media.iter().map(|media| (status, Body::Media(media))));
        }
        self.answers_nothing(304)
    }

    pub(super) fn answers_media(mut self, status: u16, media: &'static str) -> Self {
        self.answers.push((status, Body::Media(media)));
        self
    }

    pub(super) fn answers_nothing(mut self, status: u16) -> Self {
        self.answers.push((status, Body::Nothing));
        self
    }
}
