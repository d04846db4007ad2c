//! Statements a package registry signs itself, with a key of its list: that it published this, under this name.

use serde_json::Value;
use sigstore_types::DerPublicKey;
use sigstore_verify::VerificationResult;
use toolmark_domain::provenance::{Level, Reason, Warning};

use crate::attestation::{
    Context, Signed, bind, evidence_rule, no_digest, passed_before, refuse, signed, unknown_kind, use_root,
    verified,
};
use crate::bundle::Strict;
use crate::checker::Ecosystem;
use crate::crypto::{self, Refusal};
use crate::document::Form;
use crate::keys::{Found, Key};
use crate::names;
use crate::outcome::Outcome;
use crate::report::{Fault, StepName, shown};
use crate::statement::{Kind, Statement};

/// A registry's own statement, signed with a key of its list.
pub(crate) fn check(
    hint: &str,
    strict: &Strict,
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    let key = match context.checker.keys.find(hint) {
        Found::Unknown => {
            return Err(refuse(
                StepName::Certificate,
                Reason::UnknownKey,
                format!("names the key `{}`, which is not in the list", shown(hint)),
            ));
        }
        Found::OtherUse(key) => {
            wrong_use(strict, &key.public.raw_bytes, outcome);
            return Ok(());
        }
        Found::ForAttestations(keys) => keys,
    };
    if let Some(envelope) = strict.envelope()
        && !envelope.signature.keyid.is_empty()
        && envelope.signature.keyid.as_str() != hint
    {
        return Err(refuse(
            StepName::Certificate,
            Reason::MalformedBundle,
            "the envelope names another key than the bundle",
        ));
    }
    let log = strict.bundle.verification_material.tlog_entries.first();
    let log = log.ok_or_else(|| refuse(StepName::Log, Reason::MalformedBundle, "there is no log entry"))?;
    let id = log.log_id.key_id.as_bytes();
    let Some((root, instance)) = context.checker.roots.by_log(id) else {
        let note = format!("the log with id {} is in no trusted root", hex::encode(id));
        return Err(refuse(StepName::Log, Reason::LogUnknown, note));
    };
    use_root(root, outcome);
    crypto::logs(&strict.bundle, root)?;
    let first = &key[0].public.raw_bytes;
    let signed = signed(strict, &Form::Bundle, first, context.artifact)?;
    let Signed::Statement(statement) = &signed else {
        return Err(refuse(
            StepName::Statement,
            Reason::NoProvenancePredicate,
            "a key signed the file itself, without a statement",
        ));
    };
    let digest = signed.digest().ok_or_else(no_digest)?;
    let result = crypto::by_key(instance, strict, first, digest)
        .inspect_err(|refusal| passed_before(refusal.step, outcome))?;
    verified(&result, strict, instance.profile, context.at, outcome)?;
    evidence_rule(&result, strict, instance.profile, &Form::Bundle, outcome)?;
    key_window(&key, &result)?;
    outcome.claims.predicate_type = Some(shown(&statement.predicate_type));
    published(statement, context, outcome)
}

fn wrong_use(strict: &Strict, key: &DerPublicKey, outcome: &mut Outcome) {
    let fits = strict
        .envelope()
        .is_some_and(|envelope| crypto::envelope_signature(envelope, key));
    if !fits {
        outcome.fault(
            StepName::Signature,
            Fault::new(
                Reason::SignatureInvalid,
                "the signature does not fit the key it names",
            ),
        );
    }
    outcome.fault(
        StepName::Certificate,
        Fault::new(Reason::KeyUsage, "the key it names is not for attestations"),
    );
}

/// Every trusted time lies in the window of the key.
fn key_window(keys: &[&Key], result: &VerificationResult) -> Result<(), Refusal> {
    let times = result.verified_timestamps();
    if times.is_empty() {
        return Err(refuse(
            StepName::Time,
            Reason::NoTrustedTime,
            "nothing trusted says when it was signed",
        ));
    }
    let inside = |time: &_| {
        keys.iter()
            .any(|key| key.public.valid_for.is_none_or(|window| window.contains(*time)))
    };
    if times.iter().all(inside) {
        return Ok(());
    }
    Err(refuse(
        StepName::Time,
        Reason::KeyOutsideValidity,
        "signed when the registry's key was not valid",
    ))
}

/// What npm says at publishing: this name and version, with this content.
fn published(statement: &Statement, context: &Context<'_>, outcome: &mut Outcome) -> Result<(), Refusal> {
    let npm = context.declared.ecosystem.is_none_or(|one| one == Ecosystem::Npm);
    if statement.kind() != Kind::NpmPublish || !npm {
        return Err(unknown_kind(statement));
    }
    outcome
        .trail
        .pass(StepName::Statement, "the registry's statement of publishing");
    outcome.trail.skip(
        StepName::Builder,
        "the registry signed; it does not say who built it",
    );
    let subject = bind(statement, context.artifact, context.declared, outcome);
    let text = |name: &str| statement.predicate.get(name).and_then(Value::as_str);
    let stated = (
        text("name").unwrap_or_default(),
        text("version").unwrap_or_default(),
    );
    let named = subject.and_then(|subject| names::npm(subject.name.as_deref()?));
    let other_subject = named.is_some_and(|(name, version)| (name.as_str(), version.as_str()) != stated);
    let declared = context.declared;
    let differs =
        |known: &Option<String>, stated: &str| known.as_deref().is_some_and(|known| known != stated);
    if other_subject || differs(&declared.name, stated.0) || differs(&declared.version, stated.1) {
        let note = format!("the registry's statement names `{}@{}`", stated.0, stated.1);
        outcome.fault(StepName::Subject, Fault::new(Reason::SubjectNameMismatch, note));
    }
    let registry = text("registry").unwrap_or_default();
    outcome.claims.registry = Some(shown(registry));
    let canonical = context.checker.policy.npm_canonical.as_deref();
    let plain = |text: &str| text.trim_end_matches('/').to_ascii_lowercase();
    if canonical.is_some_and(|canonical| plain(canonical) != plain(registry)) {
        let note = format!("published on `{registry}`");
        outcome.fault(StepName::Subject, Fault::new(Reason::RegistryMismatch, note));
    }
    outcome.level = Some(Level::Publish);
    outcome.warn(Warning::PublishAttestationOnly);
    Ok(())
}
