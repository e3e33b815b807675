//! Decay: the activation of a node halves with each half-life.
//!
//! Decay is computed on read. The stored activation never changes.

use jiff::Timestamp;

use sp_formats::json::JsonValue;
use sp_formats::time;

const NANOSECONDS_PER_DAY: f64 = 86_400e9;

/// Returns the activation of a node at a time.
///
/// A node without a half-life or a timestamp does not decay, and times before its timestamp do not
/// increase its activation.
pub fn activation_at(node: JsonValue<'_>, at: Timestamp) -> f64 {
    let [activation, half_life, since] =
        node.get_many(["activation", "decay_half_life_days", "created_at"]);
    let number = |value: Option<JsonValue<'_>>| {
        value.and_then(JsonValue::as_f64).filter(|number| number.is_finite())
    };
    let stored = number(activation).unwrap_or(1.0).clamp(0.0, 1.0);
    // Parsing a timestamp is the expensive part, and most nodes do not decay.
    let Some(half_life) = number(half_life).filter(|days| *days > 0.0) else { return stored };
    let since = since.and_then(JsonValue::text).and_then(|text| time::parse(&text));
    since.map_or(stored, |since| stored * decay_factor(since, at, half_life))
}

/// The fraction that is left at `at`.
fn decay_factor(since: Timestamp, at: Timestamp, half_life: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "of 53 bits of days the last is some microseconds"
    )]
    let days = (at.as_nanosecond() - since.as_nanosecond()) as f64 / NANOSECONDS_PER_DAY;
    0.5f64.powf(days.max(0.0) / half_life)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sp_formats::json::JsonDocument;
    use sp_tree::Limits;

    fn activation(members: &str, time: &str) -> f64 {
        let json = JsonDocument::parse(format!("{{{members}}}"), &Limits::default()).unwrap();
        activation_at(json.root(), time.parse().unwrap())
    }

    const TEN_DAY_HALF_LIFE: &str =
        r#""activation":0.8,"created_at":"2026-01-01T00:00:00Z","decay_half_life_days":10"#;

    #[test]
    fn pk_17_activation_halves_per_half_life() {
        assert_eq!(activation(TEN_DAY_HALF_LIFE, "2026-01-01T00:00:00Z"), 0.8);
        assert_eq!(activation(TEN_DAY_HALF_LIFE, "2026-01-11T00:00:00Z"), 0.4);
        assert_eq!(activation(TEN_DAY_HALF_LIFE, "2026-01-21T00:00:00Z"), 0.2);
        assert_eq!(activation(TEN_DAY_HALF_LIFE, "2026-01-06T00:00:00Z"), 0.8 * 0.5f64.sqrt());
        assert_eq!(activation(TEN_DAY_HALF_LIFE, "2026-01-01T12:00:00Z"), 0.8 * 0.5f64.powf(0.05));
    }

    #[test]
    fn pk_17_time_before_creation_does_not_increase_activation() {
        assert_eq!(activation(TEN_DAY_HALF_LIFE, "2020-01-01T00:00:00Z"), 0.8);
    }

    #[test]
    fn pk_17_nodes_without_time_or_half_life_do_not_decay() {
        let much_later = "2046-01-01T00:00:00Z";
        assert_eq!(activation("", much_later), 1.0);
        assert_eq!(activation(r#""activation":0.3,"decay_half_life_days":1"#, much_later), 0.3);
        assert_eq!(
            activation(r#""activation":0.3,"created_at":"2026-01-01T00:00:00Z""#, much_later),
            0.3
        );
        assert_eq!(activation(r#""created_at":"soon","decay_half_life_days":1"#, much_later), 1.0);
        assert_eq!(
            activation(
                r#""created_at":"2026-01-01T00:00:00Z","decay_half_life_days":0"#,
                much_later
            ),
            1.0
        );
        assert_eq!(
            activation(r#""activation":7"#, much_later),
            1.0,
            "out-of-range value is clamped"
        );
    }

    proptest! {
        #[test]
        fn pk_17_activation_never_increases_and_stays_in_range(
            activation in 0.0..=1.0f64, half_life in 0.001..10_000.0f64, first in -1_000_000_000i64..4_000_000_000, later in 0i64..4_000_000_000,
        ) {
            let text = format!(r#"{{"activation":{activation},"created_at":"2026-01-01T00:00:00Z","decay_half_life_days":{half_life}}}"#);
            let json = JsonDocument::parse(text, &Limits::default()).unwrap();
            let activation_at_second = |second: i64| activation_at(json.root(), Timestamp::from_second(second).unwrap());
            let (earlier, latest) = (activation_at_second(first), activation_at_second(first + later));
            prop_assert!(latest <= earlier && earlier <= activation && latest >= 0.0, "{earlier} then {latest}");
        }
    }
}
