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
        for (at, file) in found.iter().enumerate() {
            let Some(code) = &file.code else { continue };
            modules.paths.insert(&file.path, at);
            modules.folders.entry(folder_of(&file.path)).or_default().push(at);
            modules.stems.entry(module_name(&file.path)).or_default().push(at);
            if let Some(package) = &code.package {
                modules.classes.insert(format!("{package}.{}", module_name(&file.path)), at);
            }
        }
        modules
    }

    /// Resolves an import of file `at`.
    pub(super) fn resolve(
        &self,
        at: usize,
        code: &'f ParsedCode,
        import: &'f CodeImport,
    ) -> ImportTarget<'f> {
        match code.language {
            "Rust" => self.resolve_rust(at, import),
            "Python" => self.resolve_python(at, import),
            "Go" => self.resolve_go(import),
            "Java" => self.resolve_java(import),
            _ => self.resolve_typescript(at, import),
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

    fn resolve_rust(&self, at: usize, import: &'f CodeImport) -> ImportTarget<'f> {
        let path = &self.found[at].path;
        let name = path.rsplit('/').next().unwrap_or(path);
        let own = match name {
            "mod.rs" | "lib.rs" | "main.rs" => folder_of(path).to_owned(),
            _ => path.trim_end_matches(".rs").to_owned(),
        };
        let segments: Vec<&'f str> = import.path.split("::").map(str::trim).collect();
        let crate_root = || {
            let package = join_path(self.package_folder(path), "src");
            if path.starts_with(&format!("{package}/")) {
                package
            } else {
                folder_of(path).to_owned()
            }
        };
        let (mut folder, mut rest) = match segments.first() {
            Some(&"crate") => (crate_root(), &segments[1..]),
            Some(&"self") => (own, &segments[1..]),
            Some(&"super") => {
                let ups = segments.iter().take_while(|segment| **segment == "super").count();
                let above = (0..ups).fold(own, |folder, _| folder_of(&folder).to_owned());
                (above, &segments[ups..])
            }
            Some(first) => match self.packages.iter().find(|(_, name)| name == first) {
                Some((folder, _)) => (join_path(folder, "src"), &segments[1..]),
                None if self.rust_module_file(&join_path(&own, first)).is_some() => {
                    (own, &segments[..])
                }
                None => return ImportTarget::default(),
            },
            None => return ImportTarget::default(),
        };
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

    fn resolve_python(&self, at: usize, import: &'f CodeImport) -> ImportTarget<'f> {
        let own = folder_of(&self.found[at].path);
        let dots = import.path.bytes().take_while(|byte| *byte == b'.').count();
        let rest = import.path[dots..].replace('.', "/");
        let bases: Vec<String> = match dots {
            0 => {
                let roots = self
                    .packages
                    .iter()
                    .flat_map(|(folder, _)| [(*folder).to_owned(), join_path(folder, "src")]);
                [String::new(), "src".into(), own.to_owned()].into_iter().chain(roots).collect()
            }
            _ => vec![(1..dots).fold(own.to_owned(), |folder, _| folder_of(&folder).to_owned())],
        };
        let file = |base: &str, rest: &str| {
            let path = if rest.is_empty() { base.to_owned() } else { join_path(base, rest) };
            self.first_existing([
                format!("{path}.py"),
                join_path(&path, "__init__.py"),
                format!("{path}.pyi"),
            ])
        };
        let mut target = ImportTarget::default();
        target.files.extend(bases.iter().find_map(|base| file(base, &rest)));
        for name in &import.names {
            // A name imported from a package may be one of its modules.
            match bases.iter().find_map(|base| {
                file(base, &if rest.is_empty() { name.clone() } else { format!("{rest}/{name}") })
            }) {
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

    fn resolve_typescript(&self, at: usize, import: &'f CodeImport) -> ImportTarget<'f> {
        let own = folder_of(&self.found[at].path);
        let package = self.package_folder(&self.found[at].path);
        let path = import.path.as_str();
        let bases: Vec<String> = if path.starts_with('.') {
            normalize_path(own, path).into_iter().collect()
        } else if let Some(rest) = path.strip_prefix("@/").or_else(|| path.strip_prefix("~/")) {
            vec![join_path(package, &format!("src/{rest}")), join_path(package, rest)]
        } else {
            let named = self
                .packages
                .iter()
                .filter_map(|(folder, name)| Some((folder, path.strip_prefix(name)?)));
            named
                .filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'))
                .flat_map(|(folder, rest)| {
                    [
                        join_path(folder, &format!("src{rest}")),
                        join_path(folder, rest.trim_start_matches('/')),
                    ]
                })
                .collect()
        };
        let endings = [
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
        let tries = bases.iter().flat_map(|base| {
            let bare =
                base.strip_suffix(".js").or_else(|| base.strip_suffix(".mjs")).map(Into::into);
            let of = |base: String| {
                endings.map(|ending| format!("{}{ending}", base.trim_end_matches('/')))
            };
            [Some(base.clone()), bare].into_iter().flatten().flat_map(of)
        });
        let files: Vec<usize> = self.first_existing(tries).into_iter().collect();
        let module = files.first().map(|file| module_name(&self.found[*file].path).to_owned());
        ImportTarget { files, names: import.names.iter().map(String::as_str).collect(), module }
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
