//! The running world: agents, clients, network, and scheduled actions.

use crate::agent::{Agent, State};
use crate::client::Supervised;
use crate::clock::{Delays, MS, Ns, SEC, now};
use crate::fault::Kind;
use crate::history::{Fault, Incident, Run, Use};
use crate::holder::Holder;
use crate::net::{AgentNo, Net};
use crate::process;
use crate::record::{Entry, Record, Verb, Writer, parse};
use crate::settings::{ELECTION, Settings};
use consort_proto::Rng;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use rustix::process::Signal;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

/// Interval between steps of the supervision.
const LOOK: Duration = Duration::from_millis(10);

/// How long an agent may take to leave: its commands have to stop, and the others have to be told.
const LEAVE_MAX: Ns = 15 * SEC;

/// A scheduled action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Start an agent.
    Start(AgentNo),
    /// Resume a frozen agent.
    Thaw(AgentNo),
    /// Resume a frozen client.
    ThawClient(usize),
    /// Remove a rule of the network.
    Heal(u32),
    /// Kill an agent that started alone, heal the network, and restart it.
    EndLone(AgentNo, u32),
    /// Make the leader resign.
    Resign,
}

/// Everything that runs. Dropping it ends every process of the run.
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(crate) dir: PathBuf,
    pub(crate) net: Net,
    pub(crate) agents: Vec<Agent>,
    pub(crate) clients: Vec<Supervised>,
    holders: Vec<Holder>,
    pub(crate) runs: Vec<Run>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) incidents: Vec<Incident>,
    pub(crate) records: Vec<Record>,
    /// Scheduled actions with their times, and the fault that ends with each.
    pub(crate) due: Vec<(Ns, Due, usize)>,
    /// After which time an agent that leaves is restarted.
    pub(crate) returns: Vec<Ns>,
    helpers: Vec<Child>,
    log: File,
    rest: String,
    rng: Rng,
    /// When clients were last looked at, and by how much that was late: killing a process that writes to a slow disk takes
    /// its time.
    looked: Ns,
    pub(crate) delays: Delays,
    pub(crate) start: Ns,
    over: Arc<AtomicBool>,
}

impl World {
    /// Creates the world; nothing runs yet.
    pub(crate) fn new(
        settings: Settings,
        dir: &Path,
        over: Arc<AtomicBool>,
    ) -> anyhow::Result<World> {
        std::fs::write(dir.join("config.toml"), settings.config(dir))?;
        if let Some(key) = settings.key_file(dir) {
            let mut keygen = Command::new(&settings.consort);
            let made = keygen.arg("keygen").arg(key).output()?;
            anyhow::ensure!(made.status.success(), "no key was made: {made:?}");
        }
        let path = dir.join("work.log");
        drop(Writer::open(&path)?);
        let clients = settings.clients().into_iter().enumerate();
        let supervised = clients
            .filter(|(_, c)| !c.http)
            .map(|(no, client)| Supervised::new(no, client));
        Ok(World {
            net: Net::open(settings.agents, settings.seed)?,
            agents: (0..settings.agents).map(|no| Agent::new(dir, no)).collect(),
            clients: supervised.collect(),
            holders: Vec::new(),
            runs: Vec::new(),
            faults: Vec::new(),
            incidents: Vec::new(),
            records: Vec::new(),
            due: Vec::new(),
            returns: vec![0; settings.agents],
            helpers: Vec::new(),
            log: File::open(path)?,
            rest: String::new(),
            rng: Rng::seed(settings.seed, 1),
            looked: now(),
            delays: Delays::default(),
            start: now(),
            dir: dir.to_owned(),
            settings,
            over,
        })
    }

    /// Starts all agents; clients start at the next step.
    pub(crate) fn start_agents(&mut self) -> anyhow::Result<()> {
        for agent in &mut self.agents {
            agent.start(&self.settings, &self.net)?;
        }
        Ok(())
    }

