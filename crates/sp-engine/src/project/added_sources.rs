//! What the arguments of `sp add` are: sources of skills, packs, or context packs.
//!
//! A source that contains nothing but a context pack is one. A pack is named by the path of its
//! file, as in a manifest, or by `--pack`.

use std::path::{Component, Path, PathBuf};

use sp_formats::context_pack::{MANIFEST_FILE as PACK_MANIFEST, is_pack_id};
use sp_formats::project::lock::SourceKey;
use sp_formats::project::manifest::ProjectManifest;
use sp_formats::project::source::{
    ManifestSource, ManifestSourceError, PackSource, SourceArgument, SourceArgumentError,
    SourceVersion,
};
use sp_formats::redact::{QueryAllowlist, redact_url};
use sp_formats::web_url::has_web_scheme;

use super::catalog::{CatalogRequest, SourceCatalog, open_catalog, require_permitted_source};
use super::context_packs::ContextPackSource;
use super::files::{ProjectDir, ProjectFiles};
use crate::context::Context;
use crate::context_pack::{OpenedContextPack, read_entries};
use crate::error::{Error, ErrorCode, Result};
use crate::repository::is_pack_file;
use crate::session::Session;
use crate::sinks::SinkScope;
use crate::source::resolve_path;

/// The opened arguments, by what they are.
#[derive(Default)]
pub(super) struct OpenedArguments {
    pub skills: Vec<(SourceArgument, SourceCatalog)>,
    pub packs: Vec<AddedPack>,
    pub context_packs: Vec<AddedContextPack>,
}

/// A pack to add.
pub(super) struct AddedPack {
    /// As the manifest has it.
    pub text: String,
    pub catalog: SourceCatalog,
}

/// A context pack to add.
pub(super) struct AddedContextPack {
    /// As the manifest has it.
    pub text: String,
    /// What identifies it in the lockfile.
    pub key: String,
    pub opened: OpenedContextPack,
}

/// Opens sources. With names of packs, only these are opened.
pub(super) fn open_arguments(
    session: &Session<'_>,
    files: &ProjectFiles,
    (sources, packs): (&[String], &[String]),
) -> Result<OpenedArguments> {
    let mut opened = OpenedArguments::default();
    for text in sources {
        if let Some(pack) = pack_text(session.context, &files.dir, text)? {
            opened.packs.push(open_pack(session, files, pack)?);
            continue;
        }
        if is_context_pack_url(text) {
            opened.context_packs.push(open_context_pack(session, files, text.clone())?);
            continue;
        }
        let mut argument = parse_argument(text)?;
        argument.source = rebase(session.context, &files.dir, argument.source)?;
        if argument.version.is_none() {
            argument.version = known_version(&files.manifest, &argument.source);
        }
        for name in packs {
            let pack = named_pack(session, &files.dir, &argument, name)?;
            opened.packs.push(open_pack(session, files, pack)?);
        }
        if packs.is_empty() {
            open_source(session, files, argument, &mut opened)?;
        }
    }
    Ok(opened)
}

/// Opens a source of skills, or a context pack.
fn open_source(
    session: &Session<'_>,
    files: &ProjectFiles,
    argument: SourceArgument,
    opened: &mut OpenedArguments,
) -> Result<()> {
    let version = argument.version.as_ref();
    let key = SourceKey::new(&argument.source, version);
    if opened.skills.iter().any(|(_, catalog)| catalog.key == key) {
        let message = format!("the source `{}` is specified twice", argument.source);
        return Err(Error::new(ErrorCode::DuplicateArgument, message)
            .hint("specify it once, and its skills with `--skill`"));
    }
    // A source has one version in a project, which `sp update` changes.
    let request = match files.lock.sources.get(&key) {
        Some(lock) => CatalogRequest::Locked { version, lock },
        None => CatalogRequest::Newest(version),
    };
    require_permitted_source(session, &files.dir.path, &argument.source)?;
    match open_catalog(session, &files.dir.path, &argument.source, request) {
        Ok(catalog) => opened.skills.push((argument, catalog)),
        Err(error) => {
            let is_empty = error.has_code(ErrorCode::NothingFound);
            if !is_empty && !is_pack_manifest(&argument.source) {
                return Err(error);
            }
            let Some(text) = context_pack_location(session, files, &argument.source) else {
                return Err(error);
            };
            opened.context_packs.push(open_context_pack(session, files, text)?);
        }
    }
    Ok(())
}

