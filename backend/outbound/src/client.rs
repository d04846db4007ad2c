//! The client: one call is one request, its redirects and its retries, all within the caller's caps.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::dns::Resolve;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::debug;
use url::{Host, Url};

use crate::address::{Forbidden, Guard, GuardedResolver, SystemResolver};
use crate::body::{self, Body, Receive};
use crate::caps::{Caps, Retry};
use crate::error::{Error, Phase, UrlFault};
use crate::retry::{self, Pace, SystemPace};

const USER_AGENT: &str = concat!("toolmark/", env!("CARGO_PKG_VERSION"));

/// How long a connection without a request is kept.
const IDLE: Duration = Duration::from_secs(5);

/// Whose address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Somebody else's: https only, public addresses only, every redirect checked again.
    Public,
    /// The operator's own setting: http and any address, redirects only within the same origin.
    Configured,
}

/// What holds for all calls.
pub struct Settings {
    /// Longest wait for a connection.
    pub connect: Duration,
    /// A proxy for [`Policy::Configured`]. [`Policy::Public`] always connects by itself: behind a proxy the address
    /// that was checked would not be the one connected to. Proxies set in the environment are not used.
    pub proxy: Option<Url>,
    /// Addresses that [`Policy::Public`] may reach although they are not public, for private use. A URL that names
    /// one of them by number may also be plain http.
    pub trusted: Vec<IpAddr>,
    /// Time and chance.
    pub pace: Arc<dyn Pace>,
}

impl Settings {
    /// No proxy, no trusted addresses, real time.
    pub fn new(connect: Duration) -> Self {
        Self {
            connect,
            proxy: None,
            trusted: Vec::new(),
            pace: Arc::new(SystemPace),
        }
    }
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    /// A GET without further headers.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    fn is_repeatable(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }
}

/// An answer, its body read to the end.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Where it came from, after redirects.
    pub url: Url,
    pub body: Bytes,
    /// How many attempts it took.
    pub attempts: u32,
    retry_after: Option<Duration>,
}

impl Answer {
    /// How long the other side asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The answer if its status is a success, else [`Error::Status`].
    pub fn success(self) -> Result<Self, Error> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(Error::Status {
            host: host_of(&self.url),
            status: self.status,
            retry_after: self.retry_after,
        })
    }
}

/// An answer whose body is still on its way. Dropping it closes the connection.
pub struct Incoming {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Where it comes from, after redirects.
    pub url: Url,
    retry_after: Option<Duration>,
    body: Body,
    deadline: Instant,
    total: Duration,
}

impl Incoming {
    /// How long the other side asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The next bytes of the body, unpacked and never empty; none at its end. The caps hold for all of them together.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let read = timeout_at(self.deadline, self.body.chunk()).await;
        read.unwrap_or_else(|_| Err(late(&self.url, self.total)))
    }

    /// The whole answer.
    pub async fn rest(self) -> Result<Answer, Error> {
        let body = timeout_at(self.deadline, self.body.rest()).await;
        Ok(Answer {
            body: body.unwrap_or_else(|_| Err(late(&self.url, self.total)))?,
            status: self.status,
            headers: self.headers,
            url: self.url,
            attempts: 1,
            retry_after: self.retry_after,
        })
    }
}

fn late(url: &Url, after: Duration) -> Error {
    Error::TimedOut {
        host: host_of(url),
        phase: Phase::Total,
        after,
    }
}

/// The client. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    public: reqwest::Client,
    configured: reqwest::Client,
    guard: Guard,
    resolver: Arc<dyn Resolve>,
    connect: Duration,
    pace: Arc<dyn Pace>,
}

