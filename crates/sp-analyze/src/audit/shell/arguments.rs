//! What programs do with their arguments: tables of programs and options.

/// Commands of the shell itself, which say nothing about what a script needs.
const BUILTINS: &[&str] = &[
    "!", ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command",
    "continue", "declare", "dirs", "do", "done", "echo", "elif", "else", "esac", "eval", "exec",
    "exit", "export", "false", "fg", "fi", "for", "function", "getopts", "hash", "if", "in",
    "jobs", "let", "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return",
    "select", "set", "shift", "shopt", "source", "test", "then", "time", "times", "trap", "true",
    "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}",
];

pub(super) fn is_builtin(program: &str) -> bool {
    BUILTINS.binary_search(&program).is_ok()
}

/// Programs that execute the command in their arguments, and how many arguments of their own
/// precede it.
pub(super) fn wrapper_arguments(program: &str) -> Option<usize> {
    Some(match program {
        "sudo" | "doas" | "nohup" | "time" | "command" | "exec" | "builtin" | "nice" | "ionice"
        | "setsid" | "stdbuf" | "xargs" | "env" | "busybox" | "caffeinate" | "chronic"
        | "unbuffer" => 0,
        "timeout" | "gtimeout" | "watch" => 1,
        _ => return None,
    })
}

/// Options of wrappers that take a value.
pub(super) fn takes_value(program: &str, option: &str) -> bool {
    match program {
        "sudo" | "doas" => matches!(option, "-u" | "-g" | "-h" | "-p" | "-C"),
        "xargs" => matches!(option, "-I" | "-n" | "-P" | "-L" | "-d" | "-a" | "-s"),
        "env" => matches!(option, "-u" | "-C" | "-S"),
        "nice" | "ionice" => matches!(option, "-n" | "-c" | "-p"),
        "timeout" | "gtimeout" => matches!(option, "-s" | "-k"),
        "watch" => matches!(option, "-n"),
        _ => false,
    }
}

/// Whether a program executes a script from its input or after `-c`.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "csh" | "tcsh")
}

/// Whether a program executes code of another language from its input.
pub(super) fn is_interpreter(program: &str) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "node"
            | "perl"
            | "ruby"
            | "php"
            | "pwsh"
            | "powershell"
            | "lua"
            | "osascript"
            | "deno"
            | "bun"
            | "tsx"
            | "ts-node"
            | "Rscript"
            | "pypy"
    )
}

/// Whether a program contacts the hosts in its arguments.
pub(super) fn is_network(program: &str) -> bool {
    matches!(
        program,
        "curl"
            | "wget"
            | "http"
            | "https"
            | "httpie"
            | "xh"
            | "aria2c"
            | "fetch"
            | "lwp-request"
            | "nc"
            | "ncat"
            | "netcat"
            | "socat"
            | "telnet"
            | "ssh"
            | "scp"
            | "sftp"
            | "rsync"
            | "ftp"
            | "lftp"
            | "rclone"
            | "dig"
            | "nslookup"
            | "host"
            | "ping"
            | "openssl"
            | "mail"
            | "mailx"
            | "sendmail"
            | "mutt"
            | "swaks"
            | "tftp"
            | "gsutil"
            | "s3cmd"
            | "mosquitto_pub"
            | "websocat"
            | "wscat"
            | "Invoke-WebRequest"
            | "iwr"
            | "irm"
            | "Invoke-RestMethod"
    )
}

/// Whether a program copies its first paths to its last one.
pub(super) fn copies(program: &str) -> bool {
    matches!(program, "cp" | "mv" | "install" | "ln" | "ditto")
}

/// Whether a program changes the paths in its arguments.
pub(super) fn writes(program: &str) -> bool {
    matches!(
        program,
        "tee"
            | "touch"
            | "mkdir"
            | "rm"
            | "rmdir"
            | "chmod"
            | "chown"
            | "chgrp"
            | "truncate"
            | "shred"
            | "unlink"
            | "mktemp"
            | "chattr"
    )
}

/// Whether a program packs files into an archive.
pub(super) fn packs(program: &str) -> bool {
    matches!(program, "tar" | "zip" | "7z" | "7za" | "gzip" | "bzip2" | "xz" | "zstd" | "rar")
}

/// Whether a program prints something about the user or the machine.
pub(super) fn prints_personal(program: &str) -> Option<&'static str> {
    Some(match program {
        "whoami" | "id" | "hostname" | "uname" | "ifconfig" | "ip" | "arp" | "w" | "who"
        | "last" | "ps" | "netstat" | "sw_vers" | "systeminfo" | "lscpu" | "dscl" => {
            "details of the user and the machine"
        }
        "history" => "the shell history",
        "pbpaste" | "xclip" | "xsel" | "wl-paste" => "the clipboard",
        "screencapture" | "scrot" | "gnome-screenshot" | "import" => "a screenshot",
        _ => return None,
    })
}

/// Returns the packages that a command installs: the program and the names.
pub(super) fn installed_packages<'w>(
    program: &str,
    arguments: &[&'w str],
) -> Option<(&'static str, Vec<&'w str>)> {
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    let (manager, skip) =
        match (program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'), first, second) {
            ("pip" | "pipx", "install", _) => ("pip", 1),
            ("uv", "pip", "install") => ("pip", 2),
            ("uv", "add", _) => ("pip", 1),
            ("uv", "tool", "install" | "run") => ("pip", 2),
            ("uvx", ..) => ("pip", 0),
            ("python" | "pypy", "-m", "pip") if arguments.get(2) == Some(&"install") => ("pip", 3),
            ("poetry" | "pdm" | "rye", "add", _) => ("pip", 1),
            ("conda" | "mamba", "install", _) => ("conda", 1),
            ("npm", "install" | "i" | "add", _)
            | ("pnpm" | "yarn" | "bun", "add" | "install", _) => ("npm", 1),
            ("yarn", "global", "add") => ("npm", 2),
            ("npx" | "bunx", ..) => ("npm", 0),
            ("pnpm" | "yarn", "dlx", _) => ("npm", 1),
            ("gem", "install", _) => ("gem", 1),
            ("cargo", "install", _) => ("cargo", 1),
            ("go", "install" | "get", _) => ("go", 1),
            ("brew", "install", _) => ("brew", 1),
            (
                "apt" | "apt-get" | "yum" | "dnf" | "apk" | "snap" | "zypper" | "choco" | "winget"
                | "scoop",
                "install" | "add",
                _,
            ) => ("system", 1),
            ("pacman", "-S" | "-Sy" | "-Syu", _) => ("system", 1),
            ("code" | "cursor", "--install-extension", _) => ("extension", 1),
            _ => return None,
        };
    let is_runner = matches!(program, "npx" | "bunx" | "uvx") || second == "run";
    let names =
        arguments[skip.min(arguments.len())..].iter().filter(|argument| !argument.starts_with('-'));
    // The rest of a runner's arguments are those of the program.
    Some((manager, names.copied().take(if is_runner { 1 } else { 50 }).collect()))
}

/// Interpreters that do not count as programs of their own when they run a file of the skill.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit(['/', '\\']).next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_04_builtins_are_sorted_and_installs_are_recognized() {
        assert!(BUILTINS.is_sorted());
        assert_eq!(
            installed_packages("pip3", &["install", "-q", "numpy"]),
            Some(("pip", vec!["numpy"]))
        );
        assert_eq!(
            installed_packages("npx", &["-y", "serve", "dist"]),
            Some(("npm", vec!["serve"]))
        );
        assert_eq!(installed_packages("pip", &["list"]), None);
    }
}
