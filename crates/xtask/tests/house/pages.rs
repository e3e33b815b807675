//! Files that pages name, link to or show.

use std::path::Path;

use crate::crates::workspace;

/// The maximum size of a picture, so that a clone stays small.
const MAX_PICTURE_BYTES: u64 = 200 * 1024;

#[test]
fn files_named_in_architecture_page_exist() {
    let page = std::fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("the page");
    let files = page.split('`').skip(1).step_by(2).filter(|name| name.starts_with("crates/"));
    let missing: Vec<_> = files.filter(|name| !workspace().join(name).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}, which do not exist");
}

/// Returns the destinations of the links and pictures of a page, outside of code blocks.
fn links(page: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let mut fence = None;
    for line in page.lines() {
        let mark = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            None if mark.len() >= 3 => fence = Some(mark),
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None => {
                links.extend(line.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
            }
        }
    }
    links
}

fn add_pages(dir: &Path, pages: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn links_between_pages_lead_to_files() {
    let root = workspace();
    let names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md"];
    let mut pages: Vec<_> = names.into_iter().map(|name| root.join(name)).collect();
    add_pages(&root.join("docs"), &mut pages);
    let mut broken = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for link in links(&text) {
            let path = link.split('#').next().unwrap_or(link);
            let dir = page.parent().unwrap_or(&root);
            if !link.contains("://") && !link.contains('`') && !dir.join(path).exists() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links to missing files: {broken:#?}");
}

#[test]
fn pictures_are_small() {
    for entry in std::fs::read_dir(workspace().join("docs/images")).expect("a directory").flatten()
    {
        let bytes = entry.metadata().expect("its metadata").len();
        assert!(bytes <= MAX_PICTURE_BYTES, "{} has {bytes} bytes", entry.path().display());
    }
}
