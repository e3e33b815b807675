//! Detection of values that must not be recorded, by name and by shape.

/// Words in the name of a parameter that mark it as secret.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "credential",
    "privatekey",
    "accesskey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "bearer",
    "cookie",
    "sessionid",
    "connectionstring",
    "webhook",
];

/// The first two letters of [`SECRET_NAMES`], of `pat` and of `auth`.
const SECRET_NAME_INITIALS: [[u8; 2]; 13] = [
    *b"pa", *b"se", *b"to", *b"ap", *b"cr", *b"pr", *b"ac", *b"au", *b"si", *b"en", *b"be", *b"co",
    *b"we",
];

/// Prefixes of the secrets of well-known services, and their minimum length.
const KNOWN_SECRET_PREFIXES: &[(&str, usize)] = &[
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("whsec_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xapp-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("ya29.", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("dop_v1_", 20),
    ("hf_", 20),
    ("SG.", 20),
    ("shpat_", 20),
    ("shpss_", 20),
    ("sq0atp-", 20),
    ("EAAC", 30),
    ("AGE-SECRET-KEY-", 20),
    ("dckr_pat_", 20),
    ("lin_api_", 20),
    ("figd_", 20),
    ("sntrys_", 20),
    ("glsa_", 20),
    ("dapi", 32),
    ("PMAK-", 20),
    ("NRAK-", 20),
    ("key-", 32),
    ("vault:", 16),
    ("hvs.", 20),
    ("tfp_", 20),
];

/// The minimum of the lengths in [`KNOWN_SECRET_PREFIXES`].
const MIN_KNOWN_SECRET_LEN: usize = 16;

/// Shorter text cannot be distinguished from words.
const MIN_RANDOM_LEN: usize = 20;
/// The entropy in bits per character from which text looks random. Hexadecimal digests and words
/// are below it.
const MIN_RANDOM_ENTROPY: f64 = 4.1;

/// Ten times the minimum mean length of words in an identifier; random text splits into shorter
/// pieces.
const MIN_MEAN_WORD_LEN_TENTHS: usize = 28;

/// Returns why a value must not be recorded, or `None` if it may be.
pub fn detect_secret(name: &str, value: &str) -> Option<&'static str> {
    if is_meaningful_value(value) && is_secret_name(name) {
        return Some("its name is that of a secret");
    }
    if value.contains("-----BEGIN") && value.contains("PRIVATE KEY") {
        return Some("it is a private key");
    }
    if has_password(value) {
        return Some("it is a URL with a password");
    }
    let words = value.split(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ',' | ';' | '(' | ')')
    });
    let (mut is_signed, mut is_random) = (false, false);
    // Shorter words match no shape, and a text may have millions of them.
    for word in words.filter(|word| word.len() >= MIN_KNOWN_SECRET_LEN) {
        if known_secret_prefix(word).is_some() {
            return Some("it has the prefix of a well-known access token");
        }
        is_signed |= is_signed_token(word);
        is_random |= !is_signed && looks_random(word);
    }
    if is_signed {
        Some("it is a signed token")
    } else {
        is_random.then_some("it looks like a random key")
    }
}

/// Whether a value carries information; a secret does.
pub fn is_meaningful_value(value: &str) -> bool {
    !matches!(value.trim(), "" | "true" | "false" | "none" | "null")
}

/// Whether the name of a value marks it as secret.
pub fn is_secret_name(name: &str) -> bool {
    let letters =
        || name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    // A text may have millions of names, and this check rejects most of them quickly.
    if !letters()
        .zip(letters().skip(1))
        .any(|(first, second)| SECRET_NAME_INITIALS.contains(&[first, second]))
    {
        return false;
    }
    let plain: String = letters().map(char::from).collect();
    SECRET_NAMES.iter().any(|word| plain.contains(word))
        || plain.ends_with("pat")
        || plain == "auth"
}

/// Returns the prefix by which a word is a secret of a well-known service.
pub fn known_secret_prefix(word: &str) -> Option<&'static str> {
    let is_secret = |prefix: &str, length: usize| {
        word.len() >= length
            && word.starts_with(prefix)
            && (word[prefix.len()..].bytes().any(|b| b.is_ascii_digit())
                || prefix.len() > 3 && !word.contains(['/', ' ']))
    };
    let known = KNOWN_SECRET_PREFIXES.iter();
    known
        .map(|(prefix, length)| (*prefix, *length))
        .find_map(|(prefix, length)| is_secret(prefix, length).then_some(prefix))
}

