//! Running another program to see what it says: bounded in time and in what is read of it.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

/// Longest run.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most bytes read of each of its outputs.
const OUTPUT_BYTES: u64 = 64 * 1024;

/// How a program ended.
#[derive(Debug)]
pub(super) enum Ran {
    /// With success; what it wrote to standard output.
    Well(String),
    /// Without; the last line it wrote to standard error.
    Badly(String),
    /// It did not end in time.
    TooLong,
    /// There is no such program.
    Absent,
}

/// Runs `program` with `arguments` and without input.
pub(super) async fn run(program: &str, arguments: &[&str]) -> Ran {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ran::Absent,
        Err(error) => return Ran::Badly(error.to_string()),
    };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let all = async { tokio::join!(read(out), read(err), child.wait()) };
    match timeout(PATIENCE, all).await {
        Err(_) => Ran::TooLong,
        Ok((_, _, Err(error))) => Ran::Badly(error.to_string()),
        Ok((out, _, Ok(status))) if status.success() => Ran::Well(out.trim().to_owned()),
        Ok((_, err, Ok(status))) => {
            let last = err.lines().rev().find(|line| !line.trim().is_empty());
            Ran::Badly(last.map_or_else(|| status.to_string(), |line| line.trim().to_owned()))
        }
    }
}

/// The beginning of a stream as text; the rest is read and dropped, so that the writer does not block.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else {
        return String::new();
    };
    let mut bytes = Vec::new();
    // A stream that breaks off leaves what came before.
    let _ = (&mut stream).take(OUTPUT_BYTES).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_end_is_told_apart() {
        assert!(matches!(run("sh", &["-c", "echo hi"]).await, Ran::Well(out) if out == "hi"));
        let badly = run("sh", &["-c", "echo a >&2; echo b >&2; exit 3"]).await;
        assert!(matches!(badly, Ran::Badly(line) if line == "b"));
        assert!(matches!(run("/nonexistent/program", &[]).await, Ran::Absent));
        let much = run("sh", &["-c", "head -c 200000 /dev/zero | tr '\\0' x"]).await;
        assert!(matches!(much, Ran::Well(out) if out.len() == 65536));
    }
}
