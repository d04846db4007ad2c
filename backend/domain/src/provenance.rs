//! The words of a verdict on provenance: what we can say about who built an artifact, and why. How a verdict is
//! reached is the matter of `toolmark-provenance`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A word that is none of a closed list.
#[derive(Debug, thiserror::Error)]
#[error("unknown {what}: `{word}`")]
pub struct UnknownWord {
    what: &'static str,
    word: String,
}

/// A closed list of words, each with a sentence for people.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $what:literal; $($variant:ident $word:literal $meaning:literal)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = $meaning] #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every word of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it stands in JSON, in the database and in URLs.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What it means, for people.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                let known = Self::ALL.iter().find(|known| known.as_str() == word);
                known.copied().ok_or_else(|| UnknownWord {
                    what: $what,
                    word: word.chars().take(64).collect(),
                })
            }
        }
    };
}

words! {
    /// What we can say about an artifact's provenance.
    Verdict, "verdict";
    Verified "verified" "an accepted attestation proves who built it, from which source"
    Unsigned "unsigned" "every place answered, and none has an attestation"
    Mismatch "mismatch" "the evidence is genuine, but it is about something or somebody else"
    Invalid "invalid" "there is evidence, and it does not verify"
    Unverifiable "unverifiable" "we cannot tell"
}

words! {
    /// What a verified attestation states.
    Level, "level";
    Build "build" "the builder says how it was built, and from what"
    Publish "publish" "the publisher's workflow or the registry says it was uploaded"
    Release "release" "the forge says that the file belongs to the release"
    Signature "signature" "a workflow signed it, and says nothing more"
}

words! {
    /// Why a verdict is not `verified`.
    Reason, "reason";
    DigestMismatch "digest_mismatch" "the attestation is about another file"
    DigestConflict "digest_conflict" "the attestation gives digests of two different files for one name"
    SubjectNameMismatch "subject_name_mismatch" "the attestation is about another name or version"
    RegistryMismatch "registry_mismatch" "the attestation is about another package registry"
    SourceRepositoryMismatch "source_repository_mismatch" "it was built from another repository than the one declared"
    SourceRepositoryIdMismatch "source_repository_id_mismatch" "the repository has the declared name, but is not the one known by that name"
    PredicateCertificateConflict "predicate_certificate_conflict" "the statement contradicts the certificate about source or workflow"
    ClaimConflict "claim_conflict" "the claims of the certificate contradict each other"
    IssuerNotAllowed "issuer_not_allowed" "the identity was vouched for by an issuer that is not accepted for builds"
    UntrustedTrigger "untrusted_trigger" "the build was started by an event that outsiders can cause"
    NotABuildIdentity "not_a_build_identity" "a person or an account signed, not a build"
    MissingSourceClaims "missing_source_claims" "the certificate does not say which source was built"
    NoProvenancePredicate "no_provenance_predicate" "the statement is genuine but is not a statement of origin that we know"
    NoSupportedDigest "no_supported_digest" "no digest in common that binds an artifact (sha256 or sha512)"
    MalformedStatement "malformed_statement" "the signed statement is not well formed"
    MalformedBundle "malformed_bundle" "the evidence is not well formed"
    UnsupportedBundle "unsupported_bundle" "the evidence has a form that this version cannot read"
    UnsupportedPayloadType "unsupported_payload_type" "what was signed is not an in-toto statement"
    LimitsExceeded "limits_exceeded" "the evidence is larger than we read"
    SignatureInvalid "signature_invalid" "the signature does not fit what was signed"
    ChainInvalid "chain_invalid" "the certificate was not issued by the trusted authority, or not for signing"
    UntrustedInstance "untrusted_instance" "the certificate comes from an authority that is not trusted here"
    SctInvalid "sct_invalid" "the certificate was not published in a trusted certificate log"
    LogInvalid "log_invalid" "the transparency log does not vouch for the entry"
    LogUnknown "log_unknown" "the entry is of a transparency log that is not trusted here"
    LogEntryMismatch "log_entry_mismatch" "the log entry is about another signature"
    LogEvidenceDowngraded "log_evidence_downgraded" "only the log's promise is given, at a time when proofs were the rule"
    NoLogMaterial "no_log_material" "the evidence has no log entry, and the log is not asked offline"
    NoTrustedTime "no_trusted_time" "nothing trusted says when it was signed"
    TimeOutsideCertificate "time_outside_certificate" "it was signed when the certificate was not valid"
    TimeInFuture "time_in_future" "it says it was signed later than now"
    KeyOutsideValidity "key_outside_validity" "it was signed when the registry's key was not valid"
    KeyUsage "key_usage" "the registry's key is not meant for attestations"
    UnknownKey "unknown_key" "it names a key that is not in the registry's list"
    TrustedRootUnusable "trusted_root_unusable" "the trusted root cannot be used"
    FetchIntegrity "fetch_integrity" "an answer is not what its digest says"
    FetchFailed "fetch_failed" "a place that may hold evidence did not answer properly"
    NoAttestation "no_attestation" "no place has an attestation"
    OuterPredicateTypeConflict "outer_predicate_type_conflict" "the registry labels the statement as another kind than it is"
}

