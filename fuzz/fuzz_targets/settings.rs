//! Reads any text as the settings of an agent: what can be read can be edited, and then has the
//! same entries.
//!
//! `cargo +nightly fuzz run settings fuzz/corpus/settings fuzz/seeds/settings`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::settings::{SettingsFormat, SettingsKey};
use sp_tree::Limits;

fuzz_target!(|text: &str| {
    let key = SettingsKey { table: "mcpServers", key: "skillpack" };
    let value = serde_json::json!({"command": "sp", "args": ["mcp"]});
    let limits = Limits::default();
    for format in [SettingsFormat::Json, SettingsFormat::Toml] {
        let Ok(old) = format.get_entry(text, key, &limits) else { continue };
        let Ok(edited) = format.with_entry(text, key, &value, &limits) else { continue };
        assert_eq!(format.get_entry(&edited, key, &limits), Ok(Some(value.clone())));
        let removed =
            format.without_entry(&edited, key, &limits).expect("what was added can be taken out");
        assert!(removed.is_some_and(|text| format.get_entry(&text, key, &limits) == Ok(None)));
        if old.is_some() {
            let _ = format.without_entry(text, key, &limits);
        }
    }
});
