//! Where a package came from, as the lock and the index of the store record it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The source of a package. A record has it as one string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedSource {
    /// `store`: the store of the machine that wrote the record.
    Store,
    /// The URL of a registry.
    Registry(String),
    /// A file, a sender, or what another tool wrote.
    Other(String),
}

impl RecordedSource {
    /// Returns the URL of the registry, if the package came from one.
    pub fn registry(&self) -> Option<&str> {
        match self {
            Self::Registry(url) => Some(url),
            Self::Store | Self::Other(_) => None,
        }
    }

    /// Returns the source for a file that others read: without paths of this machine.
    #[must_use]
    pub fn for_others(self) -> Self {
        match self {
            Self::Other(_) => Self::Store,
            known => known,
        }
    }
}

impl From<String> for RecordedSource {
    fn from(text: String) -> Self {
        if text == "store" {
            Self::Store
        } else if text.starts_with("https://") || text.starts_with("http://") {
            Self::Registry(text)
        } else {
            Self::Other(text)
        }
    }
}

impl fmt::Display for RecordedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store => "store",
            Self::Registry(text) | Self::Other(text) => text,
        })
    }
}

impl Serialize for RecordedSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordedSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_a_source_and_is_written_as_it_was_read() {
        let registry = "https://packages.example".to_owned();
        for (text, source) in [
            ("store", RecordedSource::Store),
            (registry.as_str(), RecordedSource::Registry(registry.clone())),
            ("~/in/notes.ctxpkg", RecordedSource::Other("~/in/notes.ctxpkg".into())),
            ("", RecordedSource::Other(String::new())),
        ] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(serde_json::from_str::<RecordedSource>(&json).unwrap(), source, "{text}");
            assert_eq!(serde_json::to_string(&source).unwrap(), json, "{text}");
        }
    }
}
