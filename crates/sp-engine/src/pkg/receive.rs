//! Receives packages from other machines: verifies an envelope, and imports its package or queues
//! it for review.
//!
//! The listener is `sp_serve::receiver`; this module knows nothing about sockets. An envelope is
//! hostile until its HMAC is verified: before that, only its size and syntax are checked.

use std::sync::Arc;

use jiff::Timestamp;
use sp_formats::package::envelope::{Envelope, EnvelopeSignatureScheme};
use sp_formats::package::{Package, RecordedSource, read};
use sp_tree::{HmacSha256, Zeroizing};

use super::items::waiting_id;
use super::load_package::require_package;
use super::package_gate::PackageGate;
use super::package_store::{LoadedPackage, PackageStore};
use super::trust::{TrustOverrides, check_signer};
use crate::content_gate::GatePosition;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::secret::{SecretSource, read_secret, read_secret_if_set};
use crate::session::Session;

/// What happens to a received package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveAction {
    /// It is added to the store.
    Import,
    /// It waits for review.
    Queue,
}

/// Whether an envelope must be signed with the shared secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvelopeSignature {
    /// Unsigned envelopes are refused.
    Required,
    /// Unsigned envelopes are accepted. A signature must still be valid.
    Optional,
}

/// The arguments of `sp pkg receive`.
#[derive(Debug, Clone)]
pub struct ReceiveRequest {
    /// The secret that signs envelopes.
    pub secret: SecretSource,
    /// The environment variable with the bearer token that senders must present.
    pub token_env: Option<String>,
    pub signature: EnvelopeSignature,
    /// The name of this machine. Envelopes for another recipient are refused.
    pub recipient: Option<String>,
    pub action: ReceiveAction,
    pub trust: TrustOverrides,
}

/// A package that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceivedPackage {
    /// It is in the store.
    Imported {
        /// The name and version.
        package: String,
        /// The sender that the envelope names.
        sender: String,
    },
    /// It waits for review.
    Queued {
        /// The name and version.
        package: String,
        /// The sender that the envelope names.
        sender: String,
        /// The ID to accept or reject it with.
        id: String,
    },
}

/// Why an envelope was refused. The sender gets the status and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiveError {
    /// The HTTP status: 4xx, or 500 for a problem of this machine.
    pub status: u16,
    pub reason: String,
}

impl ReceiveError {
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}

/// Checks the bearer token that senders must present, if there is one.
pub struct SenderToken {
    /// The MAC of the expected `Authorization` header.
    expected: Option<String>,
    key: Zeroizing<Vec<u8>>,
}

impl SenderToken {
    fn new(token: Option<&Vec<u8>>, key: Zeroizing<Vec<u8>>) -> Self {
        let mut checker = Self { expected: None, key };
        checker.expected =
            token.map(|token| checker.mac(&[b"Bearer ", token.as_slice()].concat()).finish_hex());
        checker
    }

    /// Checks the values of the `Authorization` header.
    pub fn authorize(&self, values: &[&[u8]]) -> std::result::Result<(), ReceiveError> {
        let Some(expected) = &self.expected else { return Ok(()) };
        match values {
            [value] if self.mac(value).verify_hex(expected) => Ok(()),
            _ => Err(ReceiveError::new(401, "missing or invalid token")),
        }
    }

    /// Comparing MACs hides from a timing attack how much of the token matches.
    fn mac(&self, bytes: &[u8]) -> HmacSha256 {
        let mut mac = HmacSha256::new(&self.key);
        mac.update(bytes);
        mac
    }
}

/// Accepts envelopes.
pub struct PackageReceiver<'a> {
    session: Session<'a>,
    request: &'a ReceiveRequest,
    /// None if only unsigned envelopes can be accepted.
    secret: Option<Zeroizing<Vec<u8>>>,
    token: Arc<SenderToken>,
}

impl<'a> PackageReceiver<'a> {
    /// Reads the secrets that the request names.
    pub fn open(context: &'a Context<'a>, request: &'a ReceiveRequest) -> Result<Self> {
        let session = Session::begin(context)?;
        let secret = match request.signature {
            EnvelopeSignature::Required => {
                Some(read_secret(context, &request.secret).map_err(hint_allow_unsigned)?)
            }
            EnvelopeSignature::Optional => read_secret_if_set(context, &request.secret)?,
        };
        let token = request
            .token_env
            .as_deref()
            .map(|name| read_secret(context, &SecretSource::Env(name.into())))
            .transpose()?;
        let token = SenderToken::new(token.as_deref(), secret.clone().unwrap_or_default());
        Ok(Self { session, request, secret, token: Arc::new(token) })
    }

    /// The maximum size of an envelope.
    pub fn max_bytes(&self) -> u64 {
        self.session.limits.envelope_bytes
    }

    /// Returns what checks the tokens of senders.
    pub fn sender_token(&self) -> Arc<SenderToken> {
        Arc::clone(&self.token)
    }

    /// Verifies the signature of an envelope. Returns its scheme, or `None` if the envelope is not
    /// signed and that is accepted.
    fn verify(
        &self,
        envelope: &Envelope,
    ) -> std::result::Result<Option<EnvelopeSignatureScheme>, ReceiveError> {
        match (&envelope.signature, &self.secret) {
            (None, _) if self.request.signature == EnvelopeSignature::Optional => Ok(None),
            (None, _) => Err(ReceiveError::new(
                401,
                "the envelope is not signed, but this receiver requires a signature",
            )),
            (Some(_), None) => Err(ReceiveError::new(
                401,
                "the envelope is signed, but this receiver has no secret to verify it",
            )),
            (Some(_), Some(secret)) => match envelope.verify(secret) {
                None => Err(ReceiveError::new(401, "invalid envelope signature")),
                scheme => Ok(scheme),
            },
        }
    }

