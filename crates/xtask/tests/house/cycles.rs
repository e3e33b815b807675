//! Modules of a crate do not import each other, directly or indirectly.
//!
//! A module has an edge to each module whose items it names in a path that starts with `crate`,
//! `self`, `super` or the name of a child. A re-exported name counts for the module that declares
//! it. At each level of the module tree, the graph of siblings, each with its descendants, must not
//! have a cycle.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, Macro, UseTree, Visibility};

use crate::source::{Crate, Module, shipped};

type Path = Vec<String>;

/// The names that paths in a crate can refer to.
struct Names {
    modules: BTreeSet<Path>,
    /// Maps a module and a name in it to the path it re-exports.
    re_exports: BTreeMap<(Path, String), Path>,
    globs: BTreeMap<Path, Vec<Path>>,
    declared: BTreeSet<(Path, String)>,
}

impl Names {
    fn of(krate: &Crate) -> Self {
        let mut names = Self {
            modules: krate.modules.iter().map(|module| module.path.clone()).collect(),
            re_exports: BTreeMap::new(),
            globs: BTreeMap::new(),
            declared: BTreeSet::new(),
        };
        for module in &krate.modules {
            for item in &module.items {
                names.add(module, item);
            }
        }
        names
    }

    fn add(&mut self, module: &Module, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Use(item) => return self.add_use(module, item),
            _ => return,
        };
        self.declared.insert((module.path.clone(), name.to_string()));
    }

    fn add_use(&mut self, module: &Module, item: &ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            return;
        }
        for import in imports(&item.tree) {
            let Some(path) = self.absolute(&module.path, &import.path) else { continue };
            match import.name {
                Some(name) => drop(self.re_exports.insert((module.path.clone(), name), path)),
                None => self.globs.entry(module.path.clone()).or_default().push(path),
            }
        }
    }

    /// Resolves a path as written in a module to a path from the crate root.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Path> {
        let mut base = module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_owned());
                if !self.modules.contains(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// Returns the module that declares the item a path names.
    fn home(&self, path: &[String], depth: usize) -> Option<Path> {
        let known =
            (0..=path.len()).rev().find(|length| self.modules.contains(&path[..*length]))?;
        let (module, rest) = path.split_at(known);
        let Some(name) = rest.first() else { return Some(module.to_vec()) };
        let key = (module.to_vec(), name.clone());
        if depth > 8 || self.declared.contains(&key) {
            return Some(key.0);
        }
        if let Some(target) = self.re_exports.get(&key) {
            let target: Path = target.iter().chain(&rest[1..]).cloned().collect();
            return self.home(&target, depth + 1);
        }
        for glob in self.globs.get(module).into_iter().flatten() {
            let target: Path = glob.iter().chain(rest).cloned().collect();
            let home = self.home(&target, depth + 1);
            if home
                .as_ref()
                .is_some_and(|home| self.declared.contains(&(home.clone(), name.clone())))
            {
                return home;
            }
        }
        Some(key.0)
    }
}

struct Import {
    path: Path,
    /// The local name; `None` for a glob.
    name: Option<String>,
}

fn imports(tree: &UseTree) -> Vec<Import> {
    let below = |name: String, tree: &UseTree| {
        imports(tree)
            .into_iter()
            .map(|mut import| {
                import.path.insert(0, name.clone());
                if import.path.last().is_some_and(|last| last == "self") {
                    import.path.pop();
                    import.name = import.path.last().cloned();
                }
                import
            })
            .collect()
    };
    match tree {
        UseTree::Path(path) => below(path.ident.to_string(), &path.tree),
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            vec![Import { path: vec![name.clone()], name: Some(name) }]
        }
        UseTree::Rename(rename) => {
            vec![Import {
                path: vec![rename.ident.to_string()],
                name: Some(rename.rename.to_string()),
            }]
        }
        UseTree::Glob(_) => vec![Import { path: Vec::new(), name: None }],
        UseTree::Group(group) => group.items.iter().flat_map(imports).collect(),
    }
}

/// Collects the paths in a module, except re-exports.
#[derive(Default)]
struct Paths(Vec<Path>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            self.0.extend(imports(&item.tree).into_iter().map(|import| import.path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }
}

impl Paths {
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1
                }
                other => {
                    self.0.push(std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(ident) => path.push(ident.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.0.push(path);
    }
}

/// Returns an edge from each module to every module whose items it names.
fn edges(krate: &Crate) -> BTreeSet<(Path, Path)> {
    let names = Names::of(krate);
    let mut edges = BTreeSet::new();
    for module in &krate.modules {
        let mut paths = Paths::default();
        module.items.iter().for_each(|item| paths.visit_item(item));
        for path in paths.0.iter().filter(|path| path.len() > 1) {
            let home = names.absolute(&module.path, path).and_then(|path| names.home(&path, 0));
            edges.extend(
                home.filter(|home| *home != module.path).map(|home| (module.path.clone(), home)),
            );
        }
    }
    edges
}

/// Returns the graph of the children of `parent`, each together with everything below it.
fn siblings(
    edges: &BTreeSet<(Path, Path)>,
    parent: &[String],
) -> BTreeMap<String, BTreeSet<String>> {
    let child = |path: &Path| path.strip_prefix(parent)?.first().cloned();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in edges {
        let (Some(from), Some(to)) = (child(from), child(to)) else { continue };
        if from != to {
            graph.entry(from).or_default().insert(to);
        }
    }
    graph
}

/// Returns the strongly connected components with more than one name.
fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<&str>> {
    let reach = |start: &str| {
        let mut seen = BTreeSet::new();
        let mut pending = vec![start.to_owned()];
        while let Some(name) = pending.pop() {
            for next in graph.get(&name).into_iter().flatten() {
                if seen.insert(next.as_str()) {
                    pending.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|name| (name.as_str(), reach(name))).collect();
    let mut groups: Vec<BTreeSet<&str>> = Vec::new();
    for (name, reachable) in &reached {
        if !reachable.contains(name) || groups.iter().any(|group| group.contains(name)) {
            continue;
        }
        let is_mutual =
            |other: &&str| reached.get(*other).is_some_and(|others| others.contains(name));
        groups.push(reachable.iter().copied().filter(is_mutual).collect());
    }
    groups
}

#[test]
fn modules_do_not_import_each_other_in_cycles() {
    let mut cycles_found = Vec::new();
    for krate in shipped() {
        let edges = edges(&krate);
        for module in &krate.modules {
            let graph = siblings(&edges, &module.path);
            for group in cycles(&graph) {
                let group_edges: Vec<String> = edges
                    .iter()
                    .filter(|(from, to)| {
                        let is_in_group = |path: &Path| {
                            path.strip_prefix(module.path.as_slice())
                                .and_then(|rest| rest.first())
                                .is_some_and(|name| group.contains(name.as_str()))
                        };
                        let child = |path: &Path| path[module.path.len()].clone();
                        is_in_group(from) && is_in_group(to) && child(from) != child(to)
                    })
                    .map(|(from, to)| format!("    {} -> {}", from.join("::"), to.join("::")))
                    .collect();
                cycles_found.push(format!(
                    "{} {}: {group:?}\n{}",
                    krate.name,
                    module.display(),
                    group_edges.join("\n")
                ));
            }
        }
    }
    assert!(
        cycles_found.is_empty(),
        "modules that import each other:\n{}",
        cycles_found.join("\n")
    );
}
