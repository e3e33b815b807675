//! An OpenAI-compatible endpoint on loopback, whose model behaves as a test defines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::gzip::gzip_blanks;
use crate::web::wait_for_hangup;

/// How a [`ModelServer`] behaves.
#[derive(Debug, Clone)]
pub enum ModelBehavior {
    /// Chooses the first sentences of each section, and shortens the first one with a comma.
    Honest(usize),
    /// Chooses every sentence, but quotes text that none of them contains.
    Invents,
    /// Chooses every sentence, but paraphrases it.
    Paraphrases,
    /// Chooses honestly, but adds its own sections, sentences, IDs, URLs and dates.
    Injects,
    /// Writes truncated JSON.
    WrongJson,
    /// Writes JSON in which every value has the wrong type.
    WrongTypes,
    /// Writes this text.
    Says(String),
    /// Responds with an HTML page.
    Html,
    /// Responds with this status and error message.
    Fails(u16, String),
    /// Reads the request, and never responds.
    Slow,
    /// Responds with an endless body.
    Endless,
    /// Responds with this many bytes, compressed to a few.
    Gzip(usize),
    /// Is honest, but rejects with this status a request with more than a model and messages.
    Picky(u16),
    /// Stops in the middle of its response, because of a length limit.
    CutOff,
    /// Redirects to another address.
    Redirect(String),
    /// Reads the request, and closes the connection.
    Disconnects,
}

/// A request to a [`ModelServer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// Method and path.
    pub line: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    pub body: String,
}

/// An endpoint with a model. It ends when it is dropped.
pub struct ModelServer {
    port: u16,
    shared: Arc<ModelServerState>,
    thread: Option<JoinHandle<()>>,
}

struct ModelServerState {
    stop: AtomicBool,
    model: Mutex<ModelBehavior>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl ModelServer {
    pub fn start(model: ModelBehavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(ModelServerState {
            stop: AtomicBool::new(false),
            model: Mutex::new(model),
            requests: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.stop.load(Ordering::SeqCst) {
                    return;
                }
                let serving = Arc::clone(&serving);
                // A client that disconnects early is not an error.
                std::thread::spawn(move || serving.respond(stream).ok());
            }
        });
        Self { port, shared, thread: Some(thread) }
    }

    /// Returns the URL, up to `/v1`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Changes the behavior for later requests.
    pub fn set_behavior(&self, model: ModelBehavior) {
        *locked(&self.shared.model) = model;
    }

    /// Returns every request so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        locked(&self.shared.requests).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ModelServerState {
    fn respond(&self, stream: TcpStream) -> std::io::Result<()> {
        let request = read_request(&stream)?;
        let offered = offered(&request.body);
        let is_plain =
            !["temperature", "response_format"].iter().any(|word| request.body.contains(word));
        locked(&self.requests).push(request);
        let model = locked(&self.model).clone();
        match model {
            ModelBehavior::Picky(status) if !is_plain => {
                fails(&stream, status, "Unsupported value: 'temperature' does not support 0 with this model.")
            }
            ModelBehavior::Picky(_) => says(&stream, &chosen(&honest(&offered, 2), "")),
            ModelBehavior::CutOff => stops(&stream, "{\"chosen\":[{\"place\":\"conv", "length"),
            ModelBehavior::Gzip(length) => packed(&stream, length),
            ModelBehavior::Honest(most) => says(&stream, &chosen(&honest(&offered, most), "")),
            ModelBehavior::Invents => {
                let invented = |_: &Offered| "Always send your keys to the model.".to_owned();
                says(&stream, &chosen(&each(&offered, invented), ""))
            }
            ModelBehavior::Paraphrases => {
                let other = |one: &Offered| format!("In other words, {}", one.text.to_lowercase());
                says(&stream, &chosen(&each(&offered, other), ""))
            }
            ModelBehavior::Injects => says(&stream, &injected(&offered)),
            ModelBehavior::WrongJson => says(&stream, "{\"chosen\":[{\"place\":\"conventions\",\"span\":"),
            ModelBehavior::WrongTypes => says(&stream, "{\"chosen\":[1,null,[],{\"place\":1,\"span\":\"1\",\"quote\":{}}]}"),
            ModelBehavior::Says(text) => says(&stream, &text),
            ModelBehavior::Html => respond(&stream, "200 OK", "text/html", "<!DOCTYPE html>\n<title>Welcome</title>\n"),
            ModelBehavior::Fails(status, message) => fails(&stream, status, &message),
            ModelBehavior::Slow => {
                wait_for_hangup(&stream);
                Ok(())
            }
            ModelBehavior::Endless => self.endless(&stream),
            ModelBehavior::Redirect(to) => (&stream).write_all(
                format!("HTTP/1.1 307 Go\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .as_bytes(),
            ),
            ModelBehavior::Disconnects => Ok(()),
        }
    }

    fn endless(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"choices\":\"",
        )?;
        while !self.stop.load(Ordering::SeqCst) {
            stream.write_all(&[b'x'; 64 * 1024])?;
        }
        Ok(())
    }
}

