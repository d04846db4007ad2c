//! One attestation from bytes to outcome: read, verify, bind, judge.

use serde_json::Value;
use sigstore_types::bundle::MediaType;
use sigstore_types::{ArtifactDigest, DerPublicKey, HashAlgorithm};
use sigstore_verify::VerificationResult;
use toolmark_domain::provenance::{Level, Reason, Warning};
use toolmark_domain::timestamp::Timestamp;

use crate::binding;
use crate::bundle::{self, LogEvidence, Strict};
use crate::certificate::{self, Signing};
use crate::checker::{Artifact, Checker, Declared, Ecosystem};
use crate::crypto::{self, Refusal};
use crate::document::{Form, Item};
use crate::outcome::Outcome;
use crate::pep740::Publisher;
use crate::policy;
use crate::predicate;
use crate::registry_key;
use crate::release;
use crate::report::{Claims, Fault, RootUsed, StepName, shown};
use crate::roots::{Profile, Root};
use crate::signature;
use crate::statement::{self, Kind, PAYLOAD_TYPE, Statement, Subject};

/// 2025-01-01T00:00:00Z: since then a log's promise without its proof has no good reason.
const PROMISE_UNTIL: i64 = 1_735_689_600;

/// What the check of one attestation needs from around it.
pub(crate) struct Context<'a> {
    pub(crate) checker: &'a Checker,
    pub(crate) artifact: &'a Artifact,
    pub(crate) declared: &'a Declared,
    pub(crate) at: Timestamp,
}

/// Checks one attestation.
pub(crate) fn check(item: Item, context: &Context<'_>) -> Outcome {
    let mut outcome = Outcome::new();
    let Item { value, form } = item;
    if let Err(refusal) = attempt(value, &form, context, &mut outcome) {
        outcome.fault(refusal.step, refusal.fault);
    }
    outcome
}

pub(crate) fn refuse(step: StepName, reason: Reason, note: impl Into<String>) -> Refusal {
    Refusal {
        step,
        fault: Fault::new(reason, note),
    }
}

pub(crate) fn at(step: StepName) -> impl Fn(Fault) -> Refusal {
    move |fault| Refusal { step, fault }
}

fn attempt(
    value: Result<Value, Fault>,
    form: &Form,
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    let value = value.map_err(at(StepName::Read))?;
    if matches!(form, Form::Envelope) {
        return envelope_alone(&value, outcome);
    }
    let strict = bundle::read(value).map_err(at(StepName::Read))?;
    outcome
        .trail
        .pass(StepName::Read, "well formed and within bounds");
    if let Form::Npm { label } = form {
        outer_label(label, &strict, outcome)?;
    }
    match strict.key_hint() {
        Some(hint) => registry_key::check(hint, &strict, context, outcome),
        None => signed_by_certificate(&strict, form, context, outcome),
    }
}

/// The label an npm answer gives a bundle is that of the statement. An attestation whose label and statement are both
/// of an unknown kind is not looked at further.
fn outer_label(label: &str, strict: &Strict, outcome: &mut Outcome) -> Result<(), Refusal> {
    let Some(envelope) = strict.envelope() else {
        return Err(refuse(
            StepName::Read,
            Reason::MalformedBundle,
            "an answer of npm holds statements only",
        ));
    };
    let Ok(statement) = statement::read(envelope.payload.as_bytes()) else {
        // Said in its own words later, once the signature is known to fit or not.
        return Ok(());
    };
    if statement.predicate_type != label {
        outcome.fault(
            StepName::Statement,
            Fault::new(
                Reason::OuterPredicateTypeConflict,
                format!(
                    "labelled `{}`, signed as `{}`",
                    shown(label),
                    shown(&statement.predicate_type)
                ),
            ),
        );
        return Ok(());
    }
    if statement.kind() == Kind::Unknown {
        outcome.claims.predicate_type = Some(shown(&statement.predicate_type));
        return Err(unknown_kind(&statement));
    }
    Ok(())
}

pub(crate) fn unknown_kind(statement: &Statement) -> Refusal {
    let kind = if statement.predicate_type.is_empty() {
        "an empty predicate type".to_owned()
    } else {
        format!("`{}`", shown(&statement.predicate_type))
    };
    refuse(
        StepName::Statement,
        Reason::NoProvenancePredicate,
        format!("the statement is of the kind {kind}"),
    )
}

