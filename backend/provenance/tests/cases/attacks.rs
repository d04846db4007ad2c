//! Attacks that the corpus has no case of, minted here. Each differs from a bundle that verifies in one thing.

use serde_json::{Value, json};
use sigstore_crypto::KeyPair;
use toolmark_domain::limits::CLAIM_CHARS;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_provenance::{
    Artifact, Checker, Declared, Ecosystem, Evidence, EvidenceFormat, KeyList, Policy, Report, Request,
    TrustedRoots,
};

use crate::mint::{
    GITHUB, Instance, Leaf, REPOSITORY, Tbs, artifact, base64, name, signature_of, statement, timestamp_usage,
};

fn declared() -> Declared {
    Declared {
        ecosystem: Some(Ecosystem::Npm),
        name: Some("@acme/weather".into()),
        version: Some("1.2.3".into()),
        repository: Some(REPOSITORY.into()),
        repository_id: Some("700".into()),
        ..Declared::default()
    }
}

fn ask(checker: &Checker, format: EvidenceFormat, bytes: &[u8], artifact: Artifact) -> Report {
    checker.check(&Request {
        evidence: Evidence::Document { format, bytes },
        artifact,
        declared: declared(),
        at: "2026-11-30T00:00:00Z".parse().unwrap(),
    })
}

fn check(instance: &Instance, bundle: &Value) -> Report {
    let bytes = bundle.to_string();
    ask(
        &instance.checker(),
        EvidenceFormat::SigstoreBundle,
        bytes.as_bytes(),
        artifact(),
    )
}

fn leaf(leaf: &Leaf) -> Report {
    let instance = Instance::new();
    check(&instance, &instance.bundle(leaf, &statement()))
}

#[track_caller]
fn refused(report: &Report, verdict: Verdict, reason: Reason) {
    assert_eq!(
        (report.verdict, report.reasons.contains(&reason)),
        (verdict, true),
        "{:?} {:?}",
        report.reasons,
        report.steps
    );
    assert_eq!(report.level, None);
}

#[test]
fn the_minted_bundle_verifies_so_that_each_attack_is_the_only_fault() {
    let report = leaf(&Leaf::default());
    assert_eq!(
        (report.verdict, report.level, report.warnings.as_slice()),
        (Verdict::Verified, Some(Level::Build), [].as_slice()),
        "{:?} {:?}",
        report.reasons,
        report.steps
    );
}

#[test]
fn row_4_a_checkpoint_with_a_second_signature_of_another_trusted_log() {
    let instance = Instance::new();
    let other = Instance::new();
    let mut root = instance.root();
    let log = other.root()["tlogs"][0].clone();
    root["tlogs"].as_array_mut().unwrap().push(log);
    let roots = TrustedRoots::only("two", root.to_string().as_bytes()).unwrap();
    let checker = Checker::new(roots, KeyList::pinned().unwrap(), Policy::default());
    let mut bundle = instance.bundle(&Leaf::default(), &statement());
    let good = ask(
        &checker,
        EvidenceFormat::SigstoreBundle,
        bundle.to_string().as_bytes(),
        artifact(),
    );
    assert_eq!(good.verdict, Verdict::Verified);
    let foreign = other.bundle(&Leaf::default(), &statement());
    let text = |bundle: &Value| {
        let entry = &bundle["verificationMaterial"]["tlogEntries"][0];
        let text = &entry["inclusionProof"]["checkpoint"]["envelope"];
        text.as_str().unwrap().to_owned()
    };
    let line = text(&foreign).lines().last().unwrap().to_owned();
    let both = format!("{}{line}\n", text(&bundle));
    bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["checkpoint"]["envelope"] =
        json!(both);
    let report = ask(
        &checker,
        EvidenceFormat::SigstoreBundle,
        bundle.to_string().as_bytes(),
        artifact(),
    );
    refused(&report, Verdict::Invalid, Reason::LogInvalid);
}

