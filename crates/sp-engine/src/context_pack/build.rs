//! `sp context build`: a pack from what somebody collected. No network and no model is needed, and the same
//! input gives the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_analyze::knowledge::Brief;
use sp_analyze::tokens;
use sp_formats::context_pack::{Entries, Entry, MANIFEST};
use sp_formats::output::{ContextBuilt, ContextBuiltFile, FileChange};
use sp_tree::Dir;

use super::archive::{ZipRequest, valid, zip};
use super::entries::{PackAt, read_entries};
use super::make::{Steps, make_in};
use super::write::{Target, change_files_at_once};
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::model::Endpoint;
use crate::pkg::Overwrite;

/// Where a pack goes if nothing is said.
pub(crate) const OUT: &str = "context-pack";

/// Whether a zip is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zipped {
    /// The folder, and a zip beside it.
    Yes,
    /// The folder.
    No,
}

/// Whether it is told what is not in the pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explain {
    /// All of it, with the reason.
    Yes,
    /// Nothing.
    No,
}

/// What is to be built.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// The knowledge bases; none means all that were added.
    pub kb: Vec<PathBuf>,
    /// What it is for.
    pub brief: Brief,
    /// From when on documents count: `90d`, `12w`, `6m`, `1y` or a day.
    pub since: Option<String>,
    /// The folder; none means `context-pack` in the current directory.
    pub out: Option<PathBuf>,
    /// Whether a zip is wanted, too.
    pub zip: Zipped,
    /// How many tokens each file has at the most.
    pub budget: usize,
    /// Whether it is told what is not in the pack.
    pub explain: Explain,
    /// When it is made; none means now.
    pub generated_at: Option<String>,
    /// What tells it from every other; none means that it follows from the input.
    pub pack_id: Option<String>,
    /// What becomes of a pack there that somebody edited, and of a zip.
    pub overwrite: Overwrite,
    /// A model that may choose and shorten.
    pub model: Option<Endpoint>,
}

/// Builds a pack.
pub fn build(context: &Context<'_>, request: &BuildRequest) -> Result<ContextBuilt> {
    let session = Session::begin(context)?;
    let out = context.absolute(request.out.as_deref().unwrap_or(Path::new(OUT)));
    let old = Old::at(&session, &out, request.overwrite)?;
    let zip_request = zip_request(&out, request.overwrite);
    if request.zip == Zipped::Yes {
        must_be_free(context, &zip_request)?;
    }
    let mut steps = Steps::new(context);
    let made = make_in(&session, request, &mut steps)?;
    let home = Home::open(context, &session.limits)?;
    // From here on it is written, all of it, and nothing is waited for.
    steps.next()?;
    let written = write(&session, &home, &out, old, made.files)?;
    drop(home);
    let zip = match request.zip {
        Zipped::Yes => Some(zip(context, &zip_request)?),
        Zipped::No => None,
    };
    let (documents, in_window, relevant) = made.documents;
    Ok(ContextBuilt {
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
        left: (request.explain == Explain::Yes).then_some(made.left),
        model: made.model,
        dir: out,
    })
}

/// The pack that is there already.
struct Old {
    files: BTreeMap<String, Vec<u8>>,
}

impl Old {
    /// What is there, if it may be replaced: nothing, or a pack that nobody edited.
    fn at(session: &Session<'_>, out: &Path, overwrite: Overwrite) -> Result<Self> {
        let context = session.context;
        let nothing = Self { files: BTreeMap::new() };
        if out.symlink_metadata().is_err() || (out.is_dir() && Dir::open(out)?.entries()?.is_empty()) {
            return Ok(nothing);
        }
        if !out.join(MANIFEST).is_file() {
            return Err(Error::new(
                Kind::Request,
                format!("`{}` is there and is no context pack", context.show_near(out)),
            )
            .hint("nothing was changed: name another folder with `--out`"));
        }
        match (valid(session, out), overwrite) {
            (Ok((pack, entries)), _) => Ok(Self { files: sp_formats::context_pack::listed(&pack, &entries) }),
            (Err(_), Overwrite::Allow) => {
                Ok(Self { files: own_files(&read_entries(session, &PackAt::Here(out.into()))?) })
            }
            (Err(error), Overwrite::Refuse) => {
                let message = format!("`{}` was edited since it was made", context.show_near(out));
                Err(Error { kind: Kind::Request, ..Error::new(Kind::Request, message) }
                    .because(error)
                    .hint("nothing was changed: `--force` replaces it, and `--out` names another folder"))
            }
        }
    }
}

/// Of what lies in a folder, the files that a pack may have.
fn own_files(entries: &Entries) -> BTreeMap<String, Vec<u8>> {
    let is_own = |path: &str| path == MANIFEST || sp_formats::context_pack::FILES.contains(&path);
    let own = entries.iter().filter(|(path, _)| is_own(path));
    own.filter_map(|(path, entry)| match entry {
        Entry::File(bytes) => Some((path.clone(), bytes.clone())),
        Entry::Other => None,
    })
    .collect()
}

fn write(
    session: &Session<'_>,
    home: &Home<'_>,
    out: &Path,
    mut old: Old,
    files: BTreeMap<String, Vec<u8>>,
) -> Result<Vec<ContextBuiltFile>> {
    Dir::create_all(out)?;
    let costs: BTreeMap<String, usize> =
        files.iter().map(|(path, bytes)| (path.clone(), tokens::count(&String::from_utf8_lossy(bytes)))).collect();
    let mut targets: BTreeMap<String, Target> = files
        .into_iter()
        .map(|(path, bytes)| (path.clone(), Target::of_bytes(old.files.remove(&path), Some(bytes))))
        .collect();
    targets.extend(old.files.into_iter().map(|(path, bytes)| (path, Target::of_bytes(Some(bytes), None))));
    let written = change_files_at_once(session, home, out, targets)?;
    let one = |file: sp_formats::output::ContextFile| ContextBuiltFile {
        tokens: if file.change == FileChange::Gone { 0 } else { costs.get(&file.path).copied().unwrap_or_default() },
        path: file.path,
        bytes: file.bytes,
        change: file.change,
    };
    Ok(written.files.into_iter().map(one).collect())
}

fn zip_request(out: &Path, overwrite: Overwrite) -> ZipRequest {
    let name = out.file_name().map_or_else(|| OUT.into(), |name| name.to_string_lossy().into_owned());
    ZipRequest { pack: out.into(), output: Some(out.with_file_name(format!("{name}.zip"))), overwrite }
}

/// What would stop the zip in the end stops the build before anything is written.
fn must_be_free(context: &Context<'_>, request: &ZipRequest) -> Result<()> {
    let taken = request.output.as_ref().filter(|path| path.symlink_metadata().is_ok());
    match taken.filter(|_| request.overwrite == Overwrite::Refuse) {
        Some(path) => Err(Error::new(Kind::Request, format!("`{}` is there already", context.show_near(path)))
            .hint("nothing was changed: `--force` replaces it, and `--out` names another folder")),
        None => Ok(()),
    }
}
