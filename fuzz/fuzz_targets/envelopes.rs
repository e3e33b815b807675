//! Parses any text as an envelope: it is written and read back, and its signature covers every
//! change.
//!
//! `cargo +nightly fuzz run envelopes fuzz/corpus/envelopes fuzz/seeds/envelopes`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::package::envelope::{Envelope, EnvelopeSignatureScheme};
use sp_tree::Limits;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let limits = Limits::default();
    let Ok(mut envelope) = Envelope::parse(text, &limits) else { return };
    envelope.verify(b"secret");
    assert_eq!(Envelope::parse(&envelope.to_json(), &limits).as_ref(), Ok(&envelope));
    for scheme in [EnvelopeSignatureScheme::V3, EnvelopeSignatureScheme::V2] {
        envelope.sign(b"secret", scheme);
        assert_eq!(envelope.verify(b"secret"), Some(scheme));
        assert_eq!(envelope.verify(b"other"), None);
    }
    envelope.payload.push(' ');
    assert_eq!(envelope.verify(b"secret"), None);
});
