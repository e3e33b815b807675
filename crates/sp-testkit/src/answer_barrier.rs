//! Servers that answer only after all of them have been asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Holds the answers of several servers back until each of them has been asked. A client that asks
/// one after the other waits forever.
pub struct AnswerBarrier {
    servers: usize,
    /// How often each server was asked, by port.
    asked: Mutex<BTreeMap<u16, usize>>,
    all_asked: Condvar,
}

impl AnswerBarrier {
    pub fn new(servers: usize) -> Arc<Self> {
        Arc::new(Self { servers, asked: Mutex::default(), all_asked: Condvar::new() })
    }

    /// Counts a question, and waits until all servers have been asked.
    pub(crate) fn wait(&self, port: u16) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked.entry(port).or_default() += 1;
        self.all_asked.notify_all();
        let is_early = |asked: &mut BTreeMap<u16, usize>| asked.len() < self.servers;
        drop(self.all_asked.wait_while(asked, is_early));
    }

    /// Returns how often each server was asked.
    pub fn counts(&self) -> Vec<usize> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.values().copied().collect()
    }
}
