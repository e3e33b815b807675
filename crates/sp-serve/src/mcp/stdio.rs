//! The stdio transport: one JSON-RPC message per line.
//!
//! An invalid line gets a JSON-RPC error and does not end the connection. The service drops its
//! running requests when [`LineTransport::receive`](Transport::receive) returns `None`, so the end
//! of the input is held back until every request has its response: see [`PendingRequests`].

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::mcp::pending::PendingRequests;

/// Maximum size of a message.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// The transport of one client. Clones share the connection, so that a failed handshake can be
/// retried.
pub(crate) struct LineTransport<R, W> {
    input: Arc<Mutex<LineReader<R>>>,
    output: Arc<Mutex<W>>,
    pending: PendingRequests,
}

impl<R, W> Clone for LineTransport<R, W> {
    fn clone(&self) -> Self {
        Self {
            input: Arc::clone(&self.input),
            output: Arc::clone(&self.output),
            pending: self.pending.clone(),
        }
    }
}

/// Reads lines of bounded length. Cancel safe.
struct LineReader<R> {
    input: BufReader<R>,
    /// The part of the next line that was read so far.
    line: Vec<u8>,
    /// Whether the line exceeds [`MAX_MESSAGE_BYTES`], so that the rest of it is skipped.
    too_long: bool,
    ended: bool,
}

enum IncomingLine {
    Message(Box<ClientJsonRpcMessage>),
    Invalid(ErrorData, Option<RequestId>),
    Ignored,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads the next line. Returns `None` at the end of the input. The last line needs no line
    /// feed.
    async fn next(&mut self) -> Option<IncomingLine> {
        while !self.ended {
            // Treat a read error as the end of the input.
            let buffer = self.input.fill_buf().await.unwrap_or_default();
            self.ended = buffer.is_empty();
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(buffer.len());
            self.too_long |= self.line.len() + length > MAX_MESSAGE_BYTES;
            if self.too_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(&buffer[..length]);
            }
            self.input.consume(length + usize::from(end.is_some()));
            if end.is_some() || self.ended {
                let line = std::mem::take(&mut self.line);
                return Some(if std::mem::take(&mut self.too_long) {
                    IncomingLine::Invalid(message_too_long(), None)
                } else {
                    parse_line(&line)
                });
            }
        }
        None
    }
}

impl<R, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self
    where
        R: AsyncRead,
    {
        let input = BufReader::with_capacity(64 * 1024, input);
        Self {
            input: Arc::new(Mutex::new(LineReader {
                input,
                line: Vec::new(),
                too_long: false,
                ended: false,
            })),
            output: Arc::new(Mutex::new(output)),
            pending: PendingRequests::new(),
        }
    }

    pub(crate) fn pending(&self) -> &PendingRequests {
        &self.pending
    }

    /// Registers a message and the request that it answers at once; the future writes it.
    fn write(
        &self,
        message: ServerJsonRpcMessage,
        answered: Option<&RequestId>,
    ) -> impl Future<Output = io::Result<()>> + Send + use<R, W> {
        let write = self.pending.begin_write(answered);
        let (output, pending) = (Arc::clone(&self.output), self.pending.clone());
        async move {
            let result = write_line(&output, &message).await;
            if result.is_err() {
                pending.fail_output();
            }
            drop(write);
            result
        }
    }

    /// Registers a message that was read. Returns an error and the ID to report it for if the
    /// message cannot be passed on.
    fn track_message(&self, message: &ClientJsonRpcMessage) -> Option<(ErrorData, RequestId)> {
        match message {
            JsonRpcMessage::Request(request) if !self.pending.begin(&request.id) => {
                let error =
                    ErrorData::invalid_request("a request with this ID is still in progress", None);
                return Some((error, request.id.clone()));
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.cancel(id);
                }
            }
            _ => {}
        }
        None
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    output: &Mutex<W>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&bytes).await?;
    output.flush().await
}

fn message_too_long() -> ErrorData {
    ErrorData::invalid_request(
        format!("the message is longer than {MAX_MESSAGE_BYTES} bytes"),
        None,
    )
}

/// Parses a line. An invalid message is reported for its ID, if it has one.
fn parse_line(line: &[u8]) -> IncomingLine {
    if line.iter().all(u8::is_ascii_whitespace) {
        return IncomingLine::Ignored;
    }
    let why = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => return IncomingLine::Message(Box::new(message)),
        Err(why) => why,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let message = format!("invalid JSON: {why}");
        return IncomingLine::Invalid(ErrorData::new(ErrorCode::PARSE_ERROR, message, None), None);
    };
    if value.is_array() {
        return IncomingLine::Invalid(
            ErrorData::invalid_request("batches of messages are not supported", None),
            None,
        );
    }
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    // JSON-RPC forbids responses to notifications, even to invalid ones.
    if value.get("method").is_some() && value.get("id").is_none() {
        return IncomingLine::Ignored;
    }
    IncomingLine::Invalid(ErrorData::invalid_request("invalid JSON-RPC 2.0 message", None), id)
}

/// Returns the JSON-RPC error for a request body, or `None` if the body is a valid message.
pub fn invalid_message_response(body: &[u8]) -> Option<Vec<u8>> {
    let (error, id) = match parse_line(body) {
        IncomingLine::Message(_) => return None,
        IncomingLine::Invalid(error, id) => (error, id),
        // Every HTTP request gets a response.
        IncomingLine::Ignored => {
            (ErrorData::invalid_request("invalid JSON-RPC 2.0 message", None), None)
        }
    };
    serde_json::to_vec(&ServerJsonRpcMessage::error(error, id)).ok()
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        self.write(message, answered.as_ref())
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut input = self.input.lock().await;
        loop {
            let (error, id) = match input.next().await {
                None => {
                    self.pending.end_input();
                    self.pending.completed().await;
                    return None;
                }
                Some(IncomingLine::Ignored) => continue,
                Some(IncomingLine::Invalid(error, id)) => (error, id),
                Some(IncomingLine::Message(message)) => match self.track_message(&message) {
                    None => return Some(*message),
                    Some((error, id)) => (error, Some(id)),
                },
            };
            // This future may be dropped at any time, and a line must not be written halfway. The
            // ID may belong to another request, which still gets its own response.
            tokio::spawn(self.write(ServerJsonRpcMessage::error(error, id), None));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}