    /// Starts the threads that hold locks over HTTP.
    pub(crate) fn start_holders(&mut self) -> anyhow::Result<()> {
        let clients = self.settings.clients();
        for (no, client) in clients.iter().enumerate().filter(|(_, c)| c.http) {
            self.holders.push(Holder::start(
                no,
                &client.resource,
                self.settings.bound(),
                self.settings.ttl_ms,
                self.agents[client.agent].socket(),
                Writer::open(&self.dir.join("work.log"))?,
                Rng::seed(self.settings.seed, 200 + no as u64),
            ));
        }
        Ok(())
    }

    /// Whether the run was asked to end.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Performs scheduled actions until `until`.
    pub(crate) fn run_until(&mut self, until: Ns) -> anyhow::Result<()> {
        while now() < until && !self.is_over() {
            self.step(true)?;
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// One step of the supervision. Without `agents`, agents that end are not restarted.
    pub(crate) fn step(&mut self, agents: bool) -> anyhow::Result<()> {
        let at = now();
        let (ripe, later) = self.due.iter().partition(|(due, ..)| *due <= at);
        self.due = later;
        let ripe: Vec<(Ns, Due, usize)> = ripe;
        for (_, due, fault) in ripe {
            self.carry_out(due)?;
            if let Some(fault) = self.faults.get_mut(fault) {
                fault.until = fault.until.or(Some(now()));
            }
        }
        if agents {
            self.look_at_agents();
        }
        let looks = now();
        self.delays.push_gap(self.looked, looks, LOOK);
        self.looked = looks;
        for client in &mut self.clients {
            let ended = client.look(&self.settings, &self.dir, &mut self.rng, &mut self.runs)?;
            if let Some(run) = ended {
                let run = &self.runs[run];
                let secs = (now() - self.start) as f64 / 1e9;
                if self.settings.verbose {
                    println!("{secs:8.3}  {} ended: {:?}", run.id, run.code);
                }
                if run.code == Some(101) {
                    let text = format!("client {} panicked", run.id);
                    self.incidents.push(Incident { at, text });
                }
            }
        }
        self.helpers
            .retain_mut(|child| child.try_wait().is_ok_and(|ended| ended.is_none()));
        self.read_log()
    }

    fn carry_out(&mut self, due: Due) -> anyhow::Result<()> {
        match due {
            Due::Start(agent) if self.agents[agent].state == State::Down => {
                self.agents[agent].start(&self.settings, &self.net)?;
            }
            Due::Start(_) => {}
            Due::Thaw(agent) if self.agents[agent].state == State::Frozen => {
                self.agents[agent].signal(Signal::CONT, State::Up);
            }
            Due::Thaw(_) => {}
            Due::ThawClient(client) => self.clients[client].thaw(&mut self.runs),
            Due::Heal(rule) => self.net.remove(rule),
            Due::EndLone(agent, rule) => {
                self.agents[agent].kill();
                self.net.remove(rule);
                self.agents[agent].start(&self.settings, &self.net)?;
                self.due.push((now() + 4 * SEC, Due::Resign, usize::MAX));
            }
            Due::Resign => self.resign(),
        }
        Ok(())
    }

    fn look_at_agents(&mut self) {
        for (no, agent) in self.agents.iter_mut().enumerate() {
            let leaving = agent.state == State::Leaving;
            if leaving && agent.age() > LEAVE_MAX {
                let text = format!("agent {no} had not left after {} s", LEAVE_MAX / SEC);
                self.incidents.push(Incident { at: now(), text });
                agent.kill();
                self.due.push((now(), Due::Start(no), usize::MAX));
            }
            if let Some(status) = agent.ended() {
                if !leaving {
                    let words = agent.last_words();
                    let text = format!("agent {no} ended by itself ({status}): {words}");
                    self.incidents.push(Incident { at: now(), text });
                }
                let at = now() + self.returns[no];
                self.due.push((at, Due::Start(no), usize::MAX));
            }
        }
    }

    fn read_log(&mut self) -> anyhow::Result<()> {
        let mut more = Vec::new();
        self.log.read_to_end(&mut more)?;
        self.rest.push_str(&String::from_utf8_lossy(&more));
        while let Some(end) = self.rest.find('\n') {
            let line: String = self.rest.drain(..=end).collect();
            match parse(line.trim_end()) {
                Some(record) => self.records.push(record),
                None => anyhow::bail!("the work log has a line that nobody writes: {line:?}"),
            }
        }
        Ok(())
    }

    /// The last command of a lock or election: when it began, and what it logged.
    pub(crate) fn last_entry(&self, resource: &str) -> Option<(Ns, &Entry)> {
        self.records.iter().rev().find_map(|r| match &r.verb {
            Verb::Enter(entry) if entry.resource == resource => Some((r.at, entry)),
            _ => None,
        })
    }

    /// The client that leads or holds at the moment, according to the log, unless it uses HTTP.
    pub(crate) fn active(&self, resource: &str) -> Option<usize> {
        let (_, entry) = self.last_entry(resource)?;
        Some(entry.run.client).filter(|no| *no < self.clients.len())
    }

    /// Tells the leader to resign.
    pub(crate) fn resign(&mut self) {
        if let Some(no) = self.active(ELECTION) {
            let agent = self.clients[no].client().agent;
            self.note(Kind::Resign, format!("agent {agent}"), 0);
            self.help(agent, &["resign", ELECTION]);
        }
    }

    /// Records and prints a fault; returns its number.
    pub(crate) fn note(&mut self, kind: Kind, text: String, apart: u32) -> usize {
        let at = now();
        let secs = (at - self.start) as f64 / 1e9;
        println!("{secs:8.3}  {:<13} {text}", kind.name());
        self.faults.push(Fault {
            at,
            until: None,
            kind: kind.name(),
            text,
            apart,
        });
        self.faults.len() - 1
    }

    /// Runs a `consort` command next to the world.
    pub(crate) fn help(&mut self, agent: AgentNo, args: &[&str]) {
        let socket = self.agents[agent].socket();
        let child = Command::new(&self.settings.consort)
            .args(args)
            .args(["--http", &format!("unix:{}", socket.display())])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        self.helpers.extend(child);
    }

    /// Ends all clients and waits until their commands had time to stop. Returns those that did not.
    pub(crate) fn retire(&mut self) -> anyhow::Result<Vec<u32>> {
        self.holders.clear();
        for client in &mut self.clients {
            client.retire(&mut self.runs);
        }
        // A lease, plus the default grace of `consort lock`.
        let until = now() + self.settings.ttl() + 7 * SEC;
        loop {
            self.step(true)?;
            let left = process::of_run(&self.dir);
            let works = left.iter().filter(|p| p.is_command()).map(|p| p.pid);
            let works: Vec<u32> = works.collect();
            let clients = self.clients.iter().any(|c| c.pid().is_some());
            if self.is_over() {
                return Ok(Vec::new());
            }
            if now() > until || works.is_empty() && !clients {
                return Ok(works);
            }
            std::thread::sleep(20 * LOOK / 10);
        }
    }

    /// Ends all faults at once.
    pub(crate) fn calm_down(&mut self) -> anyhow::Result<()> {
        self.net.heal();
        for (_, due, fault) in core::mem::take(&mut self.due) {
            self.carry_out(due)?;
            if let Some(fault) = self.faults.get_mut(fault) {
                fault.until = fault.until.or(Some(now()));
            }
        }
        // Actions that follow would be faults in the calm phase.
        self.due.clear();
        Ok(())
    }

    /// The agent that a client talks to.
    pub(crate) fn agent_of(&self, client: usize) -> AgentNo {
        self.settings.clients()[client].agent
    }

    /// Whether a client waits for an exclusive lock or leads, by its number.
    pub(crate) fn usage(&self, client: usize) -> Use {
        self.clients[client].client().usage
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.holders.clear();
        self.clients.clear();
        self.agents.clear();
        for helper in &mut self.helpers {
            let _ = helper.kill();
            let _ = helper.wait();
        }
        process::kill_run(&self.dir);
    }
}

/// Formats milliseconds as seconds.
pub(crate) fn secs(ms: u64) -> String {
    format!("{:.1} s", (ms * MS) as f64 / 1e9)
}