/// Returns the location of the context pack that a source without skills is, as a manifest has it.
fn context_pack_location(
    session: &Session<'_>,
    files: &ProjectFiles,
    source: &ManifestSource,
) -> Option<String> {
    let text = match source {
        ManifestSource::Dir(path) | ManifestSource::Zip(path) => path,
        ManifestSource::WebZip(web) => &web.url,
        _ => return None,
    };
    let location = ContextPackSource::new(session, &files.dir.path, text).ok()?.location;
    let is_pack = match source {
        ManifestSource::Dir(path) => {
            let full = resolve_path(session, &files.dir.path, path);
            full.join(PACK_MANIFEST).is_file() || is_pack_manifest(source)
        }
        _ => read_entries(session, &location).is_ok_and(|it| it.contains_key(PACK_MANIFEST)),
    };
    is_pack.then(|| text.clone())
}

fn is_pack_manifest(source: &ManifestSource) -> bool {
    matches!(source, ManifestSource::Dir(path) if path.ends_with("/pack.json"))
}

/// Whether a URL can only be that of a context pack: of its manifest, or of a directory with the
/// name of a pack.
fn is_context_pack_url(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let mut segments = path.trim_end_matches('/').rsplit('/');
    let last = segments.next().unwrap_or_default();
    has_web_scheme(text) && (last == PACK_MANIFEST || is_pack_id(last))
}

fn open_context_pack(
    session: &Session<'_>,
    files: &ProjectFiles,
    text: String,
) -> Result<AddedContextPack> {
    refuse_secrets(&text)?;
    let source = ContextPackSource::new(session, &files.dir.path, &text)?;
    let opened = OpenedContextPack::newest(session, &source.location)?;
    Ok(AddedContextPack { text, key: source.key, opened })
}

/// Refuses a URL with a signature or credentials, which would be written to the manifest.
fn refuse_secrets(text: &str) -> Result<()> {
    let shown = redact_url(text, &QueryAllowlist::default());
    if !has_web_scheme(text) || shown == text {
        return Ok(());
    }
    let message = format!("the URL of the context pack `{shown}` contains secrets");
    Err(Error::new(ErrorCode::InvalidArguments, message)
        .because("they would be written to `skillpack.yaml`")
        .hint("download it with `sp context unzip <url> <dir>`, then run `sp add ./<dir>`"))
}

fn open_pack(session: &Session<'_>, files: &ProjectFiles, text: String) -> Result<AddedPack> {
    let location = PackSource::parse(&text).map_err(|why| invalid_pack(&text, why))?;
    let source = ManifestSource::Pack(location);
    let key = SourceKey::new(&source, None);
    let request = match files.lock.sources.get(&key) {
        Some(lock) => CatalogRequest::Locked { version: None, lock },
        None => CatalogRequest::Newest(None),
    };
    require_permitted_source(session, &files.dir.path, &source)?;
    let catalog = open_catalog(session, &files.dir.path, &source, request)?;
    Ok(AddedPack { text, catalog })
}

fn invalid_pack(text: &str, why: String) -> Error {
    let shown = sp_formats::printable::mask_secrets(text).into_owned();
    Error::new(ErrorCode::InvalidArguments, format!("invalid pack `{shown}`"))
        .because(why)
        .hint("write the path of a file, or `<git source>//packs/<name>.yaml#<ref>`")
}

/// Returns the pack that an argument names, as a manifest has it: a file of another repository, or
/// one of this repository.
fn pack_text(context: &Context<'_>, dir: &ProjectDir, text: &str) -> Result<Option<String>> {
    let file = text.split('#').next().unwrap_or_default();
    if !is_pack_file(Path::new(file)) {
        return Ok(None);
    }
    let after_scheme = file.find("://").map_or(file, |at| &file[at + 3..]);
    if after_scheme.contains("//") {
        return Ok(Some(text.to_owned()));
    }
    let path = context.expand(text);
    if has_web_scheme(text) || !path.is_file() {
        return Ok(None);
    }
    let full = path.canonicalize().unwrap_or(path);
    match full.strip_prefix(&dir.path) {
        Ok(inside) => Ok(Some(inside.to_string_lossy().into_owned())),
        Err(_) => Err(Error::new(
            ErrorCode::InvalidArguments,
            format!("the pack `{}` is not in this project", context.display_path(&full)),
        )
        .hint("add a pack of another repository by its URL: `sp add <git source> --pack <name>`")),
    }
}

