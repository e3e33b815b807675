//! What a call does: it decodes, executes, reads, writes, sends, or none of these.

use tree_sitter::Node;

use super::decoding::decode_call;
use super::{CallArgument, CodeScanner, RemoteShell, list_value};
use crate::audit::finding::{AuditClass, Confidence, Detection, Risk};
use crate::audit::flow::ScriptLanguage;
use crate::audit::syntax::children;
use crate::audit::value::{ScriptValue, Taint};

/// A call with its evaluated parts.
pub(super) struct CodeCallSite {
    /// The path of the function, such as `subprocess.run`.
    pub path: String,
    pub receiver: ScriptValue,
    /// The variable or module in front of the function, as it is written.
    pub receiver_name: String,
    pub arguments: Vec<CallArgument>,
    pub span: std::ops::Range<usize>,
}

impl CodeCallSite {
    pub(super) fn argument(&self, index: usize) -> Option<&CallArgument> {
        self.arguments.iter().filter(|argument| argument.name.is_none()).nth(index)
    }

    pub(super) fn named(&self, name: &str) -> Option<&CallArgument> {
        self.arguments.iter().find(|argument| argument.name.as_deref() == Some(name))
    }

    pub(super) fn last_name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    /// Everything that goes into the call.
    pub(super) fn everything(&self) -> ScriptValue {
        let mut all =
            ScriptValue { is_constant: false, text: String::new(), ..self.receiver.clone() };
        for argument in &self.arguments {
            all.absorb(&argument.value);
        }
        all
    }
}

impl CodeScanner<'_, '_> {
    pub(super) fn call(&mut self, node: Node<'_>, depth: usize) -> ScriptValue {
        let function = node
            .child_by_field_name("function")
            .or_else(|| node.child_by_field_name("constructor"));
        let Some(function) = function else { return ScriptValue::default() };
        let path = self.path_of(function, depth).unwrap_or_default();
        let object = function.child_by_field_name("object");
        let receiver = match object {
            Some(object) => self.evaluate(object, depth + 1),
            None if !matches!(function.kind(), "identifier" | "import") => {
                self.evaluate(function, depth + 1)
            }
            None => ScriptValue::default(),
        };
        let receiver_name =
            object.map(|object| self.written(object).to_owned()).unwrap_or_default();
        let path = if path.is_empty() {
            let name = function
                .child_by_field_name("attribute")
                .or_else(|| function.child_by_field_name("property"));
            name.map(|name| format!("?.{}", self.written(name))).unwrap_or_default()
        } else {
            path
        };
        let arguments = self.arguments(node, depth);
        let call =
            CodeCallSite { path, receiver, receiver_name, arguments, span: Self::span(node) };
        self.apply(&call)
    }

    fn arguments(&mut self, node: Node<'_>, depth: usize) -> Vec<CallArgument> {
        let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
        // The only argument may be a generator.
        let nodes = if matches!(list.kind(), "generator_expression" | "template_string") {
            vec![list]
        } else {
            children(list)
        };
        nodes
            .into_iter()
            .filter(|child| child.kind() != "comment")
            .map(|child| {
                let name = (child.kind() == "keyword_argument")
                    .then(|| child.child_by_field_name("name"))
                    .flatten();
                let value_node =
                    name.and_then(|_| child.child_by_field_name("value")).unwrap_or(child);
                let items = self.evaluate_items(value_node, depth + 1);
                let value = match &items {
                    Some(items) => list_value(items),
                    None => self.evaluate(value_node, depth + 1),
                };
                CallArgument {
                    name: name.map(|name| self.written(name).to_owned()),
                    value,
                    items,
                    span: Self::span(child),
                }
            })
            .collect()
    }

    fn apply(&mut self, call: &CodeCallSite) -> ScriptValue {
        self.note_remote_shell(call);
        if let Some(value) = decode_call(&call.path, &call.receiver, &call.arguments) {
            return value;
        }
        if let Some(value) = self.execute(call).or_else(|| self.read_environment(call)) {
            return value;
        }
        if let Some(value) = self.use_network(call).or_else(|| self.use_files(call)) {
            return value;
        }
        if let Some(what) = personal_data(&call.path) {
            return ScriptValue::tainted(Taint::PERSONAL, what);
        }
        self.report_listener(call);
        call.everything()
    }

