//! The index of a parsed text: the byte span of every value, in document order.
//!
//! A document may have millions of values, so a value costs eight bytes ([`JsonSlot`]). Objects and
//! arrays, which are fewer, have an additional [`JsonContainer`] in a list of their own.

/// The span of a value or a key. A key comes right before its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonSlot {
    pub start: u32,
    pub end: u32,
}

/// An object or array, and the position after everything inside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonContainer {
    pub slot: u32,
    pub end: JsonCursor,
}

/// A position in the index: a slot, and the first container at or after it. With both, a walk over
/// values never has to search, because containers are sorted by slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonCursor {
    pub slot: u32,
    pub container: u32,
}

impl JsonCursor {
    /// The container that starts at this position.
    pub(super) fn container(self, containers: &[JsonContainer]) -> Option<&JsonContainer> {
        containers.get(self.container as usize).filter(|container| container.slot == self.slot)
    }

    /// The position after the value at this position and everything inside it.
    pub(super) fn after(self, containers: &[JsonContainer]) -> Self {
        self.container(containers)
            .map_or(Self { slot: self.slot + 1, ..self }, |container| container.end)
    }
}
