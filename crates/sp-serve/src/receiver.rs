//! `sp pkg receive`: an HTTP server that accepts envelopes from `sp pkg send`.
//!
//! It implements only the part of HTTP/1.1 that this needs: one path, one method, bodies with a
//! `Content-Length`. `sp_engine::pkg::PackageReceiver` authenticates senders, verifies envelopes,
//! and imports or queues the packages.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sp_engine::pkg::{
    EnvelopeSignature, PackageReceiver, ReceiveError, ReceiveRequest, ReceivedPackage,
};
use sp_engine::{Context, Error, ErrorCode, Event};
use sp_formats::json::quoted;
use sp_formats::package::envelope::HANDOFF_PATH;

const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// Maximum time to receive a whole request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Further connections get a 503.
const MAX_CONNECTIONS: usize = 16;

/// When to stop listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenMode {
    Forever,
    /// Until one package was imported or queued.
    Once,
}

#[derive(Debug, Clone)]
pub struct ListenRequest {
    /// Host and port; port 0 selects a free one.
    pub listen: String,
    pub mode: ListenMode,
    pub package: ReceiveRequest,
}

/// What the receiver reports while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// The address that it listens on.
    Listening(String),
    Imported {
        package: String,
        /// The name that the sender claims.
        sender: String,
    },
    /// The package waits to be accepted by the user.
    Waiting {
        package: String,
        /// The name that the sender claims.
        sender: String,
        /// Identifies the package when the user accepts or rejects it.
        id: String,
    },
    /// Why a request was rejected.
    Refused(String),
}

/// Listens on `request.listen` and reports events.
pub fn receive(
    context: &Context<'_>,
    request: &ListenRequest,
    report: &(dyn Fn(ReceiverEvent) + Sync),
) -> sp_engine::Result<()> {
    let receiver = PackageReceiver::open(context, &request.package)?;
    let listen_error = |e: std::io::Error| {
        Error::new(ErrorCode::Listen, format!("cannot listen on `{}`", request.listen))
            .because(e)
            .hint("choose another address; port 0 takes any that is free")
    };
    let listener = TcpListener::bind(&request.listen).map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    warn_about_exposure(context, request, address);
    report(ReceiverEvent::Listening(address.to_string()));
    accept_connections(&listener, &receiver, request.mode, report);
    Ok(())
}

fn warn_about_exposure(context: &Context<'_>, request: &ListenRequest, address: SocketAddr) {
    if !address.ip().is_loopback() {
        context.emit(Event::Warning(format!(
            "{address} can be reached from other machines, and what comes is not encrypted: put a TLS proxy before it"
        )));
    }
    if request.package.signature == EnvelopeSignature::Optional {
        context.emit(Event::Warning(format!(
            "unsigned envelopes are accepted: anyone who can connect to {address} can send packages under any name"
        )));
    }
}

fn accept_connections(
    listener: &TcpListener,
    receiver: &PackageReceiver<'_>,
    mode: ListenMode,
    report: &(dyn Fn(ReceiverEvent) + Sync),
) {
    let open = AtomicUsize::new(0);
    let accepted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if open.load(Ordering::Acquire) >= MAX_CONNECTIONS {
                reject_busy(stream);
                continue;
            }
            open.fetch_add(1, Ordering::AcqRel);
            let handle = || {
                if handle_connection(receiver, stream, report) {
                    accepted.fetch_add(1, Ordering::AcqRel);
                }
                open.fetch_sub(1, Ordering::AcqRel);
            };
            match mode {
                ListenMode::Once => handle(),
                ListenMode::Forever => drop(scope.spawn(handle)),
            }
            if mode == ListenMode::Once && accepted.load(Ordering::Acquire) > 0 {
                break;
            }
        }
    });
}

fn reject_busy(mut stream: TcpStream) {
    let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
    let _ = stream.write_all(
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    );
}

/// Handles one request. Returns whether a package was imported or queued.
fn handle_connection(
    receiver: &PackageReceiver<'_>,
    mut stream: TcpStream,
    report: &(dyn Fn(ReceiverEvent) + Sync),
) -> bool {
    let outcome = read_body(receiver, &mut stream).and_then(|body| receiver.accept(&body));
    let (status, body, event) = match outcome {
        Ok(ReceivedPackage::Imported { package, sender }) => {
            (200, status_json("imported", &package), ReceiverEvent::Imported { package, sender })
        }
        Ok(ReceivedPackage::Queued { package, sender, id }) => {
            (202, status_json("waiting", &package), ReceiverEvent::Waiting { package, sender, id })
        }
        Err(ReceiveError { status, reason }) => {
            (status, format!("{{\"error\":{}}}", quoted(&reason)), ReceiverEvent::Refused(reason))
        }
    };
    let accepted = !matches!(event, ReceiverEvent::Refused(_));
    write_response(&mut stream, status, &body);
    report(event);
    accepted
}

