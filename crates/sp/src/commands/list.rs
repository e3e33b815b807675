//! `sp list` and `sp packs`.

use std::path::Path;

use sp_engine::{Context, Error, ErrorCode, Result};
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use crate::terminal::Terminal;

pub(super) fn skills(
    context: &Context<'_>,
    root: Option<&Path>,
    terminal: &Terminal,
) -> Result<()> {
    let list = sp_engine::skills(context, root)?;
    terminal.print(&list, |out| {
        list.skills.iter().try_for_each(|skill| writeln!(out, "{}", printable(&skill.id)))
    })
}

pub(super) fn packs(context: &Context<'_>, root: Option<&Path>, terminal: &Terminal) -> Result<()> {
    let list = sp_engine::packs(context, root)?;
    terminal.print(&list, |out| {
        list.packs.iter().try_for_each(|pack| writeln!(out, "{}", printable(&pack.name)))
    })?;
    match list.packs.iter().filter(|pack| !pack.valid).count() {
        0 => Ok(()),
        broken => Err(Error::new(
            ErrorCode::InvalidPack,
            format!("found {}", pluralize(broken, "invalid pack")),
        )
        .hint("fix the errors shown above")),
    }
}
