//! Takes the packages that other machines send: verifies an envelope, and imports what is in it or
//! queues it for review.
//!
//! How an envelope arrives is not known here; `sp_serve::receiver` listens. Whatever comes is
//! hostile until its HMAC holds: before that only its size and form are looked at.

use jiff::Timestamp;
use sp_formats::package::envelope::{Envelope, EnvelopeSignatureScheme};
use sp_formats::package::{Package, read};
use sp_tree::Zeroizing;

use super::manage::add_packages;
use super::package_spec::require_package;
use super::package_store::{PackageStore, waiting_id};
use super::secret::{SecretSource, read_secret, read_secret_if_set};
use super::trust::{TrustOverrides, check_signer};
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::session::Session;

/// What becomes of a package that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveAction {
    /// It goes into the store.
    Import,
    /// It waits until somebody takes it.
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

/// What is received, and from whom.
#[derive(Debug, Clone)]
pub struct ReceiveRequest {
    /// The secret that signs envelopes.
    pub secret: SecretSource,
    /// The environment variable that holds the bearer token that is asked for.
    pub token_env: Option<String>,
    /// Whether an envelope must be signed.
    pub signature: EnvelopeSignature,
    /// Our own name: an envelope for somebody else is refused.
    pub recipient: Option<String>,
    /// What becomes of a package.
    pub action: ReceiveAction,
    /// What is accepted for once.
    pub trust: TrustOverrides,
}

/// A package that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceivedPackage {
    /// It is in the store.
    Imported {
        /// Its name and version.
        package: String,
        /// Who sent it, as they say.
        sender: String,
    },
    /// It waits for review.
    Queued {
        /// Its name and version.
        package: String,
        /// Who sent it, as they say.
        sender: String,
        /// The ID by which it is accepted or refused.
        id: String,
    },
}

/// Why a request was refused: an HTTP status, and the reason that the sender gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiveError {
    /// 400 to 499, or 500 for what is wrong on this machine.
    pub status: u16,
    /// The reason.
    pub reason: String,
}

impl ReceiveError {
    /// A refusal with its reason.
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}

