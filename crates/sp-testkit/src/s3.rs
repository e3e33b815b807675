//! An S3-compatible storage on loopback, in this process. Its objects are files, which a test can
//! inspect, damage and date.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

const ACCESS_KEY: &str = "sp-test";
/// It must not appear anywhere but in the environment of the registry.
const SECRET_KEY: &str = "staple-battery-horse";

/// Whether a storage answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Availability {
    Up,
    /// It closes all connections.
    Down,
    /// It accepts connections and requests, but never answers.
    Silent,
}

/// A storage. It ends when it is dropped.
pub struct S3Server {
    root: TempDir,
    address: SocketAddr,
    availability: watch::Sender<Availability>,
    buckets: AtomicU64,
    /// Runs the server, and ends it when it is dropped.
    _runtime: Runtime,
}

impl S3Server {
    /// Returns the storage shared by all tests of a binary. Each test has its own bucket.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<S3Server> = LazyLock::new(S3Server::start);
        &SHARED
    }

    /// Starts a new storage.
    pub fn start() -> Self {
        let root = tempfile::Builder::new().prefix("sp-s3-").tempdir().expect("a directory");
        let files = FileSystem::new(root.path()).expect("a file system");
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let (availability, watched) = watch::channel(Availability::Up);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(accept(listener, service, watched));
        Self { root, address, availability, buckets: AtomicU64::new(0), _runtime: runtime }
    }

    /// Creates a bucket and returns its name.
    pub fn create_bucket(&self) -> String {
        let name = format!("bucket-{}", self.buckets.fetch_add(1, Ordering::Relaxed));
        std::fs::create_dir(self.root.path().join(&name)).expect("a new bucket");
        name
    }

    /// Returns the file of a key, or the directory of a prefix.
    pub fn path(&self, bucket: &str, key: &str) -> PathBuf {
        self.root.path().join(bucket).join(key)
    }

    /// Returns the environment variables for a client.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".into()),
            ("AWS_REGION", "us-east-1".into()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.into()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.into()),
        ]
    }

    /// Returns the secret, which must not be shown anywhere.
    pub fn secret(&self) -> &'static str {
        SECRET_KEY
    }

    /// Closes all connections, and each new one.
    pub fn stop(&self) {
        self.availability.send_replace(Availability::Down);
    }

    /// Accepts connections, but does not answer any longer.
    pub fn hang(&self) {
        self.availability.send_replace(Availability::Silent);
    }

    /// Answers again.
    pub fn resume(&self) {
        self.availability.send_replace(Availability::Up);
    }
}

async fn accept(listener: TcpListener, service: S3Service, watched: watch::Receiver<Availability>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (service, mut watched) = (service.clone(), watched.clone());
        tokio::spawn(async move {
            let seen = *watched.borrow_and_update();
            match seen {
                Availability::Down => {}
                Availability::Silent => drop(watched.changed().await),
                Availability::Up => {
                    let connection =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    tokio::select! {
                        _ = connection => {}
                        _ = watched.changed() => {}
                    }
                }
            }
        });
    }
}
