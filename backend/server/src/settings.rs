//! What can be set about the HTTP side.

use std::net::IpAddr;
use std::time::Duration;

use toolmark_domain::limits::BODY_READ_SECS;

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Where people reach the site, such as `https://registry.example`; used where an address must be absolute.
    pub public_url: Option<String>,
    /// Requests per client address; `None` is no limit.
    pub rate_limit: Option<RateLimit>,
    /// Addresses of reverse proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Client id that `mcp-publisher login github` asks `/health` for.
    pub github_client_id: Option<String>,
    /// Where security reports go, as a URI: `mailto:…` or `https://…`. Without it there is no `security.txt`.
    pub security_contact: Option<String>,
    /// Hosts under which `/mcp` may be asked, beside the public URL, addresses and this machine; `*` for any.
    pub mcp_hosts: Vec<String>,
    /// Origins of web pages that may ask `/mcp`, beside the public URL and this machine; `*` for any.
    pub mcp_origins: Vec<String>,
    /// Bytes the cache of lists may hold.
    pub list_cache_bytes: u64,
    /// Most connections at one time.
    pub connections: usize,
    /// Time a client has to send the head of a request, also between two requests of one connection.
    pub head_read: Duration,
    /// Time a client has to send a request body.
    pub body_read: Duration,
    /// Longest time for one answer.
    pub request_time: Duration,
    /// One log line per request.
    pub access_log: bool,
    /// What `/version` says.
    pub build: Build,
}

/// Which program this is.
#[derive(Clone, Debug)]
pub struct Build {
    pub version: String,
    pub git_commit: String,
    pub build_time: String,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_commit: "unknown".to_owned(),
            build_time: "unknown".to_owned(),
        }
    }
}

/// How many requests one address may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Sustained rate.
    pub per_minute: u32,
    /// How many may come at once.
    pub burst: u32,
}

impl RateLimit {
    /// So many a minute, all of which may come at once.
    pub fn per_minute(requests: u32) -> Self {
        Self {
            per_minute: requests,
            burst: requests,
        }
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            public_url: None,
            rate_limit: None,
            trusted_proxies: Vec::new(),
            github_client_id: None,
            security_contact: None,
            mcp_hosts: Vec::new(),
            mcp_origins: Vec::new(),
            list_cache_bytes: 32 * 1024 * 1024,
            connections: 4096,
            head_read: Duration::from_secs(30),
            body_read: Duration::from_secs(BODY_READ_SECS),
            request_time: Duration::from_mins(1),
            access_log: true,
            build: Build::default(),
        }
    }
}
