//! `consort up`: a live group on this machine, to watch and to experiment with.

mod deed;
mod face;
mod fault;
mod group;
mod lab;
mod obey;
mod order;
mod plain;
mod scene;
mod watch;

use crate::Answer;
use crate::agent::start_logging;
use crate::guarded::signals::Signals;
use crate::output;
use crate::screen::{Entry, Tone, there};
use consort::NodeId;
use consort_agent::{HttpAddr, LabOrder};
use core::net::SocketAddr;
use core::time::Duration;
use face::{Face, Wish, farewell};
use group::{Group, Note, Plan, agree};
use order::{LOCK, Order};
use plain::typed_lines;
use scene::{Player, Scene, Seen};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::process::Stdio;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use watch::{News, Watch};

/// How often agreement and stragglers are checked.
const LOOK: Duration = Duration::from_millis(100);

/// Start a live group of nodes on this machine and watch it
///
/// In a terminal it is a live screen with one-key commands to kill, pause, cut off and revive nodes, and shows how the
/// others notice; press ? for all commands, q to quit. Otherwise, and with --plain, it prints lines and reads commands
/// from standard input. There is also a dashboard, a web page with the same commands. Each node has its own UDP socket
/// and HTTP interface on loopback. All nodes campaign in an election, so that one leads; kill it and see another take
/// over. Ctrl-C makes all nodes leave.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of nodes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=64))]
    nodes: u16,
    /// How often each node probes another; failures are detected within about 4 to 10 of these
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
    /// Play a story of a minute with five nodes and captions; printed as lines, it ends by itself
    #[arg(long, value_enum, conflicts_with = "nodes")]
    scene: Option<Scene>,
    /// Print lines and read commands even in a terminal
    #[arg(long)]
    plain: bool,
}

const EXAMPLES: &str = "\
Examples:
  consort up --open                              then click: Kill
  consort up                                     then press: k
  consort up --scene failover                    watch a leader die and another take over
  consort up --nodes 20 --period 200ms
  (echo k 3; sleep 15; echo r 3; sleep 5; echo q) | consort up";

pub(crate) fn run(args: Args) -> anyhow::Result<Answer> {
    let screen = there() && !args.plain;
    // Log lines would be written across the screen.
    if !screen || !io::stderr().is_terminal() {
        start_logging("warn");
    }
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(up(args, screen))
}

async fn up(args: Args, screen: bool) -> anyhow::Result<Answer> {
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
        agreed: None,
        face: None,
        player: args.scene.map(Player::new),
        deeds: 0,
        held: BTreeSet::new(),
        caption: None,
    };
    for _ in 0..args.nodes {
        live.group.add().await?;
    }
    live.group.alive = true;
    let mut typed = match screen {
        true => {
            live.face = Some(Face::new()?);
            live.open(&args)?;
            mpsc::channel(1).1
        }
        false => {
            live.greet(&args)?;
            typed_lines()
        }
    };
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        let goes_on = tokio::select! {
            Some(note) = notes_in.recv() => live.note(&note).map(|()| true),
            Some(line) = typed.recv() => live.obey(&line).await,
            Some(asked) = lab_in.recv() => live.serve(asked).await.map(|()| true),
            wish = next_wish(&mut live.face) => live.grant(wish).await,
            _ = look.tick() => live.look().await,
            () = signals.next() => Ok(false),
        };
        match goes_on {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // The terminal is restored, so error messages can be printed.
    live.face = None;
    let goodbye = async {
        // Nobody reads the events any longer, and the channel must not fill up.
        drop(notes_in);
        live.group.quit().await;
    };
    tokio::select! {
        () = goodbye => {}
        () = signals.next() => {}
    }
    ended?;
    let now = Instant::now();
    output::line(&live.watch.line(now, "all nodes have left"))?;
    let tally = live.watch.tally();
    let shown = live.watch.elapsed(now);
    let next = Scene::after(args.scene);
    let text = farewell(live.deeds, tally.failures, tally.leaders, shown, next);
    output::line(&text)?;
    Ok(Answer::Yes)
}

/// The next command of the screen's user, if there is a screen.
async fn next_wish(face: &mut Option<Face>) -> Wish {
    match face {
        Some(face) => face.next().await,
        None => core::future::pending().await,
    }
}

