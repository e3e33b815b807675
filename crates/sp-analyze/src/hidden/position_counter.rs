//! Lines and columns of places that come in order, in one pass.

/// How far a text was counted: lines and columns as the reports count them.
#[derive(Debug, Default)]
pub(super) struct PositionCounter {
    offset: usize,
    lines: usize,
    characters: usize,
}

impl PositionCounter {
    /// Counts on to a byte that is not before the last one.
    pub(super) fn advance(&mut self, text: &str, to: usize) {
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

    pub(super) fn line(&self) -> u32 {
        to_one_based(self.lines)
    }

    pub(super) fn column(&self) -> u32 {
        to_one_based(self.characters)
    }
}

fn to_one_based(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
}
