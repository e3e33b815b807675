//! MCP clients: one over HTTP, and one over the stdin and stdout of a child process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::hang::eventually;
use crate::registry::{HttpResponse, send};

/// The revision in which requests are stateless.
const STATELESS: &str = "2026-07-28";
/// How long a test waits for a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns a request without a handshake: its `_meta` contains what the handshake would negotiate.
pub(crate) fn stateless_request(id: u64, method: &str, params: Value) -> Value {
    let mut params = object(params);
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "sp-testkit", "version": "1"});
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Headers of every request with a body.
pub(crate) const USUAL: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

/// Headers of a 2026-07-28 request. They repeat the method and name, so that proxies need not
/// parse the body.
pub(crate) fn request_headers(message: &Value) -> Vec<(&str, &str)> {
    let method = message["method"].as_str().unwrap_or_default();
    let named = match method {
        "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            message["params"]["uri"].as_str()
        }
        _ => None,
    };
    let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", method)];
    headers.extend(named.map(|name| ("mcp-name", name)));
    headers
}

fn object(params: Value) -> Map<String, Value> {
    match params {
        Value::Object(params) => params,
        Value::Null => Map::new(),
        other => panic!("parameters are an object: {other}"),
    }
}

/// Returns the parameters of a handshake.
fn introduction(revision: &str) -> Value {
    json!({
        "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "sp-testkit", "version": "1"}
    })
}

/// Returns the result of a response. Panics if it is an error.
fn result_of(response: &Value, request: &str) -> Value {
    response.get("result").cloned().unwrap_or_else(|| panic!("{request}: {response}"))
}

/// Returns the structured content of a tool result. Panics if it is an error.
fn given(result: &Value, tool: &str) -> Value {
    assert_ne!(result["isError"], true, "{tool}: {result}");
    result["structuredContent"].clone()
}

/// An MCP client over HTTP that opens a connection per request.
#[derive(Debug, Clone)]
pub struct McpClient {
    address: String,
    token: Option<String>,
}

impl McpClient {
    /// Creates a client of the server at an address such as `127.0.0.1:7878`.
    pub fn new(address: &str, token: Option<&str>) -> Self {
        Self { address: address.into(), token: token.map(Into::into) }
    }

    /// Sends a body as it is, with additional headers.
    pub fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        self.request("POST /mcp", headers, body)
    }

    /// Sends a request with a method other than `POST`.
    pub fn request(&self, request: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let authorization = bearer.as_deref().map(|bearer| ("authorization", bearer));
        let headers: Vec<(&str, &str)> =
            USUAL.into_iter().chain(authorization).chain(headers.iter().copied()).collect();
        let gone = || HttpResponse {
            status: 0,
            head: String::new(),
            raw_head: String::new(),
            body: Vec::new(),
        };
        send(&self.address, request, &headers, body).unwrap_or_else(gone)
    }

    /// Sends a 2026-07-28 request.
    pub fn send(&self, method: &str, params: Value) -> HttpResponse {
        let message = stateless_request(1, method, params);
        self.post(&request_headers(&message), message.to_string().as_bytes())
    }

    /// Sends a 2026-07-28 request. Returns the response without the messages before it.
    pub fn response(&self, method: &str, params: Value) -> Value {
        let response = self.send(method, params);
        response_messages(&response).pop().unwrap_or_else(|| panic!("{method}: {response:?}"))
    }

    /// Returns the result of a request that must succeed.
    pub fn result(&self, method: &str, params: Value) -> Value {
        result_of(&self.response(method, params), method)
    }

    /// Returns the error code of a request that must fail.
    pub fn error(&self, method: &str, params: Value) -> i64 {
        let response = self.response(method, params);
        response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {response}"))
    }

    /// Calls a tool. The result can be an error message.
    pub fn try_call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must succeed. Returns its structured content.
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        given(&self.try_call(tool, arguments), tool)
    }

    /// Performs the handshake of an older revision.
    pub fn initialize(&self, revision: &str) -> HttpResponse {
        self.legacy(revision, "initialize", introduction(revision))
    }

    /// Sends a request of an older revision.
    pub fn legacy(&self, revision: &str, method: &str, params: Value) -> HttpResponse {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": object(params)});
        self.post(&[("mcp-protocol-version", revision)], message.to_string().as_bytes())
    }
}

