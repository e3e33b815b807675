//! What scripts do, independent of their language: they read, send, execute and write values.
//!
//! The evaluators of shell and of code call [`ScriptFlow`] for each effect. It records
//! capabilities, and reports what is dangerous because of where a value comes from. A script inside
//! a script is queued in [`ScriptFlow::embedded`] and scanned by the caller, so that the evaluators
//! do not depend on each other.

use std::collections::HashMap;
use std::ops::Range;

use super::capability::CapabilityKind;
use super::evidence::{Evidence, Scope};
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::sensitive::{
    credential_in, is_analytics, is_collector, is_installer_host, is_metadata_host, is_never_sent,
    is_notable_variable, is_outside, is_public_address, is_secret_variable, is_tracker,
    persistence_of,
};
use super::value::{ScriptValue, Taint};
use crate::hosts::{external_host, host_ranges};

/// Maximum number of scripts inside of scripts that are scanned per file.
const MAX_EMBEDDED: usize = 300;
/// Maximum depth of scripts inside of scripts.
const MAX_DEPTH: u8 = 4;
/// Maximum number of hosts that are looked up in one value.
const MAX_HOSTS_PER_VALUE: usize = 50;

/// A language that is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptLanguage {
    Shell,
    Python,
    JavaScript,
    TypeScript,
}

/// A script that another script executes.
#[derive(Debug)]
pub(super) struct EmbeddedScript {
    pub language: ScriptLanguage,
    pub text: String,
    pub scope: Scope,
}

/// The effects of one script.
pub(super) struct ScriptFlow<'e> {
    pub evidence: &'e mut Evidence,
    pub scope: Scope,
    pub embedded: Vec<EmbeddedScript>,
    /// What the script wrote to files, by path.
    files: HashMap<String, ScriptValue>,
    /// The first credentials that are read, and the first data that is sent.
    credentials: Option<(Range<usize>, String)>,
    sent: Option<(Range<usize>, String)>,
    has_flow: bool,
}

impl<'e> ScriptFlow<'e> {
    pub(super) fn new(evidence: &'e mut Evidence, scope: Scope) -> Self {
        Self {
            evidence,
            scope,
            embedded: Vec::new(),
            files: HashMap::new(),
            credentials: None,
            sent: None,
            has_flow: false,
        }
    }

    /// Scans a script inside this one: its scope replaces the current one.
    pub(super) fn enter(&mut self, scope: Scope) {
        self.scope = scope;
    }

    pub(super) fn capability(&mut self, span: &Range<usize>, kind: CapabilityKind, value: &str) {
        self.evidence.capability(&self.scope, span, kind, value);
    }

    pub(super) fn report(&mut self, span: &Range<usize>, detection: Detection) {
        self.evidence.report(&self.scope, span, detection);
    }

    /// Records the hosts of the URLs in a value, and returns the first one.
    pub(super) fn visit_urls(&mut self, span: &Range<usize>, text: &str) -> Option<String> {
        let hosts: Vec<String> = host_ranges(text)
            .filter_map(|range| external_host(&text[range]))
            .take(MAX_HOSTS_PER_VALUE)
            .collect();
        for host in &hosts {
            self.visit_host(span, host);
        }
        hosts.into_iter().next()
    }

    /// Records a host that is contacted.
    pub(super) fn visit_host(&mut self, span: &Range<usize>, host: &str) {
        self.capability(span, CapabilityKind::Host, host);
        if is_metadata_host(host) {
            self.report(
                span,
                Detection::new(
                    AuditClass::Exfiltration,
                    Risk::High,
                    Confidence::Likely,
                    format!("requests credentials of the machine from `{host}`"),
                ),
            );
        } else if is_tracker(host) {
            let message = format!("contacts `{host}`, a host that counts visits");
            let confidence = if is_analytics(host) { Confidence::Hint } else { Confidence::Likely };
            self.report(span, Detection::new(AuditClass::Tracker, Risk::Low, confidence, message));
        } else if is_collector(host) {
            self.report(
                span,
                Detection::new(
                    AuditClass::Exfiltration,
                    Risk::Medium,
                    Confidence::Likely,
                    format!("contacts `{host}`, a host that collects data"),
                ),
            );
        }
    }

