//! The id of a plan: one digest over all that it would do, so that what was shown is what is done.
//!
//! A dry run and the run right after it have the same id. Nothing is in it that differs between the two,
//! such as a time or the name of the run.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sp_formats::output::FolderAction;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DigestError, Hasher};

use crate::error::{Error, FailureKind, Result};
use crate::plan::{ChangePlan, FilePlan, FolderPlan, SinkPlan};
use crate::resolve::SkillSource;
use crate::show::ResolvedPack;

/// Goes up whenever the same plan is written in another way.
const PLAN_ID_VERSION: &str = "sp plan 1";

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
    pub(crate) fn ensure_matches(self, shown: Option<Self>) -> Result<()> {
        match shown {
            Some(shown) if shown != self => Err(Error::new(FailureKind::Trust, "this is not what was shown")
                .because(format!("the plan that was shown is `{shown}`, and by now it is `{self}`"))
                .hint("nothing was changed: look at it again with `--dry-run`, and give the id that it tells")),
            _ => Ok(()),
        }
    }
}

/// A plan, and how to learn what it puts into folders.
pub(crate) struct PlanIdInput<'a> {
    pub plan: &'a ChangePlan,
    pub packs: &'a [ResolvedPack],
    /// The digest of a skill that is to be written, by pack and skill.
    pub skill_digest: &'a dyn Fn((usize, usize)) -> Option<Digest>,
}

impl PlanIdInput<'_> {
    /// The id.
    pub(crate) fn plan_id(&self) -> PlanId {
        let mut form = PlanHasher::default();
        form.text(PLAN_ID_VERSION);
        form.list(self.packs.iter(), hash_pack);
        form.list(self.plan.sinks.iter(), |form, sink| self.hash_sink(form, sink));
        form.list(self.plan.files.iter(), hash_file);
        PlanId(form.0.finish())
    }

    fn hash_sink(&self, form: &mut PlanHasher, sink: &SinkPlan) {
        form.path(&sink.sink.path);
        form.text(&sink.sink.name);
        form.list(sink.packs.iter(), |form, number| form.number(*number));
        form.list(sink.removed_packs.iter(), |form, pack| form.text(pack));
        form.list(sink.recorded_packs.iter(), |form, (pack, file)| {
            form.text(pack);
            form.text(file);
        });
        form.list(sink.folders.iter(), |form, folder| self.hash_folder(form, folder));
    }

    fn hash_folder(&self, form: &mut PlanHasher, folder: &FolderPlan) {
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
        form.digest(folder.current_digest);
        self.hash_content(form, folder);
    }

    /// What the folder is to hold.
    fn hash_content(&self, form: &mut PlanHasher, folder: &FolderPlan) {
        let Some((pack, at)) = folder.skill else { return form.text("nothing") };
        match self.packs[pack].skills[at].source {
            // The commit, which stands with the pack, names every byte of it.
            SkillSource::Import(number) => {
                form.text("import");
                form.number(number);
            }
            SkillSource::Local | SkillSource::Package(_) => {
                form.text("bytes");
                form.digest(folder.unchanged_digest.or_else(|| (self.skill_digest)((pack, at))));
            }
        }
    }
}

/// Where a pack comes from.
fn hash_pack(form: &mut PlanHasher, chosen: &ResolvedPack) {
    let (pack, path) = (&chosen.file.pack, &chosen.file.path);
    form.text(&pack.name);
    form.path(&path.canonicalize().unwrap_or_else(|_| path.clone()));
    form.list(pack.imports.iter().zip(&chosen.checkouts), |form, (import, checkout)| {
        form.text(&import.repo.display_url);
        form.text(&import.git_ref.as_ref().map(ToString::to_string).unwrap_or_default());
        form.text(&checkout.commit);
    });
    form.list(chosen.packaged_skills.iter(), |form, packed| {
        form.text(&packed.version);
        form.text(&packed.sha256);
    });
}

fn hash_file(form: &mut PlanHasher, file: &FilePlan) {
    form.path(&file.dir);
    form.text(file.name.as_str());
    form.before(file.before);
    form.digest(file.bytes.as_ref().map(|bytes| Digest::of(bytes)));
}

/// Takes values one after another. Each has its length before it, so no two rows of values are the same bytes.
#[derive(Default)]
struct PlanHasher(Hasher);

impl PlanHasher {
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

    fn before(&mut self, before: PriorState) {
        match before {
            PriorState::Absent => self.text("nothing"),
            PriorState::UserFile(_, digest) => {
                self.text("seen");
                self.digest(Some(digest));
            }
            PriorState::Ours(digest) => {
                self.text("ours");
                self.digest(digest);
            }
        }
    }

    fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut take: impl FnMut(&mut Self, T),
    ) {
        self.number(items.len());
        items.for_each(|item| take(self, item));
    }
}
