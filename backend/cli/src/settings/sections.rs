//! The sections, in the order of the sample file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};

use serde_json::Value;
use toolmark_domain::limits;
use toolmark_domain::settings;
use toolmark_domain::settings::{Section, Setting};
use url::Url;

settings! {
    /// The web site and the API.
    pub(crate) struct ServerSettings in "server" {
        /// Address and port to listen on.
        listen: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
        /// The address under which others reach this registry, used in links and feeds.
        /// Unset: the listen address.
        public_url: Option<Url> = None, like "https://registry.example.com/";
        /// Address and port of the metrics, apart from the site. Unset: no metrics are served.
        metrics_listen: Option<SocketAddr> = None, like "127.0.0.1:9090";
        /// Reads one client may make in a minute; 0 means no limit.
        /// Unset: no limit on a loopback address, 600 elsewhere.
        read_rate_per_minute: Option<u32> = None, like "600";
        /// Seconds a client has to send the body of a request.
        body_timeout_secs: NonZeroU64 = NonZeroU64::new(limits::BODY_READ_SECS).unwrap_or(NonZeroU64::MIN);
        /// Addresses of reverse proxies whose `X-Forwarded-For` is believed.
        trusted_proxies: Vec<IpAddr> = Vec::new(), like "[\"10.0.0.1\"]";
        /// Most connections at one time.
        connections: NonZeroU32 = NonZeroU32::new(4096).unwrap_or(NonZeroU32::MIN);
        /// Bytes that prepared answers of lists may take in memory.
        list_cache_bytes: u64 = 48 * 1024 * 1024;
        /// Where reports of security problems go, a `mailto:` or `https:` address.
        /// Unset: there is no `security.txt`.
        security_contact: Option<Url> = None, like "mailto:security@example.com";
        /// The id of a GitHub OAuth app, which `mcp-publisher login github` asks for.
        github_client_id: Option<String> = None, like "Iv1.0123456789abcdef";
    }
}

settings! {
    /// Where the registry keeps what it knows.
    pub(crate) struct StoreSettings in "store" {
        /// The folder of the database, unless the setting below says otherwise.
        /// Relative to the working directory of the program.
        data_dir: String = "./toolmark-data".to_owned();
        /// The database: `sqlite:` and a file, or a PostgreSQL URL. Unset: `registry.db` in the data folder.
        /// A password is better kept in the environment, as `TOOLMARK_STORE__DATABASE_URL`.
        database_url: Option<String> = None, like "postgres://toolmark@db.example.com/toolmark";
        /// Where large pieces (received lists, evidence, artifacts) are kept: a folder, or `s3://BUCKET/PREFIX`, whose
        /// client reads `AWS_ENDPOINT`, `AWS_REGION`, `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
        /// Unset: `blobs` in the data folder.
        blobs_url: Option<String> = None, like "s3://toolmark/blobs";
        /// Connections that read (SQLite), or all connections (PostgreSQL).
        connections: NonZeroU32 = NonZeroU32::new(8).unwrap_or(NonZeroU32::MIN);
    }
}

settings! {
    /// The background jobs.
    pub(crate) struct JobSettings in "jobs" {
        /// Jobs one process does at one time.
        concurrency: NonZeroU32 = NonZeroU32::new(2).unwrap_or(NonZeroU32::MIN);
        /// Whether this process looks at servers: runs their packages in a sandbox, and asks their remotes.
        crawl: bool = true;
    }
}

settings! {
    /// Finding tools.
    pub(crate) struct SearchSettings in "search" {
        /// How tools are ranked: `default`, or `lexical`, which uses no table of word meanings.
        mode: RankingMode = RankingMode::Default;
    }
}

settings! {
    /// The MCP endpoint, `/mcp`.
    pub(crate) struct McpSettings in "mcp" {
        /// Hosts under which it may be asked, beside the public address, numbers and this machine; `*` for any.
        hosts: Vec<String> = Vec::new(), like "[\"registry.internal\"]";
        /// Origins of web pages that may ask it, beside the public address and this machine; `*` for any.
        origins: Vec<String> = Vec::new(), like "[\"https://app.example.com\"]";
    }
}

settings! {
    /// Who may log in, and how.
    pub(crate) struct AuthSettings in "auth" {
        /// Lets anyone publish under `io.modelcontextprotocol.anonymous/` and log in for development.
        /// Refused unless the listener is a loopback address.
        dev: bool = false;
    }
}

settings! {
    /// What this registry accepts.
    pub(crate) struct PolicySettings in "policy" {
        /// Namespaces nobody may publish to.
        blocked_namespaces: Vec<String> = Vec::new(), like "[\"com.example.spam\"]";
        /// Whether a remote may have a local or private address; only for a registry inside one network.
        allow_local_remotes: bool = false;
    }
}

settings! {
    /// Taking over entries of another registry.
    pub(crate) struct ImportSettings in "import" {
        /// The registry that `import official` reads.
        base_url: Url = Url::parse("https://registry.modelcontextprotocol.io/").expect("a constant URL parses");
    }
}

