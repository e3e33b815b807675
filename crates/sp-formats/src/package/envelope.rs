//! The envelope in which a package is sent from machine to machine: `TransportEnvelopeV1`.
//!
//! Sender and receiver share a secret. Two ways of signing are in use; both are read, and the
//! third version is written unless an older peer needs the second.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sp_tree::{Digest, Limits, Mac};
use thiserror::Error;

use crate::json::{Json, JsonError, Kind, Value, quoted};

use super::time;

const FORMAT_VERSION: u32 = 1;
const CONTENT_TYPE: &str = "context_package";
const DOMAIN: &[u8] = b"leanctx.a2a.transport.sig.v3\0";

/// The path to which an envelope is posted.
pub const PATH: &str = "/v1/a2a/handoff";

/// How an envelope is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Some fields, with colons between them.
    V2,
    /// Every field, each with its length.
    V3,
}

/// Who sends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sender {
    /// By which the receiver knows them.
    pub agent_id: String,
    /// Which program it is.
    pub agent_type: String,
    /// Which machine it is.
    pub daemon_fingerprint: String,
    /// What they can do.
    pub capabilities: Vec<String>,
}

/// An envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// When it was sent.
    pub sent_at: Timestamp,
    /// Who sends.
    pub sender: Sender,
    /// To whom.
    pub recipient: Option<String>,
    /// Whatever else is said.
    pub metadata: BTreeMap<String, String>,
    /// The text of the package.
    pub payload: String,
    /// The HMAC as hex digits.
    pub signature: Option<String>,
}

/// Why a text is no envelope.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum EnvelopeError {
    /// It is too large.
    #[error("an envelope has {0} bytes at the most")]
    TooLarge(u64),
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    Json(#[from] JsonError),
    /// A member is missing, or is not what it must be.
    #[error("`{0}` must be {1}")]
    Member(&'static str, &'static str),
    /// Another version.
    #[error("its format version is not {FORMAT_VERSION}")]
    Version,
    /// Something else than a package.
    #[error("it does not hold a package: its content type is not `{CONTENT_TYPE}`")]
    ContentType,
}

