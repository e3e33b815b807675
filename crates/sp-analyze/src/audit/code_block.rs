//! The text of code blocks: languages, prompts, and lines that look like commands.

/// The language of a code block, in lower case.
pub(super) fn language_of(info: &str) -> String {
    let word = info
        .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '+' && c != '#')
        .find(|word| !word.is_empty());
    word.unwrap_or_default().to_ascii_lowercase()
}

/// Replaces prompts with spaces. If there are any, all other lines are output.
pub(super) fn without_prompts(content: &str) -> String {
    let is_prompt =
        |line: &str| line.trim_start().starts_with("$ ") || line.trim_start().starts_with("% ");
    if !content.lines().any(is_prompt) {
        return content.to_owned();
    }
    let mut output = String::with_capacity(content.len());
    let mut continues = false;
    for line in content.split_inclusive('\n') {
        if is_prompt(line) {
            output.push_str(&line.replacen(['$', '%'], " ", 1));
        } else if continues {
            output.push_str(line);
        } else {
            blank(line, &mut output);
        }
        continues = (is_prompt(line) || continues) && line.trim_end().ends_with('\\');
    }
    output
}

/// The lines that start with a program, and spaces in place of the others.
pub(super) fn command_lines(content: &str) -> String {
    let mut output = String::with_capacity(content.len());
    for line in content.split_inclusive('\n') {
        let command = line.trim_start().trim_start_matches("$ ").trim_start();
        if looks_like_command(command) {
            let before = line.len() - command.len();
            blank(&line[..before], &mut output);
            output.push_str(command);
        } else {
            blank(line, &mut output);
        }
    }
    output
}

fn blank(text: &str, output: &mut String) {
    output.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

/// Whether a text starts like a command that is worth reading without a language.
pub(super) fn looks_like_command(text: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "apt",
        "apt-get",
        "aws",
        "base64",
        "bash",
        "brew",
        "bun",
        "bunx",
        "cargo",
        "cat",
        "chmod",
        "claude",
        "cp",
        "crontab",
        "curl",
        "dd",
        "dig",
        "docker",
        "echo",
        "env",
        "eval",
        "export",
        "find",
        "gh",
        "git",
        "gpg",
        "iex",
        "kubectl",
        "launchctl",
        "mkfs",
        "nc",
        "ncat",
        "node",
        "nohup",
        "npm",
        "npx",
        "openssl",
        "perl",
        "pip",
        "pip3",
        "pnpm",
        "powershell",
        "printenv",
        "python",
        "python3",
        "rm",
        "rsync",
        "ruby",
        "scp",
        "sh",
        "shred",
        "socat",
        "source",
        "ssh",
        "sudo",
        "systemctl",
        "tar",
        "tee",
        "uv",
        "uvx",
        "wget",
        "xxd",
        "yarn",
        "zip",
        "zsh",
    ];
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    PROGRAMS.contains(&first) && words.next().is_some()
}