/// Returns a pack of a source, as a manifest has it.
fn named_pack(
    session: &Session<'_>,
    dir: &ProjectDir,
    argument: &SourceArgument,
    name: &str,
) -> Result<String> {
    let source = &argument.source;
    match source {
        ManifestSource::Git(git) if git.folder.is_none() => {
            let is_path = name.contains('/') || is_pack_file(Path::new(name));
            let file = if is_path { name.to_owned() } else { format!("packs/{name}.yaml") };
            let version = argument.version.as_ref().map(|version| format!("#{version}"));
            Ok(format!("{source}//{file}{}", version.unwrap_or_default()))
        }
        ManifestSource::Dir(path)
            if resolve_path(session, &dir.path, path).canonicalize().ok().as_ref()
                == Some(&dir.path) =>
        {
            Ok(name.to_owned())
        }
        _ => Err(Error::new(
            ErrorCode::InvalidArguments,
            format!("`--pack` does not apply to `{source}`"),
        )
        .because("packs come from a git repository, or from this project")
        .hint("specify the repository without a folder, or `.` for this project")),
    }
}

pub(super) fn parse_argument(text: &str) -> Result<SourceArgument> {
    SourceArgument::parse(text).map_err(|why| {
        let shown = sp_formats::printable::mask_secrets(text).into_owned();
        let hint = match &why {
            SourceArgumentError::Source(source) => source.hint(),
            SourceArgumentError::Version(_) => ManifestSourceError::TwoRefs.hint(),
        };
        Error::new(ErrorCode::InvalidArguments, format!("invalid source `{shown}`"))
            .because(why)
            .hint(hint)
    })
}

/// Returns the ref of a source that the manifest has already, if it has one.
fn known_version(manifest: &ProjectManifest, source: &ManifestSource) -> Option<SourceVersion> {
    let identity = source.identity();
    let mut known = manifest.skills.iter().filter(|entry| entry.source.identity() == identity);
    match (known.next(), known.next()) {
        (Some(only), None) => only.version.clone(),
        _ => None,
    }
}

/// Makes a path that is relative to the current directory relative to the manifest.
fn rebase(
    context: &Context<'_>,
    dir: &ProjectDir,
    source: ManifestSource,
) -> Result<ManifestSource> {
    let (ManifestSource::Dir(path) | ManifestSource::Zip(path)) = &source else {
        return Ok(source);
    };
    if path.starts_with(['~', '/']) {
        return Ok(source);
    }
    let current = context.current_dir.canonicalize().unwrap_or(context.current_dir.clone());
    let full = normalize(&current.join(path));
    let text = match dir.scope {
        SinkScope::Project => relative_path(&dir.path, &full),
        SinkScope::Global => match full.strip_prefix(&context.user_home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => full.display().to_string(),
        },
    };
    ManifestSource::new(&text).map_err(|why| {
        Error::new(ErrorCode::InvalidArguments, format!("invalid source `{text}`")).because(why)
    })
}

/// Removes `.` and `..` from an absolute path.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            _ => normal.push(part),
        }
    }
    normal
}

/// Returns a path relative to a directory, as a manifest has it.
fn relative_path(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().count() - common;
    let down: Vec<String> = to
        .components()
        .skip(common)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let start = if up == 0 { vec![".".to_owned()] } else { vec!["..".to_owned(); up] };
    [start, down].concat().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_10_paths_are_written_relative_to_the_manifest() {
        for (from, to, expected) in [
            ("/a/b", "/a/b/c", "./c"),
            ("/a/b", "/a/b", "."),
            ("/a/b", "/a/c/d", "../c/d"),
            ("/a/b/c", "/a", "../.."),
        ] {
            assert_eq!(relative_path(Path::new(from), Path::new(to)), expected);
        }
        assert_eq!(normalize(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
