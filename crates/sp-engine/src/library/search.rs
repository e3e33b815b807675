//! Looking for words in what is served.

use sp_analyze::knowledge::{
    IndexedDocument, KnowledgeBlock, KnowledgeBlockKind, KnowledgeDocument, KnowledgeQuery,
    KnowledgeSection, index_words, rank,
};

use crate::error::{Error, FailureKind, Result};

/// Something that can be found.
pub struct SearchDocument<'a> {
    /// What it is called.
    pub title: &'a str,
    /// What it is about.
    pub about: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// Which of them are about a question, the best first, so many at the most.
pub fn search_documents(
    question: &str,
    among: &[SearchDocument<'_>],
    most: usize,
) -> Result<Vec<usize>> {
    let question = KnowledgeQuery::new(&[(question, 1.0)]);
    if question.is_empty() {
        return Err(Error::new(FailureKind::Usage, "there is no word to look for")
            .hint("say what it should be about"));
    }
    let candidates: Vec<IndexedDocument> = among.iter().enumerate().map(to_candidate).collect();
    let places = rank(&candidates, &question).hits;
    Ok(places.into_iter().take(most).map(|(at, _)| at).collect())
}

fn to_candidate((number, one): (usize, &SearchDocument<'_>)) -> IndexedDocument {
    let about =
        KnowledgeBlock { sort: KnowledgeBlockKind::Highlight, sentences: vec![one.about.into()] };
    let document = KnowledgeDocument {
        title: one.title.into(),
        sections: vec![KnowledgeSection { title: String::new(), blocks: vec![about] }],
        code: one.text.into(),
        ..KnowledgeDocument::default()
    };
    IndexedDocument { identity: format!("{number:08}"), day: 0, words: index_words(&document) }
}
