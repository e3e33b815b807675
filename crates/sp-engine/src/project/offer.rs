//! What a source contains, as `sp add` shows it.

use std::sync::Arc;

use sp_formats::output::{OfferedSkillItem, SourceContent};
use sp_tree::LoadedTree;

use super::catalog::{CatalogSkill, SourceCatalog};
use crate::check::{InspectedSkill, SkillInspector};
use crate::error::Result;
use crate::session::Session;
use crate::token_counter::TokenCounter;

/// Describes skills of a source. Those for which `is_selected` returns `true` are marked.
pub(super) fn describe(
    session: &Session<'_>,
    catalog: &SourceCatalog,
    skills: &[&CatalogSkill],
    is_selected: &dyn Fn(&str) -> bool,
) -> Result<SourceContent> {
    let ids: Vec<&str> = skills.iter().map(|skill| skill.id.as_str()).collect();
    let trees = catalog.load(session, &ids)?;
    let tokens = TokenCounter::open(session.context);
    let inspector =
        SkillInspector { tokens: &tokens, limits: &session.limits, audits: &session.audits };
    let describe = |(skill, tree): (&&CatalogSkill, Arc<LoadedTree>)| {
        let InspectedSkill { cost, findings, facts } =
            inspector.inspect(&skill.id, &skill.name, &tree);
        OfferedSkillItem {
            id: skill.id.clone(),
            name: skill.name.clone(),
            description: skill.description.clone(),
            selected: is_selected(&skill.id),
            cost,
            findings,
            facts,
        }
    };
    let skills = skills.iter().zip(trees).map(describe).collect();
    tokens.store();
    Ok(SourceContent {
        source: catalog.key.to_string(),
        commit: catalog.locked.commit.clone(),
        version: catalog.locked.version.clone(),
        skills,
    })
}
