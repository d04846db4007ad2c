//! The wire of a started process: one message a line on its pipes. What it prints besides is skipped and counted, its
//! error output is kept to the last lines, and whatever it does it is ended in time.

use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use toolmark_domain::limits::STDERR_TAIL_BYTES;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use crate::bounds::Bounds;
use crate::condition::Condition;
use crate::launch::{Ending, Launch, Process, Start};
use crate::message::{self, Style};
use crate::notes::Conduct;
use crate::wire::{Answer, Ask, Body, End, Heard, Traffic, Trouble};

/// Last bytes of noise on the output that are looked at for a reason.
const NOISE_BYTES: usize = 2048;
/// Bytes of error output that are read before we stop a server that floods it.
const STDERR_BYTES: usize = 64 * 1024 * 1024;
/// How long output may still come after the process itself has ended: someone else may hold the pipe.
const AFTER_EXIT: Duration = Duration::from_millis(300);

/// A process and the talk with it.
pub(crate) struct Stdio<'a> {
    start: &'a dyn Start,
    launch: &'a Launch,
    pub(crate) condition: &'a Condition,
    pub(crate) bounds: &'a Bounds,
    pub(crate) traffic: Traffic,
    running: Option<Running>,
    next_id: u64,
    /// Of the last process.
    noise: VecDeque<u8>,
    /// Of all processes of the take.
    ending: Ending,
    last: Last,
}

/// What is known of a process that is no more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Last {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stderr: Option<String>,
    pub(crate) noise: String,
}

struct Running {
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no line end.
    searched: usize,
    process: Box<dyn Process>,
    exited: Option<(ExitStatus, Instant)>,
    closed: bool,
    errors: Arc<Errors>,
    reader: JoinHandle<()>,
    began: Instant,
}

/// The error output of a process.
#[derive(Default)]
struct Errors {
    tail: Mutex<Tail>,
    flooded: Notify,
}

