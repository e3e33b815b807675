//! Requests of a connection that have no response yet, and responses that are being written.
//!
//! A connection is complete once its input has ended and nothing is pending. Until then, the end of
//! the input is not reported to the service, since the service drops its running requests when the
//! transport ends.
//!
//! Invariants:
//! - a request ID is in `in_flight` from the moment its line is read until its response is handed
//!   over for writing, or until the client cancels it;
//! - `writes` counts the messages that were handed over and are not yet flushed.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::RequestId;
use tokio::sync::watch;

/// The state of one connection. Clones share it.
#[derive(Clone)]
pub(crate) struct PendingRequests(Arc<watch::Sender<PendingState>>);

#[derive(Default)]
struct PendingState {
    in_flight: HashSet<RequestId>,
    writes: usize,
    input_ended: bool,
    output_failed: bool,
}

impl PendingState {
    fn is_complete(&self) -> bool {
        // A closed output has no reader, so nothing is pending.
        self.output_failed || (self.input_ended && self.in_flight.is_empty() && self.writes == 0)
    }
}

impl PendingRequests {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(PendingState::default())))
    }

    /// Registers a request. Returns false if a request with this ID is already in flight.
    pub(crate) fn begin(&self, id: &RequestId) -> bool {
        let mut is_new = false;
        self.0.send_modify(|state| is_new = state.in_flight.insert(id.clone()));
        is_new
    }

    /// Removes a request that the client cancelled: it gets no response.
    pub(crate) fn cancel(&self, id: &RequestId) {
        self.0.send_modify(|state| {
            state.in_flight.remove(id);
        });
    }

    /// Registers a message for writing, and marks the request that it answers as answered. The ID
    /// is free from here on, since a client may reuse it as soon as it has read the response.
    pub(crate) fn begin_write(&self, answered: Option<&RequestId>) -> PendingWrite {
        self.0.send_modify(|state| {
            state.writes += 1;
            if let Some(id) = answered {
                state.in_flight.remove(id);
            }
        });
        PendingWrite(self.clone())
    }

    pub(crate) fn end_input(&self) {
        self.0.send_modify(|state| state.input_ended = true);
    }

    pub(crate) fn fail_output(&self) {
        self.0.send_modify(|state| state.output_failed = true);
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.0.borrow().is_complete()
    }

    /// Waits until the input has ended and every response is written, or the output is closed.
    pub(crate) async fn completed(&self) {
        // It cannot fail: the sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(PendingState::is_complete).await;
    }
}

/// A message that is being written, until it is dropped.
pub(crate) struct PendingWrite(PendingRequests);

impl Drop for PendingWrite {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.writes -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_is_complete_after_end_of_input_and_all_responses() {
        let pending = PendingRequests::new();
        let id = RequestId::Number(1);
        assert!(pending.begin(&id) && !pending.begin(&id));
        pending.end_input();
        assert!(!pending.is_complete(), "a request has no response");
        let write = pending.begin_write(Some(&id));
        assert!(!pending.is_complete(), "the response is not flushed");
        assert!(pending.begin(&id), "the ID can be reused");
        drop(write);
        assert!(!pending.is_complete(), "the second request has no response");
        pending.cancel(&id);
        assert!(pending.is_complete());
    }

    #[test]
    fn connection_with_closed_output_is_complete() {
        let pending = PendingRequests::new();
        assert!(pending.begin(&RequestId::Number(1)));
        pending.fail_output();
        assert!(pending.is_complete());
    }
}
