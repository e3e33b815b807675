//! Usage errors. They quote arguments, which can contain control characters.

use std::ffi::OsString;

use clap::error::Error;
use sp_engine::ErrorCode;
use sp_formats::printable::{printable, printable_lines};

use super::diagnostics::error_json;
use super::{WARNING, write_stderr};
use crate::cli::{Cli, SettingSources, parse, parse_with_settings, rewrite};

/// Parses the command line. Prints usage errors, help and the version; `Err` is the exit code.
pub(crate) fn parse_cli(arguments: Vec<OsString>, sources: &SettingSources<'_>) -> Result<Cli, u8> {
    let rewritten = rewrite(arguments);
    let arguments = &rewritten.arguments;
    for renamed in &rewritten.renamed {
        let [old, new] = [&renamed.old, &renamed.new].map(|text| printable(text).into_owned());
        write_stderr(&format!("{WARNING}warning:{WARNING:#} `{old}` is deprecated; use `{new}`\n"));
    }
    parse_with_settings(arguments, sources).map_err(|error| {
        if error.use_stderr() {
            let text = render_error(&error, arguments);
            write_stderr(&if requests_json(arguments) { usage_json(&text) } else { text });
        } else {
            // Help and the version quote no arguments. A closed stdout is not an error.
            drop(error.print());
        }
        u8::try_from(error.exit_code()).unwrap_or(u8::MAX)
    })
}

/// Renders an error with every hidden character in the arguments escaped.
fn render_error(error: &Error, arguments: &[OsString]) -> String {
    let shown: Vec<String> = arguments
        .iter()
        .map(|argument| printable(&argument.to_string_lossy()).into_owned())
        .collect();
    if shown.iter().zip(arguments).all(|(shown, argument)| **shown == **argument) {
        return error.render().ansi().to_string();
    }
    // Parsing the escaped arguments usually fails in the same way, with colors. If it does not,
    // escape the rendered text, which removes them.
    match parse(shown.iter().map(OsString::from)) {
        Err(escaped) if escaped.kind() == error.kind() => escaped.render().ansi().to_string(),
        _ => printable_lines(&error.render().to_string()) + "\n",
    }
}

/// Whether the arguments, which could not be parsed, ask for JSON.
fn requests_json(arguments: &[OsString]) -> bool {
    let options: Vec<&OsString> = arguments.iter().take_while(|text| **text != "--").collect();
    options.iter().any(|option| **option == "--format=json" || **option == "--json")
        || options.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json")
}

/// Turns a rendered usage error into JSON: its first line is the message, the others are hints.
fn usage_json(rendered: &str) -> String {
    let plain = anstream::adapter::strip_str(rendered).to_string();
    let mut lines = plain.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let error = sp_engine::Error::new(ErrorCode::InvalidArguments, message);
    error_json(&lines.fold(error, |error, line| error.hint(line.trim_start_matches("tip: "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_08_usage_errors_escape_hidden_characters_in_arguments() {
        for hidden in [
            "\u{1b}[35mx",
            "\u{9b}31m",
            "\u{85}",
            "a\u{202e}b",
            "\u{2066}",
            "\u{e0041}",
            "x\nerror: y",
            "\u{7f}",
        ] {
            for arguments in [
                vec!["sp", hidden],
                vec!["sp", "install", "--agent", hidden, "--no-such"],
                vec!["sp", "install", &format!("--{hidden}")],
                vec!["sp", "--format", hidden, "packs"],
                vec!["sp", "--limit", hidden, "packs"],
                vec!["sp", "packs", hidden, hidden],
            ] {
                let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
                let error = parse(arguments.clone()).unwrap_err();
                let text = render_error(&error, &arguments);
                let plain = anstream::adapter::strip_str(&text).to_string();
                assert!(!text.contains(hidden), "{arguments:?}: {text:?}");
                let allowed = |c: char| c == '\n' || !sp_formats::printable::is_hidden(c);
                assert!(plain.chars().all(allowed), "{arguments:?}: {plain:?}");
            }
        }
    }

    #[test]
    fn usage_errors_with_printable_arguments_are_rendered_by_clap() {
        let arguments: Vec<OsString> = ["sp", "--no-such"].iter().map(OsString::from).collect();
        let error = parse(arguments.clone()).unwrap_err();
        assert_eq!(render_error(&error, &arguments), error.render().ansi().to_string());
    }
}
