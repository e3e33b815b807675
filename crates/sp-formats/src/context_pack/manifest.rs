//! `pack.json`: who the pack is, what is in it, and where everything is from.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use sp_tree::RelPath;

use super::{MANIFEST, SPEC_VERSION};
use crate::checks::{CP_02, CP_03, Check};
use crate::json::{Kind, Value};
use crate::package::time;
use crate::printable::printable;
use crate::report::Report;

/// A manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifest {
    /// The version of the specification.
    pub spec_version: String,
    /// What tells this pack from every other.
    pub pack_id: String,
    /// When it was made.
    pub generated_at: String,
    /// What made it.
    pub generator: Generator,
    /// What it is for.
    pub project: Project,
    /// What was asked for.
    pub user_prompt: Option<String>,
    /// From when to when the knowledge is.
    pub window: Option<Window>,
    /// The files.
    pub files: Vec<FileEntry>,
    /// The sources.
    pub sources: Vec<SourceEntry>,
    /// Members that we do not know, as JSON.
    pub more: Vec<(String, String)>,
}

/// What made a pack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generator {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Where it is from.
    pub url: Option<String>,
}

/// What a pack is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// A short label.
    pub name: String,
    /// What is intended, in a few sentences.
    pub description: String,
    /// What it is built with.
    pub stack: Vec<String>,
}

/// From when to when the knowledge is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// The earliest.
    pub from: Option<String>,
    /// The latest.
    pub to: Option<String>,
}

/// A file of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its path.
    pub path: RelPath,
    /// The hash of its bytes.
    pub sha256: String,
    /// Where the path stands in the manifest.
    pub span: Range<usize>,
    /// Where the hash stands in the manifest.
    pub sha256_span: Range<usize>,
}

/// A source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceEntry {
    /// By which footnotes name it.
    pub id: String,
    /// Where it is.
    pub url: String,
    /// What it is called.
    pub title: String,
    /// What it is: docs, article, video and so on.
    pub kind: String,
    /// When it was published.
    pub published_at: Option<String>,
    /// When it was taken.
    pub captured_at: String,
    /// Where its id stands in the manifest.
    pub span: Range<usize>,
}

const KNOWN: &[&str] =
    &["spec_version", "pack_id", "generated_at", "generator", "project", "user_prompt", "window", "files", "sources"];

/// Whether a text is a ULID or a UUID, perhaps after `pk_`.
pub fn is_pack_id(text: &str) -> bool {
    let id = text.strip_prefix("pk_").unwrap_or(text);
    let is_ulid = id.len() == 26
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() && !b"ILOUilou".contains(&byte))
        && id.starts_with(|first: char| ('0'..='7').contains(&first));
    let groups: Vec<&str> = id.split('-').collect();
    let is_uuid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_ulid || is_uuid
}

/// Whether a text is the id of a source.
pub fn is_source_id(text: &str) -> bool {
    text.strip_prefix("src_").is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_alphanumeric())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    })
}

/// Reads a manifest. It is none if what must be there is not.
pub(super) fn read(root: Value<'_>, report: &mut Report) -> Option<Manifest> {
    if root.kind() != Kind::Object {
        let message = format!("`pack.json` must be an object, not {}", root.kind().word());
        report.error(&CP_02, root.span(), message).help("write `{\"spec_version\": \"0.1\", …}`");
        return None;
    }
    let before = errors(report);
    let mut object = Object { value: root, name: "", report };
    object.warn_unknown(KNOWN);
    let manifest = Manifest {
        spec_version: object.spec_version(),
        pack_id: object.pack_id(),
        generated_at: object.moment("generated_at", Moment::Utc).unwrap_or_default(),
        generator: generator(&mut object),
        project: project(&mut object),
        user_prompt: object.optional("user_prompt"),
        window: window(&mut object),
        files: files(&mut object),
        sources: sources(&mut object),
        more: more(root),
    };
    // What is wrong with files and sources is told, and the rest can still be looked at.
    (!manifest.spec_version.is_empty() || errors(report) == before).then_some(manifest)
}

