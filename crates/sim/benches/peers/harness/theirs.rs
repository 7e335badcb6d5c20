//! A foca node behind bytes, with the timer queue that foca leaves to its user.

use super::{News, Output, Peer};
use alloc::collections::BinaryHeap;
use consort_proto::{Instant, hash_pair};
use consort_sim::stream;
use consort_sim::world::{addr_of, index_at};
use core::cmp::Reverse;
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use foca::{Config, Foca, Identity, Member, NoCustomBroadcast, Notification, PostcardCodec, Timer};
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};

/// The name of a host.
pub(crate) trait Name: Identity + Serialize + for<'de> Deserialize<'de> {
    fn of(index: usize) -> Self;
    fn index(&self, hosts: usize) -> usize;
}

/// Address and generation, as in foca's own agent. A host that is declared down renews its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Socket {
    addr: SocketAddr,
    bump: u16,
}

impl Identity for Socket {
    type Addr = SocketAddr;

    fn renew(&self) -> Option<Self> {
        Some(Socket {
            addr: self.addr,
            bump: self.bump.wrapping_add(1),
        })
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        self.bump > adversary.bump
    }
}

impl Name for Socket {
    fn of(index: usize) -> Self {
        Socket {
            addr: addr_of(index),
            bump: 0,
        }
    }

    fn index(&self, hosts: usize) -> usize {
        index_at(self.addr, hosts).expect("addresses of hosts only")
    }
}

/// The shortest name of a host: for groups with their own address plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Short {
    host: u16,
    bump: u16,
}

impl Identity for Short {
    type Addr = u16;

    fn renew(&self) -> Option<Self> {
        Some(Short {
            host: self.host,
            bump: self.bump.wrapping_add(1),
        })
    }

    fn addr(&self) -> u16 {
        self.host
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        self.bump > adversary.bump
    }
}

impl Name for Short {
    fn of(index: usize) -> Self {
        Short {
            host: index as u16,
            bump: 0,
        }
    }

    fn index(&self, _: usize) -> usize {
        usize::from(self.host)
    }
}

/// A timer with its deadline; equal deadlines keep the order of scheduling.
struct Deadline<T> {
    at: Instant,
    number: u64,
    timer: Timer<T>,
}

impl<T> Ord for Deadline<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> PartialOrd for Deadline<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Deadline<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Deadline<T> {}

struct Timers<T> {
    heap: BinaryHeap<Reverse<Deadline<T>>>,
    scheduled: u64,
}

impl<T> Timers<T> {
    #[inline(never)]
    fn set(&mut self, at: Instant, timer: Timer<T>) {
        self.scheduled += 1;
        let number = self.scheduled;
        self.heap.push(Reverse(Deadline { at, number, timer }));
    }

    #[inline(never)]
    fn pop(&mut self, now: Instant) -> Option<Timer<T>> {
        let due = self.heap.peek().is_some_and(|Reverse(d)| d.at <= now);
        due.then(|| self.heap.pop().map(|Reverse(d)| d.timer))?
    }
}

/// Carries out foca's requests at once.
struct Runtime<'a, T> {
    now: Instant,
    hosts: usize,
    timers: &'a mut Timers<T>,
    out: &'a mut Output,
    /// Share of the waiting time that timers get; below one only at the start.
    share: f64,
}

impl<T: Name> foca::Runtime<T> for Runtime<'_, T> {
    fn notify(&mut self, notification: Notification<'_, T>) {
        match notification {
            Notification::MemberUp(who) => self.out.tell(News::Up(who.index(self.hosts))),
            Notification::MemberDown(who) => self.out.tell(News::Down(who.index(self.hosts))),
            _ => {}
        }
    }

    fn send_to(&mut self, to: T, data: &[u8]) {
        let to = to.index(self.hosts);
        self.out.send(to, |buffer| buffer.extend_from_slice(data));
    }

    fn submit_after(&mut self, timer: Timer<T>, after: Duration) {
        let after = if self.share < 1.0 {
            after.mul_f64(self.share)
        } else {
            after
        };
        self.timers.set(self.now + after, timer);
    }
}

pub(crate) struct Theirs<T: Name> {
    foca: Foca<T, PostcardCodec, Pcg32, NoCustomBroadcast>,
    timers: Timers<T>,
    hosts: usize,
    /// Number of errors that foca reported.
    pub(crate) errors: u64,
}

impl<T: Name> fmt::Debug for Theirs<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Theirs").field(self.foca.identity()).finish()
    }
}

impl<T: Name> Theirs<T> {
    /// A node that knows all others. It joins them at a random point of its first period: otherwise foca nodes that
    /// start together would probe in phase for ever.
    pub(crate) fn warm(config: Config, seed: u64, index: usize, hosts: usize) -> Theirs<T> {
        let seed = hash_pair(seed, index as u64);
        let rng = Pcg32::new(seed, index as u64);
        let mut phase = consort_proto::Rng::seed(seed, stream::HOSTS);
        let mut foca = Foca::new(T::of(index), config, rng, PostcardCodec);
        let mut timers = Timers {
            heap: BinaryHeap::new(),
            scheduled: 0,
        };
        let mut out = Output::default();
        let runtime = Runtime {
            now: Instant::ZERO,
            hosts,
            timers: &mut timers,
            out: &mut out,
            share: phase.unit(),
        };
        let others = (0..hosts).filter(|&i| i != index);
        foca.apply_many(others.map(|i| Member::alive(T::of(i))), false, runtime)
            .expect("nothing to encode");
        Theirs {
            foca,
            timers,
            hosts,
            errors: 0,
        }
    }
}

impl<T: Name> Peer for Theirs<T> {
    fn on_bytes(&mut self, now: Instant, _: usize, bytes: &[u8], out: &mut Output) {
        let runtime = Runtime {
            now,
            hosts: self.hosts,
            timers: &mut self.timers,
            out,
            share: 1.0,
        };
        let done = self.foca.handle_data(bytes, runtime);
        self.errors += u64::from(done.is_err());
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Output) {
        while let Some(timer) = self.timers.pop(now) {
            let runtime = Runtime {
                now,
                hosts: self.hosts,
                timers: &mut self.timers,
                out,
                share: 1.0,
            };
            let done = self.foca.handle_timer(timer, runtime);
            self.errors += u64::from(done.is_err());
        }
    }

    fn due(&self) -> Option<Instant> {
        self.timers.heap.peek().map(|Reverse(d)| d.at)
    }
}
