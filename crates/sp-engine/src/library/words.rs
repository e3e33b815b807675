//! Looking for words in what is served.

use sp_analyze::knowledge::{Block, Candidate, Document, Question, Section, Sort, rank, words};

use crate::error::{Error, Kind, Result};

/// Something that can be found.
pub struct Findable<'a> {
    /// What it is called.
    pub title: &'a str,
    /// What it is about.
    pub about: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// Which of them are about a question, the best first, so many at the most.
pub fn find_words(question: &str, among: &[Findable<'_>], most: usize) -> Result<Vec<usize>> {
    let question = Question::new(&[(question, 1.0)]);
    if question.is_empty() {
        return Err(Error::new(Kind::Usage, "there is no word to look for").hint("say what it should be about"));
    }
    let candidates: Vec<Candidate> = among.iter().enumerate().map(candidate).collect();
    let places = rank(&candidates, &question).places;
    Ok(places.into_iter().take(most).map(|(at, _)| at).collect())
}

fn candidate((number, one): (usize, &Findable<'_>)) -> Candidate {
    let about = Block { sort: Sort::Highlight, sentences: vec![one.about.into()] };
    let document = Document {
        title: one.title.into(),
        sections: vec![Section { title: String::new(), blocks: vec![about] }],
        code: one.text.into(),
        ..Document::default()
    };
    Candidate { identity: format!("{number:08}"), day: 0, words: words(&document) }
}
