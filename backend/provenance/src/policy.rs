//! Whether the identity in a certificate is a build we accept, of the source that is declared.
//!
//! Everything that speaks against it is collected, not only the first thing. Comparisons are equality of what was
//! parsed; there is no pattern and no prefix in here.

use serde::{Deserialize, Serialize};
use toolmark_domain::builder::{Builder, BuilderClass, RefKind};
use toolmark_domain::provenance::{Reason, Warning};

use crate::certificate::{Signing, SubjectName};
use crate::checker::Declared;
use crate::report::{Claims, Fault, StepName, shown};
use crate::repository::Repository;

/// Version of these rules; stands in every verdict.
pub const POLICY: &str = "toolmark.policy/1";

const GITHUB_ISSUER: &str = "https://token.actions.githubusercontent.com";
const GITLAB_ISSUER: &str = "https://gitlab.com";

/// Events only those with write access to the repository cause. `workflow_run` is allowed with a warning.
const TRIGGERS: [&str; 9] = [
    "push",
    "release",
    "workflow_dispatch",
    "repository_dispatch",
    "schedule",
    "workflow_call",
    "create",
    "registry_package",
    "merge_group",
];
/// The same on GitLab (its pipeline sources).
const GITLAB_TRIGGERS: [&str; 7] = [
    "push",
    "web",
    "api",
    "schedule",
    "trigger",
    "pipeline",
    "parent_pipeline",
];
const WORKFLOW_RUN: &str = "workflow_run";
const OUTSIDE_REFS: [&str; 2] = ["refs/pull/", "refs/merge-requests/"];

/// The trusted generator whose builders reach SLSA level 3 from a release tag.
const GENERATOR: &str = "https://github.com/slsa-framework/slsa-github-generator/.github/workflows/";

const GENERATOR_SOURCE: &str = "https://github.com/slsa-framework/slsa-github-generator";

/// An issuer of build identities, and the forge it speaks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerRule {
    pub issuer: String,
    pub forge: String,
}

/// What an operator may change of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Exact issuers.
    pub issuers: Vec<IssuerRule>,
    /// Owners, as `https://github.com/OWNER`, whose workflows may build for others without a warning.
    pub builder_owners: Vec<String>,
    /// The package registry's own address, as publish attestations name it; not compared when unset.
    pub npm_canonical: Option<String>,
}

impl Default for Policy {
    fn default() -> Self {
        let rule = |issuer: &str, forge: &str| IssuerRule {
            issuer: issuer.to_owned(),
            forge: forge.to_owned(),
        };
        Self {
            issuers: vec![
                rule(GITHUB_ISSUER, "github.com"),
                rule(GITLAB_ISSUER, "gitlab.com"),
            ],
            builder_owners: Vec::new(),
            npm_canonical: None,
        }
    }
}

/// The source a certificate names.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) repository: Repository,
    /// As the certificate writes it.
    pub(crate) uri: String,
    pub(crate) id: Option<String>,
    pub(crate) commit: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) config: Option<String>,
    pub(crate) runner: Option<String>,
    pub(crate) signer: String,
}

/// What was found about an identity.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) faults: Vec<(StepName, Fault)>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) source: Option<Source>,
}

impl Judged {
    fn fault(&mut self, step: StepName, reason: Reason, note: impl Into<String>) {
        self.faults.push((step, Fault::new(reason, note)));
    }
}

