//! Gives the program the time of its build, and the commit it was built from where that is known: a checkout of this repository with git at
//! hand, or `TOOLMARK_BUILD_COMMIT` set by whoever builds from an archive. Never fails the build.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    println!("cargo:rerun-if-env-changed=TOOLMARK_BUILD_COMMIT");
    println!("cargo:rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo:rerun-if-changed=build.rs");
    if let Some(secs) = built_at() {
        println!("cargo:rustc-env=TOOLMARK_BUILT_AT={secs}");
    }
    let given = std::env::var("TOOLMARK_BUILD_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty());
    if let Some(commit) = given.or_else(commit_of_the_checkout) {
        println!("cargo:rustc-env=TOOLMARK_COMMIT={commit}");
    }
}

/// Seconds since 1970; `SOURCE_DATE_EPOCH` makes two builds alike.
fn built_at() -> Option<u64> {
    let given = std::env::var("SOURCE_DATE_EPOCH")
        .ok()
        .and_then(|secs| secs.parse().ok());
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .map(|since| since.as_secs())
    };
    given.or_else(now)
}

/// The commit, unless this source merely lies inside a checkout of something else.
fn commit_of_the_checkout() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log of HEAD grows with each commit and each switch of branches.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if std::path::Path::new(&log).exists() {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
