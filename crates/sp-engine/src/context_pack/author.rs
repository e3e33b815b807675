//! `sp context new` and `sp context seal`: packs that are written by hand.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sp_formats::checks::CP_02;
use sp_formats::context_pack::{
    AGENTS, CURSOR, Draft, Entries, Entry, Generator, MANIFEST, Manifest, PROMPTS, Project, Read, SKILLS, SOURCES,
    SPEC_VERSION, TASKS, is_pack_id, pack_id, read, sealed,
};
use sp_formats::json::{Json, Value};
use sp_formats::output::ContextPackWritten;
use sp_formats::report::{Report, Severity};
use sp_tree::{Digest, Dir, Limits, RelPath};

use super::archive::refused;
use super::entries::{PackAt, read_entries};
use super::write::write_files;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};

/// A pack that is to be written by hand.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// Where it is to be.
    pub dir: PathBuf,
    /// What the project is called; none means as the directory is.
    pub name: Option<String>,
    /// What is intended.
    pub description: Option<String>,
    /// What it is built with.
    pub stack: Vec<String>,
}

const RULES: &str = include_str!("templates/rules.md");

/// Writes a pack that is valid and waits to be filled.
pub fn new(context: &Context<'_>, request: &NewRequest) -> Result<ContextPackWritten> {
    let session = Session::begin(context)?;
    let dir = context.absolute(&request.dir);
    if dir.join(MANIFEST).symlink_metadata().is_ok() {
        return Err(Error::new(Kind::Request, format!("`{}` has a `{MANIFEST}` already", context.show(&dir)))
            .hint("nothing was changed: name another directory, or edit what is there and call `sp context seal`"));
    }
    let folder = dir.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = request.name.clone().or(folder).unwrap_or_else(|| "project".into());
    let description =
        request.description.clone().unwrap_or_else(|| "Say in one to three sentences what is intended.".into());
    let mut manifest = Manifest {
        spec_version: SPEC_VERSION.into(),
        generated_at: context.timestamp(),
        generator: Generator {
            name: "skillpack".into(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            ..Generator::default()
        },
        project: Project { name: name.clone(), description, stack: request.stack.clone(), ..Project::default() },
        ..Manifest::default()
    };
    manifest.pack_id = pack_id(context.now, &Digest::of(name.as_bytes()));
    let stack: String = match request.stack.as_slice() {
        [] => "- What it is built with\n".into(),
        words => words.iter().map(|word| format!("- {word}\n")).collect(),
    };
    let rules = RULES
        .replace("{name}", &name)
        .replace("{description}", &manifest.project.description)
        .replace("{stack}\n", &stack);
    let texts = [
        (CURSOR, rules.as_str()),
        (AGENTS, rules.as_str()),
        (SKILLS, include_str!("templates/skills.md")),
        (SOURCES, include_str!("templates/sources.md")),
        (PROMPTS, include_str!("templates/prompts.md")),
        (TASKS, include_str!("templates/tasks.md")),
    ];
    let mut documents = BTreeMap::new();
    for (path, text) in texts {
        documents.insert(path_of(path)?, text.to_owned());
    }
    Dir::create_all(&dir)?;
    write_files(&session, &dir, &Draft { manifest, documents }.files())
}

/// Gives the files of a pack the frontmatter and the hashes that they must have. Nothing is written if
/// something is wrong that only its author can mend.
pub fn seal(context: &Context<'_>, dir: &Path) -> Result<ContextPackWritten> {
    let session = Session::begin(context)?;
    let dir = match PackAt::new(context, dir)? {
        PackAt::Here(dir) => dir,
        PackAt::Web(address) => {
            return Err(Error::new(Kind::Request, format!("`{address}` cannot be sealed from here"))
                .hint("`sp context unzip <address> <folder>` brings it here"));
        }
    };
    let entries = read_entries(&session, &PackAt::Here(dir.clone()))?;
    let Read { manifest, reports, .. } = read(&entries, &session.limits);
    let Some(mut manifest) = manifest else {
        let message = format!("`{}` cannot be sealed", context.show_near(&dir));
        return Err(refused(&session, message, reports));
    };
    if let Some(wrong) = reports.first().and_then(|report| unmendable(report, &session.limits)) {
        let message = format!("`{}` cannot be sealed: nothing was changed", context.show_near(&dir));
        return Err(refused(&session, message, vec![wrong]));
    }
    let documents = markdown(&entries)?;
    if !is_pack_id(&manifest.pack_id) {
        let all: String = documents.values().map(String::as_str).collect();
        manifest.pack_id = pack_id(context.now, &Digest::of(all.as_bytes()));
    }
    let files = sealed(&manifest, &documents, others(context, &manifest, &entries));
    let after: Entries = files.iter().map(|(path, bytes)| (path.clone(), Entry::File(bytes.clone()))).collect();
    let judged = read(&after, &session.limits);
    if !judged.is_valid() {
        let message = format!("`{}` cannot be sealed: nothing was changed", context.show_near(&dir));
        return Err(refused(&session, message, judged.reports));
    }
    write_files(&session, &dir, &files)
}

/// What a pack lists besides Markdown, as it is. What it lists and has not is told.
fn others(context: &Context<'_>, manifest: &Manifest, entries: &Entries) -> BTreeMap<String, Vec<u8>> {
    let mut others = BTreeMap::new();
    for path in manifest.files.iter().map(|file| file.path.as_str()) {
        match entries.get(path) {
            Some(Entry::File(_)) if path.ends_with(".md") => {}
            Some(Entry::File(bytes)) => drop(others.insert(path.to_owned(), bytes.clone())),
            _ => {
                context
                    .tell(Event::Warning(format!("`{path}` was listed and is not there: it is not listed any more")));
            }
        }
    }
    others
}

/// What is wrong in a manifest outside of what sealing writes anew. What cannot be read cannot be written again,
/// and would be gone.
fn unmendable(report: &Report, limits: &Limits) -> Option<Report> {
    // A mark at the start is mended; three spaces keep every place.
    let text = report.text.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
    let json = Json::parse(text.as_deref().unwrap_or(&report.text), limits).ok()?;
    let anew: Vec<Range<usize>> =
        ["pack_id", "files"].iter().filter_map(|key| json.root().get(key)).map(Value::span).collect();
    let is_mended = |span: &Range<usize>| {
        let is_missing = span.start == json.root().span().start;
        is_missing || anew.iter().any(|part| part.start <= span.start && span.end <= part.end)
    };
    let mut report = report.clone();
    report.findings.retain(|finding| {
        finding.severity == Severity::Error
            && finding.check.id == CP_02.id
            && finding.span.as_ref().is_some_and(|span| !is_mended(span))
    });
    (!report.findings.is_empty()).then_some(report)
}

/// The Markdown files that lie in a pack.
fn markdown(entries: &Entries) -> Result<BTreeMap<RelPath, String>> {
    let mut documents = BTreeMap::new();
    for (path, entry) in entries.iter().filter(|(path, _)| path.ends_with(".md")) {
        let Entry::File(bytes) = entry else { continue };
        let text = String::from_utf8(bytes.clone())
            .map_err(|_| Error::new(Kind::Data, format!("`{path}` is not UTF-8")).hint("save it as UTF-8"))?;
        documents.insert(path_of(path)?, text);
    }
    Ok(documents)
}

fn path_of(path: &str) -> Result<RelPath> {
    RelPath::new(path).map_err(|why| Error::new(Kind::Data, format!("`{path}` is no path in a pack")).because(why))
}
