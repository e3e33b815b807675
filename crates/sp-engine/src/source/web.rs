//! What is on the web: fetched within a size and a time, by the one client that there is.
//!
//! A zip is fetched whole into a file that is gone again after use; other files are read as they come.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sp_formats::bag::SourceRef;
use sp_formats::printable::masked;
use sp_tree::{Dir, FileError, Follow, Name, NewFile};

use crate::config::Session;
use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};
use crate::http::{settings, while_wanted};

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
    pub(super) fn of_source(url: &str) -> Self {
        Self { url: url.into(), shown: SourceRef::Web(url.into()).to_string() }
    }
}

/// A file that was fetched. It is removed when this is dropped.
pub(crate) struct Download {
    // As long as it is held, the file is in use, and nobody sweeps it away.
    _held: File,
    dir: Dir,
    name: Name,
    path: PathBuf,
}

impl Download {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // Best effort: what stays is a cache, and `sp clean --cache` removes it.
        let _ = self.dir.remove_tree(&self.name);
    }
}

/// What a server answers: bytes that are still to come.
pub(crate) struct Body {
    reader: ureq::BodyReader<'static>,
    /// How many there are, if the server says so.
    pub announced: Option<u64>,
}

impl Read for Body {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        self.reader.read(block)
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
            // What starts safe stays safe, wherever it is redirected to.
            .https_only(address.url.to_ascii_lowercase().starts_with("https://"))
            .build();
        let until = Instant::now() + Duration::from_secs(session.limits.download_seconds);
        Ok(Self { session, agent: config.into(), until })
    }

    /// Asks for a file; none if the server has none there.
    pub(crate) fn find(&self, address: &Address) -> Result<Option<Body>> {
        match self.ask(address)? {
            Ok(body) => Ok(Some(body)),
            Err(ureq::Error::StatusCode(NOT_FOUND)) => Ok(None),
            Err(error) => Err(failed(address, &error)),
        }
    }

    /// Asks for a file that must be there.
    pub(crate) fn open(&self, address: &Address) -> Result<Body> {
        self.ask(address)?.map_err(|error| failed(address, &error))
    }

    fn ask(&self, address: &Address) -> Result<std::result::Result<Body, ureq::Error>> {
        self.session.context.tell(Event::Fetching { repo: &address.shown, progress: None });
        let left = self.until.saturating_duration_since(Instant::now()).max(NO_TIME);
        let request = self.agent.get(&address.url).config().timeout_global(Some(left)).build();
        let answer = while_wanted(self.session.context, move || request.call())?;
        Ok(answer.map(|response| {
            let body = response.into_body();
            let announced = body.content_length();
            // Whoever reads it sets the limit.
            Body { reader: body.into_with_config().limit(u64::MAX).reader(), announced }
        }))
    }

    /// Fetches a file whole.
    pub(crate) fn download(&self, address: &Address) -> Result<Download> {
        let (context, limit) = (self.session.context, self.session.limits.zip_bytes);
        let mut body = self.open(address)?;
        if let Some(length) = body.announced.filter(|length| *length > limit) {
            return Err(too_large(address, length, limit));
        }
        let (download, mut file) = place(context)?;
        let mut block = vec![0; BLOCK];
        let mut fetched = 0u64;
        loop {
            context.go_on()?;
            let count = body.read(&mut block).map_err(|error| broken(address, error))?;
            if count == 0 {
                break;
            }
            fetched += count as u64;
            if fetched > limit {
                return Err(too_large(address, fetched, limit));
            }
            file.write(&block[..count])?;
            let progress = format!("{} kB", fetched / 1024);
            context.tell(Event::Fetching { repo: &address.shown, progress: Some(&progress) });
        }
        context.tell(Event::Fetched { repo: &address.shown });
        Ok(download)
    }
}

fn failed(address: &Address, error: &ureq::Error) -> Error {
    let reason = error.to_string().replace(&address.url, &address.shown);
    Error::new(Kind::Environment, format!("cannot fetch `{}`", address.shown))
        // The reason may name an address, this one or where it led, with all that stands in it.
        .because(without_signature(&without_queries(&masked(&reason))))
        .hint("check the address and your access; a local copy can be named instead")
}

/// What is told when bytes stop to come.
pub(crate) fn broken(address: &Address, error: io::Error) -> Error {
    Error::new(Kind::Environment, format!("cannot fetch `{}`", address.shown))
        .because(error)
        .hint("nothing was changed: run it again, or fetch it yourself and name the file")
}

/// The text with every word cut where the query of an address begins: it may be a signature.
fn without_queries(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('?') {
        Some((address, _)) if address.contains('/') => address,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A path may carry the signature too, as `/s/{kid}.{exp}.{sig}/packs/…`.
pub(crate) fn without_signature(text: &str) -> String {
    let mut before = "";
    let cover = |segment| {
        let is_signed = before == "s" && str::matches(segment, '.').count() == 2;
        before = segment;
        if is_signed { "…" } else { segment }
    };
    text.split('/').map(cover).collect::<Vec<_>>().join("/")
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
    Ok((Download { _held: held, dir, name, path }, file))
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

fn too_large(address: &Address, size: u64, limit: u64) -> Error {
    Error::new(Kind::Data, format!("`{}` has {size} bytes or more, and the limit is {limit}", address.shown))
        .hint("raise it with `--limit zip-bytes=<bytes>` if you trust the source")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_11_no_reason_shows_what_opens_an_address() {
        for (reason, shown) in [
            (
                "configured for https only: http://h/p/pack.json?exp=1&sig=x",
                "configured for https only: http://h/p/pack.json",
            ),
            ("bad uri: /p?sig=x is missing host", "bad uri: /p is missing host"),
            ("what? nothing", "what? nothing"),
        ] {
            assert_eq!(without_queries(reason), shown);
        }
        assert_eq!(without_signature("https only: http://h/s/k1.17.x/packs/"), "https only: http://h/s/…/packs/");
    }
}
