//! Sealing: what a datagram of a keyed group looks like to those who do not have the key.
//!
//! ```text
//! 0x30 | flags         1     1 directed, 8 paired; as it is read, and as it is authenticated
//! kid                  1     names the group key: the first byte of H(key, "consort3 kid")
//! sender               8
//! salt                 8     names the sender's life: H(boot, "consort3 salt", life)
//! counter              5     of all that the sender has sent in this life
//! flags, life, incarnation, digest, coordinate, frames       encrypted
//! tag                  16    ChaCha20-Poly1305
//! ```
//!
//! `H(k, label, ..)` is keyed BLAKE2s-256. The key of a session is `H(group key, "consort3 send", length of the group's
//! name, name, sender, salt)`, its nonce the counter. What is authenticated besides is the clear part and, with the flag
//! `directed`, the id of the receiver, which is not sent: a datagram for one member says nothing to another.
//!
//! In an identified group, with the flag `paired`, the key is `H(key of the session, "consort3 pair", X25519(sender,
//! receiver))` instead: only these two can make and read such a datagram.
//!
//! A nonce never repeats under a key, because a counter never does in a life, and a life has a salt of its own: with a
//! state directory because a stored life never comes again, without one because the salt is random.

use super::ring::KeyRing;
use super::secret::{Secret, derive};
use crate::hash::hash_pair;
use crate::id::{Life, NodeId};
use alloc::vec::Vec;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};

/// Most keys that a node has at a time.
pub const KEYS_MAX: usize = 4;

/// Bytes before what is encrypted.
pub(crate) const CLEAR_LEN: usize = 23;
/// Bytes after it.
pub(crate) const TAG_LEN: usize = 16;
/// What a sealed datagram takes more than an open one: the header of an open one names version, group and sender, too.
pub(crate) const EXTRA_LEN: usize = CLEAR_LEN + TAG_LEN - 13;

const SEALED: u8 = 0x30;
const DIRECTED: u8 = 1;
const PAIRED: u8 = 8;

/// The counter at which a node begins a new life.
pub(crate) const COUNTER_END: u64 = (1 << 40) - (1 << 20);
/// The last counter: beyond it nothing is sealed, if the new life cannot be stored. A nonce has 5 bytes for it.
pub(crate) const COUNTER_LAST: u64 = (1 << 40) - 1;

/// How the datagrams of a group are protected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Suite {
    /// Not at all: whoever can send to a member is one.
    #[default]
    Open,
    /// By keys that all members have.
    Keyed(KeyRing),
    /// As with a key, in simulations: the tag is a number beside the datagram, and nothing is encoded.
    Toy(u64),
}

/// What protects one datagram. Drivers pass it along with the datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The only node that can read it; without one, any member.
    pub to: Option<NodeId>,
    /// Names the sender's life.
    pub salt: u64,
    /// Of all that the sender has sent in this life.
    pub counter: u64,
    /// Of [`Suite::Toy`].
    pub tag: u64,
    /// The place in the ring of the key that seals it.
    pub key: u8,
    /// Only the receiver could have made it besides the sender.
    pub paired: bool,
}

/// The clear part of a sealed datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clear {
    pub(crate) directed: bool,
    pub(crate) paired: bool,
    pub(crate) kid: u8,
    pub(crate) sender: NodeId,
    pub(crate) salt: u64,
    pub(crate) counter: u64,
}

impl Clear {
    /// Reads it; `None` when these are not the bytes of a sealed datagram.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Clear> {
        let fixed = bytes.get(..CLEAR_LEN)?;
        let long = |at: usize, len: usize| {
            let mut eight = [0; 8];
            eight[..len].copy_from_slice(&fixed[at..at + len]);
            u64::from_le_bytes(eight)
        };
        let known = fixed[0] & !(DIRECTED | PAIRED) == SEALED && fixed[0] != SEALED | PAIRED;
        (known && bytes.len() >= CLEAR_LEN + TAG_LEN).then(|| Clear {
            directed: fixed[0] & DIRECTED != 0,
            paired: fixed[0] & PAIRED != 0,
            kid: fixed[1],
            sender: NodeId(long(2, 8)),
            salt: long(10, 8),
            counter: long(18, 5),
        })
    }

    pub(crate) fn encode(&self) -> [u8; CLEAR_LEN] {
        let mut bytes = [0; CLEAR_LEN];
        bytes[0] = SEALED | u8::from(self.directed) | (u8::from(self.paired) * PAIRED);
        bytes[1] = self.kid;
        bytes[2..10].copy_from_slice(&self.sender.0.to_le_bytes());
        bytes[10..18].copy_from_slice(&self.salt.to_le_bytes());
        bytes[18..].copy_from_slice(&self.counter.to_le_bytes()[..5]);
        bytes
    }
}

