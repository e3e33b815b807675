//! Pages that name files.

use crate::crates::workspace;

#[test]
fn every_file_that_the_architecture_page_names_exists() {
    let page = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("the page");
    let named = page.split('`').skip(1).step_by(2).filter(|name| name.starts_with("crates/"));
    let missing: Vec<_> = named.filter(|name| !workspace().join(name).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}, which do not exist");
}
