//! Images: references, manifests by digest, tags, referrers, blobs, and the tokens a registry hands to anybody.

use std::fmt;
use std::str::FromStr;
use std::sync::PoisonError;

use serde::Deserialize;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::{OCI_MANIFEST_BYTES, OCI_TOKENS};
use toolmark_outbound::{Answer, HeaderValue, StatusCode, header};
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::http::{Read, below, found};
use crate::packages::Packages;
use crate::release::{File, Release, VersionEntry, Versions};

/// Every form a manifest or an index has.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

/// `HOST/REPOSITORY[:TAG][@sha256:HEX]`. The host is always named: whose image it is must be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference {
    pub host: String,
    pub repository: String,
    pub tag: Option<String>,
    pub digest: Option<Digest>,
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest
            .iter()
            .try_for_each(|digest| write!(f, "@sha256:{digest}"))
    }
}

impl FromStr for ImageReference {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) if digest.starts_with("sha256:") => {
                (name, Some(digest.parse().map_err(|_| "its digest is none")?))
            }
            Some(_) => return Err("its digest is none"),
            None => (text, None),
        };
        let (host, rest) = name.split_once('/').ok_or("it names no registry")?;
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (rest, None),
        };
        let is_host = (host.contains('.') || host.contains(':') || host == "localhost")
            && Url::parse(&format!("https://{host}/")).is_ok_and(|url| url.path() == "/")
            && !host.contains(['@', '?', '#', '\\', '%']);
        if !is_host {
            return Err("it names no registry");
        }
        let part = |part: &str| {
            let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
            part.bytes().all(fits) && part.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        let word = |tag: &str| {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            (1..=128).contains(&tag.len()) && tag.bytes().all(fits) && !tag.starts_with(['.', '-'])
        };
        if repository.len() > 255 || !repository.split('/').all(part) {
            return Err("its repository is none");
        }
        if tag.is_some_and(|tag| !word(tag)) {
            return Err("its tag is none");
        }
        Ok(Self {
            host: host.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl ImageReference {
    /// What names the manifest: the digest, the tag, or `latest`.
    fn name(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => format!("sha256:{digest}"),
            (None, tag) => tag.clone().unwrap_or_else(|| "latest".to_owned()),
        }
    }
}

/// An answer of an image registry, for evidence.
#[derive(Clone, Debug)]
pub struct OciAnswer {
    pub url: Url,
    pub status: StatusCode,
    pub body: Vec<u8>,
}

impl Packages {
    fn image_url(&self, image: &ImageReference, rest: [&str; 2]) -> Result<Url, PackageError> {
        let mapped = self.inner.config.oci.iter().find(|(host, _)| *host == image.host);
        let base = match mapped {
            Some((_, base)) => base.clone(),
            None => Url::parse(&format!("https://{}/", image.host))
                .map_err(|_| PackageError::NoSource { kind: Kind::Oci })?,
        };
        let segments = ["v2"].into_iter().chain(image.repository.split('/')).chain(rest);
        Ok(below(&base, segments))
    }

    /// A manifest or index by tag or digest, whatever the status.
    pub async fn image_manifest(
        &self,
        image: &ImageReference,
        name: &str,
    ) -> Result<OciAnswer, PackageError> {
        let url = self.image_url(image, ["manifests", name])?;
        self.image_answer(&url, Some(MANIFESTS), OCI_MANIFEST_BYTES).await
    }

    /// What refers to a manifest, by the interface for it, whatever the status.
    pub async fn image_referrers(
        &self,
        image: &ImageReference,
        digest: Digest,
    ) -> Result<OciAnswer, PackageError> {
        let url = self.image_url(image, ["referrers", &format!("sha256:{digest}")])?;
        self.image_answer(
            &url,
            Some("application/vnd.oci.image.index.v1+json"),
            OCI_MANIFEST_BYTES,
        )
        .await
    }

    /// A blob of at most `limit` bytes, whatever the status.
    pub async fn image_blob(
        &self,
        image: &ImageReference,
        digest: Digest,
        limit: usize,
    ) -> Result<OciAnswer, PackageError> {
        let url = self.image_url(image, ["blobs", &format!("sha256:{digest}")])?;
        self.image_answer(&url, None, limit).await
    }

    async fn image_answer(
        &self,
        url: &Url,
        accept: Option<&str>,
        limit: usize,
    ) -> Result<OciAnswer, PackageError> {
        let answer = self.send(Kind::Oci, url, accept, limit).await?;
        Ok(OciAnswer {
            status: answer.status,
            body: answer.body.to_vec(),
            url: answer.url,
        })
    }
}

/// The repository a URL is about: tokens are for one.
pub(crate) fn scope_of(url: &Url) -> String {
    let path = url.path();
    let end = ["/manifests/", "/referrers/", "/blobs/", "/tags/"]
        .iter()
        .filter_map(|part| path.rfind(part))
        .max()
        .unwrap_or(path.len());
    format!("{}{}", url.origin().ascii_serialization(), &path[..end])
}

pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Gets the token that a refusal asks for; nothing when it asks for something else.
pub(crate) async fn token(
    packages: &Packages,
    refusal: &Answer,
) -> Result<Option<HeaderValue>, PackageError> {
    let challenge = refusal.headers.get(header::WWW_AUTHENTICATE);
    let Some(challenge) = challenge
        .and_then(|value| value.to_str().ok())
        .and_then(parameters)
    else {
        return Ok(None);
    };
    let of = |name: &str| {
        let found = challenge.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    };
    let Some(mut url) = of("realm").and_then(|realm| Url::parse(&realm).ok()) else {
        return Ok(None);
    };
    for name in ["service", "scope"] {
        if let Some(value) = of(name) {
            url.query_pairs_mut().append_pair(name, &value);
        }
    }
    let what = format!("a token of {}", url.host_str().unwrap_or_default());
    // Asked as a plain question: a token service that asks for a token would have no end.
    let Read { value, .. } = Box::pin(packages.json::<Token>(Kind::Url, &url, None, &what)).await?;
    let Some(token) = value.token.or(value.access_token) else {
        return Err(PackageError::answer(what, "it holds no token"));
    };
    let mut tokens = packages
        .inner
        .tokens
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if tokens.len() >= OCI_TOKENS {
        tokens.clear();
    }
    tokens.insert(scope_of(&refusal.url), token.clone());
    Ok(bearer(&token))
}

/// The parameters of a `Bearer` challenge.
fn parameters(challenge: &str) -> Option<Vec<(String, String)>> {
    let (scheme, mut rest) = challenge.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut found = Vec::new();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_start_matches([',', ' ']).trim().to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(after) => after.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((name, value.to_owned()));
        rest = after;
    }
    Some(found)
}

pub(crate) async fn release(packages: &Packages, image: &ImageReference) -> Result<Release, PackageError> {
    let name = image.name();
    let answer = packages.image_manifest(image, &name).await?;
    let what = format!("oci:{image}");
    match answer.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Err(PackageError::NotFound { what }),
        status => {
            let source = toolmark_outbound::Error::Status {
                host: image.host.clone(),
                status,
                retry_after: None,
            };
            return Err(PackageError::Http { what, source });
        }
    }
    let digest = Digest::of(&answer.body);
    if image.digest.is_some_and(|wanted| wanted != digest) {
        return Err(PackageError::answer(
            what,
            format!("it has the digest sha256:{digest}"),
        ));
    }
    let mut exact = image.clone();
    exact.digest = Some(digest);
    let url = packages.image_url(&exact, ["manifests", &exact.name()])?;
    let mut file = File::at(Kind::Oci, exact.to_string(), url.clone());
    file.bytes = Some(answer.body.len() as u64);
    file.said.sha256 = Some(*digest.as_bytes());
    file.accept = Some(MANIFESTS);
    Ok(Release {
        coordinate: Coordinate::Image(exact),
        files: vec![file],
        published_at: None,
        yanked: None,
        deprecated: None,
        repository: None,
        url,
        answer: digest,
    })
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

pub(crate) async fn versions(packages: &Packages, image: &ImageReference) -> Result<Versions, PackageError> {
    let url = packages.image_url(image, ["tags", "list"])?;
    let what = format!("the tags of {}/{}", image.host, image.repository);
    let answer = packages.send(Kind::Oci, &url, None, OCI_MANIFEST_BYTES).await?;
    let answer = found(answer, &what)?;
    let list: Tags = serde_json::from_slice(&answer.body)
        .map_err(|error| PackageError::answer(what, error.to_string()))?;
    // Evidence hangs on tags of this form; they are no versions.
    let is_version = |tag: &String| !tag.starts_with("sha256-");
    let tags = list.tags.unwrap_or_default().into_iter().filter(is_version);
    Ok(Versions {
        versions: tags
            .map(|version| VersionEntry {
                version,
                published_at: None,
                yanked: None,
                deprecated: None,
            })
            .collect(),
        latest: None,
        url: answer.url,
        answer: Digest::of(&answer.body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_taken_apart() {
        let found =
            parameters("Bearer realm=\"https://t.example/token\", service=r.example,scope=\"a:b:pull,push\"");
        let expected = [
            ("realm", "https://t.example/token"),
            ("service", "r.example"),
            ("scope", "a:b:pull,push"),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(found, Some(expected));
        assert_eq!(parameters("Basic realm=\"x\""), None);
    }

    #[test]
    fn a_token_is_for_one_repository() {
        let scope = |text: &str| scope_of(&Url::parse(text).unwrap());
        let one = scope("https://r.example/v2/a/b/manifests/latest");
        assert_eq!(one, "https://r.example/v2/a/b");
        assert_eq!(scope("https://r.example/v2/a/b/referrers/sha256:00"), one);
        assert_ne!(scope("https://r.example/v2/a/c/blobs/sha256:00"), one);
    }
}
