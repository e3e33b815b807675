//! The open connections, and which of them is closed when there are too many.
//!
//! A client that opens too many connections loses its own first: the one that has been waiting for
//! the client the longest. So a client that stalls can never keep others, or new requests of its
//! own, from being answered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::address_range::{AddressRange, client_network};

/// Maximum number of open connections, if the process may open enough files.
const MAX_CONNECTIONS: usize = 4096;
/// Files that are not connections, such as the database.
const RESERVED_FILES: u64 = 128;
/// A connection, and the object that it downloads.
const FILES_PER_CONNECTION: u64 = 2;
/// Maximum number of open connections of one client address that is not a proxy.
const MAX_CONNECTIONS_PER_CLIENT: usize = 1024;

/// Numbers of connections, for metrics.
#[derive(Default)]
pub(crate) struct ConnectionCounts {
    pub open: AtomicU64,
    /// Closed because there were too many.
    pub evicted: AtomicU64,
    /// Closed because the client was too slow.
    pub stalled: AtomicU64,
}

/// A connection of a client.
pub(crate) struct Connection {
    opened_at: Instant,
    /// When a byte was last read or written, in milliseconds since `opened_at`.
    progress: AtomicU64,
    /// Whether the server is working on a request, so that the client has nothing to do.
    is_working: AtomicBool,
    close: Notify,
    counts: Arc<ConnectionCounts>,
}

