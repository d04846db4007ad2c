//! Asking for artifacts and evidence: registries on loopback that replay recorded answers, and that misbehave.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::EVIDENCE_BYTES;
use toolmark_domain::provenance::{Reason, Verdict};
use toolmark_outbound::{Client, Pace, Settings, Url};
use toolmark_packages::{Config, Packages};
use toolmark_provenance::{
    Checker, Declared, Examined, KeyList, PlaceAnswer, Policy, Question, TrustedRoots, examine,
};

use crate::support::Data;

const AT: &str = "2026-11-30T00:00:00Z";
const SOURCE: &str = "https://github.com/acme/weather-mcp";

/// How a path is answered.
#[derive(Clone)]
enum Say {
    Answer(u16, &'static str, Vec<u8>),
    Redirect(&'static str),
    /// A length that is not kept.
    Truncated,
    Endless,
    Silent,
}

/// Answers by path; what is not listed is 404.
struct Peer {
    address: SocketAddr,
}

impl Peer {
    fn start(answers: impl Fn(SocketAddr) -> BTreeMap<String, Say>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let answers = Arc::new(answers(address));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answers, mut stream) = (Arc::clone(&answers), stream.unwrap());
                std::thread::spawn(move || {
                    let path = path(&mut stream);
                    let none = Say::Answer(404, "application/json", b"{}".to_vec());
                    say(&mut stream, answers.get(&path).unwrap_or(&none));
                });
            }
        });
        Self { address }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }
}

fn path(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let target = text.split(' ').nth(1).unwrap_or_default();
    target.split('?').next().unwrap_or_default().to_owned()
}

fn say(stream: &mut TcpStream, say: &Say) {
    let head = |length: usize, kind: &str, status: u16| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )
    };
    // Whoever asked may have gone by now; that is no matter of the test.
    let _ = match say {
        Say::Answer(status, kind, body) => stream
            .write_all(head(body.len(), kind, *status).as_bytes())
            .and_then(|()| stream.write_all(body)),
        Say::Redirect(to) => write!(
            stream,
            "HTTP/1.1 302 X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ),
        Say::Truncated => stream
            .write_all(head(1000, "application/json", 200).as_bytes())
            .and_then(|()| stream.write_all(b"{\"attestations\":[")),
        Say::Endless => {
            let begun = stream.write_all(b"HTTP/1.1 200 X\r\n\r\n{\"attestations\":[");
            while stream.write_all(&[b' '; 16 * 1024]).is_ok() {}
            begun
        }
        Say::Silent => {
            std::thread::sleep(Duration::from_secs(2));
            Ok(())
        }
    };
}

/// Does not wait between attempts.
struct NoPause;

impl Pace for NoPause {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn sleep(&self, _: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }

    fn chance(&self) -> f64 {
        0.0
    }
}

fn packages(config: Config) -> Packages {
    let settings = Settings {
        trusted: vec![IpAddr::from([127, 0, 0, 1])],
        pace: Arc::new(NoPause),
        ..Settings::new(Duration::from_secs(2))
    };
    let config = Config {
        first_byte: Duration::from_millis(700),
        ..config
    };
    Packages::new(Client::new(settings).unwrap(), config)
}

fn checker(data: &Data, root: &str) -> Checker {
    let roots = TrustedRoots::only("given", &data.bytes(root)).unwrap();
    Checker::new(roots, KeyList::pinned().unwrap(), Policy::default())
}

fn question(target: &str) -> Question {
    Question {
        coordinate: target.parse().unwrap(),
        file: None,
        declared: Declared {
            repository: Some(SOURCE.to_owned()),
            repository_id: Some("700100200".to_owned()),
            ..Declared::default()
        },
        file_sha256: None,
        at: AT.parse().unwrap(),
    }
}

const ATTESTATIONS: &str = "/-/npm/v1/attestations/@acme%2Fweather-mcp@1.2.3";

/// The registry of a package whose tarball is the corpus's artifact.
fn npm(data: &Data, attestations: Option<Say>, keys: bool) -> Peer {
    let artifact = data.bytes("synthetic/artifact.txt");
    Peer::start(move |address| {
        let tarball = format!("http://{address}/w.tgz");
        let manifest = json!({"name": "@acme/weather-mcp", "version": "1.2.3", "dist": {"tarball": tarball}});
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let json = "application/json";
        let mut answers = BTreeMap::from([
            (
                "/@acme%2Fweather-mcp/1.2.3".to_owned(),
                Say::Answer(200, json, manifest),
            ),
            (
                "/w.tgz".to_owned(),
                Say::Answer(200, "application/octet-stream", artifact.clone()),
            ),
        ]);
        if let Some(say) = attestations.clone() {
            answers.insert(ATTESTATIONS.to_owned(), say);
        }
        if keys {
            let list = Say::Answer(200, json, b"{\"keys\":[]}".to_vec());
            answers.insert("/-/npm/v1/keys".to_owned(), list);
        }
        answers
    })
}

