//! One session with a server: finding out its era, then its lists. The decision tables are those of the protocol's
//! rules for clients of both eras; every branch has a row in `tests/`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use toolmark_domain::json::Members;
use toolmark_domain::limits::JSON_DEPTH;
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use crate::bounds::Bounds;
use crate::classify;
use crate::message::{
    HEADER_MISMATCH, LEGACY, MISSING_CAPABILITY, MODERN, RpcError, Style, UNSUPPORTED_VERSION,
};
use crate::notes::Conduct;
use crate::progress::{Progress, Stage};
use crate::take::EraEvidence;
use crate::wire::{Answer, Ask, Body, End, Trouble, Wire};

/// What a session has got so far; it stays when the session is cut short.
#[derive(Debug, Default)]
pub(crate) struct Got {
    pub(crate) era: Option<Era>,
    pub(crate) evidence: Option<EraEvidence>,
    pub(crate) version: Option<String>,
    pub(crate) discover: Option<Box<RawValue>>,
    pub(crate) initialize: Option<Box<RawValue>>,
    pub(crate) lists: BTreeMap<ItemKind, Vec<Box<RawValue>>>,
    /// Every result received, in order, each with a line end.
    pub(crate) raw: Vec<u8>,
    /// It answered something.
    pub(crate) spoke: bool,
    /// What it declares it has.
    pub(crate) capabilities: Capabilities,
    /// Some list may change while it runs.
    pub(crate) moves: bool,
}

/// What a server declares it has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capabilities {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

/// A session under way.
pub(crate) struct Session<'a> {
    pub(crate) wire: Wire<'a>,
    pub(crate) bounds: &'a Bounds,
    pub(crate) got: Got,
    pub(crate) progress: Progress<'a>,
}

/// What the answer to `server/discover` means.
enum Verdict {
    Modern(Box<RawValue>),
    /// Ask once more, as the error says.
    Again,
    Legacy(EraEvidence),
    Stop(End),
}