impl Envelope {
    /// Reads an envelope.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self, EnvelopeError> {
        if text.len() as u64 > limits.envelope_bytes {
            return Err(EnvelopeError::TooLarge(limits.envelope_bytes));
        }
        let json = Json::parse(text, limits)?;
        let root = json.root();
        if root.kind() != Kind::Object {
            return Err(EnvelopeError::Member("envelope", "an object"));
        }
        if root.get("format_version").and_then(Value::whole) != Some(u64::from(FORMAT_VERSION)) {
            return Err(EnvelopeError::Version);
        }
        if !root.get("content_type").is_some_and(|value| value.is(CONTENT_TYPE)) {
            return Err(EnvelopeError::ContentType);
        }
        let sent_at = need(root, "sent_at")?;
        let sender = root.get("sender").ok_or(EnvelopeError::Member("sender", "an object"))?;
        Ok(Self {
            sent_at: time::parse(&sent_at).ok_or(EnvelopeError::Member("sent_at", "a time in RFC 3339"))?,
            sender: Sender {
                agent_id: need(sender, "agent_id")?,
                agent_type: need(sender, "agent_type")?,
                daemon_fingerprint: need(sender, "daemon_fingerprint")?,
                capabilities: texts(sender.get("capabilities"))?,
            },
            recipient: optional(root, "recipient")?,
            metadata: metadata(root.get("metadata"))?,
            payload: need(root, "payload_json")?,
            signature: optional(root, "signature")?,
        })
    }

    /// The envelope as it is posted.
    pub fn to_json(&self) -> String {
        let text = |text: &Option<String>| text.as_deref().map_or("null".into(), quoted);
        let capabilities: Vec<String> = self.sender.capabilities.iter().map(|one| quoted(one)).collect();
        let metadata: Vec<String> =
            self.metadata.iter().map(|(key, value)| format!("{}:{}", quoted(key), quoted(value))).collect();
        format!(
            "{{\"format_version\":{FORMAT_VERSION},\"sent_at\":{},\"sender\":{{\"agent_id\":{},\"agent_type\":{},\"daemon_fingerprint\":{},\"capabilities\":[{}]}},\"recipient\":{},\"content_type\":\"{CONTENT_TYPE}\",\"payload_json\":{},\"signature\":{},\"metadata\":{{{}}}}}",
            quoted(&time::with_z(self.sent_at)),
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

    /// Signs it.
    pub fn sign(&mut self, secret: &[u8], form: Form) {
        self.signature = Some(self.mac(secret, form).hex());
    }

    /// In which form its signature holds, if it holds in any.
    pub fn verify(&self, secret: &[u8]) -> Option<Form> {
        let signature = self.signature.as_deref()?;
        [Form::V3, Form::V2].into_iter().find(|form| self.mac(secret, *form).is(signature))
    }

    /// What tells this package of this sender from every other, however it is wrapped.
    pub fn hash(&self) -> Digest {
        Digest::of(self.payload.as_bytes())
    }

    fn mac(&self, secret: &[u8], form: Form) -> Mac {
        let mut mac = Mac::new(secret);
        let sent_at = time::with_offset(self.sent_at);
        match form {
            Form::V2 => {
                let metadata: Vec<String> = self.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let head = format!(
                    "v2:{FORMAT_VERSION}:{}:{}:{CONTENT_TYPE}:{sent_at}:{}:{}",
                    self.sender.agent_id,
                    self.recipient.as_deref().unwrap_or_default(),
                    metadata.join(","),
                    self.payload.len()
                );
                mac.update(head.as_bytes());
                mac.update(b"\0");
                mac.update(self.payload.as_bytes());
            }
            Form::V3 => {
                mac.update(DOMAIN);
                field(&mut mac, &FORMAT_VERSION.to_be_bytes());
                field(&mut mac, self.sender.agent_id.as_bytes());
                field(&mut mac, self.sender.agent_type.as_bytes());
                field(&mut mac, self.sender.daemon_fingerprint.as_bytes());
                let mut capabilities: Vec<&String> = self.sender.capabilities.iter().collect();
                capabilities.sort();
                mac.update(&(capabilities.len() as u64).to_be_bytes());
                capabilities.iter().for_each(|one| field(&mut mac, one.as_bytes()));
                match &self.recipient {
                    None => mac.update(&[0]),
                    Some(recipient) => {
                        mac.update(&[1]);
                        field(&mut mac, recipient.as_bytes());
                    }
                }
                field(&mut mac, CONTENT_TYPE.as_bytes());
                field(&mut mac, sent_at.as_bytes());
                mac.update(&(self.metadata.len() as u64).to_be_bytes());
                for (key, value) in &self.metadata {
                    field(&mut mac, key.as_bytes());
                    field(&mut mac, value.as_bytes());
                }
                field(&mut mac, self.payload.as_bytes());
            }
        }
        mac
    }
}

fn field(mac: &mut Mac, bytes: &[u8]) {
    mac.update(&(bytes.len() as u64).to_be_bytes());
    mac.update(bytes);
}

fn need(value: Value<'_>, key: &'static str) -> Result<String, EnvelopeError> {
    value.get(key).and_then(Value::text).map(Into::into).ok_or(EnvelopeError::Member(key, "text"))
}

fn optional(value: Value<'_>, key: &'static str) -> Result<Option<String>, EnvelopeError> {
    match value.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(_) => need(value, key).map(Some),
    }
}

fn texts(value: Option<Value<'_>>) -> Result<Vec<String>, EnvelopeError> {
    let wrong = EnvelopeError::Member("capabilities", "a list of texts");
    let Some(value) = value.filter(|value| value.kind() == Kind::Array) else { return Err(wrong) };
    value.items().map(|item| item.text().map(Into::into)).collect::<Option<_>>().ok_or(wrong)
}

fn metadata(value: Option<Value<'_>>) -> Result<BTreeMap<String, String>, EnvelopeError> {
    let wrong = EnvelopeError::Member("metadata", "an object of texts");
    match value.filter(|value| !value.is_null()) {
        None => Ok(BTreeMap::new()),
        Some(value) if value.kind() == Kind::Object => {
            let pair = |(key, value): (Value<'_>, Value<'_>)| Some((key.text()?.into(), value.text()?.into()));
            value.members().map(pair).collect::<Option<_>>().ok_or(wrong)
        }
        Some(_) => Err(wrong),
    }
}
