//! Registries of origin on loopback, well behaved and not.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails should end its test where it stands"
)]

use std::net::IpAddr;
use std::time::Duration;

use serde_json::json;
use sha2::{Digest as _, Sha256, Sha512};
use toolmark_outbound::{Client, Settings, Url};
use toolmark_packages::{Config, Coordinate, Credential, Credentials, Kind, PackageError, Packages, Said};
use wiremock::matchers::{header, header_exists, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn coordinate(text: &str) -> Coordinate {
    text.parse().unwrap()
}

fn url(server: &MockServer, path: &str) -> Url {
    Url::parse(&format!("{}{path}", server.uri())).unwrap()
}

/// Loopback is not trusted as if it were public, unless it is said.
fn packages(config: Config, trusted: bool) -> Packages {
    let mut settings = Settings::new(Duration::from_secs(5));
    if trusted {
        settings.trusted = vec![IpAddr::from([127, 0, 0, 1])];
    }
    Packages::new(Client::new(settings).unwrap(), config)
}

async fn serve(server: &MockServer, at: &str, answer: ResponseTemplate) {
    Mock::given(method("GET"))
        .and(path(at))
        .respond_with(answer)
        .mount(server)
        .await;
}

fn ok(body: impl serde::Serialize) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

async fn npm() -> (MockServer, Packages) {
    let server = MockServer::start().await;
    let integrity = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(Sha512::digest(b"tarball"))
    };
    let manifest = json!({
        "name": "@acme/weather", "version": "1.2.3", "deprecated": "use rain",
        "repository": {"url": "git+https://github.com/acme/weather.git"},
        "dist": {
            "tarball": format!("{}/npm/@acme/weather/-/weather-1.2.3.tgz", server.uri()),
            "integrity": format!("sha512-{integrity}"),
            "attestations": {"url": format!("{}/npm/-/npm/v1/attestations/x", server.uri())},
        },
    });
    serve(&server, "/npm/@acme%2Fweather/1.2.3", ok(&manifest)).await;
    serve(&server, "/npm/@acme%2Fweather/latest", ok(&manifest)).await;
    serve(
        &server,
        "/npm/@acme/weather/-/weather-1.2.3.tgz",
        ResponseTemplate::new(200).set_body_bytes(b"tarball"),
    )
    .await;
    let config = Config {
        npm: Some(url(&server, "/npm")),
        ..Config::default()
    };
    (server, packages(config, false))
}

#[tokio::test]
async fn an_npm_release_is_read_fetched_and_compared() {
    let (_server, packages) = npm().await;
    let release = packages.release(&coordinate("npm:@acme/weather")).await.unwrap();
    assert_eq!(release.coordinate.to_string(), "npm:@acme/weather@1.2.3");
    assert_eq!(release.deprecated.as_deref(), Some("use rain"));
    assert_eq!(
        release.repository.as_deref(),
        Some("git+https://github.com/acme/weather.git")
    );
    let file = release.file(None).unwrap();
    assert_eq!(file.name, "weather-1.2.3.tgz");
    assert!(file.attestations.is_some());
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("weather.tgz");
    let fetched = packages.fetch(file, Some(&to)).await.unwrap();
    assert_eq!(fetched.sha256, <[u8; 32]>::from(Sha256::digest(b"tarball")));
    assert_eq!(fetched.differences, []);
    assert_eq!(std::fs::read(&to).unwrap(), b"tarball");
    // What a server.json says is compared in the same way.
    let said = Said {
        sha256: Some([0; 32]),
        sha512: None,
    };
    assert_eq!(fetched.compare(&said, None)[0].what, "sha256");
}

#[tokio::test]
async fn a_file_that_was_swapped_is_named() {
    let (server, packages) = npm().await;
    let release = packages
        .release(&coordinate("npm:@acme/weather@1.2.3"))
        .await
        .unwrap();
    server.reset().await;
    serve(
        &server,
        "/npm/@acme/weather/-/weather-1.2.3.tgz",
        ResponseTemplate::new(200).set_body_bytes(b"other"),
    )
    .await;
    let fetched = packages.fetch(&release.files[0], None).await.unwrap();
    let difference = &fetched.differences[0];
    assert_eq!(difference.what, "sha512");
    assert_eq!(difference.found, hex::encode(Sha512::digest(b"other")));
}

