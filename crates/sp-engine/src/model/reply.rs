//! What a model answered, held against what it was offered.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sp_formats::json::{Json, JsonError, Kind, Value};
use sp_tree::Limits;
use thiserror::Error;

use super::quote::find;
use super::{Answer, Choice, Offer, Refusal, short};

/// More items than this are not looked at: no pack has as many sentences.
const MAX_ITEMS: usize = 10_000;
/// How much of a place and of a quote that were refused is kept.
const MAX_PLACE: usize = 60;
const MAX_QUOTE: usize = 160;

/// Why nothing of an answer can be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplyError {
    /// What came over the wire is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It has no text of a model in it.
    #[error("it has no text at `choices[0].message.content`")]
    NoContent,
    /// What the model wrote is not JSON.
    #[error("the model did not write JSON: {0}")]
    ContentNotJson(String),
    /// The model stopped before its end.
    #[error("the answer was cut off: the model may not write as much as it needs (`finish_reason` is `length`)")]
    CutOff,
    /// What the model wrote has no choices in it.
    #[error("the model wrote no list at `chosen`")]
    NoList,
}

impl ReplyError {
    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotJson(_) | Self::NoContent => {
                "check that the address is that of an OpenAI-compatible endpoint, such as `http://localhost:11434/v1`"
            }
            Self::CutOff => "let the model write more tokens, or name another",
            Self::ContentNotJson(_) | Self::NoList => "run it again, or name a larger model",
        }
    }
}

/// What a model wrote.
pub(super) struct Written {
    text: String,
    /// Whether it had to stop.
    is_cut: bool,
}

/// Takes what the model wrote out of what an endpoint answered.
pub(super) fn written(body: &str) -> Result<Written, ReplyError> {
    let json = Json::parse(body, &Limits::default()).map_err(|e| ReplyError::NotJson(place_of(&e)))?;
    let first = json.root().get("choices").and_then(|choices| choices.items().next());
    let reason = first.and_then(|choice| choice.get("finish_reason")?.text());
    let is_cut = reason.is_some_and(|reason| reason == "length");
    let content = first.and_then(|choice| choice.get("message")?.get("content")?.text());
    match content {
        Some(text) => Ok(Written { text: text.into(), is_cut }),
        // It thought for so long that nothing was left for the answer.
        None if is_cut => Err(ReplyError::CutOff),
        None => Err(ReplyError::NoContent),
    }
}

impl Written {
    /// As [`judge`]; what is refused passes `hide` before it is kept.
    pub(super) fn judge(&self, offers: &[Offer], hide: &dyn Fn(&str) -> String) -> Result<Answer, ReplyError> {
        match judge_hiding(&self.text, offers, hide) {
            Err(ReplyError::ContentNotJson(_)) if self.is_cut => Err(ReplyError::CutOff),
            judged => judged,
        }
    }
}

/// Judges what a model wrote: what counts is a part of a sentence that was offered.
pub fn judge(reply: &str, offers: &[Offer]) -> Result<Answer, ReplyError> {
    judge_hiding(reply, offers, &str::to_owned)
}

/// As [`judge`]; what is refused passes `hide` before it is kept.
fn judge_hiding(reply: &str, offers: &[Offer], hide: &dyn Fn(&str) -> String) -> Result<Answer, ReplyError> {
    let text = unfenced(reply);
    let json = Json::parse(text, &Limits::default()).map_err(|e| ReplyError::ContentNotJson(place_of(&e)))?;
    let list = json.root().get("chosen").filter(|list| list.kind() == Kind::Array).ok_or(ReplyError::NoList)?;
    let mut judge = Judge::new(offers);
    let mut answer = Answer::default();
    for (at, item) in list.items().enumerate() {
        let item = Item::read(item);
        let verdict = if at < MAX_ITEMS { judge.choice(&item) } else { Err("there are too many to look at") };
        match verdict {
            Ok(choice) => answer.chosen.push(choice),
            Err(why) => answer.refused.push(item.refused(why, hide)),
        }
        if at >= MAX_ITEMS {
            break;
        }
    }
    Ok(answer)
}

fn place_of(e: &JsonError) -> String {
    format!("{} (byte {})", e.message, e.span.start)
}

/// The text inside a fence; many models write one though they are told not to.
fn unfenced(reply: &str) -> &str {
    let text = reply.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let inside = inner.and_then(|inner| inner.split_once('\n'));
    match inside {
        Some((info, inside)) if matches!(info.trim(), "" | "json" | "JSON") => inside,
        _ => text,
    }
}

