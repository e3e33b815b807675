//! Speaks to a registry: within a size and a time, again where the network failed, never elsewhere.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use sp_formats::address::without_secrets;
use sp_formats::printable::printable;
use sp_formats::registry::{API, Refused, SHA256_HEADER, YANKED_HEADER};
use ureq::SendBody;

use super::partial::Partial;
use crate::context::{Context, Event, LOOK_AGAIN, Network};
use crate::error::{Error, Kind, Result};
use crate::http::{BodyError, ResponseBody, for_one_server, while_wanted};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest response, other than a package, that is read.
const MAX_RESPONSE_BYTES: u64 = 16 * 1024 * 1024;
/// How long it is waited before it is tried again.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// So often a download that breaks off is gone on with.
const MOST_TRIES: usize = 100;
const CHUNK: usize = 64 * 1024;

/// What is asked for.
pub(crate) struct Asked<'a> {
    method: ureq::http::Method,
    path: &'a str,
    body: &'a [u8],
    content_type: &'static str,
}

impl<'a> Asked<'a> {
    fn new(method: ureq::http::Method, path: &'a str) -> Self {
        Self { method, path, body: b"", content_type: "application/json" }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self::new(ureq::http::Method::GET, path)
    }

    pub(crate) fn put(path: &'a str, body: &'a [u8]) -> Self {
        Self::new(ureq::http::Method::PUT, path).with(body)
    }

    pub(crate) fn post(path: &'a str) -> Self {
        Self::new(ureq::http::Method::POST, path)
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self::new(ureq::http::Method::DELETE, path)
    }

    /// The same with a body.
    pub(crate) fn with(self, body: &'a [u8]) -> Self {
        Self { body, ..self }
    }

    /// The same with a body of another type than JSON.
    pub(crate) fn of_type(self, content_type: &'static str) -> Self {
        Self { content_type, ..self }
    }
}

/// A body on its way: it tells how far it is.
struct Sent<'a> {
    context: &'a Context<'a>,
    to: &'a str,
    body: &'a [u8],
    done: usize,
}

impl Read for Sent<'_> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.context.go_on().map_err(io::Error::other)?;
        let mut rest = &self.body[self.done..];
        let count = rest.read(block)?;
        self.done += count;
        let (done, total) = (self.done as u64, self.body.len() as u64);
        self.context.tell(Event::Sending { to: self.to, done, total });
        Ok(count)
    }
}

type Tried = std::result::Result<ureq::http::Response<ureq::Body>, Error>;

/// What a registry says, and how.
struct Answer {
    status: u16,
    told: Told,
}

impl Answer {
    fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What stands beside the bytes of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// What they hash to.
    pub sha256: Option<String>,
    /// Whether they were yanked.
    pub yanked: Option<bool>,
}

impl Marks {
    fn of(headers: &ureq::http::HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            sha256: text(SHA256_HEADER).map(str::to_owned),
            yanked: text(YANKED_HEADER).and_then(|v| v.parse().ok()),
        }
    }
}

/// What a registry says.
pub(crate) struct Told {
    text: String,
    address: String,
    is_new: bool,
}

impl Told {
    /// Whether what was sent was not there before.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.text).map_err(|why| {
            Error::new(Kind::Data, format!("`{}` answers something else than a registry does", self.address))
                .because(why)
                .hint("check the address")
        })
    }
}

