//! Simulated groups whose members prove who they are: certificates of one operator, by hashes alone.

use crate::world::id_of;
use consort_proto::seal::{Cert, Identified, Roles, Secret, Suite};
use consort_proto::{Config, NodeId};

/// A secret that follows from a number, and from what it is for.
fn secret(seed: u64, what: u64) -> Secret {
    let mut secret = Secret([0x51; 32]);
    secret.0[..8].copy_from_slice(&seed.to_le_bytes());
    secret.0[8..16].copy_from_slice(&what.to_le_bytes());
    secret
}

/// Makes the group identified; every host gets a certificate of its own when its process starts.
pub fn identify(config: &mut Config) {
    config.seal.suite = Suite::Toy(1);
    config.datagram_max = config.datagram_max.max(326);
    config.seal.identity = Some(identity(config, id_of(0)));
}

/// The identity of a host in a group that [`identify`] has changed.
pub(crate) fn identity(config: &Config, id: NodeId) -> Identified {
    let (curve, operator, own) = (config.seal.curve(), secret(0, 0), secret(1, id.0));
    let certificate = Cert {
        id,
        key: curve.public(&own),
        serial: 1,
        not_after: 0,
        roles: Roles::ALL,
        scopes: Vec::new(),
        operator: 0,
        signature: [0; 64],
    };
    Identified {
        certificate: certificate.sign(curve, &operator, &config.group),
        secret: own,
        operators: vec![curve.public(&operator)],
        verify_per_second: 500,
        revoked: None,
    }
}