impl Session<'_> {
    /// Everything up to the last list.
    pub(crate) async fn run(&mut self) -> Result<(), Trouble> {
        self.progress.at(Stage::Greet);
        self.greet().await?;
        self.progress.at(Stage::List);
        self.lists().await?;
        if self.changed().await? {
            let what = "said right after its start that its lists changed; they were asked for again";
            self.wire.traffic().notes.add(Conduct::ListMoved, what);
            self.got.lists.clear();
            self.lists().await?;
        }
        Ok(())
    }

    async fn greet(&mut self) -> Result<(), Trouble> {
        let mut asked = 0;
        loop {
            asked += 1;
            let verdict = match self.discover().await {
                Ok(answer) => self.judge(answer, asked),
                Err(trouble) => self.restart(trouble).await?,
            };
            match verdict {
                Verdict::Modern(result) => return self.modern(&result),
                Verdict::Again => {}
                Verdict::Legacy(evidence) => return self.initialize(evidence).await,
                Verdict::Stop(end) => return Err(end.into()),
            }
        }
    }

    async fn discover(&mut self) -> Result<Answer, Trouble> {
        // The first answer is waited for from the start of the process.
        let mut time = self.bounds.probe;
        if let Wire::Stdio(wire) = &mut self.wire {
            time = time.saturating_sub(wire.age());
        }
        let ask = Ask {
            method: "server/discover",
            style: Style::Modern,
            cursor: None,
            first: true,
        };
        self.wire.ask(&ask, time).await
    }

    /// A process that did not survive the probe, or did not answer it, gets a successor that is asked in the old way.
    async fn restart(&mut self, trouble: Trouble) -> Result<Verdict, Trouble> {
        let evidence = match trouble {
            Trouble::End(end) => return Err(end.into()),
            Trouble::Gone => EraEvidence::Exit,
            Trouble::Silent => EraEvidence::Timeout,
        };
        match &mut self.wire {
            Wire::Stdio(wire) => {
                self.progress.at(Stage::Restart);
                wire.begin().await?;
                Ok(Verdict::Legacy(evidence))
            }
            Wire::Http(_) => Err(trouble),
        }
    }

    fn judge(&mut self, answer: Answer, asked: u32) -> Verdict {
        self.got.spoke = !matches!(answer.body, Body::Other(..));
        match answer.body {
            Body::Result(result) => {
                self.keep(&result);
                let versions = supported_versions(&result);
                let modern = versions.iter().any(|version| version == MODERN);
                self.got.discover = (!versions.is_empty()).then(|| result.clone());
                if modern {
                    Verdict::Modern(result)
                } else {
                    Verdict::Legacy(EraEvidence::Refused)
                }
            }
            Body::Error(error) if error.is_modern() => self.modern_error(&error, asked),
            Body::Error(_) | Body::Other(..) => Verdict::Legacy(EraEvidence::Refused),
        }
    }

    fn modern_error(&mut self, error: &RpcError, asked: u32) -> Verdict {
        let supported = error.supported();
        let old = supported.iter().any(|version| LEGACY.contains(version));
        let ours = supported.contains(&MODERN);
        match error.code {
            Some(UNSUPPORTED_VERSION) if ours && asked == 1 => Verdict::Again,
            Some(UNSUPPORTED_VERSION) if old || supported.is_empty() => {
                Verdict::Legacy(EraEvidence::ModernError)
            }
            code => {
                self.got.era = Some(Era::Modern);
                self.got.evidence = Some(EraEvidence::ModernError);
                let (outcome, reason) = match code {
                    Some(HEADER_MISMATCH) => (Outcome::NotObserved, Reason::HeaderMismatch),
                    Some(MISSING_CAPABILITY) => (Outcome::RefusedByPolicy, Reason::NeedsClientCapability),
                    _ => (Outcome::DoesNotSpeakMcp, Reason::NoCommonVersion),
                };
                Verdict::Stop(End::saying(outcome, reason, error.words()))
            }
        }
    }

    fn modern(&mut self, result: &RawValue) -> Result<(), Trouble> {
        check_depth(result)?;
        self.got.era = Some(Era::Modern);
        self.got.evidence = Some(EraEvidence::Discovered);
        self.got.version = Some(MODERN.to_owned());
        self.complete("server/discover", result);
        self.declared(result);
        Ok(())
    }

    pub(crate) async fn initialize(&mut self, evidence: EraEvidence) -> Result<(), Trouble> {
        let ask = Ask {
            method: "initialize",
            style: Style::Legacy,
            cursor: None,
            first: true,
        };
        let answer = self.wire.ask(&ask, self.bounds.probe).await?;
        let status = answer.status;
        let result = match answer.body {
            Body::Result(result) if result.get().starts_with('{') => result,
            Body::Result(result) => {
                let words = format!("`initialize` was answered with {}", head(result.get()));
                return Err(End::saying(Outcome::DoesNotSpeakMcp, Reason::NotJsonRpc, words).into());
            }
            Body::Error(error) => return Err(self.not_initialized(error.words(), Some(&error)).await),
            Body::Other(reason, words) => {
                if self.is_old_sse().await {
                    return Err(End::saying(Outcome::DoesNotSpeakMcp, Reason::HttpSseOnly, words).into());
                }
                let reason = if status == Some(202) {
                    Reason::NoAnswerToInitialize
                } else {
                    reason
                };
                return Err(End::saying(Outcome::DoesNotSpeakMcp, reason, words).into());
            }
        };
        self.got.spoke = true;
        self.keep(&result);
        check_depth(&result)?;
        self.got.era = Some(Era::Legacy);
        self.got.evidence = Some(evidence);
        self.negotiated(&result);
        self.declared(&result);
        self.got.initialize = Some(result);
        if evidence == EraEvidence::Timeout {
            let what = "did not answer `server/discover` in time; its era is provisional";
            self.wire.traffic().notes.add(Conduct::EraProvisional, what);
        }
        self.wire
            .tell("notifications/initialized", self.bounds.answer)
            .await
    }

    /// `initialize` was refused: because it wants something, because it is of another time, or because it is none.
    async fn not_initialized(&mut self, words: String, error: Option<&RpcError>) -> Trouble {
        let remote = matches!(self.wire, Wire::Http(_));
        if let Some(reason @ (Reason::MissingSetting | Reason::MissingArgument)) = classify::telling(&words) {
            let outcome = if remote {
                Outcome::AuthRequired
            } else {
                Outcome::NeedsConfiguration
            };
            return End::saying(outcome, reason, words).into();
        }
        let version = error.is_some_and(|error| error.code == Some(UNSUPPORTED_VERSION));
        let reason = if self.is_old_sse().await {
            Reason::HttpSseOnly
        } else if version {
            Reason::NoCommonVersion
        } else {
            Reason::InitializeRefused
        };
        End::saying(Outcome::DoesNotSpeakMcp, reason, words).into()
    }

    async fn is_old_sse(&mut self) -> bool {
        match &mut self.wire {
            Wire::Stdio(_) => false,
            Wire::Http(wire) => wire.is_old_sse().await,
        }
    }

    /// The version both sides now speak; lists are the same in all of them, so a strange one is only noted.
    fn negotiated(&mut self, result: &RawValue) {
        let members = Members::object(result.get()).unwrap_or_default();
        let version = members.text("protocolVersion");
        let known = version
            .as_deref()
            .is_some_and(|version| LEGACY.contains(&version));
        if !known {
            let shown = version.as_deref().map_or("none".to_owned(), head);
            let what = format!("answered `initialize` with a version we do not know: {shown}");
            self.wire.traffic().notes.add(Conduct::OddVersion, what);
        }
        if let (Wire::Http(wire), Some(version)) = (&mut self.wire, &version) {
            wire.initialized(version);
        }
        self.got.version = version.map(|version| head(&version));
    }

    /// Notes what it says it has.
    fn declared(&mut self, result: &RawValue) {
        let members = Members::object(result.get()).unwrap_or_default();
        for name in members.repeated() {
            let what = format!("names `{}` twice in what it says of itself", head(name));
            self.wire.traffic().notes.add(Conduct::DoubledKey, what);
        }
        let capabilities = members.get("capabilities").and_then(Members::object);
        let capabilities = capabilities.unwrap_or_default();
        let has = |name: &str| capabilities.get(name).is_some();
        let moves = |name: &str| {
            let one = capabilities.get(name).and_then(Members::object);
            one.is_some_and(|one| one.get("listChanged") == Some("true"))
        };
        self.got.capabilities = Capabilities {
            tools: has("tools"),
            prompts: has("prompts"),
            resources: has("resources"),
        };
        self.got.moves = moves("tools") || moves("prompts") || moves("resources");
        if own_version(&members).is_some_and(|version| version.trim().is_empty()) {
            let what = "gives itself an empty version";
            self.wire.traffic().notes.add(Conduct::NoVersion, what);
        }
    }

    /// What the modern protocol asks of every result.
    pub(crate) fn complete(&mut self, method: &str, result: &RawValue) {
        if self.got.era != Some(Era::Modern) {
            return;
        }
        let members = Members::object(result.get()).unwrap_or_default();
        let notes = &mut self.wire.traffic().notes;
        for name in ["resultType", "ttlMs", "cacheScope"] {
            if members.get(name).is_none() {
                notes.add(
                    Conduct::IncompleteResult,
                    format!("leaves out `{name}` in its answer to `{method}`"),
                );
            }
        }
        if let Some(kind) = members.get("resultType").filter(|kind| *kind != "\"complete\"") {
            let what = format!("gives its answer to `{method}` the type {}", head(kind));
            notes.add(Conduct::UnknownResultType, what);
        }
    }

    pub(crate) fn keep(&mut self, result: &RawValue) {
        self.got.raw.extend_from_slice(result.get().as_bytes());
        self.got.raw.push(b'\n');
    }
}