/// Accepts envelopes. Safe to share between threads.
pub struct PackageReceiver<'a> {
    session: Session<'a>,
    request: &'a ReceiveRequest,
    /// None if only unsigned envelopes can be accepted.
    secret: Option<Zeroizing<Vec<u8>>>,
    token: Option<Zeroizing<Vec<u8>>>,
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
            .map(|name| read_secret(context, &SecretSource::Env(name.into())));
        Ok(Self { session, request, secret, token: token.transpose()? })
    }

    /// The maximum size of an envelope.
    pub fn max_bytes(&self) -> u64 {
        self.session.limits.envelope_bytes
    }

    /// Checks the values of the `Authorization` header.
    pub fn authorize(&self, given: &[&[u8]]) -> std::result::Result<(), ReceiveError> {
        let Some(token) = &self.token else { return Ok(()) };
        // Compared by their MACs, so that the time tells nothing of how far it fits.
        let mac = |bytes: &[u8]| {
            let mut mac = sp_tree::HmacSha256::new(
                self.secret.as_ref().map_or(&[], |secret| secret.as_slice()),
            );
            mac.update(bytes);
            mac
        };
        let wanted = mac(&[b"Bearer ", token.as_slice()].concat()).finish_hex();
        match given {
            [one] if mac(one).verify_hex(&wanted) => Ok(()),
            _ => Err(ReceiveError::new(401, "the token is missing or wrong")),
        }
    }

    /// Verifies the signature of an envelope. Returns its form, or none for an unsigned envelope that is accepted.
    fn verify(
        &self,
        envelope: &Envelope,
    ) -> std::result::Result<Option<EnvelopeSignatureScheme>, ReceiveError> {
        match (&envelope.signature, &self.secret) {
            (None, _) if self.request.signature == EnvelopeSignature::Optional => Ok(None),
            (None, _) => Err(ReceiveError::new(
                401,
                "the envelope is not signed, and only signed ones are accepted here",
            )),
            (Some(_), None) => Err(ReceiveError::new(
                401,
                "the envelope is signed, and there is no secret here to verify it with",
            )),
            (Some(_), Some(secret)) => match envelope.verify(secret) {
                None => Err(ReceiveError::new(401, "the envelope's signature does not hold")),
                form => Ok(form),
            },
        }
    }

    /// Verifies an envelope and takes what is in it.
    pub fn accept(&self, body: &str) -> std::result::Result<ReceivedPackage, ReceiveError> {
        // The process may have been listening for days: what is written bears the time of now.
        let context = Context { now: self.now(), ..self.session.context.clone() };
        let (config, limits) = (self.session.config.clone(), self.session.limits.clone());
        let session = &Session { context: &context, config, limits };
        let envelope = Envelope::parse(body, &session.limits)
            .map_err(|e| ReceiveError::new(400, e.to_string()))?;
        if self.verify(&envelope)? == Some(EnvelopeSignatureScheme::V2) {
            session.context.emit(Event::Detail(
                "the envelope is signed in the older form, which leaves some fields of the sender open".into(),
            ));
        }
        let now = context.now;
        let age = now.as_second() - envelope.sent_at.as_second();
        let window = i64::try_from(session.limits.envelope_seconds).unwrap_or(i64::MAX);
        if age.abs() > window {
            return Err(ReceiveError::new(
                403,
                format!(
                    "the envelope was sent {age} seconds ago, and {window} are allowed: is a clock wrong?"
                ),
            ));
        }
        if let Some(recipient) = &self.request.recipient
            && envelope.recipient.as_ref() != Some(recipient)
        {
            return Err(ReceiveError::new(403, "the envelope is for somebody else"));
        }
        let shown = format!("the package from {}", envelope.sender.agent_id);
        let read = read(&shown, envelope.payload.clone().into_bytes(), &session.limits);
        let package =
            require_package(session, read, &shown).map_err(|error| to_receive_error(&error))?;
        // The lock is held from the look at what was received to the record of it.
        let home = LockedHome::open(session.context, &session.limits)
            .map_err(|error| to_receive_error(&error))?;
        let mut stock = PackageStore::open(session).map_err(|error| to_receive_error(&error))?;
        stock.received_envelopes.envelopes.retain(|(_, _, until)| *until >= now.as_second());
        let (sender, hash) = (envelope.sender.agent_id.clone(), envelope.payload_digest());
        if stock
            .received_envelopes
            .envelopes
            .iter()
            .any(|(other, known, _)| *other == sender && *known == hash)
        {
            return Err(ReceiveError::new(409, "this package of this sender was received already"));
        }
        let until = envelope.sent_at.as_second().saturating_add(window);
        stock.received_envelopes.envelopes.push((sender.clone(), hash, until));
        let event = self
            .import_or_queue(session, &mut stock, package, sender)
            .map_err(|error| to_receive_error(&error))?;
        stock.save(&home).map_err(|error| to_receive_error(&error))?;
        Ok(event)
    }

    /// Puts a package on the shelf, or lets it wait there.
    fn import_or_queue(
        &self,
        session: &Session<'_>,
        stock: &mut PackageStore<'_>,
        package: Package,
        sender: String,
    ) -> Result<ReceivedPackage> {
        let named = format!("{}@{}", package.manifest.name, package.manifest.version);
        match self.request.action {
            ReceiveAction::Import => {
                let from = format!("sent by {sender}");
                add_packages(session, stock, &[(package, from)], self.request.trust)?;
                Ok(ReceivedPackage::Imported { package: named, sender })
            }
            ReceiveAction::Queue => {
                check_signer(session, &stock.trust, &package, self.request.trust)?;
                let id = waiting_id(&stock.queue(&package, &sender)?);
                Ok(ReceivedPackage::Queued { package: named, sender, id })
            }
        }
    }

    /// The time now, unless it is stopped.
    fn now(&self) -> Timestamp {
        let context = self.session.context;
        if context.env.contains_key("SOURCE_DATE_EPOCH") {
            return context.now;
        }
        Timestamp::from_nanosecond((context.wall_clock)().into()).unwrap_or(context.now)
    }
}

fn to_receive_error(error: &Error) -> ReceiveError {
    let mut why = error.to_string();
    for finding in error.reports.iter().flat_map(|report| &report.findings) {
        why += &format!("; {}", finding.message);
    }
    for cause in error.causes() {
        why += &format!(": {cause}");
    }
    let status = match error.kind {
        FailureKind::Trust => 403,
        FailureKind::Environment => 500,
        _ => 422,
    };
    // What is wrong on this machine is nobody else's business.
    if status == 500 {
        ReceiveError::new(500, "this machine cannot take it now")
    } else {
        ReceiveError::new(status, why)
    }
}

/// Adds the way to receive without a secret.
fn hint_allow_unsigned(error: Error) -> Error {
    error.hint("or accept envelopes that nobody signed with `--allow-unsigned`")
}
