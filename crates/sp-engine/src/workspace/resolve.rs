//! The dependency resolver of workspaces: which skills are needed, and the source of each.
//!
//! [`resolve_skills`] walks the requirements depth first. The first requirement with a source or
//! version decides, and a later one that differs is a conflict. If a later requirement adds a
//! source or version to a skill that was already resolved without one, the walk restarts with that
//! knowledge, so the result does not depend on the order of requirements. Sources are fetched by
//! the [`DependencyProvider`].

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, ErrorCode, FailureKind, Result};

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

/// A source or version, and the requester that demands it.
#[derive(Debug, Clone)]
struct Constraint<T> {
    value: T,
    requested_by: String,
}

/// Sources or versions by skill name.
type ConstraintsBySkill<T> = BTreeMap<String, Constraint<T>>;

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
        // Each restart learns something new, so this terminates. Errors of a pass that needs a
        // restart may be wrong.
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

/// The source of a skill, and the dependencies of the skill there.
struct ChosenSource<S> {
    source: ResolvedSource<S>,
    dependencies: Vec<SkillRequirement<S>>,
}

impl<S> ChosenSource<S> {
    fn missing() -> Self {
        Self { source: ResolvedSource::Missing, dependencies: Vec::new() }
    }
}

impl<S> SkillRequirement<S> {
    /// Returns a value as a constraint of this requirement.
    fn constraint<T: Clone>(&self, value: Option<&T>) -> Option<Constraint<T>> {
        let requested_by = self.requested_by.clone();
        value.map(|value| Constraint { value: value.clone(), requested_by })
    }
}

impl<S: Clone + PartialEq + std::fmt::Display> ResolverPass<'_, S> {
    fn visit(&mut self, requirement: &SkillRequirement<S>) {
        if let Some(start) = self.path.iter().position(|name| *name == requirement.name) {
            let error = cycle_error(&self.path[start..], &requirement.name);
            self.first_error.get_or_insert(error);
            return;
        }
        let effective = self
            .overrides
            .iter()
            .find(|other| other.name == requirement.name)
            .unwrap_or(requirement)
            .clone();
        if self.resolved.contains_key(&requirement.name) {
            self.visit_again(&effective, requirement);
        } else {
            self.visit_first(&effective, requirement);
        }
    }

    /// Resolves a skill and its dependencies. `effective` is the override of the requirement, or
    /// the requirement itself.
    fn visit_first(&mut self, effective: &SkillRequirement<S>, requirement: &SkillRequirement<S>) {
        let chosen = self.choose_source(effective, requirement).unwrap_or_else(|error| {
            self.first_error.get_or_insert(error);
            ChosenSource::missing()
        });
        self.resolved.insert(
            requirement.name.clone(),
            ResolvedSkill {
                source: chosen.source,
                requested_by: vec![requirement.requested_by.clone()],
                dependencies: chosen.dependencies.iter().map(|it| it.name.clone()).collect(),
            },
        );
        self.path.push(requirement.name.clone());
        for dependency in &chosen.dependencies {
            self.visit(dependency);
        }
        self.path.pop();
    }

    /// Adds a further requirement to a resolved skill.
    fn visit_again(&mut self, effective: &SkillRequirement<S>, requirement: &SkillRequirement<S>) {
        let Some(known) = self.resolved.get_mut(&requirement.name) else { return };
        if !known.requested_by.contains(&requirement.requested_by) {
            known.requested_by.push(requirement.requested_by.clone());
        }
        let source = known.source.clone();
        if source != ResolvedSource::Local
            && let Err(error) = self.merge_requirement(&source, effective, requirement)
        {
            self.first_error.get_or_insert(error);
        }
    }

    fn choose_source(
        &mut self,
        effective: &SkillRequirement<S>,
        requirement: &SkillRequirement<S>,
    ) -> Result<ChosenSource<S>> {
        let name = &requirement.name;
        if let Some(dependencies) = self.provider.local_dependencies(name) {
            return Ok(ChosenSource { source: ResolvedSource::Local, dependencies });
        }
        let source = requirement.constraint(effective.source.as_ref());
        let source = source.or_else(|| self.learned.sources.get(name).cloned());
        let version = requirement.constraint(effective.version.as_ref());
        let version = version.or_else(|| self.learned.pins.get(name).cloned());
        self.sources.extend(source.clone().map(|source| (name.clone(), source)));
        self.pins.extend(version.clone().map(|version| (name.clone(), version)));
        let required = requirement.required || self.learned.required.contains(name);
        let version = version.map(|version| version.value);
        match source {
            None if required => Err(missing_source_error(requirement)),
            None => Ok(ChosenSource::missing()),
            Some(source) => match self.fetch_source(name, source.value, version) {
                // An unreachable source of an optional skill is not an error.
                Err(error) if !required && error.kind() == FailureKind::Environment => {
                    Ok(ChosenSource::missing())
                }
                fetched => fetched,
            },
        }
    }

    fn fetch_source(
        &mut self,
        name: &str,
        source: S,
        version: Option<String>,
    ) -> Result<ChosenSource<S>> {
        let dependencies = self.provider.remote_dependencies(name, &source, version.as_deref())?;
        Ok(ChosenSource { source: ResolvedSource::Source(source, version), dependencies })
    }

    /// Merges a further requirement of a resolved skill. Fails if source or version differ.
    fn merge_requirement(
        &mut self,
        resolved: &ResolvedSource<S>,
        effective: &SkillRequirement<S>,
        requirement: &SkillRequirement<S>,
    ) -> Result<()> {
        let name = &requirement.name;
        if requirement.required
            && *resolved == ResolvedSource::Missing
            && self.learned.required.insert(name.clone())
        {
            self.needs_restart = true;
        }
        if let Some(source) = requirement.constraint(effective.source.as_ref())
            && check_against(&self.sources, name, &source)? == ConstraintCheck::New
        {
            self.learned.sources.insert(name.clone(), source);
            self.needs_restart = true;
        }
        if let Some(version) = requirement.constraint(effective.version.as_ref())
            && self.sources.contains_key(name)
            && check_against(&self.pins, name, &version)? == ConstraintCheck::New
        {
            self.learned.pins.insert(name.clone(), version);
            self.needs_restart = true;
        }
        Ok(())
    }
}

