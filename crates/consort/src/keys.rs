//! Changing the keys of a running group, and who has which.

use crate::driver::{KeyChange, Order};
use crate::error::{ChangeKeysError, SendError};
use crate::key::GroupKey;
use crate::member::Status;
use crate::talk::{QueryOptions, QueryUpdate};
use crate::{Node, NodeId};
use consort_proto::seal::{KeyRing, RingError, RingStamp};

/// The keys of a group as one member has them, and which other members have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeysStatus {
    /// Grows with every change; 0 before the first one.
    pub version: u32,
    /// The fingerprints of the keys. The first key seals, all of them open.
    pub keys: Vec<String>,
    /// Whether the group is changing from open to sealed: unsealed datagrams of members that do not seal yet count at
    /// this node.
    pub migrating: bool,
    /// The other members, ordered by id, without those that left.
    pub members: Vec<MemberKeys>,
}

/// Which keys a member has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberKeys {
    /// The member.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// Its keys, compared with those of the node that was asked.
    pub state: KeyState,
    /// The fingerprint of the key under which it was last heard.
    pub heard_under: Option<String>,
}

/// The keys of a member, compared with those of the node that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyState {
    /// It has the same keys.
    Current,
    /// It has another version of the list.
    Other {
        /// The version.
        version: u32,
    },
    /// It did not answer in time.
    Silent,
    /// It has failed. If it returns with a key that is still listed, it is given the newest ones.
    Failed,
}

impl Node {
    /// The keys of the group, and which members have the same. Every member that is alive is asked.
    pub async fn keys(&self) -> Result<KeysStatus, ChangeKeysError> {
        let (ring, migrating) = self.ask(Order::Keys).await?;
        let ring = ring.ok_or(ChangeKeysError::Open)?;
        let listed = self.members().await?;
        let others = listed.iter().filter(|m| !m.is_self);
        let mut members: Vec<MemberKeys> = others
            .filter(|m| m.status != Status::Left)
            .map(|m| MemberKeys {
                id: m.id,
                name: m.name().to_owned(),
                state: match m.status {
                    Status::Failed => KeyState::Failed,
                    _ => KeyState::Silent,
                },
                heard_under: m.key.clone(),
            })
            .collect();
        for (id, stamp) in self.ask_stamps().await? {
            let state = match stamp == ring.stamp() {
                true => KeyState::Current,
                false => KeyState::Other {
                    version: stamp.version,
                },
            };
            if let Some(member) = members.iter_mut().find(|m| m.id == id) {
                member.state = state;
            }
        }
        Ok(KeysStatus {
            version: ring.version,
            keys: ring
                .keys
                .iter()
                .map(|key| fingerprint(key.name()))
                .collect(),
            migrating,
            members,
        })
    }

    /// The names of the other members' lists of keys.
    async fn ask_stamps(&self) -> Result<Vec<(NodeId, RingStamp)>, SendError> {
        let mut answers = self.ping(QueryOptions::default()).await?;
        let mut stamps = Vec::new();
        while let Some(update) = answers.next().await {
            if let QueryUpdate::Answer { from, payload, .. } = update
                && let Some((version, rest)) = payload.split_first_chunk::<4>()
                && let Some(hash) = rest.first_chunk::<4>()
            {
                let stamp = RingStamp {
                    version: u32::from_le_bytes(*version),
                    hash: u32::from_le_bytes(*hash),
                };
                stamps.push((from, stamp));
            }
        }
        Ok(stamps)
    }

    /// Gives all members one more key, which opens and does not seal yet. This node has it when this returns; the others
    /// get it within a few periods.
    pub async fn install_key(&self, key: &GroupKey) -> Result<(), ChangeKeysError> {
        self.change_keys(KeyChange::Install(key.0.clone())).await
    }

    /// Has all members seal with the key of this fingerprint. With `force` also if members that are alive may not have
    /// the present keys yet.
    pub async fn use_key(&self, fingerprint: &str, force: bool) -> Result<(), ChangeKeysError> {
        let name = named(fingerprint)?;
        let late = |state| matches!(state, KeyState::Other { .. } | KeyState::Silent);
        self.check_all(force, late).await?;
        self.change_keys(KeyChange::Use(name)).await
    }

    /// Takes a key from all members: whoever has no other one is locked out. With `force` also if that may be members,
    /// alive or failed.
    pub async fn remove_key(&self, fingerprint: &str, force: bool) -> Result<(), ChangeKeysError> {
        let name = named(fingerprint)?;
        self.check_all(force, |state| state != KeyState::Current)
            .await?;
        self.change_keys(KeyChange::Remove(name)).await
    }

    async fn check_all(
        &self,
        force: bool,
        is_late: impl Fn(KeyState) -> bool,
    ) -> Result<(), ChangeKeysError> {
        if force {
            return Ok(());
        }
        let status = self.keys().await?;
        let late = status.members.into_iter().filter(|m| is_late(m.state));
        let names: Vec<String> = late.map(|m| m.name).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(ChangeKeysError::Behind { names }),
        }
    }

    async fn change_keys(&self, change: KeyChange) -> Result<(), ChangeKeysError> {
        let changed = self.ask(|reply| Order::ChangeKeys(change, reply)).await?;
        changed.map(|_: KeyRing| ())
    }
}

/// The fingerprint of the key with this name.
pub(crate) fn fingerprint(name: u32) -> String {
    format!("{name:08x}")
}

fn named(fingerprint: &str) -> Result<u32, RingError> {
    let digits = fingerprint.len() == 8 && fingerprint.bytes().all(|b| b.is_ascii_hexdigit());
    let name = u32::from_str_radix(fingerprint, 16).ok();
    name.filter(|_| digits).ok_or(RingError::Unknown)
}
