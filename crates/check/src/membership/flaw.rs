//! Mistakes that the checker must find: what a node says or does is tampered with.

use super::host::id;
use consort_proto::membership::{Msg, Phase, Precedence, Status};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Config, Incarnation, Life, Node, NodeId};

/// What is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// An accused node says that it is alive, in the incarnation in which it was accused.
    SameIncarnation,
    /// What came last counts (E12), not what is greater.
    LastReceived,
    /// Who said goodbye is back when something older is heard of it.
    GoodbyeNotFinal,
    /// A process that starts again has the life of the one before.
    SameLife,
    /// Nobody is told what is said of it.
    Untold,
    /// A node that hears nobody accuses the others (E20).
    NoIsolation,
    /// Those that are down are never tried again (E24).
    NoHealing,
}

impl Flaw {
    /// All of them, each with the invariants of which it must break one.
    pub const ALL: [(Flaw, &'static str, &'static [&'static str]); 7] = [
        (Flaw::SameIncarnation, "same-incarnation", &["I9", "I12"]),
        (Flaw::LastReceived, "last-received", &["I1"]),
        (Flaw::GoodbyeNotFinal, "goodbye-not-final", &["I4"]),
        (Flaw::SameLife, "same-life", &["I2"]),
        (Flaw::Untold, "untold", &["I12"]),
        (Flaw::NoIsolation, "no-isolation", &["I13"]),
        (Flaw::NoHealing, "no-healing", &["I9"]),
    ];

    /// Takes out what a setting can take out.
    pub(super) fn configure(flaw: Option<Flaw>, config: &mut Config) {
        let m = &mut config.membership;
        match flaw {
            Some(Flaw::NoIsolation) => m.isolation = false,
            Some(Flaw::NoHealing) => m.heal_periods = 0,
            _ => {}
        }
    }

    /// What is sent in place of `datagram`.
    pub(super) fn falsify(flaw: Option<Flaw>, to: usize, datagram: &mut Datagram) {
        let (me, leaving) = (datagram.header.id, datagram.header.leaving);
        match flaw {
            Some(Flaw::SameIncarnation) if !leaving => {
                datagram.header.incarnation = Incarnation(0);
                for frame in &mut datagram.frames {
                    if let Frame::Membership(Msg::Record(record)) = frame
                        && record.id == me
                    {
                        record.precedence.incarnation = Incarnation(0);
                    }
                }
            }
            Some(Flaw::Untold) => datagram.frames.retain(
                |frame| !matches!(frame, Frame::Membership(Msg::Accusation(a)) if a.id == id(to)),
            ),
            _ => {}
        }
    }

    /// Before a node takes a datagram.
    pub(super) fn before(flaw: Option<Flaw>, node: &mut Node, datagram: &Datagram) {
        if flaw != Some(Flaw::GoodbyeNotFinal) {
            return;
        }
        for (of, claim) in claims(datagram) {
            let held = node.membership().table().get(of).map(|m| m.precedence);
            let over = held.is_some_and(|h| h.status == Status::Left && h.life == claim.life);
            if over && claim.status == Status::Alive {
                let earlier = Precedence::alive(Life(claim.life.0 - 1), Incarnation(0));
                node.membership_mut()
                    .tamper(of, earlier.with(Status::Dead), Phase::Down);
            }
        }
    }

    /// After a node took a datagram.
    pub(super) fn after(flaw: Option<Flaw>, node: &mut Node, datagram: &Datagram) {
        if flaw != Some(Flaw::LastReceived) {
            return;
        }
        for (of, claim) in claims(datagram) {
            let phase = match claim.status {
                Status::Alive => Phase::Up,
                Status::Suspect => Phase::Suspected,
                Status::Dead | Status::Left => Phase::Down,
            };
            node.membership_mut().tamper(of, claim, phase);
        }
    }
}

/// All that a datagram claims, in the order in which it does.
pub(super) fn claims(datagram: &Datagram) -> Vec<(NodeId, Precedence)> {
    let header = &datagram.header;
    let status = if header.leaving {
        Status::Left
    } else {
        Status::Alive
    };
    let own = Precedence::alive(header.life, header.incarnation).with(status);
    let told = datagram.frames.iter().filter_map(|frame| match frame {
        Frame::Membership(Msg::Record(r)) => Some((r.id, r.precedence)),
        Frame::Membership(Msg::Accusation(a)) => Some((a.id, a.precedence)),
        _ => None,
    });
    [(header.id, own)].into_iter().chain(told).collect()
}