/// Reads a request and returns its body.
fn read_body(
    receiver: &PackageReceiver<'_>,
    stream: &mut TcpStream,
) -> Result<String, ReceiveError> {
    let limit = receiver.max_bytes();
    let mut reader = DeadlineReader { stream, deadline: Instant::now() + REQUEST_TIMEOUT };
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(head) = parse_head(receiver, &bytes)? {
            break head;
        }
        if bytes.len() > MAX_HEAD_BYTES {
            return Err(ReceiveError::new(431, "the head of the request is too long"));
        }
        reader.read_block(&mut bytes)?;
    };
    if head.body_len > limit {
        return Err(ReceiveError::new(413, format!("an envelope has {limit} bytes at the most")));
    }
    if head.expects_continue {
        reader.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|e| read_error(&e))?;
    }
    let mut body = bytes.split_off(head.head_len);
    let body_len = usize::try_from(head.body_len).unwrap_or(usize::MAX);
    while body.len() < body_len {
        reader.read_block(&mut body)?;
    }
    body.truncate(body_len);
    String::from_utf8(body).map_err(|_| ReceiveError::new(400, "the envelope is not UTF-8"))
}

/// Parses the head of a request; `None` if it is incomplete. Rejects requests that are not
/// authorized envelopes.
fn parse_head(
    receiver: &PackageReceiver<'_>,
    bytes: &[u8],
) -> Result<Option<RequestHead>, ReceiveError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head_len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head_len)) => head_len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(ReceiveError::new(400, "this is no HTTP request")),
    };
    if request.path.map(|path| path.split('?').next().unwrap_or_default()) != Some(HANDOFF_PATH) {
        return Err(ReceiveError::new(404, format!("there is only `{HANDOFF_PATH}` here")));
    }
    if request.method != Some("POST") {
        return Err(ReceiveError::new(405, "only POST is taken"));
    }
    receiver.authorize(&header_values(request.headers, "authorization"))?;
    let body_len = content_length(request.headers)
        .ok_or_else(|| ReceiveError::new(411, "a request says how long it is: `content-length`"))?;
    let expects_continue = header_values(request.headers, "expect")
        .iter()
        .any(|value| value.eq_ignore_ascii_case(b"100-continue"));
    Ok(Some(RequestHead { head_len, body_len, expects_continue }))
}

fn header_values<'h>(headers: &[httparse::Header<'h>], name: &str) -> Vec<&'h [u8]> {
    let same_name = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    same_name.map(|header| header.value).collect()
}

/// Returns the length of the body, if there is one length and no transfer encoding.
fn content_length(headers: &[httparse::Header<'_>]) -> Option<u64> {
    if !header_values(headers, "transfer-encoding").is_empty() {
        return None;
    }
    match header_values(headers, "content-length").as_slice() {
        [value] => std::str::from_utf8(value)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse().ok()),
        _ => None,
    }
}

struct RequestHead {
    head_len: usize,
    body_len: u64,
    /// Whether the sender waits for `100 Continue` before it sends the body.
    expects_continue: bool,
}

/// Reads from a stream until a deadline.
struct DeadlineReader<'a> {
    stream: &'a mut TcpStream,
    deadline: Instant,
}

impl DeadlineReader<'_> {
    /// Appends at least one byte to `bytes`.
    fn read_block(&mut self, bytes: &mut Vec<u8>) -> Result<(), ReceiveError> {
        let mut block = [0; 8192];
        let count = self.read(&mut block).map_err(|e| read_error(&e))?;
        if count == 0 {
            return Err(ReceiveError::new(400, "the request ended before it was whole"));
        }
        bytes.extend_from_slice(&block[..count]);
        Ok(())
    }
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn read_error(error: &std::io::Error) -> ReceiveError {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            ReceiveError::new(408, "the request took too long")
        }
        _ => ReceiveError::new(400, format!("the connection broke: {error}")),
    }
}

fn status_json(status: &str, package: &str) -> String {
    format!("{{\"status\":{},\"package\":{}}}", quoted(status), quoted(package))
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
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
    }
}

fn write_response(stream: &mut TcpStream, status: u16, body: &str) {
    let reason = reason_phrase(status);
    let text = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // The client may be gone; ignore errors.
    let _ = stream.set_write_timeout(Some(Duration::from_secs(5)));
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // Unread input would reset the connection before the client has read the response.
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let mut rest = [0; 8192];
    for _ in 0..64 {
        match stream.read(&mut rest) {
            Ok(count) if count > 0 => {}
            _ => break,
        }
    }
}