fn errors(report: &Report) -> usize {
    report.findings.iter().filter(|finding| finding.severity == crate::Severity::Error).count()
}

fn more(root: Value<'_>) -> Vec<(String, String)> {
    let members = root.members().filter_map(|(key, value)| Some((key.text()?.into_owned(), value.raw().to_owned())));
    members.filter(|(key, _)| !KNOWN.contains(&key.as_str())).collect()
}

/// What sort of time is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// A time in UTC.
    Utc,
    /// A time, or a day.
    Day,
}

/// An object of the manifest, read member by member.
struct Object<'j, 'r> {
    value: Value<'j>,
    /// Where it stands in the manifest, with a dot; empty for the whole.
    name: &'j str,
    report: &'r mut Report,
}

impl<'j> Object<'j, '_> {
    fn get(&self, key: &str) -> Option<Value<'j>> {
        self.value.get(key)
    }

    fn wrong(&mut self, check: &'static Check, span: Range<usize>, message: String, help: impl Into<String>) {
        self.report.error(check, span, message).help(help);
    }

    fn warn_unknown(&mut self, known: &[&str]) {
        for (key, _) in self.value.members() {
            let name = key.text().unwrap_or_default();
            if !known.contains(&&*name) {
                let message = format!("nobody knows `{}{}`", self.name, printable(&name));
                self.report.warning(&CP_03, key.span(), message).help("it is kept, and means nothing");
            }
        }
    }

    /// A text that may be missing.
    fn optional(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let text = value.text();
        if text.is_none() {
            let message = format!("`{}{key}` must be text, not {}", self.name, value.kind().word());
            self.wrong(&CP_02, value.span(), message, "write it in quotes");
        }
        text.map(Into::into)
    }

    /// A text that must be there and say something.
    fn text(&mut self, key: &str) -> String {
        let Some(value) = self.get(key) else {
            let message = format!("`{}{key}` is missing", self.name);
            let at = self.value.span().start..self.value.span().start + 1;
            self.wrong(&CP_02, at, message, format!("add `\"{key}\": \"…\"`"));
            return String::new();
        };
        let text = self.optional(key).unwrap_or_default();
        if text.trim().is_empty() && value.text().is_some() {
            self.wrong(&CP_02, value.span(), format!("`{}{key}` says nothing", self.name), "write what it is");
        }
        text
    }

    fn spec_version(&mut self) -> String {
        let text = self.text("spec_version");
        let known = text == SPEC_VERSION || text.strip_prefix("0.1.").is_some_and(|patch| patch.parse::<u32>().is_ok());
        if !text.is_empty() && !known {
            let span = self.get("spec_version").map_or(0..0, Value::span);
            let message = format!("there is no version `{}` of the specification", printable(&text));
            self.wrong(&CP_02, span, message, "the version is \"0.1\"; a newer `sp` may know more");
        }
        text
    }

    fn pack_id(&mut self) -> String {
        let text = self.text("pack_id");
        if !text.is_empty() && !is_pack_id(&text) {
            let span = self.get("pack_id").map_or(0..0, Value::span);
            let message = format!("`pack_id` is neither a ULID nor a UUID: `{}`", printable(&text));
            self.wrong(&CP_02, span, message, "`sp context seal` gives it a new one");
        }
        text
    }

    /// A time that must be there.
    fn moment(&mut self, key: &str, sort: Moment) -> Option<String> {
        let text = self.text(key);
        self.check_moment(key, &text, sort);
        (!text.is_empty()).then_some(text)
    }

    fn optional_moment(&mut self, key: &str, sort: Moment) -> Option<String> {
        let text = self.optional(key)?;
        self.check_moment(key, &text, sort);
        Some(text)
    }

    fn check_moment(&mut self, key: &str, text: &str, sort: Moment) {
        let is_day = sort == Moment::Day && text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10;
        let is_utc = text.ends_with('Z') || text.ends_with("+00:00");
        if text.is_empty() || is_day || (time::parse(text).is_some() && (is_utc || sort == Moment::Day)) {
            return;
        }
        let span = self.get(key).map_or(0..0, Value::span);
        let message = format!("`{}{key}` is no time in UTC: `{}`", self.name, printable(text));
        self.wrong(&CP_02, span, message, "write it as `2026-04-24T14:22:03Z`");
    }

    /// A member that must be an object.
    fn object(&mut self, key: &str) -> Option<Value<'j>> {
        let value = self.get(key)?;
        if value.kind() == Kind::Object {
            return Some(value);
        }
        let message = format!("`{}{key}` must be an object, not {}", self.name, value.kind().word());
        self.wrong(&CP_02, value.span(), message, format!("write `\"{key}\": {{…}}`"));
        None
    }

    /// The items of a list that must be there.
    fn list(&mut self, key: &str) -> Vec<Value<'j>> {
        match self.get(key) {
            Some(list) if list.kind() == Kind::Array => list.items().collect(),
            Some(other) => {
                let message = format!("`{key}` must be a list, not {}", other.kind().word());
                self.wrong(&CP_02, other.span(), message, format!("write `\"{key}\": […]`"));
                Vec::new()
            }
            None => {
                let at = self.value.span().start..self.value.span().start + 1;
                self.wrong(&CP_02, at, format!("`{key}` is missing"), format!("add `\"{key}\": []`"));
                Vec::new()
            }
        }
    }
}

