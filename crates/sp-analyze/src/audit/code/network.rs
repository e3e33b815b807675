//! Calls that use the network.

use super::CodeScanner;
use super::calls::CodeCallSite;
use crate::audit::capability::CapabilityKind;
use crate::audit::value::{ScriptValue, Taint};
use crate::hosts::external_host;

/// Modules whose functions contact the host of their first argument.
const CLIENTS: &[&str] = &[
    "requests",
    "httpx",
    "urllib.request",
    "urllib2",
    "urllib3",
    "aiohttp",
    "http.client",
    "axios",
    "got",
    "needle",
    "superagent",
    "undici",
    "https",
    "http",
    "node-fetch",
    "ky",
    "ofetch",
    "socketio",
    "websocket",
    "websockets",
];

/// Methods of clients in variables: `session.post`, `client.get`.
const METHODS: &[&str] = &[
    "post",
    "put",
    "patch",
    "get",
    "request",
    "send",
    "sendall",
    "sendto",
    "urlopen",
    "delete",
    "sendmail",
    "send_message",
    "connect",
];

impl CodeScanner<'_, '_> {
    pub(super) fn use_network(&mut self, call: &CodeCallSite) -> Option<ScriptValue> {
        let name = call.last_name();
        if matches!(
            call.path.as_str(),
            "socket.socket"
                | "aiohttp.ClientSession"
                | "requests.Session"
                | "requests.session"
                | "httpx.Client"
                | "httpx.AsyncClient"
        ) {
            return Some(ScriptValue::default());
        }
        let is_client = is_client(&call.path);
        let is_method =
            METHODS.contains(&name) && !call.receiver_name.is_empty() && has_address(call);
        let is_socket = matches!(
            name,
            "send" | "sendall" | "sendto" | "sendmail" | "send_message" | "sendBeacon"
        ) && !call.receiver_name.is_empty();
        if !is_client && !is_method && !is_socket {
            return None;
        }
        let host = self.visit_addresses(call);
        let mut payload = ScriptValue::default();
        let mut is_sent = is_socket
            || matches!(
                name,
                "post" | "put" | "patch" | "sendBeacon" | "write" | "emit" | "publish"
            );
        for (index, argument) in call.arguments.iter().enumerate() {
            let name = argument.name.as_deref().unwrap_or_default();
            if matches!(name, "headers" | "auth" | "timeout" | "verify" | "cookies") {
                continue;
            }
            is_sent |= matches!(name, "data" | "json" | "files" | "content" | "body" | "params");
            is_sent |= index > 0 && name.is_empty() && argument.value.taint != Taint::NONE;
            // A key in an address authenticates a request; other private data is sent.
            let is_key = index == 0
                && argument.value.source.as_deref().is_some_and(|source| source.starts_with("`$"));
            if !is_key {
                payload.absorb(&argument.value);
            }
        }
        is_sent |= payload.taint.has(Taint::CREDENTIAL | Taint::PERSONAL);
        if is_sent {
            self.flow.send(&call.span, &payload, host.as_deref());
        }
        self.report_unverified(call);
        let is_hidden = call.argument(0).is_some_and(|first| first.value.taint.has(Taint::DECODED));
        let source = host.map_or_else(|| "the network".to_owned(), |host| format!("`{host}`"));
        let fetched = ScriptValue::tainted(
            if is_hidden { Taint::FETCHED | Taint::DECODED } else { Taint::FETCHED },
            source,
        );
        if matches!(name, "urlretrieve")
            && let Some(path) = call.argument(1)
        {
            self.flow.write_path(&path.span, &path.value.text, &fetched);
        }
        Some(fetched)
    }

    /// Records the hosts in the arguments, and returns the first one.
    fn visit_addresses(&mut self, call: &CodeCallSite) -> Option<String> {
        let mut first = None;
        for argument in &call.arguments {
            let found = self.flow.visit_urls(&argument.span, &argument.value.text);
            let items = argument.items.iter().flatten().next();
            let bare = items.or((call.path.ends_with("Connection")
                || matches!(
                    call.last_name(),
                    "connect"
                        | "SMTP"
                        | "SMTP_SSL"
                        | "FTP"
                        | "create_connection"
                        | "createConnection"
                ))
            .then_some(&argument.value));
            let bare = bare
                .filter(|value| value.is_constant && !value.text.contains("://"))
                .and_then(|value| external_host(&value.text));
            if let Some(host) = &bare {
                self.flow.capability(&argument.span, CapabilityKind::Host, host);
            }
            first = first.or(found).or(bare);
        }
        first.or_else(|| self.flow.visit_urls(&call.span, &call.receiver.text.clone()))
    }

    /// Reports requests that do not verify certificates.
    fn report_unverified(&mut self, call: &CodeCallSite) {
        use crate::audit::finding::{AuditClass, Confidence, Detection, Risk};
        let is_unverified = call.named("verify").is_some_and(|verify| {
            self.text.get(verify.span.clone()).is_some_and(|text| text.ends_with("False"))
        });
        if is_unverified {
            let detection = Detection::new(
                AuditClass::Privilege,
                Risk::Low,
                Confidence::Hint,
                "does not verify the certificate of a server",
            );
            self.flow.report(&call.span, detection);
        }
    }
}

fn is_client(path: &str) -> bool {
    let of = |module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let name = path.rsplit('.').next().unwrap_or(path);
    let is_utility = matches!(
        name,
        "Server"
            | "createServer"
            | "HTTPError"
            | "exceptions"
            | "listen"
            | "HTTPServer"
            | "HTTPStatus"
            | "Agent"
            | "Timeout"
            | "codes"
    );
    (CLIENTS.iter().any(|module| of(module)) && !is_utility)
        || matches!(
            path,
            "fetch"
                | "globalThis.fetch"
                | "window.fetch"
                | "navigator.sendBeacon"
                | "WebSocket"
                | "urlopen"
                | "socket.create_connection"
                | "net.connect"
                | "net.createConnection"
                | "tls.connect"
                | "smtplib.SMTP"
                | "smtplib.SMTP_SSL"
                | "ftplib.FTP"
                | "paramiko.SSHClient"
                | "dns.resolver.resolve"
                | "dns.resolve"
                | "dns.lookup"
                | "socket.gethostbyname"
        )
}

/// Whether an argument is an address.
fn has_address(call: &CodeCallSite) -> bool {
    call.arguments.iter().any(|argument| {
        argument.value.text.contains("://")
            || argument
                .items
                .as_ref()
                .is_some_and(|items| call.last_name() == "connect" && items.len() == 2)
    })
}