/// The result of [`check_against`].
#[derive(PartialEq, Eq)]
enum ConstraintCheck {
    /// The skill has the same source or version.
    Same,
    /// The skill was resolved without a source or version.
    New,
}

/// Compares a constraint with that of the first requirement of a skill. Fails if they differ.
fn check_against<T: PartialEq + std::fmt::Display>(
    first: &ConstraintsBySkill<T>,
    name: &str,
    constraint: &Constraint<T>,
) -> Result<ConstraintCheck> {
    match first.get(name) {
        None => Ok(ConstraintCheck::New),
        Some(first) if first.value == constraint.value => Ok(ConstraintCheck::Same),
        Some(first) => Err(conflict_error(name, first, constraint)),
    }
}

fn cycle_error(path: &[String], name: &str) -> Error {
    let cycle: Vec<&str> = path.iter().map(String::as_str).chain([name]).collect();
    let message = format!("circular dependency: {}", cycle.join(" → "));
    Error::new(ErrorCode::DependencyCycle, message)
        .hint("nothing was changed: remove one of these dependencies")
}

fn missing_source_error<S>(requirement: &SkillRequirement<S>) -> Error {
    Error::new(
        ErrorCode::SkillNotFound,
        match requirement.requested_by.as_str() {
            "you" => format!("no source for the skill `{}`", requirement.name),
            by => format!("no source for the skill `{}`, required by {by}", requirement.name),
        },
    )
    .hint(format!("nothing was changed: run `sp bag add {} --source <source>`", requirement.name))
}

fn describe_demand<T: std::fmt::Display>(constraint: &Constraint<T>) -> String {
    let Constraint { value, requested_by } = constraint;
    let verb = if requested_by == "you" { "require" } else { "requires" };
    format!("{requested_by} {verb} {value}")
}

fn conflict_error<T: std::fmt::Display>(
    name: &str,
    first: &Constraint<T>,
    second: &Constraint<T>,
) -> Error {
    Error::new(ErrorCode::Unresolvable, format!("conflicting requirements for the skill `{name}`"))
        .because(format!("{}, and {}", describe_demand(first), describe_demand(second)))
        .hint(format!("nothing was changed: declare `{name}` in `USER_CONTEXT.md` or `CONTEXT.md` to choose one"))
}

#[cfg(test)]
mod tests;