fn required<'j>(object: &mut Object<'j, '_>, key: &str) -> Option<Value<'j>> {
    if object.get(key).is_none() {
        let at = object.value.span().start..object.value.span().start + 1;
        object.wrong(&CP_02, at, format!("`{key}` is missing"), format!("add `\"{key}\": {{…}}`"));
    }
    object.object(key)
}

fn generator(root: &mut Object<'_, '_>) -> Generator {
    let Some(value) = required(root, "generator") else { return Generator::default() };
    let mut object = Object { value, name: "generator.", report: root.report };
    object.warn_unknown(&["name", "version", "url"]);
    Generator { name: object.text("name"), version: object.optional("version"), url: object.optional("url") }
}

fn project(root: &mut Object<'_, '_>) -> Project {
    let Some(value) = required(root, "project") else { return Project::default() };
    let mut object = Object { value, name: "project.", report: root.report };
    object.warn_unknown(&["name", "description", "stack"]);
    let (name, description) = (object.text("name"), object.text("description"));
    let sentences = super::shape::sentences(&description);
    if sentences > 3 {
        let span = object.get("description").map_or(0..0, Value::span);
        let message = format!("`project.description` has {sentences} sentences, more than 3");
        object.report.warning(&CP_02, span, message).help("say in one to three what is intended");
    }
    let mut stack = Vec::new();
    if object.get("stack").is_some() {
        for item in object.list("stack") {
            match item.text() {
                Some(text) => stack.push(text.into_owned()),
                None => {
                    let message = format!("`project.stack` holds text, not {}", item.kind().word());
                    object.wrong(&CP_02, item.span(), message, "write it in quotes");
                }
            }
        }
    }
    Project { name, description, stack }
}

fn window(root: &mut Object<'_, '_>) -> Option<Window> {
    let value = root.object("window")?;
    let mut object = Object { value, name: "window.", report: root.report };
    object.warn_unknown(&["from", "to"]);
    let from = object.optional_moment("from", Moment::Utc);
    let to = object.optional_moment("to", Moment::Utc);
    let parsed = |text: &Option<String>| text.as_deref().and_then(time::parse);
    if let (Some(first), Some(last)) = (parsed(&from), parsed(&to))
        && first > last
    {
        object.wrong(&CP_02, value.span(), "the window ends before it begins".into(), "exchange `from` and `to`");
    }
    Some(Window { from, to })
}

