//! Paths, variables and hosts that matter, whatever the language of a script.

use std::borrow::Cow;
use std::sync::LazyLock;

use sp_formats::workspace::is_secret_name;

use super::word_filter::WordFilter;

/// Parts of paths that contain credentials, and what is in them.
const CREDENTIAL_PATHS: &[(&str, &str)] = &[
    (".ssh/id_", "SSH private keys"),
    (".ssh/*", "SSH keys"),
    ("id_rsa", "SSH private keys"),
    ("id_ed25519", "SSH private keys"),
    (".aws/credentials", "AWS credentials"),
    (".aws/config", "AWS credentials"),
    (".netrc", "passwords in `.netrc`"),
    (".pgpass", "PostgreSQL passwords"),
    (".my.cnf", "MySQL passwords"),
    (".npmrc", "npm tokens"),
    (".pypirc", "PyPI tokens"),
    (".cargo/credentials", "crates.io tokens"),
    (".docker/config.json", "Docker credentials"),
    (".kube/config", "Kubernetes credentials"),
    (".gnupg", "GnuPG keys"),
    (".password-store", "the password store"),
    (".config/gcloud", "Google Cloud credentials"),
    ("application_default_credentials.json", "Google Cloud credentials"),
    (".azure/", "Azure credentials"),
    (".git-credentials", "git passwords"),
    (".config/gh/hosts", "GitHub tokens"),
    (".vault-token", "Vault tokens"),
    (".terraform.d/credentials", "Terraform tokens"),
    ("etc/shadow", "password hashes"),
    ("etc/sudoers", "sudo rules"),
    ("login data", "saved browser passwords"),
    ("cookies.sqlite", "browser cookies"),
    ("network/cookies", "browser cookies"),
    ("default/cookies", "browser cookies"),
    ("google/chrome", "browser data"),
    (".mozilla/firefox", "browser data"),
    ("firefox/profiles", "browser data"),
    ("logins.json", "saved browser passwords"),
    ("key4.db", "saved browser passwords"),
    ("library/keychains", "the keychain"),
    ("login.keychain", "the keychain"),
    ("keyrings", "the keyring"),
    (".claude/.credentials", "agent credentials"),
    (".claude.json", "agent credentials"),
    (".codex/auth.json", "agent credentials"),
    (".gemini/oauth_creds", "agent credentials"),
    (".bash_history", "the shell history"),
    (".zsh_history", "the shell history"),
    (".python_history", "the Python history"),
    ("wallet.dat", "a wallet"),
    (".ethereum/keystore", "a wallet"),
    (".electrum", "a wallet"),
    (".config/solana/id.json", "a wallet"),
    ("proc/self/environ", "the environment"),
    ("secrets/kubernetes.io", "Kubernetes credentials"),
];

/// Directories that contain credentials as a whole.
const CREDENTIAL_DIRS: &[(&str, &str)] = &[
    (".ssh", "SSH keys"),
    (".aws", "AWS credentials"),
    (".kube", "Kubernetes credentials"),
    (".config/gcloud", "Google Cloud credentials"),
    (".azure", "Azure credentials"),
];

/// Returns what a path gives access to, if it contains credentials.
pub(super) fn credential_in(path: &str) -> Option<&'static str> {
    static FILTER: LazyLock<WordFilter> =
        LazyLock::new(|| WordFilter::of(CREDENTIAL_PATHS.iter().map(|(part, _)| *part)));
    let lower = normalized(path);
    let lower = lower.trim_matches(['"', '\'', '@', '`']);
    let by_part = FILTER
        .may_match(lower)
        .then(|| CREDENTIAL_PATHS.iter().find(|(part, _)| lower.contains(part)))
        .flatten();
    let trimmed = lower.trim_end_matches(['/', '*', '.']);
    let by_dir = || {
        CREDENTIAL_DIRS.iter().find(|(dir, _)| {
            trimmed
                .strip_suffix(dir)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        })
    };
    let is_env_file = || {
        let name = lower.rsplit('/').next().unwrap_or_default();
        let is_template = ["example", "sample", "template", "dist", "test"];
        name.strip_prefix(".env").is_some_and(|rest| {
            (rest.is_empty() || rest.starts_with('.'))
                && !is_template.iter().any(|word| rest.contains(word))
        })
    };
    by_part
        .or_else(by_dir)
        .map(|(_, what)| *what)
        .or_else(|| is_env_file().then_some("an `.env` file"))
        // A public key is not a secret.
        .filter(|_| !lower.ends_with(".pub") && !lower.contains("known_hosts"))
}

/// A path in lower case, with slashes. Most paths are written like that.
fn normalized(path: &str) -> Cow<'_, str> {
    if path.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'\\') {
        path.to_ascii_lowercase().replace('\\', "/").into()
    } else {
        path.into()
    }
}

/// Whether content at a credential path is so private that sending it is never part of a task.
pub(super) fn is_never_sent(what: &str) -> bool {
    [
        "SSH",
        "AWS",
        "browser",
        "keychain",
        "keyring",
        "wallet",
        "GnuPG",
        "hashes",
        "Kubernetes",
        "history",
    ]
    .iter()
    .any(|word| what.contains(word))
}

