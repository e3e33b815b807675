//! Selects package versions that are compatible with each other.
//!
//! Every package has one extra candidate that means "not installed". A dependency excludes it, an
//! optional dependency allows it, and a conflict allows nothing else. So all three are the same
//! kind of rule for PubGrub, which also explains failures. [`solve`] is a pure function: it reads
//! no files and asks no registry.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pubgrub::{
    Dependencies, DependencyProvider, DerivationTree, External, PackageResolutionStatistics,
    PubGrubError, VersionSet,
};
use sp_formats::package::{PackageDependency, PackageName, PackageVersion, VersionRange};
use sp_formats::suggest::list_few;
use sp_formats::text::plural;

/// A version that could be installed.
#[derive(Debug, Clone)]
pub(super) struct VersionCandidate {
    pub version: PackageVersion,
    pub dependencies: Vec<PackageDependency>,
    pub conflicts: Vec<PackageName>,
    /// Whether the version is selected by its exact version only.
    pub withdrawn: bool,
}

/// The versions that could be installed, sorted from old to new.
pub(super) type CandidatesByName = BTreeMap<PackageName, Vec<VersionCandidate>>;

/// Whether optional dependencies are installed if they can be resolved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OptionalDependencies {
    #[default]
    Skip,
    Include,
}

/// What the solution must satisfy.
#[derive(Debug, Clone, Default)]
pub(super) struct SolveRequest {
    /// The packages that must be installed.
    pub requests: BTreeMap<PackageName, VersionRange>,
    /// Versions that are kept if possible.
    pub preferred: BTreeMap<PackageName, PackageVersion>,
    /// Whether optional dependencies are installed if possible.
    pub with_optional: bool,
}

impl SolveRequest {
    /// Returns whether an optional dependency is installed if possible: because all are, or because
    /// it is installed already.
    pub(super) fn includes_optional(&self, name: &PackageName) -> bool {
        self.with_optional || self.preferred.contains_key(name)
    }
}

/// Why there is no solution, one reason per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionConflict {
    pub reasons: Vec<String>,
}

impl fmt::Display for VersionConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reasons.join("\n"))
    }
}

impl std::error::Error for VersionConflict {}

/// Selects versions of the requested packages and their dependencies, and of nothing else.
pub(super) fn solve(
    candidates: &CandidatesByName,
    request: &SolveRequest,
) -> Result<BTreeMap<PackageName, PackageVersion>, VersionConflict> {
    let solver = Solver { candidates, request };
    match pubgrub::resolve(&solver, SolverPackage::Root, CandidateIndex(1)) {
        Ok(picked) => {
            let selected = picked.into_iter().filter_map(|(package, pick)| match package {
                SolverPackage::Package(name) => {
                    let candidate = solver.candidate(&name, pick);
                    candidate.map(|candidate| (name, candidate.version.clone()))
                }
                SolverPackage::Root => None,
            });
            Ok(reachable_packages(candidates, request, selected.collect()))
        }
        Err(PubGrubError::NoSolution(tree)) => Err(solver.explain(&tree)),
        Err(error) => Err(VersionConflict { reasons: vec![error.to_string()] }),
    }
}

/// Keeps the packages that are reachable from the requests. The solver may leave versions that it
/// selected for an abandoned alternative.
fn reachable_packages(
    candidates: &CandidatesByName,
    request: &SolveRequest,
    selected: BTreeMap<PackageName, PackageVersion>,
) -> BTreeMap<PackageName, PackageVersion> {
    let mut reachable: BTreeSet<PackageName> = BTreeSet::new();
    let mut pending: Vec<&PackageName> = request.requests.keys().collect();
    while let Some(name) = pending.pop() {
        let Some(version) = selected.get(name) else { continue };
        if !reachable.insert(name.clone()) {
            continue;
        }
        let mut versions = candidates.get(name).into_iter().flatten();
        let candidate = versions.find(|candidate| candidate.version == *version);
        let dependencies = candidate.into_iter().flat_map(|candidate| &candidate.dependencies);
        let is_included = |dependency: &&PackageDependency| {
            !dependency.optional || request.includes_optional(&dependency.name)
        };
        pending.extend(dependencies.filter(is_included).map(|dependency| &dependency.name));
    }
    selected.into_iter().filter(|(name, _)| reachable.contains(name)).collect()
}

/// A package in the terms of the solver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SolverPackage {
    /// The project, whose dependencies are the requests.
    Root,
    Package(PackageName),
}

