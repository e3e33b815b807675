//! Public keys of issuers, and the signatures that they verify.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::Value;

/// More keys are ignored.
const MAX_KEYS: usize = 100;
const MAX_KEY_ID_LEN: usize = 256;
const MAX_RSA_BYTES: usize = 1024;
/// The length of a coordinate of a point, and of an Ed25519 key.
const POINT_BYTES: usize = 32;
/// A point with both coordinates.
const UNCOMPRESSED_POINT: u8 = 4;

/// The accepted algorithms. All others are refused, above all `none` and those with a shared key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureAlgorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl SignatureAlgorithm {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key, which belongs to one algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerificationKey {
    pub id: String,
    pub algorithm: SignatureAlgorithm,
    material: KeyMaterial,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyMaterial {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Point(Vec<u8>),
}

impl VerificationKey {
    /// Reads a key. Keys that are not for signatures, or for other algorithms, are ignored.
    fn from_json(key: &Value) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let id = text("kid").filter(|id| (1..=MAX_KEY_ID_LEN).contains(&id.len()))?;
        if key.get("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let point = |name: &str| bytes(name).filter(|bytes| bytes.len() == POINT_BYTES);
        let (algorithm, material) = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let number = |name: &str| {
                    let bytes = bytes(name).filter(|bytes| bytes.len() <= MAX_RSA_BYTES)?;
                    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                    Some(bytes[zeros..].to_vec())
                };
                let material = KeyMaterial::Rsa { modulus: number("n")?, exponent: number("e")? };
                (SignatureAlgorithm::Rs256, material)
            }
            ("EC", Some("P-256")) => {
                let coordinates = [vec![UNCOMPRESSED_POINT], point("x")?, point("y")?];
                (SignatureAlgorithm::Es256, KeyMaterial::Point(coordinates.concat()))
            }
            ("OKP", Some("Ed25519")) => {
                (SignatureAlgorithm::EdDsa, KeyMaterial::Point(point("x")?))
            }
            _ => return None,
        };
        let is_usable = match key.get("alg") {
            None => true,
            Some(name) => name.as_str().and_then(SignatureAlgorithm::parse) == Some(algorithm),
        };
        is_usable.then(|| Self { id: id.into(), algorithm, material })
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.material, self.algorithm) {
            (KeyMaterial::Rsa { modulus, exponent }, _) => {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(
                    &RSA_PKCS1_2048_8192_SHA256,
                    message,
                    signature,
                )
            }
            (KeyMaterial::Point(point), SignatureAlgorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            (KeyMaterial::Point(point), _) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

/// Reads the usable keys of a key set. `None` if it is not one.
pub(crate) fn parse_key_set(json: &[u8]) -> Option<Vec<VerificationKey>> {
    let set: Value = serde_json::from_slice(json).ok()?;
    let keys = set.get("keys")?.as_array()?;
    Some(keys.iter().take(MAX_KEYS).filter_map(VerificationKey::from_json).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rg_68_key_belongs_to_the_algorithm_of_its_type() {
        let coordinate = URL_SAFE_NO_PAD.encode([7; 32]);
        let rsa = json!({"kty": "RSA", "kid": "r", "n": "AKv_", "e": "AQAB"});
        let ec = json!({"kty": "EC", "crv": "P-256", "kid": "e", "x": coordinate, "y": coordinate});
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "kid": "d", "x": coordinate});
        let with = |key: &Value, name: &str, value: Value| {
            let mut key = key.clone();
            key[name] = value;
            key
        };
        let parse = |key: &Value| {
            let set = json!({"keys": [key]}).to_string();
            parse_key_set(set.as_bytes()).unwrap().pop().map(|key| key.algorithm)
        };
        for (key, expected) in [
            (&rsa, SignatureAlgorithm::Rs256),
            (&ec, SignatureAlgorithm::Es256),
            (&ed, SignatureAlgorithm::EdDsa),
        ] {
            assert_eq!(parse(key), Some(expected));
            assert_eq!(parse(&with(key, "use", "sig".into())), Some(expected));
            for ignored in [
                with(key, "use", "enc".into()),
                with(key, "alg", "HS256".into()),
                with(key, "alg", "RS512".into()),
                with(key, "alg", json!(1)),
                with(key, "kid", json!(1)),
                with(key, "kid", "".into()),
                with(key, "kty", "oct".into()),
            ] {
                assert_eq!(parse(&ignored), None, "{ignored}");
            }
        }
        assert_eq!(parse(&with(&rsa, "alg", "RS256".into())), Some(SignatureAlgorithm::Rs256));
        assert_eq!(parse(&with(&rsa, "alg", "ES256".into())), None);
        assert_eq!(parse(&with(&ec, "crv", "P-384".into())), None);
        assert_eq!(parse(&with(&ec, "x", "AA".into())), None);
        assert_eq!(parse(&with(&ed, "x", "not base64".into())), None);
        assert_eq!(parse_key_set(b"{\"keys\": 1}"), None);
        assert_eq!(parse_key_set(b"<html>"), None);
        assert_eq!(parse_key_set(b"{\"keys\": []}"), Some(Vec::new()));
    }
}
