//! Registries and packages that several modules use.

pub(crate) mod knowledge_package;
pub(crate) mod registry;
pub(crate) mod registry_fixtures;
pub(crate) mod skill_package;
