//! `--format`: the output formats, and which command supports which.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, ValueEnum};

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people, fitted to the terminal
    #[default]
    Human,
    /// One item per line, fields separated by tabs
    Plain,
    /// JSON as documented in docs/json.md
    Json,
    /// SARIF, for code scanning
    Sarif,
    /// Annotations in GitHub workflows
    Github,
    /// Markdown
    Md,
    /// XML
    Xml,
}

/// The formats of every command.
const COMMON: &[OutputFormat] = &[OutputFormat::Human, OutputFormat::Plain, OutputFormat::Json];

/// The commands that support further formats.
const FURTHER: &[(&[&str], &[OutputFormat])] = &[
    (&["check"], &[OutputFormat::Sarif, OutputFormat::Github]),
    (&["audit"], &[OutputFormat::Sarif, OutputFormat::Github]),
    (&["bag", "check"], &[OutputFormat::Sarif, OutputFormat::Github]),
    (&["context", "check"], &[OutputFormat::Sarif, OutputFormat::Github]),
    (&["pkg", "load"], &[OutputFormat::Md, OutputFormat::Xml]),
];

/// Returns a parser of the formats that every command supports.
pub(super) fn common() -> impl TypedValueParser<Value = OutputFormat> {
    parser(COMMON)
}

fn parser(formats: &[OutputFormat]) -> impl TypedValueParser<Value = OutputFormat> + use<> {
    let values = formats.iter().filter_map(OutputFormat::to_possible_value);
    PossibleValuesParser::new(values)
        .try_map(|text| <OutputFormat as ValueEnum>::from_str(&text, false))
}

/// Lets each command accept and list exactly the formats that it supports.
pub(super) fn restrict_formats(command: Command) -> Command {
    let Some(common) = command.get_arguments().find(|arg| arg.get_id() == "format").cloned() else {
        return command;
    };
    FURTHER.iter().fold(command, |command, (path, further)| {
        let formats = [COMMON, further].concat();
        // An argument of a subcommand hides the global one with the same ID.
        add_arg(command, path, common.clone().value_parser(parser(&formats)))
    })
}

fn add_arg(command: Command, path: &[&str], arg: Arg) -> Command {
    match path {
        [] => command.arg(arg),
        [name, rest @ ..] => command.mut_subcommand(name, |below| add_arg(below, rest, arg)),
    }
}
