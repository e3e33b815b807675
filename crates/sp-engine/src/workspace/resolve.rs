//! The dependency resolver of workspaces: which skills are needed, and the source of each.
//!
//! [`resolve_skills`] walks the requirements depth first. The first requirement with a source or
//! version decides, and a later one that differs is a conflict. If a later requirement adds a source or
//! version to a skill that was already resolved without one, the walk restarts with that knowledge, so
//! the result does not depend on the order of requirements. Sources are fetched by the
//! [`DependencyProvider`].

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, FailureKind, Result};

/// A requirement of a skill, by the user, a context or another skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillRequirement<S> {
    pub name: String,
    pub source: Option<S>,
    /// The tag, branch or commit.
    pub version: Option<String>,
    pub required: bool,
    /// The requester, for display.
    pub requested_by: String,
}

/// Provides the dependencies of skills.
pub(crate) trait DependencyProvider<S> {
    /// Returns the dependencies of a skill in the workspace that is not being replaced.
    fn local_dependencies(&self, name: &str) -> Option<Vec<SkillRequirement<S>>>;
    /// Returns the dependencies of a skill in a source.
    fn remote_dependencies(
        &mut self,
        name: &str,
        source: &S,
        version: Option<&str>,
    ) -> Result<Vec<SkillRequirement<S>>>;
}

/// The source of a resolved skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedSource<S> {
    /// The workspace.
    Local,
    /// A source and its version.
    Source(S, Option<String>),
    /// None. Only for optional skills.
    Missing,
}

/// A skill of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedSkill<S> {
    pub source: ResolvedSource<S>,
    /// The requesters, in the order of the walk.
    pub requested_by: Vec<String>,
    /// The names of its dependencies.
    pub dependencies: Vec<String>,
}

/// All resolved skills, by name.
pub(crate) type ResolvedSkills<S> = BTreeMap<String, ResolvedSkill<S>>;

/// Sources or versions by skill name, each with the requester.
type ConstraintsBySkill<T> = BTreeMap<String, (T, String)>;

/// What earlier passes learned too late. It applies to requirements that do not specify it.
struct LearnedConstraints<S> {
    sources: ConstraintsBySkill<S>,
    pins: ConstraintsBySkill<String>,
    /// The skills that at least one requirement does not mark as optional.
    required: BTreeSet<String>,
}

/// Resolves requirements. An override replaces the source and version of all requirements of its
/// skill.
pub(crate) fn resolve_skills<S: Clone + PartialEq + std::fmt::Display>(
    requirements: &[SkillRequirement<S>],
    overrides: &[SkillRequirement<S>],
    provider: &mut dyn DependencyProvider<S>,
) -> Result<ResolvedSkills<S>> {
    let mut learned = LearnedConstraints {
        sources: ConstraintsBySkill::new(),
        pins: ConstraintsBySkill::new(),
        required: BTreeSet::new(),
    };
    loop {
        let mut pass = ResolverPass {
            overrides,
            provider,
            resolved: ResolvedSkills::new(),
            path: Vec::new(),
            sources: ConstraintsBySkill::new(),
            pins: ConstraintsBySkill::new(),
            learned: &mut learned,
            needs_restart: false,
            first_error: None,
        };
        for requirement in requirements {
            pass.visit(requirement);
        }
        // Each restart learns something new, so this terminates. Errors of a pass that needs a restart
        // may be wrong.
        match (pass.needs_restart, pass.first_error) {
            (true, _) => {}
            (false, Some(error)) => return Err(error),
            (false, None) => return Ok(pass.resolved),
        }
    }
}

struct ResolverPass<'a, S> {
    overrides: &'a [SkillRequirement<S>],
    provider: &'a mut dyn DependencyProvider<S>,
    resolved: ResolvedSkills<S>,
    /// The names above the current skill, to detect cycles.
    path: Vec<String>,
    /// The source of each skill, and below the version, from the first requirement that has one.
    sources: ConstraintsBySkill<S>,
    pins: ConstraintsBySkill<String>,
    learned: &'a mut LearnedConstraints<S>,
    /// Whether something was learned that an earlier decision needed.
    needs_restart: bool,
    first_error: Option<Error>,
}

