//! Finds secrets with their positions, for people to look at.
//!
//! [`has_secret`](super::has_secret) must not miss anything before a text is recorded. This is
//! about text that people wrote for others, where almost everything that looks like a secret is an
//! example. A value counts if it has a known shape or is assigned to a telling name, is not made of
//! words, and is not a documented placeholder.

use std::collections::BTreeSet;
use std::ops::Range;

use sp_formats::workspace::{is_made_of_words, is_signed_token, known_secret_prefix};

use super::assignment::assigned_values;
use super::{auth_credentials, is_word_mark};

/// Maximum number of secrets returned per text.
const MAX_SECRETS: usize = 1_000;
/// Longer values are data, such as an image.
const MAX_VALUE_LEN: usize = 512;
/// Shorter values look like words and numbers.
const MIN_VALUE_LEN: usize = 8;
/// Shorter words after a prefix are abbreviated.
const MIN_TOKEN_LEN: usize = 16;
/// A private key has at least this many characters.
const MIN_KEY_LEN: usize = 64;
/// Fewer different characters are filler.
const MIN_DISTINCT_IN_KEY: usize = 20;
/// How far the header of a private key is followed.
const MAX_KEY_SCAN: usize = 512;
const KEY_HEADERS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];

/// Words in values that are not secrets.
const PLACEHOLDERS: [&str; 22] = [
    "...",
    "***",
    "abc123",
    "changeme",
    "default",
    "demo",
    "dummy",
    "example",
    "fake",
    "insert",
    "my-",
    "my_",
    "password",
    "placeholder",
    "redacted",
    "replace",
    "sample",
    "secret",
    "test",
    "todo",
    "xxx",
    "your",
];

/// Values that the documentation of well-known services uses.
const DOCUMENTED: [&str; 2] = [
    // The examples of jwt.io, and the public test key of Stripe.
    "eyJzdWIiOiIxMjM0NTY3ODkw",
    "4eC39HqLyjWDarjtT1zdp7dc",
];

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// One-based line of the start.
    pub line: usize,
    /// One-based column of the start, in characters.
    pub column: usize,
    /// The bytes of the value in the text; of a private key, its header.
    pub span: Range<usize>,
    pub kind: SecretKind,
}

/// What a secret looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    PrivateKey,
    /// A token with the prefix of a well-known service, or a signed one.
    AccessToken,
    UrlPassword,
    /// A value that is assigned to a name such as `password`.
    AssignedValue,
    /// The value of an `Authorization` header.
    Credentials,
}

impl SecretKind {
    /// Display name, in the singular.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrivateKey => "private key",
            Self::AccessToken => "access token",
            Self::UrlPassword => "password in a URL",
            Self::AssignedValue => "password or key",
            Self::Credentials => "credentials in a header",
        }
    }
}

/// Finds secrets, in order; at most one per line and `MAX_SECRETS` in total.
pub fn find_secrets(text: &str) -> Vec<FoundSecret> {
    let mut found = Vec::new();
    let mut start = 0;
    let filter = SecretFilter::of(text);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        if filter.may_have_secret(content)
            && let Some((range, kind)) = find_in_line(content, &text[start..])
        {
            let column = content[..range.start].chars().count() + 1;
            let span = start + range.start..start + range.end;
            found.push(FoundSecret { line: index + 1, column, span, kind });
            if found.len() == MAX_SECRETS {
                break;
            }
        }
        start += line.len();
    }
    found
}

/// Rejects lines without secrets in one pass over their bytes.
///
/// Apart from private keys and signed tokens, a secret has a part of [`MIN_VALUE_LEN`] bytes with a
/// digit and a letter: see [`is_random`].
struct SecretFilter {
    has_key: bool,
    has_signed_token: bool,
}

impl SecretFilter {
    fn of(text: &str) -> Self {
        Self { has_key: text.contains("PRIVATE KEY"), has_signed_token: text.contains("eyJ") }
    }

    fn may_have_secret(&self, line: &str) -> bool {
        has_mixed_part(line.as_bytes())
            || self.has_key && line.contains("PRIVATE KEY")
            || self.has_signed_token && line.contains("eyJ")
    }
}

/// Whether a part of a line has a digit, a letter, and at least [`MIN_VALUE_LEN`] bytes.
fn has_mixed_part(line: &[u8]) -> bool {
    let (mut length, mut has_digit, mut has_letter) = (0, false, false);
    line.iter().any(|byte| {
        match byte {
            b'-' | b'_' | b'.' | b'/' | b' ' | b':' => {
                (length, has_digit, has_letter) = (0, false, false);
                return false;
            }
            b'0'..=b'9' => has_digit = true,
            b'a'..=b'z' | b'A'..=b'Z' => has_letter = true,
            _ => {}
        }
        length += 1;
        length >= MIN_VALUE_LEN && has_digit && has_letter
    })
}