/// Paths that outlive a task when they are written, and what then happens.
const PERSISTENT_PATHS: &[(&str, &str)] = &[
    ("authorized_keys", "grants SSH access"),
    (".bashrc", "changes every shell"),
    (".bash_profile", "changes every shell"),
    (".zshrc", "changes every shell"),
    (".zshenv", "changes every shell"),
    (".zprofile", "changes every shell"),
    (".profile", "changes every shell"),
    ("config.fish", "changes every shell"),
    ("etc/profile", "changes every shell"),
    ("etc/cron", "runs on a schedule"),
    ("spool/cron", "runs on a schedule"),
    ("launchagents", "runs at every login"),
    ("launchdaemons", "runs at every start"),
    ("systemd/system", "runs at every start"),
    ("systemd/user", "runs at every login"),
    (".config/autostart", "runs at every login"),
    ("etc/rc.local", "runs at every start"),
    ("etc/init.d", "runs at every start"),
    ("ld.so.preload", "is loaded into every program"),
    (".git/hooks", "runs on git operations"),
    (".gitconfig", "changes git everywhere"),
    ("start menu/programs/startup", "runs at every login"),
    ("sitecustomize.py", "runs with every Python program"),
    ("usercustomize.py", "runs with every Python program"),
    (".claude/settings", "changes the settings of the agent"),
    (".claude.json", "changes the settings of the agent"),
    (".claude/claude.md", "changes the instructions of every session"),
    (".claude/hooks", "runs with every tool of the agent"),
    (".codex/config", "changes the settings of the agent"),
    (".codex/agents.md", "changes the instructions of every session"),
    (".cursor/mcp.json", "changes the settings of the agent"),
    (".gemini/gemini.md", "changes the instructions of every session"),
];

/// Returns what writing to a path does beyond the task.
pub(super) fn persistence_of(path: &str) -> Option<&'static str> {
    static FILTER: LazyLock<WordFilter> =
        LazyLock::new(|| WordFilter::of(PERSISTENT_PATHS.iter().map(|(part, _)| *part)));
    let lower = normalized(path);
    if !FILTER.may_match(&lower) {
        return None;
    }
    // Instructions of the user, not of the project.
    let found = PERSISTENT_PATHS.iter().find(|(part, _)| lower.contains(part));
    found.map(|(_, what)| *what).filter(|_| !lower.ends_with(".gitignore"))
}

/// Whether a path lies outside of a skill and of the project.
pub(super) fn is_outside(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    let is_special = path.starts_with("/dev/") && !path.starts_with("/dev/tcp") || path == "/";
    let is_absolute = path.starts_with('/') && path.len() > 1 && !path.starts_with("//");
    let is_home =
        path.starts_with('~') || path.starts_with("$HOME") || path.starts_with("%USERPROFILE%");
    !is_special
        && (is_absolute || is_home || path.starts_with("../../"))
        && !path.contains(char::is_whitespace)
}

/// Variables that every program reads.
const COMMON_VARIABLES: &[&str] = &[
    "BASH_SOURCE",
    "COLUMNS",
    "EDITOR",
    "EUID",
    "HOME",
    "HOSTNAME",
    "IFS",
    "LANG",
    "LINENO",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PATH",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "UID",
    "USER",
];

/// Whether a variable says something about what a script does.
pub(super) fn is_notable_variable(name: &str) -> bool {
    name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !COMMON_VARIABLES.contains(&name)
}

/// Whether the name of a variable is that of a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret_name(name) && !lower.contains("tokeniz") && !lower.contains("max_tokens")
        || lower.ends_with("_key")
            && (lower.contains("api") || lower.contains("secret") || lower.contains("private"))
}

/// Hosts that collect what is sent to them, for anyone who asks.
const COLLECTOR_HOSTS: &[&str] = &[
    "webhook.site",
    "requestbin.com",
    "requestbin.net",
    "pipedream.net",
    "beeceptor.com",
    "requestcatcher.com",
    "hookbin.com",
    "postb.in",
    "ngrok.io",
    "ngrok-free.app",
    "ngrok.app",
    "trycloudflare.com",
    "serveo.net",
    "localtunnel.me",
    "loca.lt",
    "interact.sh",
    "oast.fun",
    "oast.live",
    "oast.me",
    "oast.online",
    "oast.pro",
    "oast.site",
    "oastify.com",
    "burpcollaborator.net",
    "dnslog.cn",
    "ceye.io",
    "canarytokens.com",
    "transfer.sh",
    "file.io",
    "0x0.st",
    "termbin.com",
    "ix.io",
    "paste.rs",
    "pastebin.com",
    "hastebin.com",
    "dpaste.com",
    "anonfiles.com",
    "bashupload.com",
    "temp.sh",
    "catbox.moe",
    "gofile.io",
];

