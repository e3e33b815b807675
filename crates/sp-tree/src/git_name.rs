//! Names that git reads as its directory `.git`.
//!
//! Git runs programs named in `.git/config`, so an untrusted file below such a name would run code
//! at the next `git status`. Which names these are depends on the file system: case may be ignored,
//! Windows drops trailing dots and spaces and has short names and streams, and several file systems
//! ignore invisible code points. [`is_git_dir`] accepts the union of all of them on every platform,
//! because a tree is read on one machine and written on another. It is deliberately wider than
//! git's own protection; no legitimate file has such a name.

use unicode_normalization::UnicodeNormalization;

use crate::fold::fold_name;

/// Whether any file system opens `.git` for this path segment.
pub(crate) fn is_git_dir(segment: &str) -> bool {
    // On Windows, a colon starts a stream name and a backslash ends the segment.
    let name = segment.split([':', '\\']).next().unwrap_or(segment);
    if name.is_ascii() {
        return is_ascii_git_dir(name);
    }
    let visible: String = name.chars().filter(|c| !is_ignorable(*c)).nfkd().collect();
    is_ascii_git_dir(&fold_name(&visible))
}

fn is_ascii_git_dir(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']);
    if name.eq_ignore_ascii_case(".git") {
        return true;
    }
    // The NTFS short name of `.git`; the number depends on the other entries of the directory.
    let short = name.split_at_checked(4).filter(|(stem, _)| stem.eq_ignore_ascii_case("git~"));
    short.is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The code points with the property Default_Ignorable_Code_Point. HFS+ ignores some of them in
/// names, and ext4 and F2FS ignore all of them in case-insensitive directories.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