impl fmt::Display for SolverPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("this project"),
            Self::Package(name) => write!(f, "`{name}`"),
        }
    }
}

/// A candidate by its number, from 1. 0 means that the package is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CandidateIndex(usize);

const ABSENT: CandidateIndex = CandidateIndex(0);

impl fmt::Display for CandidateIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of candidates, or the complement of one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CandidateSet {
    listed: BTreeSet<CandidateIndex>,
    is_complement: bool,
}

impl fmt::Display for CandidateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.listed)
    }
}

impl VersionSet for CandidateSet {
    type V = CandidateIndex;

    fn empty() -> Self {
        Self { listed: BTreeSet::new(), is_complement: false }
    }

    fn singleton(pick: CandidateIndex) -> Self {
        Self { listed: BTreeSet::from([pick]), is_complement: false }
    }

    fn complement(&self) -> Self {
        Self { listed: self.listed.clone(), is_complement: !self.is_complement }
    }

    fn intersection(&self, other: &Self) -> Self {
        let listed = match (self.is_complement, other.is_complement) {
            (false, false) => self.listed.intersection(&other.listed).copied().collect(),
            (false, true) => self.listed.difference(&other.listed).copied().collect(),
            (true, false) => other.listed.difference(&self.listed).copied().collect(),
            (true, true) => self.listed.union(&other.listed).copied().collect(),
        };
        Self { listed, is_complement: self.is_complement && other.is_complement }
    }

    fn contains(&self, pick: &CandidateIndex) -> bool {
        self.listed.contains(pick) != self.is_complement
    }
}

struct Solver<'a> {
    candidates: &'a CandidatesByName,
    request: &'a SolveRequest,
}