    /// Records that a path is read, and returns its content.
    pub(super) fn read_path(&mut self, span: &Range<usize>, path: &str) -> ScriptValue {
        if let Some(what) = credential_in(path) {
            self.capability(span, CapabilityKind::Secret, path);
            self.credentials.get_or_insert((span.clone(), what.into()));
            return ScriptValue::tainted(Taint::CREDENTIAL, what);
        }
        if is_outside(path) {
            self.capability(span, CapabilityKind::PathRead, path);
        }
        match self.files.get(path) {
            Some(written) => written.clone(),
            None if is_outside(path) => {
                ScriptValue::tainted(Taint::FILES, format!("the content of `{path}`"))
            }
            None => ScriptValue::default(),
        }
    }

    /// Records that content is written to a path.
    pub(super) fn write_path(&mut self, span: &Range<usize>, path: &str, content: &ScriptValue) {
        if is_outside(path) {
            self.capability(span, CapabilityKind::PathWrite, path);
        }
        if let Some(effect) = persistence_of(path) {
            self.report_persistent_write(span, path, effect, content);
        }
        if credential_in(path).is_some() {
            self.capability(span, CapabilityKind::Secret, path);
        }
        if self.files.len() < 1_000 {
            self.files.insert(path.to_owned(), content.clone());
        }
    }

    fn report_persistent_write(
        &mut self,
        span: &Range<usize>,
        path: &str,
        effect: &str,
        content: &ScriptValue,
    ) {
        self.capability(span, CapabilityKind::Persistence, path);
        let runs_code = [
            "curl", "wget", "base64", "| sh", "|sh", "| bash", "|bash", "nc ", "python",
            "/dev/tcp", "eval",
        ]
        .iter()
        .any(|word| content.text.contains(word));
        let settings = content.text.contains("bypassPermissions") || content.text.contains("\"*\"");
        let is_access = path.contains("authorized_keys") || path.contains("ld.so.preload");
        let is_foreign = content.taint.has(Taint::FETCHED | Taint::DECODED);
        let is_path_setup = effect == "changes every shell" && !runs_code && !is_foreign;
        let (risk, confidence) = if is_access || runs_code || is_foreign || settings {
            (Risk::High, Confidence::Likely)
        } else if is_path_setup {
            (Risk::Low, Confidence::Hint)
        } else {
            (Risk::Medium, Confidence::Likely)
        };
        self.report(
            span,
            Detection::new(
                AuditClass::Persistence,
                risk,
                confidence,
                format!("writes to `{path}`, which {effect}"),
            ),
        );
    }

    /// Records that a variable of the environment is read, and returns its value.
    pub(super) fn read_variable(&mut self, span: &Range<usize>, name: &str) -> ScriptValue {
        let is_secret = is_secret_variable(name);
        if is_notable_variable(name) {
            self.capability(span, CapabilityKind::Environment, name);
        }
        if is_secret {
            self.capability(span, CapabilityKind::Secret, &format!("${name}"));
        }
        let taint = if is_secret { Taint::ENVIRONMENT } else { Taint::NONE };
        ScriptValue {
            source: is_secret.then(|| format!("`${name}`")),
            ..ScriptValue::unknown(format!("${name}")).with_taint(taint)
        }
    }

    /// Records that a value is executed by an interpreter.
    pub(super) fn execute(
        &mut self,
        span: &Range<usize>,
        value: &ScriptValue,
        language: ScriptLanguage,
    ) {
        let is_decoded = value.taint.has(Taint::DECODED);
        if value.taint.has(Taint::FETCHED) {
            self.report_remote_code(span, value, is_decoded);
        } else if is_decoded {
            self.report_decoded_code(span, value);
        }
        if !value.text.trim().is_empty() && (value.is_constant || !is_decoded) {
            self.embed(span, value, language);
        }
    }

    fn report_remote_code(&mut self, span: &Range<usize>, value: &ScriptValue, is_decoded: bool) {
        let source = value.source.as_deref().unwrap_or("the network");
        let host = source.trim_matches('`');
        let (risk, confidence) = if is_decoded || is_public_address(host) || is_collector(host) {
            (Risk::High, if is_decoded { Confidence::Certain } else { Confidence::Likely })
        } else if is_installer_host(host) {
            (Risk::Low, Confidence::Hint)
        } else {
            (Risk::Medium, Confidence::Likely)
        };
        self.capability(span, CapabilityKind::RemoteInstructions, host);
        self.report(
            span,
            Detection::new(
                AuditClass::Remote,
                risk,
                confidence,
                format!("executes code from {source} without showing it"),
            ),
        );
    }

