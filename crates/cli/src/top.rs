//! `consort top`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::guarded::signals::Signals;
use crate::screen::{Feed, Model, Reaction, Screen, Sort, Theme, Ui, draw, there, typed};
use core::time::Duration;
use ratatui::crossterm::event::Event;
use std::time::Instant;

/// How often the screen is drawn if nothing arrives, because leases run down.
const FRAME: Duration = Duration::from_millis(200);

/// Watch a group in the terminal, as an agent sees it
///
/// Shows members, leaders, locks and events, and follows them live. Works over SSH with any agent. If the agent does
/// not answer, the screen says so and continues when it is back. Press ? for the keys, q to quit. NO_COLOR is
/// supported.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
}

const EXAMPLES: &str = "\
Examples:
  consort top
  consort top --http 127.0.0.1:7718
  ssh -t robot-7 consort top";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    anyhow::ensure!(
        there(),
        "top needs a terminal; for scripts there are `consort members --format json` and `consort events`"
    );
    block_on(async {
        // An address that is wrong from the start is an error, not something to wait for.
        let _: serde_json::Value = args.agent.get("/v1/self").await?;
        watch(&args.agent).await
    })
}

async fn watch(agent: &AgentAddr) -> anyhow::Result<Answer> {
    let mut signals = Signals::listen()?;
    let mut screen = Screen::take()?;
    let mut keys = typed();
    let mut feed = Feed::start(agent.clone(), true);
    let mut model = Model::new(agent.shown(), Instant::now());
    let mut ui = Ui::new(Theme::of_environment(), Sort::Trouble);
    let mut tick = tokio::time::interval(FRAME);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            update = feed.updates.recv() => {
                let Some(update) = update else { break };
                update.apply(&mut model);
                // Everything that has arrived in the meantime is drawn at once.
                while let Ok(update) = feed.updates.try_recv() {
                    update.apply(&mut model);
                }
            }
            key = keys.recv() => match key {
                Some(Event::Key(key)) if key.is_press() || key.is_repeat() => {
                    if ui.key(key, &model, Instant::now()) == Reaction::Quit {
                        break;
                    }
                }
                Some(_) => {}
                None => break,
            },
            _ = tick.tick() => {}
            () = signals.next() => break,
        }
        screen.draw(|frame| draw(frame, &model, &ui, &[], Instant::now()))?;
    }
    Ok(Answer::Yes)
}
