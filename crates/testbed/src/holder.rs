//! Lock holders that use HTTP directly, as a program without `consort lock` would.
//!
//! They follow the documented rules: they poll the state of their request, count from before the poll, and stop
//! within the notice when the lock is lost or its validity ends. When the stream ends they may work until the
//! validity that they were told last.

use crate::clock::{MS, Ns, now};
use crate::http::{Events, Next, call};
use crate::record::{Entry, Record, RunId, Verb, WorkId, Writer};
use consort_proto::Rng;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

const TICK: Duration = Duration::from_millis(10);

/// Interval between polls of the request's state.
const ASK: Ns = 150 * MS;

/// One holder.
#[derive(Debug)]
pub struct Holder {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Loop {
    client: usize,
    number: u32,
    resource: String,
    bound: String,
    ttl_ms: u64,
    socket: PathBuf,
    log: Writer,
    rng: Rng,
    over: Arc<AtomicBool>,
}

impl Holder {
    /// Starts a thread that acquires the lock repeatedly.
    pub fn start(
        client: usize,
        resource: &str,
        bound: String,
        ttl_ms: u64,
        socket: PathBuf,
        log: Writer,
        rng: Rng,
    ) -> Holder {
        let over: Arc<AtomicBool> = Arc::default();
        let mut holder = Loop {
            client,
            number: 0,
            resource: resource.to_owned(),
            bound,
            ttl_ms,
            socket,
            log,
            rng,
            over: Arc::clone(&over),
        };
        let thread = std::thread::spawn(move || {
            while !holder.over.load(Ordering::Relaxed) {
                // The agent is down or ended the stream: the next attempt shows which.
                let _ = holder.hold();
                let pause = 50 + u64::from(holder.rng.below(300));
                std::thread::sleep(Duration::from_millis(pause));
            }
        });
        Holder {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Loop {
    fn hold(&mut self) -> anyhow::Result<()> {
        let path = format!("/v1/locks/{}", self.resource);
        let ask = format!(r#"{{"attended":true,"bound":"{}"}}"#, self.bound);
        let mut events = Events::post(&self.socket, &path, &ask)?;
        let granted = loop {
            match events.next(Duration::from_millis(100)) {
                Next::Event(event) if event["event"] == "granted" => break event,
                Next::Event(event) if event["event"] == "waiting" => {}
                Next::Silence if !self.over.load(Ordering::Relaxed) => {}
                _ => return Ok(()),
            }
        };
        let text = |key: &str| granted[key].as_str().unwrap_or_default().to_owned();
        let own = format!("{path}/{}", text("request"));
        let notice = granted["notice_ms"].as_u64().unwrap_or(0) * MS;
        let Some(until) = self.ask(&own, &mut None) else {
            return Ok(());
        };
        let entry = Entry {
            run: RunId {
                client: self.client,
                number: self.number,
            },
            resource: self.resource.clone(),
            token: text("token"),
            slot: None,
        };
        self.number += 1;
        self.work(&mut events, &own, entry, until, notice);
        let patience = Duration::from_secs(2);
        call(&self.socket, "DELETE", &own, "", patience).map(drop)
    }

    /// Until when the lock is certainly held; `None` without an answer. Sets `lost` if the answer says that it is
    /// lost.
    fn ask(&self, own: &str, lost: &mut Option<Ns>) -> Option<Ns> {
        let asked = now();
        let answer = call(&self.socket, "GET", own, "", Duration::from_millis(80)).ok()?;
        if answer["event"] != "granted" {
            *lost = lost.or(Some(now()));
        }
        Some(asked + answer["valid_for_ms"].as_u64()? * MS)
    }

    fn work(&mut self, events: &mut Events, own: &str, entry: Entry, mut until: Ns, notice: Ns) {
        let enter = now();
        if enter >= until {
            return;
        }
        let work = WorkId {
            pid: std::process::id(),
            enter,
        };
        let long = self.rng.below(4) == 0;
        let span = match long {
            true => self.ttl_ms + u64::from(self.rng.below(2000)),
            false => 20 + u64::from(self.rng.below(250)),
        };
        // The rest of the notice is for this thread to be scheduled.
        let mut stops_in = self.rng.below64(notice * 6 / 10);
        let (planned, mut asked) = (enter + span * MS, enter);
        let (mut lost, mut told, mut open) = (None, false, true);
        let say = |log: &mut Writer, at, verb| log.write(&Record { at, work, verb }).is_ok();
        say(&mut self.log, enter, Verb::Enter(entry));
        loop {
            let at = now();
            let end = lost.unwrap_or(until) + stops_in;
            if lost.is_some() && !core::mem::replace(&mut told, true) {
                say(&mut self.log, at, Verb::Term);
            }
            if at >= end.min(planned) || self.over.load(Ordering::Relaxed) {
                // Not at work since the last tick.
                say(&mut self.log, at.min(end), Verb::Exit);
                return;
            }
            say(&mut self.log, at, Verb::Tick);
            if open {
                match events.next(TICK) {
                    Next::Event(event)
                        if event["event"] == "lost" || event["event"] == "released" =>
                    {
                        lost = lost.or(Some(now()));
                        // It may have less time than the notice.
                        if let Some(ms) = event["stop_within_ms"].as_u64() {
                            stops_in = stops_in.min(ms * MS * 6 / 10);
                        }
                    }
                    Next::Event(_) | Next::Silence => {}
                    Next::End => open = false,
                }
            } else {
                std::thread::sleep(TICK);
            }
            if lost.is_none() && now() - asked > ASK {
                asked = now();
                if let Some(answer) = self.ask(own, &mut lost)
                    && lost.is_none()
                {
                    until = answer;
                }
            }
        }
    }
}