/// An envelope without log entry or time: what it is can be said, that it is genuine cannot.
fn envelope_alone(value: &Value, outcome: &mut Outcome) -> Result<(), Refusal> {
    let malformed = |note: &str| refuse(StepName::Read, Reason::MalformedBundle, note);
    let envelope: sigstore_types::DsseEnvelope =
        serde_json::from_value(value.clone()).map_err(|error| malformed(&error.to_string()))?;
    outcome.trail.pass(StepName::Read, "an envelope, well formed");
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(refuse(
            StepName::Statement,
            Reason::UnsupportedPayloadType,
            format!("signed as `{}`", shown(&envelope.payload_type)),
        ));
    }
    let statement = statement::read(envelope.payload.as_bytes()).map_err(at(StepName::Statement))?;
    outcome.claims.predicate_type = Some(shown(&statement.predicate_type));
    if statement.kind() == Kind::Unknown {
        let refusal = unknown_kind(&statement);
        outcome.fault(refusal.step, refusal.fault);
    }
    Err(refuse(
        StepName::Log,
        Reason::NoLogMaterial,
        "the envelope comes without a log entry; the log is not asked offline",
    ))
}

/// What was signed: a statement, or a message by its digest.
pub(crate) enum Signed {
    Statement(Statement),
    Message(ArtifactDigest),
}

impl Signed {
    /// The digest that lets the cryptography be checked by itself.
    pub(crate) fn digest(&self) -> Option<ArtifactDigest> {
        match self {
            Self::Statement(statement) => statement.subjects.iter().find_map(crypto::digest_of),
            Self::Message(digest) => Some(digest.clone()),
        }
    }
}

/// Reads the statement. What the verifier cannot read it does not verify, so then the signature is checked here: a
/// statement that does not fit its signature is forged, not foreign.
fn read_statement(strict: &Strict, key: &DerPublicKey) -> Result<Option<Statement>, Refusal> {
    let Some(envelope) = strict.envelope() else {
        return Ok(None);
    };
    let read = if envelope.payload_type == PAYLOAD_TYPE {
        statement::read(envelope.payload.as_bytes()).and_then(|statement| {
            let usable = statement.subjects.iter().any(|s| crypto::digest_of(s).is_some());
            let none = || Fault::new(Reason::NoSupportedDigest, "no subject has a sha256 or sha512");
            usable.then_some(statement).ok_or_else(none)
        })
    } else {
        Err(Fault::new(
            Reason::UnsupportedPayloadType,
            format!("signed as `{}`", shown(&envelope.payload_type)),
        ))
    };
    match read {
        Ok(statement) => Ok(Some(statement)),
        Err(fault) if fault.reason == Reason::LimitsExceeded => Err(at(StepName::Statement)(fault)),
        Err(_) if !crypto::envelope_signature(envelope, key) => Err(refuse(
            StepName::Signature,
            Reason::SignatureInvalid,
            "the signature does not fit the envelope",
        )),
        Err(fault) => Err(at(StepName::Statement)(fault)),
    }
}

fn signed_by_certificate(
    strict: &Strict,
    form: &Form,
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    let der = strict.bundle.signing_certificate();
    let signing = der.and_then(certificate::read).ok_or_else(|| {
        refuse(
            StepName::Certificate,
            Reason::MalformedBundle,
            "the certificate cannot be read",
        )
    })?;
    let entries = &strict.bundle.verification_material.tlog_entries;
    let log = entries.first().map(|entry| entry.log_id.key_id.as_bytes());
    let Some((root, instance)) = context.checker.roots.by_issuer(&signing.issuer, log) else {
        return Err(refuse(
            StepName::Certificate,
            Reason::UntrustedInstance,
            format!("issued by `{}`, which no trusted root names", signing.issuer),
        ));
    };
    use_root(root, outcome);
    crypto::time_source(&strict.bundle)?;
    crypto::logs(&strict.bundle, root)?;
    let signed = signed(strict, form, &signing.info.public_key, context.artifact)?;
    let digest = signed.digest().ok_or_else(no_digest)?;
    let result = crypto::by_certificate(instance, strict, &signing, digest)
        .inspect_err(|refusal| passed_before(refusal.step, outcome))?;
    verified(&result, strict, instance.profile, context.at, outcome)?;
    evidence_rule(&result, strict, instance.profile, form, outcome)?;
    outcome.claims = Claims {
        signed_at: std::mem::take(&mut outcome.claims.signed_at),
        log_indexes: std::mem::take(&mut outcome.claims.log_indexes),
        ..policy::claims(&signing)
    };
    match signed {
        Signed::Message(digest) => signature::check(&digest, form, &signing, context, outcome),
        Signed::Statement(statement) => {
            outcome.claims.predicate_type = Some(shown(&statement.predicate_type));
            stated(&statement, &signing, instance.profile, form, context, outcome)
        }
    }
}