struct Live {
    group: Group,
    watch: Watch,
    /// The time since which all nodes know each other.
    agreed: Option<Instant>,
    face: Option<Face>,
    player: Option<Player>,
    /// The number of orders carried out.
    deeds: usize,
    /// The locks that nodes hold by order, with the nodes.
    held: BTreeSet<(String, String)>,
    /// The last caption of the scene.
    caption: Option<String>,
}

impl Live {
    fn say(&mut self, tone: Tone, text: &str) -> anyhow::Result<()> {
        let now = Instant::now();
        match &mut self.face {
            Some(face) => face.push(Entry {
                at: self.watch.seconds(now),
                tone,
                depth: 0,
                text: text.to_owned(),
                gap: None,
            }),
            None => output::line(&self.watch.line(now, text))?,
        }
        Ok(())
    }

    fn report(&mut self, news: &[News]) -> anyhow::Result<()> {
        for news in news {
            match &mut self.face {
                Some(face) => face.push(self.watch.entry(news)),
                None => output::line(&self.watch.plain(news))?,
            }
        }
        Ok(())
    }

    /// The address of the dashboard; `None` if it is served on a Unix socket.
    fn page(&self) -> Option<String> {
        let addresses = self.group.addresses();
        let http = &addresses.first()?[2];
        match http.starts_with("https://") {
            true => Some(format!("{http}/")),
            false => (!http.starts_with("unix:")).then(|| format!("http://{http}/")),
        }
    }

    /// The start, on a screen.
    fn open(&mut self, args: &Args) -> anyhow::Result<()> {
        for remark in core::mem::take(&mut self.group.remarks) {
            self.say(Tone::Plain, &remark)?;
        }
        let period = humantime::format_duration(args.period);
        let text = format!("{} nodes started, probing every {period}", args.nodes);
        self.say(Tone::Plain, &text)?;
        if args.open {
            self.browse()?;
        }
        self.draw()
    }

    fn browse(&mut self) -> anyhow::Result<()> {
        match self.page() {
            Some(page) if browse(&page) => {
                self.say(Tone::Plain, &format!("opened {page} in a browser"))
            }
            Some(page) => self.say(
                Tone::Plain,
                &format!("no browser could be opened; open {page} by hand"),
            ),
            None => self.say(Tone::Plain, "the dashboard is on a Unix socket"),
        }
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        match &mut self.face {
            Some(face) => face.draw(),
            None => Ok(()),
        }
    }

    /// Carries out a command of the screen's user; `false` ends the group.
    async fn grant(&mut self, wish: Wish) -> anyhow::Result<bool> {
        match wish {
            Wish::Quit => return Ok(false),
            Wish::Look => {}
            Wish::Nothing(why) => self.say(Tone::Plain, &why)?,
            Wish::Browse => self.browse()?,
            Wish::Order(order) => {
                self.carry_out_and_say(order).await?;
                // Keys that undo an order go by what is shown.
                if let Some(face) = &mut self.face {
                    face.hasten();
                }
            }
        }
        self.draw()?;
        Ok(true)
    }

    async fn carry_out_and_say(&mut self, order: Order) -> anyhow::Result<()> {
        match self.carry_out(order).await {
            Ok(Some(said)) if self.face.is_some() => self.say(Tone::Deed, &said.text)?,
            Ok(Some(said)) => self.say(Tone::Deed, &said.plain())?,
            Ok(None) => {}
            // The user mistyped something, or a port has been taken: the group continues.
            Err(error) => self.say(Tone::Plain, &output::explain(&error))?,
        }
        for remark in core::mem::take(&mut self.group.remarks) {
            self.say(Tone::Plain, &remark)?;
        }
        Ok(())
    }

    /// What a scene can wait for. With a screen, an event counts once its table shows it.
    async fn seen(&self) -> Seen {
        let running = self.group.running();
        let lists = self.group.lists().await;
        let shown = |id: NodeId, status: &[&str]| match &self.face {
            Some(face) => face.shows(id, status),
            None => true,
        };
        let numbered = |test: &dyn Fn(NodeId) -> bool| {
            let ids = self.group.ids();
            let nodes = ids.iter().filter(|(_, id)| test(**id));
            nodes.map(|(number, _)| *number).collect()
        };
        let leader = self.watch.leader(&running);
        Seen {
            nodes: self.group.addresses().len(),
            leader: leader.filter(|n| match &self.face {
                Some(face) => face.shows_leader(running[n]),
                None => true,
            }),
            leaders: self.watch.leaders(&running),
            suspected: numbered(&|id| {
                self.watch.is_suspected(id) && shown(id, &["suspect", "failed"])
            }),
            failed: numbered(&|id| self.watch.is_failed(id) && shown(id, &["failed"])),
            back: numbered(&|id| self.watch.is_back(id) && shown(id, &["alive"])),
            refuted: self.watch.tally().refuted,
            holders: self.group.holders(LOCK),
            agree: lists.as_ref().is_some_and(|lists| agree(lists, &running)),
            apart: lists.is_some_and(|lists| self.group.are_apart(&lists)),
        }
    }

