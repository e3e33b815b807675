//! Lines and columns of ascending offsets, in one pass.

/// The current offset with its line and column, counted like in reports.
#[derive(Debug, Default)]
pub(crate) struct PositionCounter {
    offset: usize,
    lines: usize,
    characters: usize,
}

impl PositionCounter {
    /// Advances to an offset, which must not be before the current one.
    pub(crate) fn advance(&mut self, text: &str, to: usize) {
        let passed = &text[self.offset..to];
        match passed.rfind('\n') {
            Some(last) => {
                self.lines += passed.bytes().filter(|byte| *byte == b'\n').count();
                self.characters = passed[last + 1..].chars().count();
            }
            None => self.characters += passed.chars().count(),
        }
        self.offset = to;
    }

    pub(crate) fn line(&self) -> u32 {
        to_one_based(self.lines)
    }

    pub(crate) fn column(&self) -> u32 {
        to_one_based(self.characters)
    }
}

fn to_one_based(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
}
