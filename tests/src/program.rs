//! The built program, as its users run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

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