#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    total: usize,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl<'a> Stdio<'a> {
    pub(crate) fn new(
        start: &'a dyn Start,
        launch: &'a Launch,
        condition: &'a Condition,
        bounds: &'a Bounds,
    ) -> Self {
        Self {
            start,
            launch,
            condition,
            bounds,
            traffic: Traffic::default(),
            running: None,
            next_id: 0,
            noise: VecDeque::new(),
            ending: Ending::default(),
            last: Last::default(),
        }
    }

    /// Starts the process, a new one where there was one before.
    pub(crate) async fn begin(&mut self) -> Result<(), Trouble> {
        self.finish(true).await;
        self.noise.clear();
        self.last = Last::default();
        let started = self.start.start(self.launch, self.condition).await;
        let started =
            started.map_err(|failure| End::saying(failure.outcome, failure.reason, failure.words))?;
        let errors = Arc::<Errors>::default();
        let reader = tokio::spawn(read_errors(started.stderr, Arc::clone(&errors)));
        self.running = Some(Running {
            stdin: Some(started.stdin),
            stdout: started.stdout,
            buffer: Vec::new(),
            searched: 0,
            process: started.process,
            exited: None,
            closed: false,
            errors,
            reader,
            began: Instant::now(),
        });
        Ok(())
    }

    /// How long the process runs.
    pub(crate) fn age(&self) -> Duration {
        self.running
            .as_ref()
            .map_or(Duration::ZERO, |r| r.began.elapsed())
    }

    pub(crate) async fn ask(&mut self, ask: &Ask<'_>, time: Duration) -> Result<Answer, Trouble> {
        self.next_id += 1;
        let ours = self.next_id;
        let text = match ask.method {
            "initialize" => message::initialize(ours, self.condition),
            method => message::request(ours, method, ask.style, ask.cursor, self.condition),
        };
        let deadline = Instant::now() + time;
        self.write(text, deadline).await?;
        loop {
            let line = self.line(deadline).await?;
            if let Some(body) = self.hear(&line, ours, ask, deadline).await? {
                return Ok(Answer { status: None, body });
            }
        }
    }

    pub(crate) async fn tell(&mut self, method: &str) -> Result<(), Trouble> {
        let deadline = Instant::now() + self.bounds.answer;
        self.write(message::notification(method), deadline).await
    }

    /// Listens without a question until `time` is over, or the server says that its lists changed.
    pub(crate) async fn listen(&mut self, time: Duration) -> Result<(), Trouble> {
        let deadline = Instant::now() + time;
        let ask = Ask {
            method: "",
            style: Style::Legacy,
            cursor: None,
            first: false,
        };
        while !self.traffic.lists_changed {
            let line = match self.line(deadline).await {
                Err(Trouble::Silent) => return Ok(()),
                line => line?,
            };
            self.hear(&line, 0, &ask, deadline).await?;
        }
        Ok(())
    }

    /// Takes in one line; gives the answer to the open question if it is that.
    async fn hear(
        &mut self,
        line: &[u8],
        ours: u64,
        ask: &Ask<'_>,
        deadline: Instant,
    ) -> Result<Option<Body>, Trouble> {
        self.traffic.counted(self.bounds)?;
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(_) if is_answer(&String::from_utf8_lossy(line), ours) => {
                return Err(End::new(Outcome::DoesNotSpeakMcp, Reason::InvalidUtf8).into());
            }
            Err(_) => "",
        };
        let (messages, batch) = message::read(text);
        if messages.is_empty() {
            self.skip(line);
            return Ok(None);
        }
        if batch {
            self.traffic.notes.add(Conduct::Batch, "sent messages in a batch");
        }
        let mut answer = None;
        let mut replies = Vec::new();
        for message in messages {
            match self.traffic.hear(message, ours, ask) {
                Heard::Answer(body) => answer = answer.or(Some(body)),
                Heard::Reply(reply) => replies.push(reply),
                Heard::Nothing => {}
            }
        }
        for reply in replies {
            self.write(reply, deadline).await?;
        }
        Ok(answer)
    }

    /// Passes over a line that is no message.
    fn skip(&mut self, line: &[u8]) {
        self.traffic.notes.add(
            Conduct::NoiseOnOutput,
            "wrote lines to its output that are no messages",
        );
        self.noise.extend(line.iter().chain(b"\n"));
        let excess = self.noise.len().saturating_sub(NOISE_BYTES);
        self.noise.drain(..excess);
    }

    async fn write(&mut self, mut text: String, deadline: Instant) -> Result<(), Trouble> {
        text.push('\n');
        let stdin = self.running.as_mut().and_then(|running| running.stdin.as_mut());
        let Some(stdin) = stdin else {
            return Err(Trouble::Gone);
        };
        let remaining = deadline.saturating_duration_since(Instant::now());
        match timeout(remaining, stdin.write_all(text.as_bytes())).await {
            Err(_) => Err(Trouble::Silent),
            Ok(Ok(())) => Ok(()),
            // It may have said why before it closed its input: what it wrote is read next, then its end is seen.
            Ok(Err(_)) => {
                if let Some(running) = &mut self.running {
                    running.stdin = None;
                }
                Ok(())
            }
        }
    }

    /// The next line of the output, without its end.
    async fn line(&mut self, deadline: Instant) -> Result<Vec<u8>, Trouble> {
        let running = self.running.as_mut().ok_or(Trouble::Gone)?;
        loop {
            if let Some(line) = running.buffered() {
                return Ok(line);
            }
            if running.buffer.len() > self.bounds.message_bytes {
                return Err(End::refused(Reason::MessageTooLarge));
            }
            let read = running.more(deadline).await?;
            self.traffic.received(read, self.bounds)?;
        }
    }

    /// Ends the process, with everything it started: by closing its input, by asking, by force. Where it is not
    /// worth the wait, by force at once.
    pub(crate) async fn finish(&mut self, at_once: bool) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        running.stdin = None;
        let mut status = running.exited.map(|(status, _)| status);
        if status.is_none() {
            status = running
                .exit(if at_once { Duration::ZERO } else { self.bounds.end })
                .await;
        }
        if status.is_none() && !at_once {
            self.traffic.notes.add(
                Conduct::NeededSignal,
                "did not end when its input was closed, and needed a signal",
            );
            running.process.terminate();
            running.exit(self.bounds.end).await;
        }
        let errors = Arc::clone(&running.errors);
        if status.is_some() {
            // What it said last may still be in the pipe.
            let _ = timeout(AFTER_EXIT, &mut running.reader).await;
        }
        let process = std::mem::replace(&mut running.process, Box::new(Nobody));
        let ending = process.finish().await;
        self.ending.limit = self.ending.limit.or(ending.limit);
        self.ending.egress.extend(ending.egress);
        let mut tail = errors.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = tail.total > tail.bytes.len();
        self.last = Last {
            status,
            stderr: crate::mask::tail(tail.bytes.make_contiguous(), cut),
            noise: String::from_utf8_lossy(self.noise.make_contiguous()).into_owned(),
        };
    }

    /// What is known of the last process, once it was finished.
    pub(crate) fn last(&self) -> &Last {
        &self.last
    }

    /// What was seen from outside.
    pub(crate) fn ending(&self) -> &Ending {
        &self.ending
    }
}

