use super::*;
use proptest::prelude::*;

fn name(text: &str) -> PackageName {
    PackageName::new(text).unwrap()
}

fn version(text: &str) -> PackageVersion {
    PackageVersion::new(text).unwrap()
}

/// Parses lines such as `a 1.0.0: b ^1; c? *; !d`: dependencies, optional ones and conflicts.
fn parse_candidates(text: &str) -> CandidatesByName {
    let mut candidates = CandidatesByName::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (head, rules) = line.split_once(':').unwrap_or((line, ""));
        let (package, number) = head.trim().split_once(' ').unwrap();
        let mut candidate = VersionCandidate {
            version: version(number),
            dependencies: Vec::new(),
            conflicts: Vec::new(),
            withdrawn: false,
        };
        for rule in rules.split(';').map(str::trim).filter(|rule| !rule.is_empty()) {
            if let Some(other) = rule.strip_prefix('!') {
                candidate.conflicts.push(name(other));
                continue;
            }
            let (other, range) = rule.split_once(' ').unwrap();
            let optional = other.ends_with('?');
            let other = name(other.trim_end_matches('?'));
            candidate.dependencies.push(PackageDependency {
                name: other,
                range: VersionRange::new(range),
                optional,
            });
        }
        candidates.entry(name(package)).or_default().push(candidate);
    }
    candidates
}

fn request_for(requests: &[(&str, &str)]) -> SolveRequest {
    let requests =
        requests.iter().map(|(package, range)| (name(package), VersionRange::new(range))).collect();
    SolveRequest { requests, ..SolveRequest::default() }
}

fn solve_to_string(text: &str, requests: &[(&str, &str)]) -> Result<String, String> {
    let solution = solve(&parse_candidates(text), &request_for(requests))
        .map_err(|conflict| conflict.to_string())?;
    Ok(solution
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect::<Vec<_>>()
        .join(", "))
}

#[test]
fn pk_23_highest_compatible_versions_are_selected() {
    let text = "a 1.0.0: b ^1\na 1.1.0: b ^2\nb 1.0.0\nb 1.5.0\nb 2.0.0\nc 1.0.0: b ^1";
    assert_eq!(solve_to_string(text, &[("a", "*")]).unwrap(), "a 1.1.0, b 2.0.0");
    // A diamond: both need `b`, and only one version of `a` agrees with `c`.
    assert_eq!(
        solve_to_string(text, &[("a", "*"), ("c", "*")]).unwrap(),
        "a 1.0.0, b 1.5.0, c 1.0.0"
    );
}

#[test]
fn pk_23_cycles_are_allowed_and_pre_releases_must_be_requested() {
    let text = "a 1.0.0: b *\nb 1.0.0: a ^1\nb 2.0.0-rc.1: a ^1\nb 2.0.0-rc.2";
    assert_eq!(solve_to_string(text, &[("a", "*")]).unwrap(), "a 1.0.0, b 1.0.0");
    assert_eq!(solve_to_string(text, &[("b", ">=2.0.0-rc.1")]).unwrap(), "b 2.0.0-rc.2");
    // `*` does not name a pre-release, so `a` rejects it.
    assert!(solve_to_string(text, &[("a", "*"), ("b", ">=2.0.0-rc.1")]).is_err());
    assert_eq!(solve_to_string("a 1.0.0: a ^1", &[("a", "*")]).unwrap(), "a 1.0.0");
    assert!(solve_to_string("a 1.0.0: a ^2", &[("a", "*")]).is_err());
}

#[test]
fn pk_23_optional_dependency_restricts_only_installed_packages() {
    let text = "a 1.0.0: c? ^1\nb 1.0.0: c *\nc 1.0.0\nc 2.0.0";
    assert_eq!(solve_to_string(text, &[("a", "*")]).unwrap(), "a 1.0.0");
    assert_eq!(
        solve_to_string(text, &[("a", "*"), ("b", "*")]).unwrap(),
        "a 1.0.0, b 1.0.0, c 1.0.0"
    );
    let with_optional = SolveRequest { with_optional: true, ..request_for(&[("a", "*")]) };
    assert_eq!(solve(&parse_candidates(text), &with_optional).unwrap().len(), 2);
    assert_eq!(solve(&parse_candidates("a 1.0.0: missing? ^1"), &with_optional).unwrap().len(), 1);
}

