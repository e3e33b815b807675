//! An MCP server over HTTP as a separate process, clients that keep their connection, and load from
//! many of them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::files::sha256;
use crate::hang::eventually;
use crate::mcp::{
    McpClient, USUAL, request_headers, resource_bytes, response_messages, stateless_request,
};
use crate::registry::HttpResponse;

const TIMEOUT: Duration = Duration::from_secs(30);

/// An MCP server over HTTP. It is killed when this is dropped.
pub struct McpHttpServer {
    child: Child,
    /// The address it listens on: `127.0.0.1:…`.
    pub address: String,
}

impl McpHttpServer {
    /// Starts a server with a command that prints its address once it listens.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("a line");
        let address = line.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        Self { child, address }
    }

    /// Returns a client that opens a connection per request, with or without a token.
    pub fn client(&self, token: Option<&str>) -> McpClient {
        McpClient::new(&self.address, token)
    }

    /// Returns its resident memory in kB.
    pub fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// Returns its number of threads.
    pub fn threads(&self) -> u64 {
        self.status("Threads:")
    }

    /// Returns its number of open files and connections.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .expect("a server that runs")
            .count()
    }

    /// Waits until at most this many files are open.
    #[track_caller]
    pub fn wait_for_descriptors(&self, most: usize) {
        eventually(|| (self.descriptors() <= most).then_some(()));
    }

    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    fn status(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .expect("a server that runs");
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)).expect("a line of its status");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for McpHttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that sends all requests over one connection.
pub struct McpConnection {
    stream: BufReader<TcpStream>,
    address: String,
    last_id: u64,
}

impl McpConnection {
    pub fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream), address: address.into(), last_id: 0 })
    }

    /// Sends a request of revision 2026-07-28. Returns the result, or what went wrong.
    pub fn result(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let request = self.request(method, params);
        let response = self.exchange(&request).map_err(|why| format!("{method}: {why}"))?;
        let wrong = || format!("{method}: {} {}", response.status, response.text());
        let message = response_messages(&response)
            .pop()
            .filter(|message| message["id"] == self.last_id)
            .ok_or_else(wrong)?;
        message.get("result").cloned().ok_or_else(wrong)
    }

    /// Writes a part of a request, reads the start of the response, and disconnects.
    pub fn disconnect(
        mut self,
        method: &str,
        params: Value,
        cut: DisconnectPoint,
    ) -> io::Result<()> {
        let request = self.request(method, params);
        match cut {
            DisconnectPoint::InRequest(share) => {
                self.stream.get_mut().write_all(&request[..request.len() * share / 100])
            }
            DisconnectPoint::AfterRequest => self.stream.get_mut().write_all(&request),
            DisconnectPoint::InResponse => {
                self.stream.get_mut().write_all(&request)?;
                self.stream.read_exact(&mut [0; 20])
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Vec<u8> {
        self.last_id += 1;
        let message = stateless_request(self.last_id, method, params);
        let body = message.to_string();
        let headers = USUAL.into_iter().chain(request_headers(&message));
        let headers: String = headers.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (address, length) = (&self.address, body.len());
        format!("POST /mcp HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<HttpResponse> {
        self.stream.get_mut().write_all(request)?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let head = head.to_lowercase();
        let status =
            head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let mut response = HttpResponse { status, raw_head: head.clone(), head, body: Vec::new() };
        match response.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => self.read_exact_body(length, &mut response.body)?,
            None => self.read_chunks(&mut response.body)?,
        }
        Ok(response)
    }

    fn read_exact_body(&mut self, length: usize, body: &mut Vec<u8>) -> io::Result<()> {
        let start = body.len();
        body.resize(start + length, 0);
        self.stream.read_exact(&mut body[start..])
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let length =
                usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::InvalidData)?;
            self.read_exact_body(length, body)?;
            self.stream.read_line(&mut line)?;
            if length == 0 {
                return Ok(());
            }
        }
    }
}

/// Where a client disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisconnectPoint {
    /// After this percentage of the request.
    InRequest(usize),
    /// After the request.
    AfterRequest,
    /// After the first bytes of the response.
    InResponse,
}

/// The results of many concurrent clients.
#[derive(Debug, Default)]
pub struct LoadResult {
    /// The response times, sorted.
    pub times: Vec<Duration>,
    /// Wrong or missing responses.
    pub wrong: Vec<String>,
}

