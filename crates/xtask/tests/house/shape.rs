//! Lengths of functions, files and comment lines.

use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::crates::workspace;
use crate::source::{rust_files, shipped};

const MAX_FUNCTION_LINES: usize = 80;
/// Maximum length of nine functions out of ten.
const MAX_USUAL_FUNCTION_LINES: usize = 28;
const MAX_FILE_LINES: usize = 600;
const MAX_LINE_CHARS: usize = 100;

/// Sorted by length.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    lines: usize,
    name: String,
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &Signature, body: &Block) {
        let lines = body.span().end().line - signature.span().start().line + 1;
        self.0.push(Function { name: signature.ident.to_string(), lines });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[test]
fn functions_are_short() {
    let mut functions: Vec<Function> = Vec::new();
    for krate in shipped() {
        for module in &krate.modules {
            let mut found = Functions::default();
            module.items.iter().for_each(|item| found.visit_item(item));
            let path = format!("{}/{}", krate.name, module.display());
            functions.extend(found.0.into_iter().map(|function| Function {
                name: format!("{path}::{}", function.name),
                ..function
            }));
        }
    }
    functions.sort();
    let usual = functions[functions.len() * 9 / 10].lines;
    assert!(usual <= MAX_USUAL_FUNCTION_LINES, "one function of ten has more than {usual} lines");
    let long: Vec<_> = functions.iter().filter(|it| it.lines > MAX_FUNCTION_LINES).collect();
    assert!(long.is_empty(), "split these functions: {long:#?}");
}

fn all_files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    rust_files(&workspace().join("crates"), &mut files);
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a source file");
        (file, text)
    };
    files.into_iter().map(read).collect()
}

fn relative_path(file: &Path) -> String {
    file.strip_prefix(workspace()).unwrap_or(file).display().to_string()
}

#[test]
fn files_are_short() {
    let long: Vec<_> = all_files()
        .iter()
        .map(|(file, text)| (text.lines().count(), relative_path(file)))
        .filter(|(lines, _)| *lines > MAX_FILE_LINES)
        .collect();
    assert!(long.is_empty(), "split these files: {long:#?}");
}

/// Checks only comments, because rustfmt does not wrap them. Long literals are allowed.
#[test]
fn comments_fit_the_maximum_width() {
    let mut too_long = Vec::new();
    for (file, text) in all_files() {
        for (number, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let has_link = line.contains("://");
            if is_comment && !has_link && line.chars().count() > MAX_LINE_CHARS {
                too_long.push(format!("{}:{}", relative_path(&file), number + 1));
            }
        }
    }
    assert!(
        too_long.is_empty(),
        "wrap these comments at {MAX_LINE_CHARS} characters: {too_long:#?}"
    );
}
