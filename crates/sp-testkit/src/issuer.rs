//! An OpenID Connect issuer on loopback, which signs with real keys. It logs in the user that the
//! test defines, without asking.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::registry::send;
use crate::signing_keys::{JwtKey, SigningKeys, to_base64url};

/// The client of the issuer.
pub const ISSUER_CLIENT_ID: &str = "skillpack-registry";
/// Its secret, which must not be shown anywhere.
pub const ISSUER_CLIENT_SECRET: &str = "correct:horse/battery staple";

/// An issuer. It ends when it is dropped.
pub struct Issuer {
    pub keys: Arc<SigningKeys>,
    port: u16,
    shared: Arc<IssuerState>,
    thread: Option<JoinHandle<()>>,
}

/// What an issuer does.
#[derive(Debug, Clone)]
pub struct IssuerBehavior {
    /// Whether it responds at all.
    pub is_up: bool,
    /// Members that replace those of its configuration.
    pub configuration: Value,
    pub key_set: Value,
    /// The claims of the user who logs in.
    pub user: Value,
    /// The type of the key that signs the tokens of users.
    pub key: JwtKey,
    /// Whether the tokens of users contain the ID of their key.
    pub has_key_ids: bool,
    /// Whether the header `Authorization` is the only way to authenticate a client.
    pub needs_basic: bool,
}

struct IssuerState {
    url: String,
    keys: Arc<SigningKeys>,
    stop: AtomicBool,
    behavior: Mutex<IssuerBehavior>,
    /// The parameters of each authorization, by its code.
    codes: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
    requests: Mutex<Vec<String>>,
}

