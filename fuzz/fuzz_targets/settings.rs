//! Any text as the settings of an agent: whatever can be read can be changed, and says the same
//! afterwards.
//!
//! `cargo +nightly fuzz run settings fuzz/corpus/settings fuzz/seeds/settings`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::settings::{Entry, Form};
use sp_tree::Limits;

fuzz_target!(|text: &str| {
    let entry = Entry { table: "mcpServers", key: "skillpack" };
    let value = serde_json::json!({"command": "sp", "args": ["mcp"]});
    let limits = Limits::default();
    for form in [Form::Json, Form::Toml] {
        let Ok(old) = form.entry(text, entry, &limits) else { continue };
        let Ok(edited) = form.with_entry(text, entry, &value, &limits) else { continue };
        assert_eq!(form.entry(&edited, entry, &limits), Ok(Some(value.clone())));
        let removed = form.without_entry(&edited, entry, &limits).expect("what was added can be taken out");
        assert!(removed.is_some_and(|text| form.entry(&text, entry, &limits) == Ok(None)));
        if old.is_some() {
            let _ = form.without_entry(text, entry, &limits);
        }
    }
});
