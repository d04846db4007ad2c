//! Checking packages of published versions against a registry of origin on loopback: kept, made again, compared with
//! releases before, signed.
#![expect(clippy::unwrap_used, reason = "a step that fails fails its test")]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolmark_domain::permission::{Action, Permission};
use toolmark_domain::provenance::Verdict;
use toolmark_outbound::{Client, Settings, Url};
use toolmark_registry::packages::{Config, Packages};
use toolmark_registry::provenance::{Checker, KeyList, Policy, TrustedRoots};
use toolmark_registry::{
    Actor, BlobPlace, Database, Draft, HandClock, Registry, RegistrySettings, StoreSettings, StoredVerdict,
    SummaryError, Verifier, WorkerSettings, check_summary,
};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

const NAME: &str = "com.acme/weather";

/// The corpus of evidence, or nothing and a line that says so.
fn data(file: &str) -> Option<Vec<u8>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from);
    let found = std::fs::read(folder.join("provenance").join(file));
    if let Err(error) = &found {
        let _ = writeln!(std::io::stderr(), "skipped: {file}: {error}");
    }
    found.ok()
}

struct World {
    registry: Registry,
    origin: MockServer,
    clock: HandClock,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = HandClock::at("2026-11-30T00:00:00Z".parse().unwrap());
        let settings = RegistrySettings {
            index_folder: None,
            search_mode: toolmark_registry::search::Mode::default(),
            store: StoreSettings {
                database: Database::Sqlite(folder.path().join("registry.db")),
                connections: 2,
            },
            blobs: BlobPlace::Directory(folder.path().join("blobs")),
            dev_auth: false,
            blocked_namespaces: Vec::new(),
            allow_local_remotes: false,
        };
        Self {
            registry: Registry::open(settings, Arc::new(clock.clone())).await.unwrap(),
            origin: MockServer::start().await,
            clock,
            _folder: folder,
        }
    }

    /// What checks, with the roots of the corpus or with the built-in ones.
    fn verifier(&self, own_root: bool) -> Arc<Verifier> {
        let roots = if own_root {
            TrustedRoots::only("corpus", &data("synthetic/trusted_root.json").unwrap()).unwrap()
        } else {
            TrustedRoots::pinned().unwrap()
        };
        let client = Client::new(Settings::new(Duration::from_secs(5))).unwrap();
        let config = Config {
            npm: Some(Url::parse(&self.origin.uri()).unwrap()),
            ..Config::default()
        };
        Arc::new(Verifier {
            packages: Packages::new(client, config),
            checker: Arc::new(Checker::new(roots, KeyList::pinned().unwrap(), Policy::default())),
            name: "https://registry.example/".to_owned(),
        })
    }

    async fn publish(&self, version: &str, package: &str) {
        let document = json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": NAME, "version": version, "description": "Weather",
            "repository": {"url": "https://github.com/acme/weather-mcp", "source": "github", "id": "700100200"},
            "packages": [{"registryType": "npm", "identifier": "@acme/weather-mcp", "version": package,
                "transport": {"type": "stdio"}}],
        });
        let actor = Actor {
            label: "test".into(),
            method: "token".into(),
            permissions: vec![Permission {
                action: Action::Publish,
                resource: "*".into(),
            }],
        };
        let draft = Draft::read(serde_json::to_vec(&document).unwrap()).unwrap();
        self.registry.publish(&actor, &draft).await.unwrap();
    }

    /// A package in the registry of origin, with a bundle of the corpus or without.
    async fn serve(&self, version: &str, artifact: &[u8], bundle: Option<&str>) {
        let file = format!("/f/weather-{version}.tgz");
        let manifest =
            json!({"version": version, "dist": {"tarball": format!("{}{file}", self.origin.uri())}});
        let attestations: Vec<Value> = bundle
            .into_iter()
            .map(|bundle| {
                let bundle: Value = serde_json::from_slice(&data(bundle).unwrap()).unwrap();
                json!({"predicateType": "https://slsa.dev/provenance/v1", "bundle": bundle})
            })
            .collect();
        let answers = [
            (
                format!("/@acme%2Fweather-mcp/{version}"),
                serde_json::to_vec(&manifest).unwrap(),
            ),
            (file, artifact.to_vec()),
            (
                format!("/-/npm/v1/attestations/@acme%2Fweather-mcp@{version}"),
                serde_json::to_vec(&json!({"attestations": attestations})).unwrap(),
            ),
        ];
        for (at, body) in answers {
            Mock::given(path(at))
                .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/json"))
                .mount(&self.origin)
                .await;
        }
    }

    async fn shown(&self, version: &str) -> StoredVerdict {
        let rows = self.registry.last_verdicts(NAME, version).await.unwrap();
        rows.into_iter().find(|row| row.is_shown).unwrap()
    }
}

