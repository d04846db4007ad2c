//! `verify` and `verify-bundle` from outside: arguments, exit status, what is printed.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails should end its test where it stands"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The corpus of evidence, or nothing and a line that says so.
fn data(test: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from);
    let folder = folder.join("provenance");
    if let Err(error) = std::fs::metadata(folder.join("cases.json")) {
        // Straight to the stream, so that the line is seen of tests that pass, too.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {test}: {}: {error}",
            folder.display()
        );
        return None;
    }
    Some(folder)
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_toolmark"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_suite_is_answered_by_path_and_by_digest() {
    let Some(data) = data("the_suite_is_answered_by_path_and_by_digest") else {
        return;
    };
    let cases = std::fs::read(data.join("conformance/cases.json")).unwrap();
    let cases: Value = serde_json::from_slice(&cases).unwrap();
    for case in cases.as_array().unwrap() {
        let text = |name: &str| case[name].as_str();
        let digest = format!("sha256:{}", text("artifact_sha256").unwrap());
        for artifact in [text("artifact").unwrap(), &digest] {
            let mut arguments = vec!["verify-bundle", "--bundle", text("bundle").unwrap()];
            match text("key") {
                Some(key) => arguments.extend(["--key", key]),
                None => arguments.extend([
                    "--certificate-identity",
                    text("identity").unwrap(),
                    "--certificate-oidc-issuer",
                    text("issuer").unwrap(),
                ]),
            }
            if let Some(root) = text("trusted_root") {
                arguments.extend(["--trusted-root", root]);
            }
            arguments.push(artifact);
            let (status, stdout, stderr) = run(&data, &arguments);
            assert_eq!(
                status == 0,
                case["expect"] == "pass",
                "{}: {stderr}",
                case["name"]
            );
            assert_eq!(stdout, "", "{}", case["name"]);
        }
    }
}

#[test]
fn the_exit_status_says_yes_no_or_cannot_tell() {
    let Some(data) = data("the_exit_status_says_yes_no_or_cannot_tell") else {
        return;
    };
    let sha512 = "sha512:5102e3091a97d28846e255da320a79dda77480adf0763df342ced3e296d633e223c2d19869c9d163c6178e6f4628c\
                  88139bcb3d88d8ba86d093322176d95336d";
    let ask = |file: &str, digest: &str, repository: &str| {
        run(
            &data,
            &[
                "verify",
                "--evidence",
                file,
                "--trusted-root",
                "synthetic/trusted_root.json",
                "--digest",
                digest,
                "--ecosystem",
                "npm",
                "--name",
                "@acme/weather-mcp",
                "--version",
                "1.2.3",
                "--repository",
                repository,
                "--format",
                "json",
            ],
        )
    };
    let good = "synthetic/ok-release-tag.json";
    let acme = "https://github.com/acme/weather-mcp";
    let verdict = |(status, stdout, _): (i32, String, String)| {
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(report["schema"], "toolmark.verdict/1");
        (status, report["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict(ask(good, sha512, acme)), (0, "verified".to_owned()));
    let other = "https://github.com/mallory/weather-mcp";
    assert_eq!(verdict(ask(good, sha512, other)), (1, "mismatch".to_owned()));
    assert_eq!(
        verdict(ask(good, "gitCommit:00", acme)),
        (3, "unverifiable".to_owned())
    );
    let damaged = "synthetic/crypto-payload-changed.json";
    assert_eq!(verdict(ask(damaged, sha512, acme)), (1, "invalid".to_owned()));
    assert_eq!(ask("synthetic/none.json", sha512, acme).0, 2);
    assert_eq!(ask(good, "sha256:00", acme).0, 2);
}

#[test]
fn the_text_names_each_step_and_what_differs() {
    let Some(data) = data("the_text_names_each_step_and_what_differs") else {
        return;
    };
    let digest = "sha256:58537832d1611c47c80f892cdbb0c43f7c75e9e790b262df6976ea8aa81128ea";
    let arguments = [
        "verify",
        "--oci-recorded",
        "oci/referrer-ok",
        "--trusted-root",
        "oci/trusted_root.json",
        "--digest",
        digest,
        "--ecosystem",
        "oci",
        "--repository",
        "https://github.com/acme/other",
    ];
    let (status, stdout, _) = run(&data, &arguments);
    assert_eq!(status, 1);
    for words in [
        "mismatch: the evidence is genuine",
        "source_repository_mismatch",
        "  FAIL  source is the declared one",
        "built from `https://github.com/acme/weather-mcp`, declared is `https://github.com/acme/other`",
        "  pass  signature",
    ] {
        assert!(stdout.contains(words), "`{words}` is not in\n{stdout}");
    }
}

#[test]
fn a_check_is_made_again_from_its_record_alone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("record.json", "{}");
    let (status, _, stderr) = run(folder.path(), &["verify", "--record", "record.json"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("is no record of a check"), "{stderr}");
}

#[test]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, stderr) = run(folder.path(), &["verify", "--fetch"]);
    assert_eq!(status, 2);
    assert!(
        stderr.contains("hint: for example `toolmark verify npm:"),
        "{stderr}"
    );
    let (status, _, stderr) = run(folder.path(), &["verify", "weather", "--fetch"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("neither a file nor a package"), "{stderr}");
    let (status, _, stderr) = run(folder.path(), &["verify", "npm:weather@1.2.3"]);
    assert_eq!(status, 2);
    assert!(
        stderr.contains("hint: a package is looked up with `--fetch`"),
        "{stderr}"
    );
    let (status, _, stderr) = run(folder.path(), &["verify"]);
    assert_eq!(status, 2);
    assert!(stderr.contains("hint: give the file, or its digest"), "{stderr}");
}
