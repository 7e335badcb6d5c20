//! The history of a run: a hash of every event, and optionally the events themselves.

use consort_proto::membership::{self, Arrival, Departure};
use consort_proto::{Event, Instant, election, message, mix, mutex};

/// An event at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Its timers fired.
    Timeout,
    /// A datagram arrived.
    Received {
        /// Sender.
        from: u32,
        /// Size.
        bytes: u32,
    },
    /// It sent a datagram.
    Sent {
        /// Receiver.
        to: u32,
        /// Size.
        bytes: u32,
        /// Time in flight; `None` if it is lost.
        delay_us: Option<u64>,
    },
    /// It reported an event.
    Event(Event),
    /// A fault occurred; the number of its kind.
    Fault(u8),
}

/// The hash of all events, and their list if recording is enabled.
#[derive(Clone, Debug)]
pub struct Trace {
    hash: u64,
    record_max: usize,
    events: Vec<(Instant, u32, Happening)>,
}

impl Default for Trace {
    fn default() -> Self {
        Trace {
            hash: 0x6f6e_736f_7274_2121,
            record_max: 0,
            events: Vec::new(),
        }
    }
}

impl Trace {
    /// A trace that also keeps the first `max` events.
    pub fn recording(max: usize) -> Trace {
        Trace {
            record_max: max,
            ..Trace::default()
        }
    }

    /// Hash of the history so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The recorded events: time, host, event.
    pub fn events(&self) -> &[(Instant, u32, Happening)] {
        &self.events
    }

    pub(crate) fn push(&mut self, at: Instant, host: usize, what: Happening) {
        let (kind, a, b) = match &what {
            Happening::Timeout => (1, 0, 0),
            &Happening::Received { from, bytes } => (2, from.into(), bytes.into()),
            &Happening::Sent {
                to,
                bytes,
                delay_us,
            } => {
                let long = u64::from(to) << 32 | u64::from(bytes);
                (3, long, delay_us.map_or(0, |d| d + 1))
            }
            Happening::Event(event) => words(event),
            Happening::Fault(kind) => (5, (*kind).into(), 0),
        };
        // Two rounds of mixing for four words: the hash has to depend on the order of events, it need not be
        // cryptographic.
        let first = at.as_micros() ^ (host as u64) << 40 ^ kind << 58;
        let second = a ^ b.rotate_left(24);
        self.hash = mix(mix(self.hash ^ first) ^ second);
        if self.events.len() < self.record_max {
            self.events.push((at, host as u32, what));
        }
    }
}

/// An event about an application message as a kind and two words.
fn message_words(event: &message::Event) -> (u64, u64, u64) {
    use message::Event as E;
    match event {
        E::Told { id, .. } => (9, id.origin.0, id.seq.into()),
        E::Asked { id, .. } => (10, id.origin.0, id.seq.into()),
        E::Answered { ticket, from, .. } => (11, from.0, *ticket),
        E::Finished { ticket, silent } => (12, *ticket, silent.len() as u64),
    }
}

/// An event as a kind and two words.
fn words(event: &Event) -> (u64, u64, u64) {
    use membership::Event as E;
    let event = match event {
        Event::Membership(event) => event,
        Event::Election(event) => return election_words(event),
        Event::Lock(event) => return lock_words(event),
        Event::Message(event) => return message_words(event),
        Event::Link { id, up } => return (8, id.0, u64::from(*up)),
        Event::OnlySealed => return (65, 0, 0),
        Event::Cloned => return (66, 0, 0),
        Event::Refused { id, why, .. } => return (67, id.0, *why as u64),
        Event::Revoked(list) => {
            let stamp = list.stamp();
            return (68, u64::from(stamp.version), u64::from(stamp.hash));
        }
        Event::Keys(ring) => {
            let stamp = ring.stamp();
            return (64, u64::from(stamp.version), u64::from(stamp.hash));
        }
    };
    let (kind, a, b) = match *event {
        E::Up { id, life, how } => {
            let how = match how {
                Arrival::Joined => 0,
                Arrival::Refuted => 1,
                Arrival::Returned => 2,
            };
            (how, id.0, life.0)
        }
        E::Suspected { id, life, by } => (3, id.0, life.0 ^ by.0.rotate_left(32)),
        E::Down { id, life, why, by } => {
            let why = match why {
                Departure::Failed => 4,
                Departure::Left => 5,
                Departure::Restarted => 6,
            };
            (why, id.0, life.0 ^ by.0.rotate_left(32))
        }
        E::Updated { id } => (7, id.0, 0),
        E::SelfAccused { by, was_dead } => (8, by.0, was_dead.into()),
        E::Joined => (9, 0, 0),
        E::Departed => (10, 0, 0),
        E::IdentityConflict => (11, 0, 0),
        E::OptionsDiffer { id } => (12, id.0, 0),
        E::IdentityTaken => (13, 0, 0),
        E::Missing { id, life } => (14, id.0, life.0),
        E::Forgotten { id } => (15, id.0, 0),
    };
    (4, a ^ kind << 60, b)
}

