//! Asks a model to select among the sentences of a context pack.

use sp_analyze::knowledge::{Brief, CandidateList, CandidateSentence, ClaimPool, SelectedQuote};
use sp_formats::output::{ModelChoiceReport, RejectedQuoteItem};

use crate::context::{Context, Event};
use crate::error::Result;
use crate::model::{self, ModelEndpoint, ModelSelection, PromptList};

/// The quotes that a model selected.
#[derive(Default)]
pub(super) struct QuoteChoice {
    pub quotes: Vec<SelectedQuote>,
    /// None if no model was asked.
    pub report: Option<ModelChoiceReport>,
}

/// Asks a model to select among the sentences. If that fails, the pack is built without the model;
/// only a cancelled command is an error.
pub(super) fn ask_model(
    context: &Context<'_>,
    endpoint: &ModelEndpoint,
    brief: &Brief,
    pool: &ClaimPool,
) -> Result<QuoteChoice> {
    let lists = prompt_lists(pool);
    let offered = lists.iter().map(|list| list.sentences.len()).sum();
    let answer = model::select_sentences(context, endpoint, brief, &lists);
    context.check_cancelled()?;
    let failed = answer.as_ref().err().map(|error| {
        let messages = std::iter::once(error.to_string()).chain(error.causes());
        messages.collect::<Vec<_>>().join(": ")
    });
    let ModelSelection { chosen, rejected } = answer.unwrap_or_default();
    let quotes: Vec<SelectedQuote> = chosen
        .into_iter()
        .map(|chosen| SelectedQuote { number: chosen.number, quote: chosen.quote })
        .collect();
    let refused: Vec<RejectedQuoteItem> = rejected
        .into_iter()
        .map(|rejected| RejectedQuoteItem { quote: rejected.quote, why: rejected.reason.into() })
        .collect();
    let report = ModelChoiceReport { offered, chosen: quotes.len(), refused, failed };
    warn_if_useless(context, &report);
    Ok(QuoteChoice { quotes, report: Some(report) })
}

fn warn_if_useless(context: &Context<'_>, report: &ModelChoiceReport) {
    let all_refused = report
        .refused
        .first()
        .filter(|_| report.chosen == 0)
        .map(|first| format!("all selected sentences were rejected: {}", first.why));
    if let Some(why) = report.failed.as_ref().or(all_refused.as_ref()) {
        context.emit(Event::Warning(format!("model request failed; continuing without it: {why}")));
    }
}

/// Converts the candidates to what the prompt needs.
fn prompt_lists(pool: &ClaimPool) -> Vec<PromptList> {
    let to_sentence = |sentence: CandidateSentence| model::PromptSentence {
        number: sentence.number,
        text: sentence.text,
    };
    let to_list = |list: CandidateList| PromptList {
        name: list.name.into(),
        limit: list.limit,
        sentences: list.sentences.into_iter().map(to_sentence).collect(),
    };
    pool.candidate_lists().into_iter().map(to_list).collect()
}