/// Parts of host names that no one gives to an ordinary service.
const COLLECTOR_LABELS: &[&str] = &[
    "attacker",
    "c2",
    "collect",
    "collector",
    "exfil",
    "exfiltrate",
    "evil",
    "grabber",
    "harvest",
    "hook",
    "implant",
    "intake",
    "keylog",
    "loot",
    "malicious",
    "payload",
    "requestbin",
    "skimmer",
    "stealer",
    "webhook",
    "webhook-site",
    "drop",
    "dropbox-sync",
    "telemetry-relay",
];

/// Whether a host exists to collect what is sent to it.
pub(super) fn is_collector(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_of = |known: &str| {
        host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    COLLECTOR_HOSTS.iter().any(|known| is_of(known))
        || host.split('.').rev().skip(1).any(|label| {
            COLLECTOR_LABELS.contains(&label)
                || label.split('-').any(|part| {
                    part != "drop" && part != "hook" && COLLECTOR_LABELS.contains(&part)
                })
        })
}

/// Hosts that only count visits.
const TRACKER_HOSTS: &[&str] = &[
    "google-analytics.com",
    "googletagmanager.com",
    "segment.io",
    "segment.com",
    "mixpanel.com",
    "amplitude.com",
    "posthog.com",
    "hotjar.com",
    "plausible.io",
    "fullstory.com",
    "heap.io",
    "scarf.sh",
    "bit.ly",
    "grabify.link",
    "iplogger.org",
];

/// Names of hosts that only count visits.
const TRACKER_LABELS: &[&str] =
    &["analytics", "pixel", "telemetry", "track", "tracker", "tracking", "beacon", "stats"];

/// Whether a host belongs to a service for the analysis of visits.
pub(super) fn is_analytics(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_of = |known: &str| {
        host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    TRACKER_HOSTS.iter().any(|known| is_of(known))
}

/// Whether a host only counts visits.
pub(super) fn is_tracker(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    is_analytics(&host)
        || host.split('.').rev().skip(1).any(|label| TRACKER_LABELS.contains(&label))
}

/// Hosts of installers that their projects tell users to pipe into a shell.
const INSTALLER_HOSTS: &[&str] = &[
    "sh.rustup.rs",
    "astral.sh",
    "get.docker.com",
    "bun.sh",
    "bun.com",
    "deno.land",
    "install.python-poetry.org",
    "raw.githubusercontent.com",
    "get.pnpm.io",
    "nixos.org",
    "fnm.vercel.app",
    "get.helm.sh",
    "deb.nodesource.com",
    "rpm.nodesource.com",
    "claude.ai",
    "ollama.com",
    "ollama.ai",
    "fly.io",
    "get.sdkman.io",
    "sh.brew.sh",
    "install.determinate.systems",
    "cursor.com",
    "mise.run",
    "mise.jdx.dev",
    "starship.rs",
    "get.k3s.io",
    "tailscale.com",
    "foundry.paradigm.xyz",
    "cli.github.com",
    "sentry.io",
    "render.com",
    "pyenv.run",
    "railway.app",
    "railway.com",
    "githubusercontent.com",
    "github.com",
];

/// Whether a host is known for its installers.
pub(super) fn is_installer_host(host: &str) -> bool {
    let is_of = |known: &str| {
        host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    INSTALLER_HOSTS.iter().any(|known| is_of(known))
}

/// Whether a host is an IP address outside of private networks.
pub(super) fn is_public_address(host: &str) -> bool {
    let parts: Vec<u8> = host.split('.').filter_map(|part| part.parse().ok()).collect();
    match parts[..] {
        [a, b, _, _] if host.split('.').count() == 4 => {
            !matches!((a, b), (0 | 10 | 127, _) | (192, 168) | (172, 16..=31))
        }
        _ => false,
    }
}

/// The address at which clouds give credentials to programs.
pub(super) fn is_metadata_host(host: &str) -> bool {
    matches!(host, "169.254.169.254" | "metadata.google.internal" | "100.100.100.200")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_04_paths_with_credentials_are_known() {
        for path in [
            "~/.ssh/id_rsa",
            "$HOME/.aws/credentials",
            "~/.ssh",
            "/root/.ssh/",
            ".env",
            "app/.env.local",
        ] {
            assert!(credential_in(path).is_some(), "{path}");
        }
        for path in
            ["~/.ssh/id_rsa.pub", ".env.example", "environment.py", "~/.config/app", "docs/ssh.md"]
        {
            assert!(credential_in(path).is_none(), "{path}");
        }
    }

    #[test]
    fn au_06_hosts_that_collect_are_known() {
        for host in
            ["abc.webhook.site", "x.ngrok.io", "collector.example.com", "data-exfil.example.org"]
        {
            assert!(is_collector(host), "{host}");
        }
        for host in ["example.com", "api.example.com", "collective.example", "notwebhook.site"] {
            assert!(!is_collector(host), "{host}");
        }
        assert!(is_public_address("203.0.113.7") && !is_public_address("192.168.0.1"));
        assert!(!is_public_address("1.2.3.example"));
    }
}
