//! A marked block in a file that belongs to the user.
//!
//! A block is inserted, replaced and removed without changing any other byte. The opening marker
//! records what was inserted between the user's text and the block, so that removal restores the
//! file exactly; the hash of the block, so that edits are detected; and whether the file existed
//! and was empty, because such a file stays, while a file created for the block is deleted with it.

use std::ops::Range;

use sp_tree::Digest;

const BEGIN_MARK: &str = "<!-- skillpack:begin ";
const END_MARK: &str = "<!-- skillpack:end -->\n";
const HASH_HEX_LEN: usize = 16;
/// The flag in the opening marker of a block that was inserted into an empty file.
const EMPTY_FILE_FLAG: &str = "file=empty";

/// Why a block cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarkedBlockError {
    /// The user edited the block.
    #[error("the block between `skillpack:begin` and `skillpack:end` was edited")]
    Edited,
    /// The markers are not as `sp` writes them.
    #[error("the markers `skillpack:begin` and `skillpack:end` are invalid")]
    Broken,
}

/// A block found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedBlock {
    /// The pack that the block is from.
    pub pack_id: String,
    /// The block with its markers and the separator before it.
    pub span: Range<usize>,
    /// The length of the separator.
    glue: usize,
    in_empty_file: bool,
    /// The digest of what is between the markers.
    pub content: Digest,
    is_edited: bool,
}

impl MarkedBlock {
    /// Whether the user edited the block.
    pub fn is_edited(&self) -> bool {
        self.is_edited
    }
}

/// A file after its block was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextWithoutBlock {
    /// Everything in the file except the block.
    pub text: String,
    /// Whether the file existed and was empty before the block was inserted.
    pub was_empty_file: bool,
}

impl TextWithoutBlock {
    /// The new content of the file, or `None` if the file was created for the block.
    pub fn into_content(self) -> Option<String> {
        (self.was_empty_file || !self.text.is_empty()).then_some(self.text)
    }
}

/// Returns the block in a text, if there is one.
pub fn find_block(text: &str) -> Result<Option<MarkedBlock>, MarkedBlockError> {
    let Some(begin) = text.find(BEGIN_MARK) else { return Ok(None) };
    let after = begin + BEGIN_MARK.len();
    let line =
        text[after..].find(" -->\n").map(|end| after + end).ok_or(MarkedBlockError::Broken)?;
    let words: Vec<&str> = text[after..line].split(' ').collect();
    let (pack_id, glue, hash, in_empty_file) = match words.as_slice() {
        [pack_id, glue, hash] => (pack_id, glue, hash, false),
        [pack_id, glue, hash, word] if *word == EMPTY_FILE_FLAG => (pack_id, glue, hash, true),
        _ => return Err(MarkedBlockError::Broken),
    };
    let glue: usize = glue
        .strip_prefix("glue=")
        .and_then(|glue| glue.parse().ok())
        .ok_or(MarkedBlockError::Broken)?;
    let hash = hash.strip_prefix("sha256=").ok_or(MarkedBlockError::Broken)?;
    let body = line + " -->\n".len();
    let end = text[body..].find(END_MARK).map(|end| body + end).ok_or(MarkedBlockError::Broken)?;
    let start = begin.checked_sub(glue).ok_or(MarkedBlockError::Broken)?;
    if text[start..begin].bytes().any(|byte| byte != b'\n')
        || text[end..].matches(BEGIN_MARK).count() > 0
    {
        return Err(MarkedBlockError::Broken);
    }
    let content = Digest::of(&text.as_bytes()[body..end]);
    let is_edited = content.hex()[..HASH_HEX_LEN] != *hash;
    Ok(Some(MarkedBlock {
        pack_id: (*pack_id).to_owned(),
        span: start..end + END_MARK.len(),
        glue,
        in_empty_file,
        content,
        is_edited,
    }))
}

/// Returns the file with this block, which replaces the present one or is appended. `None` is a
/// file that does not exist.
pub fn put_block(
    file: Option<&str>,
    pack_id: &str,
    body: &str,
) -> Result<String, MarkedBlockError> {
    let text = file.unwrap_or_default();
    match find_block(text)? {
        Some(block) if block.is_edited => Err(MarkedBlockError::Edited),
        Some(block) => {
            let joined = render_block(pack_id, body, block.glue, block.in_empty_file);
            Ok(format!("{}{joined}{}", &text[..block.span.start], &text[block.span.end..]))
        }
        None => {
            let glue = match text {
                "" => 0,
                text if text.ends_with("\n\n") => 0,
                text if text.ends_with('\n') => 1,
                _ => 2,
            };
            Ok(format!("{text}{}", render_block(pack_id, body, glue, file == Some(""))))
        }
    }
}