#[test]
fn row_6_a_statement_nested_beyond_the_bound() {
    let instance = Instance::new();
    let mut deep = json!(1);
    for _ in 0..80 {
        deep = json!([deep]);
    }
    let mut statement = statement();
    statement["predicate"]["deep"] = deep;
    let report = check(&instance, &instance.bundle(&Leaf::default(), &statement));
    refused(&report, Verdict::Unverifiable, Reason::LimitsExceeded);
}

#[test]
fn row_8_two_signatures_in_the_envelope() {
    let instance = Instance::new();
    let mut bundle = instance.bundle(&Leaf::default(), &statement());
    let one = bundle["dsseEnvelope"]["signatures"][0].clone();
    bundle["dsseEnvelope"]["signatures"] = json!([one, one]);
    refused(
        &check(&instance, &bundle),
        Verdict::Invalid,
        Reason::MalformedBundle,
    );
}

#[test]
fn row_9_another_payload_type_and_a_longer_predicate_type() {
    let instance = Instance::new();
    let payload = statement().to_string();
    let bundle = instance.bundle_over(&Leaf::default(), "application/json", payload.as_bytes());
    let report = check(&instance, &bundle);
    refused(&report, Verdict::Unverifiable, Reason::UnsupportedPayloadType);
    // The type is signed: changed afterwards it is not foreign but forged.
    let mut forged = instance.bundle(&Leaf::default(), &statement());
    forged["dsseEnvelope"]["payloadType"] = json!("application/json");
    refused(
        &check(&instance, &forged),
        Verdict::Invalid,
        Reason::SignatureInvalid,
    );
    for kind in [
        "https://slsa.dev/provenance/v1-evil",
        "https://slsa.dev/provenance/v1?draft",
        "",
    ] {
        let mut statement = statement();
        statement["predicateType"] = json!(kind);
        let report = check(&instance, &instance.bundle(&Leaf::default(), &statement));
        refused(&report, Verdict::Unverifiable, Reason::NoProvenancePredicate);
    }
}

#[test]
fn row_11_digests_that_do_not_bind_or_do_not_agree() {
    let instance = Instance::new();
    let with = |digest: Value| {
        let mut statement = statement();
        statement["subject"][0]["digest"] = digest;
        check(&instance, &instance.bundle(&Leaf::default(), &statement))
    };
    let right = hex::encode(artifact().sha512.unwrap());
    let report = with(json!({"sha1": "00".repeat(20)}));
    refused(&report, Verdict::Unverifiable, Reason::NoSupportedDigest);
    let report = with(json!({"sha512": right, "sha256": "00".repeat(32)}));
    refused(&report, Verdict::Mismatch, Reason::DigestConflict);
    let report = with(json!({"sha256": right}));
    refused(&report, Verdict::Invalid, Reason::MalformedStatement);
}

#[test]
fn row_12_the_version_of_another_release() {
    let instance = Instance::new();
    let mut statement = statement();
    statement["subject"][0]["name"] = json!("pkg:npm/%40acme/weather@1.2.4");
    let report = check(&instance, &instance.bundle(&Leaf::default(), &statement));
    refused(&report, Verdict::Mismatch, Reason::SubjectNameMismatch);
}

#[test]
fn row_16_a_forged_certificate_in_the_bag_of_a_timestamp() {
    let instance = Instance::new();
    let stamped = |forged: Option<(&KeyPair, Vec<u8>)>| {
        let mut bundle = instance.bundle(&Leaf::default(), &statement());
        let token = instance.timestamp(&signature_of(&bundle), forged);
        bundle["verificationMaterial"]["timestampVerificationData"] =
            json!({"rfc3161Timestamps": [{"signedTimestamp": base64(&token)}]});
        check(&instance, &bundle)
    };
    let honest = stamped(None);
    assert_eq!(
        honest.verdict,
        Verdict::Verified,
        "{:?} {:?}",
        honest.reasons,
        honest.steps
    );
    // The same names and serial, signed by a key of the attacker.
    let (attacker, key) = (
        KeyPair::generate_ecdsa_p256().unwrap(),
        KeyPair::generate_ecdsa_p256().unwrap(),
    );
    let subject = name("fixture", "time");
    let forged = Tbs {
        issuer: &instance.tsa_name,
        subject: &subject,
        key: &key,
        seconds: 86_400,
        extensions: &timestamp_usage(),
    }
    .signed(&attacker);
    let report = stamped(Some((&key, forged)));
    refused(&report, Verdict::Invalid, Reason::NoTrustedTime);
}