/// Returns the messages of a response: one as JSON, or several as events.
pub fn response_messages(response: &HttpResponse) -> Vec<Value> {
    match response.header("content-type") {
        Some(kind) if kind.starts_with("text/event-stream") => {
            let text = response.text();
            let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
            data.filter_map(|data| serde_json::from_str(data).ok()).collect()
        }
        _ => serde_json::from_slice(&response.body).into_iter().collect(),
    }
}

/// Returns the content of a resource, whether it is text or Base64.
#[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
pub fn resource_bytes(contents: &Value) -> Vec<u8> {
    match contents["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => from_base64(contents["blob"].as_str().expect("a text or a blob")),
    }
}

/// Decodes Base64, independently of the code under test.
#[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
pub fn from_base64(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').chars();
    let digits: Vec<u32> =
        digits.map(|c| LETTERS.find(c).expect("a letter of base64") as u32).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let number =
            group.iter().fold(0, |number, digit| number << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&number.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// A child process that speaks MCP over stdin and stdout. It is killed when this is dropped.
pub struct McpChild {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    is_introduced: bool,
    last_id: u64,
    /// Messages that arrived while waiting for another one.
    aside: Vec<Value>,
}

impl McpChild {
    /// Starts a command. Its stderr goes where the command says.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, is_introduced: false, last_id: 0, aside: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line as it is.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn write_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an input that was not closed");
        // If the child has ended, the caller notices when it waits for the response.
        let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
    }

    /// Returns the next line, or `None` if the child ended. Panics after a timeout.
    pub fn read_line(&mut self) -> Option<String> {
        match self.read_line_within(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line within {PATIENCE:?}"),
        }
    }

    /// Returns the next line, or an error if the child ended or after a timeout.
    pub fn read_line_within(&mut self, time: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(time)
    }

    /// Returns the next message, or `None` if the child ended. Panics if it is not valid.
    pub fn read(&mut self) -> Option<Value> {
        let line = self.read_line()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}")))
    }

    /// Performs the handshake of an older revision, and returns the server's reply. Later requests
    /// use that revision.
    pub fn initialize(&mut self, revision: &str) -> Value {
        self.is_introduced = true;
        let initialized = self.result("initialize", introduction(revision));
        self.notify("notifications/initialized", json!({}));
        initialized
    }

    /// Sends a request without waiting. Returns its ID.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let message = if self.is_introduced {
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": object(params)})
        } else {
            stateless_request(self.last_id, method, params)
        };
        self.write_line(&message.to_string());
        self.last_id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": object(params)});
        self.write_line(&message.to_string());
    }

    /// Waits for the response to a request. Messages that arrive before it are kept.
    pub fn wait_for(&mut self, id: u64) -> Value {
        if let Some(at) = self.aside.iter().position(|message| message["id"] == id) {
            return self.aside.remove(at);
        }
        loop {
            let message =
                self.read().unwrap_or_else(|| panic!("the server ended before it answered {id}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// Sends a request, and waits for the response.
    pub fn response(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.wait_for(id)
    }

    /// Returns the result of a request that must succeed.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        result_of(&self.response(method, params), method)
    }

    /// Returns the error code of a request that must fail.
    pub fn error(&mut self, method: &str, params: Value) -> i64 {
        let response = self.response(method, params);
        response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {response}"))
    }

    /// Calls a tool. The result can be an error message.
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must succeed. Returns its structured content.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        given(&self.try_call(tool, arguments), tool)
    }

    /// Returns messages that arrived while waiting for others, such as notifications.
    pub fn take_notifications(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.aside)
    }

    /// Closes stdin, and waits until the child ends. Its remaining output can still be read.
    pub fn close_stdin(&mut self) -> ExitStatus {
        drop(self.input.take());
        self.wait_for_exit()
    }

    /// Waits until the child ends by itself.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        wait_for_exit(&mut self.child)
    }
}

/// Waits until a child ends by itself. Panics if it does not.
#[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
pub fn wait_for_exit(child: &mut Child) -> ExitStatus {
    eventually(|| child.try_wait().expect("a child"))
}

impl Drop for McpChild {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
