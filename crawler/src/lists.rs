//! The lists of a server, page by page, and whether they stand still.

use std::collections::HashSet;

use serde_json::value::RawValue;
use tokio::time::Instant;
use toolmark_domain::json::Members;
use toolmark_domain::limits::LIST_CURSOR_BYTES;
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use crate::classify;
use crate::message::{METHOD_NOT_FOUND, RpcError, Style};
use crate::notes::Conduct;
use crate::session::{Session, check_depth, head};
use crate::take::EraEvidence;
use crate::wire::{Ask, Body, End, Trouble, Wire};

impl Session<'_> {
    pub(crate) async fn lists(&mut self) -> Result<(), Trouble> {
        let has = self.got.capabilities;
        // Tools are asked for in any case: they are what this is about.
        self.list(ItemKind::Tool, has.tools).await?;
        if has.prompts {
            self.list(ItemKind::Prompt, true).await?;
        }
        if has.resources {
            self.list(ItemKind::Resource, true).await?;
            self.list(ItemKind::Template, true).await?;
        }
        Ok(())
    }

    /// One list, page by page.
    async fn list(&mut self, kind: ItemKind, declared: bool) -> Result<(), Trouble> {
        let method = method_of(kind);
        let mut items = Vec::new();
        let mut cursor: Option<Box<RawValue>> = None;
        let mut seen = HashSet::new();
        for _ in 0..self.bounds.pages {
            let page = match self.page(method, cursor.as_deref()).await? {
                Ok(page) => page,
                Err(error) => return self.not_listed(kind, declared, &error),
            };
            check_depth(&page)?;
            self.complete(method, &page);
            let members = Members::object(page.get()).unwrap_or_default();
            if !self.take_items(kind, &members, &mut items)? {
                return Ok(());
            }
            match next_cursor(&members) {
                None => {
                    if !declared && !items.is_empty() {
                        let what = format!("answers `{method}` without declaring it");
                        self.wire.traffic().notes.add(Conduct::UndeclaredList, what);
                    }
                    // An empty answer of one that declares nothing is no list.
                    if declared || !items.is_empty() {
                        self.got.lists.insert(kind, items);
                    }
                    return Ok(());
                }
                Some(next) if next.get().len() > LIST_CURSOR_BYTES => {
                    return Err(End::refused(Reason::CursorTooLong));
                }
                Some(next) if !seen.insert(next.get().to_owned()) => {
                    return Err(End::refused(Reason::CursorLoop));
                }
                Some(next) => {
                    if !next.get().starts_with('"') {
                        let what = format!("gives a cursor of `{method}` that is not text");
                        self.wire.traffic().notes.add(Conduct::OddCursor, what);
                    }
                    cursor = Some(next.to_owned());
                }
            }
        }
        Err(End::refused(Reason::TooManyPages))
    }

    /// Adds the items of a page; false where there is no list in it.
    fn take_items(
        &mut self,
        kind: ItemKind,
        members: &Members<'_>,
        items: &mut Vec<Box<RawValue>>,
    ) -> Result<bool, Trouble> {
        let own = if kind == ItemKind::Template {
            "resourceTemplates"
        } else {
            kind.list()
        };
        for name in members.repeated() {
            let what = format!("a page of `{}` has `{}` twice", method_of(kind), head(name));
            self.wire.traffic().notes.add(Conduct::DoubledKey, what);
        }
        let entries = members.get(own).map(serde_json::from_str::<Vec<&RawValue>>);
        let Some(Ok(entries)) = entries else {
            let words = format!("the answer to `{}` holds no list `{own}`", method_of(kind));
            if kind == ItemKind::Tool {
                return Err(End::saying(Outcome::DoesNotSpeakMcp, Reason::NoToolsList, words).into());
            }
            self.wire.traffic().notes.add(Conduct::NotListed, words);
            return Ok(false);
        };
        if items.len() + entries.len() > self.bounds.items {
            return Err(End::refused(Reason::TooManyItems));
        }
        items.extend(entries.into_iter().map(ToOwned::to_owned));
        Ok(true)
    }

    /// One page: the result, or the error.
    async fn page(
        &mut self,
        method: &str,
        cursor: Option<&RawValue>,
    ) -> Result<Result<Box<RawValue>, RpcError>, Trouble> {
        let modern = self.got.era == Some(Era::Modern);
        let ask = Ask {
            method,
            style: if modern { Style::Modern } else { Style::Legacy },
            cursor,
            first: false,
        };
        let mut answer = self.wire.ask(&ask, self.bounds.answer).await?;
        if answer.status == Some(404) && !modern && self.again().await? {
            answer = self.wire.ask(&ask, self.bounds.answer).await?;
        }
        match answer.body {
            Body::Result(result) => {
                self.keep(&result);
                Ok(Ok(result))
            }
            Body::Error(error) => Ok(Err(error)),
            Body::Other(reason, words) => Err(End::saying(Outcome::DoesNotSpeakMcp, reason, words).into()),
        }
    }

    /// A session that is gone is begun again, once.
    async fn again(&mut self) -> Result<bool, Trouble> {
        let had = match &mut self.wire {
            Wire::Stdio(_) => false,
            Wire::Http(wire) => wire.forget_session(),
        };
        if had {
            let evidence = self.got.evidence.unwrap_or(EraEvidence::Refused);
            Box::pin(self.initialize(evidence)).await?;
        }
        Ok(had)
    }

    fn not_listed(&mut self, kind: ItemKind, declared: bool, error: &RpcError) -> Result<(), Trouble> {
        let method = method_of(kind);
        let unknown = error.code == Some(METHOD_NOT_FOUND);
        if kind == ItemKind::Tool && declared {
            if unknown {
                return Err(End::saying(Outcome::DoesNotSpeakMcp, Reason::NoToolsList, error.words()).into());
            }
            let remote = matches!(self.wire, Wire::Http(_));
            return Err(classify::list_error(error.words(), remote).into());
        }
        // One declaration stands for resources and their templates; many have only the first.
        if declared && !(unknown && kind == ItemKind::Template) {
            let what = format!("declares `{method}` and answers it with an error");
            self.wire.traffic().notes.add(Conduct::NotListed, what);
        }
        Ok(())
    }

    /// Waits for a server that says it may change its lists; whether it did.
    pub(crate) async fn changed(&mut self) -> Result<bool, Trouble> {
        let settle = self.bounds.settle;
        let Wire::Stdio(wire) = &mut self.wire else {
            return Ok(false);
        };
        if !self.got.moves {
            return Ok(false);
        }
        let began = Instant::now();
        wire.listen(settle).await?;
        if !wire.traffic.lists_changed {
            return Ok(false);
        }
        // It may change more than once in a row.
        while wire.traffic.lists_changed && began.elapsed() < settle * 2 {
            wire.traffic.lists_changed = false;
            wire.listen(settle).await?;
        }
        Ok(true)
    }
}

fn method_of(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tool => "tools/list",
        ItemKind::Prompt => "prompts/list",
        ItemKind::Resource => "resources/list",
        ItemKind::Template => "resources/templates/list",
    }
}

/// The cursor of the next page; missing and null end a list, an empty text does not.
fn next_cursor<'a>(members: &Members<'a>) -> Option<&'a RawValue> {
    members.raw("nextCursor").filter(|raw| raw.get() != "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cursor_is_a_cursor() {
        let of = |text: &str| {
            let members = Members::object(text).unwrap();
            next_cursor(&members).map(|raw| raw.get().to_owned())
        };
        assert_eq!(of(r#"{"nextCursor":""}"#).as_deref(), Some(r#""""#));
        assert_eq!(of(r#"{"nextCursor":null}"#), None);
        assert_eq!(of("{}"), None);
    }
}