#[tokio::test]
async fn not_there_and_not_answering_are_told_apart() {
    let (server, packages) = npm().await;
    let gone = packages
        .release(&coordinate("npm:@acme/weather@9.9.9"))
        .await
        .unwrap_err();
    assert!(matches!(gone, PackageError::NotFound { .. }), "{gone}");
    assert!(!gone.is_transient());
    for (status, transient) in [(401, false), (403, false), (503, true)] {
        server.reset().await;
        let answer = ResponseTemplate::new(status).insert_header("retry-after", "0");
        serve(&server, "/npm/@acme%2Fweather/1.2.3", answer).await;
        let error = packages
            .release(&coordinate("npm:@acme/weather@1.2.3"))
            .await
            .unwrap_err();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(status));
        assert_eq!(error.is_transient(), transient);
    }
    server.reset().await;
    serve(
        &server,
        "/npm/@acme%2Fweather/1.2.3",
        ok(json!({"version": "1.2.4", "dist": {"tarball": "https://a.example/x"}})),
    )
    .await;
    let other = packages
        .release(&coordinate("npm:@acme/weather@1.2.3"))
        .await
        .unwrap_err();
    assert!(matches!(other, PackageError::Answer { .. }), "{other}");
}

#[tokio::test]
async fn without_an_address_nothing_is_guessed() {
    let packages = packages(Config::default(), false);
    for text in [
        "npm:weather",
        "pypi:weather",
        "cargo:weather",
        "nuget:weather",
        "github:a/b@1",
    ] {
        let error = packages.release(&coordinate(text)).await.unwrap_err();
        assert!(matches!(error, PackageError::NoSource { .. }), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_secret_goes_to_its_own_origin_only() {
    let (own, other) = (MockServer::start().await, MockServer::start().await);
    let manifest = json!({"version": "1.0.0", "dist": {"tarball": format!("{}/w.tgz", other.uri())}});
    Mock::given(path("/weather/1.0.0"))
        .and(header("authorization", "Bearer t0"))
        .respond_with(ok(&manifest))
        .mount(&own)
        .await;
    Mock::given(header_exists("authorization"))
        .respond_with(ResponseTemplate::new(500))
        .mount(&other)
        .await;
    serve(&other, "/w.tgz", ResponseTemplate::new(200).set_body_bytes(b"x")).await;
    let mut credentials = Credentials::default();
    credentials.add(url(&own, "/"), Credential::Bearer("t0".into()));
    let config = Config {
        npm: Some(url(&own, "/")),
        credentials,
        ..Config::default()
    };
    // An inner registry may name inner hosts.
    let packages = packages(config, false);
    let release = packages.release(&coordinate("npm:weather@1.0.0")).await.unwrap();
    assert_eq!(packages.fetch(&release.files[0], None).await.unwrap().bytes, 1);
}

#[tokio::test]
async fn a_stranger_s_address_must_be_public_and_is_not_led_inside() {
    let server = MockServer::start().await;
    serve(
        &server,
        "/w.mcpb",
        ResponseTemplate::new(200).set_body_bytes(b"x"),
    )
    .await;
    let text = format!("mcpb:{}/w.mcpb", server.uri());
    let packages_of = |trusted| packages(Config::default(), trusted);
    let release = packages_of(false).release(&coordinate(&text)).await.unwrap();
    let refused = packages_of(false)
        .fetch(&release.files[0], None)
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        PackageError::Http {
            source: toolmark_outbound::Error::ForbiddenAddress { .. },
            ..
        }
    ));
    assert_eq!(
        packages_of(true)
            .fetch(&release.files[0], None)
            .await
            .unwrap()
            .bytes,
        1
    );
    server.reset().await;
    let inward = ResponseTemplate::new(302).insert_header("location", "http://127.0.0.2/");
    serve(&server, "/w.mcpb", inward).await;
    assert!(packages_of(true).fetch(&release.files[0], None).await.is_err());
}

#[tokio::test]
async fn a_download_that_fails_leaves_no_file() {
    let server = MockServer::start().await;
    serve(&server, "/w.mcpb", ResponseTemplate::new(404)).await;
    let release = packages(Config::default(), true)
        .release(&coordinate(&format!("mcpb:{}/w.mcpb", server.uri())))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("w");
    let error = packages(Config::default(), true)
        .fetch(&release.files[0], Some(&to))
        .await;
    assert!(matches!(error, Err(PackageError::NotFound { .. })));
    assert!(!to.exists());
}

fn python_listing() -> serde_json::Value {
    let file = |name: &str, time: &str, yanked: serde_json::Value| {
        json!({"filename": name, "url": format!("../../f/{name}"), "hashes": {"sha256": "0a".repeat(32)},
            "size": 3, "upload-time": time, "yanked": yanked, "provenance": format!("/integrity/{name}")})
    };
    json!({"meta": {"api-version": "1.3"}, "name": "weather-mcp", "files": [
        file("weather_mcp-1.0.0.tar.gz", "2026-01-01T00:00:00Z", json!(false)),
        file("weather_mcp-1.0.0-py3-none-any.whl", "2026-01-01T00:00:01Z", json!(false)),
        file("weather_mcp-1.1.0-py3-none-any.whl", "2026-02-01T00:00:00Z", json!("broken")),
        file("weather_mcp-2.0.0rc1-py3-none-any.whl", "2026-03-01T00:00:00Z", json!(false)),
        file("weather_mcp_extra-3.0.0-py3-none-any.whl", "2026-03-01T00:00:00Z", json!(false)),
    ]})
}

#[tokio::test]
async fn a_python_index_is_read_as_json_or_as_a_page() {
    let server = MockServer::start().await;
    let listing = serde_json::to_vec(&python_listing()).unwrap();
    let kind = "application/vnd.pypi.simple.v1+json";
    let answer = ResponseTemplate::new(200).set_body_raw(listing, kind);
    serve(&server, "/simple/weather-mcp/", answer).await;
    let config = Config {
        pypi: Some(url(&server, "/simple")),
        ..Config::default()
    };
    let packages = packages(config, false);
    let release = packages.release(&coordinate("pypi:Weather_MCP")).await.unwrap();
    assert_eq!(release.coordinate.version(), Some("1.0.0"));
    let names: Vec<_> = release.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        ["weather_mcp-1.0.0-py3-none-any.whl", "weather_mcp-1.0.0.tar.gz"]
    );
    assert!(release.files[0].url.path().starts_with("/f/"));
    assert!(release.files[0].attestations.is_some());
    let yanked = packages
        .release(&coordinate("pypi:weather-mcp@1.1"))
        .await
        .unwrap();
    assert_eq!(yanked.yanked.as_deref(), Some("broken"));
    let versions = packages.versions(&coordinate("pypi:weather-mcp")).await.unwrap();
    let listed: Vec<_> = versions
        .versions
        .iter()
        .map(|entry| entry.version.as_str())
        .collect();
    assert_eq!(listed, ["1.0.0", "1.1.0", "2.0.0rc1"]);
    assert_eq!(versions.latest.as_deref(), Some("1.0.0"));

    server.reset().await;
    let page = r#"<a href="../../f/weather_mcp-1.0.0-py3-none-any.whl#sha256=00">x</a>"#;
    let answer =
        ResponseTemplate::new(200).set_body_raw(page.as_bytes().to_vec(), "text/html; charset=utf-8");
    serve(&server, "/simple/weather-mcp/", answer).await;
    let release = packages
        .release(&coordinate("pypi:weather-mcp@1.0.0"))
        .await
        .unwrap();
    assert_eq!(release.files.len(), 1);

    server.reset().await;
    let answer = ResponseTemplate::new(200).set_body_raw(b"%PDF".to_vec(), "application/pdf");
    serve(&server, "/simple/weather-mcp/", answer).await;
    let error = packages.release(&coordinate("pypi:weather-mcp@1.0.0")).await;
    assert!(matches!(error, Err(PackageError::Answer { .. })));
}