#[tokio::test]
async fn a_published_package_is_checked_kept_made_again_and_signed() {
    let Some(artifact) = data("synthetic/artifact.txt") else {
        return;
    };
    let world = World::new().await;
    world
        .serve("1.2.3", &artifact, Some("synthetic/ok-release-tag.json"))
        .await;
    world.publish("1.0.0", "1.2.3").await;
    let settings = WorkerSettings {
        verifier: Some(world.verifier(true)),
        ..WorkerSettings::default()
    };
    assert_eq!(world.registry.run_due_jobs(&settings).await.unwrap(), 1);
    let row = world.shown("1.0.0").await;
    assert_eq!((row.verdict, row.cause.as_str()), (Verdict::Verified, "new"));
    assert_eq!(row.changes, ["first_seen"]);
    assert!(row.builder.is_some() && row.seq > 0);
    // Running it twice is harmless: nothing is due.
    assert_eq!(world.registry.run_due_jobs(&settings).await.unwrap(), 0);

    let again = world.registry.replay(row.clone()).await.unwrap();
    assert!(again.same);
    let documents = world.registry.verdict_documents(row.clone()).await.unwrap();
    for digest in documents
        .record
        .needs()
        .into_iter()
        .chain([row.record, row.report])
    {
        assert!(
            world.registry.evidence(&digest).await.unwrap().is_some(),
            "{digest}"
        );
    }
    // A blob that is no evidence is not given out.
    assert!(
        world
            .registry
            .evidence(&row.summary.unwrap())
            .await
            .unwrap()
            .is_none()
    );

    let summary = serde_json::to_vec(&documents.summary.unwrap()).unwrap();
    check_signed(&world, &summary).await;
}

/// The summary can be checked with the keys of its time, and with nothing else.
async fn check_signed(world: &World, summary: &[u8]) {
    let keys = world.registry.published_keys().await.unwrap();
    let said = check_summary(summary, &keys).unwrap();
    assert_eq!(
        (said.result.as_str(), said.verifier.as_str()),
        ("PASSED", "https://registry.example/")
    );
    assert_eq!(said.resource, "npm:@acme/weather-mcp@1.2.3");
    world.clock.advance_secs(60);
    world.registry.rotate_statement_key().await.unwrap();
    let rotated = world.registry.published_keys().await.unwrap();
    assert_eq!(rotated.keys.len(), 2);
    assert!(check_summary(summary, &rotated).is_ok());
    // A key is good for its own time only, and for what it signed only.
    let mut early = keys.clone();
    early.keys[0].not_after = Some(said.verified_at.plus_secs(-1));
    assert!(matches!(
        check_summary(summary, &early),
        Err(SummaryError::OutsideValidity(_))
    ));
    let mut none = keys.clone();
    none.keys.clear();
    assert!(matches!(
        check_summary(summary, &none),
        Err(SummaryError::UnknownKey(_))
    ));
    let mut forged: Value = serde_json::from_slice(summary).unwrap();
    forged["payload"] = json!("e30=");
    let forged = serde_json::to_vec(&forged).unwrap();
    assert!(matches!(
        check_summary(&forged, &keys),
        Err(SummaryError::Signature)
    ));
}

