//! Why a call gave no answer. Messages name hosts, never whole URLs: paths and queries may hold secrets.

use std::net::IpAddr;
use std::time::Duration;

use http::StatusCode;
use url::Url;

use crate::address::AddressClass;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// What is wrong with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlFault {
    /// Only `https` is allowed here.
    NotHttps,
    /// Neither `http` nor `https`.
    NotHttp,
    /// A user name or password stands in it.
    Credentials,
    /// It names no host.
    NoHost,
}

impl UrlFault {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotHttps => "is not an https address",
            Self::NotHttp => "is not an http or https address",
            Self::Credentials => "holds a user name or password",
            Self::NoHost => "names no host",
        }
    }
}

/// Which part of a call took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Connect,
    FirstByte,
    /// The next piece of a download.
    Piece,
    Total,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::FirstByte => "no answer",
            Self::Piece => "nothing more",
            Self::Total => "no complete answer",
        }
    }
}

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the url {}", fault.as_str())]
    BadUrl { fault: UrlFault },
    #[error("`{host}` is at {address}, {}", class.as_str())]
    ForbiddenAddress {
        host: String,
        address: IpAddr,
        class: AddressClass,
    },
    #[error("cannot connect to `{host}`")]
    Connect { host: String, source: Source },
    #[error("{} from `{host}` within {after:?}", phase.as_str())]
    TimedOut {
        host: String,
        phase: Phase,
        after: Duration,
    },
    #[error("`{host}` broke off after {received} bytes")]
    Dropped {
        host: String,
        received: usize,
        source: Source,
    },
    #[error("the answer of `{host}` is larger than {limit} bytes")]
    TooLarge { host: String, limit: usize },
    #[error("the answer of `{host}` unpacks to more than {limit} times its size")]
    Expands { host: String, limit: usize },
    #[error("the answer of `{host}` is encoded as `{encoding}`, which was not asked for")]
    Encoding { host: String, encoding: String },
    #[error("the answer of `{host}` cannot be unpacked")]
    Corrupt { host: String, source: std::io::Error },
    #[error("`{host}` redirects more than {limit} times")]
    TooManyRedirects { host: String, limit: usize },
    #[error("`{host}` redirects to another origin, `{to}`")]
    RedirectElsewhere {
        host: String,
        to: String,
        /// The whole address, for a caller that may go there as to somebody else's; never printed.
        url: Box<Url>,
    },
    #[error("`{host}` redirects without a readable address")]
    BadRedirect { host: String },
    #[error("`{host}` answered {status}")]
    Status {
        host: String,
        status: StatusCode,
        /// How long the other side asks to wait.
        retry_after: Option<Duration>,
    },
    #[error("what was received cannot be kept")]
    Sink { source: std::io::Error },
    #[error("the http client cannot be set up")]
    Setup { source: Source },
}

impl Error {
    /// Whether the same call may succeed later without anyone changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::TimedOut { .. } | Self::Dropped { .. } | Self::Corrupt { .. } => {
                true
            }
            Self::Status { status, .. } => crate::retry::is_transient(*status),
            Self::BadUrl { .. }
            | Self::ForbiddenAddress { .. }
            | Self::TooLarge { .. }
            | Self::Expands { .. }
            | Self::Encoding { .. }
            | Self::TooManyRedirects { .. }
            | Self::RedirectElsewhere { .. }
            | Self::BadRedirect { .. }
            | Self::Sink { .. }
            | Self::Setup { .. } => false,
        }
    }
}
