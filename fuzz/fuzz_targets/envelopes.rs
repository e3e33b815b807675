//! Any text as an envelope: what is read is written and read again, and its signature tells every
//! change.
//!
//! `cargo +nightly fuzz run envelopes fuzz/corpus/envelopes fuzz/seeds/envelopes`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::package::envelope::{Envelope, Form};
use sp_tree::Limits;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let limits = Limits::default();
    let Ok(mut envelope) = Envelope::parse(text, &limits) else { return };
    envelope.verify(b"secret");
    assert_eq!(Envelope::parse(&envelope.to_json(), &limits).as_ref(), Ok(&envelope));
    for form in [Form::V3, Form::V2] {
        envelope.sign(b"secret", form);
        assert_eq!(envelope.verify(b"secret"), Some(form));
        assert_eq!(envelope.verify(b"other"), None);
    }
    envelope.payload.push(' ');
    assert_eq!(envelope.verify(b"secret"), None);
});
