//! Writing the parameter values of `sp bag run --save` to `USER_CONTEXT.md`.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value as Json;
use sp_formats::output::PlanStatus;
use sp_formats::workspace::{USER_CONTEXT_FILE, WorkspaceSkill, detect_secret, read_context};
use sp_tree::atomic::{self, ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::{Dir, Follow, Name};

use super::workspace_dir::{Workspace, read_optional_text};
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;

/// Writes values to `USER_CONTEXT.md`, unless one of them is a secret. Returns the status of the
/// plan, if there are values.
pub(super) fn save_parameters(
    session: &Session<'_>,
    workspace: &Workspace,
    skill: &WorkspaceSkill,
    set: &[(String, String)],
    apply: ApplyOptions,
) -> Result<Option<PlanStatus>> {
    if set.is_empty() {
        return Ok(None);
    }
    refuse_secrets(set)?;
    let path = workspace.root.join(USER_CONTEXT_FILE);
    let old = read_optional_text(&path, session.limits.markdown_bytes)?.unwrap_or_default();
    let new = append_values(&old, skill, set);
    check_readable(session, &new, skill, set)?;
    let status = apply.confirm(plan_id(&path, &old, &new))?;
    if status.applied {
        write_user_context(session, workspace, &new)?;
    }
    Ok(Some(status))
}

/// Returns the ID of the plan to replace the text of a file.
fn plan_id(path: &Path, old: &str, new: &str) -> PlanId {
    let mut hasher = PlanHasher::of_operation("save parameters");
    hasher.path(path);
    hasher.text(old);
    hasher.text(new);
    hasher.finish()
}

fn refuse_secrets(set: &[(String, String)]) -> Result<()> {
    for (name, value) in set {
        if let Some(why) = detect_secret(name, value) {
            return Err(Error::new(
                ErrorCode::SecretInPlainFile,
                format!("refused to save the value of `{name}` in `{USER_CONTEXT_FILE}`: {why}"),
            )
            .hint("nothing was written: pass it with `--set` each time, without `--save`"));
        }
    }
    Ok(())
}

/// Returns the text with a section that sets the values.
fn append_values(text: &str, skill: &WorkspaceSkill, set: &[(String, String)]) -> String {
    let values: serde_json::Map<String, Json> =
        set.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))).collect();
    // JSON is valid YAML, and quotes all strings.
    let block = serde_json::json!({ "skills": { skill.name.as_str(): values } });
    let gap = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    format!("{text}{gap}## Parameters\n\n```yaml\n{block}\n```\n")
}

/// Checks that reading the text returns the values.
fn check_readable(
    session: &Session<'_>,
    text: &str,
    skill: &WorkspaceSkill,
    set: &[(String, String)],
) -> Result<()> {
    let settings = read_context(USER_CONTEXT_FILE, text, &session.limits).0.settings;
    let is_readable = |(name, value): &(String, String)| {
        settings.iter().any(|setting| {
            setting.skill.as_deref() == Some(skill.name.as_str())
                && setting.name == *name
                && setting.value == value.as_str()
        })
    };
    if set.iter().all(is_readable) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidValue,
        format!("cannot save the values in `{USER_CONTEXT_FILE}`: they could not be read back"),
    )
    .hint("nothing was written: check that every code block in the file is closed"))
}

fn write_user_context(session: &Session<'_>, workspace: &Workspace, text: &str) -> Result<()> {
    let dir = Dir::open(&workspace.root)?;
    let name = Name::new(USER_CONTEXT_FILE)?;
    let run_id = &session.context.run_id;
    let _home = LockedHome::open(session.context, &session.limits)?;
    let is_written = match dir.stat(&name, Follow::Never)? {
        Some(stamp) => atomic::replace_if_unchanged(&dir, &name, &stamp, run_id, text.as_bytes())?,
        None => {
            let file = OutputFile {
                bytes: text.as_bytes(),
                access: FileAccess::Ordinary,
                if_exists: ExistingFilePolicy::Refuse,
            };
            match atomic::write_file(&dir, &name, run_id, file) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => false,
                written => written.map(|()| true)?,
            }
        }
    };
    if is_written {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::ChangedMeanwhile,
        format!("`{USER_CONTEXT_FILE}` was changed by another program"),
    )
    .hint("nothing was written: run the command again"))
}
