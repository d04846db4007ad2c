//! The outlines of servers, kept until the next event: all pages of a server with thousands of versions begin with
//! them, and reading and ordering them is most of the work.

use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;
use toolmark_domain::record::Outline;

use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

/// Outlines that are kept, of all servers together.
const KEPT: u64 = 100_000;

pub(crate) struct Outlines(Cache<(i64, String), Arc<Vec<Outline>>>);

impl Outlines {
    pub(crate) fn new() -> Self {
        let kept = Cache::builder()
            .weigher(|_, outlines: &Arc<Vec<Outline>>| u32::try_from(outlines.len() + 1).unwrap_or(u32::MAX))
            .max_capacity(KEPT)
            .time_to_idle(Duration::from_mins(10))
            .build();
        Self(kept)
    }
}

/// All versions of a server, the greatest first, deleted ones too; none when there is no such server.
pub(crate) async fn outlines(app: &App, name: &str) -> Result<Arc<Vec<Outline>>, Problem> {
    let head = app.lists.head(&app.registry).await;
    let head = head.map_err(|error| store_problem(&error))?;
    let read = async { app.registry.outlines(name).await.map(Arc::new) };
    let kept = app.outlines.0.try_get_with((head, name.to_owned()), read).await;
    kept.map_err(|error| store_problem(&error))
}