impl<S: Clone + PartialEq + std::fmt::Display> ResolverPass<'_, S> {
    fn visit(&mut self, requirement: &SkillRequirement<S>) {
        if let Some(at) = self.path.iter().position(|name| *name == requirement.name) {
            let cycle: Vec<&str> =
                self.path[at..].iter().chain([&requirement.name]).map(String::as_str).collect();
            let message = format!("the skills need each other in a circle: {}", cycle.join(" → "));
            let error = Error::new(FailureKind::Data, message)
                .hint("nothing was changed: take one of these dependencies out");
            self.first_error.get_or_insert(error);
            return;
        }
        let asked = self
            .overrides
            .iter()
            .find(|other| other.name == requirement.name)
            .unwrap_or(requirement)
            .clone();
        if let Some(known) = self.resolved.get_mut(&requirement.name) {
            if !known.requested_by.contains(&requirement.requested_by) {
                known.requested_by.push(requirement.requested_by.clone());
            }
            let from = known.source.clone();
            if from != ResolvedSource::Local
                && let Err(error) = self.merge_requirement(&from, &asked, requirement)
            {
                self.first_error.get_or_insert(error);
            }
            return;
        }
        let (from, needs) = self.choose_source(&asked, requirement).unwrap_or_else(|error| {
            self.first_error.get_or_insert(error);
            (ResolvedSource::Missing, Vec::new())
        });
        let names = needs.iter().map(|need| need.name.clone()).collect();
        self.resolved.insert(
            requirement.name.clone(),
            ResolvedSkill {
                source: from,
                requested_by: vec![requirement.requested_by.clone()],
                dependencies: names,
            },
        );
        self.path.push(requirement.name.clone());
        for need in &needs {
            self.visit(need);
        }
        self.path.pop();
    }

    fn choose_source(
        &mut self,
        asked: &SkillRequirement<S>,
        requirement: &SkillRequirement<S>,
    ) -> Result<(ResolvedSource<S>, Vec<SkillRequirement<S>>)> {
        if let Some(needs) = self.provider.local_dependencies(&requirement.name) {
            return Ok((ResolvedSource::Local, needs));
        }
        let source = asked.source.clone().map(|source| (source, requirement.requested_by.clone()));
        let source = source.or_else(|| self.learned.sources.get(&requirement.name).cloned());
        let version =
            asked.version.clone().map(|version| (version, requirement.requested_by.clone()));
        let version = version.or_else(|| self.learned.pins.get(&requirement.name).cloned());
        self.sources.extend(source.clone().map(|source| (requirement.name.clone(), source)));
        self.pins.extend(version.clone().map(|version| (requirement.name.clone(), version)));
        let required = requirement.required || self.learned.required.contains(&requirement.name);
        let Some((source, _)) = source else {
            return if required {
                Err(missing_source_error(requirement))
            } else {
                Ok((ResolvedSource::Missing, Vec::new()))
            };
        };
        let version = version.map(|(version, _)| version);
        match self.provider.remote_dependencies(&requirement.name, &source, version.as_deref()) {
            Ok(needs) => Ok((ResolvedSource::Source(source, version), needs)),
            // An unreachable source of an optional skill is not an error.
            Err(error) if !required && error.kind == FailureKind::Environment => {
                Ok((ResolvedSource::Missing, Vec::new()))
            }
            Err(error) => Err(error),
        }
    }

    /// Merges a further requirement of a resolved skill. Fails if source or version differ.
    fn merge_requirement(
        &mut self,
        from: &ResolvedSource<S>,
        asked: &SkillRequirement<S>,
        requirement: &SkillRequirement<S>,
    ) -> Result<()> {
        if requirement.required
            && *from == ResolvedSource::Missing
            && self.learned.required.insert(requirement.name.clone())
        {
            self.needs_restart = true;
        }
        if let Some(other) = &asked.source {
            match self.sources.get(&requirement.name) {
                Some((source, by)) if source != other => {
                    return Err(conflict_error(
                        &requirement.name,
                        (by, &source.to_string()),
                        (&requirement.requested_by, &other.to_string()),
                    ));
                }
                Some(_) => {}
                None => {
                    self.learned.sources.insert(
                        requirement.name.clone(),
                        (other.clone(), requirement.requested_by.clone()),
                    );
                    self.needs_restart = true;
                }
            }
        }
        let (Some(other), true) = (&asked.version, self.sources.contains_key(&requirement.name))
        else {
            return Ok(());
        };
        match self.pins.get(&requirement.name) {
            Some((pin, by)) if pin != other => Err(conflict_error(
                &requirement.name,
                (by, pin),
                (&requirement.requested_by, other),
            )),
            Some(_) => Ok(()),
            None => {
                self.learned.pins.insert(
                    requirement.name.clone(),
                    (other.clone(), requirement.requested_by.clone()),
                );
                self.needs_restart = true;
                Ok(())
            }
        }
    }
}