#[test]
fn pk_23_conflict_is_explained() {
    let text = "a 1.0.0: b ^1\nc 1.0.0: b ^2\nb 1.0.0\nb 2.0.0";
    assert_eq!(
        solve_to_string(text, &[("a", "*"), ("c", "^1")]).unwrap_err(),
        "this project requires `a` *\nthis project requires `c` ^1\n\
         `a` 1.0.0 requires `b` ^1\n`c` 1.0.0 requires `b` ^2\n\
         available versions of `a`: 1.0.0\navailable versions of `b`: 2.0.0, 1.0.0\n\
         available versions of `c`: 1.0.0"
    );
    let text = "a 1.0.0: !b; c *\nb 1.0.0";
    let explanation = solve_to_string(text, &[("a", "*")]).unwrap_err();
    assert!(
        explanation.contains("`a` 1.0.0 requires `c` *")
            && explanation.contains("`c` was not found"),
        "{explanation}"
    );
    let explanation =
        solve_to_string("a 1.0.0: !b\nb 1.0.0", &[("a", "*"), ("b", "*")]).unwrap_err();
    assert!(explanation.contains("`a` 1.0.0 conflicts with `b`"), "{explanation}");
}

#[test]
fn pk_23_explanation_of_a_conflict_names_few_versions() {
    let versions = (0..50).map(|n| format!("a 1.{n}.0: b ^{}\nb {n}.0.0\n", n / 10));
    let text: String = versions.chain(["c 1.0.0: b ^9\n".into()]).collect();
    assert_eq!(
        solve_to_string(&text, &[("a", "*"), ("c", "*")]).unwrap_err(),
        "this project requires `a` *\nthis project requires `c` *\n\
         `a` 1.49.0, 1.48.0, 1.47.0 and 7 more require `b` ^4\n\
         `a` 1.39.0, 1.38.0, 1.37.0 and 7 more require `b` ^3\n\
         `a` 1.29.0, 1.28.0, 1.27.0 and 7 more require `b` ^2\n\
         20 older versions of `a` restrict `b` differently\n\
         `c` 1.0.0 requires `b` ^9\n\
         available versions of `a`: 1.49.0, 1.48.0, 1.47.0 and 47 more\n\
         available versions of `b`: 49.0.0, 48.0.0, 47.0.0 and 47 more\n\
         available versions of `c`: 1.0.0"
    );
}

