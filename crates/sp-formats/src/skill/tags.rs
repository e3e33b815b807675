//! Tags in descriptions, such as `#run/always`.
//!
//! SkillBag makes tags part of the description. After an unquoted value, YAML reads ` #` as the
//! start of a comment, so [`commented_tags`] returns the tags that it drops.

use std::ops::Range;

/// Parses a tag of the form `#group/name`, and returns it without `#`. Punctuation may follow.
pub(crate) fn parse_tag(word: &str) -> Option<&str> {
    let tag = word.strip_prefix('#')?.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
    let (group, name) = tag.split_once('/')?;
    (is_tag_part(group) && is_tag_part(name)).then_some(tag)
}

fn is_tag_part(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Returns the span of the tags after a value on the same line, which YAML reads as a comment.
///
/// The comment must start with a tag. Words after it belong to the description too, up to the next
/// ` #` that does not start a tag.
pub(super) fn commented_tags(text: &str, value_end: usize) -> Option<Range<usize>> {
    let line = text.get(value_end..)?.split(['\r', '\n']).next().unwrap_or_default();
    let comment = line.trim_start();
    let start = value_end + (line.len() - comment.len());
    if start == value_end || !starts_with_tag(comment) {
        return None;
    }
    let end = comment_start(comment).unwrap_or(comment.len());
    Some(start..start + comment[..end].trim_end().len())
}

/// Returns the position of the first ` #` that does not start a tag.
pub(super) fn comment_start(text: &str) -> Option<usize> {
    text.match_indices(" #").map(|(at, _)| at).find(|at| !starts_with_tag(&text[at + 1..]))
}

fn starts_with_tag(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| parse_tag(word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_23_tags_after_a_value_end_before_a_real_comment() {
        for (line, expected) in [
            ("Sweeps. #run/always", Some("#run/always")),
            ("Sweeps.  #run/always #run/last ", Some("#run/always #run/last")),
            ("Sweeps. #use/a, then rests. #run/last", Some("#use/a, then rests. #run/last")),
            ("Sweeps. #run/always # for now", Some("#run/always")),
            ("Sweeps.\t#run/always\r\nnext: 1", Some("#run/always")),
            ("Sweeps. # run/always", None),
            ("Sweeps. #todo", None),
            ("Sweeps. #1/2/3", None),
            ("Sweeps. more #run/always", None),
            ("Sweeps.#run/always", None),
            ("Sweeps.\n #run/always", None),
        ] {
            let tags = commented_tags(line, "Sweeps.".len()).map(|span| &line[span]);
            assert_eq!(tags, expected, "{line:?}");
        }
        assert_eq!(commented_tags("x", 5), None);
    }
}