pub(crate) fn signed(
    strict: &Strict,
    form: &Form,
    key: &DerPublicKey,
    artifact: &Artifact,
) -> Result<Signed, Refusal> {
    if let Some(statement) = read_statement(strict, key)? {
        return Ok(Signed::Statement(statement));
    }
    if let Form::Cosign {
        payload: Some(payload),
    } = form
    {
        return Ok(Signed::Message(sigstore_crypto::sha256(payload).into()));
    }
    let sha256 = || ArtifactDigest::new(HashAlgorithm::Sha2256, artifact.sha256?.to_vec()).ok();
    let digest = crypto::message_digest(&strict.bundle).or_else(sha256);
    digest.map(Signed::Message).ok_or_else(no_digest)
}

pub(crate) fn no_digest() -> Refusal {
    refuse(
        StepName::Subject,
        Reason::NoSupportedDigest,
        "nothing says in sha256 or sha512 what was signed",
    )
}

pub(crate) fn use_root(root: &Root, outcome: &mut Outcome) {
    outcome.root = Some(RootUsed {
        name: root.name.clone(),
        sha256: root.digest,
    });
}

/// The verifier works in a fixed order; what it had done before it refused has passed.
pub(crate) fn passed_before(step: StepName, outcome: &mut Outcome) {
    let order = [
        StepName::Time,
        StepName::Certificate,
        StepName::Log,
        StepName::Signature,
    ];
    let Some(reached) = order.iter().position(|one| *one == step) else {
        return;
    };
    for done in &order[..reached] {
        outcome.trail.pass(*done, "");
    }
}

/// Marks what the verifier proved.
pub(crate) fn verified(
    result: &VerificationResult,
    strict: &Strict,
    profile: Profile,
    at: Timestamp,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    if let Some(refusal) = crypto::in_future(result, at) {
        return Err(refusal);
    }
    let times = crypto::times(result);
    let words: Vec<String> = times.iter().map(Timestamp::to_string).collect();
    outcome
        .trail
        .pass(StepName::Time, format!("signed at {}", words.join(" and ")));
    let certificate = match (strict.key_hint(), profile) {
        (Some(_), _) => "signed with a key of the registry's list",
        (None, Profile::Public) => "issued by a trusted authority and published in a certificate log",
        (None, Profile::GitHub) => "issued by GitHub's own authority",
    };
    outcome.trail.pass(StepName::Certificate, certificate);
    outcome.trail.pass(StepName::Signature, "fits what was signed");
    let entries = &strict.bundle.verification_material.tlog_entries;
    outcome.claims.signed_at = times;
    outcome.claims.log_indexes = entries.iter().map(|entry| entry.log_index.get()).collect();
    Ok(())
}

/// How much the log must give.
pub(crate) fn evidence_rule(
    result: &VerificationResult,
    strict: &Strict,
    profile: Profile,
    form: &Form,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    match strict.log {
        LogEvidence::Proof if strict.bundle.media_type() == MediaType::Bundle0_1 => {
            let note = "proved to be in the log, though this form of evidence asks only for a promise";
            outcome.trail.pass(StepName::Log, note);
            outcome.warn(Warning::PromiseOnlyLogEvidence);
        }
        LogEvidence::Proof => outcome.trail.pass(StepName::Log, "proved to be in the log"),
        LogEvidence::None if profile == Profile::GitHub => {
            outcome
                .trail
                .skip(StepName::Log, "this instance has no public log");
            outcome.warn(Warning::NoPublicLog);
        }
        LogEvidence::None => {
            return Err(refuse(
                StepName::Log,
                Reason::MalformedBundle,
                "there is no log entry",
            ));
        }
        LogEvidence::Promise => {
            let cosign = matches!(form, Form::Cosign { .. });
            let late = crypto::times(result)
                .iter()
                .any(|time| time.as_secs() >= PROMISE_UNTIL);
            if late && !cosign {
                return Err(refuse(
                    StepName::Log,
                    Reason::LogEvidenceDowngraded,
                    "the log only promises the entry, at a time when proofs were the rule",
                ));
            }
            outcome
                .trail
                .pass(StepName::Log, "promised by the log, not proved");
            outcome.warn(Warning::PromiseOnlyLogEvidence);
        }
    }
    Ok(())
}

