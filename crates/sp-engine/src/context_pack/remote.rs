//! Packs on the web: a zip, or the files beside a `pack.json`.
//!
//! Every file is asked for by a name that the manifest lists and that is safe, with the query of the
//! pack's own address, since that is what opens it. Neither that query nor a signature in the path is shown.

use std::fmt;

use sp_formats::context_pack::{ContextPackEntries, ContextPackEntry, MANIFEST_FILE, read};
use sp_formats::printable::printable;
use sp_formats::redact::{QueryAllowlist, redact_url};
use sp_tree::RelPath;

use super::entries::{ContextPackReadBudget, ZIP_EXTENSION, read_zip};
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;
use crate::source::web::{WebAddress, WebClient};

/// The address of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteContextPack {
    /// Scheme, host and path: of the zip, or of the folder with its slash.
    base: String,
    /// What opens it, with its `?`; often empty.
    query: String,
    format: RemoteContextPackFormat,
}

/// What is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemoteContextPackFormat {
    Zip,
    Files,
}

/// Whether a text is meant as an address.
pub(crate) fn is_url(text: &str) -> bool {
    let starts = |scheme: &str| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("https://") || starts("http://")
}

impl RemoteContextPack {
    /// Reads an address: a zip, a `pack.json`, or the folder that it lies in.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let text = text.split('#').next().unwrap_or_default();
        let (base, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        let lower = base.to_ascii_lowercase();
        let is_clean = !text.chars().any(|c| c.is_control() || c.is_whitespace());
        let (base, sort) = match base.strip_suffix(MANIFEST_FILE) {
            _ if lower.ends_with(&format!(".{ZIP_EXTENSION}")) => {
                (base, RemoteContextPackFormat::Zip)
            }
            Some(folder) if folder.ends_with('/') => (folder, RemoteContextPackFormat::Files),
            _ => (base, RemoteContextPackFormat::Files),
        };
        let address = Self { base: base.into(), query: query.into(), format: sort };
        let is_below_a_host =
            base.split_once("://").is_some_and(|(_, rest)| rest.find('/').is_some_and(|at| at > 0));
        if is_clean
            && is_below_a_host
            && (sort == RemoteContextPackFormat::Zip || base.ends_with('/'))
        {
            return Ok(address);
        }
        Err(Error::new(FailureKind::Data, format!("`{address}` is no address of a context pack"))
            .because("it ends neither in `.zip` nor in `/pack.json` nor in `/`")
            .hint("name the zip, the `pack.json`, or its folder with a `/`; anything else is checked from a copy here"))
    }

    /// The address of a file of the pack. The path is safe, and each of its segments is encoded.
    fn file_address(&self, path: &str) -> WebAddress {
        let encoded: Vec<String> = path.split('/').map(encode_segment).collect();
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

/// A segment in which only what means itself everywhere is left as it is.
fn encode_segment(segment: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let byte = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    segment.bytes().map(byte).collect()
}

/// Everything of a pack that is on the web.
pub(super) fn fetch(
    session: &Session<'_>,
    address: &RemoteContextPack,
) -> Result<ContextPackEntries> {
    match address.format {
        RemoteContextPackFormat::Zip => fetch_zip(session, address),
        RemoteContextPackFormat::Files => fetch_files(session, address),
    }
}

fn fetch_zip(session: &Session<'_>, address: &RemoteContextPack) -> Result<ContextPackEntries> {
    let zip = WebAddress {
        url: format!("{}{}", address.base, address.query),
        display_url: address.to_string(),
    };
    let download = WebClient::new(session, &zip)?.download(&zip)?;
    // Where it lies for a moment says nothing to anybody.
    let here = download.path().display().to_string();
    read_zip(session, download.path(), &zip.display_url)
        .map_err(|error| Error { message: error.message.replace(&here, &zip.display_url), ..error })
}

/// The manifest, then what it lists. What is not there is left out: it is missing from the pack.
fn fetch_files(session: &Session<'_>, address: &RemoteContextPack) -> Result<ContextPackEntries> {
    let manifest = address.file_address(MANIFEST_FILE);
    let client = WebClient::new(session, &manifest)?;
    let mut budget = ContextPackReadBudget::new(address.to_string(), &session.limits);
    let body = client.get(&manifest, budget.read_limit())?;
    budget.take_file(0)?;
    let bytes =
        budget.read(body, MANIFEST_FILE, |error| client.body_error(&manifest, error.into()))?;
    let mut entries =
        ContextPackEntries::from([(MANIFEST_FILE.to_owned(), ContextPackEntry::File(bytes))]);
    for path in listed_paths(session, &entries) {
        budget.take_file(path.depth() as u64 - 1)?;
        let file = address.file_address(path.as_str());
        if let Some(body) = client.get_optional(&file, budget.read_limit())? {
            let bytes =
                budget.read(body, path.as_str(), |error| client.body_error(&file, error.into()))?;
            entries.insert(path.to_string(), ContextPackEntry::File(bytes));
        }
    }
    Ok(entries)
}

/// The paths that a manifest lists, those that lead elsewhere left out: they are told when the pack is read.
fn listed_paths(session: &Session<'_>, entries: &ContextPackEntries) -> Vec<RelPath> {
    let manifest = read(entries, &session.limits).manifest.unwrap_or_default();
    manifest.files.into_iter().map(|entry| entry.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> RemoteContextPack {
        RemoteContextPack::new(text).unwrap()
    }

    #[test]
    fn cp_11_a_zip_a_manifest_and_a_folder_are_told_apart() {
        for (text, sort) in [
            ("https://h/x.zip", RemoteContextPackFormat::Zip),
            ("HTTP://h:1/a/x.ZIP?exp=1#y", RemoteContextPackFormat::Zip),
            ("https://h/packs/pk_1/pack.json?sig=/x.zip", RemoteContextPackFormat::Files),
            ("https://h/", RemoteContextPackFormat::Files),
        ] {
            assert_eq!(address(text).format, sort, "{text}");
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
    fn cp_11_a_file_is_asked_for_by_its_encoded_name_with_the_query() {
        let pack = address("https://h/packs/a%20b/pack.json?exp=1&sig=x#y");
        assert_eq!(
            pack.file_address("pack.json").url,
            "https://h/packs/a%20b/pack.json?exp=1&sig=x"
        );
        assert_eq!(
            pack.file_address("a b/100%#é.md").url,
            "https://h/packs/a%20b/a%20b/100%25%23%C3%A9.md?exp=1&sig=x"
        );
        assert_eq!(address("http://h/p/").file_address("x.md").url, "http://h/p/x.md");
    }

    #[test]
    fn cp_11_what_opens_a_pack_is_not_shown() {
        assert_eq!(address("https://me:secret@h/p/?sig=x").to_string(), "https://h/p");
        assert_eq!(
            address("https://h/s/k1.17.x-y/packs/pk_1/").to_string(),
            "https://h/s/…/packs/pk_1"
        );
        assert_eq!(
            address("https://h/x.zip?sig=x").file_address("a").display_url,
            "https://h/x.zip/a"
        );
    }
}