#[test]
fn row_17_another_authority_of_the_same_name_and_a_certificate_for_tls() {
    let (instance, other) = (Instance::new(), Instance::new());
    // The logs are ours, only the certificate is not.
    let mut bundle = instance.bundle(&Leaf::default(), &statement());
    let foreign = other.bundle(&Leaf::default(), &statement());
    bundle["verificationMaterial"]["certificate"] = foreign["verificationMaterial"]["certificate"].clone();
    refused(&check(&instance, &bundle), Verdict::Invalid, Reason::ChainInvalid);
    let tls = Leaf {
        usage: "1.3.6.1.5.5.7.3.1",
        ..Leaf::default()
    };
    refused(&leaf(&tls), Verdict::Invalid, Reason::ChainInvalid);
}

#[test]
fn row_18_the_relaxed_rules_never_meet_public_evidence() {
    // An authority that calls itself as GitHub's does is held to GitHub's rules, in which its log entry counts for
    // nothing; a certificate of the public instance never is.
    let github = Instance::named("GitHub, Inc.");
    let report = check(&github, &github.bundle(&Leaf::default(), &statement()));
    let public = Instance::new();
    let other = check(&public, &github.bundle(&Leaf::default(), &statement()));
    refused(&other, Verdict::Invalid, Reason::UntrustedInstance);
    // With the log trusted, the evidence holds under either profile.
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.steps);
    // Without a log entry and with a timestamp it holds only under GitHub's.
    for (instance, verdict) in [(&github, Verdict::Verified), (&public, Verdict::Invalid)] {
        let mut bundle = instance.bundle(&Leaf::default(), &statement());
        let token = instance.timestamp(&signature_of(&bundle), None);
        bundle["verificationMaterial"]["tlogEntries"] = json!([]);
        bundle["verificationMaterial"]["timestampVerificationData"] =
            json!({"rfc3161Timestamps": [{"signedTimestamp": base64(&token)}]});
        let report = check(instance, &bundle);
        assert_eq!(report.verdict, verdict, "{:?} {:?}", report.reasons, report.steps);
        let unlogged = report.warnings.contains(&Warning::NoPublicLog);
        assert_eq!(unlogged, verdict == Verdict::Verified);
    }
}

#[test]
fn row_19_look_alikes_of_repository_and_issuer() {
    for repository in [
        "https://github.com/acme/weather-2",
        "https://github.com/acme/weathe",
        "https://github.com/acmee/weather",
    ] {
        let workflow = format!("{repository}/.github/workflows/release.yml@refs/tags/v1.2.3");
        let other = Leaf {
            names: vec![(0x86, workflow.clone())],
            ..Leaf::default()
                .with(9, &workflow)
                .with(12, repository)
                .with(18, &workflow)
        };
        refused(&leaf(&other), Verdict::Mismatch, Reason::SourceRepositoryMismatch);
    }
    for issuer in [
        "https://token.actions.githubusercontent.com.evil.example",
        "https://token.actions.githubusercontent.com/acme",
        "http://token.actions.githubusercontent.com",
        "https://token.actions.githubusercontent.com/",
    ] {
        let report = leaf(&Leaf::default().with(8, issuer));
        refused(&report, Verdict::Mismatch, Reason::IssuerNotAllowed);
    }
}

