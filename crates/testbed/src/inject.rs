//! Injects a fault: chooses its target, carries it out, and schedules its end.

use crate::agent::{Agent, State};
use crate::clock::{MS, Ns, SEC, now};
use crate::fault::Kind;
use crate::history::{Killed, Use};
use crate::net::{AgentNo, Rule};
use crate::process::{self, guards_of};
use crate::settings::{ELECTION, LOCK};
use crate::variant::Variant;
use crate::world::{Due, World, secs};
use consort_proto::Rng;
use rustix::process::Signal;

/// Least time between two agents that lose their state, in a strict election: the leader replaces the first as a watcher
/// before the second, so that a majority of the watchers keeps its memory.
const WIPE_GAP: Ns = 15 * SEC;

/// Most agents that may be down, frozen, cut off or too young to be a witness at a time; the others are a majority.
fn away_max(agents: usize) -> usize {
    (agents - 1) / 2
}

impl World {
    /// Number of agents that do not count at the moment.
    fn away(&self) -> usize {
        // Twice the lease, plus a margin for drift.
        let youth = self.settings.ttl() * 2 + SEC / 2;
        let cut_off = self.cut_off();
        // In its first life it counts from its start.
        let young = |agent: &Agent| agent.lives() > 1 && agent.uptime() < youth;
        let is_away = |(no, agent): &(usize, &Agent)| {
            agent.state != State::Up || young(agent) || cut_off >> no & 1 == 1
        };
        self.agents.iter().enumerate().filter(is_away).count()
    }

    /// Agents that current faults separate from others, one bit each.
    fn cut_off(&self) -> u32 {
        let lasting = self.faults.iter().filter(|f| f.until.is_none());
        lasting.map(|f| f.apart).fold(0, |all, apart| all | apart)
    }

    /// Whether a fault of that kind can be injected now.
    pub(crate) fn fits(&self, kind: Kind) -> bool {
        let cutting = |due: &Due| matches!(due, Due::Heal(_) | Due::EndLone(..));
        let cut = self.due.iter().any(|(_, due, fault)| {
            cutting(due) && Kind::parse(self.faults[*fault].kind).is_ok_and(Kind::cuts)
        });
        let taken = match kind {
            Kind::Partition => away_max(self.settings.agents),
            _ => 1,
        };
        !(kind.cuts() && cut)
            && self.may_forget(kind)
            && (!kind.takes_agent() || self.away() + taken <= away_max(self.settings.agents))
    }

    /// Whether agents may lose their state in that way. Without a floor each lost state is one more member that counts as
    /// failed, until no majority is left; an agent that starts alone cannot lead a strict election.
    fn may_forget(&self, kind: Kind) -> bool {
        let Variant { floor, strict, .. } = self.settings.variant;
        let forgets = |name: &str| name == Kind::KillWipe.name() || name == Kind::Lone.name();
        let last = self.faults.iter().rfind(|f| forgets(f.kind));
        match kind {
            Kind::KillWipe => floor && (!strict || last.is_none_or(|f| f.at + WIPE_GAP < now())),
            Kind::Lone => floor && !strict,
            _ => true,
        }
    }

    /// An agent that is up, usually that of the leader or of the lock holder.
    fn some_agent(&self, rng: &mut Rng) -> Option<AgentNo> {
        // An agent that started alone is not disturbed until it joins.
        let lone = |no: AgentNo| {
            let ends = |(_, due, _): &_| matches!(due, Due::EndLone(of, _) if *of == no);
            self.due.iter().any(ends)
        };
        let up: Vec<AgentNo> = (0..self.agents.len())
            .filter(|no| self.agents[*no].state == State::Up && !lone(*no))
            .collect();
        let random = rng.choose(&up).copied();
        let preferred = match rng.below(10) {
            0..=4 => self.last_entry(ELECTION),
            5..=7 => self.last_entry(LOCK),
            _ => None,
        };
        let clients = self.settings.clients();
        let agent = preferred.map(|(_, entry)| clients[entry.run.client].agent);
        agent.filter(|no| up.contains(no)).or(random)
    }

