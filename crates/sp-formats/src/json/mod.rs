//! JSON that others wrote, and that must survive us to the letter.
//!
//! [`Json`] is a text that was read once: every value knows its bytes, nothing was rounded,
//! reordered or unescaped. [`canonical`] writes a value so that the same content always gives the
//! same bytes. `Members` are the members of an object that we rewrite in part. [`without_comments`] makes
//! JSON of what people write by hand.

mod canonical;
mod comments;
mod members;
mod number;
mod parser;
mod text;

pub use canonical::quote;
pub use canonical::{Numbers, canonical, quoted};
pub use comments::without_comments;
pub(crate) use members::Members;
pub use number::{is_canonical, push_number};
pub use text::{Compact, Json, JsonError, Kind, Value};