impl Running {
    /// The next whole line that was read already.
    fn buffered(&mut self) -> Option<Vec<u8>> {
        let found = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(at) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + at;
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(line)
    }

    /// Reads more of the output; how many bytes.
    async fn more(&mut self, deadline: Instant) -> Result<usize, Trouble> {
        loop {
            if self.closed {
                // A last line may lack its end.
                if self.buffer.is_empty() {
                    return Err(Trouble::Gone);
                }
                self.buffer.push(b'\n');
                return Ok(1);
            }
            let until = match self.exited {
                Some((_, at)) => deadline.min(at + AFTER_EXIT),
                None => deadline,
            };
            let ended = self.exited.is_some();
            tokio::select! {
                biased;
                read = self.stdout.read_buf(&mut self.buffer) => match read {
                    Ok(0) | Err(_) => self.closed = true,
                    Ok(read) => return Ok(read),
                },
                status = self.process.wait(), if !ended => {
                    self.exited = Some((status.unwrap_or_default(), Instant::now()));
                }
                () = self.errors.flooded.notified() => return Err(End::refused(Reason::TooMuchOutput)),
                () = sleep_until(until) => {
                    if !ended {
                        return Err(Trouble::Silent);
                    }
                    self.closed = true;
                }
            }
        }
    }

    /// Waits for its end, its output read and thrown away so that a full pipe does not keep it.
    async fn exit(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time;
        let mut open = !self.closed;
        let mut waste = Vec::with_capacity(8192);
        loop {
            tokio::select! {
                biased;
                status = self.process.wait() => return status.ok(),
                read = self.stdout.read_buf(&mut waste), if open => {
                    open = matches!(read, Ok(1..));
                    waste.clear();
                }
                () = sleep_until(deadline) => return None,
            }
        }
    }
}

/// Whether broken text was meant as the answer to question `ours`.
fn is_answer(text: &str, ours: u64) -> bool {
    let (messages, _) = message::read(text);
    messages.iter().any(|message| {
        matches!(message, message::Message::Response { id: Some(id), .. } if id.get() == ours.to_string())
    })
}

async fn read_errors(mut stderr: ChildStderr, errors: Arc<Errors>) {
    let mut piece = vec![0; 8192];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        let mut tail = errors.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.total = tail.total.saturating_add(read);
        tail.bytes.extend(&piece[..read]);
        let excess = tail.bytes.len().saturating_sub(STDERR_TAIL_BYTES);
        tail.bytes.drain(..excess);
        if tail.total > STDERR_BYTES {
            errors.flooded.notify_one();
            return;
        }
    }
}

/// What stands in for a process that was handed on.
struct Nobody;

impl Process for Nobody {
    fn wait(&mut self) -> futures_util::future::BoxFuture<'_, std::io::Result<ExitStatus>> {
        Box::pin(std::future::ready(Ok(ExitStatus::default())))
    }

    fn terminate(&mut self) {}

    fn finish(self: Box<Self>) -> futures_util::future::BoxFuture<'static, Ending> {
        Box::pin(std::future::ready(Ending::default()))
    }
}
