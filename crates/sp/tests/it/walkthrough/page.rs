//! The pages of the documentation, and their code blocks.

use std::path::{Path, PathBuf};

/// Returns the root of this repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the text of a page. Its path is relative to the root.
pub(super) fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// A fenced code block of a page.
#[derive(Default)]
pub(super) struct Block {
    /// The line of its opening fence, starting at one.
    pub line: usize,
    pub language: String,
    pub text: String,
    /// The file with this content, from a line with only its path and a colon before the block.
    pub file: Option<String>,
}

impl Block {
    /// Whether it contains commands, and is not the content of a file.
    pub(super) fn has_commands(&self) -> bool {
        self.file.is_none() && matches!(self.language.as_str(), "console" | "sh")
    }
}

pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut file = None;
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let language = line.trim_start_matches('`');
        let fence = &line[..line.len() - language.len()];
        if fence.len() >= 3 {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != fence);
            let text = inside.fold(String::new(), |text, line| text + line + "\n");
            blocks.push(Block {
                line: index + 1,
                language: language.into(),
                text,
                file: file.take(),
            });
        } else if !line.is_empty() {
            file =
                line.strip_prefix("`~/").and_then(|rest| rest.strip_suffix("`:")).map(Into::into);
        }
    }
    blocks
}

/// Returns the README and all pages below `docs/` that contain commands.
pub(super) fn pages_with_commands() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    add_pages("docs", &mut pages);
    pages.sort();
    pages.retain(|path| blocks(&page(path)).iter().any(Block::has_commands));
    pages
}

fn add_pages(dir: &str, pages: &mut Vec<String>) {
    for entry in std::fs::read_dir(root().join(dir)).unwrap().flatten() {
        let path = format!("{dir}/{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            add_pages(&path, pages);
        } else if path.ends_with(".md") {
            pages.push(path);
        }
    }
}