#[test]
fn pk_23_locked_versions_stay_and_withdrawn_ones_need_exact_requests() {
    let mut candidates = parse_candidates("a 1.0.0\na 1.1.0\na 1.2.0");
    let mut request = request_for(&[("a", "^1")]);
    request.preferred.insert(name("a"), version("1.0.0"));
    assert_eq!(solve(&candidates, &request).unwrap()[&name("a")], version("1.0.0"));
    candidates.get_mut(&name("a")).unwrap()[2].withdrawn = true;
    assert_eq!(
        solve(&candidates, &request_for(&[("a", "^1")])).unwrap()[&name("a")],
        version("1.1.0")
    );
    assert_eq!(
        solve(&candidates, &request_for(&[("a", "=1.2.0")])).unwrap()[&name("a")],
        version("1.2.0")
    );
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const VERSIONS: [&str; 4] = ["1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0"];
const RANGES: [&str; 8] = ["*", "^1", "^2", "=1.0.0", ">=1.1.0", "<2", ">=2.0.0-rc.1", "^3"];

fn candidate_graphs() -> impl Strategy<Value = CandidatesByName> {
    let dependency = (0..4usize, 0..8usize, any::<bool>());
    let candidate = (
        0..4usize,
        0..4usize,
        prop::collection::vec(dependency, 0..3),
        prop::option::of(0..4usize),
    );
    prop::collection::vec(candidate, 1..10).prop_map(|all| {
        let mut candidates = CandidatesByName::new();
        for (package, number, dependencies, conflict) in all {
            let list = candidates.entry(name(NAMES[package])).or_default();
            let number = version(VERSIONS[number]);
            if list.iter().any(|known: &VersionCandidate| known.version == number) {
                continue;
            }
            let mut rules: Vec<PackageDependency> = Vec::new();
            for (other, range, optional) in dependencies {
                if rules.iter().all(|rule| rule.name.as_str() != NAMES[other]) {
                    rules.push(PackageDependency {
                        name: name(NAMES[other]),
                        range: VersionRange::new(RANGES[range]),
                        optional,
                    });
                }
            }
            let conflicts = conflict.map(|other| name(NAMES[other])).into_iter().collect();
            list.push(VersionCandidate {
                version: number,
                dependencies: rules,
                conflicts,
                withdrawn: false,
            });
        }
        candidates
    })
}

type Solution = BTreeMap<PackageName, PackageVersion>;

/// Whether a solution contains all requested packages and violates no dependency or conflict.
fn is_valid(candidates: &CandidatesByName, request: &SolveRequest, solution: &Solution) -> bool {
    let has_requests = request
        .requests
        .iter()
        .all(|(name, range)| solution.get(name).is_some_and(|version| range.matches(version)));
    has_requests
        && solution.iter().all(|(name, version)| {
            let candidate =
                candidates[name].iter().find(|candidate| candidate.version == *version).unwrap();
            let is_satisfied = |dependency: &PackageDependency| match solution.get(&dependency.name)
            {
                Some(version) => dependency.range.matches(version),
                None => dependency.optional,
            };
            candidate.dependencies.iter().all(is_satisfied)
                && candidate
                    .conflicts
                    .iter()
                    .all(|other| other == name || !solution.contains_key(other))
        })
}

/// Returns every combination of versions, where each package may also be absent.
fn all_combinations(candidates: &CandidatesByName) -> Vec<Solution> {
    let mut combinations = vec![Solution::new()];
    for (name, versions) in candidates {
        let with_each_version = |solution: &Solution| {
            let solution = solution.clone();
            versions.iter().map(move |candidate| {
                let mut extended = solution.clone();
                extended.insert(name.clone(), candidate.version.clone());
                extended
            })
        };
        let extended: Vec<Solution> = combinations.iter().flat_map(with_each_version).collect();
        combinations.extend(extended);
    }
    combinations
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pk_23_solution_is_found_if_and_only_if_one_exists(
        candidates in candidate_graphs(),
        ranges in prop::collection::btree_map(0..4usize, 0..8usize, 1..3),
        with_optional in any::<bool>(),
    ) {
        let requests = ranges.iter().map(|(package, range)| (name(NAMES[*package]), VersionRange::new(RANGES[*range]))).collect();
        let request = SolveRequest { requests, with_optional, ..SolveRequest::default() };
        let is_solvable = all_combinations(&candidates).iter().any(|solution| is_valid(&candidates, &request, solution));
        match solve(&candidates, &request) {
            Ok(solution) => {
                prop_assert!(is_valid(&candidates, &request, &solution), "{solution:?}");
                // Every selected package is needed.
                for removed in solution.keys().filter(|_| !with_optional) {
                    let without: Solution = solution.iter().filter(|(name, _)| *name != removed).map(|(name, version)| (name.clone(), version.clone())).collect();
                    let all_reachable = reachable_packages(&candidates, &request, without.clone()).len() == without.len();
                    prop_assert!(!(all_reachable && is_valid(&candidates, &request, &without)), "{removed} is not needed in {solution:?}");
                }
                prop_assert_eq!(solve(&candidates, &request).ok(), Some(solution));
            }
            Err(conflict) => {
                prop_assert!(!is_solvable, "{conflict}");
                prop_assert!(!conflict.reasons.is_empty());
            }
        }
    }
}
