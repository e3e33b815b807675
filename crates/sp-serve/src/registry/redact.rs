//! Removes secrets from URLs before they are logged.

use sp_formats::percent::decode_lossy;

/// Replaces secrets.
const REDACTED: &str = "…";
/// Removes the query, and the signature in `/s/{kid}.{exp}.{sig}/`.
///
/// The name of a query parameter does not show whether its value is a secret, so the whole query is
/// removed.
pub fn path(address: &str) -> String {
    let (path, query) = match address.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (address, None),
    };
    let mut first = None;
    let cover = |segment| match (segment, &first) {
        ("", _) => "",
        // The segment after `/s/` is a signature.
        (_, Some(true)) => {
            first = Some(false);
            REDACTED
        }
        (_, Some(false)) => segment,
        (_, None) => {
            // `/s/` can be written in many ways.
            first = Some(decode_lossy(segment) == "s");
            segment
        }
    };
    let shown = path.split('/').map(cover).collect::<Vec<_>>().join("/");
    match query {
        Some(_) => format!("{shown}?{REDACTED}"),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_16_signatures_are_not_logged() {
        for (url, expected) in [
            ("/packs/pk_1/pack.json?exp=1&kid=k1&sig=abc", "/packs/pk_1/pack.json?…"),
            ("/packs/pk_1/pack.json?%73%69g=abc", "/packs/pk_1/pack.json?…"),
            ("/packs/pk_1/pack.json?X-Amz-Signature=abc", "/packs/pk_1/pack.json?…"),
            ("/packs/pk_1/pack.json?abc", "/packs/pk_1/pack.json?…"),
            ("/s/k1.17.abc/packs/pk_1/pack.json", "/s/…/packs/pk_1/pack.json"),
            ("/%73/k1.17.abc/packs/pk_1.zip", "/%73/…/packs/pk_1.zip"),
            ("/s/abc", "/s/…"),
            ("/s/", "/s/"),
            ("/api/v1/packages/s/notes/index.json", "/api/v1/packages/s/notes/index.json"),
            ("//s/k1.17.abc/packs", "//s/…/packs"),
            ("/api/v1/search?q=100%25&limit=5", "/api/v1/search?…"),
            ("/api/v1/packages/acme/notes/1.0.0", "/api/v1/packages/acme/notes/1.0.0"),
            ("/%zz%", "/%zz%"),
        ] {
            assert_eq!(path(url), expected);
        }
    }
}
