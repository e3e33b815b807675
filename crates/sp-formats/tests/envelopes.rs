//! Known answers for both forms of the transport envelope, counted by another program (Python's
//! `hmac`).
#![allow(clippy::unwrap_used, reason = "a test arranges its envelopes with the plain calls")]

use std::collections::BTreeMap;

use sp_formats::package::envelope::{
    Envelope, EnvelopeError, EnvelopeSender, EnvelopeSignatureScheme,
};
use sp_tree::Limits;

const SECRET: &[u8] = b"a shared secret";
const PAYLOAD: &str = "{\"manifest\":{},\"content\":{\"\u{e9}\":\"\u{1f600}\"}}";

/// To somebody, with metadata; or to nobody, with half a second and nothing else.
fn envelope(to: Option<&str>) -> Envelope {
    let metadata = [("b", "2"), ("a", "1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    Envelope {
        sent_at: match to {
            Some(_) => "2026-05-22T08:07:08Z".parse().unwrap(),
            None => "2026-05-22T10:07:08.5+02:00".parse().unwrap(),
        },
        sender: EnvelopeSender {
            agent_id: "me".into(),
            agent_type: "skillpack".into(),
            daemon_fingerprint: "fp".into(),
            capabilities: vec!["z".into(), "a".into()],
        },
        recipient: to.map(Into::into),
        metadata: if to.is_some() { BTreeMap::from(metadata) } else { BTreeMap::new() },
        payload: PAYLOAD.into(),
        signature: None,
    }
}

const KNOWN: [(Option<&str>, EnvelopeSignatureScheme, &str); 4] = [
    (
        Some("peer"),
        EnvelopeSignatureScheme::V2,
        "84f18e4fbb5effca4c9bed0f645695020866e5e92a102fbfcf58b763f35df896",
    ),
    (
        Some("peer"),
        EnvelopeSignatureScheme::V3,
        "c771c6ad9c7e3d725ae937055ec539133469804783ef72f3e801a2d5ee82da45",
    ),
    (
        None,
        EnvelopeSignatureScheme::V2,
        "9a2b709e7f001645695516458adc2dd8e336361254399adbe28d54cfeeb81fc7",
    ),
    (
        None,
        EnvelopeSignatureScheme::V3,
        "a2fd9afff712d6688cb23838f1d10bd337592bcbf749a6505604138af2b6deef",
    ),
];

#[test]
fn pk_14_both_forms_give_the_known_answers() {
    for (to, form, known) in KNOWN {
        let mut envelope = envelope(to);
        envelope.sign(SECRET, form);
        assert_eq!(envelope.signature.as_deref(), Some(known), "{form:?} to {to:?}");
        let read = Envelope::parse(&envelope.to_json(), &Limits::default()).unwrap();
        assert_eq!(read, envelope, "it survives the way");
        assert_eq!(read.verify(SECRET), Some(form));
        assert_eq!(read.verify(b"another secret"), None);
    }
}

#[test]
fn pk_14_every_field_is_covered_by_the_third_form() {
    let mut good = envelope(Some("peer"));
    good.sign(SECRET, EnvelopeSignatureScheme::V3);
    let changes: [fn(&mut Envelope); 11] = [
        |one| one.sent_at = "2026-05-22T08:07:09Z".parse().unwrap(),
        |one| one.sender.agent_id = "you".into(),
        |one| one.sender.agent_type = "other".into(),
        |one| one.sender.daemon_fingerprint = "f".into(),
        |one| drop(one.sender.capabilities.pop()),
        |one| one.recipient = None,
        |one| one.recipient = Some(String::new()),
        |one| drop(one.metadata.remove("a")),
        |one| drop(one.metadata.insert("c".into(), "3".into())),
        |one| one.payload.push(' '),
        |one| one.signature = one.signature.take().map(|text| text.to_uppercase()),
    ];
    for (at, change) in changes.iter().enumerate() {
        let mut bent = good.clone();
        change(&mut bent);
        assert_eq!(bent.verify(SECRET), None, "change {at}");
    }
    // A border between two fields cannot be moved.
    let mut moved = good.clone();
    (moved.sender.agent_id, moved.sender.agent_type) = ("mes".into(), "killpack".into());
    assert_eq!(moved.verify(SECRET), None);
}

#[test]
fn pk_14_an_envelope_is_not_more_than_two_million_bytes_and_says_what_it_must() {
    let mut good = envelope(Some("peer"));
    good.sign(SECRET, EnvelopeSignatureScheme::V3);
    let room = 2_000_000 - good.to_json().len();
    good.payload.push_str(&" ".repeat(room));
    assert_eq!(good.to_json().len(), 2_000_000);
    assert!(Envelope::parse(&good.to_json(), &Limits::default()).is_ok());
    good.payload.push(' ');
    let past = Envelope::parse(&good.to_json(), &Limits::default());
    assert_eq!(past, Err(EnvelopeError::TooLarge(2_000_000)));
    let text = envelope(Some("peer")).to_json();
    for (from, to) in [
        ("\"format_version\":1", "\"format_version\":2"),
        ("\"format_version\":1,", ""),
        ("\"context_package\"", "\"knowledge\""),
        ("08:07:08Z", "08:07"),
        ("\"agent_id\"", "\"agent\""),
        ("\"payload_json\":\"", "\"payload_json\":1,\"x\":\""),
        ("\"payload_json\"", "\"recipient\""),
        ("\"a\":\"1\"", "\"a\":1"),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(
            Envelope::parse(&text.replacen(from, to, 1), &Limits::default()).is_err(),
            "{from} → {to}"
        );
    }
}
