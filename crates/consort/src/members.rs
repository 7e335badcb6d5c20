//! Following the member list as a whole.

use crate::error::Stopped;
use crate::event::{EventError, Events};
use crate::handle::Node;
use crate::member::Member;
use futures_util::stream::{Stream, unfold};

/// Follows the member list; see [`Node::observe_members`]. A slow caller sees the latest list and misses intermediate
/// ones.
#[derive(Debug)]
pub struct Members {
    node: Node,
    events: Events,
    /// Whether the list changed since it was returned last.
    changed: bool,
}

impl Members {
    pub(crate) fn new(node: Node) -> Members {
        let events = node.subscribe();
        Members {
            node,
            events,
            changed: true,
        }
    }

    /// Waits for the next change, and returns the whole list as [`Node::members`] does; the first call returns at once.
    /// This is cancel safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Member>, Stopped> {
        while !self.changed {
            match self.events.next().await {
                Ok(event) => self.changed = event.is_about_members(),
                Err(EventError::Lagged { .. }) => self.changed = true,
                Err(EventError::Stopped) => return Err(Stopped),
            }
        }
        // The list that is asked for now has what these events say.
        self.events.skip_waiting();
        let members = self.node.members().await?;
        self.changed = false;
        Ok(members)
    }

    /// The lists as a stream, which ends when the node stops.
    pub fn into_stream(self) -> impl Stream<Item = Vec<Member>> + Send + Unpin {
        Box::pin(unfold(self, async |mut members| {
            let list = members.next().await.ok()?;
            Some((list, members))
        }))
    }
}
