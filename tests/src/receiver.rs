//! Who receives webhooks: takes them, refuses them, hangs, closes, redirects, as a test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a receiver does with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Answers with this status.
    Status(u16),
    /// Answers with this status and these header lines.
    With(u16, String),
    /// Takes the message and says nothing.
    Hang,
    /// Takes the message and closes.
    Close,
}

/// A message as it came.
#[derive(Clone, Debug)]
pub struct Message {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Message {
    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// A receiver on loopback.
pub struct Receiver {
    pub url: String,
    manner: Arc<Mutex<Vec<Manner>>>,
    messages: Arc<Mutex<Vec<Message>>>,
    task: JoinHandle<()>,
}

impl Receiver {
    /// One that takes everything.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("a bound address"));
        let manner = Arc::new(Mutex::new(vec![Manner::Status(204)]));
        let messages = Arc::new(Mutex::new(Vec::new()));
        let (shown, kept) = (Arc::clone(&manner), Arc::clone(&messages));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (manner, messages) = (Arc::clone(&shown), Arc::clone(&kept));
                tokio::spawn(async move {
                    let _ = answer(stream, &manner, &messages).await;
                });
            }
        });
        Self {
            url,
            manner,
            messages,
            task,
        }
    }

    /// What it does from now on: one after the other, the last one for ever.
    pub fn behave(&self, manners: &[Manner]) {
        *self.manner.lock().expect("no test panics while it holds this") = manners.to_vec();
    }

    /// Everything that came, refused messages too.
    pub fn messages(&self) -> Vec<Message> {
        self.messages
            .lock()
            .expect("no test panics while it holds this")
            .clone()
    }

    /// Waits for this many messages, at most so long.
    pub async fn wait_for(&self, count: usize, at_most: Duration) -> Vec<Message> {
        let deadline = tokio::time::Instant::now() + at_most;
        loop {
            let messages = self.messages();
            if messages.len() >= count || tokio::time::Instant::now() > deadline {
                return messages;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    manner: &Mutex<Vec<Manner>>,
    messages: &Mutex<Vec<Message>>,
) -> std::io::Result<()> {
    loop {
        let Some(message) = read(&mut stream).await? else {
            return Ok(());
        };
        messages
            .lock()
            .expect("no test panics while it holds this")
            .push(message);
        let next = {
            let mut manners = manner.lock().expect("no test panics while it holds this");
            if manners.len() > 1 {
                manners.remove(0)
            } else {
                manners[0].clone()
            }
        };
        let (status, lines) = match next {
            Manner::Status(status) => (status, String::new()),
            Manner::With(status, lines) => (status, lines),
            Manner::Close => return Ok(()),
            Manner::Hang => {
                tokio::time::sleep(Duration::from_mins(2)).await;
                return Ok(());
            }
        };
        let head = format!("HTTP/1.1 {status} X\r\n{lines}Content-Length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
    }
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Message>> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let headers: Vec<(String, String)> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = bytes[end..].to_vec();
    while body.len() < length {
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok(None);
        }
        body.extend_from_slice(&chunk[..count]);
    }
    Ok(Some(Message { headers, body }))
}