impl Solver<'_> {
    fn candidates(&self, name: &PackageName) -> &[VersionCandidate] {
        self.candidates.get(name).map_or(&[], Vec::as_slice)
    }

    fn candidate(&self, name: &PackageName, pick: CandidateIndex) -> Option<&VersionCandidate> {
        pick.0.checked_sub(1).and_then(|index| self.candidates(name).get(index))
    }

    /// Returns the candidates that match a range.
    fn matching(&self, name: &PackageName, range: &VersionRange) -> CandidateSet {
        let fits = |candidate: &VersionCandidate| {
            let exact = range.is_exactly(&candidate.version);
            exact || range.matches(&candidate.version) && !candidate.withdrawn
        };
        let all = self.candidates(name).iter().enumerate();
        let listed = all
            .filter(|(_, candidate)| fits(candidate))
            .map(|(index, _)| CandidateIndex(index + 1))
            .collect();
        CandidateSet { listed, is_complement: false }
    }

    fn allowed_by(&self, dependency: &PackageDependency) -> CandidateSet {
        let mut picks = self.matching(&dependency.name, &dependency.range);
        if dependency.optional {
            picks.listed.insert(ABSENT);
        }
        picks
    }

    /// Returns the allowed candidates, best first: the preferred version, then releases, then
    /// pre-releases, each from new to old.
    fn by_preference(&self, name: &PackageName, allowed: &CandidateSet) -> Vec<CandidateIndex> {
        let mut picks: Vec<CandidateIndex> = (0..=self.candidates(name).len())
            .map(CandidateIndex)
            .filter(|pick| allowed.contains(pick))
            .collect();
        let preferred = self.request.preferred.get(name);
        picks.sort_by_key(|pick| {
            std::cmp::Reverse(self.candidate(name, *pick).map(|candidate| {
                (
                    Some(&candidate.version) == preferred,
                    !candidate.version.is_pre_release(),
                    &candidate.version,
                )
            }))
        });
        if !self.request.includes_optional(name) && allowed.contains(&ABSENT) {
            // An optional dependency that was not asked for is not installed.
            picks.retain(|pick| *pick != ABSENT);
            picks.insert(0, ABSENT);
        }
        picks
    }

    /// Lists the rules that caused a failure, each once, and the available versions of the packages
    /// in them.
    fn explain(
        &self,
        tree: &DerivationTree<SolverPackage, CandidateSet, String>,
    ) -> VersionConflict {
        let mut explanation = Explanation::default();
        let mut pending = vec![tree];
        let mut seen = BTreeSet::new();
        while let Some(tree) = pending.pop() {
            match tree {
                DerivationTree::Derived(derived) => {
                    // A cause can be shared by several derivations.
                    if derived.shared_id.is_none_or(|id| seen.insert(id)) {
                        pending.extend([&*derived.cause2, &*derived.cause1]);
                    }
                }
                DerivationTree::External(rule) => self.explain_rule(rule, &mut explanation),
            }
        }
        // Requests come first, then what follows from them.
        let mut reasons: Vec<String> = explanation.requests.into_iter().collect();
        for ((of, name), restrictions) in &explanation.restrictions {
            reasons.extend(self.describe_restrictions(of, name, restrictions));
        }
        reasons.extend(explanation.packages.into_iter().map(|name| self.list_versions(name)));
        VersionConflict { reasons }
    }

    /// Describes how the versions of the package `of` restrict the package `name`: one line for
    /// versions with the same restriction, those with the newest versions first, and a count of the
    /// versions that are left out.
    fn describe_restrictions(
        &self,
        of: &PackageName,
        name: &PackageName,
        restrictions: &RestrictionsByVersion,
    ) -> Vec<String> {
        let mut by_newest: Vec<_> = restrictions.iter().collect();
        by_newest.sort_by_key(|(_, picks)| std::cmp::Reverse(picks.last()));
        let hidden = by_newest.split_off(by_newest.len().min(MAX_RESTRICTIONS));
        let mut lines: Vec<String> = by_newest
            .into_iter()
            .map(|(restriction, picks)| {
                let newest_first = picks.iter().rev().filter_map(|pick| self.candidate(of, *pick));
                let versions: Vec<&str> =
                    newest_first.map(|candidate| candidate.version.as_str()).collect();
                let verb = restriction.verb(versions.len());
                format!("`{of}` {} {verb} `{name}`{}", list_few(&versions), restriction.range())
            })
            .collect();
        let hidden: BTreeSet<CandidateIndex> =
            hidden.into_iter().flat_map(|(_, picks)| picks).copied().collect();
        if !hidden.is_empty() {
            let count = hidden.len();
            let versions = plural(count, "version", "versions");
            let restrict = plural(count, "restricts", "restrict");
            lines.push(format!(
                "{count} older {versions} of `{of}` {restrict} `{name}` differently"
            ));
        }
        lines
    }

    fn explain_rule<'t>(
        &self,
        rule: &'t External<SolverPackage, CandidateSet, String>,
        explanation: &mut Explanation<'t>,
    ) {
        let External::FromDependencyOf(of, picks, SolverPackage::Package(name), _) = rule else {
            return;
        };
        explanation.packages.insert(name);
        match of {
            SolverPackage::Root => {
                let range = self.request.requests.get(name).map_or("*", VersionRange::as_str);
                explanation.requests.insert(format!("this project requires `{name}` {range}"));
            }
            SolverPackage::Package(of) => {
                let restrictions = explanation.restrictions.entry((of, name)).or_default();
                for pick in &picks.listed {
                    let found = self.candidate(of, *pick).map(|it| restrictions_of(it, name));
                    for restriction in found.into_iter().flatten() {
                        restrictions.entry(restriction).or_default().insert(*pick);
                    }
                }
            }
        }
    }

    fn list_versions(&self, name: &PackageName) -> String {
        let newest_first = self.candidates(name).iter().rev();
        let versions: Vec<&str> =
            newest_first.map(|candidate| candidate.version.as_str()).collect();
        if versions.is_empty() {
            format!(
                "`{name}` was not found in the store, in the registries or in the specified files"
            )
        } else {
            format!("available versions of `{name}`: {}", list_few(&versions))
        }
    }

    /// Returns the rules of a candidate, or `None` if it excludes itself.
    fn rules_of(
        &self,
        name: &PackageName,
        pick: CandidateIndex,
    ) -> Option<BTreeMap<PackageName, CandidateSet>> {
        let mut rules = BTreeMap::new();
        let Some(candidate) = self.candidate(name, pick) else { return Some(rules) };
        for dependency in &candidate.dependencies {
            add_rule(&mut rules, &dependency.name, &self.allowed_by(dependency));
        }
        // A conflict of a package with itself is ignored.
        for other in candidate.conflicts.iter().filter(|other| *other != name) {
            add_rule(&mut rules, other, &CandidateSet::singleton(ABSENT));
        }
        // A package may depend on itself if the range matches its own version.
        let includes_itself = rules.remove(name).is_none_or(|own| own.contains(&pick));
        includes_itself.then_some(rules)
    }
}

