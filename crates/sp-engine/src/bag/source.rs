//! A source of skills for bags: fetched, and judged whole before anything of it is used.

use std::path::Path;

use sp_formats::bag::{AGENTS, BagSkill, CATALOG, ROOT, SourceRef, compare, read_agents, read_bag_skill, read_catalog};
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Content, Digest};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Kind, Result};
use crate::source::{Source, Wanted};

/// A source that satisfies the standard.
pub(crate) struct BagSource {
    source: Source,
    /// What it is called in messages.
    pub shown: String,
    /// What must be done besides copying, in its own words.
    pub steps: Option<String>,
    pub skills: Vec<BagSkill>,
}

impl BagSource {
    /// Brings a source here and judges it.
    pub(crate) fn open(session: &Session<'_>, source: &SourceRef, version: Option<&str>, base: &Path) -> Result<Self> {
        let shown = source.to_string();
        let opened = Source::open(session, &Wanted { source, version, base })?;
        Self::judge(session, opened, shown)
    }

    fn judge(session: &Session<'_>, source: Source, shown: String) -> Result<Self> {
        let catalog_path = format!("{ROOT}/{CATALOG}");
        let folders: Vec<String> = source.folders(ROOT)?.into_iter().filter(|name| !name.starts_with('.')).collect();
        let skill_path = |folder: &String| format!("{ROOT}/{folder}/{SKILL_FILE}");
        let paths: Vec<String> =
            [AGENTS.to_owned(), catalog_path.clone()].into_iter().chain(folders.iter().map(skill_path)).collect();
        let mut read = source.read(session, &paths)?.into_iter();
        let named = |path: &str| format!("{path} of {shown}");
        let (Some(agents), Some(catalog)) = (read.next().flatten(), read.next().flatten()) else {
            let missing = if source.read(session, &paths[..1])?[0].is_none() { AGENTS } else { &catalog_path };
            return Err(Error::new(Kind::Data, format!("`{shown}` is no SkillBag source: it has no `{missing}`"))
                .hint("nothing was changed: name another source, or run `sp bag source init` in it"));
        };
        let (agents, agents_report) = read_agents(&named(AGENTS), &String::from_utf8_lossy(&agents));
        let mut reports = vec![agents_report];
        let mut skills = Vec::new();
        for (folder, bytes) in folders.iter().zip(read) {
            // A folder without a `SKILL.md` is no skill, and the catalog says whether it should be one.
            let Some(bytes) = bytes else { continue };
            let (skill, report) = read_bag_skill(&named(&skill_path(folder)), folder, &bytes, &session.limits);
            skills.extend(skill);
            reports.push(report);
        }
        let (catalog, mut report) = read_catalog(&named(&catalog_path), &String::from_utf8_lossy(&catalog));
        let lines: Vec<_> = skills.iter().map(BagSkill::line).collect();
        compare(&catalog, &lines, &mut report);
        reports.push(report);
        refuse_broken(session, &shown, reports)?;
        Ok(Self { source, shown, steps: agents.steps, skills })
    }

    /// A skill of it.
    pub(crate) fn skill(&self, name: &str) -> Result<&BagSkill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name).ok_or_else(|| {
            let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
            let error = Error::new(Kind::Request, format!("`{}` has no skill called `{name}`", self.shown));
            match sp_formats::suggest::nearest(name, names.iter().copied()) {
                Some(near) => error.hint(format!("nothing was changed: did you mean `{near}`?")),
                None => error.hint(format!("nothing was changed: its skills are: {}", names.join(", "))),
            }
        })
    }

    /// Everything in a skill's folder.
    pub(crate) fn load(&self, session: &Session<'_>, name: &str) -> Result<Content> {
        self.source.load(session, &format!("{ROOT}/{name}"))
    }

    /// The digest of an archive that the cache keeps.
    pub(crate) fn archive(&self) -> Option<Digest> {
        self.source.archive()
    }

    /// The full commit, if it is git's.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.source.commit()
    }
}

/// Any error in any file stops everything; warnings are told.
fn refuse_broken(session: &Session<'_>, shown: &str, reports: Vec<Report>) -> Result<()> {
    let (broken, odd): (Vec<Report>, Vec<Report>) = reports.into_iter().partition(|report| !report.is_usable());
    if !broken.is_empty() {
        let mut error = Error::new(Kind::Data, format!("`{shown}` does not satisfy the SkillBag standard"))
            .hint("nothing was changed: its author can find all of this with `sp bag check`");
        error.reports = broken;
        return Err(error);
    }
    for report in odd.iter().filter(|report| !report.findings.is_empty()) {
        session.context.tell(Event::Findings(report));
    }
    Ok(())
}
