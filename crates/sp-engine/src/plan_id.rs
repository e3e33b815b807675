//! The id of a plan: one digest over all that it would do, so that what was shown is what is done.
//!
//! A dry run and the run right after it have the same id. Nothing is in it that differs between the two,
//! such as a time or the name of the run.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sp_formats::output::FolderAction;
use sp_tree::transaction::Before;
use sp_tree::{Digest, DigestError, Hasher};

use crate::error::{Error, Kind, Result};
use crate::plan::{FilePlan, FolderPlan, Plan, SinkPlan};
use crate::resolve::Origin;
use crate::show::Chosen;

/// Goes up whenever the same plan is written in another way.
const FORM: &str = "sp plan 1";

/// What tells a plan from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanId(Digest);

impl FromStr for PlanId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PlanId {
    /// Refuses a plan that is not the one that was shown, where one was.
    pub(crate) fn must_be(self, shown: Option<Self>) -> Result<()> {
        match shown {
            Some(shown) if shown != self => Err(Error::new(Kind::Trust, "this is not what was shown")
                .because(format!("the plan that was shown is `{shown}`, and by now it is `{self}`"))
                .hint("nothing was changed: look at it again with `--dry-run`, and give the id that it tells")),
            _ => Ok(()),
        }
    }
}

/// A plan, and how to learn what it puts into folders.
pub(crate) struct Identified<'a> {
    pub plan: &'a Plan,
    pub packs: &'a [Chosen],
    /// The digest of a skill that is to be written, by pack and skill.
    pub digest: &'a dyn Fn((usize, usize)) -> Option<Digest>,
}

impl Identified<'_> {
    /// The id.
    pub(crate) fn id(&self) -> PlanId {
        let mut form = Form::default();
        form.text(FORM);
        form.each(self.packs.iter(), pack);
        form.each(self.plan.sinks.iter(), |form, sink| self.sink(form, sink));
        form.each(self.plan.files.iter(), file);
        PlanId(form.0.finish())
    }

    fn sink(&self, form: &mut Form, sink: &SinkPlan) {
        form.path(&sink.sink.path);
        form.text(&sink.sink.name);
        form.each(sink.packs.iter(), |form, number| form.number(*number));
        form.each(sink.removed_packs.iter(), |form, pack| form.text(pack));
        form.each(sink.recorded.iter(), |form, (pack, file)| {
            form.text(pack);
            form.text(file);
        });
        form.each(sink.folders.iter(), |form, folder| self.folder(form, folder));
    }

    fn folder(&self, form: &mut Form, folder: &FolderPlan) {
        form.text(folder.name.as_str());
        form.text(&folder.pack);
        form.text(folder.id.as_deref().unwrap_or_default());
        form.text(match folder.action {
            FolderAction::Add => "add",
            FolderAction::Update => "update",
            FolderAction::Remove => "remove",
            FolderAction::Keep => "keep",
        });
        form.text(if folder.edited { "edited" } else { "as it was left" });
        form.before(folder.before);
        form.digest(folder.seen);
        self.content(form, folder);
    }

    /// What the folder is to hold.
    fn content(&self, form: &mut Form, folder: &FolderPlan) {
        let Some((pack, at)) = folder.skill else { return form.text("nothing") };
        match self.packs[pack].skills[at].origin {
            // The commit, which stands with the pack, names every byte of it.
            Origin::Import(number) => {
                form.text("import");
                form.number(number);
            }
            Origin::Local | Origin::Packed(_) => {
                form.text("bytes");
                form.digest(folder.digest.or_else(|| (self.digest)((pack, at))));
            }
        }
    }
}

/// Where a pack comes from.
fn pack(form: &mut Form, chosen: &Chosen) {
    let (pack, path) = (&chosen.file.pack, &chosen.file.path);
    form.text(&pack.name);
    form.path(&path.canonicalize().unwrap_or_else(|_| path.clone()));
    form.each(pack.imports.iter().zip(&chosen.checkouts), |form, (import, checkout)| {
        form.text(&import.repo.written);
        form.text(&import.git_ref.as_ref().map(ToString::to_string).unwrap_or_default());
        form.text(&checkout.commit);
    });
    form.each(chosen.packed.iter(), |form, packed| {
        form.text(&packed.version);
        form.text(&packed.sha256);
    });
}

fn file(form: &mut Form, file: &FilePlan) {
    form.path(&file.dir);
    form.text(file.name.as_str());
    form.before(file.before);
    form.digest(file.bytes.as_ref().map(|bytes| Digest::of(bytes)));
}

/// Takes values one after another. Each has its length before it, so no two rows of values are the same bytes.
#[derive(Default)]
struct Form(Hasher);

impl Form {
    fn number(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn path(&mut self, path: &Path) {
        self.bytes(path.as_os_str().as_encoded_bytes());
    }

    fn digest(&mut self, digest: Option<Digest>) {
        self.bytes(digest.as_ref().map_or(&[], |digest| digest.as_bytes()));
    }

    fn before(&mut self, before: Before) {
        match before {
            Before::Nothing => self.text("nothing"),
            Before::Seen(_, digest) => {
                self.text("seen");
                self.digest(Some(digest));
            }
            Before::Ours(digest) => {
                self.text("ours");
                self.digest(digest);
            }
        }
    }

    fn each<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut take: impl FnMut(&mut Self, T)) {
        self.number(items.len());
        items.for_each(|item| take(self, item));
    }
}