/// The claims of a certificate, the older ones standing in for newer ones that are absent.
pub(crate) fn claims(signing: &Signing) -> Claims {
    let ci = &signing.info.ci_claims;
    let old = &ci.deprecated_github;
    let pick = |new: &Option<String>, old: &Option<String>| new.as_ref().or(old.as_ref()).map(|t| shown(t));
    let repository = ci.source_repository_uri.clone().or_else(|| {
        let path = old.workflow_repository.as_ref()?;
        Some(format!("https://github.com/{path}"))
    });
    Claims {
        issuer: signing.info.issuer.as_deref().map(shown),
        signer: signing.names.iter().find_map(|name| match name {
            SubjectName::Uri(text) | SubjectName::Email(text) => Some(shown(text)),
            SubjectName::Other => None,
        }),
        source_repository: repository.as_deref().map(shown),
        source_repository_id: pick(&ci.source_repository_identifier, &None),
        source_owner_id: pick(&ci.source_repository_owner_identifier, &None),
        source_commit: pick(&ci.source_repository_digest, &old.workflow_sha),
        source_ref: pick(&ci.source_repository_ref, &old.workflow_ref),
        source_visibility: pick(&ci.source_repository_visibility_at_signing, &None),
        workflow: pick(&ci.build_config_uri, &None),
        trigger: pick(&ci.build_trigger, &old.workflow_trigger),
        runner: pick(&ci.runner_environment, &None),
        run: pick(&ci.run_invocation_uri, &None),
        environment: pick(&ci.deployment_environment, &None),
        ..Claims::default()
    }
}

/// Judges who signed, from what source, and how the build was started.
pub(crate) fn judge(signing: &Signing, declared: &Declared, policy: &Policy) -> Judged {
    let mut judged = Judged::default();
    let Some(signer) = signer(signing, &mut judged) else {
        return judged;
    };
    let issuer = signing.info.issuer.as_deref().unwrap_or_default();
    let rule = policy.issuers.iter().find(|rule| rule.issuer == issuer);
    if rule.is_none() {
        let issuer = if issuer.is_empty() { "nobody" } else { issuer };
        judged.fault(
            StepName::Builder,
            Reason::IssuerNotAllowed,
            format!("vouched for by `{issuer}`"),
        );
    }
    if let Some(source) = source(signing, &signer, rule, &mut judged) {
        agreement(signing, &source, rule, &mut judged);
        compare(&source, declared, &mut judged);
        builder_owner(&source, policy, &mut judged);
        judged.source = Some(source);
    }
    trigger(signing, rule, &mut judged);
    surroundings(signing, &mut judged);
    judged
}

/// The one name of the certificate, which must be a URI: people have addresses.
fn signer(signing: &Signing, judged: &mut Judged) -> Option<String> {
    if signing.repeated {
        judged.fault(
            StepName::Builder,
            Reason::ClaimConflict,
            "the certificate has a claim twice",
        );
    }
    match signing.names.as_slice() {
        [SubjectName::Uri(uri)] => Some(uri.clone()),
        [SubjectName::Email(_) | SubjectName::Other] | [] => {
            judged.fault(
                StepName::Builder,
                Reason::NotABuildIdentity,
                "a person or an account signed",
            );
            None
        }
        several => {
            judged.fault(
                StepName::Builder,
                Reason::ClaimConflict,
                format!("the certificate is for {} names", several.len()),
            );
            several.iter().find_map(|name| match name {
                SubjectName::Uri(uri) => Some(uri.clone()),
                _ => None,
            })
        }
    }
}

fn source(signing: &Signing, signer: &str, rule: Option<&IssuerRule>, judged: &mut Judged) -> Option<Source> {
    let ci = &signing.info.ci_claims;
    let old = &ci.deprecated_github;
    let github = rule.is_none_or(|rule| rule.forge == "github.com");
    let uri = match (&ci.source_repository_uri, &old.workflow_repository) {
        (Some(uri), _) => uri.clone(),
        (None, Some(path)) if github => {
            judged.warnings.push(Warning::LegacyClaims);
            format!("https://github.com/{path}")
        }
        _ => {
            judged.fault(
                StepName::Source,
                Reason::MissingSourceClaims,
                "the certificate names no source repository",
            );
            return None;
        }
    };
    let Some(repository) = Repository::parse(&uri) else {
        judged.fault(
            StepName::Source,
            Reason::ClaimConflict,
            "the source repository in the certificate is not an address",
        );
        return None;
    };
    let either = |new: &Option<String>, old: &Option<String>| new.clone().or_else(|| old.clone());
    let source = Source {
        repository,
        uri,
        id: ci.source_repository_identifier.clone(),
        commit: either(&ci.source_repository_digest, &old.workflow_sha),
        reference: either(&ci.source_repository_ref, &old.workflow_ref),
        config: ci.build_config_uri.clone(),
        runner: ci.runner_environment.clone(),
        signer: signer.to_owned(),
    };
    if source.commit.is_none() || source.reference.is_none() {
        judged.fault(
            StepName::Source,
            Reason::MissingSourceClaims,
            "the certificate does not say which commit and ref were built",
        );
    }
    Some(source)
}

