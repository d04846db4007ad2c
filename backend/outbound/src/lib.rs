//! The only HTTP client of the product: an address guard, caps on bytes and time, bounded retries. Beside it the only
//! sender of mail.
//!
//! Who calls says what kind of address is meant ([`Policy`]) and what it may cost ([`Caps`]); nothing here has a
//! default that lets foreign bytes grow. Not for talking to object storage, which has its own client.

mod address;
mod body;
mod caps;
mod client;
mod error;
mod mail;
mod retry;
#[cfg(test)]
mod tests;

pub use address::AddressClass;
pub use body::Receive;
pub use caps::{Caps, Retry};
pub use client::{Answer, Client, Incoming, Policy, Request, Settings};
pub use error::{Error, Phase, UrlFault};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
pub use mail::{Mail, MailError, MailSettings, MailTls, Mailer};
pub use retry::{Pace, SystemPace};
pub use url::Url;
