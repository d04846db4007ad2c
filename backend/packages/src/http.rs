//! How a registry is asked: which address rules hold, which credentials go along, what an answer must be.
//!
//! A configured registry is the operator's own choice and may be at any address. Whatever else an answer names must be
//! public, unless the registry itself is at an inner address: an inner mirror names inner hosts.

use std::time::Duration;

use serde::de::DeserializeOwned;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits;
use toolmark_outbound::{
    Answer, Caps, Error, HeaderValue, Policy, Receive, Request, Retry, StatusCode, header,
};
use url::Url;

use crate::coordinate::Kind;
use crate::error::PackageError;
use crate::fetch::Hashing;
use crate::oci;
use crate::packages::Packages;
use crate::release::File;
use crate::sources::Source;

/// Most times a configured registry sends us on to somebody else's address.
const HOPS: usize = 2;

/// What one question to a registry may cost.
fn caps(limit: usize, first_byte: Duration, total_secs: u64) -> Caps {
    Caps {
        body_bytes: limit,
        expansion: limits::OUTBOUND_EXPANSION,
        first_byte,
        total: Duration::from_secs(total_secs),
        redirects: limits::OUTBOUND_REDIRECTS,
        retry: Retry {
            attempts: limits::PACKAGE_ATTEMPTS,
            within: Duration::from_secs(limits::PACKAGE_RETRY_SECS),
            base: Duration::from_millis(500),
            longest: Duration::from_secs(limits::PACKAGE_RETRY_WAIT_SECS),
        },
    }
}

/// An answer as it is kept: the bytes, and what they were read as.
pub(crate) struct Read<T> {
    pub(crate) value: T,
    pub(crate) url: Url,
    pub(crate) digest: Digest,
}

/// Who is asked, and as what.
struct Way {
    policy: Policy,
    authorization: Option<HeaderValue>,
    /// The registry whose word led here.
    base: Option<Url>,
}

impl Packages {
    /// Sends a GET; any status is an answer.
    pub(crate) async fn send(
        &self,
        kind: Kind,
        url: &Url,
        accept: Option<&str>,
        limit: usize,
    ) -> Result<Answer, PackageError> {
        self.run(
            kind,
            url,
            accept,
            &caps(limit, self.inner.config.first_byte, limits::PACKAGE_ANSWER_SECS),
            None,
        )
        .await
    }

    /// Downloads a file; gives the address it came from.
    pub(crate) async fn fetch_into(&self, file: &File, into: &mut Hashing) -> Result<Url, PackageError> {
        let caps = caps(
            limits::ARTIFACT_BYTES,
            self.inner.config.first_byte,
            limits::ARTIFACT_SECS,
        );
        let answer = self
            .run(file.kind, &file.url, file.accept, &caps, Some(into))
            .await?;
        Ok(found(answer, &file.name)?.url)
    }

    /// One JSON answer that must be there.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        kind: Kind,
        url: &Url,
        accept: Option<&str>,
        what: &str,
    ) -> Result<Read<T>, PackageError> {
        let answer = self.send(kind, url, accept, limits::METADATA_BYTES).await?;
        let answer = found(answer, what)?;
        let value = serde_json::from_slice(&answer.body)
            .map_err(|error| PackageError::answer(what, error.to_string()))?;
        Ok(Read {
            value,
            digest: Digest::of(&answer.body),
            url: answer.url,
        })
    }

    async fn run(
        &self,
        kind: Kind,
        url: &Url,
        accept: Option<&str>,
        caps: &Caps,
        mut into: Option<&mut Hashing>,
    ) -> Result<Answer, PackageError> {
        let failed = |source| PackageError::Http {
            what: url.host_str().unwrap_or_default().to_owned(),
            source,
        };
        let mut way = self.way(kind, url).await;
        let mut request = Request::get(url.clone());
        if let Some(accept) = accept.and_then(|accept| HeaderValue::from_str(accept).ok()) {
            request.headers.insert(header::ACCEPT, accept);
        }
        let (mut hops, mut challenged) = (0, false);
        loop {
            if let Some(value) = way.authorization.take() {
                request.headers.insert(header::AUTHORIZATION, value);
            }
            let sent = self.once(way.policy, &request, caps, into.as_deref_mut()).await;
            match sent {
                Ok(answer)
                    if answer.status == StatusCode::UNAUTHORIZED && kind == Kind::Oci && !challenged =>
                {
                    challenged = true;
                    match oci::token(self, &answer).await? {
                        Some(token) => way.authorization = Some(token),
                        None => return Ok(answer),
                    }
                }
                Ok(answer) => return Ok(answer),
                Err(Error::RedirectElsewhere { url, .. }) if hops < HOPS => {
                    hops += 1;
                    request.headers.remove(header::AUTHORIZATION);
                    request.url = *url;
                    way.policy = Policy::Public;
                }
                Err(Error::ForbiddenAddress { .. })
                    if way.policy == Policy::Public && self.is_inner(way.base.as_ref()).await =>
                {
                    request.headers.remove(header::AUTHORIZATION);
                    way.policy = Policy::Configured;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    async fn once(
        &self,
        policy: Policy,
        request: &Request,
        caps: &Caps,
        into: Option<&mut Hashing>,
    ) -> Result<Answer, Error> {
        match into {
            Some(into) => {
                let into: &mut dyn Receive = into;
                self.inner.client.download(policy, request, caps, into).await
            }
            None => self.inner.client.send(policy, request, caps).await,
        }
    }

    /// Which rules hold for an address, by whose it is.
    async fn way(&self, kind: Kind, url: &Url) -> Way {
        if kind == Kind::Oci {
            return self.image_way(url);
        }
        // A kind without a source has no address of its own: everything is somebody else's.
        let source = self.source(kind).await.ok();
        let own = source.is_some_and(|source| source.is_own(url));
        Way {
            policy: if own { Policy::Configured } else { Policy::Public },
            authorization: source
                .and_then(|source| source.authorization(url))
                .or_else(|| self.inner.config.credentials.header(url)),
            // Addresses that a forge or a document names are not its word: only a registry's own lists count.
            base: source
                .filter(|_| matches!(kind, Kind::Npm | Kind::Pypi | Kind::Cargo | Kind::Nuget))
                .map(Source::base)
                .cloned(),
        }
    }

    fn image_way(&self, url: &Url) -> Way {
        let config = &self.inner.config;
        let own = config.oci.iter().any(|(_, base)| base.origin() == url.origin());
        let token = {
            let tokens = self.inner.tokens.lock();
            let tokens = tokens.unwrap_or_else(std::sync::PoisonError::into_inner);
            tokens.get(&oci::scope_of(url)).cloned()
        };
        let token = token.and_then(|token| oci::bearer(&token));
        Way {
            policy: if own { Policy::Configured } else { Policy::Public },
            authorization: token.or_else(|| config.credentials.header(url)),
            base: None,
        }
    }

    /// Whether the registry that named an address is itself at an inner one.
    async fn is_inner(&self, base: Option<&Url>) -> bool {
        match base {
            Some(base) => !self.inner.client.is_public(base).await,
            None => false,
        }
    }
}

/// An answer that must be there: "not found" and "failed" are told apart.
pub(crate) fn found(answer: Answer, what: &str) -> Result<Answer, PackageError> {
    if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE) {
        return Err(PackageError::NotFound {
            what: what.to_owned(),
        });
    }
    answer.success().map_err(|source| PackageError::Http {
        what: what.to_owned(),
        source,
    })
}

/// `base` with further path segments; a name's slash is part of its segment.
pub(crate) fn below<'a>(base: &Url, segments: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}
