//! What help texts have beyond the doc comments: groups of commands, examples, and a line with the
//! options that every command takes.

use std::fmt::Write as _;

use anstyle::Style;
use clap::Command;

use super::examples::examples_of;

const HEADING: Style = Style::new().bold().underline();
const LITERAL: Style = Style::new().bold();

/// The commands by task, in the order of the help.
const GROUPS: &[CommandGroup] = &[
    CommandGroup { path: &[], title: "Start", commands: &["init"] },
    CommandGroup {
        path: &[],
        title: "Projects",
        commands: &[
            "add", "sync", "remove", "update", "outdated", "status", "why", "diff", "restore",
            "adopt", "disable", "enable", "migrate",
        ],
    },
    CommandGroup {
        path: &[],
        title: "Skills",
        commands: &["list", "packs", "show", "install", "switch", "uninstall", "installed", "bag"],
    },
    CommandGroup {
        path: &[],
        title: "Check",
        commands: &["check", "audit", "policy", "cost", "explain"],
    },
    CommandGroup {
        path: &[],
        title: "Share",
        commands: &[
            "pkg",
            "publish",
            "publisher",
            "search",
            "info",
            "yank",
            "login",
            "logout",
            "key",
        ],
    },
    CommandGroup { path: &[], title: "Knowledge", commands: &["context"] },
    CommandGroup { path: &[], title: "Serve", commands: &["serve", "mcp"] },
    CommandGroup {
        path: &[],
        title: "Configure",
        commands: &["config", "doctor", "clean", "schema", "completions", "man", "help"],
    },
    CommandGroup {
        path: &["context"],
        title: "Commands",
        commands: &[
            "new",
            "build",
            "check",
            "show",
            "diff",
            "seal",
            "zip",
            "unzip",
            "install",
            "uninstall",
            "push",
            "url",
            "revoke",
            "kb",
            "help",
        ],
    },
    CommandGroup {
        path: &["pkg"],
        title: "Create",
        commands: &["create", "merge", "touch", "reinforce", "prune"],
    },
    CommandGroup {
        path: &["pkg"],
        title: "Use",
        commands: &["install", "uninstall", "rollback", "load", "query", "graph", "stale"],
    },
    CommandGroup {
        path: &["pkg"],
        title: "Store",
        commands: &["list", "info", "log", "diff", "verify", "import", "export", "remove"],
    },
    CommandGroup {
        path: &["pkg"],
        title: "Transfer",
        commands: &["send", "receive", "inbox", "help"],
    },
];

/// Commands whose short help describes only a few of the commands below them, and names the others.
const MAIN_COMMANDS: &[MainCommands] = &[
    MainCommands {
        path: &[],
        commands: &["init", "add", "sync", "install", "installed", "check", "audit"],
    },
    MainCommands {
        path: &["pkg"],
        commands: &["create", "install", "uninstall", "load", "list", "info", "verify"],
    },
];
/// The width of lists of names, which fits every terminal.
const LIST_WIDTH: usize = 78;

/// Commands that belong to one task.
struct CommandGroup {
    /// The command that they are below.
    path: &'static [&'static str],
    title: &'static str,
    commands: &'static [&'static str],
}

/// The commands below a command that most people need.
struct MainCommands {
    path: &'static [&'static str],
    commands: &'static [&'static str],
}

/// Adds groups, examples and the line of common options to a command and all below it.
pub(super) fn add_help(command: Command) -> Command {
    let footer = common_options(&command);
    add_below(command, &mut Vec::new(), &footer)
}

fn add_below(mut command: Command, path: &mut Vec<String>, footer: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for name in names {
        path.push(name.clone());
        command = command.mut_subcommand(name, |below| add_below(below, path, footer));
        path.pop();
    }
    let groups = grouped_commands(&command, path);
    if !groups.is_empty() {
        let short = main_commands(&command, path).unwrap_or_else(|| groups.clone());
        command = command.before_help(short).before_long_help(groups).help_template(
            "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{options}{after-help}",
        );
    }
    let examples = examples_text(path);
    let short = if MAIN_COMMANDS.iter().any(|main| main.path.iter().eq(path.iter())) {
        let name = ["sp"].into_iter().chain(path.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join(" ");
        format!(
            "{footer}\n`{LITERAL}{name} --help{LITERAL:#}` describes all commands, \
             `{LITERAL}{name} <COMMAND> -h{LITERAL:#}` one of them"
        )
    } else {
        format!("{examples}\n{footer}")
    };
    command.after_help(short.trim_start().to_owned()).after_long_help(examples)
}

/// Describes the main commands, and names all by task. Returns `None` if all can be described.
fn main_commands(command: &Command, path: &[String]) -> Option<String> {
    let main = MAIN_COMMANDS.iter().find(|main| main.path.iter().eq(path.iter()))?.commands;
    let mut text = format!("{HEADING}Common commands:{HEADING:#}\n");
    let width = main.iter().map(|name| name.len()).max().unwrap_or(0);
    for name in main {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "  {LITERAL}{name:width$}{LITERAL:#}  {about}");
    }
    let _ = writeln!(text, "\n{HEADING}All commands:{HEADING:#}");
    let groups = || GROUPS.iter().filter(|group| group.path.iter().eq(path.iter()));
    let width = groups().map(|group| group.title.len()).max().unwrap_or(0);
    for group in groups() {
        let mut line = format!("  {:width$}", group.title);
        for name in group.commands {
            if line.len() + 2 + name.len() > LIST_WIDTH {
                let _ = writeln!(text, "{line}");
                line = " ".repeat(width + 2);
            }
            let _ = write!(line, "  {name}");
        }
        let _ = writeln!(text, "{line}");
    }
    Some(text)
}

