//! Two takes under different conditions make a snapshot: what differs between them moves by itself and is masked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use toolmark_domain::digest::Digest;
use toolmark_domain::manifest::{ItemKind, Manifest, volatile_pointers};
use toolmark_domain::reason::Reason;
use toolmark_domain::scan;
use toolmark_domain::snapshot::{Egress, Outcome, SCHEMA, Snapshot};
use toolmark_outbound::{Client, HeaderMap, Url};

use crate::bounds::Bounds;
use crate::condition::Condition;
use crate::header_annotations;
use crate::launch::{Launch, Start};
use crate::notes::{Conduct, Notes};
use crate::progress::Progress;
use crate::take::{EraEvidence, Take, millis, take_process, take_remote};

/// A server that is reached by its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub url: Url,
    /// What it asks to be sent with each request, with inert values.
    pub headers: HeaderMap,
}

/// What holds for one look at a target.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// As it is written: `npm:NAME@V`, a URL, a command line.
    pub target: &'a str,
    pub bounds: &'a Bounds,
    /// Pointers known to move for this artifact; the set only grows.
    pub volatile: &'a [String],
    pub progress: Progress<'a>,
}

/// A snapshot, and the bytes it was made of.
#[derive(Debug)]
pub struct Observation {
    pub snapshot: Snapshot,
    /// The results of the first take as received, each with a line end: `digests.raw` is their SHA-256.
    pub raw: Vec<u8>,
}

/// Looks at a server that is started.
pub async fn observe_process(look: &Look<'_>, start: &dyn Start, launch: &Launch) -> Observation {
    let mut takes = Vec::new();
    for condition in &Condition::TAKES {
        takes.push(take_process(start, launch, condition, look.bounds, look.progress).await);
        if !observed(&takes) {
            break;
        }
    }
    snapshot(look, takes)
}

/// Looks at a server that is reached.
pub async fn observe_remote(look: &Look<'_>, client: &Client, remote: &Remote) -> Observation {
    let mut takes = Vec::new();
    for condition in &Condition::TAKES {
        takes.push(take_remote(client, remote, condition, look.bounds, look.progress).await);
        if !observed(&takes) {
            break;
        }
    }
    snapshot(look, takes)
}

/// A failed take is not repeated, nor followed by another.
fn observed(takes: &[Take]) -> bool {
    takes.last().is_some_and(|take| take.outcome == Outcome::Observed)
}

/// Makes the document of one or two takes.
pub(crate) fn snapshot(look: &Look<'_>, mut takes: Vec<Take>) -> Observation {
    let told: Vec<Value> = takes.iter().map(Take::to_json).collect();
    let took: Duration = takes.iter().map(|take| take.took).sum();
    let egress = egress(&takes);
    let second = (takes.len() > 1).then(|| takes.pop()).flatten();
    let Some(first) = takes.pop() else {
        return Observation {
            snapshot: Snapshot::failed(look.target, Outcome::NotObserved, None),
            raw: Vec::new(),
        };
    };
    let mut notes = first.notes.clone();
    let (base, other) = match second {
        Some(second) => {
            notes.merge(&second.notes);
            compare(&first, &second, &mut notes);
            choose(first, second)
        }
        None => (first, None),
    };
    let mut snapshot = document(look.target, &base);
    snapshot.egress = egress;
    snapshot.took_ms = millis(took);
    snapshot.look = json!({
        "takes": told,
        "words": base.words,
        "era_evidence": base.era_evidence.map(EraEvidence::as_str),
        "server_requests": base.server_requests,
        "http": base.http,
    });
    if base.outcome == Outcome::Observed {
        complete(look, &mut snapshot, &base, other.as_ref(), &mut notes);
    }
    snapshot.findings.extend(notes.findings());
    Observation {
        snapshot,
        raw: base.raw,
    }
}

/// Which take the snapshot is of: one that failed says how the look ended; an era that was seen goes before one that
/// follows from silence.
fn choose(first: Take, second: Take) -> (Take, Option<Take>) {
    if second.outcome != Outcome::Observed {
        return (second, None);
    }
    let guessed = first.era_evidence == Some(EraEvidence::Timeout);
    if guessed && second.era_evidence != Some(EraEvidence::Timeout) {
        (second, Some(first))
    } else {
        (first, Some(second))
    }
}

