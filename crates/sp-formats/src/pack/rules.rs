//! The rules of repositories, packs and their installation.

use crate::rules::rule_set;

rule_set! {
    "Skillpacks v0"

    "SP-01" "A local skill is a directory below `skills/` with `SKILL.md` and none below it"

    "SP-02" "`skills/SKILL.md` is an error; a remote root `SKILL.md` is ignored with a warning" => SP_02 {
        what: "`skills/` itself is no skill: there is no `skills/SKILL.md`.",
        why: "A skill's id is its path below `skills/`, and the top has none. With a `SKILL.md` there, everything below \
              it would be hidden.",
        bad: "==> skills/SKILL.md\n---\nname: skills\ndescription: All of them.\n---\n",
        good: "==> skills/everything/SKILL.md\n---\nname: everything\ndescription: All of them.\n---\n",
    }

    "SP-03" "A directory with `SKILL.md` above another is no skill, and is named on request" => SP_03 {
        what: "A folder with a `SKILL.md` has no other `SKILL.md` below it. If it has, only the innermost are skills.",
        why: "The outer one is neither listed nor installed, which its author hardly ever expects.",
        bad: "==> skills/review/SKILL.md\n---\nname: review\ndescription: Reviews a change.\n---\n\
              ==> skills/review/security/SKILL.md\n---\nname: security\ndescription: Looks for holes.\n---\n",
        good: "==> skills/review/general/SKILL.md\n---\nname: general\ndescription: Reviews a change.\n---\n\
               ==> skills/review/security/SKILL.md\n---\nname: security\ndescription: Looks for holes.\n---\n",
    }

    "SP-04" "A skill directory may be a link; `SKILL.md` only inside such a directory" => SP_04 security {
        what: "A skill's folder may be a link. Its `SKILL.md` may be one only if the folder is, and a link that leads \
               back to a folder that it lies in is not followed.",
        why: "A link to `SKILL.md` alone takes the text and leaves behind the files that it refers to.",
        bad: "==> skills/tidy-up/SKILL.md -> ../../tidy.md\n==> tidy.md\n---\nname: tidy-up\ndescription: Removes dead \
              code.\n---\n",
        good: "==> skills/tidy-up -> ../shared/tidy-up\n==> shared/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: \
               Removes dead code.\n---\n",
    }

    "SP-05" "The id is the UTF-8 path below `skills/`" => SP_05 {
        what: "A skill's id is its path below `skills/`, so every folder on the way has a name that an id can hold: \
               UTF-8, and no control character such as a tab.",
        why: "Packs pick skills by id, and an id must be the same on every machine.",
        bad: "==> skills/tidy\tup/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-06" "`sp list` needs `skills/`; a pack with only imports does not"
    "SP-07" "Remote skills stand anywhere but at the root; the id is the path from the root"

    "SP-08" "Git is the transport; shorthands expand; dangerous URLs are refused first" => SP_08 security {
        what: "The `repo` of an import is an address that git can fetch from without running a stranger's program: \
               `https://`, `ssh://`, `git://`, `file://`, a shorthand such as `github.com/<org>/<repo>`, or a path.",
        why: "Some addresses make git start helpers, or are taken for options. They are refused before git is started.",
        bad: "==> packs/team.yaml\nname: team\nimports:\n  - repo: ext::sh -c date\n    ref: v1\n    include: ['**']\n",
        good: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1\n    include: \
               ['**']\n",
    }

    "SP-09" "A remote tree is untrusted: links stay inside, submodules and code are left alone"

    "SP-10" "A ref is a tag, branch or commit; the full commit is recorded; a tag wins" => SP_10 {
        what: "An import says which tag, branch or commit it takes, in `ref`.",
        why: "Without one, whatever the other side's default branch holds that day is installed, and two machines get \
              two different sets of skills.",
        bad: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    include: ['**']\n",
        good: "==> packs/team.yaml\nname: team\nimports:\n  - repo: github.com/acme/skills\n    ref: v1.4.0\n    include: \
               ['**']\n",
    }

    "SP-11" "Pack files need a name and a selection; unknown and double keys are errors" => SP_11 {
        what: "A pack is a YAML mapping with a `name` and at least one of `include` and `imports`; each import has a \
               `repo` and an `include`. There are no other keys than the format's, and none stands twice.",
        why: "A key that is misspelt would select nothing, or everything, in silence.",
        bad: "==> packs/team.yaml\nname: team\ninclde: ['**']\n==> skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude: ['**']\n==> skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-12" "A pack is named by file name, by `name`, or by path; two of one name are an error" => SP_12 {
        what: "No two packs of a repository have the same `name`.",
        why: "A pack is installed by its name, and what is installed is recorded under it.",
        bad: "==> packs/a.yaml\nname: team\ninclude: ['**']\n==> packs/b.yaml\nname: team\ninclude: ['**']\n\
              ==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/a.yaml\nname: team\ninclude: ['**']\n==> packs/b.yaml\nname: guests\ninclude: ['**']\n\
               ==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-13" "Prefix, separator and flatten have defaults; a folder name is one safe segment" => SP_13 {
        what: "`install.prefix` and `install.sep` make folder names that every file system can hold, and \
               `install.flatten` is `true` or `false`.",
        why: "An installed skill is one folder in the agent's sink. A slash, a leading dot or a reserved name would make \
              it something else.",
        bad: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  sep: /\n==> skills/tidy-up/SKILL.md\n---\n\
              name: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  sep: '-'\n==> skills/tidy-up/SKILL.md\n---\n\
               name: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-14" "Patterns are whole, case-sensitive, with `*` and `**` and nothing else"
    "SP-15" "Matching is linear in practice"
    "SP-16" "Includes, imports less their excludes, union, then the pack's excludes"

    "SP-17" "An include that matches nothing is an error with its place and the nearest ids" => SP_17 {
        what: "Every `include` pattern matches at least one skill; an `exclude` pattern that takes nothing out is a \
               warning.",
        why: "A pattern that matches nothing is a skill that was renamed, moved or misspelt. Nobody notices its absence \
              until it is missed.",
        bad: "==> packs/team.yaml\nname: team\ninclude:\n  - tdy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude:\n  - tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SP-18" "Output order is stable"

    "SP-19" "Two skills for one folder are an error, case and Unicode form folded" => SP_19 {
        what: "No two skills that a pack selects get the same folder name, not even in another case or Unicode form.",
        why: "One would overwrite the other in the sink.",
        bad: "==> packs/team.yaml\nname: team\ninclude: ['**']\ninstall:\n  flatten: true\n==> skills/go/lint/SKILL.md\n\
              ---\nname: lint\ndescription: Lints Go.\n---\n==> skills/rust/lint/SKILL.md\n---\nname: lint\ndescription: \
              Lints Rust.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude: ['**']\n==> skills/go/lint/SKILL.md\n---\nname: \
               lint\ndescription: Lints Go.\n---\n==> skills/rust/lint/SKILL.md\n---\nname: lint\ndescription: Lints \
               Rust.\n---\n",
    }

    "SP-20" "Folder = prefix + separator + flattened id"

    "SP-21" "The whole directory is copied, links dereferenced, executable bits kept" => SP_21 security {
        what: "A skill consists of files, folders, and links to either. A link to nothing, a link that leads back to \
               where it stands, a socket, a pipe or a device is an error.",
        why: "The whole folder is copied into the sink, links as what they point to. None of those can be.",
        bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
              ==> skills/tidy-up/notes.md -> ../gone.md\n",
        good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
               ==> skills/tidy-up/notes.md\nHere.\n",
    }

    "SP-22" "An existing destination must be ours"
    "SP-23" "What is no longer selected is deleted, if it was ours and lies in the sink"
    "SP-24" "An install is one transaction, checked before the first change"
    "SP-25" "An unchanged reinstall changes nothing; an edited folder is kept in the trash"
    "SP-26" "Inside the sink is judged on real paths"

    "SP-27" "Built-in, configured and table sinks; `--path` overrides; unknown ones are listed" => SP_27 {
        what: "A sink in the config has an absolute path, or one below `~/`.",
        why: "A sink is one place, wherever `sp` is started.",
        bad: "==> config.yaml\nsinks:\n  mine: work/skills\n",
        good: "==> config.yaml\nsinks:\n  mine: ~/work/skills\n",
    }

    "SP-28" "The home is `~/.skillpack`, or `SKILLPACK_HOME`" => SP_28 {
        what: "The config is a YAML mapping with the keys `sinks` and `limits`, both optional.",
        why: "A key that is misspelt would be passed over in silence.",
        bad: "==> config.yaml\nsink:\n  mine: ~/work/skills\n",
        good: "==> config.yaml\nsinks:\n  mine: ~/work/skills\n",
    }

    "SP-29" "State is version 1, lossless, atomic, never overwritten when broken, and locked"
    "SP-30" "Uninstall deletes exactly what is recorded"
    "SP-31" "Seven commands with their flags, three formats, honest exit codes"
    "SP-32" "Several agents at once; a dry run changes nothing"

    "SP-33" "Patterns by the letter" => SP_33 {
        what: "A pattern is not empty, does not start with `/` or `./`, and does not end with `/`. `*` matches within a \
               folder, `**` across folders, and nothing else is special.",
        why: "A pattern matches a whole id, and no id starts or ends with a slash: such a pattern could match nothing.",
        bad: "==> packs/team.yaml\nname: team\ninclude:\n  - ./tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> packs/team.yaml\nname: team\ninclude:\n  - tidy-up\n==> skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

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
