//! Synonyms: the words of a query often differ from those of the text.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::stemming::for_each_word;

/// Words with the same meaning in texts about software.
const SYNONYMS: &[&[&str]] = &[
    &["kubernetes", "k8s"],
    &["postgres", "postgresql", "pg", "psql"],
    &["javascript", "js", "ecmascript"],
    &["typescript", "ts"],
    &["python", "py"],
    &["golang", "go"],
    &["database", "db"],
    &["authentication", "auth", "login", "signin", "authn"],
    &["authorization", "authz", "permission", "permissions"],
    &["oidc", "openid", "sso", "saml"],
    &["oauth", "oauth2"],
    &["configuration", "config", "settings"],
    &["environment", "env"],
    &["repository", "repo"],
    &["internationalization", "i18n", "localization", "l10n", "translation"],
    &["accessibility", "a11y"],
    &["observability", "o11y", "telemetry", "monitoring"],
    &["performance", "perf", "latency", "slow", "speed"],
    &["infrastructure", "infra"],
    &["documentation", "docs"],
    &["dependency", "deps"],
    &["asynchronous", "async"],
    &["concurrency", "concurrent", "parallel"],
    &["continuous", "ci"],
    &["container", "docker", "containers"],
    &["terraform", "opentofu", "iac"],
    &["certificate", "tls", "ssl", "https"],
    &["embedding", "embeddings", "vector", "vectors"],
    &["retrieval", "rag"],
    &["llm", "llms", "gpt"],
    &["websocket", "websockets", "realtime"],
    &["queue", "broker", "messaging"],
    &["cache", "caching", "memoize"],
    &["credential", "credentials", "secret", "password"],
    &["schema", "migration", "migrations", "ddl"],
    &["logging", "logs", "log"],
    &["tracing", "trace", "traces", "spans"],
    &["webhook", "webhooks", "callback"],
    &["payment", "payments", "billing", "checkout"],
    &["graphql", "gql"],
    &["protobuf", "grpc", "proto"],
    &["test", "tests", "testing"],
    &["cli", "terminal", "command"],
    &["ui", "frontend", "interface"],
    &["backup", "backups", "restore"],
    &["image", "images", "picture", "photo"],
    &["screenreader", "aria"],
    &["mobile", "ios", "android"],
    &["stylesheet", "css"],
    &["deploy", "deployment", "rollout", "release"],
    &["vulnerability", "cve", "exploit"],
    &["spreadsheet", "csv", "excel"],
];

/// Word pairs with one meaning in texts about software.
const COMPOUND_WORDS: &[(&str, &str)] = &[
    ("log in", "login"),
    ("logs in", "login"),
    ("logged in", "login"),
    ("logging in", "login"),
    ("log into", "login"),
    ("sign in", "login"),
    ("signs in", "login"),
    ("signed in", "login"),
    ("signing in", "login"),
    ("sign on", "sso"),
    ("sign-on", "sso"),
    ("roll out", "rollout"),
    ("check out", "checkout"),
    ("real time", "realtime"),
    ("web socket", "websocket"),
    ("open id", "openid"),
];

/// Joins the pairs of [`COMPOUND_WORDS`] into single words.
pub(crate) fn join_compounds(text: &str) -> String {
    COMPOUND_WORDS.iter().fold(text.to_owned(), |text, (two, one)| {
        // ASCII lowercasing keeps all byte offsets.
        let lower = text.to_ascii_lowercase();
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (at, found) in lower.match_indices(two) {
            out.extend([&text[done..at], one]);
            done = at + found.len();
        }
        out + &text[done..]
    })
}

/// Returns the synonyms of a word.
pub(crate) fn synonyms_of(word: u64) -> Vec<u64> {
    static KNOWN: OnceLock<HashMap<u64, Vec<u64>>> = OnceLock::new();
    KNOWN.get_or_init(synonym_table).get(&word).cloned().unwrap_or_default()
}

fn synonym_table() -> HashMap<u64, Vec<u64>> {
    let mut known: HashMap<u64, Vec<u64>> = HashMap::new();
    for names in SYNONYMS {
        let mut hashes = Vec::new();
        names.iter().for_each(|name| for_each_word(name, &mut |word| hashes.push(word)));
        for hash in &hashes {
            let others = hashes.iter().filter(|other| *other != hash).copied();
            known.entry(*hash).or_default().extend(others);
        }
    }
    known.values_mut().for_each(|others| {
        others.sort_unstable();
        others.dedup();
    });
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_are_found() {
        let hash_word = |text: &str| {
            let mut last = 0;
            for_each_word(text, &mut |word| last = word);
            last
        };
        assert!(synonyms_of(hash_word("k8s")).contains(&hash_word("Kubernetes")));
        assert!(synonyms_of(hash_word("gardening")).is_empty());
        assert_eq!(
            join_compounds("People Log in with single sign-on"),
            "People login with single sso"
        );
    }
}
