//! All versions of one server inside a transaction: who is latest, who is current.

use sqlx::FromRow;
use toolmark_domain::document::Document;
use toolmark_domain::record::Origin;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::{self, Candidate};
use uuid::Uuid;

use crate::pools::Tx;
use crate::{StoreError, rows, search};

#[derive(Clone, Debug, FromRow)]
struct MemberRow {
    id: Uuid,
    version: String,
    status: String,
    published_at: i64,
    is_latest: bool,
    is_current: bool,
    origin: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: Uuid,
    pub(crate) version: String,
    pub(crate) status: Status,
    pub(crate) published_at: Timestamp,
    pub(crate) is_latest: bool,
    pub(crate) is_current: bool,
    /// Its publisher sent it to us.
    pub(crate) published_here: bool,
}

pub(crate) struct VersionSet {
    server_id: Uuid,
    /// In order of publication.
    pub(crate) members: Vec<Member>,
}

impl Member {
    /// A version that was just published: active, without flags.
    pub(crate) fn new(id: Uuid, version: &str, published_at: Timestamp) -> Self {
        let status = Status::Active;
        Self {
            id,
            version: version.to_owned(),
            status,
            published_at,
            is_latest: false,
            is_current: false,
            published_here: true,
        }
    }
}

impl VersionSet {
    /// The set of a server that is not there yet.
    pub(crate) fn empty() -> Self {
        Self {
            server_id: Uuid::nil(),
            members: Vec::new(),
        }
    }

    /// Adds the newest version.
    pub(crate) fn push(&mut self, server_id: Uuid, member: Member) {
        self.server_id = server_id;
        self.members.push(member);
    }

    pub(crate) async fn load(tx: &mut Tx, server_id: Uuid) -> Result<Self, StoreError> {
        const MEMBERS: &str = "select id, version, status, published_at, is_latest, is_current, origin from versions \
             where server_id = $1 order by published_at, id";
        let found: Vec<MemberRow> =
            on!(tx tx, db => sqlx::query_as(MEMBERS).bind(server_id).fetch_all(db).await)?;
        let members = found.into_iter().map(|row| {
            Ok(Member {
                status: rows::status(&row.status)?,
                id: row.id,
                version: row.version,
                published_at: Timestamp::from_micros(row.published_at),
                is_latest: row.is_latest,
                is_current: row.is_current,
                published_here: row.origin == Origin::Published.as_str(),
            })
        });
        Ok(Self {
            server_id,
            members: members.collect::<Result<_, StoreError>>()?,
        })
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let mut candidates = Vec::with_capacity(self.members.len());
        for member in &self.members {
            candidates.push(Candidate {
                version: &member.version,
                status: member.status,
                published_at: member.published_at,
            });
        }
        candidates
    }

    /// The member upstream's rule would call latest after a change of status.
    pub(crate) fn computed_latest(&self) -> Option<usize> {
        version::latest(&self.candidates())
    }

    /// The member people and agents should see.
    pub(crate) fn computed_current(&self) -> Option<usize> {
        version::current(&self.candidates())
    }

    /// Whether a version its publisher sent to us, and did not delete, is greater than `index`: another registry does
    /// not know of it, so its word on what is latest does not count.
    pub(crate) fn published_here_is_greater(&self, index: usize) -> bool {
        let told = &self.members[index];
        self.members.iter().any(|member| {
            member.published_here
                && member.status != Status::Deleted
                && version::compare(
                    (&member.version, member.published_at),
                    (&told.version, told.published_at),
                )
                .is_gt()
        })
    }

    /// The member flagged as latest.
    pub(crate) fn flagged_latest(&self) -> Option<usize> {
        self.members.iter().position(|member| member.is_latest)
    }

    /// Moves the flags to `latest` and `current`, and the server's search text with the latter. Clearing and setting
    /// are two statements: the unique index does not wait for the end of the transaction.
    pub(crate) async fn flag(
        &mut self,
        tx: &mut Tx,
        latest: Option<usize>,
        current: Option<usize>,
    ) -> Result<(), StoreError> {
        const CLEAR_LATEST: &str = "update versions set is_latest = false where server_id = $1 and is_latest";
        const SET_LATEST: &str = "update versions set is_latest = true where id = $1";
        const CLEAR_CURRENT: &str =
            "update versions set is_current = false where server_id = $1 and is_current";
        const SET_CURRENT: &str = "update versions set is_current = true where id = $1";
        if self.flagged_latest() != latest {
            // A server that is new here has no flag to clear.
            if self.flagged_latest().is_some() {
                on!(tx tx, db => sqlx::query(CLEAR_LATEST).bind(self.server_id).execute(db).await.map(|_| ()))?;
            }
            if let Some(index) = latest {
                on!(tx tx, db => sqlx::query(SET_LATEST).bind(self.members[index].id).execute(db).await.map(|_| ()))?;
            }
        }
        let flagged_current = self.members.iter().position(|member| member.is_current);
        if flagged_current != current {
            if flagged_current.is_some() {
                on!(tx tx, db => sqlx::query(CLEAR_CURRENT).bind(self.server_id).execute(db).await.map(|_| ()))?;
            }
            if let Some(index) = current {
                on!(tx tx, db => sqlx::query(SET_CURRENT).bind(self.members[index].id).execute(db).await.map(|_| ()))?;
            }
        }
        for (index, member) in self.members.iter_mut().enumerate() {
            member.is_latest = Some(index) == latest;
            member.is_current = Some(index) == current;
        }
        Ok(())
    }

    /// The current version's string.
    pub(crate) fn current_version(&self) -> Option<&str> {
        self.members
            .iter()
            .find(|member| member.is_current)
            .map(|member| member.version.as_str())
    }

    /// Takes the server's search text from its current version.
    pub(crate) async fn refresh_search_text(&self, tx: &mut Tx, name: &str) -> Result<(), StoreError> {
        const DOCUMENT: &str = "select document from versions where id = $1";
        const UPDATE: &str = "update servers set search_text = $1 where id = $2";
        let Some(current) = self.members.iter().find(|member| member.is_current) else {
            return Ok(());
        };
        let document: String =
            on!(tx tx, db => sqlx::query_scalar(DOCUMENT).bind(current.id).fetch_one(db).await)?;
        let value: serde_json::Value = serde_json::from_str(&document)
            .map_err(|e| StoreError::inconsistent("versions", format!("document of `{name}`: {e}")))?;
        let text = search::text(name, &Document::read(&value));
        on!(tx tx, db => sqlx::query(UPDATE).bind(text).bind(self.server_id).execute(db).await.map(|_| ()))?;
        Ok(())
    }
}
