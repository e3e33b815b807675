//! Resolves imports and calls across the files of a project. Ambiguous references are dropped.

mod module_index;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::extract::file_extract::FileExtract;
use crate::extract::parsed_code::{
    CallReceiver, CodeCall, CodeImport, ParsedCode, Symbol, SymbolKind,
};
use module_index::{ImportTarget, ModuleIndex};

/// A file or one of its symbols, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CodeItem {
    File(usize),
    Symbol(usize, usize),
}

/// A relation between two items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodeLink {
    pub from: CodeItem,
    pub to: CodeItem,
    pub kind: LinkKind,
}

/// The kind of a relation. Links are sorted in the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkKind {
    Calls,
    Contains,
    Imports,
    TestedBy,
}

impl LinkKind {
    /// The kind of the edge in a package.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Contains => "contains",
            Self::Imports => "imports",
            Self::TestedBy => "tested_by",
        }
    }

    /// The weight of the edge.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::Contains => 0.8,
            Self::TestedBy => 0.7,
            Self::Calls => 0.6,
            Self::Imports => 0.5,
        }
    }
}

fn file_link(from: usize, to: usize, kind: LinkKind) -> CodeLink {
    CodeLink { from: CodeItem::File(from), to: CodeItem::File(to), kind }
}

/// File index and symbol index.
type SymbolRef = (usize, usize);

/// All definitions of a project, by name.
struct SymbolIndex<'f> {
    found: &'f [FileExtract],
    /// Functions and types outside types, by language and name.
    free_symbols: HashMap<(&'static str, &'f str), Vec<SymbolRef>>,
    /// The first definition of each name outside types, by file.
    by_file: HashMap<(usize, &'f str), usize>,
    methods: HashMap<(&'static str, &'f str), Vec<SymbolRef>>,
    /// Methods by language, type and name. Those of one file are adjacent.
    by_type: HashMap<(&'static str, &'f str, &'f str), Vec<SymbolRef>>,
    modules: ModuleIndex<'f>,
}

/// TypeScript and JavaScript files import each other, so they count as one language.
fn language_family(code: &ParsedCode) -> &'static str {
    if code.language == "JavaScript" { "TypeScript" } else { code.language }
}

/// Resolves all links between the files and symbols of a project, sorted.
pub(crate) fn resolve_links(found: &[FileExtract]) -> Vec<CodeLink> {
    let index = SymbolIndex::new(found);
    let mut links = BTreeSet::new();
    for (at, file) in found.iter().enumerate() {
        if let Some(code) = &file.code {
            index.link_file(at, code, &mut links);
        }
    }
    links.into_iter().collect()
}

/// The names that the imports of a file bring into scope.
#[derive(Default)]
struct ImportScope<'f> {
    /// The imported files.
    files: BTreeSet<usize>,
    /// Local names of symbols from other files.
    names: BTreeMap<&'f str, SymbolRef>,
    /// Local names of modules and packages.
    modules: BTreeMap<String, Vec<usize>>,
}

impl<'f> SymbolIndex<'f> {
    fn new(found: &'f [FileExtract]) -> Self {
        let mut index = Self {
            found,
            free_symbols: HashMap::new(),
            by_file: HashMap::new(),
            methods: HashMap::new(),
            by_type: HashMap::new(),
            modules: ModuleIndex::new(found),
        };
        for (file, extract) in found.iter().enumerate() {
            let Some(code) = &extract.code else { continue };
            for (place, symbol) in code.symbols.iter().enumerate() {
                if !symbol.is_test {
                    index.add_symbol(code, symbol, (file, place));
                }
            }
        }
        index
    }

    fn add_symbol(&mut self, code: &'f ParsedCode, symbol: &'f Symbol, reference: SymbolRef) {
        let (family, name) = (language_family(code), symbol.name.as_str());
        let is_method = symbol.kind == SymbolKind::Method;
        let by_name = if is_method { &mut self.methods } else { &mut self.free_symbols };
        by_name.entry((family, name)).or_default().push(reference);
        match symbol.owner.as_deref() {
            None => {
                let (file, place) = reference;
                self.by_file.entry((file, name)).or_insert(place);
            }
            Some(owner) if is_method => {
                self.by_type.entry((family, owner, name)).or_default().push(reference);
            }
            Some(_) => {}
        }
    }

