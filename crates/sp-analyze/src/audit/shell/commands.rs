//! What a command does with its words and its input.

use super::arguments::{
    copies, installed_packages, is_builtin, is_interpreter, is_network, is_shell, packs,
    prints_personal, takes_value, wrapper_arguments, writes,
};
use super::command::ShellCommand;
use super::{ShellScanner, ShellWord, danger};
use crate::audit::capability::CapabilityKind;
use crate::audit::finding::{AuditClass, Confidence, Detection, Risk};
use crate::audit::flow::ScriptLanguage;
use crate::audit::packages::check_package_name;
use crate::audit::sensitive::{credential_in, is_outside};
use crate::audit::value::{ScriptValue, Taint, decode_base64, decode_hex, rot13, unescape};
use crate::hosts::external_host;

impl ShellScanner<'_, '_> {
    pub(super) fn execute(&mut self, command: &ShellCommand) -> ScriptValue {
        danger::check_command(self, command);
        if let Some(inner) = unwrap(command) {
            self.record_program(command);
            return self.execute(&inner);
        }
        self.record_program(command);
        self.record_packages(command);
        let program = command.program.as_str();
        match program {
            "echo" | "printf" => return joined(command),
            "eval" => return self.run_text(command, &joined(command), ScriptLanguage::Shell),
            "source" | "." => return self.source(command),
            "alias" | "export" | "declare" | "cd" | "test" | "[" | "trap" => {
                return ScriptValue::default();
            }
            "env" | "printenv" | "set" if command.arguments.is_empty() => {
                return ScriptValue::tainted(Taint::ENVIRONMENT, "the environment");
            }
            _ => {}
        }
        if is_shell(program) || is_interpreter(program) {
            return self.interpret(command);
        }
        if is_decoder(program)
            && let Some(decoded) = decode(command, &self.input_of(command))
        {
            return decoded;
        }
        if let Some(what) = prints_personal(program) {
            return ScriptValue::tainted(Taint::PERSONAL, what);
        }
        if is_network(program) {
            return self.transfer(command);
        }
        self.run_file(command);
        self.use_files(command)
    }

    /// Records the program, unless it is part of the shell.
    fn record_program(&mut self, command: &ShellCommand) {
        let program = command.program.as_str();
        let is_name = program.len() > 1
            && program.len() <= 64
            && !is_builtin(program)
            && program.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && program
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'))
            && !program.starts_with('$');
        if is_name {
            self.flow.capability(&command.name.span, CapabilityKind::Program, program);
        }
        let written = command.name.written.as_str();
        let is_split = command.name.value.is_constant
            && written.len() > program.len()
            && written
                .chars()
                .skip(1)
                .take(written.len().saturating_sub(2))
                .any(|c| matches!(c, '\'' | '"' | '\\'))
            && !written.starts_with(['"', '\'', '$'])
            && (is_network(program)
                || is_shell(program)
                || is_interpreter(program)
                || program == "rm"
                || program == "eval");
        if is_split || command.name.value.taint.has(Taint::DECODED) && is_name {
            let message = format!("hides that it executes `{program}`");
            let detection =
                Detection::new(AuditClass::Obfuscation, Risk::High, Confidence::Likely, message);
            self.flow.report(&command.name.span, detection);
        }
    }

    fn record_packages(&mut self, command: &ShellCommand) {
        let texts = command.texts();
        let Some((manager, names)) = installed_packages(&command.program, &texts) else { return };
        let names: Vec<String> = names
            .into_iter()
            .filter(|name| !name.starts_with(['.', '/', '$', '<']))
            .map(Into::into)
            .collect();
        for name in &names {
            self.flow.capability(
                &command.span,
                CapabilityKind::PackageInstall,
                &format!("{manager}:{name}"),
            );
            if let Some(detection) = check_package_name(manager, name) {
                self.flow.report(&command.span, detection);
            }
        }
        for word in &command.arguments {
            self.flow.visit_urls(&word.span, &word.value.text);
        }
    }

    /// Runs a text that the command has as an argument or reads.
    fn run_text(
        &mut self,
        command: &ShellCommand,
        text: &ScriptValue,
        language: ScriptLanguage,
    ) -> ScriptValue {
        self.flow.execute(&command.span, text, language);
        ScriptValue { text: String::new(), is_constant: false, ..text.clone() }
    }

    fn source(&mut self, command: &ShellCommand) -> ScriptValue {
        let Some(word) = command.arguments.first() else { return ScriptValue::default() };
        let is_substitution =
            word.written.starts_with("<(") || word.value.taint.has(Taint::FETCHED);
        let content = if is_substitution {
            word.value.clone()
        } else {
            self.flow.read_path(&word.span, &word.value.text)
        };
        if content.taint.has(Taint::FETCHED | Taint::DECODED) {
            self.flow.execute(&command.span, &content, ScriptLanguage::Shell);
        }
        ScriptValue::default()
    }

