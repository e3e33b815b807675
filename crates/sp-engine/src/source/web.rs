//! What is on the web: fetched within a size and a time, by the one client that there is.
//!
//! A zip is fetched whole into a file that is gone again after use; other files are read as they come.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sp_formats::address::without_secrets;
use sp_formats::bag::{LockedArchive, WebSource};
use sp_tree::{Digest, Dir, FileError, Follow, Hasher, Name, NewFile};

use crate::config::Session;
use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};
use crate::http::{BodyError, ResponseBody, settings, while_wanted};

/// More redirects than this lead nowhere.
const MAX_REDIRECTS: u32 = 5;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(20);
/// What is left when the time is over: nothing would mean that there is no limit.
const NO_TIME: Duration = Duration::from_millis(1);
const BLOCK: usize = 64 * 1024;
const NOT_FOUND: u16 = 404;
/// How many files were fetched in this run.
static DOWNLOADS: AtomicUsize = AtomicUsize::new(0);

/// An address, and how it is shown: without what opens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub url: String,
    pub shown: String,
}

impl Address {
    /// The address of a source of skills.
    pub(super) fn of_source(source: &WebSource) -> Self {
        Self { url: source.url.clone(), shown: source.to_string() }
    }
}

/// A file that was fetched. It is removed when this is dropped.
pub(crate) struct Download {
    // As long as it is held, the file is in use, and nobody sweeps it away.
    _held: File,
    dir: Dir,
    name: Name,
    path: PathBuf,
    /// What its bytes hash to.
    pub digest: Digest,
}

impl Download {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the file in the cache, where [`locked_archive`] finds it by its digest.
    pub(super) fn keep(self, context: &Context<'_>) -> Result<()> {
        let kept = context.private_dir(&archives_in(context))?;
        let name = archive_name(&self.digest)?;
        kept.remove_tree(&name)?;
        Ok(self.dir.rename_new(&self.name, &kept, &name)?)
    }
}

/// Where archives are kept that cannot be fetched again, since their addresses are not recorded in full.
pub(crate) fn archives_in(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join("archives")
}

fn archive_name(digest: &Digest) -> Result<Name> {
    Name::new(&format!("{}.zip", digest.hex())).map_err(|e| Error::new(Kind::Data, e.to_string()))
}

/// The archive of a source whose query is not in the lock, from the cache.
pub(super) fn locked_archive(session: &Session<'_>, source: &WebSource, locked: &LockedArchive) -> Result<PathBuf> {
    let path = locked.digest.map(|digest| archives_in(session.context).join(format!("{}.zip", digest.hex())));
    let is_right = |path: &PathBuf| digest_of(path, session.limits.zip_bytes).ok() == locked.digest;
    path.filter(is_right).ok_or_else(|| {
        let entry = &locked.entry;
        Error::new(Kind::Environment, format!("the source of `{entry}` cannot be fetched again"))
            .because(format!("the lock has `{source}` without its query, and the cache does not have the archive"))
            .hint(format!("name the source again: `sp bag get {entry} --source <URL>`"))
            .hint("use `--keep-query <NAME>` to record a query parameter that is not a secret")
    })
}

fn digest_of(path: &Path, max_bytes: u64) -> std::io::Result<Digest> {
    let mut file = File::open(path)?.take(max_bytes);
    let (mut hasher, mut block) = (Hasher::default(), vec![0; BLOCK]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&block[..count]),
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // Best effort: what stays is a cache, and `sp clean --cache` removes it.
        let _ = self.dir.remove_tree(&self.name);
    }
}

/// Asks servers. All that one asks for must come within the time of one download.
pub(crate) struct Client<'a> {
    session: &'a Session<'a>,
    agent: ureq::Agent,
    until: Instant,
}