    /// Continues the scene; `false` if it is over and nobody watches.
    async fn play(&mut self) -> anyhow::Result<bool> {
        let Some(since) = self.agreed else {
            return Ok(true);
        };
        if self.player.as_ref().is_none_or(Player::is_over) {
            return Ok(true);
        }
        let seen = self.seen().await;
        let Some(player) = &mut self.player else {
            return Ok(true);
        };
        let Some((caption, order)) = player.step(since.elapsed(), &seen) else {
            return Ok(true);
        };
        let over = player.is_over();
        self.caption = Some(match over {
            true => format!("{caption} Go on by hand."),
            false => caption.clone(),
        });
        let caption = match (over, &self.face) {
            (true, Some(_)) => format!("{caption} Go on by hand, or press q."),
            _ => caption,
        };
        match &mut self.face {
            Some(face) => face.model.caption = Some(caption),
            None => output::line(&format!("\n  {caption}\n"))?,
        }
        if let Some(order) = order {
            self.carry_out_and_say(order).await?;
        }
        Ok(!over || self.face.is_some())
    }

    fn note(&mut self, note: &Note) -> anyhow::Result<()> {
        let running = self.group.running();
        let news = self
            .watch
            .note(note.observer, &note.event, note.at, &running);
        // The table has to show what the events say.
        if let Some(face) = &mut self.face {
            face.hasten();
        }
        self.report(&news)
    }

    /// Does the regular checks; `false` if there is nothing more to show.
    async fn look(&mut self) -> anyhow::Result<bool> {
        if self.agreed.is_none() && self.group.agrees().await {
            self.agreed = Some(Instant::now());
            let n = self.group.running().len();
            self.say(Tone::Alive, &format!("all {n} nodes know each other"))?;
        }
        for name in self.group.reap().await {
            let text = format!("{name} was told to leave, and stopped");
            self.say(Tone::Left, &text)?;
        }
        let held = self.group.held();
        for (lock, name) in held.difference(&self.held.clone()) {
            self.say(Tone::Lock, &format!("{name} holds lock {lock}"))?;
        }
        self.held = held;
        let running = self.group.running();
        let news = self.watch.settle(Instant::now(), &running);
        self.report(&news)?;
        let goes_on = self.play().await?;
        if let Some(face) = &mut self.face {
            face.follow(&self.group);
        }
        self.draw()?;
        Ok(goes_on)
    }

    /// Carries out a typed command; `false` ends the group.
    async fn obey(&mut self, line: &str) -> anyhow::Result<bool> {
        let order = match order::parse(line) {
            Ok(order) => order,
            Err(hint) => {
                self.say(Tone::Plain, &hint)?;
                return Ok(true);
            }
        };
        if order == Order::Quit {
            return Ok(false);
        }
        self.carry_out_and_say(order).await?;
        Ok(true)
    }

    /// Carries out an order of the dashboard, or answers with the state of the group.
    async fn serve(&mut self, asked: LabOrder) -> anyhow::Result<()> {
        let answer = match lab::read(&asked.order) {
            Ok(None) => {
                lab::tell(&self.group, self.caption.clone(), asked);
                return Ok(());
            }
            Ok(Some(order)) => self.carry_out(order).await,
            Err(error) => Err(anyhow::Error::msg(error)),
        };
        let answer: Result<Value, String> = match answer {
            Ok(said) => {
                let text = said.map(|s| s.plain()).unwrap_or_default();
                self.say(Tone::Deed, &text)?;
                Ok(json!({"done": text}))
            }
            Err(error) => Err(output::explain(&error)),
        };
        // The requester may be gone.
        let _ = asked.reply.send(answer);
        Ok(())
    }
}

/// Opens an address in the user's browser; `false` if that is not possible.
pub(crate) fn browse(page: &str) -> bool {
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let mut command = std::process::Command::new(opener);
    command.arg(page).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // It is waited for elsewhere, because some openers stay until the browser is closed.
    match command.spawn() {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
