//! `consort up`: a live group on this machine, to watch and to play with.

mod deed;
mod fault;
mod group;
mod lab;
mod order;
mod watch;

use crate::Answer;
use crate::agent::{Signals, start_logging};
use crate::output;
use consort_agent::api::MemberView;
use consort_agent::{HttpAddr, LabOrder};
use core::net::SocketAddr;
use core::time::Duration;
use group::{ELECTION, Group, Note, Plan};
use order::Order;
use serde_json::{Value, json};
use std::io::{self, BufRead, IsTerminal, Read};
use std::process::Stdio;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use watch::Watch;

/// Longest order that is read, in bytes.
const LINE_MAX: u64 = 4096;

/// How often agreement and stragglers are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Start a live group of nodes on this machine and watch it
///
/// Opens on a dashboard: a web page that shows the group and has buttons to break it. Each node has its
/// own UDP socket and HTTP interface on loopback. Type commands (also piped in) to kill, pause, cut off and
/// revive nodes and see the others find out. All stand in an election, so that one leads; kill it and see
/// another take over. Ctrl-C lets all leave.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How many nodes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// How often each node probes another; failures are found in some 4 to 10 of these
    #[arg(long, default_value = "500ms", value_parser = humantime::parse_duration)]
    period: Duration,
    /// HTTP address of the first node [default: 127.0.0.1:7718, or another port if taken]
    #[arg(long, value_name = "ADDR|unix:PATH")]
    http: Option<HttpAddr>,
    /// UDP address of the first node [default: 127.0.0.1:7717, or another port if taken]
    #[arg(long, value_name = "ADDR")]
    bind: Option<SocketAddr>,
    /// Name of the group [default: consort]
    #[arg(long)]
    group: Option<String>,
    /// Open the dashboard in a browser
    #[arg(long)]
    open: bool,
}

const EXAMPLES: &str = "\
Examples:
  consort up --open                              then click: Kill
  consort up                                     then type: k 3
  consort up --nodes 20 --period 200ms
  (echo k 3; sleep 15; echo r 3; sleep 5; echo q) | consort up";

pub(crate) fn run(args: Args) -> anyhow::Result<Answer> {
    start_logging("warn");
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(up(args))
}

async fn up(args: Args) -> anyhow::Result<Answer> {
    let mut signals = Signals::listen()?;
    let start = Instant::now();
    let (notes, mut notes_in) = mpsc::channel::<Note>(4096);
    let (lab, mut lab_in) = mpsc::channel::<LabOrder>(16);
    let plan = Plan {
        period: args.period,
        group: args.group.clone(),
        bind: args.bind,
        http: args.http.clone(),
    };
    let mut live = Live {
        group: Group::new(plan, notes, lab),
        watch: Watch::new(start, args.period * 10),
        agreed: false,
    };
    for _ in 0..args.nodes {
        live.group.add().await?;
    }
    live.group.alive = true;
    live.greet(&args)?;
    let mut typed = typed_lines();
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        let step = tokio::select! {
            Some(note) = notes_in.recv() => live.note(&note),
            Some(line) = typed.recv() => match live.obey(&line).await {
                Ok(true) => Ok(()),
                Ok(false) => break Ok(()),
                Err(error) => Err(error),
            },
            Some(asked) = lab_in.recv() => live.serve(asked).await,
            _ = look.tick() => live.look().await,
            () = signals.next() => break Ok(()),
        };
        if step.is_err() {
            break step;
        }
    };
    let goodbye = async {
        // Nobody reads the events any more: the channel must not fill up.
        drop(notes_in);
        live.group.quit().await;
    };
    tokio::select! {
        () = goodbye => {}
        () = signals.next() => {}
    }
    ended?;
    output::line(&live.watch.line(Instant::now(), "all nodes have left"))?;
    Ok(Answer::Yes)
}

/// Lines of standard input, from a thread of their own. The end of the input ends nothing else.
fn typed_lines() -> mpsc::Receiver<String> {
    let (lines, lines_out) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut input) {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines_out
}

