//! The rules of SkillBag workspaces and sources of skills.

use crate::rules::rule_set;

rule_set! {
    "SkillBag"

    "SB-01" "Files of a workspace" => SB_01 {
        what: "A workspace has a `SKILLBAG.md` whose first line states the version, `SkillBag vX.Y.Z`, and a \
               `.skills/SKILLS.md` if it has `.skills/`. `USER_CONTEXT.md` is not tracked by git.",
        why: "An agent starts at `SKILLBAG.md` and reads the catalog before any skill. `USER_CONTEXT.md` contains \
              personal settings, which should not be committed.",
        bad: "==> SKILLBAG.md\nSkills for this project.\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n\nSkills for this project.\n",
    }

    "SB-02" "The catalog has one line per skill, sorted by name" => SB_02 {
        what: "`.skills/SKILLS.md` has exactly one line `<name>: <description>` for each skill in `.skills/`, with the \
               name and description of its frontmatter, sorted by name, and no other lines.",
        why: "Agents read the catalog first. They do not find a skill that is missing from it. Run `sp bag sync` to \
              regenerate the catalog.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
              into .skills/.\ntidy-up: Removes code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
              skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\ntidy-up: Removes dead code.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: \
               skillbag-get-skills\ndescription: Install one or more skills into .skills/.\n---\n==> \
               .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SB-03" "Names consist of a-z, 0-9 and single hyphens"

    "SB-04" "`SKILL.md` has a name and a description" => SB_04 {
        what: "Every folder in `.skills/` is a skill: its `SKILL.md` has a `name` equal to the folder name, and a \
               `description` on one line.",
        why: "A folder that is not a skill cannot be listed, run or installed, and agents ignore it.",
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
    "SB-06" "Precedence: conversation, user context, context, entrypoint, skill"

    "SB-07" "Parameters are declared once, and missing values are reported by name" => SB_07 {
        what: "A `Parameters` section has a fenced YAML block with the lists `required` and `optional`. Names are \
               unique, and a required parameter has no default.",
        why: "A required parameter with a default is a contradiction, and of two parameters with the same name only one \
              can be set.",
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

    "SB-08" "The origin of each effective value can be shown"
    "SB-09" "Secrets are never written"

    "SB-10" "Workspace dependencies have a name, version and source, and are installed first" => SB_10 {
        what: "The section `Dependencies` of a context file has a fenced YAML block with a list `dependencies`. Each \
               entry has a `name`, `version` and `source`.",
        why: "Everyone who opens the workspace installs these skills first, so they must be specified completely.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Dependencies\n\n```yaml\ndependencies:\n  - name: \
              tidy-up\n    source: ../skills\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Dependencies\n\n```yaml\ndependencies:\n  - name: \
               tidy-up\n    version: v1\n    source: ../skills\n```\n",
    }

    "SB-11" "Dependencies of a skill; without a source, they must be in the workspace" => SB_11 {
        what: "The section `Dependencies` of a skill has a fenced YAML block that lists the skills it requires, each \
               with a `name` and, if it is not in the workspace, a `source`. The field `dependencies` of the \
               frontmatter is read too. There are no circular dependencies.",
        why: "A dependency without a source is only looked up in the workspace. Nothing is downloaded for it.",
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

    "SB-12" "A source has `AGENTS.md`, `.skills/` and a catalog" => SB_12 {
        what: "A source is a git repository, zip or directory with `AGENTS.md`, `.skills/` and `.skills/SKILLS.md` at \
               its root. `AGENTS.md` contains the word `SKILLBAG`, and mentions `.skills/` and the catalog.",
        why: "These files identify a source. Skills cannot be installed from a directory without them.",
        bad: "==> AGENTS.md\nThis is a SKILLBAG.\n==> .skills/SKILLS.md\ntidy-up: Removes dead code.\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> AGENTS.md\nThis is a SKILLBAG: its skills live under `.skills/`, and `.skills/SKILLS.md` lists \
               them.\n==> .skills/SKILLS.md\ntidy-up: Removes dead code.\n==> .skills/tidy-up/SKILL.md\n---\nname: \
               tidy-up\ndescription: Removes dead code.\n---\n",
    }

    "SB-13" "Extra installation steps are shown, never run"
    "SB-14" "Overrides come first, then local skills, then declarations; cycles are errors"
    "SB-15" "Different sources or versions of the same skill are an error"

    "SB-16" "The user, the project, then the name decide conflicts between skills" => SB_16 {
        what: "The section `Conflict resolution` of a context file has a fenced YAML block with a list \
               `conflict-resolution` of skills, highest precedence first.",
        why: "If two skills contradict each other, the order of the user applies, then that of the project, then the \
              order of the names.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Conflict resolution\n\n```yaml\nconflict-resolution: \
              tidy-up\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> CONTEXT.md\n## Conflict resolution\n\n```yaml\n\
               conflict-resolution:\n  - tidy-up\n```\n",
    }

    "SB-17" "The reserved skill and its catalog line" => SB_17 {
        what: "A workspace with `.skills/` has the reserved skill `skillbag-get-skills`, and the catalog has exactly the \
               line `skillbag-get-skills: Install one or more skills into .skills/.`.",
        why: "The skill explains how to install more skills, also to agents that cannot run `sp`.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\ntidy-up: Removes dead code.\n==> \
              .skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> .skills/SKILLS.md\nskillbag-get-skills: Install one or more skills \
               into .skills/.\n==> .skills/skillbag-get-skills/SKILL.md\n---\nname: skillbag-get-skills\ndescription: \
               Install one or more skills into .skills/.\n---\n",
    }

    "SB-18" "Existing skills are only replaced on request"
    "SB-19" "An invalid source stops the command before the first change"
    "SB-20" "Edited skills are only replaced on request"
    "SB-21" "The catalog is regenerated after every change"
    "SB-22" "Sources are downloaded with git or HTTP(S), within limits"

    "SB-23" "Tags in descriptions and context files" => SB_23 {
        what: "Tags such as `#run/always` are part of the description of a skill, which must be quoted. The section \
               `Tags` of a context file has a fenced YAML block with `tags`, which adds and removes tags of skills.",
        why: "In an unquoted description, YAML reads tags as a comment, so most agents ignore them. In a context file, \
              users can disable a skill that always runs without editing the skill.",
        bad: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> USER_CONTEXT.md\n## Tags\n\n```yaml\ntags:\n  take-notes:\n    \
              remove: #run/always\n```\n",
        good: "==> SKILLBAG.md\nSkillBag v0.3.0\n==> USER_CONTEXT.md\n## Tags\n\n```yaml\ntags:\n  take-notes:\n    \
               remove: ['#run/always']\n```\n",
    }

    "SB-24" "`enter` and `run` print text and execute nothing"
    "SB-25" "`check` checks a workspace, a source, or both"
}
