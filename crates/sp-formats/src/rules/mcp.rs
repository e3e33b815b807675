//! The rules of serving over MCP.

use super::rule_set;

rule_set! {
    "MCP"

    "MC-01" "Every revision of the protocol that clients speak, over stdio and HTTP"
    "MC-02" "The skills extension: lists, entries and files with digests"
    "MC-03" "Tools with schemas, structured results and annotations; writing only where it is allowed"
    "MC-04" "Skills, context packs and packages as resources; prompts of context packs"
    "MC-05" "Over HTTP: this machine only, the origin checked, tokens beyond it, limits"
    "MC-06" "Plain schemas, and no answer to what is not declared"
    "MC-07" "Proven with clients that others wrote"
    "MC-08" "The agent's own config is extended, never overwritten"
    "MC-09" "Skills where other installers look for them over HTTP"
}
