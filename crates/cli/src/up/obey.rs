//! Carries out orders from a key, a line or the dashboard.

use super::Live;
use super::group::ELECTION;
use super::order::{self, Order};
use crate::output;
use consort_agent::api::MemberView;
use consort_agent::member_view;
use std::time::Instant;

/// What was done and, where orders are typed, how to undo it.
pub(super) struct Said {
    pub(super) text: String,
    pub(super) hint: String,
}

impl Said {
    /// Both as one text.
    pub(super) fn plain(&self) -> String {
        format!("{}{}", self.text, self.hint)
    }
}

impl Live {
    pub(super) async fn carry_out(&mut self, order: Order) -> anyhow::Result<Option<Said>> {
        let now = Instant::now();
        let deed = !matches!(order, Order::Members | Order::Help | Order::Nothing);
        let mut hint = String::new();
        let text = match order {
            Order::Kill { node } => {
                self.group.remark("kill", Some(node));
                let (id, name) = self.group.kill(node).await?;
                self.watch.cause(id, &name, "kill", now);
                hint = format!(" (r {node} revives it)");
                format!("killed {name}; now the others have to find out")
            }
            Order::Pause { node } => {
                let (id, name) = self.group.pause(node)?;
                self.group.remark("pause", Some(node));
                self.watch.cause(id, &name, "pause", now);
                hint = format!(" (r {node} resumes it)");
                format!("paused {name}: it hears and says nothing")
            }
            Order::Revive { node } => {
                // A resumed node continues where it was; a revived one starts with an empty list.
                if !self.group.is_paused(node) {
                    self.watch.restarted(node);
                }
                let (id, name, what) = self.group.revive(node).await?;
                self.group.remark(what, Some(node));
                self.watch.cause(id, &name, what, now);
                format!("{what}d {name}")
            }
            Order::Leave { node } => {
                self.group.remark("goodbye", Some(node));
                let (id, name) = self.group.leave(node).await?;
                self.watch.cause(id, &name, "goodbye", now);
                format!("{name} has said goodbye")
            }
            Order::Isolate { node } => {
                let (id, name) = self.group.isolate(node)?;
                self.group.remark("isolate", Some(node));
                self.watch.cause(id, &name, "isolation", now);
                hint = " (heal ends it)".to_owned();
                format!("isolated {name}: it hears nobody and nobody hears it")
            }
            Order::Partition { nodes } => {
                let [near, far] = self.group.partition(&nodes)?;
                let (near, far) = (near.join(" "), far.join(" "));
                self.group.remark(&format!("partition {far}"), None);
                hint = " (heal ends it)".to_owned();
                format!("partition: {near} on one side, {far} on the other")
            }
            Order::Heal {} => {
                self.group.heal();
                self.group.remark("heal", None);
                "healed: no partition, isolation, loss or delay is left".to_owned()
            }
            Order::Lose { node, percent } => {
                let (_, name) = self.group.lose(node, percent)?;
                self.group.remark(&format!("lose {percent} %"), Some(node));
                format!("{name} loses {percent} % of its datagrams, both ways")
            }
            Order::Slow { node, ms } => {
                let (_, name) = self.group.slow(node, ms)?;
                self.group.remark(&format!("slow {ms} ms"), Some(node));
                format!("datagrams of {name} are {ms} ms late")
            }
            Order::Add {} => {
                let number = self.group.add().await?;
                self.group.remark("add", Some(number));
                let [name, addr, http] = &self.group.addresses()[number - 1];
                format!("added {name} at {addr}, HTTP at {http}")
            }
            Order::Lock { node, name: lock } => {
                self.group.remark(&format!("lock {lock}"), Some(node));
                let (_, name) = self.group.take_lock(node, &lock)?;
                hint = format!(" (g {node} {lock} gives it back)");
                format!("{name} asks for lock {lock}, to hold it")
            }
            Order::Unlock { node, name: lock } => {
                self.group.remark(&format!("unlock {lock}"), Some(node));
                let (_, name) = self.group.give_lock(node, &lock)?;
                format!("{name} gives lock {lock} back")
            }
            Order::Campaign { node } => {
                let (_, name) = self.group.stand(node, true).await?;
                self.group.remark("campaign", Some(node));
                format!("{name} stands in election {ELECTION}")
            }
            Order::Withdraw { node } => {
                self.group.remark("withdraw", Some(node));
                let (_, name) = self.group.stand(node, false).await?;
                format!("{name} no longer stands in election {ELECTION}")
            }
            Order::Resign { node } => {
                self.group.remark("resign", Some(node));
                let (_, name) = self.group.resign(node).await?;
                format!("{name} stops leading")
            }
            Order::Members => {
                let handles = self.group.handles();
                let Some((name, node)) = handles.first() else {
                    anyhow::bail!("no node is running; r 1 revives one");
                };
                let members = node.members().await?;
                let views: Vec<MemberView> = members.iter().map(member_view).collect();
                let table = output::members_table(&views);
                format!("as {name} sees them:\n{table}")
            }
            Order::Help => format!("what can be typed:\n{}", order::HELP),
            Order::Quit | Order::Nothing => return Ok(None),
        };
        self.deeds += usize::from(deed);
        Ok(Some(Said { text, hint }))
    }
}
