//! Who imports and calls whom, across the files of a project. What could be two things is neither.

mod modules;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::extract::code::{Call, Code, Symbol, Through};
use crate::extract::note::Found;
use modules::Modules;

/// A file or a symbol of it, by its place among what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    File(usize),
    Symbol(usize, usize),
}

/// A relation of two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub from: Place,
    pub to: Place,
    pub kind: &'static str,
}

/// A symbol by its file and its place there.
type Defined = (usize, usize);

/// Where what is defined.
struct Index<'f> {
    found: &'f [Found],
    /// Functions and types that belong to no type, by language and name.
    free: HashMap<(&'static str, &'f str), Vec<Defined>>,
    /// What each file defines outside of types, by its name: the first of it.
    in_files: HashMap<(usize, &'f str), usize>,
    /// Methods, by language and name.
    methods: HashMap<(&'static str, &'f str), Vec<Defined>>,
    /// Methods, by language, type and name; those of a file stand together.
    of_types: HashMap<(&'static str, &'f str, &'f str), Vec<Defined>>,
    modules: Modules<'f>,
}

/// TypeScript and JavaScript import each other.
fn family(code: &Code) -> &'static str {
    if code.language == "JavaScript" { "TypeScript" } else { code.language }
}

/// Every relation between the files and symbols of a project, sorted.
pub(crate) fn links(found: &[Found]) -> Vec<Link> {
    let index = Index::new(found);
    let mut links = BTreeSet::new();
    for (at, file) in found.iter().enumerate() {
        if let Some(code) = &file.code {
            index.file(at, code, &mut links);
        }
    }
    links.into_iter().collect()
}

/// What a file has in scope by its imports.
#[derive(Default)]
struct Scope<'f> {
    /// The files that it imports from.
    files: BTreeSet<usize>,
    /// Names that stand for symbols of other files.
    names: BTreeMap<&'f str, Defined>,
    /// Names that stand for other files: modules and packages.
    modules: BTreeMap<String, Vec<usize>>,
}

impl<'f> Index<'f> {
    fn new(found: &'f [Found]) -> Self {
        let (free, in_files, methods) = (HashMap::new(), HashMap::new(), HashMap::new());
        let modules = Modules::new(found);
        let mut index = Self { found, free, in_files, methods, of_types: HashMap::new(), modules };
        for (at, file) in found.iter().enumerate() {
            let Some(code) = &file.code else { continue };
            for (place, symbol) in code.symbols.iter().enumerate().filter(|(_, symbol)| !symbol.is_test) {
                let map = if symbol.kind == "method" { &mut index.methods } else { &mut index.free };
                map.entry((family(code), symbol.name.as_str())).or_default().push((at, place));
                match symbol.owner.as_deref() {
                    None => {
                        index.in_files.entry((at, symbol.name.as_str())).or_insert(place);
                    }
                    Some(owner) if symbol.kind == "method" => {
                        let of_type = index.of_types.entry((family(code), owner, symbol.name.as_str()));
                        of_type.or_default().push((at, place));
                    }
                    Some(_) => {}
                }
            }
        }
        index
    }

