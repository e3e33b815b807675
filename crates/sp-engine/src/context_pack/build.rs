//! `sp context build`: generates a context pack from knowledge bases and writes it to a directory.
//!
//! Neither the network nor a model is required, and the same input gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use sp_analyze::tokens;
use sp_formats::context_pack::{ContextPackEntries, ContextPackEntry, MANIFEST_FILE};
use sp_formats::output::{
    ContextPackBuildReport, ContextPackBuiltFile, ContextPackWrittenFile, FileChangeKind,
};
use sp_tree::Dir;

use super::archive::{ContextPackZipRequest, read_valid_pack, zip};
use super::build_request::{ContextPackBuildRequest, DEFAULT_OUT_DIR, ExplainOmitted, ZipOutput};
use super::entries::{ContextPackLocation, read_entries};
use super::generate::{GeneratedContextPack, generate_in};
use super::generation_progress::GenerationProgress;
use super::write::{FileReplacement, change_files_with_home};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::canonicalize_existing;
use crate::home::LockedHome;
use crate::output_file::Overwrite;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;

/// Builds a pack and writes it.
pub fn build(
    context: &Context<'_>,
    request: &ContextPackBuildRequest,
    apply: ApplyOptions,
) -> Result<ContextPackBuildReport> {
    let session = Session::begin(context)?;
    let out = context.absolute(request.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT_DIR)));
    let old = ExistingContextPack::read(&session, &out, request.overwrite)?;
    let zip_request = zip_request(&out, request.overwrite);
    if request.zip == ZipOutput::Yes {
        refuse_existing_zip(context, &zip_request)?;
    }
    let mut progress = GenerationProgress::new(context);
    let generated = generate_in(&session, request, &mut progress)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    // The last chance to cancel: from here on, everything is written.
    progress.advance()?;
    let status = apply.confirm(plan_id(&out, request, &old, &generated))?;
    let files = write_pack(&session, home.as_ref(), &out, old, generated.files)?;
    drop(home);
    let zip = match request.zip {
        ZipOutput::Yes if status.applied => Some(zip(context, &zip_request)?),
        ZipOutput::Yes | ZipOutput::No => None,
    };
    Ok(ContextPackBuildReport {
        status,
        zip,
        pack_id: generated.pack_id,
        generated_at: generated.generated_at,
        files,
        sources: generated.sources,
        documents: generated.documents.total,
        in_window: generated.documents.in_window,
        relevant: generated.documents.relevant,
        tokenizer: tokens::TOKENIZER.into(),
        skipped: generated.skipped,
        left: (request.explain == ExplainOmitted::Yes).then_some(generated.omitted),
        model: generated.model,
        dir: out,
    })
}

/// Returns the ID of a build: what it replaces, and the new documents without the time and the pack
/// ID, which is derived from it. The manifest has digests of texts that contain both.
fn plan_id(
    out: &Path,
    request: &ContextPackBuildRequest,
    old: &ExistingContextPack,
    generated: &GeneratedContextPack,
) -> PlanId {
    let mut hasher = PlanHasher::of_operation("context build");
    hasher.path(&canonicalize_existing(out));
    hasher.text(&request.brief.name);
    hasher.text(&request.brief.description);
    hasher.list(request.brief.stack.iter(), |hasher, word| hasher.text(word));
    hasher.text(if request.zip == ZipOutput::Yes { "zip" } else { "no zip" });
    hasher.list(old.files.iter(), |hasher, (path, bytes)| {
        hasher.text(path);
        hasher.bytes(bytes);
    });
    for (path, bytes) in generated.files.iter().filter(|(path, _)| *path != MANIFEST_FILE) {
        let text = String::from_utf8_lossy(bytes);
        hasher.text(path);
        hasher.text(&text.replace(&generated.pack_id, "").replace(&generated.generated_at, ""));
    }
    hasher.finish()
}

/// The files of the pack that a build replaces.
struct ExistingContextPack {
    files: BTreeMap<String, Vec<u8>>,
}

