//! The wire of a remote: one POST for each question, answered with JSON or with a stream of events. Everything goes
//! through `outbound`, which guards addresses and holds the caps.

use std::time::Duration;

use serde_json::{Value, json};
use toolmark_domain::limits::{OUTBOUND_EXPANSION, OUTBOUND_REDIRECTS};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;
use toolmark_outbound::{
    Caps, Client, Error, HeaderMap, HeaderName, HeaderValue, Incoming, Method, Phase, Policy, Request, Retry,
    StatusCode, Url, UrlFault, header,
};

use crate::bounds::Bounds;
use crate::condition::Condition;
use crate::message::{self, MODERN, Message, Style};
use crate::notes::Conduct;
use crate::sse::Events;
use crate::wire::{Answer, Ask, Body, End, Heard, Traffic, Trouble};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const EVENT_STREAM: &str = "text/event-stream";
/// Bytes of an answer that is no JSON-RPC which are looked at.
const ODD_BODY_BYTES: usize = 512;
/// Longest session id that is sent back, in bytes.
const SESSION_BYTES: usize = 4096;

/// A remote and the talk with it.
pub(crate) struct Http<'a> {
    client: &'a Client,
    url: &'a Url,
    /// What the remote asks to be sent with each request.
    headers: &'a HeaderMap,
    pub(crate) condition: &'a Condition,
    pub(crate) bounds: &'a Bounds,
    pub(crate) traffic: Traffic,
    session: Option<HeaderValue>,
    /// After `initialize`.
    version: Option<HeaderValue>,
    next_id: u64,
    /// What was learned on the way and belongs to the record.
    pub(crate) seen: Seen,
}

/// What the HTTP side says besides answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// On 401 and 403: status, challenge, who gives access.
    pub(crate) access: Value,
    /// On 429 and 503.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) status: Option<u16>,
}

impl<'a> Http<'a> {
    pub(crate) fn new(
        client: &'a Client,
        url: &'a Url,
        headers: &'a HeaderMap,
        condition: &'a Condition,
        bounds: &'a Bounds,
    ) -> Self {
        Self {
            client,
            url,
            headers,
            condition,
            bounds,
            traffic: Traffic::default(),
            session: None,
            version: None,
            next_id: 0,
            seen: Seen::default(),
        }
    }

    /// From now on requests are those of a legacy session of this version.
    pub(crate) fn initialized(&mut self, version: &str) {
        self.version = HeaderValue::from_str(version).ok();
    }

    /// Whether a session was given, and forgets it.
    pub(crate) fn forget_session(&mut self) -> bool {
        self.version = None;
        self.session.take().is_some()
    }

    pub(crate) async fn ask(&mut self, ask: &Ask<'_>, time: Duration) -> Result<Answer, Trouble> {
        self.next_id += 1;
        let ours = self.next_id;
        let text = match ask.method {
            "initialize" => message::initialize(ours, self.condition),
            method => message::request(ours, method, ask.style, ask.cursor, self.condition),
        };
        let incoming = self.post(ask.method, ask.style, text, time).await?;
        let status = incoming.status;
        self.seen.status = Some(status.as_u16());
        self.look_at_status(&incoming, ask).await?;
        if ask.method == "initialize" && status.is_success() {
            self.session = session_of(incoming.headers.get(SESSION));
        }
        let body = if is_events(&incoming.headers) {
            self.events(incoming, ours, ask, time).await?
        } else {
            self.document(incoming, ours, ask).await?
        };
        Ok(Answer {
            status: Some(status.as_u16()),
            body,
        })
    }

    pub(crate) async fn tell(&mut self, method: &str, time: Duration) -> Result<(), Trouble> {
        let text = message::notification(method);
        // Whether it was liked shows in the next answer.
        self.post(method, Style::Legacy, text, time).await.map(drop)
    }

    /// Ends a session, if there is one. Nothing depends on the answer.
    pub(crate) async fn finish(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        let mut headers = self.headers.clone();
        headers.insert(SESSION, session);
        if let Some(version) = &self.version {
            headers.insert(VERSION, version.clone());
        }
        let request = Request {
            method: Method::DELETE,
            ..self.request(headers, String::new())
        };
        let _ = self
            .client
            .open(Policy::Public, &request, &self.caps(self.bounds.end * 4))
            .await;
    }

    /// Whether a GET is answered with the stream of the old transport, which begins with the event `endpoint`.
    pub(crate) async fn is_old_sse(&mut self) -> bool {
        let mut headers = self.headers.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        let request = Request {
            method: Method::GET,
            ..self.request(headers, String::new())
        };
        let caps = self.caps(Duration::from_secs(5).min(self.bounds.answer));
        let Ok(mut incoming) = self.client.open(Policy::Public, &request, &caps).await else {
            return false;
        };
        if !incoming.status.is_success() || !is_events(&incoming.headers) {
            return false;
        }
        let mut events = Events::default();
        while let Ok(Some(piece)) = incoming.chunk().await {
            if let Some(event) = events.feed(&piece).into_iter().next() {
                return event.name.as_deref() == Some("endpoint");
            }
        }
        false
    }

