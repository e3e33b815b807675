//! `sp list` and `sp packs`.

use std::io::Write;
use std::path::Path;

use sp_engine::{Context, Error, ErrorCode, Result};
use sp_formats::output::SkillItem;
use sp_formats::printable::printable;
use sp_formats::text::pluralize;

use crate::cli::OutputFormat;
use crate::terminal::{DIM, Terminal, columns, pad, truncate_columns};

/// Longer IDs do not widen the column of all the others.
const MAX_ID_COLUMNS: usize = 40;
/// Descriptions that have less room are left out.
const MIN_DESCRIPTION_COLUMNS: usize = 12;

pub(super) fn skills(
    context: &Context<'_>,
    root: Option<&Path>,
    terminal: &Terminal,
) -> Result<()> {
    let list = sp_engine::skills(context, root)?;
    terminal.print(&list, |out| match terminal.format {
        OutputFormat::Plain => {
            list.skills.iter().try_for_each(|skill| writeln!(out, "{}", printable(&skill.id)))
        }
        _ => write_skills(&list.skills, terminal.width(), out),
    })
}

/// Writes one line per skill: the ID, and as much of the description as fits.
fn write_skills(
    skills: &[SkillItem],
    width: Option<u16>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let ids: Vec<String> = skills.iter().map(|skill| printable(&skill.id).into_owned()).collect();
    let id_columns = ids.iter().map(|id| columns(id)).max().unwrap_or(0).min(MAX_ID_COLUMNS);
    for (id, skill) in ids.iter().zip(skills) {
        let description = skill.description.as_deref().unwrap_or_default();
        let first = printable(description.lines().next().unwrap_or_default()).into_owned();
        let id_cell = if columns(id) > id_columns { id.clone() } else { pad(id, id_columns) };
        let room = width.map(|width| usize::from(width).saturating_sub(columns(&id_cell) + 2));
        let shown = match room {
            None => first,
            Some(room) if room < MIN_DESCRIPTION_COLUMNS => String::new(),
            Some(room) => truncate_columns(&first, room),
        };
        if shown.is_empty() {
            writeln!(out, "{id}")?;
        } else {
            writeln!(out, "{id_cell}  {DIM}{shown}{DIM:#}")?;
        }
    }
    Ok(())
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
