//! A registry that a test starts, calls over HTTP, kills and restarts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::hang::{HANG_TIMEOUT, wait_or_kill};
use crate::measure::peak_in;

/// A registry in its own process. It is killed when this is dropped.
pub struct Registry {
    child: Mutex<Child>,
    /// The address it listens on: `127.0.0.1:…`.
    pub address: String,
    /// The admin token, on the first start.
    pub admin: Option<String>,
}

/// An HTTP response.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    pub status: u16,
    /// The head, in lower case.
    pub head: String,
    /// The head as it was received.
    pub raw_head: String,
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns the body as JSON.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::trim)
    }

    /// Returns the values of a header as they were received. The name is in lower case.
    pub fn raw_headers<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        let headers = self.raw_head.lines().filter_map(|line| line.split_once(": "));
        let named = headers.filter(move |(found, _)| found.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim())
    }
}

impl Registry {
    /// Starts a registry with a command that prints JSON once it listens.
    pub fn start(mut command: Command) -> Self {
        command.stderr(Stdio::null());
        Self::start_with_stderr(command)
    }

    /// Starts a registry whose log goes where the command says.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn start_with_stderr(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a registry");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        let mut reader = BufReader::new(out);
        // JSON over several lines ends with a single brace.
        while !line.trim_end().ends_with("\n}") && reader.read_line(&mut line).expect("a line") > 0
        {
        }
        let start_report: serde_json::Value =
            serde_json::from_str(&line).expect("what it says when it listens");
        let address = start_report["address"]
            .as_str()
            .expect("an address")
            .trim_start_matches("http://")
            .trim_start_matches("https://")
            .to_owned();
        let admin = start_report["admin_token"].as_str().map(str::to_owned);
        Self { child: Mutex::new(child), address, admin }
    }

    pub fn id(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Kills it, like a power cut.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Sends SIGTERM and waits for the end. Returns the exit code; `None` if it does not end.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn terminate(&self) -> Option<i32> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = Pid::from_raw(child.id().cast_signed()) {
            let _ = kill_process(id, Signal::TERM);
        }
        wait_or_kill(&mut child, HANG_TIMEOUT).expect("a child").code()
    }

    /// Returns the peak memory of the process in bytes.
    pub fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        peak_in(&status.unwrap_or_default())
    }

    /// Returns the value of a metric without labels.
    pub fn metric(&self, name: &str) -> Option<u64> {
        let metrics = self.request("GET /metrics", None, b"").text();
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.parse().ok()
    }

    /// Sends a request.
    pub fn request(&self, request: &str, token: Option<&str>, body: &[u8]) -> HttpResponse {
        self.try_request(request, token, body).unwrap_or(HttpResponse {
            status: 0,
            head: String::new(),
            raw_head: String::new(),
            body: Vec::new(),
        })
    }

    /// Sends a request. Returns `None` if the registry closed the connection.
    pub fn try_request(
        &self,
        request: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Option<HttpResponse> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers = [("content-type", "application/json")];
        let authorization = bearer.as_deref().map(|bearer| ("authorization", bearer));
        let headers: Vec<(&str, &str)> = headers.into_iter().chain(authorization).collect();
        self.try_send(request, &headers, body)
    }

    /// Sends a request with headers.
    pub fn send(&self, request: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        self.try_send(request, headers, body).unwrap_or(HttpResponse {
            status: 0,
            head: String::new(),
            raw_head: String::new(),
            body: Vec::new(),
        })
    }

    /// Sends a request with headers. Returns `None` if the registry closed the connection.
    pub fn try_send(
        &self,
        request: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<HttpResponse> {
        send(&self.address, request, headers, body)
    }
}

/// Sends a request to an address. Returns `None` if nothing listens or the connection was closed.
pub(crate) fn send(
    address: &str,
    request: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<HttpResponse> {
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
    // The server may refuse before it has read everything.
    let _ = stream.write_all(body);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    parse_response(&response)
}

fn parse_response(response: &[u8]) -> Option<HttpResponse> {
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let raw_head = String::from_utf8_lossy(&response[..end]).into_owned();
    let head = raw_head.to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let response = HttpResponse { status, head, raw_head, body: response[end + 4..].to_vec() };
    Some(match response.header("transfer-encoding") {
        Some("chunked") => HttpResponse { body: decode_chunks(&response.body), ..response },
        _ => response,
    })
}

/// Decodes a chunked body, as far as it was received.
fn decode_chunks(mut rest: &[u8]) -> Vec<u8> {
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
