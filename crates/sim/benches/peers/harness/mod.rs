//! A small world for any kind of node that exchanges bytes: the simulator's network and event queue, an adapter for
//! our node and one for foca's, and a record of their verdicts.

pub(crate) mod ours;
pub(crate) mod scene;
pub(crate) mod theirs;
mod watch;

pub(crate) use watch::Watch;

use consort_proto::Instant;
use consort_sim::net::Net;
use consort_sim::queue::{Due, EventQueue};
use core::time::Duration;

/// A node that receives and sends bytes.
pub(crate) trait Peer {
    /// Handles a datagram.
    fn on_bytes(&mut self, now: Instant, from: usize, bytes: &[u8], out: &mut Output);
    /// Handles the timers that are due.
    fn on_timeout(&mut self, now: Instant, out: &mut Output);
    /// When the next timer is due.
    fn due(&self) -> Option<Instant>;
}

/// What a host reports to its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Up(usize),
    Down(usize),
}

/// Effects of a step. Buffers are reused.
#[derive(Debug, Default)]
pub(crate) struct Output {
    sent: Vec<(usize, Vec<u8>)>,
    news: Vec<News>,
    spare: Vec<Vec<u8>>,
}

impl Output {
    /// Sends what `write` puts into an empty buffer.
    pub(crate) fn send(&mut self, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        write(&mut buffer);
        self.sent.push((to, buffer));
    }

    pub(crate) fn tell(&mut self, news: News) {
        self.news.push(news);
    }
}

/// All work of a node on a datagram, from bytes to bytes. Callgrind counts only inside this function and the next.
#[inline(never)]
fn charged_bytes<P: Peer>(p: &mut P, now: Instant, from: usize, bytes: &[u8], out: &mut Output) {
    p.on_bytes(now, from, bytes, out);
}

/// All work of a node on its timers.
#[inline(never)]
fn charged_timeout<P: Peer>(p: &mut P, now: Instant, out: &mut Output) {
    p.on_timeout(now, out);
}

#[derive(Clone, Copy, Debug)]
struct Alarm {
    wake_at: Instant,
    due: Instant,
}

#[derive(Debug, Default)]
struct Packet {
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// Peers of one kind, network and clock. Follows the order of [`consort_sim::Engine`] step by step, so that our
/// nodes have the same history in both.
#[derive(Debug)]
pub(crate) struct World<P> {
    pub(crate) net: Net,
    pub(crate) watch: Watch,
    pub(crate) peers: Vec<P>,
    now: Instant,
    queue: EventQueue,
    alarms: Vec<Alarm>,
    packets: Vec<Packet>,
    free: Vec<usize>,
    out: Output,
}

impl<P: Peer> World<P> {
    /// Peers that already know each other.
    pub(crate) fn new(net: Net, watch: Watch, peers: Vec<P>) -> World<P> {
        let silent = Alarm {
            wake_at: Instant::MAX,
            due: Instant::MAX,
        };
        let mut world = World {
            net,
            watch,
            alarms: vec![silent; peers.len()],
            peers,
            now: Instant::ZERO,
            queue: EventQueue::default(),
            packets: Vec::new(),
            free: Vec::new(),
            out: Output::default(),
        };
        for index in 0..world.peers.len() {
            world.rearm(index);
        }
        world
    }

    /// Schedules a crash.
    pub(crate) fn crash_at(&mut self, at: Instant, host: usize) {
        self.queue.push(at, Due::Fault(host));
    }

    /// Runs every event up to `until`, and sets the clock there.
    pub(crate) fn run_until(&mut self, until: Instant) {
        while let Some((at, due)) = self.queue.pop(until) {
            self.now = at;
            match due {
                Due::Wake(index) => self.wake(index),
                Due::Deliver(slot) => self.deliver(slot),
                Due::Fault(host) => {
                    self.net.routes().set_alive(host, false);
                    self.watch.crash(at, host);
                }
                Due::Sample => {}
            }
        }
        self.now = until;
    }

    /// Starts to count. Callgrind restarts its counters here as well.
    #[inline(never)]
    pub(crate) fn reset_counts(&mut self) {
        self.net.reset_counts();
        self.watch.reset(self.now);
    }

    fn wake(&mut self, index: usize) {
        let (now, alarm) = (self.now, &mut self.alarms[index]);
        if alarm.wake_at != now || self.watch.is_crashed(index) {
            return;
        }
        alarm.wake_at = Instant::MAX;
        if alarm.due > now {
            self.set_alarm(index);
            return;
        }
        charged_timeout(&mut self.peers[index], now, &mut self.out);
        self.settle(index);
    }

    fn deliver(&mut self, slot: usize) {
        let Packet { from, to, .. } = self.packets[slot];
        if !self.watch.is_crashed(to) {
            let bytes = &self.packets[slot].bytes;
            charged_bytes(&mut self.peers[to], self.now, from, bytes, &mut self.out);
            self.settle(to);
        }
        let buffer = core::mem::take(&mut self.packets[slot].bytes);
        self.out.spare.push(buffer);
        self.free.push(slot);
    }

    /// Carries out the effects of a step.
    fn settle(&mut self, index: usize) {
        for news in self.out.news.drain(..) {
            self.watch.note(self.now, index, news);
        }
        let mut sent = core::mem::take(&mut self.out.sent);
        for (to, bytes) in sent.drain(..) {
            self.dispatch(index, to, bytes);
        }
        self.out.sent = sent;
        self.rearm(index);
    }

    fn dispatch(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let fate = self.net.send(from, to, bytes.len());
        let copy = fate.copy.map(|us| (us, bytes.clone()));
        let first = fate.first.map(|us| (us, bytes));
        for (us, bytes) in copy.into_iter().chain(first) {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.packets.push(Packet::default());
                self.packets.len() - 1
            });
            self.packets[slot] = Packet { from, to, bytes };
            let at = self.now + Duration::from_micros(us);
            self.queue.push(at, Due::Deliver(slot));
        }
    }

    fn rearm(&mut self, index: usize) {
        self.alarms[index].due = self.peers[index].due().unwrap_or(Instant::MAX);
        self.set_alarm(index);
    }

    fn set_alarm(&mut self, index: usize) {
        let alarm = &mut self.alarms[index];
        if alarm.due < alarm.wake_at {
            alarm.wake_at = alarm.due.max(self.now);
            self.queue.push(alarm.wake_at, Due::Wake(index));
        }
    }
}
