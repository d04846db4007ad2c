//! One attempt: the message is made, signed, sent, and what came back is told.

use std::time::{Duration, Instant};

use serde_json::Value;
use toolmark_domain::alert::{Cadence, Channel, Shape, message};
use toolmark_domain::limits::{
    DIGEST_EVENTS, WEBHOOK_ANSWER_BYTES, WEBHOOK_ANSWER_KEPT_CHARS, WEBHOOK_FIRST_BYTE_SECS,
    WEBHOOK_TOTAL_SECS,
};
use toolmark_outbound::{
    Caps, HeaderMap, HeaderName, HeaderValue, Mail, MailError, Mailer, Method, Policy, Request, Retry, Url,
    header,
};
use toolmark_store::{AttemptFacts, Claimed, Endpoint, EndpointState, Finished, StoreError, Verdict};

use super::judge::{Ending, verdict};
use super::{AlertSettings, sign};
use crate::Registry;

/// What came of sending.
struct Sent {
    ending: Ending,
    status: Option<i64>,
    error: Option<String>,
    answer: Option<String>,
}

impl Sent {
    fn failed(ending: Ending, error: impl Into<String>) -> Self {
        Self {
            ending,
            status: None,
            error: Some(error.into()),
            answer: None,
        }
    }
}

/// The id of a message as receivers see it.
fn message_id(claimed: &Claimed) -> String {
    format!("msg_{}", claimed.id.simple())
}

fn caps() -> Caps {
    Caps {
        body_bytes: WEBHOOK_ANSWER_BYTES,
        expansion: 10,
        first_byte: Duration::from_secs(WEBHOOK_FIRST_BYTE_SECS),
        total: Duration::from_secs(WEBHOOK_TOTAL_SECS),
        redirects: 0,
        retry: Retry::NEVER,
    }
}

/// The head of an answer for the log: text, without what cannot be kept or shown.
fn kept(body: &[u8]) -> Option<String> {
    let head = &body[..body.len().min(4 * WEBHOOK_ANSWER_KEPT_CHARS)];
    let text = String::from_utf8_lossy(head);
    let text: String = text
        .chars()
        .filter(|c| *c != '\0')
        .take(WEBHOOK_ANSWER_KEPT_CHARS)
        .collect();
    (!text.is_empty()).then_some(text)
}

impl Registry {
    /// Sends one claimed delivery, and says what follows.
    pub(super) async fn attempt(&self, settings: &AlertSettings, claimed: Claimed) -> Finished {
        let at = self.now();
        let begun = Instant::now();
        let (sent, endpoint) = match self.prepare(settings, &claimed).await {
            Ok(Some((endpoint, body))) => {
                let sent = self.send(settings, &claimed, &endpoint, &body).await;
                (sent, Some(endpoint))
            }
            Ok(None) => (Sent::failed(Ending::Nothing, "the event was taken down"), None),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "cannot prepare a delivery"
                );
                (
                    Sent::failed(Ending::Failed(None), "this registry could not read the event"),
                    None,
                )
            }
        };
        let now = self.now();
        let verdict = match &endpoint {
            Some(endpoint) => verdict(
                &sent.ending,
                &claimed,
                endpoint,
                settings.pause_after_secs,
                now,
                rand::random(),
            ),
            None if sent.ending == Ending::Nothing => Verdict::Dead,
            None => Verdict::Retry(now.plus_secs(60)),
        };
        tell(&claimed, &sent, &verdict);
        Finished {
            claimed,
            attempt: AttemptFacts {
                at,
                took_ms: i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX),
                status: sent.status,
                error: sent.error,
                answer: sent.answer,
            },
            verdict,
        }
    }

    /// The endpoint, and the body of the message; none when its event is blanked.
    async fn prepare(
        &self,
        settings: &AlertSettings,
        claimed: &Claimed,
    ) -> Result<Option<(Endpoint, Value)>, StoreError> {
        let Some(endpoint) = self.store().endpoint(claimed.endpoint_id).await? else {
            return Ok(None);
        };
        let body = match claimed.kind.as_str() {
            "test" => Some(message::ping(self.now(), &endpoint.id.to_string())),
            "digest" => {
                let most = u32::try_from(DIGEST_EVENTS).unwrap_or(u32::MAX);
                let (seqs, _) = self.store().digest_events(claimed.id, most).await?;
                let mut events = Vec::with_capacity(seqs.len());
                for seq in seqs {
                    events.extend(self.event(seq).await?);
                }
                let cadence = Cadence::parse(&claimed.cadence).unwrap_or(Cadence::Daily);
                (!events.is_empty()).then(|| message::digest(cadence, &events, self.now(), &settings.base))
            }
            _ => self
                .event(claimed.event_seq)
                .await?
                .map(|event| message::event(&event, &settings.base)),
        };
        Ok(body.map(|body| (endpoint, body)))
    }

    /// One event, unless it is blanked.
    async fn event(&self, seq: i64) -> Result<Option<Value>, StoreError> {
        let found = self.store().events_after(seq - 1, 1).await?;
        let event = found.into_iter().find(|event| event.seq == seq);
        Ok(event
            .map(|event| event.body)
            .filter(|body| body.get("blanked").is_none()))
    }

    async fn send(
        &self,
        settings: &AlertSettings,
        claimed: &Claimed,
        endpoint: &Endpoint,
        body: &Value,
    ) -> Sent {
        match (endpoint.channel, &settings.mailer) {
            (Channel::Webhook, _) => self.post(settings, claimed, endpoint, body).await,
            (Channel::Email, Some(mailer)) => mail(settings, mailer, claimed, endpoint, body).await,
            (Channel::Email, None) => Sent::failed(Ending::Failed(None), "this registry sends no mail"),
        }
    }

    async fn post(
        &self,
        settings: &AlertSettings,
        claimed: &Claimed,
        endpoint: &Endpoint,
        body: &Value,
    ) -> Sent {
        let shaped = match endpoint.shape {
            Shape::Standard => body.to_string(),
            Shape::Slack => message::slack(body).to_string(),
        };
        let Ok(url) = Url::parse(&endpoint.address) else {
            return Sent::failed(
                Ending::Never("its address is no URL".into()),
                "its address is no URL",
            );
        };
        let now = self.now();
        let secrets = match self.store().endpoint_secrets(endpoint.id, now).await {
            Ok(secrets) => secrets,
            Err(error) => return Sent::failed(Ending::Failed(None), error.to_string()),
        };
        let id = message_id(claimed);
        let request = Request {
            method: Method::POST,
            url,
            headers: headers(
                &id,
                now.as_secs(),
                &sign::signature(&secrets, &id, now.as_secs(), shaped.as_bytes()),
            ),
            body: shaped.into(),
        };
        let answer = match settings.client.send(Policy::Public, &request, &caps()).await {
            Ok(answer) => answer,
            Err(error) => {
                let chain = crate::alerts::send::chain(&error);
                return Sent::failed(Ending::Failed(None), chain);
            }
        };
        let asked = answer
            .retry_after()
            .map(|wait| i64::try_from(wait.as_secs()).unwrap_or(i64::MAX));
        let ending = match answer.status.as_u16() {
            200..=299 => Ending::Taken,
            410 => Ending::Never("the receiver answered 410: it is gone".into()),
            _ => Ending::Failed(asked),
        };
        Sent {
            error: (ending != Ending::Taken)
                .then(|| format!("the receiver answered {}", answer.status.as_u16())),
            ending,
            status: Some(i64::from(answer.status.as_u16())),
            answer: kept(&answer.body),
        }
    }
}

