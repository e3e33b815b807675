//! `sp bag deps`.

use std::io::Write;

use sp_engine::Result;
use sp_formats::output::WorkspaceDependencyReport;
use sp_formats::printable::printable;

use crate::terminal::{DIM, STRONG, Terminal, WARNING};

/// Prints the dependency trees. Roots are context files, then skills that nothing depends on.
pub(super) fn print_dependencies(
    deps: &WorkspaceDependencyReport,
    terminal: &Terminal,
) -> Result<()> {
    terminal.print(deps, |out| {
        let is_skill = |name: &str| deps.skills.iter().any(|skill| skill == name);
        let needed =
            |name: &str| deps.dependencies.iter().any(|dependency| dependency.name == name);
        let mut roots: Vec<&str> = deps
            .dependencies
            .iter()
            .map(|dependency| dependency.by.as_str())
            .filter(|by| !is_skill(by))
            .collect();
        roots.dedup();
        roots.extend(deps.skills.iter().map(String::as_str).filter(|name| !needed(name)));
        // If every skill is part of a cycle, there is no natural root: use all of them.
        if roots.is_empty() && deps.conflicts.is_empty() {
            roots.extend(deps.skills.iter().map(String::as_str));
        }
        for root in roots {
            writeln!(out, "{STRONG}{}{STRONG:#}", printable(root))?;
            write_branches(deps, root, &mut vec![root], "", out)?;
        }
        deps.conflicts.iter().try_for_each(|conflict| {
            writeln!(out, "{WARNING}conflict:{WARNING:#} {}", printable(conflict))
        })
    })
}

fn write_branches<'a>(
    deps: &'a WorkspaceDependencyReport,
    parent: &str,
    path: &mut Vec<&'a str>,
    indent: &str,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let needs: Vec<_> =
        deps.dependencies.iter().filter(|dependency| dependency.by == parent).collect();
    for (index, dependency) in needs.iter().enumerate() {
        let (branch, below) =
            if index + 1 == needs.len() { ("└─", "   ") } else { ("├─", "│  ") };
        let is_cycle = path.contains(&dependency.name.as_str());
        let state = match (dependency.present, dependency.required) {
            _ if is_cycle => "cycle",
            (true, _) => "present",
            (false, true) => "missing",
            (false, false) => "missing, optional",
        };
        let from = [dependency.source.clone(), dependency.version.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" at ");
        let from = if from.is_empty() {
            String::new()
        } else {
            format!("  {DIM}{}{DIM:#}", printable(&from))
        };
        writeln!(out, "{indent}{branch} {}  {state}{from}", printable(&dependency.name))?;
        if !is_cycle {
            path.push(&dependency.name);
            write_branches(deps, &dependency.name, path, &format!("{indent}{below}"), out)?;
            path.pop();
        }
    }
    Ok(())
}