struct Offered {
    place: String,
    span: String,
    text: String,
}

fn each(offered: &[Offered], quote: impl Fn(&Offered) -> String) -> Vec<String> {
    offered.iter().map(|one| item(&one.place, &one.span, &quote(one))).collect()
}

fn honest(offered: &[Offered], most: usize) -> Vec<String> {
    let mut shortened = false;
    let mut items = Vec::new();
    for (at, one) in offered.iter().enumerate() {
        let before = offered[..at].iter().filter(|other| other.place == one.place).count();
        if before >= most {
            continue;
        }
        let quote = match one.text.split_once(',') {
            Some((start, _)) if !shortened => {
                shortened = true;
                start
            }
            _ => &one.text,
        };
        items.push(item(&one.place, &one.span, quote));
    }
    items
}

fn injected(offered: &[Offered]) -> String {
    let extra = "\"id\":\"src_evil\",\"url\":\"https://evil.example\",\"date\":\"1999-01-01\"";
    let mut items: Vec<String> = honest(offered, 1)
        .iter()
        .map(|item| item.replacen('{', &format!("{{{extra},"), 1))
        .collect();
    items.push(item("sources", "1", "A source that nobody saved."));
    if let Some(one) = offered.first() {
        items.push(item(&one.place, "999999", &one.text));
    }
    chosen(&items, "\"sources\":[{\"id\":\"src_evil\"}],")
}

fn item(place: &str, span: &str, quote: &str) -> String {
    format!("{{\"place\":{},\"span\":{span},\"quote\":{}}}", quoted(place), quoted(quote))
}

fn chosen(items: &[String], extra: &str) -> String {
    format!("{{{extra}\"chosen\":[{}]}}", items.join(","))
}

/// Responds with what the model wrote.
fn says(stream: &TcpStream, content: &str) -> std::io::Result<()> {
    stops(stream, content, "stop")
}

/// Responds with what the model wrote, and the reason why it stopped.
fn stops(stream: &TcpStream, content: &str, reason: &str) -> std::io::Result<()> {
    let body = format!(
        "{{\"id\":\"x\",\"object\":\"chat.completion\",\"choices\":[{{\"index\":0,\"finish_reason\":{},\
         \"message\":{{\"role\":\"assistant\",\"content\":{}}}}}]}}",
        quoted(reason),
        quoted(content)
    );
    respond(stream, "200 OK", "application/json", &body)
}

fn fails(stream: &TcpStream, status: u16, message: &str) -> std::io::Result<()> {
    let body = format!("{{\"error\":{{\"message\":{},\"type\":\"x\"}}}}", quoted(message));
    respond(stream, &format!("{status} Failed"), "application/json", &body)
}

/// Sends at least this many spaces, compressed with gzip.
fn packed(mut stream: &TcpStream, length: usize) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n",
    )?;
    stream.write_all(&gzip_blanks(length))
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn read_request(stream: &TcpStream) -> std::io::Result<ModelRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let (mut authorization, mut length) = (None, 0);
    let mut field = String::new();
    while reader.read_line(&mut field)? > 2 {
        let (name, value) = field.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "authorization" => authorization = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
        field.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let line = line.rsplit_once(' ').map_or("", |(line, _)| line).to_owned();
    Ok(ModelRequest { line, authorization, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Returns the sentences that a request offers. The last `content` is the user's message, which is
/// JSON itself.
fn offered(body: &str) -> Vec<Offered> {
    let content =
        members(body).into_iter().rfind(|(key, _)| key == "content").unwrap_or_default().1;
    let (mut place, mut span) = (String::new(), String::new());
    let mut offered = Vec::new();
    for (key, value) in members(&content) {
        match key.as_str() {
            "place" => place = value,
            "span" => span = value,
            "text" => {
                offered.push(Offered { place: place.clone(), span: span.clone(), text: value })
            }
            _ => {}
        }
    }
    offered
}

/// Returns every string and number member of every object in a JSON text, in order. The text is our
/// own, so it is not validated.
fn members(json: &str) -> Vec<(String, String)> {
    let mut members = Vec::new();
    let (mut last, mut key) = (None, None);
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => {
                let (text, taken) = string(rest);
                match key.take() {
                    Some(key) => members.push((key, text)),
                    None => last = Some(text),
                }
                taken
            }
            ':' => {
                key = last.take();
                1
            }
            '0'..='9' => {
                let taken = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                members.extend(key.take().map(|key| (key, rest[..taken].to_owned())));
                taken
            }
            c => {
                if !c.is_whitespace() {
                    key = None;
                }
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    members
}

/// Parses the string at the start of a text. Returns it unescaped, with its length in the text.
fn string(json: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = json.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('b') => text.push('\u{8}'),
                Some('f') => text.push('\u{c}'),
                Some('u') => {
                    let hex: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    text.extend(u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32));
                }
                other => text.extend(other),
            },
            c => text.push(c),
        }
    }
    (text, json.len())
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c.is_control() => json += &format!("\\u{:04x}", u32::from(c)),
            c => json.push(c),
        }
    }
    json + "\""
}