settings! {
    /// Where packages come from. What is unset is asked of the package clients on this machine.
    pub(crate) struct PackagesSettings in "packages" {
        /// The npm registry. Unset: what `npm config get registry` says.
        npm: Option<Url> = None, like "https://npm.example.com/";
        /// The public address of that registry, as publish attestations name it.
        /// Unset: the name in an attestation is not compared.
        npm_canonical: Option<String> = None, like "https://npm.example.com/";
        /// The Python index with the simple interface. Unset: what pip is configured with.
        pypi: Option<Url> = None, like "https://pypi.example.com/simple/";
        /// The sparse index of crates. Unset: what cargo is configured with.
        cargo: Option<Url> = None, like "https://crates.example.com/index/";
        /// The service index of a NuGet registry. Unset: none is asked.
        nuget: Option<Url> = None, like "https://nuget.example.com/v3/index.json";
        /// Image registries that are reached at another address than their name: `NAME=URL`.
        oci: Vec<String> = Vec::new(), like "[\"images.example.com=https://mirror.example.com/\"]";
        /// The API of the forge that serves releases and attestations.
        github_api: Url = Url::parse("https://api.github.com/").expect("a constant URL parses");
        /// A token for that API; without one it answers few questions an hour.
        github_token: Option<String> [secret] = None, like "ghp_0123456789";
        /// Whether npm, pip and cargo are asked for their settings.
        ask_clients: bool = true;
    }
}

settings! {
    /// How the provenance of packages is checked.
    pub(crate) struct ProvenanceSettings in "provenance" {
        /// Whether the background jobs ask for artifacts and evidence and check them.
        check: bool = true;
        /// Files of trusted roots beside the built-in ones.
        trusted_roots: Vec<String> = Vec::new(), like "[\"trusted_root.json\"]";
        /// A file with the signing keys of the npm registry, in place of the built-in list.
        npm_keys: Option<String> = None, like "npm-keys.json";
        /// Owners, as `https://github.com/OWNER`, whose workflows may build for others without a note.
        builder_owners: Vec<String> = Vec::new(), like "[\"https://github.com/acme\"]";
    }
}

settings! {
    /// Alerts: webhooks and mail.
    pub(crate) struct AlertSettings in "alerts" {
        /// Addresses that webhooks may reach although they are not public, by plain http too.
        trusted_addresses: Vec<IpAddr> = Vec::new(), like "[\"10.0.0.5\"]";
        /// Days after which an endpoint that never takes anything is paused; its messages are kept.
        pause_after_days: NonZeroU32 = NonZeroU32::new(3).unwrap_or(NonZeroU32::MIN);
        /// The mail server. Unset: no mail is sent.
        smtp_host: Option<String> = None, like "smtp.example.com";
        /// Its port.
        smtp_port: u16 = 587;
        /// How the connection is kept private: `starttls`, `implicit` (usually port 465), or `none` for a relay on
        /// this machine.
        smtp_tls: SmtpTls = SmtpTls::StartTls;
        /// The user name at the mail server. Unset: no login.
        smtp_user: Option<String> = None, like "toolmark";
        /// Its password; better kept in the environment, as `TOOLMARK_ALERTS__SMTP_PASSWORD`.
        smtp_password: Option<String> [secret] = None, like "correct horse";
        /// Who mail is from.
        mail_from: String = "Toolmark <toolmark@localhost>".to_owned();
    }
}

/// How the connection to the mail server is kept private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SmtpTls {
    StartTls,
    Implicit,
    None,
}

impl Setting for SmtpTls {
    const EXPECTED: &'static str = "\"starttls\", \"implicit\" or \"none\"";

    fn from_value(value: &Value) -> Option<Self> {
        Self::from_text(value.as_str()?)
    }

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "starttls" => Some(Self::StartTls),
            "implicit" => Some(Self::Implicit),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::from(match self {
            Self::StartTls => "starttls",
            Self::Implicit => "implicit",
            Self::None => "none",
        })
    }
}

settings! {
    /// What the program writes to standard error.
    pub(crate) struct LogSettings in "log" {
        /// Least level, or a list of `module=level`: error, warn, info, debug, trace.
        level: String = "info".to_owned();
        /// `text` for people, `json` for machines, one object a line.
        format: LogFormat = LogFormat::Text;
        /// Whether each request is logged.
        requests: bool = true;
    }
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankingMode {
    Default,
    Lexical,
}

impl Setting for RankingMode {
    const EXPECTED: &'static str = "\"default\" or \"lexical\"";

    fn from_value(value: &Value) -> Option<Self> {
        Self::from_text(value.as_str()?)
    }

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "default" => Some(Self::Default),
            "lexical" => Some(Self::Lexical),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::from(match self {
            Self::Default => "default",
            Self::Lexical => "lexical",
        })
    }
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Setting for LogFormat {
    const EXPECTED: &'static str = "\"text\" or \"json\"";

    fn from_value(value: &Value) -> Option<Self> {
        Self::from_text(value.as_str()?)
    }

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::from(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// Every setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) server: ServerSettings,
    pub(crate) store: StoreSettings,
    pub(crate) jobs: JobSettings,
    pub(crate) search: SearchSettings,
    pub(crate) mcp: McpSettings,
    pub(crate) auth: AuthSettings,
    pub(crate) policy: PolicySettings,
    pub(crate) import: ImportSettings,
    pub(crate) packages: PackagesSettings,
    pub(crate) provenance: ProvenanceSettings,
    pub(crate) alerts: AlertSettings,
    pub(crate) log: LogSettings,
}

impl Settings {
    /// The sections, in the order of the sample file. A new section is added here and in [`Self::sections_mut`].
    pub(crate) fn sections(&self) -> [&dyn Section; 12] {
        [
            &self.server,
            &self.store,
            &self.jobs,
            &self.search,
            &self.mcp,
            &self.auth,
            &self.policy,
            &self.import,
            &self.packages,
            &self.provenance,
            &self.alerts,
            &self.log,
        ]
    }

    /// The same sections, to be filled.
    pub(crate) fn sections_mut(&mut self) -> [&mut dyn Section; 12] {
        [
            &mut self.server,
            &mut self.store,
            &mut self.jobs,
            &mut self.search,
            &mut self.mcp,
            &mut self.auth,
            &mut self.policy,
            &mut self.import,
            &mut self.packages,
            &mut self.provenance,
            &mut self.alerts,
            &mut self.log,
        ]
    }
}