    fn report_decoded_code(&mut self, span: &Range<usize>, value: &ScriptValue) {
        let is_dangerous = value.is_constant && is_dangerous_code(&value.text);
        let confidence = if is_dangerous { Confidence::Certain } else { Confidence::Likely };
        let risk = if is_dangerous || !value.is_constant { Risk::High } else { Risk::Medium };
        let decoded = value.is_constant.then_some(value.text.as_str());
        let scope = self.scope.nested(span, decoded);
        self.evidence.report(
            &scope,
            span,
            Detection::new(
                AuditClass::Obfuscation,
                risk,
                confidence,
                "executes code that is encoded in the file",
            ),
        );
    }

    /// Queues a script that this one executes.
    pub(super) fn embed(
        &mut self,
        span: &Range<usize>,
        value: &ScriptValue,
        language: ScriptLanguage,
    ) {
        if self.scope.depth >= MAX_DEPTH || self.embedded.len() >= MAX_EMBEDDED {
            return;
        }
        let decoded = value.taint.has(Taint::DECODED).then_some(value.text.as_str());
        let scope = self.scope.nested(span, decoded);
        self.embedded.push(EmbeddedScript { language, text: value.text.clone(), scope });
    }

    /// Records that a value is sent to a host.
    pub(super) fn send(&mut self, span: &Range<usize>, value: &ScriptValue, host: Option<&str>) {
        let to = host.map_or_else(|| "the network".to_owned(), |host| format!("`{host}`"));
        self.sent.get_or_insert((span.clone(), to.clone()));
        let Some(source) = &value.source else { return };
        let is_collecting = host.is_some_and(|host| is_collector(host) || is_public_address(host));
        let (risk, confidence) = if value.taint.has(Taint::CREDENTIAL) {
            let is_plain_env_file = source.contains(".env");
            let never = is_never_sent(source);
            (
                Risk::High,
                if never && !is_plain_env_file { Confidence::Certain } else { Confidence::Likely },
            )
        } else if is_collecting
            || value.taint.has(Taint::ENVIRONMENT) && source.starts_with("the environment")
        {
            (Risk::High, Confidence::Likely)
        } else if value.taint.has(Taint::PERSONAL) {
            (Risk::Medium, Confidence::Likely)
        } else if value.taint.has(Taint::FILES) {
            (Risk::Low, Confidence::Hint)
        } else {
            // Programs send their own keys to their own servers.
            return;
        };
        let is_ping = source.starts_with("details of the user") && risk == Risk::Medium;
        let class = if is_ping { AuditClass::Tracker } else { AuditClass::Exfiltration };
        self.has_flow |= confidence > Confidence::Hint;
        self.report(
            span,
            Detection::new(class, risk, confidence, format!("sends {source} to {to}")),
        );
    }

    /// Reports a script that reads credentials and sends something, if no flow was found.
    pub(super) fn finish(self) {
        let Self { evidence, scope, credentials, sent, has_flow, .. } = self;
        if has_flow {
            return;
        }
        if let (Some((span, what)), Some((_, to))) = (credentials, sent)
            && is_never_sent(&what)
        {
            evidence.report(
                &scope,
                &span,
                Detection::new(
                    AuditClass::Exfiltration,
                    Risk::Medium,
                    Confidence::Likely,
                    format!("reads {what}, and sends data to {to}"),
                ),
            );
        }
    }
}

/// Whether decoded code does something that no one needs to hide for a good reason.
fn is_dangerous_code(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "curl ",
        "wget ",
        "/dev/tcp/",
        "nc -",
        "ncat ",
        "rm -rf",
        "requests.",
        "urllib",
        "socket",
        "subprocess",
        "os.system",
        "child_process",
        "fetch(",
        "http://",
        "https://",
        ".ssh",
        ".aws",
        "powershell",
        "eval(",
        "exec(",
        "| sh",
        "|sh",
        "| bash",
        "|bash",
        "crontab",
        "authorized_keys",
        "chmod +x",
        "bash -i",
        "IEX",
        "Invoke-",
    ];
    WORDS.iter().any(|word| text.contains(word))
}