/// Binds a statement to the artifact and says so in the trail.
pub(crate) fn bind<'a>(
    statement: &'a Statement,
    artifact: &Artifact,
    declared: &Declared,
    outcome: &mut Outcome,
) -> Option<&'a Subject> {
    match binding::bind(statement, artifact, declared) {
        Ok((subject, warning)) => {
            let name = subject.name.as_deref().map_or("digest fits".to_owned(), |name| {
                format!("digest fits, named `{}`", shown(name))
            });
            outcome.trail.pass(StepName::Subject, name);
            if let Some(warning) = warning {
                outcome.warn(warning);
            }
            Some(subject)
        }
        Err(faults) => {
            for fault in faults {
                outcome.fault(StepName::Subject, fault);
            }
            None
        }
    }
}

/// A statement by a build.
fn stated(
    statement: &Statement,
    signing: &Signing,
    profile: Profile,
    form: &Form,
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    let kind = statement.kind();
    let python = context
        .declared
        .ecosystem
        .is_none_or(|one| one == Ecosystem::Pypi);
    let (level, warning) = match kind {
        Kind::SlsaV1 | Kind::SlsaV02 => (Level::Build, None),
        Kind::PypiPublish if python => (Level::Publish, Some(Warning::PublishAttestationOnly)),
        Kind::GitHubRelease => (Level::Release, Some(Warning::ReleaseAttestationOnly)),
        Kind::CosignSign => (Level::Signature, Some(Warning::SignatureOnly)),
        Kind::PypiPublish | Kind::NpmPublish | Kind::Unknown => return Err(unknown_kind(statement)),
    };
    outcome.trail.pass(
        StepName::Statement,
        format!("of the kind `{}`", shown(&statement.predicate_type)),
    );
    bind(statement, context.artifact, context.declared, outcome);
    if kind == Kind::GitHubRelease {
        release::judge(statement, signing, profile, context, outcome);
    } else {
        origin(statement, kind, signing, form, context, outcome);
    }
    outcome.level = Some(level);
    if let Some(builder) = &mut outcome.builder {
        builder.level = Some(level);
    }
    if let Some(warning) = warning {
        outcome.warn(warning);
    }
    Ok(())
}

/// Judges the identity; gives the source it names.
pub(crate) fn judge(
    signing: &Signing,
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Option<policy::Source> {
    let judged = policy::judge(signing, context.declared, &context.checker.policy);
    outcome.builder = Some(policy::builder(signing, &judged));
    for (step, fault) in judged.faults {
        outcome.fault(step, fault);
    }
    for warning in judged.warnings {
        outcome.warn(warning);
    }
    let signer = outcome.claims.signer.clone().unwrap_or_default();
    outcome.trail.pass(StepName::Builder, format!("`{signer}`"));
    match (&judged.source, &context.declared.repository) {
        (Some(source), Some(_)) => outcome.trail.pass(
            StepName::Source,
            format!("built from `{}`, as declared", source.uri),
        ),
        (Some(source), None) => outcome.trail.skip(
            StepName::Source,
            format!(
                "built from `{}`; no repository is declared to compare",
                source.uri
            ),
        ),
        (None, _) => {}
    }
    if judged.source.is_some() {
        let event = outcome.claims.trigger.clone();
        let event = event.map_or("not said".to_owned(), |event| format!("started by `{event}`"));
        outcome.trail.pass(StepName::Trigger, event);
    }
    judged.source
}

/// A statement of build or publish: the identity, the publisher on record, and the predicate against the certificate.
fn origin(
    statement: &Statement,
    kind: Kind,
    signing: &Signing,
    form: &Form,
    context: &Context<'_>,
    outcome: &mut Outcome,
) {
    let Some(source) = judge(signing, context, outcome) else {
        return;
    };
    if let Form::Pep740 {
        publisher: Some(publisher),
    } = form
    {
        filed_under(publisher, &source, outcome);
    }
    if !matches!(kind, Kind::SlsaV1 | Kind::SlsaV02) {
        return;
    }
    outcome.claims.slsa_level = Some(policy::slsa_level(&source));
    let added = predicate::compare(kind, &statement.predicate, &source);
    for fault in added.faults {
        outcome.fault(StepName::Statement, fault);
    }
    if added.confirmed {
        outcome.claims.builder_id = added.builder_id.as_deref().map(shown);
    } else if added.builder_id.is_some() {
        outcome.warn(Warning::BuilderIdUnconfirmed);
    }
}

fn filed_under(publisher: &Publisher, source: &policy::Source, outcome: &mut Outcome) {
    if let Some(fault) = publisher.compare(source) {
        outcome.fault(StepName::Builder, fault);
    }
}