async fn ask_npm(data: &Data, attestations: Option<Say>, keys: bool) -> Examined {
    let peer = npm(data, attestations, keys);
    let packages = packages(Config {
        npm: Some(peer.url("/")),
        ..Config::default()
    });
    let checker = checker(data, "synthetic/trusted_root.json");
    examine(&packages, &checker, &question("npm:@acme/weather-mcp@1.2.3")).await
}

fn npm_answer(data: &Data, bundle: &str) -> Say {
    let bundle = data.json(bundle);
    let answer =
        json!({"attestations": [{"predicateType": "https://slsa.dev/provenance/v1", "bundle": bundle}]});
    Say::Answer(200, "application/json", serde_json::to_vec(&answer).unwrap())
}

/// What was decided, again from the record alone.
fn replayed(examined: &Examined) -> Value {
    let record = serde_json::to_vec(&examined.record).unwrap();
    let record: toolmark_provenance::Record = serde_json::from_slice(&record).unwrap();
    let report = record.replay(|digest: Digest| examined.blobs.get(&digest).cloned());
    serde_json::to_value(report.unwrap()).unwrap()
}

#[tokio::test]
async fn a_package_is_verified_from_what_its_registry_serves_and_again_from_the_record() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let examined = ask_npm(
        &data,
        Some(npm_answer(&data, "synthetic/ok-release-tag.json")),
        true,
    )
    .await;
    assert_eq!(
        examined.report.verdict,
        Verdict::Verified,
        "{:?}",
        examined.report
    );
    assert!(!examined.retry);
    assert_eq!(
        replayed(&examined),
        serde_json::to_value(&examined.report).unwrap()
    );
    let fork = ask_npm(&data, Some(npm_answer(&data, "synthetic/id-fork.json")), true).await;
    assert_eq!(fork.report.verdict, Verdict::Mismatch);
    assert_eq!(replayed(&fork), serde_json::to_value(&fork.report).unwrap());
}

#[tokio::test]
async fn unsigned_is_said_only_by_a_registry_that_could_say_otherwise() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let json = |body: &str| Some(Say::Answer(200, "application/json", body.as_bytes().to_vec()));
    for none in [
        None,
        json("{\"attestations\":[]}"),
        Some(Say::Answer(410, "text/html", Vec::new())),
    ] {
        let examined = ask_npm(&data, none, true).await;
        assert_eq!(
            examined.report.verdict,
            Verdict::Unsigned,
            "{:?}",
            examined.record.places
        );
        assert_eq!(examined.record.places[0].answer, PlaceAnswer::None);
        assert_eq!(
            replayed(&examined),
            serde_json::to_value(&examined.report).unwrap()
        );
    }
    let list = ask_npm(&data, json("{\"attestations\":[]}"), false).await;
    assert_eq!(list.report.verdict, Verdict::Unsigned);
    // A mirror without the interface answers 404 to everything.
    let mirror = ask_npm(&data, None, false).await;
    assert_eq!(mirror.report.verdict, Verdict::Unverifiable);
    assert!(mirror.report.steps[0].note.contains("does not serve any"));
}

