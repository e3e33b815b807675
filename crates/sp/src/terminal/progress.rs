//! One line that says how far long work is: only on a terminal, only past half a second.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;

const PATIENCE: Duration = Duration::from_millis(500);

pub(crate) struct Progress {
    wanted: bool,
    since: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(wanted: bool) -> Self {
        Self { wanted, since: None, bar: None }
    }

    /// Shows `text`, once the work has taken long enough to be worth it.
    pub(crate) fn show(&mut self, text: &str) {
        if !self.wanted {
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        bar.set_message(text.to_owned());
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