impl ExistingContextPack {
    /// Reads the output directory. It must be missing, empty or a pack, and the pack must be
    /// unedited unless it may be overwritten.
    fn read(session: &Session<'_>, out: &Path, overwrite: Overwrite) -> Result<Self> {
        let context = session.context;
        let empty = Self { files: BTreeMap::new() };
        if out.symlink_metadata().is_err()
            || (out.is_dir() && Dir::open(out)?.entries()?.is_empty())
        {
            return Ok(empty);
        }
        if !out.join(MANIFEST_FILE).is_file() {
            return Err(Error::new(
                ErrorCode::AlreadyExists,
                format!(
                    "`{}` already exists and is not a context pack",
                    context.display_relative_path(out)
                ),
            )
            .hint("choose another directory with `--output`"));
        }
        match (read_valid_pack(session, out), overwrite) {
            (Ok((pack, entries)), _) => {
                Ok(Self { files: sp_formats::context_pack::listed_files(&pack, &entries) })
            }
            (Err(_), Overwrite::Allow) => Ok(Self {
                files: pack_files(&read_entries(session, &ContextPackLocation::Local(out.into()))?),
            }),
            (Err(error), Overwrite::Refuse) => Err(edited_output_error(context, out, error)),
        }
    }
}

fn edited_output_error(context: &Context<'_>, out: &Path, error: Error) -> Error {
    let message =
        format!("`{}` has been edited since it was built", context.display_relative_path(out));
    Error::new(ErrorCode::EditedOutput, message)
        .because(error)
        .hint("add `--force` to replace it, or choose another directory with `--output`")
}

/// Returns the files of a directory that belong to a pack by their names.
fn pack_files(entries: &ContextPackEntries) -> BTreeMap<String, Vec<u8>> {
    let is_pack_file =
        |path: &str| path == MANIFEST_FILE || sp_formats::context_pack::KNOWN_FILES.contains(&path);
    let files = entries.iter().filter(|(path, _)| is_pack_file(path));
    files
        .filter_map(|(path, entry)| match entry {
            ContextPackEntry::File(bytes) => Some((path.clone(), bytes.clone())),
            ContextPackEntry::NotAFile => None,
        })
        .collect()
}

fn write_pack(
    session: &Session<'_>,
    home: Option<&LockedHome<'_>>,
    out: &Path,
    mut old: ExistingContextPack,
    files: BTreeMap<String, Vec<u8>>,
) -> Result<Vec<ContextPackBuiltFile>> {
    if home.is_some() {
        Dir::create_all(out)?;
    }
    let costs: BTreeMap<String, usize> = files
        .iter()
        .map(|(path, bytes)| (path.clone(), tokens::count(&String::from_utf8_lossy(bytes))))
        .collect();
    let mut targets: BTreeMap<String, FileReplacement> = files
        .into_iter()
        .map(|(path, bytes)| {
            (path.clone(), FileReplacement::from_bytes(old.files.remove(&path), Some(bytes)))
        })
        .collect();
    targets.extend(
        old.files
            .into_iter()
            .map(|(path, bytes)| (path, FileReplacement::from_bytes(Some(bytes), None))),
    );
    let written = change_files_with_home(session, home, out, targets)?;
    let built_file = |file: ContextPackWrittenFile| ContextPackBuiltFile {
        tokens: if file.change == FileChangeKind::Gone {
            0
        } else {
            costs.get(&file.path).copied().unwrap_or_default()
        },
        path: file.path,
        bytes: file.bytes,
        change: file.change,
    };
    Ok(written.files.into_iter().map(built_file).collect())
}

fn zip_request(out: &Path, overwrite: Overwrite) -> ContextPackZipRequest {
    let name = out
        .file_name()
        .map_or_else(|| DEFAULT_OUT_DIR.into(), |name| name.to_string_lossy().into_owned());
    ContextPackZipRequest {
        pack: out.into(),
        output: Some(out.with_file_name(format!("{name}.zip"))),
        overwrite,
    }
}

/// Fails before anything is written if the zip exists and must not be replaced.
fn refuse_existing_zip(context: &Context<'_>, request: &ContextPackZipRequest) -> Result<()> {
    let existing = request.output.as_ref().filter(|path| path.symlink_metadata().is_ok());
    match existing.filter(|_| request.overwrite == Overwrite::Refuse) {
        Some(path) => Err(Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` already exists", context.display_relative_path(path)),
        )
        .hint("add `--force` to replace it, or choose another directory with `--output`")),
        None => Ok(()),
    }
}
