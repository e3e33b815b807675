//! Which skills are needed, and where each comes from: the decisions, without the fetching.

use std::collections::BTreeMap;

use crate::error::{Error, Kind, Result};

/// A wish for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish<S> {
    pub name: String,
    /// Where it is to come from, if that is said.
    pub source: Option<S>,
    /// The tag, branch or commit.
    pub version: Option<String>,
    pub required: bool,
    /// Who wishes it, as it is shown.
    pub by: String,
}

/// What there is.
pub(crate) trait Offers<S> {
    /// What a skill that is here, and stays, needs; none if it is not here.
    fn local(&self, name: &str) -> Option<Vec<Wish<S>>>;
    /// What a skill of a source needs. An error stops everything.
    fn remote(&mut self, name: &str, source: &S, version: Option<&str>) -> Result<Vec<Wish<S>>>;
}

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From<S> {
    /// It is here.
    Local,
    /// A source, and which version of it.
    Source(S, Option<String>),
    /// Nowhere, which is only said of what can be done without.
    Missing,
}

/// A skill that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided<S> {
    pub from: From<S>,
    /// Who wishes it, in the order in which they were met.
    pub by: Vec<String>,
    /// The skills that it needs.
    pub needs: Vec<String>,
}

/// Every skill that is needed, by name.
pub(crate) type Decisions<S> = BTreeMap<String, Decided<S>>;

/// A version that one wish pins holds for those that pin none.
type Pins = BTreeMap<String, (String, String)>;

/// Decides where everything comes from. An override counts before any wish.
pub(crate) fn resolve<S: Clone + PartialEq + std::fmt::Display>(
    wishes: &[Wish<S>],
    overrides: &[Wish<S>],
    offers: &mut dyn Offers<S>,
) -> Result<Decisions<S>> {
    let mut pins = Pins::new();
    loop {
        let mut run =
            Run { overrides, offers, decided: Decisions::new(), path: Vec::new(), pins: &mut pins, again: false };
        for wish in wishes {
            run.visit(wish)?;
        }
        // Each round pins one more name, so this ends.
        if !run.again {
            return Ok(run.decided);
        }
    }
}

struct Run<'a, S> {
    overrides: &'a [Wish<S>],
    offers: &'a mut dyn Offers<S>,
    decided: Decisions<S>,
    /// The names on the way down, so that a cycle is seen.
    path: Vec<String>,
    pins: &'a mut Pins,
    /// Whether a version was pinned that would have been needed before.
    again: bool,
}

impl<S: Clone + PartialEq + std::fmt::Display> Run<'_, S> {
    fn visit(&mut self, wish: &Wish<S>) -> Result<()> {
        if let Some(at) = self.path.iter().position(|name| *name == wish.name) {
            let cycle: Vec<&str> = self.path[at..].iter().chain([&wish.name]).map(String::as_str).collect();
            return Err(Error::new(
                Kind::Data,
                format!("the skills need each other in a circle: {}", cycle.join(" → ")),
            )
            .hint("nothing was changed: take one of these dependencies out"));
        }
        let asked = self.overrides.iter().find(|other| other.name == wish.name).unwrap_or(wish).clone();
        if let Some(known) = self.decided.get(&wish.name) {
            self.agree(known.clone(), &asked, wish)?;
            if let Some(known) = self.decided.get_mut(&wish.name)
                && !known.by.contains(&wish.by)
            {
                known.by.push(wish.by.clone());
            }
            return Ok(());
        }
        let (from, needs) = self.decide(&asked, wish)?;
        let names = needs.iter().map(|need| need.name.clone()).collect();
        self.decided.insert(wish.name.clone(), Decided { from, by: vec![wish.by.clone()], needs: names });
        self.path.push(wish.name.clone());
        for need in &needs {
            self.visit(need)?;
        }
        self.path.pop();
        Ok(())
    }

    fn decide(&mut self, asked: &Wish<S>, wish: &Wish<S>) -> Result<(From<S>, Vec<Wish<S>>)> {
        if let Some(needs) = self.offers.local(&wish.name) {
            return Ok((From::Local, needs));
        }
        let Some(source) = &asked.source else {
            return match wish.required {
                false => Ok((From::Missing, Vec::new())),
                true => Err(missing(wish)),
            };
        };
        let pinned = self.pins.get(&wish.name).map(|(version, _)| version.clone());
        let version = asked.version.clone().or(pinned);
        match self.offers.remote(&wish.name, source, version.as_deref()) {
            Ok(needs) => Ok((From::Source(source.clone(), version), needs)),
            // What cannot be reached can be done without, if it can be done without at all.
            Err(error) if !wish.required && error.kind == Kind::Environment => Ok((From::Missing, Vec::new())),
            Err(error) => Err(error),
        }
    }

    /// A second wish for a skill must not want another one.
    fn agree(&mut self, known: Decided<S>, asked: &Wish<S>, wish: &Wish<S>) -> Result<()> {
        let first = known.by.first().cloned().unwrap_or_default();
        match known.from {
            From::Local => Ok(()),
            From::Missing if wish.required && asked.source.is_none() => Err(missing(wish)),
            From::Missing => Ok(()),
            From::Source(source, version) => {
                if let Some(other) = asked.source.as_ref().filter(|other| **other != source) {
                    return Err(conflict(&wish.name, (&first, &source.to_string()), (&wish.by, &other.to_string())));
                }
                match (&version, &asked.version) {
                    (Some(one), Some(other)) if one != other => {
                        let pinner = self.pins.get(&wish.name).map_or(first, |(_, by)| by.clone());
                        Err(conflict(&wish.name, (&pinner, one), (&wish.by, other)))
                    }
                    (None, Some(pinned)) => {
                        self.pins.insert(wish.name.clone(), (pinned.clone(), wish.by.clone()));
                        self.again = true;
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

fn missing<S>(wish: &Wish<S>) -> Error {
    Error::new(Kind::Request, format!("`{}`, which {} needs, is not here and has no source", wish.name, wish.by))
        .hint(format!("nothing was changed: `sp bag get {} --source <source>` installs it", wish.name))
}

fn conflict(name: &str, one: (&str, &str), other: (&str, &str)) -> Error {
    Error::new(Kind::Request, format!("`{name}` is wanted twice, and not the same"))
        .because(format!("{} wants {}, and {} wants {}", one.0, one.1, other.0, other.1))
        .hint(format!("nothing was changed: declare `{name}` in `USER_CONTEXT.md` or `CONTEXT.md`, which settles it"))
}
