//! A call while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How often progress is told at the most.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// So many notes stand beside a result at the most.
const MAX_NOTES: usize = 50;

/// How far something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolProgress {
    /// How much is done.
    pub done: u64,
    /// How much there is, if that is known.
    pub total: Option<u64>,
    /// What is being done.
    pub message: String,
}

/// A call: whether it is still wanted, and who is told how far it is.
pub struct ToolCall {
    is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
    progress: Option<UnboundedSender<ToolProgress>>,
    last_report: Mutex<Option<Instant>>,
    notes: Mutex<Vec<String>>,
}

impl ToolCall {
    /// Whether nobody waits for the result any more.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }

    /// Tells how far it is, not too often.
    pub fn report_progress(&self, progress: ToolProgress) {
        let Some(sender) = &self.progress else { return };
        let mut last = self.last_report.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= PROGRESS_INTERVAL) {
            *last = Some(Instant::now());
            // Nobody may be listening any more.
            let _ = sender.send(progress);
        }
    }

    /// Notes something that belongs beside the result.
    pub fn add_note(&self, text: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES {
            notes.push(sp_engine::hidden::mark(text).into_owned());
        }
    }

    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A call for a request, and what passes its progress on until the call is over. When that is dropped, because
/// nobody waits any more, the call is given up.
pub(crate) fn start_call(
    context: &RequestContext<RoleServer>,
) -> (impl Future<Output = ()> + Send + use<>, ToolCall) {
    let token = context.meta.get_progress_token();
    let (sender, mut receiver) = unbounded_channel::<ToolProgress>();
    let given_up = Arc::new(AtomicBool::new(false));
    let (cancelled, dropped) = (context.ct.clone(), Arc::clone(&given_up));
    let call = ToolCall {
        is_cancelled: Box::new(move || cancelled.is_cancelled() || dropped.load(Ordering::Relaxed)),
        progress: token.is_some().then_some(sender),
        last_report: Mutex::default(),
        notes: Mutex::default(),
    };
    let peer = context.peer.clone();
    let report = async move {
        let guard = CancelOnDrop(given_up);
        let mut step = 0_u64;
        while let Some(progress) = receiver.recv().await {
            let Some(token) = &token else { continue };
            // It only ever grows, whatever is being counted.
            step = progress.done.max(step + 1);
            let message = sp_engine::hidden::mark(&progress.message).into_owned();
            let mut told =
                ProgressNotificationParam::new(token.clone(), to_f64(step)).with_message(message);
            told.total = progress.total.map(|total| to_f64(total.max(step)));
            // A client that hung up is noticed elsewhere.
            let _ = peer.notify_progress(told).await;
        }
        std::mem::forget(guard);
    };
    (report, call)
}

/// Gives a call up when it goes.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^52")]
fn to_f64(count: u64) -> f64 {
    count as f64
}
