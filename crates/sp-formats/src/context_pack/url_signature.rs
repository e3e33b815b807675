//! Signed URLs of context packs that a registry hosts.
//!
//! A pack is several files that refer to each other by relative path, so the signature covers the
//! folder. It is either in the query of every file, `?exp=…&kid=…&sig=…`, or in the path, where
//! relative references keep it: `/s/{kid}.{exp}.{sig}/packs/{id}/…`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sp_tree::HmacSha256;

/// The longest lifetime of a signed URL.
pub const MAX_URL_LIFETIME_SECS: u64 = 7 * 24 * 60 * 60;
/// The lifetime if the request does not specify one.
pub const DEFAULT_URL_LIFETIME_SECS: u64 = 60 * 60;

const MAC_BYTES: usize = 32;
const MAX_KID_LEN: usize = 32;

/// A parsed or created signature. It is not verified until [`is_valid_for`](Self::is_valid_for).
#[derive(Clone, PartialEq, Eq)]
pub struct UrlSignature {
    kid: String,
    exp: u64,
    sig: [u8; MAC_BYTES],
}

impl UrlSignature {
    /// Signs access to a pack until `exp`, in seconds since the epoch. Returns `None` if `kid` is
    /// not a valid key ID.
    pub fn sign(kid: &str, key: &[u8], id: &str, exp: u64) -> Option<Self> {
        is_valid_kid(kid).then(|| Self {
            kid: kid.into(),
            exp,
            sig: compute_mac(key, id, exp, kid).finish(),
        })
    }

    /// Parses a query that consists of the three parameters, each once.
    pub fn from_query(query: &str) -> Option<Self> {
        let (mut kid, mut exp, mut sig) = (None, None, None);
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=')?;
            let field = match name {
                "kid" => &mut kid,
                "exp" => &mut exp,
                "sig" => &mut sig,
                _ => return None,
            };
            if field.replace(value).is_some() {
                return None;
            }
        }
        Self::from_parts(kid?, exp?, sig?)
    }

    /// Parses the path segment `{kid}.{exp}.{sig}`.
    pub fn from_path_segment(segment: &str) -> Option<Self> {
        let mut parts = segment.split('.');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(kid), Some(exp), Some(sig), None) => Self::from_parts(kid, exp, sig),
            _ => None,
        }
    }

    /// Each part has exactly one valid spelling, so a signed URL cannot be rewritten.
    fn from_parts(kid: &str, exp: &str, sig: &str) -> Option<Self> {
        let is_number = exp.bytes().all(|byte| byte.is_ascii_digit()) && !exp.starts_with('0');
        let exp = exp.parse().ok().filter(|_| is_number)?;
        let sig = URL_SAFE_NO_PAD.decode(sig).ok()?.try_into().ok()?;
        is_valid_kid(kid).then(|| Self { kid: kid.into(), exp, sig })
    }

    /// The ID of the key that the signature claims.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The expiration time in seconds since the epoch.
    pub fn exp(&self) -> u64 {
        self.exp
    }

    /// Whether the signature grants access to a pack at this time. The signature is compared first,
    /// in constant time, so that the result does not reveal whether only the time was wrong.
    pub fn is_valid_for(&self, key: &[u8], id: &str, now: u64) -> bool {
        let is_signed = compute_mac(key, id, self.exp, &self.kid).verify(&self.sig);
        is_signed && now < self.exp && self.exp - now <= MAX_URL_LIFETIME_SECS
    }

    pub fn to_query(&self) -> String {
        format!("exp={}&kid={}&sig={}", self.exp, self.kid, URL_SAFE_NO_PAD.encode(self.sig))
    }

    pub fn to_path_segment(&self) -> String {
        format!("{}.{}.{}", self.kid, self.exp, URL_SAFE_NO_PAD.encode(self.sig))
    }
}

fn is_valid_kid(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_KID_LEN).contains(&text.len()) && text.bytes().all(is_plain)
}

