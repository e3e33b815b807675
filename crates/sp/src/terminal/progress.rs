//! One line that says how far long work is: only on a terminal, only past half a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;

const PATIENCE: Duration = Duration::from_millis(500);

pub(crate) struct Progress {
    wanted: bool,
    line: Arc<Mutex<Line>>,
}

/// What the line says, and the line once it is worth showing.
#[derive(Default)]
struct Line {
    text: Option<String>,
    bar: Option<ProgressBar>,
    /// Which piece of work this is: a waiting thread shows only its own.
    turn: u64,
}

impl Progress {
    pub(crate) fn new(wanted: bool) -> Self {
        Self { wanted, line: Arc::default() }
    }

    /// Says `text`, once the work has taken long enough to be worth it.
    pub(crate) fn show(&self, text: String) {
        if !self.wanted {
            return;
        }
        let mut line = lock(&self.line);
        if let Some(bar) = &line.bar {
            bar.set_message(text.clone());
        } else if line.text.is_none() {
            line.turn += 1;
            self.show_later(line.turn);
        }
        line.text = Some(text);
    }

    /// Work may be silent from its first word on, so a thread of its own looks after it.
    fn show_later(&self, turn: u64) {
        let line = Arc::clone(&self.line);
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            let mut line = lock(&line);
            if line.turn == turn
                && let Some(text) = line.text.clone()
            {
                let bar = ProgressBar::new_spinner();
                bar.set_message(text);
                bar.enable_steady_tick(Duration::from_millis(120));
                line.bar = Some(bar);
            }
        });
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        let mut line = lock(&self.line);
        line.turn += 1;
        line.text = None;
        if let Some(bar) = line.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
