//! What a node waits for when it leaves.

use consort_proto::Node;
use core::fmt;
use core::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The result of leaving a group: what the node waited for, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Farewell {
    /// The time until work under its locks had stopped. It is at most the lease that their holders had been promised.
    pub locks: Duration,
    /// The time until work as a leader had stopped. It is at most the rest of the leader's lease, and runs in parallel
    /// with the wait for locks.
    pub leadership: Duration,
    /// The time after both until members confirmed the goodbye, which takes a few periods.
    pub members: Duration,
    /// The number of members that were told; they pass the goodbye on to the others.
    pub told: usize,
    /// The number of those that did not confirm it. They may see a failure until others tell them.
    pub silent: usize,
}

impl Farewell {
    /// The total time.
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

/// A node that is about to leave, and the callers that wait for it.
pub(crate) struct Leaving {
    since: Instant,
    farewell: Farewell,
    /// Whether work under locks, and as a leader, was running at the last check.
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

    /// Notifies `reply` when the node has left.
    pub(crate) fn tell(&mut self, reply: oneshot::Sender<Farewell>) {
        self.replies.push(reply);
    }

    /// Checks what the node is still waiting for.
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

    /// Notifies all callers that the node has left.
    pub(crate) fn end(self) {
        for reply in self.replies {
            // The caller may no longer wait.
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
