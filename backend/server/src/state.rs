//! What every handler has at hand.

use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::Registry;

use crate::lists::Lists;
use crate::metrics::Metrics;
use crate::middleware::{Limiter, RequestIds};
use crate::observed::Declarations;
use crate::outlines::Outlines;
use crate::settings::ServerSettings;

/// The state of the server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) registry: Registry,
    pub(crate) settings: ServerSettings,
    pub(crate) lists: Lists,
    pub(crate) declarations: Declarations,
    pub(crate) outlines: Outlines,
    pub(crate) metrics: Metrics,
    pub(crate) limiter: Option<Limiter>,
    pub(crate) request_ids: RequestIds,
    pub(crate) started_at: Timestamp,
    /// Cancelled when the server stops: whoever waits for news stops waiting.
    pub(crate) stopping: CancellationToken,
}

impl App {
    pub(crate) fn new(registry: Registry, settings: ServerSettings) -> Self {
        let limiter = settings
            .rate_limit
            .map(|rate| Limiter::new(rate, &settings.trusted_proxies));
        Self(Arc::new(Inner {
            lists: Lists::new(settings.list_cache_bytes),
            declarations: Declarations::new(),
            outlines: Outlines::new(),
            metrics: Metrics::new(),
            limiter,
            request_ids: RequestIds::new(),
            started_at: registry.now(),
            stopping: CancellationToken::new(),
            registry,
            settings,
        }))
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
