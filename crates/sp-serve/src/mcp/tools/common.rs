//! Tools that every shelf has: looking for things, and reading them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sp_engine::library::{Findable, find_words};
use sp_engine::{Error, Kind, Result};
use sp_formats::mcp::{SCHEME, SkillEntry, not_served, path_of, skill_uri};
use sp_formats::printable::printable;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Digest, RelPath};

use super::{About, Call, Tool};
use crate::mcp::cursor::{cursor, key};
use crate::mcp::pages::PAGE;
use crate::mcp::resources::{bytes, pack_uri, package_uri};
use crate::mcp::shelf::Shelf;

/// What is found, at the most.
const MOST_FOUND: usize = 20;
/// Of a file, so many bytes come at once as text.
const MOST_TEXT: usize = 256 * 1024;

const SEARCH: About = About::reads(
    "search",
    "Search",
    "Look for skills, pages of context packs and packages by words. Gives ids for `fetch`.",
);
const FETCH: About =
    About::reads("fetch", "Fetch", "Read one thing whole, by the id that `search` gave.").with_data(&["text"]);
const LIST_SKILLS: About = About::reads(
    "list_skills",
    "List skills",
    "List the skills that there are, with what each does and when it helps. Read one with `read_skill`.",
);
const READ_SKILL: About =
    About::reads("read_skill", "Read a skill", "Read the instructions of a skill, or another of its files.")
        .with_data(&["text"]);

