//! The rules of repositories, packs and their installation.

use crate::rules::rule_set;

rule_set! {
    "Skillpacks v0"

    "SP-01" "A local skill is a directory below `skills/` with a `SKILL.md` and no other below it"

    "SP-02" "`skills/SKILL.md` is an error; a remote root `SKILL.md` is ignored with a warning" => SP_02 {
        what: "`skills/` is not a skill itself, so it must not contain a `SKILL.md`.",
        why: "A skill's ID is its path below `skills/`, and `skills/` itself has no such path. A \
              `SKILL.md` there would also hide every skill below it.",
        bad: "==> skills/SKILL.md\n---\nname: skills\ndescription: All of them.\n---\n",
        good: "==> skills/everything/SKILL.md\n---\nname: everything\ndescription: All of them.\n---\n",
    }

    "SP-03" "A directory that contains skills is not a skill itself; it is listed on request" => SP_03 {
        what: "A directory with a `SKILL.md` has no other `SKILL.md` below it. If it does, only \
               the innermost directories are skills.",
        why: "The outer skill is neither listed nor installed, which its author probably did not \
              intend.",
        bad: "==> skills/review/SKILL.md\n---\nname: review\ndescription: Reviews a change.\n---\n\
              ==> skills/review/security/SKILL.md\n---\nname: security\ndescription: Looks for holes.\n---\n",
        good: "==> skills/review/general/SKILL.md\n---\nname: general\ndescription: Reviews a change.\n---\n\
               ==> skills/review/security/SKILL.md\n---\nname: security\ndescription: Looks for holes.\n---\n",
    }

    "SP-04" "A skill directory can be a symbolic link; a linked `SKILL.md` needs a linked directory" => SP_04 security {
        what: "A skill's directory can be a symbolic link. Its `SKILL.md` can be one only if the \
               directory is too. A link to one of its own parent directories is not followed.",
        why: "A link to `SKILL.md` alone installs the text without the files that it refers to.",
        bad: "==> skills/tidy-up/SKILL.md -> ../../tidy.md\n==> tidy.md\n---\nname: tidy-up\ndescription: Removes dead \
              code.\n---\n",
        good: "==> skills/tidy-up -> ../shared/tidy-up\n==> shared/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: \
               Removes dead code.\n---\n",
    }

    "SP-05" "A skill's ID is its UTF-8 path below `skills/`" => SP_05 {
        what: "A skill's ID is its path below `skills/`, so every directory in that path has a \
               name that is valid in an ID: UTF-8 without control characters such as tabs.",
        why: "Packs select skills by ID, and an ID must be the same on every machine.",
        bad: "==> skills/tidy\tup/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-06" "`sp list` requires `skills/`; a pack that only has imports does not"
    "SP-07" "Remote skills can be anywhere except in the root; their ID is the path from the root"

    "SP-08" "Repositories are fetched with git; shorthands are expanded; unsafe URLs are rejected first" => SP_08 security {
        what: "The `repo` of an import is a URL or path that git can fetch without running other \
               programs: `https://`, `ssh://`, `git://`, `file://`, a shorthand such as \
               `github.com/<org>/<repo>`, or a path.",
        why: "Some URLs make git run helper programs or are parsed as options. They are rejected \
              before git starts.",
        bad: "==> packs/team.yaml\nname: team\nimports:\n  - repo: ext::sh -c date\n    ref: v1\n    include: ['**']\n",
        good: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1\n    include: \
               ['**']\n",
    }

    "SP-09" "Remote trees are untrusted: links must stay inside, submodules and code are ignored"

    "SP-10" "A ref is a tag, branch or commit; tags take precedence; the full commit is recorded" => SP_10 {
        what: "Every import has a `ref`: the tag, branch or commit to use.",
        why: "Without a `ref`, the current state of the default branch is installed, so two \
              machines can get different skills.",
        bad: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    include: ['**']\n",
        good: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1.4.0\n    include: \
               ['**']\n",
    }

    "SP-11" "Pack files need a name and a selection; unknown and duplicate keys are errors" => SP_11 {
        what: "A pack is a YAML mapping with a `name` and at least one of `include` and `imports`. \
               Each import has a `repo` and an `include`. Unknown and duplicate keys are not \
               allowed.",
        why: "A misspelled key would otherwise be ignored, and the pack would silently select \
              nothing or everything.",
        bad: "==> packs/team.yaml\nname: team\ninclde: ['**']\n==> skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude: ['**']\n==> skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-12" "A pack is selected by file name, `name` or path; duplicate names are an error" => SP_12 {
        what: "Every pack in a repository has a unique `name`.",
        why: "Packs are installed by name, and installed skills are recorded under that name.",
        bad: "==> packs/a.yaml\nname: team\ninclude: ['**']\n==> packs/b.yaml\nname: team\ninclude: ['**']\n\
              ==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/a.yaml\nname: team\ninclude: ['**']\n==> packs/b.yaml\nname: guests\ninclude: ['**']\n\
               ==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-13" "Prefix, separator and flatten have defaults; a folder name is one safe path segment" => SP_13 {
        what: "`install.prefix` and `install.sep` produce directory names that are valid on every \
               file system, and `install.flatten` is `true` or `false`.",
        why: "An installed skill is a single directory in the agent's skills directory. A slash, a \
              leading dot or a reserved name would break that.",
        bad: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  sep: /\n==> skills/tidy-up/SKILL.md\n---\n\
              name: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  sep: '-'\n==> skills/tidy-up/SKILL.md\n---\n\
               name: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-14" "Patterns match whole IDs, are case-sensitive, and support only `*` and `**`"
    "SP-15" "Matching takes linear time in practice"
    "SP-16" "Selection: includes, plus imports without their excludes, minus the pack's excludes"

    "SP-17" "An include that matches nothing is an error with its position and the closest IDs" => SP_17 {
        what: "Every `include` pattern matches at least one skill. An `exclude` pattern that \
               matches nothing is a warning.",
        why: "A pattern that matches nothing usually refers to a skill that was renamed, moved or \
              misspelled. Without an error, the missing skill would go unnoticed.",
        bad: "==> packs/team.yaml\nname: team\ninclude:\n  - tdy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude:\n  - tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-18" "The order of output is stable"

    "SP-19" "Two skills with the same folder name are an error, ignoring case and Unicode form" => SP_19 {
        what: "No two skills that a pack selects get the same directory name, even with different \
               case or Unicode normalization.",
        why: "One skill would overwrite the other in the agent's skills directory.",
        bad: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  flatten: true\n==> skills/go/lint/SKILL.md\n\
              ---\nname: lint\ndescription: Lints Go.\n---\n==> skills/rust/lint/SKILL.md\n---\nname: lint\ndescription: \
              Lints Rust.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude: ['**']\n==> skills/go/lint/SKILL.md\n---\nname: \
               lint\ndescription: Lints Go.\n---\n==> skills/rust/lint/SKILL.md\n---\nname: lint\ndescription: Lints \
               Rust.\n---\n",
    }

    "SP-20" "Folder name = prefix + separator + flattened ID"

    "SP-21" "The whole directory is copied, links are dereferenced, executable bits are kept" => SP_21 security {
        what: "A skill consists of files, directories, and symbolic links to either. Broken links, \
               links that form a cycle, sockets, pipes and devices are errors.",
        why: "The whole directory is copied into the agent's skills directory, and links are \
              replaced by what they point to. None of these can be copied.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
              ==> skills/tidy-up/notes.md -> ../gone.md\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
               ==> skills/tidy-up/notes.md\nHere.\n",
    }

    "SP-22" "An existing destination must have been installed by `sp`"
    "SP-23" "Skills that are no longer selected are removed, if `sp` installed them there"
    "SP-24" "An install is one transaction that is checked before the first change"
    "SP-25" "Reinstalling the same content changes nothing; edited folders are moved to the trash"
    "SP-26" "Whether a path is inside a skills directory is decided on real paths"

    "SP-27" "`--agent` accepts built-in, configured and listed agents; `--path` overrides the directory" => SP_27 {
        what: "Every path below `sinks` in the config file is absolute or starts with `~/`.",
        why: "The path must refer to the same directory wherever `sp` is started.",
        bad: "==> config.yaml\nsinks:\n  mine: work/skills\n",
        good: "==> config.yaml\nsinks:\n  mine: ~/work/skills\n",
    }

    "SP-28" "The home directory is `~/.skillpack`, or `SKILLPACK_HOME`" => SP_28 {
        what: "The config file is a YAML mapping with the optional keys `agents`, `sinks`, `limits`, \
               `packages` and `registries`.",
        why: "A misspelled key would otherwise be ignored silently.",
        bad: "==> config.yaml\nsink:\n  mine: ~/work/skills\n",
        good: "==> config.yaml\nsinks:\n  mine: ~/work/skills\n",
    }

    "SP-29" "State is version 1, lossless, atomic, locked, and never overwritten if corrupt"
    "SP-30" "Uninstall removes exactly what is recorded"
    "SP-31" "Seven commands with their flags, three output formats, correct exit codes"
    "SP-32" "Several agents in one command; a dry run changes nothing"

    "SP-33" "Patterns follow an exact syntax" => SP_33 {
        what: "A pattern is not empty, does not start with `/` or `./`, and does not end with `/`. \
               `*` matches within a path segment, `**` matches across segments, and no other \
               characters are special.",
        why: "A pattern matches a whole ID, and IDs never start or end with a slash, so such a \
              pattern could not match anything.",
        bad: "==> packs/team.yaml\nname: team\ninclude:\n  - ./tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude:\n  - tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-34" "`.git` is always ignored"
    "SP-35" "Two refs of one repository, moving branches, offline use, and partial fetches work"
    "SP-36" "A skills directory is identified by its real path"
    "SP-37" "Installing a pack of the same name from another source requires `--replace`"
    "SP-38" "Uninstall works from any directory and never follows links"
    "SP-39" "A skills directory inside the repository, or the other way around, is rejected"
    "SP-40" "A hint is printed if the agent requires folder and skill names to match"
    "SP-41" "Packs are installed where the agent reads, and move there from a default directory that it does not read"
    "SP-42" "`sp switch` replaces all packs of an agent atomically; `sp skills` is an alias of `sp list`"
}
