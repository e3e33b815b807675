//! One line that says how far long work is: only on a terminal, only past half a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;

const SHOW_DELAY: Duration = Duration::from_millis(500);

pub(crate) struct ProgressLine {
    enabled: bool,
    state: Arc<Mutex<ProgressState>>,
}

/// What the line says, and the line once it is worth showing.
#[derive(Default)]
struct ProgressState {
    text: Option<String>,
    bar: Option<ProgressBar>,
    /// Which piece of work this is: a waiting thread shows only its own.
    generation: u64,
}

impl ProgressLine {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, state: Arc::default() }
    }

    /// Says `text`, once the work has taken long enough to be worth it.
    pub(crate) fn show(&self, text: String) {
        if !self.enabled {
            return;
        }
        let mut line = lock(&self.state);
        if let Some(bar) = &line.bar {
            bar.set_message(text.clone());
        } else if line.text.is_none() {
            line.generation += 1;
            self.show_later(line.generation);
        }
        line.text = Some(text);
    }

    /// Work may be silent from its first word on, so a thread of its own looks after it.
    fn show_later(&self, turn: u64) {
        let line = Arc::clone(&self.state);
        std::thread::spawn(move || {
            std::thread::sleep(SHOW_DELAY);
            let mut line = lock(&line);
            if line.generation == turn
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
        let mut line = lock(&self.state);
        line.generation += 1;
        line.text = None;
        if let Some(bar) = line.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn lock(line: &Mutex<ProgressState>) -> MutexGuard<'_, ProgressState> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