    /// A client whose process is running, usually the leader's or the holder's.
    fn some_client(&self, rng: &mut Rng) -> Option<usize> {
        let running: Vec<usize> = (0..self.clients.len())
            .filter(|no| self.clients[*no].pid().is_some() && !self.clients[*no].is_frozen())
            .collect();
        let random = rng.choose(&running).copied();
        let preferred = match rng.below(10) {
            0..=4 => self.active(ELECTION),
            5..=7 => self.active(LOCK),
            _ => None,
        };
        preferred.filter(|no| running.contains(no)).or(random)
    }

    /// Injects a fault of that kind.
    pub(crate) fn inject(&mut self, kind: Kind, rng: &mut Rng) -> anyhow::Result<()> {
        match kind {
            Kind::KillAtOnce | Kind::KillLater | Kind::KillWipe => self.kill_agent(kind, rng)?,
            Kind::FreezeAgent => {
                let Some(no) = self.some_agent(rng) else {
                    return Ok(());
                };
                let ms = 300 + rng.below64(6000);
                let fault = self.note(kind, format!("agent {no} for {}", secs(ms)), 0);
                self.agents[no].signal(Signal::STOP, State::Frozen);
                self.plan(ms, Due::Thaw(no), fault);
            }
            Kind::TermAgent | Kind::LeaveAgent => {
                let Some(no) = self.some_agent(rng) else {
                    return Ok(());
                };
                let ms = if rng.chance(0.5) {
                    0
                } else {
                    rng.below64(3000)
                };
                self.returns[no] = ms * MS;
                let text = format!("agent {no}, back {} after its end", secs(ms));
                self.note(kind, text, 0);
                if kind == Kind::TermAgent {
                    self.agents[no].signal(Signal::TERM, State::Leaving);
                } else {
                    self.help(no, &["leave"]);
                    self.agents[no].leaves();
                }
            }
            Kind::Lone => self.lone(rng)?,
            Kind::KillClient | Kind::KillTree | Kind::FreezeClient | Kind::TermClient => {
                self.strike_client(kind, rng);
            }
            Kind::StandAgain => {
                if let Some(no) = self.active(ELECTION) {
                    let text = format!("client {no} ends and stands again, 15 % loss for 8.0 s");
                    let fault = self.note(kind, text, 0);
                    let rule = self.net.add(Rule::Loss(15));
                    self.plan(8000, Due::Heal(rule), fault);
                    self.clients[no].term(&mut self.runs);
                }
            }
            Kind::Resign => self.resign(),
            Kind::Isolate
            | Kind::Mute
            | Kind::Deaf
            | Kind::OneWay
            | Kind::Loss
            | Kind::Delay
            | Kind::Partition => self.disturb(kind, rng),
        }
        Ok(())
    }

    fn plan(&mut self, ms: u64, due: Due, fault: usize) {
        self.due.push((now() + ms * MS, due, fault));
    }

    fn kill_agent(&mut self, kind: Kind, rng: &mut Rng) -> anyhow::Result<()> {
        let Some(no) = self.some_agent(rng) else {
            return Ok(());
        };
        let ms = match kind {
            Kind::KillAtOnce => 0,
            _ => 500 + rng.below64(4000),
        };
        let fault = self.note(kind, format!("agent {no}, back after {}", secs(ms)), 0);
        self.agents[no].kill();
        if kind == Kind::KillWipe {
            self.agents[no].wipe();
        }
        match ms {
            0 => {
                self.agents[no].start(&self.settings, &self.net)?;
                self.faults[fault].until = Some(now());
            }
            _ => self.plan(ms, Due::Start(no), fault),
        }
        Ok(())
    }