    /// `sh -c …`, `python3 file`, `… | bash`.
    fn interpret(&mut self, command: &ShellCommand) -> ScriptValue {
        let program = command.program.as_str();
        let language = match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "python" | "pypy" => Some(ScriptLanguage::Python),
            "node" | "bun" | "deno" => Some(ScriptLanguage::JavaScript),
            "tsx" | "ts-node" => Some(ScriptLanguage::TypeScript),
            _ if is_shell(program) => Some(ScriptLanguage::Shell),
            _ => None,
        };
        let code =
            command.option(&["-c", "-e", "--eval", "-lc", "-ic", "-ec", "-Command", "-r", "-p"]);
        let mut output = ScriptValue::default();
        if let Some(code) = code {
            if let Some(language) = language {
                self.flow.execute(&code.span, &code.value, language);
            } else if code.value.taint.has(Taint::FETCHED | Taint::DECODED) {
                let unread =
                    ScriptValue { text: String::new(), is_constant: false, ..code.value.clone() };
                self.flow.execute(&code.span, &unread, ScriptLanguage::Shell);
            }
            self.flow.visit_urls(&code.span, &code.value.text);
            output.absorb(&command.stdin);
            return output;
        }
        let script = command.operands().next();
        let is_stdin = script
            .is_none_or(|word| word.value.text == "-" || word.value.text == "/dev/stdin")
            || command.has_flag(&["-s"]);
        if is_stdin && (command.stdin.taint != Taint::NONE || command.stdin.is_constant) {
            self.flow.execute(
                &command.span,
                &command.stdin,
                language.unwrap_or(ScriptLanguage::Shell),
            );
        } else if let Some(script) = script {
            let content = if script.value.taint.has(Taint::FETCHED) {
                script.value.clone()
            } else {
                self.flow.read_path(&script.span, &script.value.text)
            };
            if content.taint.has(Taint::FETCHED | Taint::DECODED) {
                self.flow.execute(
                    &command.span,
                    &content,
                    language.unwrap_or(ScriptLanguage::Shell),
                );
            }
            for word in command.arguments.iter().skip(1) {
                self.visit_argument(word);
            }
        }
        output
    }

    /// A program that was downloaded or decoded before.
    fn run_file(&mut self, command: &ShellCommand) {
        let path = command.name.value.text.as_str();
        if !path.contains('/') {
            return;
        }
        let content = self.flow.read_path(&command.name.span, path);
        if content.taint.has(Taint::FETCHED | Taint::DECODED) {
            self.flow.execute(&command.span, &content, ScriptLanguage::Shell);
        }
    }

    /// Records what an argument refers to.
    fn visit_argument(&mut self, word: &ShellWord) -> ScriptValue {
        let text = word.value.text.as_str();
        let text = text
            .split_once('=')
            .map_or(text, |(option, value)| if option.starts_with('-') { value } else { text });
        self.flow.visit_urls(&word.span, text);
        if is_outside(text) || credential_in(text).is_some() {
            return self.flow.read_path(&word.span, text);
        }
        ScriptValue::default()
    }

    /// The input of a command: its stdin, and the files in its arguments.
    fn input_of(&mut self, command: &ShellCommand) -> ScriptValue {
        let mut input = command.stdin.clone();
        if input.text.is_empty() && input.taint == Taint::NONE {
            for word in command.operands() {
                let read = self.flow.read_path(&word.span, &word.value.text);
                if read != ScriptValue::default() {
                    return read;
                }
                input.absorb(&word.value);
            }
        }
        input
    }

    /// A program that contacts hosts: it sends what it reads, and prints what it receives.
    fn transfer(&mut self, command: &ShellCommand) -> ScriptValue {
        let mut payload = command.stdin.clone();
        let mut host = None;
        let mut is_hidden = false;
        let mut last = "";
        for word in &command.arguments {
            let text = word.value.text.as_str();
            let named = self
                .flow
                .visit_urls(&word.span, text)
                .or_else(|| bare_host(&command.program, text));
            if let Some(named) = named {
                is_hidden |= word.value.taint.has(Taint::DECODED);
                self.flow.capability(&word.span, CapabilityKind::Host, &named);
                host.get_or_insert(named);
            }
            let file = text.rsplit_once('@').map_or(text, |(_, file)| file);
            let file = file.split(';').next().unwrap_or(file);
            let is_auth = matches!(text, "-H" | "--header" | "-u" | "--user");
            // A key that is used to connect is not sent, and an output file is not read.
            let option = std::mem::replace(&mut last, text);
            if matches!(option, "-i" | "--cert" | "--key" | "--cacert" | "--netrc-file") {
                self.flow.read_path(&word.span, text);
                continue;
            }
            if matches!(option, "-o" | "-O" | "--output" | "--output-document") {
                continue;
            }
            if !is_auth && (text.contains('@') || !text.starts_with('-')) && !text.contains("://") {
                let read = self.flow.read_path(&word.span, file);
                payload.absorb(&read);
            }
            // A key in a header or in a URL authenticates a request.
            let is_header = text.contains(": ") || text.to_ascii_lowercase().starts_with("bearer");
            let is_secret_variable = word.value.taint.has(Taint::ENVIRONMENT)
                && word.value.source.as_deref().is_some_and(|source| source.starts_with("`$"));
            if !is_header && !is_secret_variable {
                payload.absorb(&word.value);
            }
        }
        let is_private =
            payload.taint.has(Taint::CREDENTIAL | Taint::PERSONAL | Taint::ENVIRONMENT);
        // Private data may also be in the address of a request.
        if sends(command) || is_private && host.is_some() {
            self.flow.send(&command.span, &payload, host.as_deref());
        }
        let fetched = fetched_from(host.as_deref(), is_hidden);
        if host.is_some() {
            self.save_download(command, &fetched);
        }
        fetched
    }

    fn save_download(&mut self, command: &ShellCommand, fetched: &ScriptValue) {
        if let Some(path) = command.option(&["-o", "-O", "--output", "--output-document"]) {
            self.flow.write_path(&path.span, &path.value.text, fetched);
            let local = path.value.text.trim_start_matches("./");
            self.flow.write_path(&path.span, local, fetched);
        }
    }

    /// Any other program: it reads and writes the paths in its arguments.
    fn use_files(&mut self, command: &ShellCommand) -> ScriptValue {
        let program = command.program.as_str();
        let mut output = command.everything();
        output.is_constant = false;
        let operands: Vec<ShellWord> = command.operands().cloned().collect();
        let is_in_place = program == "sed"
            && command.arguments.iter().any(|word| word.value.text.starts_with("-i"));
        for (index, word) in operands.iter().enumerate() {
            let is_target = copies(program) && index + 1 == operands.len() && index > 0;
            if is_target
                || writes(program)
                || is_in_place
                || program == "dd" && word.value.text.starts_with("of=")
            {
                danger::check_write(self, word);
                let path = word.value.text.trim_start_matches("of=").to_owned();
                if program == "tee" || is_target || is_in_place {
                    self.flow.write_path(&word.span, &path, &output);
                } else if is_outside(&path) {
                    self.flow.capability(&word.span, CapabilityKind::PathWrite, &path);
                }
            } else {
                let read = self.visit_argument(word);
                output.absorb(&read);
                let written = self.flow.read_path(&word.span, &word.value.text);
                output.absorb(&written);
            }
        }
        if packs(program)
            && let Some(archive) = operands.iter().find(|word| is_archive(&word.value.text))
        {
            self.flow.write_path(&archive.span, &archive.value.text, &output);
        }
        output
    }
}

