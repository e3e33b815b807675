//! Decides when a request is worked on.
//!
//! ```text
//! request ─▶ slot ─▶ handler ─▶ body missing: no slot ─▶ body complete: slot ─▶ response
//! ```
//!
//! A server works on a limited number of requests, and only on those that do not wait for their
//! client: while a body is incomplete, its request has no slot. A client that sends its body too
//! slowly gets an error. The time limit of a request does not include the time to receive its body.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State as Extracted};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::address_range::client_network;
use crate::connections::{Connection, PeerAddr, TransferClock, TransferLimits};

/// Above this number of clients, those without requests are forgotten.
const MAX_IDLE_CLIENTS: usize = 1024;

/// The address of the client behind trusted proxies, as a request extension.
#[derive(Clone, Copy)]
pub(crate) struct ClientAddr(pub IpAddr);

/// Why a request was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateRefusal {
    /// The body arrived too slowly.
    SlowBody,
    /// The request took too long.
    TimedOut,
}

/// Limits on requests. Others wait for their turn.
#[derive(Clone, Copy)]
pub(crate) struct GateLimits {
    /// Maximum number of requests that are worked on.
    pub concurrent: usize,
    /// The same for one client.
    pub concurrent_per_client: usize,
    /// Maximum duration of a request, without the time to receive its body.
    pub timeout: Duration,
}

pub(crate) struct RequestGate {
    limits: GateLimits,
    slots: Arc<Semaphore>,
    clients: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
    refuse: fn(GateRefusal) -> Response,
}

impl RequestGate {
    pub(crate) fn new(limits: GateLimits, refuse: fn(GateRefusal) -> Response) -> Self {
        let slots = Arc::new(Semaphore::new(limits.concurrent));
        Self { limits, slots, clients: Mutex::default(), refuse }
    }

