//! What a source contains, as `sp add` shows it.

use std::sync::Arc;

use sp_analyze::tokens;
use sp_formats::output::{
    ContextPackFileItem, FindingItem, OfferedContextPack, OfferedSkillItem, SourceContent,
};
use sp_tree::LoadedTree;

use super::catalog::{CatalogSkill, SourceCatalog};
use crate::check::{InspectedSkill, SkillInspector};
use crate::context_pack::{OpenedContextPack, installable_documents};
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
        context_pack: None,
    })
}

/// Describes a context pack: the documents that are installed, and what `sp check` reports.
pub(super) fn describe_context_pack(key: &str, opened: &OpenedContextPack) -> SourceContent {
    let OpenedContextPack { pack, reports, .. } = opened;
    let documents = installable_documents(pack);
    let installed = pack
        .documents
        .iter()
        .filter(|(path, _)| documents.iter().any(|document| document == path.as_str()));
    let files = installed.map(|(path, document)| ContextPackFileItem {
        path: path.to_string(),
        bytes: document.text.len(),
        tokens: tokens::count(&document.text),
    });
    let findings = reports.iter().flat_map(|report| {
        let located = report.located_findings();
        located.iter().map(|it| FindingItem::new(&report.file, it)).collect::<Vec<_>>()
    });
    let project = &pack.manifest.project;
    let context_pack = OfferedContextPack {
        pack_id: pack.manifest.pack_id.clone(),
        name: project.name.clone(),
        description: project.description.clone(),
        files: files.collect(),
        findings: findings.collect(),
    };
    SourceContent {
        source: key.to_owned(),
        commit: None,
        version: None,
        skills: Vec::new(),
        context_pack: Some(context_pack),
    }
}
