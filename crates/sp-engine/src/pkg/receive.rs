//! `sp pkg receive`: takes envelopes, and imports what is in them or lets it wait.
//!
//! One path, one method, bodies of a known length: what is needed of HTTP, and no more. Whatever
//! comes is hostile until its HMAC holds; before that nothing but its size and form is looked at.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sp_formats::json::quoted;
use sp_formats::package::envelope::{Envelope, Form, PATH};
use sp_formats::package::{Package, read};
use sp_tree::Zeroizing;

use super::manage::take;
use super::secret::{SecretFrom, find_secret, read_secret};
use super::shelf::{Stock, waiting_id};
use super::subject::accept;
use super::trust::{Acceptance, judge};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::Home;

/// Heads of requests that are longer are not ours.
const MAX_HEAD: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// How long a whole request may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many requests are read at a time.
const AT_ONCE: usize = 16;

/// What becomes of a package that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// It goes into the store.
    Import,
    /// It waits until somebody takes it.
    Queue,
}

/// How long is listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Until the process ends.
    Forever,
    /// Until one package was taken.
    One,
}

/// Whether an envelope must be signed with the shared secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvelopeSignature {
    /// Unsigned envelopes are refused.
    Required,
    /// Unsigned envelopes are accepted. A signature must still be valid.
    Optional,
}

/// What is to be received.
#[derive(Debug, Clone)]
pub struct ReceiveRequest {
    /// The address to listen on.
    pub listen: String,
    /// The secret.
    pub secret: SecretFrom,
    /// The environment variable that holds the bearer token that is asked for.
    pub token_env: Option<String>,
    /// Whether an envelope must be signed.
    pub signature: EnvelopeSignature,
    /// Who we are: what is for somebody else is refused.
    pub recipient: Option<String>,
    /// What becomes of a package.
    pub approval: Approval,
    /// How long is listened.
    pub until: Until,
    /// What is accepted for once.
    pub accepted: Acceptance,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// It listens.
    Listening(String),
    /// A package went into the store.
    Imported {
        /// Which.
        package: String,
        /// Who sent it, as they say.
        sender: String,
    },
    /// A package waits.
    Waiting {
        /// Which.
        package: String,
        /// Who sent it, as they say.
        sender: String,
        /// By which it is taken or refused.
        id: String,
    },
    /// Something was refused.
    Refused(String),
}

/// Listens, and tells what happens.
pub fn receive(context: &Context<'_>, request: &ReceiveRequest, tell: &(dyn Fn(Incoming) + Sync)) -> Result<()> {
    let session = Session::begin(context)?;
    let receiver = Receiver {
        session: &session,
        request,
        secret: match request.signature {
            EnvelopeSignature::Required => Some(read_secret(context, &request.secret).map_err(or_allow_unsigned)?),
            EnvelopeSignature::Optional => find_secret(context, &request.secret)?,
        },
        token: request
            .token_env
            .as_deref()
            .map(|name| read_secret(context, &SecretFrom::Env(name.into())))
            .transpose()?,
    };
    let unheard = |e: std::io::Error| {
        Error::new(Kind::Environment, format!("cannot listen on `{}`", request.listen))
            .because(e)
            .hint("choose another address; port 0 takes any that is free")
    };
    let listener = TcpListener::bind(&request.listen).map_err(unheard)?;
    let address = listener.local_addr().map_err(unheard)?;
    if !address.ip().is_loopback() {
        context.tell(Event::Warning(format!(
            "{address} can be reached from other machines, and what comes is not encrypted: put a TLS proxy before it"
        )));
    }
    if request.signature == EnvelopeSignature::Optional {
        context.tell(Event::Warning(format!(
            "unsigned envelopes are accepted: anyone who can connect to {address} can send packages under any name"
        )));
    }
    tell(Incoming::Listening(address.to_string()));
    let open = AtomicUsize::new(0);
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if open.load(Ordering::Acquire) >= AT_ONCE {
                refuse_unread(stream);
                continue;
            }
            open.fetch_add(1, Ordering::AcqRel);
            let handle = || {
                if receiver.serve(stream, tell) {
                    taken.fetch_add(1, Ordering::AcqRel);
                }
                open.fetch_sub(1, Ordering::AcqRel);
            };
            match request.until {
                Until::One => handle(),
                Until::Forever => drop(scope.spawn(handle)),
            }
            if request.until == Until::One && taken.load(Ordering::Acquire) > 0 {
                break;
            }
        }
    });
    Ok(())
}

