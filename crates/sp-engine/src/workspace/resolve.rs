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

impl<S: Clone + PartialEq + std::fmt::Display> ResolverPass<'_, S> {
    fn visit(&mut self, requirement: &SkillRequirement<S>) {
        if let Some(at) = self.path.iter().position(|name| *name == requirement.name) {
            let cycle: Vec<&str> =
                self.path[at..].iter().chain([&requirement.name]).map(String::as_str).collect();
            let message = format!("the skills need each other in a circle: {}", cycle.join(" → "));
            let error = Error::new(ErrorCode::DependencyCycle, message)
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
            Err(error) if !required && error.kind() == FailureKind::Environment => {
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
        ErrorCode::SkillNotFound,
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
    Error::new(ErrorCode::Unresolvable, format!("`{name}` is wanted twice, and not the same"))
        .because(format!("{} {}, and {} {}", one.0, describe_demand(one), other.0, describe_demand(other)))
        .hint(format!("nothing was changed: declare `{name}` in `USER_CONTEXT.md` or `CONTEXT.md`, which settles it"))
}

#[cfg(test)]
mod tests;
