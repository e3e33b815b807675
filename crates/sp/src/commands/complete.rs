//! `sp __complete`, which the completion scripts of the shells call.
//!
//! It prints one candidate per line, and nothing if something fails: a message would end up in the
//! middle of the line that the user types.

use std::ffi::OsString;
use std::io::Write;

use sp_engine::{CompletionValue, ProjectLocation, SinkScope};
use sp_formats::printable::printable;

use crate::cli::{COMPLETE_COMMAND, GlobalOptions, OutputFormat, complete_words};
use crate::environment;
use crate::terminal::{Terminal, Verbosity};

/// Answers a request of a completion script. Returns false if the arguments are none.
pub(crate) fn answer(arguments: &[OsString]) -> bool {
    let [_, command, shell, rest @ ..] = arguments else { return false };
    if *command != COMPLETE_COMMAND {
        return false;
    }
    let rest: Option<Vec<String>> =
        rest.iter().map(|argument| argument.to_str().map(str::to_owned)).collect();
    let Some(rest) = rest else { return true };
    let lines = match (shell.to_str(), rest.as_slice()) {
        (Some("bash"), [line, current]) => bash_candidates(line, current),
        (Some("zsh"), words) => {
            candidates(words).iter().map(|it| zsh_line(&it.value, &it.description)).collect()
        }
        (Some("fish"), words) => {
            let line = |it: &CompletionValue| format!("{}\t{}", it.value, it.description);
            candidates(words).iter().map(line).collect()
        }
        _ => Vec::new(),
    };
    let mut out = std::io::stdout().lock();
    for line in lines {
        // The shell may have stopped reading.
        let _ = writeln!(out, "{line}");
    }
    true
}

/// Returns what can replace the last word, sorted, each candidate once.
fn candidates(words: &[String]) -> Vec<CompletionValue> {
    let Some(last) = words.last() else { return Vec::new() };
    let completion = complete_words(words);
    let mut values = completion.fixed;
    if let Some(kind) = completion.kind {
        let terminal = Terminal::new(OutputFormat::Plain, Verbosity::Normal);
        let options = GlobalOptions::default();
        if let Ok(context) = environment::context(&options, &terminal) {
            let scope = if completion.is_global { SinkScope::Global } else { SinkScope::Project };
            let location = ProjectLocation { scope, root: completion.root.map(Into::into) };
            values.extend(sp_engine::completion_values(&context, kind, &location));
        }
    }
    for value in &mut values {
        value.value = format!("{}{}", completion.prefix, value.value);
    }
    // A name with control characters could break the protocol, or the terminal.
    let is_plain = |text: &str| printable(text) == text && !text.contains(['\n', '\t']);
    values.retain(|it| it.value.starts_with(last.as_str()) && is_plain(&it.value));
    for value in &mut values {
        value.description = printable(value.description.lines().next().unwrap_or_default()).into();
    }
    values.sort_by(|a, b| a.value.cmp(&b.value));
    values.dedup_by(|a, b| a.value == b.value);
    values
}

/// Bash splits words at `=`, `:` and `@`, and replaces only the last piece, `current`.
fn bash_candidates(line: &str, current: &str) -> Vec<String> {
    let words = split_line(line);
    let last = words.last().map_or("", String::as_str);
    let kept = last.strip_suffix(current).map_or(0, str::len);
    let candidates = candidates(words.get(1..).unwrap_or_default());
    candidates.iter().filter_map(|it| it.value.get(kept..)).map(escape_for_bash).collect()
}

/// Splits a line as a shell does, as far as it was typed. The last word is empty after a space.
fn split_line(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quote, mut in_word) = (None, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let word = words.len() - 1;
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, in_word) = (Some(c), true),
            (None | Some('"'), '\\') => words[word].extend(chars.next()),
            (None, c) if c.is_whitespace() => {
                if in_word {
                    words.push(String::new());
                }
                in_word = false;
            }
            (_, c) => {
                words[word].push(c);
                in_word = true;
            }
        }
    }
    words
}

/// Escapes what bash would interpret when the line is run.
fn escape_for_bash(value: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "/._-+=:@%,^".contains(c);
    value.chars().fold(String::new(), |mut text, c| {
        if !is_safe(c) {
            text.push('\\');
        }
        text.push(c);
        text
    })
}

/// Zsh separates the description by a colon.
fn zsh_line(value: &str, description: &str) -> String {
    let value = value.replace('\\', "\\\\").replace(':', "\\:");
    if description.is_empty() { value } else { format!("{value}:{description}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_a_shell_does() {
        for (line, expected) in [
            ("sp", &["sp"][..]),
            ("sp ", &["sp", ""]),
            ("sp install te", &["sp", "install", "te"]),
            ("sp  show 'a b' c\\ d", &["sp", "show", "a b", "c d"]),
            ("sp show \"a", &["sp", "show", "a"]),
        ] {
            assert_eq!(split_line(line), expected, "{line}");
        }
    }

    #[test]
    fn hostile_names_are_escaped_for_the_shell() {
        assert_eq!(escape_for_bash("team-1.0@x"), "team-1.0@x");
        assert_eq!(escape_for_bash("$(date)`;&|"), "\\$\\(date\\)\\`\\;\\&\\|");
        assert_eq!(zsh_line("a:b", "x"), "a\\:b:x");
    }

    #[test]
    fn bash_replaces_only_the_piece_after_its_word_break() {
        let agents = bash_candidates("sp install team --agent=claude,co", "claude,co");
        assert!(agents.contains(&"claude,codex".to_owned()), "{agents:?}");
        let agents = bash_candidates("sp install team -a curs", "curs");
        assert_eq!(agents, ["cursor"]);
        assert_eq!(bash_candidates("sp instal", "instal"), ["install", "installed"]);
    }
}