impl Connection {
    pub(super) fn record_progress(&self) {
        let elapsed = self.opened_at.elapsed().as_millis();
        self.progress.store(u64::try_from(elapsed).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Records that the client was too slow.
    pub(crate) fn record_stall(&self) {
        self.counts.stalled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_working(&self, is_working: bool) {
        self.is_working.store(is_working, Ordering::Relaxed);
    }

    /// Returns how long nothing was read or written.
    fn idle_time(&self) -> Duration {
        let progress = Duration::from_millis(self.progress.load(Ordering::Relaxed));
        self.opened_at.elapsed().saturating_sub(progress)
    }

    fn is_waiting_for_client(&self) -> bool {
        !self.is_working.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct ConnectionTable {
    by_client: HashMap<IpAddr, Vec<Arc<Connection>>>,
    total: usize,
}

impl ConnectionTable {
    fn remove(&mut self, client: IpAddr, connection: &Arc<Connection>) {
        let Some(own) = self.by_client.get_mut(&client) else { return };
        let before = own.len();
        own.retain(|other| !Arc::ptr_eq(other, connection));
        self.total -= before - own.len();
        if own.is_empty() {
            self.by_client.remove(&client);
        }
    }

    /// Closes the connection of a client that has been idle the longest. Returns false if all of
    /// them are in use by the server.
    fn evict(&mut self, client: IpAddr) -> bool {
        let own = self.by_client.get(&client).map(Vec::as_slice).unwrap_or_default();
        let waiting = own.iter().filter(|connection| connection.is_waiting_for_client());
        let Some(connection) = waiting.max_by_key(|connection| connection.idle_time()).cloned()
        else {
            return false;
        };
        self.remove(client, &connection);
        connection.counts.evicted.fetch_add(1, Ordering::Relaxed);
        connection.close.notify_one();
        true
    }

    /// Evicts a connection of the client that has the most.
    fn evict_from_largest(&mut self) -> bool {
        let mut clients: Vec<(usize, IpAddr)> =
            self.by_client.iter().map(|(client, own)| (own.len(), *client)).collect();
        clients.sort_unstable_by(|a, b| b.cmp(a));
        clients.into_iter().any(|(_, client)| self.evict(client))
    }
}

/// All open connections of a server.
pub(super) struct OpenConnections {
    table: Mutex<ConnectionTable>,
    /// Proxies may open any number of connections.
    proxies: Vec<AddressRange>,
    max_connections: usize,
    counts: Arc<ConnectionCounts>,
}

impl OpenConnections {
    pub(super) fn new(
        proxies: Vec<AddressRange>,
        max_files: u64,
        counts: Arc<ConnectionCounts>,
    ) -> Self {
        let files = max_files.saturating_sub(RESERVED_FILES) / FILES_PER_CONNECTION;
        let max_connections =
            usize::try_from(files).map_or(MAX_CONNECTIONS, |files| files.clamp(1, MAX_CONNECTIONS));
        Self { table: Mutex::default(), proxies, max_connections, counts }
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. Returns `None` if there are too many, and none can be closed.
    pub(super) fn add(self: &Arc<Self>, peer: IpAddr) -> Option<OpenConnection> {
        let client = client_network(peer);
        let is_proxy = self.proxies.iter().any(|proxy| proxy.contains(peer));
        let mut table = self.table();
        let own = table.by_client.get(&client).map_or(0, Vec::len);
        let is_admitted = (is_proxy || own < MAX_CONNECTIONS_PER_CLIENT || table.evict(client))
            && (table.total < self.max_connections || table.evict_from_largest());
        if !is_admitted {
            return None;
        }
        let connection = Arc::new(Connection {
            opened_at: Instant::now(),
            progress: AtomicU64::new(0),
            is_working: AtomicBool::new(false),
            close: Notify::new(),
            counts: Arc::clone(&self.counts),
        });
        table.by_client.entry(client).or_default().push(Arc::clone(&connection));
        table.total += 1;
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        Some(OpenConnection { owner: Arc::clone(self), client, connection })
    }

    /// Closes a connection, if the process has no file descriptor left.
    pub(super) fn evict_any(&self) {
        self.table().evict_from_largest();
    }

    /// Closes connections whose clients have been idle for this long.
    pub(super) fn close_idle(&self, longer_than: Duration) {
        for connection in self.table().by_client.values().flatten() {
            if connection.is_waiting_for_client() && connection.idle_time() >= longer_than {
                connection.close.notify_one();
            }
        }
    }

    pub(super) fn close_all(&self) {
        self.table().by_client.values().flatten().for_each(|connection| {
            connection.close.notify_one();
        });
    }
}

/// An entry in the table. It is removed when this is dropped.
pub(super) struct OpenConnection {
    owner: Arc<OpenConnections>,
    client: IpAddr,
    pub connection: Arc<Connection>,
}

impl OpenConnection {
    /// Completes once the connection must be closed.
    pub(super) async fn closed(&self) {
        self.connection.close.notified().await;
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.owner.table().remove(self.client, &self.connection);
        self.owner.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(all: &Arc<OpenConnections>, peer: &str, count: usize) -> Vec<OpenConnection> {
        (0..count).filter_map(|_| all.add(peer.parse().unwrap())).collect()
    }

    fn table() -> Arc<OpenConnections> {
        let proxies = vec!["10.0.0.0/8".parse().unwrap()];
        Arc::new(OpenConnections::new(proxies, u64::MAX, Arc::default()))
    }

    #[test]
    fn rg_101_client_with_too_many_connections_loses_an_idle_one_of_its_own() {
        let all = table();
        let other = open(&all, "192.0.2.9", 1);
        let own = open(&all, "192.0.2.1", MAX_CONNECTIONS_PER_CLIENT);
        own.iter().skip(1).for_each(|open| open.connection.set_working(true));
        let next = open(&all, "192.0.2.1", 1);
        assert_eq!(next.len(), 1);
        next[0].connection.set_working(true);
        // All others are in use by the server.
        assert!(open(&all, "192.0.2.1", 1).is_empty());
        assert_eq!(all.counts.evicted.load(Ordering::Relaxed), 1);
        assert_eq!(open(&all, "192.0.2.2", 1).len() + other.len(), 2);
    }

    #[test]
    fn rg_101_full_server_closes_connections_of_the_largest_client() {
        let all = table();
        let small = open(&all, "192.0.2.9", 2);
        let large = open(&all, "10.1.1.1", MAX_CONNECTIONS - 2);
        assert_eq!(large.len(), MAX_CONNECTIONS - 2);
        assert_eq!(open(&all, "192.0.2.7", 5).len(), 5);
        let table = all.table();
        assert_eq!(table.by_client[&"192.0.2.9".parse::<IpAddr>().unwrap()].len(), small.len());
        assert!(table.total <= MAX_CONNECTIONS);
    }
}
