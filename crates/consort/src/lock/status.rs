//! The holders and waiters of locks, gathered from the answers of members.

use super::{LockName, name};
use consort_fence::Token;
use consort_proto::mutex::{LockId, Mode, ReqId, Seen};
use consort_proto::{Life, NodeId};
use core::time::Duration;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The greatest number of contenders that one question gathers.
const SEEN_MAX: usize = 16_384;
/// The greatest number of names, and of holders, that are remembered.
const WORDS_MAX: usize = 1024;

/// A node that holds a lock or waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contender {
    /// The node's id.
    pub id: NodeId,
    /// The life of the node.
    pub life: Life,
    /// Its announced name; empty if the node is not listed.
    pub name: String,
    /// The mode of its request.
    pub mode: Mode,
    /// Whether it holds the lock.
    pub held: bool,
    /// The token with which it holds the lock or would hold it.
    pub token: Token,
    /// The rest of its lease unless it is renewed; zero for a waiter that reported itself.
    pub left: Duration,
    /// The number of further requests of that node that wait behind it.
    pub behind: u16,
    /// Whether the contender reported itself. Otherwise witnesses reported it, which remember it for up to a lease
    /// after it is gone.
    pub own_word: bool,
    /// The number of nodes that told of the request: its own, and the witnesses that remember it. It is a lower bound,
    /// because late answers are missing.
    pub supporters: u32,
}

/// The holders and waiters of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockStatus {
    /// The lock.
    pub lock: LockName,
    /// The number of permits, if it is a slot of a semaphore and one of the contenders told.
    pub permits: Option<u16>,
    /// The holders first, then the waiters, in the order of their tokens.
    pub contenders: Vec<Contender>,
}

impl LockStatus {
    /// The holders: one, or several that share the lock.
    pub fn holders(&self) -> impl Iterator<Item = &Contender> {
        self.contenders.iter().filter(|c| c.held)
    }

    /// The number of waiting requests.
    pub fn waiting(&self) -> usize {
        let waiting = |c: &Contender| usize::from(!c.held) + usize::from(c.behind);
        self.contenders.iter().map(waiting).sum()
    }
}

/// The progress of a node that has started recently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Readiness {
    /// Whether it has read the group's clock and may request locks. Until then requests wait.
    pub synced: bool,
    /// Whether it counts as a witness, for itself and for others.
    pub mature: bool,
    /// The time until it counts as a witness, if the group answers.
    pub matures_in: Duration,
    /// The greatest possible number of nodes, according to the bound.
    pub members: u32,
    /// The number of nodes that have to support a grant: more than half.
    pub needed: u32,
    /// The number of them that are present, including this node.
    pub here: u32,
    /// Whether it was told to join a group and knows none of its members yet.
    pub seeks: bool,
    /// Whether failed members count.
    pub counts_failed: bool,
}

impl Readiness {
    /// The reason why no request can be granted, and what can be done about it; `None` if there is none.
    pub fn obstacle(&self) -> Option<String> {
        let Readiness {
            members,
            needed,
            here,
            ..
        } = self;
        if self.seeks {
            return Some(
                "this node was told to join a group and has not found anybody of it; see `consort info`".to_owned(),
            );
        }
        if here < needed {
            let remedy = match self.counts_failed {
                true => {
                    "bring members back; or remove those that are gone for good with `consort force-leave NAME`; or set \
                     bound = \"available\" in all agents, with which both sides of a partition may lock"
                }
                false => "bring nodes back, or wait until those that are gone count no longer",
            };
            return Some(format!(
                "a majority is out of reach: it takes {needed} of {members} members, and {here} are here; {remedy}"
            ));
        }
        match (self.synced, self.matures_in.as_secs()) {
            (true, _) => None,
            (false, 0) => Some(format!(
                "this node has not read the group's clock yet: more than half of the {members} members have to tell it \
                 theirs; the bound of one request does not change that, the agents' setting does"
            )),
            (false, left) => Some(format!(
                "this node has just started and has not read the group's clock yet: that takes the answers of members \
                 that have been here for longer, or {left} s"
            )),
        }
    }
}

/// What members said of their own requests, for when only witnesses are left to tell of them.
#[derive(Debug, Default)]
pub(crate) struct Words {
    names: BTreeMap<LockId, String>,
    /// The requests that held their locks by the last word of their nodes.
    held: BTreeSet<(LockId, ReqId)>,
}

