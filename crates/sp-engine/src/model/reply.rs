//! Checks the reply of a model against the sentences that it was given.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sp_formats::json::{JsonDocument, JsonError, JsonKind, JsonValue};
use sp_tree::Limits;
use thiserror::Error;

use super::quote::find_quote;
use super::{ModelChoice, ModelSelection, PromptList, RejectedChoice, truncate_printable};

/// The maximum number of items that are checked. No pack has as many sentences.
const MAX_ITEMS: usize = 10_000;
/// The lengths to which the list name and the quote of a rejected choice are truncated.
const MAX_PLACE_LEN: usize = 60;
const MAX_QUOTE_LEN: usize = 160;

/// Why a reply cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelReplyError {
    /// The response of the endpoint is not JSON.
    #[error("the response is not JSON: {0}")]
    NotJson(String),
    /// The response has no text of a model.
    #[error("the response has no text at `choices[0].message.content`")]
    NoContent,
    /// The text of the model is not JSON.
    #[error("the model did not return JSON: {0}")]
    ContentNotJson(String),
    /// The text of the model is truncated.
    #[error(
        "the response is truncated because the model reached its token limit (`finish_reason` is \
         `length`)"
    )]
    Truncated,
    /// The text of the model has no list of choices.
    #[error("the reply of the model has no list at `chosen`")]
    NoList,
}

impl ModelReplyError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotJson(_) | Self::NoContent => {
                "check that the URL is an OpenAI-compatible endpoint, such as \
                 `http://localhost:11434/v1`"
            }
            Self::Truncated => "raise the token limit of the model, or use another model",
            Self::ContentNotJson(_) | Self::NoList => {
                "run the command again, or use a larger model"
            }
        }
    }
}

/// The text of a model.
pub(super) struct ModelReply {
    text: String,
    /// Whether the model reached its token limit.
    is_truncated: bool,
}

/// Extracts the text of the model from the response of an endpoint.
pub(super) fn extract_reply(body: &str) -> Result<ModelReply, ModelReplyError> {
    let json = JsonDocument::parse(body, &Limits::default())
        .map_err(|e| ModelReplyError::NotJson(format_json_error(&e)))?;
    let first = json.root().get("choices").and_then(|choices| choices.items().next());
    let reason = first.and_then(|choice| choice.get("finish_reason")?.text());
    let is_cut = reason.is_some_and(|reason| reason == "length");
    let content = first.and_then(|choice| choice.get("message")?.get("content")?.text());
    match content {
        Some(text) => Ok(ModelReply { text: text.into(), is_truncated: is_cut }),
        // Reasoning used up the token limit, so nothing was left for the text.
        None if is_cut => Err(ModelReplyError::Truncated),
        None => Err(ModelReplyError::NoContent),
    }
}

impl ModelReply {
    /// Like [`judge`], but passes the texts of rejected choices through `hide`.
    pub(super) fn validate(
        &self,
        offers: &[PromptList],
        hide: &dyn Fn(&str) -> String,
    ) -> Result<ModelSelection, ModelReplyError> {
        match validate_redacted(&self.text, offers, hide) {
            Err(ModelReplyError::ContentNotJson(_)) if self.is_truncated => {
                Err(ModelReplyError::Truncated)
            }
            judged => judged,
        }
    }
}

/// Checks the text of a model. A choice is accepted if it is a faithful part of its sentence.
pub fn judge(reply: &str, offers: &[PromptList]) -> Result<ModelSelection, ModelReplyError> {
    validate_redacted(reply, offers, &str::to_owned)
}

/// Like [`judge`], but passes the texts of rejected choices through `hide`.
fn validate_redacted(
    reply: &str,
    offers: &[PromptList],
    hide: &dyn Fn(&str) -> String,
) -> Result<ModelSelection, ModelReplyError> {
    let text = strip_fence(reply);
    let json = JsonDocument::parse(text, &Limits::default())
        .map_err(|e| ModelReplyError::ContentNotJson(format_json_error(&e)))?;
    let list = json
        .root()
        .get("chosen")
        .filter(|list| list.kind() == JsonKind::Array)
        .ok_or(ModelReplyError::NoList)?;
    let mut judge = ReplyValidator::new(offers);
    let mut answer = ModelSelection::default();
    for (at, item) in list.items().enumerate() {
        let item = ReplyItem::parse(item);
        let verdict =
            if at < MAX_ITEMS { judge.validate_item(&item) } else { Err("too many quotes") };
        match verdict {
            Ok(choice) => answer.chosen.push(choice),
            Err(why) => answer.rejected.push(item.to_rejected(why, hide)),
        }
        if at >= MAX_ITEMS {
            break;
        }
    }
    Ok(answer)
}