/// Names a group key in every datagram. Keys may share a name.
pub(crate) fn kid(key: &Secret) -> u8 {
    derive(&key.0, "consort3 kid", &[])[0]
}

impl Secret {
    /// Names this key to operators: a key cannot be found from it.
    pub fn check(&self) -> [u8; 16] {
        let mut check = [0; 16];
        check.copy_from_slice(&derive(&self.0, "consort3 check", &[])[..16]);
        check
    }
}

/// The salt of a life.
pub(crate) fn salt(boot: &[u8; 32], life: Life) -> u64 {
    let bytes = derive(boot, "consort3 salt", &[&life.0.to_le_bytes()]);
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(eight)
}

/// The key of a sender's session in a group.
pub(crate) fn session_key(key: &Secret, group: &str, sender: NodeId, salt: u64) -> [u8; 32] {
    derive(
        &key.0,
        "consort3 send",
        &[
            &[group.len() as u8],
            group.as_bytes(),
            &sender.0.to_le_bytes(),
            &salt.to_le_bytes(),
        ],
    )
}

/// The key of a sender's session with one receiver; `shared` is what only the two know.
pub(crate) fn pair_key(session: &[u8; 32], shared: &[u8; 32]) -> [u8; 32] {
    derive(session, "consort3 pair", &[shared])
}

/// The tag of a datagram in a simulation; `shared` is what only sender and receiver know, if it is paired.
pub(crate) fn toy_tag(
    key: u64,
    sender: NodeId,
    envelope: &Envelope,
    shared: Option<&[u8; 32]>,
) -> u64 {
    let to = envelope.to.map_or(0, |to| to.0 ^ !0);
    let who = hash_pair(hash_pair(key, sender.0), to);
    let tag = hash_pair(hash_pair(who, envelope.salt), envelope.counter);
    match shared {
        None => tag,
        Some(shared) => hash_pair(tag, crate::hash::hash_bytes(shared)),
    }
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..5].copy_from_slice(&counter.to_le_bytes()[..5]);
    bytes.into()
}

fn authenticated(
    clear: &[u8; CLEAR_LEN],
    to: Option<NodeId>,
    out: &mut [u8; CLEAR_LEN + 8],
) -> usize {
    out[..CLEAR_LEN].copy_from_slice(clear);
    match to {
        None => CLEAR_LEN,
        Some(to) => {
            out[CLEAR_LEN..].copy_from_slice(&to.0.to_le_bytes());
            CLEAR_LEN + 8
        }
    }
}

/// Encrypts `out` from byte `start` on, where the clear part ends, and appends the tag.
pub(crate) fn seal(
    key: &[u8; 32],
    clear: &Clear,
    to: Option<NodeId>,
    out: &mut Vec<u8>,
    start: usize,
) {
    let mut aad = [0; CLEAR_LEN + 8];
    let len = authenticated(&clear.encode(), to, &mut aad);
    let cipher = ChaCha20Poly1305::new(key.into());
    let plain = &mut out[start..];
    // It fails above 256 GB.
    if let Ok(tag) = cipher.encrypt_inout_detached(&nonce(clear.counter), &aad[..len], plain.into())
    {
        out.extend_from_slice(&tag);
    }
}

/// Decrypts what follows the clear part of `bytes` into `plain`. Whether the tag is good.
pub(crate) fn open(
    key: &[u8; 32],
    clear: &Clear,
    to: Option<NodeId>,
    bytes: &[u8],
    plain: &mut Vec<u8>,
) -> bool {
    let Some(sealed) = bytes.get(CLEAR_LEN..) else {
        return false;
    };
    let Some((body, tag)) = sealed.split_last_chunk::<TAG_LEN>() else {
        return false;
    };
    let mut aad = [0; CLEAR_LEN + 8];
    let len = authenticated(&clear.encode(), to, &mut aad);
    plain.clear();
    plain.extend_from_slice(body);
    let cipher = ChaCha20Poly1305::new(key.into());
    let tag: &Tag = tag.into();
    cipher
        .decrypt_inout_detached(
            &nonce(clear.counter),
            &aad[..len],
            plain.as_mut_slice().into(),
            tag,
        )
        .is_ok()
}