fn files(root: &mut Object<'_, '_>) -> Vec<FileEntry> {
    let mut files = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for value in root.list("files") {
        if value.kind() != Kind::Object {
            let message = format!("an entry of `files` must be an object, not {}", value.kind().word());
            root.wrong(&CP_02, value.span(), message, "write `{\"path\": …, \"sha256\": …}`");
            continue;
        }
        let mut object = Object { value, name: "files[].", report: root.report };
        object.warn_unknown(&["path", "sha256"]);
        let (path, sha256) = (object.text("path"), object.text("sha256"));
        let span = |key: &str| value.get(key).map_or_else(|| value.span(), Value::span);
        let is_hash =
            sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !sha256.is_empty() && !is_hash {
            object.wrong(
                &CP_02,
                span("sha256"),
                "this is no SHA-256".into(),
                "write its 64 hexadecimal digits in lower case",
            );
        }
        if let Some(path) = safe_path(&mut object, &path, span("path"), &mut seen) {
            files.push(FileEntry { path, sha256, span: span("path"), sha256_span: span("sha256") });
        }
    }
    files
}

fn safe_path(
    object: &mut Object<'_, '_>,
    text: &str,
    span: Range<usize>,
    seen: &mut BTreeMap<String, String>,
) -> Option<RelPath> {
    if text.is_empty() {
        return None;
    }
    let path = match RelPath::new(text) {
        Ok(path) => path,
        Err(why) => {
            let message = format!("`{}` is no path in a pack: {why}", printable(text));
            object.wrong(&CP_03, span, message, "write it from the folder of the pack, with `/`, without `.` and `..`");
            return None;
        }
    };
    if path.as_str().eq_ignore_ascii_case(MANIFEST) {
        object.wrong(&CP_03, span, "`pack.json` lists itself".into(), "take it out: it cannot hold its own hash");
        return None;
    }
    match seen.insert(path.as_str().to_lowercase(), text.to_owned()) {
        None => Some(path),
        Some(other) => {
            let message = match other == text {
                true => format!("`{path}` is listed twice"),
                false => format!("`{path}` and `{other}` differ only in case"),
            };
            object.wrong(&CP_03, span, message, "keep one of the two");
            None
        }
    }
}

fn sources(root: &mut Object<'_, '_>) -> Vec<SourceEntry> {
    let mut sources: Vec<SourceEntry> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for value in root.list("sources") {
        if value.kind() != Kind::Object {
            let message = format!("an entry of `sources` must be an object, not {}", value.kind().word());
            root.wrong(
                &CP_02,
                value.span(),
                message,
                "write `{\"id\": …, \"url\": …, \"title\": …, \"kind\": …, \"captured_at\": …}`",
            );
            continue;
        }
        let mut object = Object { value, name: "sources[].", report: root.report };
        object.warn_unknown(&["id", "url", "title", "kind", "published_at", "captured_at"]);
        let span = |key: &str| value.get(key).map_or_else(|| value.span(), Value::span);
        let source = SourceEntry {
            id: object.text("id"),
            url: object.text("url"),
            title: object.text("title"),
            kind: object.text("kind"),
            published_at: object.optional_moment("published_at", Moment::Day),
            captured_at: object.moment("captured_at", Moment::Day).unwrap_or_default(),
            span: span("id"),
        };
        if !source.url.is_empty() && !is_url(&source.url) {
            let message = format!("`{}` is no URL", printable(&source.url));
            object.wrong(&CP_02, span("url"), message, "write it with its scheme, as `https://…`");
        }
        if source.id.is_empty() {
            continue;
        }
        if !is_source_id(&source.id) {
            let message = format!("`{}` is no id of a source", printable(&source.id));
            object.wrong(&CP_02, span("id"), message, "write it as `src_` and letters, digits, `_` and `-`");
        } else if seen.insert(source.id.clone()) {
            sources.push(source);
        } else {
            let message = format!("two sources are called `{}`", source.id);
            object.wrong(&CP_02, span("id"), message, "give each its own id");
        }
    }
    sources
}

/// `scheme:` and something behind it, without blanks.
fn is_url(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !rest.is_empty()
            && !text.contains(char::is_whitespace)
    })
}
