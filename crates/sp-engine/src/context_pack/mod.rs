//! Context packs: read from a folder or a zip, sealed, shown, packed and compared.

mod entries;

pub(crate) use entries::{is_pack, read_entries};