/// A registry that is spoken to.
pub(crate) struct Client<'a> {
    context: &'a Context<'a>,
    agent: ureq::Agent,
    address: String,
    token: Option<String>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(context: &'a Context<'a>, address: &str, token: Option<&str>) -> Result<Self> {
        if context.network == Network::Offline {
            return Err(Error::new(Kind::Environment, format!("`{address}` cannot be reached with `--offline`"))
                .hint("leave it out"));
        }
        let agent = for_one_server(address, TIMEOUT);
        Ok(Self { context, agent, address: address.into(), token: token.map(str::to_owned) })
    }

    /// Where the registry is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Asks, and again if the network failed or the registry could not answer just then.
    pub(crate) fn ask(&self, asked: &Asked<'_>) -> Result<Told> {
        let answer = self.answer(asked)?;
        if answer.is_good() { Ok(answer.told) } else { Err(self.refused(answer.status, &answer.told.text)) }
    }

    /// Asks for something that may not be there.
    pub(super) fn find(&self, asked: &Asked<'_>) -> Result<Option<Told>> {
        let answer = self.answer(asked)?;
        match answer.status {
            404 => Ok(None),
            _ if answer.is_good() => Ok(Some(answer.told)),
            status => Err(self.refused(status, &answer.told.text)),
        }
    }

    /// The bytes of a version, from where an earlier try ended. It goes on as long as something comes.
    pub(super) fn download(&self, path: &str, partial: &mut Partial<'_>) -> Result<Marks> {
        let mut pauses = PAUSES.iter();
        for _ in 0..MOST_TRIES {
            let before = partial.len();
            let error = match self.try_download(path, partial) {
                Ok(done) => return done,
                Err(error) => error,
            };
            if partial.len() > before {
                pauses = PAUSES.iter();
            }
            let Some(pause) = pauses.next() else { return Err(error) };
            self.wait(&error, *pause)?;
        }
        Err(self.unreachable("it breaks off again and again"))
    }

    fn try_download(&self, path: &str, partial: &mut Partial<'_>) -> std::result::Result<Result<Marks>, Error> {
        let mut request = self.request(&Asked::get(path));
        if let Some((range, only_if)) = partial.rest() {
            request = request.header("range", range).header("if-range", only_if);
        }
        let response = match self.send(request, b"") {
            Ok(response) => response?,
            Err(error) => return Ok(Err(error)),
        };
        let status = response.status().as_u16();
        match status {
            200 => partial.restart(),
            206 => {}
            416 => {
                partial.restart();
                return Err(self.unreachable("it has no such part"));
            }
            502..=504 => return Err(self.unreachable(&format!("it answered {status}"))),
            _ => {
                let text = ResponseBody::new(response, MAX_RESPONSE_BYTES).read_text().unwrap_or_default();
                return Ok(Err(self.refused(status, &text)));
            }
        }
        let marks = Marks::of(response.headers());
        // One byte more than is missing, so that the size is judged where it is known.
        let mut body = ResponseBody::new(response, partial.missing().saturating_add(1));
        let mut buffer = vec![0; CHUNK];
        loop {
            match body.read(&mut buffer) {
                Ok(0) if partial.is_whole() => return Ok(Ok(marks)),
                Ok(0) => return Err(self.unreachable("it ended too early")),
                Ok(read) => {
                    if let Err(error) = partial.add(&buffer[..read]) {
                        return Ok(Err(error));
                    }
                }
                Err(why) => return Err(self.unreachable(&why.to_string())),
            }
        }
    }

    fn answer(&self, asked: &Asked<'_>) -> Result<Answer> {
        let mut pauses = PAUSES.iter();
        loop {
            let (error, pause) = match (self.try_once(asked), pauses.next()) {
                (Ok(answer), _) => return answer,
                (Err(error), None) => return Err(error),
                (Err(error), Some(pause)) => (error, pause),
            };
            self.wait(&error, *pause)?;
        }
    }

    fn wait(&self, error: &Error, pause: Duration) -> Result<()> {
        self.context.tell(Event::Detail(format!("{error}; it is tried again")));
        let until = Instant::now() + pause;
        while Instant::now() < until {
            self.context.go_on()?;
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// The answer, or why it may be worth to try again.
    fn try_once(&self, asked: &Asked<'_>) -> std::result::Result<Result<Answer>, Error> {
        let response = match self.send(self.request(asked), asked.body) {
            Ok(response) => response?,
            Err(error) => return Ok(Err(error)),
        };
        let status = response.status();
        let text = match ResponseBody::new(response, MAX_RESPONSE_BYTES).read_text() {
            Ok(text) => text,
            // The next try would get the same.
            Err(why @ BodyError::TooLarge { .. }) => return Ok(Err(self.too_large(asked, why))),
            Err(why) => return Err(self.unreachable(&why.to_string())),
        };
        match status.as_u16() {
            502..=504 => Err(self.unreachable(&format!("it answered {status}"))),
            status => {
                let told = Told { text, address: self.address.clone(), is_new: status == 201 };
                Ok(Ok(Answer { status, told }))
            }
        }
    }

    fn request(&self, asked: &Asked<'_>) -> ureq::http::request::Builder {
        let url = format!("{}{API}/{}", self.address, asked.path);
        let request = ureq::http::Request::builder().method(asked.method.clone()).uri(&url);
        let request = request.header("content-type", asked.content_type);
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    /// What cannot even be written is no better the next time; what did not get through may be.
    fn send(&self, request: ureq::http::request::Builder, body: &[u8]) -> Result<Tried> {
        self.context.go_on()?;
        let run = |request: ureq::http::request::Builder| {
            // The length is known, so that the registry can refuse before it has read all.
            let request = request.header("content-length", body.len());
            let mut sent = Sent { context: self.context, to: &self.address, body, done: 0 };
            self.agent.run(request.body(SendBody::from_reader(&mut sent))?)
        };
        let answer = match body.is_empty() {
            true => {
                let agent = self.agent.clone();
                while_wanted(self.context, move || agent.run(request.body(())?))?
            }
            false => run(request),
        };
        match answer {
            Ok(response) => Ok(Ok(response)),
            Err(ureq::Error::Http(why)) => Err(self.unreachable(&why.to_string())),
            Err(why) => Ok(Err(self.unreachable(&why.to_string()))),
        }
    }

    fn too_large(&self, asked: &Asked<'_>, why: BodyError) -> Error {
        let path = asked.path.split('?').next().unwrap_or_default();
        Error::new(Kind::Data, format!("cannot read the response of `{}{API}/{path}`", self.address))
            .because(why)
            .hint("check that the address is that of a registry; the limit cannot be raised")
    }

    fn unreachable(&self, why: &str) -> Error {
        Error::new(Kind::Environment, format!("`{}` cannot be reached", self.address))
            .because(without_secrets(why))
            .hint("check the address, and that the registry runs; `--offline` uses what the store has")
    }

    fn refused(&self, code: u16, text: &str) -> Error {
        let told: Option<Refused> = serde_json::from_str(text).ok();
        let kind = match code {
            401 | 403 => Kind::Trust,
            400 | 413 => Kind::Data,
            404 | 409 => Kind::Request,
            _ => Kind::Environment,
        };
        let why = told.as_ref().map_or_else(|| format!("it answered {code}"), |told| told.message.clone());
        let error = Error::new(kind, format!("`{}` refused it", self.address)).because(printable(&why).into_owned());
        let help = told.and_then(|told| told.help).map(|help| printable(&help).into_owned());
        match (code, help) {
            (401, _) => error.hint(format!("`sp login {}` with a token that may do this", self.address)),
            (_, Some(help)) => error.hint(help),
            _ => error,
        }
    }
}
