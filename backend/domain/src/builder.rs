//! The identity that built an artifact, and what changed about it from one release to the next.
//!
//! Trust on first use: the first verified release sets the identity, each later one is compared with it. Which
//! releases are compared (one release line, prereleases apart) is the caller's matter.

use serde::{Deserialize, Serialize};

use crate::provenance::{Level, Verdict};

/// What kind of ref a build started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefKind {
    Tag,
    Branch,
    Other,
}

/// Who or what signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuilderClass {
    /// A build service.
    Ci,
    /// The forge itself, about a release.
    Forge,
    /// A person or an account.
    Person,
}

/// Who built an artifact, as far as the evidence says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Builder {
    pub class: BuilderClass,
    /// Host of the forge, such as `github.com`.
    pub forge: Option<String>,
    pub repository: Option<String>,
    pub repository_id: Option<String>,
    pub owner_id: Option<String>,
    /// Path of the workflow within the source repository, without its ref.
    pub workflow: Option<String>,
    /// Who signed, without a ref; within the source repository only the path.
    pub signer: Option<String>,
    pub runner: Option<String>,
    pub ref_kind: Option<RefKind>,
    pub level: Option<Level>,
}

/// What one release says: the verdict on it and the identity found, also when the verdict is a mismatch.
#[derive(Clone, Debug)]
pub struct Release {
    pub verdict: Verdict,
    pub builder: Option<Builder>,
}

/// How much a change matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Low,
    Medium,
    High,
}

/// A change of the builder between two releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuilderChange {
    FirstSeen,
    WorkflowChanged,
    SignerChanged,
    RunnerChanged,
    RepositoryRenamed,
    RepositoryTransferred,
    RepositoryReplaced,
    ForgeChanged,
    BuilderClassChanged,
    RefKindChanged,
    ProvenanceLost,
    ProvenanceRestored,
    LevelLowered,
}

impl BuilderChange {
    /// The word in JSON, in the database and in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstSeen => "first_seen",
            Self::WorkflowChanged => "workflow_changed",
            Self::SignerChanged => "signer_changed",
            Self::RunnerChanged => "runner_changed",
            Self::RepositoryRenamed => "repository_renamed",
            Self::RepositoryTransferred => "repository_transferred",
            Self::RepositoryReplaced => "repository_replaced",
            Self::ForgeChanged => "forge_changed",
            Self::BuilderClassChanged => "builder_class_changed",
            Self::RefKindChanged => "ref_kind_changed",
            Self::ProvenanceLost => "provenance_lost",
            Self::ProvenanceRestored => "provenance_restored",
            Self::LevelLowered => "level_lowered",
        }
    }

    /// How much it matters.
    pub fn severity(self) -> Severity {
        match self {
            Self::RepositoryReplaced | Self::BuilderClassChanged | Self::ProvenanceLost => Severity::High,
            Self::RepositoryTransferred | Self::ForgeChanged | Self::SignerChanged => Severity::Medium,
            Self::WorkflowChanged
            | Self::RunnerChanged
            | Self::RepositoryRenamed
            | Self::RefKindChanged
            | Self::LevelLowered => Severity::Low,
            Self::FirstSeen | Self::ProvenanceRestored => Severity::Info,
        }
    }
}

/// What is known of a server's builder so far.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Of the last release with genuine evidence; the first is one that verified.
    builder: Option<Builder>,
    lost: bool,
}

impl Known {
    /// Compares the next release with what is known, and remembers it.
    pub fn next(&mut self, release: &Release) -> Vec<BuilderChange> {
        let Some(before) = self.builder.clone() else {
            return self.first(release);
        };
        let usable = matches!(release.verdict, Verdict::Verified | Verdict::Mismatch);
        let Some(after) = release.builder.as_ref().filter(|_| usable) else {
            // What could not be told is neither lost nor changed.
            let gone = release.verdict != Verdict::Unverifiable;
            let newly = gone && !self.lost;
            self.lost |= gone;
            return newly
                .then_some(BuilderChange::ProvenanceLost)
                .into_iter()
                .collect();
        };
        let mut changes = compare(&before, after);
        let verified = release.verdict == Verdict::Verified;
        if verified && self.lost {
            changes.push(BuilderChange::ProvenanceRestored);
        }
        // The next release is compared with this one, so that one change is told once. Whether this one is who it
        // should be is the verdict's matter.
        self.builder = Some(after.clone());
        self.lost &= !verified;
        changes
    }

    fn first(&mut self, release: &Release) -> Vec<BuilderChange> {
        if release.verdict != Verdict::Verified || release.builder.is_none() {
            return Vec::new();
        }
        self.builder.clone_from(&release.builder);
        vec![BuilderChange::FirstSeen]
    }
}

