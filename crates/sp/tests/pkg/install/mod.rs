//! `sp pkg install`, `uninstall` and `rollback` in a project, and skills in sinks.

mod dependencies;
mod lockfile;
mod ownership;
mod sinks;
mod undo;

use super::*;

fn needing(name: &str, version: &str, needs: &[(&str, &str)]) -> Made {
    Made::new(name, version).needs(needs)
}

/// A world whose store has these packages.
fn stocked(packages: &[Made]) -> World {
    let world = project();
    import(&world, packages);
    world
}
