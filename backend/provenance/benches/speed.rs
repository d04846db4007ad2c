//! What a check costs: genuine bundles, and evidence made to cost as much as it can. Prints figures; fails over a bound.

use std::io::Write as _;
use std::path::PathBuf;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use sigstore_crypto::{KeyPair, SigningScheme, verify_signature};
use toolmark_domain::limits::BUNDLE_BYTES;
use toolmark_domain::provenance::{Reason, Verdict};
use toolmark_provenance::{
    Artifact, Checker, Declared, Evidence, EvidenceFormat, KeyList, Policy, Report, Request, TrustedRoots,
};

/// CPU time of this process, in milliseconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a bench runs for seconds")]
    let millis = time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6;
    millis
}

/// Milliseconds for each of `times` runs.
fn each(times: u32, mut run: impl FnMut()) -> f64 {
    let before = cpu();
    (0..times).for_each(|_| run());
    (cpu() - before) / f64::from(times)
}

fn check(checker: &Checker, bytes: &[u8], format: EvidenceFormat, artifact: &Artifact) -> Report {
    checker.check(&Request {
        evidence: Evidence::Document { format, bytes },
        artifact: artifact.clone(),
        declared: Declared::default(),
        at: "2026-11-30T00:00:00Z".parse().expect("a time"),
    })
}

fn checker(root: &[u8]) -> Checker {
    let roots = TrustedRoots::only("given", root).expect("a root");
    Checker::new(roots, KeyList::pinned().expect("keys"), Policy::default())
}

struct Genuine {
    bytes: Vec<u8>,
    artifact: Artifact,
    checker: usize,
}

/// Every single bundle of the corpus that is verified, with a checker for each root.
fn genuine(folder: &std::path::Path) -> (Vec<Genuine>, Vec<Checker>) {
    let read = |file: &str| std::fs::read(folder.join(file)).expect("a file of the corpus");
    let cases: Value = serde_json::from_slice(&read("cases.json")).expect("the cases");
    let (mut bundles, mut roots, mut checkers) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases.as_array().expect("a list") {
        let text = |name: &str| case[name].as_str();
        let verified = case["expect"]["verdict"] == "verified" && text("format") == Some("sigstore-bundle");
        if !verified || case.get("keys").is_some() {
            continue;
        }
        let root = text("trusted_root").or(text("trust")).expect("a root").to_owned();
        let checker_at = roots.iter().position(|known| *known == root).unwrap_or_else(|| {
            checkers.push(checker(&read(&root)));
            roots.push(root);
            roots.len() - 1
        });
        let digests = case["artifact"].get("digest").unwrap_or(&case["artifact"]);
        let file = text("bundle").or(case["files"][0].as_str()).expect("a file");
        bundles.push(Genuine {
            bytes: read(file),
            artifact: Artifact {
                sha256: digest(&digests["sha256"]),
                sha512: digest(&digests["sha512"]),
            },
            checker: checker_at,
        });
    }
    (bundles, checkers)
}

fn digest<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(value.as_str()?, &mut bytes).ok()?;
    Some(bytes)
}

/// 300 entries, and documents of the largest size, each heavy in its own way.
fn hostile(entries: Vec<u8>) -> Vec<(&'static str, Vec<u8>)> {
    let fill = |head: &str, unit: &str, tail: &str| {
        let count = (BUNDLE_BYTES - head.len() - tail.len()) / unit.len();
        format!("{head}{}{tail}", unit.repeat(count)).into_bytes()
    };
    vec![
        ("300 log entries, over 1 MiB", entries),
        ("300 short log entries", fill_entries(300).into_bytes()),
        ("1 MiB of empty objects", fill("[{}", ",{}", "]")),
        ("1 MiB of numbers", fill("[1", ",1", "]")),
        (
            "1 MiB of a key given again and again",
            fill("{\"a\":1", ",\"a\":1", "}"),
        ),
        ("1 MiB of escapes", fill("\"", "\\u0041", "\"")),
        ("1 MiB of brackets", fill("", "[", "")),
        ("1 MiB that ends in the middle", fill("{\"a\":\"", "x", "")),
        ("over 1 MiB", vec![b' '; BUNDLE_BYTES + 1]),
    ]
}

