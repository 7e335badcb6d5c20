//! First contact: is the sender of a datagram where it says it is?
//!
//! A node keeps nothing of strangers. It answers what a stranger says with a cookie, made from the stranger's address, id
//! and life by a secret of this process, and takes the stranger's word once the cookie comes back from the same address.
//! So nobody can have a node send to an address that did not ask, and nothing that a stranger sends takes memory.

use super::secret::derive;
use crate::bucket::Bucket;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::VecDeque;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Proven addresses that are remembered besides those in the member list; the oldest makes room.
const ELSEWHERE_MAX: usize = 256;

/// Time for which a cookie is made, unless four periods are longer. The one before counts as well.
const EPOCH_MIN: Duration = Duration::from_secs(30);

/// What nodes that do not know each other's address yet say first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Msg {
    /// Send this back, so that I know you are there. Nothing else that you said counts before.
    Challenge(Cookie),
    /// Here it is.
    Echo(Cookie),
}

/// Names an address, an id, a life and a time to the node that made it, and nothing to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cookie(#[serde(with = "postcard::fixint::le")] pub u64);

/// Somebody that is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    pub(crate) id: NodeId,
    pub(crate) life: Life,
    pub(crate) addr: SocketAddr,
}

/// Makes and checks cookies, and remembers who is elsewhere than the member list says.
#[derive(Clone, Debug)]
pub(crate) struct Doorkeeper {
    boot: [u8; 32],
    epoch: Duration,
    challenges: Bucket,
    echoes: Bucket,
    elsewhere: VecDeque<Whereabouts>,
}

impl Doorkeeper {
    pub(crate) fn new(boot: [u8; 32], period: Duration, challenges: u32) -> Doorkeeper {
        Doorkeeper {
            boot,
            epoch: EPOCH_MIN.max(period * 4),
            challenges: Bucket::new(challenges),
            echoes: Bucket::new(challenges),
            elsewhere: VecDeque::new(),
        }
    }

    /// Makes other cookies from now on; those made before no longer count.
    pub(crate) fn reseed(&mut self, boot: [u8; 32]) {
        self.boot = boot;
    }

    fn cookie_of(&self, epoch: u64, who: Whereabouts, salt: u64) -> Cookie {
        let ip = match who.addr.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let bytes = derive(
            &self.boot,
            "consort3 cookie",
            &[
                &ip.octets(),
                &who.addr.port().to_le_bytes(),
                &who.id.0.to_le_bytes(),
                &who.life.0.to_le_bytes(),
                &salt.to_le_bytes(),
                &epoch.to_le_bytes(),
            ],
        );
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[..8]);
        Cookie(u64::from_le_bytes(eight))
    }

    fn epoch(&self, now: Instant) -> u64 {
        let us = self.epoch.as_micros().max(1) as u64;
        now.as_micros() / us
    }

    /// A cookie to challenge somebody with, in a session of that salt (0 in an open group); `None` when too many were challenged lately.
    pub(crate) fn challenge(
        &mut self,
        now: Instant,
        who: Whereabouts,
        salt: u64,
    ) -> Option<Cookie> {
        let may = self.challenges.take(now);
        may.then(|| self.cookie_of(self.epoch(now), who, salt))
    }

    /// Whether one more challenge may be answered.
    pub(crate) fn may_echo(&mut self, now: Instant) -> bool {
        self.echoes.take(now)
    }

    /// Whether this cookie was made for somebody, now or a moment ago.
    pub(crate) fn is_made_for(
        &self,
        now: Instant,
        who: Whereabouts,
        salt: u64,
        cookie: Cookie,
    ) -> bool {
        let epoch = self.epoch(now);
        let before = epoch.checked_sub(1);
        let made = |epoch| self.cookie_of(epoch, who, salt) == cookie;
        made(epoch) || before.is_some_and(made)
    }

    /// Whether somebody is known to be where the member list does not have it.
    pub(crate) fn knows(&self, who: Whereabouts) -> bool {
        self.elsewhere.contains(&who)
    }

    /// Remembers that somebody is where the member list does not have it.
    pub(crate) fn remember(&mut self, who: Whereabouts) {
        if !self.knows(who) {
            if self.elsewhere.len() == ELSEWHERE_MAX {
                self.elsewhere.pop_front();
            }
            self.elsewhere.push_back(who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_micros(secs * 1_000_000)
    }

    fn who(n: u64) -> Whereabouts {
        Whereabouts {
            id: NodeId(n),
            life: Life(1),
            addr: SocketAddr::from(([10, 0, 0, 1], 7000)),
        }
    }

    fn keeper(boot: u8) -> Doorkeeper {
        Doorkeeper::new([boot; 32], Duration::from_secs(1), 100)
    }

    #[test]
    fn a_cookie_is_good_for_one_sender_at_one_address_for_a_while() {
        let mut ours = keeper(1);
        let cookie = ours.challenge(at(29), who(7), 5).unwrap();
        assert!(ours.is_made_for(at(29), who(7), 5, cookie));
        assert!(ours.is_made_for(at(59), who(7), 5, cookie));
        assert!(!ours.is_made_for(at(60), who(7), 5, cookie));
        assert!(!ours.is_made_for(at(29), who(8), 5, cookie));
        let mut moved = who(7);
        moved.addr.set_port(7001);
        assert!(!ours.is_made_for(at(29), moved, 5, cookie));
        let mut reborn = who(7);
        reborn.life = Life(2);
        assert!(!ours.is_made_for(at(29), reborn, 5, cookie));
        assert!(!ours.is_made_for(at(29), who(7), 6, cookie));
        // Another process makes others.
        assert!(!keeper(2).is_made_for(at(29), who(7), 5, cookie));
    }

    #[test]
    fn challenges_and_memory_are_bounded() {
        let mut ours = keeper(1);
        let made = (0..1000).filter(|&n| ours.challenge(at(9), who(n), 0).is_some());
        assert_eq!(made.count(), 100);
        for n in 0..1000 {
            ours.remember(who(n));
        }
        assert!(ours.knows(who(999)) && !ours.knows(who(1)));
        assert_eq!(ours.elsewhere.len(), ELSEWHERE_MAX);
    }
}
