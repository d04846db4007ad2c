//! Noise: whatever the bytes, a reader answers and never panics.

use proptest::prelude::*;
use serde_json::Value;
use toolmark_domain::provenance::Verdict;
use toolmark_provenance::suite::{SuiteArtifact, SuiteRoot, SuiteSigner, verify_bundle};
use toolmark_provenance::{
    Checker, Declared, Ecosystem, Evidence, EvidenceFormat, KeyList, Policy, Report, Request, TrustedRoots,
};

use crate::mint::{Instance, Leaf, artifact, statement};
use crate::support::Data;

fn ask(checker: &Checker, evidence: Evidence<'_>) -> Report {
    let report = checker.check(&Request {
        evidence,
        artifact: artifact(),
        declared: Declared {
            ecosystem: Some(Ecosystem::Pypi),
            name: Some("weather".into()),
            ..Declared::default()
        },
        at: "2026-11-30T00:00:00Z".parse().unwrap(),
    });
    serde_json::to_string(&report).unwrap();
    report
}

fn every_reader(checker: &Checker, bytes: &[u8]) {
    for format in EvidenceFormat::ALL {
        let report = ask(checker, Evidence::Document { format, bytes });
        assert_ne!(report.verdict, Verdict::Verified, "{format}");
    }
    let _ = EvidenceFormat::guess(bytes);
    let _ = KeyList::read(bytes);
    let _ = TrustedRoots::only("noise", bytes);
    let image = hex::encode(artifact().sha256.unwrap());
    for name in [
        "referrers.json".to_owned(),
        format!("tag-sha256-{image}.sig.json"),
    ] {
        ask(checker, Evidence::OciRecorded(&[(name, bytes.to_vec())]));
    }
    let signer = SuiteSigner::Key("x");
    let artifact = SuiteArtifact::Sha256([0; 32]);
    assert!(verify_bundle(bytes, SuiteRoot::Production, signer, artifact).is_err());
}

fn pinned() -> Checker {
    let roots = TrustedRoots::pinned().unwrap();
    Checker::new(roots, KeyList::pinned().unwrap(), Policy::default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_of_any_kind_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        every_reader(&pinned(), &bytes);
    }

    #[test]
    fn json_of_any_shape_is_answered(text in "[\\[\\]{}\",:0-9a-z \\\\]{0,400}") {
        every_reader(&pinned(), text.as_bytes());
    }

    /// Any one value of a bundle replaced by another kind of value.
    #[test]
    fn a_bundle_with_one_value_replaced_is_answered(place in any::<prop::sample::Index>(), kind in 0..7_usize) {
        let instance = Instance::new();
        let mut bundle = instance.bundle(&Leaf::default(), &statement());
        let mut pointers = Vec::new();
        walk(&bundle, "", &mut pointers);
        let pointer = place.get(&pointers);
        *bundle.pointer_mut(pointer).unwrap() = [
            Value::Null, Value::Bool(true), Value::from(-1), Value::from(u64::MAX), Value::from(""),
            Value::Array(Vec::new()), Value::Object(serde_json::Map::new()),
        ][kind].clone();
        let bytes = bundle.to_string();
        ask(&instance.checker(), Evidence::Document {
            format: EvidenceFormat::SigstoreBundle,
            bytes: bytes.as_bytes(),
        });
    }
}

fn walk(value: &Value, place: &str, out: &mut Vec<String>) {
    if !place.is_empty() {
        out.push(place.to_owned());
    }
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| walk(value, &format!("{place}/{key}"), out)),
        Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                walk(value, &format!("{place}/{at}"), out);
            }
        }
        _ => {}
    }
}

#[test]
fn every_file_of_the_corpus_cut_and_flipped_is_answered_by_every_reader() {
    let Some(data) = Data::open("every_file_of_the_corpus_cut_and_flipped_is_answered_by_every_reader")
    else {
        return;
    };
    let checker = pinned();
    for case in data.json("cases.json").as_array().unwrap() {
        let file = case["bundle"].as_str().or(case["files"][0].as_str());
        let Some(file) = file.filter(|_| case.get("dir").is_none()) else {
            continue;
        };
        let mut bytes = data.bytes(file);
        if bytes.len() > 64 * 1024 {
            continue;
        }
        every_reader(&checker, &bytes);
        let at = bytes.len() / 3;
        bytes[at] ^= 0x04;
        every_reader(&checker, &bytes);
        bytes.truncate(2 * at);
        every_reader(&checker, &bytes);
    }
}
