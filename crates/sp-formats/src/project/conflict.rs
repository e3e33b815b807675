//! Conflict markers of git in a text file.
//!
//! [`split_sides`] separates a file with conflict markers into the texts of both sides.

use std::ops::Range;

use thiserror::Error;

const OURS: &str = "<<<<<<<";
const BASE: &str = "|||||||";
const MIDDLE: &str = "=======";
const THEIRS: &str = ">>>>>>>";

/// The versions of a file that a merge could not unite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeSides {
    pub ours: String,
    pub theirs: String,
    /// The common ancestor, if every conflict contains its part of it.
    pub base: Option<String>,
}

/// A conflict marker that is missing or in the wrong place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unexpected or missing conflict marker")]
pub struct DamagedConflict {
    pub span: Range<usize>,
}

/// Which part of a conflict a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConflictPart {
    Outside,
    Ours,
    Base,
    Theirs,
}

fn is_marker(line: &str, marker: &str) -> bool {
    let line = line.trim_end_matches(['\n', '\r']);
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns the position of the first conflict marker, if the text has one.
pub fn has_conflict_markers(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if is_marker(line, OURS) || is_marker(line, THEIRS) || is_marker(line, BASE) {
            return Some(start..start + line.trim_end().len());
        }
        start += line.len();
    }
    None
}

/// Separates the sides of all conflicts in a text. `None` if it has no conflict.
pub fn split_sides(text: &str) -> Result<Option<MergeSides>, DamagedConflict> {
    if has_conflict_markers(text).is_none() {
        return Ok(None);
    }
    let mut sides = SideSplitter::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        sides.add_line(line).map_err(|()| DamagedConflict { span })?;
        start += line.len();
    }
    if sides.part != ConflictPart::Outside {
        return Err(DamagedConflict { span: text.len()..text.len() });
    }
    let SideSplitter { ours, theirs, base, lacks_base, .. } = sides;
    Ok(Some(MergeSides { ours, theirs, base: (!lacks_base).then_some(base) }))
}

struct SideSplitter {
    part: ConflictPart,
    ours: String,
    theirs: String,
    base: String,
    has_base: bool,
    /// Whether a conflict has no part of the common ancestor.
    lacks_base: bool,
}

impl Default for SideSplitter {
    fn default() -> Self {
        Self {
            part: ConflictPart::Outside,
            ours: String::new(),
            theirs: String::new(),
            base: String::new(),
            has_base: false,
            lacks_base: false,
        }
    }
}

impl SideSplitter {
    fn add_line(&mut self, line: &str) -> Result<(), ()> {
        use ConflictPart::{Base, Ours, Outside, Theirs};
        let next = if is_marker(line, OURS) {
            (self.part == Outside).then_some(Ours)
        } else if is_marker(line, BASE) {
            self.has_base = true;
            (self.part == Ours).then_some(Base)
        } else if is_marker(line, MIDDLE) && self.part != Outside {
            self.lacks_base |= !self.has_base;
            self.has_base = false;
            matches!(self.part, Ours | Base).then_some(Theirs)
        } else if is_marker(line, THEIRS) {
            (self.part == Theirs).then_some(Outside)
        } else {
            self.push(line);
            return Ok(());
        };
        self.part = next.ok_or(())?;
        Ok(())
    }

    fn push(&mut self, line: &str) {
        let (ours, base, theirs) = match self.part {
            ConflictPart::Outside => (true, true, true),
            ConflictPart::Ours => (true, false, false),
            ConflictPart::Base => (false, true, false),
            ConflictPart::Theirs => (false, false, true),
        };
        for (text, belongs) in
            [(&mut self.ours, ours), (&mut self.base, base), (&mut self.theirs, theirs)]
        {
            if belongs {
                text.push_str(line);
            }
        }
    }
}
