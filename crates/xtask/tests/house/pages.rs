//! Files that are named in pages.

use crate::crates::workspace;

#[test]
fn files_named_in_architecture_page_exist() {
    let page = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("the page");
    let files = page.split('`').skip(1).step_by(2).filter(|name| name.starts_with("crates/"));
    let missing: Vec<_> = files.filter(|name| !workspace().join(name).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}, which do not exist");
}
