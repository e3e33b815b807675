//! Maps import paths to files of the project, by the rules of each language.

use std::collections::{BTreeMap, HashMap};

use crate::extract::file_extract::FileExtract;
use crate::extract::parsed_code::{CodeImport, ParsedCode};

/// The target of an import.
#[derive(Default)]
pub(super) struct ImportTarget<'f> {
    /// The files; several for a Go or Java package.
    pub files: Vec<usize>,
    /// The imported names.
    pub names: Vec<&'f str>,
    /// The local name of the module.
    pub module: Option<String>,
}

/// The files of a project, indexed for import resolution.
pub(super) struct ModuleIndex<'f> {
    found: &'f [FileExtract],
    paths: HashMap<&'f str, usize>,
    /// Directories of declared packages with the package name, deepest first.
    packages: Vec<(&'f str, &'f str)>,
    /// Files by directory, for languages in which a directory is a package.
    folders: BTreeMap<&'f str, Vec<usize>>,
    /// Files by declared package and class name.
    classes: HashMap<String, usize>,
    /// Files by module name.
    stems: HashMap<&'f str, Vec<usize>>,
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn module_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    match stem {
        // These files are named after their directory.
        "mod" | "index" | "__init__" | "lib" => folder_of(path).rsplit('/').next().unwrap_or(stem),
        _ => stem,
    }
}

fn join_path(folder: &str, rest: &str) -> String {
    if folder.is_empty() { rest.to_owned() } else { format!("{folder}/{rest}") }
}

impl<'f> ModuleIndex<'f> {
    pub(super) fn new(found: &'f [FileExtract]) -> Self {
        let mut packages: Vec<(&str, &str)> = found
            .iter()
            .filter_map(|file| Some((folder_of(&file.path), file.package.as_ref()?.name.as_str())))
            .collect();
        packages.sort_by_key(|(folder, name)| (std::cmp::Reverse(folder.len()), *name));
        let mut modules = Self {
            found,
            paths: HashMap::new(),
            packages,
            folders: BTreeMap::new(),
            classes: HashMap::new(),
            stems: HashMap::new(),
        };
        for (index, file) in found.iter().enumerate() {
            let Some(code) = &file.code else { continue };
            modules.paths.insert(&file.path, index);
            modules.folders.entry(folder_of(&file.path)).or_default().push(index);
            modules.stems.entry(module_name(&file.path)).or_default().push(index);
            if let Some(package) = &code.package {
                modules.classes.insert(format!("{package}.{}", module_name(&file.path)), index);
            }
        }
        modules
    }

