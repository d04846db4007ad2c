//! A fake HTTP server on loopback: each method of the protocol has an answer, everything it saw is remembered.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolmark_outbound::{Client, Settings, Url};

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Status, headers with line ends, body; `$ID` stands for the id of the request.
    Http(u16, String, String),
    /// Status, headers, pieces with a pause before each; the connection stays open after the last.
    Stream(u16, String, Vec<(u64, String)>),
    /// The connection is closed without a word.
    Reset,
    /// Nothing, ever.
    Hang,
    /// Bytes as they are.
    Bytes(Vec<u8>),
}

impl Reply {
    pub(crate) fn json(status: u16, body: impl Into<String>) -> Self {
        Self::Http(
            status,
            "content-type: application/json\r\n".to_owned(),
            body.into(),
        )
    }

    pub(crate) fn text(status: u16, kind: &str, body: &str) -> Self {
        Self::Http(status, format!("content-type: {kind}\r\n"), body.to_owned())
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self::Http(status, String::new(), String::new())
    }

    pub(crate) fn events(pieces: &[&str]) -> Self {
        let pieces = pieces.iter().map(|piece| (0, (*piece).to_owned()));
        Self::Stream(
            200,
            "content-type: text/event-stream\r\n".to_owned(),
            pieces.collect(),
        )
    }

    pub(crate) fn with(self, more: &str) -> Self {
        match self {
            Self::Http(status, headers, body) => Self::Http(status, format!("{headers}{more}\r\n"), body),
            other => other,
        }
    }
}

/// A request as seen.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    /// The protocol's method; the HTTP one where there is no body.
    pub(crate) fn method(&self) -> String {
        match self.body["method"].as_str() {
            Some(method) => method.to_owned(),
            None => self.head.split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

type Answers = Arc<dyn Fn(&Asked, usize) -> Reply + Send + Sync>;

/// A running fake.
pub(crate) struct Peer {
    pub(crate) url: Url,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Peer {
    /// `answer` gets the request and how often its method was asked before.
    pub(crate) async fn start(answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let answer: Answers = Arc::new(answer);
        let seen = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                tokio::spawn(async move { serve(stream, &answer, &seen).await });
            }
        });
        Self {
            url: Url::parse(&url).unwrap(),
            asked,
            task,
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The methods in the order they came.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(Asked::method).collect()
    }
}

async fn serve(mut stream: TcpStream, answer: &Answers, seen: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&mut stream).await else {
        return;
    };
    let number = {
        let mut seen = seen.lock().unwrap();
        let number = seen
            .iter()
            .filter(|other| other.method() == asked.method())
            .count();
        seen.push(asked.clone());
        number
    };
    let id = asked.body["id"].to_string();
    match answer(&asked, number) {
        Reply::Http(status, headers, body) => {
            let body = body.replace("$ID", &id);
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
        Reply::Stream(status, headers, pieces) => {
            let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}\r\n");
            let _ = stream.write_all(head.as_bytes()).await;
            for (pause, piece) in pieces {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                if stream
                    .write_all(piece.replace("$ID", &id).as_bytes())
                    .await
                    .is_err()
                {
                    return;
                }
            }
            wait(&mut stream).await;
        }
        Reply::Reset => {}
        Reply::Hang => wait(&mut stream).await,
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
    }
    let _ = stream.shutdown().await;
}

/// Until the other side has gone.
async fn wait(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0]).await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        // A TLS hello has no end we could see.
        if bytes.first() == Some(&0x16) {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            let body = serde_json::from_str(body).unwrap_or_default();
            return Some(Asked { head, body });
        }
    }
}

/// A client for which this machine's own address is as good as a public one.
pub(crate) fn client() -> Client {
    let settings = Settings {
        trusted: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        ..Settings::new(Duration::from_secs(5))
    };
    Client::new(settings).unwrap()
}
