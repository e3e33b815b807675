//! Real git servers on loopback: `git daemon`, and `git http-backend` behind a small HTTP server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::answer_barrier::AnswerBarrier;
use crate::git::git_command;
use crate::hang::eventually;

/// A `git daemon` that serves every repository below a directory.
pub struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    /// Starts it and waits until it responds.
    pub fn start(base: &Path) -> Self {
        for _ in 0..20 {
            let port = free_port();
            let mut child = git_command(base)
                .args(["daemon", "--reuseaddr", "--export-all", "--listen=127.0.0.1"])
                .arg(format!("--port={port}"))
                .arg(format!("--base-path={}", base.display()))
                .arg(base)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("git daemon");
            if answers(port, &mut child) {
                return Self { child, port };
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("git daemon does not start");
    }

    /// Returns the URL of the repository called `name`.
    pub fn url(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // `git daemon` may be a child of the `git` that we started. SIGTERM ends both.
        if let Some(id) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn answers(port: u16, child: &mut Child) -> bool {
    eventually(|| {
        let is_running = matches!(child.try_wait(), Ok(None));
        let is_open = TcpStream::connect(("127.0.0.1", port)).is_ok();
        (is_open || !is_running).then_some(is_running)
    })
}

/// An HTTP server that passes every request to `git http-backend`.
pub struct HttpServer {
    port: u16,
    stop: Arc<AtomicBool>,
    requests: Arc<AtomicUsize>,
    site: Arc<Site>,
    thread: Option<JoinHandle<()>>,
}

struct Site {
    base: PathBuf,
    /// The required `user:password` in Base64, if any.
    authorization: Option<String>,
    barrier: Mutex<Option<Arc<AnswerBarrier>>>,
    log: Mutex<()>,
}

impl HttpServer {
    /// Serves every repository below `base` without authentication.
    pub fn start(base: &Path) -> Self {
        Self::start_with(base, None)
    }

    /// Serves every repository below `base` to clients that send this Base64 of `user:password`.
    pub fn start_with(base: &Path, authorization: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(AtomicUsize::new(0));
        let site = Arc::new(Site {
            base: base.into(),
            authorization: authorization.map(Into::into),
            barrier: Mutex::default(),
            log: Mutex::new(()),
        });
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&requests));
        let serving = Arc::clone(&site);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let site = Arc::clone(&serving);
                std::thread::spawn(move || {
                    let _ = site.respond(&stream, port);
                });
            }
        });
        Self { port, stop, requests, site, thread: Some(thread) }
    }

    /// From now on, clients that ask for the refs of a repository wait at this barrier.
    pub fn wait_at(&self, barrier: &Arc<AnswerBarrier>) {
        *self.site.barrier.lock().expect("no panic") = Some(Arc::clone(barrier));
    }

    /// Returns the URL of the repository called `name`.
    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// Returns the URL with credentials.
    pub fn url_with(&self, credentials: &str, name: &str) -> String {
        format!("http://{credentials}@127.0.0.1:{}/{name}", self.port)
    }

    /// Returns the number of connections so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The parts of a request that a CGI program needs.
#[derive(Default)]
struct Request {
    method: String,
    path: String,
    query: String,
    content_type: String,
    content_encoding: String,
    protocol: String,
    authorization: String,
    body: Vec<u8>,
}

impl Site {
    fn respond(&self, stream: &TcpStream, port: u16) -> std::io::Result<()> {
        let request = read_request(stream)?;
        let mut stream = stream;
        let barrier = self.barrier.lock().expect("no panic").clone();
        if let Some(barrier) = barrier.filter(|_| request.path.ends_with("/info/refs")) {
            barrier.wait(port);
        }
        if let Some(wanted) = &self.authorization
            && request.authorization != format!("Basic {wanted}")
        {
            let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            return stream.write_all(refusal.as_bytes());
        }
        let output = self.run_backend(&request)?;
        let _one_at_a_time = self.log.lock();
        stream.write_all(&to_http(&output))
    }

    fn run_backend(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let mut child = git_command(&self.base)
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.base)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_TYPE", &request.content_type)
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", &request.content_encoding)
            .env("GIT_PROTOCOL", &request.protocol)
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().expect("a pipe");
        let body = request.body.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output()?;
        let _ = writer.join();
        Ok(output.stdout)
    }
}

fn read_request(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_ascii_whitespace();
    let mut request =
        Request { method: words.next().unwrap_or_default().into(), ..Request::default() };
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (request.path, request.query) = (path.into(), query.into());
    let (mut length, mut chunked) = (0usize, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "content-type" => request.content_type = value,
            "content-encoding" => request.content_encoding = value,
            "git-protocol" => request.protocol = value,
            "authorization" => request.authorization = value,
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "expect" => {
                let mut stream = stream;
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            _ => {}
        }
    }
    request.body = if chunked { read_chunks(&mut reader)? } else { vec![0; length] };
    if !chunked {
        reader.read_exact(&mut request.body)?;
    }
    Ok(request)
}

fn read_chunks(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..])?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Converts the output of a CGI program to an HTTP response.
fn to_http(output: &[u8]) -> Vec<u8> {
    let end = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(output.len().saturating_sub(4));
    let head = String::from_utf8_lossy(&output[..end]);
    let body = &output[(end + 4).min(output.len())..];
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let headers: String = head
        .lines()
        .filter(|line| !line.starts_with("Status:"))
        .map(|line| format!("{line}\r\n"))
        .collect();
    let mut response = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    response.extend(body);
    response
}