/// A bundle with many entries, small enough that its size is no reason to refuse it.
fn fill_entries(count: usize) -> String {
    let entry = r#"{"kindVersion":{"kind":"dsse","version":"0.0.1"},"inclusionPromise":{"signedEntryTimestamp":"AA=="}}"#;
    format!(
        r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"certificate":{{"rawBytes":"AA=="}},"tlogEntries":[{}]}},"messageSignature":{{"signature":"AA=="}}}}"#,
        vec![entry; count].join(",")
    )
}

fn main() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from);
    let folder = folder.join("provenance");
    let mut out = std::io::stdout().lock();
    if !folder.join("cases.json").exists() {
        let _ = writeln!(out, "skipped: speed: no corpus at {}", folder.display());
        return;
    }
    let (bundles, checkers) = genuine(&folder);
    let one = |bundle: &Genuine| {
        let checker = &checkers[bundle.checker];
        check(
            checker,
            &bundle.bytes,
            EvidenceFormat::SigstoreBundle,
            &bundle.artifact,
        )
    };
    for bundle in &bundles {
        assert_eq!(one(bundle).verdict, Verdict::Verified);
    }
    let mut costs: Vec<f64> = bundles
        .iter()
        .map(|bundle| each(40, || drop(one(bundle))))
        .collect();
    costs.sort_by(f64::total_cmp);
    let total: f64 = costs.iter().sum();
    let mean = total / f64::from(u32::try_from(costs.len()).expect("few"));
    let (median, most) = (costs[costs.len() / 2], costs[costs.len() - 1]);
    let raw = raw_signatures();
    let _ = writeln!(
        out,
        "{} distinct genuine bundles: mean {mean:.3} ms, median {median:.3}, most {most:.3}; {:.0} a second on one core",
        costs.len(),
        1e3 / mean
    );
    let _ = writeln!(
        out,
        "raw signature checks: P-256 {:.3} ms, P-384 {:.3} ms; five for a bundle (chain P-384, SCT, promise, checkpoint, \
         signature P-256) are {:.0} % of the mean",
        raw.0,
        raw.1,
        100.0 * (4.0 * raw.0 + raw.1) / mean
    );
    let entries = std::fs::read(folder.join("synthetic/crypto-300-log-entries.json")).expect("a file");
    let worst = refusals(entries, &bundles[0], &checkers[bundles[0].checker], &mut out);
    if cfg!(debug_assertions) {
        let _ = writeln!(out, "built without optimisation, so no bound is held");
        return;
    }
    assert!(mean <= 1.0, "the mean is over 1 ms");
    assert!(worst <= 20.0, "hostile evidence costs over 20 ms");
}

/// The most that a refusal costs.
fn refusals(entries: Vec<u8>, bundle: &Genuine, checker: &Checker, out: &mut impl std::io::Write) -> f64 {
    let mut worst: f64 = 0.0;
    for (name, bytes) in hostile(entries) {
        let ask = || check(checker, &bytes, EvidenceFormat::SigstoreBundle, &bundle.artifact);
        let report = ask();
        let refused = [Reason::LimitsExceeded, Reason::MalformedBundle];
        assert!(
            report.reasons.iter().any(|reason| refused.contains(reason)),
            "{name}"
        );
        let cost = each(10, || drop(ask()));
        worst = worst.max(cost);
        let _ = writeln!(out, "{name} ({} bytes): {cost:.2} ms", bytes.len());
    }
    worst
}

/// What the signature checks alone cost: P-256 and P-384.
fn raw_signatures() -> (f64, f64) {
    let message = [7; 4096];
    let pair = KeyPair::generate_ecdsa_p256().expect("a key");
    let key = pair.public_key_der().expect("a key");
    let signature = pair.sign(&message).expect("a signature");
    let scheme = SigningScheme::EcdsaP256Sha256;
    let p256 = each(400, || {
        verify_signature(&key, &message, &signature, scheme).expect("fits");
    });
    let pair = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_ASN1_SIGNING).expect("a key");
    let key = UnparsedPublicKey::new(&ECDSA_P384_SHA384_ASN1, pair.public_key().as_ref());
    let signature = pair.sign(&SystemRandom::new(), &message).expect("a signature");
    let p384 = each(400, || key.verify(&message, signature.as_ref()).expect("fits"));
    (p256, p384)
}