impl Words {
    /// Remembers what a contender says of itself. At the limit others are forgotten.
    fn learn(&mut self, seen: &Seen) {
        let Some(name) = &seen.name else { return };
        if self.names.len() >= WORDS_MAX && !self.names.contains_key(&seen.lock) {
            self.names.pop_first();
        }
        self.names.insert(seen.lock, name.clone());
        let key = (seen.lock, seen.req);
        if !seen.held {
            self.held.remove(&key);
            return;
        }
        if self.held.len() >= WORDS_MAX && !self.held.contains(&key) {
            self.held.pop_first();
        }
        self.held.insert(key);
    }
}

/// A question to all members, with the answers so far.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) nonce: u32,
    /// The time until which answers are awaited.
    pub(crate) until: Instant,
    /// The name of one lock, whose slots are included; `None` for all locks.
    name: Option<String>,
    seen: BTreeMap<(LockId, ReqId), (Seen, BTreeSet<NodeId>)>,
    reply: oneshot::Sender<Vec<LockStatus>>,
}

impl Look {
    pub(crate) fn new(
        nonce: u32,
        until: Instant,
        name: Option<String>,
        reply: oneshot::Sender<Vec<LockStatus>>,
    ) -> Look {
        Look {
            nonce,
            until,
            name,
            seen: BTreeMap::new(),
            reply,
        }
    }

