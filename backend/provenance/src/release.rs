//! Release attestations: the forge vouches that a file belongs to a release, and says nothing of a build.

use serde_json::Value;
use toolmark_domain::builder::{Builder, BuilderClass};
use toolmark_domain::provenance::Reason;

use crate::attestation::Context;
use crate::certificate::{Signing, SubjectName};
use crate::checker::Declared;
use crate::outcome::Outcome;
use crate::report::{Fault, StepName, shown};
use crate::repository::Repository;
use crate::roots::Profile;
use crate::statement::Statement;

/// The name GitHub signs release attestations with.
const RELEASE_SIGNER: &str = "https://dotcom.releases.github.com";

/// GitHub vouches that a file belongs to a release. The claims are in the predicate; there is no build.
pub(crate) fn judge(
    statement: &Statement,
    signing: &Signing,
    profile: Profile,
    context: &Context<'_>,
    outcome: &mut Outcome,
) {
    let platform = profile == Profile::GitHub
        && signing.names.as_slice() == [SubjectName::Uri(RELEASE_SIGNER.to_owned())];
    if !platform {
        outcome.fault(
            StepName::Builder,
            Fault::new(
                Reason::NotABuildIdentity,
                "a release statement that the forge did not sign",
            ),
        );
        return;
    }
    outcome
        .trail
        .pass(StepName::Builder, "signed by the forge itself");
    outcome
        .trail
        .skip(StepName::Trigger, "a release has no build to start");
    let text = |name: &str| statement.predicate.get(name).and_then(Value::as_str);
    let address = text("repository").map(|path| format!("https://github.com/{path}"));
    let Some(source) = address.as_deref().and_then(Repository::parse) else {
        outcome.fault(
            StepName::Source,
            Fault::new(Reason::MissingSourceClaims, "the statement names no repository"),
        );
        return;
    };
    outcome.claims.source_repository = address.as_deref().map(shown);
    outcome.claims.source_repository_id = text("repositoryId").map(shown);
    outcome.claims.source_owner_id = text("ownerId").map(shown);
    outcome.claims.source_ref = text("tag").map(|tag| shown(&format!("refs/tags/{tag}")));
    outcome.builder = Some(Builder {
        class: BuilderClass::Forge,
        forge: Some(source.host().to_owned()),
        repository: outcome.claims.source_repository.clone(),
        repository_id: outcome.claims.source_repository_id.clone(),
        owner_id: outcome.claims.source_owner_id.clone(),
        workflow: None,
        signer: outcome.claims.signer.clone(),
        runner: None,
        ref_kind: None,
        level: None,
    });
    compare_release(&source, text("repositoryId"), context.declared, outcome);
}

fn compare_release(source: &Repository, id: Option<&str>, declared: &Declared, outcome: &mut Outcome) {
    if let Some(text) = declared.repository.as_deref() {
        if Repository::parse(text).as_ref() == Some(source) {
            outcome
                .trail
                .pass(StepName::Source, format!("a release of `{source}`, as declared"));
        } else {
            let note = format!("a release of `{source}`, declared is `{}`", shown(text));
            let fault = Fault::new(Reason::SourceRepositoryMismatch, note);
            outcome.fault(StepName::Source, fault);
        }
    }
    if let (Some(id), Some(known)) = (id, declared.repository_id.as_deref())
        && id != known
    {
        let note = format!(
            "the repository has the id {}, the one known by this name {known}",
            shown(id)
        );
        let fault = Fault::new(Reason::SourceRepositoryIdMismatch, note);
        outcome.fault(StepName::Source, fault);
    }
}