#[tokio::test]
async fn npm_versions_have_times_and_marks() {
    let server = MockServer::start().await;
    let packument = json!({
        "dist-tags": {"latest": "1.1.0"},
        "time": {"created": "2025-01-01T00:00:00Z", "1.1.0": "2026-02-01T00:00:00Z", "1.0.0": "2026-01-01T00:00:00Z"},
        "versions": {"1.1.0": {"version": "1.1.0"}, "1.0.0": {"deprecated": "old"}},
    });
    serve(&server, "/weather", ok(packument)).await;
    let config = Config {
        npm: Some(url(&server, "/")),
        ..Config::default()
    };
    let versions = packages(config, false)
        .versions(&coordinate("npm:weather"))
        .await
        .unwrap();
    assert_eq!(versions.latest.as_deref(), Some("1.1.0"));
    assert_eq!(versions.versions[0].version, "1.0.0");
    assert_eq!(versions.versions[0].deprecated.as_deref(), Some("old"));
    assert_eq!(
        versions.versions[1].published_at.as_deref(),
        Some("2026-02-01T00:00:00Z")
    );
}

#[tokio::test]
async fn an_image_is_named_by_its_digest_and_asked_for_with_a_token() {
    let server = MockServer::start().await;
    let manifest = br#"{"schemaVersion":2}"#;
    let digest = hex::encode(Sha256::digest(manifest));
    let challenge = format!(
        "Bearer realm=\"{}/token\",service=\"r\",scope=\"repository:acme/weather:pull\"",
        server.uri()
    );
    Mock::given(path("/token"))
        .respond_with(ok(json!({"token": "t1"})))
        .expect(1)
        .mount(&server)
        .await;
    let with = header("authorization", "Bearer t1");
    Mock::given(path("/v2/acme/weather/manifests/1.0"))
        .and(with)
        .respond_with(ResponseTemplate::new(200).set_body_bytes(manifest))
        .mount(&server)
        .await;
    serve(
        &server,
        "/v2/acme/weather/manifests/1.0",
        ResponseTemplate::new(401).insert_header("www-authenticate", challenge.as_str()),
    )
    .await;
    let config = Config {
        oci: vec![("images.example".to_owned(), url(&server, "/"))],
        ..Config::default()
    };
    let packages = packages(config, true);
    let release = packages
        .release(&coordinate("oci:images.example/acme/weather:1.0"))
        .await
        .unwrap();
    let expected = format!("oci:images.example/acme/weather:1.0@sha256:{digest}");
    assert_eq!(release.coordinate.to_string(), expected);
    // The token is kept for the same repository.
    packages
        .release(&coordinate("oci:images.example/acme/weather:1.0"))
        .await
        .unwrap();
    let moved = format!("oci:images.example/acme/weather@sha256:{}", "00".repeat(32));
    let at = format!("/v2/acme/weather/manifests/sha256:{}", "00".repeat(32));
    serve(&server, &at, ResponseTemplate::new(200).set_body_bytes(manifest)).await;
    let error = packages.release(&coordinate(&moved)).await;
    assert!(matches!(error, Err(PackageError::Answer { .. })));
}

