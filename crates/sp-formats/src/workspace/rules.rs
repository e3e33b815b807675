//! The rules of SkillBag workspaces and sources of skills.

use crate::rules::rule_set;

rule_set! {
    "SkillBag"

    "SB-01" "The files of a workspace" => SB_01 {
        what: "A workspace has a `SKILLBAG.md` whose first line states the version, `SkillBag vX.Y.Z`, and a \
               `.skills/SKILLS.md` if it has `.skills/`. `USER_CONTEXT.md` is not tracked by git.",
        why: "An agent starts at `SKILLBAG.md` and reads the catalog before any skill. What a user says of himself is \
              nobody else's business.",
        bad: "==> SKILLBAG.md\nSkills for this project.\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n\nSkills for this project.\n",
    }

    "SB-02" "The catalog has a line for each skill, exactly, sorted" => SB_02 {
        what: "`.skills/SKILLS.md` has one line for each skill below `.skills/`, exactly `<name>: <description>` as the \
               skill's frontmatter has them, sorted by name, and no other line.",
        why: "The catalog is what an agent reads first. A skill that is not in it is not found, and a line without a \
              skill leads nowhere. `sp bag sync` writes it anew.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
              into .skills/.\ntidy-up: Removes code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
              skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
               skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
               .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SB-03" "Names are words of a-z and 0-9 with single hyphens"

    "SB-04" "`SKILL.md` has a name and a description" => SB_04 {
        what: "Every folder below `.skills/` is a skill: its `SKILL.md` has a `name`, which is the folder's, and a \
               `description` of one line.",
        why: "A folder that is no skill cannot be listed, run or installed, and agents pass it over.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
              into .skills/.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: skillbag-get-skills\ndescription: \
              Install one or more skills into .skills/.\n---\n==> .skills/tidy-up/SKILL.md\n---\nname: \
              tidy-up\ndescription: |\n  Removes\n  dead code.\n---\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
               skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
               .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: >\n  Removes\n  dead code.\n---\n",
    }

    "SB-05" "Execution identifiers and names are one-to-one"
    "SB-06" "Conversation, user context, context, entrypoint, skill: the higher counts"

    "SB-07" "Parameters are declared once, and a missing one is a problem with its name" => SB_07 {
        what: "A `Parameters` section has a fenced block of YAML with the lists `required` and `optional`. Names are \
               unique, and a required parameter has no default.",
        why: "A parameter that is required and has a default is neither, and of two with one name only one can be set.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
              into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
              skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n## Parameters\n\n\
              ```yaml\nrequired:\n  - name: language\n    default: rust\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
               skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
               .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n## Parameters\n\n\
               ```yaml\noptional:\n  - name: language\n    default: rust\n```\n",
    }

    "SB-08" "Each effective value can be explained"
    "SB-09" "Secrets are never written"

    "SB-10" "A workspace's dependencies have name, version and source, and come first" => SB_10 {
        what: "Below the heading `Dependencies` of a context file a fenced block of YAML has a list `dependencies`, each \
               entry with `name`, `version` and `source`.",
        why: "These are installed first and by everybody who opens the workspace, so nothing about them may be a guess.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Dependencies\n\n```yaml\ndependencies:\n  - name: \
              tidy-up\n    source: ../skills\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Dependencies\n\n```yaml\ndependencies:\n  - name: \
               tidy-up\n    version: v1\n    source: ../skills\n```\n",
    }

    "SB-11" "A skill's dependencies; without a source only the local name counts" => SB_11 {
        what: "Below the heading `Dependencies` of a skill a fenced block of YAML lists the skills that it needs, each \
               with a `name` and, if it is not to be found here, a `source`. No skill needs itself, not even by way of \
               others.",
        why: "A dependency without a source is looked for in this workspace only: nothing is guessed, and nothing is \
              fetched.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
              into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
              skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n## Dependencies\n\n\
              ```yaml\n- name: find-dead-code\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
               skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
               .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n## Dependencies\n\n\
               ```yaml\n- name: skillbag-get-skills\n```\n",
    }

    "SB-12" "A source is git, a zip on the web, a zip, or a directory, with its three files" => SB_12 {
        what: "A source has `AGENTS.md`, `.skills/` and `.skills/SKILLS.md` at its root. `AGENTS.md` names it a \
               `SKILLBAG`, says that its skills live under `.skills/`, and mentions the catalog.",
        why: "That is how others know that a directory is made to be installed from. Without it, nothing is.",
        bad: "==> AGENTS.md\nThis is a SKILLBAG.\n==> .skills/SKILLS.md\ntidy-up: Removes dead code.\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> AGENTS.md\nThis is a SKILLBAG: its skills live under `.skills/`, and `.skills/SKILLS.md` lists \
               them.\n==> .skills/SKILLS.md\ntidy-up: Removes dead code.\n==> .skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SB-13" "Extra steps are shown and never run"
    "SB-14" "Override, then local, then declaration; cycles are errors"
    "SB-15" "Two sources or versions of one name stop everything"

    "SB-16" "Conflicts are settled by the user, the project, the name" => SB_16 {
        what: "Below the heading `Conflict resolution` of a context file a fenced block of YAML has a list \
               `conflict-resolution` of skills, the one that prevails first.",
        why: "Where two skills say different things, the user's order counts, then the project's, then the alphabet.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Conflict resolution\n\n```yaml\nconflict-resolution: \
              tidy-up\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Conflict resolution\n\n```yaml\n\
               conflict-resolution:\n  - tidy-up\n```\n",
    }

    "SB-17" "The reserved skill and its line" => SB_17 {
        what: "A workspace with `.skills/` has the reserved skill `skillbag-get-skills`, and the catalog has its line, \
               `skillbag-get-skills: Install one or more skills into .skills/.`, to the letter.",
        why: "It tells any agent, also one that has no `sp`, how to install more.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\ntidy-up: Removes dead code.\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: skillbag-get-skills\ndescription: \
               Install one or more skills into .skills/.\n---\n",
    }

    "SB-18" "What is present stays unless asked"
    "SB-19" "Any failure stops the run before the first change"
    "SB-20" "Local edits are never overwritten unasked"
    "SB-21" "The catalog follows every change"
    "SB-22" "Only git and http(s) fetch, within limits"

    "SB-23" "Tags, and what a context makes of them" => SB_23 {
        what: "Below the heading `Tags` of a context file a fenced block of YAML has `tags`, which by skill adds and \
               removes tags of the form `#group/name`.",
        why: "A user switches off what always runs without touching the skill. A `#` outside quotes starts a comment.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> USER_CONTEXT.md\n## Tags\n\n```yaml\ntags:\n  take-notes:\n    \
              remove: #run/always\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> USER_CONTEXT.md\n## Tags\n\n```yaml\ntags:\n  take-notes:\n    \
               remove: ['#run/always']\n```\n",
    }

    "SB-24" "Entering and running print and execute nothing"
    "SB-25" "`check` judges a workspace, a source, or both"
}
