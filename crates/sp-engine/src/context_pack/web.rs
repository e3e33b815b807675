//! Packs on the web: a zip, or the files beside a `pack.json`.
//!
//! Every file is asked for by a name that the manifest lists and that is safe, with the query of the
//! pack's own address, since that is what opens it. Neither that query nor a signature in the path is shown.

use std::fmt;

use sp_formats::address::{KeptQuery, shown_url};
use sp_formats::context_pack::{Entries, Entry, MANIFEST, read};
use sp_formats::printable::printable;
use sp_tree::RelPath;

use super::entries::{Budget, ZIP_ENDING, read_zip};
use crate::config::Session;
use crate::error::{Error, Kind, Result};
use crate::source::web::{Address, Client};

/// The address of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackAddress {
    /// Scheme, host and path: of the zip, or of the folder with its slash.
    base: String,
    /// What opens it, with its `?`; often empty.
    query: String,
    sort: Sort,
}

/// What is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Zip,
    Files,
}

/// Whether a text is meant as an address.
pub(crate) fn is_address(text: &str) -> bool {
    let starts = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    starts("https://") || starts("http://")
}

impl PackAddress {
    /// Reads an address: a zip, a `pack.json`, or the folder that it lies in.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let text = text.split('#').next().unwrap_or_default();
        let (base, query) = text.split_at(text.find('?').unwrap_or(text.len()));
        let lower = base.to_ascii_lowercase();
        let is_clean = !text.chars().any(|c| c.is_control() || c.is_whitespace());
        let (base, sort) = match base.strip_suffix(MANIFEST) {
            _ if lower.ends_with(&format!(".{ZIP_ENDING}")) => (base, Sort::Zip),
            Some(folder) if folder.ends_with('/') => (folder, Sort::Files),
            _ => (base, Sort::Files),
        };
        let address = Self { base: base.into(), query: query.into(), sort };
        let is_below_a_host = base.split_once("://").is_some_and(|(_, rest)| rest.find('/').is_some_and(|at| at > 0));
        if is_clean && is_below_a_host && (sort == Sort::Zip || base.ends_with('/')) {
            return Ok(address);
        }
        Err(Error::new(Kind::Data, format!("`{address}` is no address of a context pack"))
            .because("it ends neither in `.zip` nor in `/pack.json` nor in `/`")
            .hint("name the zip, the `pack.json`, or its folder with a `/`; anything else is checked from a copy here"))
    }

    /// The address of a file of the pack. The path is safe, and each of its segments is encoded.
    fn file(&self, path: &str) -> Address {
        let encoded: Vec<String> = path.split('/').map(encoded).collect();
        Address { url: format!("{}{}{}", self.base, encoded.join("/"), self.query), shown: format!("{self}/{path}") }
    }
}

impl fmt::Display for PackAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&shown_url(self.base.trim_end_matches('/'), &KeptQuery::default())))
    }
}

/// A segment in which only what means itself everywhere is left as it is.
fn encoded(segment: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let byte = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    segment.bytes().map(byte).collect()
}

/// Everything of a pack that is on the web.
pub(super) fn fetch(session: &Session<'_>, address: &PackAddress) -> Result<Entries> {
    match address.sort {
        Sort::Zip => fetch_zip(session, address),
        Sort::Files => fetch_files(session, address),
    }
}

fn fetch_zip(session: &Session<'_>, address: &PackAddress) -> Result<Entries> {
    let zip = Address { url: format!("{}{}", address.base, address.query), shown: address.to_string() };
    let download = Client::new(session, &zip)?.download(&zip)?;
    // Where it lies for a moment says nothing to anybody.
    let here = download.path().display().to_string();
    read_zip(session, download.path(), &zip.shown)
        .map_err(|error| Error { message: error.message.replace(&here, &zip.shown), ..error })
}

/// The manifest, then what it lists. What is not there is left out: it is missing from the pack.
fn fetch_files(session: &Session<'_>, address: &PackAddress) -> Result<Entries> {
    let manifest = address.file(MANIFEST);
    let client = Client::new(session, &manifest)?;
    let mut budget = Budget::new(address.to_string(), &session.limits);
    let body = client.open(&manifest, budget.read_limit())?;
    budget.one_more(0)?;
    let bytes = budget.read(body, MANIFEST, |error| client.broken(&manifest, error.into()))?;
    let mut entries = Entries::from([(MANIFEST.to_owned(), Entry::File(bytes))]);
    for path in listed(session, &entries) {
        budget.one_more(path.depth() as u64 - 1)?;
        let file = address.file(path.as_str());
        if let Some(body) = client.find(&file, budget.read_limit())? {
            let bytes = budget.read(body, path.as_str(), |error| client.broken(&file, error.into()))?;
            entries.insert(path.to_string(), Entry::File(bytes));
        }
    }
    Ok(entries)
}

/// The paths that a manifest lists, those that lead elsewhere left out: they are told when the pack is read.
fn listed(session: &Session<'_>, entries: &Entries) -> Vec<RelPath> {
    let manifest = read(entries, &session.limits).manifest.unwrap_or_default();
    manifest.files.into_iter().map(|entry| entry.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> PackAddress {
        PackAddress::new(text).unwrap()
    }

    #[test]
    fn cp_11_a_zip_a_manifest_and_a_folder_are_told_apart() {
        for (text, sort) in [
            ("https://h/x.zip", Sort::Zip),
            ("HTTP://h:1/a/x.ZIP?exp=1#y", Sort::Zip),
            ("https://h/packs/pk_1/pack.json?sig=/x.zip", Sort::Files),
            ("https://h/", Sort::Files),
        ] {
            assert_eq!(address(text).sort, sort, "{text}");
        }
        for bad in
            ["https://h", "https:///pack.json", "https://h/x", "https://h/xpack.json", "https://h/ /", "https://h?/"]
        {
            assert!(PackAddress::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cp_11_a_file_is_asked_for_by_its_encoded_name_with_the_query() {
        let pack = address("https://h/packs/a%20b/pack.json?exp=1&sig=x#y");
        assert_eq!(pack.file("pack.json").url, "https://h/packs/a%20b/pack.json?exp=1&sig=x");
        assert_eq!(pack.file("a b/100%#é.md").url, "https://h/packs/a%20b/a%20b/100%25%23%C3%A9.md?exp=1&sig=x");
        assert_eq!(address("http://h/p/").file("x.md").url, "http://h/p/x.md");
    }

    #[test]
    fn cp_11_what_opens_a_pack_is_not_shown() {
        assert_eq!(address("https://me:secret@h/p/?sig=x").to_string(), "https://h/p");
        assert_eq!(address("https://h/s/k1.17.x-y/packs/pk_1/").to_string(), "https://h/s/…/packs/pk_1");
        assert_eq!(address("https://h/x.zip?sig=x").file("a").shown, "https://h/x.zip/a");
    }
}