    /// Verifies an envelope, and imports or queues its package.
    pub fn accept(&self, body: &str) -> std::result::Result<ReceivedPackage, ReceiveError> {
        // The process may have been listening for days, so the time of its start is too old.
        let context = Context { now: self.now(), ..self.session.context.clone() };
        let (config, limits) = (self.session.config.clone(), self.session.limits.clone());
        let session = &Session::with(&context, config, limits);
        let envelope = Envelope::parse(body, &session.limits)
            .map_err(|e| ReceiveError::new(400, e.to_string()))?;
        if self.verify(&envelope)? == Some(EnvelopeSignatureScheme::V2) {
            session.context.emit(Event::Detail(
                "the envelope uses the older signature scheme, which does not cover all fields of \
                 the sender"
                    .into(),
            ));
        }
        check_age(session, &envelope)?;
        if let Some(recipient) = &self.request.recipient
            && envelope.recipient.as_ref() != Some(recipient)
        {
            return Err(ReceiveError::new(
                403,
                "the envelope is addressed to a different recipient",
            ));
        }
        self.store_payload(session, &envelope)
    }

    /// Reads the package of a verified envelope, and imports or queues it.
    fn store_payload(
        &self,
        session: &Session<'_>,
        envelope: &Envelope,
    ) -> std::result::Result<ReceivedPackage, ReceiveError> {
        let failed = |error: Error| to_receive_error(&error);
        let label = format!("the package from {}", envelope.sender.agent_id);
        let result = read(&label, envelope.payload.clone().into_bytes(), &session.limits);
        let package = require_package(session, result, &label).map_err(failed)?;
        // The lock is held from the duplicate check to the save, so no envelope is accepted twice.
        let home = LockedHome::open(session.context, &session.limits).map_err(failed)?;
        let mut store = PackageStore::open(session).map_err(failed)?;
        record_envelope(session, &mut store, envelope)?;
        let sender = envelope.sender.agent_id.clone();
        let received =
            self.import_or_queue(session, &mut store, package, sender).map_err(failed)?;
        store.save(&home).map_err(failed)?;
        Ok(received)
    }

    fn import_or_queue(
        &self,
        session: &Session<'_>,
        store: &mut PackageStore<'_>,
        package: Package,
        sender: String,
    ) -> Result<ReceivedPackage> {
        let label = format!("{}@{}", package.manifest.name, package.manifest.version);
        match self.request.action {
            ReceiveAction::Import => {
                let source = RecordedSource::Other(format!("sent by {sender}"));
                let packages = [LoadedPackage { package: package.into(), source }];
                let position = GatePosition::Last;
                PackageGate { session, root: None, home: None, position }.check(&packages)?;
                store.add(&packages, self.request.trust)?;
                Ok(ReceivedPackage::Imported { package: label, sender })
            }
            ReceiveAction::Queue => {
                check_signer(session, &store.trust, &package, self.request.trust)?;
                let id = waiting_id(&store.queue(&package, &sender)?);
                Ok(ReceivedPackage::Queued { package: label, sender, id })
            }
        }
    }

    /// Returns the current time, or `SOURCE_DATE_EPOCH` if that is set.
    fn now(&self) -> Timestamp {
        let context = self.session.context;
        if context.env.contains_key("SOURCE_DATE_EPOCH") {
            return context.now;
        }
        Timestamp::from_nanosecond((context.wall_clock)().into()).unwrap_or(context.now)
    }
}

/// Returns how many seconds an envelope may be old.
fn max_age(session: &Session<'_>) -> i64 {
    i64::try_from(session.limits.envelope_seconds).unwrap_or(i64::MAX)
}

fn check_age(session: &Session<'_>, envelope: &Envelope) -> std::result::Result<(), ReceiveError> {
    let age = session.context.now.as_second() - envelope.sent_at.as_second();
    let window = max_age(session);
    if age.abs() <= window {
        return Ok(());
    }
    Err(ReceiveError::new(
        403,
        format!(
            "the age of the envelope is {age} s, but at most {window} s are allowed; check the \
             clocks of both machines"
        ),
    ))
}

/// Remembers an envelope until it is too old to be accepted. Fails if it was received before.
fn record_envelope(
    session: &Session<'_>,
    store: &mut PackageStore<'_>,
    envelope: &Envelope,
) -> std::result::Result<(), ReceiveError> {
    let now = session.context.now.as_second();
    let envelopes = &mut store.received_envelopes.envelopes;
    envelopes.retain(|(_, _, until)| *until >= now);
    let (sender, digest) = (&envelope.sender.agent_id, envelope.payload_digest());
    if envelopes.iter().any(|(other, known, _)| other == sender && *known == digest) {
        return Err(ReceiveError::new(
            409,
            "duplicate envelope: this package was already received from this sender",
        ));
    }
    let until = envelope.sent_at.as_second().saturating_add(max_age(session));
    envelopes.push((sender.clone(), digest, until));
    Ok(())
}

fn to_receive_error(error: &Error) -> ReceiveError {
    let mut why = error.to_string();
    for finding in error.reports.iter().flat_map(|report| &report.findings) {
        why += &format!("; {}", finding.message);
    }
    for cause in error.causes() {
        why += &format!(": {cause}");
    }
    let status = match error.kind() {
        FailureKind::Trust => 403,
        FailureKind::Environment => 500,
        _ => 422,
    };
    // Details about this machine are not for the sender.
    if status == 500 {
        ReceiveError::new(500, "the receiver cannot accept packages at the moment")
    } else {
        ReceiveError::new(status, why)
    }
}

fn hint_allow_unsigned(error: Error) -> Error {
    error.hint("add `--allow-unsigned` to accept unsigned envelopes")
}