/// Lists the commands of each group, each with its summary.
fn grouped_commands(command: &Command, path: &[String]) -> String {
    let groups = || GROUPS.iter().filter(|group| group.path.iter().eq(path.iter()));
    let names = groups().flat_map(|group| group.commands);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for group in groups() {
        let _ = writeln!(text, "{HEADING}{}:{HEADING:#}", group.title);
        for name in group.commands {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(
                || "Print help for a command".to_owned(),
                std::string::ToString::to_string,
            );
            let _ = writeln!(text, "  {LITERAL}{name:width$}{LITERAL:#}  {about}");
        }
    }
    text
}

fn examples_text(path: &[String]) -> String {
    let examples = examples_of(path);
    if examples.is_empty() {
        return String::new();
    }
    let mut text = format!("{HEADING}Examples:{HEADING:#}\n");
    for example in examples {
        let _ = writeln!(text, "  {LITERAL}{example}{LITERAL:#}");
    }
    text
}

/// Lists the names of the options that every command takes, for short help.
fn common_options(root: &Command) -> String {
    let options = root.get_arguments().filter(|arg| arg.is_global_set());
    let names: Vec<String> = options
        .map(|arg| match (arg.get_short(), arg.get_long()) {
            (Some(short), _) => format!("-{short}"),
            (None, long) => format!("--{}", long.unwrap_or_default()),
        })
        .collect();
    format!("{HEADING}Common options:{HEADING:#} {}", names.join(" "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::command;

    /// Calls `visit` with every command and its path.
    fn for_each_command(visit: &mut dyn FnMut(&[String], &Command)) {
        fn below(
            command: &Command,
            path: &mut Vec<String>,
            visit: &mut dyn FnMut(&[String], &Command),
        ) {
            visit(path, command);
            for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
                path.push(child.get_name().to_owned());
                below(child, path, visit);
                path.pop();
            }
        }
        below(&command(), &mut Vec::new(), visit);
    }

    #[test]
    fn groups_list_every_command_once() {
        for path in [&[][..], &["pkg"], &["context"]] {
            let root = command();
            let parent = path.iter().try_fold(&root, |at, name| at.find_subcommand(name)).unwrap();
            let expected: BTreeSet<&str> = parent
                .get_subcommands()
                .filter(|below| !below.is_hide_set())
                .map(Command::get_name)
                .chain(["help"])
                .collect();
            let groups = GROUPS.iter().filter(|group| group.path == path);
            let listed: Vec<&str> = groups.flat_map(|group| group.commands).copied().collect();
            assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), expected);
            assert_eq!(listed.len(), expected.len());
        }
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        for_each_command(&mut |path, command| {
            if command.has_subcommands() && !command.get_arguments().any(|arg| !arg.is_global_set())
            {
                return;
            }
            let examples = examples_of(path);
            assert!(!examples.is_empty(), "{path:?} has no example");
            for example in examples {
                let words = crate::cli::hints::split_words(example);
                let parsed = crate::cli::parse(words.iter().map(Into::into));
                assert!(parsed.is_ok(), "`{example}`: {}", parsed.err().unwrap());
                assert!(words[1..].starts_with(path), "`{example}` is not an example of {path:?}");
            }
        });
    }

    #[test]
    fn short_help_fits_a_screen() {
        for_each_command(&mut |path, command| {
            let help = command.clone().term_width(80).render_help().to_string();
            let lines = help.lines().count();
            let max = if path.is_empty() { MAX_ROOT_LINES } else { MAX_LINES };
            assert!(lines <= max, "the help of {path:?} has {lines} lines:\n{help}");
            let is_long = |line: &&str| line.chars().count() > 80;
            assert_eq!(help.lines().find(is_long), None, "{path:?}");
        });
    }

    /// The usual height of a terminal.
    const MAX_LINES: usize = 24;
    /// `sp -h` names all commands.
    const MAX_ROOT_LINES: usize = 29;

    #[test]
    fn short_help_of_every_command_at_80_columns() {
        let mut root = command().term_width(80);
        root.build();
        let mut pages = String::new();
        write_pages(&mut root, "sp", &mut pages);
        insta::assert_snapshot!("short_help", pages);
    }

    fn write_pages(command: &mut Command, name: &str, pages: &mut String) {
        let help = command.render_help().to_string();
        *pages += &format!("$ {name} -h\n{help}\n");
        for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
            let name = format!("{name} {}", below.get_name());
            write_pages(below, &name, pages);
        }
    }

    #[test]
    fn summaries_are_short_imperatives_without_a_period() {
        for_each_command(&mut |path, command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.starts_with(|c: char| c.is_ascii_uppercase()), "{path:?}: {about}");
            assert!(!about.ends_with('.') && about.chars().count() <= 61, "{path:?}: {about}");
        });
    }
}