#[test]
fn row_22_triggers_and_refs_that_outsiders_can_cause() {
    for event in [
        "pull_request",
        "pull_request_target",
        "pull_request_review",
        "pull_request_review_comment",
        "issue_comment",
        "issues",
        "discussion",
        "discussion_comment",
        "fork",
        "watch",
    ] {
        let report = leaf(&Leaf::default().with(20, event));
        refused(&report, Verdict::Mismatch, Reason::UntrustedTrigger);
    }
    for reference in ["refs/pull/7/merge", "refs/merge-requests/7/head"] {
        let report = leaf(&Leaf::default().with(14, reference));
        refused(&report, Verdict::Mismatch, Reason::UntrustedTrigger);
    }
    let report = leaf(&Leaf::default().with(20, "workflow_run"));
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(report.warnings, [Warning::WorkflowRunTrigger]);
}

#[test]
fn row_23_a_reusable_workflow_of_another_owner_is_not_the_source() {
    let signer = "https://github.com/builders/shared/.github/workflows/build.yml@refs/tags/v3";
    let reusable = Leaf {
        names: vec![(0x86, signer.to_owned())],
        ..Leaf::default().with(9, signer)
    };
    let report = leaf(&reusable);
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.reasons);
    assert_eq!(report.warnings, [Warning::ThirdPartyBuilder]);
    let instance = Instance::new();
    let bytes = instance.bundle(&reusable, &statement()).to_string();
    let report = instance.checker().check(&Request {
        evidence: Evidence::Document {
            format: EvidenceFormat::SigstoreBundle,
            bytes: bytes.as_bytes(),
        },
        artifact: artifact(),
        declared: Declared {
            repository: Some("https://github.com/builders/shared".into()),
            ..Declared::default()
        },
        at: "2026-11-30T00:00:00Z".parse().unwrap(),
    });
    refused(&report, Verdict::Mismatch, Reason::SourceRepositoryMismatch);
}

#[test]
fn row_25_a_repository_name_that_somebody_else_registered_again() {
    let report = leaf(&Leaf::default().with(15, "701"));
    refused(&report, Verdict::Mismatch, Reason::SourceRepositoryIdMismatch);
}

#[test]
fn row_26_names_and_claims_that_contradict_each_other() {
    let own = Leaf::default().names[0].clone();
    let two = Leaf {
        names: vec![own, (0x86, "https://github.com/mallory/x".into())],
        ..Leaf::default()
    };
    refused(&leaf(&two), Verdict::Mismatch, Reason::ClaimConflict);
    let signer = Leaf::default().with(
        9,
        "https://github.com/mallory/x/.github/workflows/r.yml@refs/heads/main",
    );
    refused(&leaf(&signer), Verdict::Mismatch, Reason::ClaimConflict);
    let config = Leaf::default().with(
        18,
        "https://github.com/acme/weather-2/.github/workflows/r.yml@refs/tags/v1",
    );
    refused(&leaf(&config), Verdict::Mismatch, Reason::ClaimConflict);
    let older = Leaf::default().with(5, "mallory/weather");
    refused(&leaf(&older), Verdict::Mismatch, Reason::ClaimConflict);
    let mut twice = Leaf::default();
    twice
        .claims
        .push((12, "https://github.com/mallory/weather".into()));
    refused(&leaf(&twice), Verdict::Mismatch, Reason::ClaimConflict);
    let person = Leaf {
        names: vec![(0x81, "dev@example.invalid".into())],
        ..Leaf::default()
    };
    refused(&leaf(&person), Verdict::Mismatch, Reason::NotABuildIdentity);
}