#[tokio::test]
async fn other_roots_add_rows_and_the_old_ones_are_still_reached() {
    let Some(artifact) = data("synthetic/artifact.txt") else {
        return;
    };
    let world = World::new().await;
    world
        .serve("1.2.3", &artifact, Some("synthetic/ok-release-tag.json"))
        .await;
    world.publish("1.0.0", "1.2.3").await;
    let own = world.verifier(true);
    world.registry.verify(&own, NAME, "1.0.0").await.unwrap();
    let nothing = world.registry.recheck(&own).await.unwrap();
    assert_eq!((nothing.checked, nothing.changed), (0, 0));
    let first = world.shown("1.0.0").await;

    world.clock.advance_secs(60);
    // The registry of origin is not asked again.
    world.origin.reset().await;
    let done = world.registry.recheck(&world.verifier(false)).await.unwrap();
    assert_eq!((done.checked, done.changed), (1, 1));
    let now = world.shown("1.0.0").await;
    assert_eq!((now.verdict, now.cause.as_str()), (Verdict::Invalid, "recheck"));
    assert!(now.seq > first.seq);
    assert!(world.registry.replay(first).await.unwrap().same);
    assert!(world.registry.replay(now).await.unwrap().same);
    assert_eq!(world.registry.verdicts_of(NAME, "1.0.0").await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_changes_about_a_builder_and_a_release_is_told_once() {
    let Some(artifact) = data("synthetic/artifact.txt") else {
        return;
    };
    let world = World::new().await;
    let own = world.verifier(true);
    world
        .serve("1.2.3", &artifact, Some("synthetic/ok-release-tag.json"))
        .await;
    world.serve("0.9.0", b"old", None).await;
    world.serve("1.3.0", b"new", None).await;
    for (version, package) in [
        ("1.2.3", "1.2.3"),
        ("0.9.0", "0.9.0"),
        ("1.3.0", "1.3.0"),
        ("1.4.0-rc.1", "1.3.0"),
    ] {
        world.publish(version, package).await;
        world.registry.verify(&own, NAME, version).await.unwrap();
    }
    // An old line that never had provenance has lost nothing; a prerelease is not compared.
    for (version, changes) in [
        ("1.2.3", vec!["first_seen"]),
        ("0.9.0", vec![]),
        ("1.3.0", vec!["provenance_lost"]),
        ("1.4.0-rc.1", vec![]),
    ] {
        let row = world.shown(version).await;
        assert_eq!(row.changes, changes, "{version}: {row:?}");
    }
    let lost = world.shown("1.3.0").await;
    assert_eq!(lost.severity, Some(toolmark_domain::event::Severity::High));

    // Looking again says nothing new, without an event.
    world.registry.verify(&own, NAME, "1.3.0").await.unwrap();
    let same = world.shown("1.3.0").await;
    assert_eq!((same.seq, same.severity), (0, None));

    // Other bytes under one version.
    world.origin.reset().await;
    world.serve("1.3.0", b"swapped", None).await;
    world.registry.verify(&own, NAME, "1.3.0").await.unwrap();
    let swapped = world.shown("1.3.0").await;
    assert!(
        swapped.changes.contains(&"artifact_changed".to_owned()),
        "{:?}",
        swapped.changes
    );
    assert_eq!(swapped.severity, Some(toolmark_domain::event::Severity::High));
    assert_ne!(swapped.artifact, same.artifact);

    // A release that is gone cannot be told, and what was known of it stays.
    world.origin.reset().await;
    world.registry.verify(&own, NAME, "1.3.0").await.unwrap();
    let rows = world.registry.last_verdicts(NAME, "1.3.0").await.unwrap();
    assert_eq!(
        (rows[0].verdict, rows[0].is_shown),
        (Verdict::Unverifiable, false)
    );
    assert!(
        rows[0].changes.contains(&"unpublished".to_owned()),
        "{:?}",
        rows[0].changes
    );
    assert_eq!(rows[1].verdict, Verdict::Unsigned);
}
