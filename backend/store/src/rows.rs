//! Rows as the databases give them, and their way into domain types.

use sqlx::FromRow;
use toolmark_domain::digest::Digest;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Origin, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;

use crate::StoreError;

/// The columns of [`VersionRow`], of a table aliased `v`.
macro_rules! version_columns {
    () => {
        "v.name, v.version, v.status, v.status_changed_at, v.status_message, v.published_at, v.updated_at, \
         v.is_latest, v.is_current, v.origin, v.valid, v.digest, v.document"
    };
}

#[derive(FromRow)]
pub(crate) struct VersionRow {
    name: String,
    version: String,
    status: String,
    status_changed_at: i64,
    status_message: Option<String>,
    published_at: i64,
    updated_at: i64,
    is_latest: bool,
    is_current: bool,
    origin: String,
    valid: bool,
    digest: Vec<u8>,
    document: String,
}

pub(crate) fn status(text: &str) -> Result<Status, StoreError> {
    Status::parse(text).ok_or_else(|| StoreError::inconsistent("versions", format!("status `{text}`")))
}

pub(crate) fn server_name(table: &'static str, text: &str) -> Result<ServerName, StoreError> {
    ServerName::parse(text).map_err(|_| StoreError::inconsistent(table, format!("name `{text}`")))
}

pub(crate) fn version_id(table: &'static str, text: &str) -> Result<VersionId, StoreError> {
    VersionId::parse(text).map_err(|_| StoreError::inconsistent(table, format!("version `{text}`")))
}

impl TryFrom<VersionRow> for Version {
    type Error = StoreError;

    fn try_from(row: VersionRow) -> Result<Self, StoreError> {
        Ok(Self {
            server: server_name("versions", &row.name)?,
            version: version_id("versions", &row.version)?,
            status: status(&row.status)?,
            status_changed_at: Timestamp::from_micros(row.status_changed_at),
            status_message: row.status_message,
            published_at: Timestamp::from_micros(row.published_at),
            updated_at: Timestamp::from_micros(row.updated_at),
            is_latest: row.is_latest,
            is_current: row.is_current,
            origin: Origin::parse(&row.origin)
                .ok_or_else(|| StoreError::inconsistent("versions", format!("origin `{}`", row.origin)))?,
            valid: row.valid,
            digest: Digest::from_bytes(&row.digest)
                .ok_or_else(|| StoreError::inconsistent("versions", "digest of another length"))?,
            document: row.document,
        })
    }
}

pub(crate) fn versions(rows: Vec<VersionRow>) -> Result<Vec<Version>, StoreError> {
    rows.into_iter().map(Version::try_from).collect()
}