    /// Records an answer. A contender's own report takes precedence over that of a witness.
    pub(crate) fn take(&mut self, by: NodeId, seen: Seen) {
        let room = self.seen.len() < SEEN_MAX;
        let (known, told) = match self.seen.entry((seen.lock, seen.req)) {
            Entry::Vacant(entry) => {
                if room {
                    entry.insert((seen, [by].into()));
                }
                return;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        told.insert(by);
        if seen.name.is_some() {
            *known = seen;
        } else if known.name.is_none() {
            known.held |= seen.held;
            known.token = known.token.max(seen.token);
            known.left_ms = known.left_ms.max(seen.left_ms);
        }
    }

    /// Answers the caller. `called` looks up the names of members, and `gone` says which do not answer any more: by
    /// their last word they hold what witnesses still remember.
    pub(crate) fn answer(
        self,
        words: &mut Words,
        called: impl Fn(NodeId) -> String,
        gone: impl Fn(NodeId) -> bool,
    ) {
        for (seen, _) in self.seen.values() {
            words.learn(seen);
        }
        let own = self.name.as_ref().map(|name| (LockId::of(name), name));
        let name_of = |id: &LockId| match own {
            Some((asked, name)) if asked == *id => Some(name.as_str()),
            _ => words.names.get(id).map(String::as_str),
        };
        let mut locks: BTreeMap<LockId, Vec<Contender>> = BTreeMap::new();
        for ((lock, req), (seen, told)) in self.seen {
            locks.entry(lock).or_default().push(Contender {
                id: req.node,
                life: req.life,
                name: called(req.node),
                mode: seen.mode,
                held: seen.held
                    || seen.name.is_none() && words.held.contains(&(lock, req)) && gone(req.node),
                token: Token(seen.token.0),
                left: Duration::from_millis(u64::from(seen.left_ms)),
                behind: seen.behind,
                own_word: seen.name.is_some(),
                supporters: told.len() as u32,
            });
        }
        let all = locks.into_iter().map(|(id, mut contenders)| {
            contenders.sort_by_key(|c| (!c.held, c.token));
            let lock = LockName::of_full(id, name_of(&id));
            let permits = name_of(&id).and_then(name::permits);
            LockStatus {
                lock,
                permits,
                contenders,
            }
        });
        let wanted = |s: &LockStatus| match &self.name {
            Some(name) => s.lock.name.as_deref() == Some(name),
            None => true,
        };
        let mut all: Vec<LockStatus> = all.filter(wanted).collect();
        all.sort_by_key(|s| (s.lock.name.is_none(), s.lock.name.clone(), s.lock.slot));
        // The requester may have left.
        let _ = self.reply.send(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::mutex::Fence;

    #[test]
    fn what_stands_in_the_way_is_said_with_what_to_do() {
        let good = Readiness {
            synced: true,
            mature: true,
            matures_in: Duration::ZERO,
            members: 4,
            needed: 3,
            here: 3,
            seeks: false,
            counts_failed: true,
        };
        assert_eq!(good.obstacle(), None);
        let half = Readiness { here: 2, ..good };
        let text = half.obstacle().unwrap();
        for part in ["3 of 4 members", "2 are here", "force-leave", "available"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let voters = Readiness {
            counts_failed: false,
            ..half
        };
        assert!(!voters.obstacle().unwrap().contains("force-leave"));
        let fresh = Readiness {
            synced: false,
            matures_in: Duration::from_secs(9),
            ..good
        };
        assert!(fresh.obstacle().unwrap().contains("9 s"));
        let late = Readiness {
            synced: false,
            ..good
        };
        assert!(late.obstacle().unwrap().contains("clock"));
        let lost = Readiness {
            seeks: true,
            ..half
        };
        assert!(lost.obstacle().unwrap().contains("join"));
    }

    fn seen(node: u64, held: bool, left_ms: u32, name: Option<&str>) -> Seen {
        Seen {
            nonce: 1,
            lock: LockId::of("a"),
            req: ReqId {
                node: NodeId(node),
                life: Life(1),
                ctr: 1,
            },
            mode: Mode::Exclusive,
            held,
            token: Fence(u128::from(node)),
            left_ms,
            behind: u16::from(name.is_some()),
            name: name.map(str::to_owned),
        }
    }

    #[test]
    fn a_contenders_own_word_beats_its_witnesses_in_any_order() {
        let told = [
            seen(7, true, 900, None),
            seen(7, false, 0, Some("a")),
            seen(7, true, 800, None),
            seen(9, false, 300, None),
            seen(9, true, 200, None),
        ];
        for turn in 0..told.len() {
            let (reply, mut answer) = oneshot::channel();
            let mut look = Look::new(1, Instant::now(), None, reply);
            for n in 0..told.len() {
                let at = (turn + n) % told.len();
                // The first two come from one node.
                look.take(NodeId(at.max(1) as u64), told[at].clone());
            }
            look.answer(
                &mut Words::default(),
                |id| format!("node-{}", id.0),
                |_| true,
            );
            let all = answer.try_recv().unwrap();
            assert_eq!(all.len(), 1);
            assert_eq!(all[0].lock.to_string(), "a");
            let [held, waits] = &all[0].contenders[..] else {
                panic!("{all:?}");
            };
            assert_eq!(
                (held.id, held.held, held.left),
                (NodeId(9), true, Duration::from_millis(300))
            );
            assert_eq!(
                (waits.id, waits.held, waits.own_word),
                (NodeId(7), false, true)
            );
            assert_eq!((waits.supporters, held.supporters), (2, 2));
            assert_eq!(all[0].waiting(), 2, "one behind it");
            assert_eq!(waits.name, "node-7");
        }
    }

    #[test]
    fn locks_of_which_only_witnesses_know_have_no_name_and_others_are_left_out() {
        for (name, found) in [(None, 1), (Some("a"), 1), (Some("b"), 0)] {
            let (reply, mut answer) = oneshot::channel();
            let mut look = Look::new(1, Instant::now(), name.map(str::to_owned), reply);
            look.take(NodeId(8), seen(7, true, 5, None));
            look.answer(&mut Words::default(), |_| String::new(), |_| true);
            let all = answer.try_recv().unwrap();
            assert_eq!(all.len(), found, "{name:?}");
            assert!(all.iter().all(|s| s.lock.name.as_deref() == name));
        }
    }

    #[test]
    fn of_a_holder_that_is_gone_its_last_word_counts() {
        let mut words = Words::default();
        let ask = |words: &mut Words, by: u64, told: Seen, gone: bool| {
            let (reply, mut answer) = oneshot::channel();
            let mut look = Look::new(1, Instant::now(), None, reply);
            look.take(NodeId(by), told);
            look.answer(words, |_| String::new(), |_| gone);
            let all = answer.try_recv().unwrap();
            (all[0].lock.to_string(), all[0].contenders[0].held)
        };
        let witness = || seen(7, false, 500, None);
        assert_eq!(
            ask(&mut words, 7, seen(7, true, 900, Some("a")), false),
            ("a".to_owned(), true)
        );
        assert_eq!(ask(&mut words, 8, witness(), true), ("a".to_owned(), true));
        // One that answers says itself what it holds, even if the answer is late.
        assert_eq!(
            ask(&mut words, 8, witness(), false),
            ("a".to_owned(), false)
        );
        ask(&mut words, 7, seen(7, false, 0, Some("a")), false);
        assert_eq!(ask(&mut words, 8, witness(), true), ("a".to_owned(), false));
        for n in 0..2 * WORDS_MAX {
            let name = format!("lock-{n}");
            let many = Seen {
                lock: LockId::of(&name),
                ..seen(7, true, 900, Some(&name))
            };
            ask(&mut words, 7, many, false);
        }
        assert_eq!(
            (words.names.len(), words.held.len()),
            (WORDS_MAX, WORDS_MAX)
        );
    }
}