impl<'a> Client<'a> {
    /// A client for an address and what lies beside it; none offline.
    pub(crate) fn new(session: &'a Session<'a>, address: &Address) -> Result<Self> {
        if session.context.network == Network::Offline {
            return Err(Error::new(Kind::Environment, format!("`{}` would have to be fetched", address.shown))
                .hint("run it without `--offline`, or fetch it yourself and name the file"));
        }
        let config = settings()
            .max_redirects(MAX_REDIRECTS)
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(Duration::from_secs(session.limits.stall_seconds)))
            // What starts safe stays safe, wherever it is redirected to.
            .https_only(address.url.to_ascii_lowercase().starts_with("https://"))
            .build();
        let until = Instant::now() + Duration::from_secs(session.limits.download_seconds);
        Ok(Self { session, agent: config.into(), until })
    }

    /// Asks for a file of at most `max_bytes` bytes; none if the server has none there.
    pub(crate) fn find(&self, address: &Address, max_bytes: u64) -> Result<Option<ResponseBody>> {
        match self.ask(address, max_bytes)? {
            Ok(body) => Ok(Some(body)),
            Err(ureq::Error::StatusCode(NOT_FOUND)) => Ok(None),
            Err(error) => Err(self.failed(address, &error)),
        }
    }

    /// Asks for a file of at most `max_bytes` bytes that must be there.
    pub(crate) fn open(&self, address: &Address, max_bytes: u64) -> Result<ResponseBody> {
        self.ask(address, max_bytes)?.map_err(|error| self.failed(address, &error))
    }

    fn ask(&self, address: &Address, max_bytes: u64) -> Result<std::result::Result<ResponseBody, ureq::Error>> {
        self.session.context.tell(Event::Fetching { repo: &address.shown, progress: None });
        let left = self.until.saturating_duration_since(Instant::now()).max(NO_TIME);
        let request = self.agent.get(&address.url).config().timeout_global(Some(left)).build();
        let answer = while_wanted(self.session.context, move || request.call())?;
        Ok(answer.map(|response| ResponseBody::new(response, max_bytes)))
    }

    /// Fetches a file whole.
    pub(crate) fn download(&self, address: &Address) -> Result<Download> {
        let (context, limit) = (self.session.context, self.session.limits.zip_bytes);
        let mut body = self.open(address, limit)?;
        if body.content_length().is_some_and(|length| length > limit) {
            return Err(too_large(address, limit));
        }
        let (mut download, mut file) = place(context)?;
        let mut hasher = Hasher::default();
        let mut block = vec![0; BLOCK];
        let mut fetched = 0u64;
        loop {
            context.go_on()?;
            let count = match body.read(&mut block).map_err(BodyError::from) {
                Ok(0) => break,
                Ok(count) => count,
                Err(BodyError::TooLarge { max_bytes }) => return Err(too_large(address, max_bytes)),
                Err(error) => return Err(self.broken(address, error)),
            };
            fetched += count as u64;
            file.write(&block[..count])?;
            hasher.update(&block[..count]);
            let progress = format!("{} kB", fetched / 1024);
            context.tell(Event::Fetching { repo: &address.shown, progress: Some(&progress) });
        }
        context.tell(Event::Fetched { repo: &address.shown });
        download.digest = hasher.finish();
        Ok(download)
    }

    fn failed(&self, address: &Address, error: &ureq::Error) -> Error {
        if let ureq::Error::Timeout(timeout) = error {
            return self.too_slow(address, *timeout);
        }
        let reason = error.to_string().replace(&address.url, &address.shown);
        Error::new(Kind::Environment, format!("cannot fetch `{}`", address.shown))
            // The reason may name an address, this one or where it led, with all that stands in it.
            .because(without_secrets(&reason))
            .hint("check the address and your access; a local copy can be named instead")
    }

    /// The error for a body that ended early.
    pub(crate) fn broken(&self, address: &Address, error: BodyError) -> Error {
        if let BodyError::Timeout(timeout) = error {
            return self.too_slow(address, timeout);
        }
        Error::new(Kind::Environment, format!("cannot fetch `{}`", address.shown))
            .because(error)
            .hint("nothing was changed: run it again, or fetch it yourself and name the file")
    }

    /// The error for a server that exceeds a limit of time.
    fn too_slow(&self, address: &Address, timeout: ureq::Timeout) -> Error {
        let limits = &self.session.limits;
        let (reason, limit) = match timeout {
            ureq::Timeout::PerRead | ureq::Timeout::PerWrite => {
                (format!("the server sent nothing for {} s", limits.stall_seconds), Some("stall-seconds"))
            }
            ureq::Timeout::Resolve | ureq::Timeout::Connect => {
                (format!("there was no connection within {} s", CONNECT.as_secs()), None)
            }
            _ => {
                let seconds = limits.download_seconds;
                (format!("the download was not complete after {seconds} s"), Some("download-seconds"))
            }
        };
        let error = Error::new(Kind::Environment, format!("cannot fetch `{}`", address.shown)).because(reason);
        match limit {
            Some(limit) => error.hint(format!("run it again, or raise `--limit {limit}=<seconds>`")),
            None => error.hint("check the address and your access; a local copy can be named instead"),
        }
    }
}

/// A new place in the cache.
fn place(context: &Context<'_>) -> Result<(Download, NewFile)> {
    let dir = context.private_dir(&context.cache_dir().join("zip"))?;
    let invalid = |e: sp_tree::PathError| Error::new(Kind::Usage, e.to_string());
    // Several may be fetched at once, and each has a name of its own.
    let number = DOWNLOADS.fetch_add(1, Ordering::Relaxed);
    let name = Name::new(&format!("{}-{number}.zip", context.run_id)).map_err(invalid)?;
    let path = dir.path_of(&name);
    let file = dir.create_file(&name, false)?;
    let held = dir.open_file(&name, Follow::Never)?;
    held.lock().map_err(|e| FileError::new("lock", &path, e))?;
    Ok((Download { _held: held, dir, name, path, digest: Digest::of(b"") }, file))
}

/// Removes what downloads left that died. Best effort: it is a cache.
pub(crate) fn sweep(context: &Context<'_>) {
    let Ok(dir) = Dir::open(&context.cache_dir().join("zip")) else {
        return;
    };
    for entry in dir.entries().unwrap_or_default() {
        let unused = dir.open_file(&entry, Follow::Never).is_ok_and(|file| file.try_lock().is_ok());
        if unused {
            let _ = dir.remove_tree(&entry);
        }
    }
}

fn too_large(address: &Address, limit: u64) -> Error {
    Error::new(Kind::Data, format!("`{}` has more bytes than allowed: the limit is {limit}", address.shown))
        .hint("raise it with `--limit zip-bytes=<bytes>` if you trust the source")
}
