//! A running tool call: cancellation, progress, and notes for the result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Minimum time between progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of notes in a result.
const MAX_NOTES: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolProgress {
    pub done: u64,
    /// Unknown if `None`.
    pub total: Option<u64>,
    pub message: String,
}

/// What a tool sees of its call.
pub struct ToolCall {
    is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
    progress: Option<UnboundedSender<ToolProgress>>,
    last_report: Mutex<Option<Instant>>,
    notes: Mutex<Vec<String>>,
}

impl ToolCall {
    /// Whether the client has cancelled the call or disconnected.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }

    /// Reports progress, at most once per `PROGRESS_INTERVAL`.
    pub fn report_progress(&self, progress: ToolProgress) {
        let Some(sender) = &self.progress else { return };
        let mut last = self.last_report.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= PROGRESS_INTERVAL) {
            *last = Some(Instant::now());
            // The client may be gone.
            let _ = sender.send(progress);
        }
    }

    /// Adds a note, such as a warning, to the result.
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

/// Creates the call for a request, and a future that forwards its progress to the client. Dropping
/// the future cancels the call.
pub(crate) fn start_call(
    context: &RequestContext<RoleServer>,
) -> (impl Future<Output = ()> + Send + use<>, ToolCall) {
    let token = context.meta.get_progress_token();
    let (sender, mut receiver) = unbounded_channel::<ToolProgress>();
    let abandoned = Arc::new(AtomicBool::new(false));
    let (cancelled, dropped) = (context.ct.clone(), Arc::clone(&abandoned));
    let call = ToolCall {
        is_cancelled: Box::new(move || cancelled.is_cancelled() || dropped.load(Ordering::Relaxed)),
        progress: token.is_some().then_some(sender),
        last_report: Mutex::default(),
        notes: Mutex::default(),
    };
    let peer = context.peer.clone();
    let report = async move {
        let guard = CancelOnDrop(abandoned);
        let mut step = 0_u64;
        while let Some(progress) = receiver.recv().await {
            let Some(token) = &token else { continue };
            // The protocol requires that progress increases, whatever is counted.
            step = progress.done.max(step + 1);
            let message = sp_engine::hidden::mark(&progress.message).into_owned();
            let mut notification =
                ProgressNotificationParam::new(token.clone(), to_f64(step)).with_message(message);
            notification.total = progress.total.map(|total| to_f64(total.max(step)));
            // A closed connection is detected elsewhere.
            let _ = peer.notify_progress(notification).await;
        }
        std::mem::forget(guard);
    };
    (report, call)
}

/// Cancels a call when dropped.
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
