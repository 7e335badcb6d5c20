//! How many new members one teller can bring: whoever speaks for itself must not fill the list with others.

use crate::time::Instant;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// Tellers that are counted at a time. The one whose minute began first makes room.
const TELLERS: usize = 64;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
struct Teller {
    addr: SocketAddr,
    since: Instant,
    /// New ids in this minute.
    told: u32,
    /// Ids that may come besides, because they were asked for.
    asked: u32,
}

/// New ids by teller and minute.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    tellers: Vec<Teller>,
}

impl Told {
    fn teller(&mut self, now: Instant, addr: SocketAddr) -> &mut Teller {
        let fresh = Teller {
            addr,
            since: now,
            told: 0,
            asked: 0,
        };
        let at = match self.tellers.iter().position(|t| t.addr == addr) {
            Some(at) => {
                if now.since(self.tellers[at].since) >= MINUTE {
                    self.tellers[at] = fresh;
                }
                at
            }
            None if self.tellers.len() < TELLERS => {
                self.tellers.push(fresh);
                self.tellers.len() - 1
            }
            None => {
                let oldest = (0..TELLERS).min_by_key(|&at| self.tellers[at].since);
                let at = oldest.unwrap_or(0);
                self.tellers[at] = fresh;
                at
            }
        };
        &mut self.tellers[at]
    }

    /// This node asked the one at `addr` for records: so many may come in answer.
    pub(super) fn ask(&mut self, now: Instant, addr: SocketAddr, records: u32) {
        let teller = self.teller(now, addr);
        teller.asked = teller.asked.saturating_add(records);
    }

    /// Whether the one at `addr` may tell of one more unknown id.
    pub(super) fn may_tell(&mut self, now: Instant, addr: SocketAddr, max: u32) -> bool {
        let teller = self.teller(now, addr);
        if teller.asked > 0 {
            teller.asked -= 1;
            return true;
        }
        let may = teller.told < max;
        teller.told += u32::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_micros(secs * 1_000_000)
    }

    fn addr(n: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], n))
    }

    fn told(told: &mut Told, secs: u64, teller: u16) -> usize {
        (0..1000)
            .filter(|_| told.may_tell(at(secs), addr(teller), 256))
            .count()
    }

    #[test]
    fn each_teller_brings_so_many_a_minute_and_what_it_was_asked_for() {
        let mut all = Told::default();
        assert_eq!(told(&mut all, 0, 1), 256);
        assert_eq!(told(&mut all, 59, 1), 0);
        assert_eq!(told(&mut all, 59, 2), 256);
        assert_eq!(told(&mut all, 60, 1), 256);
        all.ask(at(61), addr(1), 100);
        assert_eq!(told(&mut all, 61, 1), 100);
    }

    #[test]
    fn the_number_of_tellers_is_bounded() {
        let mut all = Told::default();
        for n in 0..1000 {
            told(&mut all, u64::from(n), n);
        }
        assert_eq!(all.tellers.len(), TELLERS);
    }
}