#[tokio::test]
async fn crates_and_recorded_nuget_are_read() {
    let server = MockServer::start().await;
    let lines = "{\"name\":\"weather\",\"vers\":\"1.0.0\",\"cksum\":\"0a\",\"yanked\":true}\n\
                 {\"name\":\"weather\",\"vers\":\"1.1.0\",\"cksum\":\"0b\",\"yanked\":false}\n";
    serve(
        &server,
        "/index/we/at/weather",
        ResponseTemplate::new(200).set_body_string(lines),
    )
    .await;
    serve(
        &server,
        "/index/config.json",
        ok(json!({"dl": format!("{}/dl", server.uri())})),
    )
    .await;
    let service = json!({"resources": [{"@id": format!("{}/flat/", server.uri()), "@type": "PackageBaseAddress/3.0.0"}]});
    serve(&server, "/v3/index.json", ok(service)).await;
    serve(
        &server,
        "/flat/acme.weather/index.json",
        ok(json!({"versions": ["1.0.0", "1.1.0-rc"]})),
    )
    .await;
    let config = Config {
        cargo: Some(url(&server, "/index")),
        nuget: Some(url(&server, "/v3/index.json")),
        ..Config::default()
    };
    let packages = packages(config, false);
    let release = packages.release(&coordinate("cargo:weather")).await.unwrap();
    assert_eq!(release.coordinate.version(), Some("1.1.0"));
    assert!(
        release.files[0]
            .url
            .path()
            .ends_with("/dl/weather/1.1.0/download")
    );
    let yanked = packages
        .release(&coordinate("cargo:weather@1.0.0"))
        .await
        .unwrap();
    assert!(yanked.yanked.is_some());
    let release = packages.release(&coordinate("nuget:Acme.Weather")).await.unwrap();
    assert!(
        release.files[0]
            .url
            .path()
            .ends_with("/flat/acme.weather/1.0.0/acme.weather.1.0.0.nupkg")
    );
    assert!(packages.source(Kind::Oci).await.is_err());
}

#[tokio::test]
async fn the_files_of_a_release_are_read() {
    let server = MockServer::start().await;
    let asset = json!({"name": "w.mcpb", "browser_download_url": format!("{}/w.mcpb", server.uri()),
        "size": 3, "digest": format!("sha256:{}", "0a".repeat(32))});
    let tagged = json!({"tag_name": "v1", "published_at": "2026-01-01T00:00:00Z", "assets": [asset]});
    serve(&server, "/api/repos/acme/weather/releases/tags/v1", ok(tagged)).await;
    let config = Config {
        github_api: Some(url(&server, "/api")),
        ..Config::default()
    };
    let packages = packages(config, false);
    let release = packages
        .release(&coordinate("github:acme/weather@v1#w.mcpb"))
        .await
        .unwrap();
    assert_eq!(release.files[0].said.sha256, Some([10; 32]));
    let none = packages
        .release(&coordinate("github:acme/weather@v1#x.mcpb"))
        .await;
    assert!(matches!(none, Err(PackageError::NotFound { .. })));
}
