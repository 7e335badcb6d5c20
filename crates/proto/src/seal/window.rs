//! Replay: which datagrams of a session have been seen.
//!
//! A session is one life of one node: its salt and the counter of what it has sent. A session begins here with the
//! datagram that proves it, and nothing from before that one is ever taken. So what was recorded counts nowhere again: not
//! at its receiver, not after a restart of either, not at another member.

use super::revoked::ListTalk;
use crate::bucket::Bucket;
use crate::hash::mix;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use core::time::Duration;
use hashbrown::HashTable;
use zeroize::Zeroize;

/// How far behind the greatest counter a datagram may be.
const WINDOW: u64 = 256;

/// Most datagrams of one member that count in a second: one that has gone mad leaves time for the others.
const RATE: u32 = 2000;

/// How long a session is remembered at least after its last datagram: echoes are good for less.
const KEEP: Duration = Duration::from_secs(3600);

/// What is known of a sender's session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    id: NodeId,
    pub(crate) salt: u64,
    pub(crate) life: Life,
    /// The key of this session, so that it is derived once, and the name of the group's key that it is made of.
    key: Option<[u8; 32]>,
    pub(crate) under: u32,
    /// The sender has the same ring of keys as this node.
    pub(crate) agrees: bool,
    /// What was said with it about revoked certificates.
    pub(crate) lists: ListTalk,
    window: Window,
    /// Of what is said to all, in an identified group: whoever has the group's key could have said it, so it moves no
    /// other window.
    aloud: Window,
    heard: Instant,
    rate: Bucket,
}

/// Which counters were seen.
#[derive(Clone, Copy, Debug)]
struct Window {
    top: u64,
    /// Bit n: the counter `top - n` was seen.
    seen: [u64; 4],
}

/// What a counter is to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Fresh,
    Replayed,
    /// There is no such session.
    Unknown,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Window {
    fn has_seen(&self, counter: u64) -> bool {
        let Some(ago) = self.top.checked_sub(counter) else {
            return false;
        };
        ago >= WINDOW || self.seen[(ago / 64) as usize] >> (ago % 64) & 1 == 1
    }

    fn see(&mut self, counter: u64) {
        if counter > self.top {
            self.shift(counter - self.top);
            self.top = counter;
        }
        let ago = self.top - counter;
        if ago < WINDOW {
            self.seen[(ago / 64) as usize] |= 1 << (ago % 64);
        }
    }

    fn shift(&mut self, by: u64) {
        if by >= WINDOW {
            self.seen = [0; 4];
            return;
        }
        let (words, bits) = ((by / 64) as usize, by % 64);
        for at in (0..4_usize).rev() {
            let from = |n: usize| at.checked_sub(n).map_or(0, |n| self.seen[n]);
            let carry = match bits {
                0 => 0,
                bits => from(words + 1) >> (64 - bits),
            };
            self.seen[at] = from(words) << bits | carry;
        }
    }
}

/// The sessions of all senders, one each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions {
    table: HashTable<Session>,
    max: usize,
}

