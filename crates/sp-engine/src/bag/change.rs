//! Changing a workspace: skills, catalog, lock and entrypoint, all in one transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::bag::{BagSkill, CATALOG, LOCK, Lock, ROOT, read_bag_skill, write_catalog};
use sp_formats::output::KeptFolder;
use sp_formats::skill::{SKILL_FILE, SkillName};
use sp_tree::atomic::Readers;
use sp_tree::transaction::{Action, Before, Change, Intent, Transaction};
use sp_tree::{Content, Name, PinnedDir, TreeWriter};

use super::workspace::Workspace;
use crate::config::Session;
use crate::error::{Error, Kind, Result};
use crate::files::read_before;
use crate::home::Home;

/// What is to change.
#[derive(Default)]
pub(crate) struct Changes {
    /// Skills that come or are replaced.
    pub put: Vec<(String, Content)>,
    /// Skills that go.
    pub remove: Vec<String>,
    /// Files at the root of the workspace, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The lock as it is to be.
    pub lock: Lock,
}

/// What came of it.
pub(crate) struct Changed {
    /// Edited folders that were kept.
    pub kept: Vec<KeptFolder>,
    /// Whether the catalog is other than it was.
    pub catalog: bool,
}

/// One thing that the transaction puts or removes.
struct Step<'a> {
    /// 0 is the workspace, 1 its `.skills/`.
    root: usize,
    name: String,
    before: Before,
    comes: Comes<'a>,
}

enum Comes<'a> {
    Folder(&'a Content),
    File(Vec<u8>),
    Nothing,
}

impl Changes {
    /// The catalog as it will be.
    fn catalog(&self, session: &Session<'_>, workspace: &Workspace) -> String {
        let stays =
            |name: &str| !self.remove.iter().any(|gone| gone == name) && !self.put.iter().any(|(new, _)| new == name);
        let mut lines: Vec<(SkillName, String)> =
            workspace.skills.iter().filter(|skill| stays(skill.name.as_str())).map(BagSkill::line).collect();
        for (name, content) in &self.put {
            let bytes = content.get(SKILL_FILE).unwrap_or_default();
            lines.extend(read_bag_skill(name, name, bytes, &session.limits).0.map(|skill| skill.line()));
        }
        write_catalog(&lines)
    }

    /// Does it. The home is locked, and the workspace was read since.
    pub(crate) fn apply(&self, session: &Session<'_>, home: &Home<'_>, workspace: &Workspace) -> Result<Changed> {
        let catalog = self.catalog(session, workspace).into_bytes();
        let mut steps = self.folder_steps(workspace);
        let before = steps.len();
        for (name, bytes) in &self.files {
            steps.extend(file_step(session, 0, &workspace.root, name, bytes.clone())?);
        }
        let skills = workspace.skills_dir();
        let new_catalog = file_step(session, 1, &skills, CATALOG, catalog)?;
        let changed = new_catalog.is_some();
        steps.extend(new_catalog);
        if self.lock != workspace.lock || before > 0 {
            steps.extend(file_step(session, 1, &skills, LOCK, self.lock.to_json())?);
        }
        let kept = if steps.is_empty() { Vec::new() } else { run(session, home, workspace, &steps)? };
        Ok(Changed { kept, catalog: changed })
    }

    fn folder_steps(&self, workspace: &Workspace) -> Vec<Step<'_>> {
        let before = |name: &str| match workspace.skills_dir().join(name).symlink_metadata() {
            Ok(_) => Before::Ours(workspace.lock.skills.get(name).map(|record| record.tree)),
            Err(_) => Before::Nothing,
        };
        let put = self.put.iter().map(|(name, content)| Step {
            root: 1,
            name: name.clone(),
            before: before(name),
            comes: Comes::Folder(content),
        });
        let gone = self.remove.iter().map(|name| Step {
            root: 1,
            name: name.clone(),
            before: before(name),
            comes: Comes::Nothing,
        });
        put.chain(gone).collect()
    }
}

/// The step that gives a file these bytes; none if it has them.
fn file_step<'a>(
    session: &Session<'_>,
    root: usize,
    dir: &Path,
    name: &str,
    bytes: Vec<u8>,
) -> Result<Option<Step<'a>>> {
    let (old, before) = read_before(&dir.join(name), session.limits.file_bytes)?;
    if old.as_ref() == Some(&bytes) {
        return Ok(None);
    }
    Ok(Some(Step { root, name: name.into(), before, comes: Comes::File(bytes) }))
}

fn run(session: &Session<'_>, home: &Home<'_>, workspace: &Workspace, steps: &[Step<'_>]) -> Result<Vec<KeptFolder>> {
    let named = |name: &str| Name::new(name).map_err(|e| Error::new(Kind::Data, format!("`{name}`: {e}")));
    let state = home.state()?;
    let generation = home.next_generation(&state)?;
    let root = real(&workspace.root)?;
    let changes: Result<Vec<Change>> = steps
        .iter()
        .map(|step| {
            Ok(Change {
                root: step.root,
                name: named(&step.name)?,
                action: if matches!(step.comes, Comes::Nothing) { Action::Remove } else { Action::Put },
                before: step.before,
            })
        })
        .collect();
    let intent = Intent {
        id: named(&session.context.run_id)?,
        generation,
        roots: vec![pin(&root)?, pin(&root.join(ROOT))?],
        changes: changes?,
        remove_if_empty: Vec::new(),
    };
    let mut transaction = Transaction::begin(&home.dir, &session.limits, intent)?;
    if let Err(error) = stage(&transaction, steps) {
        transaction.abandon()?;
        return Err(error);
    }
    transaction.swap()?;
    let next = state.followed_by(generation, state.installs.clone());
    let kept = transaction.commit(|| home.store_state(&next), || home.state().ok().map(|state| state.generation))?;
    Ok(kept.into_iter().map(crate::install::kept_folder).collect())
}

fn stage(transaction: &Transaction<'_>, steps: &[Step<'_>]) -> Result<()> {
    for (index, step) in steps.iter().enumerate() {
        match &step.comes {
            Comes::Folder(content) => {
                let mut writer = TreeWriter::new(transaction.slot(index)?);
                content.write(&mut writer)?;
                writer.finish()?;
            }
            Comes::File(bytes) => transaction.file(index, bytes, Readers::Anybody)?,
            Comes::Nothing => {}
        }
    }
    Ok(())
}

fn pin(path: &Path) -> Result<Arc<PinnedDir>> {
    Ok(Arc::new(PinnedDir::open(path)?))
}

/// The journal names places by their real paths.
fn real(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| sp_tree::FileError::new("find", path, e).into())
}
