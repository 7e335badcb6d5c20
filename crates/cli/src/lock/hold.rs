//! Holding a lock, from the request to the release.

use super::{Args, LOST, NOT_GRANTED};
use crate::Answer;
use crate::client::{ClientError, EventStream, path};
use crate::guarded::{Ended, Guarded, Signals};
use crate::{locks, output};
use anyhow::{Context, bail};
use consort_agent::api::{Done, LocksView, RequestView};
use core::pin::Pin;
use core::time::Duration;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// How long a request waits before the holder is looked up and named.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// How long the agent may take to process the release.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);

/// How long the agent may take to report that its own time limit has passed.
const REFUSAL_PATIENCE: Duration = Duration::from_millis(200);

/// How long an agent may take to try each slot, which is longer than its questions to members take.
const TRY_PATIENCE: Duration = Duration::from_secs(3);

/// A pending request: the time at which it was sent, and its answer.
type Poll = Pin<Box<dyn Future<Output = (Instant, Result<RequestView, ClientError>)>>>;

pub(super) async fn hold(args: &Args) -> anyhow::Result<Answer> {
    let mut signals = Signals::listen()?;
    let resource = path("locks", &args.name, "");
    // The deadline uses this program's own clock, because the agent may be frozen.
    let deadline = args.deadline();
    let (mut stream, granted) = tokio::select! {
        taken = take(args, &resource) => match taken? {
            Ok(granted) => granted,
            Err(refused) => return Ok(refused),
        },
        () = sleep_until(deadline) => return Ok(silent(args)),
        () = signals.next() => return Ok(Answer::Code(130)),
    };
    let mut held = Held {
        args,
        own: format!("{resource}/{}", granted.request),
        // The rest is reserved for the system to carry out the stop.
        notice: Duration::from_millis(granted.notice_ms) * 3 / 4,
        until: Instant::now(),
        running: None,
    };
    // If the agent does not answer, a granted lock goes to the next request only when its lease is over, because the
    // agent does not hear that nobody uses it.
    let Ok((asked, view)) = timeout_at(deadline, held.poll(Duration::ZERO)).await else {
        return Ok(silent(args));
    };
    let answer = match view {
        Ok(view) if held.take(asked, &view) => held.run(&mut stream, &mut signals, &granted).await,
        Ok(_) => Ok(held.lose("it was lost at once").await),
        Err(error) => Err(error.into()),
    };
    // Nothing is running any longer, even after an error, so the lock can be released.
    held.stop(Instant::now()).await;
    held.release().await;
    answer
}

/// Requests the lock, and waits for it.
async fn take(
    args: &Args,
    resource: &str,
) -> anyhow::Result<Result<(EventStream<RequestView>, RequestView), Answer>> {
    let mut stream = args
        .agent
        .take::<RequestView>(resource, &args.request())
        .await?;
    let mut look = Some(Instant::now() + LOOK_AFTER);
    loop {
        let event = tokio::select! {
            event = stream.next() => event?,
            () = sleep_until(look.unwrap_or_else(Instant::now)), if look.is_some() => {
                look = None;
                note_holders(args, resource).await;
                continue;
            }
        };
        let event = event.context("the agent has gone while the lock was waited for")?;
        match event.event.as_str() {
            "granted" => return Ok(Ok((stream, event))),
            "refused" => return refused(args, &event).map(Err),
            _ => {
                if note_waiting(args, &event) {
                    look = None;
                }
            }
        }
    }
}

/// Says who holds the lock that this program waits for, unless nothing is to be said.
async fn note_holders(args: &Args, resource: &str) {
    if args.quiet {
        return;
    }
    let Ok(view) = args.agent.get::<LocksView>(resource).await else {
        return;
    };
    let contenders = view.locks.iter().flat_map(|l| &l.contenders);
    let holders: Vec<String> = contenders.filter(|c| c.held).map(locks::who).collect();
    if !holders.is_empty() {
        args.say(&format!("waits: {} holds it", holders.join(", ")));
    }
}

fn silent(args: &Args) -> Answer {
    args.say("not granted: the agent has not answered in time; it may be paused or overloaded");
    Answer::Code(NOT_GRANTED)
}

