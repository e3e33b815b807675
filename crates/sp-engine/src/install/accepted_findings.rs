//! Recording the findings that `--accept` names in the `skillpack-accept.yaml` of the project.

use std::path::Path;

use sp_formats::accept::{self, ACCEPT_FILE};
use sp_tree::{FileError, Name};

use super::plan::FilePlan;
use crate::error::{Error, ErrorCode, Result};
use crate::files::read_for_update;
use crate::project_acceptance::{find_accept_file, read_accept_file};
use crate::session::Session;

/// The reason that is recorded.
const RECORDED_REASON: &str = "accepted with `--accept`";

/// Plans to record the findings that the command line accepts in the file of the project, or in a
/// new one in `dir`. None if the file has them.
pub(crate) fn plan_accepted_findings(
    session: &Session<'_>,
    root: Option<&Path>,
    dir: &Path,
) -> Result<Option<FilePlan>> {
    let ids = &session.context.consent.findings;
    if ids.is_empty() {
        return Ok(None);
    }
    let known = read_accept_file(session, root)?;
    let is_new = |id: &&String| known.accept.iter().all(|entry| entry.rule != **id);
    let new: Vec<&String> = ids.iter().filter(is_new).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let file = find_accept_file(session.context, root).unwrap_or_else(|| dir.join(ACCEPT_FILE));
    let (old, before) = read_for_update(&file, session.limits.yaml_bytes)?;
    let text = String::from_utf8_lossy(old.as_deref().unwrap_or_default()).into_owned();
    let text = with_entries(&text, &new);
    let (read, report) = accept::read(ACCEPT_FILE, &text, &session.limits);
    if !report.is_usable() || read.accept.len() != known.accept.len() + new.len() {
        let path = session.context.display_relative_path(&file);
        return Err(Error::new(ErrorCode::NotFixable, format!("cannot edit `{path}`")).hint(
            "nothing was changed: add entries with the IDs as `rule`, and leave out `--accept`",
        ));
    }
    let dir = file.parent().unwrap_or(dir);
    let real = dir.canonicalize().map_err(|e| FileError::new("find", dir, e))?;
    let name = Name::new(ACCEPT_FILE)?;
    Ok(Some(FilePlan::new(real, name, before, Some(text.into_bytes().into()))))
}

/// Adds entries at the end of the list.
fn with_entries(text: &str, ids: &[&String]) -> String {
    let mut text = text.trim_end().to_owned();
    let indent = text
        .lines()
        .rfind(|line| line.trim_start().starts_with("- "))
        .map_or(2, |line| line.len() - line.trim_start().len());
    let is_empty = ["", "accept:", "accept: []", "accept: [ ]", "{}"].contains(&text.trim());
    if is_empty {
        text = "accept:".into();
    }
    let indent = " ".repeat(indent);
    for id in ids {
        text += &format!(
            "\n{indent}- rule: {id}\n{indent}  path: \"**\"\n{indent}  reason: {RECORDED_REASON}"
        );
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_02_accepted_findings_are_appended_to_the_list() {
        let id = "AU-23-0123456789".to_owned();
        for before in [
            "",
            "accept: []\n",
            "# Why.\naccept:\n  - rule: AS-07\n    path: a\n    reason: b\n",
            "accept:\n- rule: AS-07\n  path: a\n  reason: b\n\n\n",
        ] {
            let text = with_entries(before, &[&id]);
            let count = |text: &str| {
                let (file, report) = accept::read("x", text, &sp_tree::Limits::default());
                assert!(report.is_usable(), "{text}");
                file.accept.len()
            };
            let old = if before.contains("rule") { 1 } else { 0 };
            assert_eq!(count(&text), old + 1, "{text}");
        }
    }
}
