//! Shell completion: which words can come next on a command line.
//!
//! The scripts of [`completion_script`] ask `sp __complete` for candidates whenever the user
//! presses Tab. This module finds out what the last word is, a command, an option or a value, from
//! the definitions of the commands. Names that only this machine knows come from the engine.

use clap::{Arg, Command};
use sp_engine::{CompletionKind, CompletionValue};

/// The name of the hidden command, which is not part of the definitions.
pub(crate) const COMPLETE_COMMAND: &str = "__complete";

/// The kinds of values by the command and the name of the value in its help. The first match
/// counts; an empty command matches every command.
const VALUE_KINDS: &[(&[&str], &str, CompletionKind)] = &[
    (&["uninstall"], "PACK", CompletionKind::InstalledPack),
    (&["install"], "PACK", CompletionKind::Pack),
    (&["switch"], "PACK", CompletionKind::Pack),
    (&["show"], "PACK", CompletionKind::Pack),
    (&["cost"], "PATH|PACK", CompletionKind::Pack),
    (&["bag"], "SKILL", CompletionKind::WorkspaceSkill),
    (&["pkg", "log"], "NAME", CompletionKind::Package),
    (&["pkg", "diff"], "BEFORE", CompletionKind::Package),
    (&["pkg", "diff"], "AFTER", CompletionKind::Package),
    (&["pkg", "create"], "SKILL", CompletionKind::Pack),
    (&[], "PACKAGE", CompletionKind::Package),
    (&["why"], "SKILL", CompletionKind::ProjectSkill),
    (&["diff"], "SKILL", CompletionKind::ProjectSkill),
    (&["restore"], "SKILL", CompletionKind::ProjectSkill),
    (&["disable"], "SKILL", CompletionKind::ProjectSkill),
    (&["enable"], "SKILL", CompletionKind::ProjectSkill),
    (&[], "SKILL|SOURCE", CompletionKind::ProjectItem),
    (&[], "AGENT", CompletionKind::Agent),
    (&[], "RULE", CompletionKind::Rule),
    (&[], "NAME=NUMBER", CompletionKind::Limit),
];

/// What completes the last word.
#[derive(Debug, Default)]
pub(crate) struct WordCompletion {
    /// Candidates that are known from the definitions.
    pub fixed: Vec<CompletionValue>,
    /// The kind of the names that the engine knows.
    pub kind: Option<CompletionKind>,
    /// What precedes the value in the last word, such as `--agent=` or `claude,`.
    pub prefix: String,
    /// The value of `--root` on the line.
    pub root: Option<String>,
    /// Whether the line has `--global`.
    pub is_global: bool,
}

/// Finds out what completes the last of these words, which follow the name of the program.
pub(crate) fn complete_words(words: &[String]) -> WordCompletion {
    let root = super::definitions();
    let Some((last, before)) = words.split_last() else { return WordCompletion::default() };
    let line = CommandLine::read(&root, before);
    let mut completion = WordCompletion {
        root: line.root_option.clone(),
        is_global: line.is_global,
        ..Default::default()
    };
    if let Some(option) = line.pending_option {
        complete_value(&line, option, last, &mut completion);
    } else if let Some((name, value)) = last.split_once('=').filter(|_| last.starts_with("--")) {
        if let Some(option) = line.long_option(&name[2..]) {
            completion.prefix = format!("{name}=");
            complete_value(&line, option, value, &mut completion);
        }
    } else if last.starts_with('-') && !line.after_dashes {
        completion.fixed = line.option_names();
    } else {
        if line.positionals == 0 && !line.after_dashes {
            completion.fixed = command_names(line.command);
        }
        if let Some(argument) = line.positional() {
            complete_value(&line, argument, last, &mut completion);
        }
    }
    completion
}

