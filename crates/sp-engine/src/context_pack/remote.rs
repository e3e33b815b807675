//! Reads context packs from the web: a zip, or the files next to a `pack.json`.
//!
//! Only files that the manifest lists with a safe path are requested. Each request has the query of
//! the pack URL, which may contain a signature; neither the query nor a signature in the path is
//! printed.

use std::fmt;

use sp_formats::context_pack::{
    ContextPackEntries, ContextPackEntry, MANIFEST_FILE, manifest_digest, read,
};
use sp_formats::percent::{self, COMPONENT};
use sp_formats::printable::printable;
use sp_formats::redact::{QueryAllowlist, redact_url};
use sp_formats::web_url::WebUrl;
use sp_tree::{Digest, RelPath};

use super::local::{ZIP_EXTENSION, read_zip};
use super::read_budget::ContextPackReadBudget;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::source::web::{WebAddress, WebClient};

/// The URL of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteContextPack {
    /// The scheme, host and path of the zip, or of the directory with its trailing slash.
    base: String,
    /// The query with its `?`, or an empty string.
    query: String,
    format: RemoteContextPackFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemoteContextPackFormat {
    Zip,
    Files,
}

impl RemoteContextPack {
    /// Parses the URL of a zip, of a `pack.json`, or of its directory.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let text = text.split('#').next().unwrap_or_default();
        let (base, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        let lower = base.to_ascii_lowercase();
        let is_below_a_host = WebUrl::parse(text).is_ok_and(|url| url.path().starts_with('/'));
        let (base, format) = match base.strip_suffix(MANIFEST_FILE) {
            _ if lower.ends_with(&format!(".{ZIP_EXTENSION}")) => {
                (base, RemoteContextPackFormat::Zip)
            }
            Some(folder) if folder.ends_with('/') => (folder, RemoteContextPackFormat::Files),
            _ => (base, RemoteContextPackFormat::Files),
        };
        let address = Self { base: base.into(), query: query.into(), format };
        if is_below_a_host && (format == RemoteContextPackFormat::Zip || base.ends_with('/')) {
            return Ok(address);
        }
        Err(Error::new(
            ErrorCode::InvalidContextPack,
            format!("`{address}` is not the URL of a context pack"),
        )
        .because("the URL does not end in `.zip`, `/pack.json` or `/`")
        .hint(
            "specify the URL of the zip, of `pack.json`, or of its directory with a final \
                 `/`; download anything else first",
        ))
    }

    /// Returns the URL of a file of the pack, with each segment of its path encoded.
    fn file_address(&self, path: &str) -> WebAddress {
        let encoded: Vec<String> =
            path.split('/').map(|name| percent::encode(name, COMPONENT)).collect();
        WebAddress {
            url: format!("{}{}{}", self.base, encoded.join("/"), self.query),
            display_url: format!("{self}/{path}"),
        }
    }
}

impl fmt::Display for RemoteContextPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&redact_url(
            self.base.trim_end_matches('/'),
            &QueryAllowlist::default(),
        )))
    }
}

/// Downloads the entries of a pack.
pub(super) fn fetch(
    session: &Session<'_>,
    remote: &RemoteContextPack,
) -> Result<ContextPackEntries> {
    match remote.format {
        RemoteContextPackFormat::Zip => fetch_zip(session, remote),
        RemoteContextPackFormat::Files => fetch_files(session, remote),
    }
}

fn fetch_zip(session: &Session<'_>, remote: &RemoteContextPack) -> Result<ContextPackEntries> {
    let zip = WebAddress {
        url: format!("{}{}", remote.base, remote.query),
        display_url: remote.to_string(),
    };
    let download = WebClient::new(session, &zip)?.download(&zip)?;
    // Errors name the URL instead of the temporary file.
    let temp_path = download.path().display().to_string();
    read_zip(session, download.path(), &zip.display_url).map_err(|error| Error {
        message: error.message.replace(&temp_path, &zip.display_url),
        ..error
    })
}

/// Downloads the manifest of a pack, and returns its digest. Of a zip, everything is downloaded.
pub(super) fn fetch_manifest_digest(
    session: &Session<'_>,
    remote: &RemoteContextPack,
) -> Result<Digest> {
    match remote.format {
        RemoteContextPackFormat::Zip => Ok(manifest_digest(&fetch_zip(session, remote)?)),
        RemoteContextPackFormat::Files => {
            let mut download = FileDownload::new(session, remote)?;
            Ok(Digest::of(&download.manifest()?))
        }
    }
}

