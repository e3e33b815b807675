//! The rules of running a registry.

use super::rule_set;

rule_set! {
    "Registry"

    "RG-63" "Members who may publish register trusted publishers of a package"
    "RG-64" "A publisher names claims that no one else can register again"
    "RG-65" "A CI job exchanges its identity token for a registry token, and can revoke it"
    "RG-66" "Only registered issuers are contacted, within limits, and must name themselves"
    "RG-67" "Keys are cached, fetched rarely, and never from private addresses"
    "RG-68" "Signatures, required claims and lifetimes of identity tokens are verified"
    "RG-69" "All invalid identity tokens are refused with the same response"
    "RG-70" "An identity token is exchanged once"
    "RG-71" "Jobs that nothing trusts, or that run the code of others, are refused"
    "RG-72" "Tokens of CI jobs only publish the packages that trust them, for 15 minutes"
    "RG-73" "Pending publishers create a package, and reserve nothing"
    "RG-74" "A package can accept trusted publishers only; the audit log names the job"
    "RG-75" "`sp publish --oidc` gets, uses and revokes a token, and never prints it"
    "RG-76" "Objects can be in a bucket, which several registries share, and which belongs to a database"
    "RG-79" "Objects are verified when written and once before their first use, then streamed"
    "RG-80" "An object is durable before the database refers to it, and not stored if refused"
    "RG-81" "Only old objects that nothing refers to are garbage"
    "RG-82" "Publishing bytes that are stored already makes their object new"
    "RG-83" "If the object storage does not respond, only what needs it gets 503"
    "RG-84" "Backups contain the database and every object, wherever both are stored"
    "RG-101" "Requests that wait for their client never keep others from being handled"
    "RG-102" "A client that does not read occupies little memory, and is disconnected"
    "RG-103" "Tokens expire, rotate and are limited; the last admin and the last owner stay"
    "RG-104" "Private packages are never visible to others, not even for a moment"
    "RG-105" "Quotas limit users and namespaces; deleted versions leave a tombstone"
    "RG-106" "Monitoring is never limited; rates delay before they refuse; proxies can be ranges"
    "RG-107" "Older databases are upgraded; newer ones are refused"
    "RG-111" "Settings have the same names as options, variables and in a file, and can be checked"
    "RG-112" "HTTPS works without a proxy, and a new certificate is used without a restart"
    "RG-113" "Metrics cover stores and refusals, and example files match the options"
    "RG-114" "Users log in with an identity provider, if the settings allow them to"
}
