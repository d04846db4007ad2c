//! The corpus of genuine, damaged and minted evidence: every case has the verdict, a reason and the warnings it must.
use crate::support::{Data, digests, text};
use serde_json::Value;
use toolmark_domain::builder::{Known, Release};
use toolmark_domain::provenance::{Level, Verdict};
use toolmark_provenance::suite::{SuiteArtifact, SuiteRoot, SuiteSigner, verify_bundle};
use toolmark_provenance::{
    Artifact, Checker, Declared, Ecosystem, Evidence, EvidenceFormat, KeyList, Policy, Report, Request,
    TrustedRoots,
};

/// Late enough for every case, early enough for those in the future.
const AT: &str = "2026-11-30T00:00:00Z";

fn checker(data: &Data, case: &Value) -> Checker {
    let root = text(case, "trusted_root")
        .or_else(|| text(case, "trust"))
        .unwrap();
    let roots = TrustedRoots::only("given", &data.bytes(root)).unwrap();
    let keys = text(case, "keys").or_else(|| text(case, "npm_keys"));
    let keys = keys.map_or_else(KeyList::pinned, |file| KeyList::read(&data.bytes(file)));
    Checker::new(roots, keys.unwrap(), Policy::default())
}

fn declared(case: &Value) -> Declared {
    let of = |name: &str| text(&case["declared"], name).map(str::to_owned);
    Declared {
        ecosystem: of("ecosystem").map(|name| match name.as_str() {
            "npm" => Ecosystem::Npm,
            "pypi" => Ecosystem::Pypi,
            "oci" => Ecosystem::Oci,
            "mcpb" => Ecosystem::Mcpb,
            "release" => Ecosystem::Release,
            other => panic!("unknown ecosystem {other}"),
        }),
        name: of("name"),
        version: of("version"),
        file: None,
        repository: of("repository"),
        repository_id: of("repository_id"),
    }
}

fn artifact(case: &Value) -> Artifact {
    let artifact = &case["artifact"];
    digests(artifact.get("digest").unwrap_or(artifact))
}

fn check(data: &Data, case: &Value) -> Report {
    let (format, bytes, recorded);
    let evidence = if let Some(folder) = text(case, "dir") {
        recorded = data.folder(folder);
        Evidence::OciRecorded(&recorded)
    } else {
        let file = text(case, "bundle").unwrap_or_else(|| case["files"][0].as_str().unwrap());
        bytes = data.bytes(file);
        format = text(case, "format").unwrap().parse().unwrap();
        Evidence::Document {
            format,
            bytes: &bytes,
        }
    };
    checker(data, case).check(&Request {
        evidence,
        artifact: artifact(case),
        declared: declared(case),
        at: AT.parse().unwrap(),
    })
}

fn words(value: &Value) -> Vec<&str> {
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(|word| word.as_str().unwrap()).collect()
}

/// What is wrong with a report, if anything.
fn wrong(case: &Value, report: &Report) -> Option<String> {
    let expect = &case["expect"];
    let reasons: Vec<&str> = report.reasons.iter().map(|r| r.as_str()).collect();
    let warnings: Vec<&str> = report.warnings.iter().map(|w| w.as_str()).collect();
    let wanted = words(&expect["reasons"]);
    let verdict = report.verdict.as_str() == expect["verdict"].as_str().unwrap();
    let reason = wanted.is_empty() == reasons.is_empty()
        && (wanted.is_empty() || reasons.iter().any(|reason| wanted.contains(reason)));
    let warned = words(&expect["warnings"]).iter().all(|w| warnings.contains(w));
    let level = text(expect, "level").is_none_or(|level| report.level.map(Level::as_str) == Some(level));
    (!(verdict && reason && warned && level)).then(|| {
        format!(
            "{}: expected {expect}, got {} {:?} {reasons:?} {warnings:?}\n  {:?}",
            case["id"],
            report.verdict,
            report.level,
            report
                .steps
                .iter()
                .filter(|step| step.state == toolmark_provenance::StepState::Fail)
                .map(|step| (step.name, step.note.as_str()))
                .collect::<Vec<_>>()
        )
    })
}

#[test]
fn every_case_has_its_verdict() {
    let Some(data) = Data::open("every_case_has_its_verdict") else {
        return;
    };
    let cases = data.json("cases.json");
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 100);
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| wrong(case, &check(&data, case)))
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_check_repeated_gives_the_same_bytes() {
    let Some(data) = Data::open("a_check_repeated_gives_the_same_bytes") else {
        return;
    };
    for case in data.json("cases.json").as_array().unwrap() {
        let bytes = || serde_json::to_string(&check(&data, case)).unwrap();
        assert_eq!(bytes(), bytes(), "{}", case["id"]);
    }
}

#[test]
fn the_conformance_cases_pass_by_path_and_by_digest() {
    let Some(data) = Data::open("the_conformance_cases_pass_by_path_and_by_digest") else {
        return;
    };
    let mut wrong = Vec::new();
    for case in data.json("conformance/cases.json").as_array().unwrap() {
        let bundle = data.bytes(text(case, "bundle").unwrap());
        let root = text(case, "trusted_root").map(|file| data.bytes(file));
        let root = root.as_deref().map_or(SuiteRoot::Production, SuiteRoot::Given);
        let key = text(case, "key").map(|file| String::from_utf8(data.bytes(file)).unwrap());
        let signer = key.as_deref().map_or_else(
            || SuiteSigner::Identity {
                identity: text(case, "identity").unwrap(),
                issuer: text(case, "issuer").unwrap(),
            },
            SuiteSigner::Key,
        );
        let artifact = data.bytes(text(case, "artifact").unwrap());
        let mut sha256 = [0; 32];
        hex::decode_to_slice(text(case, "artifact_sha256").unwrap(), &mut sha256).unwrap();
        for artifact in [SuiteArtifact::Bytes(&artifact), SuiteArtifact::Sha256(sha256)] {
            let answer = verify_bundle(&bundle, root, signer, artifact);
            if answer.is_ok() != (case["expect"] == "pass") {
                wrong.push(format!("{}: {answer:?}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_release_of_the_series_raises_its_event() {
    let Some(data) = Data::open("each_release_of_the_series_raises_its_event") else {
        return;
    };
    let series = data.json("synthetic/drift/series.json");
    let roots = TrustedRoots::only("given", &data.bytes("synthetic/trusted_root.json")).unwrap();
    let checker = Checker::new(roots, KeyList::pinned().unwrap(), Policy::default());
    let mut known = Known::default();
    for release in series["releases"].as_array().unwrap() {
        let bytes = text(release, "bundle").map(|file| data.bytes(file));
        let report = bytes.map(|bytes| {
            checker.check(&Request {
                evidence: Evidence::Document {
                    format: EvidenceFormat::SigstoreBundle,
                    bytes: &bytes,
                },
                artifact: digests(&series["artifact"]),
                declared: Declared {
                    repository: text(release, "declared_repository").map(str::to_owned),
                    ..Declared::default()
                },
                at: AT.parse().unwrap(),
            })
        });
        let changes = known.next(&Release {
            verdict: report.as_ref().map_or(Verdict::Unsigned, |report| report.verdict),
            builder: report.and_then(|report| report.identity),
        });
        let events: Vec<String> = changes
            .iter()
            .map(|change| serde_json::to_value(change).unwrap().as_str().unwrap().to_owned())
            .collect();
        // The gravest stands first; a release that changed more raises more.
        let expected = text(release, "event").filter(|event| *event != "none");
        assert_eq!(
            events.first().map(String::as_str),
            expected,
            "{}: {events:?}",
            release["version"]
        );
    }
}