fn election_words(event: &election::Event) -> (u64, u64, u64) {
    use election::Event as E;
    let (kind, token, who) = match *event {
        E::Changed { claim, .. } => (0, Some(claim.key.token), claim.leader.0),
        E::Vacant { .. } => (1, None, 0),
        E::BecameLeader { token, .. } => (2, Some(token), 0),
        E::SteppedDown { token, .. } => (3, Some(token), 0),
    };
    let token = token.map_or(0, |t| {
        t.term.0 ^ t.initiator.0.rotate_left(20) ^ u64::from(t.revision) << 48
    });
    let election = u64::from(event.election().0);
    (6, token ^ kind << 60, election << 32 ^ who)
}

fn lock_words(event: &mutex::Event) -> (u64, u64, u64) {
    use mutex::Event as E;
    let (kind, lock, a, b) = match event {
        E::Granted {
            lock,
            ticket,
            token,
            valid_until,
            ..
        } => (
            0,
            lock.0,
            ticket.0 ^ token.0 as u64,
            (token.0 >> 64) as u64 ^ valid_until.as_micros(),
        ),
        E::Renewed { lock, valid_until } => (1, lock.0, valid_until.as_micros(), 0),
        E::Lost {
            lock, ticket, why, ..
        } => (2, lock.0, ticket.0, *why as u64),
        E::Refused { lock, ticket, .. } => (3, lock.0, ticket.0, 0),
        E::Seen { seen, .. } => (4, seen.lock.0, seen.req.node.0, seen.nonce.into()),
        E::FloorFromClock => (5, 0, 0, 0),
        E::Mature => (6, 0, 0, 0),
    };
    (7, a ^ lock as u64 ^ kind << 60, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_time_host_and_content_all_count() {
        let at = Instant::from_micros;
        let hash = |events: &[(u64, usize, Happening)]| {
            let mut trace = Trace::default();
            for (us, host, what) in events {
                trace.push(at(*us), *host, what.clone());
            }
            trace.hash()
        };
        let sent = |delay_us| Happening::Sent {
            to: 1,
            bytes: 60,
            delay_us,
        };
        let base = hash(&[(1, 0, Happening::Timeout), (2, 0, sent(None))]);
        assert_eq!(
            base,
            hash(&[(1, 0, Happening::Timeout), (2, 0, sent(None))])
        );
        let others = [
            hash(&[(2, 0, sent(None)), (1, 0, Happening::Timeout)]),
            hash(&[(1, 1, Happening::Timeout), (2, 0, sent(None))]),
            hash(&[(1, 0, Happening::Timeout), (3, 0, sent(None))]),
            hash(&[(1, 0, Happening::Timeout), (2, 0, sent(Some(0)))]),
            hash(&[(1, 0, Happening::Timeout)]),
        ];
        assert!(others.iter().all(|&h| h != base));
    }

    #[test]
    fn recording_is_bounded() {
        let mut trace = Trace::recording(1);
        trace.push(Instant::ZERO, 0, Happening::Timeout);
        trace.push(Instant::ZERO, 1, Happening::Timeout);
        assert_eq!(trace.events(), [(Instant::ZERO, 0, Happening::Timeout)]);
    }
}