impl Sessions {
    pub(crate) fn new(max: usize) -> Sessions {
        Sessions {
            table: HashTable::new(),
            max,
        }
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Session> {
        self.table.find(mix(id.0), |s| s.id == id)
    }

    /// The key of a session that is known.
    pub(crate) fn key(&self, id: NodeId, salt: u64) -> Option<([u8; 32], u32)> {
        let session = self.get(id).filter(|s| s.salt == salt)?;
        session.key.map(|key| (key, session.under))
    }

    /// Notes that a sender has the same ring of keys as this node. Whether that is news.
    pub(crate) fn agree(&mut self, id: NodeId) -> bool {
        let session = self.table.find_mut(mix(id.0), |s| s.id == id);
        session.is_some_and(|s| !core::mem::replace(&mut s.agrees, true))
    }

    /// This node has another ring now, of keys with these names.
    pub(crate) fn change_ring(&mut self, names: &[u32]) {
        for session in &mut self.table {
            session.agrees = false;
            if !names.contains(&session.under) {
                session.key = None;
            }
        }
    }

    pub(crate) fn judge(&self, id: NodeId, salt: u64, counter: u64) -> Counter {
        match self.get(id).filter(|s| s.salt == salt) {
            None => Counter::Unknown,
            Some(session) if session.window.has_seen(counter) => Counter::Replayed,
            Some(_) => Counter::Fresh,
        }
    }

    /// Like [`Sessions::judge`], for what a sender says to all in an identified group.
    pub(crate) fn judge_aloud(&self, id: NodeId, salt: u64, counter: u64) -> Counter {
        match self.get(id).filter(|s| s.salt == salt) {
            None => Counter::Unknown,
            Some(session) if session.aloud.has_seen(counter) => Counter::Replayed,
            Some(_) => Counter::Fresh,
        }
    }

    /// Counts a datagram to all that is taken.
    pub(crate) fn see_aloud(&mut self, id: NodeId, counter: u64) {
        if let Some(session) = self.table.find_mut(mix(id.0), |s| s.id == id) {
            session.aloud.see(counter);
        }
    }

    /// What was said with a member about lists of revoked certificates.
    pub(crate) fn lists(&mut self, id: NodeId) -> Option<&mut ListTalk> {
        let session = self.table.find_mut(mix(id.0), |s| s.id == id);
        session.map(|s| &mut s.lists)
    }

    /// Nobody is known any more to have the same list of revoked certificates.
    pub(crate) fn change_revoked(&mut self) {
        for session in &mut self.table {
            session.lists.agrees = false;
        }
    }

    /// Forgets the session of a sender.
    pub(crate) fn end(&mut self, id: NodeId) {
        if let Ok(entry) = self.table.find_entry(mix(id.0), |s| s.id == id) {
            entry.remove();
        }
    }

    /// Whether one more datagram of a session counts in this second.
    pub(crate) fn allow(&mut self, now: Instant, id: NodeId, salt: u64) -> bool {
        let session = self.table.find_mut(mix(id.0), |s| s.id == id);
        let session = session.filter(|s| s.salt == salt);
        session.is_none_or(|s| s.rate.take(now))
    }

    /// Counts a datagram that is taken, and notes the key it was under.
    pub(crate) fn see(
        &mut self,
        now: Instant,
        id: NodeId,
        counter: u64,
        (key, under): ([u8; 32], u32),
    ) {
        if let Some(session) = self.table.find_mut(mix(id.0), |s| s.id == id) {
            session.window.see(counter);
            session.heard = now;
            (session.key, session.under) = (Some(key), under);
        }
    }

    /// Whether a session may begin: not one of an earlier life than the latest, and not a second one of a life.
    pub(crate) fn may_begin(&self, id: NodeId, life: Life) -> bool {
        self.get(id).is_none_or(|s| s.life < life)
    }

    /// Begins a session with the datagram that proves it. Whether there is room.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        id: NodeId,
        salt: u64,
        life: Life,
        (key, under): ([u8; 32], u32),
        counter: u64,
    ) -> bool {
        // All before it counts as seen.
        let window = Window {
            top: counter,
            seen: [u64::MAX; 4],
        };
        let fresh = Session {
            id,
            salt,
            life,
            key: Some(key),
            under,
            agrees: false,
            lists: ListTalk::default(),
            window,
            aloud: window,
            heard: now,
            rate: Bucket::new(RATE),
        };
        if let Some(session) = self.table.find_mut(mix(id.0), |s| s.id == id) {
            *session = fresh;
            return true;
        }
        if self.table.len() >= self.max {
            self.table.retain(|s| now.since(s.heard) < KEEP);
        }
        if self.table.len() >= self.max {
            return false;
        }
        self.table.insert_unique(mix(id.0), fresh, |s| mix(s.id.0));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    extern crate std;

    const ID: NodeId = NodeId(7);
    const NOW: Instant = Instant::ZERO;
    const KEY: ([u8; 32], u32) = ([0; 32], 0);

    fn begun(counter: u64) -> Sessions {
        let mut sessions = Sessions::new(2);
        assert!(sessions.begin(NOW, ID, 1, Life(1), KEY, counter));
        sessions
    }

    proptest! {
        /// Every counter above the first is taken once, unless it comes 256 later ones behind.
        #[test]
        fn a_counter_counts_once(steps in proptest::collection::vec(0..600_u64, 0..300)) {
            let mut sessions = begun(100);
            let mut taken: BTreeSet<u64> = (0..=100).collect();
            let mut top = 100;
            for counter in steps {
                let due = !taken.contains(&counter) && counter + WINDOW > top;
                let verdict = sessions.judge(ID, 1, counter);
                prop_assert_eq!(verdict == Counter::Fresh, due, "{} of {}", counter, top);
                if due {
                    sessions.see(NOW, ID, counter, KEY);
                    taken.insert(counter);
                    top = top.max(counter);
                }
            }
        }
    }

    #[test]
    fn nothing_from_before_a_session_began_is_taken() {
        let sessions = begun(1000);
        let fresh: Vec<u64> = (0..=1001)
            .filter(|&c| sessions.judge(ID, 1, c) == Counter::Fresh)
            .collect();
        assert_eq!(fresh, [1001]);
        assert_eq!(sessions.judge(ID, 2, 1001), Counter::Unknown);
    }

    #[test]
    fn an_earlier_life_and_a_second_session_of_a_life_do_not_begin() {
        let sessions = begun(1);
        assert!(!sessions.may_begin(ID, Life(0)));
        assert!(!sessions.may_begin(ID, Life(1)));
        assert!(sessions.may_begin(ID, Life(2)));
        assert!(sessions.may_begin(NodeId(8), Life(0)));
    }

    #[test]
    fn the_number_of_sessions_is_bounded_and_silent_ones_make_room() {
        let mut sessions = begun(1);
        let hour = NOW + KEEP;
        assert!(sessions.begin(hour, NodeId(8), 1, Life(1), KEY, 1));
        assert!(sessions.begin(hour, NodeId(9), 1, Life(1), KEY, 1));
        assert!(!sessions.begin(hour, NodeId(10), 1, Life(1), KEY, 1));
        assert_eq!(sessions.judge(ID, 1, 5), Counter::Unknown);
    }
}
