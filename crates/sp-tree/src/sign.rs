//! Ed25519 signatures and HMAC-SHA256.
//!
//! Verification is strict: a key or signature with a second encoding, or one that is valid for more
//! than one message, is rejected. Private keys are erased from memory when they are dropped and are
//! never displayed.
//!
//! ```
//! use sp_tree::{PrivateKey, PublicKey, SignatureError};
//!
//! let key = PrivateKey::from_seed(&[7; 32]);
//! let signature = key.sign(b"message");
//! assert_eq!(key.public().verify(b"message", &signature), Ok(()));
//! assert_eq!(key.public().verify(b"other", &signature), Err(SignatureError::Mismatch));
//! assert_eq!(PublicKey::from_hex(&key.public().hex()), Ok(key.public()));
//! ```

use std::fmt;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::hex::{from_hex, to_hex};

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Not 64 lowercase hexadecimal digits.
    #[error("a public key must have 64 lowercase hex digits")]
    InvalidHex,
    /// Not a point on the curve, or not in canonical encoding.
    #[error("not a valid Ed25519 key")]
    InvalidKey,
    /// A weak key, whose signatures are valid for many messages.
    #[error("the key is weak: it accepts forged signatures")]
    Weak,
    /// Not a private key in PKCS #8 PEM.
    #[error("not an Ed25519 private key in PKCS #8 PEM format")]
    Pem,
}

/// Why a signature is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// Not 128 lowercase hexadecimal digits.
    #[error("a signature must have 128 lowercase hex digits")]
    InvalidHex,
    #[error("the signature is invalid")]
    Mismatch,
}

/// A valid public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Parses 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        let bytes = from_hex(text).ok_or(KeyError::InvalidHex)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::InvalidKey)?;
        if key.is_weak() {
            return Err(KeyError::Weak);
        }
        if key.to_edwards().compress().to_bytes() != bytes {
            return Err(KeyError::InvalidKey);
        }
        Ok(Self(bytes))
    }

    pub fn hex(&self) -> String {
        to_hex(&self.0)
    }

    /// The first digits, for display.
    pub fn short_hex(&self) -> String {
        to_hex(&self.0[..8])
    }

    /// Verifies a signature of `message`.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), SignatureError> {
        let key = VerifyingKey::from_bytes(&self.0).map_err(|_| SignatureError::Mismatch)?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(message, &signature).map_err(|_| SignatureError::Mismatch)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

impl Signature {
    /// Parses 128 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, SignatureError> {
        from_hex(text).map(Self).ok_or(SignatureError::InvalidHex)
    }

    pub fn hex(&self) -> String {
        to_hex(&self.0)
    }
}

/// A private key. It is never displayed.
pub struct PrivateKey(SigningKey);

impl PrivateKey {
    /// Derives a key from 32 random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Parses a key as `openssl genpkey -algorithm ed25519` writes it.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        SigningKey::from_pkcs8_pem(text).map(Self).map_err(|_| KeyError::Pem)
    }

    /// The key in PEM (PKCS #8), erased when dropped.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        self.0.to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Pem)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).to_bytes())
    }
}

/// An incremental HMAC-SHA256.
pub struct HmacSha256(Hmac<Sha256>);

impl HmacSha256 {
    pub fn new(secret: &[u8]) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        Self(Hmac::new_from_slice(secret).expect("any length is right"))
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish_hex(self) -> String {
        to_hex(&self.0.finalize().into_bytes())
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }

    /// Compares with `bytes` in constant time.
    pub fn verify(self, bytes: &[u8]) -> bool {
        self.0.verify_slice(bytes).is_ok()
    }

    /// Compares with 64 hexadecimal digits in constant time.
    pub fn verify_hex(self, hex: &str) -> bool {
        from_hex::<32>(hex).is_some_and(|bytes| self.0.verify_slice(&bytes).is_ok())
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::from_hex(&text)
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.hex()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the private key of {}", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1.
    #[test]
    fn signature_matches_known_answer() {
        let seed =
            from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
        let key = PrivateKey::from_seed(&seed);
        assert_eq!(
            key.public().hex(),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
        );
        let signature = key.sign(b"");
        let known = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        assert_eq!(signature.hex(), known);
        assert_eq!(key.public().verify(b"", &signature), Ok(()));
        assert_eq!(key.public().verify(b"x", &signature), Err(SignatureError::Mismatch));
    }

    /// RFC 4231, test case 2.
    #[test]
    fn hmac_matches_known_answer() {
        let mac = || {
            let mut mac = HmacSha256::new(b"Jefe");
            mac.update(b"what do ya want ");
            mac.update(b"for nothing?");
            mac
        };
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(mac().finish_hex(), known);
        assert!(mac().verify_hex(known));
        assert!(
            !mac().verify_hex(&known.to_uppercase())
                && !mac().verify_hex("")
                && !mac().verify_hex(&known.replace("43", "44"))
        );
    }

    #[test]
    fn se_11_weak_and_noncanonical_keys_are_rejected() {
        let zeros = "0".repeat(64);
        let identity = format!("01{}", "0".repeat(62));
        let order_8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
        for weak in [identity.as_str(), order_8, &zeros] {
            assert!(matches!(PublicKey::from_hex(weak), Err(KeyError::Weak)), "{weak}");
        }
        // 2^255 - 19 + 3: the point with y = 3, encoded above the modulus.
        let noncanonical = format!("f0{}7f", "f".repeat(60));
        assert!(PublicKey::from_hex(&noncanonical).is_err());
        assert_eq!(PublicKey::from_hex(&"Ea".repeat(32)), Err(KeyError::InvalidHex));
        assert_eq!(PublicKey::from_hex("ab"), Err(KeyError::InvalidHex));
    }

    #[test]
    fn se_11_malleable_signature_is_rejected() {
        let key = PrivateKey::from_seed(&[7; 32]);
        let good = key.sign(b"message");
        // S + L satisfies the verification equation as well.
        const L: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9,
            0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let mut malleable = good.0;
        let mut carry = 0u16;
        for (byte, l) in malleable[32..].iter_mut().zip(L) {
            carry += u16::from(*byte) + u16::from(l);
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        assert_eq!(carry, 0);
        assert_eq!(
            key.public().verify(b"message", &Signature(malleable)),
            Err(SignatureError::Mismatch)
        );
        // A signature whose R has small order is valid for more than one message.
        let mut small_order = good.0;
        small_order[..32].copy_from_slice(&[
            1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0,
        ]);
        assert_eq!(
            key.public().verify(b"message", &Signature(small_order)),
            Err(SignatureError::Mismatch)
        );
    }

    #[test]
    fn key_round_trips_through_pem_and_is_never_displayed() {
        let key = PrivateKey::from_seed(&[9; 32]);
        let pem = key.to_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert_eq!(PrivateKey::from_pem(&pem).unwrap().public(), key.public());
        assert!(!format!("{key:?}").contains(&to_hex(&[9; 8])));
        assert!(matches!(PrivateKey::from_pem("x"), Err(KeyError::Pem)));
    }
}