impl Client {
    /// Sets the client up.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    pub(crate) fn with_resolver(settings: Settings, resolver: Arc<dyn Resolve>) -> Result<Self, Error> {
        let guard = Guard::new(settings.trusted);
        let guarded = GuardedResolver {
            inner: Arc::clone(&resolver),
            guard: guard.clone(),
        };
        let setup = |error: reqwest::Error| Error::Setup {
            source: Box::new(error),
        };
        let mut configured = bare(settings.connect).dns_resolver(Arc::clone(&resolver));
        if let Some(proxy) = settings.proxy {
            configured = configured.proxy(reqwest::Proxy::all(proxy).map_err(setup)?);
        }
        Ok(Self {
            public: bare(settings.connect)
                .dns_resolver(Arc::new(guarded))
                .build()
                .map_err(setup)?,
            configured: configured.build().map_err(setup)?,
            guard,
            resolver,
            connect: settings.connect,
            pace: settings.pace,
        })
    }

    /// Whether a URL could be asked now: its form, and where its name leads. Sending checks all of it again, because a
    /// name may lead elsewhere by then.
    pub async fn check(&self, policy: Policy, url: &Url) -> Result<(), Error> {
        let host = self.check_url(policy, url)?;
        if policy == Policy::Configured || !matches!(url.host(), Some(Host::Domain(_))) {
            return Ok(());
        }
        let name = host.parse().map_err(|_| Error::BadUrl {
            fault: UrlFault::NoHost,
        })?;
        let guarded = GuardedResolver {
            inner: Arc::clone(&self.resolver),
            guard: self.guard.clone(),
        };
        let found = timeout(self.connect, guarded.resolve(name)).await;
        match found {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(source)) => Err(match source.downcast::<Forbidden>() {
                Ok(forbidden) => Error::ForbiddenAddress {
                    host,
                    address: forbidden.address,
                    class: forbidden.class,
                },
                Err(source) => Error::Connect { host, source },
            }),
            Err(_) => Err(Error::TimedOut {
                host,
                phase: Phase::Connect,
                after: self.connect,
            }),
        }
    }

    /// Sends a GET; see [`Client::send`].
    pub async fn get(&self, policy: Policy, url: &Url, caps: &Caps) -> Result<Answer, Error> {
        self.send(policy, &Request::get(url.clone()), caps).await
    }

    /// Sends a request and reads the answer. Any status is an answer; one that may pass (429, 5xx) and a call that
    /// broke off are tried again as [`Caps::retry`] says, if the request is a GET or HEAD.
    pub async fn send(&self, policy: Policy, request: &Request, caps: &Caps) -> Result<Answer, Error> {
        self.run(policy, request, caps, None).await
    }

    /// Sends a request and hands the body of a successful answer on as it comes, exactly as it was sent; the answer
    /// given back has no body. Otherwise as [`Client::send`]: a new attempt begins the download again.
    pub async fn download(
        &self,
        policy: Policy,
        request: &Request,
        caps: &Caps,
        into: &mut dyn Receive,
    ) -> Result<Answer, Error> {
        self.run(policy, request, caps, Some(into)).await
    }

    async fn run(
        &self,
        policy: Policy,
        request: &Request,
        caps: &Caps,
        mut into: Option<&mut dyn Receive>,
    ) -> Result<Answer, Error> {
        let begun = Instant::now();
        let most = if request.is_repeatable() {
            caps.retry.attempts.max(1)
        } else {
            1
        };
        let mut waited = Duration::ZERO;
        let mut attempt = 1;
        loop {
            let into: Option<&mut dyn Receive> = match &mut into {
                Some(into) => Some(&mut **into),
                None => None,
            };
            let outcome = match into {
                Some(into) => self.attempt_download(policy, request, caps, into).await,
                None => self.attempt(policy, request, caps).await,
            };
            let asked = match &outcome {
                Ok(answer) if retry::is_transient(answer.status) => answer.retry_after,
                Err(error) if error.is_transient() => None,
                _ => {
                    return outcome.map(|answer| Answer {
                        attempts: attempt,
                        ..answer
                    });
                }
            };
            let pause = retry::wait(&caps.retry, attempt + 1, asked, self.pace.chance());
            // Waits are counted as well as measured: a test's pace does not spend them.
            let spent = begun.elapsed().max(waited) + pause;
            if attempt >= most || spent > caps.retry.within {
                return outcome.map(|answer| Answer {
                    attempts: attempt,
                    ..answer
                });
            }
            debug!(
                outbound.host = host_of(&request.url),
                outbound.attempt = attempt,
                "trying again"
            );
            self.pace.sleep(pause).await;
            waited += pause;
            attempt += 1;
        }
    }

    /// Whether [`Policy::Public`] would let a connection to the host of `url` pass now. A name that does not resolve
    /// is taken as public: nothing is let through because of it.
    pub async fn is_public(&self, url: &Url) -> bool {
        match url.host() {
            None => true,
            Some(Host::Ipv4(address)) => self.guard.check(IpAddr::V4(address)).is_ok(),
            Some(Host::Ipv6(address)) => self.guard.check(IpAddr::V6(address)).is_ok(),
            Some(Host::Domain(name)) => {
                let Ok(name) = name.parse() else {
                    return true;
                };
                match self.resolver.resolve(name).await {
                    Ok(mut found) => found.all(|address| self.guard.check(address.ip()).is_ok()),
                    Err(_) => true,
                }
            }
        }
    }

    /// Waits as before attempt number `next` of a call; for callers that find an answer unusable and ask again.
    pub async fn pause(&self, retry: &Retry, next: u32) {
        let pause = retry::wait(retry, next, None, self.pace.chance());
        self.pace.sleep(pause).await;
    }

    async fn attempt(&self, policy: Policy, request: &Request, caps: &Caps) -> Result<Answer, Error> {
        self.open(policy, request, caps).await?.rest().await
    }

    async fn attempt_download(
        &self,
        policy: Policy,
        request: &Request,
        caps: &Caps,
        into: &mut dyn Receive,
    ) -> Result<Answer, Error> {
        let mut incoming = self.begin(policy, request, caps, body::ACCEPT_AS_IT_IS).await?;
        if incoming.status.is_success() {
            incoming.body.plain()?;
            let keep = |source| Error::Sink { source };
            into.restart().map_err(keep)?;
            // No piece may take longer than the head of an answer may.
            let late = || Error::TimedOut {
                host: host_of(&request.url),
                phase: Phase::Piece,
                after: caps.first_byte,
            };
            while let Some(piece) = timeout(caps.first_byte, incoming.chunk())
                .await
                .map_err(|_| late())??
            {
                into.take(&piece).map_err(keep)?;
            }
        }
        Ok(Answer {
            status: incoming.status,
            headers: incoming.headers,
            url: incoming.url,
            body: Bytes::new(),
            attempts: 1,
            retry_after: incoming.retry_after,
        })
    }

    /// Sends a request once and gives the answer back as soon as its head is there, for bodies that need not end.
    pub async fn open(&self, policy: Policy, request: &Request, caps: &Caps) -> Result<Incoming, Error> {
        self.begin(policy, request, caps, body::ACCEPT_ENCODING).await
    }

    async fn begin(
        &self,
        policy: Policy,
        request: &Request,
        caps: &Caps,
        accepted: &'static str,
    ) -> Result<Incoming, Error> {
        let deadline = Instant::now() + caps.total;
        let mut request = request.clone();
        let mut followed = 0;
        loop {
            let host = self.check_url(policy, &request.url)?;
            let response = self
                .head(policy, &request, &host, accepted, caps, deadline)
                .await?;
            if let Some(next) = redirect(&response, &request, &host)? {
                if followed == caps.redirects {
                    return Err(Error::TooManyRedirects {
                        host,
                        limit: caps.redirects,
                    });
                }
                followed += 1;
                request = redirected(policy, request, next, &host)?;
                continue;
            }
            let headers = response.headers().clone();
            return Ok(Incoming {
                status: response.status(),
                retry_after: retry::retry_after(&headers, self.pace.now()),
                headers,
                url: request.url,
                body: Body::new(response, &host, caps)?,
                deadline,
                total: caps.total,
            });
        }
    }

    /// Sends the request and waits for the head of the answer.
    async fn head(
        &self,
        policy: Policy,
        request: &Request,
        host: &str,
        accepted: &'static str,
        caps: &Caps,
        deadline: Instant,
    ) -> Result<reqwest::Response, Error> {
        let client = match policy {
            Policy::Public => &self.public,
            Policy::Configured => &self.configured,
        };
        let sent = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone())
            .header(header::ACCEPT_ENCODING, accepted)
            .body(request.body.clone())
            .send();
        let remaining = deadline.saturating_duration_since(Instant::now());
        let (phase, most) = if remaining < caps.first_byte {
            (Phase::Total, remaining)
        } else {
            (Phase::FirstByte, caps.first_byte)
        };
        match timeout(most, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(classify(error, host, self.connect)),
            Err(_) => Err(Error::TimedOut {
                host: host.to_owned(),
                phase,
                after: if phase == Phase::Total { caps.total } else { most },
            }),
        }
    }

    /// Refuses a URL the policy does not allow; gives its host back. Names are checked when they are resolved, hosts
    /// given by number here, because the connector does not resolve them.
    fn check_url(&self, policy: Policy, url: &Url) -> Result<String, Error> {
        let fault = |fault| Err(Error::BadUrl { fault });
        if !matches!(url.scheme(), "http" | "https") {
            return fault(UrlFault::NotHttp);
        }
        let literal = match url.host() {
            None => return fault(UrlFault::NoHost),
            Some(Host::Domain(_)) => None,
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        };
        let host = host_of(url);
        if policy == Policy::Configured {
            return Ok(host);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return fault(UrlFault::Credentials);
        }
        if let Some(address) = literal {
            self.guard
                .check(address)
                .map_err(|forbidden| Error::ForbiddenAddress {
                    host: host.clone(),
                    address: forbidden.address,
                    class: forbidden.class,
                })?;
        }
        let trusted = literal.is_some_and(|address| self.guard.trusts(address));
        if url.scheme() != "https" && !trusted {
            return fault(UrlFault::NotHttps);
        }
        Ok(host)
    }
}

