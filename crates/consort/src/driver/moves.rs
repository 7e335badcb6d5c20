//! Follows the address of the machine, for a node that listens on all addresses and has no configured address to
//! advertise. A new address, for example from DHCP or in another network, is announced under the same identity.

use super::Driver;
use crate::address;
use crate::topology::Radio;
use consort_proto::Command;
use core::net::SocketAddr;
use core::time::Duration;
use tokio::time::Instant;

/// The interval between two checks of the address.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The number of consecutive checks that have to find the same new address, because networks change in steps.
const LOOKS: u32 = 2;

/// Follows the address of this machine.
#[derive(Debug)]
pub(crate) struct Moves {
    bound: SocketAddr,
    /// An address of other nodes. The address of this machine towards it counts.
    towards: Option<SocketAddr>,
    look_at: Instant,
    found: Option<(SocketAddr, u32)>,
}

impl Moves {
    pub(crate) fn new(bound: SocketAddr, towards: Option<SocketAddr>) -> Moves {
        Moves {
            bound,
            towards,
            look_at: Instant::now() + LOOK_EVERY,
            found: None,
        }
    }

    pub(super) fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Processes the result of a check while `told` is announced. Returns the address to announce instead, if any.
    fn take(&mut self, told: SocketAddr, found: Option<SocketAddr>) -> Option<SocketAddr> {
        // Without an address there is nobody to tell.
        let other = found.filter(|addr| *addr != told && !addr.ip().is_loopback());
        self.found = match (other, self.found) {
            (Some(addr), Some((before, looks))) if addr == before => Some((addr, looks + 1)),
            (other, _) => other.map(|addr| (addr, 1)),
        };
        let (addr, _) = self.found.filter(|(_, looks)| *looks >= LOOKS)?;
        self.found = None;
        Some(addr)
    }
}

impl Driver {
    /// Announces the new address of this machine, if it has one.
    pub(super) async fn follow_moves(&mut self) {
        let told = self.node.membership().addr();
        let Some(moves) = self.moves.as_mut().filter(|m| m.look_at <= Instant::now()) else {
            return;
        };
        moves.look_at = Instant::now() + LOOK_EVERY;
        let near = self.radio.as_ref().and_then(Radio::own_ip);
        let found = match (near, moves.towards) {
            (Some(ip), None) => Some(SocketAddr::new(ip, moves.bound.port())),
            (_, towards) => {
                let bound = moves.bound;
                // Where no route leads to everywhere, one leads to the members.
                let table = self.node.membership().table();
                let mut addrs = table.iter().map(|m| m.addr());
                let member = addrs.find(|a| a.port() != 0 && !a.ip().is_loopback());
                address::advertised(None, bound, towards)
                    .or_else(|_| address::advertised(None, bound, member))
                    .ok()
            }
        };
        if let Some(addr) = moves.take(told, found) {
            tracing::info!(
                "this machine's address changed from {told} to {addr}; members are told"
            );
            self.command(Command::SetAddr(addr)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn another_address_is_announced_when_it_stays() {
        let addr = |n: u8| SocketAddr::from(([10, 0, 0, n], 7717));
        let mut moves = Moves::new(([0, 0, 0, 0], 7717).into(), None);
        assert_eq!(moves.take(addr(1), Some(addr(1))), None);
        assert_eq!(moves.take(addr(1), Some(addr(2))), None);
        assert_eq!(moves.take(addr(1), None), None, "the network was away");
        assert_eq!(moves.take(addr(1), Some(addr(2))), None);
        assert_eq!(moves.take(addr(1), Some(addr(3))), None);
        assert_eq!(moves.take(addr(1), Some(addr(3))), Some(addr(3)));
        assert_eq!(moves.take(addr(3), Some(addr(3))), None);
        let loopback = SocketAddr::from(([127, 0, 0, 1], 7717));
        for _ in 0..3 {
            assert_eq!(moves.take(addr(3), Some(loopback)), None);
        }
    }
}