fn refused(args: &Args, event: &RequestView) -> anyhow::Result<Answer> {
    let reason = output::safe(event.reason.as_deref().unwrap_or("no reason is given"));
    match event.code.as_deref() {
        Some("busy" | "timeout" | "not_ready") => {
            args.say(&format!("not granted: {reason}"));
            Ok(Answer::Code(NOT_GRANTED))
        }
        _ => bail!("not granted: {reason}"),
    }
}

/// Prints what the request waits for, even with --quiet, because it may wait for ever. Returns whether it waits for
/// something other than a holder.
fn note_waiting(args: &Args, event: &RequestView) -> bool {
    let Some(readiness) = &event.readiness else {
        return false;
    };
    match &readiness.waits_for {
        Some(what) => args.say(&format!("waits: {}", output::safe(what))),
        None if readiness.mature || args.quiet => return false,
        None => {
            let left = readiness.matures_in_ms.div_ceil(1000);
            args.say(&format!(
                "this node has just started and supports locks in {left} s"
            ));
        }
    }
    true
}

struct Held<'a> {
    args: &'a Args,
    /// The path of this request at the agent.
    own: String,
    notice: Duration,
    /// The time until which the lock is certainly held.
    until: Instant,
    running: Option<Guarded>,
}

impl Held<'_> {
    /// Asks the agent for the state of the request, after a delay.
    fn poll(&self, after: Duration) -> Poll {
        let (agent, own) = (self.args.agent.clone(), self.own.clone());
        Box::pin(async move {
            sleep(after).await;
            let asked = Instant::now();
            (asked, agent.get(&own).await)
        })
    }

    /// Handles the answer to a request that was sent at `asked`. Returns whether the lock is held.
    fn take(&mut self, asked: Instant, view: &RequestView) -> bool {
        let held = view.event == "granted";
        if held {
            // The latest answer counts, because the validity may also become shorter.
            self.until = asked + Duration::from_millis(view.valid_for_ms);
        }
        held && self.until > Instant::now()
    }

    async fn run(
        &mut self,
        stream: &mut EventStream<RequestView>,
        signals: &mut Signals,
        granted: &RequestView,
    ) -> anyhow::Result<Answer> {
        let token = granted.token.clone().unwrap_or_default();
        if !self.args.quiet {
            let left = self.until.saturating_duration_since(Instant::now());
            let tenths = left.as_millis() / 100;
            let quorum = output::safe(granted.quorum.as_deref().unwrap_or_default());
            let (s, tenth) = (tenths / 10, tenths % 10);
            self.args
                .say(&format!("token {token}, valid {s}.{tenth} s, {quorum}"));
        }
        let mut input = None;
        if self.args.command.is_empty() {
            output::line(&token)?;
            input = Some(end_of_input());
        } else {
            let mut env = vec![
                ("CONSORT_LOCK_NAME", self.args.name.clone()),
                ("CONSORT_LOCK_TOKEN", token),
                ("CONSORT_LOCK_VALID_UNTIL", unix_seconds(self.until)),
            ];
            let slot = granted.slot.map(|slot| slot.to_string());
            env.extend(slot.map(|slot| ("CONSORT_LOCK_SLOT", slot)));
            let command = &self.args.command;
            self.running = Guarded::start(command, &env, self.until, self.notice).await?;
            if self.running.is_none() {
                let why = "its lease was over before the command could be started";
                return Ok(self.lose(why).await);
            }
        }
        let interval = self
            .notice
            .clamp(Duration::from_millis(20), Duration::from_secs(1));
        let mut poll = self.poll(interval);
        let mut deaf = false;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.until) => {
                    return Ok(self.lose("the agent could not renew it, or is silent").await);
                }
                () = signals.next() => return Ok(self.interrupted(signals).await),
                ended = ended(&mut self.running) => {
                    let ended = ended.context("the command cannot be waited for")?;
                    self.running = None;
                    if Instant::now() >= self.until {
                        return Ok(self.lose("the agent could not renew it, or is silent").await);
                    }
                    return Ok(Answer::Code(ended.code));
                }
                () = over(&mut input) => return Ok(Answer::Yes),
                event = stream.next(), if !deaf => match event {
                    Ok(Some(event)) => match event.event.as_str() {
                        "renewed" => poll = self.poll(Duration::ZERO),
                        "lost" | "released" => {
                            let why = event.reason.unwrap_or("it was released by order".to_owned());
                            return Ok(self.lose(&output::safe(&why)).await);
                        }
                        _ => {}
                    },
                    // The lease continues for a while, and the command may end before it does.
                    Ok(None) | Err(_) => {
                        deaf = true;
                        self.args.say("the agent is gone; the command may run until the lease is over");
                    }
                },
                (asked, answer) = &mut poll => {
                    match answer {
                        Ok(view) if self.take(asked, &view) => {
                            let until = self.until;
                            if let Some(running) = &mut self.running {
                                running.extend(until).await;
                            }
                        }
                        Ok(view) => {
                            let why = view.reason.unwrap_or("its lease is over".to_owned());
                            return Ok(self.lose(&output::safe(&why)).await);
                        }
                        // The agent is asked again, until the lease is over.
                        Err(_) => {}
                    }
                    poll = self.poll(interval);
                }
            }
        }
    }

    /// Handles the loss of the lock: stops the command within the notice.
    async fn lose(&mut self, why: &str) -> Answer {
        self.args.say(&format!("lost: {why}"));
        let since = self.until.min(Instant::now());
        self.stop(since + self.notice).await;
        Answer::Code(LOST)
    }

    /// Handles a signal that asks this program to end; a second one kills the command.
    async fn interrupted(&mut self, signals: &mut Signals) -> Answer {
        let Some(running) = &mut self.running else {
            return Answer::Code(130);
        };
        let kill_at = Instant::now() + self.args.grace;
        let ended = tokio::select! {
            ended = running.stop(kill_at) => ended,
            () = signals.next() => running.stop(Instant::now()).await,
        };
        self.running = None;
        Answer::Code(ended.code)
    }

    async fn stop(&mut self, kill_at: Instant) {
        if let Some(mut running) = self.running.take() {
            let Ended { killed, .. } = running.stop(kill_at).await;
            if killed {
                self.args
                    .say("the command did not stop in time and was killed");
            }
        }
    }

    /// Tells the agent that the work has stopped.
    async fn release(&self) {
        let told = self.args.agent.delete::<Done>(&self.own, RELEASE_PATIENCE);
        // If the agent is gone, or the lock is lost, the lease expires.
        let _ = told.await;
    }
}

