//! Skillpacks: the rules for repositories and packs.

use super::CheckRule;

/// `skills/` itself is not a skill.
pub const SP_02: CheckRule = CheckRule {
    id: "SP-02",
    what: "`skills/` itself is no skill: there is no `skills/SKILL.md`.",
    why: "A skill's id is its path below `skills/`, and the top has none. With a `SKILL.md` there, everything below \
          it would be hidden.",
    bad: "==> skills/SKILL.md\n---\nname: skills\ndescription: All of them.\n---\n",
    good: "==> skills/everything/SKILL.md\n---\nname: everything\ndescription: All of them.\n---\n",
};

/// Directories above a skill are not skills.
pub const SP_03: CheckRule = CheckRule {
    id: "SP-03",
    what: "A folder with a `SKILL.md` has no other `SKILL.md` below it. If it has, only the innermost are skills.",
    why: "The outer one is neither listed nor installed, which its author hardly ever expects.",
    bad: "==> skills/review/SKILL.md\n---\nname: review\ndescription: Reviews a change.\n---\n\
          ==> skills/review/security/SKILL.md\n---\nname: security\ndescription: Looks for holes.\n---\n",
    good: "==> skills/review/general/SKILL.md\n---\nname: general\ndescription: Reviews a change.\n---\n\
           ==> skills/review/security/SKILL.md\n---\nname: security\ndescription: Looks for holes.\n---\n",
};

/// Links.
pub const SP_04: CheckRule = CheckRule {
    id: "SP-04",
    what: "A skill's folder may be a link. Its `SKILL.md` may be one only if the folder is, and a link that leads \
           back to a folder that it lies in is not followed.",
    why: "A link to `SKILL.md` alone takes the text and leaves behind the files that it refers to.",
    bad: "==> skills/tidy-up/SKILL.md -> ../../tidy.md\n==> tidy.md\n---\nname: tidy-up\ndescription: Removes dead \
          code.\n---\n",
    good: "==> skills/tidy-up -> ../shared/tidy-up\n==> shared/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: \
           Removes dead code.\n---\n",
};

/// Skill IDs.
pub const SP_05: CheckRule = CheckRule {
    id: "SP-05",
    what: "A skill's id is its path below `skills/`, so every folder on the way has a name that an id can hold: \
           UTF-8, and no control character such as a tab.",
    why: "Packs pick skills by id, and an id must be the same on every machine.",
    bad: "==> skills/tidy\tup/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
};

/// Repositories.
pub const SP_08: CheckRule = CheckRule {
    id: "SP-08",
    what: "The `repo` of an import is an address that git can fetch from without running a stranger's program: \
           `https://`, `ssh://`, `git://`, `file://`, a shorthand such as `github.com/<org>/<repo>`, or a path.",
    why: "Some addresses make git start helpers, or are taken for options. They are refused before git is started.",
    bad: "==> packs/team.yaml\nname: team\nimports:\n  - repo: ext::sh -c date\n    ref: v1\n    include: ['**']\n",
    good: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1\n    include: \
           ['**']\n",
};

/// Refs.
pub const SP_10: CheckRule = CheckRule {
    id: "SP-10",
    what: "An import says which tag, branch or commit it takes, in `ref`.",
    why: "Without one, whatever the other side's default branch holds that day is installed, and two machines get \
          two different sets of skills.",
    bad: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    include: ['**']\n",
    good: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1.4.0\n    include: \
           ['**']\n",
};

/// The keys of a pack.
pub const SP_11: CheckRule = CheckRule {
    id: "SP-11",
    what: "A pack is a YAML mapping with a `name` and at least one of `include` and `imports`; each import has a \
           `repo` and an `include`. There are no other keys than the format's, and none stands twice.",
    why: "A key that is misspelt would select nothing, or everything, in silence.",
    bad: "==> packs/team.yaml\nname: team\ninclde: ['**']\n==> skills/tidy-up/SKILL.md\n---\nname: \
          tidy-up\ndescription: Removes dead code.\n---\n",
    good: "==> packs/team.yaml\nname: team\ninclude: ['**']\n==> skills/tidy-up/SKILL.md\n---\nname: \
           tidy-up\ndescription: Removes dead code.\n---\n",
};

