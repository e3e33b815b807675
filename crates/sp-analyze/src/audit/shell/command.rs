//! A command with its words and its input.

use std::ops::Range;

use super::ShellWord;
use super::arguments::base_name;
use crate::audit::value::ScriptValue;
use crate::hosts::{external_host, host_ranges};

/// A command with its input.
pub(super) struct ShellCommand {
    /// The name without directories.
    pub program: String,
    pub name: ShellWord,
    pub arguments: Vec<ShellWord>,
    pub stdin: ScriptValue,
    pub span: Range<usize>,
}

impl ShellCommand {
    pub(super) fn new(
        words: Vec<ShellWord>,
        stdin: ScriptValue,
        span: Range<usize>,
    ) -> Option<Self> {
        let mut words = words.into_iter();
        let name = words.next()?;
        let program = base_name(name.value.text.trim()).to_owned();
        Some(Self { program, name, arguments: words.collect(), stdin, span })
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        self.arguments.iter().map(|word| word.value.text.as_str()).collect()
    }

    pub(super) fn has_flag(&self, flags: &[&str]) -> bool {
        self.arguments.iter().any(|word| flags.contains(&word.value.text.as_str()))
    }

    /// Whether a cluster of short options, such as `-rf`, has a letter.
    pub(super) fn has_letter(&self, letter: char) -> bool {
        self.arguments.iter().any(|word| {
            let text = &word.value.text;
            text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
        })
    }

    /// The value after an option.
    pub(super) fn option(&self, names: &[&str]) -> Option<&ShellWord> {
        let at =
            self.arguments.iter().position(|word| names.contains(&word.value.text.as_str()))?;
        self.arguments.get(at + 1)
    }

    pub(super) fn operands(&self) -> impl Iterator<Item = &ShellWord> {
        self.arguments.iter().filter(|word| !word.value.text.starts_with('-'))
    }

    /// The input and all arguments.
    pub(super) fn everything(&self) -> ScriptValue {
        let mut all = self.stdin.clone();
        for word in &self.arguments {
            all.absorb(&word.value);
        }
        all
    }
}

/// The first host of the URLs in a text.
pub(super) fn first_host(text: &str) -> Option<String> {
    host_ranges(text).find_map(|range| external_host(&text[range]))
}