/// The words before the last one, as far as completion needs to know them.
struct CommandLine<'a> {
    root: &'a Command,
    command: &'a Command,
    /// The names of the subcommands.
    path: Vec<&'a str>,
    positionals: usize,
    after_dashes: bool,
    /// The option whose value is the last word.
    pending_option: Option<&'a Arg>,
    root_option: Option<String>,
    is_global: bool,
}

impl<'a> CommandLine<'a> {
    fn read(root: &'a Command, words: &[String]) -> Self {
        let mut line = Self {
            root,
            command: root,
            path: Vec::new(),
            positionals: 0,
            after_dashes: false,
            pending_option: None,
            root_option: None,
            is_global: false,
        };
        for word in words {
            line.read_word(word);
        }
        line
    }

    fn read_word(&mut self, word: &str) {
        if let Some(option) = self.pending_option.take() {
            self.record_root(option, word);
        } else if self.after_dashes {
            self.positionals += 1;
        } else if word == "--" {
            self.after_dashes = true;
        } else if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => {
                    if let Some(option) = self.long_option(name) {
                        self.record_root(option, value);
                    }
                }
                None => self.read_option(self.long_option(long)),
            }
        } else if let Some(short) = word.strip_prefix('-').and_then(|short| short.chars().last()) {
            let is_it = |arg: &&Arg| arg.get_short() == Some(short);
            let option = self.options().find(is_it);
            self.read_option(option);
        } else if self.positionals == 0
            && let Some(below) = self.command.find_subcommand(word)
        {
            self.command = below;
            self.path.push(below.get_name());
        } else {
            self.positionals += 1;
        }
    }

    fn read_option(&mut self, option: Option<&'a Arg>) {
        self.is_global |= option.is_some_and(|arg| arg.get_id() == "global");
        self.pending_option = option.filter(|arg| takes_value(arg));
    }

    fn record_root(&mut self, option: &Arg, value: &str) {
        if option.get_id() == "root" {
            self.root_option = Some(value.to_owned());
        }
    }

    /// Returns the options of the command, and those of every command.
    fn options(&self) -> impl Iterator<Item = &'a Arg> {
        let own = self.command.get_arguments().filter(|arg| !arg.is_positional());
        own.chain(self.root.get_arguments().filter(|arg| arg.is_global_set()))
    }

    fn long_option(&self, name: &str) -> Option<&'a Arg> {
        self.options().find(|arg| {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        })
    }

    fn option_names(&self) -> Vec<CompletionValue> {
        let shown = self.options().filter(|arg| !arg.is_hide_set());
        let mut values: Vec<CompletionValue> = Vec::new();
        for (long, arg) in shown.filter_map(|arg| Some((arg.get_long()?, arg))) {
            let value = format!("--{long}");
            if !values.iter().any(|known| known.value == value) {
                let description = arg.get_help().map(ToString::to_string).unwrap_or_default();
                values.push(CompletionValue { value, description });
            }
        }
        values.push(CompletionValue { value: "--help".into(), description: "Print help".into() });
        values
    }

    /// Returns the positional argument that the last word is for.
    fn positional(&self) -> Option<&'a Arg> {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        all.get(self.positionals).or_else(|| all.last().filter(|arg| is_repeated(arg))).copied()
    }
}

fn takes_value(arg: &Arg) -> bool {
    // `--sign` takes a value only after `=`.
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

fn is_repeated(arg: &Arg) -> bool {
    matches!(arg.get_action(), clap::ArgAction::Append)
}

fn command_names(command: &Command) -> Vec<CompletionValue> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    let value = |below: &Command| CompletionValue {
        value: below.get_name().into(),
        description: below.get_about().map(ToString::to_string).unwrap_or_default(),
    };
    shown.map(value).collect()
}

