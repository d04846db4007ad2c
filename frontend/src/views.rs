//! One struct per page. Each gives its HTML (a template of the same name) and its `.json` twin.

mod api;
mod changes;
mod diff;
mod doc;
mod error;
mod home;
mod provenance;
mod publisher;
mod reader;
mod rows;
mod search;
mod server;
mod stats;
mod status;
mod targets;
mod tools;
mod versions;

pub use api::{ApiView, Operation, Parameter};
pub use changes::{Change, ChangeRow, ChangesView, Mark, Timeline};
pub use diff::{DiffView, Side, SideRow, StepRow};
pub use doc::{DocEntry, DocView};
pub use error::ErrorView;
pub use home::HomeView;
pub use provenance::{Check, ProvenanceView};
pub use publisher::PublisherView;
pub use reader::ReaderView;
pub use rows::{Moment, ServerRow, VersionRow, vouched};
pub use search::{FacetView, FoundTools, SearchView, SearchWords, ToolGroup, ToolRowView};
pub use server::{FormFinding, ServerView, StatusLine, Unchecked};
pub use stats::{Bar, StatsView};
pub use status::{InstanceStatus, StatusView};
pub use targets::{PackageRow, RemoteRow, SettingRow};
pub use tools::{Declared, Look, LookRow, ToolHistory, ToolView, ToolsPart, ToolsView};
pub use versions::VersionsView;

/// What all pages of one instance share.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// Where the instance is reached, without a final slash, for canonical links. `None`: no such links.
    pub public_url: Option<String>,
}

/// The parts of a page around its own content.
#[derive(Clone, Debug)]
pub struct Head {
    /// Without the name of the site.
    pub title: String,
    /// One sentence for search engines and previews.
    pub description: String,
    /// Path of this page, as in canonical links.
    pub path: String,
    /// Path of the JSON twin.
    pub json: Option<String>,
    /// What stands in the search box of the page's header; the home and search pages have their own box.
    pub search_box: bool,
    /// Whether search engines may keep the page.
    pub indexed: bool,
    public_url: Option<String>,
}

impl Head {
    fn new(site: &Site, path: String, title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: "A public registry of MCP servers: what is listed, who vouches for it, and when."
                .to_owned(),
            path,
            json: None,
            search_box: true,
            indexed: true,
            public_url: site.public_url.clone(),
        }
    }

    fn with_twin(mut self) -> Self {
        self.json = Some(crate::paths::twin(&self.path));
        self
    }

    /// The full address of this page, when the instance knows its own.
    pub fn canonical(&self) -> Option<String> {
        let base = self.public_url.as_deref()?;
        Some(format!("{}{}", base.trim_end_matches('/'), self.path))
    }

    /// Address of the style sheet.
    pub fn css(&self) -> &'static str {
        crate::assets::css().path
    }

    /// Address of the script.
    pub fn js(&self) -> &'static str {
        crate::assets::js().path
    }

    /// Address of the icon.
    pub fn icon(&self) -> &'static str {
        crate::assets::icon().path
    }
}
