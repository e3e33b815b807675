//! JSON that others wrote, and that must survive us to the letter.
//!
//! [`Json`] is a text that was read once: every value knows its bytes, nothing was rounded,
//! reordered or unescaped. [`canonical`] writes a value so that the same content always gives the
//! same bytes. `Members` are the members of an object that we rewrite in part. [`without_comments`] makes
//! JSON of what people write by hand.

mod canonical;
mod comments;
mod document;
mod members;
mod number;
mod parser;

pub use canonical::push_quoted;
pub use canonical::{JsonNumberFormat, canonicalize, quoted};
pub use comments::without_comments;
pub use document::{CompactDigest, JsonDocument, JsonError, JsonKind, JsonValue};
pub(crate) use members::JsonMembers;
pub use number::{is_canonical_number, push_number};