impl Issuer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let keys = Arc::new(SigningKeys::new());
        let behavior = IssuerBehavior {
            is_up: true,
            configuration: json!({}),
            key_set: keys.public_set(),
            user: json!({"sub": "u1", "email": "ann@acme.example", "email_verified": true}),
            key: JwtKey::Rsa,
            has_key_ids: true,
            needs_basic: true,
        };
        let shared = Arc::new(IssuerState {
            url: format!("http://127.0.0.1:{port}"),
            keys: Arc::clone(&keys),
            stop: AtomicBool::new(false),
            behavior: Mutex::new(behavior),
            codes: Mutex::default(),
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
                std::thread::spawn(move || serving.respond(&stream).ok());
            }
        });
        Self { keys, port, shared, thread: Some(thread) }
    }

    /// Returns the URL of the issuer.
    pub fn url(&self) -> String {
        self.shared.url.clone()
    }

    /// Changes what the issuer does from now on.
    pub fn change(&self, change: impl FnOnce(&mut IssuerBehavior)) {
        change(&mut lock(&self.shared.behavior));
    }

    /// Opens a URL of the issuer like a browser. Returns where it redirects to.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn visit(&self, url: &str) -> String {
        let path = url.strip_prefix(&self.shared.url).expect("a URL of the issuer");
        let address = self.shared.url.trim_start_matches("http://");
        let response =
            send(address, &format!("GET {path}"), &[], b"").expect("a response of the issuer");
        response.raw_headers("location").next().unwrap_or_default().to_owned()
    }

    /// Returns the requested paths.
    pub fn requests(&self) -> Vec<String> {
        lock(&self.shared.requests).clone()
    }

    /// Returns the claims that every valid token of a CI job has, and those given.
    pub fn claims(&self, audience: &str, more: &Value) -> Value {
        let now = unix_seconds();
        let mut claims = json!({
            "iss": self.url(), "aud": audience, "sub": "job-1", "iat": now, "nbf": now,
            "exp": now + 300, "jti": format!("id-{}", unique_number()),
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        claims
    }

    /// Returns a valid token of a CI job.
    pub fn token(&self, audience: &str, more: &Value) -> String {
        self.keys.token(JwtKey::Rsa, &self.claims(audience, more))
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The time in seconds since the Unix epoch.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Returns another number each time.
fn unique_number() -> u128 {
    static LAST: Mutex<u128> = Mutex::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let mut last = lock(&LAST);
    *last = now.max(*last + 1);
    *last
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request to an issuer.
struct IssuerRequest {
    method: String,
    path: String,
    query: String,
    authorization: String,
    body: String,
}

impl IssuerState {
    fn respond(&self, stream: &TcpStream) -> std::io::Result<()> {
        let request = read_request(stream)?;
        lock(&self.requests).push(request.path.clone());
        let behavior = lock(&self.behavior).clone();
        if !behavior.is_up {
            return Ok(());
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/.well-known/openid-configuration") => {
                send_json(stream, 200, &self.configuration(&behavior))
            }
            ("GET", "/keys") => send_json(stream, 200, &behavior.key_set),
            ("GET", "/authorize") => self.authorize(stream, &request),
            ("POST", "/token") => match self.issue(&behavior, &request) {
                Some(token) => send_json(
                    stream,
                    200,
                    &json!({"id_token": token, "token_type": "Bearer", "access_token": "x"}),
                ),
                None => send_json(stream, 400, &json!({"error": "invalid_grant"})),
            },
            _ => send_json(stream, 404, &json!({})),
        }
    }

    fn configuration(&self, behavior: &IssuerBehavior) -> Value {
        let url = &self.url;
        let method =
            if behavior.needs_basic { "client_secret_basic" } else { "client_secret_post" };
        let mut configuration = json!({
            "issuer": url,
            "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "token_endpoint_auth_methods_supported": [method],
        });
        for (name, value) in behavior.configuration.as_object().into_iter().flatten() {
            configuration[name] = value.clone();
        }
        configuration
    }

    /// Logs the user in, and redirects the browser to the client.
    fn authorize(&self, mut stream: &TcpStream, request: &IssuerRequest) -> std::io::Result<()> {
        let parameters = parse_form(&request.query);
        let get = |name: &str| parameters.get(name).cloned().unwrap_or_default();
        let is_valid = get("client_id") == ISSUER_CLIENT_ID
            && get("response_type") == "code"
            && get("code_challenge_method") == "S256"
            && get("scope").split(' ').any(|scope| scope == "openid");
        if !is_valid {
            return send_json(stream, 400, &json!({"error": "invalid_request"}));
        }
        let code = format!("code-{}", unique_number());
        let location = format!("{}?code={code}&state={}", get("redirect_uri"), get("state"));
        lock(&self.codes).insert(code, parameters);
        let head = format!(
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())
    }

    /// Returns the token for a code, which works once.
    fn issue(&self, behavior: &IssuerBehavior, request: &IssuerRequest) -> Option<String> {
        let form = parse_form(&request.body);
        let get = |name: &str| form.get(name).cloned().unwrap_or_default();
        let begun = lock(&self.codes).remove(&get("code"))?;
        let challenge = to_base64url(
            ring::digest::digest(&ring::digest::SHA256, get("code_verifier").as_bytes()).as_ref(),
        );
        let is_authentic = if behavior.needs_basic {
            let pair = format!("{ISSUER_CLIENT_ID}:{}", percent_encode(ISSUER_CLIENT_SECRET));
            request.authorization == format!("Basic {}", STANDARD.encode(pair))
        } else {
            get("client_secret") == ISSUER_CLIENT_SECRET && request.authorization.is_empty()
        };
        let is_valid = is_authentic
            && get("grant_type") == "authorization_code"
            && Some(&challenge) == begun.get("code_challenge")
            && begun.get("redirect_uri") == Some(&get("redirect_uri"));
        if !is_valid {
            return None;
        }
        let now = unix_seconds();
        let mut claims = json!({
            "iss": self.url, "aud": ISSUER_CLIENT_ID, "iat": now, "exp": now + 300,
            "nonce": begun.get("nonce"),
        });
        for (name, value) in behavior.user.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        if behavior.has_key_ids {
            return Some(self.keys.token(behavior.key, &claims));
        }
        let header = json!({"typ": "JWT", "alg": behavior.key.algorithm()});
        Some(self.keys.token_with_header(behavior.key, &header, &claims))
    }
}

fn read_request(stream: &TcpStream) -> std::io::Result<IssuerRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (mut length, mut authorization) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => authorization = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (path, query) = (path.to_owned(), query.to_owned());
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(IssuerRequest { method, path, query, authorization, body })
}

fn send_json(mut stream: &TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn parse_form(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), percent_decode(value))).collect()
}

fn percent_encode(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let escaped = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            (byte, _) => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
