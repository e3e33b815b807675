//! Objects in a bucket of an S3-compatible storage.
//!
//! Uses only what every such storage offers: PUT of whole objects, GET with a range, HEAD, LIST,
//! and DELETE of single objects. The calls block; requests run on a runtime of their own.

use std::future::Future;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, PutPayload,
};
use sp_tree::{Digest, FileError, from_hex};
use tokio::runtime::Runtime;

use super::ObjectAccess;
use super::backend::{ListedObject, ObjectBackend, ObjectReader, ObjectVersion};
use super::bucket::{BucketSettings, BucketUrl};
use super::files::OBJECTS_DIR;
use super::storage_health::{REQUEST_TIMEOUT, StorageCounts, StorageHealth, unavailable_error};

const DAMAGED_PREFIX: &str = "damaged";
const MARKER_NAME: &str = "registry-id";
/// The slowest transfer that is accepted.
const MIN_BYTES_PER_SECOND: u64 = 256 * 1024;
/// How many objects of a list are fetched at once.
const LIST_BATCH: usize = 1_000;

/// Clones share everything.
#[derive(Clone)]
pub(crate) struct S3Objects(Arc<S3Shared>);

struct S3Shared {
    storage: AmazonS3,
    url: BucketUrl,
    runtime: BackgroundRuntime,
    health: StorageHealth,
    access: ObjectAccess,
}

/// A runtime that may be dropped anywhere, even by a task of another runtime.
struct BackgroundRuntime(Option<Runtime>);

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

type StorageResult<T> = Result<T, object_store::Error>;

impl S3Objects {
    pub(super) fn open(settings: &BucketSettings, access: ObjectAccess) -> Result<Self, FileError> {
        let failed = |source| FileError::new("use", settings.url.to_string(), source);
        let storage = settings.connect().map_err(|e| failed(std::io::Error::other(e)))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sp-objects")
            .enable_all()
            .build()
            .map_err(failed)?;
        let runtime = BackgroundRuntime(Some(runtime));
        let (url, health) = (settings.url.clone(), StorageHealth::default());
        Ok(Self(Arc::new(S3Shared { storage, url, runtime, health, access })))
    }

    fn object_key(&self, digest: &Digest) -> Path {
        let hex = digest.hex();
        self.0.url.key(&format!("{OBJECTS_DIR}/{}/{}", &hex[..2], &hex[2..]))
    }

    fn error(&self, action: &'static str, key: &Path, source: std::io::Error) -> FileError {
        FileError::new(action, self.0.url.url_of(key), source)
    }

    /// Runs requests to the storage and waits for the result.
    fn run<T: Send + 'static>(
        &self,
        (action, key): (&'static str, &Path),
        timeout: Duration,
        work: impl Future<Output = StorageResult<T>> + Send + 'static,
    ) -> Result<T, FileError> {
        let failed = |source| self.error(action, key, source);
        let _operation = self.0.health.start(Instant::now()).map_err(failed)?;
        let stopped = || failed(std::io::Error::other("the registry is stopping"));
        let runtime = self.0.runtime.0.as_ref().ok_or_else(stopped)?;
        let (sender, receiver) = sync_channel(1);
        runtime.spawn(async move {
            let _ = sender.send(tokio::time::timeout(timeout, work).await);
        });
        let outcome = match receiver.recv().map_err(|_| stopped())? {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error @ object_store::Error::NotFound { .. })) => {
                Err(std::io::Error::new(ErrorKind::NotFound, error))
            }
            Ok(Err(error)) => Err(unavailable_error(error)),
            Err(_) => Err(unavailable_error("the object storage did not respond in time")),
        };
        match &outcome {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                self.0.health.failed(Instant::now());
            }
            _ => self.0.health.succeeded(),
        }
        outcome.map_err(failed)
    }

    fn put_key(&self, key: &Path, bytes: Bytes) -> Result<(), FileError> {
        let (storage, target, length) = (self.0.storage.clone(), key.clone(), bytes.len() as u64);
        let stored = self.run(("write", key), transfer_timeout(length), async move {
            storage.put(&target, PutPayload::from(bytes)).await?;
            storage.head(&target).await
        })?;
        if stored.size == length {
            return Ok(());
        }
        let source = unavailable_error(format!("{} of {length} bytes are stored", stored.size));
        Err(self.error("write", key, source))
    }

    fn get_key(&self, key: &Path) -> Result<Option<Bytes>, FileError> {
        let Some(meta) = self.head(key)? else { return Ok(None) };
        let (storage, target) = (self.0.storage.clone(), key.clone());
        let read = self.run(("read", key), transfer_timeout(meta.size), async move {
            storage.get(&target).await?.bytes().await
        });
        none_if_missing(read)
    }

    fn head(&self, key: &Path) -> Result<Option<ObjectMeta>, FileError> {
        let (storage, target) = (self.0.storage.clone(), key.clone());
        let read =
            self.run(("read", key), REQUEST_TIMEOUT, async move { storage.head(&target).await });
        none_if_missing(read)
    }

    fn delete_key(&self, key: &Path) -> Result<(), FileError> {
        let (storage, target) = (self.0.storage.clone(), key.clone());
        let deleted = self
            .run(("delete", key), REQUEST_TIMEOUT, async move { storage.delete(&target).await });
        none_if_missing(deleted).map(drop)
    }

    fn digest_of_key(&self, key: &Path) -> Option<Digest> {
        let directory = format!("{}/", self.0.url.key(OBJECTS_DIR));
        let (group, rest) = key.as_ref().strip_prefix(&directory)?.split_once('/')?;
        from_hex(&format!("{group}{rest}")).map(Digest::from_bytes)
    }
}

