//! `sp context build`: a pack from what somebody collected. No network and no model is needed, and the same
//! input gives the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_analyze::knowledge::Brief;
use sp_analyze::tokens;
use sp_formats::context_pack::{ContextPackEntries, ContextPackEntry, MANIFEST_FILE};
use sp_formats::output::{ContextPackBuildReport, ContextPackBuiltFile, FileChangeKind};
use sp_tree::Dir;

use super::archive::{ContextPackZipRequest, read_valid_pack, zip};
use super::entries::{ContextPackLocation, read_entries};
use super::generate::{GenerationProgress, generate_in};
use super::write::{FileReplacement, change_files_with_home};
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::model::ModelEndpoint;
use crate::pkg::Overwrite;
use crate::session::Session;

/// Where a pack goes if nothing is said.
pub(crate) const DEFAULT_OUT_DIR: &str = "context-pack";

/// Whether a zip is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZipOutput {
    /// The folder, and a zip beside it.
    Yes,
    /// The folder.
    No,
}

/// Whether it is told what is not in the pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainOmitted {
    /// All of it, with the reason.
    Yes,
    /// Nothing.
    No,
}

/// What is to be built.
#[derive(Debug, Clone)]
pub struct ContextPackBuildRequest {
    /// The knowledge bases; none means all that were added.
    pub kb: Vec<PathBuf>,
    /// What it is for.
    pub brief: Brief,
    /// From when on documents count: `90d`, `12w`, `6m`, `1y` or a day.
    pub since: Option<String>,
    /// The folder; none means `context-pack` in the current directory.
    pub out: Option<PathBuf>,
    /// Whether a zip is wanted, too.
    pub zip: ZipOutput,
    /// How many tokens each file has at the most.
    pub budget: usize,
    /// Whether it is told what is not in the pack.
    pub explain: ExplainOmitted,
    /// When it is made; none means now.
    pub generated_at: Option<String>,
    /// What tells it from every other; none means that it follows from the input.
    pub pack_id: Option<String>,
    /// What becomes of a pack there that somebody edited, and of a zip.
    pub overwrite: Overwrite,
    /// A model that may choose and shorten.
    pub model: Option<ModelEndpoint>,
}

/// Builds a pack.
pub fn build(
    context: &Context<'_>,
    request: &ContextPackBuildRequest,
) -> Result<ContextPackBuildReport> {
    let session = Session::begin(context)?;
    let out = context.absolute(request.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT_DIR)));
    let old = ExistingContextPack::read(&session, &out, request.overwrite)?;
    let zip_request = zip_request(&out, request.overwrite);
    if request.zip == ZipOutput::Yes {
        refuse_existing_zip(context, &zip_request)?;
    }
    let mut steps = GenerationProgress::new(context);
    let made = generate_in(&session, request, &mut steps)?;
    let home = LockedHome::open(context, &session.limits)?;
    // From here on it is written, all of it, and nothing is waited for.
    steps.advance()?;
    let written = write_pack(&session, &home, &out, old, made.files)?;
    drop(home);
    let zip = match request.zip {
        ZipOutput::Yes => Some(zip(context, &zip_request)?),
        ZipOutput::No => None,
    };
    let (documents, in_window, relevant) = made.documents;
    Ok(ContextPackBuildReport {
        zip,
        pack_id: made.pack_id,
        generated_at: made.generated_at,
        files: written,
        sources: made.sources,
        documents,
        in_window,
        relevant,
        tokenizer: tokens::TOKENIZER.into(),
        skipped: made.skipped,
        left: (request.explain == ExplainOmitted::Yes).then_some(made.omitted),
        model: made.model,
        dir: out,
    })
}

/// The pack that is there already.
struct ExistingContextPack {
    files: BTreeMap<String, Vec<u8>>,
}

impl ExistingContextPack {
    /// What is there, if it may be replaced: nothing, or a pack that nobody edited.
    fn read(session: &Session<'_>, out: &Path, overwrite: Overwrite) -> Result<Self> {
        let context = session.context;
        let nothing = Self { files: BTreeMap::new() };
        if out.symlink_metadata().is_err()
            || (out.is_dir() && Dir::open(out)?.entries()?.is_empty())
        {
            return Ok(nothing);
        }
        if !out.join(MANIFEST_FILE).is_file() {
            return Err(Error::new(
                FailureKind::Request,
                format!("`{}` is there and is no context pack", context.display_relative_path(out)),
            )
            .hint("nothing was changed: name another folder with `--out`"));
        }
        match (read_valid_pack(session, out), overwrite) {
            (Ok((pack, entries)), _) => {
                Ok(Self { files: sp_formats::context_pack::listed_files(&pack, &entries) })
            }
            (Err(_), Overwrite::Allow) => Ok(Self {
                files: pack_files(&read_entries(session, &ContextPackLocation::Local(out.into()))?),
            }),
            (Err(error), Overwrite::Refuse) => {
                let message = format!(
                    "`{}` was edited since it was made",
                    context.display_relative_path(out)
                );
                Err(Error {
                    kind: FailureKind::Request,
                    ..Error::new(FailureKind::Request, message)
                }
                .because(error)
                .hint(
                    "nothing was changed: `--force` replaces it, and `--out` names another folder",
                ))
            }
        }
    }
}

/// Of what lies in a folder, the files that a pack may have.
fn pack_files(entries: &ContextPackEntries) -> BTreeMap<String, Vec<u8>> {
    let is_own =
        |path: &str| path == MANIFEST_FILE || sp_formats::context_pack::KNOWN_FILES.contains(&path);
    let own = entries.iter().filter(|(path, _)| is_own(path));
    own.filter_map(|(path, entry)| match entry {
        ContextPackEntry::File(bytes) => Some((path.clone(), bytes.clone())),
        ContextPackEntry::NotAFile => None,
    })
    .collect()
}

fn write_pack(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    out: &Path,
    mut old: ExistingContextPack,
    files: BTreeMap<String, Vec<u8>>,
) -> Result<Vec<ContextPackBuiltFile>> {
    Dir::create_all(out)?;
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
    let one = |file: sp_formats::output::ContextPackWrittenFile| ContextPackBuiltFile {
        tokens: if file.change == FileChangeKind::Gone {
            0
        } else {
            costs.get(&file.path).copied().unwrap_or_default()
        },
        path: file.path,
        bytes: file.bytes,
        change: file.change,
    };
    Ok(written.files.into_iter().map(one).collect())
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

/// What would stop the zip in the end stops the build before anything is written.
fn refuse_existing_zip(context: &Context<'_>, request: &ContextPackZipRequest) -> Result<()> {
    let taken = request.output.as_ref().filter(|path| path.symlink_metadata().is_ok());
    match taken.filter(|_| request.overwrite == Overwrite::Refuse) {
        Some(path) => Err(Error::new(
            FailureKind::Request,
            format!("`{}` is there already", context.display_relative_path(path)),
        )
        .hint("nothing was changed: `--force` replaces it, and `--out` names another folder")),
        None => Ok(()),
    }
}