    /// Calls that execute code or a command.
    fn execute(&mut self, call: &CodeCallSite) -> Option<ScriptValue> {
        let first = call.argument(0)?.clone();
        let path = call.path.trim_start_matches("builtins.");
        let is_code = matches!(path, "eval" | "exec" | "Function" | "execScript")
            || path.starts_with("vm.run")
            || path == "vm.Script";
        if is_code {
            let code = if path == "Function" { call.arguments.last()?.clone() } else { first };
            self.flow.execute(&code.span, &code.value, self.language);
            return Some(ScriptValue { text: String::new(), is_constant: false, ..code.value });
        }
        if path == "compile" {
            return Some(first.value);
        }
        if !runs_command(path) {
            return None;
        }
        let mut command =
            match (&first.items, call.argument(1).and_then(|second| second.items.as_ref())) {
                (Some(items), _) => quoted_command(items),
                (None, Some(rest)) => {
                    let mut words = vec![first.value.clone()];
                    words.extend(rest.iter().cloned());
                    quoted_command(&words)
                }
                _ => first.value.clone(),
            };
        // A variable that is not known makes the command incomplete, not hidden.
        if !command.is_constant {
            command.taint = command.taint.without(Taint::DECODED);
        }
        self.flow.execute(&first.span, &command, ScriptLanguage::Shell);
        if let Some(input) = call.named("input") {
            self.flow.execute(&input.span, &input.value, ScriptLanguage::Shell);
        }
        Some(output_of(&command.text))
    }

    fn read_environment(&mut self, call: &CodeCallSite) -> Option<ScriptValue> {
        let is_read = matches!(
            call.path.as_str(),
            "os.getenv"
                | "os.environ.get"
                | "os.environ.pop"
                | "os.environ.setdefault"
                | "Deno.env.get"
                | "os.environb.get"
        );
        if is_read {
            let name = call.argument(0)?;
            return Some(self.flow.read_variable(&name.span, &name.value.text));
        }
        matches!(call.path.as_str(), "os.environ.copy" | "os.environ.items" | "Deno.env.toObject")
            .then(|| ScriptValue::tainted(Taint::ENVIRONMENT, "the environment"))
    }

    /// Remembers what a shell for a remote machine consists of.
    fn note_remote_shell(&mut self, call: &CodeCallSite) {
        let parts = &mut self.remote_shell;
        let is_socket = call.last_name() == "connect"
            && call.arguments.iter().any(|argument| argument.items.is_some());
        parts.has_connection |= is_socket
            || matches!(
                call.path.as_str(),
                "net.connect"
                    | "net.createConnection"
                    | "net.Socket"
                    | "socket.create_connection"
                    | "tls.connect"
            );
        parts.has_redirection |= call.path == "os.dup2" || call.last_name() == "pipe";
        let Some(first) = call.arguments.first() else { return };
        let command = first.value.text.trim();
        let is_shell = ["/bin/sh", "/bin/bash", "/bin/zsh", "cmd.exe", "powershell.exe"]
            .iter()
            .any(|shell| command.starts_with(shell));
        if is_shell && runs_command(&call.path) {
            parts.shell = Some(call.span.clone());
        }
    }

    /// Reports a shell whose input and output are a connection.
    pub(super) fn report_remote_shell(&mut self) {
        if let RemoteShell { has_connection: true, has_redirection: true, shell: Some(span) } =
            std::mem::take(&mut self.remote_shell)
        {
            let detection = Detection::new(
                AuditClass::Privilege,
                Risk::High,
                Confidence::Certain,
                "gives a remote machine a shell",
            );
            self.flow.report(&span, detection);
        }
    }