impl LoadResult {
    /// Runs this many clients for a while, each over its own connection. They request pages,
    /// skills, files and tools in turn, and compare every response with the actual skills.
    pub fn run(address: &str, clients: usize, time: Duration) -> Self {
        let skills = match list_skills(address) {
            Ok(skills) => skills,
            Err(why) => return Self { wrong: vec![why], ..Self::default() },
        };
        let end = Instant::now() + time;
        let mut crowd = Self::default();
        std::thread::scope(|scope| {
            let client = |number| {
                let skills = &skills;
                scope.spawn(move || run_client(address, skills, number, end))
            };
            let clients: Vec<_> = (0..clients).map(client).collect();
            for client in clients {
                match client.join() {
                    Ok(Self { times, wrong }) => {
                        crowd.times.extend(times);
                        crowd.wrong.extend(wrong);
                    }
                    Err(_) => crowd.wrong.push("a client ended".into()),
                }
            }
        });
        crowd.times.sort();
        crowd
    }
}

/// Returns the URIs of all skills, with the digest of each `SKILL.md`.
fn list_skills(address: &str) -> Result<Vec<(Value, Value)>, String> {
    let mut connection = McpConnection::open(address).map_err(|why| why.to_string())?;
    let (mut skills, mut params) = (Vec::new(), json!({}));
    loop {
        let page = connection.result("skills/list", params)?;
        for skill in page["skills"].as_array().into_iter().flatten() {
            let own = skill["resources"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|file| file["uri"] == skill["uri"]);
            let digest = own.ok_or_else(|| format!("no `SKILL.md`: {skill}"))?["digest"].clone();
            skills.push((skill["uri"].clone(), digest));
        }
        match page.get("nextCursor") {
            Some(next) => params = json!({"cursor": next}),
            None => return Ok(skills),
        }
    }
}

fn run_client(address: &str, skills: &[(Value, Value)], number: usize, end: Instant) -> LoadResult {
    let mut crowd = LoadResult::default();
    let mut connection = match McpConnection::open(address) {
        Ok(connection) => connection,
        Err(why) => return LoadResult { wrong: vec![why.to_string()], ..crowd },
    };
    let mut turn = number;
    while Instant::now() < end {
        let start = Instant::now();
        match send_next(&mut connection, skills, turn) {
            Ok((took, true)) => crowd.times.push(took),
            Ok((_, false)) => crowd.wrong.push(format!("not what it should be, in turn {turn}")),
            Err(why) => {
                crowd.wrong.push(format!("{why}, after {:?}", start.elapsed()));
                // The rest of an aborted response must not be read as the next one.
                match McpConnection::open(address) {
                    Ok(new) => connection = new,
                    Err(_) => break,
                }
            }
        }
        turn += 1;
    }
    crowd
}

/// Sends a typical request. Returns how long it took, and whether the response is right.
fn send_next(
    connection: &mut McpConnection,
    skills: &[(Value, Value)],
    turn: usize,
) -> Result<(Duration, bool), String> {
    // Start far apart, so that clients do not run in lockstep.
    let (uri, digest) = &skills[turn * 7919 % skills.len()];
    let read_skill = json!({"name": "read_skill", "arguments": {"skill": uri}});
    let (method, params) = match turn % 5 {
        0 => ("skills/list", json!({})),
        1 => ("skills/get", json!({"uri": uri})),
        2 => ("resources/read", json!({"uri": uri})),
        3 => ("tools/call", read_skill),
        _ => ("tools/list", json!({})),
    };
    let start = Instant::now();
    let result = connection.result(method, params)?;
    let took = start.elapsed();
    let is_right = match method {
        "skills/list" => {
            let listed =
                result["skills"].as_array().into_iter().flatten().map(|skill| &skill["uri"]);
            result["skills"][0].is_object()
                && listed.eq(skills.iter().map(|(uri, _)| uri).take(100))
        }
        "skills/get" => result["skill"]["uri"] == *uri,
        "resources/read" => *digest == sha256(&resource_bytes(&result["contents"][0])),
        "tools/call" => result["structuredContent"]["digest"] == *digest,
        _ => result["tools"].as_array().is_some_and(|tools| tools.len() > 10),
    };
    Ok((took, is_right))
}
