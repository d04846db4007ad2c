//! How pinned servers stand today.

use serde::Serialize;
use toolmark_domain::digest::Digest;
use toolmark_domain::event::Severity;
use toolmark_domain::lock::{Standing, ToolChanges, ToolPin};
use toolmark_domain::record::Version;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_store::{StoreError, StoredSnapshot};

use crate::Registry;
use crate::observe::ObserveError;

/// What somebody has.
#[derive(Clone, Debug, Default)]
pub struct PinAsked {
    /// `namespace/name`, or empty when only the package or remote is known.
    pub name: String,
    /// Kind and identifier of a package or remote.
    pub target: Option<(String, String)>,
    /// Of the server, or of the package where only that is known.
    pub version: Option<String>,
    pub manifest: Option<Digest>,
    pub artifact: Option<Digest>,
    pub tools: Vec<ToolPin>,
}

/// What the registry shows today.
#[derive(Clone, Debug, Serialize)]
pub struct CurrentFacts {
    pub version: String,
    pub published_at: Timestamp,
    pub target: Option<String>,
    pub observed_at: Option<Timestamp>,
    pub artifact: Option<Digest>,
    #[serde(rename = "manifest/1")]
    pub manifest: Option<Digest>,
    pub tools: Vec<ToolPin>,
    /// The gravest finding of its scan.
    pub severity: Option<Severity>,
}

/// How it stands.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The server's name; none when nobody lists it.
    pub name: Option<String>,
    pub version: Option<String>,
    pub standing: Standing,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// When the version that was asked about was published.
    pub published_at: Option<Timestamp>,
    /// The gravest finding about it.
    pub severity: Option<Severity>,
    /// Which tools are not as they were; none when none were sent or none are known.
    pub tools: Option<ToolChanges>,
    pub current: Option<CurrentFacts>,
}

impl Checked {
    fn unknown(asked: &PinAsked, reason: &str) -> Self {
        Self {
            name: (!asked.name.is_empty()).then(|| asked.name.clone()),
            version: asked.version.clone(),
            standing: Standing::Unknown,
            reasons: vec![reason.to_owned()],
            published_at: None,
            severity: None,
            tools: None,
            current: None,
        }
    }
}

impl Registry {
    /// How one pin stands.
    pub async fn check_pin(&self, asked: &PinAsked) -> Result<Checked, ObserveError> {
        let Some((name, version)) = self.pinned_server(asked).await? else {
            return Ok(Checked::unknown(asked, "nobody lists it here"));
        };
        let Some(current) = self.store().current(&name).await? else {
            return Ok(Checked::unknown(asked, "no such server is recorded"));
        };
        let looked = self.store().current_snapshot(&name).await?;
        let tools = self.tools_of(looked.as_ref()).await?;
        let facts = CurrentFacts {
            version: current.version.to_string(),
            published_at: current.published_at,
            target: looked.as_ref().map(|row| row.target.clone()),
            observed_at: looked.as_ref().map(|row| row.observed_at),
            artifact: looked.as_ref().and_then(|row| row.artifact),
            manifest: looked.as_ref().and_then(|row| row.manifest),
            severity: looked.as_ref().and_then(|row| row.severity),
            tools,
        };
        let has = match &version {
            Some(version) => self.store().version(&name, version).await?,
            None => Some(current.clone()),
        };
        let shown = self.store().shown_of(&name).await?;
        let mut checked = Checked {
            name: Some(name),
            version: version.clone(),
            standing: Standing::Same,
            reasons: Vec::new(),
            published_at: has.as_ref().map(|has| has.published_at),
            severity: None,
            tools: None,
            current: None,
        };
        judge(&mut checked, asked, has.as_ref(), &facts, &shown);
        if !asked.tools.is_empty() && facts.manifest.is_some() {
            let changes = ToolChanges::between(&asked.tools, &facts.tools);
            checked.tools = Some(changes);
        }
        checked.current = Some(facts);
        Ok(checked)
    }

    /// The server that is meant, and its version.
    async fn pinned_server(&self, asked: &PinAsked) -> Result<Option<(String, Option<String>)>, StoreError> {
        if !asked.name.is_empty() {
            return Ok(Some((asked.name.clone(), asked.version.clone())));
        }
        let Some((kind, identifier)) = &asked.target else {
            return Ok(None);
        };
        self.store()
            .server_with_target(kind, identifier, asked.version.as_deref())
            .await
    }

    async fn tools_of(&self, row: Option<&StoredSnapshot>) -> Result<Vec<ToolPin>, ObserveError> {
        let Some(row) = row else { return Ok(Vec::new()) };
        let manifest = self.manifest_of(row).await?;
        let pin = |item: &toolmark_domain::manifest::Item| ToolPin {
            name: item.key.clone(),
            tool: item.tool,
        };
        Ok(manifest.tools().map(pin).collect())
    }
}

fn judge(
    checked: &mut Checked,
    asked: &PinAsked,
    has: Option<&Version>,
    current: &CurrentFacts,
    shown: &[StoredSnapshot],
) {
    let Some(has) = has else {
        checked.standing = Standing::Unknown;
        checked.reasons.push("no such version is recorded".into());
        return;
    };
    let of_version: Vec<&StoredSnapshot> = shown.iter().filter(|row| row.version == has.version).collect();
    checked.severity = of_version.iter().filter_map(|row| row.severity).max();
    match has.status {
        Status::Deleted => {
            checked.standing = Standing::Withdrawn;
            checked.reasons.push("the version was deleted".into());
            return;
        }
        Status::Deprecated => checked.reasons.push("the version is deprecated".into()),
        Status::Active => {}
    }
    if has.version.as_str() != current.version {
        checked.standing = Standing::KnownOlder;
        checked.reasons.push(format!("{} is current", current.version));
    }
    if let Some(digest) = asked.manifest {
        let here = of_version.iter().any(|row| row.manifest == Some(digest));
        let elsewhere = shown.iter().find(|row| row.manifest == Some(digest));
        match (here, elsewhere) {
            (true, _) => {}
            (false, Some(row)) => {
                checked.standing = Standing::KnownOlder;
                checked
                    .reasons
                    .push(format!("the manifest is that of {}", row.version));
            }
            (false, None) if of_version.is_empty() => {
                checked
                    .reasons
                    .push("this version was not observed: its manifest cannot be compared".into());
            }
            (false, None) => {
                checked.standing = Standing::Unknown;
                checked
                    .reasons
                    .push("the manifest is none that this version shows today".into());
            }
        }
    }
    if let Some(digest) = asked.artifact {
        let known: Vec<Digest> = of_version.iter().filter_map(|row| row.artifact).collect();
        if !known.is_empty() && !known.contains(&digest) {
            checked.standing = Standing::Unknown;
            checked
                .reasons
                .push("the artifact of this version is another one".into());
        }
    }
}
