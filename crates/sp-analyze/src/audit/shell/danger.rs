//! Commands that destroy data, raise privileges, or outlive a task.

use super::arguments::is_shell;
use super::command::{ShellCommand, first_host};
use super::{ShellScanner, ShellWord};
use crate::audit::capability::CapabilityKind;
use crate::audit::finding::AuditClass::{
    self, Destructive, Obfuscation, Persistence, Privilege, Remote,
};
use crate::audit::finding::Confidence::{self, Certain, Hint, Likely};
use crate::audit::finding::Detection;
use crate::audit::finding::Risk::{self, High, Low, Medium};

/// What is reported about a command.
type Danger = (AuditClass, Risk, Confidence, &'static str);

/// Reports what is dangerous about a command on its own.
pub(super) fn check_command(scanner: &mut ShellScanner<'_, '_>, command: &ShellCommand) {
    let found = destruction(command)
        .or_else(|| privilege(command))
        .or_else(|| persistence(command))
        .or_else(|| hiding(command))
        .or_else(|| reverse_shell(command));
    let Some((class, risk, confidence, message)) = found else { return };
    if class == Persistence {
        scanner.flow.capability(&command.span, CapabilityKind::Persistence, &command.program);
    }
    scanner.flow.report(&command.span, Detection::new(class, risk, confidence, message));
}

fn destruction(command: &ShellCommand) -> Option<Danger> {
    let texts = command.texts();
    let has = |word: &str| texts.contains(&word);
    Some(match command.program.as_str() {
        "rm" if command.has_letter('r') || command.has_letter('R') || has("--recursive") => {
            if texts.iter().any(|text| is_everything(text)) {
                (Destructive, High, Certain, "deletes the home directory or the whole system")
            } else if texts.iter().any(|text| is_user_data(text)) {
                (Destructive, High, Likely, "deletes directories of the user")
            } else if texts.contains(&"--no-preserve-root") {
                (Destructive, High, Certain, "deletes the whole system")
            } else {
                return None;
            }
        }
        "find"
            if (has("-delete") || has("rm"))
                && texts.first().is_some_and(|text| is_everything(text) || is_user_data(text)) =>
        {
            (Destructive, High, Likely, "deletes files everywhere below the home directory")
        }
        "mkfs" | "wipefs" | "sgdisk" => (Destructive, High, Likely, "erases a file system"),
        program if program.starts_with("mkfs.") => {
            (Destructive, High, Likely, "erases a file system")
        }
        "dd" if texts
            .iter()
            .any(|text| is_disk(text.trim_start_matches("of=")) && text.starts_with("of=")) =>
        {
            (Destructive, High, Likely, "overwrites a disk")
        }
        "shred" if texts.iter().any(|text| is_user_data(text) || is_everything(text)) => {
            (Destructive, High, Likely, "destroys files of the user")
        }
        "history" if has("-c") || has("-cw") => {
            (Destructive, Medium, Likely, "deletes the shell history")
        }
        "unset" if has("HISTFILE") => {
            (Destructive, Medium, Likely, "stops recording the shell history")
        }
        "export"
            if texts
                .iter()
                .any(|text| text.starts_with("HISTFILE=/dev/null") || *text == "HISTSIZE=0") =>
        {
            (Destructive, Medium, Likely, "stops recording the shell history")
        }
        "rm" | "shred" | "truncate"
            if texts.iter().any(|text| text.contains("_history") || text.contains("/var/log")) =>
        {
            (Destructive, Medium, Likely, "deletes logs or the shell history")
        }
        "git"
            if has("push")
                && (has("--force") || has("-f"))
                && texts.iter().any(|text| matches!(*text, "main" | "master")) =>
        {
            (Destructive, Low, Hint, "overwrites the main branch of a repository")
        }
        "aws" if has("rb") && has("--force") => {
            (Destructive, Medium, Hint, "deletes a storage bucket with its content")
        }
        "kubectl" if has("delete") && (has("--all") || has("-A") || has("--all-namespaces")) => {
            (Destructive, Medium, Hint, "deletes all resources of a cluster or a namespace")
        }
        "vssadmin" | "wbadmin" if has("delete") => (Destructive, High, Likely, "deletes backups"),
        "tmutil" if has("deletelocalsnapshots") || has("disable") => {
            (Destructive, Medium, Likely, "deletes or disables backups")
        }
        _ => return None,
    })
}

fn privilege(command: &ShellCommand) -> Option<Danger> {
    let texts = command.texts();
    let has = |word: &str| texts.contains(&word);
    let any = |part: &str| texts.iter().any(|text| text.contains(part));
    Some(match command.program.as_str() {
        "sudo" | "doas" if has("su") || has("-i") && texts.len() == 1 => {
            (Privilege, Medium, Likely, "starts a shell as root")
        }
        "sudo" | "doas" => (Privilege, Low, Hint, "runs a command as root"),
        "chmod"
            if any("u+s")
                || any("+s")
                || texts
                    .first()
                    .is_some_and(|mode| mode.len() == 4 && mode.starts_with(['4', '6'])) =>
        {
            (Privilege, High, Likely, "lets a program run as its owner")
        }
        "chmod"
            if has("777")
                && texts.iter().any(|text| is_everything(text) || text.starts_with("/etc")) =>
        {
            (Privilege, High, Likely, "makes system files writable for everyone")
        }
        "setcap" => (Privilege, Medium, Likely, "gives capabilities to a program"),
        "usermod" | "gpasswd" | "dseditgroup" | "adduser"
            if any("sudo") || any("wheel") || any("admin") || has("docker") =>
        {
            (Privilege, Medium, Likely, "adds a user to a privileged group")
        }
        "visudo" => (Privilege, Medium, Likely, "changes who may become root"),
        "docker" | "podman"
            if has("--privileged")
                || any("-v/:/")
                || has("/:/host")
                || has("/:/mnt")
                || any("/var/run/docker.sock:") =>
        {
            (
                Privilege,
                Medium,
                if has("--privileged") && any("/:/") { Likely } else { Hint },
                "gives a container access to the host",
            )
        }
        _ => return protection(command),
    })
}

/// Commands that disable what protects the system.
fn protection(command: &ShellCommand) -> Option<Danger> {
    let texts = command.texts();
    let has = |word: &str| texts.contains(&word);
    let any = |part: &str| texts.iter().any(|text| text.contains(part));
    Some(match command.program.as_str() {
        "setenforce" if has("0") => (Privilege, High, Likely, "disables SELinux"),
        "spctl" if has("--master-disable") || has("--global-disable") => {
            (Privilege, High, Likely, "disables Gatekeeper")
        }
        "csrutil" if has("disable") => {
            (Privilege, High, Likely, "disables system integrity protection")
        }
        "xattr" if any("com.apple.quarantine") => {
            (Privilege, Medium, Hint, "removes the quarantine of a download")
        }
        "ufw" if has("disable") => (Privilege, Medium, Likely, "disables the firewall"),
        "iptables" if has("-F") || has("--flush") => {
            (Privilege, Medium, Likely, "removes all firewall rules")
        }
        "systemctl" | "service"
            if (has("stop") || has("disable") || has("mask"))
                && [
                    "firewalld",
                    "ufw",
                    "auditd",
                    "apparmor",
                    "falcon-sensor",
                    "crowdstrike",
                    "clamav",
                ]
                .iter()
                .any(|name| any(name)) =>
        {
            (Privilege, High, Likely, "stops a protection of the system")
        }
        "nsenter" => (Privilege, Medium, Likely, "enters the namespaces of the host"),
        "claude" | "codex" | "gemini" | "cursor-agent" | "cursor" | "copilot" | "opencode"
        | "aider"
            if has("--dangerously-skip-permissions")
                || has("--yolo")
                || has("--dangerously-bypass-approvals-and-sandbox")
                || any("bypassPermissions")
                || has("--allow-all-tools")
                || has("--yes-always") =>
        {
            (Privilege, Medium, Hint, "starts an agent that does not ask for permission")
        }
        "git" if has("config") && any("http.sslVerify") && has("false") => {
            (Privilege, Medium, Likely, "disables the verification of certificates")
        }
        "npm" if has("config") && any("strict-ssl") && has("false") => {
            (Privilege, Medium, Likely, "disables the verification of certificates")
        }
        _ => return None,
    })
}

fn persistence(command: &ShellCommand) -> Option<Danger> {
    let texts = command.texts();
    let has = |word: &str| texts.contains(&word);
    Some(match command.program.as_str() {
        "crontab" if !has("-l") && !has("-r") && !has("-e") => {
            let runs_code =
                ["curl", "wget", "base64", "/tmp/", "/dev/tcp", "| sh", "|sh", "| bash"]
                    .iter()
                    .any(|word| command.stdin.text.contains(word));
            let risk = if runs_code { High } else { Medium };
            (Persistence, risk, Likely, "runs a command on a schedule")
        }
        "at" | "batch" if command.stdin.is_constant || !texts.is_empty() => {
            (Persistence, Medium, Hint, "runs a command later")
        }
        "launchctl" if has("load") || has("bootstrap") || has("submit") => {
            (Persistence, Medium, Likely, "runs a program at every login")
        }
        "systemctl" if has("enable") => {
            let is_user = has("--user") || has("--now");
            (
                Persistence,
                if is_user { Medium } else { Low },
                if is_user { Likely } else { Hint },
                "runs a service at every start",
            )
        }
        "schtasks" if has("/create") || has("/Create") => {
            (Persistence, Medium, Likely, "runs a command on a schedule")
        }
        "reg" if has("add") && texts.iter().any(|text| text.contains("CurrentVersion\\Run")) => {
            (Persistence, High, Likely, "runs a program at every login")
        }
        "git"
            if has("config")
                && texts.iter().any(|text| {
                    *text == "core.hooksPath"
                        || text.starts_with("alias.") && has("--global")
                        || *text == "core.fsmonitor"
                        || *text == "core.sshCommand"
                }) =>
        {
            let is_global = has("--global") || has("--system");
            (
                Persistence,
                if is_global { Medium } else { Low },
                if is_global { Likely } else { Hint },
                "makes git run other programs",
            )
        }
        "nohup" | "setsid" | "disown"
            if texts.iter().any(|text| text.contains("/tmp/.") || text.contains("/dev/shm")) =>
        {
            (Persistence, High, Likely, "leaves a hidden program running")
        }
        "ssh-copy-id" => (Persistence, Medium, Hint, "grants SSH access to another machine"),
        "useradd" | "adduser" => (Persistence, Medium, Hint, "creates a user"),
        "claude" | "codex" | "gemini" if has("mcp") && has("add") => {
            (Persistence, Low, Hint, "adds an MCP server to the agent")
        }
        _ => return None,
    })
}

/// Options that hide what a command does.
fn hiding(command: &ShellCommand) -> Option<Danger> {
    let texts = command.texts();
    let has = |word: &str| texts.iter().any(|text| text.eq_ignore_ascii_case(word));
    Some(match command.program.as_str() {
        "powershell" | "pwsh" | "powershell.exe"
            if has("-enc")
                || has("-encodedcommand")
                || has("-e") && texts.iter().any(|text| text.len() > 40) =>
        {
            (Obfuscation, High, Likely, "executes an encoded PowerShell command")
        }
        "pip" | "pip3"
            if has("--trusted-host") && texts.iter().any(|text| text.starts_with("http://")) =>
        {
            (Remote, Medium, Likely, "installs packages from a server without verifying it")
        }
        "pip" | "pip3" | "uv"
            if (has("--extra-index-url") || has("--index-url") || has("-i"))
                && texts.iter().any(|text| {
                    first_host(text).is_some_and(|host| {
                        !host.ends_with("pypi.org")
                            && !host.ends_with("pytorch.org")
                            && !host.ends_with("nvidia.com")
                            && !host.contains("mirror")
                            && !host.ends_with("tsinghua.edu.cn")
                            && !host.ends_with("aliyun.com")
                    })
                }) =>
        {
            (Remote, Low, Likely, "installs packages from a server of its own")
        }
        "npm" | "yarn" | "pnpm"
            if texts.iter().any(|text| {
                (text.starts_with("--registry") || text.starts_with("http"))
                    && first_host(text).is_some_and(|host| {
                        !host.ends_with("npmjs.org")
                            && !host.ends_with("yarnpkg.com")
                            && !host.ends_with("npmmirror.com")
                            && !host.ends_with("github.com")
                    })
            }) =>
        {
            (Remote, Low, Likely, "installs packages from a server of its own")
        }
        _ => return None,
    })
}

fn reverse_shell(command: &ShellCommand) -> Option<Danger> {
    let texts = command.texts();
    let runs_shell = texts.iter().any(|text| {
        text.rsplit(['/', ':']).next().is_some_and(is_shell)
            || text.to_ascii_lowercase().starts_with("exec:")
            || text.contains("/bin/sh")
    });
    let found = match command.program.as_str() {
        "nc" | "ncat" | "netcat" => {
            (texts.iter().any(|text| text.starts_with('-') && text.contains('e'))
                || texts.contains(&"-c"))
                && runs_shell
        }
        "socat" => runs_shell,
        _ => false,
    };
    found.then_some((Privilege, High, Certain, "gives a remote machine a shell"))
}

/// Reports text that no parser is needed for.
pub(super) fn check_raw_text(scanner: &mut ShellScanner<'_, '_>) {
    const TEXTS: &[(&str, Danger)] = &[
        (":(){ :|:& };:", (Destructive, High, Certain, "starts processes until the system stops")),
        (":(){:|:&};:", (Destructive, High, Certain, "starts processes until the system stops")),
        ("NOPASSWD", (Privilege, High, Likely, "lets a user become root without a password")),
        (
            "NODE_TLS_REJECT_UNAUTHORIZED=0",
            (Privilege, Medium, Hint, "disables the verification of certificates"),
        ),
    ];
    for (text, (class, risk, confidence, message)) in TEXTS {
        let found = scanner.text.find(text).filter(|at| {
            let line_start = scanner.text[..*at].rfind('\n').map_or(0, |start| start + 1);
            let before = scanner.text[line_start..*at].trim_end();
            // A bomb in a list of blocked commands is quoted.
            *class != Destructive || before.is_empty() || before.ends_with([';', '&', '|'])
        });
        if let Some(at) = found {
            scanner.flow.report(
                &(at..at + text.len()),
                Detection::new(*class, *risk, *confidence, *message),
            );
        }
    }
    let text = scanner.text;
    let mut last = None;
    for (at, _) in text.match_indices("/dev/tcp/") {
        let line_start = text[..at].rfind('\n').map_or(0, |start| start + 1);
        // A line may be long, and is read once.
        if last.replace(line_start) == Some(line_start) {
            continue;
        }
        let line = text[line_start..].lines().next().unwrap_or_default();
        let is_shell_session = line.contains("0>&1")
            || line.contains("<&")
            || line.contains("-i >")
            || line.contains("exec ");
        if is_shell_session {
            let detection =
                Detection::new(Privilege, High, Certain, "gives a remote machine a shell");
            scanner.flow.report(&(line_start..line_start + line.len()), detection);
        }
    }
}

/// Reports writes to devices and to the rules of `sudo`.
pub(super) fn check_write(scanner: &mut ShellScanner<'_, '_>, word: &ShellWord) {
    let path = word.value.text.trim_start_matches("of=");
    let found = if is_disk(path) {
        Some((Destructive, "overwrites a disk"))
    } else if path.contains("/etc/sudoers")
        || path.ends_with("/etc/passwd")
        || path.ends_with("/etc/shadow")
    {
        Some((Privilege, "changes who may become root"))
    } else {
        None
    };
    if let Some((class, message)) = found {
        scanner.flow.report(&word.span, Detection::new(class, High, Likely, message));
    }
}

fn is_disk(path: &str) -> bool {
    ["/dev/sd", "/dev/nvme", "/dev/disk", "/dev/hd", "/dev/vd", "/dev/mmcblk"]
        .iter()
        .any(|disk| path.starts_with(disk))
}

/// Whether a path is the root or the home directory.
fn is_everything(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    matches!(
        path,
        "/" | "/*"
            | "~"
            | "~/"
            | "~/*"
            | "$HOME"
            | "$HOME/"
            | "$HOME/*"
            | "/home"
            | "/home/*"
            | "/etc"
            | "/usr"
            | "/var"
            | "/root"
            | "/Users"
            | "C:\\"
            | "~/.*"
    )
}

fn is_user_data(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    let inside = path.strip_prefix("~/").or_else(|| path.strip_prefix("$HOME/"));
    inside.is_some_and(|inside| {
        let first = inside.split('/').next().unwrap_or_default();
        let is_whole = inside.trim_end_matches(['/', '*']) == first;
        is_whole
            && [
                "Documents",
                "Desktop",
                "Pictures",
                "Downloads",
                ".ssh",
                ".gnupg",
                ".config",
                "Library",
                "Projects",
                "projects",
                "work",
                "src",
                "code",
                "backups",
                "Backups",
            ]
            .contains(&first)
    })
}
