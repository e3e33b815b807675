//! Safety: what can stand on every machine, and how much of it.

use super::Check;

/// Names that are one name elsewhere.
pub const SE_03: Check = Check {
    id: "SE-03",
    what: "Every file and folder of a skill has a name that every file system can hold, and no two of them differ \
           only in case or in how an accent is written.",
    why: "On macOS and Windows such two are one file, and the second overwrites the first. A name that is reserved \
          or cannot be written there breaks the install.",
    bad: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
          ==> skills/tidy-up/Notes.md\nOne.\n==> skills/tidy-up/notes.md\nTwo.\n",
    good: "==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\ndescription: Removes dead code.\n---\n\
           ==> skills/tidy-up/notes.md\nOne.\n==> skills/tidy-up/more-notes.md\nTwo.\n",
};

/// Ceilings.
pub const SE_04: Check = Check {
    id: "SE-04",
    what: "Size, depth and number of everything that is read have ceilings. `--limit NAME=NUMBER` or `limits:` in \
           the config raises one of them by its name.",
    why: "What comes from outside may be made to fill a disk or a memory. A ceiling turns that into a message. \
          `sp config --verbose` lists them all.",
    bad: "==> config.yaml\nlimits:\n  skill-entires: 20000\n",
    good: "==> config.yaml\nlimits:\n  skill-entries: 20000\n",
};