/// Every change from `before` to `after`. Another class, forge or repository id explains the rest, so it stands alone.
pub fn compare(before: &Builder, after: &Builder) -> Vec<BuilderChange> {
    if before.class != after.class && after.class == BuilderClass::Person {
        return vec![BuilderChange::BuilderClassChanged];
    }
    if before.forge != after.forge {
        return vec![BuilderChange::ForgeChanged];
    }
    if differ(before.repository_id.as_deref(), after.repository_id.as_deref()) {
        return vec![BuilderChange::RepositoryReplaced];
    }
    let mut changes = Vec::new();
    if differ(before.owner_id.as_deref(), after.owner_id.as_deref()) {
        changes.push(BuilderChange::RepositoryTransferred);
    } else if before.repository != after.repository {
        // Without ids a rename cannot be told from a replacement.
        let known = before.repository_id.is_some() && after.repository_id.is_some();
        changes.push(if known {
            BuilderChange::RepositoryRenamed
        } else {
            BuilderChange::RepositoryReplaced
        });
    }
    if before.workflow != after.workflow {
        changes.push(BuilderChange::WorkflowChanged);
    }
    // A workflow that signs for itself moves both; one event is enough.
    let own = |builder: &Builder| builder.signer == builder.workflow;
    if before.signer != after.signer && !(own(before) && own(after)) {
        changes.push(BuilderChange::SignerChanged);
    }
    if differ(before.runner.as_deref(), after.runner.as_deref()) {
        changes.push(BuilderChange::RunnerChanged);
    }
    if before.ref_kind.is_some() && after.ref_kind.is_some() && before.ref_kind != after.ref_kind {
        changes.push(BuilderChange::RefKindChanged);
    }
    if let (Some(old), Some(new)) = (before.level, after.level)
        && new.rank() > old.rank()
    {
        changes.push(BuilderChange::LevelLowered);
    }
    changes
}

fn differ(before: Option<&str>, after: Option<&str>) -> bool {
    matches!((before, after), (Some(before), Some(after)) if before != after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> Builder {
        Builder {
            class: BuilderClass::Ci,
            forge: Some("github.com".into()),
            repository: Some("https://github.com/acme/weather".into()),
            repository_id: Some("7".into()),
            owner_id: Some("9".into()),
            workflow: Some(".github/workflows/release.yml".into()),
            signer: Some(".github/workflows/release.yml".into()),
            runner: Some("github-hosted".into()),
            ref_kind: Some(RefKind::Tag),
            level: Some(Level::Build),
        }
    }

    fn verified(builder: Builder) -> Release {
        Release {
            verdict: Verdict::Verified,
            builder: Some(builder),
        }
    }

    #[test]
    fn each_change_has_its_event() {
        let change = |edit: &dyn Fn(&mut Builder)| {
            let mut after = builder();
            edit(&mut after);
            compare(&builder(), &after)
        };
        let workflow = ".github/workflows/other.yml";
        assert_eq!(change(&|_| ()), []);
        assert_eq!(
            change(&|b| {
                b.workflow = Some(workflow.into());
                b.signer = Some(workflow.into());
            }),
            [BuilderChange::WorkflowChanged]
        );
        assert_eq!(
            change(&|b| b.signer = Some("https://github.com/o/r/x.yml".into())),
            [BuilderChange::SignerChanged]
        );
        assert_eq!(
            change(&|b| b.runner = Some("self-hosted".into())),
            [BuilderChange::RunnerChanged]
        );
        assert_eq!(
            change(&|b| b.repository = Some("https://github.com/acme/rain".into())),
            [BuilderChange::RepositoryRenamed]
        );
        assert_eq!(
            change(&|b| {
                b.owner_id = Some("10".into());
                b.repository = Some("https://github.com/newco/weather".into());
            }),
            [BuilderChange::RepositoryTransferred]
        );
        assert_eq!(
            change(&|b| b.repository_id = Some("8".into())),
            [BuilderChange::RepositoryReplaced]
        );
        assert_eq!(
            change(&|b| b.forge = Some("gitlab.com".into())),
            [BuilderChange::ForgeChanged]
        );
        assert_eq!(
            change(&|b| b.class = BuilderClass::Person),
            [BuilderChange::BuilderClassChanged]
        );
        assert_eq!(
            change(&|b| b.ref_kind = Some(RefKind::Branch)),
            [BuilderChange::RefKindChanged]
        );
        assert_eq!(
            change(&|b| b.level = Some(Level::Publish)),
            [BuilderChange::LevelLowered]
        );
    }

    #[test]
    fn provenance_is_lost_once_and_restored_once() {
        let mut known = Known::default();
        let none = |verdict| Release {
            verdict,
            builder: None,
        };
        assert_eq!(known.next(&none(Verdict::Unsigned)), []);
        assert_eq!(known.next(&verified(builder())), [BuilderChange::FirstSeen]);
        assert_eq!(known.next(&none(Verdict::Unverifiable)), []);
        assert_eq!(
            known.next(&none(Verdict::Unsigned)),
            [BuilderChange::ProvenanceLost]
        );
        assert_eq!(known.next(&none(Verdict::Unsigned)), []);
        assert_eq!(
            known.next(&verified(builder())),
            [BuilderChange::ProvenanceRestored]
        );
    }
}
