//! Settings of `sp serve` from the environment and from a file.
//!
//! A flag `--some-flag` can also be set as `SP_SERVE_SOME_FLAG`, and as `some-flag` in the YAML
//! file of `--config`. They are added to the arguments, which are then parsed again. So all three
//! have the same names, values and errors. Flags take precedence over variables, and variables over
//! the file.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use sp_formats::suggest::nearest;
use sp_formats::yaml::{self, YamlNode};

const COMMAND: &str = "serve";
const CONFIG: &str = "config";
const VARIABLE_PREFIX: &str = "SP_SERVE_";
/// An older name of the variable of `--database`.
const DATABASE_VARIABLE: &str = "SP_DATABASE_URL";
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Where settings come from besides the arguments.
pub(crate) struct SettingSources<'a> {
    /// Returns an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Reads a file of limited size as text.
    pub read: &'a dyn Fn(&Path, u64) -> Result<String, String>,
}

/// Returns the arguments for the settings that are not among the arguments.
pub(super) fn additional_arguments(
    command: &mut Command,
    matches: &ArgMatches,
    sources: &SettingSources<'_>,
) -> clap::error::Result<Vec<OsString>> {
    let Some((COMMAND, own)) = matches.subcommand() else { return Ok(Vec::new()) };
    let Some(serve) = command.find_subcommand(COMMAND) else { return Ok(Vec::new()) };
    let known: Vec<&Arg> = settings(serve).collect();
    let (target, own) = match own.subcommand() {
        Some((name, below)) => (serve.find_subcommand(name).unwrap_or(serve), below),
        None => (serve, own),
    };
    let is_known = |arg: &&Arg| known.iter().any(|known| known.get_long() == arg.get_long());
    let missing = settings(target)
        .filter(is_known)
        .filter(|arg| own.value_source(arg.get_id().as_str()) != Some(ValueSource::CommandLine));
    let found = collect(missing.collect(), &known, (own, sources));
    found.map_err(|message| command.error(ErrorKind::ValueValidation, message))
}

/// The flags of a command that can be settings.
fn settings(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_setting =
        |arg: &&Arg| arg.get_long().is_some_and(|name| name != "check") && !arg.is_global_set();
    command.get_arguments().filter(is_setting)
}

fn collect(
    missing: Vec<&Arg>,
    known: &[&Arg],
    (own, sources): (&ArgMatches, &SettingSources<'_>),
) -> Result<Vec<OsString>, String> {
    let mut arguments = Vec::new();
    let variable = |name: &str| {
        let value = (sources.variable)(&variable_name(name)).filter(|value| !value.is_empty());
        let is_older = name == "database" && value.is_none();
        value.or_else(|| (sources.variable)(DATABASE_VARIABLE).filter(|_| is_older))
    };
    let given = own.try_get_one::<std::path::PathBuf>(CONFIG).ok().flatten();
    let file = match given.cloned().or_else(|| variable(CONFIG).map(Into::into)) {
        Some(path) => Some(read_file(&path, known, sources)?),
        None => None,
    };
    for arg in missing {
        let name = arg.get_long().unwrap_or_default();
        if let Some(value) = variable(name) {
            let values: Vec<String> = match arg.get_action() {
                ArgAction::Append => value.split(',').map(|part| part.trim().to_owned()).collect(),
                _ => vec![value],
            };
            add(&mut arguments, arg, &values, &variable_name(name))?;
        } else if let Some(node) = file.as_ref().and_then(|file| file.get(name)) {
            add(&mut arguments, arg, &node_values(node, name)?, &format!("`{name}`"))?;
        }
    }
    Ok(arguments)
}

fn variable_name(flag: &str) -> String {
    format!("{VARIABLE_PREFIX}{}", flag.replace('-', "_").to_ascii_uppercase())
}

fn read_file(
    path: &Path,
    known: &[&Arg],
    sources: &SettingSources<'_>,
) -> Result<YamlNode, String> {
    let shown = path.display();
    let text = (sources.read)(path, MAX_FILE_BYTES)
        .map_err(|why| format!("cannot read the configuration `{shown}`: {why}"))?;
    let parsed = yaml::parse(&text, &sp_engine::Limits::default());
    let node = parsed.map_err(|_| format!("the configuration `{shown}` is not valid YAML"))?;
    let names: Vec<&str> =
        known.iter().filter_map(|arg| arg.get_long()).filter(|name| *name != CONFIG).collect();
    for (key, _) in node.members() {
        if !names.contains(&key) {
            let similar = nearest(key, names.iter().copied());
            let help = similar.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            return Err(format!("unknown key `{key}` in the configuration `{shown}`{help}"));
        }
    }
    Ok(node)
}

/// Returns the values of a scalar or a list of scalars.
fn node_values(node: &YamlNode, name: &str) -> Result<Vec<String>, String> {
    let invalid = || format!("the value of `{name}` must be a scalar or a list of scalars");
    if let Some(text) = node.text() {
        return Ok(vec![text.to_owned()]);
    }
    let items: Vec<String> = node.items().filter_map(YamlNode::text).map(str::to_owned).collect();
    if items.is_empty() || items.len() != node.items().count() { Err(invalid()) } else { Ok(items) }
}

fn add(
    arguments: &mut Vec<OsString>,
    arg: &Arg,
    values: &[String],
    origin: &str,
) -> Result<(), String> {
    let name = arg.get_long().unwrap_or_default();
    match (arg.get_action(), values) {
        (ArgAction::SetTrue, [value]) => match value.as_str() {
            "true" => arguments.push(format!("--{name}").into()),
            "false" => {}
            _ => return Err(format!("{origin} must be `true` or `false`")),
        },
        (ArgAction::Append, values) => {
            arguments.extend(values.iter().map(|value| format!("--{name}={value}").into()));
        }
        (_, [value]) => arguments.push(format!("--{name}={value}").into()),
        _ => return Err(format!("{origin} must be a single value")),
    }
    Ok(())
}