/// How a version of a package restricts another package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Restriction {
    Conflict,
    Dependency(String),
    OptionalDependency(String),
}

impl Restriction {
    /// Returns the verb for a number of versions.
    fn verb(&self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Conflict, 1) => "conflicts with",
            (Self::Conflict, _) => "conflict with",
            (Self::Dependency(_), 1) => "requires",
            (Self::Dependency(_), _) => "require",
            (Self::OptionalDependency(_), 1) => "is compatible only with",
            (Self::OptionalDependency(_), _) => "are compatible only with",
        }
    }

    /// Returns the range of versions after a space, if there is one.
    fn range(&self) -> String {
        match self {
            Self::Conflict => String::new(),
            Self::Dependency(range) | Self::OptionalDependency(range) => format!(" {range}"),
        }
    }
}

/// Returns how a candidate restricts the package `name`.
fn restrictions_of(
    candidate: &VersionCandidate,
    name: &PackageName,
) -> impl Iterator<Item = Restriction> {
    let conflict = candidate.conflicts.contains(name).then_some(Restriction::Conflict);
    let dependency = candidate.dependencies.iter().find(|dependency| dependency.name == *name);
    let dependency = dependency.map(|dependency| {
        let range = dependency.range.to_string();
        if dependency.optional {
            Restriction::OptionalDependency(range)
        } else {
            Restriction::Dependency(range)
        }
    });
    conflict.into_iter().chain(dependency)
}

/// The maximum number of different restrictions by one package that are described.
const MAX_RESTRICTIONS: usize = 3;

/// The restrictions by the versions of a package.
type RestrictionsByVersion = BTreeMap<Restriction, BTreeSet<CandidateIndex>>;

/// The reasons of a failure.
#[derive(Default)]
struct Explanation<'t> {
    requests: BTreeSet<String>,
    /// By the package that restricts, and the one that is restricted.
    restrictions: BTreeMap<(&'t PackageName, &'t PackageName), RestrictionsByVersion>,
    /// The packages whose versions are listed.
    packages: BTreeSet<&'t PackageName>,
}

/// Restricts a package to candidates.
fn add_rule(
    rules: &mut BTreeMap<PackageName, CandidateSet>,
    name: &PackageName,
    picks: &CandidateSet,
) {
    let rule = rules.get(name).map_or_else(|| picks.clone(), |known| known.intersection(picks));
    rules.insert(name.clone(), rule);
}

impl DependencyProvider for Solver<'_> {
    type P = SolverPackage;
    type V = CandidateIndex;
    type VS = CandidateSet;
    type Priority = (bool, u32, std::cmp::Reverse<usize>);
    type M = String;
    type Err = std::convert::Infallible;

    /// Decides required packages before optional ones, and packages with few choices before those
    /// with many.
    fn prioritize(
        &self,
        package: &SolverPackage,
        allowed: &CandidateSet,
        statistics: &PackageResolutionStatistics,
    ) -> Self::Priority {
        let SolverPackage::Package(name) = package else {
            return (true, u32::MAX, std::cmp::Reverse(0));
        };
        let choices = self.by_preference(name, allowed).len();
        (!allowed.contains(&ABSENT), statistics.conflict_count(), std::cmp::Reverse(choices))
    }

    fn choose_version(
        &self,
        package: &SolverPackage,
        allowed: &CandidateSet,
    ) -> Result<Option<CandidateIndex>, Self::Err> {
        Ok(match package {
            SolverPackage::Root => Some(CandidateIndex(1)),
            SolverPackage::Package(name) => self.by_preference(name, allowed).first().copied(),
        })
    }

    fn get_dependencies(
        &self,
        package: &SolverPackage,
        pick: &CandidateIndex,
    ) -> Result<Dependencies<SolverPackage, CandidateSet, String>, Self::Err> {
        let rules = match package {
            SolverPackage::Root => {
                let requests = self.request.requests.iter();
                requests.map(|(name, range)| (name.clone(), self.matching(name, range))).collect()
            }
            SolverPackage::Package(name) => match self.rules_of(name, *pick) {
                Some(rules) => rules,
                None => {
                    return Ok(Dependencies::Unavailable(format!(
                        "`{name}` depends on a different version of itself"
                    )));
                }
            },
        };
        Ok(Dependencies::Available(
            rules.into_iter().map(|(name, picks)| (SolverPackage::Package(name), picks)).collect(),
        ))
    }
}

#[cfg(test)]
mod tests;
