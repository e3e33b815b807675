//! Parses the source of the crates that ship.
//!
//! The modules of a [`Crate`] are found by following `mod` declarations from the root. Items with
//! `#[cfg(test)]` are omitted, and macros are not expanded.

use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod};

use crate::crates::{shipped_crates, workspace};

pub struct Crate {
    pub name: &'static str,
    pub modules: Vec<Module>,
}

pub struct Module {
    /// The module names from the crate root; empty for the root.
    pub path: Vec<String>,
    pub items: Vec<Item>,
}

impl Module {
    /// Returns the path, such as `install::plan`, or `crate` for the root.
    pub fn display(&self) -> String {
        if self.path.is_empty() { "crate".into() } else { self.path.join("::") }
    }
}

pub fn shipped() -> Vec<Crate> {
    shipped_crates().map(|(name, _)| read_crate(name)).collect()
}

fn read_crate(name: &'static str) -> Crate {
    let src = workspace().join("crates").join(name).join("src");
    let root =
        ["lib.rs", "main.rs"].map(|file| src.join(file)).into_iter().find(|file| file.exists());
    let root = root.unwrap_or_else(|| panic!("`{name}` has no root file"));
    let mut modules = Vec::new();
    read_file(&root, &src, Vec::new(), &mut modules);
    Crate { name, modules }
}

/// Reads the module in `file`; the files of its children are in `dir`.
fn read_file(file: &Path, dir: &Path, path: Vec<String>, modules: &mut Vec<Module>) {
    let text =
        std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed =
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    read_items(parsed.items, dir, path, modules);
}

fn read_items(items: Vec<Item>, dir: &Path, path: Vec<String>, modules: &mut Vec<Module>) {
    let (declared, items): (Vec<Item>, Vec<Item>) = items
        .into_iter()
        .filter(|item| !is_test(item))
        .partition(|item| matches!(item, Item::Mod(_)));
    modules.push(Module { path: path.clone(), items });
    for item in declared {
        let Item::Mod(ItemMod { ident, content, .. }) = item else { continue };
        let name = ident.to_string();
        let child_dir = dir.join(&name);
        let child_path = path.iter().cloned().chain([name.clone()]).collect();
        if let Some((_, items)) = content {
            read_items(items, &child_dir, child_path, modules);
        } else {
            let beside = dir.join(format!("{name}.rs"));
            let inside = child_dir.join("mod.rs");
            read_file(
                if beside.exists() { &beside } else { &inside },
                &child_dir,
                child_path,
                modules,
            );
        }
    }
}

fn is_test(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "test")
    })
}

/// Collects the Rust files below a directory.
pub fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
