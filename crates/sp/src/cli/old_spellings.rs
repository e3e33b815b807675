//! Spellings of earlier versions, which work for one release with a hint.
//!
//! They are rewritten before the arguments are parsed, so that help, completions and man pages show
//! only the current ones.

use std::ffi::OsString;

use clap::Command;

/// Arguments in the current spelling, and what was rewritten.
#[derive(Debug)]
pub(crate) struct RewrittenArguments {
    pub arguments: Vec<OsString>,
    /// Each old spelling with the current one.
    pub renamed: Vec<Renamed>,
}

/// An old spelling that was used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Renamed {
    pub old: String,
    pub new: String,
}

/// An option that was renamed.
struct RenamedOption {
    command: &'static [&'static str],
    old: &'static str,
    new: &'static str,
}

const RENAMED_OPTIONS: &[RenamedOption] = &[
    RenamedOption { command: &["context", "build"], old: "--out", new: "--output" },
    RenamedOption { command: &["context", "kb", "search"], old: "--most", new: "--max-results" },
    RenamedOption { command: &["login"], old: "--anew", new: "--reset-history" },
    RenamedOption { command: &["mcp"], old: "--http", new: "--listen" },
    RenamedOption { command: &["mcp", "install"], old: "--http", new: "--url" },
    RenamedOption { command: &["mcp", "install"], old: "--replace", new: "--force" },
    RenamedOption { command: &["pkg", "graph"], old: "--out", new: "--output" },
    RenamedOption { command: &["pkg", "merge"], old: "--out", new: "--output" },
    RenamedOption { command: &["pkg", "query"], old: "--says", new: "--text" },
];

/// Options whose value was a number of seconds and is a duration now.
const SECONDS: &[(&[&str], &str)] =
    &[(&["serve"], "--timeout"), (&["context", "build"], "--model-timeout")];

/// The option with which `sp pkg rollback` took the version.
const OLD_ROLLBACK_VERSION: &str = "--to";

/// Replaces old spellings. The first argument is the name of the program.
pub(crate) fn rewrite(arguments: Vec<OsString>) -> RewrittenArguments {
    let end = arguments.iter().position(|it| *it == "--").unwrap_or(arguments.len());
    let words: Option<Vec<&str>> = arguments[..end].iter().map(|it| it.to_str()).collect();
    let words = words.filter(|words| words.iter().any(|word| may_be_old(word)));
    let Some(words) = words else { return RewrittenArguments { arguments, renamed: Vec::new() } };
    let command = command_path(&super::definitions(), &words);
    let mut new_words: Vec<String> = Vec::new();
    let mut renamed = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (name, value) =
            word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let option = RENAMED_OPTIONS.iter().find(|it| it.command == command && it.old == name);
        if let Some(option) = option {
            renamed.push(Renamed { old: option.old.into(), new: option.new.into() });
            let value = value.map(|value| format!("={value}")).unwrap_or_default();
            new_words.push(format!("{}{value}", option.new));
        } else if SECONDS.contains(&(&command, name)) {
            let value = value.or_else(|| rest.next().copied());
            let (words, change) = duration_words(name, value);
            new_words.extend(words);
            renamed.extend(change);
        } else {
            new_words.push((*word).to_owned());
        }
    }
    if command == ["pkg", "rollback"] {
        renamed.extend(join_version(&mut new_words));
    }
    if renamed.is_empty() {
        return RewrittenArguments { arguments, renamed };
    }
    let new_words = new_words.into_iter().map(OsString::from);
    let arguments = new_words.chain(arguments[end..].iter().cloned()).collect();
    RewrittenArguments { arguments, renamed }
}

/// Whether a word is an old spelling for at least one command. Almost no command line has one, and
/// finding out which command it is for takes the definitions of all commands.
fn may_be_old(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    RENAMED_OPTIONS.iter().any(|option| option.old == name)
        || SECONDS.iter().any(|(_, option)| *option == name)
        || name == OLD_ROLLBACK_VERSION
}

/// Returns an option whose value has a unit, and how it was written if it had none.
fn duration_words(name: &str, value: Option<&str>) -> (Vec<String>, Option<Renamed>) {
    let Some(value) = value else { return (vec![name.to_owned()], None) };
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return (vec![name.to_owned(), value.to_owned()], None);
    }
    let renamed = Renamed { old: format!("{name} {value}"), new: format!("{name} {value}s") };
    (vec![name.to_owned(), format!("{value}s")], Some(renamed))
}

