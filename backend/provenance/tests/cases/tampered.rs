//! A bundle that verifies, with one part changed or taken from another. The corpus has these attacks too; here they do
//! not depend on it.

use serde_json::{Value, json};
use toolmark_domain::provenance::{Reason, Verdict, Warning};
use toolmark_provenance::{
    Checker, Declared, Ecosystem, Evidence, EvidenceFormat, KeyList, Policy, Report, Request, TrustedRoots,
};

use crate::mint::{Instance, Leaf, REPOSITORY, artifact, base64, statement};

fn ask(checker: &Checker, text: &str) -> Report {
    checker.check(&Request {
        evidence: Evidence::Document {
            format: EvidenceFormat::SigstoreBundle,
            bytes: text.as_bytes(),
        },
        artifact: artifact(),
        declared: Declared {
            ecosystem: Some(Ecosystem::Npm),
            name: Some("@acme/weather".into()),
            version: Some("1.2.3".into()),
            repository: Some(REPOSITORY.into()),
            ..Declared::default()
        },
        at: "2026-11-30T00:00:00Z".parse().unwrap(),
    })
}

/// What is said of the default bundle after a change.
fn changed(change: impl Fn(&Instance, &mut Value)) -> Report {
    let instance = Instance::new();
    let mut bundle = instance.bundle(&Leaf::default(), &statement());
    assert_eq!(
        ask(&instance.checker(), &bundle.to_string()).verdict,
        Verdict::Verified
    );
    change(&instance, &mut bundle);
    ask(&instance.checker(), &bundle.to_string())
}

#[track_caller]
fn refused(report: &Report, verdict: Verdict, reasons: &[Reason]) {
    let one = report.reasons.iter().any(|reason| reasons.contains(reason));
    assert_eq!(
        (report.verdict, one),
        (verdict, true),
        "{:?} {:?}",
        report.reasons,
        report.steps
    );
}

const ENTRY: &str = "/verificationMaterial/tlogEntries/0";

fn at<'a>(bundle: &'a mut Value, place: &str) -> &'a mut Value {
    bundle.pointer_mut(&format!("{ENTRY}{place}")).unwrap()
}

#[test]
fn row_1_the_log_entry_of_another_signature() {
    let other = |instance: &Instance| {
        let mut other = instance.bundle(&Leaf::default(), &statement());
        at(&mut other, "").take()
    };
    let report = changed(|instance, bundle| *at(bundle, "") = other(instance));
    refused(&report, Verdict::Invalid, &[Reason::LogEntryMismatch]);
    let report = changed(|instance, bundle| {
        let entries = &mut bundle["verificationMaterial"]["tlogEntries"];
        entries.as_array_mut().unwrap().push(other(instance));
    });
    refused(&report, Verdict::Invalid, &[Reason::LogEntryMismatch]);
}

#[test]
fn row_2_the_time_or_the_promise_changed() {
    let report = changed(|_, bundle| *at(bundle, "/integratedTime") = json!("1768478450"));
    refused(&report, Verdict::Invalid, &[Reason::LogInvalid]);
    let report = changed(|_, bundle| {
        *at(bundle, "/inclusionPromise/signedEntryTimestamp") = json!(base64(&[0; 70]));
    });
    refused(&report, Verdict::Invalid, &[Reason::LogInvalid]);
    let report = changed(|_, bundle| *at(bundle, "/inclusionPromise") = Value::Null);
    refused(&report, Verdict::Invalid, &[Reason::NoTrustedTime]);
}

#[test]
fn row_3_a_proof_against_a_root_nobody_signed() {
    let zero = base64(&[0; 32]);
    let report = changed(|_, bundle| *at(bundle, "/inclusionProof/rootHash") = json!(zero));
    refused(&report, Verdict::Invalid, &[Reason::LogInvalid]);
    let report = changed(|_, bundle| *at(bundle, "/inclusionProof/hashes/0") = json!(zero));
    refused(&report, Verdict::Invalid, &[Reason::LogInvalid]);
    // Root and checkpoint agree with each other, and nobody signed them.
    let report = changed(|_, bundle| {
        let root = at(bundle, "/inclusionProof/rootHash")
            .as_str()
            .unwrap()
            .to_owned();
        let text = at(bundle, "/inclusionProof/checkpoint/envelope");
        *text = json!(text.as_str().unwrap().replace(&root, &zero));
        *at(bundle, "/inclusionProof/rootHash") = json!(zero);
    });
    refused(&report, Verdict::Invalid, &[Reason::LogInvalid]);
}