/// Adds the way to receive without a secret.
fn or_allow_unsigned(error: Error) -> Error {
    error.hint("or accept envelopes that nobody signed with `--allow-unsigned`")
}

fn refuse_unread(mut stream: TcpStream) {
    let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
    let _ = stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

struct Receiver<'a> {
    session: &'a Session<'a>,
    request: &'a ReceiveRequest,
    /// None if only unsigned envelopes can be accepted.
    secret: Option<Zeroizing<Vec<u8>>>,
    token: Option<Zeroizing<Vec<u8>>>,
}

/// An answer: status, and what is said.
struct Refusal {
    status: u16,
    why: String,
}

impl Refusal {
    fn new(status: u16, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

impl Receiver<'_> {
    /// Reads one request and answers it; whether a package was taken, is told.
    fn serve(&self, mut stream: TcpStream, tell: &(dyn Fn(Incoming) + Sync)) -> bool {
        let outcome = self.read(&mut stream).and_then(|body| self.take(&body));
        let (status, body, event) = match outcome {
            Ok(event @ Incoming::Imported { .. }) => (200, said("imported", &event), event),
            Ok(event) => (202, said("waiting", &event), event),
            Err(Refusal { status, why }) => (status, format!("{{\"error\":{}}}", quoted(&why)), Incoming::Refused(why)),
        };
        let taken = !matches!(event, Incoming::Refused(_));
        answer(&mut stream, status, &body);
        tell(event);
        taken
    }

    /// The body of a request that is for us.
    fn read(&self, stream: &mut TcpStream) -> std::result::Result<String, Refusal> {
        let limit = self.session.limits.envelope_bytes;
        let mut reader = Deadline { stream, until: Instant::now() + PATIENCE };
        let mut bytes = Vec::new();
        let mut block = [0; 8192];
        let head = loop {
            if let Some(head) = self.head(&bytes)? {
                break head;
            }
            if bytes.len() > MAX_HEAD {
                return Err(Refusal::new(431, "the head of the request is too long"));
            }
            let count = reader.read(&mut block).map_err(|e| lost(&e))?;
            if count == 0 {
                return Err(Refusal::new(400, "the request ended before it was whole"));
            }
            bytes.extend_from_slice(&block[..count]);
        };
        if head.length > limit {
            return Err(Refusal::new(413, format!("an envelope has {limit} bytes at the most")));
        }
        if head.expects {
            reader.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|e| lost(&e))?;
        }
        let mut body = bytes.split_off(head.size);
        let wanted = usize::try_from(head.length).unwrap_or(usize::MAX);
        while body.len() < wanted {
            let count = reader.read(&mut block).map_err(|e| lost(&e))?;
            if count == 0 {
                return Err(Refusal::new(400, "the request ended before it was whole"));
            }
            body.extend_from_slice(&block[..count]);
        }
        body.truncate(wanted);
        String::from_utf8(body).map_err(|_| Refusal::new(400, "the envelope is not UTF-8"))
    }

