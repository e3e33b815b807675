//! The rules of accepted findings.

use crate::rules::rule_set;

rule_set! {
    "Accepted findings"

    "AU-07" "Findings are accepted by the project, with a reason, and never by fetched content" => AU_07 security {
        what: "`skillpack-accept.yaml` in the project lists findings that are not reported. Each entry of \
               `accept` has the ID of a `rule` or of a single finding, a `path` or pattern, a `reason` \
               and, if the acceptance is temporary, an `expiry`. An entry that has expired or that matches no finding is \
               reported.",
        why: "A finding that is hidden without a reason cannot be reviewed, and an entry that is no longer \
              needed would hide the next problem. Content from others must not be able to accept its own \
              findings.",
        bad: "==> skillpack-accept.yaml\naccept:\n  - rule: AS-07\n    path: skills/tidy-up/SKILL.md\n    \
              reason: The list is generated.\n==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\n\
              description: Removes dead code.\n---\nRemove it.\n",
        good: "==> skillpack-accept.yaml\naccept:\n  - rule: AS-07\n    path: skills/tidy-up/SKILL.md\n    \
               reason: The list is generated.\n==> skills/tidy-up/SKILL.md\n---\nname: tidy-up\n\
               description: Removes dead code.\n---\nSee [the list](references/list.md).\n",
    }
}
