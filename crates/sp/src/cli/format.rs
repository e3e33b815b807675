//! `--format`: the output formats, and which command supports which.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, ArgMatches, Command, ValueEnum};

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

/// Lists the formats of a command, but accepts those of all commands: `--format` can be in front of
/// the command, where it is not known yet. [`check_format`] refuses the others.
#[derive(Debug, Clone)]
pub(super) struct FormatParser {
    listed: Vec<OutputFormat>,
}

impl FormatParser {
    /// Lists the formats that every command supports.
    pub(super) fn common() -> Self {
        Self { listed: COMMON.to_vec() }
    }
}

impl TypedValueParser for FormatParser {
    type Value = OutputFormat;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<OutputFormat, Error> {
        let from_str = |text: &str| <OutputFormat as ValueEnum>::from_str(text, false);
        if let Some(Ok(format)) = value.to_str().map(from_str) {
            return Ok(format);
        }
        let listed = PossibleValuesParser::new(possible_values(&self.listed));
        listed.try_map(move |text| from_str(&text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(possible_values(&self.listed)))
    }
}

fn possible_values(formats: &[OutputFormat]) -> impl Iterator<Item = PossibleValue> {
    formats.iter().filter_map(OutputFormat::to_possible_value)
}

/// Returns the formats that a command supports besides [`COMMON`].
fn further(path: &[&str]) -> &'static [OutputFormat] {
    FURTHER.iter().find(|(command, _)| *command == path).map_or(&[], |(_, formats)| formats)
}

/// Refuses a format that the command does not support.
pub(super) fn check_format(command: &Command, matches: &ArgMatches) -> Result<(), Error> {
    let (mut path, mut leaf) = (Vec::new(), matches);
    while let Some((name, below)) = leaf.subcommand() {
        path.push(name);
        leaf = below;
    }
    match leaf.try_get_one("format") {
        Ok(Some(format)) if ![COMMON, further(&path)].concat().contains(format) => {
            Err(unsupported(command, &path, format))
        }
        _ => Ok(()),
    }
}

/// Returns the same error as for a format that no command supports.
fn unsupported(command: &Command, path: &[&str], format: &OutputFormat) -> Error {
    let name = |format: &OutputFormat| format.to_possible_value().map(|it| it.get_name().into());
    let command = path.iter().try_fold(command, |command, name| command.find_subcommand(name));
    let mut error = Error::new(ErrorKind::InvalidValue);
    if let Some(command) = command {
        error = error.with_cmd(command);
    }
    error.insert(ContextKind::InvalidArg, ContextValue::String("--format <FORMAT>".into()));
    let value = ContextValue::String(name(format).unwrap_or_default());
    error.insert(ContextKind::InvalidValue, value);
    let values = [COMMON, further(path)].concat().iter().filter_map(name).collect();
    error.insert(ContextKind::ValidValue, ContextValue::Strings(values));
    if let Some((path, _)) = FURTHER.iter().find(|(_, formats)| formats.contains(format)) {
        let advice = format!("`sp {}` supports this format", path.join(" "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// Lets each command accept and list exactly the formats that it supports.
pub(super) fn restrict_formats(command: Command) -> Command {
    let Some(common) = command.get_arguments().find(|arg| arg.get_id() == "format").cloned() else {
        return command;
    };
    FURTHER.iter().fold(command, |command, (path, further)| {
        let formats = [COMMON, *further].concat();
        // An argument of a subcommand hides the global one with the same ID.
        add_arg(command, path, common.clone().value_parser(FormatParser { listed: formats }))
    })
}

fn add_arg(command: Command, path: &[&str], arg: Arg) -> Command {
    match path {
        [] => command.arg(arg),
        [name, rest @ ..] => command.mut_subcommand(name, |below| add_arg(below, rest, arg)),
    }
}
