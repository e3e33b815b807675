//! The progress of the generation of a context pack.

use crate::context::{Context, Event};
use crate::error::Result;

/// The progress steps after the documents were read: collect, select, compose.
const STEPS_AFTER_READING: usize = 3;

/// Progress of the generation: a step for each document that is read, and one for each later stage.
pub(super) struct GenerationProgress<'a> {
    context: &'a Context<'a>,
    done: usize,
    total: usize,
}

impl<'a> GenerationProgress<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, done: 0, total: STEPS_AFTER_READING }
    }

    /// Adds the documents that will be read.
    pub(super) fn add_documents(&mut self, count: usize) {
        self.total += count;
    }

    /// Fails if the command was cancelled.
    pub(super) fn check_cancelled(&self) -> Result<()> {
        self.context.check_cancelled()
    }

    /// Reports a finished step. Fails if the command was cancelled.
    pub(super) fn advance(&mut self) -> Result<()> {
        self.done += 1;
        self.context.emit(Event::Composing { done: self.done, total: self.total });
        self.context.check_cancelled()
    }
}
