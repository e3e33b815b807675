//! The engine in process, registries and packages, for several modules.

pub(crate) mod engine;
pub(crate) mod knowledge_package;
pub(crate) mod registry;
pub(crate) mod registry_fixtures;
pub(crate) mod skill_package;