/// Adds what completes the value of an argument.
fn complete_value(line: &CommandLine<'_>, arg: &Arg, value: &str, to: &mut WordCompletion) {
    if let Some(delimiter) = arg.get_value_delimiter()
        && let Some((done, _)) = value.rsplit_once(delimiter)
    {
        to.prefix += &format!("{done}{delimiter}");
    }
    let possible = arg.get_possible_values();
    to.fixed.extend(possible.iter().filter(|value| !value.is_hide_set()).map(|value| {
        let description = value.get_help().map(ToString::to_string).unwrap_or_default();
        CompletionValue { value: value.get_name().into(), description }
    }));
    if possible.is_empty() {
        let name =
            arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
        to.kind = name.and_then(|name| value_kind(&line.path, name));
    }
}

fn value_kind(path: &[&str], value_name: &str) -> Option<CompletionKind> {
    let is_it =
        |(command, name, _): &&(&[&str], &str, _)| *name == value_name && path.starts_with(command);
    // The skills of `sp bag add` are in its source, not in the workspace.
    let found = VALUE_KINDS.iter().find(is_it).filter(|_| path != ["bag", "add"]);
    found.map(|(_, _, kind)| *kind)
}

/// Returns the script that connects a shell to `sp __complete`, or `None` for a shell that has only
/// a script without names.
pub(crate) fn completion_script(shell: clap_complete::Shell) -> Option<&'static str> {
    match shell {
        clap_complete::Shell::Bash => Some(include_str!("completion/sp.bash")),
        clap_complete::Shell::Zsh => Some(include_str!("completion/sp.zsh")),
        clap_complete::Shell::Fish => Some(include_str!("completion/sp.fish")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(line: &str) -> WordCompletion {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        complete_words(&words)
    }

    fn fixed(line: &str) -> Vec<String> {
        complete(line).fixed.into_iter().map(|value| value.value).collect()
    }

    #[test]
    fn values_have_the_kind_of_their_argument() {
        use CompletionKind::{
            Agent, InstalledPack, Limit, Pack, Package, ProjectItem, ProjectSkill, Rule,
            WorkspaceSkill,
        };
        for (line, expected) in [
            ("install ", Some(Pack)),
            ("install team rev", Some(Pack)),
            ("install team --agent ", Some(Agent)),
            ("install team -a claude,", Some(Agent)),
            ("install --agent=cl", Some(Agent)),
            ("--root x install ", Some(Pack)),
            ("uninstall ", Some(InstalledPack)),
            ("show te", Some(Pack)),
            ("cost ", Some(Pack)),
            ("explain AS", Some(Rule)),
            ("bag remove ", Some(WorkspaceSkill)),
            ("bag run ", Some(WorkspaceSkill)),
            ("bag add ", None),
            ("pkg install ", Some(Package)),
            ("pkg diff a ", Some(Package)),
            ("info ", Some(Package)),
            ("pkg create --kind skills ", Some(Pack)),
            ("list --limit ", Some(Limit)),
            ("context show ", None),
            ("show team ", None),
            ("why ", Some(ProjectSkill)),
            ("disable pdf ", Some(ProjectSkill)),
            ("update ", Some(ProjectItem)),
            ("add acme/skills --skill ", None),
        ] {
            assert_eq!(complete(line).kind, expected, "{line}");
        }
    }

    #[test]
    fn commands_options_and_fixed_values_are_completed() {
        assert!(fixed("").contains(&"install".to_owned()));
        assert!(fixed("pkg ").contains(&"rollback".to_owned()));
        assert!(!fixed("pkg ").contains(&"install-hidden".to_owned()));
        assert!(fixed("install --").contains(&"--agent".to_owned()));
        assert!(fixed("install --").contains(&"--root".to_owned()));
        assert_eq!(fixed("install team --scope "), ["global", "project"]);
        assert_eq!(complete("install team -a claude,co").prefix, "claude,");
        assert_eq!(complete("install --agent=claude,co").prefix, "--agent=claude,");
        assert_eq!(complete("--root x install ").root.as_deref(), Some("x"));
        assert!(complete("why --global ").is_global && complete("why -g ").is_global);
        assert!(!complete("why ").is_global);
        assert!(fixed("mcp install -a claude -- ").is_empty());
    }
}
