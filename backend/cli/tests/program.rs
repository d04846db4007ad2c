//! The built program from outside: what it prints where, and how it ends.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails should end its test where it stands"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The program in a folder of its own, without the settings of whoever runs the test.
fn toolmark(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolmark"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOOLMARK_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    ended(&toolmark(folder).args(arguments).output().unwrap())
}

fn ended(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// A running server that is killed if a test fails before it is stopped.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Serving {
    /// Starts one on a free port; its address is the one it logs.
    fn start(folder: &Path, more: &[&str]) -> (Self, String) {
        let mut command = toolmark(folder);
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            // What tests list names packages of strangers: nothing of it is run, and nobody is asked for it.
            .env("TOOLMARK_JOBS__CRAWL", "false")
            .env("TOOLMARK_PROVENANCE__CHECK", "false")
            .args(more)
            .stderr(Stdio::piped());
        let mut serving = Self(command.spawn().unwrap());
        let mut lines = BufReader::new(serving.0.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let line = lines
            .find(|line| line.contains("listening on "))
            .expect("the address is logged");
        // The rest is read too, or the program would block on a full pipe.
        std::thread::spawn(move || lines.count());
        let address = line
            .split_once("listening on ")
            .unwrap()
            .1
            .split(' ')
            .next()
            .unwrap();
        (serving, address.to_owned())
    }

    /// Asks it to stop and gives its exit status.
    fn stop(mut self) -> i32 {
        let asked = Command::new("kill")
            .arg(self.0.id().to_string())
            .status()
            .unwrap();
        assert!(asked.success());
        self.0.wait().unwrap().code().unwrap()
    }
}

#[test]
fn exit_statuses_say_yes_no_unreadable_and_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(
        at.join("good.json"),
        r#"{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name":"com.example/weather","description":"Tells the weather","version":"1.0.0"}"#,
    )
    .unwrap();
    std::fs::write(at.join("bad.json"), "{}").unwrap();
    std::fs::write(at.join("noise.json"), "{").unwrap();
    for (arguments, status) in [
        (&["validate", "good.json"][..], 0),
        (&["validate", "bad.json"], 1),
        (&["validate", "noise.json"], 2),
        (&["validate", "absent.json"], 2),
        (&["nonsense"], 2),
        (&["migrate", "--check"], 1),
        (&["status"], 3),
        (&["config", "check", "--config", "absent.toml"], 2),
        (&["admin", "token", "list"], 3),
        (
            &["admin", "token", "revoke", "01980000-0000-7000-8000-000000000000"],
            3,
        ),
        (&["version"], 0),
    ] {
        let (code, _, errors) = run(at, arguments);
        assert_eq!(code, status, "{arguments:?}: {errors}");
        assert_eq!(
            errors.is_empty(),
            matches!(status, 0 | 1),
            "{arguments:?}: {errors}"
        );
    }
    assert!(!at.join("toolmark-data").exists(), "asking made a folder");
}

#[test]
fn what_is_not_there_is_said_with_a_way_onward() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (_, _, errors) = run(at, &["admin", "token", "list", "--data-dir", "elsewhere"]);
    assert!(
        errors.contains("there is no registry at `elsewhere/registry.db`"),
        "{errors}"
    );
    assert!(
        errors.contains("hint: name the right one with `--data-dir`"),
        "{errors}"
    );

    std::fs::write(
        at.join("server.json"),
        r#"{"name":"com.example/Weather","description":"Tells the weather","version":"1.0.0"}"#,
    )
    .unwrap();
    assert_eq!(run(at, &["import", "server.json"]).0, 0);
    let (code, _, errors) = run(at, &["status", "com.example/weather"]);
    assert_eq!(code, 1, "{errors}");
    assert!(
        errors.contains("hint: did you mean `com.example/Weather`?"),
        "{errors}"
    );

    let (code, _, errors) = run(at, &["import", "official", "--base-url", "http://127.0.0.1:1"]);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("hint: check the address"), "{errors}");
}

#[test]
fn validate_reads_standard_input_and_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = toolmark(folder.path())
        .args(["validate", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"name\": 3}").unwrap();
    let (code, out, _) = ended(&child.wait_with_output().unwrap());
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &answer["schema"], &answer["valid"]),
        (1, &"toolmark.validation/1".into(), &false.into())
    );
    let issues = answer["issues"].as_array().unwrap();
    assert!(issues.iter().any(|issue| issue["path"] == "name"), "{out}");
}

#[test]
fn a_mistake_in_the_settings_stops_every_command() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("toolmark.toml"),
        "[server]\nlisen = \"127.0.0.1:1\"\n",
    )
    .unwrap();
    for command in [&["serve"][..], &["config", "show"], &["doctor"], &["migrate"]] {
        let (code, out, errors) = run(folder.path(), command);
        let expected =
            "error: toolmark.toml:2: unknown setting `server.lisen`\nhint: did you mean `server.listen`?\n";
        assert_eq!((code, out.as_str(), errors.as_str()), (2, "", expected));
    }
}

#[test]
fn config_show_hides_credentials_and_names_sources() {
    let folder = tempfile::tempdir().unwrap();
    let output = toolmark(folder.path())
        .args(["config", "show", "--format", "json", "--data-dir", "elsewhere"])
        .env(
            "TOOLMARK_STORE__DATABASE_URL",
            "postgres://toolmark:hunter2@db.example.com/toolmark",
        )
        .output()
        .unwrap();
    let (code, out, _) = ended(&output);
    assert_eq!(code, 0);
    assert!(!out.contains("hunter2"), "{out}");
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    let from = |name: &str| {
        let settings = answer["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap()["from"].clone()
    };
    assert_eq!(from("store.database_url"), "TOOLMARK_STORE__DATABASE_URL");
    assert_eq!(from("store.data_dir"), "--data-dir");
    assert_eq!(from("log.level"), "default");
}

#[test]
fn serve_fills_an_empty_registry_answers_and_stops_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, address) = Serving::start(folder.path(), &["--starter"]);
    let name = "io.github.microsoft/playwright-mcp";
    let (code, out, errors) = run(folder.path(), &["status", name, "--registry", &address]);
    assert_eq!(code, 0, "{errors}");
    assert!(out.lines().any(|line| line == "origin     listed"), "{out}");
    let (code, _, errors) = run(
        folder.path(),
        &["status", "com.example/none", "--registry", &address],
    );
    assert_eq!(
        (code, errors.as_str()),
        (1, "error: there is no `com.example/none` at this registry\n")
    );
    assert_eq!(serving.stop(), 0);

    // The same store again: the list is not added twice, and the command reads it without a server.
    let (again, _) = Serving::start(folder.path(), &["--starter"]);
    assert_eq!(again.stop(), 0);
    let (code, out, _) = run(folder.path(), &["status", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["versions"]), (0, &answer["head_event"]));
}

#[test]
fn the_development_login_is_refused_where_others_can_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, errors) = run(folder.path(), &["serve", "--dev-auth", "--listen", "0.0.0.0:0"]);
    assert_eq!(code, 2);
    assert!(errors.contains("\nhint: "), "{errors}");
    assert!(!folder.path().join("toolmark-data").exists());
}