    /// Resolves an import of file `at`.
    pub(super) fn resolve(
        &self,
        importer: usize,
        code: &'f ParsedCode,
        import: &'f CodeImport,
    ) -> ImportTarget<'f> {
        match code.language {
            "Rust" => self.resolve_rust(importer, import),
            "Python" => self.resolve_python(importer, import),
            "Go" => self.resolve_go(import),
            "Java" => self.resolve_java(import),
            _ => self.resolve_typescript(importer, import),
        }
    }

    /// The files whose names are visible without an import.
    pub(super) fn package_files(&self, at: usize, code: &ParsedCode) -> &[usize] {
        match code.language {
            "Go" | "Java" => {
                self.folders.get(folder_of(&self.found[at].path)).map_or(&[], Vec::as_slice)
            }
            _ => &[],
        }
    }

    /// Finds a module of the same package by name, if it is unambiguous.
    pub(super) fn find_by_name(&self, at: usize, code: &ParsedCode, name: &str) -> Vec<usize> {
        if code.language != "Rust" {
            return Vec::new();
        }
        let own = self.package_folder(&self.found[at].path);
        let all = self.stems.get(name).into_iter().flatten().copied();
        let near: Vec<usize> =
            all.filter(|file| self.package_folder(&self.found[*file].path) == own).collect();
        if near.len() == 1 { near } else { Vec::new() }
    }

    /// The only symbol defined below the directories of `files`, which may re-export it.
    pub(super) fn unique_below<'d>(
        &self,
        files: &[usize],
        defined: impl Iterator<Item = &'d (usize, usize)>,
    ) -> Option<(usize, usize)> {
        let folders: Vec<&str> =
            files.iter().map(|file| folder_of(&self.found[*file].path)).collect();
        let is_below = |path: &str| {
            folders.iter().any(|folder| {
                folder.is_empty()
                    || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let mut all = defined.filter(|(file, _)| is_below(&self.found[*file].path));
        match (all.next(), all.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    /// The directory of the package that contains a file.
    fn package_folder(&self, path: &str) -> &'f str {
        let holds = |folder: &str| {
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        self.packages.iter().map(|(folder, _)| *folder).find(|folder| holds(folder)).unwrap_or("")
    }

    fn first_existing(&self, candidates: impl IntoIterator<Item = String>) -> Option<usize> {
        candidates.into_iter().find_map(|path| self.paths.get(path.as_str()).copied())
    }

    /// The file of the Rust module whose children are in `folder`.
    fn rust_module_file(&self, folder: &str) -> Option<usize> {
        let named = [
            format!("{folder}.rs"),
            join_path(folder, "mod.rs"),
            join_path(folder, "lib.rs"),
            join_path(folder, "main.rs"),
        ];
        self.first_existing(named)
    }

    fn resolve_rust(&self, importer: usize, import: &'f CodeImport) -> ImportTarget<'f> {
        let segments: Vec<&'f str> = import.path.split("::").map(str::trim).collect();
        let Some(start) = self.rust_start(&self.found[importer].path, &segments) else {
            return ImportTarget::default();
        };
        let mut folder = start.folder;
        let mut rest = &segments[start.segments_used..];
        while let [next, more @ ..] = rest
            && self.rust_module_file(&join_path(&folder, next)).is_some()
        {
            folder = join_path(&folder, next);
            rest = more;
        }
        let names = rest.first().copied().filter(|name| *name != "*").into_iter().collect();
        let module = folder.rsplit('/').next().map(Into::into).filter(|_| rest.is_empty());
        ImportTarget { files: self.rust_module_file(&folder).into_iter().collect(), names, module }
    }

    /// The module that the first segments of a path in the file `path` refer to.
    fn rust_start(&self, path: &str, segments: &[&str]) -> Option<RustPathStart> {
        let start = |folder: String, segments_used| Some(RustPathStart { folder, segments_used });
        let own = rust_module_folder(path);
        match *segments.first()? {
            "crate" => {
                let package = join_path(self.package_folder(path), "src");
                let is_inside = path.starts_with(&format!("{package}/"));
                start(if is_inside { package } else { folder_of(path).to_owned() }, 1)
            }
            "self" => start(own, 1),
            "super" => {
                let ups = segments.iter().take_while(|segment| **segment == "super").count();
                start((0..ups).fold(own, |folder, _| folder_of(&folder).to_owned()), ups)
            }
            first => match self.packages.iter().find(|(_, name)| *name == first) {
                Some((folder, _)) => start(join_path(folder, "src"), 1),
                None if self.rust_module_file(&join_path(&own, first)).is_some() => start(own, 0),
                None => None,
            },
        }
    }

    fn resolve_python(&self, importer: usize, import: &'f CodeImport) -> ImportTarget<'f> {
        let dots = import.path.bytes().take_while(|byte| *byte == b'.').count();
        let rest = import.path[dots..].replace('.', "/");
        let bases = self.python_bases(folder_of(&self.found[importer].path), dots);
        let find = |rest: &str| bases.iter().find_map(|base| self.python_module_file(base, rest));
        let mut target = ImportTarget::default();
        target.files.extend(find(&rest));
        for name in &import.names {
            // A name imported from a package may be one of its modules.
            let submodule = if rest.is_empty() { name.clone() } else { format!("{rest}/{name}") };
            match find(&submodule) {
                Some(module) => {
                    target.files.push(module);
                    target.module = Some(name.clone());
                }
                None => target.names.push(name),
            }
        }
        if target.module.is_none() {
            target.module = import.path.rsplit('.').next().map(Into::into);
        }
        target
    }

    /// The folders in which an import with this number of leading dots is looked up.
    fn python_bases(&self, own: &str, dots: usize) -> Vec<String> {
        if dots > 0 {
            return vec![(1..dots).fold(own.to_owned(), |folder, _| folder_of(&folder).to_owned())];
        }
        let roots = self
            .packages
            .iter()
            .flat_map(|(folder, _)| [(*folder).to_owned(), join_path(folder, "src")]);
        [String::new(), "src".into(), own.to_owned()].into_iter().chain(roots).collect()
    }

    fn python_module_file(&self, base: &str, rest: &str) -> Option<usize> {
        let path = if rest.is_empty() { base.to_owned() } else { join_path(base, rest) };
        self.first_existing([
            format!("{path}.py"),
            join_path(&path, "__init__.py"),
            format!("{path}.pyi"),
        ])
    }

    fn resolve_typescript(&self, importer: usize, import: &'f CodeImport) -> ImportTarget<'f> {
        let candidates = self
            .typescript_bases(&self.found[importer].path, &import.path)
            .into_iter()
            .flat_map(typescript_candidates);
        let files: Vec<usize> = self.first_existing(candidates).into_iter().collect();
        let module = files.first().map(|file| module_name(&self.found[*file].path).to_owned());
        ImportTarget { files, names: import.names.iter().map(String::as_str).collect(), module }
    }

    /// The paths that an import may mean, without extensions.
    fn typescript_bases(&self, importer: &str, path: &str) -> Vec<String> {
        if path.starts_with('.') {
            return normalize_path(folder_of(importer), path).into_iter().collect();
        }
        if let Some(rest) = path.strip_prefix("@/").or_else(|| path.strip_prefix("~/")) {
            let package = self.package_folder(importer);
            return vec![join_path(package, &format!("src/{rest}")), join_path(package, rest)];
        }
        self.packages
            .iter()
            .filter_map(|(folder, name)| Some((folder, path.strip_prefix(name)?)))
            .filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'))
            .flat_map(|(folder, rest)| {
                [
                    join_path(folder, &format!("src{rest}")),
                    join_path(folder, rest.trim_start_matches('/')),
                ]
            })
            .collect()
    }

    fn resolve_go(&self, import: &'f CodeImport) -> ImportTarget<'f> {
        let below = self
            .packages
            .iter()
            .find_map(|(folder, name)| Some((folder, import.path.strip_prefix(name)?)));
        let Some((folder, rest)) =
            below.filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'))
        else {
            return ImportTarget::default();
        };
        let folder = join_path(folder, rest.trim_start_matches('/'));
        let files = self.folders.get(folder.trim_end_matches('/')).into_iter().flatten().copied();
        let files = files
            .filter(|file| {
                self.found[*file]
                    .code
                    .as_ref()
                    .is_some_and(|code| code.language == "Go" && !code.is_test)
            })
            .collect();
        ImportTarget { files, names: Vec::new(), module: import.names.first().cloned() }
    }

    fn resolve_java(&self, import: &'f CodeImport) -> ImportTarget<'f> {
        let path = import.path.as_str();
        let class = path.rsplit('.').next().unwrap_or(path);
        let files: Vec<usize> = self.classes.get(path).copied().into_iter().collect();
        ImportTarget {
            names: if files.is_empty() { Vec::new() } else { vec![class] },
            files,
            module: None,
        }
    }
}

/// What follows the path of an import in a file name.
const TYPESCRIPT_ENDINGS: [&str; 12] = [
    "",
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".mjs",
    ".mts",
    ".cjs",
    "/index.ts",
    "/index.tsx",
    "/index.js",
    "/index.mjs",
];

/// Where the resolution of a Rust path starts.
struct RustPathStart {
    /// The folder of the submodules.
    folder: String,
    /// How many segments of the path lead there.
    segments_used: usize,
}

/// The folder in which the submodules of a file are.
fn rust_module_folder(path: &str) -> String {
    match path.rsplit('/').next().unwrap_or(path) {
        "mod.rs" | "lib.rs" | "main.rs" => folder_of(path).to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    }
}

/// The files that may be at a path. `x.js` may also be `x.ts` before it is compiled.
fn typescript_candidates(base: String) -> Vec<String> {
    let bare = base.strip_suffix(".js").or_else(|| base.strip_suffix(".mjs")).map(str::to_owned);
    [Some(base), bare]
        .into_iter()
        .flatten()
        .flat_map(|base| {
            TYPESCRIPT_ENDINGS.map(|ending| format!("{}{ending}", base.trim_end_matches('/')))
        })
        .collect()
}

/// Resolves `.` and `..`; `None` if the path leaves the project.
fn normalize_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
