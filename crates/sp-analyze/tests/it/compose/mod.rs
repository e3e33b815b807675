//! Context packs that are composed from arbitrary knowledge.

mod citations;
mod validity;

use sp_analyze::knowledge::{
    Brief, ComposedFiles, DocumentRanking, FolderDefaults, IndexedDocument, KnowledgeDocument,
    KnowledgeFile, index_words, parse_file, rank, url_identity,
};
use sp_formats::context_pack::{
    self, ContextPackDraft, ContextPackEntry, ContextPackGenerator, ContextPackManifest,
    ContextPackProject, ContextPackReadResult, SPEC_VERSION,
};
use sp_tree::Limits;

fn parse(path: &str, text: &str) -> Vec<KnowledgeDocument> {
    let defaults = FolderDefaults::default();
    let bytes = text.as_bytes();
    parse_file(KnowledgeFile { path, bytes, sidecar: None, defaults: &defaults }).documents
}

fn rank_documents(brief: &Brief, documents: &[KnowledgeDocument]) -> DocumentRanking {
    let index = |document: &KnowledgeDocument| IndexedDocument {
        identity: url_identity(&document.url).into(),
        day: 1,
        words: index_words(document),
    };
    let indexed: Vec<IndexedDocument> = documents.iter().map(index).collect();
    rank(&indexed, &brief.to_query())
}

fn draft(brief: &Brief, composed: &ComposedFiles) -> ContextPackDraft {
    let manifest = ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: "pk_01KPZXWZQR5NRHCGNQ4TR480B2".into(),
        generated_at: "2026-04-24T14:22:03Z".into(),
        generator: ContextPackGenerator { name: "test".into(), ..ContextPackGenerator::default() },
        project: ContextPackProject {
            name: brief.name.clone(),
            description: brief.description.clone(),
            stack: brief.stack.clone(),
            ..ContextPackProject::default()
        },
        user_prompt: brief.prompt.clone(),
        sources: composed.sources.clone(),
        ..ContextPackManifest::default()
    };
    ContextPackDraft { manifest, documents: composed.documents.clone() }
}

fn read_draft(draft: &ContextPackDraft) -> ContextPackReadResult {
    let files = draft.files().into_iter();
    let entries = files.map(|(path, bytes)| (path, ContextPackEntry::File(bytes))).collect();
    context_pack::read(&entries, &Limits::default())
}
