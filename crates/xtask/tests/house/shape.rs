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

struct Function {
    name: String,
    lines: usize,
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
    let mut all: Vec<(usize, String)> = Vec::new();
    for krate in shipped() {
        for module in &krate.modules {
            let mut functions = Functions::default();
            module.items.iter().for_each(|item| functions.visit_item(item));
            let named = |function: Function| {
                (function.lines, format!("{}/{}::{}", krate.name, module.display(), function.name))
            };
            all.extend(functions.0.into_iter().map(named));
        }
    }
    all.sort();
    let usual = all[all.len() * 9 / 10].0;
    assert!(usual <= MAX_USUAL_FUNCTION_LINES, "one function of ten has more than {usual} lines");
    let long: Vec<_> = all.iter().filter(|(lines, _)| *lines > MAX_FUNCTION_LINES).collect();
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

fn shown(file: &Path) -> String {
    file.strip_prefix(workspace()).unwrap_or(file).display().to_string()
}

#[test]
fn files_are_short() {
    let long: Vec<_> = all_files()
        .iter()
        .map(|(file, text)| (text.lines().count(), shown(file)))
        .filter(|(lines, _)| *lines > MAX_FILE_LINES)
        .collect();
    assert!(long.is_empty(), "split these files: {long:#?}");
}

/// Checks only comments: the formatter does not wrap them. Long literals are allowed.
#[test]
fn comments_fit_the_width() {
    let mut long = Vec::new();
    for (file, text) in all_files() {
        for (number, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let has_link = line.contains("://");
            if is_comment && !has_link && line.chars().count() > MAX_LINE_CHARS {
                long.push(format!("{}:{}", shown(&file), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "wrap these comments at {MAX_LINE_CHARS} characters: {long:#?}");
}
