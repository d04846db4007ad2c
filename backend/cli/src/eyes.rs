//! The crawler as the registry knows it: joins the port `Crawl` with the looking of this program.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::OnceCell;
use toolmark_crawler::{Progress, Stage, placeholder};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::{Outcome, Snapshot};
use toolmark_domain::target::REMOTE;
use toolmark_registry::packages::Packages;
use toolmark_registry::{Crawl, CrawlRequest};

use crate::looking::{Looking, Target};
use crate::settings::Settings;

/// Looks at targets with the settings of this program.
pub(crate) struct Eyes {
    settings: Arc<Settings>,
    packages: OnceCell<Packages>,
    /// Who is told how far a look is.
    tell: Option<Box<dyn Fn(Stage) + Send + Sync>>,
}

impl Eyes {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            settings: Arc::new(settings.clone()),
            packages: OnceCell::new(),
            tell: None,
        }
    }

    /// Tells how far each look is.
    #[must_use]
    pub(crate) fn telling(mut self, tell: impl Fn(Stage) + Send + Sync + 'static) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    async fn see(&self, request: CrawlRequest) -> Snapshot {
        let text = request.target.text();
        let progress = match &self.tell {
            Some(tell) => Progress::to(tell.as_ref()),
            None => Progress::NONE,
        };
        let looking = Looking {
            settings: &self.settings,
            local: self.settings.policy.allow_local_remotes,
            bare: false,
            volatile: &request.known_volatile,
            packages: &self.packages,
            progress,
        };
        let Some(target) = given(&request) else {
            return Snapshot::failed(text, Outcome::NotObserved, Some(Reason::NoRunner.as_str()));
        };
        match looking.at(&target).await {
            Ok(mut snapshot) => {
                // The record names the target as the document does.
                snapshot.target = text;
                snapshot
            }
            Err(failure) => {
                let mut snapshot =
                    Snapshot::failed(text, Outcome::NotObserved, Some(Reason::NoRunner.as_str()));
                snapshot.look = serde_json::json!({ "words": failure.text() });
                snapshot
            }
        }
    }
}

/// The target with what its server is given.
fn given(request: &CrawlRequest) -> Option<Target> {
    if request.target.kind == REMOTE {
        let remote = placeholder::of_remote(&request.target)?;
        return Some(Target::Remote(remote));
    }
    let target = Target::parse(&request.target.text()).ok()?;
    match target {
        Target::Package { text, .. } => Some(Target::Package {
            text,
            given: placeholder::of_package(&request.target.declared),
        }),
        _ => None,
    }
}

impl Crawl for Eyes {
    fn look(&self, request: CrawlRequest) -> Pin<Box<dyn Future<Output = Snapshot> + Send + '_>> {
        Box::pin(self.see(request))
    }
}
