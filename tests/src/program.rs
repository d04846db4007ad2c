//! The built program, as its users run it.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

/// The program `toolmark`: the one in `TOOLMARK_TEST_PROGRAM`, else built now.
pub fn path() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| match std::env::var_os("TOOLMARK_TEST_PROGRAM") {
        Some(program) => PathBuf::from(program),
        None => build(),
    })
}

fn build() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "toolmark-cli"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs the tests, so it can run");
    assert!(status.success(), "the program does not build");
    // The test program itself lies in `target/debug/deps`.
    let here = std::env::current_exe().expect("a running program has a path");
    let deps = here.parent().expect("a program lies in a folder");
    deps.with_file_name("toolmark")
}

/// The program on a data folder, with nothing of the caller's settings.
pub fn toolmark(data_dir: &Path) -> Command {
    let mut command = Command::new(path());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOOLMARK_") {
            command.env_remove(name);
        }
    }
    // Nothing outside this machine is asked.
    command.env("TOOLMARK_PROVENANCE__CHECK", "false");
    command.current_dir(data_dir).arg("--data-dir").arg(data_dir);
    command
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ended {
    command.output().expect("the program starts").into()
}

/// The program serving a data folder on a free port of this machine. Killed when dropped.
pub struct Serving {
    child: Child,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Serving {
    /// Starts `serve` and waits until it answers.
    pub fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        let listen = free_address();
        let child = toolmark(data_dir)
            .args(["serve", "--listen", &listen])
            // What tests publish names packages of strangers: nothing of it is run.
            .env("TOOLMARK_JOBS__CRAWL", "false")
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut serving = Self {
            child,
            url: format!("http://{listen}"),
        };
        serving.wait(&listen);
        serving
    }

    fn wait(&mut self, listen: &str) {
        for _ in 0..600 {
            if TcpStream::connect(listen).is_ok() {
                return;
            }
            if let Ok(Some(ended)) = self.child.try_wait() {
                panic!("the server ended before it listened: {ended}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not listen after 30 seconds");
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop; its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let _ = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An address nobody listens on at this moment.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener
        .local_addr()
        .expect("a bound listener has an address")
        .to_string()
}
