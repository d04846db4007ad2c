//! Names and secrets for registries, each bound to the origin and path it is for.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolmark_outbound::HeaderValue;
use url::Url;

/// One credential.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    Bearer(String),
    Basic { user: String, password: String },
}

impl Credential {
    fn header(&self) -> Option<HeaderValue> {
        let text = match self {
            Self::Bearer(token) => format!("Bearer {token}"),
            Self::Basic { user, password } => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Never prints a secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer",
            Self::Basic { .. } => "Basic",
        })
    }
}

/// Credentials by address.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    entries: Vec<(Url, Credential)>,
}

impl Credentials {
    /// Adds one for everything below `url`.
    pub fn add(&mut self, url: Url, credential: Credential) {
        self.entries.push((url, credential));
    }

    /// Takes name and password out of `url`, so that they are never part of an address we keep or print.
    pub(crate) fn take_from(&mut self, mut url: Url) -> Url {
        let decode = |text: &str| {
            let pairs = url::form_urlencoded::parse(text.replace('+', "%2B").as_bytes())
                .next()
                .map(|(text, _)| text.into_owned());
            pairs.unwrap_or_default()
        };
        let user = decode(url.username());
        let password = url.password().map(decode).unwrap_or_default();
        if url.set_username("").is_ok() && url.set_password(None).is_ok() && !user.is_empty() {
            self.add(url.clone(), Credential::Basic { user, password });
        }
        url
    }

    /// The header for `url`: of the entry of the same origin with the longest path above it.
    pub fn header(&self, url: &Url) -> Option<HeaderValue> {
        let above = |entry: &&(Url, Credential)| {
            let path = entry.0.path().trim_end_matches('/');
            entry.0.origin() == url.origin()
                && url
                    .path()
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found = self.entries.iter().filter(above);
        let best = found.max_by_key(|entry| entry.0.path().len())?;
        best.1.header()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_goes_only_below_its_address() {
        let mut credentials = Credentials::default();
        let url = |text: &str| Url::parse(text).unwrap();
        credentials.add(
            url("https://a.example/npm/"),
            Credential::Bearer("first-word".into()),
        );
        credentials.add(
            url("https://a.example/npm/inner"),
            Credential::Bearer("two".into()),
        );
        let header = |text: &str| {
            let value = credentials.header(&url(text))?;
            Some(value.to_str().unwrap().to_owned())
        };
        assert_eq!(
            header("https://a.example/npm/x").as_deref(),
            Some("Bearer first-word")
        );
        assert_eq!(
            header("https://a.example/npm/inner/x").as_deref(),
            Some("Bearer two")
        );
        for other in [
            "https://a.example/npmx",
            "https://a.example/",
            "http://a.example/npm/x",
            "https://a.example:8443/npm/x",
            "https://b.example/npm/x",
        ] {
            assert_eq!(header(other), None, "{other}");
        }
        assert!(!format!("{credentials:?}").contains("first-word"));
    }

    #[test]
    fn name_and_password_leave_the_address() {
        let mut credentials = Credentials::default();
        let url = credentials.take_from(Url::parse("https://me:p%40ss@a.example/simple").unwrap());
        assert_eq!(url.as_str(), "https://a.example/simple");
        let header = credentials.header(&url.join("/simple/x/").unwrap()).unwrap();
        let expected = format!("Basic {}", STANDARD.encode("me:p@ss"));
        assert_eq!(header.to_str().unwrap(), expected);
    }
}
