//! The progress line. It is shown only on a terminal, and only for work that takes longer than
//! [`SHOW_DELAY`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;

const SHOW_DELAY: Duration = Duration::from_millis(500);

pub(crate) struct ProgressLine {
    enabled: bool,
    state: Arc<Mutex<ProgressState>>,
}

#[derive(Default)]
struct ProgressState {
    text: Option<String>,
    /// `None` until the delay has passed.
    bar: Option<ProgressBar>,
    /// Counts pieces of work, so that a delayed thread does not show the line of an earlier one.
    generation: u64,
}

impl ProgressLine {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, state: Arc::default() }
    }

    /// Shows `text` once the delay has passed.
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

    /// Shows the line from another thread, because the work may report nothing more for a while.
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
