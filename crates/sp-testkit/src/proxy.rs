//! A proxy between a client and a server that can change responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A response in transit.
#[derive(Debug, Clone)]
pub struct ProxiedResponse {
    pub status: u16,
    /// The headers, without `Content-Length`.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The number of bytes of the body after which the connection is closed.
    pub close_after: Option<usize>,
}

impl ProxiedResponse {
    /// Sets a header.
    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.into(), value.into()));
    }
}

type ResponseChange = Box<dyn Fn(&str, &mut ProxiedResponse) + Send + Sync>;

/// A proxy for one server. It ends when this is dropped.
pub struct Proxy {
    /// The address it listens on: `127.0.0.1:…`.
    pub address: String,
    shared: Arc<ProxyState>,
    thread: Option<JoinHandle<()>>,
}

struct ProxyState {
    stop: AtomicBool,
    upstream: String,
    change: Mutex<ResponseChange>,
    /// The heads of the requests.
    requests: Mutex<Vec<String>>,
}

impl Proxy {
    /// Starts a proxy that changes nothing yet.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let shared = Arc::new(ProxyState {
            stop: AtomicBool::new(false),
            upstream: upstream.into(),
            change: Mutex::new(Box::new(|_, _| {})),
            requests: Mutex::default(),
        });
        let passing = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if passing.stop.load(Ordering::SeqCst) {
                    return;
                }
                let passing = Arc::clone(&passing);
                std::thread::spawn(move || passing.forward(stream).ok());
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Changes later responses. The function gets the request line and the response.
    pub fn change_responses(
        &self,
        change: impl Fn(&str, &mut ProxiedResponse) + Send + Sync + 'static,
    ) {
        *self.shared.change.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(change);
    }

    /// Returns the heads of all requests so far, in lower case.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ProxyState {
    fn forward(&self, mut client: TcpStream) -> std::io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut reader = BufReader::new(client.try_clone()?);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let mut head = first.clone();
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? <= 2 {
                break;
            }
            let lower = line.to_ascii_lowercase();
            length = lower
                .strip_prefix("content-length:")
                .and_then(|n| n.trim().parse().ok())
                .unwrap_or(length);
            // One request per connection, so that its end is the end of the response.
            if !lower.starts_with("connection:") {
                head.push_str(&line);
            }
        }
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(head.to_ascii_lowercase());
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let mut server = TcpStream::connect(&self.upstream)?;
        server.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
        server.write_all(&body)?;
        let mut response = Vec::new();
        server.read_to_end(&mut response)?;
        let mut passing = parse(&response).ok_or_else(|| std::io::Error::other("no response"))?;
        (self.change.lock().unwrap_or_else(PoisonError::into_inner))(
            first.trim_end(),
            &mut passing,
        );
        let mut head = format!("HTTP/1.1 {} .\r\n", passing.status);
        passing
            .headers
            .iter()
            .for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        head.push_str(&format!(
            "content-length: {}\r\nconnection: close\r\n\r\n",
            passing.body.len()
        ));
        client.write_all(head.as_bytes())?;
        client.write_all(
            &passing.body
                [..passing.close_after.unwrap_or(passing.body.len()).min(passing.body.len())],
        )
    }
}

fn parse(response: &[u8]) -> Option<ProxiedResponse> {
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&response[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.into(), value.into()));
    let own = ["content-length", "connection", "transfer-encoding"];
    let headers = headers
        .filter(|(name, _): &(String, String)| !own.contains(&name.to_ascii_lowercase().as_str()));
    Some(ProxiedResponse {
        status,
        headers: headers.collect(),
        body: response[end + 4..].to_vec(),
        close_after: None,
    })
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect(&self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