    /// The head of a request, once it is whole. A request that is not for us is refused.
    fn head(&self, bytes: &[u8]) -> std::result::Result<Option<Head>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let size = match request.parse(bytes) {
            Ok(httparse::Status::Complete(size)) => size,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Refusal::new(400, "this is no HTTP request")),
        };
        if request.path.map(|path| path.split('?').next().unwrap_or_default()) != Some(PATH) {
            return Err(Refusal::new(404, format!("there is only `{PATH}` here")));
        }
        if request.method != Some("POST") {
            return Err(Refusal::new(405, "only POST is taken"));
        }
        let all = |name: &str| {
            request
                .headers
                .iter()
                .filter(|header| header.name.eq_ignore_ascii_case(name))
                .map(|header| header.value)
                .collect::<Vec<_>>()
        };
        self.authorize(&all("authorization"))?;
        if !all("transfer-encoding").is_empty() {
            return Err(Refusal::new(411, "a request says how long it is: `content-length`"));
        }
        let length = match all("content-length").as_slice() {
            [one] => std::str::from_utf8(one)
                .ok()
                .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|text| text.parse().ok()),
            _ => None,
        };
        let length = length.ok_or_else(|| Refusal::new(411, "a request says how long it is: `content-length`"))?;
        let expects = all("expect").iter().any(|value| value.eq_ignore_ascii_case(b"100-continue"));
        Ok(Some(Head { size, length, expects }))
    }

    fn authorize(&self, given: &[&[u8]]) -> std::result::Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        // Compared by their MACs, so that the time tells nothing of how far it fits.
        let mac = |bytes: &[u8]| {
            let mut mac = sp_tree::Mac::new(self.secret.as_ref().map_or(&[], |secret| secret.as_slice()));
            mac.update(bytes);
            mac
        };
        let wanted = mac(&[b"Bearer ", token.as_slice()].concat()).hex();
        match given {
            [one] if mac(one).is(&wanted) => Ok(()),
            _ => Err(Refusal::new(401, "the token is missing or wrong")),
        }
    }

    /// Verifies the signature of an envelope. Returns its form, or none for an unsigned envelope that is accepted.
    fn verify(&self, envelope: &Envelope) -> std::result::Result<Option<Form>, Refusal> {
        match (&envelope.signature, &self.secret) {
            (None, _) if self.request.signature == EnvelopeSignature::Optional => Ok(None),
            (None, _) => Err(Refusal::new(401, "the envelope is not signed, and only signed ones are accepted here")),
            (Some(_), None) => {
                Err(Refusal::new(401, "the envelope is signed, and there is no secret here to verify it with"))
            }
            (Some(_), Some(secret)) => match envelope.verify(secret) {
                None => Err(Refusal::new(401, "the envelope's signature does not hold")),
                form => Ok(form),
            },
        }
    }

    /// Verifies an envelope and takes what is in it.
    fn take(&self, body: &str) -> std::result::Result<Incoming, Refusal> {
        // The process may have been listening for days: what is written bears the time of now.
        let context = Context { now: self.now(), ..self.session.context.clone() };
        let (config, limits) = (self.session.config.clone(), self.session.limits.clone());
        let session = &Session { context: &context, config, limits };
        let envelope = Envelope::parse(body, &session.limits).map_err(|e| Refusal::new(400, e.to_string()))?;
        if self.verify(&envelope)? == Some(Form::V2) {
            session.context.tell(Event::Detail(
                "the envelope is signed in the older form, which leaves some fields of the sender open".into(),
            ));
        }
        let now = context.now;
        let age = now.as_second() - envelope.sent_at.as_second();
        let window = i64::try_from(session.limits.envelope_seconds).unwrap_or(i64::MAX);
        if age.abs() > window {
            return Err(Refusal::new(
                403,
                format!("the envelope was sent {age} seconds ago, and {window} are allowed: is a clock wrong?"),
            ));
        }
        if let Some(recipient) = &self.request.recipient
            && envelope.recipient.as_ref() != Some(recipient)
        {
            return Err(Refusal::new(403, "the envelope is for somebody else"));
        }
        let shown = format!("the package from {}", envelope.sender.agent_id);
        let read = read(&shown, envelope.payload.clone().into_bytes(), &session.limits);
        let package = accept(session, read, &shown).map_err(|error| untaken(&error))?;
        // The lock is held from the look at what was received to the record of it.
        let home = Home::open(session.context, &session.limits).map_err(|error| untaken(&error))?;
        let mut stock = Stock::open(session).map_err(|error| untaken(&error))?;
        stock.received.envelopes.retain(|(_, _, until)| *until >= now.as_second());
        let (sender, hash) = (envelope.sender.agent_id.clone(), envelope.hash());
        if stock.received.envelopes.iter().any(|(other, known, _)| *other == sender && *known == hash) {
            return Err(Refusal::new(409, "this package of this sender was received already"));
        }
        let until = envelope.sent_at.as_second().saturating_add(window);
        stock.received.envelopes.push((sender.clone(), hash, until));
        let event = self.keep(session, &mut stock, package, sender).map_err(|error| untaken(&error))?;
        stock.save(&home).map_err(|error| untaken(&error))?;
        Ok(event)
    }

    /// Puts a package on the shelf, or lets it wait there.
    fn keep(&self, session: &Session<'_>, stock: &mut Stock<'_>, package: Package, sender: String) -> Result<Incoming> {
        let named = format!("{}@{}", package.manifest.name, package.manifest.version);
        match self.request.approval {
            Approval::Import => {
                let from = format!("sent by {sender}");
                take(session, stock, &[(package, from)], self.request.accepted)?;
                Ok(Incoming::Imported { package: named, sender })
            }
            Approval::Queue => {
                judge(session, &stock.trust, &package, self.request.accepted)?;
                let id = waiting_id(&stock.wait(&package, &sender)?);
                Ok(Incoming::Waiting { package: named, sender, id })
            }
        }
    }

    /// The time now, unless it is stopped.
    fn now(&self) -> Timestamp {
        let context = self.session.context;
        if context.env.contains_key("SOURCE_DATE_EPOCH") {
            return context.now;
        }
        Timestamp::from_nanosecond((context.wall_clock)().into()).unwrap_or(context.now)
    }
}

