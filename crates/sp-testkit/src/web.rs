//! A web server on loopback with the responses that a test defines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often [`WebResponse::Trickle`] sends a byte.
const TRICKLE_INTERVAL: Duration = Duration::from_millis(20);

/// The response of a [`WebServer`] to a path.
#[derive(Debug, Clone)]
pub enum WebResponse {
    Bytes(Vec<u8>),
    /// A redirect.
    Redirect(String),
    /// Only a status.
    Status(u16),
    /// A `Content-Length` without a body.
    Length(u64),
    /// An endless body.
    Endless,
    /// The first half of a body, then nothing for a long time.
    Stall(Vec<u8>),
    /// An endless body, slowly, one byte at a time.
    Trickle,
    /// A gzip stream, with `Content-Encoding: gzip`.
    Gzip(Vec<u8>),
    /// A chunked response: the first bytes, then the block repeatedly.
    Stream {
        content_type: &'static str,
        start: Vec<u8>,
        block: Vec<u8>,
        /// How often the block is repeated. Finite, so that a client without a limit ends too.
        times: usize,
    },
}

/// A web server. Undefined paths are not found.
pub struct WebServer {
    port: u16,
    shared: Arc<WebServerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct WebServerState {
    stop: AtomicBool,
    pages: Mutex<BTreeMap<String, WebResponse>>,
    /// The response for every other path.
    fallback: Mutex<Option<WebResponse>>,
    /// The path and `Authorization` header of each request.
    requests: Mutex<Vec<(String, String)>>,
}

impl WebServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(WebServerState::default());
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.stop.load(Ordering::SeqCst) {
                    return;
                }
                let serving = Arc::clone(&serving);
                // A client that disconnects early is not an error.
                std::thread::spawn(move || serving.serve(stream).ok());
            }
        });
        Self { port, shared, thread: Some(thread) }
    }

    /// Defines the response for `path`, which starts with a slash. Returns the URL.
    pub fn respond(&self, path: &str, response: WebResponse) -> String {
        self.shared
            .pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.into(), response);
        self.url(path)
    }

    /// Defines the response for every other path.
    pub fn respond_to_others(&self, response: WebResponse) {
        *self.shared.fallback.lock().unwrap_or_else(PoisonError::into_inner) = Some(response);
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the URL of a path with credentials.
    pub fn url_with(&self, credentials: &str, path: &str) -> String {
        format!("http://{credentials}@127.0.0.1:{}{path}", self.port)
    }

    /// Returns every requested path.
    pub fn requested_paths(&self) -> Vec<String> {
        self.log().into_iter().map(|(path, _)| path).collect()
    }

    /// Returns the `Authorization` header of each request; empty if there was none.
    pub fn authorizations(&self) -> Vec<String> {
        self.log().into_iter().map(|(_, authorization)| authorization).collect()
    }

    fn log(&self) -> Vec<(String, String)> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl WebServerState {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let (path, authorization) = read_head(&stream)?;
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((path.clone(), authorization));
        let page = self.pages.lock().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
        let page =
            page.or_else(|| self.fallback.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let mut head = |status: &str, fields: &str| {
            stream.write_all(
                format!("HTTP/1.1 {status}\r\n{fields}Connection: close\r\n\r\n").as_bytes(),
            )
        };
        match page {
            None => head("404 Not Found", "Content-Length: 0\r\n"),
            Some(WebResponse::Bytes(bytes)) => {
                head("200 OK", &format!("Content-Length: {}\r\n", bytes.len()))?;
                stream.write_all(&bytes)
            }
            Some(WebResponse::Redirect(to)) => {
                head("302 Found", &format!("Location: {to}\r\nContent-Length: 0\r\n"))
            }
            Some(WebResponse::Status(status)) => {
                head(&format!("{status} No"), "Content-Length: 0\r\n")
            }
            Some(WebResponse::Length(length)) => {
                head("200 OK", &format!("Content-Length: {length}\r\n"))
            }
            Some(WebResponse::Endless) => {
                head("200 OK", "")?;
                while !self.stop.load(Ordering::SeqCst) {
                    stream.write_all(&[b'x'; 8192])?;
                }
                Ok(())
            }
            Some(WebResponse::Stall(bytes)) => {
                head("200 OK", &format!("Content-Length: {}\r\n", bytes.len() * 2))?;
                stream.write_all(&bytes)?;
                wait_for_hangup(&stream);
                Ok(())
            }
            Some(WebResponse::Trickle) => {
                head("200 OK", "")?;
                stream.set_read_timeout(Some(TRICKLE_INTERVAL))?;
                while !self.stop.load(Ordering::SeqCst) {
                    stream.write_all(b"x")?;
                    // Waits, and returns at once when the client hangs up.
                    if matches!(stream.read(&mut [0]), Ok(0)) {
                        break;
                    }
                }
                Ok(())
            }
            Some(WebResponse::Gzip(bytes)) => {
                head(
                    "200 OK",
                    &format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", bytes.len()),
                )?;
                stream.write_all(&bytes)
            }
            Some(WebResponse::Stream { content_type, start, block, times }) => {
                head(
                    "200 OK",
                    &format!("Content-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n"),
                )?;
                let mut chunk = |bytes: &[u8]| {
                    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes())?;
                    stream.write_all(bytes)?;
                    stream.write_all(b"\r\n")
                };
                chunk(&start)?;
                (0..times)
                    .take_while(|_| !self.stop.load(Ordering::SeqCst))
                    .try_for_each(|_| chunk(&block))?;
                chunk(b"")
            }
        }
    }
}

/// Waits until the client closes its side of the connection.
pub fn wait_for_hangup(mut stream: &TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Reads a request. Returns its path and `Authorization` header.
fn read_head(stream: &TcpStream) -> std::io::Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut authorization) = (String::new(), String::new());
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("authorization")
        {
            authorization = value.trim().into();
        }
        line.clear();
    }
    Ok((first.split_ascii_whitespace().nth(1).unwrap_or_default().into(), authorization))
}
