//! One session with a server, from the first byte to the last process gone, and what it gave however it ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::{Egress, Outcome};
use toolmark_outbound::Client;

use crate::bounds::Bounds;
use crate::classify;
use crate::condition::Condition;
use crate::http::Http;
use crate::launch::{Ending, Launch, Start};
use crate::mask;
use crate::notes::Notes;
use crate::observe::Remote;
use crate::progress::{Progress, Stage};
use crate::session::{Got, Session};
use crate::stdio::{Last, Stdio};
use crate::wire::{End, Trouble, Wire};

/// How the era is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraEvidence {
    /// It answered `server/discover` with a version of this era.
    Discovered,
    /// It refused us with an error that only the modern protocol has.
    ModernError,
    /// It answered `server/discover` with something else, then `initialize`.
    Refused,
    /// It ended on `server/discover`; a new process answered `initialize`.
    Exit,
    /// It did not answer `server/discover` in time; a new process answered `initialize`. Provisional.
    Timeout,
}

impl EraEvidence {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::ModernError => "modern_error",
            Self::Refused => "refused",
            Self::Exit => "exit",
            Self::Timeout => "timeout",
        }
    }
}

/// What one session gave.
#[derive(Debug)]
pub struct Take {
    pub outcome: Outcome,
    pub reason: Option<Reason>,
    /// What the server or the connection said about that, bounded, secrets masked.
    pub words: Option<String>,
    pub era: Option<Era>,
    pub era_evidence: Option<EraEvidence>,
    pub protocol_version: Option<String>,
    /// Results as received.
    pub discover: Option<Box<RawValue>>,
    pub initialize: Option<Box<RawValue>>,
    /// The items of each list that was given to its end, as received.
    pub lists: BTreeMap<ItemKind, Vec<Box<RawValue>>>,
    /// Every result received, in order, each with a line end.
    pub raw: Vec<u8>,
    /// Methods the server called on us, and how often: `roots/list`, `sampling/createMessage`, …
    pub server_requests: BTreeMap<String, u32>,
    pub stderr_tail: Option<String>,
    pub egress: Vec<Egress>,
    /// What an HTTP server said besides its answers; null for a process.
    pub http: Value,
    pub took: Duration,
    pub(crate) notes: Notes,
}

impl Take {
    /// What is kept of it beside the snapshot.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "outcome": self.outcome,
            "reason": self.reason.map(Reason::as_str),
            "era": self.era,
            "era_evidence": self.era_evidence.map(EraEvidence::as_str),
            "took_ms": millis(self.took),
        })
    }
}

/// Whole milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// One session with a process of its own.
pub async fn take_process(
    start: &dyn Start,
    launch: &Launch,
    condition: &Condition,
    bounds: &Bounds,
    progress: Progress<'_>,
) -> Take {
    let began = Instant::now();
    progress.at(Stage::Start);
    let mut wire = Box::new(Stdio::new(start, launch, condition, bounds));
    let started = wire.begin().await;
    let mut session = Session {
        wire: Wire::Stdio(wire),
        bounds,
        got: Got::default(),
        progress,
    };
    let ended = match started {
        Ok(()) => run(&mut session).await,
        Err(trouble) => Err(trouble),
    };
    progress.at(Stage::End);
    let Session { wire, got, .. } = session;
    let Wire::Stdio(mut wire) = wire else {
        unreachable!("a process has the wire of a process")
    };
    // One that hung or broke a limit has had its time.
    let at_once = matches!(&ended, Err(Trouble::Silent)) || is_refused(&ended);
    wire.finish(at_once).await;
    let end = ended
        .err()
        .map(|trouble| process_end(trouble, wire.last(), wire.ending(), got.spoke));
    let (last, ending) = (wire.last().clone(), wire.ending().clone());
    Take {
        stderr_tail: last.stderr,
        egress: ending.egress,
        ..assemble(got, end, std::mem::take(&mut wire.traffic), began.elapsed())
    }
}

/// One session with a remote.
pub async fn take_remote(
    client: &Client,
    remote: &Remote,
    condition: &Condition,
    bounds: &Bounds,
    progress: Progress<'_>,
) -> Take {
    let began = Instant::now();
    let wire = Box::new(Http::new(client, &remote.url, &remote.headers, condition, bounds));
    let mut session = Session {
        wire: Wire::Http(wire),
        bounds,
        got: Got::default(),
        progress,
    };
    let ended = run(&mut session).await;
    progress.at(Stage::End);
    let Session { wire, got, .. } = session;
    let Wire::Http(mut wire) = wire else {
        unreachable!("a remote has the wire of a remote")
    };
    if ended.is_ok() {
        wire.finish().await;
    }
    let end = ended.err().map(|trouble| match trouble {
        Trouble::End(end) => end,
        Trouble::Gone => End::new(Outcome::Unreachable, Reason::BrokeOff),
        Trouble::Silent => classify::silent(None, false),
    });
    Take {
        http: wire.seen.to_json(),
        ..assemble(got, end, std::mem::take(&mut wire.traffic), began.elapsed())
    }
}

async fn run(session: &mut Session<'_>) -> Result<(), Trouble> {
    let most = session.bounds.take;
    timeout(most, session.run()).await.unwrap_or(Err(Trouble::Silent))
}

fn is_refused(ended: &Result<(), Trouble>) -> bool {
    matches!(ended, Err(Trouble::End(end)) if end.outcome == Outcome::RefusedByPolicy)
}

/// Why a process gave no snapshot, with what was seen of it from outside.
fn process_end(trouble: Trouble, last: &Last, ending: &Ending, spoke: bool) -> End {
    let end = match trouble {
        Trouble::End(end) => return end,
        Trouble::Gone => classify::gone(last, spoke),
        Trouble::Silent => classify::silent(Some(last), !ending.egress.is_empty()),
    };
    match ending.limit {
        Some(limit) => End {
            outcome: Outcome::RefusedByPolicy,
            reason: limit,
            ..end
        },
        None => end,
    }
}

fn assemble(got: Got, end: Option<End>, traffic: crate::wire::Traffic, took: Duration) -> Take {
    Take {
        outcome: end.as_ref().map_or(Outcome::Observed, |end| end.outcome),
        reason: end.as_ref().map(|end| end.reason),
        words: end
            .and_then(|end| end.words)
            .map(|words| mask::words(&words))
            .filter(|words| !words.is_empty()),
        era: got.era,
        era_evidence: got.evidence,
        protocol_version: got.version,
        discover: got.discover,
        initialize: got.initialize,
        lists: got.lists,
        raw: got.raw,
        server_requests: traffic.server_requests,
        stderr_tail: None,
        egress: Vec::new(),
        http: Value::Null,
        took,
        notes: traffic.notes,
    }
}
