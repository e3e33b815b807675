//! The rules of policy files.

use crate::rules::rule_set;

rule_set! {
    "Policies"

    "AU-08" "Policies restrict what is installed, and the strictest one applies" => AU_08 security {
        what: "A policy lists which sources, registries, signers, hosts, capabilities and licenses are \
               allowed or denied, which findings are denied or may be accepted, and what is required. \
               Everything in the file must be valid.",
        why: "A rule that is misspelled would restrict nothing, and no one would notice. `sp` installs \
              nothing while a policy is invalid.",
        bad: "==> skillpack-policy.yaml\nsources:\n  alow:\n    - github.com/acme\n==> skills/tidy-up/SKILL.md\n---\n\
              name: tidy-up\ndescription: Removes dead code.\n---\nRemove it.\n",
        good: "==> skillpack-policy.yaml\nsources:\n  allow:\n    - github.com/acme\n==> skills/tidy-up/SKILL.md\n---\n\
               name: tidy-up\ndescription: Removes dead code.\n---\nRemove it.\n",
    }
}
