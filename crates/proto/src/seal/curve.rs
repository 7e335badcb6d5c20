//! Keys with a public half: signatures, and secrets that two nodes share.
//!
//! One secret of 32 bytes serves both: it is the seed of an Ed25519 key, whose image on the other form of the curve is an
//! X25519 key. Signing draws no randomness, so a run can be repeated.

use super::secret::{Secret, derive};
use core::fmt;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

/// The public half of a [`Secret`]: whose it is, its certificate says.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// How signatures and shared secrets are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Ed25519 and X25519.
    Real,
    /// By hashes alone, for simulations: whoever knows a public key can sign with it.
    Toy,
}

impl Curve {
    /// The public half of a secret.
    pub fn public(self, secret: &Secret) -> PublicKey {
        match self {
            Curve::Real => PublicKey(SigningKey::from_bytes(&secret.0).verifying_key().to_bytes()),
            Curve::Toy => PublicKey(derive(&secret.0, "toy public", &[])),
        }
    }

    /// Signs a message.
    pub fn sign(self, secret: &Secret, message: &[u8]) -> [u8; 64] {
        match self {
            Curve::Real => SigningKey::from_bytes(&secret.0).sign(message).to_bytes(),
            Curve::Toy => toy_signature(&self.public(secret), message),
        }
    }

    /// Whether the holder of a key has signed a message. Weak keys, and second forms of a signature, are refused.
    pub fn has_signed(self, key: &PublicKey, message: &[u8], signature: &[u8; 64]) -> bool {
        match self {
            Curve::Real => VerifyingKey::from_bytes(&key.0).is_ok_and(|key| {
                let signature = Signature::from_bytes(signature);
                key.verify_strict(message, &signature).is_ok()
            }),
            Curve::Toy => toy_signature(key, message) == *signature,
        }
    }

    /// What only the holders of these two keys know. `None` for keys with which everybody would know it.
    pub(crate) fn shared(self, own: &Secret, peer: &PublicKey) -> Option<[u8; 32]> {
        match self {
            Curve::Real => {
                let key = VerifyingKey::from_bytes(&peer.0).ok()?;
                let scalar = SigningKey::from_bytes(&own.0).to_scalar_bytes();
                let shared = key.to_montgomery().mul_clamped(scalar).to_bytes();
                (shared != [0; 32]).then_some(shared)
            }
            Curve::Toy => {
                let own = self.public(own);
                let (one, other) = (own.min(*peer), own.max(*peer));
                Some(derive(&one.0, "toy shared", &[&other.0]))
            }
        }
    }
}

fn toy_signature(key: &PublicKey, message: &[u8]) -> [u8; 64] {
    let half = derive(&key.0, "toy signature", &[message]);
    let mut whole = [0; 64];
    whole[..32].copy_from_slice(&half);
    whole[32..].copy_from_slice(&half);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_share_what_a_third_does_not() {
        for curve in [Curve::Real, Curve::Toy] {
            let [a, b, c] = [1, 2, 3].map(|n| Secret([n; 32]));
            let public = |s| curve.public(s);
            let ab = curve.shared(&a, &public(&b));
            assert_eq!(ab, curve.shared(&b, &public(&a)));
            assert_ne!(ab, curve.shared(&c, &public(&a)));
            assert_ne!(ab, curve.shared(&a, &public(&c)));
            assert!(ab.is_some());
        }
    }

    #[test]
    fn a_signature_holds_for_one_key_and_one_message() {
        for curve in [Curve::Real, Curve::Toy] {
            let (a, b) = (Secret([1; 32]), Secret([2; 32]));
            let signature = curve.sign(&a, b"hello");
            assert_eq!(signature, curve.sign(&a, b"hello"));
            assert!(curve.has_signed(&curve.public(&a), b"hello", &signature));
            assert!(!curve.has_signed(&curve.public(&a), b"hellO", &signature));
            assert!(!curve.has_signed(&curve.public(&b), b"hello", &signature));
        }
    }

    /// Points of order 1 and 4: with such a key everybody would know the secret.
    #[test]
    fn weak_keys_share_nothing_and_sign_nothing() {
        let own = Secret([1; 32]);
        let mut identity = [0; 32];
        identity[0] = 1;
        for weak in [identity, [0; 32]] {
            assert_eq!(Curve::Real.shared(&own, &PublicKey(weak)), None, "{weak:?}");
            let none = [0; 64];
            assert!(!Curve::Real.has_signed(&PublicKey(weak), b"", &none));
        }
    }

    /// RFC 8032, section 7.1, test 1.
    #[test]
    fn a_known_key_signs_as_the_standard_says() {
        let hex = |text: &str| -> alloc::vec::Vec<u8> {
            let digits = (0..text.len()).step_by(2);
            digits
                .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
                .collect()
        };
        let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let secret = Secret(seed.try_into().unwrap());
        let public = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        assert_eq!(Curve::Real.public(&secret).0[..], public[..]);
        let signature = hex(concat!(
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155",
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ));
        assert_eq!(Curve::Real.sign(&secret, b"")[..], signature[..]);
    }
}