/// Finds the first secret in a line. `rest` is the text from the line on.
fn find_in_line(line: &str, rest: &str) -> Option<(Range<usize>, SecretKind)> {
    if line.len() < MIN_VALUE_LEN {
        return None;
    }
    if let Some(range) = find_private_key(line, rest) {
        return Some((range, SecretKind::PrivateKey));
    }
    if let Some(range) = find_token(line) {
        return Some((range, SecretKind::AccessToken));
    }
    if let Some(range) = find_url_password(line) {
        return Some((range, SecretKind::UrlPassword));
    }
    if let Some(range) = auth_credentials(line).find(|range| is_random(&line[range.clone()])) {
        return Some((range, SecretKind::Credentials));
    }
    find_assigned_value(line).map(|range| (range, SecretKind::AssignedValue))
}

/// Finds the header of a key that is followed by its content.
fn find_private_key(line: &str, rest: &str) -> Option<Range<usize>> {
    let (at, header) =
        KEY_HEADERS.iter().find_map(|header| line.find(header).map(|at| (at, header)))?;
    let start = line[..at].rfind("-----BEGIN")?;
    let end = rest.floor_char_boundary(at + header.len() + MAX_KEY_SCAN);
    // In a string, line breaks are escaped.
    let content = rest[at + header.len()..end].replace("\\n", "\n");
    let is_key = |line: &&str| !line.is_empty() && line.bytes().all(is_base64);
    let key: String = content
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '+' | ','))
        .skip_while(|part| part.is_empty())
        .take_while(|part| part.is_empty() || is_key(part))
        .collect();
    // Real keys have runs of one letter, so only their variety counts.
    let distinct: BTreeSet<u8> = key.bytes().collect();
    (key.len() >= MIN_KEY_LEN && distinct.len() >= MIN_DISTINCT_IN_KEY)
        .then_some(start..at + header.len())
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Finds a token of a well-known service.
fn find_token(line: &str) -> Option<Range<usize>> {
    let mut at = 0;
    line.split(|c: char| is_word_mark(c) || matches!(c, '=' | '/')).find_map(|word| {
        let start = at;
        // The separator may have several bytes.
        at += word.len();
        at += line[at..].chars().next().map_or(0, char::len_utf8);
        let word = word.trim_end_matches('.');
        if word.len() < MIN_TOKEN_LEN || word.len() > 4 * MAX_VALUE_LEN {
            return None;
        }
        let is_token = match known_secret_prefix(word) {
            Some(prefix) => {
                let token = &word[prefix.len()..];
                token.len() >= MIN_TOKEN_LEN && is_random(token)
            }
            None => is_signed_token(word) && word.split('.').count() == 3 && !is_placeholder(word),
        };
        is_token.then_some(start..start + word.len())
    })
}