fn missing_source_error<S>(requirement: &SkillRequirement<S>) -> Error {
    let need = if requirement.requested_by == "you" { "need" } else { "needs" };
    Error::new(
        FailureKind::Request,
        format!(
            "`{}`, which {} {need}, is not here and has no source",
            requirement.name, requirement.requested_by
        ),
    )
    .hint(format!(
        "nothing was changed: `sp bag get {} --source <source>` installs it",
        requirement.name
    ))
}

fn describe_demand((who, what): (&str, &str)) -> String {
    if who == "you" { format!("want {what}") } else { format!("wants {what}") }
}

fn conflict_error(name: &str, one: (&str, &str), other: (&str, &str)) -> Error {
    Error::new(FailureKind::Request, format!("`{name}` is wanted twice, and not the same"))
        .because(format!("{} {}, and {} {}", one.0, describe_demand(one), other.0, describe_demand(other)))
        .hint(format!("nothing was changed: declare `{name}` in `USER_CONTEXT.md` or `CONTEXT.md`, which settles it"))
}

#[cfg(test)]
mod tests {
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
        dead: BTreeSet<(String, String)>,
    }

    impl TestProvider {
        fn needs(&self, name: &str, source: &str) -> Vec<TestRequirement> {
            self.remote.get(&(name.into(), source.into())).cloned().unwrap_or_default()
        }

        fn is_dead(&self, name: &str, source: &str) -> bool {
            self.dead.contains(&(name.into(), source.into()))
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
            if self.is_dead(name, source) {
                return Err(Error::new(FailureKind::Environment, "nobody answers"));
            }
            Ok(self.needs(name, source))
        }
    }

    /// The source of each skill, or the kinds of errors.
    type ResolveOutcome =
        std::result::Result<BTreeMap<String, ResolvedSource<String>>, BTreeSet<&'static str>>;

    fn answer(
        wishes: &[TestRequirement],
        overrides: &[TestRequirement],
        world: &TestProvider,
    ) -> ResolveOutcome {
        let decided = resolve_skills(wishes, overrides, &mut world.clone());
        decided.map(|all| all.into_iter().map(|(name, one)| (name, one.source)).collect()).map_err(
            |error| {
                let kinds = [
                    ("circle", "cycle"),
                    ("wanted twice", "conflict"),
                    ("has no source", "missing"),
                ];
                let kind = kinds.iter().find(|(words, _)| error.message.contains(words));
                [kind.map_or("unreachable", |(_, kind)| kind)].into()
            },
        )
    }

    /// The definition of the result: looks at all requirements together, without an order.
    fn oracle(
        roots: &[TestRequirement],
        overrides: &[TestRequirement],
        world: &TestProvider,
    ) -> ResolveOutcome {
        let facts = |wishes: &[TestRequirement], name: &str| {
            let settled = overrides.iter().find(|one| one.name == name);
            let of_it = wishes.iter().filter(|wish| wish.name == name);
            let told: Vec<&TestRequirement> =
                settled.map_or_else(|| of_it.collect(), |one| vec![one]);
            let sources: BTreeSet<String> =
                told.iter().filter_map(|wish| wish.source.clone()).collect();
            let pins: BTreeSet<String> =
                told.iter().filter_map(|wish| wish.version.clone()).collect();
            (sources, pins)
        };
        let needs = |wishes: &[TestRequirement], name: &str| match world.local.get(name) {
            Some(needs) => needs.clone(),
            None => {
                let sources = facts(wishes, name).0;
                let alive = sources.iter().filter(|source| !world.is_dead(name, source));
                alive.flat_map(|source| world.needs(name, source)).collect()
            }
        };
        let mut wishes = roots.to_vec();
        loop {
            let names: BTreeSet<String> = wishes.iter().map(|wish| wish.name.clone()).collect();
            let further = names.iter().flat_map(|name| needs(&wishes, name));
            let all: Vec<TestRequirement> = roots.iter().cloned().chain(further).collect();
            if all.len() == wishes.len() {
                break;
            }
            wishes = all;
        }
        let names: BTreeSet<&str> = wishes.iter().map(|wish| wish.name.as_str()).collect();
        let mut wrong = BTreeSet::new();
        let mut found = BTreeMap::new();
        for &name in &names {
            let (sources, pins) = facts(&wishes, name);
            let required = wishes.iter().any(|wish| wish.name == name && wish.required);
            let from = match sources.first() {
                _ if world.local.contains_key(name) => ResolvedSource::Local,
                _ if sources.len() > 1 || (sources.len() == 1 && pins.len() > 1) => {
                    wrong.insert("conflict");
                    // The source that is tried first may be unreachable.
                    wrong.extend(
                        sources.iter().any(|one| world.is_dead(name, one)).then_some("unreachable"),
                    );
                    ResolvedSource::Missing
                }
                Some(source) if !world.is_dead(name, source) => {
                    ResolvedSource::Source(source.clone(), pins.first().cloned())
                }
                source if required => {
                    wrong.insert(if source.is_some() { "unreachable" } else { "missing" });
                    ResolvedSource::Missing
                }
                _ => ResolvedSource::Missing,
            };
            found.insert(name.to_owned(), from);
        }
        let mut ways: BTreeSet<(String, String)> = BTreeSet::new();
        for &name in &names {
            ways.extend(needs(&wishes, name).into_iter().map(|need| (name.to_owned(), need.name)));
        }
        for _ in &names {
            let two = |(a, b): &(String, String)| {
                let (a, b) = (a.clone(), b.clone());
                ways.iter()
                    .filter(move |(c, _)| *c == b)
                    .map(move |(_, d)| (a.clone(), d.clone()))
                    .collect::<Vec<_>>()
            };
            let longer: Vec<_> = ways.iter().flat_map(two).collect();
            ways.extend(longer);
        }
        wrong.extend(ways.iter().any(|(a, b)| a == b).then_some("cycle"));
        if wrong.is_empty() { Ok(found) } else { Err(wrong) }
    }

    /// How varied random graphs are.
    #[derive(Clone, Copy)]
    enum GraphVariety {
        /// Either all requirements of a skill have a source or none has, and all sources are reachable.
        Tame,
        Full,
    }

    fn wish(
        name: usize,
        (source, version, required): (u8, u8, bool),
        by: &str,
        wild: GraphVariety,
    ) -> TestRequirement {
        // In tame graphs, every fourth skill has no source.
        let source = match (wild, source) {
            (GraphVariety::Tame, _) if name % 4 == 3 => None,
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
            requested_by: by.into(),
        }
    }

    type RequirementParts = (usize, (u8, u8, bool));

    fn parts(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<RequirementParts>> {
        prop::collection::vec((0..8usize, (0..10u8, 0..9u8, any::<bool>())), count)
    }

    /// Requirements, overrides, and the provider.
    fn graphs(
        wild: GraphVariety,
    ) -> impl Strategy<Value = (Vec<TestRequirement>, Vec<TestRequirement>, TestProvider)> {
        let skill =
            (parts(0..3), parts(0..3), prop::sample::select(vec![true, false, false]), 0..6u8);
        let skills = prop::collection::vec(skill, 8);
        (parts(1..5), parts(0..2), skills, prop::sample::select(vec![true, true, true, false]))
            .prop_map(move |(roots, overrides, skills, ordered)| {
                let make =
                    |all: Vec<RequirementParts>, by: &str, least: usize| -> Vec<TestRequirement> {
                        let kept = all.into_iter().filter(|(name, _)| !ordered || *name >= least);
                        kept.map(|(name, rest)| wish(name, rest, by, wild)).collect()
                    };
                let mut world = TestProvider::default();
                for (at, (one, other, is_local, fate)) in skills.into_iter().enumerate() {
                    let name = format!("n{at}");
                    if is_local {
                        world.local.insert(name.clone(), make(one.clone(), &name, at + 1));
                    }
                    world.remote.insert((name.clone(), "s".into()), make(one, &name, at + 1));
                    world.remote.insert((name.clone(), "t".into()), make(other, &name, at + 1));
                    if matches!((wild, fate), (GraphVariety::Full, 0)) {
                        world.dead.insert((name, "s".into()));
                    }
                }
                let overrides = overrides.into_iter().map(|(name, _)| SkillRequirement {
                    source: Some("s".into()),
                    version: Some("v1".into()),
                    ..wish(name, (0, 0, true), "context", wild)
                });
                (make(roots, "you", 0), overrides.collect(), world)
            })
    }

    fn agrees(
        (wishes, overrides, world): &(Vec<TestRequirement>, Vec<TestRequirement>, TestProvider),
    ) -> std::result::Result<(), TestCaseError> {
        match (answer(wishes, overrides, world), oracle(wishes, overrides, world)) {
            // With conflicting sources, it is open whose dependencies are followed.
            (Err(_), Err(wrong)) if wrong.contains("conflict") => {}
            (Err(found), Err(wrong)) => {
                prop_assert!(found.is_subset(&wrong), "{:?} is none of {:?}", found, wrong)
            }
            (found, expected) => prop_assert_eq!(found, expected),
        }
        Ok(())
    }

    fn is_order_blind(
        (wishes, overrides, world): &(Vec<TestRequirement>, Vec<TestRequirement>, TestProvider),
        turn: usize,
    ) -> std::result::Result<(), TestCaseError> {
        let mut turned = wishes.clone();
        turned.rotate_left(turn % wishes.len());
        let mut back = turned.clone();
        back.reverse();
        let first = answer(wishes, overrides, world);
        for other in [turned, back] {
            let second = answer(&other, overrides, world);
            prop_assert_eq!(first.as_ref().ok(), second.as_ref().ok(), "{:?}", other);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sb_14_resolution_matches_the_oracle(graph in graphs(GraphVariety::Tame)) {
            agrees(&graph)?;
        }

        #[test]
        fn sb_15_result_is_independent_of_order(graph in graphs(GraphVariety::Tame), turn in 0..4usize) {
            is_order_blind(&graph, turn)?;
        }

        #[test]
        fn sb_14_resolution_matches_the_oracle_with_missing_sources(graph in graphs(GraphVariety::Full)) {
            agrees(&graph)?;
        }

        #[test]
        fn sb_15_result_is_independent_of_order_with_missing_sources(
            graph in graphs(GraphVariety::Full),
            turn in 0..4usize,
        ) {
            is_order_blind(&graph, turn)?;
        }
    }

    /// Parses `name`, `name source` or `name source version`. A `?` after the name makes it optional.
    fn parse_requirement(text: &str, by: &str) -> TestRequirement {
        let mut words = text.split(' ');
        let name = words.next().unwrap();
        let (source, version) = (words.next().map(Into::into), words.next().map(Into::into));
        SkillRequirement {
            name: name.replace('?', ""),
            source,
            version,
            required: !name.contains('?'),
            requested_by: by.into(),
        }
    }

    fn all(texts: &[&str]) -> Vec<TestRequirement> {
        texts.iter().map(|text| parse_requirement(text, "you")).collect()
    }

    fn remotes(needs: &[(&str, &[&str])]) -> TestProvider {
        let one = |(name, needs): &(&str, &[&str])| (((*name).into(), "s".into()), all(needs));
        TestProvider { remote: needs.iter().map(one).collect(), ..TestProvider::default() }
    }

    #[test]
    fn sb_14_random_graphs_cover_every_outcome() {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::TestRunner;
        let mut seen = BTreeMap::<&str, usize>::new();
        let mut runner = TestRunner::deterministic();
        for _ in 0..1000 {
            let (wishes, overrides, world) =
                graphs(GraphVariety::Full).new_tree(&mut runner).unwrap().current();
            match oracle(&wishes, &overrides, &world) {
                Ok(_) => *seen.entry("decided").or_default() += 1,
                Err(wrong) => {
                    wrong.into_iter().for_each(|kind| *seen.entry(kind).or_default() += 1)
                }
            }
        }
        for outcome in ["decided", "cycle", "conflict", "missing", "unreachable"] {
            assert!(seen.get(outcome).is_some_and(|count| *count >= 30), "{outcome}: {seen:?}");
        }
    }

    #[test]
    fn sb_14_cycle_is_printed() {
        let mut world = remotes(&[("a", &["b s"]), ("b", &["c s"]), ("c", &["b s"])]);
        let error = resolve_skills(&all(&["a s"]), &[], &mut world).unwrap_err();
        assert_eq!(error.message, "the skills need each other in a circle: b → c → b");
        let mut world = remotes(&[("a", &["a s"])]);
        let error = resolve_skills(&all(&["a s"]), &[], &mut world).unwrap_err();
        assert_eq!(error.message, "the skills need each other in a circle: a → a");
    }

    #[test]
    fn sb_15_conflict_names_both_requesters() {
        for (one, other) in [("x s", "x t"), ("x s v1", "x s v2")] {
            let mut world = TestProvider::default();
            world.remote.insert(("a".into(), "s".into()), vec![parse_requirement(one, "`a`")]);
            world.remote.insert(("b".into(), "s".into()), vec![parse_requirement(other, "`b`")]);
            let error = resolve_skills(&all(&["a s", "b s"]), &[], &mut world).unwrap_err();
            let why = error.source.unwrap().to_string();
            assert!(why.contains("`a` wants") && why.contains("`b` wants"), "{why}");
        }
    }

    #[test]
    fn sb_15_version_applies_to_requirements_without_one() {
        for wishes in [["x s", "x s v1"], ["x s v1", "x s"], ["x s", "x? s v1"]] {
            let found = answer(&all(&wishes), &[], &TestProvider::default()).unwrap();
            assert_eq!(
                found["x"],
                ResolvedSource::Source("s".into(), Some("v1".into())),
                "{wishes:?}"
            );
        }
    }

    #[test]
    fn sb_14_requirement_without_source_uses_the_source_of_another() {
        for wishes in [["x?", "x s"], ["x s", "x?"], ["x?", "x? s"], ["x", "x s"], ["x s", "x"]] {
            let found = answer(&all(&wishes), &[], &TestProvider::default());
            assert_eq!(found.unwrap()["x"], ResolvedSource::Source("s".into(), None), "{wishes:?}");
        }
    }

    #[test]
    fn sb_14_skill_is_required_if_any_requirement_is_not_optional() {
        let world =
            TestProvider { dead: [("x".into(), "s".into())].into(), ..TestProvider::default() };
        for wishes in [["x? s", "x s"], ["x s", "x? s"]] {
            assert_eq!(
                answer(&all(&wishes), &[], &world),
                Err(["unreachable"].into()),
                "{wishes:?}"
            );
        }
        for wishes in [["x? s", "x? t"], ["x? t", "x? s"]] {
            let found = answer(&all(&wishes), &[], &world);
            assert_eq!(found, Err(["conflict"].into()), "{wishes:?}");
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
            Ok(all(match (name, version) {
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
        for wishes in [["a s", "b s", "d s"], ["b s", "d s", "a s"], ["d s", "b s", "a s"]] {
            let found = resolve_skills(&all(&wishes), &[], &mut VersionedProvider)
                .map(|all| all["c"].source.clone());
            let version = ResolvedSource::Source("s".into(), Some("v2".into()));
            assert_eq!(found.map_err(|error| error.message), Ok(version), "{wishes:?}");
        }
    }
}
