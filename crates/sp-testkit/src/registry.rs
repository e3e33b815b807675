//! A registry that a test starts, speaks to over HTTP, kills and starts again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A registry that runs as a process of its own. It ends when this is dropped.
pub struct Registry {
    child: Mutex<Child>,
    /// Where it listens: `127.0.0.1:…`.
    pub address: String,
    /// The admin's token, if it was the first start.
    pub admin: Option<String>,
}

/// What a registry answers.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The head, in lower case.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// The body as JSON.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::trim)
    }
}

impl Registry {
    /// Starts a registry with a command that prints JSON once it listens.
    pub fn start(mut command: Command) -> Self {
        command.stderr(Stdio::null());
        Self::start_telling(command)
    }

    /// The same, with its log where the command says.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn start_telling(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a registry");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        let mut reader = BufReader::new(out);
        // JSON over several lines ends with a brace alone.
        while !line.trim_end().ends_with("\n}") && reader.read_line(&mut line).expect("a line") > 0
        {
        }
        let told: serde_json::Value =
            serde_json::from_str(&line).expect("what it says when it listens");
        let address =
            told["address"].as_str().expect("an address").trim_start_matches("http://").to_owned();
        let admin = told["admin_token"].as_str().map(str::to_owned);
        Self { child: Mutex::new(child), address, admin }
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Ends it at once, as a power cut does.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Asks for something.
    pub fn ask(&self, request: &str, token: Option<&str>, body: &[u8]) -> HttpAnswer {
        self.try_ask(request, token, body).unwrap_or(HttpAnswer {
            status: 0,
            head: String::new(),
            body: Vec::new(),
        })
    }

    /// Asks for something; none if the registry went away.
    pub fn try_ask(&self, request: &str, token: Option<&str>, body: &[u8]) -> Option<HttpAnswer> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers = [("content-type", "application/json")];
        let authorization = bearer.as_deref().map(|bearer| ("authorization", bearer));
        let headers: Vec<(&str, &str)> = headers.into_iter().chain(authorization).collect();
        self.try_send(request, &headers, body)
    }

    /// Asks for something with headers of one's own.
    pub fn send(&self, request: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpAnswer {
        self.try_send(request, headers, body).unwrap_or(HttpAnswer {
            status: 0,
            head: String::new(),
            body: Vec::new(),
        })
    }

    /// The same; none if the registry went away.
    pub fn try_send(
        &self,
        request: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<HttpAnswer> {
        send(&self.address, request, headers, body)
    }
}

/// Asks whoever listens at an address; none if nobody does, or they went away.
pub(crate) fn send(
    address: &str,
    request: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<HttpAnswer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let is_named = headers.iter().any(|(name, _)| *name == "host");
    let host = (!is_named).then_some(("host", address));
    let headers: String =
        host.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    // It may refuse before it has read all.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    parse(&answer)
}

fn parse(answer: &[u8]) -> Option<HttpAnswer> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let answer = HttpAnswer { status, head, body: answer[end + 4..].to_vec() };
    Some(match answer.header("transfer-encoding") {
        Some("chunked") => HttpAnswer { body: unchunked(&answer.body), ..answer },
        _ => answer,
    })
}

/// What came in pieces, as far as it came.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|bytes| bytes == b"\r\n") {
        let length = std::str::from_utf8(&rest[..end])
            .ok()
            .and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let Some(length @ 1..) = length else { break };
        let piece = &rest[end + 2..];
        body.extend_from_slice(&piece[..length.min(piece.len())]);
        rest = piece.get(length + 2..).unwrap_or_default();
    }
    body
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.kill();
    }
}
