//! Full-text search in the library.

use sp_analyze::knowledge::{
    IndexedDocument, KnowledgeBlock, KnowledgeBlockKind, KnowledgeDocument, KnowledgeQuery,
    KnowledgeSection, index_words, rank,
};

use crate::error::{Error, ErrorCode, Result};

/// A document to search.
pub struct SearchDocument<'a> {
    pub title: &'a str,
    /// The description.
    pub about: &'a str,
    pub text: &'a str,
}

/// Returns the indexes of at most `limit` documents that match a query, the best first.
pub fn search_documents(
    query: &str,
    documents: &[SearchDocument<'_>],
    limit: usize,
) -> Result<Vec<usize>> {
    let query = KnowledgeQuery::new(&[(query, 1.0)]);
    if query.is_empty() {
        return Err(Error::new(ErrorCode::MissingArgument, "the search query is empty")
            .hint("specify one or more words to search for"));
    }
    let candidates: Vec<IndexedDocument> =
        documents.iter().enumerate().map(|(number, it)| to_candidate(number, it)).collect();
    let hits = rank(&candidates, &query).hits;
    Ok(hits.into_iter().take(limit).map(|(index, _)| index).collect())
}

fn to_candidate(number: usize, document: &SearchDocument<'_>) -> IndexedDocument {
    let about = KnowledgeBlock {
        sort: KnowledgeBlockKind::Highlight,
        sentences: vec![document.about.into()],
    };
    let indexed = KnowledgeDocument {
        title: document.title.into(),
        sections: vec![KnowledgeSection { title: String::new(), blocks: vec![about] }],
        code: document.text.into(),
        ..KnowledgeDocument::default()
    };
    IndexedDocument { identity: format!("{number:08}"), day: 0, words: index_words(&indexed) }
}
