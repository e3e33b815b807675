//! Calls that read, write and delete files.

use tree_sitter::Node;

use super::calls::CodeCallSite;
use super::{CodeScanner, list_value};
use crate::audit::capability::CapabilityKind;
use crate::audit::finding::{AuditClass, Confidence, Detection, Risk};
use crate::audit::sensitive::is_outside;
use crate::audit::syntax::children;
use crate::audit::value::ScriptValue;

impl CodeScanner<'_, '_> {
    /// The path of the file that an expression opens.
    pub(super) fn opened_path(&mut self, node: Node<'_>, depth: usize) -> Option<String> {
        if !matches!(node.kind(), "call" | "call_expression") {
            return None;
        }
        let function = node.child_by_field_name("function")?;
        let path = self.path_of(function, depth)?;
        if !matches!(path.as_str(), "open" | "io.open" | "fs.createWriteStream" | "codecs.open") {
            return None;
        }
        let first = children(node.child_by_field_name("arguments")?).into_iter().next()?;
        let value = self.evaluate(first, depth + 1);
        Some(value.text)
    }

    pub(super) fn use_files(&mut self, call: &CodeCallSite) -> Option<ScriptValue> {
        let first = call.argument(0);
        let name = call.last_name();
        let path = call.path.as_str();
        match path {
            "Path" | "pathlib.Path" | "PurePath" | "os.path.expanduser" | "os.path.expandvars"
            | "os.path.abspath" | "os.path.realpath" | "os.fspath" | "URL" | "untildify" => {
                return first.map(|first| first.value.clone());
            }
            "Path.home" | "pathlib.Path.home" | "os.homedir" => {
                return Some(ScriptValue::constant("~"));
            }
            "os.path.join" | "path.join" | "path.resolve" | "path.posix.join" => {
                return Some(join_paths(call));
            }
            "os.path.expanduser()" => return None,
            "open" | "io.open" | "codecs.open" => return Some(self.open(call)),
            "tempfile.gettempdir" | "os.tmpdir" => return Some(ScriptValue::constant("/tmp")),
            _ => {}
        }
        match name {
            "read_text" | "read_bytes" | "open" if !call.receiver.text.is_empty() => {
                Some(self.flow.read_path(&call.span, &call.receiver.text.clone()))
            }
            "readFileSync" | "readFile" | "createReadStream" | "readdirSync" | "readdir"
            | "listdir" | "scandir" | "walk" | "glob" | "rglob" | "globSync" | "make_archive"
            | "getxattr" | "load_dotenv" | "loadtxt" => {
                let mut all = ScriptValue::default();
                for argument in &call.arguments {
                    let read = self.flow.read_path(&argument.span, &argument.value.text);
                    all.absorb(&read);
                }
                if matches!(name, "glob" | "rglob") {
                    all.absorb(&self.flow.read_path(&call.span, &call.receiver.text.clone()));
                }
                Some(all)
            }
            "write_text" | "write_bytes" if !call.receiver.text.is_empty() => {
                let content = first.map(|first| first.value.clone()).unwrap_or_default();
                self.flow.write_path(&call.span, &call.receiver.text.clone(), &content);
                Some(ScriptValue::default())
            }
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "outputFile" => {
                let target = first?;
                let content =
                    call.argument(1).map(|content| content.value.clone()).unwrap_or_default();
                self.flow.write_path(&target.span, &target.value.text, &content);
                Some(ScriptValue::default())
            }
            "write" | "writelines" => self.write_handle(call),
            "add" | "arcname"
                if call.receiver_name.contains("tar") || call.receiver_name.contains("zip") =>
            {
                let target = first?;
                Some(self.flow.read_path(&target.span, &target.value.text))
            }
            "copy" | "copy2" | "copyfile" | "copytree" | "move" | "copyFileSync" | "cpSync"
            | "renameSync" | "symlink"
                if call.arguments.len() >= 2 =>
            {
                let (from, to) = (first?, call.argument(1)?);
                let content = self.flow.read_path(&from.span, &from.value.text);
                self.flow.write_path(&to.span, &to.value.text, &content);
                Some(ScriptValue::default())
            }
            "rmtree" | "rmSync" | "rm" | "removeSync" | "rimraf" | "remove" | "unlink"
            | "unlinkSync" | "rmdirSync" => self.delete(call),
            "chmod" | "chmodSync" | "makedirs" | "mkdir" | "mkdirSync" => {
                let target =
                    first.map(|first| first.value.text.clone()).filter(|text| is_outside(text));
                if let Some(target) = target {
                    self.flow.capability(&call.span, CapabilityKind::PathWrite, &target);
                }
                Some(ScriptValue::default())
            }
            _ => None,
        }
    }

    fn open(&mut self, call: &CodeCallSite) -> ScriptValue {
        let Some(target) = call.argument(0) else { return ScriptValue::default() };
        let mode = call
            .argument(1)
            .or_else(|| call.named("mode"))
            .map(|mode| mode.value.text.clone())
            .unwrap_or_default();
        if mode.contains(['w', 'a', 'x', '+']) {
            if is_outside(&target.value.text) {
                self.flow.capability(&target.span, CapabilityKind::PathWrite, &target.value.text);
            }
            return ScriptValue::default();
        }
        self.flow.read_path(&target.span, &target.value.text)
    }

    /// `f.write(content)` on a file that was opened before.
    fn write_handle(&mut self, call: &CodeCallSite) -> Option<ScriptValue> {
        let content = call.argument(0)?.value.clone();
        let path = match self.handles.get(&call.receiver_name) {
            Some(path) => path.clone(),
            None => self.path_in_open(&call.receiver_name)?,
        };
        self.flow.write_path(&call.span, &path, &content);
        Some(ScriptValue::default())
    }

    /// The path in `open(path, "w")`, where it is a literal or a variable.
    fn path_in_open(&self, written: &str) -> Option<String> {
        let opened = written.strip_prefix("open(")?;
        let opened = opened.trim_start_matches("os.path.expanduser(");
        if let Some(quoted) = opened.strip_prefix(['"', '\'']) {
            return Some(quoted.split(['"', '\'']).next()?.to_owned());
        }
        let name = opened.split([',', ')']).next()?.trim();
        self.variables.get(name).map(|value| value.text.clone())
    }

    fn delete(&mut self, call: &CodeCallSite) -> Option<ScriptValue> {
        let target = call.argument(0)?;
        let path = target.value.text.trim_end_matches('/');
        let is_everything =
            matches!(path, "~" | "$HOME" | "" | "/home" | "/etc" | "/usr" | "/var" | "C:\\")
                && (!path.is_empty() || target.value.text == "/");
        let is_tree =
            matches!(call.last_name(), "rmtree" | "rmSync" | "rm" | "removeSync" | "rimraf");
        if is_everything && is_tree {
            let detection = Detection::new(
                AuditClass::Destructive,
                Risk::High,
                Confidence::Certain,
                "deletes the home directory or the whole system",
            );
            self.flow.report(&call.span, detection);
        }
        if is_outside(&target.value.text) {
            self.flow.capability(
                &target.span,
                CapabilityKind::PathWrite,
                &target.value.text.clone(),
            );
        }
        Some(ScriptValue::default())
    }
}

fn join_paths(call: &CodeCallSite) -> ScriptValue {
    let mut parts: Vec<ScriptValue> = Vec::new();
    for argument in &call.arguments {
        if !parts.is_empty() {
            parts.push(ScriptValue::constant("/"));
        }
        parts.push(argument.value.clone());
    }
    let all = list_value(&parts);
    ScriptValue { text: all.text.replace(" / ", "/"), ..all }
}