/// Whether a value has the form `scheme://user:password@host`.
fn has_password(value: &str) -> bool {
    value.match_indices("://").any(|(at, separator)| {
        let authority =
            value[at + separator.len()..].split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

/// Whether a word starts with base64 parts separated by dots, the first of which is JSON.
pub fn is_signed_token(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_part = |part: Option<&str>| {
        part.is_some_and(|part| part.len() >= 10 && part.bytes().all(is_base64))
    };
    word.starts_with("eyJ") && is_part(parts.next()) && is_part(parts.next())
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// A long run of digits and letters in both cases that is not made of words.
fn looks_random(word: &str) -> bool {
    if word.contains("://") || !word.bytes().all(is_base64) {
        return false;
    }
    // A path or a hyphenated name is judged piece by piece.
    word.split(['/', '-', '_']).any(|piece| {
        let has = |is: fn(&u8) -> bool| piece.as_bytes().iter().any(is);
        piece.len() >= MIN_RANDOM_LEN
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && !is_made_of_words(piece)
            && entropy_bits(piece)
                >= MIN_RANDOM_ENTROPY
                    .min(f64::from(u32::try_from(piece.len()).unwrap_or(u32::MAX)).log2() - 0.5)
    })
}

/// Whether a text splits into words at capitals and digits, as identifiers do. A capital is a word
/// of its own unless lowercase letters follow it.
pub fn is_made_of_words(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts = (0..bytes.len()).filter(|at| {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        bytes[*at].is_ascii_uppercase()
            || before.is_none_or(|before| before.is_ascii_digit() != bytes[*at].is_ascii_digit())
    });
    let words = starts.count();
    text.len() * 10 >= words * MIN_MEAN_WORD_LEN_TENTHS
}

/// The entropy of a text's characters in bits.
fn entropy_bits(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let share = |count: &u32| f64::from(*count) / length;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sb_09_every_secret_name_has_its_initials_listed() {
        for name in SECRET_NAMES.iter().chain(&["pat", "auth"]) {
            assert!(is_secret_name(name) && is_secret_name(&name.to_uppercase()), "{name}");
        }
    }

    #[test]
    fn sb_09_forty_secrets_are_rejected() {
        let key = "k7Qz9XbR2mVt4LwPs8YcJ3nH";
        let joined = |prefix: &str| format!("{prefix}{key}{key}");
        let by_shape: Vec<String> = [
            "ghp_",
            "gho_",
            "github_pat_",
            "glpat-",
            "sk-proj-",
            "sk_live_",
            "rk_live_",
            "whsec_",
            "xoxb-",
            "AKIA",
            "AIza",
            "ya29.",
            "npm_",
            "pypi-",
            "hf_",
            "SG.",
            "shpat_",
            "dop_v1_",
            "AGE-SECRET-KEY-",
            "dckr_pat_",
            "hvs.",
        ]
        .into_iter()
        .map(joined)
        .chain([
            "-----BEGIN OPENSSH PRIVATE KEY-----\nabc".into(),
            "-----BEGIN RSA PRIVATE KEY-----".into(),
            "postgres://me:hunter2@db.example.com/app".into(),
            "https://user:pass@example.com/".into(),
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N".into(),
            format!("Bearer {key}{key}"),
            format!("{key}{key}"),
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY12".into(),
            "dGhpcyBpcyBhIHNlY3JldCBrZXkgMTIzNDU2Nzg5MA==".into(),
        ])
        .collect();
        for value in &by_shape {
            assert!(detect_secret("value", value).is_some(), "{value}");
        }
        let by_name = [
            "password",
            "db_password",
            "API_KEY",
            "api-key",
            "token",
            "github-token",
            "client_secret",
            "private-key",
            "passphrase",
            "aws-access-key",
            "credentials",
            "session_id",
            "bearer",
            "connection-string",
        ];
        for name in by_name {
            assert!(detect_secret(name, "hunter2").is_some(), "{name}");
        }
        assert!(by_shape.len() + by_name.len() >= 40);
    }

    #[test]
    fn sb_09_forty_harmless_values_pass() {
        let harmless = [
            ("paper", "a4"),
            ("output-dir", "build/pdf"),
            ("language", "en-GB"),
            ("branch", "feature/token-refresh"),
            ("commit", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
            ("id", "123e4567-e89b-12d3-a456-426614174000"),
            ("digest", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("count", "12"),
            ("url", "https://example.com/docs/getting-started?x=1"),
            ("email", "me@example.com"),
            ("version", "v1.2.3"),
            ("date", "2026-01-02T03:04:05Z"),
            ("path", "/srv/projects/website/assets/images"),
            ("enabled", "true"),
            ("title", "How to keep a secret garden"),
            ("model", "gpt-4o-mini-2024-07-18"),
            ("style", "Chicago"),
            ("glob", "**/*.md"),
            ("regex", "^[a-z]+(-[a-z]+)*$"),
            ("color", "#ff8800"),
            ("editor", "vim"),
            ("repo", "github.com/acme/shared-skills"),
            ("host", "db.internal.example.com"),
            ("port", "5432"),
            ("greeting", "Grüße aus Köln"),
            ("name", "Ada Lovelace"),
            ("timezone", "Europe/Berlin"),
            ("width", "80"),
            ("command", "cargo test --workspace --locked"),
            ("description", "Converts Markdown into a PDF, page by page."),
            ("package", "@acme/skill-loader"),
            ("region", "eu-central-1"),
            ("locale", "pt_BR.UTF-8"),
            ("ratio", "0.75"),
            ("list", "one,two,three"),
            ("file", "SomeVeryLongCamelCaseFileNameForTheReport.docx"),
            ("font", "DejaVuSansMono"),
            ("class", "AbstractSingletonProxyFactoryBean"),
            ("quote", "“To be, or not to be”"),
            ("tokens", ""),
            ("isbn", "978-3-16-148410-0"),
            ("coordinates", "52.5200,13.4050"),
        ];
        for (name, value) in harmless {
            assert_eq!(detect_secret(name, value), None, "{name}: {value}");
        }
        assert!(harmless.len() >= 40);
    }
}
