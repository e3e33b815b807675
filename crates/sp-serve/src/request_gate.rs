//! Decides when a request is worked on.
//!
//! ```text
//! request ─▶ slot ─▶ handler ─▶ body missing: no slot ─▶ body complete: slot ─▶ response
//! ```
//!
//! A server works on a limited number of requests, and only on those that do not wait for their
//! client: while a body is incomplete, its request has no slot. A client that sends its body too
//! slowly gets an error. The time limit of a request includes neither the time to receive its body
//! nor that of [`UncountedWork`].

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
    /// Maximum duration of a request, without the time that does not count.
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
    let mut request = request.map(|body| Body::new(ReceivedBody::new(body, waiting)));
    request.extensions_mut().insert(RequestTimer(Arc::clone(&turn)));
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
    body_wait: Mutex<UncountedTime>,
    work: Mutex<UncountedTime>,
    is_too_slow: AtomicBool,
}

/// A time that does not count toward the limit of a request.
#[derive(Default)]
struct UncountedTime {
    total: Duration,
    since: Option<Instant>,
}

impl UncountedTime {
    fn begin(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.total += self.since.take().map(|since| since.elapsed()).unwrap_or_default();
    }

    fn elapsed(&self) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// The time limit of a request, as a request extension.
#[derive(Clone)]
pub(crate) struct RequestTimer(Arc<RequestTurn>);

impl RequestTimer {
    /// Begins work whose duration depends on what the client sent, and has limits of its own.
    pub(crate) fn begin_uncounted_work(&self) -> UncountedWork {
        lock(&self.0.work).begin();
        UncountedWork(Arc::clone(&self.0))
    }
}

/// Work that does not count toward the time limit of its request, until this is dropped.
pub(crate) struct UncountedWork(Arc<RequestTurn>);

impl Drop for UncountedWork {
    fn drop(&mut self) {
        lock(&self.0.work).end();
    }
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
            work: Mutex::default(),
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
            wait.begin();
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
        lock(&self.body_wait).end();
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

    fn uncounted_time(&self) -> Duration {
        lock(&self.body_wait).elapsed() + lock(&self.work).elapsed()
    }

    /// Runs `work`; `None` if it takes too long, without the time that does not count.
    async fn limit_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let started = Instant::now();
        tokio::pin!(work);
        loop {
            let deadline = started + self.gate.limits.timeout + self.uncounted_time();
            tokio::select! {
                done = &mut work => return Some(done),
                () = tokio::time::sleep_until(deadline) => {}
            }
            if started.elapsed() >= self.gate.limits.timeout + self.uncounted_time() {
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

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::response::IntoResponse as _;
    use axum::routing::get;
    use axum::{Extension, http::StatusCode};
    use tower::ServiceExt as _;

    use super::*;

    /// Far longer than what counts, even on a busy machine.
    const TIMEOUT: Duration = Duration::from_secs(1);

    async fn work(Extension(timer): Extension<RequestTimer>) -> &'static str {
        let uncounted = timer.begin_uncounted_work();
        tokio::time::sleep(TIMEOUT + TIMEOUT / 4).await;
        drop(uncounted);
        "done"
    }

    async fn work_forever(Extension(timer): Extension<RequestTimer>) {
        drop(timer.begin_uncounted_work());
        std::future::pending::<()>().await;
    }

    #[test]
    fn rg_101_uncounted_work_is_not_limited_and_everything_else_is() {
        let limits = GateLimits { concurrent: 1, concurrent_per_client: 1, timeout: TIMEOUT };
        let gate = RequestGate::new(limits, |_| StatusCode::REQUEST_TIMEOUT.into_response());
        let app = Router::new()
            .route("/work", get(work))
            .route("/forever", get(work_forever))
            .layer(from_fn_with_state(Arc::new(gate), admit_request));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let status = |path: &str| {
            let request = Request::get(path).body(Body::empty()).unwrap();
            runtime.block_on(app.clone().oneshot(request)).unwrap().status()
        };
        assert_eq!(status("/forever"), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(status("/work"), StatusCode::OK);
    }
}
