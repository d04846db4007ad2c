use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use super::{Peer, TestPace, answer, caps, client, once};
use crate::{AddressClass, Client, Error, Policy, Request, Settings, UrlFault, header};

/// Knows one set of addresses, whatever the name.
struct Fixed {
    addresses: Vec<SocketAddr>,
    asked: Arc<AtomicUsize>,
}

impl Resolve for Fixed {
    fn resolve(&self, _: Name) -> Resolving {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let addresses = self.addresses.clone();
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

fn resolving(addresses: &[&str]) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let resolver = Fixed {
        addresses: addresses
            .iter()
            .map(|text| SocketAddr::new(text.parse().unwrap(), 0))
            .collect(),
        asked: Arc::clone(&asked),
    };
    let settings = Settings {
        trusted: vec!["127.0.0.1".parse().unwrap()],
        pace: Arc::new(TestPace::default()),
        ..Settings::new(Duration::from_secs(5))
    };
    (
        Client::with_resolver(settings, Arc::new(resolver)).unwrap(),
        asked,
    )
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[tokio::test]
async fn foreign_urls_must_be_https_without_credentials() {
    let (client, _) = client();
    for (text, expected) in [
        ("http://example.com/", UrlFault::NotHttps),
        ("ftp://example.com/", UrlFault::NotHttp),
        ("file:///etc/passwd", UrlFault::NotHttp),
        ("https://user@example.com/", UrlFault::Credentials),
        ("https://user:word@example.com/", UrlFault::Credentials),
    ] {
        let outcome = client.get(Policy::Public, &url(text), &once()).await;
        assert!(
            matches!(outcome, Err(Error::BadUrl { fault }) if fault == expected),
            "{text}"
        );
    }
}

#[tokio::test]
async fn every_spelling_of_an_inner_address_is_refused_without_a_connection() {
    let client = Client::new(Settings::new(Duration::from_secs(5))).unwrap();
    let inner = Peer::start_at("127.0.0.2", |_, _| ());
    let port = inner.address.port();
    for host in [
        "127.0.0.2",
        "127.2",
        "0x7f.0.0.2",
        "0177.0.0.2",
        "2130706434",
        "127.0.0.2.",
        "[::1]",
        "[::ffff:127.0.0.2]",
        "[::ffff:7f00:2]",
        "localhost",
        "169.254.169.254",
    ] {
        let outcome = client
            .get(Policy::Public, &url(&format!("https://{host}:{port}/")), &once())
            .await;
        assert!(
            matches!(outcome, Err(Error::ForbiddenAddress { .. })),
            "{host}: {outcome:?}"
        );
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn a_name_is_refused_when_any_of_its_addresses_is() {
    let inner = Peer::start_at("127.0.0.2", |_, _| ());
    let there = url(&format!("https://public.example:{}/", inner.address.port()));
    for addresses in [
        &["127.0.0.2"][..],
        &["127.0.0.1", "127.0.0.2"],
        &["8.8.8.8", "::ffff:10.0.0.1"],
    ] {
        let (client, _) = resolving(addresses);
        let error = client.get(Policy::Public, &there, &caps()).await.unwrap_err();
        assert!(
            matches!(error, Error::ForbiddenAddress { .. }),
            "{addresses:?}: {error:?}"
        );
        assert!(!error.is_transient());
    }
    assert_eq!(inner.connections(), 0);
    let (client, _) = resolving(&["127.0.0.2"]);
    let error = client.get(Policy::Public, &there, &once()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`public.example` is at 127.0.0.2, a loopback address"
    );
}

#[tokio::test]
async fn the_connection_goes_to_the_addresses_that_were_checked() {
    // Not a TLS server: what counts is that it is reached, after one resolution.
    let peer = Peer::saying(Vec::new());
    let (client, asked) = resolving(&["127.0.0.1"]);
    let there = url(&format!("https://public.example:{}/", peer.address.port()));
    let outcome = client.get(Policy::Public, &there, &once()).await;
    assert!(matches!(outcome, Err(Error::Connect { .. })), "{outcome:?}");
    assert_eq!((peer.connections(), asked.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn a_redirect_to_an_inner_address_is_refused() {
    let (client, _) = client();
    let inner = Peer::start_at("127.0.0.2", |_, _| ());
    let target = format!("location: https://{}/\r\n", inner.address);
    let peer = Peer::saying(answer("302 Found", &target, b""));
    let outcome = client.get(Policy::Public, &peer.url(), &once()).await;
    assert!(matches!(
        outcome,
        Err(Error::ForbiddenAddress {
            class: AddressClass::Loopback,
            ..
        })
    ));
    let peer = Peer::saying(answer(
        "307 Temporary Redirect",
        "location: http://example.com/\r\n",
        b"",
    ));
    let outcome = client.get(Policy::Public, &peer.url(), &once()).await;
    assert!(matches!(
        outcome,
        Err(Error::BadUrl {
            fault: UrlFault::NotHttps
        })
    ));
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn two_redirects_are_followed_and_a_third_is_not() {
    let hops = |count: usize| {
        Peer::start(move |number, stream| {
            use std::io::Write as _;
            let bytes = if number < count {
                answer("302 Found", &format!("location: /{number}\r\n"), b"")
            } else {
                answer("200 OK", "", b"here")
            };
            let _ = stream.write_all(&bytes);
        })
    };
    let (client, _) = client();
    for policy in [Policy::Public, Policy::Configured] {
        let two = hops(2);
        let answer = client.get(policy, &two.url(), &once()).await.unwrap();
        assert_eq!((answer.url.path(), &answer.body[..]), ("/1", &b"here"[..]));
        let three = hops(3);
        let outcome = client.get(policy, &three.url(), &once()).await;
        assert!(matches!(outcome, Err(Error::TooManyRedirects { limit: 2, .. })));
    }
    let nowhere = Peer::saying(answer("302 Found", "", b""));
    let outcome = client.get(Policy::Configured, &nowhere.url(), &once()).await;
    assert!(matches!(outcome, Err(Error::BadRedirect { .. })));
}

#[tokio::test]
async fn a_configured_address_stays_at_its_origin() {
    let (client, _) = client();
    let other = Peer::saying(answer("200 OK", "", b"other"));
    let peer = Peer::saying(answer(
        "302 Found",
        &format!("location: {}\r\n", other.url()),
        b"",
    ));
    let outcome = client.get(Policy::Configured, &peer.url(), &once()).await;
    assert!(matches!(outcome, Err(Error::RedirectElsewhere { .. })));
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn another_origin_is_not_told_the_credentials() {
    let (client, _) = client();
    let other = Peer::saying(answer("200 OK", "", b"other"));
    let peer = Peer::saying(answer(
        "302 Found",
        &format!("location: {}\r\n", other.url()),
        b"",
    ));
    let mut request = Request::get(peer.url());
    request
        .headers
        .insert(header::AUTHORIZATION, "Bearer secret".parse().unwrap());
    client.send(Policy::Public, &request, &once()).await.unwrap();
    assert!(peer.request(0).contains("bearer secret"));
    assert!(!other.request(0).contains("secret"));
}
