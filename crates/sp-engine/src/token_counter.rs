//! Token counts, cached by the digest of the text.
//!
//! Loading the tokenizer takes longer than everything else that a small check does.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sp_analyze::tokens;
use sp_tree::Digest;

use crate::context::Context;
use crate::home::{read_index_file, write_index_file};

const INDEX_FILE: &str = "tokens";
/// The first bytes of the cache. They name the tokenizer, so counts of another one are never used.
const HEADER: &[u8] = b"sp tokens 1 o200k_base\n";
const RECORD_LEN: usize = 36;
/// The maximum size of the cache. When new counts exceed it, all old ones are dropped.
const MAX_RECORDS: usize = 200_000;

/// Counts tokens, using the counts of earlier runs.
pub(crate) struct TokenCounter<'a> {
    context: &'a Context<'a>,
    stored: HashMap<Digest, u32>,
    added: Mutex<HashMap<Digest, u32>>,
}

impl<'a> TokenCounter<'a> {
    /// Reads the cache.
    pub(crate) fn open(context: &'a Context<'a>) -> Self {
        let bytes = read_index_file(context, INDEX_FILE);
        let records = verify_checksum(&bytes)
            .and_then(|bytes| bytes.strip_prefix(HEADER))
            .unwrap_or_default();
        let records = records.chunks_exact(RECORD_LEN);
        Self {
            context,
            stored: records.filter_map(decode_record).collect(),
            added: Mutex::default(),
        }
    }

    /// Returns the number of tokens in a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        if text.is_empty() {
            return 0;
        }
        let digest = Digest::of(text.as_bytes());
        let added =
            |digest| self.added.lock().unwrap_or_else(PoisonError::into_inner).get(digest).copied();
        let known = self.stored.get(&digest).copied().or_else(|| added(&digest));
        let count = known.unwrap_or_else(|| {
            let count = u32::try_from(tokens::count(text)).unwrap_or(u32::MAX);
            self.added.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, count);
            count
        });
        count as usize
    }

    /// Writes the new counts to the cache.
    pub(crate) fn store(self) {
        let fresh = self.added.into_inner().unwrap_or_else(PoisonError::into_inner);
        if fresh.is_empty() {
            return;
        }
        let old = if self.stored.len() + fresh.len() > MAX_RECORDS {
            HashMap::new()
        } else {
            self.stored
        };
        let mut records: Vec<(Digest, u32)> = old.into_iter().chain(fresh).collect();
        records.sort_unstable();
        let mut bytes = HEADER.to_vec();
        for (digest, count) in records {
            bytes.extend_from_slice(digest.as_bytes());
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        bytes.extend_from_slice(Digest::of(&bytes).as_bytes());
        write_index_file(self.context, INDEX_FILE, &bytes);
    }
}

/// Returns the bytes without the digest at their end, if it matches.
fn verify_checksum(bytes: &[u8]) -> Option<&[u8]> {
    let (stored, digest) = bytes.split_last_chunk::<32>()?;
    (Digest::of(stored).as_bytes() == digest).then_some(stored)
}

fn decode_record(record: &[u8]) -> Option<(Digest, u32)> {
    let (digest, count) = record.split_at_checked(32)?;
    Some((Digest::from_bytes(digest.try_into().ok()?), u32::from_le_bytes(count.try_into().ok()?)))
}
