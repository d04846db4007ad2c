//! Sending mail through the operator's own SMTP server. Plain text only; who reads it decides what is fetched.

use std::time::Duration;

use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, header};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

/// How the connection to the server is kept private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTls {
    /// From the first byte, usually port 465.
    Implicit,
    /// By STARTTLS, usually port 587; refused where the server does not offer it.
    StartTls,
    /// Not at all: for a relay on this machine.
    None,
}

/// The operator's server.
#[derive(Clone)]
pub struct MailSettings {
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    /// User and password.
    pub login: Option<(String, String)>,
    /// `Name <address>` or an address.
    pub from: String,
    /// Longest time for one message.
    pub within: Duration,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Mail {
    pub to: String,
    pub subject: String,
    pub text: String,
    /// The left part of its Message-ID: the same for every attempt, so that a mailbox can tell a repetition.
    pub id: String,
    /// What the messages of one thread share.
    pub thread: Option<String>,
    /// Where a program may end the subscription with one POST (RFC 8058).
    pub unsubscribe: Option<String>,
}

/// Why a mail was not taken.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("`{0}` is no mail address")]
    Address(String),
    /// The message cannot be written.
    #[error("the mail cannot be written")]
    Message(#[source] lettre::error::Error),
    #[error("the mail server cannot be set up")]
    Setup(#[source] lettre::transport::smtp::Error),
    /// The server said no, and would again.
    #[error("the mail server refused it: {0}")]
    Refused(String),
    /// It may work later.
    #[error("the mail server did not take it: {0}")]
    Later(String),
}

impl MailError {
    /// Whether the same mail may be taken later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Later(_))
    }
}

/// Sends mail. Cheap to clone.
#[derive(Clone)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    host: String,
}

impl Mailer {
    /// Sets it up; nothing is connected yet.
    pub fn new(settings: &MailSettings) -> Result<Self, MailError> {
        let parameters = || TlsParameters::new(settings.host.clone()).map_err(MailError::Setup);
        let tls = match settings.tls {
            MailTls::Implicit => Tls::Wrapper(parameters()?),
            MailTls::StartTls => Tls::Required(parameters()?),
            MailTls::None => Tls::None,
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&settings.host)
            .port(settings.port)
            .tls(tls)
            .timeout(Some(settings.within));
        if let Some((user, password)) = &settings.login {
            builder = builder.credentials(Credentials::new(user.clone(), password.clone()));
        }
        let from = mailbox(&settings.from)?;
        Ok(Self {
            transport: builder.build(),
            host: from.email.domain().to_owned(),
            from,
        })
    }

    /// Whether `text` can be written to.
    pub fn is_address(text: &str) -> bool {
        mailbox(text).is_ok_and(|mailbox| mailbox.name.is_none())
    }

    /// Sends one message; when this is done, the server has taken it.
    pub async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let message = self.message(mail)?;
        self.transport.send(message).await.map(|_| ()).map_err(|error| {
            let words = plain(&error);
            if error.is_permanent() {
                MailError::Refused(words)
            } else {
                MailError::Later(words)
            }
        })
    }

    fn message(&self, mail: &Mail) -> Result<Message, MailError> {
        let mut builder = Message::builder()
            .from(self.from.clone())
            .to(mailbox(&mail.to)?)
            .subject(one_line(&mail.subject))
            .message_id(Some(format!("<{}@{}>", mail.id, self.host)))
            .header(AutoSubmitted);
        if let Some(thread) = &mail.thread {
            let thread = format!("<{thread}@{}>", self.host);
            builder = builder.in_reply_to(thread.clone()).references(thread);
        }
        if let Some(url) = &mail.unsubscribe {
            builder = builder
                .header(ListUnsubscribe(format!("<{}>", one_line(url))))
                .header(OneClick);
        }
        builder
            .header(header::ContentType::TEXT_PLAIN)
            .body(mail.text.clone())
            .map_err(MailError::Message)
    }
}

fn mailbox(text: &str) -> Result<Mailbox, MailError> {
    text.parse().map_err(|_| MailError::Address(text.to_owned()))
}

/// What stands in a header has no line ends.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// The server's own words, on one line.
fn plain(error: &lettre::transport::smtp::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    one_line(&words)
}

/// Headers that are not in the library, with their fixed or given values.
macro_rules! headers {
    ($($Name:ident $word:literal $value:expr;)*) => {$(
        impl Header for $Name {
            fn name() -> HeaderName {
                HeaderName::new_from_ascii_str($word)
            }

            fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
                Err("this header is only written".into())
            }

            fn display(&self) -> HeaderValue {
                let value: fn(&Self) -> String = $value;
                HeaderValue::new(Self::name(), value(self))
            }
        }
    )*};
}

/// RFC 3834: no answering machine answers.
#[derive(Clone)]
struct AutoSubmitted;
#[derive(Clone)]
struct ListUnsubscribe(String);
#[derive(Clone)]
struct OneClick;

headers! {
    AutoSubmitted "Auto-Submitted" |_| "auto-generated".to_owned();
    ListUnsubscribe "List-Unsubscribe" |header| header.0.clone();
    OneClick "List-Unsubscribe-Post" |_| "List-Unsubscribe=One-Click".to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailer() -> Mailer {
        Mailer::new(&MailSettings {
            host: "127.0.0.1".into(),
            port: 1,
            tls: MailTls::None,
            login: None,
            from: "Toolmark <alerts@registry.example>".into(),
            within: Duration::from_secs(1),
        })
        .unwrap()
    }

    #[test]
    fn a_message_has_the_headers_of_an_alert_and_no_smuggled_ones() {
        let mail = Mail {
            to: "reader@example.org".into(),
            subject: "one\r\nBcc: other@example.org".into(),
            text: "line\n".into(),
            id: "msg_1".into(),
            thread: Some("server_1".into()),
            unsubscribe: Some("https://registry.example/u/1".into()),
        };
        let text = String::from_utf8(mailer().message(&mail).unwrap().formatted()).unwrap();
        for line in [
            "From: Toolmark <alerts@registry.example>\r\n",
            "To: reader@example.org\r\n",
            "Message-ID: <msg_1@registry.example>\r\n",
            "References: <server_1@registry.example>\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "List-Unsubscribe: <https://registry.example/u/1>\r\n",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("\nBcc:"), "{text}");
    }

    #[test]
    fn only_a_bare_address_is_one() {
        assert!(Mailer::is_address("a@example.org"));
        for bad in [
            "",
            "a",
            "a@",
            "A <a@example.org>",
            "a@b\r\nRCPT",
            "a@example.org, b@example.org",
        ] {
            assert!(!Mailer::is_address(bad), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_may_be_there_later() {
        let mail = Mail {
            to: "reader@example.org".into(),
            subject: "s".into(),
            text: "t".into(),
            id: "i".into(),
            thread: None,
            unsubscribe: None,
        };
        let error = mailer().send(&mail).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
    }
}
