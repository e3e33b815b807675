//! Logs of what `sp` does and how long each step takes, for people who look for a problem.
//!
//! Off by default. `SP_LOG` turns them on, with a level (`SP_LOG=debug`) or with targets
//! (`SP_LOG=sp_engine=trace,sp_serve=info`). Logs go to stderr and are not part of the interface:
//! nothing may depend on their wording. Secrets are never logged: URLs appear as they are
//! displayed elsewhere.

use std::collections::BTreeMap;
use std::io::stderr;
use std::str::FromStr;

use sp_engine::{Error, ErrorCode, Result};
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The environment variable that turns logs on.
const LOG_VARIABLE: &str = "SP_LOG";
/// The crates whose logs a level alone turns on. Dependencies have to be named.
const OWN_CRATES: [&str; 4] = ["sp", "sp_tree", "sp_engine", "sp_serve"];

/// Starts logging if `SP_LOG` is set.
pub(crate) fn init(env: &BTreeMap<String, String>) -> Result<()> {
    let Some(text) = env.get(LOG_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let output = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE);
    // A second call in one process keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(output).with(parse_targets(text)?).try_init();
    Ok(())
}

fn parse_targets(text: &str) -> Result<Targets> {
    if let Ok(level) = Level::from_str(text) {
        return Ok(Targets::new().with_targets(OWN_CRATES.map(|name| (name, level))));
    }
    Targets::from_str(text).map_err(|e| {
        Error::new(ErrorCode::InvalidArguments, format!("invalid {LOG_VARIABLE}: `{text}`"))
            .because(e)
            .hint("use a level (`error`, `warn`, `info`, `debug`, `trace`) or `target=level` pairs separated by commas")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_enables_the_crates_of_this_program_only() {
        let targets = parse_targets("debug").unwrap();
        assert!(targets.would_enable("sp_engine::install", &Level::DEBUG));
        assert!(!targets.would_enable("sp_engine::install", &Level::TRACE));
        assert!(!targets.would_enable("hyper", &Level::ERROR));
    }

    #[test]
    fn targets_are_enabled_by_name() {
        let targets = parse_targets("sp_engine=trace,hyper=info").unwrap();
        assert!(targets.would_enable("sp_engine", &Level::TRACE));
        assert!(targets.would_enable("hyper", &Level::INFO));
        assert!(!targets.would_enable("sp_serve", &Level::ERROR));
    }

    #[test]
    fn other_text_is_refused() {
        assert!(parse_targets("sp_engine=loud").is_err());
    }
}