fn compute_mac(key: &[u8], id: &str, exp: u64, kid: &str) -> HmacSha256 {
    let mut mac = HmacSha256::new(key);
    mac.update(format!("ctxpack-url-v1\nGET\n/packs/{id}/\n{exp}\n{kid}\n").as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";
    const EXP: u64 = 1_777_044_123;
    const SIG: &str = "x-uP5I9EOWDl_AGLTdvo_XGURAvSCv24yJAadhCapmM";

    fn key() -> Vec<u8> {
        (0..32).collect()
    }

    fn known_signature() -> UrlSignature {
        UrlSignature::sign("k1", &key(), ID, EXP).unwrap()
    }

    #[test]
    fn cp_16_signature_matches_known_answer_in_query_and_path() {
        assert_eq!(known_signature().to_query(), format!("exp={EXP}&kid=k1&sig={SIG}"));
        assert_eq!(known_signature().to_path_segment(), format!("k1.{EXP}.{SIG}"));
        assert!(
            UrlSignature::from_query(&known_signature().to_query()).unwrap() == known_signature()
        );
        assert!(
            UrlSignature::from_query(&format!("sig={SIG}&exp={EXP}&kid=k1")).unwrap()
                == known_signature()
        );
        assert!(
            UrlSignature::from_path_segment(&known_signature().to_path_segment()).unwrap()
                == known_signature()
        );
        assert!(known_signature().is_valid_for(&key(), ID, EXP - 1));
    }

    #[test]
    fn cp_16_signature_is_valid_until_expiration_and_for_a_week_at_most() {
        for (now, is_valid) in [
            (EXP - 1, true),
            (EXP, false),
            (EXP + 1, false),
            (EXP - MAX_URL_LIFETIME_SECS, true),
            (EXP - MAX_URL_LIFETIME_SECS - 1, false),
        ] {
            assert_eq!(known_signature().is_valid_for(&key(), ID, now), is_valid, "{now}");
        }
    }

    #[test]
    fn cp_16_other_key_pack_time_or_key_id_is_rejected() {
        let with_exp_and_kid =
            |exp: u64, kid: &str| UrlSignature { exp, kid: kid.into(), ..known_signature() };
        assert!(!known_signature().is_valid_for(&[7; 32], ID, EXP - 1));
        assert!(!known_signature().is_valid_for(&key(), "pk_01KPZXWZQR5NRHCGNQ4TR480B3", EXP - 1));
        assert!(!with_exp_and_kid(EXP + 1, "k1").is_valid_for(&key(), ID, EXP - 1));
        assert!(!with_exp_and_kid(EXP, "k2").is_valid_for(&key(), ID, EXP - 1));
        for index in 0..MAC_BYTES {
            let mut tampered = known_signature();
            tampered.sig[index] ^= 1;
            assert!(!tampered.is_valid_for(&key(), ID, EXP - 1), "{index}");
        }
    }

    #[test]
    fn cp_16_signature_has_one_spelling() {
        for query in [
            String::new(),
            format!("exp={EXP}&kid=k1"),
            format!("exp={EXP}&kid=k1&sig={SIG}&sig={SIG}"),
            format!("exp={EXP}&exp={EXP}&kid=k1&sig={SIG}"),
            format!("exp={EXP}&kid=k1&kid=k1&sig={SIG}"),
            format!("exp={EXP}&kid=k1&sig={SIG}&more=1"),
            format!("exp=0{EXP}&kid=k1&sig={SIG}"),
            format!("exp=+{EXP}&kid=k1&sig={SIG}"),
            format!("exp=-1&kid=k1&sig={SIG}"),
            format!("exp=99999999999999999999&kid=k1&sig={SIG}"),
            format!("exp={EXP}&kid=k1&sig={SIG}="),
            format!("exp={EXP}&kid=k1&sig={}N", &SIG[..42]),
            format!("exp={EXP}&kid=k1&sig={}", &SIG[..40]),
            format!("exp={EXP}&kid=k1&sig={}", SIG.replace('_', "/")),
            format!("exp={EXP}&kid=%6b1&sig={SIG}"),
            format!("exp={EXP}&kid=&sig={SIG}"),
            format!("exp={EXP}&kid={}&sig={SIG}", "k".repeat(33)),
        ] {
            assert!(UrlSignature::from_query(&query).is_none(), "{query}");
        }
        for segment in
            ["k1", "k1.1", &format!("k1.{EXP}.{SIG}.x"), &format!("{EXP}.k1.{SIG}"), ".."]
        {
            assert!(UrlSignature::from_path_segment(segment).is_none(), "{segment}");
        }
        assert!(UrlSignature::sign("k.1", &key(), ID, EXP).is_none());
    }
}
