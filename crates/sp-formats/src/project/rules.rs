//! The rules of project manifests, lockfiles and the commands that use them.

use crate::rules::rule_set;

rule_set! {
    "Projects"

    "LC-01" "`skillpack.yaml` declares what a project uses" => LC_01 {
        what: "A manifest is a mapping with the keys `agents`, `skills`, `packs`, `packages`, \
               `context` and `edits`.",
        why: "A misspelled key would be ignored silently, and the skills below it would not be \
              installed.",
        bad: "==> skillpack.yaml\nskils:\n  - source: acme/skills\n",
        good: "==> skillpack.yaml\nskills:\n  - source: acme/skills\n",
    }

    "LC-02" "Agents are names, `detected` or `all`; agents with one directory share it" => LC_02 {
        what: "`agents` is a list of names of agents, or `detected` for those found on the machine.",
        why: "A name that is not text cannot be an agent.",
        bad: "==> skillpack.yaml\nagents: claude\nskills:\n  - source: acme/skills\n",
        good: "==> skillpack.yaml\nagents: [claude]\nskills:\n  - source: acme/skills\n",
    }

    "LC-03" "Every kind of source of skills" => LC_03 {
        what: "An entry of `skills` has a `source`: `<owner>/<repo>`, a git URL, the URL of a folder \
               of a repository, a path that starts with `./`, `../`, `~/` or `/`, a zip file, a host \
               with an index of skills, or a package `@<namespace>/<name>`. `ref` is a tag, branch \
               or commit, or a range of versions of a package.",
        why: "What a source means depends only on its text, so that a manifest means the same on \
              every machine. A bare name could be a directory or a repository.",
        bad: "==> skillpack.yaml\nskills:\n  - source: pdf\n",
        good: "==> skillpack.yaml\nskills:\n  - source: acme/pdf\n",
    }

    "LC-04" "Packs, packages and context packs of a project" => LC_04 {
        what: "`packs` is a list of names or paths of packs of this repository, or of \
               `<git source>//packs/<name>.yaml` with an optional `#<ref>`. `packages` maps names of \
               packages to SemVer ranges. `context` is a list of paths, zip files or URLs of context \
               packs.",
        why: "Each kind is resolved differently.",
        bad: "==> skillpack.yaml\npackages:\n  '@acme/notes': newest\n",
        good: "==> skillpack.yaml\npackages:\n  '@acme/notes': ^1.2\n",
    }

    "LC-05" "Commands change one entry of the manifest and no other byte"

    "LC-06" "`skillpack.lock` records what the manifest resolved to, and nothing of the machine" => LC_06 {
        what: "A lockfile is written by `sp`. It is valid TOML of a version that this `sp` supports.",
        why: "An edit could make `sp` install other bytes than those that were reviewed.",
        bad: "==> skillpack.lock\nversion = 1\n\n[[skill]]\nname = \"pdf\"\n",
        good: "==> skillpack.lock\nversion = 1\n\n[[skill]]\nname = \"pdf\"\nsource = \
               \"acme/skills\"\nid = \"skills/pdf\"\ntree = \
               \"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n",
    }

    "LC-07" "Two branches that change different entries merge" => LC_07 {
        what: "Conflict markers of git in `skillpack.yaml` and `skillpack.lock` are resolved by `sp \
               sync`, unless both sides changed the same entry differently.",
        why: "A damaged marker, or an entry that differs on both sides, has to be resolved by hand.",
        bad: "==> skillpack.yaml\nskills:\n<<<<<<< ours\n  - source: acme/skills\n=======\n  - source: \
              acme/tools\n",
        good: "==> skillpack.yaml\nskills:\n  - source: acme/skills\n  - source: acme/tools\n",
    }

    "LC-08" "In a project with a manifest, `skillpack.lock` is the only lockfile"
    "LC-09" "The same lockfile gives the same bytes on every machine"
    "LC-10" "`sp add` recognizes the source, shows what it contains, and installs the selection"
    "LC-11" "`sp sync` installs, updates and removes only what the manifest and the lockfile contain"
    "LC-12" "`sp outdated` lists newer versions, and `sp update` moves to them"
    "LC-13" "`sp status` shows the state of each skill, without reading unchanged files"
    "LC-14" "Local edits are never lost"
    "LC-15" "`sp diff`, `sp restore` and `sp adopt`"
    "LC-16" "Skills can be disabled, and a skill can have two owners"
    "LC-17" "`sp migrate` takes over what other tools installed"
    "LC-18" "`sp doctor` finds damage, and names the command that repairs it"
    "LC-19" "A SkillBag workspace is synced like an agent"
    "LC-20" "Every command has a dry run, JSON output and progress, and survives interruption"
}
