//! The rules of serving over MCP.

use super::rule_set;

rule_set! {
    "MCP"

    "MC-01" "Every protocol revision in use is supported, over stdio and HTTP"
    "MC-02" "The skills extension lists skills, and serves entries and files with digests"
    "MC-03" "Tools have schemas, structured results and annotations; write tools must be enabled"
    "MC-04" "Skills, context packs and packages are resources; context packs provide prompts"
    "MC-05" "HTTP: loopback by default, origin checks, tokens for other addresses, limits"
    "MC-06" "Schemas are plain; requests that no declared capability covers are rejected"
    "MC-07" "Tested with third-party clients"
    "MC-08" "Config files of agents are extended, never overwritten"
    "MC-09" "Skills are served over HTTP where other installers look for them"
}
