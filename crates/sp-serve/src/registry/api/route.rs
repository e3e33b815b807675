//! A route of the API: its path, its handler and its documentation.

use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::registry::state::AppState;

/// Who may call a route. Documentation only: handlers authenticate requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// Anyone; a token may make more visible.
    Public,
    Authenticated,
    Publisher,
    /// An owner of the namespace.
    Owner,
    Admin,
}

impl RouteAccess {
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Public => {
                "no token; with a token, private packages that its user can read are included"
            }
            Self::Authenticated => "a token",
            Self::Publisher => "a token with the scope `publish` or `admin`",
            Self::Owner => {
                "a token of an owner of the namespace with the scope `publish`, or an admin token"
            }
            Self::Admin => "an admin token",
        }
    }
}

pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The body of a request or a response.
#[derive(Clone, Copy)]
pub(crate) enum RouteBody {
    Json(SchemaFn),
    /// Another media type.
    Media(&'static str),
    Empty,
}

/// A query parameter.
pub(crate) struct QueryParam {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
}

impl QueryParam {
    pub(super) const fn required(name: &'static str, description: &'static str) -> Self {
        Self { name, description, required: true }
    }

    pub(super) const fn optional(name: &'static str, description: &'static str) -> Self {
        Self { name, description, required: false }
    }
}

pub(crate) struct ApiRoute {
    /// Lowercase, as in OpenAPI.
    pub method: &'static str,
    pub path: &'static str,
    pub summary: &'static str,
    pub access: RouteAccess,
    /// Whether no limit on requests applies, since it shows whether the registry works.
    pub is_unlimited: bool,
    pub query_params: &'static [QueryParam],
    /// Path and query parameters that are integers; all others are strings.
    pub integer_params: &'static [&'static str],
    pub request_body: RouteBody,
    pub body_required: bool,
    /// Successful responses, and errors that differ from the default error response.
    pub responses: Vec<(u16, RouteBody)>,
    pub handler: MethodRouter<AppState>,
}

impl ApiRoute {
    fn new(method: &'static str, path: &'static str, handler: MethodRouter<AppState>) -> Self {
        let (summary, access, request_body) = ("", RouteAccess::Public, RouteBody::Empty);
        let (query_params, integer_params, responses) = (&[][..], &[][..], Vec::new());
        Self {
            method,
            path,
            summary,
            access,
            is_unlimited: false,
            query_params,
            integer_params,
            request_body,
            body_required: true,
            responses,
            handler,
        }
    }

    pub(super) fn get<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new("get", path, routing::get(handler))
    }

    pub(super) fn put<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new("put", path, routing::put(handler))
    }

    pub(super) fn post<H: Handler<T, AppState>, T: 'static>(
        path: &'static str,
        handler: H,
    ) -> Self {
        Self::new("post", path, routing::post(handler))
    }

    pub(super) fn delete<H: Handler<T, AppState>, T: 'static>(
        path: &'static str,
        handler: H,
    ) -> Self {
        Self::new("delete", path, routing::delete(handler))
    }

    pub(super) fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    pub(super) fn access(mut self, who: RouteAccess) -> Self {
        self.access = who;
        self
    }

    pub(super) fn unlimited(mut self) -> Self {
        self.is_unlimited = true;
        self
    }

    pub(super) fn query_params(mut self, query: &'static [QueryParam]) -> Self {
        self.query_params = query;
        self
    }

    pub(super) fn integer_params(mut self, numbers: &'static [&'static str]) -> Self {
        self.integer_params = numbers;
        self
    }

    pub(super) fn json_body<T: JsonSchema>(mut self) -> Self {
        self.request_body = RouteBody::Json(SchemaGenerator::subschema_for::<T>);
        self
    }

    /// A JSON body that may be empty.
    pub(super) fn optional_json_body<T: JsonSchema>(self) -> Self {
        Self { body_required: false, ..self.json_body::<T>() }
    }

    pub(super) fn media_body(mut self, media: &'static str) -> Self {
        self.request_body = RouteBody::Media(media);
        self
    }

    pub(super) fn json_response<T: JsonSchema>(mut self, status: u16) -> Self {
        self.responses.push((status, RouteBody::Json(SchemaGenerator::subschema_for::<T>)));
        self
    }

    /// The responses of [`HttpContent`](crate::registry::http_content::HttpContent): complete,
    /// partial, or not modified.
    pub(super) fn file_responses(mut self, media: &[&'static str]) -> Self {
        for status in [200, 206] {
            self.responses.extend(media.iter().map(|media| (status, RouteBody::Media(media))));
        }
        self.empty_response(304)
    }

    pub(super) fn media_response(mut self, status: u16, media: &'static str) -> Self {
        self.responses.push((status, RouteBody::Media(media)));
        self
    }

    pub(super) fn empty_response(mut self, status: u16) -> Self {
        self.responses.push((status, RouteBody::Empty));
        self
    }
}
