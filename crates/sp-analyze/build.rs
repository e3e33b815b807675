//! Writes the vocabulary of the tokenizer in the form that `src/tokens/vocabulary.rs` reads, so
//! that the program starts without building a table of 200,000 tokens.

use std::error::Error;
use std::path::PathBuf;

#[path = "src/tokens/layout.rs"]
mod layout;

use layout::{EMPTY_SLOT, SLOT_COUNT, first_slot, tag};

#[allow(clippy::disallowed_methods, reason = "cargo passes the directory in the environment")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/tokens/layout.rs");
    let vocabulary = tiktoken_rs::o200k_base()?;
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    let mut slots = vec![EMPTY_SLOT; SLOT_COUNT];
    let tokens = (0..).map_while(|rank| Some((rank, vocabulary.decode_bytes(&[rank]).ok()?)));
    // The ranks have no gap before the special tokens, which do not occur in ordinary text.
    for (rank, token) in tokens.take(layout::TOKEN_COUNT) {
        starts.extend(u32::try_from(bytes.len())?.to_le_bytes());
        bytes.extend(&token);
        let mut at = first_slot(&token);
        while slots[at] != EMPTY_SLOT {
            at = (at + 1) % SLOT_COUNT;
        }
        slots[at] = tag(&token) | rank;
    }
    if starts.len() != 4 * layout::TOKEN_COUNT {
        return Err("the vocabulary is not complete".into());
    }
    starts.extend(u32::try_from(bytes.len())?.to_le_bytes());
    let slots: Vec<u8> = slots.into_iter().flat_map(u32::to_le_bytes).collect();

    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    for (name, content) in [("token_bytes", bytes), ("token_starts", starts), ("slots", slots)] {
        std::fs::write(out.join(name), content)?;
    }
    Ok(())
}