/// A client that follows nothing, unpacks nothing and uses no proxy by itself.
fn bare(connect: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .referer(false)
        // Thousands of hosts are asked a few questions each, one after the other; their connections must not pile up.
        .pool_idle_timeout(IDLE)
        .connect_timeout(connect)
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Where the answer sends us, if it does.
fn redirect(
    response: &reqwest::Response,
    request: &Request,
    host: &str,
) -> Result<Option<(Url, bool)>, Error> {
    let keeps_method = match response.status().as_u16() {
        301..=303 => false,
        307 | 308 => true,
        _ => return Ok(None),
    };
    let location = response
        .headers()
        .get(header::LOCATION)
        .map(HeaderValue::as_bytes);
    location
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|text| request.url.join(text).ok())
        .map(|url| Some((url, keeps_method)))
        .ok_or_else(|| Error::BadRedirect {
            host: host.to_owned(),
        })
}

/// The request that follows a redirect. What the caller said about itself is not told to another origin.
fn redirected(policy: Policy, request: Request, next: (Url, bool), host: &str) -> Result<Request, Error> {
    let (url, keeps_method) = next;
    let same_origin = url.origin() == request.url.origin();
    if policy == Policy::Configured && !same_origin {
        return Err(Error::RedirectElsewhere {
            host: host.to_owned(),
            to: url.origin().ascii_serialization(),
            url: Box::new(url),
        });
    }
    let keeps = keeps_method || request.is_repeatable();
    let mut headers = request.headers;
    if !same_origin {
        for name in [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION] {
            headers.remove(name);
        }
    }
    if !keeps {
        headers.remove(header::CONTENT_TYPE);
    }
    Ok(Request {
        method: if keeps { request.method } else { Method::GET },
        url,
        headers,
        body: if keeps { request.body } else { Bytes::new() },
    })
}

/// Says what went wrong before there was an answer.
fn classify(error: reqwest::Error, host: &str, connect: Duration) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(forbidden) = inner.downcast_ref::<Forbidden>() {
            return Error::ForbiddenAddress {
                host: host.to_owned(),
                address: forbidden.address,
                class: forbidden.class,
            };
        }
        cause = inner.source();
    }
    let host = host.to_owned();
    if error.is_timeout() {
        return Error::TimedOut {
            host,
            phase: Phase::Connect,
            after: connect,
        };
    }
    let connecting = error.is_connect();
    let source = Box::new(error.without_url());
    if connecting {
        Error::Connect { host, source }
    } else {
        Error::Dropped {
            host,
            received: 0,
            source,
        }
    }
}
