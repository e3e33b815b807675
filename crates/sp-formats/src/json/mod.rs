//! JSON that other programs wrote and that must survive a rewrite byte for byte.
//!
//! [`JsonDocument`] is a parsed text: every [`JsonValue`] knows its span, and nothing is rounded,
//! reordered or unescaped until it is asked for. Parsing is linear, does not recurse, rejects
//! duplicate keys, and enforces the [`Limits`](sp_tree::Limits) on depth, keys and values, so
//! hostile input is safe.
//!
//! [`canonicalize`] writes a value so that the same content always gives the same bytes, which is
//! what digests and signatures are computed over. `JsonMembers` are the members of an object that
//! is rewritten only in part. [`without_comments`] turns JSON with comments into JSON.
//!
//! ```
//! use sp_formats::json::{JsonDocument, JsonNumberFormat, canonicalize};
//! use sp_tree::Limits;
//!
//! let json = JsonDocument::parse(r#"{"b": [1, 2.50], "a": "x"}"#, &Limits::default())?;
//! let list = json.root().get("b").expect("it has this member");
//! assert_eq!((list.span(), list.raw()), (6..15, "[1, 2.50]"));
//! let canonical = canonicalize(json.root(), "", JsonNumberFormat::Lossless);
//! assert_eq!(canonical.as_deref(), Some(r#"{"a":"x","b":[1,2.5]}"#));
//!
//! let error = JsonDocument::parse(r#"{"a": 1, "a": 2}"#, &Limits::default()).unwrap_err();
//! assert_eq!(error.span, 9..12);
//! # Ok::<(), sp_formats::json::JsonError>(())
//! ```

mod canonical;
mod comments;
mod compact_digest;
mod document;
mod error;
mod members;
mod number;
mod parser;
mod slots;
mod string_literal;

pub use canonical::push_quoted;
pub use canonical::{JsonNumberFormat, canonicalize, quoted};
pub use comments::without_comments;
pub use compact_digest::CompactDigest;
pub use document::{JsonDocument, JsonKind, JsonValue};
pub use error::JsonError;
pub(crate) use members::JsonMembers;
pub use number::{is_canonical_number, push_number};