/// Finds a URL with a password whose host is not a local one.
fn find_url_password(line: &str) -> Option<Range<usize>> {
    line.match_indices("://").find_map(|(at, separator)| {
        let start = at + separator.len();
        let end = line.floor_char_boundary(start + MAX_VALUE_LEN);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`');
        let authority = line[start..end].split(is_end).next().unwrap_or_default();
        let (user_info, host) = authority.rsplit_once('@')?;
        let (user, password) = user_info.split_once(':')?;
        let host = host.split(':').next().unwrap_or_default();
        let is_remote = host.contains('.')
            && !host.starts_with("127.")
            && !host.split('.').any(|label| label.eq_ignore_ascii_case("example"));
        (is_remote && user != password && is_random(password))
            .then_some(start..start + user_info.len())
    })
}

/// Finds a value that is assigned to the name of a secret.
fn find_assigned_value(line: &str) -> Option<Range<usize>> {
    let mut rejected_end = None;
    assigned_values(line).find_map(|range| {
        // Values with the same end are parts of each other.
        if rejected_end == Some(range.end) {
            return None;
        }
        let is_secret = is_random(&line[range.clone()]);
        rejected_end = (!is_secret).then_some(range.end);
        is_secret.then_some(range)
    })
}

/// Whether a value has a part that is neither a word nor a number, and is not a placeholder.
fn is_random(value: &str) -> bool {
    if !(MIN_VALUE_LEN..=MAX_VALUE_LEN).contains(&value.len()) || is_placeholder(value) {
        return false;
    }
    let is_random_part = |part: &str| {
        let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
        part.len() >= MIN_VALUE_LEN
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && !is_made_of_words(part)
    };
    value.split(['-', '_', '.', '/', ' ', ':']).any(is_random_part)
}

/// Whether a value is meant to be replaced, or comes from documentation.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
        || DOCUMENTED.iter().any(|known| value.contains(known))
        || value.contains(['<', '>', '{', '}', '$', '…', '*'])
        || has_sequence(lower.as_bytes())
}

/// Whether a value has a run such as `12345`, `abcde`, `0000` or `a1b2c3d4`.
fn has_sequence(value: &[u8]) -> bool {
    const MIN_ASCENDING: usize = 5;
    const MIN_REPEATED: usize = 4;
    const MIN_ALTERNATING: usize = 6;
    let (mut ascending, mut repeated, mut alternating) = (1, 1, 0);
    let alternates = value.windows(3).any(|three| {
        let is_next = three[2] == three[0].wrapping_add(1);
        alternating = if is_next { alternating + 1 } else { 0 };
        alternating >= MIN_ALTERNATING
    });
    alternates
        || value.windows(2).any(|pair| {
            ascending = if pair[1] == pair[0].wrapping_add(1) { ascending + 1 } else { 1 };
            repeated = if pair[1] == pair[0] { repeated + 1 } else { 1 };
            ascending >= MIN_ASCENDING || repeated >= MIN_REPEATED
        })
}

/// The byte range of a word in a line that contains it.
pub(super) fn range_in(line: &str, word: &str) -> Range<usize> {
    let start = word.as_ptr() as usize - line.as_ptr() as usize;
    start..start + word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "k7Qz9XbR2mVt4LwPs8YcJ3nHd6Tf1Gq5";

    fn kinds(text: &str) -> Vec<(usize, usize, SecretKind)> {
        find_secrets(text).iter().map(|it| (it.line, it.column, it.kind)).collect()
    }

    #[test]
    fn se_09_secrets_have_a_position_and_a_kind() {
        for (text, column, kind) in [
            (format!("é token ghp_{TOKEN}."), 9, SecretKind::AccessToken),
            (format!("export OPENAI_API_KEY=sk-proj-{TOKEN}"), 23, SecretKind::AccessToken),
            (format!("see `glpat-{TOKEN}`"), 6, SecretKind::AccessToken),
            ("db_password = \"x9Kq!72mLp\"".into(), 16, SecretKind::AssignedValue),
            (format!("client_secret: {TOKEN}"), 16, SecretKind::AssignedValue),
            ("postgres://app:q8Zr4Lw2@db.acme.io/x".into(), 12, SecretKind::UrlPassword),
            (format!("Authorization: Bearer {TOKEN}"), 23, SecretKind::Credentials),
            (
                format!("eyJhbGciOiJIUzI1NiJ9.eyJ1aWQiOiI4N2YyIn0.{TOKEN}"),
                1,
                SecretKind::AccessToken,
            ),
        ] {
            assert_eq!(kinds(&format!("text\r\n{text}\n")), [(2, column, kind)], "{text}");
        }
        let key = format!("{TOKEN}{TOKEN}\n{TOKEN}{TOKEN}\n");
        for text in [
            format!("-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----\n"),
            format!("-----BEGIN PRIVATE KEY-----\\n{TOKEN}{TOKEN}\\n-----END"),
            format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{key}"),
        ] {
            assert_eq!(kinds(&text), [(1, 1, SecretKind::PrivateKey)], "{text}");
        }
    }

    #[test]
    fn se_09_documented_placeholders_are_not_secrets() {
        for text in [
            "API_KEY=YOUR_API_KEY",
            "OPENAI_API_KEY=sk-...",
            "API_KEY = \"sk-12345\"",
            "sk-1234567890abcdef1234567890abcdef",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "sk-proj-abcdefghijklmnop1234",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "token: <token>",
            "token = \"{{ secrets.TOKEN }}\"",
            "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "POSTGRES_PASSWORD: test",
            "POSTGRES_PASSWORD=temporal",
            "password: \"password123\"",
            "API_SECRET_KEY=dev-secret-key",
            "--token=\"my-token\"",
            "postgresql://user:pass@localhost:5432/db",
            "postgres://postgres:postgres@db:5432/app",
            "https://user:pass1word2@example.com/",
            "password: str = Field(alias=\"DB_PASSWORD\")",
            "const token = await storage.getItem('token1');",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
            "Authorization: Bearer $TOKEN",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "grep for `-----BEGIN RSA PRIVATE KEY-----` in the diff of the last commit, then stop",
            "use-task-list.ts and max_tokens=1500, per_token=0.001",
            "Example: AIzaSyA1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q",
            "retrieve(session_id=\"sesn_011CZxAbc123Def456\")",
            "sha512-k7Qz9XbR2mVt4LwPs8YcJ3nHd6Tf1Gq5k7Qz9XbR2mVt4LwPs8YcJ3nHd6Tf1Gq5",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }
}
