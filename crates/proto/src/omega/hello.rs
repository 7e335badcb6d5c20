//! Sending and receiving hellos, detecting silence, and reporting links to the application.

use super::links::LinkState;
use super::{Event, Hello, Msg, Omega, OmegaCx, Timer, Version};
use crate::id::NodeId;
use crate::protocol::{Sender, To};
use crate::time::micros;
use alloc::vec::Vec;
use core::time::Duration;

/// The time without changes after which hellos may be sent half as often, and so on for each further such time.
const STABLE: Duration = Duration::from_secs(30);

/// The greatest number of neighbours named in a hello.
const HEARD_MAX: usize = 100;

impl Omega {
    pub(super) fn on_hello_due(&mut self, cx: &mut OmegaCx<'_>) {
        self.store.forget(cx.now, self.config.forget_after);
        let quiet = cx.now.since(self.changed_at).as_secs() / STABLE.as_secs();
        let stretch = 1_u32.checked_shl(quiet.min(16) as u32).unwrap_or(1);
        let period = self.config.hello_period * stretch.min(self.config.hello_stretch.max(1));
        let (range, heard) = self.heard_page();
        let version = Version {
            life: self.life,
            seq: self.seq,
        };
        self.beat = self.beat.wrapping_add(1);
        self.stats.hellos += 1;
        cx.send(
            To::Neighbors,
            Msg::Hello(Hello {
                beat: self.beat,
                period_ms: period.as_millis() as u32,
                version,
                digest: self.store.digest(),
                range,
                heard,
            }),
        );
        let jitter = Duration::from_micros(cx.rng.below64(micros(period) / 4 + 1));
        cx.set_timer(Timer::Hello, cx.now + period - jitter);
    }

    pub(super) fn on_hello(&mut self, cx: &mut OmegaCx<'_>, from: Sender, hello: &Hello) {
        let was_up = self.links.is_two_way(from.id);
        if !self
            .links
            .on_hello(&self.config, cx.now, cx.me, &from, hello)
        {
            self.stats.hellos_dropped += 1;
            return;
        }
        let apart = !self.store.is_member(from.id);
        let period = self.config.hello_period;
        let Some(link) = self.links.get_mut(from.id) else {
            return;
        };
        if link.state == LinkState::TwoWay && !was_up {
            link.fresh = apart;
            self.stats.links_false_down += u64::from(link.was_down_for(cx.now) < period * 2);
        }
        self.refresh(cx);
        self.compare(cx, from, hello);
    }

    /// A page of the neighbours that this node hears, and the range of ids for which the page is complete. `None` means
    /// that the page is complete for all ids.
    fn heard_page(&mut self) -> (Option<(NodeId, NodeId)>, Vec<NodeId>) {
        let fit = (self.frames_max.saturating_sub(64) / 8).clamp(1, HEARD_MAX);
        if self.links.heard().count() <= fit {
            return (None, self.links.heard().collect());
        }
        let first = self.page;
        let mut rest = self.links.heard().filter(|&id| id >= first);
        let heard: Vec<NodeId> = rest.by_ref().take(fit).collect();
        let last = rest.next().map(|next| NodeId(next.0 - 1));
        self.page = last.map_or(NodeId(0), |last| NodeId(last.0 + 1));
        (Some((first, last.unwrap_or(NodeId(u64::MAX)))), heard)
    }

    pub(super) fn on_silence(&mut self, cx: &mut OmegaCx<'_>) {
        self.links_at = None;
        let silent = self.links.on_silence(&self.config, cx.now);
        for (id, addr) in silent.ask {
            cx.send(To::At(id, addr), Msg::Ping);
        }
    }

    /// Reports links that came up or went down.
    pub(super) fn tell_links(&mut self, cx: &mut OmegaCx<'_>) {
        if self.links.two_way().eq(self.told.iter().copied()) {
            return;
        }
        let up: Vec<NodeId> = self.links.two_way().collect();
        for &id in self.told.iter().filter(|id| up.binary_search(id).is_err()) {
            self.stats.links_down += 1;
            cx.emit(Event::LinkDown(id));
        }
        for &id in up.iter().filter(|id| self.told.binary_search(id).is_err()) {
            self.stats.links_up += 1;
            cx.emit(Event::LinkUp(id));
        }
        self.told = up;
    }
}
