//! The numbered rules that Skillpack follows, each in one line.
//!
//! A test that proves a rule has its ID in its name (`sp_17_…`). `docs/conformance.md` is generated
//! from this list and those names. Rules that `sp` can report to a user are in
//! [`checks`](crate::checks).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Such as `SP-17`.
    pub id: &'static str,
    /// The requirement in one line.
    pub title: &'static str,
}

/// Rules with the same prefix.
#[derive(Debug, Clone, Copy)]
pub struct RuleSet {
    /// The topic.
    pub name: &'static str,
    pub rules: &'static [Rule],
}

macro_rules! rules {
    ($($name:literal: { $($id:literal $title:literal)+ })+) => {
        /// Every rule by topic.
        pub const RULE_SETS: &[RuleSet] = &[$(
            RuleSet { name: $name, rules: &[$(Rule { id: $id, title: $title }),+] },
        )+];
    };
}

rules! {
    "Skillpacks v0": {
        "SP-01" "A local skill is a directory below `skills/` with `SKILL.md` and none below it"
        "SP-02" "`skills/SKILL.md` is an error; a remote root `SKILL.md` is ignored with a warning"
        "SP-03" "A directory with `SKILL.md` above another is no skill, and is named on request"
        "SP-04" "A skill directory may be a link; `SKILL.md` only inside such a directory"
        "SP-05" "The id is the UTF-8 path below `skills/`"
        "SP-06" "`sp list` needs `skills/`; a pack with only imports does not"
        "SP-07" "Remote skills stand anywhere but at the root; the id is the path from the root"
        "SP-08" "Git is the transport; shorthands expand; dangerous URLs are refused first"
        "SP-09" "A remote tree is untrusted: links stay inside, submodules and code are left alone"
        "SP-10" "A ref is a tag, branch or commit; the full commit is recorded; a tag wins"
        "SP-11" "Pack files need a name and a selection; unknown and double keys are errors"
        "SP-12" "A pack is named by file name, by `name`, or by path; two of one name are an error"
        "SP-13" "Prefix, separator and flatten have defaults; a folder name is one safe segment"
        "SP-14" "Patterns are whole, case-sensitive, with `*` and `**` and nothing else"
        "SP-15" "Matching is linear in practice"
        "SP-16" "Includes, imports less their excludes, union, then the pack's excludes"
        "SP-17" "An include that matches nothing is an error with its place and the nearest ids"
        "SP-18" "Output order is stable"
        "SP-19" "Two skills for one folder are an error, case and Unicode form folded"
        "SP-20" "Folder = prefix + separator + flattened id"
        "SP-21" "The whole directory is copied, links dereferenced, executable bits kept"
        "SP-22" "An existing destination must be ours"
        "SP-23" "What is no longer selected is deleted, if it was ours and lies in the sink"
        "SP-24" "An install is one transaction, checked before the first change"
        "SP-25" "An unchanged reinstall changes nothing; an edited folder is kept in the trash"
        "SP-26" "Inside the sink is judged on real paths"
        "SP-27" "Built-in, configured and table sinks; `--path` overrides; unknown ones are listed"
        "SP-28" "The home is `~/.skillpack`, or `SKILLPACK_HOME`"
        "SP-29" "State is version 1, lossless, atomic, never overwritten when broken, and locked"
        "SP-30" "Uninstall deletes exactly what is recorded"
        "SP-31" "Seven commands with their flags, three formats, honest exit codes"
        "SP-32" "Several agents at once; a dry run changes nothing"
        "SP-33" "Patterns by the letter"
        "SP-34" "`.git` is passed over everywhere"
        "SP-35" "Two refs of one repo, moving branches, offline, and only what is selected is fetched"
        "SP-36" "A sink is its real path"
        "SP-37" "The same pack name from elsewhere needs `--replace`"
        "SP-38" "Uninstall works anywhere and follows no link"
        "SP-39" "A sink inside the authoring tree, or the reverse, is refused"
        "SP-40" "A hint where the agent minds that folder and skill name differ"
        "SP-41" "A hint where the agent reads elsewhere than the default"
        "SP-42" "`sp skills` is `sp list`; `sp switch` replaces all packs of a sink at once"
    }
    "Agent Skills": {
        "AS-01" "Frontmatter between `---` lines at byte 0, then Markdown"
        "AS-02" "The fields and their forms"
        "AS-03" "Checking is strict, installing is lenient"
        "AS-04" "An unquoted `: ` is read as if quoted, with a warning"
        "AS-05" "Extra fields are warnings that name the agent which uses them"
        "AS-06" "The token cost of the three tiers"
        "AS-07" "Referenced files exist inside the skill"
    }
    "SkillBag": {
        "SB-01" "The files of a workspace"
        "SB-02" "The catalog has a line for each skill, exactly, sorted"
        "SB-03" "Names are words of a-z and 0-9 with single hyphens"
        "SB-04" "`SKILL.md` has a name and a description"
        "SB-05" "Execution identifiers and names are one-to-one"
        "SB-06" "Conversation, user context, context, entrypoint, skill: the higher counts"
        "SB-07" "Parameters are declared once, and a missing one is a problem with its name"
        "SB-08" "Each effective value can be explained"
        "SB-09" "Secrets are never written"
        "SB-10" "A workspace's dependencies have name, version and source, and come first"
        "SB-11" "A skill's dependencies; without a source only the local name counts"
        "SB-12" "A source is git, a zip on the web, a zip, or a directory, with its three files"
        "SB-13" "Extra steps are shown and never run"
        "SB-14" "Override, then local, then declaration; cycles are errors"
        "SB-15" "Two sources or versions of one name stop everything"
        "SB-16" "Conflicts are settled by the user, the project, the name"
        "SB-17" "The reserved skill and its line"
        "SB-18" "What is present stays unless asked"
        "SB-19" "Any failure stops the run before the first change"
        "SB-20" "Local edits are never overwritten unasked"
        "SB-21" "The catalog follows every change"
        "SB-22" "Only git and http(s) fetch, within limits"
        "SB-23" "Tags, and what a context makes of them"
        "SB-24" "Entering and running print and execute nothing"
        "SB-25" "`check` judges a workspace, a source, or both"
    }
    "Context Pack 0.1": {
        "CP-01" "The files of a pack: UTF-8 without a mark, LF; `pack.json` alone is one"
        "CP-02" "What `pack.json` states"
        "CP-03" "Paths stay inside, are no links and stand there once; unlisted files and unknown members"
        "CP-04" "Frontmatter with the file, the pack and the version"
        "CP-05" "`cursor.md` and `AGENTS.md`"
        "CP-06" "`skills.md`: 3 to 12 skills with context, pattern and sources"
        "CP-07" "`sources.md`: every source with its summary and claims"
        "CP-08" "`prompts.md`: 3 to 8 prompts in blocks of text"
        "CP-09" "`tasks.md`: numbered tasks with acceptance"
        "CP-10" "Hashes hold, and every footnote outside of code leads to its source"
        "CP-11" "`sp context check` judges a folder, a zip or an address"
        "CP-12" "A pack from a knowledge base, every sentence with its footnote"
        "CP-13" "The same inputs give the same bytes"
        "CP-14" "Installed into a repository beside the user's own text, and taken out again"
        "CP-15" "The same pack gives the same zip"
        "CP-16" "Served behind a signed address"
        "CP-17" "Packs and their building over MCP"
    }
    ".ctxpkg": {
        "PK-01" "One UTF-8 JSON object with `manifest` and `content`, under limits, no key twice"
        "PK-02" "Read liberally, write strictly: unknown members survive to the letter"
        "PK-03" "The manifest's fields; a name is never a path"
        "PK-04" "What schema 2 adds; an unknown kind is refused by name"
        "PK-05" "Dependencies in both shapes, with SemVer ranges"
        "PK-06" "The layers and what is in them"
        "PK-07" "Declared layers are there, and layers that are there are declared"
        "PK-08" "Hashes and size of the content as it stands"
        "PK-09" "What we write is canonical"
        "PK-10" "Verified on every load, in order; a failure refuses the file"
        "PK-11" "Ed25519 over name, version and composite hash"
        "PK-12" "A second signature over the whole manifest; strict verification"
        "PK-13" "Keys, trust on first use, unsigned packages"
        "PK-14" "The transport envelope, in both forms"
        "PK-15" "Nodes and edges"
        "PK-16" "Levels are checked"
        "PK-17" "Decay is exact and pure"
        "PK-18" "The best nodes within a budget of tokens"
        "PK-19" "Merging, in any order and grouping"
        "PK-20" "Schema 1 becomes a graph"
        "PK-21" "A package from a project"
        "PK-22" "The life cycle's commands"
        "PK-23" "Install: dependencies, all or nothing, a lock, an undo"
        "PK-24" "Packages of skills carry documents"
        "PK-25" "The registry's public surface"
    }
    "MCP": {
        "MC-01" "Every revision of the protocol that clients speak, over stdio and HTTP"
        "MC-02" "The skills extension: lists, entries and files with digests"
        "MC-03" "Tools with schemas, structured results and annotations; writing only where it is allowed"
        "MC-04" "Skills, context packs and packages as resources; prompts of context packs"
        "MC-05" "Over HTTP: this machine only, the origin checked, tokens beyond it, limits"
        "MC-06" "Plain schemas, and no answer to what is not declared"
        "MC-07" "Proven with clients that others wrote"
        "MC-08" "The agent's own config is extended, never overwritten"
        "MC-09" "Skills where other installers look for them over HTTP"
    }
    "Safety and trust": {
        "SE-01" "Wholly old or wholly new, under any death or error"
        "SE-02" "Stage, journal, exchange, commit by generation, recover"
        "SE-03" "Containment by construction: typed names beneath a handle"
        "SE-04" "Ceilings in one place, raised by flag or config"
        "SE-05" "Git without hooks, filters, prompts or foreign config"
        "SE-06" "Links resolved inside or refused; special files and bits dropped"
        "SE-07" "Credentials are used and never written or printed"
        "SE-08" "Escapes, bidi and control characters are shown escaped"
        "SE-09" "Hidden Unicode is found and decoded"
        "SE-10" "Locks are enforced"
        "SE-11" "Signatures are strict"
        "SE-12" "Exit codes are honest"
        "SE-13" "No telemetry, no needless network, no stranger's code"
        "SE-14" "No `unsafe`; parsers are fuzzed; limits are tested at and past the limit"
    }
}