/// Returns the file without the block, or `None` if there is no block.
pub fn remove_block(text: &str) -> Result<Option<TextWithoutBlock>, MarkedBlockError> {
    match find_block(text)? {
        None => Ok(None),
        Some(block) if block.is_edited => Err(MarkedBlockError::Edited),
        Some(block) => {
            let text = format!("{}{}", &text[..block.span.start], &text[block.span.end..]);
            Ok(Some(TextWithoutBlock { text, was_empty_file: block.in_empty_file }))
        }
    }
}

fn render_block(pack_id: &str, body: &str, glue: usize, in_empty_file: bool) -> String {
    // A marker in the body would end the block early.
    let body = body
        .replace("skillpack:end", "skillpack-end")
        .replace("skillpack:begin", "skillpack-begin");
    let body = format!("{}\n", body.trim_end());
    let (newlines, hash) = ("\n".repeat(glue), short_hash(&body));
    let file = if in_empty_file { format!(" {EMPTY_FILE_FLAG}") } else { String::new() };
    format!("{newlines}{BEGIN_MARK}{pack_id} glue={glue} sha256={hash}{file} -->\n{body}{END_MARK}")
}

fn short_hash(text: &str) -> String {
    Digest::of(text.as_bytes()).hex()[..HASH_HEX_LEN].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cp_14_insert_and_remove_preserve_every_byte(before in "(?s).{0,80}", first in "(?s).{0,60}", second in "(?s).{0,60}") {
            prop_assume!(!before.contains("skillpack:"));
            let content_without_block =
                |text: &str| remove_block(text).map(|rest| rest.and_then(TextWithoutBlock::into_content));
            let inserted = put_block(Some(&before), "pk_1", &first).unwrap_or_default();
            prop_assert!(inserted.starts_with(&before));
            prop_assert_eq!(content_without_block(&inserted), Ok(Some(before.clone())));
            let replaced = put_block(Some(&inserted), "pk_2", &second).unwrap_or_default();
            prop_assert_eq!(&replaced, &put_block(Some(&before), "pk_2", &second).unwrap_or_default());
            let appended = format!("{replaced}More.\n");
            prop_assert_eq!(content_without_block(&appended), Ok(Some(format!("{before}More.\n"))));
        }
    }

    #[test]
    fn cp_14_empty_file_is_distinguished_from_missing_file() {
        for (file, rest) in [(None, None), (Some(""), Some(String::new()))] {
            let inserted = put_block(file, "pk_1", "One.").unwrap_or_default();
            let replaced = put_block(Some(&inserted), "pk_2", "Two.").unwrap_or_default();
            for text in [inserted, replaced] {
                assert_eq!(
                    remove_block(&text)
                        .map(|remainder| remainder.and_then(TextWithoutBlock::into_content)),
                    Ok(rest.clone()),
                    "{text}"
                );
            }
        }
        // Earlier versions did not write the `file` flag.
        let text = put_block(None, "pk_1", "One.").unwrap_or_default();
        assert!(text.starts_with("<!-- skillpack:begin pk_1 glue=0 sha256="), "{text}");
        assert_eq!(
            remove_block(&text.replace(" -->\n", " file=full -->\n")),
            Err(MarkedBlockError::Broken)
        );
    }

    #[test]
    fn cp_14_edited_blocks_and_broken_markers_are_errors() {
        let text = put_block(Some("Mine.\n"), "pk_1", "Theirs.").unwrap_or_default();
        assert_eq!(remove_block(&text.replace("Theirs.", "Ours.")), Err(MarkedBlockError::Edited));
        assert_eq!(
            put_block(Some(&text.replace("Theirs.", "Ours.")), "pk_2", "x"),
            Err(MarkedBlockError::Edited)
        );
        assert_eq!(
            remove_block(&text.replace("skillpack:end", "skillpack")),
            Err(MarkedBlockError::Broken)
        );
        assert_eq!(
            remove_block(&text.replace("glue=1", "glue=9999")),
            Err(MarkedBlockError::Broken)
        );
        assert_eq!(remove_block("Mine.\n"), Ok(None));
    }
}
