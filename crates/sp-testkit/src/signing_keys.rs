//! Keys that sign JSON Web Tokens in tests, and tokens of every kind.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

/// A private key that is public. It must never be used for anything but these tests.
const TEST_ONLY_RSA_KEY: &str = include_str!("keys/test-only-rsa-key.base64");

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JwtKey {
    Rsa,
    Ec,
    Ed25519,
}

impl JwtKey {
    pub const ALL: [Self; 3] = [Self::Rsa, Self::Ec, Self::Ed25519];

    /// Returns the name of its algorithm.
    pub fn algorithm(self) -> &'static str {
        match self {
            Self::Rsa => "RS256",
            Self::Ec => "ES256",
            Self::Ed25519 => "EdDSA",
        }
    }

    /// Returns its ID.
    pub fn id(self) -> &'static str {
        match self {
            Self::Rsa => "rsa-1",
            Self::Ec => "ec-1",
            Self::Ed25519 => "ed-1",
        }
    }
}

/// One key of each type.
pub struct SigningKeys {
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
    random: SystemRandom,
}

impl Default for SigningKeys {
    fn default() -> Self {
        Self::new()
    }
}

impl SigningKeys {
    /// The RSA key is always the same; the others are new.
    pub fn new() -> Self {
        let random = SystemRandom::new();
        let text: String = TEST_ONLY_RSA_KEY.split_whitespace().collect();
        let rsa = STANDARD.decode(text).expect("Base64");
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a new key");
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).expect("a new key");
        Self {
            rsa: RsaKeyPair::from_pkcs8(&rsa).expect("a key"),
            ec: EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).expect("a key"),
            ed25519: Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).expect("a key"),
            random,
        }
    }

    /// Returns a public key as JSON.
    pub fn public(&self, key: JwtKey) -> Value {
        let mut public = match key {
            JwtKey::Rsa => {
                let parts = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
                json!({"kty": "RSA", "n": to_base64url(&parts.n), "e": to_base64url(&parts.e)})
            }
            JwtKey::Ec => {
                let (x, y) = self.ec.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": to_base64url(x), "y": to_base64url(y)})
            }
            JwtKey::Ed25519 => {
                let x = to_base64url(self.ed25519.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "x": x})
            }
        };
        public["kid"] = key.id().into();
        public["alg"] = key.algorithm().into();
        public["use"] = "sig".into();
        public
    }

    /// Returns all public keys as a key set.
    pub fn public_set(&self) -> Value {
        json!({"keys": JwtKey::ALL.map(|key| self.public(key))})
    }

    /// Returns a token with a correct header.
    pub fn token(&self, key: JwtKey, claims: &Value) -> String {
        let header = json!({"typ": "JWT", "alg": key.algorithm(), "kid": key.id()});
        self.token_with_header(key, &header, claims)
    }

    /// Returns a token with a header that may not fit.
    pub fn token_with_header(&self, key: JwtKey, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| to_base64url(value.to_string().as_bytes());
        self.sign(key, &format!("{}.{}", part(header), part(claims)))
    }

    /// Signs the first two parts of a token, and returns all three.
    pub fn sign(&self, key: JwtKey, signed: &str) -> String {
        let message = signed.as_bytes();
        let signature = match key {
            JwtKey::Rsa => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa
                    .sign(&RSA_PKCS1_SHA256, &self.random, message, &mut signature)
                    .expect("a signature");
                signature
            }
            JwtKey::Ec => {
                self.ec.sign(&self.random, message).expect("a signature").as_ref().to_vec()
            }
            JwtKey::Ed25519 => self.ed25519.sign(message).as_ref().to_vec(),
        };
        format!("{signed}.{}", to_base64url(&signature))
    }

    /// Returns a token that is authenticated with a public key as if it were a shared secret.
    pub fn token_with_shared_key(&self, claims: &Value) -> String {
        let header = json!({"typ": "JWT", "alg": "HS256", "kid": JwtKey::Rsa.id()});
        let part = |value: &Value| to_base64url(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(claims));
        let public = self.public(JwtKey::Rsa).to_string();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public.as_bytes());
        let tag = ring::hmac::sign(&key, signed.as_bytes());
        format!("{signed}.{}", to_base64url(tag.as_ref()))
    }
}

/// Encodes bytes as parts of a token.
pub fn to_base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