#[test]
fn row_31_text_of_an_attacker_is_bounded_and_never_decides() {
    let evil = "<script>alert(1)</script>\u{202e}gpj.exe\u{200b}";
    let report = leaf(&Leaf::default().with(23, evil));
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(report.claims.unwrap().environment.as_deref(), Some(evil));
    let long = "x".repeat(20_000);
    let report = leaf(&Leaf::default().with(20, &long).with(21, &long));
    refused(&report, Verdict::Mismatch, Reason::UntrustedTrigger);
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.len() < 20_000, "{}", json.len());
    let run = report.claims.unwrap().run.unwrap();
    assert_eq!(run.chars().count(), CLAIM_CHARS + 1);
    // Also where it is the address that is compared.
    let report = leaf(&Leaf::default().with(12, evil));
    refused(&report, Verdict::Mismatch, Reason::ClaimConflict);
}

#[test]
fn row_32_a_file_swapped_after_the_check_is_another_question() {
    let instance = Instance::new();
    let bytes = instance.bundle(&Leaf::default(), &statement()).to_string();
    let ask = |artifact| {
        ask(
            &instance.checker(),
            EvidenceFormat::SigstoreBundle,
            bytes.as_bytes(),
            artifact,
        )
    };
    assert_eq!(ask(artifact()).verdict, Verdict::Verified);
    let swapped = Artifact::read(&b"weather, but not quite"[..]).unwrap();
    refused(&ask(swapped), Verdict::Mismatch, Reason::DigestMismatch);
}

#[test]
fn what_is_signed_later_than_the_check_is_refused() {
    let instance = Instance::new();
    let bytes = instance.bundle(&Leaf::default(), &statement()).to_string();
    let report = instance.checker().check(&Request {
        evidence: Evidence::Document {
            format: EvidenceFormat::SigstoreBundle,
            bytes: bytes.as_bytes(),
        },
        artifact: artifact(),
        declared: declared(),
        at: "2026-01-15T12:00:00Z".parse().unwrap(),
    });
    refused(&report, Verdict::Invalid, Reason::TimeInFuture);
}

#[test]
fn an_enterprise_issuer_counts_only_where_it_is_configured() {
    let instance = Instance::new();
    let issuer = format!("{GITHUB}/acme");
    let bytes = instance
        .bundle(&Leaf::default().with(8, &issuer), &statement())
        .to_string();
    let roots = TrustedRoots::only("fixture", instance.root().to_string().as_bytes()).unwrap();
    let mut policy = Policy::default();
    policy.issuers.push(toolmark_provenance::IssuerRule {
        issuer,
        forge: "github.com".into(),
    });
    let checker = Checker::new(roots, KeyList::pinned().unwrap(), policy);
    let report = ask(
        &checker,
        EvidenceFormat::SigstoreBundle,
        bytes.as_bytes(),
        artifact(),
    );
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.reasons);
}

#[test]
fn a_list_of_lines_needs_one_that_verifies_and_an_answer_needs_all() {
    let instance = Instance::new();
    let good = instance.bundle(&Leaf::default(), &statement());
    let stranger = Leaf::default().with(15, "9");
    let bad = instance.bundle(&stranger, &statement());
    let lines = format!("{bad}\n{good}\n");
    let report = ask(
        &instance.checker(),
        EvidenceFormat::BundleJsonl,
        lines.as_bytes(),
        artifact(),
    );
    assert_eq!(report.verdict, Verdict::Verified);
    assert_eq!(report.warnings, [Warning::OtherAttestationsIgnored]);
    let label = "https://slsa.dev/provenance/v1";
    let answer = |bundles: &[&Value]| {
        let items: Vec<Value> = bundles
            .iter()
            .map(|bundle| json!({"predicateType": label, "bundle": bundle}))
            .collect();
        let bytes = json!({"attestations": items}).to_string();
        ask(
            &instance.checker(),
            EvidenceFormat::NpmAttestations,
            bytes.as_bytes(),
            artifact(),
        )
    };
    assert_eq!(answer(&[&good]).verdict, Verdict::Verified);
    refused(
        &answer(&[&good, &bad]),
        Verdict::Mismatch,
        Reason::SourceRepositoryIdMismatch,
    );
    refused(&answer(&[]), Verdict::Unsigned, Reason::NoAttestation);
}
