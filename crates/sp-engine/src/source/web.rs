//! Zips on the web: fetched whole, within a size and a time, and gone again after use.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sp_formats::bag::SourceRef;
use sp_formats::printable::masked;
use sp_tree::{Dir, FileError, Follow, Name, NewFile};
use ureq::tls::{RootCerts, TlsConfig};

use crate::config::Session;
use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};

/// More redirects than this lead nowhere.
const MAX_REDIRECTS: u32 = 5;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(20);
const BLOCK: usize = 64 * 1024;

/// A file that was fetched. It is removed when this is dropped.
pub(super) struct Download {
    // As long as it is held, the file is in use, and nobody sweeps it away.
    _held: File,
    dir: Dir,
    name: Name,
    path: PathBuf,
}

impl Download {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // Best effort: what stays is a cache, and `sp clean --cache` removes it.
        let _ = self.dir.remove_tree(&self.name);
    }
}

/// Fetches a file.
pub(super) fn download(session: &Session<'_>, url: &str) -> Result<Download> {
    let context = session.context;
    let shown = SourceRef::Web(url.into()).to_string();
    if context.network == Network::Offline {
        return Err(Error::new(Kind::Environment, format!("`{shown}` would have to be fetched"))
            .hint("run it without `--offline`, or fetch it yourself and name the file"));
    }
    context.tell(Event::Fetching { repo: &shown, progress: None });
    let failed = |e: ureq::Error| {
        Error::new(Kind::Environment, format!("cannot fetch `{shown}`"))
            // The reason may name the address, with all that stands in it.
            .because(masked(&e.to_string().replace(url, &shown)).into_owned())
            .hint("check the address and your access; a local copy can be named instead")
    };
    let agent = agent(session, url);
    let mut response = agent.get(url).call().map_err(failed)?;
    let limit = session.limits.zip_bytes;
    let announced = response.body().content_length();
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large(&shown, announced.unwrap_or_default(), limit));
    }
    let (download, mut file) = place(context)?;
    let mut reader = response.body_mut().with_config().limit(limit.saturating_add(1)).reader();
    let mut block = vec![0; BLOCK];
    let mut fetched = 0u64;
    loop {
        let count = reader.read(&mut block).map_err(|e| {
            Error::new(Kind::Environment, format!("cannot fetch `{shown}`"))
                .because(e)
                .hint("nothing was changed: run it again, or fetch it yourself and name the file")
        })?;
        if count == 0 {
            break;
        }
        fetched += count as u64;
        if fetched > limit {
            return Err(too_large(&shown, fetched, limit));
        }
        file.write(&block[..count])?;
        let progress = format!("{} kB", fetched / 1024);
        context.tell(Event::Fetching { repo: &shown, progress: Some(&progress) });
    }
    context.tell(Event::Fetched { repo: &shown });
    Ok(download)
}

fn agent(session: &Session<'_>, url: &str) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .max_redirects(MAX_REDIRECTS)
        .timeout_connect(Some(CONNECT))
        .timeout_global(Some(Duration::from_secs(session.limits.download_seconds)))
        // What starts safe stays safe, wherever it is redirected to.
        .https_only(url.to_ascii_lowercase().starts_with("https://"))
        // Whom the system trusts, a company's own authority included.
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .user_agent("sp")
        .build();
    config.into()
}

/// A new place in the cache.
fn place(context: &Context<'_>) -> Result<(Download, NewFile)> {
    let dir = Dir::create_all(&context.cache_dir().join("zip"))?;
    let invalid = |e: sp_tree::PathError| Error::new(Kind::Usage, e.to_string());
    let taken = dir.entries()?.len();
    let name = Name::new(&format!("{}-{taken}.zip", context.run_id)).map_err(invalid)?;
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

fn too_large(shown: &str, size: u64, limit: u64) -> Error {
    Error::new(Kind::Data, format!("`{shown}` has {size} bytes or more, and the limit is {limit}"))
        .hint("raise it with `--limit zip-bytes=<bytes>` if you trust the source")
}
