//! Planted mistakes that the checker must find: they alter what a node sends or does.

use super::host::id;
use consort_proto::membership::{Msg, Phase, Precedence, Status};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Config, Incarnation, Life, Node, NodeId};

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// An accused node claims to be alive in the incarnation in which it was accused.
    SameIncarnation,
    /// The last record received counts (E12), not the greatest.
    LastReceived,
    /// A member that said goodbye returns when an older record of it arrives.
    GoodbyeNotFinal,
    /// A restarted process has the life of the previous one.
    SameLife,
    /// Nobody is told of accusations against it.
    Untold,
    /// An isolated node accuses the others (E20).
    NoIsolation,
    /// Failed members are never tried again (E24).
    NoHealing,
}

impl Flaw {
    /// All flaws, each with the invariants of which it must violate one.
    pub const ALL: [(Flaw, &'static str, &'static [&'static str]); 7] = [
        (Flaw::SameIncarnation, "same-incarnation", &["I9", "I12"]),
        (Flaw::LastReceived, "last-received", &["I1"]),
        (Flaw::GoodbyeNotFinal, "goodbye-not-final", &["I4"]),
        (Flaw::SameLife, "same-life", &["I2"]),
        (Flaw::Untold, "untold", &["I12"]),
        (Flaw::NoIsolation, "no-isolation", &["I13"]),
        (Flaw::NoHealing, "no-healing", &["I9"]),
    ];

    /// Applies flaws that a setting can express.
    pub(super) fn configure(flaw: Option<Flaw>, config: &mut Config) {
        let m = &mut config.membership;
        match flaw {
            Some(Flaw::NoIsolation) => m.isolation = false,
            Some(Flaw::NoHealing) => m.heal_periods = 0,
            _ => {}
        }
    }

    /// The datagram that is sent instead of `datagram`.
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

    /// Alters a node before it handles a datagram.
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

    /// Alters a node after it handled a datagram.
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

/// All claims of a datagram, in order.
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
