//! What people type for a command that has another name here.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Never more than the closest suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// Words that are not commands, with what to run instead.
const INTENTIONS: &[(&[&str], &str)] = &[
    (&["get", "fetch"], "to add skills to a project, run `sp add <source>`"),
    (
        &["delete", "del"],
        "to remove skills from a project, run `sp remove <skill>`; to uninstall a pack, run `sp uninstall <pack> \
         --agent <agent>`",
    ),
    (&["ls"], "to list skills, run `sp list`; to list what is installed, run `sp installed`"),
    (
        &["new", "create"],
        "to create a repository, run `sp init`; to create a package, run `sp pkg create`",
    ),
    (
        &["validate", "lint", "fix"],
        "to check skills and packs, run `sp check`; to fix problems, `sp check --fix`",
    ),
    (&["verify"], "to verify a package, run `sp pkg verify <package>`"),
    (&["run"], "to print a skill of a workspace, run `sp bag run <skill>`"),
    (
        &["import", "export", "send", "receive"],
        "packages are managed with `sp pkg`; run `sp pkg --help`",
    ),
    (
        &["build"],
        "to build a context pack, run `sp context build`; to create a package, run `sp pkg create`",
    ),
    (&["server", "registry"], "to run a registry, run `sp serve`"),
];

/// What to run for `sp install <source>`. Packs have names or paths.
const ADD_SOURCE: &str =
    "to add skills from a repository or a URL to a project, run `sp add <source>`";

/// Whether a word is the URL of a source.
fn is_url(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word.contains("://"))
}

/// Adds what to run instead to the error about an unknown command, or about a source in place of a
/// pack. The first argument is the name of the program.
pub(crate) fn suggest_intended(mut error: Error, arguments: &[OsString]) -> Error {
    let is_install = arguments.get(1).is_some_and(|word| word == "install");
    if error.kind() == ErrorKind::MissingRequiredArgument
        && is_install
        && arguments.iter().any(is_url)
    {
        let advice = clap::builder::StyledStr::from(ADD_SOURCE);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let word = word.to_lowercase();
    let intended = INTENTIONS.iter().find(|(words, _)| words.contains(&word.as_str()));
    if let Some((_, advice)) = intended {
        error.remove(ContextKind::SuggestedSubcommand);
        let advice = clap::builder::StyledStr::from(*advice);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
    } else if let Some(ContextValue::Strings(similar)) = error.get(ContextKind::SuggestedSubcommand)
    {
        // The most similar one is the last.
        let similar = similar.iter().rev().take(MAX_SUGGESTIONS).cloned().collect();
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(similar));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::{Cli, parse};

    #[test]
    fn the_url_of_a_source_is_not_a_pack() {
        for (line, is_advised) in [
            ("sp install https://github.com/acme/skills", true),
            ("sp install team", false),
            ("sp publish --registry https://registry.example.com", false),
        ] {
            let error = parse(line.split(' ').map(OsString::from)).expect_err(line).to_string();
            assert_eq!(error.contains("sp add <source>"), is_advised, "{line}: {error}");
        }
    }

    #[test]
    fn intentions_are_unique_and_no_commands() {
        let root = Cli::command();
        let mut words: Vec<&str> =
            INTENTIONS.iter().flat_map(|(words, _)| *words).copied().collect();
        assert_eq!(words.iter().find(|word| root.find_subcommand(word).is_some()), None);
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