/// The headers of the specification.
fn headers(id: &str, timestamp: i64, signature: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in [
        ("webhook-id", id),
        ("webhook-timestamp", &timestamp.to_string()),
        ("webhook-signature", signature),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

async fn mail(
    settings: &AlertSettings,
    mailer: &Mailer,
    claimed: &Claimed,
    endpoint: &Endpoint,
    body: &Value,
) -> Sent {
    let base = settings.base.trim_end_matches('/');
    let code = endpoint.code.as_deref().unwrap_or_default();
    let manage = format!("{base}/alerts/{}/{code}", endpoint.id);
    let (subject, text) = if endpoint.state == EndpointState::Unconfirmed {
        (
            "[toolmark] confirm alerts by mail".to_owned(),
            confirmation(endpoint, &manage, code),
        )
    } else {
        let (subject, text) = message::mail(body);
        (
            subject,
            format!("{text}\n-- \nto stop these messages: {manage}\n"),
        )
    };
    let thread = (!claimed.server.is_empty()).then(|| {
        let digest = toolmark_domain::digest::Digest::of(claimed.server.as_bytes()).to_string();
        format!("server_{}", &digest[..32])
    });
    let mail = Mail {
        to: endpoint.address.clone(),
        subject,
        text,
        id: message_id(claimed),
        thread,
        unsubscribe: Some(format!("{manage}/stop")),
    };
    match mailer.send(&mail).await {
        Ok(()) => Sent {
            ending: Ending::Taken,
            status: None,
            error: None,
            answer: None,
        },
        Err(error) => {
            let said = error.to_string();
            let ending = match error {
                MailError::Later(_) => Ending::Failed(None),
                _ => Ending::Never(said.clone()),
            };
            Sent::failed(ending, said)
        }
    }
}

fn confirmation(endpoint: &Endpoint, manage: &str, code: &str) -> String {
    format!(
        "Somebody asked a registry of MCP servers to send alerts to this address (`{}`).\n\
         Nothing is sent until you confirm it:\n\n{manage}\n\n\
         or, by program, POST /api/v1/endpoints/{}/confirm with {{\"code\": \"{code}\"}}\n\n\
         If you did not ask for it, do nothing.\n",
        endpoint.label, endpoint.id
    )
}

/// The causes of an error, outermost first, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let next = cause.to_string();
        if !words.contains(&next) {
            words.push_str(": ");
            words.push_str(&next);
        }
        source = cause.source();
    }
    words.chars().filter(|c| !c.is_control()).take(500).collect()
}

fn tell(claimed: &Claimed, sent: &Sent, verdict: &Verdict) {
    let (id, endpoint, seq) = (claimed.id, claimed.endpoint_id, claimed.event_seq);
    let error = sent.error.as_deref().unwrap_or_default();
    match verdict {
        Verdict::Taken => {
            tracing::debug!(delivery.id = %id, endpoint.id = %endpoint, event.seq = seq, "delivered");
        }
        Verdict::Retry(_) => tracing::info!(
            delivery.id = %id, endpoint.id = %endpoint, event.seq = seq, attempt = claimed.attempts, error,
            "not delivered yet"
        ),
        Verdict::Pause(reason) => tracing::warn!(
            delivery.id = %id, endpoint.id = %endpoint, event.seq = seq, error, "an endpoint is paused: {reason}"
        ),
        Verdict::Dead => tracing::warn!(
            delivery.id = %id, endpoint.id = %endpoint, event.seq = seq, error, "a delivery is given up"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_answer_is_text_that_can_be_kept() {
        assert_eq!(kept(b""), None);
        assert_eq!(kept(b"a\0b").as_deref(), Some("ab"));
        assert_eq!(
            kept(&[0xff; 4000]).unwrap().chars().count(),
            WEBHOOK_ANSWER_KEPT_CHARS
        );
    }
}
