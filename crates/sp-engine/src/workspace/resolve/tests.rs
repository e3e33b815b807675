use super::*;
use proptest::prelude::*;

type TestRequirement = SkillRequirement<String>;

/// A fixed set of skills and sources.
#[derive(Debug, Clone, Default)]
struct TestProvider {
    local: BTreeMap<String, Vec<TestRequirement>>,
    /// Dependencies by skill and source. A missing entry has none.
    remote: BTreeMap<(String, String), Vec<TestRequirement>>,
    /// Skills and sources that are unreachable.
    unreachable: BTreeSet<(String, String)>,
}

impl TestProvider {
    fn dependencies(&self, name: &str, source: &str) -> Vec<TestRequirement> {
        self.remote.get(&(name.into(), source.into())).cloned().unwrap_or_default()
    }

    fn is_unreachable(&self, name: &str, source: &str) -> bool {
        self.unreachable.contains(&(name.into(), source.into()))
    }
}

impl DependencyProvider<String> for TestProvider {
    fn local_dependencies(&self, name: &str) -> Option<Vec<TestRequirement>> {
        self.local.get(name).cloned()
    }

    fn remote_dependencies(
        &mut self,
        name: &str,
        source: &String,
        _: Option<&str>,
    ) -> Result<Vec<TestRequirement>> {
        if self.is_unreachable(name, source) {
            return Err(Error::new(ErrorCode::Network, "connection refused"));
        }
        Ok(self.dependencies(name, source))
    }
}

/// The source of each skill, or the kinds of errors.
type ResolveOutcome =
    std::result::Result<BTreeMap<String, ResolvedSource<String>>, BTreeSet<&'static str>>;

fn outcome(
    requirements: &[TestRequirement],
    overrides: &[TestRequirement],
    provider: &TestProvider,
) -> ResolveOutcome {
    let resolved = resolve_skills(requirements, overrides, &mut provider.clone());
    match resolved {
        Ok(skills) => Ok(skills.into_iter().map(|(name, skill)| (name, skill.source)).collect()),
        Err(error) => Err([match error.code {
            ErrorCode::DependencyCycle => "cycle",
            ErrorCode::Unresolvable => "conflict",
            ErrorCode::SkillNotFound => "missing",
            ErrorCode::Network => "unreachable",
            other => other.as_str(),
        }]
        .into()),
    }
}

/// The definition of the result: looks at all requirements together, without an order.
fn oracle(
    roots: &[TestRequirement],
    overrides: &[TestRequirement],
    provider: &TestProvider,
) -> ResolveOutcome {
    let constraints = |requirements: &[TestRequirement], name: &str| {
        let overriding = overrides.iter().find(|requirement| requirement.name == name);
        let matching = requirements.iter().filter(|requirement| requirement.name == name);
        let effective: Vec<&TestRequirement> =
            overriding.map_or_else(|| matching.collect(), |requirement| vec![requirement]);
        let sources: BTreeSet<String> =
            effective.iter().filter_map(|requirement| requirement.source.clone()).collect();
        let pins: BTreeSet<String> =
            effective.iter().filter_map(|requirement| requirement.version.clone()).collect();
        (sources, pins)
    };
    let dependencies = |requirements: &[TestRequirement], name: &str| match provider.local.get(name)
    {
        Some(local) => local.clone(),
        None => {
            let sources = constraints(requirements, name).0;
            let reachable = sources.iter().filter(|source| !provider.is_unreachable(name, source));
            reachable.flat_map(|source| provider.dependencies(name, source)).collect()
        }
    };
    let mut requirements = roots.to_vec();
    loop {
        let names: BTreeSet<String> =
            requirements.iter().map(|requirement| requirement.name.clone()).collect();
        let transitive = names.iter().flat_map(|name| dependencies(&requirements, name));
        let all: Vec<TestRequirement> = roots.iter().cloned().chain(transitive).collect();
        if all.len() == requirements.len() {
            break;
        }
        requirements = all;
    }
    let names: BTreeSet<&str> =
        requirements.iter().map(|requirement| requirement.name.as_str()).collect();
    let mut errors = BTreeSet::new();
    let mut resolved = BTreeMap::new();
    for &name in &names {
        let (sources, pins) = constraints(&requirements, name);
        let required =
            requirements.iter().any(|requirement| requirement.name == name && requirement.required);
        let source = match sources.first() {
            _ if provider.local.contains_key(name) => ResolvedSource::Local,
            _ if sources.len() > 1 || (sources.len() == 1 && pins.len() > 1) => {
                errors.insert("conflict");
                // The source that is tried first may be unreachable.
                errors.extend(
                    sources
                        .iter()
                        .any(|source| provider.is_unreachable(name, source))
                        .then_some("unreachable"),
                );
                ResolvedSource::Missing
            }
            Some(source) if !provider.is_unreachable(name, source) => {
                ResolvedSource::Source(source.clone(), pins.first().cloned())
            }
            source if required => {
                errors.insert(if source.is_some() { "unreachable" } else { "missing" });
                ResolvedSource::Missing
            }
            _ => ResolvedSource::Missing,
        };
        resolved.insert(name.to_owned(), source);
    }
    let dependency_edges = |name: &&str| {
        let targets = dependencies(&requirements, name).into_iter();
        let name = (*name).to_owned();
        targets.map(move |target| (name.clone(), target.name)).collect::<Vec<_>>()
    };
    let edges = names.iter().flat_map(dependency_edges).collect();
    errors.extend(has_cycle(edges, names.len()).then_some("cycle"));
    if errors.is_empty() { Ok(resolved) } else { Err(errors) }
}