    fn symbol(&self, (file, index): SymbolRef) -> Option<&'f Symbol> {
        self.found[file].code.as_ref()?.symbols.get(index)
    }

    fn link_file(&self, file: usize, code: &'f ParsedCode, links: &mut BTreeSet<CodeLink>) {
        let scope = self.build_scope(file, code, links);
        for (index, symbol) in code.symbols.iter().enumerate() {
            let parent = symbol.parent.or_else(|| self.owner_in_file(file, symbol));
            let from = parent
                .filter(|parent| *parent != index)
                .map_or(CodeItem::File(file), |parent| CodeItem::Symbol(file, parent));
            links.insert(CodeLink {
                from,
                to: CodeItem::Symbol(file, index),
                kind: LinkKind::Contains,
            });
        }
        for call in &code.calls {
            let Some(to) = self
                .resolve_call(file, code, &scope, call)
                .filter(|to| call.from.is_none_or(|from| *to != (file, from)))
            else {
                continue;
            };
            let caller = call.from.and_then(|from| code.symbols.get(from));
            let is_test = caller.is_some_and(|caller| caller.is_test)
                || (code.is_test && call.from.is_none());
            let from = call.from.map_or(CodeItem::File(file), |from| CodeItem::Symbol(file, from));
            let callee = CodeItem::Symbol(to.0, to.1);
            links.insert(if is_test {
                CodeLink { from: callee, to: from, kind: LinkKind::TestedBy }
            } else {
                CodeLink { from, to: callee, kind: LinkKind::Calls }
            });
            if to.0 != file && code.language == "Go" && scope.files.contains(&to.0) {
                links.insert(CodeLink {
                    from: CodeItem::File(file),
                    to: CodeItem::File(to.0),
                    kind: LinkKind::Imports,
                });
            }
        }
    }

    /// The type that a method belongs to, if its block is outside the definition of the type.
    fn owner_in_file(&self, at: usize, symbol: &Symbol) -> Option<usize> {
        let owner = self.find_in_file(at, symbol.owner.as_deref()?)?;
        self.symbol(owner).filter(|owner| !owner.is_callable()).map(|_| owner.1)
    }

    fn build_scope(
        &self,
        file: usize,
        code: &'f ParsedCode,
        links: &mut BTreeSet<CodeLink>,
    ) -> ImportScope<'f> {
        let mut scope = ImportScope::default();
        for import in &code.imports {
            let target = self.modules.resolve(file, code, import);
            for imported in target.files.iter().filter(|imported| **imported != file) {
                scope.files.insert(*imported);
                // A Go package consists of many files; the calls decide which of them are linked.
                if code.language != "Go" {
                    let kind =
                        if import.is_submodule { LinkKind::Contains } else { LinkKind::Imports };
                    links.insert(file_link(file, *imported, kind));
                }
            }
            for name in &target.names {
                let Some(symbol) = self.find_imported(code, &target, name) else { continue };
                if symbol.0 != file && !target.files.contains(&symbol.0) {
                    links.insert(file_link(file, symbol.0, LinkKind::Imports));
                }
                scope.files.insert(symbol.0);
                scope.names.insert(import.local_name(name), symbol);
            }
            if code.language == "Java" && !target.files.is_empty() {
                self.add_static_imports(code, import, &mut scope);
            }
            if let Some(module) = target.module {
                let module = import.module_alias().unwrap_or(import.local_name(&module)).to_owned();
                scope.modules.entry(module).or_default().extend(target.files);
            }
        }
        scope
    }

    /// Finds an imported name in the files of a module, or anywhere below it.
    fn find_imported(
        &self,
        code: &ParsedCode,
        target: &ImportTarget<'f>,
        name: &'f str,
    ) -> Option<SymbolRef> {
        let in_module = || target.files.iter().find_map(|file| self.find_in_file(*file, name));
        let below_module = || {
            let symbols = self.free_symbols.get(&(language_family(code), name));
            self.modules.unique_below(&target.files, symbols.into_iter().flatten())
        };
        in_module().or_else(below_module)
    }

    /// Adds the single methods that a Java file imports.
    fn add_static_imports(
        &self,
        code: &'f ParsedCode,
        import: &'f CodeImport,
        scope: &mut ImportScope<'f>,
    ) {
        let class = import.path.rsplit('.').next().unwrap_or_default();
        for member in &import.names {
            if let [only] = self.methods_of(code, class, member) {
                scope.names.insert(member, *only);
            }
        }
    }

    /// What a file defines under a name, outside types.
    fn find_in_file(&self, file: usize, name: &str) -> Option<SymbolRef> {
        self.by_file.get(&(file, name)).map(|place| (file, *place))
    }

    /// The methods of all types with this name.
    fn methods_of<'s>(
        &'s self,
        code: &ParsedCode,
        owner: &'s str,
        name: &'s str,
    ) -> &'s [SymbolRef] {
        self.by_type.get(&(language_family(code), owner, name)).map_or(&[], Vec::as_slice)
    }

    fn resolve_call(
        &self,
        at: usize,
        code: &ParsedCode,
        scope: &ImportScope<'f>,
        call: &CodeCall,
    ) -> Option<SymbolRef> {
        let name = call.name.as_str();
        match &call.receiver {
            CallReceiver::Bare => self.resolve_bare_call(at, code, scope, name),
            CallReceiver::SelfRef => {
                let owner = call.from.and_then(|from| code.symbols.get(from)?.owner.as_deref())?;
                let own = self.methods_of(code, owner, name);
                if own.is_empty() { scope.names.get(name).copied() } else { nearest(at, own) }
            }
            CallReceiver::Name(through) => {
                let of_type = self.methods_of(code, through, name);
                if !of_type.is_empty() {
                    return nearest(at, of_type);
                }
                if through.starts_with(char::is_uppercase) {
                    // `new Type(…)` in Java calls the type itself.
                    let is_constructor = through == name;
                    return is_constructor
                        .then(|| self.resolve_bare_call(at, code, scope, name))
                        .flatten();
                }
                let files = scope
                    .modules
                    .get(through)
                    .cloned()
                    .unwrap_or_else(|| self.modules.find_by_name(at, code, through));
                let in_module = files.iter().find_map(|file| self.find_in_file(*file, name));
                in_module.or_else(|| self.resolve_value_call(code, name))
            }
            CallReceiver::Expression => self.resolve_value_call(code, name),
        }
    }

    /// Resolves an unqualified call: in the same file, among the imports, in the package.
    fn resolve_bare_call(
        &self,
        at: usize,
        code: &ParsedCode,
        scope: &ImportScope<'f>,
        name: &str,
    ) -> Option<SymbolRef> {
        let imported = || scope.names.get(name).copied();
        let in_package = || {
            self.modules
                .package_files(at, code)
                .iter()
                .find_map(|file| self.find_in_file(*file, name))
        };
        self.find_in_file(at, name).or_else(imported).or_else(in_package)
    }

    /// Resolves a method call on a value of unknown type: the only method of that name among the
    /// types that the file mentions.
    fn resolve_value_call(&self, code: &ParsedCode, name: &str) -> Option<SymbolRef> {
        let all = self.methods.get(&(language_family(code), name))?;
        let [only] = all.as_slice() else { return None };
        let owner = self.symbol(*only)?.owner.as_deref()?;
        code.types.contains(owner).then_some(*only)
    }
}

/// The only candidate in the file `at`; without any there, the only candidate overall.
fn nearest(at: usize, all: &[SymbolRef]) -> Option<SymbolRef> {
    let start = all.partition_point(|(file, _)| *file < at);
    let here = &all[start..];
    match (here, all) {
        ([(file, place), rest @ ..], _) if *file == at => {
            rest.first().is_none_or(|(next, _)| *next != at).then_some((*file, *place))
        }
        (_, [only]) => Some(*only),
        _ => None,
    }
}
