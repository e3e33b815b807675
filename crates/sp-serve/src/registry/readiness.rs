//! Whether the registry can handle requests: `/readyz`.
//!
//! No limit applies to these requests, so they share one check of the database and of the object
//! store per second.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{Database, MetadataStore};
use crate::registry::object_store::ObjectStore;

/// How long a successful check is valid.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct ReadinessCheck {
    succeeded_at: Mutex<Option<Instant>>,
}

impl ReadinessCheck {
    pub(crate) async fn check(
        &self,
        metadata: &MetadataStore,
        objects: &ObjectStore,
    ) -> ApiResult<()> {
        let run = async {
            let mut succeeded_at = self.succeeded_at.lock().await;
            if !succeeded_at.is_some_and(|at| at.elapsed() < CHECK_INTERVAL) {
                *succeeded_at = None;
                metadata.with(Database::ping).await?;
                let objects = objects.clone();
                let pinged = tokio::task::spawn_blocking(move || objects.ping()).await;
                pinged.map_err(|_| ResponseError::internal())??;
                *succeeded_at = Some(Instant::now());
            }
            Ok(())
        };
        let checked = tokio::time::timeout(CHECK_TIMEOUT, run).await;
        checked.unwrap_or_else(|_| Err(ResponseError::unavailable()))
    }
}
