//! An HTTPS server on loopback with a self-signed certificate.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Returns the whole response, head and body, for a path.
type Answer = Box<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// An HTTPS server. It ends when it is dropped.
pub struct TlsServer {
    address: SocketAddr,
    certificate: String,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Returns a certificate for `localhost` and its private key, as PEM.
pub fn self_signed_certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

impl TlsServer {
    /// Starts a server that responds with what `response` returns for the path.
    pub fn start(response: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let made =
            rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a server's certificate");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let ended = Arc::new(AtomicBool::new(false));
        let (config, response, stop) =
            (Arc::new(config), Box::new(response) as Answer, Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // A client that does not trust the certificate disconnects.
                let _ = serve(stream, &config, &response);
            }
        });
        Self { address, certificate: made.cert.pem(), ended, thread: Some(thread) }
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    /// Returns the certificate to trust, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Another connection wakes the thread, which then ends.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: TcpStream, config: &Arc<ServerConfig>, response: &Answer) -> std::io::Result<()> {
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
    let connection = ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && head.len() < 16_384 {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or("/");
    stream.write_all(&response(path))?;
    stream.conn.send_close_notify();
    stream.flush()
}
