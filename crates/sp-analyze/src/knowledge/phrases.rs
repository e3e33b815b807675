//! Phrases for classifying sentences.

/// Phrases that are warnings anywhere in a sentence.
#[rustfmt::skip]
pub(crate) const WARNING_PHRASES: &[&str] = &[
    "deprecated", "no longer", "obsolete", "must not", "mustn't", "must never", "should not",
    "shouldn't", "should never", "anti-pattern", "antipattern", "pitfall", "beware",
    "not recommended", "insecure", "outdated", "discouraged", "was removed", "has been removed",
    "is dangerous", "is vulnerable", "common mistake", "is legacy",
];

/// Phrases that are warnings at the start of a clause.
#[rustfmt::skip]
pub(crate) const PROHIBITION_PHRASES: &[&str] = &[
    "do not", "don't", "don’t", "never", "avoid", "stop using", "refrain from",
];

/// What precedes the start of a clause.
#[rustfmt::skip]
pub(crate) const CLAUSE_SEPARATORS: &[&str] = &[
    ". ", "; ", ": ", ", ", " and ", " so ", " but ", " or ", " then ", " — ", " – ", "(", " to ",
    " please ",
];

/// Phrases that give advice.
#[rustfmt::skip]
pub(crate) const ADVICE_PHRASES: &[&str] = &[
    "always", "must", "should", "prefer", "recommended", "recommend", "best practice", "make sure",
    "ensure", "required to", "requires", "need to", "needs to", "have to", "has to", "by default",
    "at least", "at most",
];

/// First words of an instruction.
#[rustfmt::skip]
pub(crate) const IMPERATIVE_VERBS: &[&str] = &[
    "use", "set", "keep", "store", "return", "validate", "add", "run", "call", "create", "write",
    "pin", "check", "wrap", "put", "pass", "enable", "disable", "configure", "choose", "treat",
    "send", "read", "retry", "rotate", "encrypt", "sign", "verify", "define", "declare", "split",
    "prefer", "start", "close", "expose", "emit", "include", "exclude", "give", "let", "make",
    "move", "open", "parse", "require", "reject", "render", "replace", "respect", "separate",
    "serve", "skip", "specify", "turn", "update", "apply", "assert", "bind", "build", "commit",
    "drop", "escape", "generate", "handle", "install", "merge", "publish", "register", "restrict",
    "throttle", "upgrade", "upload", "follow", "remember", "implement", "initialize", "import",
    "combine", "compare", "restore", "roll", "deploy", "fetch", "load", "save", "remove", "delete",
    "select", "insert", "ask", "answer", "show", "tell", "decide", "plan", "measure", "begin",
];

/// Words that follow an imperative verb if it is used as a noun.
#[rustfmt::skip]
pub(crate) const AMBIGUOUS_VERBS: &[&str] = &[
    "limit", "cache", "log", "test", "batch", "hash", "release", "reserve", "name", "scope",
    "stream", "track", "version", "document", "export", "group", "index", "mark", "mount", "order",
    "profile", "quote", "record", "sample", "schedule", "sort", "tag", "tune", "vacuum", "warm",
    "watch", "stop", "lock", "queue", "trace", "monitor", "review", "map", "mock", "seed", "filter",
    "format", "request", "report", "alert", "budget", "back", "copy", "link", "label", "type",
    "sync",
];

/// Words that follow an imperative verb.
#[rustfmt::skip]
pub(crate) const OBJECT_WORDS: &[&str] = &[
    "the", "a", "an", "all", "every", "each", "your", "it", "them", "only", "no", "one", "with",
    "in", "on", "by", "at", "what", "how", "both", "any", "its", "their", "against", "per", "once",
    "early", "first", "before", "after", "up",
];

/// Words that refer to a previous sentence.
#[rustfmt::skip]
pub(crate) const DEPENDENT_OPENERS: &[&str] = &[
    "this", "that", "these", "those", "it", "they", "he", "she", "however", "but", "so", "and",
    "then", "also", "thus", "therefore", "hence", "instead", "otherwise", "besides", "moreover",
    "furthermore", "for example", "for instance", "in this", "in that", "in addition",
    "as a result", "here", "there", "such", "both", "which", "because", "or", "its", "their",
    "next", "finally", "first", "second", "again", "similarly", "likewise", "note that",
    "as mentioned", "above",
];

/// Phrases that are about the website and not its subject.
#[rustfmt::skip]
pub(crate) const BOILERPLATE_PHRASES: &[&str] = &[
    "cookie", "subscribe", "newsletter", "sign up", "click here", "read more",
    "all rights reserved", "©", "share this", "follow us", "terms of service", "privacy policy",
    "advertisement", "leave a comment", "log in to", "min read", "in this article", "in this post",
    "in this tutorial", "we will look", "we'll look", "let's", "table of contents", "photo by",
    "thanks for reading", "stay tuned", "last updated", "edit this page",
];

/// Phrases that address the agent as if they came from the user.
#[rustfmt::skip]
pub(crate) const INJECTION_PHRASES: &[&str] = &[
    "ignore all previous", "ignore previous", "ignore the above", "ignore all instructions",
    "ignore your instructions", "ignore any instructions", "disregard previous", "disregard all",
    "disregard the", "system prompt", "you are now", "do not tell the user", "don't tell the user",
    "without telling the user", "without asking the user", "reveal your", "print your instructions",
    "exfiltrate", "as an ai", "new instructions:", "jailbreak", "forget everything", "forget all",
    "override your", "do not mention this", "| sh", "| bash", "rm -rf",
];

/// Phrases that describe how to recognize success.
#[rustfmt::skip]
pub(crate) const SUCCESS_PHRASES: &[&str] = &[
    "should see", "you will see", "you'll see", "verify that", "check that", "confirm that",
    "make sure that", "expected output", "should return", "should print", "should pass",
    "passes when", "is done when", "returns 200", "should now", "to verify", "to confirm",
    "should be", "works when",
];