fn none_if_missing<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn transfer_timeout(length: u64) -> Duration {
    REQUEST_TIMEOUT + Duration::from_secs(length / MIN_BYTES_PER_SECOND)
}

fn written_at(meta: &ObjectMeta) -> i64 {
    meta.last_modified.timestamp_nanos_opt().unwrap_or_default()
}

fn version(meta: &ObjectMeta) -> ObjectVersion {
    let tag = Digest::of(meta.e_tag.as_deref().unwrap_or_default().as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *tag.as_bytes();
    let tag = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    ObjectVersion { size: meta.size, tag: (tag, written_at(meta)) }
}

impl ObjectBackend for S3Objects {
    fn put(&self, digest: &Digest, bytes: &Bytes) -> Result<(), FileError> {
        self.put_key(&self.object_key(digest), bytes.clone())
    }

    fn open(&self, digest: &Digest) -> Result<Option<Box<dyn ObjectReader>>, FileError> {
        let key = self.object_key(digest);
        let Some(meta) = self.head(&key)? else { return Ok(None) };
        let (objects, version) = (self.clone(), version(&meta));
        let object = S3Object { objects, key, version, download: Mutex::default() };
        Ok(Some(Box::new(object)))
    }

    fn list(&self, visit: &mut dyn FnMut(ListedObject)) -> Result<(), FileError> {
        let root = self.0.url.key(OBJECTS_DIR);
        let mut entries = self.0.storage.list(Some(&root));
        loop {
            let fetched = self.run(("list", &root), REQUEST_TIMEOUT, async move {
                let mut batch = Vec::new();
                while batch.len() < LIST_BATCH {
                    match entries.next().await {
                        Some(entry) => batch.push(entry?),
                        None => return Ok((batch, None)),
                    }
                }
                Ok((batch, Some(entries)))
            });
            let (batch, rest) = fetched?;
            for meta in batch {
                if let Some(digest) = self.digest_of_key(&meta.location) {
                    let written_at = written_at(&meta);
                    visit(ListedObject { digest, size: meta.size, written_at });
                }
            }
            match rest {
                Some(rest) => entries = rest,
                None => return Ok(()),
            }
        }
    }

    fn remove(&self, digest: &Digest, not_after: i64) -> Result<(), FileError> {
        let key = self.object_key(digest);
        match self.head(&key)? {
            Some(meta) if written_at(&meta) <= not_after => self.delete_key(&key),
            _ => Ok(()),
        }
    }

    fn quarantine(&self, digest: &Digest) -> Result<(), FileError> {
        if self.0.access == ObjectAccess::Read {
            return Ok(());
        }
        let key = self.object_key(digest);
        let Some(before) = self.head(&key)? else { return Ok(()) };
        let Some(bytes) = self.get_key(&key)? else { return Ok(()) };
        self.put_key(&self.0.url.key(&format!("{DAMAGED_PREFIX}/{}", digest.hex())), bytes)?;
        // Another registry may have stored it again.
        match self.head(&key)? {
            Some(now) if version(&now) == version(&before) => self.delete_key(&key),
            _ => Ok(()),
        }
    }

    fn location(&self, digest: &Digest) -> PathBuf {
        self.0.url.url_of(&self.object_key(digest)).into()
    }

    fn read_marker(&self) -> Result<Option<String>, FileError> {
        let key = self.0.url.key(MARKER_NAME);
        let text = self.get_key(&key)?;
        Ok(text.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    fn write_marker(&self, id: &str) -> Result<(), FileError> {
        let key = self.0.url.key(MARKER_NAME);
        self.put_key(&key, format!("{id}\n").into())
    }

    fn probe(&self, name: &str) -> Result<(), FileError> {
        let key = self.0.url.key(&format!("probe-{name}"));
        let content = Bytes::from(name.to_owned());
        self.put_key(&key, content.clone())?;
        let read = self.get_key(&key)?;
        self.delete_key(&key)?;
        if read.is_some_and(|bytes| bytes == content) {
            return Ok(());
        }
        let other = unavailable_error("it does not contain what was written");
        Err(self.error("read", &key, other))
    }

    fn ping(&self) -> Result<(), FileError> {
        self.head(&self.0.url.key(MARKER_NAME)).map(drop)
    }

    fn counts(&self) -> StorageCounts {
        self.0.health.counts()
    }

    fn describe(&self) -> String {
        self.0.url.to_string()
    }
}

/// An object, and the download that serves consecutive reads.
struct S3Object {
    objects: S3Objects,
    key: Path,
    version: ObjectVersion,
    download: Mutex<Option<S3Download>>,
}

struct S3Download {
    /// Where `received` starts.
    offset: u64,
    received: Bytes,
    rest: BoxStream<'static, StorageResult<Bytes>>,
}

impl S3Object {
    fn start_download(&self, offset: u64) -> Result<S3Download, FileError> {
        let (storage, key) = (self.objects.0.storage.clone(), self.key.clone());
        let range = (offset > 0).then_some(GetRange::Offset(offset));
        let options = GetOptions { range, ..GetOptions::default() };
        let response = self.objects.run(("read", &self.key), REQUEST_TIMEOUT, async move {
            storage.get_opts(&key, options).await
        })?;
        Ok(S3Download { offset, received: Bytes::new(), rest: response.into_stream() })
    }

    /// Waits for the next bytes, unless there are some.
    fn receive(&self, download: S3Download) -> Result<S3Download, FileError> {
        if !download.received.is_empty() {
            return Ok(download);
        }
        let S3Download { offset, mut rest, .. } = download;
        let (received, rest) =
            self.objects.run(("read", &self.key), REQUEST_TIMEOUT, async move {
                loop {
                    match rest.next().await.transpose()? {
                        Some(bytes) if bytes.is_empty() => {}
                        bytes => return Ok((bytes, rest)),
                    }
                }
            })?;
        let ended = || self.objects.error("read", &self.key, ErrorKind::UnexpectedEof.into());
        Ok(S3Download { offset, received: received.ok_or_else(ended)?, rest })
    }
}

impl ObjectReader for S3Object {
    fn version(&self) -> &ObjectVersion {
        &self.version
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FileError> {
        if offset >= self.version.size || buffer.is_empty() {
            return Ok(0);
        }
        let current = self.download.lock().unwrap_or_else(PoisonError::into_inner).take();
        let current = current.filter(|download| download.offset == offset);
        let download = match current.map(|download| self.receive(download)) {
            Some(Ok(download)) => download,
            // The storage may have closed a connection on which the client did not read.
            Some(Err(_)) | None => self.receive(self.start_download(offset)?)?,
        };
        let S3Download { mut received, rest, .. } = download;
        let piece = received.split_to(received.len().min(buffer.len()));
        buffer[..piece.len()].copy_from_slice(&piece);
        let next = S3Download { offset: offset + piece.len() as u64, received, rest };
        *self.download.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
        Ok(piece.len())
    }
}