/// Downloads the manifest and the files that it lists. A missing file is left out of the entries.
fn fetch_files(session: &Session<'_>, remote: &RemoteContextPack) -> Result<ContextPackEntries> {
    let mut download = FileDownload::new(session, remote)?;
    let bytes = download.manifest()?;
    let mut entries =
        ContextPackEntries::from([(MANIFEST_FILE.to_owned(), ContextPackEntry::File(bytes))]);
    for path in listed_paths(session, &entries) {
        if let Some(bytes) = download.listed_file(&path)? {
            entries.insert(path.to_string(), ContextPackEntry::File(bytes));
        }
    }
    Ok(entries)
}

/// The download of the files of a pack.
struct FileDownload<'a> {
    remote: &'a RemoteContextPack,
    client: WebClient<'a>,
    budget: ContextPackReadBudget<'a>,
}

impl<'a> FileDownload<'a> {
    fn new(session: &'a Session<'a>, remote: &'a RemoteContextPack) -> Result<Self> {
        let client = WebClient::new(session, &remote.file_address(MANIFEST_FILE))?;
        let budget = ContextPackReadBudget::new(remote.to_string(), &session.limits);
        Ok(Self { remote, client, budget })
    }

    fn manifest(&mut self) -> Result<Vec<u8>> {
        let Self { remote, client, budget } = self;
        let address = remote.file_address(MANIFEST_FILE);
        let body = client.get(&address, budget.read_limit())?;
        budget.take_file(0)?;
        budget.read(body, MANIFEST_FILE, |error| client.body_error(&address, error.into()))
    }

    /// Downloads a file that the manifest lists; none if it does not exist.
    fn listed_file(&mut self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        let Self { remote, client, budget } = self;
        budget.take_file(path.depth() as u64 - 1)?;
        let address = remote.file_address(path.as_str());
        let Some(body) = client.get_optional(&address, budget.read_limit())? else {
            return Ok(None);
        };
        let failed = |error: std::io::Error| client.body_error(&address, error.into());
        budget.read(body, path.as_str(), failed).map(Some)
    }
}

/// Returns the safe paths that a manifest lists. Unsafe ones are reported when the pack is
/// validated.
fn listed_paths(session: &Session<'_>, entries: &ContextPackEntries) -> Vec<RelPath> {
    let manifest = read(entries, &session.limits).manifest.unwrap_or_default();
    manifest.files.into_iter().map(|entry| entry.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack_url(text: &str) -> RemoteContextPack {
        RemoteContextPack::new(text).unwrap()
    }

    #[test]
    fn cp_11_zip_manifest_and_directory_urls_are_distinguished() {
        for (text, format) in [
            ("https://h/x.zip", RemoteContextPackFormat::Zip),
            ("HTTP://h:1/a/x.ZIP?exp=1#y", RemoteContextPackFormat::Zip),
            ("https://h/packs/pk_1/pack.json?sig=/x.zip", RemoteContextPackFormat::Files),
            ("https://h/", RemoteContextPackFormat::Files),
        ] {
            assert_eq!(pack_url(text).format, format, "{text}");
        }
        for bad in [
            "https://h",
            "https:///pack.json",
            "https://h/x",
            "https://h/xpack.json",
            "https://h/ /",
            "https://h?/",
        ] {
            assert!(RemoteContextPack::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cp_11_file_urls_are_encoded_and_keep_the_query() {
        let pack = pack_url("https://h/packs/a%20b/pack.json?exp=1&sig=x#y");
        assert_eq!(
            pack.file_address("pack.json").url,
            "https://h/packs/a%20b/pack.json?exp=1&sig=x"
        );
        assert_eq!(
            pack.file_address("a b/100%#é.md").url,
            "https://h/packs/a%20b/a%20b/100%25%23%C3%A9.md?exp=1&sig=x"
        );
        assert_eq!(pack_url("http://h/p/").file_address("x.md").url, "http://h/p/x.md");
    }

    #[test]
    fn cp_11_credentials_and_signatures_are_not_printed() {
        assert_eq!(pack_url("https://me:secret@h/p/?sig=x").to_string(), "https://h/p");
        assert_eq!(
            pack_url("https://h/s/k1.17.x-y/packs/pk_1/").to_string(),
            "https://h/s/…/packs/pk_1"
        );
        assert_eq!(
            pack_url("https://h/x.zip?sig=x").file_address("a").display_url,
            "https://h/x.zip/a"
        );
    }
}