/// The tools.
pub fn tools<S: Shelf>() -> Vec<Tool<S>> {
    vec![
        Tool::new(SEARCH, search),
        Tool::new(FETCH, fetch),
        Tool::new(LIST_SKILLS, list_skills),
        Tool::new(READ_SKILL, read_skill),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct SearchWanted {
    /// What it should be about.
    query: String,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    /// The best first.
    results: Vec<FoundItem>,
}

#[derive(Serialize, JsonSchema)]
struct FoundItem {
    /// What `fetch` takes.
    id: String,
    /// What it is called.
    title: String,
    /// Where it is read as a resource.
    url: String,
    /// What it is about, as it says itself.
    about: String,
}

impl FoundItem {
    fn new(uri: String, title: String, about: String) -> Self {
        Self { id: uri.clone(), title, url: uri, about }
    }
}

fn search<S: Shelf>(shelf: &S, SearchWanted { query }: SearchWanted, call: &Call) -> Result<Found> {
    let mut items: Vec<(FoundItem, Arc<str>)> = Vec::new();
    for card in shelf.cards()? {
        let uri = skill_uri(&card.path, SKILL_FILE);
        items.push((FoundItem::new(uri, card.name, card.description), card.text));
    }
    for pack in shelf.packs()? {
        for (file, bytes) in &pack.files {
            let title = format!("{}: {file}", pack.name);
            let item = FoundItem::new(pack_uri(&pack.id, file), title, pack.description.clone());
            items.push((item, String::from_utf8_lossy(bytes).into()));
        }
    }
    for package in shelf.packages()? {
        let title = format!("{} {}", package.name, package.version);
        let item = FoundItem::new(package_uri(&package.name, &package.version), title, package.description);
        items.push((item, "".into()));
    }
    if call.is_cancelled() {
        return Err(Error::new(Kind::Cancelled, "the search was given up"));
    }
    let findable = items.iter().map(|(item, text)| Findable { title: &item.title, about: &item.about, text });
    let places = find_words(&query, &findable.collect::<Vec<_>>(), MOST_FOUND)?;
    let mut items: Vec<Option<FoundItem>> = items.into_iter().map(|(item, _)| Some(item)).collect();
    Ok(Found { results: places.into_iter().filter_map(|at| items[at].take()).collect() })
}

#[derive(Deserialize, JsonSchema)]
struct FetchWanted {
    /// What `search` gave, or the address of a resource.
    id: String,
}

#[derive(Serialize, JsonSchema)]
struct Fetched {
    /// What was asked for.
    id: String,
    /// What it is called.
    title: String,
    /// All of it.
    text: String,
    /// Where it is read as a resource.
    url: String,
    /// What else is known of it.
    metadata: FetchedMore,
}

#[derive(Serialize, JsonSchema)]
struct FetchedMore {
    /// The hash of its bytes.
    digest: String,
    /// How many bytes it has.
    size: usize,
    /// Whether the text is only its beginning.
    truncated: bool,
}

fn fetch<S: Shelf>(shelf: &S, wanted: FetchWanted, _: &Call) -> Result<Fetched> {
    let found = bytes(shelf, &wanted.id).map_err(|e| Error::new(Kind::Request, e.message.into_owned()))?;
    let (path, bytes) = found.ok_or_else(|| {
        Error::new(Kind::Request, not_served(&wanted.id)).hint("`search` gives ids that can be fetched")
    })?;
    let (text, truncated) = as_text(&bytes)?;
    let metadata = FetchedMore { digest: digest(&bytes), size: bytes.len(), truncated };
    Ok(Fetched { title: path, text, url: wanted.id.clone(), id: wanted.id, metadata })
}

#[derive(Deserialize, JsonSchema)]
struct ListWanted {
    /// Where the last list ended: its `next`.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SkillsListed {
    /// The skills.
    skills: Vec<SkillListed>,
    /// What to give as `cursor` for more; nothing if these were the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Skills that are not served, with the reason; on the first page.
    left_out: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct SkillListed {
    /// Its name.
    name: String,
    /// What it does, and when it helps, as it says itself.
    description: String,
    /// Where its instructions are read.
    uri: String,
    /// How many files it has.
    files: usize,
    /// How many bytes they have.
    size: u64,
}

fn list_skills<S: Shelf>(shelf: &S, ListWanted { cursor: given }: ListWanted, _: &Call) -> Result<SkillsListed> {
    let unknown = || Error::new(Kind::Usage, "the cursor is not one of this list").hint("list from the start");
    let after = key(given.as_deref()).map_err(|_| unknown())?;
    let left_out = if after.is_none() { shelf.left_out()? } else { Vec::new() };
    let page = shelf.skills(after.as_deref(), PAGE)?.ok_or_else(unknown)?;
    let skills = page.items.into_iter().map(listed).collect();
    Ok(SkillsListed { skills, next: page.next.map(|next| cursor(&next)), left_out })
}

fn listed(skill: SkillEntry) -> SkillListed {
    let text = |field: &str| skill.frontmatter.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    SkillListed {
        name: text("name"),
        description: text("description"),
        files: skill.resources.len(),
        size: skill.resources.iter().map(|file| file.size).sum(),
        uri: skill.uri,
    }
}

#[derive(Deserialize, JsonSchema)]
struct ReadWanted {
    /// The skill: its address, or its name if only one is called so.
    skill: String,
    /// A file of it; its instructions if nothing is said.
    file: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SkillRead {
    /// Where it is read as a resource.
    uri: String,
    /// The text.
    text: String,
    /// The hash of its bytes.
    digest: String,
    /// Whether the text is only its beginning.
    truncated: bool,
    /// All files of the skill.
    files: Vec<String>,
}

fn read_skill<S: Shelf>(shelf: &S, ReadWanted { skill, file }: ReadWanted, _: &Call) -> Result<SkillRead> {
    let skill = find_skill(shelf, &skill)?;
    let root = path_of(&skill.uri).and_then(|path| path.parent().map(str::to_owned)).unwrap_or_default();
    let file = file.as_deref().unwrap_or(SKILL_FILE);
    let missing = || {
        Error::new(Kind::Request, format!("the skill has no file `{}`", printable(file)))
            .hint("`files` of a skill that was read lists them")
    };
    let path = RelPath::new(&format!("{root}/{file}")).map_err(|_| missing())?;
    let bytes = shelf.skill_file(&path)?.ok_or_else(missing)?;
    let (text, truncated) = as_text(&bytes)?;
    let inside = format!("{root}/");
    let name = |uri: &str| path_of(uri).and_then(|path| path.as_str().strip_prefix(&inside).map(str::to_owned));
    Ok(SkillRead {
        uri: skill_uri(&root, file),
        text,
        digest: digest(&bytes),
        truncated,
        files: skill.resources.iter().filter_map(|file| name(&file.uri)).collect(),
    })
}

fn find_skill<S: Shelf>(shelf: &S, wanted: &str) -> Result<SkillEntry> {
    let none = || {
        Error::new(Kind::Request, format!("there is no skill `{}`", printable(wanted))).hint("`list_skills` lists them")
    };
    if wanted.starts_with(SCHEME) {
        let path = path_of(wanted).ok_or_else(none)?;
        return shelf.skill(&path)?.ok_or_else(none);
    }
    let cards = shelf.cards()?;
    let named: Vec<&str> =
        cards.iter().filter(|card| card.name == wanted || card.path == wanted).map(|card| card.path.as_str()).collect();
    match named[..] {
        [] => Err(none()),
        [one] => {
            let path = RelPath::new(&format!("{one}/{SKILL_FILE}")).map_err(|_| none())?;
            shelf.skill(&path)?.ok_or_else(none)
        }
        _ => {
            let all: Vec<String> = named.iter().map(|path| skill_uri(path, SKILL_FILE)).collect();
            Err(Error::new(Kind::Request, format!("several skills are called `{}`", printable(wanted)))
                .hint(format!("name one by its address: {}", all.join(", "))))
        }
    }
}

/// A file as text, not more of it than a model should be given at once; whether there is more.
fn as_text(bytes: &[u8]) -> Result<(String, bool)> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::new(Kind::Request, "this file is no text").hint("read it as a resource"))?;
    let end = text.floor_char_boundary(MOST_TEXT);
    Ok((text[..end].to_owned(), end < text.len()))
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Digest::of(bytes).hex())
}
