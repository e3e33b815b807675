//! Metrics for Prometheus. Labels contain route patterns and never paths, so their number is
//! bounded.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::connections::ConnectionCounts;
use crate::registry::metadata::DatabaseCounts;
use crate::registry::object_store::ObjectStore;

/// The routes whose bytes are counted.
const VERSION_ROUTE: &str = "/api/v1/packages/{ns}/{name}/{version}";
const DOWNLOAD_ROUTE: &str = "/api/v1/packages/{ns}/{name}/{version}/download";
/// In seconds.
const DURATION_BUCKETS: [f64; 10] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    method: String,
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabel {
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

pub(crate) struct RegistryMetrics {
    registry: Registry,
    connections: ConnectionMetrics,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabel, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    damaged_objects: Gauge,
    stores: StoreMetrics,
    refusals: Family<CodeLabel, Counter>,
    publishes: Counter,
    downloads: Counter,
    published_bytes: Counter,
    downloaded_bytes: Counter,
}

pub(super) struct FinishedRequest<'a> {
    pub route: &'a str,
    pub method: &'a str,
    pub status: u16,
    pub duration: Duration,
    /// Sizes of the request body and of the response body.
    pub bytes_in_out: (u64, u64),
}

impl RegistryMetrics {
    pub(crate) fn new(connections: Arc<ConnectionCounts>) -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("sp"),
            connections: ConnectionMetrics::new(connections),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            in_flight: Gauge::default(),
            damaged_objects: Gauge::default(),
            stores: StoreMetrics::default(),
            refusals: Family::default(),
            publishes: Counter::default(),
            downloads: Counter::default(),
            published_bytes: Counter::default(),
            downloaded_bytes: Counter::default(),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "requests",
            "Requests by route, method and status class",
            metrics.requests.clone(),
        );
        registry.register(
            "request_seconds",
            "Request duration in seconds",
            metrics.durations.clone(),
        );
        registry.register("in_flight", "Requests in progress", metrics.in_flight.clone());
        metrics.connections.register(registry);
        registry.register(
            "damaged_objects",
            "Objects whose digest did not match",
            metrics.damaged_objects.clone(),
        );
        metrics.stores.register(registry);
        registry.register("refusals", "Error responses by their code", metrics.refusals.clone());
        registry.register("publishes", "Published versions", metrics.publishes.clone());
        registry.register("downloads", "Downloaded versions", metrics.downloads.clone());
        registry.register(
            "published_bytes",
            "Bytes of published versions",
            metrics.published_bytes.clone(),
        );
        registry.register(
            "downloaded_bytes",
            "Bytes of downloaded versions",
            metrics.downloaded_bytes.clone(),
        );
        metrics
    }

    pub(super) fn request_started(&self) {
        self.in_flight.inc();
    }

    /// Counts an error response. Codes come from our source, so their number is bounded.
    pub(super) fn request_refused(&self, code: &str) {
        self.refusals.get_or_create(&CodeLabel { code: code.into() }).inc();
    }

    pub(super) fn request_finished(&self, ended: &FinishedRequest<'_>) {
        self.in_flight.dec();
        let labels = RequestLabels {
            route: ended.route.into(),
            method: ended.method.into(),
            status: status_class(ended.status).into(),
        };
        self.requests.get_or_create(&labels).inc();
        self.durations
            .get_or_create(&RouteLabel { route: ended.route.into() })
            .observe(ended.duration.as_secs_f64());
        match (ended.route, ended.method, ended.status) {
            (VERSION_ROUTE, "PUT", 201) => {
                self.publishes.inc();
                self.published_bytes.inc_by(ended.bytes_in_out.0);
            }
            (DOWNLOAD_ROUTE, "GET", 200) => {
                self.downloads.inc();
                self.downloaded_bytes.inc_by(ended.bytes_in_out.1);
            }
            _ => {}
        }
    }

    /// Encodes the metrics in the OpenMetrics text format.
    pub(crate) fn encode_text(&self, objects: &ObjectStore, database: &DatabaseCounts) -> String {
        set(&self.damaged_objects, objects.damaged_count());
        self.stores.update(objects, database);
        self.connections.update();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

fn set(gauge: &Gauge, count: u64) {
    gauge.set(count.try_into().unwrap_or(i64::MAX));
}

/// Copies of the numbers that the database and the object store count.
#[derive(Default)]
struct StoreMetrics {
    database_operations: Gauge,
    database_failures: Gauge,
    storage_operations: Gauge,
    storage_failures: Gauge,
}

impl StoreMetrics {
    fn register(&self, registry: &mut Registry) {
        for (name, help, gauge) in [
            ("database_operations", "Queries and transactions", &self.database_operations),
            ("database_failures", "Queries and transactions that failed", &self.database_failures),
            ("storage_operations", "Operations on the object storage", &self.storage_operations),
            (
                "storage_failures",
                "Operations that failed because the object storage was not available",
                &self.storage_failures,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    fn update(&self, objects: &ObjectStore, database: &DatabaseCounts) {
        let storage = objects.counts();
        set(&self.storage_operations, storage.operations);
        set(&self.storage_failures, storage.failures);
        set(&self.database_operations, database.operations.load(Ordering::Relaxed));
        set(&self.database_failures, database.failures.load(Ordering::Relaxed));
    }
}

/// Copies of the numbers that the server counts.
struct ConnectionMetrics {
    counts: Arc<ConnectionCounts>,
    open: Gauge,
    evicted: Gauge,
    stalled: Gauge,
}

impl ConnectionMetrics {
    fn new(counts: Arc<ConnectionCounts>) -> Self {
        Self {
            counts,
            open: Gauge::default(),
            evicted: Gauge::default(),
            stalled: Gauge::default(),
        }
    }

    fn register(&self, registry: &mut Registry) {
        for (name, help, gauge) in [
            ("connections", "Open connections", &self.open),
            ("evicted_connections", "Connections closed since there were too many", &self.evicted),
            ("stalled_clients", "Clients that were disconnected for being slow", &self.stalled),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    fn update(&self) {
        for (gauge, count) in [
            (&self.open, &self.counts.open),
            (&self.evicted, &self.counts.evicted),
            (&self.stalled, &self.counts.stalled),
        ] {
            gauge.set(count.load(Ordering::Relaxed).try_into().unwrap_or(i64::MAX));
        }
    }
}

/// `none` if the client disconnected before the response.
fn status_class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "none",
    }
}

/// Maps unknown methods to one label, so that the number of labels is bounded.
pub(super) fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER")
}
