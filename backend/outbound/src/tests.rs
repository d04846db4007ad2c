//! Peers on loopback that behave and misbehave.

mod addresses;
mod bodies;
mod policies;
mod retries;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use url::Url;

use crate::{Caps, Client, Pace, Retry, Settings};

/// A peer that answers each connection with what its script says for that number (from 0), then closes.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    pub(crate) fn start(script: impl Fn(usize, &mut TcpStream) + Send + 'static) -> Self {
        Self::start_at("127.0.0.1", script)
    }

    pub(crate) fn start_at(ip: &str, script: impl Fn(usize, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let peer = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests) = (Arc::clone(&peer.connections), Arc::clone(&peer.requests));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let number = connections.fetch_add(1, Ordering::SeqCst);
                requests.lock().unwrap().push(read_head(&mut stream));
                script(number, &mut stream);
            }
        });
        peer
    }

    /// A peer that always gives the same bytes.
    pub(crate) fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&bytes);
        })
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://{}/", self.address)).unwrap()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn request(&self, number: usize) -> String {
        self.requests.lock().unwrap()[number].to_lowercase()
    }
}

fn read_head(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
        // A TLS hello has no end we could see.
        if head[0] == 0x16 {
            break;
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n")
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A pace that does not wait; it remembers what it was asked to wait.
#[derive(Default)]
pub(crate) struct TestPace {
    pub(crate) waits: Mutex<Vec<Duration>>,
}

impl Pace for TestPace {
    fn now(&self) -> SystemTime {
        httpdate::parse_http_date("Wed, 01 Jan 2025 00:00:00 GMT").unwrap()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.waits.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    }

    fn chance(&self) -> f64 {
        0.0
    }
}

pub(crate) fn caps() -> Caps {
    Caps {
        body_bytes: 4 * 1024 * 1024,
        expansion: 100,
        first_byte: Duration::from_secs(5),
        total: Duration::from_secs(5),
        redirects: 2,
        retry: Retry {
            attempts: 4,
            within: Duration::from_mins(10),
            base: Duration::from_secs(1),
            longest: Duration::from_mins(1),
        },
    }
}

pub(crate) fn once() -> Caps {
    Caps {
        retry: Retry::NEVER,
        ..caps()
    }
}

/// A client for which 127.0.0.1, and no other loopback address, is trusted as if it were public.
pub(crate) fn client() -> (Client, Arc<TestPace>) {
    let pace = Arc::new(TestPace::default());
    let settings = Settings {
        trusted: vec![IpAddr::from([127, 0, 0, 1])],
        pace: Arc::clone(&pace) as Arc<dyn Pace>,
        ..Settings::new(Duration::from_secs(5))
    };
    (Client::new(settings).unwrap(), pace)
}