/// Notes what differs between two takes besides values.
fn compare(first: &Take, second: &Take, notes: &mut Notes) {
    if first.outcome != second.outcome {
        let what = format!(
            "ended the first take as `{}` and the second as `{}`",
            first.outcome.as_str(),
            second.outcome.as_str()
        );
        notes.add(Conduct::TakesDiffer, what);
        return;
    }
    if first.era != second.era || first.protocol_version != second.protocol_version {
        notes.add(Conduct::TakesDiffer, "spoke another version in the second take");
    }
    if first.lists.keys().ne(second.lists.keys()) {
        notes.add(
            Conduct::TakesDiffer,
            "gave other kinds of lists in the second take",
        );
    }
}

fn document(target: &str, take: &Take) -> Snapshot {
    let list = |kind: ItemKind| take.lists.get(&kind).cloned();
    Snapshot {
        schema: SCHEMA.to_owned(),
        era: take.era,
        protocol_version: take.protocol_version.clone(),
        discover: take.discover.clone(),
        initialize: take.initialize.clone(),
        tools: list(ItemKind::Tool),
        prompts: list(ItemKind::Prompt),
        resources: list(ItemKind::Resource),
        resource_templates: list(ItemKind::Template),
        stderr_tail: take.stderr_tail.clone(),
        ..Snapshot::failed(target, take.outcome, take.reason.map(Reason::as_str))
    }
}

/// Fills in what follows from the manifest: digests, what moves, findings about the form.
fn complete(look: &Look<'_>, snapshot: &mut Snapshot, base: &Take, other: Option<&Take>, notes: &mut Notes) {
    let Ok(mut manifest) = snapshot.manifest() else {
        // Larger than a manifest may be once it is written down.
        snapshot.outcome = Outcome::RefusedByPolicy;
        snapshot.reason = Some(Reason::TooMuchOutput.as_str().to_owned());
        return;
    };
    let mut volatile: BTreeSet<String> = look.volatile.iter().cloned().collect();
    if let Some(other) = other.and_then(|take| document("", take).manifest().ok()) {
        volatile.extend(volatile_pointers(&manifest, &other));
        if order_moves(&manifest, &other) {
            notes.add(
                Conduct::OrderMoves,
                "gave its lists in another order in the second take",
            );
        }
    }
    snapshot.volatile = volatile.into_iter().collect();
    let form = scan::form(&manifest);
    if !snapshot.volatile.is_empty() {
        manifest.set_volatile(snapshot.volatile.clone());
    }
    header_annotations::check(&manifest, notes);
    snapshot.digests = manifest.digests();
    if let Value::Object(digests) = &mut snapshot.digests {
        digests.insert("raw".to_owned(), json!(Digest::of(&base.raw)));
    }
    let form = form
        .into_iter()
        .filter_map(|finding| serde_json::to_value(finding).ok());
    snapshot.findings = form.collect();
}

/// The same names in another order.
fn order_moves(first: &Manifest, second: &Manifest) -> bool {
    ItemKind::ALL.into_iter().any(|kind| {
        let keys = |manifest: &Manifest| manifest.of(kind).map(|item| item.key.clone()).collect::<Vec<_>>();
        let (mut ours, mut theirs) = (keys(first), keys(second));
        if ours == theirs {
            return false;
        }
        ours.sort_unstable();
        theirs.sort_unstable();
        ours == theirs
    })
}

/// What the takes tried to reach, and in how many of them.
fn egress(takes: &[Take]) -> Vec<Egress> {
    let mut seen: BTreeMap<(String, u16, String), u32> = BTreeMap::new();
    for take in takes {
        let each: BTreeSet<(String, u16, String)> = take
            .egress
            .iter()
            .map(|e| (e.host.clone(), e.port, e.protocol.clone()))
            .collect();
        for place in each {
            *seen.entry(place).or_default() += 1;
        }
    }
    let each = seen.into_iter().map(|((host, port, protocol), takes)| Egress {
        host,
        port,
        protocol,
        takes,
    });
    each.collect()
}
