//! Newer versions that a command has seen, for `sp status`, which asks no server.
//!
//! Git repositories have their own record of this. The records here are in the cache, and belong to
//! the version that was locked when the newer one was seen: with another one, they mean nothing.

use sp_tree::Digest;

use crate::context::Context;
use crate::downloads::{keep_artifact, read_artifact};

const MAX_RECORD_BYTES: u64 = 4096;

/// What has a version.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownSubject<'a> {
    /// A source of skills, by key.
    Source(&'a str),
    /// A package, by name.
    Package(&'a str),
    /// A context pack, by location.
    ContextPack(&'a str),
}

impl KnownSubject<'_> {
    fn record_key(self) -> Digest {
        let (kind, name) = match self {
            Self::Source(name) => ("source", name),
            Self::Package(name) => ("package", name),
            Self::ContextPack(name) => ("context pack", name),
        };
        Digest::of(format!("newest version of {kind} {name}").as_bytes())
    }
}

/// Remembers the newest version of something that is locked to a version.
pub(super) fn remember_newest(
    context: &Context<'_>,
    subject: KnownSubject<'_>,
    locked: &str,
    newest: &str,
) {
    let key = subject.record_key();
    let record = format!("{locked}\n{newest}\n");
    let old = read_artifact(context, &key, MAX_RECORD_BYTES);
    let is_news = locked != newest || old.is_some();
    if is_news && old.as_deref() != Some(record.as_bytes()) {
        // Without the record, `sp status` knows less.
        let _ = keep_artifact(context, &key, record.as_bytes());
    }
}

/// Returns the newest version that was seen while this version was locked; none if it is the same.
pub(super) fn known_newest(
    context: &Context<'_>,
    subject: KnownSubject<'_>,
    locked: &dyn Fn() -> String,
) -> Option<String> {
    let record = read_artifact(context, &subject.record_key(), MAX_RECORD_BYTES)?;
    let record = String::from_utf8(record).ok()?;
    let (before, newest) = record.trim_end().split_once('\n')?;
    (before != newest && before == locked()).then(|| newest.to_owned())
}