    fn symbol(&self, (file, place): Defined) -> Option<&'f Symbol> {
        self.found[file].code.as_ref()?.symbols.get(place)
    }

    fn file(&self, at: usize, code: &'f Code, links: &mut BTreeSet<Link>) {
        let scope = self.scope(at, code, links);
        for (place, symbol) in code.symbols.iter().enumerate() {
            let parent = symbol.parent.or_else(|| self.owner_here(at, symbol));
            let from =
                parent.filter(|parent| *parent != place).map_or(Place::File(at), |parent| Place::Symbol(at, parent));
            links.insert(Link { from, to: Place::Symbol(at, place), kind: "contains" });
        }
        for call in &code.calls {
            let Some(to) =
                self.callee(at, code, &scope, call).filter(|to| call.from.is_none_or(|from| *to != (at, from)))
            else {
                continue;
            };
            let caller = call.from.and_then(|from| code.symbols.get(from));
            let is_test = caller.is_some_and(|caller| caller.is_test) || (code.is_test && call.from.is_none());
            let from = call.from.map_or(Place::File(at), |from| Place::Symbol(at, from));
            let to_place = Place::Symbol(to.0, to.1);
            match is_test {
                true => links.insert(Link { from: to_place, to: from, kind: "tested_by" }),
                false => links.insert(Link { from, to: to_place, kind: "calls" }),
            };
            if to.0 != at && code.language == "Go" && scope.files.contains(&to.0) {
                links.insert(Link { from: Place::File(at), to: Place::File(to.0), kind: "imports" });
            }
        }
    }

    /// The type of this file that a method belongs to, where its block is elsewhere.
    fn owner_here(&self, at: usize, symbol: &Symbol) -> Option<usize> {
        let owner = self.in_file(at, symbol.owner.as_deref()?)?;
        self.symbol(owner).filter(|owner| !owner.is_callable()).map(|_| owner.1)
    }

    fn scope(&self, at: usize, code: &'f Code, links: &mut BTreeSet<Link>) -> Scope<'f> {
        let mut scope = Scope::default();
        for import in &code.imports {
            let target = self.modules.resolve(at, code, import);
            for file in target.files.iter().filter(|file| **file != at) {
                scope.files.insert(*file);
                // A package of Go is many files; which of them is meant is seen at the calls.
                if code.language != "Go" {
                    let kind = if import.is_own_part { "contains" } else { "imports" };
                    links.insert(Link { from: Place::File(at), to: Place::File(*file), kind });
                }
            }
            for name in target.names {
                let here = target.files.iter().filter_map(|file| self.in_file(*file, name));
                let elsewhere =
                    || self.modules.below(&target.files, self.free.get(&(family(code), name)).into_iter().flatten());
                if let Some(defined) = here.chain(elsewhere()).next() {
                    if defined.0 != at && !target.files.contains(&defined.0) {
                        links.insert(Link { from: Place::File(at), to: Place::File(defined.0), kind: "imports" });
                    }
                    scope.files.insert(defined.0);
                    scope.names.insert(import.local(name), defined);
                }
            }
            // Methods that are imported one by one.
            for member in import.names.iter().filter(|_| code.language == "Java") {
                let class = import.path.rsplit('.').next().unwrap_or_default();
                if let ([only], false) = (self.method_of(code, class, member), target.files.is_empty()) {
                    scope.names.insert(member, *only);
                }
            }
            if let Some(module) = target.module {
                let module = import.whole().unwrap_or(import.local(&module)).to_owned();
                scope.modules.entry(module).or_default().extend(target.files);
            }
        }
        scope
    }

    /// What a file defines under a name, outside of types.
    fn in_file(&self, file: usize, name: &str) -> Option<Defined> {
        self.in_files.get(&(file, name)).map(|place| (file, *place))
    }

    /// The methods of types of a name.
    fn method_of<'s>(&'s self, code: &Code, owner: &'s str, name: &'s str) -> &'s [Defined] {
        self.of_types.get(&(family(code), owner, name)).map_or(&[], Vec::as_slice)
    }

    fn callee(&self, at: usize, code: &Code, scope: &Scope<'f>, call: &Call) -> Option<Defined> {
        let name = call.name.as_str();
        match &call.through {
            Through::Nothing => self.plain(at, code, scope, name),
            Through::Itself => {
                let owner = call.from.and_then(|from| code.symbols.get(from)?.owner.as_deref())?;
                let own = self.method_of(code, owner, name);
                if own.is_empty() { scope.names.get(name).copied() } else { nearest(at, own) }
            }
            Through::Name(through) => {
                let of_type = self.method_of(code, through, name);
                if !of_type.is_empty() {
                    return nearest(at, of_type);
                }
                if through.starts_with(char::is_uppercase) {
                    return self.type_itself(at, code, scope, (through, name));
                }
                let files =
                    scope.modules.get(through).cloned().unwrap_or_else(|| self.modules.called(at, code, through));
                let in_module = files.iter().find_map(|file| self.in_file(*file, name));
                in_module.or_else(|| self.on_value(code, name))
            }
            Through::Value => self.on_value(code, name),
        }
    }

    /// `new Type(…)` in Java calls the type itself.
    fn type_itself(&self, at: usize, code: &Code, scope: &Scope<'f>, (through, name): (&str, &str)) -> Option<Defined> {
        (through == name).then(|| self.plain(at, code, scope, name)).flatten()
    }

    /// Something that is called by its name alone: of this file, imported, or of the package.
    fn plain(&self, at: usize, code: &Code, scope: &Scope<'f>, name: &str) -> Option<Defined> {
        let imported = || scope.names.get(name).copied();
        let in_package = || self.modules.package_of(at, code).iter().find_map(|file| self.in_file(*file, name));
        self.in_file(at, name).or_else(imported).or_else(in_package)
    }

    /// A method of a value whose type is not known: the only one of its name, of a type that the file speaks of.
    fn on_value(&self, code: &Code, name: &str) -> Option<Defined> {
        let all = self.methods.get(&(family(code), name))?;
        let [only] = all.as_slice() else { return None };
        let owner = self.symbol(*only)?.owner.as_deref()?;
        code.types.contains(owner).then_some(*only)
    }
}

/// The only one of this file, or, if it has none, the only one.
fn nearest(at: usize, all: &[Defined]) -> Option<Defined> {
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