/// The claims agree with each other and with the name of the certificate.
fn agreement(signing: &Signing, source: &Source, rule: Option<&IssuerRule>, judged: &mut Judged) {
    let ci = &signing.info.ci_claims;
    let old = &ci.deprecated_github;
    let mut conflict = |note: String| judged.fault(StepName::Builder, Reason::ClaimConflict, note);
    if ci
        .build_signer_uri
        .as_ref()
        .is_some_and(|uri| *uri != source.signer)
    {
        conflict("the signing workflow is not the one the certificate is for".to_owned());
    }
    let inside = |uri: &String| {
        uri.strip_prefix(&source.uri)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    if source.config.as_ref().is_some_and(|uri| !inside(uri)) {
        conflict("the workflow lies outside the source repository".to_owned());
    }
    if let Some(rule) = rule {
        let at_forge = |uri: &str| {
            let rest = uri
                .strip_prefix("https://")
                .and_then(|rest| rest.strip_prefix(&rule.forge));
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if !at_forge(&source.signer) {
            conflict(format!(
                "the signer is not on `{}`, for which its issuer speaks",
                rule.forge
            ));
        }
        if source.repository.host() != rule.forge {
            conflict(format!(
                "the source is not on `{}`, for which its issuer speaks",
                rule.forge
            ));
        }
    }
    let twice = [
        ("commit", &ci.source_repository_digest, &old.workflow_sha),
        ("ref", &ci.source_repository_ref, &old.workflow_ref),
        ("trigger", &ci.build_trigger, &old.workflow_trigger),
    ];
    for (what, new, old) in twice {
        if new.is_some() && old.is_some() && new != old {
            conflict(format!("the older and the newer claim of the {what} differ"));
        }
    }
    let old_path = old.workflow_repository.as_deref();
    if old_path.is_some_and(|path| path != source.repository.path()) {
        conflict("the older and the newer claim of the repository differ".to_owned());
    }
}

/// The source is the declared one.
fn compare(source: &Source, declared: &Declared, judged: &mut Judged) {
    let known = declared.repository_id.as_deref();
    let other_id = matches!((known, source.id.as_deref()), (Some(a), Some(b)) if a != b);
    let same_id = matches!((known, source.id.as_deref()), (Some(a), Some(b)) if a == b);
    if let Some(text) = declared.repository.as_deref() {
        let same = Repository::parse(text).is_some_and(|repository| repository == source.repository);
        if !same {
            let hint = if same_id {
                "; it is the same repository under another name, so update the declaration"
            } else {
                ""
            };
            judged.fault(
                StepName::Source,
                Reason::SourceRepositoryMismatch,
                format!("built from `{}`, declared is `{}`{hint}", source.uri, shown(text)),
            );
        }
    }
    if other_id {
        judged.fault(
            StepName::Source,
            Reason::SourceRepositoryIdMismatch,
            format!(
                "the repository has the id {}, the one known by this name {}",
                source.id.as_deref().unwrap_or_default(),
                known.unwrap_or_default()
            ),
        );
    }
}

/// Signed by a workflow of another owner.
fn builder_owner(source: &Source, policy: &Policy, judged: &mut Judged) {
    let Some(signer) = Repository::parse(&source.signer) else {
        return;
    };
    let same = signer.host() == source.repository.host() && source.repository.same_owner(signer.owner());
    // A builder that is made to build for others stays one where its maker owns the source too.
    let shared = source.signer.starts_with(GENERATOR) && !source.uri.eq_ignore_ascii_case(GENERATOR_SOURCE);
    let known = policy
        .builder_owners
        .iter()
        .any(|owner| *owner == format!("https://{}/{}", signer.host(), signer.owner()));
    if (!same || shared) && !known {
        judged.warnings.push(Warning::ThirdPartyBuilder);
    }
}

fn trigger(signing: &Signing, rule: Option<&IssuerRule>, judged: &mut Judged) {
    let ci = &signing.info.ci_claims;
    let old = &ci.deprecated_github;
    let gitlab = rule.is_some_and(|rule| rule.forge != "github.com");
    let allowed = if gitlab {
        GITLAB_TRIGGERS.as_slice()
    } else {
        TRIGGERS.as_slice()
    };
    match ci.build_trigger.as_deref().or(old.workflow_trigger.as_deref()) {
        Some(WORKFLOW_RUN) if !gitlab => judged.warnings.push(Warning::WorkflowRunTrigger),
        Some(event) if !allowed.contains(&event) => judged.fault(
            StepName::Trigger,
            Reason::UntrustedTrigger,
            format!("started by `{event}`"),
        ),
        None if rule.is_some() && !gitlab => judged.fault(
            StepName::Trigger,
            Reason::MissingSourceClaims,
            "the certificate does not say what started the build",
        ),
        _ => {}
    }
    let reference = ci
        .source_repository_ref
        .as_deref()
        .or(old.workflow_ref.as_deref());
    let Some(reference) = reference else { return };
    if OUTSIDE_REFS.iter().any(|outside| reference.starts_with(outside)) {
        judged.fault(
            StepName::Trigger,
            Reason::UntrustedTrigger,
            format!("built from `{reference}`, which outsiders can write"),
        );
    }
    if !reference.starts_with("refs/tags/") {
        judged.warnings.push(Warning::NonReleaseRef);
    }
}

fn surroundings(signing: &Signing, judged: &mut Judged) {
    let ci = &signing.info.ci_claims;
    if ci.runner_environment.as_deref() == Some("self-hosted") {
        judged.warnings.push(Warning::SelfHostedRunner);
    }
    let visibility = ci.source_repository_visibility_at_signing.as_deref();
    if visibility.is_some_and(|visibility| visibility != "public") {
        judged.warnings.push(Warning::SourceNotPublic);
    }
}

/// The SLSA build level that may be shown; never computed from claims beyond the list of known builders.
pub(crate) fn slsa_level(source: &Source) -> u8 {
    if source.runner.as_deref() == Some("self-hosted") {
        return 1;
    }
    let generator = source
        .signer
        .strip_prefix(GENERATOR)
        .and_then(|rest| rest.split_once('@'))
        .is_some_and(|(file, reference)| {
            let workflow = file.strip_suffix(".yml").is_some_and(|name| !name.contains('/'));
            workflow && reference.starts_with("refs/tags/")
        });
    if generator { 3 } else { 2 }
}

/// The identity to compare later releases with.
pub(crate) fn builder(signing: &Signing, judged: &Judged) -> Builder {
    let ci = &signing.info.ci_claims;
    let source = judged.source.as_ref();
    let without_ref = |uri: &str| {
        let uri = uri.split('@').next().unwrap_or(uri);
        let own = source.and_then(|source| uri.strip_prefix(&source.uri));
        shown(own.map_or(uri, |path| path.trim_start_matches('/')))
    };
    let person = signing
        .names
        .iter()
        .all(|name| !matches!(name, SubjectName::Uri(_)));
    let reference = source.and_then(|source| source.reference.as_deref());
    Builder {
        class: if person {
            BuilderClass::Person
        } else {
            BuilderClass::Ci
        },
        forge: source.map(|source| shown(source.repository.host())),
        repository: source.map(|source| shown(&source.uri)),
        repository_id: source.and_then(|source| source.id.as_deref()).map(shown),
        owner_id: ci.source_repository_owner_identifier.as_deref().map(shown),
        workflow: ci.build_config_uri.as_deref().map(without_ref),
        signer: signing.names.first().and_then(|name| match name {
            SubjectName::Uri(uri) => Some(without_ref(uri)),
            SubjectName::Email(address) => Some(shown(address)),
            SubjectName::Other => None,
        }),
        runner: ci.runner_environment.as_deref().map(shown),
        ref_kind: reference.map(|reference| {
            if reference.starts_with("refs/tags/") {
                RefKind::Tag
            } else if reference.starts_with("refs/heads/") {
                RefKind::Branch
            } else {
                RefKind::Other
            }
        }),
        level: None,
    }
}