fn format_json_error(e: &JsonError) -> String {
    format!("{} (byte {})", e.message, e.span.start)
}

/// Returns the text inside a code fence, which many models write despite the prompt.
fn strip_fence(reply: &str) -> &str {
    let text = reply.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let inside = inner.and_then(|inner| inner.split_once('\n'));
    match inside {
        Some((info, inside)) if matches!(info.trim(), "" | "json" | "JSON") => inside,
        _ => text,
    }
}

/// An item of the reply. Members of the wrong type are missing.
struct ReplyItem<'j> {
    place: Option<Cow<'j, str>>,
    span: Option<u64>,
    quote: Option<Cow<'j, str>>,
}

impl<'j> ReplyItem<'j> {
    fn parse(value: JsonValue<'j>) -> Self {
        let [place, span, quote] = value.get_many(["place", "span", "quote"]);
        Self {
            place: place.and_then(JsonValue::text),
            span: span.and_then(JsonValue::as_u64),
            quote: quote.and_then(JsonValue::text),
        }
    }

    fn to_rejected(&self, why: &'static str, hide: &dyn Fn(&str) -> String) -> RejectedChoice {
        let kept = |text: &Option<Cow<'_, str>>, most| {
            truncate_printable(&hide(text.as_deref().unwrap_or_default()), most)
        };
        RejectedChoice {
            list: kept(&self.place, MAX_PLACE_LEN),
            quote: kept(&self.quote, MAX_QUOTE_LEN),
            reason: why,
        }
    }
}

/// The candidates, and the choices accepted so far.
struct ReplyValidator<'o> {
    lists: &'o [PromptList],
    list_names: HashSet<&'o str>,
    /// The index of the list and the text of a sentence, by list name and number.
    sentences: HashMap<(&'o str, u64), (usize, &'o str)>,
    chosen: HashSet<(&'o str, u64)>,
    counts: Vec<usize>,
}

impl<'o> ReplyValidator<'o> {
    fn new(lists: &'o [PromptList]) -> Self {
        let mut sentences = HashMap::new();
        for (at, offer) in lists.iter().enumerate() {
            for span in &offer.sentences {
                sentences
                    .entry((offer.name.as_str(), span.number as u64))
                    .or_insert((at, span.text.as_str()));
            }
        }
        let list_names = lists.iter().map(|offer| offer.name.as_str()).collect();
        Self { lists, list_names, sentences, chosen: HashSet::new(), counts: vec![0; lists.len()] }
    }

