//! Parses source code with a limit on steps and not on time, so that the result is the same on
//! every machine.
//!
//! In an error state the parser keeps every possible interpretation, so adversarial input could
//! otherwise take gigabytes.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{Language, ParseOptions, ParseState, Parser, Tree};

/// Every text gets this many callbacks, in addition to those for its length.
const BASE_CALLBACKS: usize = 50;

/// When parsing is abandoned. The parser calls back about every hundred steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseLimits {
    /// A text of this many bytes gets one more callback.
    pub bytes_per_callback: usize,
    /// The parser may report an error state for this many consecutive callbacks.
    pub max_error_callbacks: usize,
}

thread_local! {
    // Creating a parser costs more than parsing a code block.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses a text; `None` if the parser needs more steps than the limits allow.
pub(crate) fn parse_bounded(language: &Language, text: &str, limits: ParseLimits) -> Option<Tree> {
    let (mut left, mut lost) = (BASE_CALLBACKS + text.len() / limits.bytes_per_callback, 0);
    let mut watch = |state: &ParseState| {
        left = left.saturating_sub(1);
        lost = if state.has_error() { lost + 1 } else { 0 };
        if left == 0 || lost > limits.max_error_callbacks {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let bytes = text.as_bytes();
    PARSER.with_borrow_mut(|parser| {
        parser.reset();
        parser.set_language(language).ok()?;
        parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        )
    })
}