/// Whether edges between `node_count` nodes form a cycle. Computes the transitive closure.
fn has_cycle(edges: BTreeSet<(String, String)>, node_count: usize) -> bool {
    let mut paths = edges;
    for _ in 0..node_count {
        let extend = |(start, middle): &(String, String)| {
            let (start, middle) = (start.clone(), middle.clone());
            paths
                .iter()
                .filter(move |(from, _)| *from == middle)
                .map(move |(_, end)| (start.clone(), end.clone()))
                .collect::<Vec<_>>()
        };
        let longer: Vec<_> = paths.iter().flat_map(extend).collect();
        paths.extend(longer);
    }
    paths.iter().any(|(start, end)| start == end)
}

/// How varied random graphs are.
#[derive(Clone, Copy)]
enum GraphVariety {
    /// Either all requirements of a skill have a source or none has, and all sources are
    /// reachable.
    Simple,
    Full,
}

fn build_requirement(
    name: usize,
    (source, version, required): (u8, u8, bool),
    requested_by: &str,
    variety: GraphVariety,
) -> TestRequirement {
    // In simple graphs, every fourth skill has no source.
    let source = match (variety, source) {
        (GraphVariety::Simple, _) if name % 4 == 3 => None,
        (GraphVariety::Full, 8..) => None,
        (_, 7) => Some("t".into()),
        _ => Some("s".into()),
    };
    let version = match version {
        0..=5 => None,
        6 | 7 => Some("v1".into()),
        _ => Some("v2".into()),
    };
    SkillRequirement {
        name: format!("n{name}"),
        source,
        version,
        required,
        requested_by: requested_by.into(),
    }
}

type RequirementParts = (usize, (u8, u8, bool));

