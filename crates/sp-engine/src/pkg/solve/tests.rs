use super::*;
use proptest::prelude::*;

fn name(text: &str) -> PackageName {
    PackageName::new(text).unwrap()
}

fn version(text: &str) -> PackageVersion {
    PackageVersion::new(text).unwrap()
}

/// `a 1.0.0: b ^1, c? *, !d` a line.
fn world(text: &str) -> CandidatesByName {
    let mut world = CandidatesByName::new();
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
        world.entry(name(package)).or_default().push(candidate);
    }
    world
}

fn wanted(requests: &[(&str, &str)]) -> SolveRequest {
    let requests =
        requests.iter().map(|(package, range)| (name(package), VersionRange::new(range))).collect();
    SolveRequest { requests, ..SolveRequest::default() }
}

fn picked(text: &str, requests: &[(&str, &str)]) -> Result<String, String> {
    let solution =
        solve(&world(text), &wanted(requests)).map_err(|conflict| conflict.to_string())?;
    Ok(solution
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect::<Vec<_>>()
        .join(", "))
}

#[test]
fn pk_23_highest_compatible_versions_are_selected() {
    let text = "a 1.0.0: b ^1\na 1.1.0: b ^2\nb 1.0.0\nb 1.5.0\nb 2.0.0\nc 1.0.0: b ^1";
    assert_eq!(picked(text, &[("a", "*")]).unwrap(), "a 1.1.0, b 2.0.0");
    // A diamond: both need `b`, and only one version of `a` agrees with `c`.
    assert_eq!(picked(text, &[("a", "*"), ("c", "*")]).unwrap(), "a 1.0.0, b 1.5.0, c 1.0.0");
}

#[test]
fn pk_23_cycles_are_allowed_and_pre_releases_must_be_requested() {
    let text = "a 1.0.0: b *\nb 1.0.0: a ^1\nb 2.0.0-rc.1: a ^1\nb 2.0.0-rc.2";
    assert_eq!(picked(text, &[("a", "*")]).unwrap(), "a 1.0.0, b 1.0.0");
    assert_eq!(picked(text, &[("b", ">=2.0.0-rc.1")]).unwrap(), "b 2.0.0-rc.2");
    // `*` does not name a pre-release, so `a` does not go with one.
    assert!(picked(text, &[("a", "*"), ("b", ">=2.0.0-rc.1")]).is_err());
    assert_eq!(picked("a 1.0.0: a ^1", &[("a", "*")]).unwrap(), "a 1.0.0");
    assert!(picked("a 1.0.0: a ^2", &[("a", "*")]).is_err());
}

#[test]
fn pk_23_optional_dependency_restricts_only_installed_packages() {
    let text = "a 1.0.0: c? ^1\nb 1.0.0: c *\nc 1.0.0\nc 2.0.0";
    assert_eq!(picked(text, &[("a", "*")]).unwrap(), "a 1.0.0");
    assert_eq!(picked(text, &[("a", "*"), ("b", "*")]).unwrap(), "a 1.0.0, b 1.0.0, c 1.0.0");
    let with = SolveRequest { with_optional: true, ..wanted(&[("a", "*")]) };
    assert_eq!(solve(&world(text), &with).unwrap().len(), 2);
    let missing = SolveRequest { with_optional: true, ..wanted(&[("a", "*")]) };
    assert_eq!(solve(&world("a 1.0.0: nowhere? ^1"), &missing).unwrap().len(), 1);
}

#[test]
fn pk_23_conflict_is_explained() {
    let text = "a 1.0.0: b ^1\nc 1.0.0: b ^2\nb 1.0.0\nb 2.0.0";
    assert_eq!(
        picked(text, &[("a", "*"), ("c", "^1")]).unwrap_err(),
        "this project asks for `a` *\nthis project asks for `c` ^1\n`a` 1.0.0 needs `b` ^1\n`c` 1.0.0 needs `b` ^2\n\
         of `a` there is 1.0.0\nof `b` there is 1.0.0, 2.0.0\nof `c` there is 1.0.0"
    );
    let text = "a 1.0.0: !b; c *\nb 1.0.0";
    let told = picked(text, &[("a", "*")]).unwrap_err();
    assert!(told.contains("`a` 1.0.0 needs `c` *") && told.contains("there is no `c`"), "{told}");
    let told = picked("a 1.0.0: !b\nb 1.0.0", &[("a", "*"), ("b", "*")]).unwrap_err();
    assert!(told.contains("`a` 1.0.0 cannot be together with `b`"), "{told}");
}