/// Pack names.
pub const SP_12: CheckRule = CheckRule {
    id: "SP-12",
    what: "No two packs of a repository have the same `name`.",
    why: "A pack is installed by its name, and what is installed is recorded under it.",
    bad: "==> packs/a.yaml\nname: team\ninclude: ['**']\n==> packs/b.yaml\nname: team\ninclude: ['**']\n\
          ==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    good: "==> packs/a.yaml\nname: team\ninclude: ['**']\n==> packs/b.yaml\nname: guests\ninclude: ['**']\n\
           ==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
};

/// Folder names.
pub const SP_13: CheckRule = CheckRule {
    id: "SP-13",
    what: "`install.prefix` and `install.sep` make folder names that every file system can hold, and \
           `install.flatten` is `true` or `false`.",
    why: "An installed skill is one folder in the agent's sink. A slash, a leading dot or a reserved name would make \
          it something else.",
    bad: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  sep: /\n==> skills/tidy-up/SKILL.md\n---\n\
          name: tidy-up\ndescription: Removes dead code.\n---\n",
    good: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  sep: '-'\n==> skills/tidy-up/SKILL.md\n---\n\
           name: tidy-up\ndescription: Removes dead code.\n---\n",
};

/// Patterns without effect.
pub const SP_17: CheckRule = CheckRule {
    id: "SP-17",
    what: "Every `include` pattern matches at least one skill; an `exclude` pattern that takes nothing out is a \
           warning.",
    why: "A pattern that matches nothing is a skill that was renamed, moved or misspelt. Nobody notices its absence \
          until it is missed.",
    bad: "==> packs/team.yaml\nname: team\ninclude:\n  - tdy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
          tidy-up\ndescription: Removes dead code.\n---\n",
    good: "==> packs/team.yaml\nname: team\ninclude:\n  - tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
           tidy-up\ndescription: Removes dead code.\n---\n",
};

/// Two skills for one folder.
pub const SP_19: CheckRule = CheckRule {
    id: "SP-19",
    what: "No two skills that a pack selects get the same folder name, not even in another case or Unicode form.",
    why: "One would overwrite the other in the sink.",
    bad: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  flatten: true\n==> skills/go/lint/SKILL.md\n\
          ---\nname: lint\ndescription: Lints Go.\n---\n==> skills/rust/lint/SKILL.md\n---\nname: lint\ndescription: \
          Lints Rust.\n---\n",
    good: "==> packs/team.yaml\nname: team\ninclude: ['**']\n==> skills/go/lint/SKILL.md\n---\nname: \
           lint\ndescription: Lints Go.\n---\n==> skills/rust/lint/SKILL.md\n---\nname: lint\ndescription: Lints \
           Rust.\n---\n",
};

/// Files that can be installed.
pub const SP_21: CheckRule = CheckRule {
    id: "SP-21",
    what: "A skill consists of files, folders, and links to either. A link to nothing, a link that leads back to \
           where it stands, a socket, a pipe or a device is an error.",
    why: "The whole folder is copied into the sink, links as what they point to. None of those can be.",
    bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
          ==> skills/tidy-up/notes.md -> ../gone.md\n",
    good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
           ==> skills/tidy-up/notes.md\nHere.\n",
};

/// Sinks.
pub const SP_27: CheckRule = CheckRule {
    id: "SP-27",
    what: "A sink in the config has an absolute path, or one below `~/`.",
    why: "A sink is one place, wherever `sp` is started.",
    bad: "==> config.yaml\nsinks:\n  mine: work/skills\n",
    good: "==> config.yaml\nsinks:\n  mine: ~/work/skills\n",
};

/// The config.
pub const SP_28: CheckRule = CheckRule {
    id: "SP-28",
    what: "The config is a YAML mapping with the keys `sinks` and `limits`, both optional.",
    why: "A key that is misspelt would be passed over in silence.",
    bad: "==> config.yaml\nsink:\n  mine: ~/work/skills\n",
    good: "==> config.yaml\nsinks:\n  mine: ~/work/skills\n",
};

/// The syntax of patterns.
pub const SP_33: CheckRule = CheckRule {
    id: "SP-33",
    what: "A pattern is not empty, does not start with `/` or `./`, and does not end with `/`. `*` matches within a \
           folder, `**` across folders, and nothing else is special.",
    why: "A pattern matches a whole id, and no id starts or ends with a slash: such a pattern could match nothing.",
    bad: "==> packs/team.yaml\nname: team\ninclude:\n  - ./tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
          tidy-up\ndescription: Removes dead code.\n---\n",
    good: "==> packs/team.yaml\nname: team\ninclude:\n  - tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
           tidy-up\ndescription: Removes dead code.\n---\n",
};
