use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Peer, answer, caps, client, once};
use crate::{Caps, Error, Phase, Policy, Receive, Request};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

async fn get(peer: &Peer, caps: &Caps) -> Result<Vec<u8>, Error> {
    let (client, _) = client();
    let answer = client.get(Policy::Configured, &peer.url(), caps).await?;
    Ok(answer.success()?.body.to_vec())
}

#[tokio::test]
async fn a_body_is_allowed_up_to_its_cap_and_no_byte_more() {
    let caps = Caps {
        body_bytes: 1000,
        ..once()
    };
    let exact = Peer::saying(answer("200 OK", "", &[b'x'; 1000]));
    assert_eq!(get(&exact, &caps).await.unwrap().len(), 1000);
    let over = Peer::saying(answer("200 OK", "", &[b'x'; 1001]));
    assert!(matches!(
        get(&over, &caps).await,
        Err(Error::TooLarge { limit: 1000, .. })
    ));
    // Without a length the cap holds while reading.
    let endless = Peer::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 8192]).is_ok() {}
    });
    assert!(matches!(
        get(&endless, &caps).await,
        Err(Error::TooLarge { limit: 1000, .. })
    ));
}

#[tokio::test]
async fn gzip_is_unpacked_under_the_same_cap() {
    let plain: Vec<u8> = (0..40_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let peer = Peer::saying(answer("200 OK", "content-encoding: gzip\r\n", &gzip(&plain)));
    assert_eq!(get(&peer, &once()).await.unwrap(), plain);
    assert!(
        peer.request(0).contains("accept-encoding: gzip\r\n"),
        "{}",
        peer.request(0)
    );
    let small = Caps {
        body_bytes: plain.len() - 1,
        ..once()
    };
    assert!(matches!(get(&peer, &small).await, Err(Error::TooLarge { .. })));
}

#[tokio::test]
async fn a_body_that_unpacks_too_far_is_refused_before_the_cap() {
    let bomb = Peer::saying(answer(
        "200 OK",
        "content-encoding: gzip\r\n",
        &gzip(&vec![0; 64 << 20]),
    ));
    let caps = Caps {
        body_bytes: 1 << 30,
        ..once()
    };
    assert!(matches!(
        get(&bomb, &caps).await,
        Err(Error::Expands { limit: 100, .. })
    ));
    // Small bodies may repeat themselves.
    let dull = Peer::saying(answer(
        "200 OK",
        "content-encoding: gzip\r\n",
        &gzip(&vec![b' '; 1 << 20]),
    ));
    assert_eq!(get(&dull, &caps).await.unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn damaged_and_unknown_encodings_are_errors() {
    let mut cut = gzip(b"some text that is long enough to be cut");
    cut.truncate(cut.len() - 6);
    let cut = Peer::saying(answer("200 OK", "content-encoding: gzip\r\n", &cut));
    assert!(matches!(get(&cut, &once()).await, Err(Error::Corrupt { .. })));
    let noise = Peer::saying(answer("200 OK", "content-encoding: gzip\r\n", b"not gzip at all"));
    assert!(matches!(get(&noise, &once()).await, Err(Error::Corrupt { .. })));
    let other = Peer::saying(answer("200 OK", "content-encoding: br\r\n", b"??"));
    assert!(matches!(get(&other, &once()).await, Err(Error::Encoding { encoding, .. }) if encoding == "br"));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_dropped_not_short() {
    let peer = Peer::saying(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this".to_vec());
    assert!(matches!(
        get(&peer, &once()).await,
        Err(Error::Dropped { received: 9, .. })
    ));
    let chunked =
        Peer::saying(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n".to_vec());
    assert!(matches!(
        get(&chunked, &once()).await,
        Err(Error::Dropped { received: 4, .. })
    ));
    let silent = Peer::saying(Vec::new());
    assert!(matches!(
        get(&silent, &once()).await,
        Err(Error::Dropped { received: 0, .. })
    ));
}

#[tokio::test]
async fn silence_and_dripping_end_at_their_caps() {
    let begun = Instant::now();
    let quiet = Peer::start(|_, _| std::thread::sleep(Duration::from_secs(3)));
    let caps = Caps {
        first_byte: Duration::from_millis(100),
        total: Duration::from_millis(300),
        ..once()
    };
    assert!(matches!(
        get(&quiet, &caps).await,
        Err(Error::TimedOut {
            phase: Phase::FirstByte,
            ..
        })
    ));
    let dripping = Peer::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(matches!(
        get(&dripping, &caps).await,
        Err(Error::TimedOut {
            phase: Phase::Total,
            ..
        })
    ));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn any_status_is_an_answer_until_success_is_asked_for() {
    let peer = Peer::saying(answer("404 Not Found", "", b"nothing"));
    let (client, _) = client();
    let answer = client
        .get(Policy::Configured, &peer.url(), &caps())
        .await
        .unwrap();
    assert_eq!(
        (answer.status.as_u16(), answer.attempts, &answer.body[..]),
        (404, 1, &b"nothing"[..])
    );
    let error = answer.success().unwrap_err();
    assert!(!error.is_transient());
    assert_eq!(error.to_string(), "`127.0.0.1` answered 404 Not Found");
    let agent = format!("user-agent: toolmark/{}", env!("CARGO_PKG_VERSION"));
    assert!(peer.request(0).contains(&agent));
}

#[tokio::test]
async fn an_answer_that_does_not_end_can_be_read_as_it_comes() {
    for packed in [false, true] {
        let peer = Peer::start(move |_, stream| {
            let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(b"data: one\n\n").unwrap();
            encoder.flush().unwrap();
            if packed {
                head.extend_from_slice(b"content-encoding: gzip\r\n\r\n");
                head.extend_from_slice(encoder.get_ref());
            } else {
                head.extend_from_slice(b"\r\ndata: one\n\n");
            }
            let _ = stream.write_all(&head);
            // Nothing more until the other side has gone.
            let _ = std::io::Read::read(stream, &mut [0]);
        });
        let (client, _) = client();
        let request = Request::get(peer.url());
        let mut incoming = client.open(Policy::Configured, &request, &once()).await.unwrap();
        assert_eq!(incoming.status, 200);
        assert_eq!(incoming.chunk().await.unwrap().unwrap(), "data: one\n\n");
    }
}

#[tokio::test]
async fn pieces_count_towards_one_cap_and_one_deadline() {
    let peer = Peer::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 100]).is_ok() {}
    });
    let (client, _) = client();
    let caps = Caps {
        body_bytes: 1000,
        ..once()
    };
    let request = Request::get(peer.url());
    let mut incoming = client.open(Policy::Configured, &request, &caps).await.unwrap();
    let mut read = 0;
    let error = loop {
        match incoming.chunk().await {
            Ok(Some(piece)) => read += piece.len(),
            Ok(None) => panic!("it does not end"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::TooLarge { limit: 1000, .. }), "{error}");
    assert!(read <= 1000, "{read}");
    let silent = Peer::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let _ = std::io::Read::read(stream, &mut [0]);
    });
    let caps = Caps {
        total: Duration::from_millis(300),
        ..once()
    };
    let mut incoming = client
        .open(Policy::Configured, &Request::get(silent.url()), &caps)
        .await
        .unwrap();
    assert!(matches!(
        incoming.chunk().await,
        Err(Error::TimedOut {
            phase: Phase::Total,
            ..
        })
    ));
}

/// Keeps what it is given and counts the attempts.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    attempts: usize,
    full_at: Option<usize>,
}

impl Receive for Kept {
    fn restart(&mut self) -> std::io::Result<()> {
        self.attempts += 1;
        self.bytes.clear();
        Ok(())
    }

    fn take(&mut self, piece: &[u8]) -> std::io::Result<()> {
        self.bytes.extend_from_slice(piece);
        match self.full_at {
            Some(most) if self.bytes.len() > most => Err(std::io::Error::other("full")),
            _ => Ok(()),
        }
    }
}

async fn download(peer: &Peer, caps: &Caps, kept: &mut Kept) -> Result<u16, Error> {
    let (client, _) = client();
    let request = Request::get(peer.url());
    let answer = client.download(Policy::Configured, &request, caps, kept).await?;
    assert!(answer.body.is_empty());
    Ok(answer.status.as_u16())
}

#[tokio::test]
async fn a_download_begins_again_when_it_broke_off() {
    let peer = Peer::start(|number, stream| {
        let whole = answer("200 OK", "", &[b'x'; 1000]);
        let cut = if number == 0 { whole.len() - 1 } else { whole.len() };
        let _ = stream.write_all(&whole[..cut]);
    });
    let mut kept = Kept::default();
    assert_eq!(download(&peer, &caps(), &mut kept).await.unwrap(), 200);
    assert_eq!((kept.bytes.len(), kept.attempts), (1000, 2));
    assert!(peer.request(0).contains("accept-encoding: identity\r\n"));
}

#[tokio::test]
async fn a_download_is_bounded_in_bytes_and_in_silence_and_never_unpacked() {
    let mut kept = Kept::default();
    let tight = Caps {
        body_bytes: 999,
        ..once()
    };
    let endless = Peer::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 8192]).is_ok() {}
    });
    let over = download(&endless, &tight, &mut kept).await;
    assert!(matches!(over, Err(Error::TooLarge { limit: 999, .. })));
    assert!(kept.bytes.len() <= 999);
    let gzipped = Peer::saying(answer("200 OK", "content-encoding: gzip\r\n", &gzip(b"x")));
    let packed = download(&gzipped, &once(), &mut kept).await;
    assert!(matches!(packed, Err(Error::Encoding { .. })));
    let short = Caps {
        first_byte: Duration::from_millis(100),
        ..once()
    };
    let silent = Peer::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx");
        std::thread::sleep(Duration::from_secs(3));
    });
    let stalled = download(&silent, &short, &mut kept).await;
    assert!(matches!(
        stalled,
        Err(Error::TimedOut {
            phase: Phase::Piece,
            ..
        })
    ));
}

#[tokio::test]
async fn what_cannot_be_kept_ends_a_download_and_an_error_page_is_not_handed_on() {
    let peer = Peer::saying(answer("200 OK", "", &[b'x'; 1000]));
    let mut kept = Kept {
        full_at: Some(10),
        ..Kept::default()
    };
    let full = download(&peer, &caps(), &mut kept).await;
    assert!(matches!(full, Err(Error::Sink { .. })));
    assert_eq!(peer.connections(), 1);
    let gone = Peer::saying(answer("404 Not Found", "", b"no such file"));
    let mut kept = Kept::default();
    assert_eq!(download(&gone, &once(), &mut kept).await.unwrap(), 404);
    assert_eq!((kept.bytes.len(), kept.attempts), (0, 0));
}