fn parts(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<RequirementParts>> {
    prop::collection::vec((0..8usize, (0..10u8, 0..9u8, any::<bool>())), count)
}

/// Requirements, overrides, and the provider.
fn graphs(
    variety: GraphVariety,
) -> impl Strategy<Value = (Vec<TestRequirement>, Vec<TestRequirement>, TestProvider)> {
    let skill = (parts(0..3), parts(0..3), prop::sample::select(vec![true, false, false]), 0..6u8);
    let skills = prop::collection::vec(skill, 8);
    (parts(1..5), parts(0..2), skills, prop::sample::select(vec![true, true, true, false]))
        .prop_map(move |(roots, overrides, skills, ordered)| {
            // In ordered graphs, skills depend only on later ones, so there are no cycles.
            let build = |parts: Vec<RequirementParts>, requested_by: &str, min_name: usize| {
                let kept = parts.into_iter().filter(|(name, _)| !ordered || *name >= min_name);
                kept.map(|(name, rest)| build_requirement(name, rest, requested_by, variety))
                    .collect::<Vec<TestRequirement>>()
            };
            let mut provider = TestProvider::default();
            for (index, (first, second, is_local, outage)) in skills.into_iter().enumerate() {
                let name = format!("n{index}");
                if is_local {
                    provider.local.insert(name.clone(), build(first.clone(), &name, index + 1));
                }
                provider.remote.insert((name.clone(), "s".into()), build(first, &name, index + 1));
                provider.remote.insert((name.clone(), "t".into()), build(second, &name, index + 1));
                if matches!((variety, outage), (GraphVariety::Full, 0)) {
                    provider.unreachable.insert((name, "s".into()));
                }
            }
            let overrides = overrides.into_iter().map(|(name, _)| SkillRequirement {
                source: Some("s".into()),
                version: Some("v1".into()),
                ..build_requirement(name, (0, 0, true), "context", variety)
            });
            (build(roots, "you", 0), overrides.collect(), provider)
        })
}

fn assert_matches_oracle(
    (requirements, overrides, provider): &(
        Vec<TestRequirement>,
        Vec<TestRequirement>,
        TestProvider,
    ),
) -> std::result::Result<(), TestCaseError> {
    match (outcome(requirements, overrides, provider), oracle(requirements, overrides, provider)) {
        // With conflicting sources, the dependencies of either may be followed.
        (Err(_), Err(expected)) if expected.contains("conflict") => {}
        (Err(found), Err(expected)) => {
            prop_assert!(found.is_subset(&expected), "{:?} not in {:?}", found, expected);
        }
        (found, expected) => prop_assert_eq!(found, expected),
    }
    Ok(())
}

fn assert_order_independent(
    (requirements, overrides, provider): &(
        Vec<TestRequirement>,
        Vec<TestRequirement>,
        TestProvider,
    ),
    rotation: usize,
) -> std::result::Result<(), TestCaseError> {
    let mut rotated = requirements.clone();
    rotated.rotate_left(rotation % requirements.len());
    let mut reversed = rotated.clone();
    reversed.reverse();
    let first = outcome(requirements, overrides, provider);
    for reordered in [rotated, reversed] {
        let second = outcome(&reordered, overrides, provider);
        prop_assert_eq!(first.as_ref().ok(), second.as_ref().ok(), "{:?}", reordered);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sb_14_resolution_matches_the_oracle(graph in graphs(GraphVariety::Simple)) {
        assert_matches_oracle(&graph)?;
    }

    #[test]
    fn sb_15_result_is_independent_of_order(graph in graphs(GraphVariety::Simple), rotation in 0..4usize) {
        assert_order_independent(&graph, rotation)?;
    }

    #[test]
    fn sb_14_resolution_matches_the_oracle_with_missing_sources(graph in graphs(GraphVariety::Full)) {
        assert_matches_oracle(&graph)?;
    }

    #[test]
    fn sb_15_result_is_independent_of_order_with_missing_sources(
        graph in graphs(GraphVariety::Full),
        rotation in 0..4usize,
    ) {
        assert_order_independent(&graph, rotation)?;
    }
}

/// Parses `name`, `name source` or `name source version`. A `?` after the name makes it
/// optional.
fn parse_requirement(text: &str, requested_by: &str) -> TestRequirement {
    let mut words = text.split(' ');
    let name = words.next().unwrap();
    let (source, version) = (words.next().map(Into::into), words.next().map(Into::into));
    SkillRequirement {
        name: name.replace('?', ""),
        source,
        version,
        required: !name.contains('?'),
        requested_by: requested_by.into(),
    }
}

fn parse_requirements(texts: &[&str]) -> Vec<TestRequirement> {
    texts.iter().map(|text| parse_requirement(text, "you")).collect()
}

/// Returns a provider with the dependencies of skills in the source `s`.
fn remote_provider(skills: &[(&str, &[&str])]) -> TestProvider {
    let entry = |(name, dependencies): &(&str, &[&str])| {
        (((*name).into(), "s".into()), parse_requirements(dependencies))
    };
    TestProvider { remote: skills.iter().map(entry).collect(), ..TestProvider::default() }
}

#[test]
fn sb_14_random_graphs_cover_every_outcome() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut runner = TestRunner::deterministic();
    for _ in 0..1000 {
        let (requirements, overrides, provider) =
            graphs(GraphVariety::Full).new_tree(&mut runner).unwrap().current();
        match oracle(&requirements, &overrides, &provider) {
            Ok(_) => *counts.entry("resolved").or_default() += 1,
            Err(errors) => {
                for kind in errors {
                    *counts.entry(kind).or_default() += 1;
                }
            }
        }
    }
    for outcome in ["resolved", "cycle", "conflict", "missing", "unreachable"] {
        assert!(counts.get(outcome).is_some_and(|count| *count >= 30), "{outcome}: {counts:?}");
    }
}

#[test]
fn sb_14_cycle_is_printed() {
    let mut provider = remote_provider(&[("a", &["b s"]), ("b", &["c s"]), ("c", &["b s"])]);
    let error = resolve_skills(&parse_requirements(&["a s"]), &[], &mut provider).unwrap_err();
    assert_eq!(error.code, ErrorCode::DependencyCycle);
    assert!(error.message.ends_with(": b → c → b"), "{error}");
    let mut provider = remote_provider(&[("a", &["a s"])]);
    let error = resolve_skills(&parse_requirements(&["a s"]), &[], &mut provider).unwrap_err();
    assert_eq!(error.code, ErrorCode::DependencyCycle);
    assert!(error.message.ends_with(": a → a"), "{error}");
}

#[test]
fn sb_15_conflict_names_both_requesters() {
    for (first, second) in [("x s", "x t"), ("x s v1", "x s v2")] {
        let mut provider = TestProvider::default();
        provider.remote.insert(("a".into(), "s".into()), vec![parse_requirement(first, "`a`")]);
        provider.remote.insert(("b".into(), "s".into()), vec![parse_requirement(second, "`b`")]);
        let error =
            resolve_skills(&parse_requirements(&["a s", "b s"]), &[], &mut provider).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unresolvable);
        let cause = error.source.unwrap().to_string();
        assert!(cause.contains("`a`") && cause.contains("`b`"), "{cause}");
    }
}