#[test]
fn pk_23_locked_versions_are_kept_and_withdrawn_ones_are_named_exactly() {
    let mut all = world("a 1.0.0\na 1.1.0\na 1.2.0");
    let mut asked = wanted(&[("a", "^1")]);
    asked.preferred.insert(name("a"), version("1.0.0"));
    assert_eq!(solve(&all, &asked).unwrap()[&name("a")], version("1.0.0"));
    all.get_mut(&name("a")).unwrap()[2].withdrawn = true;
    assert_eq!(solve(&all, &wanted(&[("a", "^1")])).unwrap()[&name("a")], version("1.1.0"));
    assert_eq!(solve(&all, &wanted(&[("a", "=1.2.0")])).unwrap()[&name("a")], version("1.2.0"));
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const VERSIONS: [&str; 4] = ["1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0"];
const RANGES: [&str; 8] = ["*", "^1", "^2", "=1.0.0", ">=1.1.0", "<2", ">=2.0.0-rc.1", "^3"];

fn worlds() -> impl Strategy<Value = CandidatesByName> {
    let dependency = (0..4usize, 0..8usize, any::<bool>());
    let candidate = (
        0..4usize,
        0..4usize,
        prop::collection::vec(dependency, 0..3),
        prop::option::of(0..4usize),
    );
    prop::collection::vec(candidate, 1..10).prop_map(|all| {
        let mut world = CandidatesByName::new();
        for (package, number, dependencies, conflict) in all {
            let list = world.entry(name(NAMES[package])).or_default();
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
        world
    })
}

type Solution = BTreeMap<PackageName, PackageVersion>;

/// Whether everything that is asked for is there and every rule of what is there holds.
fn holds(world: &CandidatesByName, asked: &SolveRequest, solution: &Solution) -> bool {
    let asked_for = asked
        .requests
        .iter()
        .all(|(name, range)| solution.get(name).is_some_and(|is| range.matches(is)));
    asked_for
        && solution.iter().all(|(name, version)| {
            let candidate =
                world[name].iter().find(|candidate| candidate.version == *version).unwrap();
            let fits = |one: &PackageDependency| match solution.get(&one.name) {
                Some(is) => one.range.matches(is),
                None => one.optional,
            };
            candidate.dependencies.iter().all(fits)
                && candidate
                    .conflicts
                    .iter()
                    .all(|other| other == name || !solution.contains_key(other))
        })
}

/// Every choice of a version, or of none, for every package.
fn every(world: &CandidatesByName) -> Vec<Solution> {
    let mut all = vec![Solution::new()];
    for (name, candidates) in world {
        let with = |solution: &Solution| {
            let solution = solution.clone();
            candidates.iter().map(move |candidate| {
                let mut more = solution.clone();
                more.insert(name.clone(), candidate.version.clone());
                more
            })
        };
        let more: Vec<Solution> = all.iter().flat_map(with).collect();
        all.extend(more);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pk_23_a_solution_is_found_exactly_if_there_is_one(
        world in worlds(),
        asks in prop::collection::btree_map(0..4usize, 0..8usize, 1..3),
        with_optional in any::<bool>(),
    ) {
        let requests = asks.iter().map(|(package, range)| (name(NAMES[*package]), VersionRange::new(RANGES[*range]))).collect();
        let asked = SolveRequest { requests, with_optional, ..SolveRequest::default() };
        let possible = every(&world).iter().any(|solution| holds(&world, &asked, solution));
        match solve(&world, &asked) {
            Ok(solution) => {
                prop_assert!(holds(&world, &asked, &solution), "{solution:?}");
                // Nothing is there that nobody needs.
                for gone in solution.keys().filter(|_| !with_optional) {
                    let without: Solution = solution.iter().filter(|(name, _)| *name != gone).map(|(name, version)| (name.clone(), version.clone())).collect();
                    let reached = reachable_packages(&world, &asked, without.clone()).len() == without.len();
                    prop_assert!(!(reached && holds(&world, &asked, &without)), "{gone} is not needed in {solution:?}");
                }
                prop_assert_eq!(solve(&world, &asked).ok(), Some(solution));
            }
            Err(conflict) => {
                prop_assert!(!possible, "{conflict}");
                prop_assert!(!conflict.reasons.is_empty());
            }
        }
    }
}