    async fn post(
        &mut self,
        method: &str,
        style: Style,
        text: String,
        time: Duration,
    ) -> Result<Incoming, Trouble> {
        let mut headers = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
        if style == Style::Modern {
            headers.insert(VERSION, HeaderValue::from_static(MODERN));
            headers.extend(HeaderValue::from_str(method).map(|method| (METHOD, method)));
        } else {
            headers.extend(self.version.clone().map(|version| (VERSION, version)));
            headers.extend(self.session.clone().map(|session| (SESSION, session)));
        }
        let request = self.request(headers, text);
        let sent = self.client.open(Policy::Public, &request, &self.caps(time)).await;
        sent.map_err(|error| trouble(&error))
    }

    fn request(&self, headers: HeaderMap, text: String) -> Request {
        Request {
            method: Method::POST,
            url: self.url.clone(),
            headers,
            body: text.into(),
        }
    }

    fn caps(&self, time: Duration) -> Caps {
        Caps {
            // A stream may hold other messages besides the answer.
            body_bytes: self.bounds.take_bytes,
            expansion: OUTBOUND_EXPANSION,
            first_byte: time,
            total: time,
            redirects: OUTBOUND_REDIRECTS,
            retry: Retry::NEVER,
        }
    }

    /// Statuses that end the talk whatever the body says.
    async fn look_at_status(&mut self, incoming: &Incoming, ask: &Ask<'_>) -> Result<(), Trouble> {
        let status = incoming.status;
        let words = format!("`{}` was answered {status}", ask.method);
        let end = |outcome, reason| Err(End::saying(outcome, reason, words).into());
        match status.as_u16() {
            401 | 403 => {
                self.seen.access = crate::access::found(self.client, &incoming.url, incoming).await;
                let reason = if status == StatusCode::UNAUTHORIZED {
                    Reason::Unauthorized
                } else {
                    Reason::Forbidden
                };
                end(Outcome::AuthRequired, reason)
            }
            429 => {
                self.seen.retry_after = incoming.retry_after();
                end(Outcome::Unreachable, Reason::RateLimited)
            }
            501 => Ok(()),
            500..=599 => {
                self.seen.retry_after = incoming.retry_after();
                end(Outcome::Unreachable, Reason::ServerError)
            }
            _ => Ok(()),
        }
    }

    /// An answer that is one document.
    async fn document(&mut self, incoming: Incoming, ours: u64, ask: &Ask<'_>) -> Result<Body, Trouble> {
        let kind = content_type(&incoming.headers);
        let status = incoming.status;
        let answer = incoming.rest().await.map_err(|error| trouble(&error))?;
        self.traffic.received(answer.body.len(), self.bounds)?;
        if answer.body.len() > self.bounds.message_bytes {
            return Err(End::refused(Reason::MessageTooLarge));
        }
        let Ok(text) = std::str::from_utf8(&answer.body) else {
            let lossy = String::from_utf8_lossy(&answer.body);
            if message::read(&lossy).0.is_empty() {
                return Ok(Body::Other(Reason::NotJsonRpc, format!("{status}, not text")));
            }
            return Err(End::new(Outcome::DoesNotSpeakMcp, Reason::InvalidUtf8).into());
        };
        let (messages, batch) = message::read(text);
        if batch && !messages.is_empty() {
            self.traffic.notes.add(Conduct::Batch, "sent messages in a batch");
        }
        for message in messages {
            self.traffic.counted(self.bounds)?;
            if let Some(body) = self.whole(message, ours, ask) {
                return Ok(body);
            }
        }
        let head: String = text.trim_start().chars().take(ODD_BODY_BYTES).collect();
        let lower = head.to_ascii_lowercase();
        let html = kind.contains("html") || lower.starts_with("<!doctype html") || lower.starts_with("<html");
        let reason = if html { Reason::Html } else { Reason::NotJsonRpc };
        let words = if html || head.is_empty() {
            String::new()
        } else {
            format!(": {head}")
        };
        Ok(Body::Other(
            reason,
            format!("`{}` was answered {status}{words}", ask.method),
        ))
    }

