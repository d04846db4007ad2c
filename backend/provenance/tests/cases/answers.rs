//! What registries answer: statements signed with a registry's key, and referrers of an image.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sigstore_crypto::KeyPair;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_provenance::{
    Artifact, Checker, Declared, Ecosystem, Evidence, EvidenceFormat, KeyList, Policy, Report, Request,
    TrustedRoots,
};

use crate::mint::{Instance, Leaf, REPOSITORY, artifact, base64, statement};

const AT: &str = "2026-11-30T00:00:00Z";

// --- keys ---

struct Registry {
    instance: Instance,
    one: KeyPair,
    two: KeyPair,
}

impl Registry {
    fn new() -> Self {
        Self {
            instance: Instance::new(),
            one: KeyPair::generate_ecdsa_p256().unwrap(),
            two: KeyPair::generate_ecdsa_p256().unwrap(),
        }
    }

    /// `one` for attestations from the first of the year until `end`, `two` for signatures only.
    fn check(&self, bundle: &Value, end: &str, policy: Policy) -> Report {
        let key = |id: &str, usage: &str, key: &KeyPair, window: Value| {
            let raw = base64(key.public_key_der().unwrap().as_bytes());
            json!({"keyId": id, "keyUsage": usage, "publicKey": {"rawBytes": raw, "validFor": window}})
        };
        let window = json!({"start": "2026-01-01T00:00:00Z", "end": end});
        let keys = json!({"keys": [
            key("one", "npm:attestations", &self.one, window),
            key("two", "npm:signatures", &self.two, json!({"start": "2025-01-01T00:00:00Z"})),
        ]});
        let roots = TrustedRoots::only("fixture", self.instance.root().to_string().as_bytes()).unwrap();
        let keys = KeyList::read(keys.to_string().as_bytes()).unwrap();
        let bytes = bundle.to_string();
        Checker::new(roots, keys, policy).check(&Request {
            evidence: Evidence::Document {
                format: EvidenceFormat::SigstoreBundle,
                bytes: bytes.as_bytes(),
            },
            artifact: artifact(),
            declared: Declared {
                ecosystem: Some(Ecosystem::Npm),
                name: Some("@acme/weather".into()),
                version: Some("1.2.3".into()),
                ..Declared::default()
            },
            at: AT.parse().unwrap(),
        })
    }

    fn bundle(&self, key: &KeyPair, hint: &str, keyid: &str) -> Value {
        self.instance
            .bundle_by_key(key, hint, keyid, &publish("@acme/weather", "1.2.3"))
    }
}

fn publish(name: &str, version: &str) -> Value {
    let mut statement = statement();
    statement["predicateType"] = json!("https://github.com/npm/attestation/tree/main/specs/publish/v0.1");
    statement["predicate"] =
        json!({"name": name, "version": version, "registry": "https://registry.fixture.invalid"});
    statement
}

const LATE: &str = "2027-01-01T00:00:00Z";

#[track_caller]
fn refused(report: &Report, verdict: Verdict, reason: Reason) {
    assert_eq!(
        (report.verdict, report.reasons.contains(&reason)),
        (verdict, true),
        "{:?} {:?}",
        report.reasons,
        report.steps
    );
}

#[test]
fn row_13_a_publish_statement_for_another_package_or_registry() {
    let registry = Registry::new();
    let good = registry.bundle(&registry.one, "one", "one");
    let report = registry.check(&good, LATE, Policy::default());
    assert_eq!(
        (report.verdict, report.level),
        (Verdict::Verified, Some(Level::Publish)),
        "{:?}",
        report.steps
    );
    assert_eq!(report.warnings, [Warning::PublishAttestationOnly]);
    for (name, version) in [("@acme/other", "1.2.3"), ("@acme/weather", "1.2.4")] {
        let statement = publish(name, version);
        let bundle = registry
            .instance
            .bundle_by_key(&registry.one, "one", "one", &statement);
        let report = registry.check(&bundle, LATE, Policy::default());
        refused(&report, Verdict::Mismatch, Reason::SubjectNameMismatch);
    }
    let policy = |canonical: &str| Policy {
        npm_canonical: Some(canonical.to_owned()),
        ..Policy::default()
    };
    let own = registry.check(&good, LATE, policy("https://registry.fixture.invalid/"));
    assert_eq!(own.verdict, Verdict::Verified);
    let other = registry.check(&good, LATE, policy("https://other.fixture.invalid"));
    refused(&other, Verdict::Mismatch, Reason::RegistryMismatch);
}