    fn lone(&mut self, rng: &mut Rng) -> anyhow::Result<()> {
        let Some(no) = self.some_agent(rng) else {
            return Ok(());
        };
        let ms = 6000 + rng.below64(3000);
        let text = format!(
            "agent {no} starts alone without its state, joins after {}",
            secs(ms)
        );
        let fault = self.note(Kind::Lone, text, 1 << no);
        self.agents[no].kill();
        self.agents[no].wipe();
        let rule = self.net.add(Rule::Isolate(no));
        self.agents[no].start(&self.settings, &self.net)?;
        self.plan(ms, Due::EndLone(no, rule), fault);
        Ok(())
    }

    fn strike_client(&mut self, kind: Kind, rng: &mut Rng) {
        let Some(no) = self.some_client(rng) else {
            return;
        };
        let Some(pid) = self.clients[no].pid() else {
            return;
        };
        let what = match self.usage(no) {
            Use::Lead => "elect",
            _ => "lock",
        };
        let agent = self.clients[no].client().agent;
        let text = format!("client {no} ({what} at agent {agent})");
        let run = self.clients[no].run();
        match kind {
            Kind::KillClient => {
                self.note(kind, text, 0);
                let (at, with_guards) = (now(), false);
                self.runs[run].killed = Some(Killed { at, with_guards });
                process::signal(pid, Signal::KILL);
            }
            Kind::KillTree => {
                let guards = guards_of(&process::of_run(&self.dir), pid);
                let text = format!("{text}, {} processes", guards.len());
                self.note(kind, text, 0);
                let (at, with_guards) = (now(), true);
                self.runs[run].killed = Some(Killed { at, with_guards });
                // The guards first, so that none of them sees the end of the client.
                for guard in guards.iter().rev() {
                    process::signal(*guard, Signal::KILL);
                }
            }
            Kind::FreezeClient => {
                let ms = 300 + rng.below64(6000);
                let fault = self.note(kind, format!("{text} for {}", secs(ms)), 0);
                self.clients[no].freeze();
                self.plan(ms, Due::ThawClient(no), fault);
            }
            _ => {
                self.note(kind, text, 0);
                self.clients[no].term(&mut self.runs);
            }
        }
    }

    fn disturb(&mut self, kind: Kind, rng: &mut Rng) {
        let (Some(a), agents) = (self.some_agent(rng), self.agents.len()) else {
            return;
        };
        let b = (a + 1 + rng.below(agents as u32 - 1) as usize) % agents;
        let ms = 1500 + rng.below64(6000);
        let span = secs(ms);
        let (rule, text, apart) = match kind {
            Kind::Isolate => (Rule::Isolate(a), format!("agent {a} for {span}"), 1 << a),
            Kind::Mute => (Rule::Mute(a), format!("agent {a} for {span}"), 0),
            Kind::Deaf => (Rule::Deaf(a), format!("agent {a} for {span}"), 0),
            Kind::OneWay => {
                let text = format!("agent {b} does not hear agent {a} for {span}");
                (Rule::OneWay(a, b), text, 0)
            }
            Kind::Delay => (Rule::Delay(150), format!("up to 150 ms for {span}"), 0),
            Kind::Partition => {
                let mut side = 1_u32 << a;
                let size = 2 + rng.below(away_max(agents) as u32 - 1);
                while side.count_ones() < size {
                    side |= 1 << rng.below(agents as u32);
                }
                let here = (0..agents).filter(|n| side >> n & 1 == 1);
                let here: Vec<String> = here.map(|n| n.to_string()).collect();
                let text = format!("agents {} and the others for {span}", here.join(", "));
                (Rule::Partition(side), text, side)
            }
            _ => {
                let percent = 5 + rng.below(26) as u8;
                (Rule::Loss(percent), format!("{percent} % for {span}"), 0)
            }
        };
        let fault = self.note(kind, text, apart);
        let rule = self.net.add(rule);
        self.plan(ms, Due::Heal(rule), fault);
    }
}
