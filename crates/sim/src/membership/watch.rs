//! Records verdicts, right and wrong.

use crate::fault::Fault;
use crate::oracle::{Oracle, Verdict};
use crate::recording::Recorder;
use crate::world::{HostState, World};
use alloc::collections::BTreeSet;
use consort_proto::membership::{self, Departure, Precedence};
use consort_proto::wire::Datagram;
use consort_proto::{Event, Instant, NodeId};
use core::time::Duration;

/// Records which node declared which other down, and when.
#[derive(Debug)]
pub(super) struct Watch {
    /// By host: its number among the crashed ones.
    pub(super) crashed: Vec<Option<usize>>,
    /// By crashed host and observer: when the verdict was made.
    pub(super) verdicts: Vec<Vec<Option<Instant>>>,
    pub(super) false_positives: u64,
    /// By host: whether it is neither deaf, mute nor lossy.
    pub(super) healthy: Vec<bool>,
    /// Verdicts about running healthy hosts, by healthy hosts.
    pub(super) flaps: u64,
    /// Suspicions of running healthy hosts, by healthy hosts.
    pub(super) doubts: u64,
    /// Claims of running hosts that some node has declared down.
    condemned: BTreeSet<(NodeId, Precedence)>,
    /// The number of these whose first verdict came from a node that had accused the host itself, or that had only
    /// heard of the accusation.
    pub(super) begun: [u64; 2],
    /// Pairs of an observer and a running host that it considers down.
    wronged: BTreeSet<(usize, usize)>,
    wronged_since: Instant,
    wronged_for: Duration,
    /// Where the run is recorded.
    pub(super) recorder: Option<Recorder>,
}

impl Watch {
    pub(super) fn new(nodes: usize, crashed: &[usize]) -> Watch {
        let mut numbers = vec![None; nodes];
        for (n, &host) in crashed.iter().enumerate() {
            numbers[host] = Some(n);
        }
        Watch {
            crashed: numbers,
            verdicts: vec![vec![None; nodes]; crashed.len()],
            false_positives: 0,
            healthy: vec![true; nodes],
            flaps: 0,
            doubts: 0,
            condemned: BTreeSet::new(),
            begun: [0; 2],
            wronged: BTreeSet::new(),
            wronged_since: Instant::ZERO,
            wronged_for: Duration::ZERO,
            recorder: None,
        }
    }

    /// For how long some running node was considered down by another.
    pub(super) fn wronged_for(&self, now: Instant) -> Duration {
        match self.wronged.is_empty() {
            true => self.wronged_for,
            false => self.wronged_for + now.since(self.wronged_since),
        }
    }

    /// Whether `id` runs, and both it and `host` are healthy.
    fn is_among_healthy(&self, world: &World, host: usize, id: NodeId) -> bool {
        let runs = |&i: &usize| world.host(i).state() != HostState::Crashed;
        let subject = world.index_of(id).filter(runs);
        self.healthy[host] && subject.is_some_and(|i| self.healthy[i])
    }

    fn change(&mut self, now: Instant, change: impl FnOnce(&mut BTreeSet<(usize, usize)>)) {
        let before = !self.wronged.is_empty();
        change(&mut self.wronged);
        match (before, !self.wronged.is_empty()) {
            (false, true) => self.wronged_since = now,
            (true, false) => self.wronged_for += now.since(self.wronged_since),
            _ => {}
        }
    }
}

impl Oracle for Watch {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        if let Some(recorder) = &mut self.recorder {
            recorder.on_event(world, host, event)?;
        }
        let Event::Membership(event) = event else {
            return Ok(());
        };
        if let membership::Event::Suspected { id, .. } = event {
            self.doubts += u64::from(self.is_among_healthy(world, host, *id));
        }
        let (id, down) = match event {
            membership::Event::Down {
                id,
                why: Departure::Failed,
                by,
                ..
            } => (*id, Some(*by)),
            membership::Event::Up { id, .. } => (*id, None),
            _ => return Ok(()),
        };
        let Some(subject) = world.index_of(id) else {
            return Ok(());
        };
        let gone = world.host(subject).state() == HostState::Crashed;
        match (down.is_some(), gone, self.crashed[subject]) {
            (true, true, Some(n)) => {
                self.verdicts[n][host].get_or_insert(world.now());
            }
            (true, false, _) => {
                self.false_positives += 1;
                self.flaps += u64::from(self.is_among_healthy(world, host, id));
                let node = world.host(host).node();
                if let Some(member) = node.membership().table().get(id)
                    && self.condemned.insert((id, member.precedence))
                {
                    self.begun[usize::from(down != Some(node.id()))] += 1;
                }
                self.change(world.now(), |w| {
                    w.insert((host, subject));
                });
            }
            (false, ..) => self.change(world.now(), |w| {
                w.remove(&(host, subject));
            }),
            _ => {}
        }
        Ok(())
    }

    fn on_dispatch(
        &mut self,
        world: &World,
        from: usize,
        to: usize,
        datagram: &Datagram,
        delay_us: Option<u64>,
    ) {
        if let Some(recorder) = &mut self.recorder {
            recorder.on_dispatch(world, from, to, datagram, delay_us);
        }
    }

    fn on_fault(&mut self, world: &World, fault: &Fault) -> Verdict {
        if let Some(recorder) = &mut self.recorder {
            recorder.on_fault(world, fault)?;
        }
        if let Fault::Crash(host) = *fault {
            self.change(world.now(), |w| w.retain(|&(o, s)| o != host && s != host));
        }
        Ok(())
    }
}