/// Turns `NAME --to VERSION` into `NAME@VERSION`.
fn join_version(words: &mut Vec<String>) -> Option<Renamed> {
    let name = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    let at = words.iter().position(|word| name(word) == OLD_ROLLBACK_VERSION)?;
    let version = match words[at].split_once('=') {
        Some((_, version)) => version.to_owned(),
        None => words.get(at + 1)?.clone(),
    };
    let is_joined = words[at] != OLD_ROLLBACK_VERSION;
    let without: Vec<String> =
        words[..at].iter().chain(&words[at + if is_joined { 1 } else { 2 }..]).cloned().collect();
    let name_at = without.iter().rposition(|word| word == "rollback")? + 1;
    let name_at = name_at + without[name_at..].iter().position(|word| !word.starts_with('-'))?;
    *words = without;
    let new = format!("{}@{version}", words[name_at]);
    let old = format!("{} --to {version}", words[name_at]);
    words[name_at].clone_from(&new);
    Some(Renamed { old, new })
}

/// Returns the names of the command and its subcommands.
fn command_path<'a>(root: &Command, words: &[&'a str]) -> Vec<&'a str> {
    let takes_value = |word: &str| {
        root.get_arguments().any(|arg| {
            let is_it = arg.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            is_it && arg.get_action().takes_values()
        })
    };
    let (mut command, mut path) = (root, Vec::new());
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if takes_value(word) {
            rest.next();
        } else if !word.starts_with('-') {
            let Some(next) = command.find_subcommand(word) else { break };
            path.push(*word);
            command = next;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    fn rewritten(line: &str) -> (String, usize) {
        let result = rewrite(line.split(' ').map(OsString::from).collect());
        let words: Vec<String> =
            result.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (words.join(" "), result.renamed.len())
    }

    #[test]
    fn old_spellings_become_current_ones_that_parse() {
        for (old, new) in [
            (
                "sp context build --name a --description b --out x",
                "sp context build --name a --description b --output x",
            ),
            (
                "sp --root pkg pkg merge a --name b --out=x",
                "sp --root pkg pkg merge a --name b --output=x",
            ),
            ("sp pkg graph --out x", "sp pkg graph --output x"),
            ("sp pkg query --says word", "sp pkg query --text word"),
            ("sp context kb search word --most 3", "sp context kb search word --max-results 3"),
            ("sp login http://x --anew", "sp login http://x --reset-history"),
            ("sp mcp --http 127.0.0.1:1", "sp mcp --listen 127.0.0.1:1"),
            ("sp mcp install -a claude --http http://x", "sp mcp install -a claude --url http://x"),
            ("sp mcp install -a claude --replace", "sp mcp install -a claude --force"),
            ("sp serve --timeout 5", "sp serve --timeout 5s"),
            ("sp serve --timeout=5", "sp serve --timeout 5s"),
            ("sp pkg rollback base --to 1.0.0 -n", "sp pkg rollback base@1.0.0 -n"),
            ("sp pkg rollback --to=1.0.0 base", "sp pkg rollback base@1.0.0"),
        ] {
            assert_eq!(rewritten(old), (new.into(), 1), "{old}");
            let parsed = parse(new.split(' ').map(OsString::from));
            assert!(parsed.is_ok(), "{new}: {}", parsed.err().unwrap());
        }
    }

    #[test]
    fn other_arguments_stay() {
        for line in [
            "sp serve --timeout 5m",
            "sp serve --timeout",
            "sp install team --out x",
            "sp mcp install -a claude -- --http 127.0.0.1:1",
            "sp pkg rollback --to",
        ] {
            assert_eq!(rewritten(line), (line.into(), 0));
        }
    }

    #[test]
    fn current_options_exist_and_old_ones_do_not() {
        let mut root = crate::cli::command();
        root.build();
        for option in RENAMED_OPTIONS {
            let command = option
                .command
                .iter()
                .fold(&root, |command, name| command.find_subcommand(name).unwrap());
            let longs: Vec<String> = command
                .get_arguments()
                .filter_map(|arg| arg.get_long())
                .map(|long| format!("--{long}"))
                .collect();
            assert!(longs.iter().any(|long| long == option.new), "{}", option.new);
            assert!(!longs.iter().any(|long| long == option.old), "{}", option.old);
        }
    }
}
