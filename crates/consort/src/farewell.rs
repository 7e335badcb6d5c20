//! What a node that leaves waits for.

use consort_proto::Node;
use core::fmt;
use core::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How a node left its group: what it waited for, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Farewell {
    /// For work under its locks to stop: at most what their holders had been promised, which is a lease.
    pub locks: Duration,
    /// For work as a leader to stop: at most the rest of the leader's lease. It runs beside the wait for locks.
    pub leadership: Duration,
    /// After both, for members to confirm the goodbye: a few periods.
    pub members: Duration,
    /// How many members were told; they pass it on to the others.
    pub told: usize,
    /// How many of those did not confirm it: they may see a failure instead, until others tell them.
    pub silent: usize,
}

impl Farewell {
    /// How long it took.
    pub fn total(&self) -> Duration {
        self.locks.max(self.leadership) + self.members
    }
}

impl fmt::Display for Farewell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {:.1} s", self.total().as_secs_f64())?;
        let Farewell { told, silent, .. } = *self;
        let members = match silent {
            0 => "for members to confirm".to_owned(),
            _ => format!("for members, {silent} of {told} told did not confirm"),
        };
        let waits = [
            (self.locks, "for work under its locks to stop"),
            (self.leadership, "for work as a leader to stop"),
            (self.members, members.as_str()),
        ];
        let noted = |w: &&(Duration, &str)| w.0 >= Duration::from_millis(50);
        for (i, (span, what)) in waits.iter().filter(noted).enumerate() {
            let before = if i == 0 { ": " } else { ", " };
            write!(f, "{before}{:.1} s {what}", span.as_secs_f64())?;
        }
        Ok(())
    }
}

/// A node that is about to leave, and who waits for it.
pub(crate) struct Leaving {
    since: Instant,
    farewell: Farewell,
    /// Work under locks, and as a leader, was under way when it was last looked at.
    busy: (bool, bool),
    replies: Vec<oneshot::Sender<Farewell>>,
}

impl Leaving {
    pub(crate) fn start() -> Leaving {
        Leaving {
            since: Instant::now(),
            farewell: Farewell::default(),
            busy: (false, false),
            replies: Vec::new(),
        }
    }

    /// Tells `reply` when the node has left.
    pub(crate) fn tell(&mut self, reply: oneshot::Sender<Farewell>) {
        self.replies.push(reply);
    }

    /// Looks what is still waited for.
    pub(crate) fn note(&mut self, node: &Node) {
        let spent = self.since.elapsed();
        let farewell = &mut self.farewell;
        if self.busy.0 {
            farewell.locks = spent;
        }
        if self.busy.1 {
            farewell.leadership = spent;
        }
        let locks = node.mutex().stopped_by().is_some();
        self.busy = (locks, !node.election().is_released());
        farewell.members = spent - farewell.locks.max(farewell.leadership);
        (farewell.told, farewell.silent) = node.membership().goodbyes();
    }

    /// The node has left.
    pub(crate) fn end(self) {
        for reply in self.replies {
            // Nobody may wait any longer.
            let _ = reply.send(self.farewell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farewell_names_what_took_time() {
        let quick = Farewell::default();
        assert_eq!(quick.to_string(), "after 0.0 s");
        let slow = Farewell {
            locks: Duration::from_millis(2900),
            leadership: Duration::from_millis(400),
            members: Duration::from_millis(600),
            told: 4,
            silent: 1,
        };
        assert_eq!(
            slow.to_string(),
            "after 3.5 s: 2.9 s for work under its locks to stop, 0.4 s for work as a leader to stop, \
             0.6 s for members, 1 of 4 told did not confirm"
        );
    }
}