fn supported_versions(result: &RawValue) -> Vec<String> {
    let members = Members::object(result.get()).unwrap_or_default();
    let list = members.get("supportedVersions").map(serde_json::from_str);
    list.and_then(Result::ok).unwrap_or_default()
}

/// The version it gives itself, where either era puts it.
fn own_version(members: &Members<'_>) -> Option<String> {
    let meta = members.get("_meta").and_then(Members::object);
    let nested = meta
        .as_ref()
        .and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
    let info = members.get("serverInfo").or(nested)?;
    Members::object(info)?.text("version")
}

/// The head of foreign text for a sentence of ours.
pub(crate) fn head(text: &str) -> String {
    let mut chars = text.chars();
    let mut head: String = chars.by_ref().take(80).collect();
    if chars.next().is_some() {
        head.push('…');
    }
    head
}

/// Refuses what is nested deeper than our readers go: items within a page may have the full depth.
pub(crate) fn check_depth(result: &RawValue) -> Result<(), Trouble> {
    // The result itself, and its list, stand around an item.
    let most = JSON_DEPTH + 2;
    let (mut depth, mut text, mut escaped) = (0_usize, false, false);
    for byte in result.get().bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if text => escaped = true,
            b'"' => text = !text,
            _ if text => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > most {
                    return Err(End::refused(Reason::TooDeep));
                }
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: String) -> Box<RawValue> {
        RawValue::from_string(text).unwrap()
    }

    #[test]
    fn depth_is_counted_outside_of_text() {
        let nested = |depth: usize| raw(format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
        assert!(check_depth(&nested(JSON_DEPTH + 2)).is_ok());
        assert!(check_depth(&nested(JSON_DEPTH + 3)).is_err());
        let text = raw(format!(r#"{{"a":"{}\"[[["}}"#, "[".repeat(100)));
        assert!(check_depth(&text).is_ok());
    }
}