#[test]
fn row_5_an_older_media_type_to_drop_the_proof() {
    let older = json!("application/vnd.dev.sigstore.bundle+json;version=0.1");
    let report = changed(|_, bundle| {
        bundle["mediaType"] = older.clone();
        *at(bundle, "/inclusionProof") = Value::Null;
    });
    refused(&report, Verdict::Unverifiable, &[Reason::LogEvidenceDowngraded]);
    let report = changed(|_, bundle| {
        bundle["mediaType"] = older.clone();
        *at(bundle, "/inclusionProof/checkpoint") = Value::Null;
    });
    refused(&report, Verdict::Unverifiable, &[Reason::LogEvidenceDowngraded]);
    let report = changed(|_, bundle| *at(bundle, "/inclusionProof") = Value::Null);
    refused(&report, Verdict::Invalid, &[Reason::MalformedBundle]);
}

#[test]
fn row_7_keys_given_twice_and_two_contents() {
    let instance = Instance::new();
    let checker = instance.checker();
    let text = instance.bundle(&Leaf::default(), &statement()).to_string();
    for (key, twice) in [
        ("\"dsseEnvelope\":", "\"dsseEnvelope\":{},\"dsseEnvelope\":"),
        (
            "\"integratedTime\":",
            "\"integratedTime\":\"1\",\"integratedTime\":",
        ),
        ("\"payloadType\":", "\"payloadType\":\"x\",\"payloadType\":"),
    ] {
        let twice = text.replacen(key, twice, 1);
        assert_ne!(twice, text);
        refused(
            &ask(&checker, &twice),
            Verdict::Invalid,
            &[Reason::MalformedBundle],
        );
    }
    let payload = statement()
        .to_string()
        .replacen("\"subject\":", "\"subject\":[],\"subject\":", 1);
    let bundle = instance.bundle_over(
        &Leaf::default(),
        "application/vnd.in-toto+json",
        payload.as_bytes(),
    );
    let report = ask(&checker, &bundle.to_string());
    refused(&report, Verdict::Invalid, &[Reason::MalformedStatement]);
    let report = changed(|_, bundle| bundle["messageSignature"] = json!({"signature": "AA=="}));
    refused(&report, Verdict::Invalid, &[Reason::MalformedBundle]);
}

/// What is said of another statement, rightly signed.
fn stated(change: impl Fn(&mut Value)) -> Report {
    let instance = Instance::new();
    let mut statement = statement();
    change(&mut statement);
    let bundle = instance.bundle(&Leaf::default(), &statement);
    ask(&instance.checker(), &bundle.to_string())
}

#[test]
fn row_10_somebody_elses_verdict_is_not_provenance() {
    let report = stated(|statement| {
        statement["predicateType"] = json!("https://slsa.dev/verification_summary/v1");
        statement["predicate"] = json!({"verificationResult": "PASSED"});
    });
    refused(&report, Verdict::Unverifiable, &[Reason::NoProvenancePredicate]);
}

#[test]
fn row_15_an_authority_whose_time_was_over() {
    let instance = Instance::new();
    let text = instance.bundle(&Leaf::default(), &statement()).to_string();
    let mut root = instance.root();
    root["certificateAuthorities"][0]["validFor"]["end"] = json!("2026-01-10T00:00:00Z");
    let roots = TrustedRoots::only("ended", root.to_string().as_bytes()).unwrap();
    let checker = Checker::new(roots, KeyList::pinned().unwrap(), Policy::default());
    refused(&ask(&checker, &text), Verdict::Invalid, &[Reason::ChainInvalid]);
}