#[tokio::test]
async fn a_failure_is_never_read_as_unsigned() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let status = |status| Say::Answer(status, "application/json", b"{\"attestations\":[]}".to_vec());
    let ok = |kind, body: &[u8]| Say::Answer(200, kind, body.to_vec());
    let cases = [
        ("401", status(401)),
        ("403", status(403)),
        ("429", status(429)),
        ("500", status(500)),
        ("503", status(503)),
        ("204", status(204)),
        ("a page", ok("text/html", b"<html>please log in</html>")),
        ("another document", ok("application/json", b"{\"error\":\"x\"}")),
        ("no json", ok("application/json", b"{\"attestations\":[")),
        ("nothing", ok("application/json", b"")),
        ("a redirect inside", Say::Redirect("http://127.0.0.2:1/")),
        ("a redirect to a file", Say::Redirect("file:///etc/hostname")),
        ("truncated", Say::Truncated),
        ("endless", Say::Endless),
        ("slow loris", Say::Silent),
    ];
    for (name, case) in cases {
        let examined = ask_npm(&data, Some(case), true).await;
        let report = &examined.report;
        assert_eq!(report.verdict, Verdict::Unverifiable, "{name}: {report:?}");
        assert_eq!(report.reasons, [Reason::FetchFailed], "{name}");
        assert_eq!(examined.record.places[0].answer, PlaceAnswer::Failed, "{name}");
        assert!(examined.retry, "{name}");
        assert_eq!(
            replayed(&examined),
            serde_json::to_value(report).unwrap(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_answer_at_the_bound_is_read_and_one_over_it_is_not() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let padded = |bytes: usize| {
        let mut body = b"{\"attestations\":[]}".to_vec();
        body.resize(bytes, b' ');
        Some(Say::Answer(200, "application/json", body))
    };
    let at = ask_npm(&data, padded(EVIDENCE_BYTES), true).await;
    assert_eq!(at.report.verdict, Verdict::Unsigned);
    let over = ask_npm(&data, padded(EVIDENCE_BYTES + 1), true).await;
    assert_eq!(over.report.verdict, Verdict::Unverifiable);
}

#[tokio::test]
async fn a_file_that_is_not_the_declared_one_is_a_mismatch_whatever_it_is_signed_with() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let peer = npm(
        &data,
        Some(npm_answer(&data, "synthetic/ok-release-tag.json")),
        true,
    );
    let packages = packages(Config {
        npm: Some(peer.url("/")),
        ..Config::default()
    });
    let checker = checker(&data, "synthetic/trusted_root.json");
    let mut question = question("npm:@acme/weather-mcp@1.2.3");
    question.file_sha256 = Some([7; 32]);
    let examined = examine(&packages, &checker, &question).await;
    assert_eq!(examined.report.verdict, Verdict::Mismatch);
    assert_eq!(examined.report.reasons, [Reason::DigestMismatch]);
    assert_eq!(
        replayed(&examined),
        serde_json::to_value(&examined.report).unwrap()
    );
    // A package that is gone is not "unsigned" either.
    question.coordinate = "npm:@acme/weather-mcp@9.9.9".parse().unwrap();
    let gone = examine(&packages, &checker, &question).await;
    assert_eq!(gone.report.verdict, Verdict::Unverifiable);
    assert!(!gone.record.places[0].failure.as_ref().unwrap().note.is_empty());
}

/// A registry of images that replays recorded answers.
fn images(files: Vec<(String, Vec<u8>)>, broken: Option<&'static str>) -> Peer {
    let digest = |bytes: &[u8]| format!("sha256:{}", Digest::of(bytes));
    Peer::start(move |_| {
        let mut answers = BTreeMap::new();
        let image = files.iter().find(|(name, _)| name == "image.json").unwrap();
        let image = digest(&image.1);
        for (name, bytes) in &files {
            let places = match name.as_str() {
                "referrers.json" => vec![format!("/v2/acme/weather/referrers/{image}")],
                tag if tag.starts_with("tag-") => {
                    let tag = tag.trim_start_matches("tag-").trim_end_matches(".json");
                    vec![format!("/v2/acme/weather/manifests/{tag}")]
                }
                blob if blob.starts_with("blob-") => {
                    vec![format!("/v2/acme/weather/blobs/{}", digest(bytes))]
                }
                _ => vec![format!("/v2/acme/weather/manifests/{}", digest(bytes))],
            };
            for place in places {
                let whole = Say::Answer(200, "application/json", bytes.clone());
                let say = if broken.is_some_and(|broken| name.starts_with(broken)) {
                    Say::Answer(500, "text/plain", Vec::new())
                } else {
                    whole
                };
                answers.insert(place, say);
            }
        }
        answers
    })
}

async fn ask_image(data: &Data, folder: &str, broken: Option<&'static str>) -> Examined {
    let files = data.folder(&format!("oci/{folder}"));
    let image = files.iter().find(|(name, _)| name == "image.json").unwrap();
    let target = format!("oci:images.example/acme/weather@sha256:{}", Digest::of(&image.1));
    let peer = images(files, broken);
    let packages = packages(Config {
        oci: vec![("images.example".to_owned(), peer.url("/"))],
        ..Config::default()
    });
    let checker = checker(data, "oci/trusted_root.json");
    examine(&packages, &checker, &question(&target)).await
}

#[tokio::test]
async fn evidence_of_images_is_found_in_every_place() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    for (folder, verdict) in [
        ("referrer-ok", Verdict::Verified),
        ("referrer-fallback-tag", Verdict::Verified),
        ("referrer-junk-and-good", Verdict::Verified),
        ("legacy-sig-ok", Verdict::Verified),
        ("legacy-sig-of-other-image", Verdict::Mismatch),
        ("referrer-other-image", Verdict::Mismatch),
        ("none", Verdict::Unsigned),
    ] {
        let examined = ask_image(&data, folder, None).await;
        assert_eq!(
            examined.report.verdict, verdict,
            "{folder}: {:?}",
            examined.report
        );
        assert_eq!(
            replayed(&examined),
            serde_json::to_value(&examined.report).unwrap()
        );
        assert!(examined.record.places.len() >= 5, "{folder}");
    }
    for broken in ["referrers", "referrer-", "blob-"] {
        let examined = ask_image(&data, "referrer-ok", Some(broken)).await;
        assert_eq!(examined.report.verdict, Verdict::Unverifiable, "{broken}");
        assert_eq!(
            replayed(&examined),
            serde_json::to_value(&examined.report).unwrap()
        );
    }
}

