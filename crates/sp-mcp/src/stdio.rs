//! Lines of JSON in and out. A line that is no message is answered as JSON-RPC asks, and nothing ends because of it.

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// A message has so many bytes at the most.
pub const MOST_BYTES: usize = 4 * 1024 * 1024;

/// One client, by lines.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    /// What is here of the next line. It stays where a read was given up.
    line: Vec<u8>,
    /// Whether the line is too long, so that the rest of it is passed over.
    too_long: bool,
    output: Arc<Mutex<W>>,
}

/// What came in.
enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    Refused(ErrorData, Option<RequestId>),
    Nothing,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            too_long: false,
            output: Arc::new(Mutex::new(output)),
        }
    }

    /// The next line, or that there was one that is too long; none at the end.
    async fn next(&mut self) -> Option<Incoming> {
        loop {
            let here = self.input.fill_buf().await.ok()?;
            if here.is_empty() {
                // The last line may have no end.
                let line = std::mem::take(&mut self.line);
                return (!line.is_empty()).then(|| read(&line));
            }
            let end = here.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(here.len());
            self.too_long |= self.line.len() + taken > MOST_BYTES;
            match self.too_long {
                true => self.line.clear(),
                false => self.line.extend_from_slice(&here[..taken]),
            }
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Some(match std::mem::take(&mut self.too_long) {
                    true => Incoming::Refused(too_long(), None),
                    false => read(&line),
                });
            }
        }
    }
}

fn too_long() -> ErrorData {
    ErrorData::invalid_request(format!("a message has {MOST_BYTES} bytes at the most"), None)
}

/// Reads a line. What is JSON but no message is refused with the id that it has.
fn read(line: &[u8]) -> Incoming {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Incoming::Nothing;
    }
    let why = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => return Incoming::Message(Box::new(message)),
        Err(why) => why,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let message = format!("this is no JSON: {why}");
        return Incoming::Refused(ErrorData::new(ErrorCode::PARSE_ERROR, message, None), None);
    };
    if value.is_array() {
        return Incoming::Refused(ErrorData::invalid_request("messages come one by one, not in a list", None), None);
    }
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    // A notification gets no answer, whatever is wrong with it.
    match value.get("method").is_some() && value.get("id").is_none() {
        true => Incoming::Nothing,
        false => Incoming::Refused(ErrorData::invalid_request("this is no message of JSON-RPC 2.0", None), id),
    }
}

/// What a body that is no message is answered, as JSON-RPC asks; none if it is one.
pub fn no_message(body: &[u8]) -> Option<Vec<u8>> {
    let (error, id) = match read(body) {
        Incoming::Message(_) => return None,
        Incoming::Refused(error, id) => (error, id),
        // Over HTTP everything is answered.
        Incoming::Nothing => (ErrorData::invalid_request("this is no message of JSON-RPC 2.0", None), None),
    };
    serde_json::to_vec(&ServerJsonRpcMessage::error(error, id)).ok()
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&bytes).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write(&output, &message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.next().await? {
                Incoming::Message(message) => return Some(*message),
                Incoming::Nothing => {}
                Incoming::Refused(error, id) => {
                    // Whoever waits here may be called away, and half a line must not be written.
                    let output = Arc::clone(&self.output);
                    tokio::spawn(async move { write(&output, &ServerJsonRpcMessage::error(error, id)).await });
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}
