//! `TransportEnvelopeV1`, in which a package is sent from one machine to another.
//!
//! Sender and receiver share a secret. There are two signature schemes: both are accepted, and V3
//! is written unless an older peer requires V2.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sp_tree::{Digest, HmacSha256, Limits};
use thiserror::Error;

use crate::json::{JsonDocument, JsonError, JsonKind, JsonValue, quoted};
use crate::time;

const FORMAT_VERSION: u32 = 1;
const CONTENT_TYPE: &str = "context_package";
const SIGNATURE_DOMAIN: &[u8] = b"leanctx.a2a.transport.sig.v3\0";

/// The path to which envelopes are posted.
pub const HANDOFF_PATH: &str = "/v1/a2a/handoff";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvelopeSignatureScheme {
    /// HMAC over some fields joined with colons.
    V2,
    /// HMAC over every field, each prefixed with its length.
    V3,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvelopeSender {
    /// The ID under which the receiver knows the sender.
    pub agent_id: String,
    /// The program.
    pub agent_type: String,
    /// The machine.
    pub daemon_fingerprint: String,
    pub capabilities: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub sent_at: Timestamp,
    pub sender: EnvelopeSender,
    pub recipient: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// The text of the package.
    pub payload: String,
    /// The HMAC in hexadecimal.
    pub signature: Option<String>,
}

/// Why a text is not an envelope.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum EnvelopeError {
    #[error("the envelope is larger than {0} bytes")]
    TooLarge(u64),
    #[error("invalid JSON: {0}")]
    Json(#[from] JsonError),
    /// A member is missing or has the wrong type.
    #[error("`{0}` must be {1}")]
    InvalidMember(&'static str, &'static str),
    /// The format version is not supported.
    #[error("unsupported format version: expected {FORMAT_VERSION}")]
    UnsupportedVersion,
    /// The content is not a package.
    #[error("the envelope does not contain a package: the content type is not `{CONTENT_TYPE}`")]
    ContentType,
}

impl Envelope {
    pub fn parse(text: &str, limits: &Limits) -> Result<Self, EnvelopeError> {
        if text.len() as u64 > limits.envelope_bytes {
            return Err(EnvelopeError::TooLarge(limits.envelope_bytes));
        }
        let json = JsonDocument::parse(text, limits)?;
        let root = json.root();
        if root.kind() != JsonKind::Object {
            return Err(EnvelopeError::InvalidMember("envelope", "an object"));
        }
        if root.get("format_version").and_then(JsonValue::as_u64) != Some(u64::from(FORMAT_VERSION))
        {
            return Err(EnvelopeError::UnsupportedVersion);
        }
        if !root.get("content_type").is_some_and(|value| value.eq_str(CONTENT_TYPE)) {
            return Err(EnvelopeError::ContentType);
        }
        let sent_at = required_text(root, "sent_at")?;
        let sender =
            root.get("sender").ok_or(EnvelopeError::InvalidMember("sender", "an object"))?;
        Ok(Self {
            sent_at: time::parse(&sent_at)
                .ok_or(EnvelopeError::InvalidMember("sent_at", "an RFC 3339 time"))?,
            sender: EnvelopeSender {
                agent_id: required_text(sender, "agent_id")?,
                agent_type: required_text(sender, "agent_type")?,
                daemon_fingerprint: required_text(sender, "daemon_fingerprint")?,
                capabilities: read_capabilities(sender.get("capabilities"))?,
            },
            recipient: optional_text(root, "recipient")?,
            metadata: read_metadata(root.get("metadata"))?,
            payload: required_text(root, "payload_json")?,
            signature: optional_text(root, "signature")?,
        })
    }

    pub fn to_json(&self) -> String {
        let text = |text: &Option<String>| text.as_deref().map_or("null".into(), quoted);
        let capabilities: Vec<String> =
            self.sender.capabilities.iter().map(|one| quoted(one)).collect();
        let metadata: Vec<String> = self
            .metadata
            .iter()
            .map(|(key, value)| format!("{}:{}", quoted(key), quoted(value)))
            .collect();
        format!(
            "{{\"format_version\":{FORMAT_VERSION},\"sent_at\":{},\"sender\":{{\"agent_id\":{},\"agent_type\":{},\"daemon_fingerprint\":{},\"capabilities\":[{}]}},\"recipient\":{},\"content_type\":\"{CONTENT_TYPE}\",\"payload_json\":{},\"signature\":{},\"metadata\":{{{}}}}}",
            quoted(&time::format_utc(self.sent_at)),
            quoted(&self.sender.agent_id),
            quoted(&self.sender.agent_type),
            quoted(&self.sender.daemon_fingerprint),
            capabilities.join(","),
            text(&self.recipient),
            quoted(&self.payload),
            text(&self.signature),
            metadata.join(","),
        )
    }

    pub fn sign(&mut self, secret: &[u8], form: EnvelopeSignatureScheme) {
        self.signature = Some(self.mac(secret, form).finish_hex());
    }

    /// Returns the scheme with which the signature is valid, if any.
    pub fn verify(&self, secret: &[u8]) -> Option<EnvelopeSignatureScheme> {
        let signature = self.signature.as_deref()?;
        [EnvelopeSignatureScheme::V3, EnvelopeSignatureScheme::V2]
            .into_iter()
            .find(|form| self.mac(secret, *form).verify_hex(signature))
    }

    /// A digest that identifies this package from this sender, regardless of the rest of the
    /// envelope.
    pub fn payload_digest(&self) -> Digest {
        Digest::of(self.payload.as_bytes())
    }

    fn mac(&self, secret: &[u8], scheme: EnvelopeSignatureScheme) -> HmacSha256 {
        let mut mac = HmacSha256::new(secret);
        match scheme {
            EnvelopeSignatureScheme::V2 => self.update_v2(&mut mac),
            EnvelopeSignatureScheme::V3 => self.update_v3(&mut mac),
        }
        mac
    }

    fn update_v2(&self, mac: &mut HmacSha256) {
        let metadata: Vec<String> =
            self.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let head = format!(
            "v2:{FORMAT_VERSION}:{}:{}:{CONTENT_TYPE}:{}:{}:{}",
            self.sender.agent_id,
            self.recipient.as_deref().unwrap_or_default(),
            time::format_with_offset(self.sent_at),
            metadata.join(","),
            self.payload.len()
        );
        mac.update(head.as_bytes());
        mac.update(b"\0");
        mac.update(self.payload.as_bytes());
    }

    fn update_v3(&self, mac: &mut HmacSha256) {
        mac.update(SIGNATURE_DOMAIN);
        update_field(mac, &FORMAT_VERSION.to_be_bytes());
        update_field(mac, self.sender.agent_id.as_bytes());
        update_field(mac, self.sender.agent_type.as_bytes());
        update_field(mac, self.sender.daemon_fingerprint.as_bytes());
        let mut capabilities: Vec<&String> = self.sender.capabilities.iter().collect();
        capabilities.sort();
        mac.update(&(capabilities.len() as u64).to_be_bytes());
        capabilities.iter().for_each(|capability| update_field(mac, capability.as_bytes()));
        match &self.recipient {
            None => mac.update(&[0]),
            Some(recipient) => {
                mac.update(&[1]);
                update_field(mac, recipient.as_bytes());
            }
        }
        update_field(mac, CONTENT_TYPE.as_bytes());
        update_field(mac, time::format_with_offset(self.sent_at).as_bytes());
        mac.update(&(self.metadata.len() as u64).to_be_bytes());
        for (key, value) in &self.metadata {
            update_field(mac, key.as_bytes());
            update_field(mac, value.as_bytes());
        }
        update_field(mac, self.payload.as_bytes());
    }
}

fn update_field(mac: &mut HmacSha256, bytes: &[u8]) {
    mac.update(&(bytes.len() as u64).to_be_bytes());
    mac.update(bytes);
}

fn required_text(value: JsonValue<'_>, key: &'static str) -> Result<String, EnvelopeError> {
    value
        .get(key)
        .and_then(JsonValue::text)
        .map(Into::into)
        .ok_or(EnvelopeError::InvalidMember(key, "a string"))
}

fn optional_text(value: JsonValue<'_>, key: &'static str) -> Result<Option<String>, EnvelopeError> {
    match value.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(_) => required_text(value, key).map(Some),
    }
}

fn read_capabilities(value: Option<JsonValue<'_>>) -> Result<Vec<String>, EnvelopeError> {
    let wrong = EnvelopeError::InvalidMember("capabilities", "a list of strings");
    let Some(value) = value.filter(|value| value.kind() == JsonKind::Array) else {
        return Err(wrong);
    };
    value.items().map(|item| item.text().map(Into::into)).collect::<Option<_>>().ok_or(wrong)
}

fn read_metadata(value: Option<JsonValue<'_>>) -> Result<BTreeMap<String, String>, EnvelopeError> {
    let wrong = EnvelopeError::InvalidMember("metadata", "an object with string values");
    match value.filter(|value| !value.is_null()) {
        None => Ok(BTreeMap::new()),
        Some(value) if value.kind() == JsonKind::Object => {
            let pair = |(key, value): (JsonValue<'_>, JsonValue<'_>)| {
                Some((key.text()?.into(), value.text()?.into()))
            };
            value.members().map(pair).collect::<Option<_>>().ok_or(wrong)
        }
        Some(_) => Err(wrong),
    }
}