fn is_archive(path: &str) -> bool {
    [".tar", ".tgz", ".gz", ".zip", ".7z", ".xz", ".bz2", ".zst", ".tar.gz"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

fn fetched_from(host: Option<&str>, is_hidden: bool) -> ScriptValue {
    let source = host.map_or_else(|| "the network".to_owned(), |host| format!("`{host}`"));
    let taint = if is_hidden { Taint::FETCHED | Taint::DECODED } else { Taint::FETCHED };
    ScriptValue::tainted(taint, source)
}

/// Whether a command sends a body or a file.
fn sends(command: &ShellCommand) -> bool {
    match command.program.as_str() {
        "curl" => command.arguments.iter().any(|word| {
            let text = word.value.text.as_str();
            text.starts_with("--data")
                || text.starts_with("--form")
                || text.starts_with("--upload")
                || text == "--json"
                || text.starts_with("-d")
                || text.starts_with("-F")
                || text.starts_with("-T")
        }),
        "wget" => command.arguments.iter().any(|word| {
            word.value.text.starts_with("--post") || word.value.text.starts_with("--body")
        }),
        "nc" | "ncat" | "netcat" | "socat" | "scp" | "rsync" | "sftp" | "ftp" | "rclone"
        | "mail" | "mailx" | "sendmail" | "mutt" | "swaks" | "telnet" | "mosquitto_pub"
        | "websocat" | "dig" | "nslookup" | "host" | "ping" | "gsutil" | "s3cmd" | "tftp" => true,
        "ssh" | "openssl" => command.stdin.taint != Taint::NONE,
        "http" | "https" | "xh" => {
            command.texts().iter().any(|text| matches!(*text, "POST" | "PUT") || text.contains("="))
        }
        _ => false,
    }
}

/// The host in an argument that is not a URL.
fn bare_host(program: &str, text: &str) -> Option<String> {
    if text.starts_with('-') || text.contains("://") {
        return None;
    }
    let address = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let host = address.split([':', '/', '?']).next().unwrap_or_default();
    let is_name = host.contains('.')
        && host.split('.').all(|label| {
            !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        });
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_file = !address.contains(['/', ':'])
        && matches!(
            last,
            "json"
                | "txt"
                | "sh"
                | "py"
                | "zip"
                | "gz"
                | "tgz"
                | "html"
                | "md"
                | "xml"
                | "csv"
                | "log"
                | "pdf"
                | "png"
                | "yaml"
                | "yml"
                | "out"
                | "js"
                | "tar"
        );
    let is_copied = matches!(program, "scp" | "rsync") && !text.contains(':');
    (is_name && !is_file && !is_copied).then(|| external_host(host)).flatten()
}

/// The output of `echo` and `printf`.
fn joined(command: &ShellCommand) -> ScriptValue {
    let mut all = ScriptValue { is_constant: true, ..ScriptValue::default() };
    let mut interprets = command.program == "printf";
    for (index, word) in command.arguments.iter().enumerate() {
        if word.value.text.starts_with('-') && index == 0 && word.value.text.len() <= 4 {
            interprets |= word.value.text.contains('e');
            continue;
        }
        let is_format = command.program == "printf"
            && index == 0
            && word.value.text.contains("%s")
            && command.arguments.len() > 1;
        if is_format {
            continue;
        }
        if !all.text.is_empty() {
            all.append(&ScriptValue::constant(" "));
        }
        all.append(&word.value);
    }
    if interprets && all.text.contains("\\x") {
        all = all.decoded(|text| Some(unescape(text)));
    } else if interprets && all.text.contains('\\') {
        all.text = unescape(&all.text);
    }
    all
}

/// Whether a program can decode its input.
fn is_decoder(program: &str) -> bool {
    matches!(
        program,
        "base64"
            | "gbase64"
            | "base32"
            | "openssl"
            | "xxd"
            | "gunzip"
            | "zcat"
            | "bunzip2"
            | "xzcat"
            | "unxz"
            | "gzip"
            | "xz"
            | "bzip2"
            | "zstd"
            | "rev"
            | "tr"
    )
}

/// The output of a program that decodes its input.
fn decode(command: &ShellCommand, input: &ScriptValue) -> Option<ScriptValue> {
    let has = |flags: &[&str]| command.has_flag(flags);
    match command.program.as_str() {
        "base64" | "gbase64" | "base32" if has(&["-d", "-D", "--decode", "-di", "-id"]) => {
            Some(input.decoded(decode_base64))
        }
        "openssl" if has(&["-d"]) => Some(input.decoded(decode_base64)),
        "xxd" if has(&["-r", "-rp", "-pr", "-ps"]) => Some(input.decoded(decode_hex)),
        "gunzip" | "zcat" | "bunzip2" | "xzcat" | "unxz" if command.operands().next().is_none() => {
            let is_known = input.is_constant && input.taint.has(Taint::DECODED);
            Some(if is_known { input.clone() } else { input.clone().with_taint(Taint::DECODED) })
        }
        "gzip" | "xz" | "bzip2" | "zstd"
            if command.has_letter('d') && command.operands().next().is_none() =>
        {
            Some(input.clone().with_taint(Taint::DECODED))
        }
        "rev" => Some(input.decoded(|text| Some(text.chars().rev().collect()))),
        "tr" if command
            .texts()
            .iter()
            .any(|text| text.contains("n-za-m") || text.contains("N-ZA-M")) =>
        {
            Some(input.decoded(|text| Some(rot13(text))))
        }
        _ => None,
    }
}

/// The command that a wrapper such as `sudo` executes.
fn unwrap(command: &ShellCommand) -> Option<ShellCommand> {
    let own = wrapper_arguments(&command.program)?;
    let mut words = command.arguments.iter().peekable();
    let mut skipped = 0;
    while let Some(word) = words.peek() {
        let text = word.value.text.as_str();
        if text.starts_with('-') {
            words.next();
            if takes_value(&command.program, text) {
                words.next();
            }
        } else if text.contains('=') && !text.starts_with('/') || skipped < own {
            skipped += usize::from(!text.contains('='));
            words.next();
        } else {
            break;
        }
    }
    let rest: Vec<ShellWord> = words.cloned().collect();
    let mut stdin = command.stdin.clone();
    // The arguments that `xargs` adds come from its input.
    if command.program == "xargs" {
        stdin.is_constant = false;
    }
    let span = command.span.clone();
    ShellCommand::new(rest, stdin, span)
}