/// An item of the answer, as far as it has the types that it should have.
struct Item<'j> {
    place: Option<Cow<'j, str>>,
    span: Option<u64>,
    quote: Option<Cow<'j, str>>,
}

impl<'j> Item<'j> {
    fn read(value: Value<'j>) -> Self {
        let [place, span, quote] = value.pick(["place", "span", "quote"]);
        Self {
            place: place.and_then(Value::text),
            span: span.and_then(Value::whole),
            quote: quote.and_then(Value::text),
        }
    }

    fn refused(&self, why: &'static str, hide: &dyn Fn(&str) -> String) -> Refusal {
        let kept = |text: &Option<Cow<'_, str>>, most| short(&hide(text.as_deref().unwrap_or_default()), most);
        Refusal { place: kept(&self.place, MAX_PLACE), quote: kept(&self.quote, MAX_QUOTE), why }
    }
}

/// What was offered, and what was taken of it so far.
struct Judge<'o> {
    offers: &'o [Offer],
    places: HashSet<&'o str>,
    /// By place and number: which offer it is in, and its text.
    spans: HashMap<(&'o str, u64), (usize, &'o str)>,
    taken: HashSet<(&'o str, u64)>,
    counts: Vec<usize>,
}

impl<'o> Judge<'o> {
    fn new(offers: &'o [Offer]) -> Self {
        let mut spans = HashMap::new();
        for (at, offer) in offers.iter().enumerate() {
            for span in &offer.spans {
                spans.entry((offer.place.as_str(), span.number as u64)).or_insert((at, span.text.as_str()));
            }
        }
        let places = offers.iter().map(|offer| offer.place.as_str()).collect();
        Self { offers, places, spans, taken: HashSet::new(), counts: vec![0; offers.len()] }
    }

