//! The terminal: taken for a while, and restored however the program ends.

use anyhow::Context;
use core::sync::atomic::{AtomicBool, Ordering};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, IsTerminal, Stdout};
use std::sync::Once;
use tokio::sync::mpsc;

/// Whether this program has taken the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether some part of the program panicked in the meantime.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Whether input and output are a terminal on which a screen can be drawn.
pub(crate) fn there() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !dumb
}

/// The taken terminal. It is restored when this is dropped, and on a panic anywhere.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(crate) fn take() -> anyhow::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if TAKEN.load(Ordering::Relaxed) {
                    PANICKED.store(true, Ordering::Relaxed);
                    give_back();
                }
                usual(info);
            }));
        });
        enable_raw_mode().context("the terminal cannot be switched to single keys")?;
        TAKEN.store(true, Ordering::Relaxed);
        // From here on the terminal is restored, whatever fails.
        let given_back = Given;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        core::mem::forget(given_back);
        Ok(Screen { terminal })
    }

    /// Draws the screen; only changes are written.
    pub(crate) fn draw(
        &mut self,
        draw: impl FnOnce(&mut ratatui::Frame<'_>),
    ) -> anyhow::Result<()> {
        anyhow::ensure!(
            !PANICKED.load(Ordering::Relaxed),
            "a part of the program failed, see above"
        );
        self.terminal.draw(draw)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

struct Given;

impl Drop for Given {
    fn drop(&mut self) {
        give_back();
    }
}

/// Does nothing if the terminal is not taken.
fn give_back() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        // The other end may be gone.
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Keys and changes of size, from a separate thread. The channel closes when the input ends.
pub(crate) fn typed() -> mpsc::Receiver<Event> {
    let (events, events_out) = mpsc::channel(64);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if events.blocking_send(event).is_err() {
                break;
            }
        }
    });
    events_out
}