    fn validate_item(&mut self, item: &ReplyItem<'_>) -> Result<ModelChoice, &'static str> {
        let (Some(place), Some(span), Some(quote)) = (&item.place, item.span, &item.quote) else {
            return Err("missing `place`, `span` or `quote`");
        };
        let place = *self.list_names.get(place.as_ref()).ok_or("unknown place")?;
        let key = (place, span);
        let (offer, text) = *self.sentences.get(&key).ok_or("unknown sentence for this place")?;
        if self.chosen.contains(&key) {
            return Err("duplicate sentence");
        }
        let found = find_quote(quote, text)?;
        if self.counts[offer] >= self.lists[offer].limit {
            return Err("more sentences than requested");
        }
        self.counts[offer] += 1;
        self.chosen.insert(key);
        // The number is one of the candidates, so it fits `usize`.
        let number = usize::try_from(span).map_err(|_| "unknown sentence for this place")?;
        Ok(ModelChoice { list: place.to_owned(), number, quote: text[found].to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::PromptSentence;

    const TABS: &str = "Use tabs for indentation, since the linter asks for them.";
    const PRINT: &str = "Never print from the engine: what is worth telling goes to the listener.";

    fn prompt_lists() -> Vec<PromptList> {
        let sentence = |number, text: &str| PromptSentence { number, text: text.into() };
        vec![
            PromptList {
                name: "conventions".into(),
                limit: 2,
                sentences: vec![
                    sentence(1, TABS),
                    sentence(2, "Keep functions short."),
                    sentence(3, "Name tests for what they prove."),
                ],
            },
            PromptList { name: "dont".into(), limit: 1, sentences: vec![sentence(10, PRINT)] },
        ]
    }

    fn reply_text(body: &str) -> Result<String, ModelReplyError> {
        extract_reply(body).map(|reply| reply.text)
    }

    fn item(place: &str, span: u64, quote: &str) -> String {
        serde_json::json!({ "place": place, "span": span, "quote": quote }).to_string()
    }

    fn judge_items(items: &[String]) -> ModelSelection {
        judge(&format!("{{\"chosen\":[{}]}}", items.join(",")), &prompt_lists()).unwrap()
    }

    fn rejection_reason(item: &str) -> &'static str {
        let selection = judge_items(&[item.to_owned()]);
        assert!(selection.chosen.is_empty(), "accepted {item}");
        selection.rejected[0].reason
    }

    #[test]
    fn sentences_and_partial_quotes_keep_the_order_of_the_reply() {
        let selection = judge_items(&[
            item("dont", 10, PRINT),
            item("conventions", 2, "Keep functions short."),
            item("conventions", 1, " Use  tabs for\nindentation "),
        ]);
        let chosen: Vec<_> = selection
            .chosen
            .iter()
            .map(|c| (c.list.as_str(), c.number, c.quote.as_str()))
            .collect();
        assert_eq!(
            chosen,
            [
                ("dont", 10, PRINT),
                ("conventions", 2, "Keep functions short."),
                ("conventions", 1, "Use tabs for indentation"),
            ]
        );
        assert_eq!(selection.rejected, []);
    }

    #[test]
    fn code_fence_is_stripped_and_other_surrounding_text_is_rejected() {
        let plain = format!("{{\"chosen\":[{}]}}", item("dont", 10, PRINT));
        for reply in [
            plain.clone(),
            format!("\n{plain}\n"),
            format!("```json\n{plain}\n```"),
            format!("```\n{plain}\n```\n"),
            format!("```json\r\n{plain}\r\n```"),
        ] {
            assert_eq!(judge(&reply, &prompt_lists()).unwrap().chosen.len(), 1, "{reply}");
        }
        for reply in [
            format!("Sure! {plain}"),
            format!("{plain}\nHope this helps."),
            format!("```yaml\n{plain}\n```"),
            format!("```json\n{plain}"),
            format!("<think>hm</think>{plain}"),
            "```".into(),
            "``````".into(),
            String::new(),
        ] {
            assert!(
                matches!(judge(&reply, &prompt_lists()), Err(ModelReplyError::ContentNotJson(_))),
                "{reply}"
            );
        }
    }

    #[test]
    fn reply_without_a_list_is_rejected() {
        for reply in ["[]", "{}", "null", "\"chosen\"", "{\"chosen\":{}}", "{\"chosen\":null}"] {
            assert_eq!(judge(reply, &prompt_lists()), Err(ModelReplyError::NoList), "{reply}");
        }
        assert!(judge("{\"chosen\":[],\"chosen\":[]}", &prompt_lists()).is_err());
        assert_eq!(judge("{\"chosen\":[]}", &prompt_lists()), Ok(ModelSelection::default()));
    }

    #[test]
    fn items_with_wrong_types_are_rejected() {
        for invalid in [
            "1".to_owned(),
            "null".into(),
            "[]".into(),
            "{}".into(),
            item("dont", 10, PRINT).replace("10", "\"10\""),
            item("dont", 10, PRINT).replace("10", "10.0"),
            item("dont", 10, PRINT).replace("10", "-10"),
            item("dont", 10, PRINT).replace("\"dont\"", "[\"dont\"]"),
            "{\"place\":\"dont\",\"span\":10}".into(),
        ] {
            assert_eq!(
                rejection_reason(&invalid),
                "missing `place`, `span` or `quote`",
                "{invalid}"
            );
        }
    }

    #[test]
    fn sentence_must_belong_to_the_named_list() {
        assert_eq!(rejection_reason(&item("secrets", 10, PRINT)), "unknown place");
        assert_eq!(rejection_reason(&item("", 10, PRINT)), "unknown place");
        let not_offered = "unknown sentence for this place";
        assert_eq!(rejection_reason(&item("conventions", 10, PRINT)), not_offered);
        assert_eq!(rejection_reason(&item("dont", 11, PRINT)), not_offered);
        assert_eq!(rejection_reason(&item("dont", u64::MAX, PRINT)), not_offered);
    }

    #[test]
    fn duplicates_and_choices_over_the_limit_are_rejected() {
        let selection = judge_items(&[
            item("conventions", 1, "an invented quote"),
            item("conventions", 1, TABS),
            item("conventions", 1, "Use tabs for indentation"),
            item("conventions", 2, "Keep functions short."),
            item("conventions", 3, "Name tests for what they prove."),
        ]);
        assert_eq!(selection.chosen.iter().map(|c| c.number).collect::<Vec<_>>(), [1, 2]);
        let reasons: Vec<_> = selection.rejected.iter().map(|choice| choice.reason).collect();
        assert_eq!(
            reasons,
            [
                "the quote is not in the sentence",
                "duplicate sentence",
                "more sentences than requested"
            ]
        );
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let injected = "{\"place\":\"dont\",\"id\":\"src_1\",\"url\":\"https://evil.example\",\"span\":10,\
                        \"date\":\"2020-01-01\",\"quote\":\"what is worth telling goes to the listener\"}";
        // The quote omits the negation before it.
        assert_eq!(rejection_reason(injected), "the omitted words limit or reverse the meaning");
        let whole = injected.replace("what is worth telling goes to the listener", PRINT);
        let selection = judge_items(&[whole]);
        let expected = ModelChoice { list: "dont".into(), number: 10, quote: PRINT.into() };
        assert_eq!(selection, ModelSelection { chosen: vec![expected], rejected: Vec::new() });
    }

    #[test]
    fn se_08_rejected_texts_are_printable() {
        let selection =
            judge_items(&[item("\u{1b}[2J", 1, &format!("\u{202e}{}", "long ".repeat(10_000)))]);
        assert_eq!(selection.rejected[0].list, "\\u{1b}[2J");
        assert!(selection.rejected[0].quote.starts_with("\\u{202e}long "));
        // The escape replaces one of the characters, and an ellipsis follows.
        let expected_len = MAX_QUOTE_LEN - 1 + "\\u{202e}".len() + 1;
        assert_eq!(selection.rejected[0].quote.chars().count(), expected_len);
    }

    #[test]
    fn se_14_at_most_ten_thousand_items_are_checked() {
        let mut items = vec![item("x", 1, ""); MAX_ITEMS - 1];
        items.extend([
            item("dont", 10, PRINT),
            item("conventions", 1, TABS),
            item("conventions", 1, TABS),
        ]);
        let selection = judge_items(&items);
        assert_eq!(selection.chosen.iter().map(|choice| choice.number).collect::<Vec<_>>(), [10]);
        assert_eq!(selection.rejected.len(), MAX_ITEMS);
        assert_eq!(selection.rejected[MAX_ITEMS - 1].reason, "too many quotes");
    }

    #[test]
    fn reply_text_is_read_from_the_first_choice() {
        let body = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}"}}]}"#;
        assert_eq!(reply_text(body).unwrap(), "{\"a\":1}");
        for invalid in
            ["{}", "[]", r#"{"choices":[]}"#, r#"{"choices":[{"message":{"content":null}}]}"#, "1"]
        {
            assert_eq!(reply_text(invalid), Err(ModelReplyError::NoContent), "{invalid}");
        }
        assert!(matches!(reply_text("<html>"), Err(ModelReplyError::NotJson(_))));
    }

    #[test]
    fn truncated_response_is_reported() {
        let body = |content: &str, reason: &str| {
            format!(
                "{{\"choices\":[{{\"finish_reason\":\"{reason}\",\"message\":{{\"content\":{content}}}}}]}}"
            )
        };
        let validate = |body: &str| extract_reply(body)?.validate(&prompt_lists(), &str::to_owned);
        assert_eq!(validate(&body("\"{\"", "length")), Err(ModelReplyError::Truncated));
        assert_eq!(validate(&body("null", "length")), Err(ModelReplyError::Truncated));
        assert_eq!(validate(&body("null", "stop")), Err(ModelReplyError::NoContent));
        assert!(matches!(
            validate(&body("\"{\"", "stop")),
            Err(ModelReplyError::ContentNotJson(_))
        ));
        // Complete JSON is accepted even if the model reached its token limit.
        assert_eq!(
            validate(&body("\"{\\\"chosen\\\":[]}\"", "length")),
            Ok(ModelSelection::default())
        );
    }

    /// Generates sentences with words that matter to the checks.
    fn sentence() -> impl Strategy<Value = String> {
        const WORDS: &[&str] = &[
            "use", "not", "`a b`", "(x)", "**y**", "\\*", "é", "don't", "tabs,", "\u{a0}", "🚀",
            "end.", "\"q\"",
        ];
        let word = prop_oneof![prop::sample::select(WORDS).prop_map(String::from), "\\PC{0,4}"];
        prop::collection::vec((word, prop::sample::select(&[" ", "  ", "\n", ""][..])), 0..12)
            .prop_map(|parts| {
                parts.into_iter().flat_map(|(word, gap)| [word, gap.to_owned()]).collect()
            })
    }

    /// Generates replies: arbitrary text, and lists of parts of the sentences, some of them
    /// altered.
    fn reply(texts: Vec<String>) -> impl Strategy<Value = String> {
        let part = (
            0..texts.len() + 1,
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            any::<bool>(),
        );
        let items = prop::collection::vec(part, 0..8).prop_map(move |parts| {
            let items = parts.into_iter().map(|(span, from, to, altered)| {
                let text: Vec<char> =
                    texts.get(span).map(|text| text.chars().collect()).unwrap_or_default();
                let (a, b) = (from.index(text.len() + 1), to.index(text.len() + 1));
                let quote: String = text[a.min(b)..a.max(b)].iter().collect();
                let quote = if altered { quote.replace(' ', " \n") } else { quote };
                item(if span % 2 == 0 { "even" } else { "odd" }, span as u64, &quote)
            });
            format!("{{\"chosen\":[{}]}}", items.collect::<Vec<_>>().join(","))
        });
        prop_oneof![1 => any::<String>(), 9 => items]
    }

    fn even_and_odd_lists(texts: &[String]) -> Vec<PromptList> {
        let list = |name: &str, remainder: usize| PromptList {
            name: name.into(),
            limit: 3,
            sentences: (0..texts.len())
                .filter(|number| number % 2 == remainder)
                .map(|number| PromptSentence { number, text: texts[number].clone() })
                .collect(),
        };
        vec![list("even", 0), list("odd", 1)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn se_14_every_accepted_quote_is_a_part_of_its_sentence(
            (texts, reply) in prop::collection::vec(sentence(), 1..5).prop_flat_map(|texts| {
                let reply = reply(texts.clone());
                (Just(texts), reply)
            })
        ) {
            let lists = even_and_odd_lists(&texts);
            let Ok(selection) = judge(&reply, &lists) else { return Ok(()) };
            for choice in &selection.chosen {
                let list = lists.iter().find(|list| list.name == choice.list).unwrap();
                let sentence = list.sentences.iter().find(|sentence| sentence.number == choice.number).unwrap();
                prop_assert!(sentence.text.contains(&choice.quote));
                prop_assert!(!choice.quote.trim().is_empty());
                let whole = choice.quote.split_whitespace().eq(sentence.text.split_whitespace());
                prop_assert!(whole || choice.quote.split_whitespace().count() >= 3);
                prop_assert!(whole || choice.quote.matches('`').count() % 2 == 0);
            }
            for list in &lists {
                let numbers: Vec<_> =
                    selection.chosen.iter().filter(|c| c.list == list.name).map(|c| c.number).collect();
                prop_assert!(numbers.len() <= list.limit);
                prop_assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
            }
        }
    }
}
