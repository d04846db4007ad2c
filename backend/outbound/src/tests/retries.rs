use std::io::Write;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, header};

use super::{Peer, TestPace, answer, caps, client};
use crate::retry::{retry_after, wait};
use crate::{Caps, Error, Pace, Policy, Request, Retry};

/// Fails as told, then answers.
fn failing(first: Vec<Vec<u8>>) -> Peer {
    Peer::start(move |number, stream| {
        let good = answer("200 OK", "", b"good");
        let _ = stream.write_all(first.get(number).unwrap_or(&good));
    })
}

fn secs(values: &[u64]) -> Vec<Duration> {
    values.iter().map(|secs| Duration::from_secs(*secs)).collect()
}

#[tokio::test]
async fn passing_failures_are_tried_again_with_growing_waits() {
    let peer = failing(vec![
        answer("503 Service Unavailable", "", b""),
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ncut".to_vec(),
        Vec::new(),
    ]);
    let (client, pace) = client();
    let answer = client
        .get(Policy::Configured, &peer.url(), &caps())
        .await
        .unwrap();
    assert_eq!((answer.attempts, &answer.body[..]), (4, &b"good"[..]));
    assert_eq!(*pace.waits.lock().unwrap(), secs(&[1, 2, 4]));
}

#[tokio::test]
async fn the_other_side_may_ask_for_a_longer_wait_up_to_a_cap() {
    let peer = failing(vec![
        answer("429 Too Many Requests", "retry-after: 7\r\n", b""),
        answer(
            "429 Too Many Requests",
            "retry-after: Wed, 01 Jan 2025 00:00:30 GMT\r\n",
            b"",
        ),
        answer("503 Service Unavailable", "retry-after: 86400\r\n", b""),
    ]);
    let (client, pace) = client();
    client
        .get(Policy::Configured, &peer.url(), &caps())
        .await
        .unwrap();
    assert_eq!(*pace.waits.lock().unwrap(), secs(&[7, 30, 60]));
}

#[tokio::test]
async fn attempts_end_by_number_and_by_time() {
    let busy = || Peer::saying(answer("429 Too Many Requests", "retry-after: 5\r\n", b""));
    let (client, _) = client();
    let peer = busy();
    let answer = client
        .get(Policy::Configured, &peer.url(), &caps())
        .await
        .unwrap();
    assert_eq!(
        (answer.status.as_u16(), answer.attempts, peer.connections()),
        (429, 4, 4)
    );
    let error = answer.success().unwrap_err();
    assert!(error.is_transient());
    assert!(matches!(error, Error::Status { retry_after: Some(after), .. } if after.as_secs() == 5));

    let short = Caps {
        retry: Retry {
            within: Duration::from_secs(12),
            ..caps().retry
        },
        ..caps()
    };
    let peer = busy();
    client.get(Policy::Configured, &peer.url(), &short).await.unwrap();
    assert_eq!(peer.connections(), 3);
}

#[tokio::test]
async fn a_refused_connection_is_tried_again_and_then_named() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let (client, pace) = client();
    let url = format!("http://{closed}/secret?key=secret").parse().unwrap();
    let error = client.get(Policy::Configured, &url, &caps()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot connect to `127.0.0.1`");
    assert_eq!(pace.waits.lock().unwrap().len(), 3);
    let mut chain = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(inner) = cause {
        chain += &inner.to_string();
        cause = inner.source();
    }
    assert!(!chain.contains("secret"), "{chain}");
}

#[tokio::test]
async fn what_will_not_pass_and_what_changes_things_is_sent_once() {
    let (client, _) = client();
    let peer = Peer::saying(answer("400 Bad Request", "", b""));
    client
        .get(Policy::Configured, &peer.url(), &caps())
        .await
        .unwrap();
    assert_eq!(peer.connections(), 1);
    let peer = Peer::saying(answer("503 Service Unavailable", "", b""));
    let post = Request {
        method: Method::POST,
        ..Request::get(peer.url())
    };
    client.send(Policy::Configured, &post, &caps()).await.unwrap();
    assert_eq!(peer.connections(), 1);
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now = TestPace::default().now();
    for (text, expected) in [
        ("0", Some(0)),
        (" 120 ", Some(120)),
        ("99999999999999999999999", Some(u64::from(u32::MAX))),
        ("Wed, 01 Jan 2025 00:01:00 GMT", Some(60)),
        ("Tue, 31 Dec 2024 00:00:00 GMT", Some(0)),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_str(text).unwrap());
        assert_eq!(
            retry_after(&headers, now).map(|wait| wait.as_secs()),
            expected,
            "{text}"
        );
    }
}

#[test]
fn chance_shortens_our_own_wait_by_at_most_a_half() {
    let retry = caps().retry;
    assert_eq!(wait(&retry, 3, None, 0.0), Duration::from_secs(2));
    assert!(wait(&retry, 3, None, 0.999) > Duration::from_secs(1));
    assert_eq!(wait(&retry, 40, None, 0.0), Duration::from_mins(1));
    assert_eq!(wait(&retry, 2, Some(Duration::ZERO), 0.0), Duration::from_secs(1));
}
