//! `consort elect`: campaign in an election through an agent, and run a command only while leading.
//!
//! The agent is polled; each answer says how long the node may act as the leader, counted from before the request. So
//! the command is stopped in time by this program's own clock, even if the agent is frozen or gone.

use crate::Answer;
use crate::client::{self, AgentAddr, ClientError, block_on, election_path};
use crate::guarded::{Ended, Guarded, Signals};
use crate::leader;
use crate::output::{self, Format, safe};
use anyhow::Context;
use consort_agent::api::{
    AttendRequest, CampaignRequest, Done, ElectionView, EndedRequest, WithdrawRequest, Words,
};
use core::hash::{BuildHasher, Hasher};
use core::pin::Pin;
use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::io::{self, Write};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// How long to wait for an answer of the agent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The least time for which a candidacy outlives this program if it is killed.
const LEASE_MIN: Duration = Duration::from_secs(2);

/// Campaign in an election, and run a command only while leading
///
/// Without a command, prints the leader whenever it changes; with --listen, does so without campaigning. With a
/// command, starts it when this node holds the leader's lease, and stops it before any other node may act: when the
/// node steps down, when its lease is not renewed, or when the agent does not answer (all by this program's own clock).
///
/// To stop the command, SIGTERM is sent to it and to all processes it started, and SIGKILL after the grace period. The
/// command has CONSORT_ELECTION, CONSORT_TOKEN, CONSORT_TERM, CONSORT_NODE (an id) and CONSORT_NAME in its environment,
/// and its standard input is empty. When leadership comes back, the command is started again with the new token. When
/// it ends by itself, this node withdraws and the exit code is passed on (128 plus the signal's number if it was
/// killed). Ctrl-C stops the command first and then withdraws.
///
/// Two leaders at the same time are ruled out only while clocks run at the same rate and the group is not partitioned:
/// a resource that must not be used twice has to check CONSORT_TOKEN, which grows with every leader. Run one elect per
/// agent and election: a second one takes the place of the first, which stops its command and ends with an error. If
/// this program itself is killed, a watchdog stops the command, and the agent withdraws at once (when it is frozen,
/// after two seconds or more); another elect on the same agent leads with another token once the command of the former
/// one is over.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the election
    #[arg(value_name = "NAME", value_parser = client::name)]
    election: String,
    /// Only follow the election, do not campaign
    #[arg(long, conflicts_with_all = ["class", "attribute", "attribute_tag", "health", "stream", "mode", "score", "command"])]
    listen: bool,
    /// Class, the preference of operators: the smallest leads, 255 never leads
    #[arg(long, value_name = "N", default_value_t = 0)]
    class: u8,
    /// Attribute, which decides within a class: the smallest leads
    #[arg(long, value_name = "N", default_value_t = 0)]
    attribute: u32,
    /// Take the attribute from a numeric tag of the agent and follow its changes: the highest leads
    #[arg(long, value_name = "TAG", conflicts_with = "attribute")]
    attribute_tag: Option<String>,
    /// Avoid candidates that members recently found unhealthy
    #[arg(long)]
    health: bool,
    /// Notify the best candidate so far at once, correct it later
    #[arg(long)]
    stream: bool,
    /// Scope of the election: group has one leader; component has one leader at the centre of every connected
    /// component, so several may lead at a time, and tokens order only the leaders of one component. Needs an agent
    /// with --topology or --peer
    #[arg(long, value_parser = ["group", "component"], default_value = "group")]
    mode: String,
    /// What decides within a class: the attribute, the agent's centrality in its component, or how rarely it fails, as
    /// other members observe it. Several are separated by commas, most important first
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = ["attribute", "centrality", "reliability"],
        default_value = "attribute"
    )]
    score: Vec<String>,
    /// How long the command may take to stop. The leader's lease lasts at least four times as long, and the replacement
    /// of a dead leader takes accordingly longer [default: a quarter of the lease: 0.2s on a wired network]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, requires = "command")]
    grace: Option<Duration>,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print without a command: lines of text, or one JSON object per line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Command to run while leading
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  consort elect gateway --listen
  consort elect gateway
  consort elect hub --mode component
  consort elect gateway --class 1 -- ./serve --fence-with-env
  consort elect cron -- sh -c 'while sleep 60; do ./job --token $CONSORT_TOKEN; done'";

pub(crate) fn run(args: Args) -> anyhow::Result<Answer> {
    block_on(async {
        let mut signals = Signals::listen()?;
        let mut elect = Elect {
            lease: LEASE_MIN,
            interval: Duration::ZERO,
            grace: args.grace.unwrap_or_default(),
            client: format!("{:016x}", RandomState::new().build_hasher().finish()),
            shown: None,
            silent: false,
            running: None,
            attendance: None,
            args,
        };
        let ended = elect.watch(&mut signals).await;
        // Even after an error nothing is left running, and the candidacy ends. The agent keeps the lease until it hears
        // that the command has stopped.
        let (withdrawn, token) = tokio::join!(elect.withdrawal(), elect.halt(Instant::now()));
        elect.say_withdrawn(withdrawn);
        if let Some(attendance) = elect.attendance.take() {
            attendance.abort();
        }
        if let Some(token) = token {
            elect.tell_ended(token).await;
        }
        ended
    })
}