#[test]
fn sb_15_version_applies_to_requirements_without_one() {
    for requirements in [["x s", "x s v1"], ["x s v1", "x s"], ["x s", "x? s v1"]] {
        let found =
            outcome(&parse_requirements(&requirements), &[], &TestProvider::default()).unwrap();
        assert_eq!(
            found["x"],
            ResolvedSource::Source("s".into(), Some("v1".into())),
            "{requirements:?}"
        );
    }
}

#[test]
fn sb_14_requirement_without_source_uses_the_source_of_another() {
    for requirements in [["x?", "x s"], ["x s", "x?"], ["x?", "x? s"], ["x", "x s"], ["x s", "x"]] {
        let found = outcome(&parse_requirements(&requirements), &[], &TestProvider::default());
        assert_eq!(
            found.unwrap()["x"],
            ResolvedSource::Source("s".into(), None),
            "{requirements:?}"
        );
    }
}

#[test]
fn sb_14_skill_is_required_if_any_requirement_is_not_optional() {
    let provider =
        TestProvider { unreachable: [("x".into(), "s".into())].into(), ..TestProvider::default() };
    for requirements in [["x? s", "x s"], ["x s", "x? s"]] {
        assert_eq!(
            outcome(&parse_requirements(&requirements), &[], &provider),
            Err(["unreachable"].into()),
            "{requirements:?}"
        );
    }
    for requirements in [["x? s", "x? t"], ["x? t", "x? s"]] {
        let found = outcome(&parse_requirements(&requirements), &[], &provider);
        assert_eq!(found, Err(["conflict"].into()), "{requirements:?}");
    }
}

/// Skills whose dependencies differ between versions.
struct VersionedProvider;

impl DependencyProvider<String> for VersionedProvider {
    fn local_dependencies(&self, _: &str) -> Option<Vec<TestRequirement>> {
        None
    }

    fn remote_dependencies(
        &mut self,
        name: &str,
        _: &String,
        version: Option<&str>,
    ) -> Result<Vec<TestRequirement>> {
        Ok(parse_requirements(match (name, version) {
            ("a", _) => &["b s v1"],
            ("b", None) => &["c s v1"],
            ("b", _) => &["c s v2"],
            ("d", _) => &["c s v2"],
            _ => &[],
        }))
    }
}

#[test]
fn sb_15_only_the_selected_version_contributes_dependencies() {
    for requirements in [["a s", "b s", "d s"], ["b s", "d s", "a s"], ["d s", "b s", "a s"]] {
        let found = resolve_skills(&parse_requirements(&requirements), &[], &mut VersionedProvider)
            .map(|skills| skills["c"].source.clone());
        let expected = ResolvedSource::Source("s".into(), Some("v2".into()));
        assert_eq!(found.map_err(|error| error.message), Ok(expected), "{requirements:?}");
    }
}
