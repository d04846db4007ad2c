//! One question at a time to a server, whatever carries it, and what is remembered of the talk.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::value::RawValue;
use toolmark_domain::limits::SERVER_REQUESTS_ANSWERED;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use crate::bounds::Bounds;
use crate::http::Http;
use crate::message::{self, Fit, Message, RpcError, Style};
use crate::notes::{Conduct, Notes};
use crate::stdio::Stdio;

/// A question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) style: Style,
    pub(crate) cursor: Option<&'a RawValue>,
    /// Part of finding out who is there: an error without our id is an answer.
    pub(crate) first: bool,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Of HTTP.
    pub(crate) status: Option<u16>,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    Result(Box<RawValue>),
    Error(RpcError),
    /// Over HTTP only: an answer that is no JSON-RPC, and why.
    Other(Reason, String),
}

/// Why there was no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nothing more can be said.
    End(End),
    /// The process ended, or closed its output.
    Gone,
    /// Nothing in the time it had.
    Silent,
}

/// How a take ends when it is not observed.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Reason,
    /// What the server or the connection said; raw, masked where it is kept.
    pub(crate) words: Option<String>,
}

impl End {
    pub(crate) fn new(outcome: Outcome, reason: Reason) -> Self {
        Self {
            outcome,
            reason,
            words: None,
        }
    }

    pub(crate) fn saying(outcome: Outcome, reason: Reason, words: impl Into<String>) -> Self {
        Self {
            words: Some(words.into()),
            ..Self::new(outcome, reason)
        }
    }

    pub(crate) fn refused(reason: Reason) -> Trouble {
        Trouble::End(Self::new(Outcome::RefusedByPolicy, reason))
    }
}

impl From<End> for Trouble {
    fn from(end: End) -> Self {
        Self::End(end)
    }
}

/// What is remembered of a talk, on any wire.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) notes: Notes,
    pub(crate) server_requests: BTreeMap<String, u32>,
    /// The server said since we last looked that its lists changed.
    pub(crate) lists_changed: bool,
    pub(crate) bytes: usize,
    messages: usize,
    answered: usize,
}

/// What to do about a message.
pub(crate) enum Heard {
    /// The answer to the open question.
    Answer(Body),
    /// To be said back.
    Reply(String),
    Nothing,
}

/// Longest method of a server's request that is kept, in characters.
const METHOD_CHARS: usize = 64;
/// Longest id of a server's request that is echoed, in bytes.
const ID_BYTES: usize = 256;

impl Traffic {
    /// Counts bytes received.
    pub(crate) fn received(&mut self, bytes: usize, bounds: &Bounds) -> Result<(), Trouble> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > bounds.take_bytes {
            return Err(End::refused(Reason::TooMuchOutput));
        }
        Ok(())
    }

    /// Counts a message, or a line that is none.
    pub(crate) fn counted(&mut self, bounds: &Bounds) -> Result<(), Trouble> {
        self.messages += 1;
        if self.messages > bounds.messages {
            return Err(End::refused(Reason::TooManyMessages));
        }
        Ok(())
    }

    /// Takes in one message while question `ours` is open.
    pub(crate) fn hear(&mut self, message: Message<'_>, ours: u64, ask: &Ask<'_>) -> Heard {
        match message {
            Message::Response { id, body, doubled } => {
                match message::fits(id, body.is_err(), ours, ask.first) {
                    Fit::No => {
                        self.notes
                            .add(Conduct::OddId, "answered questions that were not asked");
                        return Heard::Nothing;
                    }
                    Fit::Loose => self.notes.add(
                        Conduct::OddId,
                        format!("answered `{}` under another id than ours", ask.method),
                    ),
                    Fit::Exact => {}
                }
                if doubled {
                    let what = format!("the answer to `{}` has a key twice", ask.method);
                    self.notes.add(Conduct::DoubledKey, what);
                }
                Heard::Answer(match body {
                    Ok(result) => Body::Result(result.to_owned()),
                    Err(error) => Body::Error(error),
                })
            }
            Message::Call { id, method } => self.called(id, &method, ask.style),
            Message::Notice { method } => {
                self.lists_changed |= method.ends_with("/list_changed");
                Heard::Nothing
            }
        }
    }

    /// The server asks us something. We declare nothing, so it should not; it gets an answer that says so.
    fn called(&mut self, id: &RawValue, method: &str, style: Style) -> Heard {
        let shown: String = method.chars().take(METHOD_CHARS).collect();
        if self.server_requests.len() < SERVER_REQUESTS_ANSWERED || self.server_requests.contains_key(&shown)
        {
            let count = self.server_requests.entry(shown.clone()).or_default();
            *count = count.saturating_add(1);
        }
        if method != "ping" {
            self.notes.add(
                Conduct::AskedClient,
                format!("called `{shown}` on a client that declares no capability"),
            );
        }
        self.answered += 1;
        let answerable = style == Style::Legacy && id.get().len() <= ID_BYTES;
        if answerable && self.answered <= SERVER_REQUESTS_ANSWERED {
            Heard::Reply(message::refusal(id, method))
        } else {
            Heard::Nothing
        }
    }
}

/// What carries the talk.
pub(crate) enum Wire<'a> {
    Stdio(Box<Stdio<'a>>),
    Http(Box<Http<'a>>),
}

impl Wire<'_> {
    /// Asks, and waits for the answer at most `time`.
    pub(crate) async fn ask(&mut self, ask: &Ask<'_>, time: Duration) -> Result<Answer, Trouble> {
        match self {
            Self::Stdio(wire) => wire.ask(ask, time).await,
            Self::Http(wire) => wire.ask(ask, time).await,
        }
    }

    /// Says something that has no answer.
    pub(crate) async fn tell(&mut self, method: &str, time: Duration) -> Result<(), Trouble> {
        match self {
            Self::Stdio(wire) => wire.tell(method).await,
            Self::Http(wire) => wire.tell(method, time).await,
        }
    }

    pub(crate) fn traffic(&mut self) -> &mut Traffic {
        match self {
            Self::Stdio(wire) => &mut wire.traffic,
            Self::Http(wire) => &mut wire.traffic,
        }
    }
}