/// A running command, and the leadership that permits it.
struct Running {
    guarded: Guarded,
    /// The token by which the node led when it was started.
    token: String,
    /// The time until which the node certainly leads.
    until: Instant,
}

/// A pending request: the time at which it was sent, and its answer.
type Poll = Pin<Box<dyn Future<Output = (Instant, Result<ElectionView, ClientError>)>>>;

/// The token and stage of the leader, and the token by which this node may act.
type Shown = (Option<(String, String)>, Option<String>);

struct Elect {
    args: Args,
    /// How long the agent keeps the candidacy without a further request.
    lease: Duration,
    /// How often the agent is polled.
    interval: Duration,
    grace: Duration,
    /// Distinguishes this program from others that campaign through the same agent.
    client: String,
    /// What was printed last.
    shown: Option<Shown>,
    /// Whether it was printed that the agent does not answer.
    silent: bool,
    running: Option<Running>,
    /// Tells the agent that this program lives.
    attendance: Option<JoinHandle<()>>,
}

impl Elect {
    async fn watch(&mut self, signals: &mut Signals) -> anyhow::Result<Answer> {
        let (asked, first) = self.poll().await;
        self.take(asked, first?).await?;
        if !self.args.listen {
            let path = election_path(&self.args.election, "/attend");
            let attends = attend(self.args.agent.clone(), path, self.client.clone());
            self.attendance = Some(tokio::spawn(attends));
        }
        let mut poll = self.poll();
        loop {
            let until = self.running.as_ref().map(|r| r.until);
            tokio::select! {
                biased;
                () = signals.next() => return Ok(Answer::Yes),
                ended = ended(&mut self.running) => {
                    let code = ended.context("the command cannot be waited for")?.code;
                    if let Some(running) = self.running.take() {
                        // The agent keeps the lease until it hears that the work has ended.
                        let withdrawn = self.withdrawal().await;
                        self.say_withdrawn(withdrawn);
                        self.tell_ended(running.token).await;
                    }
                    self.say(&format!("the command ended with exit code {code}"));
                    return Ok(Answer::Code(code));
                }
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    self.say("no longer sure to lead: the agent has heard nobody, or is silent");
                    self.stop(Instant::now()).await;
                }
                (asked, answer) = &mut poll => {
                    match answer {
                        Ok(view) => self.take(asked, view).await?,
                        Err(ClientError::Refused(error)) if error.code != "no_answer" && error.code != "stopped" => {
                            return Err(ClientError::Refused(error).into());
                        }
                        Err(error) => self.complain(&error),
                    }
                    poll = self.poll();
                }
            }
        }
    }

    /// Polls the agent after the interval.
    fn poll(&self) -> Poll {
        let (agent, interval) = (self.args.agent.clone(), self.interval);
        let request = (!self.args.listen).then(|| CampaignRequest {
            class: self.args.class,
            attribute: self.args.attribute,
            attribute_tag: self.args.attribute_tag.clone(),
            health: self.args.health,
            stream: self.args.stream,
            mode: Some(self.args.mode.clone()),
            score: Some(Words::Many(self.args.score.clone())),
            lease_ms: Some(self.lease.as_millis() as u64),
            grace_ms: self.args.grace.map(|g| g.as_millis() as u64),
            client: Some(self.client.clone()),
            ..CampaignRequest::default()
        });
        let verb = if request.is_some() { "/campaign" } else { "" };
        let path = election_path(&self.args.election, verb);
        Box::pin(async move {
            sleep(interval).await;
            let asked = Instant::now();
            let answer = match request {
                Some(request) => agent.post(&path, &request, PATIENCE).await,
                None => agent.get(&path).await,
            };
            (asked, answer)
        })
    }

    /// Handles the answer to a request that was sent at `asked`.
    async fn take(&mut self, asked: Instant, view: ElectionView) -> anyhow::Result<()> {
        self.silent = false;
        let span = Duration::from_millis(view.grace_ms);
        // The lease is renewed about once per grace period; half of it is left to tell this program, and to stop.
        self.interval = match span.is_zero() {
            true => Duration::from_millis(500),
            false => (span / 2).clamp(Duration::from_millis(20), Duration::from_secs(1)),
        };
        self.lease = LEASE_MIN.max(span * 8);
        // Others may act when the whole grace period is over.
        self.grace = self.args.grace.unwrap_or(span).min(span);
        self.show(&view)?;
        if self.args.command.is_empty() {
            return Ok(());
        }
        let until = asked + Duration::from_millis(view.valid_for_ms);
        let token = view.acting.as_deref().filter(|_| until > Instant::now());
        if let Some(running) = &mut self.running {
            if token == Some(running.token.as_str()) {
                running.until = until.max(running.until);
                running.guarded.extend(running.until).await;
                return Ok(());
            }
            self.say("no longer leading");
            self.stop(Instant::now()).await;
        }
        if let Some(token) = token
            && until > Instant::now()
        {
            let term = view.leader.as_ref().map_or(0, |l| l.term);
            let env = [
                ("CONSORT_ELECTION", view.name.clone()),
                ("CONSORT_TOKEN", token.to_owned()),
                ("CONSORT_TERM", term.to_string()),
                ("CONSORT_NODE", view.node.clone()),
                ("CONSORT_NAME", view.node_name.clone()),
            ];
            let started = Guarded::start(&self.args.command, &env, until, self.grace).await?;
            let Some(guarded) = started else {
                self.say("no longer sure to lead before the command could be started");
                return Ok(());
            };
            self.say(&format!(
                "leading (term {term}); started the command, process {}",
                guarded.id()
            ));
            self.running = Some(Running {
                guarded,
                token: token.to_owned(),
                until,
            });
        }
        Ok(())
    }

    /// Stops the command, if it is running. It may take its grace period from `since` on, but no longer than the lease
    /// lasts.
    async fn stop(&mut self, since: Instant) {
        if let Some(token) = self.halt(since).await {
            self.tell_ended(token).await;
        }
    }

    /// The same without telling the agent. Returns the token that the command ran with.
    async fn halt(&mut self, since: Instant) -> Option<String> {
        let mut running = self.running.take()?;
        if running.guarded.stop(since + self.grace).await.killed {
            self.say("the command did not stop in time and was killed");
        }
        Some(running.token)
    }

    /// Tells the agent that nothing runs with `token` any longer, so that others need not wait for the end of the
    /// lease.
    async fn tell_ended(&self, token: String) {
        let path = election_path(&self.args.election, "/ended");
        // If the agent does not hear this, it waits for the end of the lease.
        let _: Result<Done, _> = self
            .args
            .agent
            .post(&path, &EndedRequest { token }, PATIENCE)
            .await;
    }

    /// Asks the agent to withdraw, unless this program only follows the election. If another program took its place, the
    /// agent does nothing.
    fn withdrawal(&self) -> impl Future<Output = Result<(), ClientError>> + use<> {
        let path = election_path(&self.args.election, "/withdraw");
        let (agent, stands) = (self.args.agent.clone(), !self.args.listen);
        let client = Some(self.client.clone());
        async move {
            if stands {
                let request = WithdrawRequest { client };
                let _: ElectionView = agent.post(&path, &request, PATIENCE).await?;
            }
            Ok(())
        }
    }

    fn say_withdrawn(&self, withdrawn: Result<(), ClientError>) {
        if let Err(error) = withdrawn {
            self.say(&format!(
                "could not withdraw: {error}; the agent will by itself"
            ));
        }
    }

    fn complain(&mut self, error: &ClientError) {
        if !core::mem::replace(&mut self.silent, true) {
            self.say(&format!("{error}; still trying"));
        }
    }

    /// Prints a remark to standard error, because standard output belongs to the command.
    fn say(&self, text: &str) {
        let name = safe(&self.args.election);
        let _ = writeln!(io::stderr(), "consort elect {name}: {text}");
    }

    /// Prints the leader, if it changed.
    fn show(&mut self, view: &ElectionView) -> anyhow::Result<()> {
        let leader = view
            .leader
            .as_ref()
            .map(|l| (l.token.clone(), l.stage.clone()));
        let now = Some((leader, view.acting.clone()));
        if self.shown == now {
            return Ok(());
        }
        self.shown = now;
        let name = safe(&view.name);
        let text = match &view.leader {
            None => format!("nobody leads {name}"),
            Some(l) if l.is_self && view.acting.is_some() => {
                format!(
                    "this node leads {name} and may act, term {}, token {}",
                    l.term, l.token
                )
            }
            Some(l) if l.is_self => format!("this node was elected in {name}, and may not act yet"),
            Some(l) => format!(
                "{} leads {name}, term {}, token {}",
                leader::name(l),
                l.term,
                l.token
            ),
        };
        match self.args.format {
            _ if !self.args.command.is_empty() => {}
            Format::Json => output::line(&serde_json::to_string(view)?)?,
            Format::Text => output::line(&text)?,
        }
        Ok(())
    }
}

/// Waits for the end of the command; never returns if none is running.
async fn ended(running: &mut Option<Running>) -> io::Result<Ended> {
    match running {
        Some(running) => running.guarded.ended().await,
        None => core::future::pending().await,
    }
}

/// The pause before a stream that ended is opened again.
const AGAIN: Duration = Duration::from_millis(500);

/// Keeps a connection to the agent open. When this program is killed the connection ends, and the agent withdraws.
async fn attend(agent: AgentAddr, path: String, client: String) {
    let request = AttendRequest { client };
    loop {
        match agent.take::<Done>(&path, &request).await {
            Ok(mut stream) => while let Ok(Some(_)) = stream.next().await {},
            // An older agent has no such request; it waits for the end of the candidacy's lease.
            Err(ClientError::Refused(error)) if error.code == "not_found" => return,
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}