    /// Returns the slots of a client.
    fn client_slots(&self, client: IpAddr) -> Arc<Semaphore> {
        let mut clients = lock(&self.clients);
        if clients.len() > MAX_IDLE_CLIENTS {
            clients.retain(|_, slots| Arc::strong_count(slots) > 1);
        }
        let new = || Arc::new(Semaphore::new(self.limits.concurrent_per_client));
        Arc::clone(clients.entry(client_network(client)).or_insert_with(new))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a request through when it is its turn.
pub(crate) async fn admit_request(
    Extracted(gate): Extracted<Arc<RequestGate>>,
    request: Request,
    next: Next,
) -> Response {
    let turn = Arc::new(RequestTurn::new(&gate, &request));
    let waiting = Arc::clone(&turn);
    let request = request.map(|body| Body::new(ReceivedBody::new(body, waiting)));
    let handled = async {
        turn.begin().await;
        next.run(request).await
    };
    let response = turn.limit_time(handled).await;
    turn.finish();
    let refusal = if turn.is_too_slow.load(Ordering::Relaxed) {
        GateRefusal::SlowBody
    } else {
        match response {
            Some(response) => return response,
            None => GateRefusal::TimedOut,
        }
    };
    let mut response = (gate.refuse)(refusal);
    // The rest of the request must not be read as the next one.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A request, and whether it is worked on.
struct RequestTurn {
    gate: Arc<RequestGate>,
    client_slots: Option<Arc<Semaphore>>,
    connection: Option<Arc<Connection>>,
    slots: Mutex<Vec<OwnedSemaphorePermit>>,
    body_wait: Mutex<BodyWait>,
    is_too_slow: AtomicBool,
}

/// The time that a request has waited for its body.
#[derive(Default)]
struct BodyWait {
    total: Duration,
    since: Option<Instant>,
}

impl RequestTurn {
    fn new(gate: &Arc<RequestGate>, request: &Request) -> Self {
        let extensions = request.extensions();
        let client = extensions
            .get::<ClientAddr>()
            .map(|client| client.0)
            .or_else(|| extensions.get::<PeerAddr>().map(|peer| peer.0.ip()));
        Self {
            gate: Arc::clone(gate),
            client_slots: client.map(|client| gate.client_slots(client)),
            connection: extensions.get::<Arc<Connection>>().cloned(),
            slots: Mutex::default(),
            body_wait: Mutex::default(),
            is_too_slow: AtomicBool::new(false),
        }
    }

    /// Waits for a slot.
    async fn begin(&self) {
        self.set_working(true);
        let mut taken = Vec::with_capacity(2);
        // The semaphores are never closed.
        if let Some(own) = &self.client_slots {
            taken.extend(Arc::clone(own).acquire_owned().await);
        }
        taken.extend(Arc::clone(&self.gate.slots).acquire_owned().await);
        *lock(&self.slots) = taken;
    }

    /// Returns the slot while the body is incomplete.
    fn pause(&self) {
        let mut wait = lock(&self.body_wait);
        if wait.since.is_none() {
            wait.since = Some(Instant::now());
            lock(&self.slots).clear();
            self.set_working(false);
        }
    }

    /// Takes a slot again once the body is complete.
    async fn resume(self: Arc<Self>) {
        self.stop_waiting();
        self.begin().await;
    }

    fn stop_waiting(&self) {
        let mut wait = lock(&self.body_wait);
        let waited = wait.since.take().map(|since| since.elapsed());
        wait.total += waited.unwrap_or_default();
    }

    fn is_paused(&self) -> bool {
        lock(&self.body_wait).since.is_some()
    }

    fn finish(&self) {
        lock(&self.slots).clear();
    }

    fn set_working(&self, is_working: bool) {
        if let Some(connection) = &self.connection {
            connection.set_working(is_working);
        }
    }

    fn record_slow_body(&self) {
        self.is_too_slow.store(true, Ordering::Relaxed);
        if let Some(connection) = &self.connection {
            connection.record_stall();
        }
    }

    fn body_time(&self) -> Duration {
        let wait = lock(&self.body_wait);
        wait.total + wait.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Runs `work`; `None` if it takes too long, without the time to receive the body.
    async fn limit_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let started = Instant::now();
        tokio::pin!(work);
        loop {
            let deadline = started + self.gate.limits.timeout + self.body_time();
            tokio::select! {
                done = &mut work => return Some(done),
                () = tokio::time::sleep_until(deadline) => {}
            }
            if started.elapsed() >= self.gate.limits.timeout + self.body_time() {
                return None;
            }
        }
    }
}

type ResumeFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request body that must arrive in time.
struct ReceivedBody {
    inner: Body,
    turn: Arc<RequestTurn>,
    clock: TransferClock,
    /// Waits for a slot after the last piece.
    resuming: Option<ResumeFuture>,
    is_complete: bool,
}

impl ReceivedBody {
    fn new(inner: Body, turn: Arc<RequestTurn>) -> Self {
        let limits = TransferLimits::for_timeout(turn.gate.limits.timeout);
        let clock = TransferClock::new(limits);
        Self { inner, turn, clock, resuming: None, is_complete: false }
    }
}

impl Drop for ReceivedBody {
    /// A handler need not read the whole body.
    fn drop(&mut self) {
        self.turn.stop_waiting();
    }
}

impl HttpBody for ReceivedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while !self.is_complete {
            match Pin::new(&mut self.inner).poll_frame(cx) {
                Poll::Ready(Some(frame)) => {
                    let bytes = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
                    self.clock.advance(bytes);
                    return Poll::Ready(Some(frame));
                }
                Poll::Ready(None) => {
                    self.is_complete = true;
                    if self.turn.is_paused() {
                        self.resuming = Some(Box::pin(Arc::clone(&self.turn).resume()));
                    }
                }
                Poll::Pending => {
                    self.turn.pause();
                    ready!(self.clock.poll_expired(cx));
                    self.turn.record_slow_body();
                    let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
                    return Poll::Ready(Some(Err(axum::Error::new(error))));
                }
            }
        }
        if let Some(resuming) = &mut self.resuming {
            ready!(resuming.as_mut().poll(cx));
            self.resuming = None;
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream() && !self.turn.is_paused() && self.resuming.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