/// Waits for the end of the command; never returns if none is running.
async fn ended(running: &mut Option<Guarded>) -> std::io::Result<Ended> {
    match running {
        Some(running) => running.ended().await,
        None => core::future::pending().await,
    }
}

/// Waits for the end of standard input; never returns if that does not matter.
async fn over(input: &mut Option<oneshot::Receiver<()>>) {
    match input {
        // The thread ends with the program.
        Some(input) => drop(input.await),
        None => core::future::pending().await,
    }
}

/// Reports the end of standard input, from a separate thread.
fn end_of_input() -> oneshot::Receiver<()> {
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut rest = [0; 512];
        while input.read(&mut rest).is_ok_and(|n| n > 0) {}
        let _ = ended.send(());
    });
    end
}

/// The wall clock time of `at`.
fn unix_seconds(at: Instant) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let at = now.unwrap_or_default() + at.saturating_duration_since(Instant::now());
    format!("{}.{:03}", at.as_secs(), at.subsec_millis())
}

impl Args {
    /// The time at which this program gives up by itself, whatever the agent does.
    fn deadline(&self) -> Instant {
        let slots = u32::from(self.permits.unwrap_or(1).max(1));
        let patience = match (self.timeout, self.try_only) {
            (Some(timeout), _) => Some(timeout.saturating_add(REFUSAL_PATIENCE)),
            (None, true) => Some(TRY_PATIENCE * slots),
            (None, false) => None,
        };
        let far = Instant::now() + Duration::from_secs(86_400 * 365 * 30);
        patience
            .and_then(|span| Instant::now().checked_add(span))
            .unwrap_or(far)
    }
}