    /// Programs that record what the user types.
    fn report_listener(&mut self, call: &CodeCallSite) {
        let is_listener = matches!(
            call.path.as_str(),
            "keyboard.Listener"
                | "pynput.keyboard.Listener"
                | "keyboard.on_press"
                | "keyboard.hook"
                | "keyboard.record"
        );
        if is_listener {
            let detection = Detection::new(
                AuditClass::Exfiltration,
                Risk::High,
                Confidence::Likely,
                "records the keys that the user presses",
            );
            self.flow.report(&call.span, detection);
        }
    }
}

/// Whether a function runs a command.
fn runs_command(path: &str) -> bool {
    const FUNCTIONS: &[&str] = &[
        "os.system",
        "os.popen",
        "os.execv",
        "os.execvp",
        "os.execl",
        "os.execlp",
        "os.spawnl",
        "os.spawnv",
        "os.spawnlp",
        "pty.spawn",
        "subprocess.run",
        "subprocess.call",
        "subprocess.Popen",
        "subprocess.check_output",
        "subprocess.check_call",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "commands.getoutput",
        "asyncio.create_subprocess_shell",
        "asyncio.create_subprocess_exec",
        "child_process.exec",
        "child_process.execSync",
        "child_process.spawn",
        "child_process.spawnSync",
        "child_process.execFile",
        "child_process.execFileSync",
        "child_process.fork",
        "execSync",
        "spawnSync",
        "execa",
        "execaSync",
        "execa.execa",
        "execa.command",
        "shelljs.exec",
        "shell.exec",
        "Bun.spawn",
        "Bun.spawnSync",
        "Deno.Command",
    ];
    FUNCTIONS.contains(&path) || path.ends_with(".run_command") && path.starts_with("sandbox")
}

/// A list of words as a command line.
fn quoted_command(items: &[ScriptValue]) -> ScriptValue {
    let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
    for item in items {
        let needs_quotes =
            item.text.contains(|c: char| c.is_whitespace() || "|&;<>()$`\\\"'*?".contains(c))
                && !item.text.contains('\'');
        let quote = if needs_quotes && item.is_constant { "'" } else { "" };
        if !all.text.is_empty() {
            all.append(&ScriptValue::constant(" "));
        }
        all.append(&ScriptValue::constant(quote));
        all.append(item);
        all.append(&ScriptValue::constant(quote));
    }
    all
}

/// What a command prints, as far as it matters.
fn output_of(command: &str) -> ScriptValue {
    let program = command.split_whitespace().next().unwrap_or_default();
    match program {
        "whoami" | "hostname" | "id" | "uname" => {
            ScriptValue::tainted(Taint::PERSONAL, "details of the user and the machine")
        }
        "env" | "printenv" => ScriptValue::tainted(Taint::ENVIRONMENT, "the environment"),
        "pbpaste" | "xclip" => ScriptValue::tainted(Taint::PERSONAL, "the clipboard"),
        "security" if command.contains("find-generic-password") => {
            ScriptValue::tainted(Taint::CREDENTIAL, "passwords from the keychain")
        }
        "curl" | "wget" => ScriptValue::tainted(Taint::FETCHED, "the network"),
        _ => ScriptValue::default(),
    }
}

/// Functions that return something about the user or the machine.
fn personal_data(path: &str) -> Option<&'static str> {
    Some(match path {
        "getpass.getuser"
        | "os.getlogin"
        | "socket.gethostname"
        | "socket.getfqdn"
        | "platform.node"
        | "platform.uname"
        | "platform.platform"
        | "uuid.getnode"
        | "os.userInfo"
        | "os.hostname"
        | "os.networkInterfaces"
        | "os.uname" => "details of the user and the machine",
        "pyperclip.paste"
        | "clipboardy.read"
        | "clipboardy.readSync"
        | "navigator.clipboard.readText" => "the clipboard",
        "ImageGrab.grab" | "PIL.ImageGrab.grab" | "pyautogui.screenshot" | "mss.mss" => {
            "a screenshot"
        }
        "browser_cookie3.chrome" | "browser_cookie3.load" | "browser_cookie3.firefox" => {
            "browser cookies"
        }
        "keyring.get_password" => "a password from the keyring",
        _ => return None,
    })
}