#[test]
fn row_14_keys_retired_unknown_for_something_else_or_of_another() {
    let registry = Registry::new();
    let check = |bundle: Value| registry.check(&bundle, LATE, Policy::default());
    let (one, two) = (&registry.one, &registry.two);
    let retired = registry.check(
        &registry.bundle(one, "one", "one"),
        "2026-01-10T00:00:00Z",
        Policy::default(),
    );
    refused(&retired, Verdict::Invalid, Reason::KeyOutsideValidity);
    refused(
        &check(registry.bundle(one, "three", "three")),
        Verdict::Unverifiable,
        Reason::UnknownKey,
    );
    refused(
        &check(registry.bundle(two, "two", "two")),
        Verdict::Invalid,
        Reason::KeyUsage,
    );
    refused(
        &check(registry.bundle(two, "one", "one")),
        Verdict::Invalid,
        Reason::SignatureInvalid,
    );
    refused(
        &check(registry.bundle(one, "two", "two")),
        Verdict::Invalid,
        Reason::SignatureInvalid,
    );
    refused(
        &check(registry.bundle(one, "one", "two")),
        Verdict::Invalid,
        Reason::MalformedBundle,
    );
}

// --- images ---

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

struct Image {
    instance: Instance,
    image: Vec<u8>,
}

impl Image {
    fn new() -> Self {
        Self {
            instance: Instance::new(),
            image: json!({"schemaVersion": 2, "layers": []}).to_string().into_bytes(),
        }
    }

    fn bundle(&self, leaf: &Leaf) -> Vec<u8> {
        let mut statement = statement();
        let hex = digest(&self.image).replace("sha256:", "");
        statement["subject"] = json!([{"name": "any", "digest": {"sha256": hex}}]);
        self.instance.bundle(leaf, &statement).to_string().into_bytes()
    }

    fn referrer(&self, blob: &[u8]) -> Vec<u8> {
        json!({"schemaVersion": 2, "artifactType": BUNDLE, "subject": {"digest": digest(&self.image)},
            "layers": [{"mediaType": BUNDLE, "digest": digest(blob)}]})
        .to_string()
        .into_bytes()
    }

    fn tag(&self, suffix: &str) -> String {
        format!(
            "tag-sha256-{}{suffix}.json",
            digest(&self.image).replace("sha256:", "")
        )
    }

    fn check(&self, files: &[(&str, Vec<u8>)]) -> Report {
        let mut all = vec![("image.json".to_owned(), self.image.clone())];
        all.extend(
            files
                .iter()
                .map(|(name, bytes)| ((*name).to_owned(), bytes.clone())),
        );
        self.instance.checker().check(&Request {
            evidence: Evidence::OciRecorded(&all),
            artifact: Artifact {
                sha256: Some(Sha256::digest(&self.image).into()),
                sha512: None,
            },
            declared: Declared {
                ecosystem: Some(Ecosystem::Oci),
                name: Some("registry.fixture.invalid/acme/weather".into()),
                repository: Some(REPOSITORY.into()),
                ..Declared::default()
            },
            at: AT.parse().unwrap(),
        })
    }
}

fn index(referrers: &[&[u8]]) -> Vec<u8> {
    let manifests: Vec<Value> = referrers
        .iter()
        .map(|bytes| json!({"digest": digest(bytes), "artifactType": BUNDLE}))
        .collect();
    json!({"schemaVersion": 2, "manifests": manifests})
        .to_string()
        .into_bytes()
}

#[test]
fn row_28_junk_beside_a_good_referrer_and_places_that_hide_each_other() {
    let image = Image::new();
    let good = image.bundle(&Leaf::default());
    let referrer = image.referrer(&good);
    let junk = b"{}".to_vec();
    let junk_referrer = image.referrer(&junk);
    let files = |list: &str| {
        vec![
            ("blob-1.json", good.clone()),
            ("blob-2.json", junk.clone()),
            ("referrer-1.json", referrer.clone()),
            ("referrer-2.json", junk_referrer.clone()),
            (
                "referrers.json",
                if list == "both" {
                    index(&[&junk_referrer, &referrer])
                } else {
                    index(&[&junk_referrer])
                },
            ),
        ]
    };
    let report = image.check(&files("both"));
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.attestations);
    assert_eq!(report.warnings, [Warning::OtherAttestationsIgnored]);
    // Only junk by the interface, the good one under the tag: both places are read.
    let mut hidden = files("junk");
    let tag = image.tag("");
    hidden.push((&tag, index(&[&referrer])));
    assert_eq!(image.check(&hidden).verdict, Verdict::Verified);
    let report = image.check(&files("junk"));
    refused(&report, Verdict::Unverifiable, Reason::UnsupportedBundle);
}

