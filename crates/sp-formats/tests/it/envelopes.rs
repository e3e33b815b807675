//! Transport envelopes: both signature schemes, with known answers computed by Python's `hmac`.

use std::collections::BTreeMap;

use sp_formats::package::envelope::{
    Envelope, EnvelopeError, EnvelopeSender, EnvelopeSignatureScheme,
};
use sp_tree::Limits;

const SECRET: &[u8] = b"a shared secret";
const PAYLOAD: &str = "{\"manifest\":{},\"content\":{\"\u{e9}\":\"\u{1f600}\"}}";

/// Returns an envelope with recipient and metadata, or one without both and with a fractional time.
fn envelope(recipient: Option<&str>) -> Envelope {
    let metadata = [("b", "2"), ("a", "1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    Envelope {
        sent_at: if recipient.is_some() {
            "2026-05-22T08:07:08Z".parse().unwrap()
        } else {
            "2026-05-22T10:07:08.5+02:00".parse().unwrap()
        },
        sender: EnvelopeSender {
            agent_id: "me".into(),
            agent_type: "skillpack".into(),
            daemon_fingerprint: "fp".into(),
            capabilities: vec!["z".into(), "a".into()],
        },
        recipient: recipient.map(Into::into),
        metadata: if recipient.is_some() { BTreeMap::from(metadata) } else { BTreeMap::new() },
        payload: PAYLOAD.into(),
        signature: None,
    }
}

const KNOWN_ANSWERS: [(Option<&str>, EnvelopeSignatureScheme, &str); 4] = [
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
fn pk_14_envelope_signatures_match_known_answers() {
    for (recipient, scheme, expected) in KNOWN_ANSWERS {
        let mut envelope = envelope(recipient);
        envelope.sign(SECRET, scheme);
        assert_eq!(envelope.signature.as_deref(), Some(expected), "{scheme:?} to {recipient:?}");
        let read = Envelope::parse(&envelope.to_json(), &Limits::default()).unwrap();
        assert_eq!(read, envelope, "the envelope round-trips");
        assert_eq!(read.verify(SECRET), Some(scheme));
        assert_eq!(read.verify(b"another secret"), None);
    }
}

#[test]
fn pk_14_v3_signature_covers_every_field() {
    let mut good = envelope(Some("peer"));
    good.sign(SECRET, EnvelopeSignatureScheme::V3);
    let changes: [fn(&mut Envelope); 11] = [
        |envelope| envelope.sent_at = "2026-05-22T08:07:09Z".parse().unwrap(),
        |envelope| envelope.sender.agent_id = "you".into(),
        |envelope| envelope.sender.agent_type = "other".into(),
        |envelope| envelope.sender.daemon_fingerprint = "f".into(),
        |envelope| drop(envelope.sender.capabilities.pop()),
        |envelope| envelope.recipient = None,
        |envelope| envelope.recipient = Some(String::new()),
        |envelope| drop(envelope.metadata.remove("a")),
        |envelope| drop(envelope.metadata.insert("c".into(), "3".into())),
        |envelope| envelope.payload.push(' '),
        |envelope| envelope.signature = envelope.signature.take().map(|text| text.to_uppercase()),
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut changed = good.clone();
        change(&mut changed);
        assert_eq!(changed.verify(SECRET), None, "change {index}");
    }
    // The boundary between two fields is signed too.
    let mut moved = good.clone();
    (moved.sender.agent_id, moved.sender.agent_type) = ("mes".into(), "killpack".into());
    assert_eq!(moved.verify(SECRET), None);
}

#[test]
fn pk_14_oversized_and_invalid_envelopes_are_rejected() {
    let mut good = envelope(Some("peer"));
    good.sign(SECRET, EnvelopeSignatureScheme::V3);
    let padding = 2_000_000 - good.to_json().len();
    good.payload.push_str(&" ".repeat(padding));
    assert_eq!(good.to_json().len(), 2_000_000);
    assert!(Envelope::parse(&good.to_json(), &Limits::default()).is_ok());
    good.payload.push(' ');
    let oversized = Envelope::parse(&good.to_json(), &Limits::default());
    assert_eq!(oversized, Err(EnvelopeError::TooLarge(2_000_000)));
    let text = envelope(Some("peer")).to_json();
    for (from, to, expected) in [
        ("\"format_version\":1", "\"format_version\":2", "version"),
        ("\"format_version\":1,", "", "version"),
        ("\"context_package\"", "\"knowledge\"", "content type"),
        ("08:07:08Z", "08:07", "sent_at"),
        ("\"agent_id\"", "\"agent\"", "agent_id"),
        ("\"payload_json\":\"", "\"payload_json\":1,\"x\":\"", "payload_json"),
        ("\"payload_json\"", "\"recipient\"", "JSON"),
        ("\"a\":\"1\"", "\"a\":1", "metadata"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Envelope::parse(&text.replacen(from, to, 1), &Limits::default()).unwrap_err();
        let kind = match error {
            EnvelopeError::TooLarge(_) => "size",
            EnvelopeError::Json(_) => "JSON",
            EnvelopeError::InvalidMember(member, _) => member,
            EnvelopeError::UnsupportedVersion => "version",
            EnvelopeError::ContentType => "content type",
        };
        assert_eq!(kind, expected, "{from} → {to}");
    }
}