#[tokio::test]
async fn a_bundle_file_is_asked_of_the_forge_and_beside_it() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let artifact = data.bytes("synthetic/artifact.txt");
    let bundle = data.json("synthetic/ok-release-tag.json");
    let digest = Digest::of(&artifact);
    let forge = format!("/repos/acme/weather-mcp/attestations/sha256:{digest}");
    let listed =
        serde_json::to_vec(&json!({"attestations": [{"bundle": bundle, "repository_id": 1}]})).unwrap();
    let alone = serde_json::to_vec(&bundle).unwrap();
    let json = "application/json";
    for (answers, verdict) in [
        (
            vec![(forge.clone(), Say::Answer(200, json, listed))],
            Verdict::Verified,
        ),
        (
            vec![("/w.mcpb.sigstore.json".to_owned(), Say::Answer(200, json, alone))],
            Verdict::Verified,
        ),
        (vec![], Verdict::Unsigned),
        (
            vec![(forge, Say::Answer(403, json, b"{}".to_vec()))],
            Verdict::Unverifiable,
        ),
    ] {
        let file = artifact.clone();
        let peer = Peer::start(move |_| {
            let mut all: BTreeMap<String, Say> = answers.iter().cloned().collect();
            all.insert(
                "/w.mcpb".to_owned(),
                Say::Answer(200, "application/zip", file.clone()),
            );
            all
        });
        let packages = packages(Config {
            github_api: Some(peer.url("/")),
            ..Config::default()
        });
        let checker = checker(&data, "synthetic/trusted_root.json");
        let question = question(&format!("mcpb:{}", peer.url("/w.mcpb")));
        let examined = examine(&packages, &checker, &question).await;
        assert_eq!(examined.report.verdict, verdict, "{:?}", examined.report);
        assert_eq!(
            replayed(&examined),
            serde_json::to_value(&examined.report).unwrap()
        );
    }
}

#[tokio::test]
async fn the_index_object_of_a_python_file_is_asked_for() {
    let Some(data) = Data::open("fetching") else {
        return;
    };
    let object = data.bytes("real/pypi-provenance-object/pypi_attestations-0.0.19.tar.gz.provenance");
    let file = "pypi_attestations-0.0.19.tar.gz";
    for (provenance, answer, verdict) in [
        // Genuine evidence about other bytes than those this index serves.
        (json!("/p"), Some(object.clone()), Verdict::Mismatch),
        (json!(null), None, Verdict::Unsigned),
        (json!("/p"), Some(b"[]".to_vec()), Verdict::Unverifiable),
    ] {
        let peer = Peer::start(|_| {
            let listing = json!({"files": [{"filename": file, "url": "/f", "provenance": provenance}]});
            let kind = "application/vnd.pypi.simple.v1+json";
            let listing = Say::Answer(200, kind, serde_json::to_vec(&listing).unwrap());
            let mut all = BTreeMap::from([
                ("/simple/pypi-attestations/".to_owned(), listing),
                (
                    "/f".to_owned(),
                    Say::Answer(200, "application/gzip", b"other".to_vec()),
                ),
            ]);
            if let Some(answer) = &answer {
                all.insert(
                    "/p".to_owned(),
                    Say::Answer(200, "application/json", answer.clone()),
                );
            }
            all
        });
        let packages = packages(Config {
            pypi: Some(peer.url("/simple/")),
            ..Config::default()
        });
        let checker = checker(&data, "trust/public-good.trusted_root.json");
        let mut question = question("pypi:pypi-attestations@0.0.19");
        question.declared = Declared::default();
        let examined = examine(&packages, &checker, &question).await;
        assert_eq!(examined.report.verdict, verdict, "{:?}", examined.report);
        assert_eq!(
            replayed(&examined),
            serde_json::to_value(&examined.report).unwrap()
        );
    }
}