    /// A document answers the question it came for, whatever id it bears.
    fn whole(&mut self, message: Message<'_>, ours: u64, ask: &Ask<'_>) -> Option<Body> {
        if let Message::Response { id, body, .. } = &message
            && message::fits(*id, body.is_err(), ours, ask.first) == message::Fit::No
        {
            self.traffic.notes.add(
                Conduct::OddId,
                format!("answered `{}` under another id than ours", ask.method),
            );
            return Some(match body {
                Ok(result) => Body::Result((*result).to_owned()),
                Err(error) => Body::Error(error.clone()),
            });
        }
        match self.traffic.hear(message, ours, ask) {
            Heard::Answer(body) => Some(body),
            Heard::Reply(_) | Heard::Nothing => None,
        }
    }

    /// An answer somewhere in a stream, which need not end after it.
    async fn events(
        &mut self,
        mut incoming: Incoming,
        ours: u64,
        ask: &Ask<'_>,
        time: Duration,
    ) -> Result<Body, Trouble> {
        let mut events = Events::default();
        let mut waiting = 0;
        loop {
            let piece = incoming.chunk().await.map_err(|error| trouble(&error))?;
            let found = match &piece {
                Some(piece) => {
                    self.traffic.received(piece.len(), self.bounds)?;
                    waiting += piece.len();
                    events.feed(piece)
                }
                None => events.end().into_iter().collect(),
            };
            if !found.is_empty() {
                waiting = 0;
            } else if waiting > self.bounds.message_bytes {
                return Err(End::refused(Reason::MessageTooLarge));
            }
            for event in found {
                self.traffic.counted(self.bounds)?;
                for message in message::read(&event.data).0 {
                    match self.traffic.hear(message, ours, ask) {
                        Heard::Answer(_) if events.broken => {
                            return Err(End::new(Outcome::DoesNotSpeakMcp, Reason::InvalidUtf8).into());
                        }
                        Heard::Answer(body) => return Ok(body),
                        Heard::Reply(reply) => self.reply(reply, time).await?,
                        Heard::Nothing => {}
                    }
                }
            }
            if piece.is_none() {
                let words = format!(
                    "`{}` was answered with a stream that ended without an answer",
                    ask.method
                );
                return Ok(Body::Other(Reason::NotJsonRpc, words));
            }
        }
    }

    /// Says no to a request of the server, which may wait for that before it answers ours.
    async fn reply(&mut self, text: String, time: Duration) -> Result<(), Trouble> {
        match self.post("", Style::Legacy, text, time).await {
            Err(Trouble::End(end)) if end.outcome == Outcome::RefusedByPolicy => Err(end.into()),
            _ => Ok(()),
        }
    }
}

/// A session id that can be sent back.
fn session_of(value: Option<&HeaderValue>) -> Option<HeaderValue> {
    value
        .filter(|value| value.len() <= SESSION_BYTES && !value.is_empty())
        .cloned()
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.chars().take(200).collect::<String>().to_ascii_lowercase()
}

fn is_events(headers: &HeaderMap) -> bool {
    content_type(headers).starts_with(EVENT_STREAM)
}

/// What a call that gave no answer means for the take.
pub(crate) fn trouble(error: &Error) -> Trouble {
    use Outcome as O;
    let (outcome, reason) = match error {
        Error::BadUrl {
            fault: UrlFault::Credentials | UrlFault::NoHost,
        } => (O::NotObserved, Reason::UnknownTarget),
        Error::BadUrl {
            fault: UrlFault::NotHttps | UrlFault::NotHttp,
        } => (O::RefusedByPolicy, Reason::NotHttps),
        Error::ForbiddenAddress { .. } => (O::RefusedByPolicy, Reason::ForbiddenAddress),
        Error::Connect { .. }
        | Error::TimedOut {
            phase: Phase::Connect,
            ..
        } => (O::Unreachable, Reason::CannotConnect),
        Error::TimedOut { .. } => return Trouble::Silent,
        Error::Dropped { .. } | Error::Corrupt { .. } => (O::Unreachable, Reason::BrokeOff),
        Error::TooLarge { .. } => (O::RefusedByPolicy, Reason::TooMuchOutput),
        Error::Expands { .. } | Error::Encoding { .. } => (O::RefusedByPolicy, Reason::OddEncoding),
        Error::TooManyRedirects { .. } | Error::RedirectElsewhere { .. } => {
            (O::RefusedByPolicy, Reason::TooManyRedirects)
        }
        Error::BadRedirect { .. } => (O::DoesNotSpeakMcp, Reason::NotJsonRpc),
        Error::Status { .. } => (O::Unreachable, Reason::ServerError),
        // Nothing is downloaded here; both are our own trouble.
        Error::Sink { .. } | Error::Setup { .. } => (O::NotObserved, Reason::CannotStart),
    };
    End::saying(outcome, reason, chain(error)).into()
}

/// An error and its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

impl Seen {
    /// For the record.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "access": self.access,
            "retry_after_secs": self.retry_after.map(|wait| wait.as_secs()),
            "status": self.status,
        })
    }
}