words! {
    /// What a reader should know about a verified attestation.
    Warning, "warning";
    SelfHostedRunner "self_hosted_runner" "built on a machine that the repository's owner controls"
    SourceNotPublic "source_not_public" "the source was not public when it was built"
    NonReleaseRef "non_release_ref" "built from a branch, not from a tag"
    ThirdPartyBuilder "third_party_builder" "signed by a workflow of another owner than the source's"
    BuilderIdUnconfirmed "builder_id_unconfirmed" "the builder named in the statement is not the one the certificate confirms"
    LegacyClaims "legacy_claims" "the certificate has only the older, shorter claims"
    PromiseOnlyLogEvidence "promise_only_log_evidence" "the evidence rests on the log's promise, its form asks for no proof"
    NoPublicLog "no_public_log" "not in a public log"
    PublishAttestationOnly "publish_attestation_only" "says who uploaded it, not how it was built"
    SignatureOnly "signature_only" "signed by a workflow, without a statement"
    ReleaseAttestationOnly "release_attestation_only" "says only that the file belongs to the release"
    OtherAttestationsIgnored "other_attestations_ignored" "other attestations were found that do not count"
    WorkflowRunTrigger "workflow_run_trigger" "started by the end of another workflow, which outsiders may have started"
    SubjectNameDiffers "subject_name_differs" "the attestation gives the same file another name"
}

impl Verdict {
    /// Which verdict stands for several attestations of which none is verified: the smallest rank.
    pub fn rank(self) -> u8 {
        match self {
            Self::Mismatch => 0,
            Self::Invalid => 1,
            Self::Unverifiable => 2,
            Self::Unsigned => 3,
            Self::Verified => 4,
        }
    }
}

impl Level {
    /// Which level says more: the smallest rank.
    pub fn rank(self) -> u8 {
        match self {
            Self::Build => 0,
            Self::Publish => 1,
            Self::Release => 2,
            Self::Signature => 3,
        }
    }
}

impl Reason {
    /// The verdict it leads to when nothing graver is found.
    pub fn verdict(self) -> Verdict {
        match self {
            Self::DigestMismatch
            | Self::DigestConflict
            | Self::SubjectNameMismatch
            | Self::RegistryMismatch
            | Self::SourceRepositoryMismatch
            | Self::SourceRepositoryIdMismatch
            | Self::PredicateCertificateConflict
            | Self::ClaimConflict
            | Self::IssuerNotAllowed
            | Self::UntrustedTrigger
            | Self::NotABuildIdentity => Verdict::Mismatch,
            Self::MalformedStatement
            | Self::MalformedBundle
            | Self::SignatureInvalid
            | Self::ChainInvalid
            | Self::UntrustedInstance
            | Self::SctInvalid
            | Self::LogInvalid
            | Self::LogUnknown
            | Self::LogEntryMismatch
            | Self::NoTrustedTime
            | Self::TimeOutsideCertificate
            | Self::TimeInFuture
            | Self::KeyOutsideValidity
            | Self::KeyUsage
            | Self::OuterPredicateTypeConflict => Verdict::Invalid,
            Self::MissingSourceClaims
            | Self::NoProvenancePredicate
            | Self::NoSupportedDigest
            | Self::UnsupportedBundle
            | Self::UnsupportedPayloadType
            | Self::LimitsExceeded
            | Self::LogEvidenceDowngraded
            | Self::NoLogMaterial
            | Self::UnknownKey
            | Self::TrustedRootUnusable
            | Self::FetchIntegrity
            | Self::FetchFailed => Verdict::Unverifiable,
            Self::NoAttestation => Verdict::Unsigned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse::<Reason>().unwrap(), *reason);
            let json = serde_json::to_string(reason).unwrap();
            assert_eq!(json, format!("\"{reason}\""));
            assert_ne!(reason.verdict(), Verdict::Verified);
        }
        let unknown = "safe".parse::<Verdict>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown verdict: `safe`");
    }

    #[test]
    fn meanings_are_plain_and_never_say_safe() {
        let meanings = Reason::ALL
            .iter()
            .map(|word| word.meaning())
            .chain(Warning::ALL.iter().map(|word| word.meaning()))
            .chain(Verdict::ALL.iter().map(|word| word.meaning()))
            .chain(Level::ALL.iter().map(|word| word.meaning()));
        for meaning in meanings {
            assert!(!meaning.contains("safe"), "{meaning}");
            assert!(!meaning.ends_with('.'), "{meaning}");
        }
    }
}
