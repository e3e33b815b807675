//! What people name where a pack is expected: a repository, a skill, a package. The error then says
//! what it is, and what to do instead.

use std::path::{Component, Path, PathBuf};

use sp_formats::git_repo::{GitRepo, GitTransport};
use sp_formats::package::{PACKAGE_EXTENSIONS, PackageName};
use sp_formats::redact::redact_secrets;
use sp_formats::suggest::list_few;

use crate::error::{Error, ErrorCode, Result};
use crate::repository::{SkillRepository, ValidPackFile, locate_pack, pack_name};
use crate::session::Session;

/// What an argument is, if it is not a pack.
#[derive(Debug, PartialEq, Eq)]
enum Intention {
    /// A git repository, as to be written in an import.
    GitRepository(String),
    /// A directory with `skills/` or `packs/`.
    RepositoryDirectory,
    Package,
    /// The ID of a local skill.
    Skill(String),
    /// A name, followed by `@` and a version.
    VersionedPack(String),
}

/// Finds the pack `spec`, a name or the path of a pack file, and its repository.
pub(crate) fn find_pack(
    session: &Session<'_>,
    root: Option<&Path>,
    spec: &str,
) -> Result<(SkillRepository, ValidPackFile)> {
    locate_pack(session, root, spec).map_err(|error| {
        let is_missing = error.has_code(ErrorCode::PackNotFound)
            || error.has_code(ErrorCode::RepositoryNotFound);
        if is_missing { explain_intention(session, root, spec, error) } else { error }
    })
}

/// Replaces the error about a missing pack if the argument is something else that `sp` knows.
fn explain_intention(
    session: &Session<'_>,
    root: Option<&Path>,
    argument: &str,
    error: Error,
) -> Error {
    let shown = redact_secrets(argument);
    let not_a_pack = |what: &str| {
        Error::new(ErrorCode::PackNotFound, format!("`{shown}` is {what}, not a pack"))
    };
    match intention(session, root, argument) {
        None => error,
        Some(Intention::GitRepository(repo)) => not_a_pack("a git repository").hint(format!(
            "run `sp add {repo}` to add its skills to the project, or import it in a pack: add `- repo: {repo}` with `include: ['**']` to `imports:` in \
             `packs/<name>.yaml`"
        )),
        Some(Intention::RepositoryDirectory) => not_a_pack("a repository of skills")
            .hint(format!("name one of its packs, and add `--root {shown}`")),
        Some(Intention::Package) => not_a_pack("a package")
            .hint(format!("run `sp pkg install {shown}` to install a package")),
        Some(Intention::Skill(id)) => match packs_with(session, root, &id).as_slice() {
            [] => not_a_pack("a skill")
                .hint(format!("add `{id}` to `include:` of a pack, then name the pack")),
            packs => {
                not_a_pack("a skill").hint(format!("packs that select it: {}", list_few(packs)))
            }
        },
        Some(Intention::VersionedPack(name)) => error.hint(format!(
            "packs have no versions: name `{name}`, and set `ref:` in its imports to pin them"
        )),
    }
}

fn intention(session: &Session<'_>, root: Option<&Path>, argument: &str) -> Option<Intention> {
    let extension = Path::new(argument).extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| PACKAGE_EXTENSIONS.contains(&extension)) {
        return Some(Intention::Package);
    }
    if argument.starts_with('@') {
        let name = argument.rsplit_once('@').filter(|(name, _)| !name.is_empty());
        let name = name.map_or(argument, |(name, _)| name);
        return PackageName::new(name).is_ok().then_some(Intention::Package);
    }
    let path = session.context.expand(argument);
    if path.join("skills").is_dir() || path.join("packs").is_dir() {
        return Some(Intention::RepositoryDirectory);
    }
    if let Some(id) = local_skill(session, root, argument) {
        return Some(Intention::Skill(id));
    }
    if let Some(repo) = git_repository(argument) {
        return Some(Intention::GitRepository(repo));
    }
    let (name, _) = argument.split_once('@')?;
    let is_known = pack_names(session, root).iter().any(|(known, _)| known == name);
    is_known.then(|| Intention::VersionedPack(name.to_owned()))
}

/// Returns the repository that an argument names: a URL, or `owner/name` on GitHub.
fn git_repository(argument: &str) -> Option<String> {
    if let Ok(repo) = GitRepo::new(argument) {
        return (repo.transport != GitTransport::Path).then_some(repo.display_url);
    }
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let (owner, name) = argument.split_once('/')?;
    let is_pair = is_word(owner) && is_word(name) && !owner.starts_with('.');
    let is_file = [".yaml", ".yml"].iter().any(|extension| name.ends_with(extension));
    (is_pair && !is_file).then(|| format!("https://github.com/{owner}/{name}"))
}

/// Returns the ID of the local skill that an argument means: its ID, the last part of its ID, or
/// the path of its directory.
fn local_skill(session: &Session<'_>, root: Option<&Path>, argument: &str) -> Option<String> {
    let repository = SkillRepository::find(session.context, root).ok()?;
    let skills = repository.skills_dir();
    let path: PathBuf = session.context.expand(argument).components().collect();
    let is_plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let below = path.strip_prefix(&skills).ok().filter(|rest| is_plain(rest));
    let wanted = below.and_then(Path::to_str).unwrap_or(argument);
    let ids = repository.skills(session, None).ok()?.ids;
    let suffix = format!("/{wanted}");
    let mut by_name = ids.iter().filter(|id| id.ends_with(&suffix));
    let exact = ids.iter().find(|id| *id == wanted);
    exact.or_else(|| by_name.next()).cloned()
}

/// Returns the names and the local patterns of all valid packs.
fn pack_names(
    session: &Session<'_>,
    root: Option<&Path>,
) -> Vec<(String, Option<sp_formats::pack::Pack>)> {
    let repository = SkillRepository::find(session.context, root);
    let files = repository.and_then(|repository| repository.pack_files(session));
    let files = files.unwrap_or_default().into_iter();
    files.map(|(path, pack, _)| (pack_name(&path, pack.as_ref()), pack)).collect()
}

/// Returns the names of the packs that select a local skill.
fn packs_with(session: &Session<'_>, root: Option<&Path>, id: &str) -> Vec<String> {
    let packs = pack_names(session, root).into_iter();
    let selects = |pack: &sp_formats::pack::Pack| {
        pack.include.iter().any(|include| include.pattern.matches(id))
            && !pack.exclude.iter().any(|exclude| exclude.pattern.matches(id))
    };
    packs.filter(|(_, pack)| pack.as_ref().is_some_and(selects)).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_pairs_of_words_are_repositories() {
        for (argument, expected) in [
            ("https://github.com/acme/skills", Some("https://github.com/acme/skills")),
            ("git@github.com:acme/skills.git", Some("git@github.com:acme/skills.git")),
            ("github.com/acme/skills", Some("github.com/acme/skills")),
            ("acme/skills", Some("https://github.com/acme/skills")),
            ("https://me:hunter2@host/x", Some("https://host/x")),
            ("packs/team.yaml", None),
            ("./skills", None),
            ("../skills", None),
            ("team", None),
            ("a/b/c", None),
            ("a b/c", None),
        ] {
            assert_eq!(git_repository(argument).as_deref(), expected, "{argument}");
        }
    }
}
