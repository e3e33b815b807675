//! `sp pkg install`, `uninstall` and `rollback` in a project, and skills in sinks.

mod dependencies;
mod lockfile;
mod ownership;
mod sinks;
mod undo;

use super::*;

/// A package with these required dependencies.
fn dependent(name: &str, version: &str, dependencies: &[(&str, &str)]) -> TestPackage {
    TestPackage::new(name, version).with_dependencies(dependencies)
}
