//! Secrets, and what is derived from them.

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use core::fmt;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// 32 bytes that nobody else knows. They are not shown when printed, compared in constant time, and wiped from memory when
/// dropped.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Secret(pub [u8; 32]);

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Keyed BLAKE2s-256 over a label, padded with zeros to 16 bytes, and parts, joined.
pub(crate) fn derive(key: &[u8; 32], label: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut padded = [0; 16];
    padded[..label.len()].copy_from_slice(label.as_bytes());
    let mut mac = Blake2sMac256::new(key.into());
    mac.update(&padded);
    for part in parts {
        mac.update(part);
    }
    mac.finalize_fixed().into()
}
