//! Trusted roots: which authorities, logs and timestamp authorities count, and under which rules.
//!
//! Every root is split by authority: GitHub's own authority (no public log, no certificate log) and all others. The
//! relaxed rules can so never meet a certificate of the public instance, whatever file is given.

use sha2::{Digest as _, Sha256};
use sigstore_trust_root::TrustedRoot;
use sigstore_verify::Verifier;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::TRUSTED_ROOT_BYTES;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::name::Name;

use crate::certificate::organization;

const PUBLIC_GOOD: &[u8] = include_bytes!("../roots/public-good.trusted_root.json");
const GITHUB: &[u8] = include_bytes!("../roots/github.trusted_root.json");

/// The organization GitHub's own authority names itself by.
const GITHUB_ORGANIZATION: &str = "GitHub, Inc.";

/// A trusted root that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("{bytes} bytes, the limit is {TRUSTED_ROOT_BYTES}")]
    TooLarge { bytes: usize },
    #[error("not a trusted root: {0}")]
    Json(String),
    #[error("{0}")]
    Unusable(#[from] sigstore_verify::Error),
    #[error("a certificate of the root cannot be read: {0}")]
    Certificate(x509_cert::der::Error),
}

/// Which rules a certificate is checked by; chosen by its authority, never by trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Certificate log, transparency log and time are all needed.
    Public,
    /// GitHub's own instance: a timestamp, no logs.
    GitHub,
}

/// One instance of a root: its authorities under one profile.
pub(crate) struct Instance {
    pub(crate) profile: Profile,
    pub(crate) verifier: Verifier,
    authorities: Vec<Name>,
}

/// One trusted root file.
pub(crate) struct Root {
    pub(crate) name: String,
    pub(crate) digest: Digest,
    pub(crate) logs: Vec<Vec<u8>>,
    document: Vec<u8>,
    public: Instance,
    github: Instance,
}

/// The roots in force.
#[derive(Default)]
pub struct TrustedRoots {
    roots: Vec<Root>,
}

impl TrustedRoots {
    /// The roots this program was built with: the public instance and GitHub's.
    pub fn pinned() -> Result<Self, RootError> {
        let mut roots = Self::default();
        roots.add("public-good", PUBLIC_GOOD)?;
        roots.add("github", GITHUB)?;
        Ok(roots)
    }

    /// Only the given root.
    pub fn only(name: &str, json: &[u8]) -> Result<Self, RootError> {
        let mut roots = Self::default();
        roots.add(name, json)?;
        Ok(roots)
    }

    /// One more root.
    pub fn add(&mut self, name: &str, json: &[u8]) -> Result<(), RootError> {
        self.roots.push(Root::read(name, json)?);
        Ok(())
    }

    /// Name, digest and bytes of each root.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&str, Digest, &[u8])> {
        self.roots
            .iter()
            .map(|root| (root.name.as_str(), root.digest, root.document.as_slice()))
    }

    /// The root that was given first.
    pub(crate) fn first(&self) -> &Root {
        &self.roots[0]
    }

    /// The instance that has `issuer` as an authority. Instances may share a name; then the one whose log wrote the
    /// entry is meant.
    pub(crate) fn by_issuer(&self, issuer: &Name, log: Option<&[u8]>) -> Option<(&Root, &Instance)> {
        let mut found = self.roots.iter().filter_map(|root| {
            let instances = [&root.public, &root.github];
            let found = instances.into_iter().find(|i| i.authorities.contains(issuer))?;
            Some((root, found))
        });
        let first = found.next()?;
        let wrote = |root: &Root| log.is_some_and(|id| root.logs.iter().any(|log| log == id));
        if wrote(first.0) {
            return Some(first);
        }
        Some(found.find(|(root, _)| wrote(root)).unwrap_or(first))
    }

    /// The instance whose transparency log has the id, for evidence without a certificate.
    pub(crate) fn by_log(&self, id: &[u8]) -> Option<(&Root, &Instance)> {
        let root = self
            .roots
            .iter()
            .find(|root| root.logs.iter().any(|log| log == id))?;
        Some((root, &root.public))
    }
}

impl Root {
    fn read(name: &str, json: &[u8]) -> Result<Self, RootError> {
        if json.len() > TRUSTED_ROOT_BYTES {
            return Err(RootError::TooLarge { bytes: json.len() });
        }
        let text = std::str::from_utf8(json).map_err(|error| RootError::Json(error.to_string()))?;
        let all = TrustedRoot::from_json(text).map_err(|error| RootError::Json(error.to_string()))?;
        let digest: [u8; 32] = Sha256::digest(json).into();
        Ok(Self {
            name: name.to_owned(),
            digest: Digest::from_bytes(&digest).expect("sha256 has 32 bytes"),
            logs: all
                .tlogs
                .iter()
                .map(|log| log.log_id.key_id.as_bytes().to_vec())
                .collect(),
            document: json.to_vec(),
            public: Instance::read(&all, Profile::Public)?,
            github: Instance::read(&all, Profile::GitHub)?,
        })
    }
}

impl Instance {
    fn read(all: &TrustedRoot, profile: Profile) -> Result<Self, RootError> {
        let mut part = all.clone();
        part.certificate_authorities.clear();
        let mut authorities = Vec::new();
        for authority in &all.certificate_authorities {
            let mut names = Vec::new();
            for entry in &authority.cert_chain.certificates {
                let certificate =
                    Certificate::from_der(entry.raw_bytes.as_bytes()).map_err(RootError::Certificate)?;
                names.push(certificate.tbs_certificate.subject);
            }
            let github = names
                .iter()
                .any(|name| organization(name).as_deref() == Some(GITHUB_ORGANIZATION));
            if github == (profile == Profile::GitHub) {
                part.certificate_authorities.push(authority.clone());
                authorities.extend(names);
            }
        }
        Ok(Self {
            profile,
            verifier: Verifier::new(&part)?,
            authorities,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_roots_are_usable_and_apart() {
        let roots = TrustedRoots::pinned().unwrap();
        let [public, github] = roots.roots.as_slice() else {
            panic!("two roots are pinned");
        };
        assert!(!public.public.authorities.is_empty());
        assert!(public.github.authorities.is_empty());
        assert!(github.public.authorities.is_empty());
        assert!(!github.github.authorities.is_empty());
        assert_eq!(public.logs.len(), 2);
        assert!(github.logs.is_empty());
    }

    #[test]
    fn a_root_that_is_none_says_so() {
        let error = TrustedRoots::only("x", b"{}").err().unwrap().to_string();
        assert!(error.starts_with("not a trusted root"), "{error}");
        let large = vec![b' '; TRUSTED_ROOT_BYTES + 1];
        assert!(matches!(
            TrustedRoots::only("x", &large),
            Err(RootError::TooLarge { .. })
        ));
    }
}