/// The next line, `None` at the end. What has no end is no line.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = input.take(LINE_MAX).read_line(&mut line)?;
    if read as u64 == LINE_MAX && !line.ends_with('\n') {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

struct Live {
    group: Group,
    watch: Watch,
    agreed: bool,
}

impl Live {
    fn say(&self, text: &str) -> anyhow::Result<()> {
        Ok(output::line(&self.watch.line(Instant::now(), text))?)
    }

    fn greet(&mut self, args: &Args) -> anyhow::Result<()> {
        let addresses = self.group.addresses();
        let first = addresses[0].clone();
        let period = humantime::format_duration(args.period);
        for remark in self.group.remarks.drain(..) {
            output::line(&format!("note: {remark}"))?;
        }
        let n = addresses.len();
        output::line(&format!(
            "A live group of {n} on loopback, probing every {period}\n"
        ))?;
        output::line(&output::table(["NODE", "UDP", "HTTP"], &addresses))?;
        if !first[2].starts_with("unix:") {
            let page = format!("http://{}/", first[2]);
            output::line(&format!("\nDashboard:  {page}"))?;
            if args.open && !browse(&page) {
                output::line("            (no browser could be opened; open it by hand)")?;
            }
        }
        let http = match args.http.is_none() && first[2] == HttpAddr::default().to_string() {
            true => String::new(),
            false => format!(" --http {}", first[2]),
        };
        let group = match &args.group {
            Some(group) => format!(" --group {group}"),
            None => String::new(),
        };
        output::line(&format!(
            "\nIn another terminal:  consort members{http}\n                      \
             consort leader {ELECTION}{http}\n                      \
             consort events{http}\n                      \
             consort lock demo{http} -- sleep 5\n                      \
             consort agent --name mine --bind 127.0.0.1:0 --http 127.0.0.1:0 \
             --period {period}{group} --join {}",
            first[1]
        ))?;
        let how = match io::stdin().is_terminal() {
            true => "Type and press Enter",
            false => "Commands on standard input",
        };
        output::line(&format!(
            "{how}:  k 3 kill node-3 · p 3 pause · r 3 revive · i 3 isolate · x 4 5 partition · \
             heal · a add · h help · q quit\n"
        ))?;
        Ok(())
    }

    fn note(&mut self, note: &Note) -> anyhow::Result<()> {
        let running = self.group.running();
        for line in self
            .watch
            .note(note.observer, &note.event, note.at, &running)
        {
            output::line(&line)?;
        }
        Ok(())
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        if !self.agreed && self.group.agrees().await {
            self.agreed = true;
            let n = self.group.running().len();
            self.say(&format!("all {n} nodes know each other"))?;
        }
        for name in self.group.reap().await {
            self.say(&format!("{name} was told to leave, and stopped"))?;
        }
        let running = self.group.running();
        for line in self.watch.settle(Instant::now(), &running) {
            output::line(&line)?;
        }
        Ok(())
    }

    /// Carries out what was typed; `false` ends the group.
    async fn obey(&mut self, line: &str) -> anyhow::Result<bool> {
        let order = match order::parse(line) {
            Ok(order) => order,
            Err(hint) => {
                self.say(&hint)?;
                return Ok(true);
            }
        };
        if order == Order::Quit {
            return Ok(false);
        }
        match self.carry_out(order).await {
            Ok(Some(text)) => self.say(&text)?,
            Ok(None) => {}
            // A slip of the user's, or a port that is taken meanwhile: the group lives on.
            Err(error) => self.say(&output::explain(&error))?,
        }
        for remark in core::mem::take(&mut self.group.remarks) {
            self.say(&remark)?;
        }
        Ok(true)
    }

    /// Carries out what the dashboard asks for, or tells it how the group stands.
    async fn serve(&mut self, asked: LabOrder) -> anyhow::Result<()> {
        let answer = match lab::read(&asked.order) {
            Ok(None) => {
                lab::tell(&self.group, asked);
                return Ok(());
            }
            Ok(Some(order)) => self.carry_out(order).await,
            Err(error) => Err(anyhow::Error::msg(error)),
        };
        let answer: Result<Value, String> = match answer {
            Ok(text) => {
                let text = text.unwrap_or_default();
                self.say(&text)?;
                Ok(json!({"done": text}))
            }
            Err(error) => Err(output::explain(&error)),
        };
        // Who asked may be gone.
        let _ = asked.reply.send(answer);
        Ok(())
    }

    async fn carry_out(&mut self, order: Order) -> anyhow::Result<Option<String>> {
        let now = Instant::now();
        let text = match order {
            Order::Kill { node } => {
                self.group.remark("kill", Some(node));
                let (id, name) = self.group.kill(node).await?;
                self.watch.cause(id, &name, "kill", now);
                format!("killed {name}; now the others have to find out (r {node} revives it)")
            }
            Order::Pause { node } => {
                let (id, name) = self.group.pause(node)?;
                self.group.remark("pause", Some(node));
                self.watch.cause(id, &name, "pause", now);
                format!("paused {name}: it hears and says nothing (r {node} resumes it)")
            }
            Order::Revive { node } => {
                // A resumed node goes on where it was; a revived one starts with an empty list.
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
                format!("isolated {name}: it hears nobody and nobody hears it (heal ends it)")
            }
            Order::Partition { nodes } => {
                let [near, far] = self.group.partition(&nodes)?;
                let (near, far) = (near.join(" "), far.join(" "));
                self.group.remark(&format!("partition {far}"), None);
                format!("partition: {near} on one side, {far} on the other (heal ends it)")
            }
            Order::Heal {} => {
                self.group.heal();
                self.group.remark("heal", None);
                "healed: no partition, isolation, loss or delay any more".to_owned()
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
                format!("{name} asks for lock {lock} and holds it (g {node} {lock} gives it back)")
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
                format!("{name} stands in election {ELECTION} no more")
            }
            Order::Resign { node } => {
                self.group.remark("resign", Some(node));
                let (_, name) = self.group.resign(node).await?;
                format!("{name} stops leading")
            }
            Order::Members => {
                let handles = self.group.handles();
                let Some((name, node)) = handles.first() else {
                    return Ok(Some("no node is running; r 1 revives one".to_owned()));
                };
                let members = node.members().await?;
                let views: Vec<MemberView> = members.iter().map(MemberView::from).collect();
                let table = output::members_table(&views);
                format!("as {name} sees them:\n{table}")
            }
            Order::Help => format!("what can be typed:\n{}", order::HELP),
            Order::Quit | Order::Nothing => return Ok(None),
        };
        Ok(Some(text))
    }
}

/// Shows an address in the user's browser; `false` when there is no way to.
fn browse(page: &str) -> bool {
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let mut command = std::process::Command::new(opener);
    command.arg(page).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // It is waited for elsewhere: some openers stay until the browser is closed.
    match command.spawn() {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_lines_and_what_has_no_end_is_none() {
        let mut input = io::Cursor::new("kill 1\r\n\nlast");
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, ["kill 1", "", "last"]);
        let longest = "x".repeat(LINE_MAX as usize - 1);
        let mut input = io::Cursor::new(format!("{longest}\nnext\n"));
        assert_eq!(next_line(&mut input).unwrap(), Some(longest));
        assert_eq!(next_line(&mut input).unwrap().as_deref(), Some("next"));
        let mut endless = io::BufReader::new(io::repeat(0));
        assert!(next_line(&mut endless).is_err());
    }
}
