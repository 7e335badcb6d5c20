//! The group's keys: changes that handles order, and newer lists of other members. New keys are stored before they are used.

use super::Driver;
use crate::builder::blocking;
use crate::error::{ChangeKeysError, RevokeError};
use crate::key::{self, KeyError};
use crate::revocation;
use consort_proto::Command;
use consort_proto::seal::{KeyRing, Revoked, Secret};
use std::path::PathBuf;
use std::sync::Arc;

/// A change of the group's keys.
#[derive(Debug)]
pub(crate) enum KeyChange {
    Install(Secret),
    Use(u32),
    Remove(u32),
}

/// What the task keeps about keys.
#[derive(Debug)]
pub(super) struct Keys {
    file: Option<PathBuf>,
    /// The newer list of another member.
    pub(super) offered: Option<KeyRing>,
    /// Where lists of revoked certificates are stored.
    revocations: Option<PathBuf>,
    /// A newer one of another member.
    pub(super) revoked: Option<Arc<Revoked>>,
    /// The last newer list could not be stored.
    failed: bool,
}

impl Keys {
    pub(super) fn new(file: Option<PathBuf>, revocations: Option<PathBuf>) -> Keys {
        Keys {
            file,
            offered: None,
            revocations,
            revoked: None,
            failed: false,
        }
    }
}

impl Driver {
    /// Carries out a change, at this member; the others learn of it.
    pub(super) async fn change_keys(
        &mut self,
        change: KeyChange,
    ) -> Result<KeyRing, ChangeKeysError> {
        let ring = self.node.key_ring().ok_or(ChangeKeysError::Open)?;
        let next = match change {
            KeyChange::Install(key) => ring.install(&key)?,
            KeyChange::Use(name) => ring.promote(name)?,
            KeyChange::Remove(name) => ring.remove(name)?,
        };
        self.adopt(next.clone()).await?;
        Ok(next)
    }

    async fn adopt(&mut self, ring: KeyRing) -> Result<(), KeyError> {
        if let Some(path) = self.keys.file.clone() {
            let stored = ring.clone();
            blocking(move || key::store(&path, &stored)).await?;
        }
        self.command(Command::SetKeys(ring)).await;
        Ok(())
    }

    /// Takes a list of revoked certificates at this member; the others learn of it.
    pub(super) async fn revoke(&mut self, list: Revoked) -> Result<(), RevokeError> {
        if !self.node.is_identified() {
            return Err(RevokeError::NotIdentified);
        }
        if !self.node.has_room_for(&list) {
            return Err(RevokeError::TooLong);
        }
        if !self.node.takes_revoked(&list) {
            let version = self.node.revoked().map_or(0, |known| known.version);
            return Err(RevokeError::Refused { version });
        }
        if let Some(path) = self.keys.revocations.clone() {
            let stored = list.clone();
            blocking(move || revocation::store_revoked(&path, &stored)).await?;
        }
        self.command(Command::SetRevoked(list)).await;
        if self.node.is_revoked() {
            tracing::error!(
                "this node's certificate is revoked: the others no longer hear it; ask the operator for a new one"
            );
        }
        Ok(())
    }

    /// Takes the newer list of revoked certificates of another member. If it cannot be stored, the member is asked again
    /// later.
    pub(super) async fn take_offered_revocations(&mut self) {
        let Some(list) = self.keys.revoked.take() else {
            return;
        };
        let (version, count) = (list.version, list.entries.len());
        match self.revoke((*list).clone()).await {
            Ok(()) => {
                tracing::info!("list {version} of revoked certificates, {count} of them, is in use")
            }
            Err(error) => {
                self.stats.store_errors += 1;
                if !core::mem::replace(&mut self.keys.failed, true) {
                    tracing::error!(%error, "a list of revoked certificates is not used");
                }
            }
        }
    }

    /// Takes the newer list of another member. If it cannot be stored, the member is asked again later.
    pub(super) async fn take_offered_keys(&mut self) {
        let Some(ring) = self.keys.offered.take() else {
            return;
        };
        let (version, count) = (ring.version, ring.keys.len());
        let sealing = ring.keys.first().map_or(0, Secret::name);
        match self.adopt(ring).await {
            Ok(()) => {
                self.keys.failed = false;
                tracing::info!(
                    "this node has version {version} of the group's keys: {count}, of which {sealing:08x} seals"
                );
            }
            Err(error) => {
                self.stats.store_errors += 1;
                if !core::mem::replace(&mut self.keys.failed, true) {
                    tracing::error!(
                        %error,
                        "the group has new keys, which this node cannot store and does not use: it is locked out when \
                         the old key is removed; let it write to its key file"
                    );
                }
            }
        }
    }
}