struct Head {
    /// How many bytes it has.
    size: usize,
    /// How many bytes the body has.
    length: u64,
    /// Whether the sender waits to be asked for the body.
    expects: bool,
}

/// A stream that is read until an instant, and no longer.
struct Deadline<'a> {
    stream: &'a mut TcpStream,
    until: Instant,
}

impl Read for Deadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn lost(error: &std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Refusal::new(408, "the request took too long"),
        _ => Refusal::new(400, format!("the connection broke: {error}")),
    }
}

fn untaken(error: &Error) -> Refusal {
    let mut why = error.to_string();
    for finding in error.reports.iter().flat_map(|report| &report.findings) {
        why += &format!("; {}", finding.message);
    }
    for cause in error.causes() {
        why += &format!(": {cause}");
    }
    let status = match error.kind {
        Kind::Trust => 403,
        Kind::Environment => 500,
        _ => 422,
    };
    // What is wrong on this machine is nobody else's business.
    if status == 500 { Refusal::new(500, "this machine cannot take it now") } else { Refusal::new(status, why) }
}

fn said(status: &str, event: &Incoming) -> String {
    let package = match event {
        Incoming::Imported { package, .. } | Incoming::Waiting { package, .. } => package.as_str(),
        _ => "",
    };
    format!("{{\"status\":{},\"package\":{}}}", quoted(status), quoted(package))
}

fn answer(stream: &mut TcpStream, status: u16, body: &str) {
    let reason = match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    };
    let text = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // The other side may be gone; that is its own affair.
    let _ = stream.set_write_timeout(Some(Duration::from_secs(5)));
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // What was sent and not read would reset the connection before the answer arrives.
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let mut rest = [0; 8192];
    for _ in 0..64 {
        match stream.read(&mut rest) {
            Ok(count) if count > 0 => {}
            _ => break,
        }
    }
}
