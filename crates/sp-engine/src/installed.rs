//! `sp installed`: lists installed packs.

use sp_formats::output::{ImportItem, InstalledItem, InstalledList};
use sp_formats::state::InstallRecord;

use crate::context::Context;
use crate::error::Result;
use crate::home::read_state;
use crate::session::Session;
use crate::sinks::{SinkRequest, resolve_sink};

/// Returns the packs that are installed in one sink, or in all.
pub fn installed(context: &Context<'_>, sink: Option<&SinkRequest>) -> Result<InstalledList> {
    let session = Session::begin(context)?;
    let sink = sink.map(|request| resolve_sink(&session, request)).transpose()?;
    let state = read_state(context)?;
    let mut installs: Vec<InstalledItem> = state
        .installs
        .iter()
        .filter(|install| sink.as_ref().is_none_or(|sink| sink.matches_record(install)))
        .map(installed_item)
        .collect();
    installs.sort_by(|a, b| (&a.sink, &a.path, &a.pack).cmp(&(&b.sink, &b.path, &b.pack)));
    Ok(InstalledList { installs })
}

fn installed_item(install: &InstallRecord) -> InstalledItem {
    let folder_name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    InstalledItem {
        sink: install.sink.clone(),
        path: install.sink_path.clone().into(),
        pack: install.pack.clone(),
        pack_file: install.source.to_string(),
        folders: install.installed_paths.iter().map(folder_name).collect(),
        imports: install
            .imports
            .iter()
            .map(|import| ImportItem {
                repo: import.repo.clone(),
                git_ref: import.git_ref.clone(),
                commit: import.commit.clone(),
            })
            .collect(),
        installed_at: install.installed_at.clone(),
    }
}