#[test]
fn row_17_a_root_without_the_certificate_log() {
    let instance = Instance::new();
    let text = instance.bundle(&Leaf::default(), &statement()).to_string();
    let foreign = Instance::new().root()["ctlogs"].clone();
    for logs in [json!([]), foreign] {
        let mut root = instance.root();
        root["ctlogs"] = logs;
        let roots = TrustedRoots::only("unlogged", root.to_string().as_bytes()).unwrap();
        let checker = Checker::new(roots, KeyList::pinned().unwrap(), Policy::default());
        refused(&ask(&checker, &text), Verdict::Invalid, &[Reason::SctInvalid]);
    }
}

#[test]
fn row_21_a_statement_that_lies_about_the_source() {
    let place = "/predicate/buildDefinition/externalParameters/workflow";
    for (name, lie) in [
        ("repository", "https://github.com/mallory/weather"),
        ("ref", "refs/heads/main"),
        ("path", ".github/workflows/other.yml"),
    ] {
        let report =
            stated(|statement| *statement.pointer_mut(&format!("{place}/{name}")).unwrap() = json!(lie));
        refused(
            &report,
            Verdict::Mismatch,
            &[Reason::PredicateCertificateConflict],
        );
    }
    // A certificate of a stranger, and a statement that names the declared source.
    let instance = Instance::new();
    let workflow = "https://github.com/mallory/weather/.github/workflows/release.yml@refs/tags/v1.2.3";
    let stranger = Leaf {
        names: vec![(0x86, workflow.into())],
        ..Leaf::default()
            .with(9, workflow)
            .with(12, "https://github.com/mallory/weather")
            .with(18, workflow)
    };
    let report = ask(
        &instance.checker(),
        &instance.bundle(&stranger, &statement()).to_string(),
    );
    refused(&report, Verdict::Mismatch, &[Reason::SourceRepositoryMismatch]);
}

#[test]
fn row_24_the_builders_own_machine_and_a_private_source_are_said() {
    let instance = Instance::new();
    let leaf = Leaf::default()
        .with(11, "self-hosted")
        .with(14, "refs/heads/main")
        .with(22, "private");
    let mut statement = statement();
    statement["predicate"]["buildDefinition"]["externalParameters"] = json!({});
    let report = ask(
        &instance.checker(),
        &instance.bundle(&leaf, &statement).to_string(),
    );
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.reasons);
    assert_eq!(
        report.warnings,
        [
            Warning::SelfHostedRunner,
            Warning::SourceNotPublic,
            Warning::NonReleaseRef,
            // The statement says GitHub's machine.
            Warning::BuilderIdUnconfirmed,
        ]
    );
    assert_eq!(report.claims.unwrap().slsa_level, Some(1));
}

#[test]
fn row_30_a_complete_bundle_of_another_instance() {
    let text = Instance::named("other")
        .bundle(&Leaf::default(), &statement())
        .to_string();
    let report = ask(&Instance::new().checker(), &text);
    refused(&report, Verdict::Invalid, &[Reason::UntrustedInstance]);
    // With the same names it is found out by its log.
    let text = Instance::new().bundle(&Leaf::default(), &statement()).to_string();
    let report = ask(&Instance::new().checker(), &text);
    refused(&report, Verdict::Invalid, &[Reason::LogUnknown]);
}

#[test]
fn of_two_roots_with_the_same_names_the_one_whose_log_wrote_the_entry_counts() {
    let (one, two) = (Instance::new(), Instance::new());
    let mut roots = TrustedRoots::only("one", one.root().to_string().as_bytes()).unwrap();
    roots.add("two", two.root().to_string().as_bytes()).unwrap();
    let checker = Checker::new(roots, KeyList::pinned().unwrap(), Policy::default());
    for (instance, name) in [(&one, "one"), (&two, "two")] {
        let report = ask(
            &checker,
            &instance.bundle(&Leaf::default(), &statement()).to_string(),
        );
        assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.steps);
        assert_eq!(report.trusted_root.unwrap().name, name);
    }
}
