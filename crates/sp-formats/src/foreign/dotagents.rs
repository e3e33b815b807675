//! `@sentry/dotagents` of npm: the manifest `agents.toml`, and the lockfile `agents.lock`, which is
//! TOML too.
//!
//! The source of a skill is `<owner>/<repo>`, a URL on GitHub or GitLab (both may end with
//! `@<ref>`), `git:<url>`, `path:<directory>`, or a host with an index. The lockfile has the commit
//! of each skill and no digest.

use sp_tree::Limits;

use super::ForeignSelection;
use super::reader::{EntryDraft, ForeignReader, is_commit, local_source};
use super::syntax::{ForeignMember, ForeignNode, ForeignSyntax};

pub(super) fn read_manifest(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Toml, limits) else { return };
    let Some(root) = reader.map(&root, "the manifest") else { return };
    if reader.check_version(&root, "version", &["1"]).is_none() {
        return;
    }
    reader.read_agents(&root, "agents");
    let default = reader.text_member(&root, "defaultRepositorySource");
    let host = if default.as_deref() == Some("gitlab") {
        ShorthandHost::Gitlab
    } else {
        ShorthandHost::Github
    };
    for skill in reader.list(&root, "skills") {
        read_skill(reader, skill, host);
    }
    for (key, what) in [
        ("mcp", "it is not a skill but an MCP server"),
        ("hooks", "it is not a skill but a hook"),
        ("subagents", "it is not a skill but a subagent"),
    ] {
        for item in reader.list(&root, key) {
            let Some(map) = reader.map(item, what) else { continue };
            let name = ["name", "event"].iter().find_map(|key| reader.text_member(&map, key));
            reader.skip(item.span.clone(), name.unwrap_or_else(|| key.into()), what);
        }
    }
}

fn read_skill(reader: &mut ForeignReader<'_>, node: &ForeignNode, host: ShorthandHost) {
    let Some(map) = reader.map(node, "a skill") else { return };
    let Some(name) = reader.required(&map, "name") else { return };
    let Some(source) = reader.required(&map, "source") else { return };
    let DotagentsSource { source, version } = DotagentsSource::parse(source.text, host);
    let version = reader.text_member(&map, "ref").or(version);
    let is_wildcard = name.text == "*";
    let selection = ForeignSelection {
        folder: reader.text_member(&map, "path"),
        skills: if is_wildcard { Vec::new() } else { vec![name.text.to_owned()] },
        exclude: reader.texts(&map, "exclude"),
        ..ForeignSelection::default()
    };
    let name = if is_wildcard { source.clone() } else { name.text.to_owned() };
    reader.add(EntryDraft { span: map.span, name, source, version, selection });
}

pub(super) fn read_lock(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Toml, limits) else { return };
    let Some(root) = reader.map(&root, "the lockfile") else { return };
    if reader.check_version(&root, "version", &["1"]).is_none() {
        return;
    }
    if let Some(skills) = reader.map_member(&root, "skills") {
        skills.members.iter().for_each(|skill| read_locked_skill(reader, skill));
    }
    if let Some(subagents) = reader.map_member(&root, "subagents") {
        for member in subagents.members {
            reader.skip(member.key_span.clone(), &member.key, "it is not a skill but a subagent");
        }
    }
}

fn read_locked_skill(reader: &mut ForeignReader<'_>, member: &ForeignMember) {
    let Some(map) = reader.map(&member.node, "a skill") else { return };
    let Some(written) = reader.required(&map, "source") else { return };
    let source = match reader.text_member(&map, "resolved_url") {
        Some(url) => url,
        None => DotagentsSource::parse(written.text, ShorthandHost::Github).source,
    };
    let commit = reader.text_member(&map, "resolved_commit");
    let version = reader.text_member(&map, "resolved_ref");
    let selection = ForeignSelection {
        folder: reader.text_member(&map, "resolved_path"),
        skills: vec![member.key.clone()],
        ..ForeignSelection::default()
    };
    let span = member.key_span.clone();
    let draft = EntryDraft { span, name: member.key.clone(), source, version, selection };
    if let Some(entry) = reader.add(draft) {
        entry.commit = commit.filter(|commit| is_commit(commit));
    }
}

/// The host of `<owner>/<repo>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShorthandHost {
    Github,
    Gitlab,
}

/// A source in the notation of manifests, and its ref.
#[derive(Debug, PartialEq, Eq)]
struct DotagentsSource {
    source: String,
    version: Option<String>,
}

impl DotagentsSource {
    fn parse(text: &str, host: ShorthandHost) -> Self {
        if let Some(path) = text.strip_prefix("path:") {
            return Self { source: local_source(path), version: None };
        }
        if let Some(url) = text.strip_prefix("git:") {
            return Self { source: url.into(), version: None };
        }
        let is_shorthand = !text.contains(':');
        let text = if is_shorthand { text.strip_prefix('@').unwrap_or(text) } else { text };
        // The user of a URL is followed by `@` too, but not in the last part.
        let name_start = text.rfind('/').map_or(0, |at| at + 1);
        let (source, version) = match text[name_start..].find('@') {
            Some(at) => (&text[..name_start + at], Some(text[name_start + at + 1..].to_owned())),
            None => (text, None),
        };
        let source = match host {
            ShorthandHost::Gitlab if is_shorthand => format!("https://gitlab.com/{source}"),
            _ => source.into(),
        };
        Self { source, version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_17_dotagents_sources_are_split() {
        use ShorthandHost::{Github, Gitlab};
        for (text, host, source, version) in [
            ("acme/skills", Github, "acme/skills", None),
            ("acme/skills@v1", Github, "acme/skills", Some("v1")),
            ("@acme/skills@v1", Github, "acme/skills", Some("v1")),
            ("acme/skills", Gitlab, "https://gitlab.com/acme/skills", None),
            (
                "https://github.com/acme/skills@v1",
                Gitlab,
                "https://github.com/acme/skills",
                Some("v1"),
            ),
            ("git@gitlab.com:a/b.git@v1", Github, "git@gitlab.com:a/b.git", Some("v1")),
            ("git@gitlab.com:a/b.git", Github, "git@gitlab.com:a/b.git", None),
            ("git:https://example.com/a@b", Github, "https://example.com/a@b", None),
            ("path:own/a", Github, "./own/a", None),
            ("path:../a", Gitlab, "../a", None),
            ("https://example.com", Gitlab, "https://example.com", None),
        ] {
            let expected =
                DotagentsSource { source: source.into(), version: version.map(Into::into) };
            assert_eq!(DotagentsSource::parse(text, host), expected, "{text}");
        }
    }
}