#[test]
fn row_29_a_failure_is_never_unsigned_and_nothing_is_never_success() {
    let image = Image::new();
    refused(&image.check(&[]), Verdict::Unsigned, Reason::NoAttestation);
    let empty = ("referrers.json", index(&[]));
    refused(
        &image.check(std::slice::from_ref(&empty)),
        Verdict::Unsigned,
        Reason::NoAttestation,
    );
    for answer in [
        "{\"errors\":[{\"code\":\"DENIED\"}]}",
        "<html>busy</html>",
        "",
        "{\"schemaVersion\":2}",
    ] {
        let report = image.check(&[("referrers.json", answer.as_bytes().to_vec())]);
        refused(&report, Verdict::Unverifiable, Reason::FetchFailed);
    }
    let good = image.bundle(&Leaf::default());
    let referrer = image.referrer(&good);
    let list = ("referrers.json", index(&[&referrer]));
    refused(
        &image.check(std::slice::from_ref(&list)),
        Verdict::Unverifiable,
        Reason::FetchFailed,
    );
    let answer = ("referrer-1.json", referrer);
    let missing = [list.clone(), answer.clone()];
    refused(&image.check(&missing), Verdict::Unverifiable, Reason::FetchFailed);
    let swapped = image.bundle(&Leaf::default());
    let other = [list, answer, ("blob-1.json", swapped)];
    refused(
        &image.check(&other),
        Verdict::Unverifiable,
        Reason::FetchIntegrity,
    );
}

#[test]
fn row_20_only_a_stranger_signed() {
    let image = Image::new();
    let workflow = "https://github.com/mallory/weather/.github/workflows/r.yml@refs/tags/v1.2.3";
    let stranger = Leaf {
        names: vec![(0x86, workflow.into())],
        ..Leaf::default()
            .with(9, workflow)
            .with(12, "https://github.com/mallory/weather")
            .with(18, workflow)
    };
    let blob = image.bundle(&stranger);
    let referrer = image.referrer(&blob);
    let list = index(&[&referrer]);
    let report = image.check(&[
        ("referrers.json", list),
        ("referrer-1.json", referrer),
        ("blob-1.json", blob),
    ]);
    refused(&report, Verdict::Mismatch, Reason::SourceRepositoryMismatch);
}

#[test]
fn row_27_an_old_signature_moved_to_the_tag_of_another_image() {
    let image = Image::new();
    let signed = |about: &[u8], kind: &str| {
        let payload = json!({"critical": {"identity": {"docker-reference": "any"},
            "image": {"docker-manifest-digest": digest(about)}, "type": kind}, "optional": null});
        let payload = payload.to_string().into_bytes();
        let annotations = image.instance.cosign(&Leaf::default(), &payload);
        let manifest = json!({"schemaVersion": 2, "layers": [{
            "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
            "digest": digest(&payload), "annotations": annotations}]});
        let tag = image.tag(".sig");
        image.check(&[
            (&tag, manifest.to_string().into_bytes()),
            ("blob-1.json", payload),
        ])
    };
    let kind = "cosign container image signature";
    let report = signed(&image.image, kind);
    assert_eq!(
        (report.verdict, report.level),
        (Verdict::Verified, Some(Level::Signature)),
        "{:?} {:?}",
        report.reasons,
        report.steps
    );
    assert_eq!(
        report.warnings,
        [Warning::PromiseOnlyLogEvidence, Warning::SignatureOnly]
    );
    refused(
        &signed(b"another image", kind),
        Verdict::Mismatch,
        Reason::DigestMismatch,
    );
    refused(
        &signed(&image.image, "something else"),
        Verdict::Invalid,
        Reason::MalformedStatement,
    );
}
