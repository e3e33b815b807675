//! A marked block in somebody else's file: it is put in, replaced and taken out, and every other byte stays.
//!
//! The first mark says what was put between the user's text and the block, so that taking it out gives
//! the file back exactly, and what the block held, so that edits in it are noticed.

use std::ops::Range;

use sp_tree::Digest;

const BEGIN: &str = "<!-- skillpack:begin ";
const END: &str = "<!-- skillpack:end -->\n";
const HASH_DIGITS: usize = 16;

/// Why a block cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// Somebody edited it.
    #[error("the block between `skillpack:begin` and `skillpack:end` was edited")]
    Edited,
    /// The marks are not as we write them.
    #[error("the marks `skillpack:begin` and `skillpack:end` are broken")]
    Broken,
}

/// A block that stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The pack that it is from.
    pub pack_id: String,
    /// The block with its marks, and with what joins it to the text before it.
    pub whole: Range<usize>,
    /// What joins it.
    glue: usize,
    is_edited: bool,
}

/// The block that stands in a text, if one does.
pub fn find(text: &str) -> Result<Option<Block>, BlockError> {
    let Some(begin) = text.find(BEGIN) else { return Ok(None) };
    let after = begin + BEGIN.len();
    let line = text[after..].find(" -->\n").map(|end| after + end).ok_or(BlockError::Broken)?;
    let words: Vec<&str> = text[after..line].split(' ').collect();
    let [pack_id, glue, hash] = words.as_slice() else { return Err(BlockError::Broken) };
    let glue: usize = glue.strip_prefix("glue=").and_then(|glue| glue.parse().ok()).ok_or(BlockError::Broken)?;
    let hash = hash.strip_prefix("sha256=").ok_or(BlockError::Broken)?;
    let body = line + " -->\n".len();
    let end = text[body..].find(END).map(|end| body + end).ok_or(BlockError::Broken)?;
    let start = begin.checked_sub(glue).ok_or(BlockError::Broken)?;
    if text[start..begin].bytes().any(|byte| byte != b'\n') || text[end..].matches(BEGIN).count() > 0 {
        return Err(BlockError::Broken);
    }
    let is_edited = short_hash(&text[body..end]) != hash;
    Ok(Some(Block { pack_id: (*pack_id).to_owned(), whole: start..end + END.len(), glue, is_edited }))
}

/// The text with this block: in the place of the one that is there, or at the end.
pub fn put(text: &str, pack_id: &str, body: &str) -> Result<String, BlockError> {
    match find(text)? {
        Some(block) if block.is_edited => Err(BlockError::Edited),
        Some(block) => {
            let joined = written(pack_id, body, block.glue);
            Ok(format!("{}{joined}{}", &text[..block.whole.start], &text[block.whole.end..]))
        }
        None => {
            let glue = match text {
                "" => 0,
                text if text.ends_with("\n\n") => 0,
                text if text.ends_with('\n') => 1,
                _ => 2,
            };
            Ok(format!("{text}{}", written(pack_id, body, glue)))
        }
    }
}

/// The text without the block; none if there is none.
pub fn take_out(text: &str) -> Result<Option<String>, BlockError> {
    match find(text)? {
        None => Ok(None),
        Some(block) if block.is_edited => Err(BlockError::Edited),
        Some(block) => Ok(Some(format!("{}{}", &text[..block.whole.start], &text[block.whole.end..]))),
    }
}

fn written(pack_id: &str, body: &str, glue: usize) -> String {
    // What would end the block early is not our mark.
    let body = body.replace("skillpack:end", "skillpack-end").replace("skillpack:begin", "skillpack-begin");
    let body = format!("{}\n", body.trim_end());
    format!("{}{BEGIN}{pack_id} glue={glue} sha256={} -->\n{body}{END}", "\n".repeat(glue), short_hash(&body))
}

fn short_hash(text: &str) -> String {
    Digest::of(text.as_bytes()).hex()[..HASH_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cp_14_what_is_put_in_and_taken_out_leaves_every_byte(before in "(?s).{0,80}", first in "(?s).{0,60}", second in "(?s).{0,60}") {
            prop_assume!(!before.contains("skillpack:"));
            let once = put(&before, "pk_1", &first).unwrap_or_default();
            prop_assert!(once.starts_with(&before));
            prop_assert_eq!(take_out(&once), Ok(Some(before.clone())));
            let twice = put(&once, "pk_2", &second).unwrap_or_default();
            prop_assert_eq!(&twice, &put(&before, "pk_2", &second).unwrap_or_default());
            let more = format!("{twice}More.\n");
            prop_assert_eq!(take_out(&more), Ok(Some(format!("{before}More.\n"))));
        }
    }

    #[test]
    fn cp_14_edits_in_a_block_are_noticed_and_broken_marks_are_not_guessed_at() {
        let text = put("Mine.\n", "pk_1", "Theirs.").unwrap_or_default();
        assert_eq!(take_out(&text.replace("Theirs.", "Ours.")), Err(BlockError::Edited));
        assert_eq!(put(&text.replace("Theirs.", "Ours."), "pk_2", "x"), Err(BlockError::Edited));
        assert_eq!(take_out(&text.replace("skillpack:end", "skillpack")), Err(BlockError::Broken));
        assert_eq!(take_out(&text.replace("glue=1", "glue=9999")), Err(BlockError::Broken));
        assert_eq!(take_out("Mine.\n"), Ok(None));
    }
}
