//! Configuration that runs programs: MCP servers, hooks, permissions and install scripts.

use std::ops::Range;

use sp_formats::json::{JsonDocument, JsonKind, JsonValue, without_comments};
use sp_tree::Limits;

use super::capability::CapabilityKind;
use super::evidence::{Evidence, Scope};
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::flow::ScriptLanguage;
use super::scripts::scan_script;
use super::sensitive::{credential_in, is_collector};
use crate::hosts::{external_host, host_ranges};

/// Scripts that npm runs when a package is installed.
const INSTALL_SCRIPTS: &[&str] = &["preinstall", "install", "postinstall", "prepare"];
/// Deeper values are not read.
const MAX_DEPTH: usize = 40;

/// Scans a JSON text. Returns whether it could be parsed.
pub(super) fn scan_json(text: &str, scope: &Scope, evidence: &mut Evidence) -> bool {
    let limits = Limits::default();
    let parsed = JsonDocument::parse(text, &limits)
        .or_else(|_| JsonDocument::parse(without_comments(text), &limits));
    let Ok(document) = parsed else {
        scan_values(text, scope, evidence);
        return false;
    };
    let mut scanner = JsonScanner { scope, evidence };
    scanner.visit("", document.root(), 0);
    true
}

struct JsonScanner<'a, 'e> {
    scope: &'a Scope,
    evidence: &'e mut Evidence,
}

impl JsonScanner<'_, '_> {
    fn visit(&mut self, key: &str, value: JsonValue<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match (key, value.kind()) {
            ("mcpServers" | "mcp_servers" | "servers", JsonKind::Object) => {
                self.visit_servers(value);
            }
            ("hooks", JsonKind::Object) => self.visit_hooks(value, depth + 1),
            ("permissions", JsonKind::Object) => self.visit_permissions(value),
            ("scripts", JsonKind::Object) => self.visit_scripts(value),
            (_, JsonKind::Object) => {
                for (name, inner) in value.members() {
                    let name = name.text().unwrap_or_default();
                    self.visit_setting(&name, inner);
                    self.visit(&name, inner, depth + 1);
                }
            }
            (_, JsonKind::Array) => value.items().for_each(|item| self.visit("", item, depth + 1)),
            (_, JsonKind::Text) => {
                let text = value.text().unwrap_or_default();
                scan_urls(&text, &value.span(), self.scope, self.evidence);
            }
            _ => {}
        }
    }

    fn visit_servers(&mut self, servers: JsonValue<'_>) {
        for (name, server) in servers.members() {
            if server.kind() != JsonKind::Object {
                continue;
            }
            let text = |key| server.get(key).and_then(JsonValue::text).unwrap_or_default();
            let (command, url) = (text("command"), text("url"));
            if command.is_empty() && url.is_empty() {
                continue;
            }
            let span = name.span();
            self.evidence.capability(
                self.scope,
                &span,
                CapabilityKind::McpServer,
                &name.text().unwrap_or_default(),
            );
            scan_urls(&url, &span, self.scope, self.evidence);
            let arguments: Vec<String> = server
                .get("args")
                .into_iter()
                .flat_map(JsonValue::items)
                .filter_map(|item| item.text().map(|text| quoted(&text)))
                .collect();
            if !command.is_empty() {
                self.run(&format!("{command} {}", arguments.join(" ")), &span);
            }
            for (variable, value) in server.get("env").into_iter().flat_map(JsonValue::members) {
                self.evidence.capability(
                    self.scope,
                    &variable.span(),
                    CapabilityKind::Environment,
                    &variable.text().unwrap_or_default(),
                );
                scan_urls(
                    &value.text().unwrap_or_default(),
                    &value.span(),
                    self.scope,
                    self.evidence,
                );
            }
        }
    }

    /// Hooks of agents: every `command` below is executed.
    fn visit_hooks(&mut self, value: JsonValue<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (key, inner) in value.members() {
            match key.text().as_deref() {
                Some("command") => {
                    let command = inner.text().unwrap_or_default();
                    self.evidence.capability(
                        self.scope,
                        &inner.span(),
                        CapabilityKind::Persistence,
                        "agent hook",
                    );
                    self.run(&command, &inner.span());
                }
                _ => self.visit_hooks(inner, depth + 1),
            }
        }
        value.items().for_each(|item| self.visit_hooks(item, depth + 1));
    }

    fn visit_permissions(&mut self, value: JsonValue<'_>) {
        let allowed = value.get("allow").into_iter().flat_map(JsonValue::items);
        for rule in allowed {
            let text = rule.text().unwrap_or_default();
            self.evidence.capability(self.scope, &rule.span(), CapabilityKind::Tool, &text);
            if matches!(text.as_ref(), "*" | "Bash(*)" | "Bash(:*)" | "mcp__*") {
                self.report(
                    &rule.span(),
                    AuditClass::ToolGrant,
                    Risk::High,
                    format!("allows `{text}` without asking"),
                );
            }
        }
    }