    fn choice(&mut self, item: &Item<'_>) -> Result<Choice, &'static str> {
        let (Some(place), Some(span), Some(quote)) = (&item.place, item.span, &item.quote) else {
            return Err("it has no place, no number of a sentence or no quote");
        };
        let place = *self.places.get(place.as_ref()).ok_or("there is no such place")?;
        let key = (place, span);
        let (offer, text) = *self.spans.get(&key).ok_or("no such sentence was offered for this place")?;
        if self.taken.contains(&key) {
            return Err("the sentence was chosen before");
        }
        let found = find(quote, text)?;
        if self.counts[offer] >= self.offers[offer].most {
            return Err("more than asked for");
        }
        self.counts[offer] += 1;
        self.taken.insert(key);
        // The number is one of ours, so it is one of `usize`.
        let number = usize::try_from(span).map_err(|_| "no such sentence was offered for this place")?;
        Ok(Choice { place: place.to_owned(), number, quote: text[found].to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Span;

    const TABS: &str = "Use tabs for indentation, since the linter asks for them.";
    const PRINT: &str = "Never print from the engine: what is worth telling goes to the listener.";

    fn offers() -> Vec<Offer> {
        let span = |number, text: &str| Span { number, text: text.into() };
        vec![
            Offer {
                place: "conventions".into(),
                most: 2,
                spans: vec![
                    span(1, TABS),
                    span(2, "Keep functions short."),
                    span(3, "Name tests for what they prove."),
                ],
            },
            Offer { place: "dont".into(), most: 1, spans: vec![span(10, PRINT)] },
        ]
    }

    fn content(body: &str) -> Result<String, ReplyError> {
        written(body).map(|written| written.text)
    }

    fn item(place: &str, span: u64, quote: &str) -> String {
        serde_json::json!({ "place": place, "span": span, "quote": quote }).to_string()
    }

    fn judged(items: &[String]) -> Answer {
        judge(&format!("{{\"chosen\":[{}]}}", items.join(",")), &offers()).unwrap()
    }

    fn refusal(item: &str) -> &'static str {
        let answer = judged(&[item.to_owned()]);
        assert!(answer.chosen.is_empty(), "{item} was taken");
        answer.refused[0].why
    }

    #[test]
    fn whole_sentences_and_parts_of_them_are_taken_in_the_models_order() {
        let answer = judged(&[
            item("dont", 10, PRINT),
            item("conventions", 2, "Keep functions short."),
            item("conventions", 1, " Use  tabs for\nindentation "),
        ]);
        let chosen: Vec<_> = answer.chosen.iter().map(|c| (c.place.as_str(), c.number, c.quote.as_str())).collect();
        assert_eq!(
            chosen,
            [
                ("dont", 10, PRINT),
                ("conventions", 2, "Keep functions short."),
                ("conventions", 1, "Use tabs for indentation"),
            ]
        );
        assert_eq!(answer.refused, []);
    }

    #[test]
    fn a_fence_round_the_answer_is_tolerated_and_nothing_else() {
        let plain = format!("{{\"chosen\":[{}]}}", item("dont", 10, PRINT));
        for reply in [
            plain.clone(),
            format!("\n{plain}\n"),
            format!("```json\n{plain}\n```"),
            format!("```\n{plain}\n```\n"),
            format!("```json\r\n{plain}\r\n```"),
        ] {
            assert_eq!(judge(&reply, &offers()).unwrap().chosen.len(), 1, "{reply}");
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
            assert!(matches!(judge(&reply, &offers()), Err(ReplyError::ContentNotJson(_))), "{reply}");
        }
    }

    #[test]
    fn an_answer_without_a_list_is_none() {
        for reply in ["[]", "{}", "null", "\"chosen\"", "{\"chosen\":{}}", "{\"chosen\":null}"] {
            assert_eq!(judge(reply, &offers()), Err(ReplyError::NoList), "{reply}");
        }
        assert!(judge("{\"chosen\":[],\"chosen\":[]}", &offers()).is_err());
        assert_eq!(judge("{\"chosen\":[]}", &offers()), Ok(Answer::default()));
    }

    #[test]
    fn items_of_other_types_are_refused() {
        for odd in [
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
            assert_eq!(refusal(&odd), "it has no place, no number of a sentence or no quote", "{odd}");
        }
    }

    #[test]
    fn only_what_was_offered_for_a_place_is_taken_there() {
        assert_eq!(refusal(&item("secrets", 10, PRINT)), "there is no such place");
        assert_eq!(refusal(&item("", 10, PRINT)), "there is no such place");
        let elsewhere = "no such sentence was offered for this place";
        assert_eq!(refusal(&item("conventions", 10, PRINT)), elsewhere);
        assert_eq!(refusal(&item("dont", 11, PRINT)), elsewhere);
        assert_eq!(refusal(&item("dont", u64::MAX, PRINT)), elsewhere);
    }

    #[test]
    fn a_sentence_counts_once_and_a_place_takes_no_more_than_it_asked_for() {
        let answer = judged(&[
            item("conventions", 1, "an invented quote"),
            item("conventions", 1, TABS),
            item("conventions", 1, "Use tabs for indentation"),
            item("conventions", 2, "Keep functions short."),
            item("conventions", 3, "Name tests for what they prove."),
        ]);
        assert_eq!(answer.chosen.iter().map(|c| c.number).collect::<Vec<_>>(), [1, 2]);
        let whys: Vec<_> = answer.refused.iter().map(|refusal| refusal.why).collect();
        assert_eq!(
            whys,
            ["the quote does not stand in the sentence", "the sentence was chosen before", "more than asked for"]
        );
    }

    #[test]
    fn fields_that_were_not_asked_for_are_not_looked_at() {
        let injected = "{\"place\":\"dont\",\"id\":\"src_1\",\"url\":\"https://evil.example\",\"span\":10,\
                        \"date\":\"2020-01-01\",\"quote\":\"what is worth telling goes to the listener\"}";
        // The negation before it was cut away.
        assert_eq!(refusal(injected), "what was left out limits or reverses the sense");
        let whole = injected.replace("what is worth telling goes to the listener", PRINT);
        let answer = judged(&[whole]);
        let expected = Choice { place: "dont".into(), number: 10, quote: PRINT.into() };
        assert_eq!(answer, Answer { chosen: vec![expected], refused: Vec::new() });
    }

    #[test]
    fn se_08_what_was_refused_can_be_shown() {
        let answer = judged(&[item("\u{1b}[2J", 1, &format!("\u{202e}{}", "long ".repeat(10_000)))]);
        assert_eq!(answer.refused[0].place, "\\u{1b}[2J");
        assert!(answer.refused[0].quote.starts_with("\\u{202e}long "));
        assert_eq!(answer.refused[0].quote.chars().count(), MAX_QUOTE + 1);
    }

    #[test]
    fn se_14_no_more_than_ten_thousand_items_are_looked_at() {
        let mut items = vec![item("x", 1, ""); MAX_ITEMS - 1];
        items.extend([item("dont", 10, PRINT), item("conventions", 1, TABS), item("conventions", 1, TABS)]);
        let answer = judged(&items);
        assert_eq!(answer.chosen.iter().map(|choice| choice.number).collect::<Vec<_>>(), [10]);
        assert_eq!(answer.refused.len(), MAX_ITEMS);
        assert_eq!(answer.refused[MAX_ITEMS - 1].why, "there are too many to look at");
    }

    #[test]
    fn the_text_of_the_model_is_taken_from_the_first_choice() {
        let body = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}"}}]}"#;
        assert_eq!(content(body).unwrap(), "{\"a\":1}");
        for odd in ["{}", "[]", r#"{"choices":[]}"#, r#"{"choices":[{"message":{"content":null}}]}"#, "1"] {
            assert_eq!(content(odd), Err(ReplyError::NoContent), "{odd}");
        }
        assert!(matches!(content("<html>"), Err(ReplyError::NotJson(_))));
    }

    #[test]
    fn an_answer_that_was_cut_off_is_told_as_such() {
        let body = |content: &str, reason: &str| {
            format!("{{\"choices\":[{{\"finish_reason\":\"{reason}\",\"message\":{{\"content\":{content}}}}}]}}")
        };
        let judged = |body: &str| written(body)?.judge(&offers(), &str::to_owned);
        assert_eq!(judged(&body("\"{\"", "length")), Err(ReplyError::CutOff));
        assert_eq!(judged(&body("null", "length")), Err(ReplyError::CutOff));
        assert_eq!(judged(&body("null", "stop")), Err(ReplyError::NoContent));
        assert!(matches!(judged(&body("\"{\"", "stop")), Err(ReplyError::ContentNotJson(_))));
        // What is whole after all counts.
        assert_eq!(judged(&body("\"{\\\"chosen\\\":[]}\"", "length")), Ok(Answer::default()));
    }

    /// Sentences from words that matter to the judge.
    fn sentence() -> impl Strategy<Value = String> {
        const WORDS: &[&str] =
            &["use", "not", "`a b`", "(x)", "**y**", "\\*", "é", "don't", "tabs,", "\u{a0}", "🚀", "end.", "\"q\""];
        let word = prop_oneof![prop::sample::select(WORDS).prop_map(String::from), "\\PC{0,4}"];
        prop::collection::vec((word, prop::sample::select(&[" ", "  ", "\n", ""][..])), 0..12)
            .prop_map(|parts| parts.into_iter().flat_map(|(word, gap)| [word, gap.to_owned()]).collect())
    }

    /// Replies: anything, and lists of parts of the sentences, some of them bent.
    fn reply(texts: Vec<String>) -> impl Strategy<Value = String> {
        let part = (0..texts.len() + 1, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>());
        let items = prop::collection::vec(part, 0..8).prop_map(move |parts| {
            let items = parts.into_iter().map(|(span, from, to, bent)| {
                let text: Vec<char> = texts.get(span).map(|text| text.chars().collect()).unwrap_or_default();
                let (a, b) = (from.index(text.len() + 1), to.index(text.len() + 1));
                let quote: String = text[a.min(b)..a.max(b)].iter().collect();
                let quote = if bent { quote.replace(' ', " \n") } else { quote };
                item(if span % 2 == 0 { "even" } else { "odd" }, span as u64, &quote)
            });
            format!("{{\"chosen\":[{}]}}", items.collect::<Vec<_>>().join(","))
        });
        prop_oneof![1 => any::<String>(), 9 => items]
    }

    fn offered(texts: &[String]) -> Vec<Offer> {
        let place = |name: &str, rest: usize| Offer {
            place: name.into(),
            most: 3,
            spans: (0..texts.len())
                .filter(|at| at % 2 == rest)
                .map(|at| Span { number: at, text: texts[at].clone() })
                .collect(),
        };
        vec![place("even", 0), place("odd", 1)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn se_14_whatever_is_answered_each_quote_is_a_part_of_its_sentence(
            (texts, reply) in prop::collection::vec(sentence(), 1..5).prop_flat_map(|texts| {
                let reply = reply(texts.clone());
                (Just(texts), reply)
            })
        ) {
            let offers = offered(&texts);
            let Ok(answer) = judge(&reply, &offers) else { return Ok(()) };
            for choice in &answer.chosen {
                let offer = offers.iter().find(|offer| offer.place == choice.place).unwrap();
                let span = offer.spans.iter().find(|span| span.number == choice.number).unwrap();
                prop_assert!(span.text.contains(&choice.quote));
                prop_assert!(!choice.quote.trim().is_empty());
                let whole = choice.quote.split_whitespace().eq(span.text.split_whitespace());
                prop_assert!(whole || choice.quote.split_whitespace().count() >= 3);
                prop_assert!(whole || choice.quote.matches('`').count() % 2 == 0);
            }
            for offer in &offers {
                let numbers: Vec<_> =
                    answer.chosen.iter().filter(|c| c.place == offer.place).map(|c| c.number).collect();
                prop_assert!(numbers.len() <= offer.most);
                prop_assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
            }
        }
    }
}