    fn visit_scripts(&mut self, value: JsonValue<'_>) {
        for (name, script) in value.members() {
            let name = name.text().unwrap_or_default();
            let Some(command) = script.text() else { continue };
            if INSTALL_SCRIPTS.contains(&name.as_ref()) {
                self.evidence.capability(
                    self.scope,
                    &script.span(),
                    CapabilityKind::PackageInstall,
                    &format!("npm script {name}"),
                );
                let is_network = ["curl", "wget", "http", "base64", "eval", "| sh"]
                    .iter()
                    .any(|word| command.contains(word));
                if is_network {
                    self.report(
                        &script.span(),
                        AuditClass::Remote,
                        Risk::High,
                        format!("uses the network when the package is installed (`{name}`)"),
                    );
                }
            }
            self.run(&command, &script.span());
        }
    }

    /// Settings that remove questions.
    fn visit_setting(&mut self, name: &str, value: JsonValue<'_>) {
        let text = value.text().unwrap_or_default();
        let is_true = value.as_bool() == Some(true);
        let found = match name {
            "defaultMode" if text == "bypassPermissions" => {
                Some((Risk::High, "starts the agent without permission checks"))
            }
            "enableAllProjectMcpServers" if is_true => {
                Some((Risk::Medium, "trusts every MCP server of the project"))
            }
            "autoApprove" | "alwaysAllow" | "trust"
                if is_true || text == "*" || value.items().any(|item| item.eq_str("*")) =>
            {
                Some((Risk::Medium, "approves every call of a tool"))
            }
            "chat.tools.autoApprove" | "chat.tools.global.autoApprove" if is_true => {
                Some((Risk::High, "approves every call of a tool"))
            }
            "runOn" if text == "folderOpen" => {
                Some((Risk::Medium, "runs a task when the folder is opened"))
            }
            "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" | "OPENAI_API_BASE"
                if value.kind() == JsonKind::Text
                    && !text.contains("localhost")
                    && !text.contains("anthropic.com")
                    && !text.contains("openai.com")
                    && !text.contains("127.0.0.1") =>
            {
                Some((Risk::Medium, "sends all requests of the agent to another server"))
            }
            _ => None,
        };
        if let Some((risk, message)) = found {
            self.report(&value.span(), AuditClass::ToolGrant, risk, message.into());
        }
    }

    fn run(&mut self, command: &str, span: &Range<usize>) {
        let scope = self.scope.nested(span, None);
        scan_script(ScriptLanguage::Shell, command, &scope, self.evidence);
    }

    fn report(&mut self, span: &Range<usize>, class: AuditClass, risk: Risk, message: String) {
        let detection = Detection::new(class, risk, Confidence::Likely, message);
        self.evidence.report(self.scope, span, detection);
    }
}

fn quoted(argument: &str) -> String {
    let is_plain = argument.chars().all(|c| c.is_alphanumeric() || "-_./:=@,+".contains(c));
    if is_plain || argument.contains('\'') { argument.to_owned() } else { format!("'{argument}'") }
}

/// Records the hosts and credentials in a configuration or data file.
pub(super) fn scan_values(text: &str, scope: &Scope, evidence: &mut Evidence) {
    scan_urls(text, &(0..0), scope, evidence);
}

fn scan_urls(text: &str, span: &Range<usize>, scope: &Scope, evidence: &mut Evidence) {
    for range in host_ranges(text) {
        let Some(host) = external_host(&text[range.clone()]) else { continue };
        let at = if span.is_empty() { range } else { span.clone() };
        evidence.capability(scope, &at, CapabilityKind::Host, &host);
        if is_collector(&host) {
            let message = format!("contains the address of `{host}`, a host that collects data");
            evidence.report(
                scope,
                &at,
                Detection::new(AuditClass::Exfiltration, Risk::Medium, Confidence::Likely, message),
            );
        }
    }
    if !span.is_empty() && text.len() < 1024 && credential_in(text).is_some() {
        evidence.capability(scope, span, CapabilityKind::Secret, text);
    }
}

/// Scans a makefile or a container file: the lines that are passed to a shell.
pub(super) fn scan_recipe(text: &str, scope: &Scope, evidence: &mut Evidence) {
    let mut script = String::with_capacity(text.len());
    let mut continues = false;
    for line in text.split_inclusive('\n') {
        let upper = line.trim_start();
        let is_run = ["RUN ", "CMD ", "ENTRYPOINT "].iter().any(|word| upper.starts_with(word));
        if is_run || line.starts_with('\t') || continues {
            let command = if is_run {
                upper.split_once(' ').map_or("", |(_, rest)| rest)
            } else {
                upper.trim_start_matches(['@', '-'])
            };
            script.extend(std::iter::repeat_n(' ', line.len() - command.len()));
            script.push_str(command);
            continues = line.trim_end().ends_with('\\');
        } else {
            script.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
            continues = false;
        }
    }
    scan_script(ScriptLanguage::Shell, &script, scope, evidence);
}
